//! Everything that one caller can do.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::names::{FolderNames, PathRewrite};
use super::run::{CallerRun, gone};
use super::{Caller, Desk, OperatorService, causes};
use crate::app::models::{self, Estimate};
use crate::app::queue::Queue;
use crate::app::{App, Heard, NamedFiles, Tally};
use crate::config::{Flag, Loaded};
use crate::domain::{Brief, Hit, ModelRole, Page, Plan, Question};
use crate::error::Result;
use crate::seams::{Accepted, KeyOwner, RequestKey, RunRow};
use crate::surfaces::asked::Asked;
use crate::surfaces::export::audit;

/// What a surface holds of the server: everything that its caller can do, and nothing that is another's. Lookups that find nothing and
/// those that find what is somebody else's are answered alike. What comes out names folders by their names, not by their paths, and
/// says of a service that failed how it did and not what it said, unless the caller is the operator.
#[derive(Clone)]
pub struct CallerService {
    desk: Arc<Desk>,
    /// The store as the caller sees it: rows of others are not there, whatever is forgotten above it.
    app: Arc<App>,
    caller: Caller,
}

/// A document that a search of this caller found.
#[derive(Clone)]
pub struct CallerHit {
    hit: Hit,
    question: Arc<Question>,
    /// What it is called.
    pub title: String,
    /// Where it is, as the caller is told.
    pub url: String,
}

impl CallerHit {
    /// The hit as it was found, to name it and to tell of it as a work. Its address is not for callers.
    pub(in crate::surfaces) fn hit(&self) -> &Hit {
        &self.hit
    }
}

/// What became of a caller's question.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "one is made a request")]
pub enum Submitted {
    /// This run works on it; the same request may have begun it before.
    Begun(CallerRun),
    /// Another request was made under its key.
    Other,
    /// Too many wait, or the caller has as many runs as they may.
    Full,
}

/// What a search of a caller came to.
#[derive(Default)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<CallerHit>,
    /// What did not answer.
    pub faults: Vec<String>,
}

impl CallerService {
    pub(super) fn new(desk: Arc<Desk>, caller: Caller) -> CallerService {
        CallerService {
            app: desk.app_of(&caller),
            desk,
            caller,
        }
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.desk.queue
    }

    pub(super) fn names(&self) -> &FolderNames {
        &self.desk.names
    }

    /// What paths are replaced by for this caller; nothing for the operator.
    pub(super) fn rewrite(&self) -> Option<&PathRewrite> {
        (!self.caller.is_operator()).then_some(&self.desk.rewrite)
    }

    /// Whether the caller may still ask.
    pub(super) async fn may_stay(&self) -> bool {
        self.desk.watch.may_stay(&self.desk.app, &self.caller).await
    }

