//! Money and places, judged and reserved inside the commit that spends them: the statements, written once as a macro for
//! every database.

/// What has been spent and reserved by a user `$1` and an organisation `$2` on the day `$3`; tools that began since `$4` are at
/// work still.
pub(super) const SUMS: &str = "select
    (select coalesce(sum(case when ended_on = '' and reserved_usd > usd and reserved_usd > charged_usd then reserved_usd
        when charged_usd > usd then charged_usd else usd end), 0.0)
        from runs where owner_user = $1 and ended_on in ('', $3))
    + (select coalesce(sum(coalesce(spent_usd, reserved_usd)), 0.0)
        from bookings where user_id = $1 and (day = $3 or (spent_usd is null and at >= $4))),
    (select coalesce(sum(case when ended_on = '' and reserved_usd > usd and reserved_usd > charged_usd then reserved_usd
        when charged_usd > usd then charged_usd else usd end), 0.0)
        from runs where owner_org = $2 and ended_on in ('', $3))
    + (select coalesce(sum(coalesce(spent_usd, reserved_usd)), 0.0)
        from bookings where org_id = $2 and (day = $3 or (spent_usd is null and at >= $4))),
    (select count(*) from runs where owner_user = $1 and ended_on = '')
    + (select count(*) from bookings where user_id = $1 and spent_usd is null and at >= $4)";

/// How long it is kept what tools asked and forgotten runs cost, days. Only the last two days are ever summed.
pub(super) const KEPT_DAYS: i64 = 40;

