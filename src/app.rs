//! The only place that knows adapters and research: opens the doors, starts, resumes and follows runs.
mod accounts;
mod check;
mod container;
pub mod copying;
pub mod discover;
pub mod engines;
mod errand;
mod folders;
pub mod forgetting;
pub mod given;
mod indexes;
mod inside;
mod judging;
mod keeping;
mod looking;
mod machine;
pub mod meaning;
pub mod models;
pub mod orders;
mod parts;
pub mod queue;
mod readers;
pub mod reading;
mod replay;
mod running;
pub mod sharing;
mod sitting;
pub mod spending;
mod telemetry;
mod timely;
mod traces;
pub mod trials;
mod turns;
pub mod web;
mod webhook;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::{OnceCell, broadcast, mpsc, watch};
use tokio::task::JoinSet;

use crate::adapters::fair::{FairSemaphore, OwnPlaces};
use crate::adapters::journal::{Journal, Tape};
use crate::adapters::telemetry::Telemetry;
use crate::config::Settings;
use crate::domain::{Brief, Owner, Page, PageHash, Plan, Question, RunId, Traffic};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event, Phase, Run, VERSION};
use crate::seams::{Hold, Log, Order, RunRow, Store, crash_point};

pub use crate::adapters::folder::{Filter, Found, Progress, Refreshed};
pub use crate::adapters::journal::Taken;
pub use crate::adapters::recording::{Differences, Recording};
pub use crate::record::{Tally, Target};
pub use crate::research::attribution::check_row;
pub use crate::research::audit::{self, Audit};
pub use crate::research::changes::{self, Changes, changes};
pub use crate::research::{Errand, Looked, Told, expanded};
pub use check::NamedFiles;
pub use parts::{
    Doors, Heard, Opening, Parts, Planning, Prepare, Research, SpentBefore, SpentSoFar,
};

pub use replay::{Fork, Replayed};
pub use running::Running;
pub use turns::Planned;

use judging::Tallies;
use keeping::Kept;
use sitting::Sitting;

/// Everything Ibid can do, for any surface.
///
/// Nothing is opened before it is needed: a command without a run makes no store.
pub struct App {
    settings: Arc<Settings>,
    parts: Parts,
    kept: Arc<OnceCell<Kept>>,
    at_once: Arc<FairSemaphore>,
    telemetry: Arc<OnceLock<Option<Arc<Telemetry>>>>,
    tallies: Arc<Mutex<Tallies>>,
    owner: Option<Owner>,
}

/// What is to be done, and with what.
struct Work {
    run: RunId,
    owner: Option<Owner>,
    question: Question,
    past: Vec<Envelope>,
    doors: Doors,
    tape: Option<Arc<Tape>>,
}

impl App {
    /// An app with the machine's clock, chance and doors. Nothing is opened yet.
    pub async fn open(settings: Settings) -> Result<App> {
        Ok(App::with(settings, Parts::machine()))
    }

    /// An app that works with `parts`.
    pub fn with(settings: Settings, parts: Parts) -> App {
        App {
            at_once: FairSemaphore::reserving(settings.concurrency),
            settings: Arc::new(settings),
            parts,
            kept: Arc::default(),
            telemetry: Arc::default(),
            tallies: Arc::default(),
            owner: None,
        }
    }

    /// The same app as `owner` may use it: runs of others are not there, and what is begun is theirs. It works with
    /// the same store, the same doors and the same bounds.
    #[must_use]
    pub fn as_owner(&self, owner: &Owner) -> App {
        App {
            settings: Arc::clone(&self.settings),
            parts: self.parts.clone(),
            kept: Arc::clone(&self.kept),
            at_once: Arc::clone(&self.at_once),
            telemetry: Arc::clone(&self.telemetry),
            tallies: Arc::clone(&self.tallies),
            owner: Some(owner.clone()),
        }
    }

    /// What time it is, milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.parts.clock.unix_ms()
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Accepts a question: when this returns, the run is on disk and will be found by `resume`.
    ///
    /// # Errors
    /// `Usage` for an empty question or a folder that is not there, `Setup` when the store cannot be
    /// written.
    pub async fn start(&self, question: Question) -> Result<Running> {
        self.start_as(self.new_id(), question).await
    }

