//! The worker of a run: it runs the method from start or resume to the end of the run, or to the next interruption.
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};

use super::components::{ResearchFn, RunProviders, TotalCostFn};
use super::deadline_model::DeadlineModel;
use super::follow_up;
use super::telemetry;
use crate::telemetry::TelemetryExporter;
use ibid_core::domain::{Question, Report, RunId, StopReason};
use ibid_core::ports::{
    Clock, Egress, EventLog, LanguageModel, PageReader, ProviderManifest, Providers, RunCommand,
    RunLease, SearchProvider, Store, crash_point,
};
use ibid_core::record::{Envelope, Event, Phase, Run, RunOutcome};
use ibid_core::{Error, ErrorKind, Result};
use ibid_index::folder::IndexProgress;
use ibid_sources::reader::StalePageReader;
use ibid_store::journal::{
    Journal, JournaledModel, JournaledRanker, JournaledReader, JournaledSearch,
};
use ibid_store::steering::{JournaledSteering, TimeBudget, UserWait, unanswered_since, worked_ms};

/// How often events are flushed and commands are read.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(200);

/// Rounding error between two sums of the same charges, in US dollars.
pub(super) const ROUNDING_USD: f64 = 1e-6;

/// All that one worker needs.
pub(super) struct RunWorker {
    pub(super) run: RunId,
    pub(super) question: Question,
    pub(super) past: Vec<Envelope>,
    pub(super) store: Arc<dyn Store>,
    pub(super) log: Arc<EventLog>,
    pub(super) journal: Arc<Journal>,
    pub(super) finish: Arc<AtomicBool>,
    pub(super) providers: RunProviders,
    /// What the models of the run have cost so far, if it has any.
    pub(super) spent: Option<TotalCostFn>,
    pub(super) research: ResearchFn,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease: Box<dyn RunLease>,
    /// The progress of the preparation; `None` before and after.
    pub(super) preparing: watch::Sender<Option<IndexProgress>>,
    /// What input the run waits for, if any.
    pub(super) waits: watch::Sender<Option<UserWait>>,
    /// The exporter that gets the trace of the ended run.
    pub(super) telemetry: Option<Arc<TelemetryExporter>>,
    /// The `TRACEPARENT` of this process.
    pub(super) trace_parent: Option<String>,
}

/// How the work on a run ended.
enum RunEnd {
    /// The method returned a report.
    Report(Box<Report>),
    /// The method failed for good.
    Failed(Error),
    /// The run was cancelled by a command.
    Cancelled,
}

impl RunWorker {
    /// Runs the method until the run has ended and its last event is durable. `faults` reports that the journal cannot be written.
    ///
    /// # Errors
    /// When the store fails or the work was stopped. The run has then not ended and can be resumed.
    pub(super) async fn run(mut self, mut faults: mpsc::Receiver<Error>) -> Result<Run> {
        let mut providers = self.journaled_providers();
        let prepare = self.providers.prepare.take();
        let background = self.providers.background.take();
        let preparing = self.preparing.clone();
        let method = async {
            let manifest = ProviderManifest::from_providers(&providers);
            let recorded = self.journal.manifest(manifest.clone()).await?;
            if !self.past.is_empty() {
                check_same_providers(&self.run, &self.journal, &recorded, &manifest).await;
            }
            providers.known =
                follow_up::reusable_sources(&self.question, &self.journal, &*self.store).await?;
            if let Some(prepare) = prepare {
                preparing.send_replace(Some(IndexProgress::default()));
                let sender = preparing.clone();
                let on_progress = Arc::new(move |progress| {
                    sender.send_replace(Some(progress));
                });
                let events = prepare(on_progress).await?;
                providers.unreadable = unreadable_documents(&self.past, &events);
                for event in events {
                    self.log.emit(event);
                }
                preparing.send_replace(None);
            }
            let research = (self.research)(&providers, &self.log, &self.run, &self.question);
            beside(research, background).await
        };
        let end = tokio::select! {
            biased;
            Some(fault) = faults.recv() => return Err(fault),
            stopped = heartbeat(&*self.lease, &self.log, &*self.store, &self.finish, &self.providers.egress) => stopped?,
            outcome = AssertUnwindSafe(method).catch_unwind() => match outcome {
                Ok(Ok(report)) => RunEnd::Report(Box::new(report)),
                Ok(Err(fault)) if fault.kind() == ErrorKind::Cancelled => {
                    self.log.flush().await?;
                    return Err(fault);
                }
                // That of the store: the run has not failed, and goes on when the store is back.
                Ok(Err(fault)) if self.log.has_failed() => return Err(fault),
                Ok(Err(fault)) => RunEnd::Failed(fault),
                Err(panic) => RunEnd::Failed(panic_error(&*panic)),
            },
        };
        self.finalize(end).await
    }

