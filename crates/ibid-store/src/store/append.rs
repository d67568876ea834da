//! Adding events to a run, with the row of the run that is folded from them.
use super::columns::enum_word;
use super::day::day_of;
use super::statement::{DbConnection, query};
use super::traces::update_trace;
use super::write::{OwnerScope, WriteError, refused};
use ibid_core::ErrorKind;
use ibid_core::domain::RunId;
use ibid_core::ports::RunRow;
use ibid_core::record::{Envelope, Event, Run};

/// Adds `events`, whose JSON is `bodies`, to `run`, which is created with its first event.
pub(super) async fn append(
    db: &mut DbConnection<'_>,
    scope: &OwnerScope,
    run: &RunId,
    events: &[Envelope],
    bodies: &[String],
) -> Result<(), WriteError> {
    let before: Option<(i64, String)> =
        query(format!("select seq, \"row\" from runs where id = $1{}", db.lock_clause()))
            .bind(run.as_str())
            .fetch_optional(db)
            .await?;
    let (last, row) = match &before {
        None => (0, None),
        Some((seq, row)) => (*seq as u64, serde_json::from_str::<RunRow>(row).ok()),
    };
    check_order(run, last, events)?;
    let row = updated_row(run, row, events);
    if !scope.admits(row.owner.as_ref()) {
        return refused(ErrorKind::NotFound, format!("there is no run {run}"));
    }
    let seq = last + events.len() as u64;
    let statement = if before.is_none() {
        "insert into runs (id, seq, \"row\", owner_user, owner_org, status, started_at, updated_at, usd, ended_on, reserved_usd, served)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    } else {
        "update runs set seq = $2, \"row\" = $3, owner_user = $4, owner_org = $5, status = $6,
         started_at = $7, updated_at = $8, usd = $9,
         ended_on = case when ended_on = '' then $10 else ended_on end,
         reserved_usd = reserved_usd + $11, served = served + $12 where id = $1"
    };
    let owner = row.owner.as_ref();
    query(statement)
        .bind(run.as_str())
        .bind(seq as i64)
        .bind(serde_json::to_string(&row).unwrap_or_default())
        .bind(owner.map(|owner| owner.user.as_str()))
        .bind(owner.and_then(|owner| owner.org.as_deref()))
        .bind(enum_word(&row.status))
        .bind(&row.started_at)
        .bind(&row.updated_at)
        .bind(row.usage.usd.unwrap_or(0.0))
        .bind(ended_on(&row))
        .bind(reserved_usd(events))
        .bind(i64::from(is_served(events)))
        .execute(db)
        .await?;
    db.insert_events(run, events, bodies).await?;
    update_trace(db, run, events).await?;
    Ok(())
}

/// Checks that `events` continue the run after its event number `last`.
fn check_order(run: &RunId, last: u64, events: &[Envelope]) -> Result<(), WriteError> {
    for (next, event) in (last + 1..).zip(events) {
        if event.seq != next {
            return refused(
                ErrorKind::Internal,
                format!("event {} of run {run} where {next} was expected", event.seq),
            );
        }
    }
    Ok(())
}

/// The row of `run` after `events`, made by the same fold as everything else.
fn updated_row(run: &RunId, before: Option<RunRow>, events: &[Envelope]) -> RunRow {
    let mut fold = Run::new(run.clone());
    let mut question = String::new();
    let (mut judged, mut rating) = (None, None);
    let (mut follows, mut owner) = (None, None);
    if let Some(row) = before {
        fold.status = row.status;
        fold.usage = row.usage;
        fold.failure = row.failure;
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
    if let Some(question) = &fold.question {
        follows = question.follows.as_ref().map(|follows| follows.run.clone());
    }
    RunRow {
        run_id: run.clone(),
        follows,
        owner: fold.owner.or(owner),
        status: fold.status,
        question: fold.question.map_or(question, |question| question.text),
        started_at: fold.started_at.unwrap_or_default(),
        updated_at: fold.updated_at.unwrap_or_default(),
        usage: fold.usage,
        failure: fold.failure,
        judged: fold.judgement.map_or(judged, |judgement| Some(judgement.composite)),
        rating: fold.rating.map_or(rating, |rating| Some(rating.vote)),
        seq: fold.seq,
    }
}

/// The day on which a run ended; empty before.
fn ended_on(row: &RunRow) -> &str {
    if row.status.ended() { day_of(&row.updated_at) } else { "" }
}

/// What a run that begins with `events` reserves of an account, US dollars: its budget, where it has an owner and asks
/// models.
fn reserved_usd(events: &[Envelope]) -> f64 {
    let reserved = |event: &Envelope| match &event.event {
        Event::RunCreated { question, owner: Some(_), .. } if !question.models.is_empty() => {
            question.budget.usd
        }
        _ => None,
    };
    events.iter().find_map(reserved).unwrap_or(0.0)
}

/// Whether `events` say that a server has accepted the run.
fn is_served(events: &[Envelope]) -> bool {
    let queued = |event: &Envelope| matches!(event.event, Event::RunQueued { .. });
    events.iter().any(queued)
}