    /// An id for a run that may be begun later.
    pub fn new_id(&self) -> RunId {
        RunId::new(self.parts.clock.unix_ms(), self.parts.chance.bits())
    }

    /// As [`App::start`], under an id that somebody has written down before, so that no run is begun that nobody knows of.
    ///
    /// # Errors
    /// Those of [`App::start`]; `Internal` where there is a run of this id.
    pub async fn start_as(&self, run: RunId, question: Question) -> Result<Running> {
        self.start_for(self.owner.clone(), run, question).await
    }

    /// As [`App::start_as`], for `owner`, who is written down with the question.
    ///
    /// # Errors
    /// Those of [`App::start_as`].
    pub async fn start_for(
        &self,
        owner: Option<Owner>,
        run: RunId,
        question: Question,
    ) -> Result<Running> {
        if question.text.trim().is_empty() {
            return Err(Error::new(Kind::Usage, "the question is empty")
                .hint("ask something, as in `ibid \"what is cork?\"`"));
        }
        let mut question = self.frozen(question)?;
        let doors = self.doors(&question, owner.as_ref()).await?;
        question.resembles = self.resembled(&question, owner.as_ref()).await?;
        self.accept(owner, run, question, doors, None).await
    }

    /// The doors of `question`, open for as long as they are kept: runs that need the same folders meanwhile use
    /// the same indexes. Tells what is wrong with them before a run begins.
    ///
    /// # Errors
    /// Those of [`App::start`].
    pub async fn hold(&self, question: Question) -> Result<Doors> {
        self.doors(&self.frozen(question)?, self.owner.as_ref())
            .await
    }

    /// Writes down that `run` was asked `question`, and begins to work on it.
    async fn accept(
        &self,
        owner: Option<Owner>,
        run: RunId,
        question: Question,
        doors: Doors,
        tape: Option<Arc<Tape>>,
    ) -> Result<Running> {
        let lock = self.need(&run).await?;
        let store = App::held(self.store().await?, &run, &*lock);
        let log = self.log(&run, &store, &[]);
        let events = log.follow();
        log.emit(Event::RunCreated {
            question: question.clone(),
            version: VERSION,
            owner: owner.clone(),
        });
        crash_point("accept.before_commit");
        log.flush().await?;
        crash_point("accept.after_commit");
        let work = Work {
            run,
            owner,
            question,
            past: Vec::new(),
            doors,
            tape,
        };
        self.sit(store, lock, log, events, work).await
    }

    /// Goes on with an interrupted run; of an ended run it tells the result again, without any call.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Transient` when a process works on it already.
    pub async fn resume(&self, run: &RunId) -> Result<Running> {
        let store = self.known(run).await?;
        let lock = self.need(run).await?;
        let store = App::held(store, run, &*lock);
        // An earlier sitting in this process may have been dropped with a write on its way.
        store.drain().await?;
        let past = store.events(run, 0).await?;
        let log = self.log(run, &store, &past);
        let events = log.follow();
        let known = Run::of(run.clone(), &past);
        if known.status.ended() {
            lock.retire();
            let mut work = JoinSet::new();
            work.spawn(async { Ok(known) });
            return Ok(Running {
                id: run.clone(),
                events,
                finish: Arc::default(),
                log,
                preparing: watch::channel(None).1,
                waits: watch::channel(None).1,
                work,
            });
        }
        let (question, owner) = created(run, &past)?;
        let doors = self.doors(&question, owner.as_ref()).await?;
        let work = Work {
            run: run.clone(),
            owner,
            question,
            past,
            doors,
            tape: None,
        };
        self.sit(store, lock, log, events, work).await
    }

