//! What each write does inside the transaction it shares with others.
use std::collections::BTreeMap;

use sqlx::{Row, SqliteConnection};

use super::super::both::writes;
use super::super::spending::{
    REQUESTED, SUMS, accepted_before, day_of, ended_on, exhausted, full, is_served, oldest_day,
    reserved_usd, spending, spent_of,
};
use super::super::write::{
    Accept, Asked, Done, Failed, Kept, STEP_SCHEMA, Scope, Write, columns, in_order, order_text,
    refused, told, word,
};
use super::traces::retell;
use crate::domain::{RunId, Traffic};
use crate::error::Kind;
use crate::record::{Envelope, Event};
use crate::seams::{
    Acceptance, Accepted, AccountState, Booking, Demand, Grant, RequestKey, RunRow, Step, StepState,
};

writes!(SqliteConnection, "");
spending!(SqliteConnection);

async fn put_events(
    db: &mut SqliteConnection,
    run: &RunId,
    events: &[Envelope],
    bodies: &[String],
) -> sqlx::Result<()> {
    for (event, body) in events.iter().zip(bodies) {
        sqlx::query("insert into events (run, seq, body) values ($1, $2, $3)")
            .bind(run.as_str())
            .bind(event.seq as i64)
            .bind(body)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

/// One who writes here sees every row already.
async fn widen(_: &mut SqliteConnection) -> sqlx::Result<()> {
    Ok(())
}

/// A transaction that writes is alone from its beginning.
async fn lock_accounts(_: &mut SqliteConnection) -> sqlx::Result<()> {
    Ok(())
}

/// Whoever goes on with a run is told by its lock alone.
async fn given_to(_: &mut SqliteConnection, _: &RunId, _: Option<&str>) -> sqlx::Result<()> {
    Ok(())
}
