//! Tokens of a key in a minute, shared with the other processes through a table.
//!
//! A process takes tokens in leases, for several calls at once. The calls that a lease pays for start within [`USE_TIME`], and it counts for
//! a minute longer; so the calls of any minute, of whatever process, are paid for by leases that counted together when the last of
//! them was taken. What is not used is given back with the next renewal.
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::Instant;

use ibid_core::ports::TokenDemand;

/// How long a process may start calls with a lease. [`TAKEN`] says how long a lease counts: a minute longer.
const USE_TIME: Duration = Duration::from_secs(2);
/// How long a lease counts.
const COUNTED: Duration = Duration::from_secs(62);
/// A lease has room for calls to come: this part of what is left, divided by the number of processes that call.
const SPARE_PART: u64 = 8;

/// Deletes the leases that count no more, and returns the tokens of the others.
const TAKEN: &str = "with ended as (
        delete from call_tokens where key = $1 and taken_at <= clock_timestamp() - interval '62 seconds'
    )
    select coalesce(sum(tokens), 0)::bigint from call_tokens
    where key = $1 and taken_at > clock_timestamp() - interval '62 seconds'";

const TAKE: &str = "insert into call_tokens (key, worker, nth, tokens, taken_at)
    values ($1, $2, $3, $4, clock_timestamp())";

const SETTLE: &str = "update call_tokens set tokens = used.tokens
    from unnest($3::bigint[], $4::bigint[]) as used (nth, tokens)
    where key = $1 and worker = $2 and call_tokens.nth = used.nth";

/// The tokens that this process has of one key.
#[derive(Debug, Default)]
pub(super) struct TokenLeases {
    per_minute: u64,
    /// The calls that wait, in the order in which they came.
    waiting: BTreeMap<u64, WaitingTokens>,
    leases: VecDeque<TokenLease>,
    next: u64,
}

/// A call that waits for tokens.
#[derive(Debug, Clone, Copy)]
struct WaitingTokens {
    tokens: u64,
    behind: usize,
    since: Instant,
}

#[derive(Debug)]
struct TokenLease {
    nth: u64,
    taken: Instant,
    /// As in the table.
    tokens: u64,
    used: u64,
    /// No call starts with it any more.
    closed: bool,
}

/// The part of a call in a lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeasedTokens {
    lease: u64,
    tokens: u64,
}

/// What a renewal does about tokens.
#[derive(Debug)]
pub(super) struct TokenRenewal {
    per_minute: u64,
    first: Option<WaitingTokens>,
    /// The leases whose unused tokens are given back, and what they used.
    used: Vec<(u64, u64)>,
    /// The number of the next lease.
    nth: u64,
    /// The tokens that processes wait for which have waited longer.
    before: u64,
    /// The processes that call.
    processes: u64,
}

/// What a renewal has done.
#[derive(Debug)]
pub(super) struct TokenGrant {
    taken: Instant,
    nth: u64,
    tokens: u64,
    used: Vec<(u64, u64)>,
}

impl TokenLeases {
    /// A call waits from now on. Returns its number.
    pub(super) fn wait(&mut self, demand: TokenDemand, behind: usize) -> u64 {
        self.per_minute = demand.per_minute;
        let tokens = demand.tokens.min(demand.per_minute);
        self.next += 1;
        self.waiting.insert(self.next, WaitingTokens { tokens, behind, since: Instant::now() });
        self.next
    }

    /// The call with this number waits no more.
    pub(super) fn stop_waiting(&mut self, nth: u64) {
        self.waiting.remove(&nth);
    }

    fn find(&self, tokens: u64) -> Option<usize> {
        let fits = |it: &TokenLease| {
            !it.closed && it.taken.elapsed() < USE_TIME && it.used + tokens <= it.tokens
        };
        self.leases.iter().position(fits)
    }

    /// Uses the tokens of the call with this number.
    pub(super) fn take(&mut self, nth: u64) -> Option<LeasedTokens> {
        let tokens = self.waiting.get(&nth)?.tokens;
        let lease = self.find(tokens)?;
        let lease = &mut self.leases[lease];
        lease.used += tokens;
        Some(LeasedTokens { lease: lease.nth, tokens })
    }

    /// A call has used `tokens` instead of what it took.
    pub(super) fn settle(&mut self, taken: LeasedTokens, tokens: u64) {
        if let Some(lease) = self.leases.iter_mut().find(|it| it.nth == taken.lease) {
            lease.used = lease.used.saturating_sub(taken.tokens).saturating_add(tokens);
        }
    }

    /// Whether the table holds what is so: nothing is left to give back.
    pub(super) fn is_settled(&self) -> bool {
        self.leases.iter().all(|it| it.used == it.tokens)
    }

    /// What the next renewal does. `others` are the other processes: how long the first call of each waits, in seconds, and for how many
    /// tokens. `ends` says that this process has no calls any more. The next lease of this process has the number `nth`.
    pub(super) fn begin_renewal(
        &mut self,
        others: &[(f64, u64)],
        ends: bool,
        nth: u64,
    ) -> TokenRenewal {
        self.leases.retain(|it| it.taken.elapsed() < COUNTED);
        for lease in &mut self.leases {
            lease.closed |= ends || lease.taken.elapsed() >= USE_TIME;
        }
        let given_back = self.leases.iter().filter(|it| it.closed && it.used != it.tokens);
        let used = given_back.map(|it| (it.nth, it.used)).collect();
        let first = self.waiting.values().next().copied();
        // Who has tokens already leaves the rest to others.
        let first = first.filter(|it| self.find(it.tokens).is_none());
        let waited = first.map_or(0.0, |it| it.since.elapsed().as_secs_f64());
        TokenRenewal {
            per_minute: self.per_minute,
            first,
            used,
            nth,
            before: others.iter().filter(|it| it.0 > waited).map(|it| it.1).sum(),
            processes: others.len() as u64 + 1,
        }
    }