    async fn sit(
        &self,
        store: Arc<dyn Store>,
        lock: Box<dyn Hold>,
        log: Arc<Log>,
        events: broadcast::Receiver<Envelope>,
        work: Work,
    ) -> Result<Running> {
        let Work {
            run,
            owner,
            question,
            past,
            mut doors,
            tape,
        } = work;
        let (report_fault, faults) = mpsc::channel(1);
        // What is told again from a recording was told before.
        let telemetry = match tape {
            Some(_) => None,
            None => self.telemetry().unwrap_or_default(),
        };
        let journal = Journal::open(
            run.clone(),
            Arc::clone(&store),
            question.budget,
            OwnPlaces::new(&self.at_once, owner.as_ref().map(|it| it.user.as_str())),
            report_fault,
        )
        .await?
        .answered_by(tape);
        let tell = doors.spent_before.take();
        let spent = tell.map(|tell| tell(&journal.usage(), journal.doubted()));
        // A run that has waited for its turn has not been worked on.
        let begun = |it: &Envelope| matches!(it.event, Event::RunStarted {});
        log.emit(match past.last().filter(|_| past.iter().any(begun)) {
            None => Event::RunStarted {},
            Some(last) => Event::RunResumed {
                after: last.seq,
                in_doubt: journal.in_doubt(),
            },
        });
        let finish = Arc::new(AtomicBool::new(false));
        let (tell, preparing) = watch::channel(None);
        let (waiting, waits) = watch::channel(None);
        let sitting = Sitting {
            run: run.clone(),
            question,
            past,
            store,
            log: Arc::clone(&log),
            journal: Arc::new(journal),
            finish: Arc::clone(&finish),
            doors,
            spent,
            accounts: self.accounts().await?,
            research: Arc::clone(&self.parts.research),
            clock: Arc::clone(&self.parts.clock),
            chance: Arc::clone(&self.parts.chance),
            lock,
            preparing: tell,
            waits: waiting,
            telemetry,
            ambient: self
                .settings
                .variables
                .get("TRACEPARENT")
                .map(str::to_owned),
        };
        let mut work = JoinSet::new();
        work.spawn(sitting.work(faults));
        Ok(Running {
            id: run,
            events,
            finish,
            log,
            preparing,
            waits,
            work,
        })
    }

    /// The question with its folders as absolute paths, each once: a resume from another directory must find the same. Which are
    /// meant where none is named, the surface says that knows who asks.
    fn frozen(&self, mut question: Question) -> Result<Question> {
        if question.follows.is_some() {
            // It is asked where the one before it was asked, and by whom.
            return Ok(question);
        }
        for named in std::mem::take(&mut question.folders) {
            let full = std::path::absolute(&named).map_err(|it| {
                Error::new(Kind::Usage, format!("finding folder {named}")).because(it)
            })?;
            let full = full.to_string_lossy().into_owned();
            if !question.folders.contains(&full) {
                question.folders.push(full);
            }
        }
        if question.models.is_unset() {
            question.models.clone_from(&self.settings.models);
        }
        Ok(question)
    }

    async fn doors(&self, question: &Question, owner: Option<&Owner>) -> Result<Doors> {
        let doors = (self.parts.open)(&self.settings, question, owner).await?;
        if doors.search.is_empty() {
            return Err(nowhere());
        }
        Ok(doors)
    }

    /// The refined question and the plan, without spending anything.
    pub async fn plan(&self, question: &Question) -> Result<(Brief, Plan)> {
        (self.parts.plan)(question)
    }

    /// All runs, newest first.
    pub async fn runs(&self) -> Result<Vec<RunRow>> {
        match self.store_if_any().await? {
            Some(store) => store.runs().await,
            None => Ok(Vec::new()),
        }
    }

    /// One run, folded from its events.
    pub async fn run(&self, run: &RunId) -> Result<Run> {
        let events = self.events(run, 0).await?;
        Ok(Run::of(run.clone(), &events))
    }

    /// Which hosts were contacted for a run, how often, and with how many bytes.
    pub async fn traffic(&self, run: &RunId) -> Result<BTreeMap<String, Traffic>> {
        self.known(run).await?.traffic(run).await
    }

    /// The events of a run after `seq`.
    pub async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Envelope>> {
        self.known(run).await?.events(run, after).await
    }

    /// Whether some process works on this run just now.
    ///
    /// # Errors
    /// `Transient` where who knows that cannot be reached.
    pub async fn live(&self, run: &RunId) -> Result<bool> {
        match self.store_if_any().await? {
            Some(_) => self.locks().await?.held(run).await,
            None => Ok(false),
        }
    }

