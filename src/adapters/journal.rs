//! The wrapper that writes every call down before it is sent and its answer before it is used.
//!
//! Resume runs the same plain flow over the same journal: what is answered is read back, what is
//! not is asked. An answer is always used as read back from its JSON, also the first time, so that
//! a run that was interrupted and one that was not see the same bytes.
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, Semaphore, mpsc};

use crate::domain::{Budget, Hit, Page, PageHash, Query, RunId, Usage};
use crate::error::{Error, Kind, Result};
use crate::seams::{
    Answered, Completion, LanguageModel, PageReader, Prompt, SearchProvider, Sink, Step, StepState,
    Store, crash_point,
};

const SEARCH: &str = "search:";
const READ: &str = "read:";
const MODEL: &str = "model:";

/// What one run asked and was answered, in this sitting and before.
pub struct Journal {
    run: RunId,
    store: Arc<dyn Store>,
    budget: Budget,
    at_once: Arc<Semaphore>,
    in_doubt: u32,
    doubted: Vec<Prompt>,
    state: Mutex<State>,
    faults: mpsc::Sender<Error>,
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
    /// At most `at_once` calls are out at a time. When the store can no longer be written to, the
    /// fault is sent to `faults` and the call never returns: nobody may use an answer that is not
    /// kept. The receiver must then drop the run.
    pub async fn open(
        run: RunId,
        store: Arc<dyn Store>,
        budget: Budget,
        at_once: Arc<Semaphore>,
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
        })
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
        T: Keep,
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
            true => self.at_once.acquire().await.ok(),
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
        let answer = send.await;
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

    /// Whether `door` was asked this, in this sitting or before.
    fn has(&self, door: &Door, asked: &Value) -> bool {
        self.locked().calls.contains_key(&door.key(asked))
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
        let key = Door::new("", "steering", 0).key(&json!(at));
        let call = self.slot(&key);
        let mut known = call.lock().await;
        if let Known::Ended(state) = &*known {
            return decode("steering", told(state.clone())?);
        }
        let word = encode("steering", &decide.await?)?;
        let step = Step {
            key: key.clone(),
            door: "steering".to_owned(),
            asked: json!(at),
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
        decode("steering", told(state)?)
    }
}

/// What an answer keeps beside itself.
trait Keep {
    /// The page that must be in the store before the answer is used.
    fn page(&self) -> Option<&Page>;

    /// What it cost, US dollars, as far as is known.
    fn cost(&self) -> f64 {
        0.0
    }
}

impl Keep for Completion {
    fn page(&self) -> Option<&Page> {
        None
    }

    fn cost(&self) -> f64 {
        self.cost_usd.unwrap_or(0.0)
    }
}

impl Keep for Page {
    fn page(&self) -> Option<&Page> {
        Some(self)
    }
}

impl Keep for Vec<Hit> {
    fn page(&self) -> Option<&Page> {
        None
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

/// Whether a door leads outside.
fn is_call(door: &str) -> bool {
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

/// A search provider whose calls are journaled.
pub struct JournaledSearch {
    inner: Arc<dyn SearchProvider>,
    journal: Arc<Journal>,
    door: Door,
}

impl JournaledSearch {
    /// `inner`, written down in `journal`; it is the `nth` of its name, from 0.
    pub fn new(
        inner: Arc<dyn SearchProvider>,
        journal: Arc<Journal>,
        nth: usize,
    ) -> JournaledSearch {
        let door = Door::new(SEARCH, inner.name(), nth);
        JournaledSearch {
            inner,
            journal,
            door,
        }
    }
}

#[async_trait]
impl SearchProvider for JournaledSearch {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn search(&self, query: &Query) -> Result<Vec<Hit>> {
        // For which item and by which variation is our own bookkeeping, not part of the question.
        let asked = json!({
            "text": query.text,
            "vertical": query.vertical,
            "limit": query.limit,
            "domains": query.domains,
            "not_domains": query.not_domains,
            "since": query.since,
            "until": query.until,
        });
        self.journal
            .call(&self.door, asked, self.inner.search(query))
            .await
    }
}

/// A language model whose calls are journaled.
///
/// The same prompt is the same call, whichever role asks it. What a stream tells is a preview: an
/// answer that is read back is told in one piece.
pub struct JournaledModel {
    inner: Arc<dyn LanguageModel>,
    journal: Arc<Journal>,
    door: Door,
}

impl JournaledModel {
    /// `inner`, written down in `journal`.
    pub fn new(inner: Arc<dyn LanguageModel>, journal: Arc<Journal>) -> JournaledModel {
        let door = Door::new(MODEL, inner.name(), 0);
        JournaledModel {
            inner,
            journal,
            door,
        }
    }
}

#[async_trait]
impl LanguageModel for JournaledModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        let asked = encode(&self.door.name, prompt)?;
        self.journal
            .call(&self.door, asked, self.inner.complete(prompt))
            .await
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        let asked = encode(&self.door.name, prompt)?;
        let mut told = false;
        let mut hear = |text: &str| {
            told = true;
            sink(text);
        };
        let answer = self
            .journal
            .call(&self.door, asked, self.inner.stream(prompt, &mut hear))
            .await;
        if let (Ok(it), false) = (&answer, told) {
            sink(&it.text);
        }
        answer
    }
}

/// A page reader whose calls are journaled and whose pages are kept.
pub struct JournaledReader {
    inner: Arc<dyn PageReader>,
    journal: Arc<Journal>,
    door: Door,
}

impl JournaledReader {
    /// `inner`, written down in `journal`; it is the `nth` of its name, from 0.
    pub fn new(inner: Arc<dyn PageReader>, journal: Arc<Journal>, nth: usize) -> JournaledReader {
        let door = Door::new(READ, inner.name(), nth);
        JournaledReader {
            inner,
            journal,
            door,
        }
    }
}

#[async_trait]
impl PageReader for JournaledReader {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn reads(&self, hit: &Hit) -> bool {
        // What it has read it still reads, though the document may be gone since.
        self.journal.has(&self.door, &document(hit)) || self.inner.reads(hit)
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        self.journal
            .page(&self.door, document(hit), self.inner.read(hit))
            .await
    }
}

/// What a reader is asked for: the document, not the way it was found, so that two queries that
/// find it read it once.
fn document(hit: &Hit) -> Value {
    let mut asked = json!({ "url": hit.url, "doc_id": hit.doc_id });
    if let Some(file) = &hit.file {
        asked["file"] = file.as_str().into();
    }
    asked
}
