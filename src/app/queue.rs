//! Runs that a server has accepted: those that wait for their turn and those worked on. They belong to nobody's
//! connection; who asked may go away and come back.
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, sleep_until};

use super::App;
use super::spending::Submission;
use crate::domain::{Owner, Question, RunId};
use crate::error::{Kind, Result};
use crate::record::{Envelope, Event};
use crate::seams::Accepted;

mod aside;
mod kept;
mod keys;
mod story;

use aside::{LOOK_ASIDE, Rest, waits};
use keys::KeyTurns;
pub use story::Story;

/// How long a run that could not be worked on rests before it is tried again, at first and at most.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// How often runs of servers that are gone are looked for, and the most that is added to that by chance, so that servers do
/// not look all at once. With the time after which a server is taken to be gone this stays below 35 seconds.
const LOOK_ABANDONED: Duration = Duration::from_secs(8);
const JITTER_MS: u64 = 3_000;

/// How many runs begin at once, of however many are worked on.
const BEGIN: usize = 4;

/// How much a server takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Runs worked on at once.
    pub working: usize,
    /// Runs that may wait.
    pub waiting: usize,
    /// Of these, runs of one owner.
    pub waiting_each: usize,
    /// Runs of one owner that may wait for a person.
    pub aside_each: usize,
    /// How long a run may wait for a person before its turn goes to another; where another waits for a turn, it goes at once.
    pub patience: Duration,
}

/// The runs of a server, each accepted before anybody hears its id, and worked on in fair turns.
pub struct Queue {
    app: Arc<App>,
    state: Mutex<State>,
    /// Somebody waits, or there is room again.
    turn: Notify,
    /// Whether a run waits for its turn that has none because every place is taken.
    crowded: watch::Sender<bool>,
    /// Runs that begin at once: who asks and who listens is answered in between.
    begin: Semaphore,
    keys: KeyTurns,
    /// The folders that are served; `None` where any may be searched.
    folders: Option<Vec<PathBuf>>,
    afterwards: Option<Afterwards>,
}

/// What is done once a run has ended, beside the runs that are worked on.
pub type Afterwards = Arc<dyn Fn(RunId) -> BoxFuture<'static, ()> + Send + Sync>;

struct State {
    limits: Limits,
    waiting: VecDeque<Waiting>,
    working: BTreeMap<RunId, Working>,
    /// Places promised to runs that are being written down.
    promised: Vec<Option<String>>,
}

struct Waiting {
    run: RunId,
    owner: Option<String>,
    tries: u32,
    rest: Rest,
    told: Told,
}

impl Waiting {
    fn new(run: RunId, owner: Option<String>) -> Waiting {
        Waiting {
            run,
            owner,
            tries: 0,
            rest: Rest::None,
            told: watch::channel(None).0,
        }
    }
}

/// Tells those who hear one run, and nobody else, when work on it begins: the number of its last durable event, as it grows.
type Told = watch::Sender<Option<watch::Receiver<u64>>>;

struct Working {
    owner: Option<String>,
    told: Told,
    /// Whether an order was left for it meanwhile.
    woken: bool,
}

impl Queue {
    /// An empty queue over `app`.
    pub fn new(app: Arc<App>, limits: Limits) -> Queue {
        Queue {
            app,
            state: Mutex::new(State {
                limits,
                waiting: VecDeque::new(),
                working: BTreeMap::new(),
                promised: Vec::new(),
            }),
            turn: Notify::new(),
            crowded: watch::channel(false).0,
            begin: Semaphore::new(BEGIN),
            keys: KeyTurns::default(),
            folders: None,
            afterwards: None,
        }
    }

    /// The same over these folders alone. A run that searches another one rests, however far it has come, until a server has that
    /// folder, or until somebody cancels it: another server of the same store may have it.
    #[must_use]
    pub fn over(mut self, folders: Vec<PathBuf>) -> Queue {
        self.folders = Some(folders);
        self
    }

