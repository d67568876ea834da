//! What each write does inside the transaction it shares with others.
use std::collections::BTreeMap;

use sqlx::{PgConnection, Row};

use super::super::both::writes;
use super::super::spending::{
    REQUESTED, SUMS, accepted_before, day_of, ended_on, exhausted, full, is_served, oldest_day,
    reserved_usd, spending, spent_of,
};
use super::super::write::{
    Accept, Asked, Done, Failed, Kept, STEP_SCHEMA, Scope, Write, columns, in_order, order_text,
    refused, taken_over, told, word,
};
use super::traces::retell;
use crate::domain::{RunId, Traffic};
use crate::error::Kind;
use crate::record::{Envelope, Event};
use crate::seams::{
    Acceptance, Accepted, AccountState, Booking, Demand, Grant, RequestKey, RunRow, Step, StepState,
};

writes!(PgConnection, " for update");
spending!(PgConnection);

async fn put_events(
    db: &mut PgConnection,
    run: &RunId,
    events: &[Envelope],
    bodies: &[String],
) -> sqlx::Result<()> {
    let seqs: Vec<i64> = events.iter().map(|it| it.seq as i64).collect();
    sqlx::query(
        "insert into events (run, seq, body)
         select $1, seq, body from unnest($2::bigint[], $3::text[]) as it (seq, body)",
    )
    .bind(run.as_str())
    .bind(seqs)
    .bind(bodies)
    .execute(db)
    .await?;
    Ok(())
}

/// Sees that nobody has taken `run` since its `epoch`, and lets nobody take it before this transaction has ended.
pub(super) async fn still_held(
    db: &mut PgConnection,
    run: &RunId,
    epoch: u64,
) -> std::result::Result<(), Failed> {
    let last: Option<i64> = sqlx::query_scalar("select epoch from runs where id = $1 for share")
        .bind(run.as_str())
        .fetch_optional(db)
        .await?;
    // A run that is not there yet was taken by nobody else.
    match last.is_none_or(|it| it as u64 == epoch) {
        true => Ok(()),
        false => taken_over(run),
    }
}

/// From here to the end of the transaction, or the next word, rows of everybody are seen.
pub(super) async fn widen(db: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select set_config('ibid.scope', 'all', true)")
        .execute(db)
        .await?;
    Ok(())
}

/// From here to the end of the transaction, or the next word, only rows within `scope` are seen; where it `stays`, to
/// the end of the session.
pub(super) async fn narrow(db: &mut PgConnection, scope: &Scope, stays: bool) -> sqlx::Result<()> {
    let (user, org) = scope.words();
    let word = match user {
        Some(_) => "owner",
        None => "all",
    };
    sqlx::query(
        "select set_config('ibid.scope', $1, $4), set_config('ibid.user', $2, $4),
         set_config('ibid.org', $3, $4)",
    )
    .bind(word)
    .bind(user.unwrap_or_default())
    .bind(org)
    .bind(!stays)
    .execute(db)
    .await?;
    Ok(())
}

/// Held by whoever grants places and money to any account, so that grants are given one after the other.
const GRANTING: i64 = 0x6962_6966;

/// Waits until nobody else grants anything, and lets nobody grant before this transaction has ended. The writer that
/// grants writes to no row of a run that another may write to, so this is the only lock it ever waits for.
async fn lock_accounts(db: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select pg_advisory_xact_lock($1)")
        .bind(GRANTING)
        .execute(db)
        .await?;
    Ok(())
}

/// Says which process will work on `run`.
async fn given_to(db: &mut PgConnection, run: &RunId, taker: Option<&str>) -> sqlx::Result<()> {
    sqlx::query("update runs set taker = $2 where id = $1")
        .bind(run.as_str())
        .bind(taker)
        .execute(db)
        .await?;
    Ok(())
}
