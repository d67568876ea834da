//! The runs that a server has accepted: those that wait for a slot and those that workers run. A run does not depend on the connection
//! that asked for it; the client may disconnect and come back.
//!
//! A run waits in the queue, is active while a worker runs it, and is parked while it waits for input for so long that its slot goes to
//! another run.
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until};

use super::App;
use super::spending::Submission;
use ibid_core::domain::{Owner, Question, RunId};
use ibid_core::ports::{AcceptOutcome, RunSubscription};

use ibid_core::retry::RetryPolicy;
use ibid_core::{ErrorKind, Result};

mod adoption;
mod event_stream;
mod fleet;
mod fleet_member;
mod key_locks;
mod parked;
mod persistence;
mod turns;

pub use event_stream::EventStream;
use fleet_member::FleetMember;
use key_locks::KeyLocks;
use parked::{PARKED_POLL_INTERVAL, WaitReason, wait_until_parked};
use turns::Turns;

/// The delays before a run that failed to start is tried again.
const RESUME_RETRY: RetryPolicy = RetryPolicy {
    tries: u32::MAX,
    first: Duration::from_secs(1),
    factor: 2,
    longest: Duration::from_secs(60),
    deadline: Duration::MAX,
};

/// Runs that may open their providers at the same time, so that requests are answered in between.
const MAX_STARTING: usize = 4;

/// How many runs a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Active runs.
    pub working: usize,
    /// Waiting runs.
    pub waiting: usize,
    /// Waiting runs of one owner.
    pub waiting_each: usize,
    /// Parked runs of one owner.
    pub parked_each: usize,
    /// How long an active run may wait for input before it is parked. It is parked at once while another run waits for a slot.
    pub patience: Duration,
}

/// The run queue of a server. It stores a run before it returns its id, and shares the slots fairly among owners.
pub struct Queue {
    app: Arc<App>,
    state: Mutex<QueueState>,
    /// Notified when a run was added or a slot became free.
    turn: Notify,
    /// Notified when a parked run has changed, where other processes tell of it.
    parked_changed: Arc<Notify>,
    /// Whether a run waits only because every slot is taken.
    crowded: watch::Sender<bool>,
    /// Permits for [`MAX_STARTING`] runs.
    begin: Semaphore,
    keys: KeyLocks,
    /// The folders that are served; `None` for all.
    folders: Option<Vec<PathBuf>>,
    on_run_end: Option<RunEndHook>,
    /// The queue of several servers, which then holds the waiting runs instead of this one.
    fleet: Option<FleetMember>,
}

/// Called after a run has ended, in the task that ran it.
pub type RunEndHook = Arc<dyn Fn(RunId) -> BoxFuture<'static, ()> + Send + Sync>;

struct QueueState {
    limits: QueueLimits,
    waiting: VecDeque<QueuedRun>,
    working: BTreeMap<RunId, ActiveRun>,
    /// The owners of places reserved for runs that are being stored.
    promised: Vec<Option<String>>,
    turns: Turns,
}

struct QueuedRun {
    run: RunId,
    owner: Option<Owner>,
    tries: u32,
    rest: WaitReason,
    /// The changes of a parked run, where other processes tell of them.
    changes: Option<Box<dyn RunSubscription>>,
    durable_seq: DurableSeqSender,
}

impl QueuedRun {
    fn new(run: RunId, owner: Option<Owner>) -> QueuedRun {
        QueuedRun {
            run,
            owner,
            tries: 0,
            rest: WaitReason::None,
            changes: None,
            durable_seq: watch::channel(None).0,
        }
    }

    /// The id of the user that it belongs to.
    fn user(&self) -> Option<&str> {
        self.owner.as_ref().map(|owner| owner.user.as_str())
    }

    /// Whether it has changed since it was last asked.
    fn has_changed(&self) -> bool {
        self.changes.as_ref().is_some_and(|it| it.take_changed())
    }
}

