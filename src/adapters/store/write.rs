//! What each write does inside the transaction it shares with others.
//!
//! Each looks before it writes: a refusal leaves nothing half done, so that the other writes of the
//! same commit need no savepoint.
use std::collections::BTreeMap;

use sqlx::{Row, SqliteConnection};

use super::fault::Fault;
use crate::domain::{PageHash, RunId, Traffic};
use crate::error::Kind;
use crate::record::{Envelope, Run};
use crate::seams::{Order, RunRow, Step, StepState};

/// Version of the JSON in `steps`: raised when an answer's shape changes its meaning.
const STEP_SCHEMA: i64 = 1;

/// One write.
#[derive(Debug)]
pub(super) enum Write {
    Append(RunId, Vec<Envelope>, Vec<String>),
    Intend(RunId, Step),
    Settle(RunId, String, StepState, Option<Kept>),
    Keep(RunId, Kept),
    Order(RunId, Order),
    Traffic(RunId, BTreeMap<String, Traffic>),
    Remove(RunId),
    /// Nothing: done when all that was asked before it is done.
    Nothing,
}

/// A page as it will stand in its row.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) hash: PageHash,
    pub(super) body: String,
}

/// Why a write did not happen.
pub(super) enum Failed {
    Refused(Fault),
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Failed {
    fn from(it: sqlx::Error) -> Failed {
        Failed::Database(it)
    }
}

fn refused<T>(kind: Kind, why: String) -> Result<T, Failed> {
    Err(Failed::Refused(Fault::refused(kind, why)))
}

/// Does `write` on a connection that is inside a transaction.
pub(super) async fn apply(db: &mut SqliteConnection, write: &Write) -> Result<(), Failed> {
    match write {
        Write::Append(run, events, bodies) => append(db, run, events, bodies).await,
        Write::Intend(run, step) => intend(db, run, step).await,
        Write::Settle(run, key, state, page) => {
            settle(db, run, key, state).await?;
            match page {
                Some(page) => keep(db, run, page).await,
                None => Ok(()),
            }
        }
        Write::Keep(run, page) => keep(db, run, page).await,
        Write::Order(run, order) => {
            known(db, run).await?;
            sqlx::query("insert into orders (run, word) values ($1, $2)")
                .bind(run.as_str())
                .bind(order_text(order))
                .execute(db)
                .await?;
            Ok(())
        }
        Write::Traffic(run, traffic) => {
            known(db, run).await?;
            for (host, it) in traffic {
                let count = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
                sqlx::query(
                    "insert into egress (run, host, requests, sent, received) values ($1, $2, $3, $4, $5)
                     on conflict (run, host) do update set requests = requests + excluded.requests,
                     sent = sent + excluded.sent, received = received + excluded.received",
                )
                .bind(run.as_str())
                .bind(host)
                .bind(count(it.requests))
                .bind(count(it.sent))
                .bind(count(it.received))
                .execute(&mut *db)
                .await?;
            }
            Ok(())
        }
        Write::Remove(run) => remove(db, run).await,
        Write::Nothing => Ok(()),
    }
}

async fn known(db: &mut SqliteConnection, run: &RunId) -> Result<(), Failed> {
    let found = sqlx::query("select 1 from runs where id = $1")
        .bind(run.as_str())
        .fetch_optional(db)
        .await?;
    match found {
        Some(_) => Ok(()),
        None => refused(Kind::NotFound, format!("there is no run {run}")),
    }
}

async fn append(
    db: &mut SqliteConnection,
    run: &RunId,
    events: &[Envelope],
    bodies: &[String],
) -> Result<(), Failed> {
    let before = sqlx::query("select seq, row from runs where id = $1")
        .bind(run.as_str())
        .fetch_optional(&mut *db)
        .await?;
    let (last, row) = match &before {
        None => (0, None),
        Some(it) => (
            it.try_get::<i64, _>(0)? as u64,
            serde_json::from_str::<RunRow>(it.try_get(1)?).ok(),
        ),
    };
    for (at, event) in events.iter().enumerate() {
        let next = last + 1 + at as u64;
        if event.seq != next {
            return refused(
                Kind::Internal,
                format!(
                    "event {} of run {run} comes where {next} belongs",
                    event.seq
                ),
            );
        }
    }
    let seq = last + events.len() as u64;
    let row = serde_json::to_string(&told(run, row, events)).unwrap_or_default();
    sqlx::query(
        "insert into runs (id, seq, row) values ($1, $2, $3)
         on conflict (id) do update set seq = excluded.seq, row = excluded.row",
    )
    .bind(run.as_str())
    .bind(seq as i64)
    .bind(row)
    .execute(&mut *db)
    .await?;
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

/// The line of `ibid ls` after `events`, told by the same fold as everything else.
fn told(run: &RunId, before: Option<RunRow>, events: &[Envelope]) -> RunRow {
    let mut fold = Run::new(run.clone());
    let mut question = String::new();
    let (mut judged, mut rating) = (None, None);
    let (mut follows, mut owner) = (None, None);
    if let Some(row) = before {
        fold.status = row.status;
        fold.usage = row.usage;
        fold.started_at = Some(row.started_at);
        fold.updated_at = Some(row.updated_at);
        (judged, rating) = (row.judged, row.rating);
        question = row.question;
        follows = row.follows;
        owner = row.owner;
    }
    for event in events {
        fold.apply(event);
    }
    if let Some(asked) = &fold.question {
        follows = asked.follows.as_ref().map(|it| it.run.clone());
    }
    RunRow {
        run_id: run.clone(),
        follows,
        owner: fold.owner.or(owner),
        status: fold.status,
        question: fold.question.map_or(question, |it| it.text),
        started_at: fold.started_at.unwrap_or_default(),
        updated_at: fold.updated_at.unwrap_or_default(),
        usage: fold.usage,
        judged: fold.judgement.map_or(judged, |it| Some(it.composite)),
        rating: fold.rating.map_or(rating, |it| Some(it.vote)),
    }
}

async fn intend(db: &mut SqliteConnection, run: &RunId, step: &Step) -> Result<(), Failed> {
    known(db, run).await?;
    // An answered call is never sent again, whatever the caller believes.
    let written = sqlx::query(
        "insert into steps (run, key, door, asked, state, schema_v) values ($1, $2, $3, $4, 'intended', $5)
         on conflict (run, key) do update
         set state = 'intended', kind = null, message = null, sent = sent + 1, schema_v = excluded.schema_v
         where state <> 'answered'",
    )
    .bind(run.as_str())
    .bind(&step.key)
    .bind(&step.door)
    .bind(step.asked.to_string())
    .bind(STEP_SCHEMA)
    .execute(db)
    .await?;
    if written.rows_affected() == 0 {
        return refused(
            Kind::Internal,
            format!("call {} of run {run} is answered already", step.key),
        );
    }
    Ok(())
}

async fn settle(
    db: &mut SqliteConnection,
    run: &RunId,
    key: &str,
    state: &StepState,
) -> Result<(), Failed> {
    let (word, answer, cost, kind, message) = match state {
        StepState::Intended => ("intended", None, 0.0, None, None),
        StepState::Answered(it) => (
            "answered",
            Some(it.answer.to_string()),
            it.cost_usd,
            None,
            None,
        ),
        StepState::Failed { kind, message } => (
            "failed",
            None,
            0.0,
            Some(word(kind)),
            Some(message.as_str()),
        ),
    };
    let written = sqlx::query(
        "update steps set state = $3, answer = $4, cost_usd = $5, kind = $6, message = $7
         where run = $1 and key = $2 and state <> 'answered'",
    )
    .bind(run.as_str())
    .bind(key)
    .bind(word)
    .bind(answer)
    .bind(cost)
    .bind(kind)
    .bind(message)
    .execute(db)
    .await?;
    if written.rows_affected() == 0 {
        return refused(
            Kind::Internal,
            format!("call {key} of run {run} was not written down, or is answered already"),
        );
    }
    Ok(())
}

async fn keep(db: &mut SqliteConnection, run: &RunId, page: &Kept) -> Result<(), Failed> {
    known(db, run).await?;
    // What the hash leaves out (warnings, the cut into sentences) follows the latest reading.
    sqlx::query(
        "insert into pages (hash, body) values ($1, $2)
         on conflict (hash) do update set body = excluded.body where body <> excluded.body",
    )
    .bind(page.hash.as_str())
    .bind(&page.body)
    .execute(&mut *db)
    .await?;
    sqlx::query("insert into held (run, page) values ($1, $2) on conflict do nothing")
        .bind(run.as_str())
        .bind(page.hash.as_str())
        .execute(db)
        .await?;
    Ok(())
}

async fn remove(db: &mut SqliteConnection, run: &RunId) -> Result<(), Failed> {
    known(db, run).await?;
    sqlx::query("create temp table if not exists freed (hash text primary key) strict")
        .execute(&mut *db)
        .await?;
    sqlx::query("delete from freed").execute(&mut *db).await?;
    sqlx::query("insert into freed select page from held where run = $1")
        .bind(run.as_str())
        .execute(&mut *db)
        .await?;
    // Events, calls, orders and holdings go with the run.
    sqlx::query("delete from runs where id = $1")
        .bind(run.as_str())
        .execute(&mut *db)
        .await?;
    sqlx::query(
        "delete from pages where hash in (select hash from freed)
         and not exists (select 1 from held where held.page = pages.hash)",
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The wire word of a plain enum.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|it| it.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// An order as a column keeps it: its word, or JSON where it says more.
fn order_text(order: &Order) -> String {
    match order {
        Order::Finish | Order::Cancel => word(order),
        Order::Reply(_) | Order::Approve(_) => serde_json::json!(order).to_string(),
    }
}

/// The order behind a column's text.
pub(super) fn order_of(text: &str) -> Option<Order> {
    unword(text).or_else(|| serde_json::from_str(text).ok())
}

/// The plain enum behind a wire word.
pub(super) fn unword<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}
