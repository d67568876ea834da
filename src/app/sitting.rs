//! One sitting of a run: from start or resume to its end, or to the next interruption.
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};

use super::parts::{Doors, Research, SpentSoFar};
use super::telemetry;
use super::timely::Timely;
use super::turns;
use crate::adapters::folder::Progress;
use crate::adapters::journal::{
    Journal, JournaledModel, JournaledRanker, JournaledReader, JournaledSearch,
};
use crate::adapters::steering::{Bounds, Helm, Waits, asked, worked};
use crate::adapters::telemetry::Telemetry;
use crate::domain::{Question, Report, RunId, StopReason};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event, Run, RunStatusWord};
use crate::seams::{
    Accounts, Cast, Chance, Clock, Egress, Hold, LanguageModel, Log, Order, PageReader,
    SearchProvider, Store, World, crash_point,
};

/// How often what was told is made durable and orders are looked for, at the least.
const BEAT: Duration = Duration::from_millis(200);

/// What two sums of the same charges may differ by, US dollars.
const NO_MONEY: f64 = 1e-6;

/// All that one sitting needs.
pub(super) struct Sitting {
    pub(super) run: RunId,
    pub(super) question: Question,
    pub(super) past: Vec<Envelope>,
    pub(super) store: Arc<dyn Store>,
    pub(super) log: Arc<Log>,
    pub(super) journal: Arc<Journal>,
    pub(super) finish: Arc<AtomicBool>,
    pub(super) doors: Doors,
    /// What its models have cost so far, if it has any.
    pub(super) spent: Option<SpentSoFar>,
    /// Where that is charged.
    pub(super) accounts: Arc<dyn Accounts>,
    pub(super) research: Research,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) chance: Arc<dyn Chance>,
    pub(super) lock: Box<dyn Hold>,
    /// How far the preparation is; `None` when there is none, or no more.
    pub(super) preparing: watch::Sender<Option<Progress>>,
    /// Whether the run waits for a person.
    pub(super) waits: watch::Sender<Option<Waits>>,
    /// Where the run is told once it has ended, if anywhere.
    pub(super) telemetry: Option<Arc<Telemetry>>,
    /// The trace that the program was started within, as `TRACEPARENT` tells.
    pub(super) ambient: Option<String>,
}

/// How a sitting's work ended.
enum End {
    /// With a report.
    Report(Box<Report>),
    /// With a fault of the run's own: it has failed for good.
    Failed(Error),
    /// Somebody asked to stop for good.
    Cancelled,
}

impl Sitting {
    /// Works until the run has ended and its end is durable. `faults` tells that the journal can no
    /// longer be written.
    ///
    /// # Errors
    /// When the store fails or the work was stopped: the run has not ended and can be resumed.
    pub(super) async fn work(mut self, mut faults: mpsc::Receiver<Error>) -> Result<Run> {
        let mut world = self.world();
        let prepare = self.doors.prepare.take();
        let preparing = self.preparing.clone();
        let story = async {
            let noted = self.journal.cast(Cast::of(&world)).await?;
            if !self.past.is_empty() {
                same_places(&self.run, &self.journal, &noted, &Cast::of(&world)).await;
            }
            world.known = turns::known(&self.question, &self.journal, &*self.store).await?;
            if let Some(prepare) = prepare {
                preparing.send_replace(Some(Progress::default()));
                let tell = preparing.clone();
                let told = prepare(Arc::new(move |it| {
                    tell.send_replace(Some(it));
                }));
                let told = told.await?;
                world.unreadable = unreadable(&self.past, &told);
                for event in told {
                    self.log.emit(event);
                }
                preparing.send_replace(None);
            }
            (self.research)(&world, &self.log, &self.run, &self.question).await
        };
        let end = tokio::select! {
            biased;
            Some(fault) = faults.recv() => return Err(fault),
            stopped = keep_up(&self.run, &*self.lock, &self.log, &*self.store, &self.finish, &self.doors.egress) => stopped?,
            outcome = AssertUnwindSafe(story).catch_unwind() => match outcome {
                Ok(Ok(report)) => End::Report(Box::new(report)),
                Ok(Err(fault)) if fault.kind() == Kind::Cancelled => {
                    self.log.flush().await?;
                    return Err(fault);
                }
                Ok(Err(fault)) => End::Failed(fault),
                Err(panic) => End::Failed(panicked(&*panic)),
            },
        };
        self.end(end).await
    }

