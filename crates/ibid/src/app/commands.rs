//! Orders to a run: finish, cancel, steer, reply to its questions, approve its plan. Any process may send one; the worker of the run reads
//! them from the store.
use std::fmt;

use super::App;
use ibid_core::domain::{Approval, RunId};
use ibid_core::ports::RunCommand;
use ibid_core::record::{Envelope, Event, Phase, Run};
use ibid_core::{Error, Kind, Result};

/// Orders that are stored for one run, at most.
const MAX_ORDERS: usize = 100;

/// Answers in one reply, at most: more than a run ever asks for.
const MAX_ANSWERS: usize = 20;

/// The longest text of one order, or of one answer, characters.
pub const MAX_TEXT_CHARS: usize = 2_000;

/// The longest plan in an approval, bytes of its JSON.
const MAX_PLAN_BYTES: usize = 64 << 10;

/// Why an order was refused: the source of an error of kind `Usage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderRefusal {
    /// A text is too long, or there are too many answers.
    TooLong,
    /// The run has too many orders already.
    TooMany,
    /// The run asked no question.
    NotAsked,
}

impl fmt::Display for OrderRefusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderRefusal::TooLong => write!(
                to,
                "the limits are {MAX_TEXT_CHARS} characters of text, {MAX_ANSWERS} answers of as many each, and a plan of {} KiB",
                MAX_PLAN_BYTES >> 10
            ),
            OrderRefusal::TooMany => write!(to, "a run takes at most {MAX_ORDERS} orders"),
            OrderRefusal::NotAsked => to.write_str("the run asks for no answer"),
        }
    }
}

impl std::error::Error for OrderRefusal {}

impl App {
    /// Sends an order to a run, whichever process works on it. A cancel ends a run without a worker at once; a finish takes effect when
    /// such a run is resumed.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has ended or cannot take this order.
    pub async fn send_order(&self, run: &RunId, order: RunCommand) -> Result<()> {
        let store = self.existing_store(run).await?;
        let lease = match order {
            RunCommand::Cancel => self.locks().await?.acquire(run).await?,
            RunCommand::Finish
            | RunCommand::Reply(_)
            | RunCommand::Approve(_)
            | RunCommand::Steer(_) => None,
        };
        store.drain().await?;
        let past = store.events(run, 0).await?;
        let known = Run::from_events(run.clone(), &past);
        if let Err(refusal) = check_stage(&order, &known, &past) {
            if let Some(lease) = lease {
                lease.release();
            }
            return Err(refusal);
        }
        let Some(lease) = lease else {
            return if is_new(&order, &known, &store.commands(run).await?)? {
                store.send_command(run, order).await
            } else {
                Ok(())
            };
        };
        let store = App::with_lease(store, run, &*lease);
        let log = self.open_log(run, &store, &past);
        self.accounts().await?.charge(run, None).await?;
        log.emit(Event::RunCancelled {});
        log.flush().await?;
        lease.release();
        Ok(())
    }

    /// How many orders `run` has.
    pub(super) async fn order_count(&self, run: &RunId) -> Result<usize> {
        Ok(self.existing_store(run).await?.commands(run).await?.len())
    }
}

/// Checks that a run at this stage can take `order`.
fn check_stage(order: &RunCommand, known: &Run, past: &[Envelope]) -> Result<()> {
    let run = &known.id;
    if known.status.ended() {
        return Err(Error::new(Kind::Usage, format!("run {run} has ended already"))
            .with_hint(format!("see its result with `ibid show {run}`")));
    }
    // Whether it waits now is not asked: an approval may come before the event that says so is durable.
    let needs_approval = known.question.as_ref().is_some_and(|question| question.approve);
    let is_approval = |envelope: &Envelope| matches!(envelope.event, Event::PlanApproved { .. });
    let awaits_approval = needs_approval && !past.iter().any(is_approval);
    if matches!(order, RunCommand::Approve(_)) && !awaits_approval {
        let what = format!("run {run} has no plan that awaits approval");
        return Err(Error::new(Kind::Usage, what)
            .with_hint("only a run that was started with --approve awaits one"));
    }
    let is_late = |envelope: &Envelope| matches!(envelope.phase, Phase::Write | Phase::Check);
    if matches!(order, RunCommand::Steer(_)) && past.iter().any(is_late) {
        let what = format!("run {run} is being written already");
        return Err(Error::new(Kind::Usage, what)
            .with_hint(format!("ask a follow-up afterwards: ibid ask {run} \"…\"")));
    }
    Ok(())
}