    /// The same, with something that is done once a run of it has ended.
    #[must_use]
    pub fn then(mut self, afterwards: Afterwards) -> Queue {
        self.afterwards = Some(afterwards);
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes on so much from now on; what was taken on before stays.
    pub fn bound(&self, limits: Limits) {
        self.state().limits = limits;
        self.turn.notify_one();
    }

    /// Runs that wait and runs that are worked on.
    pub fn count(&self) -> (usize, usize) {
        let state = self.state();
        (state.waiting.len(), state.working.len())
    }

    /// Whether a run of `owner` would be refused just now.
    pub fn is_full(&self, owner: Option<&Owner>) -> bool {
        self.full(&self.state(), &key(owner))
    }

    fn full(&self, state: &State, owner: &Option<String>) -> bool {
        let free = state.limits.working.saturating_sub(state.working.len());
        // Who waits for a person waits for no turn: were they counted, plans that nobody looks at would keep all others out.
        let for_turns = || state.waiting.iter().filter(|it| !it.rest.is_for_person());
        let waiting = for_turns().count() + state.promised.len();
        if waiting >= state.limits.waiting + free {
            return true;
        }
        let of_one = for_turns().map(|it| &it.owner).chain(&state.promised);
        let own = of_one.filter(|it| *it == owner).count();
        own >= state.limits.waiting_each + free
    }

    /// Whether `owner` has as many runs that wait for a person as they may: no further one is taken that would ask them.
    fn asks_enough(state: &State, owner: &Option<String>) -> bool {
        let aside = state.waiting.iter().filter(|it| it.rest.is_for_person());
        aside.filter(|it| it.owner == *owner).count() >= state.limits.aside_each
    }

    /// Accepts `question` as `run`: when this says `Queued`, it is on disk, with all that was submitted. What was begun
    /// under the same key before is named, however full it is here.
    ///
    /// # Errors
    /// Those of [`App::enqueue`].
    pub async fn accept(&self, run: RunId, question: Question, on: Submission) -> Result<Accepted> {
        // Requests under one key take turns, so that one place is promised to all of them.
        let _turn = match &on.key {
            Some(it) => Some(self.keys.turn(it).await),
            None => None,
        };
        if let Some(it) = &on.key
            && let Some(known) = self.app.requested(it).await?
        {
            return Ok(known);
        }
        let key = key(on.owner.as_ref());
        {
            let mut state = self.state();
            let asks = question.approve || question.clarify;
            if self.full(&state, &key) || asks && Queue::asks_enough(&state, &key) {
                return Ok(Accepted::Full);
            }
            state.promised.push(key.clone());
        }
        // Given back also where the caller goes away in between: whether the run was kept is then looked up.
        let mut promise = Promise {
            queue: self,
            owner: &key,
            run: Some(&run),
        };
        let accepted = self.app.enqueue(run.clone(), question, on).await;
        promise.run = None;
        drop(promise);
        let accepted = accepted?;
        if accepted == Accepted::Queued {
            self.put(Waiting::new(run, key));
        }
        Ok(accepted)
    }

    fn put(&self, it: Waiting) {
        self.state().waiting.push_back(it);
        self.turn.notify_one();
    }

    /// Takes in the runs that were accepted before and have not ended, and that nobody sees to. Returns how many.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn recover(&self) -> Result<usize> {
        if let Some(found) = self.take_over().await? {
            return Ok(found);
        }
        let mut found = 0;
        // Newest first as listed; the oldest has waited longest.
        for row in self.app.runs().await?.into_iter().rev() {
            if row.status.ended() || self.app.live(&row.run_id).await? {
                continue;
            }
            let past = self.app.events(&row.run_id, 0).await?;
            let ours = |it: &Envelope| matches!(it.event, Event::RunQueued { .. });
            if !past.iter().any(ours) {
                // Of somebody's command line, who may go on with it or not.
                continue;
            }
            found += 1;
            self.put(Waiting::new(row.run_id, key(row.owner.as_ref())));
        }
        Ok(found)
    }

    /// Takes in the runs of servers that are gone. Returns how many, or `None` where no other server works on the same runs.
    async fn take_over(&self) -> Result<Option<usize>> {
        let Some(abandoned) = self.app.abandoned().await? else {
            return Ok(None);
        };
        let mut found = 0;
        for run in abandoned {
            if self.has(&run) {
                continue;
            }
            let row = match self.app.row(&run).await {
                // Forgotten meanwhile.
                Err(fault) if fault.kind() == Kind::NotFound => continue,
                row => row?,
            };
            found += 1;
            self.put(Waiting::new(run, key(row.owner.as_ref())));
        }
        Ok(Some(found))
    }

    /// Takes in the runs of servers that are gone, again and again.
    async fn watch_others(self: Arc<Self>) {
        loop {
            let jitter = (self.app.chance_bits() % u128::from(JITTER_MS)) as u64;
            sleep(LOOK_ABANDONED + Duration::from_millis(jitter)).await;
            // Where the store is away now, the next look finds them.
            if matches!(self.take_over().await, Ok(None)) {
                return;
            }
        }
    }

