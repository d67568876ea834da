//! Money and places: decided on and reserved inside the commit that accepts the spending.
use super::append::append;
use super::columns::without_null;
use super::day::{day_of, oldest_day};
use super::error::StoreError;
use super::statement::{DbConnection, query};
use super::write::{AcceptRun, OwnerScope, WriteError, WriteOutcome, encode_events, refused};
use ibid_core::ErrorKind;
use ibid_core::domain::RunId;
use ibid_core::ports::{
    AcceptOutcome, AcceptRequest, AccountState, IdempotencyKey, SpendDecision, SpendRequest,
    Spending, ToolReservation,
};
use ibid_core::record::{Envelope, Event};

/// Selects what the user `$1` and the organisation `$2` have spent and reserved on the day `$3`, US dollars, and the
/// number of runs and tools that the user has at work. A tool that began before `$4` is no longer at work.
pub(super) const SPENDING_QUERY: &str = "select
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

/// Selects the hash of the request that was sent under a key since `$3`, and the run that it began, if that still exists.
pub(super) const REQUEST_BY_KEY: &str = "select hash, run from request_keys
    where user_id = $1 and key = $2 and at >= $3 and exists (select 1 from runs where runs.id = request_keys.run)";

/// Adds a line to the audit log.
pub(super) const INSERT_AUDIT: &str =
    "insert into audit (at, who, what, on_what, outcome) values ($1, $2, $3, $4, $5)";

/// Accepts a run: reserves its money and its place, stores its first events and its key.
pub(super) async fn accept(
    db: &mut DbConnection<'_>,
    scope: &OwnerScope,
    accepted: &AcceptRun,
) -> Result<WriteOutcome, WriteError> {
    let (run, on) = (&accepted.run, &accepted.on);
    db.lock_spending().await?;
    db.show_all_rows().await?;
    if let Some(key) = &on.key
        && let Some(earlier) = find_request(db, key).await?
    {
        return Ok(WriteOutcome::Accepted(earlier));
    }
    let decision = match &on.demand {
        Some(demand) => decide(db, demand).await?,
        None => SpendDecision::Allowed(None),
    };
    let mut events = accepted.events.clone();
    match decision {
        SpendDecision::Allowed(usd) => {
            if on.demand.as_ref().is_some_and(|demand| demand.paid) {
                set_budget(&mut events, usd);
            }
        }
        SpendDecision::Full => {
            audit_accept(db, on, run, "refused").await?;
            return Ok(WriteOutcome::Accepted(AcceptOutcome::Full));
        }
        SpendDecision::Exhausted => {
            audit_accept(db, on, run, "refused: money").await?;
            return exhausted();
        }
    }
    let Ok(bodies) = encode_events(&events) else {
        return refused(ErrorKind::Internal, "writing an event as JSON".to_owned());
    };
    append(db, scope, run, &events, &bodies).await?;
    db.set_worker(run, on.taker.as_deref()).await?;
    if let Some(key) = &on.key {
        save_key(db, key, run, &on.at).await?;
    }
    audit_accept(db, on, run, "accepted").await?;
    Ok(WriteOutcome::Accepted(AcceptOutcome::Queued))
}