/// For the followers of one run: the sequence number of its last durable event, while a worker runs it.
type DurableSeqSender = watch::Sender<Option<watch::Receiver<u64>>>;

/// How the work on an active run ended.
enum WorkEnd {
    Ended,
    /// It does not belong to this server.
    Elsewhere,
    /// It cannot go on before this.
    Rests(WaitReason),
    /// It is to be tried again.
    Failed,
}

struct ActiveRun {
    owner: Option<Owner>,
    durable_seq: DurableSeqSender,
    /// Whether a command came since the run became active.
    woken: bool,
}

impl Queue {
    /// An empty queue over `app`.
    pub fn new(app: Arc<App>, limits: QueueLimits) -> Queue {
        Queue {
            fleet: app.components.fleet.clone().map(FleetMember::new),
            app,
            state: Mutex::new(QueueState {
                limits,
                waiting: VecDeque::new(),
                working: BTreeMap::new(),
                promised: Vec::new(),
                turns: Turns::default(),
            }),
            turn: Notify::new(),
            parked_changed: Arc::default(),
            crowded: watch::channel(false).0,
            begin: Semaphore::new(MAX_STARTING),
            keys: KeyLocks::default(),
            folders: None,
            on_run_end: None,
        }
    }

    /// Limits the queue to these folders. A run over another folder waits until a server of the same store serves that folder, or until
    /// it is cancelled.
    #[must_use]
    pub fn with_folders(mut self, folders: Vec<PathBuf>) -> Queue {
        self.folders = Some(folders);
        self
    }

    /// Sets the hook that is called after a run has ended.
    #[must_use]
    pub fn on_run_end(mut self, hook: RunEndHook) -> Queue {
        self.on_run_end = Some(hook);
        self
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the limits. Runs that were accepted before stay.
    pub fn set_limits(&self, limits: QueueLimits) {
        self.state().limits = limits;
        self.turn.notify_one();
    }

    /// The number of waiting and of active runs. In a fleet, the waiting ones are those of all servers, some seconds ago.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state();
        let waiting = self.fleet.as_ref().map_or(state.waiting.len(), FleetMember::waiting);
        (waiting, state.working.len())
    }

    /// Whether a run of `owner` would be refused now.
    pub fn is_full(&self, owner: Option<&Owner>) -> bool {
        // What waits in a fleet is counted when a run is accepted.
        self.fleet.is_none() && self.is_full_for(&self.state(), &owner_key(owner))
    }

    fn is_full_for(&self, state: &QueueState, owner: &Option<String>) -> bool {
        let free = state.limits.working.saturating_sub(state.working.len());
        // Parked runs do not count: else plans that are never approved would block the queue.
        let unparked = || state.waiting.iter().filter(|it| !it.rest.is_for_person());
        let waiting = unparked().count() + state.promised.len();
        if waiting >= state.limits.waiting + free {
            return true;
        }
        let users = unparked().map(QueuedRun::user);
        let users = users.chain(state.promised.iter().map(Option::as_deref));
        let own = users.filter(|it| *it == owner.as_deref()).count();
        own >= state.limits.waiting_each + free
    }

    /// Whether `owner` has the most parked runs allowed. A run that may ask for input is then refused.
    fn has_max_parked(state: &QueueState, owner: &Option<String>) -> bool {
        let parked = state.waiting.iter().filter(|it| it.rest.is_for_person());
        parked.filter(|it| it.user() == owner.as_deref()).count() >= state.limits.parked_each
    }