    /// The providers, with every call journaled.
    fn journaled_providers(&self) -> Providers {
        let journal = &self.journal;
        let RunProviders { search, readers, ranker, models, .. } = &self.providers;
        let names: Vec<&str> = search.iter().map(|it| it.name()).collect();
        let journal_search = |(at, engine): (usize, &Arc<dyn SearchProvider>)| {
            let nth = name_index(&names, at);
            let journaled = JournaledSearch::new(Arc::clone(engine), Arc::clone(journal), nth);
            Arc::new(journaled) as Arc<dyn SearchProvider>
        };
        let reader_names: Vec<&str> = readers.iter().map(|reader| reader.name()).collect();
        let journal_reader = |(at, reader): (usize, &Arc<dyn PageReader>)| {
            let nth = name_index(&reader_names, at);
            let journaled = JournaledReader::new(Arc::clone(reader), Arc::clone(journal), nth);
            Arc::new(journaled) as Arc<dyn PageReader>
        };
        let bounds = Arc::new(TimeBudget {
            clock: Arc::clone(&self.clock),
            began: self.clock.unix_ms(),
            worked: worked_ms(&self.past),
            seconds: self.question.budget.seconds,
            finish: Arc::clone(&self.finish),
            timed_out: AtomicBool::new(false),
            idle: AtomicU64::new(0),
        });
        // The deadline is below the journal: a call that times out is journaled as failed, and a replay fails the same way.
        let journal_model = |model: &Arc<dyn LanguageModel>| {
            let bounded = DeadlineModel::new(Arc::clone(model), Arc::clone(&bounds));
            let journaled = JournaledModel::new(Arc::new(bounded), Arc::clone(journal));
            Arc::new(journaled) as Arc<dyn LanguageModel>
        };
        Providers {
            // Set after the preparation.
            unreadable: Vec::new(),
            // Set from the journal.
            known: Vec::new(),
            search: search.iter().enumerate().map(journal_search).collect(),
            readers: readers.iter().enumerate().map(journal_reader).collect(),
            ranker: if ranker.is_remote() {
                Arc::new(JournaledRanker::new(Arc::clone(ranker), Arc::clone(journal)))
            } else {
                Arc::clone(ranker)
            },
            models: models.map_models(journal_model),
            steering: Arc::new(JournaledSteering {
                run: self.run.clone(),
                journal: Arc::clone(journal),
                store: Arc::clone(&self.store),
                log: Arc::clone(&self.log),
                budget: self.question.budget,
                bounds: Arc::clone(&bounds),
                finish_logged: AtomicBool::new(false),
                asked_at: unanswered_since(&self.past),
                user_wait: self.waits.clone(),
            }),
            clock: Arc::clone(&self.clock),
        }
    }

    /// Makes the end of the run durable, charges what it cost and exports its trace.
    async fn finalize(self, end: RunEnd) -> Result<Run> {
        let last_event = match end {
            RunEnd::Report(report) => {
                crash_point("report.before_commit");
                self.log.flush().await?;
                crash_point("report.after_commit");
                completed_event(&report)
            }
            RunEnd::Failed(fault) => Event::RunFailed {
                reason: fault.chain(),
                hint: fault.hint().map(str::to_owned),
                kind: Some(fault.kind()),
            },
            RunEnd::Cancelled => Event::RunCancelled {},
        };
        flush_traffic(&self.run, &*self.store, &self.providers.egress).await?;
        let charged = self.journal.usage().usd.unwrap_or(0.0);
        let spent = self.spent.as_ref().and_then(|spent| spent());
        // Calls without an answer may have cost money too. They are charged before the reservation ends with the run.
        if let Some(spent) = spent.filter(|usd| *usd > charged + ROUNDING_USD) {
            self.store.charge(&self.run, Some(spent)).await?;
        }
        self.log.set_phase(Phase::Run, None);
        self.log.emit(last_event);
        crash_point("completed.before_commit");
        self.log.flush().await?;
        crash_point("completed.after_commit");
        let events = self.store.events(&self.run, 0).await?;
        self.lease.release();
        if let Some(exporter) = &self.telemetry {
            let (store, egress) = (&*self.store, &self.providers.egress);
            telemetry::export_run(exporter, store, &events, self.trace_parent.as_deref(), egress)
                .await;
            // The run has ended; a failure to record the traffic of the export does not change that.
            flush_traffic(&self.run, store, egress).await.ok();
        }
        Ok(Run::from_events(self.run, &events))
    }
}

