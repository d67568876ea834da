//! Spending limits: what is reserved for an account before anything is spent, and how much is granted.
use crate::domain::{Owner, RunId};

/// Nano-dollars per dollar. Amounts are compared in whole nano-dollars, rounded against the caller.
const NANODOLLARS_PER_DOLLAR: f64 = 1e9;

/// A request of a run, or of a tool that calls models, to spend money of an account.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendRequest {
    /// Who pays: the user and their organisation.
    pub owner: Owner,
    /// Time of the request, RFC 3339 in UTC; its day is charged.
    pub at: String,
    /// Tools that started before this time and have not reported their end are considered gone, RFC 3339 in UTC.
    pub alive_since: String,
    /// Whether models will be called; nothing else costs money.
    pub paid: bool,
    /// The maximum requested, US dollars; `None` if the run's settings set no limit.
    pub asked_usd: Option<f64>,
    /// Maximum concurrent runs of a user without a limit of their own.
    pub places: u64,
    /// Number of runs that share the remaining budget if neither the run nor the user sets a limit: the server's
    /// concurrency.
    pub shares: u64,
}

/// The limits of an account, and what it has spent and reserved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AccountState {
    /// Daily limit of the user, in US dollars.
    pub user_daily_usd: Option<f64>,
    /// Daily limit of the organisation, in US dollars.
    pub org_daily_usd: Option<f64>,
    /// Maximum concurrent runs of the user.
    pub concurrency: Option<u32>,
    /// Amounts spent and reserved, and the number of open runs.
    pub spent: Spending,
}

/// Amounts spent on a day plus the amounts reserved by what has not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Spending {
    /// The user's, in US dollars.
    pub user_usd: f64,
    /// The whole organisation's, in US dollars.
    pub org_usd: f64,
    /// Open runs of the user, and tools that are calling models.
    pub unended: u64,
}

/// The decision on a [`SpendRequest`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpendDecision {
    /// Allowed, up to this many US dollars; `None` means unlimited.
    Allowed(Option<f64>),
    /// The user has reached the concurrency limit.
    Full,
    /// The day's budget is spent or reserved.
    Exhausted,
}

impl AccountState {
    /// Decides how much is granted: the requested amount, limited to what is left. A request without an amount gets
    /// an even share of what is left, so that later runs get as much.
    pub fn decide(&self, demand: &SpendRequest) -> SpendDecision {
        let places = self.concurrency.map_or(demand.places, u64::from);
        if self.spent.unended >= places {
            return SpendDecision::Full;
        }
        if !demand.paid {
            return SpendDecision::Allowed(Some(0.0));
        }
        let left = |bound: f64, used: f64| {
            (bound * NANODOLLARS_PER_DOLLAR).floor() - (used * NANODOLLARS_PER_DOLLAR).ceil()
        };
        let of_user = self.user_daily_usd.map(|usd| left(usd, self.spent.user_usd));
        let of_org = self.org_daily_usd.map(|usd| left(usd, self.spent.org_usd));
        let Some(left) = of_user.into_iter().chain(of_org).reduce(f64::min) else {
            return SpendDecision::Allowed(demand.asked_usd);
        };
        if left < 1.0 {
            return SpendDecision::Exhausted;
        }
        let shares = self.concurrency.map_or(demand.shares, u64::from);
        let free = shares.saturating_sub(self.spent.unended).max(1);
        let granted = match demand.asked_usd {
            Some(asked) => (asked.max(0.0) * NANODOLLARS_PER_DOLLAR).floor().min(left),
            None => (left / free as f64).floor().max(1.0),
        };
        SpendDecision::Allowed(Some(granted / NANODOLLARS_PER_DOLLAR))
    }
}

/// Identifies repeated requests, so that each starts only one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The sender.
    pub user: String,
    /// The key as sent.
    pub key: String,
    /// SHA-256 of the request, in hexadecimal.
    pub hash: String,
    /// Keys recorded before this time are ignored, RFC 3339 in UTC.
    pub since: String,
}

/// What is committed together with a new run.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptRequest {
    /// Time, RFC 3339 in UTC.
    pub at: String,
    /// The reservation; `None` if there is no account.
    pub demand: Option<SpendRequest>,
    /// The request's idempotency key.
    pub key: Option<IdempotencyKey>,
    /// The name in the audit log, if the run is logged there.
    pub audited_as: Option<String>,
    /// The id of the process that will work on it, if processes are distinguished.
    pub taker: Option<String>,
}

/// The result of submitting a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptOutcome {
    /// Stored durably and queued.
    Queued,
    /// The same request started this run before.
    Same(RunId),
    /// A different request was made under the same key.
    Other,
    /// The queue is full, or the user has reached the concurrency limit; nothing was stored.
    Full,
}

/// A tool that is about to call models on behalf of an account, outside any run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReservation {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub what: String,
    /// The name in the audit log.
    pub who: String,
    /// The requested amount.
    pub demand: SpendRequest,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(asked_usd: Option<f64>) -> SpendRequest {
        SpendRequest {
            owner: Owner { user: "ann".to_owned(), org: None },
            at: "2026-11-23T10:00:00.000Z".to_owned(),
            alive_since: "2026-11-23T09:45:00.000Z".to_owned(),
            paid: true,
            asked_usd,
            places: 54,
            shares: 4,
        }
    }

    #[test]
    fn grants_one_after_the_other_never_come_to_more_than_the_bound() {
        for asked in [Some(0.3), Some(0.1), None, Some(5.0)] {
            let mut account = AccountState { user_daily_usd: Some(1.0), ..AccountState::default() };
            for _ in 0..40 {
                match account.decide(&demand(asked)) {
                    SpendDecision::Allowed(Some(usd)) => {
                        assert!(usd > 0.0);
                        account.spent.user_usd += usd;
                    }
                    SpendDecision::Allowed(None) => panic!("no bound"),
                    SpendDecision::Full | SpendDecision::Exhausted => break,
                }
                account.spent.unended += 1;
            }
            assert!(account.spent.user_usd <= 1.0 + 1e-9, "{asked:?} {account:?}");
            assert!(account.spent.user_usd > 0.99, "{asked:?} {account:?}");
        }
    }

    #[test]
    fn a_run_that_asks_no_model_is_granted_when_all_is_spent() {
        let account = AccountState {
            user_daily_usd: Some(1.0),
            spent: Spending { user_usd: 1.0, ..Spending::default() },
            ..AccountState::default()
        };
        let free = SpendRequest { paid: false, ..demand(None) };
        assert_eq!(account.decide(&free), SpendDecision::Allowed(Some(0.0)));
        assert_eq!(account.decide(&demand(None)), SpendDecision::Exhausted);
        assert_eq!(account.decide(&demand(Some(0.01))), SpendDecision::Exhausted);
    }
}
