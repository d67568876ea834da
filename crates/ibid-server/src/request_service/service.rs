//! Everything one caller can do.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::caller::Caller;
use super::folder_names::{FolderNames, PathRewriter, without_paths};
use super::intake::RequestService;
use super::operator::OperatorService;
use super::redaction;
use crate::request::ResearchRequest;
use ibid::app::models;
use ibid::app::queue::Queue;
use ibid::app::{AggregateMetrics, App, AuditTask, NamedFiles, ProgressFn};
use ibid::config::{Flag, LoadedConfig};
use ibid_core::Result;
use ibid_core::domain::{CostEstimate, Hit, ModelRole, Page, Question};
use ibid_core::ports::RunRow;
use ibid_report::audit;
use ibid_report::plan::PlanDetails;

/// The server as one caller sees it, with nothing that belongs to others. A lookup answers the same for what does not exist and what
/// belongs to somebody else. Unless the caller is the operator, results name folders instead of paths, and report how a service
/// failed instead of its message.
#[derive(Clone)]
pub struct CallerService {
    requests: Arc<RequestService>,
    /// The application restricted to the caller's rows.
    app: Arc<App>,
    caller: Caller,
}

/// A search hit of this caller.
#[derive(Clone)]
pub struct CallerHit {
    hit: Hit,
    question: Arc<Question>,
    /// Its title.
    pub title: String,
    /// Its address as the caller may see it.
    pub url: String,
}

impl CallerHit {
    /// The unredacted hit. Do not show its address to callers.
    pub(crate) fn hit(&self) -> &Hit {
        &self.hit
    }
}

/// The result of a caller's search.
#[derive(Default)]
pub struct CallerSearchResult {
    /// The hits, best first.
    pub hits: Vec<CallerHit>,
    /// The engines that failed, each with the reason.
    pub faults: Vec<String>,
}

impl RequestService {
    /// The service for `caller`.
    pub(crate) fn for_caller(self: &Arc<Self>, caller: Caller) -> CallerService {
        CallerService::new(Arc::clone(self), caller)
    }
}

impl CallerService {
    pub(super) fn new(requests: Arc<RequestService>, caller: Caller) -> CallerService {
        CallerService { app: requests.app_of(&caller), requests, caller }
    }

    pub(super) fn requests(&self) -> &RequestService {
        &self.requests
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.requests.queue
    }

    pub(super) fn names(&self) -> &FolderNames {
        &self.requests.names
    }

    /// The rewriter of paths for this caller; `None` for the operator.
    pub(super) fn rewrite(&self) -> Option<&PathRewriter> {
        (!self.caller.is_operator()).then_some(&self.requests.rewrite)
    }

    /// Whether the caller is still authorized.
    pub(super) async fn is_still_allowed(&self) -> bool {
        self.requests.watch.is_still_allowed(&self.requests.app, &self.caller).await
    }

