//! Tokens of a key in a minute, shared with the other processes through a table.
//!
//! A process takes tokens in leases, for several calls at once. The calls that a lease pays for start within [`USE_TIME`], and it counts for
//! a minute longer; so the calls of any minute, of whatever process, are paid for by leases that counted together when the last of
//! them was taken. What is not used is given back with the next renewal.
//!
//! While others wait or have just taken tokens, a process takes no more than an even part of what they and it have together in the
//! minute, so that the one which renews more often does not take all.
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

/// Deletes the leases that count no more, and returns the tokens of the others by process, and whether it has taken
/// some within [`USE_TIME`].
const TAKEN: &str = "with ended as (
        delete from call_tokens where key = $1 and taken_at <= clock_timestamp() - interval '62 seconds'
    )
    select worker, sum(tokens)::bigint, bool_or(taken_at > clock_timestamp() - interval '2 seconds')
    from call_tokens
    where key = $1 and taken_at > clock_timestamp() - interval '62 seconds' group by worker";

const TAKE: &str = "insert into call_tokens (key, worker, nth, tokens, taken_at)
    values ($1, $2, $3, $4, clock_timestamp())";

const SETTLE: &str = "update call_tokens set tokens = used.tokens
    from unnest($3::bigint[], $4::bigint[]) as used (nth, tokens)
    where key = $1 and worker = $2 and call_tokens.nth = used.nth";

/// Process, tokens, whether it has taken some within [`USE_TIME`].
type CountedTokens = (String, i64, bool);

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
    /// The other processes that wait.
    waiting: Vec<String>,
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

    /// What the next renewal does. `others` are the other processes: the name of each, how long its first call waits, in seconds, and for
    /// how many tokens. `ends` says that this process has no calls any more. The next lease of this process has the number `nth`.
    pub(super) fn begin_renewal(
        &mut self,
        others: &[(&str, f64, u64)],
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
            before: others.iter().filter(|it| it.1 > waited).map(|it| it.2).sum(),
            waiting: others.iter().filter(|it| it.2 > 0).map(|it| it.0.to_owned()).collect(),
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
            let counted: Vec<CountedTokens> =
                sqlx::query_as(TAKEN).bind(key).fetch_all(&mut *db).await?;
            tokens = self.lease_size(first, worker, &counted);
            if tokens > 0 {
                let take = sqlx::query(TAKE).bind(key).bind(worker);
                take.bind(number(self.nth)).bind(number(tokens)).execute(&mut *db).await?;
            }
        }
        Ok(TokenGrant { taken, nth: self.nth, tokens, used: self.used })
    }

    /// The tokens of a lease for `first` and the calls behind it. `counted` are the tokens of this minute by process.
    ///
    /// It is no more than an even part of what is left, and no more than what makes this process equal to those that compete. Who has
    /// waited longest has at least what its first call needs: else no part might be large enough for a call.
    fn lease_size(&self, first: WaitingTokens, worker: &str, counted: &[CountedTokens]) -> u64 {
        let tokens = |it: &CountedTokens| u64::try_from(it.1).unwrap_or(0);
        let all_left = self.per_minute.saturating_sub(counted.iter().map(tokens).sum());
        let left = all_left.saturating_sub(self.before);
        if left < first.tokens {
            return 0;
        }
        let calls = first.tokens.saturating_mul(1 + first.behind as u64);
        let wanted = calls.saturating_add(left / (SPARE_PART * self.processes));
        let size = wanted.min(left / self.processes).max(first.tokens);
        let own: u64 = counted.iter().filter(|it| it.0 == worker).map(tokens).sum();
        let mut competing: BTreeMap<&str, u64> =
            self.waiting.iter().map(|it| (it.as_str(), 0)).collect();
        for it in counted.iter().filter(|it| it.0 != worker) {
            if it.2 || competing.contains_key(it.0.as_str()) {
                competing.insert(&it.0, tokens(it));
            }
        }
        if competing.is_empty() {
            return size;
        }
        let even =
            (all_left + own + competing.values().sum::<u64>()) / (competing.len() as u64 + 1);
        match even.saturating_sub(own) {
            part if part >= first.tokens => size.min(part),
            _ if self.before == 0 => first.tokens,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tokens: u64, behind: usize) -> WaitingTokens {
        WaitingTokens { tokens, behind, since: Instant::now() }
    }

    fn renewal(waiting: &[&str], before: u64, processes: u64) -> TokenRenewal {
        TokenRenewal {
            per_minute: 8_000,
            first: None,
            used: vec![],
            nth: 0,
            before,
            waiting: waiting.iter().map(|it| (*it).to_owned()).collect(),
            processes,
        }
    }

    #[test]
    fn a_lease_is_for_the_calls_that_wait_and_some_more_within_an_even_part() {
        let size = |call, processes| renewal(&[], 0, processes).lease_size(call, "a", &[]);
        assert_eq!(size(call(100, 0), 1), 1_100);
        assert_eq!(size(call(100, 9), 1), 2_000);
        assert_eq!(size(call(100, 900), 4), 2_000);
        assert_eq!(size(call(7_000, 3), 4), 7_000, "one call has what it needs");
        assert_eq!(size(call(8_001, 0), 1), 0);
    }

    #[test]
    fn a_process_that_renews_often_leaves_those_that_wait_their_part() {
        let used =
            |a, b, c| [("a", a), ("b", b), ("c", c)].map(|(it, of)| (it.to_owned(), of, false));
        let size =
            |of: &TokenRenewal, used: &[CountedTokens]| of.lease_size(call(100, 30), "a", used);
        let beside_b = renewal(&["b"], 0, 3);
        assert_eq!(size(&beside_b, &used(0, 0, 0)), 2_666);
        assert_eq!(size(&beside_b, &used(3_900, 0, 0)), 100, "a hundred more and both are equal");
        assert_eq!(size(&beside_b, &used(3_900, 0, 4_000)), 100, "it has waited longest");
        assert_eq!(size(&renewal(&["b"], 100, 3), &used(3_950, 0, 0)), 0, "b comes first");
        // What c used and does not want is not waited for.
        assert_eq!(size(&beside_b, &used(0, 0, 4_000)), 1_333);
        assert_eq!(size(&beside_b, &used(0, 7_000, 0)), 333);
        // Nobody waits: a has the rest, but not while c takes tokens.
        let alone = renewal(&[], 0, 3);
        assert_eq!(size(&alone, &used(4_000, 0, 0)), 1_333);
        let mut used = used(3_500, 0, 200);
        used[2].2 = true;
        assert_eq!(size(&alone, &used), 500);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_longer_comes_first() {
        let demand = TokenDemand { tokens: 600, per_minute: 1_000 };
        let mut tokens = TokenLeases::default();
        tokens.wait(demand, 0);
        tokio::time::advance(Duration::from_secs(5)).await;
        let before = |tokens: &mut TokenLeases| {
            tokens.begin_renewal(&[("b", 4.0, 50), ("c", 6.0, 700), ("d", 0.0, 0)], false, 9).before
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
