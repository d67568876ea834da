//! Money and places: what is reserved for an account before anything is spent, and how much of it is granted.
use crate::domain::{Owner, RunId};

/// Nano-dollars in a dollar. Money is compared in whole nano-dollars, against the one who asks.
const NANO: f64 = 1e9;

/// What a run, or a tool that asks models, wants of an account.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Who pays: the user, and their organisation.
    pub owner: Owner,
    /// When it is asked, RFC 3339 in UTC; its day is the one that is charged.
    pub at: String,
    /// From when on a tool that has not said how it ended is taken to be at work still, RFC 3339 in UTC.
    pub alive_since: String,
    /// Whether models will be asked. Nothing else costs money.
    pub paid: bool,
    /// US dollars it may spend at most by its own settings; `None` where these set no bound.
    pub asked_usd: Option<f64>,
    /// Runs that a user without a bound of their own may have at once.
    pub places: u64,
    /// Among how many runs what is left is shared where neither the run nor the user says: those worked on at once.
    pub shares: u64,
}

/// What an account may do, and what it has done and reserved so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AccountState {
    /// US dollars that the user may spend in a day.
    pub user_daily_usd: Option<f64>,
    /// US dollars that the organisation may spend in a day.
    pub org_daily_usd: Option<f64>,
    /// Runs that the user may have at once.
    pub concurrency: Option<u32>,
    /// What the user and their organisation have spent and reserved, and what the user has open.
    pub spent: Spent,
}

/// What was spent in a day and is reserved by what has not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Spent {
    /// By the user, US dollars.
    pub user_usd: f64,
    /// By all users of the organisation, US dollars.
    pub org_usd: f64,
    /// Runs of the user that have not ended, and tools that ask models for them just now.
    pub unended: u64,
}

/// What is said to a [`Demand`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Grant {
    /// It may go on, and spend this much, US dollars; without a bound where nobody sets one.
    Allowed(Option<f64>),
    /// The user has as much open as they may.
    Full,
    /// The day's money is spent or reserved.
    Exhausted,
}

impl AccountState {
    /// What is granted: what was asked, no more than is left. Who asks for no sum gets an even share of what is left, so
    /// that the runs that may still be begun get as much.
    pub fn judge(&self, demand: &Demand) -> Grant {
        let places = self.concurrency.map_or(demand.places, u64::from);
        if self.spent.unended >= places {
            return Grant::Full;
        }
        if !demand.paid {
            return Grant::Allowed(Some(0.0));
        }
        let left = |bound: f64, used: f64| (bound * NANO).floor() - (used * NANO).ceil();
        let of_user = self.user_daily_usd.map(|it| left(it, self.spent.user_usd));
        let of_org = self.org_daily_usd.map(|it| left(it, self.spent.org_usd));
        let Some(left) = of_user.into_iter().chain(of_org).reduce(f64::min) else {
            return Grant::Allowed(demand.asked_usd);
        };
        if left < 1.0 {
            return Grant::Exhausted;
        }
        let shares = self.concurrency.map_or(demand.shares, u64::from);
        let free = shares.saturating_sub(self.spent.unended).max(1);
        let granted = match demand.asked_usd {
            Some(asked) => (asked.max(0.0) * NANO).floor().min(left),
            None => (left / free as f64).floor().max(1.0),
        };
        Grant::Allowed(Some(granted / NANO))
    }
}

/// What makes the same request the same run, however often it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// Who sent it.
    pub user: String,
    /// The key as sent.
    pub key: String,
    /// SHA-256 of what was sent under it, in hexadecimal.
    pub hash: String,
    /// Keys remembered before this are forgotten, RFC 3339 in UTC.
    pub since: String,
}

/// With what a run is accepted: all of it in the commit that makes the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Acceptance {
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What it reserves of an account; nothing for who has none.
    pub demand: Option<Demand>,
    /// The key of the request.
    pub key: Option<RequestKey>,
    /// As whom it is written into the audit log, if it is.
    pub audited_as: Option<String>,
    /// The process that will work on it, where processes are told apart.
    pub taker: Option<String>,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// It is on disk and will be worked on, whatever happens.
    Queued,
    /// The same request began this run before.
    Same(RunId),
    /// Another request was made under its key.
    Other,
    /// Too many wait, or the user has as many runs as they may; nothing was written down.
    Full,
}

/// A tool that is about to ask models for an account, outside any run.
#[derive(Debug, Clone, PartialEq)]
pub struct Booking {
    /// Its own id.
    pub id: String,
    /// Which tool.
    pub what: String,
    /// As whom it is written into the audit log.
    pub who: String,
    /// What it wants.
    pub demand: Demand,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(asked_usd: Option<f64>) -> Demand {
        Demand {
            owner: Owner {
                user: "ann".to_owned(),
                org: None,
            },
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
            let mut account = AccountState {
                user_daily_usd: Some(1.0),
                ..AccountState::default()
            };
            for _ in 0..40 {
                match account.judge(&demand(asked)) {
                    Grant::Allowed(Some(usd)) => {
                        assert!(usd > 0.0);
                        account.spent.user_usd += usd;
                    }
                    Grant::Allowed(None) => panic!("no bound"),
                    Grant::Full | Grant::Exhausted => break,
                }
                account.spent.unended += 1;
            }
            assert!(
                account.spent.user_usd <= 1.0 + 1e-9,
                "{asked:?} {account:?}"
            );
            assert!(account.spent.user_usd > 0.99, "{asked:?} {account:?}");
        }
    }

    #[test]
    fn a_run_that_asks_no_model_is_granted_when_all_is_spent() {
        let account = AccountState {
            user_daily_usd: Some(1.0),
            spent: Spent {
                user_usd: 1.0,
                ..Spent::default()
            },
            ..AccountState::default()
        };
        let free = Demand {
            paid: false,
            ..demand(None)
        };
        assert_eq!(account.judge(&free), Grant::Allowed(Some(0.0)));
        assert_eq!(account.judge(&demand(None)), Grant::Exhausted);
        assert_eq!(account.judge(&demand(Some(0.01))), Grant::Exhausted);
    }
}
