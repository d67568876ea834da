//! Accepting requests: authentication, settings, the question and the queue.
use std::collections::BTreeSet;
use std::sync::Arc;

use super::account::AccountWatch;
use super::caller::Caller;
use super::folder_names::{FolderNames, PathRewriter};
use super::operator::OperatorService;
use crate::request::{ResearchRequest, ServedResources, validate_question};
use ibid::app::App;
use ibid::app::queue::{Queue, QueueLimits, RunEndHook};
use ibid::app::spending::SpendGrant;
use ibid::config::{Flag, LoadedConfig, ProcessEnv, ServeConfig, layers};
use ibid_core::domain::{ModelRole, Question, RunId};
use ibid_core::ports::{BrowserSessions, RunRow};
use ibid_core::{Error, ErrorKind, Result};

/// Accepts questions of all callers. Handlers use it through a [`CallerService`](super::CallerService).
pub struct RequestService {
    pub(super) app: Arc<App>,
    pub(super) queue: Arc<Queue>,
    process_env: ProcessEnv,
    pub(super) served: ServedResources,
    pub(super) names: FolderNames,
    pub(super) rewrite: PathRewriter,
    pub(super) watch: AccountWatch,
    pub(super) operator: OperatorService,
}

impl RequestService {
    /// Opens the service over `app` and queues the runs that were accepted before and have not ended. Returns the service, the
    /// operator's view of it and the number of recovered runs. `on_run_end` runs after each run ends.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open(
        app: Arc<App>,
        process_env: ProcessEnv,
        served: ServedResources,
        on_run_end: Option<RunEndHook>,
    ) -> Result<(RequestService, OperatorService, usize)> {
        let limits = queue_limits(&app.settings().serve);
        let queue = Queue::new(Arc::clone(&app), limits).with_folders(served.folders.clone());
        let queue = Arc::new(match on_run_end {
            Some(hook) => queue.on_run_end(hook),
            None => queue,
        });
        let recovered = queue.recover().await?;
        let names = FolderNames::new(served.folders.iter().map(AsRef::as_ref));
        let settings = app.settings();
        let rewrite = PathRewriter::new(&names, &[&settings.data_dir, &settings.cache_dir]);
        let folders = served.folders.clone().into();
        let operator = OperatorService::new(Arc::clone(&app), Arc::clone(&queue), folders);
        let service = RequestService {
            app,
            queue,
            process_env,
            served,
            names,
            rewrite,
            watch: AccountWatch::default(),
            operator: operator.clone(),
        };
        Ok((service, operator, recovered))
    }

    /// Returns the caller with this token. `None` if the token is unknown or revoked, or its user is disabled.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) async fn authenticate(&self, token: &str) -> Result<Option<Caller>> {
        match App::hash_token(token) {
            Some(hash) => self.authenticate_hash(&hash).await,
            None => Ok(None),
        }
    }

    /// Like [`RequestService::authenticate`], with the hash of a token.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) async fn authenticate_hash(&self, hash: &str) -> Result<Option<Caller>> {
        let account = self.app.identify_by_hash(hash).await?;
        Ok(account.map(|account| Caller::from_account(account, hash.to_owned())))
    }

    /// The sessions of browsers, and the time, milliseconds since 1970.
    pub(crate) async fn browser_sessions(&self) -> Result<(Arc<dyn BrowserSessions>, u64)> {
        Ok((self.app.browser_sessions().await?, self.app.now_ms()))
    }

    /// Loads the current settings, overridden by `flags`. Reads the files anew, so that changes apply to the next question.
    ///
    /// # Errors
    /// `Usage` for a flag out of bounds, naming its field; `Setup` if the settings are invalid without the flags.
    pub(super) fn load_settings(&self, flags: &[Flag]) -> Result<LoadedConfig> {
        let fault = match layers::load(&self.process_env, flags) {
            Ok(loaded) => return Ok(loaded),
            Err(fault) => fault,
        };
        match layers::load(&self.process_env, &[]) {
            Ok(_) => Err(fault),
            Err(operator_fault) => {
                Err(Error::new(ErrorKind::Setup, "loading the server's settings")
                    .with_source(operator_fault))
            }
        }
    }

    /// Validates `request` and builds the question. Only the operator may exceed the configured budget.
    ///
    /// # Errors
    /// `Usage`, naming the field; `NotFound` if the run to follow is not the caller's.
    pub(super) async fn build_question(
        &self,
        caller: &Caller,
        request: &ResearchRequest,
    ) -> Result<Question> {
        let mut question = self.parse_question(caller, request).await?;
        if !caller.is_operator() {
            let limit = self.load_settings(&[])?.configured_budget();
            question.budget = question.budget.capped_by(&limit);
        }
        Ok(question)
    }

    /// Builds the question with the budget that `request` names.
    async fn parse_question(&self, caller: &Caller, request: &ResearchRequest) -> Result<Question> {
        let text = validate_question(&request.text()?, false)?;
        let loaded = self.load_settings(&request.flags())?;
        let today = jiff::Zoned::now().date();
        let Some(followed) = &request.follows else {
            let request = self.with_paths(caller, request)?;
            return request.to_question(&loaded, &self.served, today);
        };
        let row = self.caller_row(caller, followed).await?;
        let app = self.app_of(caller);
        let follow_up = app.follow_up(&row.run_id, &text, &today.to_string()).await?;
        let request = self.with_paths(caller, request)?;
        let mut question = request.to_follow_up(follow_up, &loaded, &self.served, today)?;
        self.revalidate(&mut question, &loaded.settings)?;
        Ok(question)
    }

    /// The models that callers may name, `provider:model`.
    pub(super) fn allowed_models(&self) -> BTreeSet<String> {
        let configured = self.app.settings().models.values();
        self.served.models.iter().chain(configured).cloned().collect()
    }

    /// Reserves the largest budget of a run on the caller's account, so that `tool` may call the model of `role`. Returns an empty
    /// grant if no model has that role.
    ///
    /// # Errors
    /// Those of [`App::reserve`].
    pub(super) async fn reserve(
        &self,
        caller: &Caller,
        tool: &str,
        role: ModelRole,
    ) -> Result<SpendGrant> {
        let settings = self.app.settings();
        if !settings.models.contains_key(&role) {
            return Ok(SpendGrant::empty());
        }
        let owner = caller.owner.as_ref();
        self.app.reserve(owner, tool, &settings.budget).await
    }

    /// Records in the audit log that the caller used a tool that searches engines or fetches pages. The operator is not recorded.
    pub(super) async fn record_audit(&self, caller: &Caller, action: &str) -> Result<()> {
        if caller.owner.is_none() {
            return Ok(());
        }
        self.app.record_audit(&caller.name, action, "", "allowed").await
    }

    /// The application restricted to the caller's rows: the store filters, even if a handler does not.
    pub(super) fn app_of(&self, caller: &Caller) -> Arc<App> {
        match &caller.owner {
            Some(owner) => Arc::new(self.app.as_owner(owner)),
            None => Arc::clone(&self.app),
        }
    }

    /// Returns the row of the caller's run `id` (`r_…`, `resp_…` or bare).
    ///
    /// # Errors
    /// `NotFound` for an unknown run, an invalid id and a run of another owner alike.
    pub(super) async fn caller_row(&self, caller: &Caller, id: &str) -> Result<RunRow> {
        let name = id.strip_prefix("resp_").unwrap_or(id);
        let run: RunId = name.parse().map_err(|_| run_not_found())?;
        let row = match self.app_of(caller).row(&run).await {
            Err(fault) if fault.kind() == ErrorKind::NotFound => return Err(run_not_found()),
            row => row?,
        };
        match &caller.owner {
            Some(owner) if row.owner.as_ref() != Some(owner) => Err(run_not_found()),
            _ => Ok(row),
        }
    }
}

/// The error for a run that does not exist or belongs to another owner.
pub(super) fn run_not_found() -> Error {
    Error::new(ErrorKind::NotFound, "there is no such run")
}

/// The limits of the queue, from the settings.
pub fn queue_limits(serve: &ServeConfig) -> QueueLimits {
    QueueLimits {
        working: serve.concurrency,
        waiting: serve.queue,
        waiting_each: serve.queue_each,
        parked_each: serve.parked_each,
        patience: serve.patience,
    }
}
