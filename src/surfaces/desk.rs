//! What every surface for others does alike: takes questions in, and hands out runs to those whose they are.
//!
//! A surface holds a [`CallerService`], which knows its caller and reaches nothing that is not theirs. What has no caller (metrics,
//! readiness, retention) is an [`OperatorService`], which start-up code and the operator get.
mod account;
mod causes;
mod names;
mod operator;
mod places;
mod run;
mod service;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::asked::{Asked, Served, worth_asking};
use crate::app::App;
use crate::app::queue::{Afterwards, Limits, Queue};
use crate::app::spending::{SpendGrant, Submission};
use crate::config::{Flag, Loaded, Serve, Surroundings, layers};
use crate::domain::{ModelRole, Owner, Question, Report, RunId};
use crate::error::{Error, Kind, Result};
use crate::seams::{Accepted, Account, KeyOwner, RequestKey, RunRow};
use crate::surfaces::export::Pages;

use account::AccountWatch;
use names::{FolderNames, PathRewrite};
pub use operator::OperatorService;
pub use run::{CallerRun, CallerStory};
pub use service::{CallerHit, CallerService, Found, Submitted};

/// Who asks. Only a token, a session or the start of the program makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    /// Whose rows they see; `None` sees all: whoever runs the server.
    owner: Option<Owner>,
    /// Their name in the audit log.
    name: String,
    /// What bounds them, where they have an account.
    account: Option<Account>,
    /// The hash of the token by which they were recognised, where they have an account.
    token: Option<String>,
    /// The trace that their request belongs to, as `traceparent` tells.
    traceparent: Option<String>,
}

impl Caller {
    /// Whoever runs the server.
    pub(in crate::surfaces) fn operator() -> Caller {
        Caller {
            owner: None,
            name: KeyOwner::Operator.stored().into_owned(),
            account: None,
            token: None,
            traceparent: None,
        }
    }

    /// Somebody with an account, recognised by the token of this hash.
    fn of(account: Account, token: String) -> Caller {
        Caller {
            owner: Some(account.owner()),
            name: KeyOwner::User(&account.user.id).stored().into_owned(),
            account: Some(account),
            token: Some(token),
            traceparent: None,
        }
    }

    /// Somebody without a name, to whom nothing belongs.
    pub(in crate::surfaces) fn nobody() -> Caller {
        Caller {
            owner: Some(Owner {
                user: String::new(),
                org: None,
            }),
            name: "nobody".to_owned(),
            account: None,
            token: None,
            traceparent: None,
        }
    }

    /// The same, in the trace that `traceparent` tells; nothing changes where it tells none or is no header of that kind.
    #[must_use]
    pub(in crate::surfaces) fn traced(mut self, traceparent: Option<&str>) -> Caller {
        if let Some(it) = traceparent.filter(|it| it.len() <= 64) {
            self.traceparent = Some(it.to_owned());
        }
        self
    }

    /// The name in the audit log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of the token by which they were recognised, for a session that must end with it.
    pub(in crate::surfaces) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether this is whoever runs the server.
    pub fn is_operator(&self) -> bool {
        self.owner.is_none()
    }

    /// Whether this is somebody whom the server does not know.
    pub fn is_stranger(&self) -> bool {
        self.owner.is_some() && self.account.is_none()
    }
}

/// Where questions are taken in.
pub struct Desk {
    app: Arc<App>,
    queue: Arc<Queue>,
    surroundings: Surroundings,
    served: Served,
    names: FolderNames,
    rewrite: PathRewrite,
    watch: AccountWatch,
    operator: OperatorService,
}

/// A report that somebody with a link may read.
pub struct Shared {
    /// The report.
    pub report: Report,
    /// The pages that it cites.
    pub pages: Pages,
    /// Whether the quotes of local documents are shown.
    pub private: bool,
}

