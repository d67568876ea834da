//! What is asked of a store, and what every store makes of it alike.
use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::fault::Fault;
use crate::domain::{Owner, Page, PageHash, RunId, Traffic};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Run};
use crate::seams::{Acceptance, Accepted, Booking, Order, RunRow, Step, StepState};

/// Version of the JSON in `steps`: raised when an answer's shape changes its meaning.
pub(super) const STEP_SCHEMA: i64 = 1;

/// Of whom a write or a read is: of everybody, or of one owner alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope(pub(super) Option<Owner>);

impl Scope {
    pub(super) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// User and organisation as statements take them: no user is everybody, no organisation an empty one.
    pub(super) fn words(&self) -> (Option<String>, String) {
        match &self.0 {
            Some(it) => (Some(it.user.clone()), it.org.clone().unwrap_or_default()),
            None => (None, String::new()),
        }
    }

    /// Whether a run of `owner` is within it.
    pub(super) fn admits(&self, owner: Option<&Owner>) -> bool {
        let of = |it: &Owner| (it.user.clone(), it.org.clone().unwrap_or_default());
        self.0.is_none() || self.0.as_ref().map(of) == owner.map(of)
    }
}

/// A write, and within what it must stay.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) scope: Scope,
    /// The run that the writer holds, and how often it had changed hands then.
    pub(super) fence: Option<(RunId, u64)>,
    pub(super) write: Write,
}

impl Asked {
    /// Whether it may leave more rows in sight than its scope has.
    pub(super) fn widens(&self) -> bool {
        matches!(self.write, Write::Remove(_) | Write::Accept(_))
    }

    /// The run it writes to and the hold that it rests on, where it rests on one.
    pub(super) fn fenced(&self) -> Option<(&RunId, u64)> {
        let (run, epoch) = self.fence.as_ref()?;
        (self.write.run() == Some(run)).then_some((run, *epoch))
    }
}

/// A write and who waits for it.
pub(super) struct Request {
    pub(super) asked: Asked,
    pub(super) done: oneshot::Sender<std::result::Result<Done, Fault>>,
}

/// What came of a write that was done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Done {
    Written,
    Accepted(Accepted),
    /// US dollars that may be spent, where they are bounded.
    Granted(Option<f64>),
}

/// A run that is to be accepted.
#[derive(Debug)]
pub(super) struct Accept {
    pub(super) run: RunId,
    pub(super) events: Vec<Envelope>,
    pub(super) on: Acceptance,
}

/// One write.
#[derive(Debug)]
pub(super) enum Write {
    Append(RunId, Vec<Envelope>, Vec<String>),
    Intend(RunId, Step),
    Settle(RunId, String, StepState, Option<Kept>),
    Keep(RunId, Kept),
    Order(RunId, Order),
    Traffic(RunId, BTreeMap<String, Traffic>),
    Accept(Box<Accept>),
    Book(Box<Booking>),
    /// What a tool has spent, US dollars, by the id of its booking.
    SettleBooking(String, f64),
    Charge(RunId, Option<f64>),
    Remove(RunId),
    /// Nothing: done when all that was asked before it is done.
    Nothing,
}

impl Write {
    /// The run it is of.
    pub(super) fn run(&self) -> Option<&RunId> {
        match self {
            Write::Append(run, ..)
            | Write::Intend(run, _)
            | Write::Settle(run, ..)
            | Write::Keep(run, _)
            | Write::Order(run, _)
            | Write::Traffic(run, _)
            | Write::Charge(run, _)
            | Write::Remove(run) => Some(run),
            Write::Accept(it) => Some(&it.run),
            Write::Book(_) | Write::SettleBooking(..) | Write::Nothing => None,
        }
    }

    /// Whether it judges or changes what an account may spend: such writes take turns.
    pub(super) fn is_of_account(&self) -> bool {
        matches!(
            self,
            Write::Accept(_) | Write::Book(_) | Write::SettleBooking(..)
        )
    }