    /// The same outcome, with its fault as far as the caller is told of it.
    pub(super) fn told<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|fault| match self.rewrite() {
            Some(rewrite) => causes::of_error(rewrite, fault),
            None => fault,
        })
    }

    /// The same for a request in the trace that `traceparent` tells.
    #[must_use]
    pub(in crate::surfaces) fn traced(mut self, traceparent: Option<&str>) -> CallerService {
        self.caller = self.caller.traced(traceparent);
        self
    }

    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// What only the operator reaches, where the caller is the operator.
    pub fn operator(&self) -> Option<OperatorService> {
        let operator = &self.desk.operator;
        self.caller.is_operator().then(|| operator.clone())
    }

    /// The run of this id (`r_…`, `resp_…` or bare), if it is the caller's.
    ///
    /// # Errors
    /// `NotFound`, alike for what is not there, what is no id, and what is somebody else's.
    pub async fn run(&self, id: &str) -> Result<CallerRun> {
        let row = self.told(self.desk.mine(&self.caller, id).await)?;
        Ok(CallerRun::new(self.clone(), row))
    }

    /// The caller's runs, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn rows(&self) -> Result<Vec<RunRow>> {
        let mut rows = self.told(self.app.runs().await)?;
        let owner = &self.caller.owner;
        rows.retain(|it| owner.is_none() || it.owner == *owner);
        Ok(rows)
    }

    /// The run of a row of [`CallerService::rows`].
    ///
    /// # Errors
    /// `NotFound` for one that is not the caller's.
    pub fn run_of(&self, row: &RunRow) -> Result<CallerRun> {
        match self.caller.owner.is_none() || row.owner == self.caller.owner {
            true => Ok(CallerRun::new(self.clone(), row.clone())),
            false => Err(gone()),
        }
    }

    /// What the caller's runs come to.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn tally(&self) -> Result<Tally> {
        self.told(self.app.tally().await)
    }

    /// The settings in force now, with `flags` laid over: files that have changed count from the next question on.
    ///
    /// # Errors
    /// `Usage` for a flag whose value is out of bounds, naming its field; `Setup` for what the operator must mend.
    pub fn loaded(&self, flags: &[Flag]) -> Result<Loaded> {
        self.desk.loaded(flags)
    }

    /// The models that the caller may name, `provider:model`.
    pub fn models(&self) -> BTreeSet<String> {
        self.desk.models()
    }

    /// The models that are set for roles, and those that are offered besides.
    pub fn models_set_and_offered(&self) -> (Vec<String>, Vec<String>) {
        let settings = self.desk.app.settings();
        let set = settings.models.values().cloned().collect();
        (set, settings.serve.models.clone())
    }

    /// The names of the folders that the caller may search.
    pub fn folders(&self) -> Vec<String> {
        let all = self.desk.names.all().iter();
        all.map(|it| it.0.clone()).collect()
    }

    /// All that the caller may call a folder by: its name, and its path where the caller is the operator.
    pub fn folder_words(&self) -> BTreeSet<String> {
        let mut words: BTreeSet<String> = self.folders().into_iter().collect();
        if self.caller.is_operator() {
            let paths = self.desk.served.folders.iter();
            words.extend(paths.map(|it| it.to_string_lossy().into_owned()));
        }
        words
    }

    /// Whether the tool `agentic_search` is offered.
    pub fn offers_agentic_search(&self) -> bool {
        self.desk.app.settings().agentic_search
    }

    /// Whether anybody can be told of an end.
    pub fn delivers(&self) -> bool {
        self.desk.app.delivers()
    }

    /// Whether a webhook may be sent to `url`.
    ///
    /// # Errors
    /// Those of [`App::may_deliver`].
    pub fn may_deliver(&self, url: &str) -> Result<()> {
        self.desk.app.may_deliver(url, self.caller.is_operator())
    }

    /// What was asked, judged and made into a question that can be accepted.
    ///
    /// # Errors
    /// `Usage`, naming the field; `NotFound` for a run to follow that is not the caller's; `Setup` for what the operator must mend.
    pub async fn question(&self, asked: &Asked) -> Result<Question> {
        self.told(self.desk.question(&self.caller, asked).await)
    }

    /// What would be done with `question`, without spending anything, and what it may cost.
    ///
    /// # Errors
    /// Those of [`App::plan`] and [`models::bounded`].
    pub async fn plan(&self, question: &Question) -> Result<(Brief, Plan, Option<Estimate>)> {
        let (brief, plan) = self.told(self.app.plan(question).await)?;
        let models = self.told(models::bounded(self.desk.app.settings(), question))?;
        Ok((brief, plan, models))
    }

    /// Whether a run of the caller would be refused just now.
    pub fn is_full(&self) -> bool {
        self.desk.queue.is_full(self.caller.owner.as_ref())
    }

    /// The key of a request of this caller, by which it is known with what was `sent` under it.
    pub fn request_key(&self, key: &str, sent: &[u8]) -> RequestKey {
        let owner = match &self.caller.owner {
            None => KeyOwner::Operator,
            Some(owner) => KeyOwner::User(&owner.user),
        };
        self.app.request_key(owner, key, sent)
    }

    /// Accepts `question` within what is left of the caller's account; `key` makes the same request the same run. `request` is
    /// what the caller sent besides.
    ///
    /// # Errors
    /// `Exhausted` where the day's money is spent or reserved; those of the store.
    pub async fn accept(
        &self,
        question: Question,
        request: Option<Value>,
        key: Option<RequestKey>,
    ) -> Result<Submitted> {
        let run = self.app.new_id();
        let accepted = self
            .desk
            .accept(&self.caller, run.clone(), question, request, key);
        let run = match self.told(accepted.await)? {
            Accepted::Queued => run,
            Accepted::Same(known) => known,
            Accepted::Other => return Ok(Submitted::Other),
            Accepted::Full => return Ok(Submitted::Full),
        };
        self.run(run.as_str()).await.map(Submitted::Begun)
    }

    /// What folders and engines have on the words of `question`, at most `n` hits, within `most`.
    ///
    /// # Errors
    /// Those of [`App::look_up`].
    pub async fn look_up(
        &self,
        question: &Arc<Question>,
        n: usize,
        most: Duration,
    ) -> Result<Found> {
        self.told(self.desk.audited(&self.caller, "tool.search").await)?;
        let looked = self.told(self.app.look_up(question, n, most).await)?;
        let hits = looked.hits.into_iter().map(|hit| CallerHit {
            title: self.shown(&hit.title),
            url: self.shown(&hit.url),
            question: Arc::clone(question),
            hit,
        });
        let faults = looked.faults.iter().map(|it| match self.rewrite() {
            Some(rewrite) => rewrite.text(&causes::of_search(it)),
            None => it.clone(),
        });
        Ok(Found {
            hits: hits.collect(),
            faults: faults.collect(),
        })
    }

    /// The page behind a hit of this caller's, within `most`.
    ///
    /// # Errors
    /// Those of [`App::look_into`].
    pub async fn look_into(&self, found: &CallerHit, most: Duration) -> Result<Page> {
        self.told(self.desk.audited(&self.caller, "tool.fetch").await)?;
        let page = self.app.look_into(&found.question, &found.hit, most).await;
        let mut page = page.map_err(|it| match self.rewrite() {
            Some(_) => causes::of_page(&found.url, it),
            None => it,
        })?;
        if self.rewrite().is_some() {
            causes::warnings(&mut page.warnings);
        }
        page.url = self.shown(&page.url);
        page.file = page.file.as_deref().map(|it| self.shown(it));
        Ok(page)
    }

    /// Audits a text, as JSON: its claims against the folders that are served and the pages of the caller's own runs.
    ///
    /// # Errors
    /// Those of [`App::check`].
    pub async fn check(&self, text: &str) -> Result<Value> {
        let quiet: Heard = Arc::new(|_| {});
        let served = &self.desk.served.folders;
        let nowhere = std::path::Path::new("/nonexistent");
        let files = match self.caller.is_operator() {
            true => NamedFiles::Below(nowhere),
            false => NamedFiles::InFolders(self.desk.names.all()),
        };
        let (what, role) = ("check_claims", ModelRole::Verifier);
        let grant = self.told(self.desk.reserve(&self.caller, what, role).await)?;
        let found = self
            .app
            .check(text.to_owned(), files, served, false, &quiet, grant);
        let mut found = self.told(found.await)?;
        let Some(rewrite) = self.rewrite() else {
            return Ok(audit::json("text", &found));
        };
        found.fault = found.fault.as_deref().map(causes::of_model);
        let mut value = audit::json("text", &found);
        rewrite.value(&mut value);
        Ok(value)
    }

    fn shown(&self, text: &str) -> String {
        match self.rewrite() {
            Some(rewrite) => rewrite.text(text),
            None => text.to_owned(),
        }
    }
}
