//! The wrapper that writes every call down before it is sent and its answer before it is used.
//!
//! Resume runs the same plain flow over the same journal: what is answered is read back, what is
//! not is asked. An answer is always used as read back from its JSON, also the first time, so that
//! a run that was interrupted and one that was not see the same bytes.
mod doors;
mod known;
mod tape;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use super::fair::OwnPlaces;
use crate::domain::{Budget, Hits, Page, PageHash, RunId, Usage};
use crate::error::{Error, Kind, Result};
use crate::seams::{
    Answered, Cast, Completion, Prompt, Step, StepState, Store, Tokens, crash_point,
};

pub use doors::{JournaledModel, JournaledRanker, JournaledReader, JournaledSearch};
pub use known::known_of;
pub use tape::{Taken, Tape};

const SEARCH: &str = "search:";
const READ: &str = "read:";
const MODEL: &str = "model:";
const RANK: &str = "rank:";
const STEERING: &str = "steering";
const CAST: &str = "cast";

/// What one run asked and was answered, in this sitting and before.
pub struct Journal {
    run: RunId,
    store: Arc<dyn Store>,
    budget: Budget,
    at_once: OwnPlaces,
    in_doubt: u32,
    doubted: Vec<Prompt>,
    state: Mutex<State>,
    faults: mpsc::Sender<Error>,
    tape: Option<Arc<Tape>>,
}

#[derive(Default)]
struct State {
    calls: HashMap<String, Call>,
    searches: u64,
    pages: u64,
    models: Usage,
}

/// A call by its key: asked by one at a time; whoever comes second finds the first one's answer.
type Call = Arc<AsyncMutex<Known>>;

#[derive(Clone)]
enum Known {
    /// Never asked.
    New,
    /// In the store, by an earlier sitting, without an answer.
    Unanswered,
    /// Answered or failed in this sitting, or answered before.
    Ended(StepState),
}

impl Journal {
    /// The journal of `run`, warm with what earlier sittings wrote.
    ///
    /// Calls take a place of `at_once` while they are out. When the store can no longer be written to, the
    /// fault is sent to `faults` and the call never returns: nobody may use an answer that is not
    /// kept. The receiver must then drop the run.
    pub async fn open(
        run: RunId,
        store: Arc<dyn Store>,
        budget: Budget,
        at_once: OwnPlaces,
        faults: mpsc::Sender<Error>,
    ) -> Result<Journal> {
        let mut state = State::default();
        let mut in_doubt = 0;
        let mut doubted = Vec::new();
        for step in store.steps(&run).await? {
            state.count(&step.door);
            if let StepState::Answered(it) = &step.state {
                state.charge(&step.door, it);
            }
            let known = match step.state {
                StepState::Answered(_) => Known::Ended(step.state),
                StepState::Intended => {
                    in_doubt += u32::from(is_call(&step.door));
                    if step.door.starts_with(MODEL) {
                        doubted.extend(serde_json::from_value(step.asked));
                    }
                    Known::Unanswered
                }
                StepState::Failed { .. } => Known::Unanswered,
            };
            state
                .calls
                .insert(step.key, Arc::new(AsyncMutex::new(known)));
        }
        Ok(Journal {
            run,
            store,
            budget,
            at_once,
            in_doubt,
            doubted,
            state: Mutex::new(state),
            faults,
            tape: None,
        })
    }

    /// The same, where `tape` answers what it holds, and is all there is to ask if it is whole.
    #[must_use]
    pub fn answered_by(mut self, tape: Option<Arc<Tape>>) -> Journal {
        self.tape = tape;
        self
    }

    /// Calls that an earlier sitting wrote down and never saw answered: each is sent once more.
    pub fn in_doubt(&self) -> u32 {
        self.in_doubt
    }

    /// What models were asked by earlier sittings that never saw the answers: it may be billed all the same.
    pub fn doubted(&self) -> &[Prompt] {
        &self.doubted
    }

    /// Searches and pages asked for, over all sittings. A call that is sent again counts once, so
    /// that an interruption changes no decision.
    pub fn usage(&self) -> Usage {
        let state = self.locked();
        Usage {
            searches: state.searches,
            pages: state.pages,
            ..state.models
        }
    }