    pub(super) fn append(run: &RunId, events: &[Envelope]) -> Result<Write> {
        let bodies = events
            .iter()
            .map(serde_json::to_string)
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|it| Error::new(Kind::Internal, "writing an event as JSON").because(it))?;
        Ok(Write::Append(run.clone(), events.to_vec(), bodies))
    }

    pub(super) fn settle(run: &RunId, key: &str, state: &StepState, page: Option<Kept>) -> Write {
        Write::Settle(run.clone(), key.to_owned(), state.clone(), page)
    }
}

/// A page as it will stand in its row.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) hash: PageHash,
    pub(super) body: String,
    pub(super) url: String,
}

impl Kept {
    pub(super) fn of(page: &Page) -> Result<Kept> {
        let body = serde_json::to_string(page)
            .map_err(|it| Error::new(Kind::Internal, "writing a page as JSON").because(it))?;
        Ok(Kept {
            hash: page.hash().clone(),
            body,
            url: page.url.replace('\0', ""),
        })
    }
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

pub(super) fn refused<T>(kind: Kind, why: String) -> std::result::Result<T, Failed> {
    Err(Failed::Refused(Fault::refused(kind, why)))
}

/// What a writer is told whose run another has taken.
pub(super) fn taken_over<T>(run: &RunId) -> std::result::Result<T, Failed> {
    let fault = Fault {
        hint: Some("it goes on there; see how far it is with `ibid show`"),
        ..Fault::refused(
            Kind::Transient,
            format!("run {run} was taken over by another process"),
        )
    };
    Err(Failed::Refused(fault))
}

/// Whether `events` go on where the run ends.
pub(super) fn in_order(
    run: &RunId,
    last: u64,
    events: &[Envelope],
) -> std::result::Result<(), Failed> {
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
    Ok(())
}

/// How far a call came, as columns.
pub(super) struct Columns {
    pub(super) state: &'static str,
    pub(super) answer: Option<String>,
    pub(super) cost_usd: f64,
    pub(super) kind: Option<String>,
    pub(super) message: Option<String>,
}

pub(super) fn columns(state: &StepState) -> Columns {
    let blank = Columns {
        state: "intended",
        answer: None,
        cost_usd: 0.0,
        kind: None,
        message: None,
    };
    match state {
        StepState::Intended => blank,
        StepState::Answered(it) => Columns {
            state: "answered",
            answer: Some(it.answer.to_string()),
            cost_usd: it.cost_usd,
            ..blank
        },
        StepState::Failed { kind, message } => Columns {
            state: "failed",
            kind: Some(word(kind)),
            message: Some(message_text(message)),
            ..blank
        },
    }
}

/// A message as a column keeps it: as it is, or as JSON where it holds what not every database can.
fn message_text(message: &str) -> String {
    match message.contains('\0') || message.starts_with('"') {
        true => serde_json::Value::from(message).to_string(),
        false => message.to_owned(),
    }
}

/// The message behind a column's text.
pub(super) fn message_of(text: &str) -> String {
    match text.starts_with('"') {
        true => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
        false => text.to_owned(),
    }
}

/// The line of `ibid ls` after `events`, told by the same fold as everything else.
pub(super) fn told(run: &RunId, before: Option<RunRow>, events: &[Envelope]) -> RunRow {
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
        seq: fold.seq,
    }
}

/// The line of `ibid ls` that a row of the database keeps, and the number of the last event beside it.
pub(super) fn row_of(kept: &(String, i64)) -> serde_json::Result<RunRow> {
    let row: RunRow = serde_json::from_str(&kept.0)?;
    Ok(RunRow {
        seq: u64::try_from(kept.1).unwrap_or_default(),
        ..row
    })
}

/// The wire word of a plain enum.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|it| it.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// An order as a column keeps it: its word, or JSON where it says more.
pub(super) fn order_text(order: &Order) -> String {
    match order {
        Order::Finish | Order::Cancel => word(order),
        Order::Reply(_) | Order::Approve(_) | Order::Steer(_) => {
            serde_json::json!(order).to_string()
        }
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