    /// Accepts `question` as `run`. When this returns `Queued`, the run is stored with its submission. A request whose idempotency key is
    /// known returns the run that it began, also when the queue is full.
    ///
    /// # Errors
    /// Those of [`App::accept`].
    pub async fn accept(
        &self,
        run: RunId,
        question: Question,
        submission: Submission,
    ) -> Result<AcceptOutcome> {
        // Requests with one key take turns, so that they reserve one place together.
        let _turn = match &submission.key {
            Some(key) => Some(self.keys.lock(key).await),
            None => None,
        };
        if let Some(key) = &submission.key
            && let Some(known) = self.app.find_request(key).await?
        {
            return Ok(known);
        }
        let owner = submission.owner.clone();
        let fleet_full = self.is_fleet_full(owner.as_ref()).await?;
        {
            let (mut state, user) = (self.state(), owner_key(owner.as_ref()));
            let asks = question.approve || question.clarify;
            let full = fleet_full || self.fleet.is_none() && self.is_full_for(&state, &user);
            if full || asks && Queue::has_max_parked(&state, &user) {
                return Ok(AcceptOutcome::Full);
            }
            state.promised.push(user);
        }
        // Dropped also when the caller is cancelled. Whether the run was stored is then found out by working on it.
        let mut reservation = SlotReservation { queue: self, owner: &owner, run: Some(&run) };
        let outcome = self.app.accept(run.clone(), question, submission).await;
        reservation.run = None;
        drop(reservation);
        let outcome = outcome?;
        if outcome == AcceptOutcome::Queued {
            match &self.fleet {
                Some(fleet) => self.submit_to(fleet, &run, owner.as_ref()).await,
                None => self.push(QueuedRun::new(run, owner)),
            }
        }
        Ok(outcome)
    }

    fn push(&self, it: QueuedRun) {
        self.state().waiting.push_back(it);
        self.turn.notify_one();
    }

    /// Whether a run waits or is active in this queue.
    fn contains(&self, run: &RunId) -> bool {
        let state = self.state();
        state.working.contains_key(run) || state.waiting.iter().any(|it| &it.run == run)
    }

    /// Runs the queue until this future is dropped. Active runs then stop where they are and can be resumed.
    pub async fn run(self: Arc<Self>) {
        if let Some(fleet) = &self.fleet {
            return Arc::clone(&self).run_in_fleet(fleet).await;
        }
        let mut work = JoinSet::new();
        work.spawn(Arc::clone(&self).adopt_loop());
        let mut polls = interval(PARKED_POLL_INTERVAL);
        loop {
            while let Some(next) = self.next_ready() {
                work.spawn(Arc::clone(&self).run_one(next));
            }
            let retry_at = self.next_retry_at();
            tokio::select! {
                () = self.turn.notified() => {}
                () = sleep_until(retry_at.unwrap_or_else(Instant::now)), if retry_at.is_some() => {}
                () = self.parked_changed.notified() => {
                    let queue = Arc::clone(&self);
                    work.spawn(async move {
                        queue.wake_parked(QueuedRun::has_changed).await;
                    });
                }
                _ = polls.tick() => {
                    let queue = Arc::clone(&self);
                    work.spawn(async move {
                        queue.wake_answered().await;
                    });
                }
                Some(_) = work.join_next(), if !work.is_empty() => {}
            }
        }
    }

    /// The next run to work on, by whose turn it is.
    fn next_ready(&self) -> Option<QueuedRun> {
        let mut state = self.state();
        let now = Instant::now();
        let full = state.working.len() >= state.limits.working;
        let crowded = full && state.waiting.iter().any(|it| it.rest.is_over(now));
        // Sent under the lock, so that of two concurrent calls the later state wins.
        self.crowded.send_replace(crowded);
        if full {
            return None;
        }
        let active: Vec<Option<&Owner>> =
            state.working.values().map(|it| it.owner.as_ref()).collect();
        let ready = state.waiting.iter().enumerate().filter(|(_, it)| it.rest.is_over(now));
        let turn =
            |(at, it): (usize, &QueuedRun)| (state.turns.rank(&active, it.owner.as_ref()), at);
        let (_, at) = ready.map(turn).min()?;
        let it = QueuedRun { changes: None, ..state.waiting.remove(at)? };
        state.turns.take(it.owner.as_ref());
        let working = ActiveRun {
            owner: it.owner.clone(),
            durable_seq: it.durable_seq.clone(),
            woken: false,
        };
        state.working.insert(it.run.clone(), working);
        Some(it)
    }