    /// The answer of `door` to `asked`: the one kept, or `send`'s, kept before it is returned.
    ///
    /// # Errors
    /// What `send` says, as kept; `Exhausted` when the budget has no room for a new call.
    async fn call<T, F>(&self, door: &Door, asked: Value, send: F) -> Result<T>
    where
        T: Keep + Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        let answer = self
            .ask(door, asked, send, |answer| encode(&door.name, answer))
            .await?;
        decode(&door.name, answer.0)
    }

    /// The page behind `asked`, kept in the store together with the answer, which is its hash.
    async fn page<F>(&self, door: &Door, asked: Value, send: F) -> Result<Page>
    where
        F: Future<Output = Result<Page>>,
    {
        let fresh = |page: &Page| Ok(Value::from(page.hash().as_str()));
        let (hash, page) = self.ask(door, asked, send, fresh).await?;
        if let Some(page) = page {
            return decode(&door.name, encode(&door.name, &page)?);
        }
        let hash: PageHash = decode(&door.name, hash)?;
        let page = match self.store.page(&hash).await {
            Ok(page) => page,
            Err(fault) => self.fail(fault).await,
        };
        page.ok_or_else(|| {
            Error::new(
                Kind::Internal,
                format!("page {hash} of run {} is not in the store", self.run),
            )
        })
    }

    async fn ask<T, F, E>(
        &self,
        door: &Door,
        asked: Value,
        send: F,
        encoded: E,
    ) -> Result<(Value, Option<T>)>
    where
        T: Keep + DeserializeOwned,
        F: Future<Output = Result<T>>,
        E: FnOnce(&T) -> Result<Value>,
    {
        let key = door.key(&asked);
        let door = door.name.as_str();
        let call = self.slot(&key);
        let mut known = call.lock().await;
        if let Known::Ended(state) = &*known {
            return told(state.clone()).map(|it| (it, None));
        }
        if matches!(*known, Known::New) {
            self.admit(door)?;
        }
        // Models have limits of their own, by provider and key.
        let _turn = match is_call(door) && !door.starts_with(MODEL) {
            true => Some(self.at_once.acquire().await),
            false => None,
        };
        let step = Step {
            key: key.clone(),
            door: door.to_owned(),
            asked,
            state: StepState::Intended,
        };
        crash_point("call.before_intent");
        self.kept(self.store.intend(&self.run, &step).await).await;
        crash_point("call.after_intent");
        let answer = match self.recorded(&key, door, &step.asked).await {
            Some(recorded) => recorded,
            None => send.await,
        };
        crash_point("call.answer_in_memory");
        let (state, fresh) = match answer {
            Ok(it) => (
                StepState::Answered(Answered {
                    answer: encoded(&it)?,
                    cost_usd: it.cost(),
                }),
                Some(it),
            ),
            Err(it) => (
                StepState::Failed {
                    kind: it.kind(),
                    message: it.chain(),
                },
                None,
            ),
        };
        let page = fresh.as_ref().and_then(Keep::page);
        let settled = match page {
            Some(page) => {
                crash_point("page.before_commit");
                self.store.settle_page(&self.run, &key, &state, page).await
            }
            None => self.store.settle(&self.run, &key, &state).await,
        };
        self.kept(settled).await;
        if page.is_some() {
            crash_point("page.after_commit");
        }
        crash_point("call.after_result");
        *known = Known::Ended(state.clone());
        told(state).map(|it| (it, fresh))
    }

    /// What the recording answers, if there is one and it does. What a whole recording does not hold
    /// ends the sitting: nobody else may be asked, and an answer made up would be no replay.
    async fn recorded<T>(&self, key: &str, door: &str, asked: &Value) -> Option<Result<T>>
    where
        T: Keep + DeserializeOwned,
    {
        let tape = self.tape.as_deref()?;
        match tape.answer(key, door) {
            Some(state) => Some(told(state).and_then(|it| T::recalled(tape, door, it))),
            None if tape.whole() => self.fail(tape.missing(door, asked)).await,
            None => None,
        }
    }

    /// Whether `door` was asked this, in this sitting or before, or in the recording.
    fn has(&self, door: &Door, asked: &Value) -> bool {
        let key = door.key(asked);
        let recorded = |it: &Arc<Tape>| it.holds(&key);
        self.locked().calls.contains_key(&key) || self.tape.as_ref().is_some_and(recorded)
    }

    fn slot(&self, key: &str) -> Call {
        let mut state = self.locked();
        let slot = state.calls.entry(key.to_owned());
        Arc::clone(slot.or_insert_with(|| Arc::new(AsyncMutex::new(Known::New))))
    }

    /// Counts a new call, if the budget has room for it. The budget is a wall, not an estimate.
    fn admit(&self, door: &str) -> Result<()> {
        let mut state = self.locked();
        let spent = |bound: Option<u64>, used: u64| bound.is_some_and(|it| used >= it);
        let counted = door.starts_with(SEARCH) || door.starts_with(READ);
        let what = if counted && spent(self.budget.calls, state.searches + state.pages) {
            "calls"
        } else if door.starts_with(SEARCH) && spent(self.budget.searches, state.searches) {
            "searches"
        } else if door.starts_with(READ) && spent(self.budget.pages, state.pages) {
            "pages"
        } else {
            state.count(door);
            return Ok(());
        };
        Err(Error::new(
            Kind::Exhausted,
            format!("the budget of {what} is spent"),
        ))
    }

    /// What the store said of a write. A fault ends the sitting: see [`Journal::open`].
    async fn kept(&self, outcome: Result<()>) {
        if let Err(fault) = outcome {
            self.fail(fault).await
        }
    }

    /// Reports that the store cannot be used, and never returns.
    pub async fn fail<T>(&self, fault: Error) -> T {
        // The first fault is the one that counts; a full channel has it already.
        let _ = self.faults.try_send(fault);
        std::future::pending().await
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The word on `at`: the one given before, or the one `decide` gives now, kept before use.
    ///
    /// # Errors
    /// What `decide` says.
    pub async fn decision<T, F>(&self, at: &str, decide: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        self.noted(STEERING, at, decide).await
    }

    /// Whether there is a word on `at`: one given before, or one in the recording.
    pub async fn decided(&self, at: &str) -> bool {
        let key = Door::new("", STEERING, 0).key(&json!(at));
        let known = matches!(*self.slot(&key).lock().await, Known::Ended(_));
        known || self.tape.as_deref().is_some_and(|it| it.holds(&key))
    }

    /// Who stood behind the doors when the run began: written down as `now` in its first sitting, so that
    /// a recording of the run knows whose answers it holds.
    pub async fn cast(&self, now: Cast) -> Result<Cast> {
        self.noted(CAST, "", async { Ok(now) }).await
    }

    /// What was noted of `at`: before, in a whole recording, or now by `note`; kept before use.
    async fn noted<T, F>(&self, door: &str, at: &str, note: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        let asked = json!(at);
        let key = Door::new("", door, 0).key(&asked);
        let call = self.slot(&key);
        let mut known = call.lock().await;
        if let Known::Ended(state) = &*known {
            return decode(door, told(state.clone())?);
        }
        // What a fork knows of earlier runs it can only know from its recording.
        let told_by = |it: &&Tape| it.whole() || (door == known::KNOWN && it.holds(&key));
        let word = match self.tape.as_deref().filter(told_by) {
            Some(tape) => match tape.answer(&key, door) {
                Some(state) => told(state)?,
                None => self.fail(tape.missing(door, &asked)).await,
            },
            None => encode(door, &note.await?)?,
        };
        let step = Step {
            key: key.clone(),
            door: door.to_owned(),
            asked,
            state: StepState::Intended,
        };
        let state = StepState::Answered(Answered {
            answer: word,
            cost_usd: 0.0,
        });
        crash_point("decision.before_commit");
        // Nothing is sent, so intent and word may share a commit.
        let (intended, settled) = futures_util::join!(
            self.store.intend(&self.run, &step),
            self.store.settle(&self.run, &key, &state)
        );
        self.kept(intended.and(settled)).await;
        crash_point("decision.after_commit");
        *known = Known::Ended(state.clone());
        decode(door, told(state)?)
    }
}