    /// The doors, each call through the journal.
    fn world(&self) -> World {
        let journal = &self.journal;
        let (search, readers) = (&self.doors.search, &self.doors.readers);
        let names: Vec<&str> = search.iter().map(|it| it.name()).collect();
        let searching = |(at, it): (usize, &Arc<dyn SearchProvider>)| {
            let nth = namesakes(&names, at);
            let journaled = JournaledSearch::new(Arc::clone(it), Arc::clone(journal), nth);
            Arc::new(journaled) as Arc<dyn SearchProvider>
        };
        let reader_names: Vec<&str> = readers.iter().map(|it| it.name()).collect();
        let reading = |(at, it): (usize, &Arc<dyn PageReader>)| {
            let nth = namesakes(&reader_names, at);
            let journaled = JournaledReader::new(Arc::clone(it), Arc::clone(journal), nth);
            Arc::new(journaled) as Arc<dyn PageReader>
        };
        let bounds = Arc::new(Bounds {
            clock: Arc::clone(&self.clock),
            began: self.clock.unix_ms(),
            worked: worked(&self.past),
            seconds: self.question.budget.seconds,
            finish: Arc::clone(&self.finish),
            hurried: AtomicBool::new(false),
            idle: AtomicU64::new(0),
        });
        // A call that is no longer waited for is journaled as failed, so that a replay hears the same.
        let thinking = |it: &Arc<dyn LanguageModel>| {
            let timely = Timely::new(Arc::clone(it), Arc::clone(&bounds));
            let journaled = JournaledModel::new(Arc::new(timely), Arc::clone(journal));
            Arc::new(journaled) as Arc<dyn LanguageModel>
        };
        World {
            // Known when the places have been prepared.
            unreadable: Vec::new(),
            // Known when the journal has been asked.
            known: Vec::new(),
            search: search.iter().enumerate().map(searching).collect(),
            readers: readers.iter().enumerate().map(reading).collect(),
            ranker: match self.doors.ranker.asks() {
                true => Arc::new(JournaledRanker::new(
                    Arc::clone(&self.doors.ranker),
                    Arc::clone(journal),
                )),
                false => Arc::clone(&self.doors.ranker),
            },
            models: self.doors.models.each(thinking),
            steering: Arc::new(Helm {
                run: self.run.clone(),
                journal: Arc::clone(journal),
                store: Arc::clone(&self.store),
                log: Arc::clone(&self.log),
                budget: self.question.budget,
                bounds: Arc::clone(&bounds),
                told: AtomicBool::new(false),
                asked: asked(&self.past),
                waits: self.waits.clone(),
            }),
            clock: Arc::clone(&self.clock),
            chance: Arc::clone(&self.chance),
        }
    }

