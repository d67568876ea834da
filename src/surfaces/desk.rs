//! What every surface for others does alike: takes questions in, and hands out runs to those whose they are.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::asked::{Asked, Served, worth_asking};
use crate::app::App;
use crate::app::queue::{Afterwards, Limits, Queue};
use crate::app::spending::{SpendGrant, Submission};
use crate::config::{Flag, Loaded, Serve, Surroundings, layers};
use crate::domain::{ModelRole, Owner, Question, RunId};
use crate::error::{Error, Kind, Result};
use crate::seams::{Accepted, Account, Order, RequestKey, RunRow};

/// Who asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    /// Whose rows they see; `None` sees all: whoever runs the server.
    pub owner: Option<Owner>,
    /// Their name in the audit log.
    pub name: String,
    /// What bounds them, where they have an account.
    pub account: Option<Account>,
    /// The trace that their request belongs to, as `traceparent` tells.
    pub traceparent: Option<String>,
}

impl Caller {
    /// Whoever runs the server.
    pub fn operator() -> Caller {
        Caller {
            owner: None,
            name: "operator".to_owned(),
            account: None,
            traceparent: None,
        }
    }

    /// Somebody with an account.
    pub fn of(account: Account) -> Caller {
        Caller {
            owner: Some(account.owner()),
            name: account.user.id.clone(),
            account: Some(account),
            traceparent: None,
        }
    }

    /// Somebody without a name, to whom nothing belongs.
    pub fn nobody() -> Caller {
        Caller {
            owner: Some(Owner {
                user: String::new(),
                org: None,
            }),
            name: "nobody".to_owned(),
            account: None,
            traceparent: None,
        }
    }
}

/// Where questions are taken in.
pub struct Desk {
    /// Everything Ibid can do.
    pub app: Arc<App>,
    /// The runs that were accepted.
    pub queue: Arc<Queue>,
    surroundings: Surroundings,
    served: Served,
}

impl Desk {
    /// A desk over `app`, with the runs that were accepted before and have not ended; says how many those are. `afterwards` is
    /// done once a run has ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn open(
        app: Arc<App>,
        surroundings: Surroundings,
        served: Served,
        afterwards: Option<Afterwards>,
    ) -> Result<(Desk, usize)> {
        let limits = limits(&app.settings().serve);
        let queue = Queue::new(Arc::clone(&app), limits);
        let queue = Arc::new(match afterwards {
            Some(it) => queue.then(it),
            None => queue,
        });
        let found = queue.recover().await?;
        let desk = Desk {
            app,
            queue,
            surroundings,
            served,
        };
        Ok((desk, found))
    }

    /// The settings in force now, with `flags` laid over: files that have changed count from the next question on.
    ///
    /// # Errors
    /// `Usage` for a value out of bounds, naming its field.
    pub fn loaded(&self, flags: &[Flag]) -> Result<Loaded> {
        layers::load(&self.surroundings, flags)
    }

    /// What was asked, judged and made into a question that can be accepted.
    ///
    /// # Errors
    /// `Usage`, naming the field; `NotFound` for a run to follow that is not the caller's.
    pub async fn question(&self, caller: &Caller, asked: &Asked) -> Result<Question> {
        worth_asking(&asked.text, false)?;
        let loaded = self.loaded(&asked.flags)?;
        let today = jiff::Zoned::now().date();
        let Some(before) = &asked.follows else {
            return asked.question(&loaded, &self.served, today);
        };
        let row = self.mine(caller, before).await?;
        let today = today.to_string();
        let before = self.app.follow_up(&row.run_id, &asked.text, &today).await?;
        asked.following(before, &loaded, &self.served)
    }

    /// The folders that are served, as absolute paths.
    pub fn folders(&self) -> &[PathBuf] {
        &self.served.folders
    }

    /// The models that callers may name, `provider:model`.
    pub fn models(&self) -> BTreeSet<String> {
        let set = self.app.settings().models.values();
        self.served.models.iter().chain(set).cloned().collect()
    }

    /// Accepts `question` for the caller as `run`, within what is left of their account; `key` makes the same request the same
    /// run. `request` is what the caller sent besides.
    ///
    /// # Errors
    /// `Exhausted` where the day's money is spent or reserved; those of the store.
    pub async fn accept(
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
    pub async fn reserve(
        &self,
        caller: &Caller,
        what: &str,
        role: ModelRole,
    ) -> Result<SpendGrant> {
        let settings = self.app.settings();
        match settings.models.contains_key(&role) {
            true => {
                let owner = caller.owner.as_ref();
                self.app.reserve(owner, what, &settings.budget).await
            }
            false => Ok(SpendGrant::of_nothing()),
        }
    }

    /// What the caller may see of the store: rows of others are not there, whatever a handler forgets.
    pub fn app_of(&self, caller: &Caller) -> Arc<App> {
        match &caller.owner {
            Some(owner) => Arc::new(self.app.as_owner(owner)),
            None => Arc::clone(&self.app),
        }
    }

    /// The run of this id (`r_…`, `resp_…` or bare), if it is the caller's.
    ///
    /// # Errors
    /// `NotFound`, alike for what is not there, what is no id, and what is somebody else's.
    pub async fn mine(&self, caller: &Caller, id: &str) -> Result<RunRow> {
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

    /// Leaves an order for a run; one that was put aside because it waits for a person has its turn again.
    ///
    /// # Errors
    /// Those of [`App::order`].
    pub async fn order(&self, run: &RunId, order: Order) -> Result<()> {
        self.app.order(run, order).await?;
        self.queue.wake(run);
        Ok(())
    }

    /// Waits until the run has ended, or so long.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn wait(&self, run: &RunId, most: Duration) -> Result<()> {
        if most.is_zero() || self.app.row(run).await?.status.ended() {
            return Ok(());
        }
        let mut story = self.queue.follow(run, 0);
        let end = async {
            while story.next().await?.is_some() {}
            Ok(())
        };
        tokio::time::timeout(most, end).await.unwrap_or(Ok(()))
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
        patience: serve.patience,
    }
}