/// What an answer keeps beside itself.
trait Keep: Sized {
    /// The page that must be in the store before the answer is used.
    fn page(&self) -> Option<&Page>;

    /// What it cost, US dollars, as far as is known.
    fn cost(&self) -> f64 {
        0.0
    }

    /// What a recording gives for its `answer`.
    fn recalled(_tape: &Tape, door: &str, answer: Value) -> Result<Self>
    where
        Self: DeserializeOwned,
    {
        decode(door, answer)
    }
}

impl Keep for Completion {
    fn page(&self) -> Option<&Page> {
        None
    }

    fn cost(&self) -> f64 {
        self.cost_usd.unwrap_or(0.0)
    }

    fn recalled(tape: &Tape, door: &str, answer: Value) -> Result<Completion> {
        let it: Completion = decode(door, answer)?;
        Ok(match tape.whole() {
            true => it,
            // The run that was recorded has paid for it; this one does not.
            false => Completion {
                tokens: Tokens {
                    input: Some(0),
                    output: Some(0),
                    ..Tokens::default()
                },
                cost_usd: Some(0.0),
                ..it
            },
        })
    }
}

impl Keep for Page {
    fn page(&self) -> Option<&Page> {
        Some(self)
    }

    fn recalled(tape: &Tape, door: &str, answer: Value) -> Result<Page> {
        tape.page(&decode(door, answer)?)
    }
}

