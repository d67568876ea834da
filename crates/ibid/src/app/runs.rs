//! Runs in this process: started, resumed, and handed to a worker.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;

use super::App;
use super::components::RunProviders;
use super::folders::no_search_error;
use super::run_handle::RunHandle;
use super::run_worker::{ROUNDING_USD, RunWorker};
use ibid_core::domain::{Brief, Owner, Plan, Question, RunId};
use ibid_core::fair_semaphore::OwnerPermits;
use ibid_core::ports::{EventLog, RunLease, Store, crash_point};
use ibid_core::record::{EVENT_VERSION, Envelope, Event, Run};
use ibid_core::{Error, ErrorKind, Result};
use ibid_store::journal::{Journal, ReplayLog};

/// The run that a worker is spawned for, and what it works with.
pub(super) struct RunSetup {
    pub(super) run: RunId,
    pub(super) owner: Option<Owner>,
    pub(super) question: Question,
    /// The events so far; none for a new run.
    pub(super) past: Vec<Envelope>,
    pub(super) providers: RunProviders,
    /// The recording that answers calls, for a replay or a fork.
    pub(super) replay_log: Option<Arc<ReplayLog>>,
}

/// The lease of a run, and the store and log that write under it.
struct LeasedRun {
    lease: Box<dyn RunLease>,
    store: Arc<dyn Store>,
    log: Arc<EventLog>,
    /// Subscribed before the first event of this process.
    events: broadcast::Receiver<Envelope>,
}

impl App {
    /// The brief and the plan of `question`, made without a model and without any call.
    ///
    /// # Errors
    /// Those of the planner.
    pub async fn plan(&self, question: &Question) -> Result<(Brief, Plan)> {
        (self.components.plan)(question)
    }

    /// Starts a run. When this returns, the run is stored and [`App::resume`] finds it.
    ///
    /// # Errors
    /// `Usage` for an empty question or a folder that does not exist, `Setup` when the store cannot be written.
    pub async fn start(&self, question: Question) -> Result<RunHandle> {
        self.start_with_id(self.new_run_id(), question).await
    }

    /// Like [`App::start`], with an id from [`App::new_run_id`] that the caller has stored before. A caller that is interrupted can then
    /// find its run.
    ///
    /// # Errors
    /// Those of [`App::start`]; `Internal` when a run with this id exists.
    pub async fn start_with_id(&self, run: RunId, question: Question) -> Result<RunHandle> {
        if question.text.trim().is_empty() {
            return Err(Error::new(ErrorKind::Usage, "the question is empty")
                .with_hint("ask something, as in `ibid \"what is cork?\"`"));
        }
        let owner = self.owner.clone();
        let mut question = self.resolve_question(question)?;
        let providers = self.checked_providers(&question, owner.as_ref()).await?;
        question.resembles = self.find_similar_run(&question, owner.as_ref()).await?;
        self.create_run(RunSetup {
            run,
            owner,
            question,
            past: Vec::new(),
            providers,
            replay_log: None,
        })
        .await
    }

    /// Opens the providers of `question`, and so checks that a run could start. While the caller holds them, runs that search the same
    /// folders share their indexes.
    ///
    /// # Errors
    /// Those of [`App::start`].
    pub async fn open_providers(&self, question: Question) -> Result<RunProviders> {
        self.checked_providers(&self.resolve_question(question)?, self.owner.as_ref()).await
    }

    /// Resumes an interrupted run. For an ended run it makes no call: the handle returns the stored result.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Transient` when a process works on it already.
    pub async fn resume(&self, run: &RunId) -> Result<RunHandle> {
        let store = self.existing_store(run).await?;
        let lease = self.acquire_lease(run).await?;
        let store = App::with_lease(store, run, &*lease);
        // A worker of this process may have been dropped with a write under way.
        store.drain().await?;
        let past = store.events(run, 0).await?;
        let log = self.open_log(run, &store, &past);
        let events = log.subscribe();
        let known = Run::from_events(run.clone(), &past);
        if known.status.ended() {
            lease.release();
            let mut work = JoinSet::new();
            work.spawn(async { Ok(known) });
            return Ok(RunHandle {
                id: run.clone(),
                events,
                finish: Arc::default(),
                log,
                preparing: watch::channel(None).1,
                waits: watch::channel(None).1,
                work,
            });
        }
        let (question, owner) = initial_question(run, &past)?;
        let providers = self.checked_providers(&question, owner.as_ref()).await?;
        let leased = LeasedRun { lease, store, log, events };
        let setup =
            RunSetup { run: run.clone(), owner, question, past, providers, replay_log: None };
        self.spawn_worker(leased, setup).await
    }

    /// Stores the first event of a new run and spawns its worker.
    pub(super) async fn create_run(&self, setup: RunSetup) -> Result<RunHandle> {
        let lease = self.acquire_lease(&setup.run).await?;
        let store = App::with_lease(self.store().await?, &setup.run, &*lease);
        let log = self.open_log(&setup.run, &store, &[]);
        let events = log.subscribe();
        log.emit(Event::RunCreated {
            question: setup.question.clone(),
            version: EVENT_VERSION,
            owner: setup.owner.clone(),
        });
        crash_point("accept.before_commit");
        log.flush().await?;
        crash_point("accept.after_commit");
        let leased = LeasedRun { lease, store, log, events };
        self.spawn_worker(leased, setup).await
    }