    /// Whether a run waits or is worked on here.
    fn has(&self, run: &RunId) -> bool {
        let state = self.state();
        state.working.contains_key(run) || state.waiting.iter().any(|it| &it.run == run)
    }

    /// Works on what waits until this is dropped: then all stops where it is, and can be gone on with.
    pub async fn work(self: Arc<Self>) {
        let mut work = JoinSet::new();
        work.spawn(Arc::clone(&self).watch_others());
        let mut looks = interval(LOOK_ASIDE);
        loop {
            while let Some(next) = self.next() {
                work.spawn(Arc::clone(&self).sit(next));
            }
            let rested = self.rested_at();
            tokio::select! {
                () = self.turn.notified() => {}
                () = sleep_until(rested.unwrap_or_else(Instant::now)), if rested.is_some() => {}
                _ = looks.tick() => {
                    let here = Arc::clone(&self);
                    work.spawn(async move {
                        here.look().await;
                    });
                }
                Some(_) = work.join_next(), if !work.is_empty() => {}
            }
        }
    }

    /// The next run to be worked on: the oldest of the owner who has the fewest at work.
    fn next(&self) -> Option<Waiting> {
        let mut state = self.state();
        let now = Instant::now();
        let full = state.working.len() >= state.limits.working;
        let crowded = full && state.waiting.iter().any(|it| it.rest.is_over(now));
        // Told while the state is held, so that none of two that look at once has the older word.
        self.crowded.send_replace(crowded);
        if full {
            return None;
        }
        let at_work = |owner: &Option<String>| {
            let own = state.working.values().filter(|it| &it.owner == owner);
            own.count()
        };
        let ready = |it: &Waiting| it.rest.is_over(now);
        let (at, _) = state
            .waiting
            .iter()
            .enumerate()
            .filter(|(_, it)| ready(it))
            .map(|(at, it)| (at, at_work(&it.owner)))
            .min_by_key(|(at, at_work)| (*at_work, *at))?;
        let it = state.waiting.remove(at)?;
        let working = Working {
            owner: it.owner.clone(),
            told: it.told.clone(),
            woken: false,
        };
        state.working.insert(it.run.clone(), working);
        Some(it)
    }

    /// When the first of those that rest may be tried again.
    fn rested_at(&self) -> Option<Instant> {
        let state = self.state();
        if state.working.len() >= state.limits.working {
            return None;
        }
        state.waiting.iter().filter_map(|it| it.rest.ends()).min()
    }

    /// Works on one run until it ends, or cannot be worked on.
    async fn sit(self: Arc<Self>, it: Waiting) {
        let run = it.run.clone();
        let shut_out = || Rest::Until(Instant::now() + LONGEST_REST);
        if !self.app.may_spend(it.owner.as_deref()).await || !self.serves(&run).await {
            return self.put_aside(it, shut_out());
        }
        let place = Place {
            queue: &self,
            run: &run,
        };
        let outcome = async {
            let begins = self.begin.acquire().await;
            let running = self.app.resume(&it.run).await?;
            drop(begins);
            it.told.send_replace(Some(running.durable()));
            let patience = self.state().limits.patience;
            let waits = waits(running.waits.clone(), patience, self.crowded.subscribe());
            tokio::select! {
                ended = running.wait() => ended.map(|_| None),
                // Dropping it stops it where it is: nothing was sent meanwhile.
                rest = waits => Ok(Some(rest)),
                () = self.app.until_shut_out(it.owner.as_deref()) => Ok(Some(shut_out())),
            }
        };
        let fault = match outcome.await {
            Ok(None) => {
                drop(place);
                return self.told_of(it.run).await;
            }
            // Its place is taken from it in the same step: `place`, dropped after, finds nothing.
            Ok(Some(rest)) => return self.put_aside(it, rest),
            Err(fault) => fault,
        };
        // Where another server has taken it and is gone before its end, it is found again.
        if let Ok(true) = self.app.is_none_of_ours(&it.run, &fault).await {
            return;
        }
        let lasting = match fault.kind() {
            // Another process works on it, or the store is away for a while.
            Kind::Transient | Kind::Cancelled => false,
            _ => self.app.give_up(&it.run, &fault).await.is_ok(),
        };
        drop(place);
        it.told.send_replace(None);
        if lasting {
            return self.told_of(it.run).await;
        }
        let rest = REST.saturating_mul(1 << it.tries.min(6)).min(LONGEST_REST);
        self.put(Waiting {
            tries: it.tries + 1,
            rest: Rest::Until(Instant::now() + rest),
            ..it
        });
    }