/// The writes of money and places on a `$connection` that is inside a transaction, beside those of [`super::both`].
macro_rules! spending {
    ($connection:ty) => {
        /// What `demand` is granted. Nobody else is granted anything before this transaction has ended.
        async fn judged(
            db: &mut $connection,
            demand: &Demand,
        ) -> std::result::Result<Grant, Failed> {
            let owner = &demand.owner;
            let user: Option<(Option<f64>, Option<i64>)> =
                sqlx::query_as("select daily_usd, concurrency from users where id = $1")
                    .bind(&owner.user)
                    .fetch_optional(&mut *db)
                    .await?;
            let Some((user_daily_usd, concurrency)) = user else {
                return refused(Kind::NotFound, format!("there is no user {}", owner.user));
            };
            let org_daily_usd: Option<Option<f64>> =
                sqlx::query_scalar("select daily_usd from orgs where id = $1")
                    .bind(&owner.org)
                    .fetch_optional(&mut *db)
                    .await?;
            let sums: (f64, f64, i64) = sqlx::query_as(SUMS)
                .bind(&owner.user)
                .bind(&owner.org)
                .bind(day_of(&demand.at))
                .bind(&demand.alive_since)
                .fetch_one(&mut *db)
                .await?;
            let account = AccountState {
                user_daily_usd,
                org_daily_usd: org_daily_usd.flatten(),
                concurrency: concurrency.and_then(|it| u32::try_from(it).ok()),
                spent: spent_of(sums),
            };
            Ok(account.judge(demand))
        }

        /// The run that a request under `key` began, if one did.
        async fn requested(
            db: &mut $connection,
            key: &RequestKey,
        ) -> std::result::Result<Option<Accepted>, Failed> {
            let known: Option<(String, String)> = sqlx::query_as(REQUESTED)
                .bind(&key.user)
                .bind(&key.key)
                .bind(&key.since)
                .fetch_optional(db)
                .await?;
            Ok(known.and_then(|it| accepted_before(key, &it)))
        }

        async fn accept(
            db: &mut $connection,
            scope: &Scope,
            it: &Accept,
        ) -> std::result::Result<Done, Failed> {
            let (run, on) = (&it.run, &it.on);
            lock_accounts(db).await?;
            widen(db).await?;
            if let Some(key) = &on.key
                && let Some(known) = requested(db, key).await?
            {
                return Ok(Done::Accepted(known));
            }
            let granted = match &on.demand {
                Some(demand) => judged(db, demand).await?,
                None => Grant::Allowed(None),
            };
            let mut events = it.events.clone();
            match granted {
                Grant::Allowed(usd) => {
                    for event in &mut events {
                        if let Event::RunCreated { question, .. } = &mut event.event {
                            if on.demand.as_ref().is_some_and(|it| it.paid) {
                                question.budget.usd = usd;
                            }
                        }
                    }
                }
                Grant::Full => {
                    audited(db, on, "run.create", run.as_str(), "refused").await?;
                    return Ok(Done::Accepted(Accepted::Full));
                }
                Grant::Exhausted => {
                    audited(db, on, "run.create", run.as_str(), "refused: money").await?;
                    return exhausted();
                }
            }
            let Ok(Write::Append(_, events, bodies)) = Write::append(run, &events) else {
                return refused(Kind::Internal, "writing an event as JSON".to_owned());
            };
            append(db, scope, run, &events, &bodies).await?;
            given_to(db, run, on.taker.as_deref()).await?;
            if let Some(key) = &on.key {
                sqlx::query("delete from request_keys where at < $1")
                    .bind(&key.since)
                    .execute(&mut *db)
                    .await?;
                sqlx::query(
                    "insert into request_keys (user_id, key, hash, run, at) values ($1, $2, $3, $4, $5)
                     on conflict (user_id, key) do update
                     set hash = excluded.hash, run = excluded.run, at = excluded.at",
                )
                .bind(&key.user)
                .bind(&key.key)
                .bind(&key.hash)
                .bind(run.as_str())
                .bind(&on.at)
                .execute(&mut *db)
                .await?;
            }
            audited(db, on, "run.create", run.as_str(), "accepted").await?;
            Ok(Done::Accepted(Accepted::Queued))
        }

        /// A line of the audit log in the same commit.
        async fn audited(
            db: &mut $connection,
            on: &Acceptance,
            what: &str,
            of: &str,
            outcome: &str,
        ) -> sqlx::Result<()> {
            match &on.audited_as {
                Some(who) => line(db, [&on.at, who, what, of, outcome]).await,
                None => Ok(()),
            }
        }

        async fn line(db: &mut $connection, columns: [&str; 5]) -> sqlx::Result<()> {
            let statement =
                "insert into audit (at, who, what, on_what, outcome) values ($1, $2, $3, $4, $5)";
            let mut line = sqlx::query(statement);
            for it in columns {
                // Words of strangers may be in it.
                line = line.bind(it.replace('\0', "\u{FFFD}"));
            }
            line.execute(db).await?;
            Ok(())
        }

        async fn book(
            db: &mut $connection,
            booking: &Booking,
        ) -> std::result::Result<Done, Failed> {
            lock_accounts(db).await?;
            let demand = &booking.demand;
            let tool = format!("tool.{}", booking.what);
            let told = |outcome| [demand.at.as_str(), &booking.who, &tool, &booking.id, outcome];
            let granted = match judged(db, demand).await? {
                Grant::Allowed(usd) => usd,
                Grant::Full => {
                    line(db, told("refused")).await?;
                    return full();
                }
                Grant::Exhausted => {
                    line(db, told("refused: money")).await?;
                    return exhausted();
                }
            };
            sqlx::query("delete from bookings where day < $1")
                .bind(oldest_day(&demand.at))
                .execute(&mut *db)
                .await?;
            sqlx::query(
                "insert into bookings (id, user_id, org_id, what, at, day, reserved_usd) values ($1, $2, $3, $4, $5, $6, $7)",
            )
            .bind(&booking.id)
            .bind(&demand.owner.user)
            .bind(&demand.owner.org)
            .bind(&booking.what)
            .bind(&demand.at)
            .bind(day_of(&demand.at))
            .bind(granted.unwrap_or(0.0))
            .execute(&mut *db)
            .await?;
            line(db, told("accepted")).await?;
            Ok(Done::Granted(granted))
        }

        async fn settle_booking(
            db: &mut $connection,
            id: &str,
            usd: f64,
        ) -> std::result::Result<(), Failed> {
            sqlx::query("update bookings set spent_usd = $2 where id = $1 and spent_usd is null")
                .bind(id)
                .bind(usd)
                .execute(db)
                .await?;
            Ok(())
        }

        async fn charge(
            db: &mut $connection,
            run: &RunId,
            usd: Option<f64>,
        ) -> std::result::Result<(), Failed> {
            let usd = match usd {
                Some(usd) => usd,
                None => {
                    let (answered, reserved, doubted): (f64, f64, i64) = sqlx::query_as(
                        "select coalesce((select sum(cost_usd) from steps where run = $1), 0.0),
                         (select reserved_usd from runs where id = $1),
                         (select count(*) from steps where run = $1 and state = 'intended' and door like 'model:%')",
                    )
                    .bind(run.as_str())
                    .fetch_one(&mut *db)
                    .await?;
                    match doubted {
                        0 => answered,
                        _ => answered.max(reserved),
                    }
                }
            };
            sqlx::query("update runs set charged_usd = $2 where id = $1 and charged_usd < $2")
                .bind(run.as_str())
                .bind(usd)
                .execute(db)
                .await?;
            Ok(())
        }

        /// Keeps what a run cost that is about to be forgotten: a day's money is not had back by forgetting what it was spent on.
        async fn still_charged(db: &mut $connection, run: &RunId) -> sqlx::Result<()> {
            sqlx::query(
                "insert into bookings (id, user_id, org_id, what, at, day, reserved_usd, spent_usd)
                 select id, owner_user, owner_org, 'run', updated_at, ended_on, 0,
                 case when charged_usd > usd then charged_usd else usd end from runs
                 where id = $1 and owner_user is not null and ended_on <> '' and (usd > 0 or charged_usd > 0)
                 on conflict (id) do nothing",
            )
            .bind(run.as_str())
            .execute(db)
            .await?;
            Ok(())
        }
    };
}