/// Whether `order` adds something to the orders in `before`: a second order to finish or to cancel does not.
///
/// # Errors
/// `Usage`, with an [`OrderRefusal`] as its source.
fn is_new(order: &RunCommand, run: &Run, before: &[RunCommand]) -> Result<bool> {
    let refused = |why: OrderRefusal| {
        Err(Error::new(Kind::Usage, "this order is not accepted").with_source(why))
    };
    let is_long = |text: &String| text.chars().count() > MAX_TEXT_CHARS;
    let too_long = match order {
        RunCommand::Finish | RunCommand::Cancel => return Ok(!before.contains(order)),
        RunCommand::Steer(text) => is_long(text),
        RunCommand::Reply(answers) => answers.len() > MAX_ANSWERS || answers.iter().any(is_long),
        RunCommand::Approve(Approval::Words(text)) => is_long(text),
        RunCommand::Approve(_) => {
            let json = serde_json::to_string(order);
            json.is_ok_and(|json| json.len() > MAX_PLAN_BYTES)
        }
    };
    if too_long {
        return refused(OrderRefusal::TooLong);
    }
    let replied = || before.iter().any(|command| matches!(command, RunCommand::Reply(_)));
    let asks = run.question.as_ref().is_some_and(|question| question.clarify);
    if matches!(order, RunCommand::Reply(_)) && (!asks || replied()) {
        return refused(OrderRefusal::NotAsked);
    }
    if before.len() >= MAX_ORDERS { refused(OrderRefusal::TooMany) } else { Ok(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(order: &RunCommand, before: &[RunCommand]) -> Option<OrderRefusal> {
        let run = Run::new(RunId::new(0, 0));
        let fault = is_new(order, &run, before).err()?;
        std::error::Error::source(&fault)?.downcast_ref().copied()
    }

    #[test]
    fn orders_are_bounded_in_number_and_length() {
        let steer = |n: usize| RunCommand::Steer("x".repeat(n));
        assert_eq!(refusal(&steer(MAX_TEXT_CHARS), &[]), None);
        let long = refusal(&steer(MAX_TEXT_CHARS + 1), &[]);
        assert_eq!(long, Some(OrderRefusal::TooLong));
        let words = RunCommand::Approve(Approval::Words("x".repeat(900_000)));
        assert_eq!(refusal(&words, &[]), Some(OrderRefusal::TooLong));
        let many = vec![steer(1); MAX_ORDERS];
        assert_eq!(refusal(&steer(1), &many), Some(OrderRefusal::TooMany));
        assert_eq!(refusal(&steer(1), &many[1..]), None);
        // An order to end the run is accepted however many there are, and once.
        let run = Run::new(RunId::new(0, 0));
        assert!(is_new(&RunCommand::Cancel, &run, &many).unwrap());
        assert!(!is_new(&RunCommand::Cancel, &run, &[RunCommand::Cancel]).unwrap());
    }

    #[test]
    fn a_reply_without_a_question_is_refused() {
        let reply = RunCommand::Reply(vec!["y".to_owned()]);
        assert_eq!(refusal(&reply, &[]), Some(OrderRefusal::NotAsked));
        let many = RunCommand::Reply(vec!["y".to_owned(); 100_000]);
        assert_eq!(refusal(&many, &[]), Some(OrderRefusal::TooLong));
    }
}