    async fn end(self, end: End) -> Result<Run> {
        let last = match end {
            End::Report(report) => {
                crash_point("report.before_commit");
                self.log.flush().await?;
                crash_point("report.after_commit");
                completed(&report)
            }
            End::Failed(fault) => Event::RunFailed {
                reason: fault.chain(),
                hint: fault.help().map(str::to_owned),
                kind: Some(fault.kind()),
            },
            End::Cancelled => Event::RunCancelled {},
        };
        note(&self.run, &*self.store, &self.doors.egress).await?;
        let told = self.journal.usage().usd.unwrap_or(0.0);
        let spent = self.spent.as_ref().and_then(|it| it());
        // What may have been paid beyond what was answered, charged before the reservation ends with the run.
        if let Some(spent) = spent.filter(|it| *it > told + NO_MONEY) {
            self.accounts.charge(&self.run, Some(spent)).await?;
        }
        self.log.enter(crate::record::Phase::Run, None);
        self.log.emit(last);
        crash_point("completed.before_commit");
        self.log.flush().await?;
        crash_point("completed.after_commit");
        let events = self.store.events(&self.run, 0).await?;
        self.lock.retire();
        if let Some(it) = &self.telemetry {
            let (store, egress) = (&*self.store, &self.doors.egress);
            let ambient = self.ambient.as_deref();
            telemetry::told(it, store, &self.run, &events, ambient, egress).await;
            // The run has ended well, whatever becomes of this line of its book.
            note(&self.run, store, egress).await.ok();
        }
        Ok(Run::of(self.run, &events))
    }
}

/// The documents that could not be taken in, by path and place, with the reason: those of earlier sittings as they were
/// told, then those that `now` tells of, so that a resumed run reports what it told.
fn unreadable(past: &[Envelope], now: &[Event]) -> Vec<(String, String)> {
    let mut found = BTreeMap::new();
    for it in past.iter().map(|it| &it.event).chain(now) {
        let Event::DocumentFailed {
            path,
            place,
            message,
            ..
        } = it
        else {
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

/// Ends the sitting where others stood behind the doors when the run began, as in a fork whose recording is
/// not at hand: its answered calls would be looked for under other doors.
async fn same_places(run: &RunId, journal: &Journal, noted: &Cast, now: &Cast) {
    if (&noted.search, &noted.readers) == (&now.search, &now.readers) {
        return;
    }
    let fault = Error::new(
        Kind::Setup,
        format!("run {run} was begun with other places to search than there are here"),
    )
    .hint("a fork begins anew with `ibid replay FILE` and the same flags");
    journal.fail(fault).await
}

/// Makes what is told durable as it comes, and an order to finish known to those who wait for models;
/// returns when somebody cancels the run.
///
/// # Errors
/// When the store fails, or another process has the run now.
async fn keep_up(
    run: &RunId,
    lock: &dyn Hold,
    log: &Log,
    store: &dyn Store,
    finish: &AtomicBool,
    egress: &Egress,
) -> Result<End> {
    loop {
        tokio::time::sleep(BEAT).await;
        if !lock.kept() {
            return Err(Error::new(
                Kind::Transient,
                format!("run {run} was taken over by another process"),
            )
            .hint(format!("see how far it is with `ibid show {run}`")));
        }
        log.flush().await?;
        note(run, store, egress).await?;
        let orders = store.orders(run).await?;
        if orders.contains(&Order::Cancel) {
            return Ok(End::Cancelled);
        }
        if orders.contains(&Order::Finish) {
            finish.store(true, Ordering::Relaxed);
        }
    }
}

/// Makes durable what has left the machine since the last time.
pub(super) async fn note(run: &RunId, store: &dyn Store, egress: &Egress) -> Result<()> {
    let traffic = egress.take();
    if traffic.is_empty() {
        return Ok(());
    }
    let kept = store.note_traffic(run, &traffic).await;
    if kept.is_err() {
        egress.put_back(traffic);
    }
    kept
}

/// How many before the one at `at` have its name: two folders are both `local`.
fn namesakes(names: &[&str], at: usize) -> usize {
    names[..at].iter().filter(|it| **it == names[at]).count()
}

fn completed(report: &Report) -> Event {
    let method = &report.method;
    let exhausted = method.stop == StopReason::MaxIterations && !method.gate.pass;
    Event::RunCompleted {
        status: match exhausted {
            true => RunStatusWord::MaxIterationsReached,
            false => RunStatusWord::Completed,
        },
        stop_reason: method.stop,
        usage: report.usage,
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(Kind::Internal, format!("research panicked: {words}"))
        .hint("this is a fault of Ibid's own; please report it")
}