    /// Leaves an order for a run, whichever process works on it. A cancel of a run nobody works on
    /// ends it at once; a finish of one waits for its resume.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has ended.
    pub async fn order(&self, run: &RunId, order: Order) -> Result<()> {
        let store = self.known(run).await?;
        let lock = match order {
            Order::Cancel => self.locks().await?.take(run).await?,
            Order::Finish | Order::Reply(_) | Order::Approve(_) | Order::Steer(_) => None,
        };
        store.drain().await?;
        let past = store.events(run, 0).await?;
        let known = Run::of(run.clone(), &past);
        // A word may come as soon as the run is heard to wait, which is before that is durable.
        let asks = known.question.as_ref().is_some_and(|it| it.approve);
        let approved = |it: &Envelope| matches!(it.event, Event::PlanApproved { .. });
        let heeds = asks && !past.iter().any(approved);
        if matches!(order, Order::Approve(_)) && !heeds && !known.status.ended() {
            let what = format!("run {run} does not wait for a word on its plan");
            return Err(Error::new(Kind::Usage, what)
                .hint("a run waits for one that was asked with --approve"));
        }
        if known.status.ended() {
            if let Some(lock) = lock {
                lock.retire();
            }
            return Err(
                Error::new(Kind::Usage, format!("run {run} has ended already"))
                    .hint(format!("see its result with `ibid show {run}`")),
            );
        }
        let late = |it: &Envelope| matches!(it.phase, Phase::Write | Phase::Check);
        if matches!(order, Order::Steer(_)) && past.iter().any(late) {
            let what = format!("run {run} is being written already");
            return Err(Error::new(Kind::Usage, what)
                .hint(format!("ask it afterwards: ibid ask {run} \"…\"")));
        }
        match lock {
            Some(lock) => {
                let store = App::held(store, run, &*lock);
                let log = self.log(run, &store, &past);
                self.accounts().await?.charge(run, None).await?;
                log.emit(Event::RunCancelled {});
                log.flush().await?;
                lock.retire();
                Ok(())
            }
            None => match orders::is_new(&order, &known, &store.orders(run).await?)? {
                true => store.order(run, order).await,
                false => Ok(()),
            },
        }
    }

    /// Forgets an ended run.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended.
    pub async fn remove(&self, run: &RunId) -> Result<()> {
        let store = self.known(run).await?;
        if !self.run(run).await?.status.ended() {
            return Err(Error::new(
                Kind::Usage,
                format!("run {run} has not ended and could be resumed"),
            )
            .hint(format!("end it first with `ibid cancel {run}`")));
        }
        store.remove(run).await
    }

    /// A stored page.
    pub async fn page(&self, hash: &PageHash) -> Result<Option<Page>> {
        match self.store_if_any().await? {
            Some(store) => store.page(hash).await,
            None => Ok(None),
        }
    }
}

fn nowhere() -> Error {
    Error::new(Kind::Setup, "there is nowhere to search")
        .hint("name a folder of documents with `--folder DIR`")
}

/// The question that a run's first event accepted, and whose the run is.
fn created(run: &RunId, past: &[Envelope]) -> Result<(Question, Option<Owner>)> {
    match past.first().map(|it| &it.event) {
        Some(Event::RunCreated {
            question,
            version,
            owner,
        }) if *version <= VERSION => Ok((question.clone(), owner.clone())),
        Some(Event::RunCreated { version, .. }) => Err(Error::new(
            Kind::Setup,
            format!("run {run} was begun with events of version {version}, newer than {VERSION}"),
        )
        .hint("resume it with the Ibid that began it, or a newer one")),
        _ => Err(Error::new(
            Kind::Internal,
            format!("run {run} does not begin with its question"),
        )),
    }
}

#[cfg(test)]
mod tests;

/// Runs this process as the confined parser of documents, where `args` say that it is one. Otherwise it says that this program
/// can be started so, and strangers' documents are parsed in such children from then on.
///
/// Call it first of all in `main`, with the arguments of the process, and exit with its code where there is one. A program that does not
/// has strangers' HTML, Markdown, JSON and text parsed in its own process, and reads no PDFs, Word documents and books:
/// see [`Parser`](crate::adapters::documents::Parser).
pub fn confined(args: &[std::ffi::OsString]) -> Option<std::process::ExitCode> {
    use crate::adapters::documents::{Parser, child};
    if args.get(1).is_some_and(|it| it == child::COMMAND) {
        return Some(child::child_main(&args[2..]));
    }
    Parser::declare();
    None
}