    /// Uses what a committed renewal has brought.
    pub(super) fn end_renewal(&mut self, grant: &TokenGrant) {
        for (nth, used) in &grant.used {
            if let Some(lease) = self.leases.iter_mut().find(|it| it.nth == *nth) {
                lease.tokens = *used;
            }
        }
        if grant.tokens > 0 {
            self.leases.push_back(TokenLease {
                nth: grant.nth,
                taken: grant.taken,
                tokens: grant.tokens,
                used: 0,
                closed: false,
            });
        }
    }
}

impl TokenGrant {
    /// Whether it brings tokens.
    pub(super) fn is_some(&self) -> bool {
        self.tokens > 0
    }
}

impl TokenRenewal {
    /// How long the first call that has no tokens has waited, in seconds, and for how many.
    pub(super) fn waits(&self) -> Option<(f64, u64)> {
        self.first.map(|it| (it.since.elapsed().as_secs_f64(), it.tokens))
    }

    /// Gives back what leases did not use, and takes a lease for the calls that wait. The transaction holds the lock of the key.
    pub(super) async fn execute(
        self,
        db: &mut PgConnection,
        key: &str,
        worker: &str,
    ) -> sqlx::Result<TokenGrant> {
        let number = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        if !self.used.is_empty() {
            let (nths, used): (Vec<i64>, Vec<i64>) =
                self.used.iter().map(|it| (number(it.0), number(it.1))).unzip();
            let settle = sqlx::query(SETTLE).bind(key).bind(worker).bind(nths).bind(used);
            settle.execute(&mut *db).await?;
        }
        // Before the time that the table has: no call starts after the lease has ended there.
        let taken = Instant::now();
        let mut tokens = 0;
        if let Some(first) = self.first {
            let counted: i64 = sqlx::query_scalar(TAKEN).bind(key).fetch_one(&mut *db).await?;
            let counted = u64::try_from(counted).unwrap_or(0);
            let left = self.per_minute.saturating_sub(counted).saturating_sub(self.before);
            tokens = lease_size(left, first, self.processes);
            if tokens > 0 {
                let take = sqlx::query(TAKE).bind(key).bind(worker);
                take.bind(number(self.nth)).bind(number(tokens)).execute(&mut *db).await?;
            }
        }
        Ok(TokenGrant { taken, nth: self.nth, tokens, used: self.used })
    }
}

/// The tokens of a lease of the `left` ones for the calls behind `first`: no more than an even share, but at least what the first call needs.
fn lease_size(left: u64, first: WaitingTokens, processes: u64) -> u64 {
    if left < first.tokens {
        return 0;
    }
    let calls = first.tokens.saturating_mul(1 + first.behind as u64);
    let wanted = calls.saturating_add(left / (SPARE_PART * processes));
    wanted.min(left / processes).max(first.tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tokens: u64, behind: usize) -> WaitingTokens {
        WaitingTokens { tokens, behind, since: Instant::now() }
    }

    #[test]
    fn a_lease_is_for_the_calls_that_wait_and_some_more_within_a_fair_part() {
        assert_eq!(lease_size(8_000, call(100, 0), 1), 1_100);
        assert_eq!(lease_size(8_000, call(100, 9), 1), 2_000);
        assert_eq!(lease_size(8_000, call(100, 900), 4), 2_000);
        assert_eq!(lease_size(8_000, call(7_000, 3), 4), 7_000, "one call has what it needs");
        assert_eq!(lease_size(8_000, call(8_001, 0), 1), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_longer_comes_first() {
        let demand = TokenDemand { tokens: 600, per_minute: 1_000 };
        let mut tokens = TokenLeases::default();
        tokens.wait(demand, 0);
        tokio::time::advance(Duration::from_secs(5)).await;
        let before = |tokens: &mut TokenLeases| {
            tokens.begin_renewal(&[(4.0, 50), (6.0, 700), (0.0, 0)], false, 9).before
        };
        assert_eq!(before(&mut tokens), 700);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(before(&mut tokens), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_pays_for_calls_of_two_seconds_and_the_rest_is_given_back() {
        let mut tokens = TokenLeases::default();
        let demand = TokenDemand { tokens: 100, per_minute: 1_000 };
        let call = tokens.wait(demand, 0);
        assert!(tokens.take(call).is_none());
        tokens.end_renewal(&TokenGrant {
            taken: Instant::now(),
            nth: 7,
            tokens: 450,
            used: vec![],
        });
        let taken = tokens.take(call).unwrap();
        assert!(tokens.begin_renewal(&[], false, 9).used.is_empty(), "it is still in use");
        tokio::time::advance(USE_TIME).await;
        assert!(tokens.take(call).is_none());
        tokens.settle(taken, 30);
        assert_eq!(tokens.begin_renewal(&[], false, 9).used, [(7, 30)]);
        assert!(!tokens.is_settled());
        tokens.end_renewal(&TokenGrant {
            taken: Instant::now(),
            nth: 8,
            tokens: 0,
            used: vec![(7, 30)],
        });
        assert!(tokens.is_settled());
        tokio::time::advance(COUNTED).await;
        tokens.begin_renewal(&[], false, 9);
        assert!(tokens.leases.is_empty());
    }
}
