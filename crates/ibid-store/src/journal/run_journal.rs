//! What a run asked and was answered.
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use super::answer::{JournalAnswer, decode, encode, into_answer};
use super::provider_id::{
    MANIFEST, MODEL, PRIOR_SOURCES, ProviderId, READ, SEARCH, STEERING, is_external_call,
};
use super::replay_log::ReplayLog;
use ibid_core::domain::{Budget, Page, PageHash, RunId, Usage};
use ibid_core::fair_semaphore::OwnerPermits;
use ibid_core::ports::{
    JournalCall, JournalCallState, Prompt, ProviderManifest, Store, StoredAnswer, crash_point,
};
use ibid_core::{Error, ErrorKind, FailureReason, Result};

/// The journal of one run, over all sessions that work on it. A session begins when the run is started or resumed.
pub struct Journal {
    pub(super) run: RunId,
    pub(super) store: Arc<dyn Store>,
    budget: Budget,
    permits: OwnerPermits,
    in_doubt: u32,
    in_doubt_prompts: Vec<Prompt>,
    state: Mutex<JournalState>,
    faults: mpsc::Sender<Error>,
    pub(super) replay: Option<Arc<ReplayLog>>,
}

#[derive(Default)]
struct JournalState {
    calls: HashMap<String, CallSlot>,
    searches: u64,
    pages: u64,
    models: Usage,
    /// The most tokens that a model reasoned for before an answer of an earlier session.
    most_reasoned: u32,
}

/// A call by its key. The first task that locks it sends the call; the others find its answer.
type CallSlot = Arc<AsyncMutex<CallState>>;

#[derive(Clone)]
enum CallState {
    /// Never sent.
    New,
    /// Sent in an earlier session, without an answer in the store.
    Unanswered,
    /// Answered, or failed in this session.
    Ended(JournalCallState),
}

impl Journal {
    /// Opens the journal of `run` with the calls of earlier sessions.
    ///
    /// Each call holds a permit of `permits` while it is under way. When the store cannot be written to, the call sends
    /// the fault to `faults` and never returns, because an answer must not be used before it is stored. The receiver must
    /// then drop the run.
    pub async fn open(
        run: RunId,
        store: Arc<dyn Store>,
        budget: Budget,
        permits: OwnerPermits,
        faults: mpsc::Sender<Error>,
    ) -> Result<Journal> {
        let mut state = JournalState::default();
        let mut in_doubt = 0;
        let mut in_doubt_prompts = Vec::new();
        for step in store.steps(&run).await? {
            state.count(&step.provider);
            if let JournalCallState::Answered(answered) = &step.state {
                state.charge(&step.provider, answered);
            }
            let call = match step.state {
                JournalCallState::Answered(_) => CallState::Ended(step.state),
                JournalCallState::Intended => {
                    in_doubt += u32::from(is_external_call(&step.provider));
                    if step.provider.starts_with(MODEL) {
                        in_doubt_prompts.extend(serde_json::from_value(step.request));
                    }
                    CallState::Unanswered
                }
                JournalCallState::Failed { .. } => CallState::Unanswered,
            };
            state.calls.insert(step.key, Arc::new(AsyncMutex::new(call)));
        }
        Ok(Journal {
            run,
            store,
            budget,
            permits,
            in_doubt,
            in_doubt_prompts,
            state: Mutex::new(state),
            faults,
            replay: None,
        })
    }

    /// Answers calls from `log` where it has an answer. If it is complete, no other call is sent.
    #[must_use]
    pub fn with_replay(mut self, log: Option<Arc<ReplayLog>>) -> Journal {
        self.replay = log;
        self
    }

    /// The number of calls that an earlier session may have sent and has no answer to. Each is sent again.
    pub fn in_doubt(&self) -> u32 {
        self.in_doubt
    }

    /// The prompts among those calls. They may have been billed.
    pub fn in_doubt_prompts(&self) -> &[Prompt] {
        &self.in_doubt_prompts
    }

    /// The most tokens that a model reasoned for before an answer of an earlier session.
    pub fn most_reasoned(&self) -> u32 {
        self.locked().most_reasoned
    }

    /// What was asked for, over all sessions. A call that is sent again counts once, so that an interruption changes no
    /// decision.
    pub fn usage(&self) -> Usage {
        let state = self.locked();
        Usage { searches: state.searches, pages: state.pages, ..state.models }
    }

