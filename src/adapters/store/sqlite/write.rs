//! What each write does inside the transaction it shares with others.
use std::collections::BTreeMap;

use sqlx::{Row, SqliteConnection};

use super::super::both::writes;
use super::super::write::{
    Asked, Failed, Kept, STEP_SCHEMA, Scope, Write, columns, in_order, order_text, refused, told,
    word,
};
use super::traces::retell;
use crate::domain::{RunId, Traffic};
use crate::error::Kind;
use crate::record::Envelope;
use crate::seams::{RunRow, Step, StepState};

writes!(SqliteConnection, "");

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