/// The result of `work`. Until it is there, `background` makes progress beside it; then it is dropped. Its failure harms no run.
async fn beside<T>(
    work: impl Future<Output = T>,
    background: Option<BoxFuture<'static, Result<()>>>,
) -> T {
    let background = async {
        if let Some(background) = background {
            background.await.ok();
        }
        std::future::pending().await
    };
    tokio::select! {
        biased;
        done = work => done,
        never = background => never,
    }
}

/// The documents that could not be read, by path and place, with the reason. Events of earlier workers come first, so that a resumed run
/// reports the reasons that it has emitted.
fn unreadable_documents(past: &[Envelope], new: &[Event]) -> Vec<(String, String)> {
    let mut found = BTreeMap::new();
    for event in past.iter().map(|envelope| &envelope.event).chain(new) {
        let Event::DocumentFailed { path, place, message, .. } = event else {
            continue;
        };
        let what = match place {
            Some(place) => format!("{path}, {place}"),
            None => path.clone(),
        };
        found.entry(what).or_insert_with(|| message.clone());
    }
    found.into_iter().collect()
}

/// Fails the journal when the run was started with other providers, as after the resume of a fork without its recording: answered calls
/// would be looked up under other names.
async fn check_same_providers(
    run: &RunId,
    journal: &Journal,
    recorded: &ProviderManifest,
    current: &ProviderManifest,
) {
    // Whether there is a cache changes nothing that was journaled.
    let readers = |manifest: &ProviderManifest| -> Vec<String> {
        let all = manifest.readers.iter();
        all.filter(|name| *name != StalePageReader::NAME).cloned().collect()
    };
    if recorded.search == current.search && readers(recorded) == readers(current) {
        return;
    }
    let fault = Error::new(
        ErrorKind::Setup,
        format!(
            "run {run} was started with other search providers or readers than are configured now"
        ),
    )
    .with_hint("to fork a recording again, run `ibid replay FILE` with the same flags");
    journal.fail(fault).await
}

/// Flushes events and traffic, and applies commands to finish, every [`HEARTBEAT_INTERVAL`]. Returns when the run is cancelled.
///
/// # Errors
/// When the store fails, or another process has taken the run.
async fn heartbeat(
    lease: &dyn RunLease,
    log: &EventLog,
    store: &dyn Store,
    finish: &AtomicBool,
    egress: &Egress,
) -> Result<RunEnd> {
    let run = log.run();
    loop {
        tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        if !lease.is_valid() {
            return Err(Error::new(
                ErrorKind::Transient,
                format!("run {run} was taken over by another process"),
            )
            .with_hint(format!("see its progress with `ibid show {run}`")));
        }
        log.flush().await?;
        flush_traffic(run, store, egress).await?;
        let commands = store.commands(run).await?;
        if commands.contains(&RunCommand::Cancel) {
            return Ok(RunEnd::Cancelled);
        }
        if commands.contains(&RunCommand::Finish) {
            finish.store(true, Ordering::Relaxed);
        }
    }
}

/// Stores the traffic since the last flush.
pub(super) async fn flush_traffic(run: &RunId, store: &dyn Store, egress: &Egress) -> Result<()> {
    let traffic = egress.take();
    if traffic.is_empty() {
        return Ok(());
    }
    let stored = store.add_traffic(run, &traffic).await;
    if stored.is_err() {
        egress.restore(traffic);
    }
    stored
}

/// How many names before index `at` equal the one there: two folders are both named `local`.
fn name_index(names: &[&str], at: usize) -> usize {
    names[..at].iter().filter(|name| **name == names[at]).count()
}

fn completed_event(report: &Report) -> Event {
    let method = &report.method;
    let limits = [StopReason::MaxIterations, StopReason::MaxResearchers];
    let exhausted = limits.contains(&method.stop) && !method.gate.pass;
    Event::RunCompleted {
        status: if exhausted { RunOutcome::MaxIterationsReached } else { RunOutcome::Completed },
        stop_reason: method.stop,
        usage: report.usage,
    }
}

fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(ErrorKind::Internal, format!("research panicked: {message}"))
        .with_hint("this is a bug in Ibid; please report it")
}