impl Keep for Vec<f32> {
    fn page(&self) -> Option<&Page> {
        None
    }
}

impl Keep for Hits {
    fn page(&self) -> Option<&Page> {
        None
    }

    fn recalled(tape: &Tape, door: &str, answer: Value) -> Result<Hits> {
        let it: Hits = decode(door, answer)?;
        Ok(match tape.whole() {
            true => it,
            // The run that was recorded has paid for it; this one does not.
            false => Hits {
                cost_usd: it.cost_usd.map(|_| 0.0),
                ..it
            },
        })
    }
}

impl State {
    fn count(&mut self, door: &str) {
        self.searches += u64::from(door.starts_with(SEARCH));
        self.pages += u64::from(door.starts_with(READ));
        self.models.model_calls += u64::from(door.starts_with(MODEL));
    }

    /// Adds what an answer of an earlier sitting cost.
    fn charge(&mut self, door: &str, answered: &Answered) {
        if !door.starts_with(MODEL) {
            return;
        }
        let tokens = |name: &str| answered.answer["tokens"][name].as_u64().unwrap_or(0);
        self.models.tokens_in += tokens("input");
        self.models.tokens_out += tokens("output");
        *self.models.usd.get_or_insert(0.0) += answered.cost_usd;
    }
}

/// The key of what a run noted of who stood behind its doors.
pub(super) fn cast_key() -> String {
    Door::new("", CAST, 0).key(&json!(""))
}

/// Whether the key of `step` is the hash of what it asks, at one of `at_most` doors of its name.
pub(super) fn is_of_its_words(step: &Step, at_most: usize) -> bool {
    (0..at_most.max(1)).any(|nth| Door::new("", &step.door, nth).key(&step.asked) == step.key)
}

/// Whether a door reads pages.
pub(crate) fn is_read(door: &str) -> bool {
    door.starts_with(READ)
}

/// Whether a door leads outside.
pub(super) fn is_call(door: &str) -> bool {
    [SEARCH, READ, MODEL].iter().any(|it| door.starts_with(it))
}

/// Where calls go through: a kind of call and a name, and which of that name it is.
struct Door {
    name: String,
    ordinal: usize,
}

impl Door {
    fn new(kind: &str, name: &str, ordinal: usize) -> Door {
        Door {
            name: format!("{kind}{name}"),
            ordinal,
        }
    }

    /// What a call is known by: the hash of door, what is asked, and ordinal.
    fn key(&self, asked: &Value) -> String {
        let parts = [&*self.name, &asked.to_string(), &self.ordinal.to_string()];
        let hash = PageHash::of(&parts);
        hash.as_str().trim_start_matches("sha256:").to_owned()
    }
}

fn told(state: StepState) -> Result<Value> {
    match state {
        StepState::Answered(it) => Ok(it.answer),
        StepState::Failed { kind, message } => Err(Error::new(kind, message)),
        StepState::Intended => Err(Error::new(Kind::Internal, "a call without an answer")),
    }
}

fn encode<T: Serialize>(door: &str, answer: &T) -> Result<Value> {
    let broken =
        |it| Error::new(Kind::Internal, format!("keeping an answer of {door}")).because(it);
    // Through text and back: the value is then what any later reading gives.
    let text = serde_json::to_string(answer).map_err(broken)?;
    serde_json::from_str(&text).map_err(broken)
}

fn decode<T: DeserializeOwned>(door: &str, answer: Value) -> Result<T> {
    serde_json::from_value(answer).map_err(|it| {
        Error::new(Kind::Internal, format!("reading an answer of {door} back")).because(it)
    })
}