    /// Whether all that `run` searches is served here. A run that has ended searches nothing, and what cannot be read just now is
    /// told by its work.
    async fn serves(&self, run: &RunId) -> bool {
        let Some(folders) = &self.folders else {
            return true;
        };
        let Ok(known) = self.app.run(run).await else {
            return true;
        };
        let is_served = |it: &String| folders.iter().any(|path| path == Path::new(it));
        let all = |it: Question| it.folders.iter().all(is_served);
        known.status.ended() || known.question.is_none_or(all)
    }

    /// Has a run wait that waits for a person itself, in one step, so that no order falls between.
    fn put_aside(&self, it: Waiting, rest: Rest) {
        let mut state = self.state();
        let working = state.working.remove(&it.run);
        let woken = working.is_some_and(|it| it.woken);
        it.told.send_replace(None);
        state.waiting.push_back(Waiting {
            tries: 0,
            rest: if woken { Rest::None } else { rest },
            ..it
        });
        drop(state);
        self.turn.notify_one();
    }

    /// Gives runs their turn that were put aside and to which somebody has spoken since, through whatever process: how many. This
    /// is all that they cost until then.
    pub async fn look(&self) -> usize {
        let aside: Vec<(RunId, usize)> = {
            let state = self.state();
            let rests = |it: &Waiting| match it.rest {
                Rest::Person(heard, _) => Some((it.run.clone(), heard)),
                _ => None,
            };
            state.waiting.iter().filter_map(rests).collect()
        };
        let mut spoken = 0;
        for (run, heard) in aside {
            // Where the store is away now, the next look finds the word.
            if self.app.words(&run).await.is_ok_and(|it| it > heard) {
                spoken += 1;
                self.wake(&run);
            }
        }
        spoken
    }

    /// Runs that were put aside because they wait for a person.
    pub fn aside(&self) -> usize {
        let state = self.state();
        let all = state.waiting.iter();
        all.filter(|it| it.rest.is_for_person()).count()
    }

    /// Gives a run its turn that was put aside.
    pub fn wake(&self, run: &RunId) {
        let mut state = self.state();
        for it in state.waiting.iter_mut().filter(|it| &it.run == run) {
            it.rest = Rest::None;
        }
        if let Some(it) = state.working.get_mut(run) {
            it.woken = true;
        }
        drop(state);
        self.turn.notify_one();
    }

    async fn told_of(&self, run: RunId) {
        if let Some(then) = &self.afterwards {
            then(run).await;
        }
    }

    /// What a run tells after event `after`, as far as it is durable, however late one comes and whoever works on it.
    pub fn follow(self: &Arc<Self>, run: &RunId, after: u64) -> Story {
        Story {
            queue: Arc::clone(self),
            run: run.clone(),
            after,
        }
    }

    /// Who tells of a run that waits or is worked on here.
    fn told(&self, run: &RunId) -> Option<watch::Receiver<Option<watch::Receiver<u64>>>> {
        let state = self.state();
        let working = state.working.get(run).map(|it| &it.told);
        let waiting = || state.waiting.iter().find(|it| &it.run == run);
        let told = working.or_else(|| waiting().map(|it| &it.told))?;
        Some(told.subscribe())
    }
}

/// A place promised; given back when dropped, also where who asked went away.
struct Promise<'q> {
    queue: &'q Queue,
    owner: &'q Option<String>,
    /// The run that is being written down, as long as it is not known whether it was.
    run: Option<&'q RunId>,
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if let Some(at) = state.promised.iter().position(|it| it == self.owner) {
            state.promised.swap_remove(at);
        }
        if let Some(run) = self.run {
            let owner = self.owner.clone();
            state.waiting.push_back(Waiting::new(run.clone(), owner));
            drop(state);
            self.queue.turn.notify_one();
        }
    }
}

/// A run being worked on; when dropped, it no longer is.
struct Place<'q> {
    queue: &'q Queue,
    run: &'q RunId,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.queue.state().working.remove(self.run);
        self.queue.turn.notify_one();
    }
}

fn key(owner: Option<&Owner>) -> Option<String> {
    owner.map(|it| it.user.clone())
}