/// Reserves money and a place for a tool.
pub(super) async fn reserve(
    db: &mut DbConnection<'_>,
    reservation: &ToolReservation,
) -> Result<WriteOutcome, WriteError> {
    db.lock_spending().await?;
    let demand = &reservation.demand;
    let tool = format!("tool.{}", reservation.what);
    let audit_line =
        |outcome| [demand.at.as_str(), &reservation.who, &tool, &reservation.id, outcome];
    let granted = match decide(db, demand).await? {
        SpendDecision::Allowed(usd) => usd,
        SpendDecision::Full => {
            audit(db, audit_line("refused")).await?;
            return too_many_open();
        }
        SpendDecision::Exhausted => {
            audit(db, audit_line("refused: money")).await?;
            return exhausted();
        }
    };
    query("delete from bookings where day < $1").bind(oldest_day(&demand.at)).execute(db).await?;
    query(
        "insert into bookings (id, user_id, org_id, what, at, day, reserved_usd) values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&reservation.id)
    .bind(&demand.owner.user)
    .bind(&demand.owner.org)
    .bind(&reservation.what)
    .bind(&demand.at)
    .bind(day_of(&demand.at))
    .bind(granted.unwrap_or(0.0))
    .execute(db)
    .await?;
    audit(db, audit_line("accepted")).await?;
    Ok(WriteOutcome::Granted(granted))
}

/// Notes what the tool with the reservation `id` has spent, in US dollars.
pub(super) async fn settle_reservation(
    db: &mut DbConnection<'_>,
    id: &str,
    usd: f64,
) -> Result<(), WriteError> {
    query("update bookings set spent_usd = $2 where id = $1 and spent_usd is null")
        .bind(id)
        .bind(usd)
        .execute(db)
        .await?;
    Ok(())
}

/// Charges `usd` for a run, or else what its calls cost. A model call without an answer may have been billed, so then
/// the reservation is charged if it is more.
pub(super) async fn charge(
    db: &mut DbConnection<'_>,
    run: &RunId,
    usd: Option<f64>,
) -> Result<(), WriteError> {
    let usd = match usd {
        Some(usd) => usd,
        None => {
            let (answered, reserved, in_doubt): (f64, f64, i64) = query(
                "select coalesce((select sum(cost_usd) from steps where run = $1), 0.0),
                 (select reserved_usd from runs where id = $1),
                 (select count(*) from steps where run = $1 and state = 'intended' and door like 'model:%')",
            )
            .bind(run.as_str())
            .fetch_one(db)
            .await?;
            if in_doubt == 0 { answered } else { answered.max(reserved) }
        }
    };
    query("update runs set charged_usd = $2 where id = $1 and charged_usd < $2")
        .bind(run.as_str())
        .bind(usd)
        .execute(db)
        .await?;
    Ok(())
}

/// Keeps what a run cost before it is deleted: deleting a run gives no money back.
pub(super) async fn store_charge(db: &mut DbConnection<'_>, run: &RunId) -> sqlx::Result<()> {
    query(
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

/// Decides on `demand`. No other transaction may decide until this one ends: see [`DbConnection::lock_spending`].
async fn decide(
    db: &mut DbConnection<'_>,
    demand: &SpendRequest,
) -> Result<SpendDecision, WriteError> {
    let owner = &demand.owner;
    let user: Option<(Option<f64>, Option<i64>)> =
        query("select daily_usd, concurrency from users where id = $1")
            .bind(&owner.user)
            .fetch_optional(db)
            .await?;
    let Some((user_daily_usd, concurrency)) = user else {
        return refused(ErrorKind::NotFound, format!("there is no user {}", owner.user));
    };
    let org: Option<(Option<f64>,)> = query("select daily_usd from orgs where id = $1")
        .bind(&owner.org)
        .fetch_optional(db)
        .await?;
    let sums = query(SPENDING_QUERY)
        .bind(&owner.user)
        .bind(&owner.org)
        .bind(day_of(&demand.at))
        .bind(&demand.alive_since)
        .fetch_one(db)
        .await?;
    let account = AccountState {
        user_daily_usd,
        org_daily_usd: org.and_then(|(daily_usd,)| daily_usd),
        concurrency: concurrency.and_then(|count| u32::try_from(count).ok()),
        spent: spending_of(sums),
    };
    Ok(account.decide(demand))
}

/// Limits the question among `events` to `usd`.
fn set_budget(events: &mut [Envelope], usd: Option<f64>) {
    for event in events {
        if let Event::RunCreated { question, .. } = &mut event.event {
            question.budget.usd = usd;
        }
    }
}

/// The outcome of the earlier request under `key`, if there was one.
async fn find_request(
    db: &mut DbConnection<'_>,
    key: &IdempotencyKey,
) -> sqlx::Result<Option<AcceptOutcome>> {
    let earlier: Option<(String, String)> = query(REQUEST_BY_KEY)
        .bind(&key.user)
        .bind(&key.key)
        .bind(&key.since)
        .fetch_optional(db)
        .await?;
    Ok(earlier.and_then(|earlier| repeated_outcome(key, &earlier)))
}

/// Notes that a request under `key` began `run`, and deletes the keys that have expired.
async fn save_key(
    db: &mut DbConnection<'_>,
    key: &IdempotencyKey,
    run: &RunId,
    at: &str,
) -> sqlx::Result<()> {
    query("delete from request_keys where at < $1").bind(&key.since).execute(db).await?;
    query(
        "insert into request_keys (user_id, key, hash, run, at) values ($1, $2, $3, $4, $5)
         on conflict (user_id, key) do update
         set hash = excluded.hash, run = excluded.run, at = excluded.at",
    )
    .bind(&key.user)
    .bind(&key.key)
    .bind(&key.hash)
    .bind(run.as_str())
    .bind(at)
    .execute(db)
    .await?;
    Ok(())
}

/// Writes the outcome of accepting `run` to the audit log, if it is to be audited.
async fn audit_accept(
    db: &mut DbConnection<'_>,
    on: &AcceptRequest,
    run: &RunId,
    outcome: &str,
) -> sqlx::Result<()> {
    match &on.audited_as {
        Some(who) => audit(db, [&on.at, who, "run.create", run.as_str(), outcome]).await,
        None => Ok(()),
    }
}

/// Adds a line to the audit log, in the same commit.
async fn audit(db: &mut DbConnection<'_>, columns: [&str; 5]) -> sqlx::Result<()> {
    let mut line = query(INSERT_AUDIT);
    for column in columns {
        // It may contain words of strangers.
        line = line.bind(without_null(column));
    }
    line.execute(db).await?;
    Ok(())
}

/// The outcome of a request under `key`, where `earlier` is the hash of the first request under that key and its run.
pub(super) fn repeated_outcome(
    key: &IdempotencyKey,
    earlier: &(String, String),
) -> Option<AcceptOutcome> {
    if earlier.0 == key.hash {
        earlier.1.parse().ok().map(AcceptOutcome::Same)
    } else {
        Some(AcceptOutcome::Other)
    }
}

/// The sums that [`SPENDING_QUERY`] selects.
pub(super) fn spending_of((user_usd, org_usd, unended): (f64, f64, i64)) -> Spending {
    Spending { user_usd, org_usd, unended: u64::try_from(unended).unwrap_or(0) }
}

fn exhausted<T>() -> Result<T, WriteError> {
    Err(WriteError::Refused(StoreError {
        hint: Some(
            "ask again tomorrow (UTC), or when your current runs have ended, or with \"model\": \"none\"",
        ),
        ..StoreError::refused(
            ErrorKind::Exhausted,
            "today's budget is spent or reserved".to_owned(),
        )
    }))
}

fn too_many_open<T>() -> Result<T, WriteError> {
    Err(WriteError::Refused(StoreError {
        hint: Some("try again in a minute"),
        ..StoreError::refused(
            ErrorKind::Transient,
            "you have reached your limit of concurrent runs and tool calls".to_owned(),
        )
    }))
}