impl Desk {
    /// A desk over `app`, with the runs that were accepted before and have not ended; says how many those are. `afterwards` is
    /// done once a run has ended. What start-up code needs besides comes with it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn open(
        app: Arc<App>,
        surroundings: Surroundings,
        served: Served,
        afterwards: Option<Afterwards>,
    ) -> Result<(Desk, OperatorService, usize)> {
        let limits = limits(&app.settings().serve);
        let queue = Queue::new(Arc::clone(&app), limits).over(served.folders.clone());
        let queue = Arc::new(match afterwards {
            Some(it) => queue.then(it),
            None => queue,
        });
        let found = queue.recover().await?;
        let names = FolderNames::new(served.folders.iter().map(AsRef::as_ref));
        let settings = app.settings();
        let rewrite = PathRewrite::new(&names, &[&settings.data_dir, &settings.cache_dir]);
        let folders = served.folders.clone().into();
        let operator = OperatorService::new(Arc::clone(&app), Arc::clone(&queue), folders);
        let desk = Desk {
            app,
            queue,
            surroundings,
            served,
            names,
            rewrite,
            watch: AccountWatch::default(),
            operator: operator.clone(),
        };
        Ok((desk, operator, found))
    }

    /// What `caller` can do here.
    pub(in crate::surfaces) fn for_caller(self: &Arc<Self>, caller: Caller) -> CallerService {
        CallerService::new(Arc::clone(self), caller)
    }

    /// Whose token this is; nobody's where it was never given out or was taken back, or its user may not ask.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::surfaces) async fn recognised(&self, token: &str) -> Result<Option<Caller>> {
        match App::hash_of_token(token) {
            Some(hash) => self.recognised_by(&hash).await,
            None => Ok(None),
        }
    }

    /// As [`Desk::recognised`], for who has kept the hash of a token and not the token.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::surfaces) async fn recognised_by(&self, hash: &str) -> Result<Option<Caller>> {
        let account = self.app.identify_by(hash).await?;
        Ok(account.map(|it| Caller::of(it, hash.to_owned())))
    }

    /// The report that the token of a link leads to. `None` alike for all that is amiss with one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::surfaces) async fn shared(&self, token: &str) -> Result<Option<Shared>> {
        let Some((run, share)) = self.app.shared(token).await? else {
            return Ok(None);
        };
        let Some(mut report) = run.report else {
            return Ok(None);
        };
        causes::of_report(&mut report);
        let folders = run.question.map(|it| it.folders).unwrap_or_default();
        let rewrite = self.rewrite.with_folders(&self.names, &folders);
        let pages = run::pages(&self.app, Some(&rewrite), &run.id, Some(&report)).await?;
        Ok(Some(Shared {
            report: rewrite.noun(*report)?,
            pages,
            private: share.private,
        }))
    }

    /// The settings in force now, with `flags` laid over: files that have changed count from the next question on.
    ///
    /// # Errors
    /// `Usage` for a value out of bounds, naming its field; `Setup` for what is amiss without the flags, which the operator must mend.
    fn loaded(&self, flags: &[Flag]) -> Result<Loaded> {
        let fault = match layers::load(&self.surroundings, flags) {
            Ok(loaded) => return Ok(loaded),
            Err(fault) => fault,
        };
        match layers::load(&self.surroundings, &[]) {
            Ok(_) => Err(fault),
            Err(own) => Err(Error::new(Kind::Setup, "the settings of the server").because(own)),
        }
    }

    /// What was asked, judged and made into a question that can be accepted. Only the operator loosens bounds that are set.
    ///
    /// # Errors
    /// `Usage`, naming the field; `NotFound` for a run to follow that is not the caller's.
    async fn question(&self, caller: &Caller, asked: &Asked) -> Result<Question> {
        let mut question = self.worded(caller, asked).await?;
        if !caller.is_operator() {
            let most = self.loaded(&[])?.configured_budget();
            question.budget = question.budget.within(&most);
        }
        Ok(question)
    }

    /// The question that was asked, with the bounds that it asks for.
    async fn worded(&self, caller: &Caller, asked: &Asked) -> Result<Question> {
        worth_asking(&asked.text, false)?;
        let loaded = self.loaded(&asked.flags)?;
        let today = jiff::Zoned::now().date();
        let Some(before) = &asked.follows else {
            let asked = self.with_paths(caller, asked)?;
            return asked.question(&loaded, &self.served, today);
        };
        let row = self.mine(caller, before).await?;
        let today = today.to_string();
        let app = self.app_of(caller);
        let before = app.follow_up(&row.run_id, &asked.text, &today).await?;
        let mut question = asked.following(before, &loaded, &self.served)?;
        self.judge_anew(&mut question, &loaded.settings)?;
        Ok(question)
    }

    /// The models that callers may name, `provider:model`.
    fn models(&self) -> BTreeSet<String> {
        let set = self.app.settings().models.values();
        self.served.models.iter().chain(set).cloned().collect()
    }

    /// Accepts `question` for the caller as `run`, within what is left of their account; `key` makes the same request the same
    /// run. `request` is what the caller sent besides.
    ///
    /// # Errors
    /// `Exhausted` where the day's money is spent or reserved; those of the store.
    async fn accept(
        &self,
        caller: &Caller,
        run: RunId,
        question: Question,
        request: Option<Value>,
        key: Option<RequestKey>,
    ) -> Result<Accepted> {
        let on = Submission {
            owner: caller.owner.clone(),
            key,
            request: within(request, caller),
        };
        self.queue.accept(run, question, on).await
    }

    /// Leave for the caller to ask the model of `role` by the tool `what`: it reserves of their account what the settings let a
    /// run spend at most. Where no model plays the role, nothing is asked or reserved.
    ///
    /// # Errors
    /// Those of [`App::reserve`].
    async fn reserve(&self, caller: &Caller, what: &str, role: ModelRole) -> Result<SpendGrant> {
        let settings = self.app.settings();
        match settings.models.contains_key(&role) {
            true => {
                let owner = caller.owner.as_ref();
                self.app.reserve(owner, what, &settings.budget).await
            }
            false => Ok(SpendGrant::of_nothing()),
        }
    }

    /// Writes down that the caller used a tool that asks engines or fetches pages.
    async fn audited(&self, caller: &Caller, what: &str) -> Result<()> {
        match &caller.owner {
            Some(_) => self.app.audit(&caller.name, what, "", "allowed").await,
            None => Ok(()),
        }
    }

    /// What the caller may see of the store: rows of others are not there, whatever a handler forgets.
    fn app_of(&self, caller: &Caller) -> Arc<App> {
        match &caller.owner {
            Some(owner) => Arc::new(self.app.as_owner(owner)),
            None => Arc::clone(&self.app),
        }
    }

    /// The run of this id (`r_…`, `resp_…` or bare), if it is the caller's.
    ///
    /// # Errors
    /// `NotFound`, alike for what is not there, what is no id, and what is somebody else's.
    async fn mine(&self, caller: &Caller, id: &str) -> Result<RunRow> {
        let gone = || Error::new(Kind::NotFound, "there is no such run");
        let bare = id.strip_prefix("resp_").unwrap_or(id);
        let run: RunId = bare.parse().map_err(|_| gone())?;
        let row = match self.app_of(caller).row(&run).await {
            Err(fault) if fault.kind() == Kind::NotFound => return Err(gone()),
            row => row?,
        };
        match &caller.owner {
            Some(it) if row.owner.as_ref() != Some(it) => Err(gone()),
            _ => Ok(row),
        }
    }
}

/// What the caller sent, and the trace that it belongs to.
fn within(request: Option<Value>, caller: &Caller) -> Option<Value> {
    let Some(trace) = &caller.traceparent else {
        return request;
    };
    let mut request = request.unwrap_or_else(|| json!({}));
    request["traceparent"] = json!(trace);
    Some(request)
}

/// How much is taken on at once.
pub fn limits(serve: &Serve) -> Limits {
    Limits {
        working: serve.concurrency,
        waiting: serve.queue,
        waiting_each: serve.queue_each,
        aside_each: serve.aside_each,
        patience: serve.patience,
    }
}