    /// Redacts the error of `outcome` for the caller.
    pub(super) fn redact_error<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|fault| match self.rewrite() {
            Some(rewrite) => redaction::redact_error(rewrite, fault),
            None => fault,
        })
    }

    /// Sets the trace of the request.
    #[must_use]
    pub(crate) fn with_trace(mut self, traceparent: Option<&str>) -> CallerService {
        self.caller = self.caller.with_trace(traceparent);
        self
    }

    /// The caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The operator's service; `None` unless the caller is the operator.
    pub fn operator(&self) -> Option<OperatorService> {
        let operator = &self.requests.operator;
        self.caller.is_operator().then(|| operator.clone())
    }

    /// The caller's runs, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn rows(&self) -> Result<Vec<RunRow>> {
        let mut rows = self.redact_error(self.app.runs().await)?;
        let owner = &self.caller.owner;
        rows.retain(|row| owner.is_none() || row.owner == *owner);
        Ok(rows)
    }

    /// Aggregate metrics of the caller's runs.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn tally(&self) -> Result<AggregateMetrics> {
        self.redact_error(self.app.tally().await)
    }

    /// Loads the current settings, overridden by `flags`.
    ///
    /// # Errors
    /// `Usage` for a flag out of bounds, naming its field; `Setup` if the settings are invalid without the flags.
    pub(crate) fn load_settings(&self, flags: &[Flag]) -> Result<LoadedConfig> {
        self.requests.load_settings(flags)
    }

    /// The models that the caller may name, `provider:model`.
    pub fn models(&self) -> BTreeSet<String> {
        self.requests.allowed_models()
    }

    /// The models configured for roles, and the other models that callers may choose.
    pub(crate) fn models_set_and_offered(&self) -> (Vec<String>, Vec<String>) {
        let settings = self.requests.app.settings();
        let configured = settings.models.values().cloned().collect();
        (configured, settings.serve.models.clone())
    }

    /// The names of the folders that the caller may search.
    pub fn folders(&self) -> Vec<String> {
        let all = self.requests.names.all().iter();
        all.map(|pair| pair.0.clone()).collect()
    }

    /// Every way the caller may name a folder: by name, and for the operator also by path.
    pub(crate) fn folder_aliases(&self) -> BTreeSet<String> {
        let mut aliases: BTreeSet<String> = self.folders().into_iter().collect();
        if self.caller.is_operator() {
            let paths = self.requests.served.folders.iter();
            aliases.extend(paths.map(|path| path.to_string_lossy().into_owned()));
        }
        aliases
    }

    /// Whether the tool `agentic_search` is offered.
    pub(crate) fn offers_agentic_search(&self) -> bool {
        self.requests.app.settings().mcp.agentic_search
    }

    /// Whether webhooks are configured.
    pub fn has_webhooks(&self) -> bool {
        self.requests.app.has_webhooks()
    }

    /// Checks that a webhook may be sent to `url`.
    ///
    /// # Errors
    /// Those of [`App::check_webhook_url`].
    pub fn check_webhook_url(&self, url: &str) -> Result<()> {
        self.requests.app.check_webhook_url(url, self.caller.is_operator())
    }

    /// Validates `request` and builds the question.
    ///
    /// # Errors
    /// `Usage`, naming the field; `NotFound` if the run to follow is not the caller's; `Setup` for invalid settings.
    pub async fn question(&self, request: &ResearchRequest) -> Result<Question> {
        self.redact_error(self.requests.build_question(&self.caller, request).await)
    }

    /// What the models of `question` may cost at most; `None` without models. Spends nothing.
    ///
    /// # Errors
    /// Those of [`models::budgeted_estimate`].
    pub fn cost_at_most(&self, question: &Question) -> Result<Option<CostEstimate>> {
        self.redact_error(models::budgeted_estimate(self.requests.app.settings(), question))
    }

    /// Plans `question` without spending anything, and estimates its cost.
    ///
    /// # Errors
    /// Those of [`App::plan`], [`CallerService::cost_at_most`] and [`models::reasoning_steps`].
    pub async fn plan(&self, question: Question) -> Result<PlanDetails> {
        let (brief, plan) = self.redact_error(self.app.plan(&question).await)?;
        let settings = self.requests.app.settings();
        let strategy = question.strategy(plan.complexity);
        Ok(PlanDetails {
            models: self.cost_at_most(&question)?,
            reasoning: self.redact_error(models::reasoning_steps(settings, &question, strategy))?,
            question,
            brief,
            plan,
            attempt: None,
        })
    }

    /// Searches folders and engines for the words of `question`; returns at most `limit` hits within `timeout`.
    ///
    /// # Errors
    /// Those of [`App::look_up`].
    pub async fn look_up(
        &self,
        question: &Arc<Question>,
        limit: usize,
        timeout: Duration,
    ) -> Result<CallerSearchResult> {
        let recorded = self.requests.record_audit(&self.caller, "tool.search");
        self.redact_error(recorded.await)?;
        let found = self.redact_error(self.app.look_up(question, limit, timeout).await)?;
        let hits = found.hits.into_iter().map(|hit| CallerHit {
            title: self.rewritten(&hit.title),
            url: self.rewritten(&hit.url),
            question: Arc::clone(question),
            hit,
        });
        let faults = found.faults.iter().map(|fault| match self.rewrite() {
            Some(rewrite) => rewrite.text(&redaction::redact_search_error(fault)),
            None => fault.clone(),
        });
        Ok(CallerSearchResult { hits: hits.collect(), faults: faults.collect() })
    }

    /// Reads the page of a hit within `timeout`.
    ///
    /// # Errors
    /// Those of [`App::read_hit`].
    pub async fn read_hit(&self, found: &CallerHit, timeout: Duration) -> Result<Page> {
        self.redact_error(self.requests.record_audit(&self.caller, "tool.fetch").await)?;
        let page = self.app.read_hit(&found.question, &found.hit, timeout).await;
        let mut page = page.map_err(|fault| match self.rewrite() {
            Some(_) => redaction::redact_page_error(&found.url, fault),
            None => fault,
        })?;
        if self.rewrite().is_some() {
            redaction::redact_warnings(&mut page.warnings);
        }
        page.url = self.rewritten(&page.url);
        page.file = page.file.as_deref().map(|file| self.rewritten(file));
        Ok(page)
    }

    /// Checks the claims of `text` against the served folders and the pages of the caller's own runs. Returns the audit as JSON.
    ///
    /// # Errors
    /// Those of [`App::check`].
    pub async fn check(&self, text: &str) -> Result<Value> {
        let quiet: ProgressFn = Arc::new(|_| {});
        let served = &self.requests.served.folders;
        let nowhere = std::path::Path::new("/nonexistent");
        let files = if self.caller.is_operator() {
            NamedFiles::Below(nowhere)
        } else {
            NamedFiles::InFolders(self.requests.names.all())
        };
        let (tool, role) = ("check_claims", ModelRole::Verifier);
        let grant = self.redact_error(self.requests.reserve(&self.caller, tool, role).await)?;
        let text =
            if self.caller.is_operator() { text.to_owned() } else { without_file_sources(text) };
        let task = AuditTask { text, files, folders: served, web: false };
        let mut checked = self.redact_error(self.app.check(task, &quiet, grant).await)?;
        let Some(rewrite) = self.rewrite() else {
            return Ok(audit::to_json("text", &checked));
        };
        checked.fault = checked.fault.as_deref().map(redaction::model_message);
        let mut value = audit::to_json("text", &checked);
        rewrite.value(&mut value);
        Ok(value)
    }

    fn rewritten(&self, text: &str) -> String {
        match self.rewrite() {
            Some(rewrite) => rewrite.text(text),
            None => text.to_owned(),
        }
    }
}

/// The text of a caller who may not name files: sources that are paths or `file:` addresses name nothing, whether they exist or not.
fn without_file_sources(text: &str) -> String {
    let is_source = |line: &str| line.trim_start().starts_with('[') || line.contains("file:");
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| if is_source(line) { without_paths(line) } else { line.to_owned() })
        .collect();
    lines.join("\n")
}
