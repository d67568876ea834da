//! Who pays for what is asked, and the leave to ask models, which only this file gives.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::App;
use crate::adapters::model::Purse;
use crate::domain::{Budget, Owner, Question};
use crate::error::Result;
use crate::seams::{Acceptance, Accepted, Accounts, Booking, Demand, KeyOwner, RequestKey};

/// How long a tool may take before it is taken to have been cut off, milliseconds: its whole reservation is charged then.
const TOOL_MS: i64 = 15 * 60 * 1000;
/// How long a request's key is remembered, milliseconds.
pub(super) const KEY_MS: i64 = 24 * 3600 * 1000;

/// With what a question is submitted beside its words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Submission {
    /// Whose run it becomes, and who pays for it; nobody's where whoever runs the program asks.
    pub owner: Option<Owner>,
    /// The key of the request, if it has one.
    pub key: Option<RequestKey>,
    /// What the caller sent besides.
    pub request: Option<Value>,
}

/// Leave to ask models, up to a bound. What was reserved for it of an account is charged with what was really spent once
/// it is dropped.
#[derive(Debug)]
pub struct SpendGrant {
    budget: Budget,
    booked: Option<Booked>,
    purses: Mutex<Vec<Purse>>,
}

/// What is reserved of an account.
struct Booked {
    id: String,
    reserved_usd: f64,
    accounts: Arc<dyn Accounts>,
}

impl std::fmt::Debug for Booked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of ${}", self.id, self.reserved_usd)
    }
}

impl SpendGrant {
    fn new(budget: Budget, booked: Option<Booked>) -> SpendGrant {
        SpendGrant {
            budget,
            booked,
            purses: Mutex::default(),
        }
    }

    /// That of whoever runs the program, who pays for it: bounded by `budget` alone.
    pub fn of_operator(budget: &Budget) -> SpendGrant {
        SpendGrant::new(*budget, None)
    }

    /// Leave to ask for nothing: where no model plays the role.
    pub fn of_nothing() -> SpendGrant {
        let budget = Budget {
            usd: Some(0.0),
            tokens: Some(0),
            ..Budget::default()
        };
        SpendGrant::new(budget, None)
    }

    /// That of a run: what was reserved for it when it was accepted stands in its question.
    pub(super) fn of_run(question: &Question) -> SpendGrant {
        SpendGrant::new(question.budget, None)
    }

    /// What may be spent.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// From which purse it is paid: what is spent out of it is charged.
    pub(super) fn paid_from(&self, purse: &Purse) {
        self.purses().push(purse.clone());
    }

    fn purses(&self) -> MutexGuard<'_, Vec<Purse>> {
        self.purses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SpendGrant {
    fn drop(&mut self) {
        let Some(it) = &self.booked else { return };
        // Without a price nothing is known but what was reserved.
        let spent = |purse: &Purse| purse.spent().usd.unwrap_or(it.reserved_usd);
        let spent: f64 = self.purses().iter().map(spent).sum();
        it.accounts.settle_booking(&it.id, spent);
    }
}

impl App {
    /// Leave for `owner` to ask models by the tool `what`, up to `budget` and what is left of their account; for whoever runs
    /// the program, up to `budget`.
    ///
    /// # Errors
    /// `Exhausted` where the day's money is spent or reserved, `Transient` where as much as they may have is at work.
    pub async fn reserve(
        &self,
        owner: Option<&Owner>,
        what: &str,
        budget: &Budget,
    ) -> Result<SpendGrant> {
        let Some(owner) = owner else {
            return Ok(SpendGrant::of_operator(budget));
        };
        let booking = Booking {
            id: self.new_id().to_string().replacen("r_", "b_", 1),
            what: what.to_owned(),
            who: owner.user.clone(),
            demand: self.demand(owner, true, budget.usd),
        };
        let accounts = self.accounts().await?;
        let usd = accounts.book(&booking).await?;
        let booked = Booked {
            id: booking.id,
            reserved_usd: usd.unwrap_or(0.0),
            accounts,
        };
        let budget = Budget { usd, ..*budget };
        Ok(SpendGrant::new(budget, Some(booked)))
    }

    /// What is wanted of the account of `owner` now.
    fn demand(&self, owner: &Owner, paid: bool, asked_usd: Option<f64>) -> Demand {
        let serve = &self.settings.serve;
        Demand {
            owner: owner.clone(),
            at: self.now(0),
            alive_since: self.alive_since(),
            paid,
            asked_usd,
            places: (serve.concurrency + serve.queue_each) as u64,
            shares: serve.concurrency as u64,
        }
    }

    pub(super) fn alive_since(&self) -> String {
        self.now(-TOOL_MS)
    }

    /// With what `question` is accepted, whose settings are final, once `on` is submitted.
    pub(super) async fn acceptance(
        &self,
        question: &Question,
        on: &Submission,
    ) -> Result<Acceptance> {
        let paid = !question.models.is_empty();
        let demand = |owner| self.demand(owner, paid, question.budget.usd);
        Ok(Acceptance {
            at: self.now(0),
            demand: on.owner.as_ref().map(demand),
            key: on.key.clone(),
            audited_as: on.owner.as_ref().map(|it| it.user.clone()),
            taker: self.locks().await?.taker(),
        })
    }

    /// The key of a request of `owner`, by which it is known for a day with what was `sent` under it.
    pub fn request_key(&self, owner: KeyOwner<'_>, key: &str, sent: &[u8]) -> RequestKey {
        RequestKey {
            user: owner.stored().into_owned(),
            key: key.to_owned(),
            hash: hex::encode(Sha256::digest(sent)),
            since: self.now(-KEY_MS),
        }
    }

    /// What a request under this key began, if one did.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn requested(&self, key: &RequestKey) -> Result<Option<Accepted>> {
        self.accounts().await?.requested(key).await
    }
}