    /// When the first delayed or parked run is due.
    fn next_retry_at(&self) -> Option<Instant> {
        let state = self.state();
        if state.working.len() >= state.limits.working {
            return None;
        }
        state.waiting.iter().filter_map(|it| it.rest.deadline()).min()
    }

    /// Resumes one run and waits until it ends, is parked, or fails to make progress.
    async fn run_one(self: Arc<Self>, it: QueuedRun) {
        let run = it.run.clone();
        // `park` frees the slot itself; `guard`, dropped after, then finds nothing to free.
        let guard = ActiveRunGuard { queue: &self, run: &run };
        match self.work_until_rest(&it).await {
            WorkEnd::Ended => {
                drop(guard);
                self.call_end_hook(it.run).await;
            }
            // Should the server that took it stop, the run is adopted again.
            WorkEnd::Elsewhere => {}
            WorkEnd::Rests(rest) => self.park(it, rest),
            WorkEnd::Failed => {
                drop(guard);
                let tries = it.tries + 1;
                let rest = WaitReason::Until(Instant::now() + RESUME_RETRY.delay(tries));
                self.push(QueuedRun { tries, rest, ..it });
            }
        }
    }

    /// Works on an active run.
    async fn work_until_rest(&self, it: &QueuedRun) -> WorkEnd {
        let retry_later = || WaitReason::Until(Instant::now() + RESUME_RETRY.longest);
        if !self.app.may_spend(it.user()).await || !self.serves(&it.run).await {
            return WorkEnd::Rests(retry_later());
        }
        let outcome = async {
            let permit = self.begin.acquire().await;
            let running = self.app.resume(&it.run).await?;
            drop(permit);
            it.durable_seq.send_replace(Some(running.durable_seq()));
            let patience = self.state().limits.patience;
            let parked =
                wait_until_parked(running.waits.clone(), patience, self.crowded.subscribe());
            tokio::select! {
                ended = running.wait() => ended.map(|_| None),
                // Dropping `running` stops the worker. It was waiting, so no call is cut off.
                rest = parked => Ok(Some(rest)),
                () = self.app.until_disabled(it.user()) => Ok(Some(retry_later())),
            }
        };
        let fault = match outcome.await {
            Ok(None) => return WorkEnd::Ended,
            Ok(Some(rest)) => return WorkEnd::Rests(rest),
            Err(fault) => fault,
        };
        if let Ok(true) = self.app.is_owned_elsewhere(&it.run, &fault).await {
            return WorkEnd::Elsewhere;
        }
        let lasting = match fault.kind() {
            // Another process works on it, or the store cannot be reached for a while.
            ErrorKind::Transient | ErrorKind::Cancelled => false,
            _ => self.app.fail_run(&it.run, &fault).await.is_ok(),
        };
        it.durable_seq.send_replace(None);
        if lasting { WorkEnd::Ended } else { WorkEnd::Failed }
    }

    /// Whether this queue serves every folder of `run`. True also for a run that has ended or cannot be read: its worker reports that.
    async fn serves(&self, run: &RunId) -> bool {
        let Some(folders) = &self.folders else {
            return true;
        };
        let Ok(known) = self.app.run(run).await else {
            return true;
        };
        let is_served = |text: &String| folders.iter().any(|path| path == Path::new(text));
        let all_served = |question: Question| question.folders.iter().all(is_served);
        known.status.ended() || known.question.is_none_or(all_served)
    }

    /// Moves an active run back to the waiting ones, under one lock so that no command is lost in between.
    fn park(&self, it: QueuedRun, rest: WaitReason) {
        let mut state = self.state();
        let working = state.working.remove(&it.run);
        let woken = working.is_some_and(|working| working.woken);
        it.durable_seq.send_replace(None);
        let rest = if woken { WaitReason::None } else { rest };
        let wakeups = self.app.wakeups().filter(|_| rest.is_for_person());
        let changes =
            wakeups.map(|wakeups| wakeups.subscribe(&it.run, Arc::clone(&self.parked_changed)));
        state.waiting.push_back(QueuedRun { tries: 0, rest, changes, ..it });
        drop(state);
        self.turn.notify_one();
        // A command may have come before the subscription.
        self.parked_changed.notify_one();
    }