    /// Opens the journal and spawns the [`RunWorker`] that runs the method.
    async fn spawn_worker(&self, leased: LeasedRun, setup: RunSetup) -> Result<RunHandle> {
        let LeasedRun { lease, store, log, events } = leased;
        let RunSetup { run, owner, question, past, mut providers, replay_log } = setup;
        // A replay is not exported: the recorded run was.
        let telemetry = match replay_log {
            Some(_) => None,
            None => self.telemetry().unwrap_or_default(),
        };
        let user = owner.as_ref().map(|owner| owner.user.as_str());
        let permits = OwnerPermits::new(&self.concurrency, user);
        let (report_fault, faults) = mpsc::channel(1);
        let journal =
            Journal::open(run.clone(), Arc::clone(&store), question.budget, permits, report_fault)
                .await?
                .with_replay(replay_log);
        let add_prior_spend = providers.prior_spend.take();
        let mut prior = journal.usage();
        let lost_before = lost_before(&past);
        if lost_before > 0.0 {
            prior.usd = Some(prior.usd.unwrap_or(0.0) + lost_before);
        }
        let reasoned = journal.most_reasoned();
        let spent = add_prior_spend.map(|add| add(&prior, journal.in_doubt_prompts(), reasoned));
        log.emit(begin_event(&past, &journal, spent.as_ref().and_then(|spent| spent())));
        if journal.in_doubt() > 0 {
            // What was lost is on record before the same calls are sent again.
            log.flush().await?;
        }
        let finish = Arc::new(AtomicBool::new(false));
        let (preparing_sender, preparing) = watch::channel(None);
        let (waits_sender, waits) = watch::channel(None);
        let trace_parent = self.settings.variables.get("TRACEPARENT");
        let worker = RunWorker {
            run: run.clone(),
            question,
            past,
            store,
            log: Arc::clone(&log),
            journal: Arc::new(journal),
            finish: Arc::clone(&finish),
            providers,
            spent,
            research: Arc::clone(&self.components.research),
            clock: Arc::clone(&self.components.clock),
            lease,
            preparing: preparing_sender,
            waits: waits_sender,
            telemetry,
            trace_parent: trace_parent.map(str::to_owned),
        };
        let mut work = JoinSet::new();
        work.spawn(worker.run(faults));
        Ok(RunHandle { id: run, events, finish, log, preparing, waits, work })
    }

    /// The question with absolute folders, each once, so that a resume from another directory finds them, and with the models of the
    /// settings where it names none. A question that names no folder gets none: the surface chooses the folders of the caller.
    pub(super) fn resolve_question(&self, mut question: Question) -> Result<Question> {
        if question.follows.is_some() {
            // A follow-up has taken both from the run that it follows.
            return Ok(question);
        }
        for folder in std::mem::take(&mut question.folders) {
            let path = std::path::absolute(&folder).map_err(|cause| {
                Error::new(ErrorKind::Usage, format!("finding folder {folder}")).with_source(cause)
            })?;
            let path = path.to_string_lossy().into_owned();
            if !question.folders.contains(&path) {
                question.folders.push(path);
            }
        }
        if question.models.is_unset() {
            question.models.clone_from(&self.settings.models);
        }
        Ok(question)
    }

    async fn checked_providers(
        &self,
        question: &Question,
        owner: Option<&Owner>,
    ) -> Result<RunProviders> {
        let providers = (self.components.open)(&self.settings, question, owner).await?;
        // A follow-up may go by what its thread has read.
        if providers.search.is_empty() && question.follows.is_none() {
            return Err(no_search_error());
        }
        Ok(providers)
    }
}

/// The most that calls may have cost, US dollars, whose answers earlier interruptions lost. A call that was sent again and
/// answered since was lost before all the same.
fn lost_before(past: &[Envelope]) -> f64 {
    let mut events = past.iter().rev().map(|envelope| &envelope.event);
    let resumed = events.find_map(|event| match event {
        Event::RunResumed { in_doubt_usd, .. } => Some(*in_doubt_usd),
        _ => None,
    });
    resumed.flatten().unwrap_or(0.0)
}

/// `run.started` for a run that no worker has begun yet, also one that waited in a queue, else `run.resumed`.
///
/// `spent` is what is charged so far: what the answered calls cost, and the most that the others may have cost.
fn begin_event(past: &[Envelope], journal: &Journal, spent: Option<f64>) -> Event {
    let is_start = |envelope: &Envelope| matches!(envelope.event, Event::RunStarted {});
    // A call is journaled before it is sent, and may have outlived the event that says that work started.
    let has_begun = past.iter().any(is_start) || journal.in_doubt() > 0;
    match past.last().filter(|_| has_begun) {
        None => Event::RunStarted {},
        Some(last) => {
            let answered = journal.usage().usd.unwrap_or(0.0);
            let in_doubt_usd = spent.map(|usd| usd - answered).filter(|usd| *usd > ROUNDING_USD);
            Event::RunResumed { after: last.seq, in_doubt: journal.in_doubt(), in_doubt_usd }
        }
    }
}

/// The question and the owner in the first event of a run.
fn initial_question(run: &RunId, past: &[Envelope]) -> Result<(Question, Option<Owner>)> {
    match past.first().map(|it| &it.event) {
        Some(Event::RunCreated { question, version, owner }) if *version <= EVENT_VERSION => {
            Ok((question.clone(), owner.clone()))
        }
        Some(Event::RunCreated { version, .. }) => Err(Error::new(
            ErrorKind::Setup,
            format!(
                "run {run} was started with events of version {version}, newer than {EVENT_VERSION}"
            ),
        )
        .with_hint("resume it with the version of Ibid that started it, or a newer one")),
        _ => Err(Error::new(
            ErrorKind::Internal,
            format!("the first event of run {run} is not run.created"),
        )),
    }
}