    /// Returns the stored answer of `provider` to `request`, or stores the answer of `send` and returns it.
    ///
    /// # Errors
    /// The error of `send`, as stored; `Exhausted` when the budget does not allow another call.
    pub(super) async fn call<T, F>(
        &self,
        provider: &ProviderId,
        request: Value,
        send: F,
    ) -> Result<T>
    where
        T: JournalAnswer + Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        let answer =
            self.ask(provider, request, send, |answer| encode(&provider.name, answer)).await?;
        decode(&provider.name, answer.0)
    }

    /// As [`Journal::call`] for a page, which is stored together with the answer. The answer is the hash of the page.
    pub(super) async fn page<F>(
        &self,
        provider: &ProviderId,
        request: Value,
        send: F,
    ) -> Result<Page>
    where
        F: Future<Output = Result<Page>>,
    {
        let name = &provider.name;
        let to_hash = |page: &Page| Ok(Value::from(page.hash().as_str()));
        let (hash, page) = self.ask(provider, request, send, to_hash).await?;
        if let Some(page) = page {
            return decode(name, encode(name, &page)?);
        }
        let hash: PageHash = decode(name, hash)?;
        let page = match self.store.page(&hash).await {
            Ok(page) => page,
            Err(fault) => self.fail(fault).await,
        };
        page.ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                format!("page {hash} of run {} is not in the store", self.run),
            )
        })
    }

    /// Returns the answer as JSON, and the answer itself if it was not read from the store.
    async fn ask<T, F, E>(
        &self,
        provider: &ProviderId,
        request: Value,
        send: F,
        encode: E,
    ) -> Result<(Value, Option<T>)>
    where
        T: JournalAnswer + DeserializeOwned,
        F: Future<Output = Result<T>>,
        E: FnOnce(&T) -> Result<Value>,
    {
        let key = provider.key(&request);
        let provider = provider.name.as_str();
        let slot = self.slot(&key);
        let mut call = slot.lock().await;
        if let CallState::Ended(state) = &*call {
            return into_answer(state.clone()).map(|answer| (answer, None));
        }
        if matches!(*call, CallState::New) {
            self.admit(provider)?;
        }
        // Models have limits of their own, by provider and key.
        let _permit = if is_external_call(provider) && !provider.starts_with(MODEL) {
            Some(self.permits.acquire().await)
        } else {
            None
        };
        let step = JournalCall {
            key: key.clone(),
            provider: provider.to_owned(),
            request,
            state: JournalCallState::Intended,
        };
        crash_point("call.before_intent");
        self.check_write(self.store.begin_call(&self.run, &step).await).await;
        crash_point("call.after_intent");
        let answer = match self.replayed(&key, provider, &step.request).await {
            Some(recorded) => recorded,
            None => send.await,
        };
        crash_point("call.answer_in_memory");
        let (state, fresh) = match answer {
            Ok(answer) => (
                JournalCallState::Answered(StoredAnswer {
                    answer: encode(&answer)?,
                    cost_usd: answer.cost(),
                }),
                Some(answer),
            ),
            Err(error) => {
                let failed = JournalCallState::Failed {
                    kind: error.kind(),
                    message: error.chain(),
                    reason: error.reason().cloned(),
                    status: error.status(),
                    hint: error.hint().map(str::to_owned),
                };
                (failed, None)
            }
        };
        self.finish_call(&key, &state, fresh.as_ref().and_then(JournalAnswer::page)).await;
        *call = CallState::Ended(state.clone());
        into_answer(state).map(|answer| (answer, fresh))
    }

    /// Stores the outcome of a call, together with the page that answers it.
    async fn finish_call(&self, key: &str, state: &JournalCallState, page: Option<&Page>) {
        let written = match page {
            Some(page) => {
                crash_point("page.before_commit");
                self.store.finish_call_with_page(&self.run, key, state, page).await
            }
            None => self.store.finish_call(&self.run, key, state).await,
        };
        self.check_write(written).await;
        if page.is_some() {
            crash_point("page.after_commit");
        }
        crash_point("call.after_result");
    }

    /// The recorded answer, if there is one. A call that a complete recording does not contain ends the session: it must
    /// not be sent.
    async fn replayed<T>(&self, key: &str, provider: &str, request: &Value) -> Option<Result<T>>
    where
        T: JournalAnswer + DeserializeOwned,
    {
        let log = self.replay.as_deref()?;
        match log.answer(key, provider) {
            Some(state) => {
                Some(into_answer(state).and_then(|answer| T::from_replay(log, provider, answer)))
            }
            None if log.is_complete() => self.fail(log.not_recorded_error(provider, request)).await,
            None => None,
        }
    }

    /// Whether the call was made in this session or before, or is in the recording.
    pub(super) fn has(&self, provider: &ProviderId, request: &Value) -> bool {
        let key = provider.key(request);
        let recorded = |log: &Arc<ReplayLog>| log.contains(&key);
        self.locked().calls.contains_key(&key) || self.replay.as_ref().is_some_and(recorded)
    }

    fn slot(&self, key: &str) -> CallSlot {
        let mut state = self.locked();
        let slot = state.calls.entry(key.to_owned());
        Arc::clone(slot.or_insert_with(|| Arc::new(AsyncMutex::new(CallState::New))))
    }

    /// Counts a new call, if the budget allows it. The budget is a hard limit.
    fn admit(&self, provider: &str) -> Result<()> {
        let mut state = self.locked();
        let spent = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let counted = provider.starts_with(SEARCH) || provider.starts_with(READ);
        let what = if counted && spent(self.budget.calls, state.searches + state.pages) {
            "calls"
        } else if provider.starts_with(SEARCH) && spent(self.budget.searches, state.searches) {
            "searches"
        } else if provider.starts_with(READ) && spent(self.budget.pages, state.pages) {
            "pages"
        } else {
            state.count(provider);
            return Ok(());
        };
        Err(Error::new(ErrorKind::Exhausted, format!("the budget of {what} is spent"))
            .with_reason(FailureReason::Budget))
    }

    /// Checks the outcome of a write. A fault ends the session: see [`Journal::open`].
    pub(super) async fn check_write(&self, outcome: Result<()>) {
        if let Err(fault) = outcome {
            self.fail(fault).await
        }
    }

    /// Reports that the store cannot be used, and never returns.
    pub async fn fail<T>(&self, fault: Error) -> T {
        // The first fault counts. If the channel is full, it already contains one.
        let _ = self.faults.try_send(fault);
        std::future::pending().await
    }

    fn locked(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the decision made at `point` before, or stores the decision of `decide` and returns it.
    ///
    /// # Errors
    /// The error of `decide`.
    pub async fn decide<T, F>(&self, point: &str, decide: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        self.note_once(STEERING, point, decide).await
    }

    /// Whether a decision at `point` was made before, or is in the recording.
    pub(crate) async fn is_decided(&self, point: &str) -> bool {
        let key = ProviderId::note(STEERING).key(&json!(point));
        let known = matches!(*self.slot(&key).lock().await, CallState::Ended(_));
        known || self.replay.as_deref().is_some_and(|log| log.contains(&key))
    }

    /// Returns the providers that the run began with. The first session stores `current`, so that a recording of the run
    /// says whose answers it contains.
    pub async fn manifest(&self, current: ProviderManifest) -> Result<ProviderManifest> {
        self.note_once(MANIFEST, "", async { Ok(current) }).await
    }

    /// Returns the note `name` on `subject` from the store or the recording, or stores the result of `note` and returns
    /// it.
    pub(super) async fn note_once<T, F>(&self, name: &str, subject: &str, note: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        let request = json!(subject);
        let key = ProviderId::note(name).key(&request);
        let slot = self.slot(&key);
        let mut call = slot.lock().await;
        if let CallState::Ended(state) = &*call {
            return decode(name, into_answer(state.clone())?);
        }
        // A fork can know the sources of earlier runs only from its recording.
        let answers =
            |log: &&ReplayLog| log.is_complete() || (name == PRIOR_SOURCES && log.contains(&key));
        let answer = match self.replay.as_deref().filter(answers) {
            Some(log) => match log.answer(&key, name) {
                Some(state) => into_answer(state)?,
                None => self.fail(log.not_recorded_error(name, &request)).await,
            },
            None => encode(name, &note.await?)?,
        };
        let step = JournalCall {
            key: key.clone(),
            provider: name.to_owned(),
            request,
            state: JournalCallState::Intended,
        };
        let state = JournalCallState::Answered(StoredAnswer { answer, cost_usd: 0.0 });
        crash_point("decision.before_commit");
        // Nothing is sent, so both writes may share a commit.
        let (begun, finished) = join(
            self.store.begin_call(&self.run, &step),
            self.store.finish_call(&self.run, &key, &state),
        )
        .await;
        self.check_write(begun.and(finished)).await;
        crash_point("decision.after_commit");
        *call = CallState::Ended(state.clone());
        decode(name, into_answer(state)?)
    }
}

impl JournalState {
    fn count(&mut self, provider: &str) {
        self.searches += u64::from(provider.starts_with(SEARCH));
        self.pages += u64::from(provider.starts_with(READ));
        self.models.model_calls += u64::from(provider.starts_with(MODEL));
    }

    /// Adds the cost of an answer of an earlier session.
    fn charge(&mut self, provider: &str, answered: &StoredAnswer) {
        if !provider.starts_with(MODEL) {
            return;
        }
        let tokens = |name: &str| answered.answer["tokens"][name].as_u64().unwrap_or(0);
        self.models.tokens_in += tokens("input");
        self.models.tokens_out += tokens("output");
        let reasoned = tokens("reasoning_output");
        self.models.tokens_reasoning += reasoned;
        self.most_reasoned = self.most_reasoned.max(u32::try_from(reasoned).unwrap_or(u32::MAX));
        *self.models.usd.get_or_insert(0.0) += answered.cost_usd;
    }
}
