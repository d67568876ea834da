//! Grants to spend money on models. Only this file makes them: for a reservation on an account, for a run, or for the operator.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::App;
use ibid_core::Result;
use ibid_core::domain::{Budget, Owner, Question};
use ibid_core::ports::{
    AcceptOutcome, AcceptRequest, Accounts, IdempotencyKey, KeyOwner, SpendRequest, ToolReservation,
};
use ibid_llm::CostBudget;

/// Maximum time of a tool, milliseconds. After that it counts as interrupted, and its whole reservation is charged.
const TOOL_MS: i64 = 15 * 60 * 1000;
/// How long an idempotency key is remembered, in milliseconds.
pub(super) const KEY_MS: i64 = 24 * 3600 * 1000;

/// What comes with a question that is submitted to the queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Submission {
    /// The owner of the run, who pays for it; `None` for the operator.
    pub owner: Option<Owner>,
    /// The idempotency key of the request, if it has one.
    pub key: Option<IdempotencyKey>,
    /// Other fields of the request, stored with the run.
    pub request: Option<Value>,
}

/// Permission to call models within a budget. On drop, what was really spent is charged to the account, and the rest of its reservation
/// is released.
#[derive(Debug)]
pub struct SpendGrant {
    budget: Budget,
    reserved: Option<ReservedSpend>,
    cost_budgets: Mutex<Vec<CostBudget>>,
}

/// A reservation on an account.
struct ReservedSpend {
    id: String,
    reserved_usd: f64,
    accounts: Arc<dyn Accounts>,
}

impl std::fmt::Debug for ReservedSpend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of ${}", self.id, self.reserved_usd)
    }
}

impl SpendGrant {
    fn new(budget: Budget, reserved: Option<ReservedSpend>) -> SpendGrant {
        SpendGrant { budget, reserved, cost_budgets: Mutex::default() }
    }

    /// A grant for the operator, bounded by `budget` alone.
    pub fn for_operator(budget: &Budget) -> SpendGrant {
        SpendGrant::new(*budget, None)
    }

    /// A grant of nothing, for steps without a model.
    pub fn empty() -> SpendGrant {
        let budget = Budget { usd: Some(0.0), tokens: Some(0), ..Budget::default() };
        SpendGrant::new(budget, None)
    }

    /// The grant of a run. Its budget was set to the reservation when the run was accepted.
    pub(super) fn for_run(question: &Question) -> SpendGrant {
        SpendGrant::new(question.budget, None)
    }

    /// The limits of this grant.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Adds a budget whose spending is charged on drop.
    pub(super) fn attach_budget(&self, budget: &CostBudget) {
        self.cost_budgets().push(budget.clone());
    }

    fn cost_budgets(&self) -> MutexGuard<'_, Vec<CostBudget>> {
        self.cost_budgets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SpendGrant {
    fn drop(&mut self) {
        let Some(reserved) = &self.reserved else {
            return;
        };
        // Without a price the whole reservation is charged.
        let spent = |budget: &CostBudget| budget.spent().usd.unwrap_or(reserved.reserved_usd);
        let spent: f64 = self.cost_budgets().iter().map(spent).sum();
        reserved.accounts.settle_reservation(&reserved.id, spent);
    }
}

impl App {
    /// Reserves money for a call of the tool `what` by `owner`, up to `budget` and the rest of their account. The operator (`None`) gets
    /// a grant of `budget`.
    ///
    /// # Errors
    /// `Exhausted` if the day's money is spent or reserved, `Transient` while the owner has as many runs and tool calls as allowed.
    pub async fn reserve(
        &self,
        owner: Option<&Owner>,
        what: &str,
        budget: &Budget,
    ) -> Result<SpendGrant> {
        let Some(owner) = owner else {
            return Ok(SpendGrant::for_operator(budget));
        };
        let reservation = ToolReservation {
            id: self.new_run_id().to_string().replacen("r_", "b_", 1),
            what: what.to_owned(),
            who: owner.user.clone(),
            demand: self.spend_request(owner, true, budget.usd),
        };
        let accounts = self.accounts().await?;
        let usd = accounts.reserve_for_tool(&reservation).await?;
        let reserved =
            ReservedSpend { id: reservation.id, reserved_usd: usd.unwrap_or(0.0), accounts };
        let budget = Budget { usd, ..*budget };
        Ok(SpendGrant::new(budget, Some(reserved)))
    }

    /// What a run or tool call asks of the account of `owner` now.
    fn spend_request(&self, owner: &Owner, paid: bool, asked_usd: Option<f64>) -> SpendRequest {
        let serve = &self.settings.serve;
        SpendRequest {
            owner: owner.clone(),
            at: self.timestamp_after(0),
            alive_since: self.reservation_cutoff(),
            paid,
            asked_usd,
            places: (serve.concurrency + serve.queue_each) as u64,
            shares: serve.concurrency as u64,
        }
    }

    /// Reservations of tools that were made before this time count as interrupted.
    pub(super) fn reservation_cutoff(&self) -> String {
        self.timestamp_after(-TOOL_MS)
    }

    /// What the store needs to accept `question`, whose models and budget are final.
    pub(super) async fn accept_request(
        &self,
        question: &Question,
        submission: &Submission,
    ) -> Result<AcceptRequest> {
        let paid = !question.models.is_empty();
        let demand = |owner| self.spend_request(owner, paid, question.budget.usd);
        let owner = submission.owner.as_ref();
        Ok(AcceptRequest {
            at: self.timestamp_after(0),
            demand: owner.map(demand),
            key: submission.key.clone(),
            audited_as: owner.map(|owner| owner.user.clone()),
            taker: self.locks().await?.worker_id(),
        })
    }

    /// The idempotency key of a request of `owner` with the body `sent`. It is valid for a day.
    pub fn request_key(&self, owner: KeyOwner<'_>, key: &str, sent: &[u8]) -> IdempotencyKey {
        IdempotencyKey {
            user: owner.storage_name().into_owned(),
            key: key.to_owned(),
            hash: hex::encode(Sha256::digest(sent)),
            since: self.timestamp_after(-KEY_MS),
        }
    }

    /// The outcome of an earlier request with this key, if there was one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn find_request(&self, key: &IdempotencyKey) -> Result<Option<AcceptOutcome>> {
        self.accounts().await?.find_request(key).await
    }
}