    /// Wakes the parked runs that have a new command or were cancelled, from whichever process. Returns how many. This poll is all that a
    /// parked run costs.
    pub async fn wake_answered(&self) -> usize {
        self.wake_parked(|_| true).await
    }

    /// The same for the runs of which `is_due` is true.
    async fn wake_parked(&self, is_due: impl Fn(&QueuedRun) -> bool) -> usize {
        let parked: Vec<(RunId, usize)> = {
            let state = self.state();
            let commands_seen = |run: &QueuedRun| match run.rest {
                WaitReason::User(seen, _) if is_due(run) => Some((run.run.clone(), seen)),
                _ => None,
            };
            state.waiting.iter().filter_map(commands_seen).collect()
        };
        let mut woken = 0;
        for (run, seen) in parked {
            let answered = self.app.is_answered(&run, seen).await;
            // When the store cannot be reached now, the next poll finds the command. A deleted run is woken to leave the queue.
            if answered.unwrap_or_else(|fault| fault.kind() == ErrorKind::NotFound) {
                woken += 1;
                self.wake(&run);
            }
        }
        woken
    }

    /// The number of parked runs.
    pub fn parked_count(&self) -> usize {
        let state = self.state();
        let all = state.waiting.iter();
        all.filter(|it| it.rest.is_for_person()).count()
    }

    /// Wakes a parked run.
    pub fn wake(&self, run: &RunId) {
        let mut state = self.state();
        for it in state.waiting.iter_mut().filter(|it| &it.run == run) {
            it.rest = WaitReason::None;
        }
        if let Some(it) = state.working.get_mut(run) {
            it.woken = true;
        }
        drop(state);
        self.turn.notify_one();
        if let Some(fleet) = &self.fleet {
            fleet.wake_later(run);
        }
    }

    async fn call_end_hook(&self, run: RunId) {
        if let Some(hook) = &self.on_run_end {
            hook(run).await;
        }
    }

    /// The last durable event of a run of this queue, while a worker runs it; `None` for a run that is not in the queue.
    fn durable_seq(&self, run: &RunId) -> Option<watch::Receiver<Option<watch::Receiver<u64>>>> {
        let state = self.state();
        let working = state.working.get(run).map(|value| &value.durable_seq);
        let waiting = || state.waiting.iter().find(|it| &it.run == run);
        let sender = working.or_else(|| waiting().map(|it| &it.durable_seq))?;
        Some(sender.subscribe())
    }
}

/// A reserved place in the queue, freed on drop.
struct SlotReservation<'q> {
    queue: &'q Queue,
    owner: &'q Option<Owner>,
    /// The run, while it is not known whether it was stored. Dropped with one, the reservation adds it to the queue.
    run: Option<&'q RunId>,
}

impl Drop for SlotReservation<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let user = owner_key(self.owner.as_ref());
        if let Some(at) = state.promised.iter().position(|it| *it == user) {
            state.promised.swap_remove(at);
        }
        // A fleet finds it by itself.
        if let Some(run) = self.run.filter(|_| self.queue.fleet.is_none()) {
            let owner = self.owner.clone();
            state.waiting.push_back(QueuedRun::new(run.clone(), owner));
            drop(state);
            self.queue.turn.notify_one();
        }
    }
}

/// The slot of an active run, freed on drop.
struct ActiveRunGuard<'q> {
    queue: &'q Queue,
    run: &'q RunId,
}

impl Drop for ActiveRunGuard<'_> {
    fn drop(&mut self) {
        self.queue.state().working.remove(self.run);
        self.queue.turn.notify_one();
    }
}

fn owner_key(owner: Option<&Owner>) -> Option<String> {
    owner.map(|owner| owner.user.clone())
}