/// The request that was sent under a key and is not forgotten yet, and the run that it began and that is still there.
pub(super) const REQUESTED: &str = "select hash, run from request_keys
    where user_id = $1 and key = $2 and at >= $3 and exists (select 1 from runs where runs.id = request_keys.run)";

/// What the run `known.1` that was begun by a request of hash `known.0` is to one under `key`.
pub(super) fn accepted_before(key: &RequestKey, known: &(String, String)) -> Option<Accepted> {
    match known.0 == key.hash {
        true => known.1.parse().ok().map(Accepted::Same),
        false => Some(Accepted::Other),
    }
}

/// The day on which a run ended, empty before.
pub(super) fn ended_on(row: &RunRow) -> &str {
    match row.status.ended() {
        true => day_of(&row.updated_at),
        false => "",
    }
}

/// What a run that begins with `events` has reserved of an account, US dollars: its budget, where it asks models for somebody.
pub(super) fn reserved_usd(events: &[Envelope]) -> f64 {
    let reserved = |it: &Envelope| match &it.event {
        Event::RunCreated {
            question,
            owner: Some(_),
            ..
        } if !question.models.is_empty() => question.budget.usd,
        _ => None,
    };
    events.iter().find_map(reserved).unwrap_or(0.0)
}

/// Whether `events` say that a server has accepted the run.
pub(super) fn is_served(events: &[Envelope]) -> bool {
    let queued = |it: &Envelope| matches!(it.event, Event::RunQueued { .. });
    events.iter().any(queued)
}

/// The day of a time, `YYYY-MM-DD`.
pub(super) fn day_of(at: &str) -> &str {
    at.get(..10).unwrap_or(at)
}

/// The first day that is kept where it is now `at`.
pub(super) fn oldest_day(at: &str) -> String {
    let now: jiff::Timestamp = at.parse().unwrap_or_default();
    let then = now.as_second().saturating_sub(KEPT_DAYS * 24 * 3600);
    let then = jiff::Timestamp::from_second(then).unwrap_or_default();
    then.strftime("%Y-%m-%d").to_string()
}

pub(super) fn spent_of(sums: (f64, f64, i64)) -> Spent {
    Spent {
        user_usd: sums.0,
        org_usd: sums.1,
        unended: u64::try_from(sums.2).unwrap_or(0),
    }
}

/// Who asked is told that the day's money is spent.
pub(super) fn exhausted<T>() -> std::result::Result<T, Failed> {
    Err(Failed::Refused(Fault {
        hint: Some(
            "ask again tomorrow (UTC), or once what runs now has ended, or with \"model\": \"none\"",
        ),
        ..Fault::refused(
            Kind::Exhausted,
            "the money of today is spent or reserved".to_owned(),
        )
    }))
}

/// Who asked is told that they have as much open as they may.
pub(super) fn full<T>() -> std::result::Result<T, Failed> {
    Err(Failed::Refused(Fault {
        hint: Some("try again in a minute"),
        ..Fault::refused(
            Kind::Transient,
            "as much as you may have at once is at work for you".to_owned(),
        )
    }))
}

use super::fault::Fault;
use super::write::Failed;
use crate::error::Kind;
use crate::record::{Envelope, Event};
use crate::seams::{Accepted, RequestKey, RunRow, Spent};

pub(super) use spending;
