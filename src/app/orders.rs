//! What may be left for a run: words of bounded length, so many of them, and answers only to what was asked.
use std::fmt;

use crate::domain::Approval;
use crate::error::{Error, Kind, Result};
use crate::record::Run;
use crate::seams::Order;

/// Words of people that are kept for one run.
const MOST_ORDERS: usize = 100;

/// Answers in one reply: more than are ever asked for.
const MOST_ANSWERS: usize = 20;

/// The longest text of one order, or of one answer, characters.
pub const LONGEST_WORDS: usize = 2_000;

/// The longest plan that somebody gives, bytes of its JSON.
const LONGEST_PLAN: usize = 64 << 10;

/// Why an order is not left: the cause of an error of kind `Usage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderRefusal {
    /// A text is too long, or there are too many answers.
    TooLong,
    /// Too many orders were left for the run already.
    TooMany,
    /// The run asked for no answer.
    NotAsked,
}

impl fmt::Display for OrderRefusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderRefusal::TooLong => write!(
                to,
                "allowed are {LONGEST_WORDS} characters of text, {MOST_ANSWERS} answers of as many each, or a plan of {} KiB",
                LONGEST_PLAN >> 10
            ),
            OrderRefusal::TooMany => write!(to, "a run takes {MOST_ORDERS} orders"),
            OrderRefusal::NotAsked => to.write_str("the run asks for no answer"),
        }
    }
}

impl std::error::Error for OrderRefusal {}

/// Whether `order` is to be left for `run`, for which `before` were left: a second order to finish or to cancel changes nothing.
///
/// # Errors
/// `Usage`, caused by an [`OrderRefusal`].
pub(super) fn is_new(order: &Order, run: &Run, before: &[Order]) -> Result<bool> {
    let refused =
        |why: OrderRefusal| Err(Error::new(Kind::Usage, "this order is not taken").because(why));
    let long = |it: &String| it.chars().count() > LONGEST_WORDS;
    let too_long = match order {
        Order::Finish | Order::Cancel => return Ok(!before.contains(order)),
        Order::Steer(words) => long(words),
        Order::Reply(answers) => answers.len() > MOST_ANSWERS || answers.iter().any(long),
        Order::Approve(Approval::Words(words)) => long(words),
        Order::Approve(_) => {
            let json = serde_json::to_string(order);
            json.is_ok_and(|it| it.len() > LONGEST_PLAN)
        }
    };
    if too_long {
        return refused(OrderRefusal::TooLong);
    }
    let replied = || before.iter().any(|it| matches!(it, Order::Reply(_)));
    let asks = run.question.as_ref().is_some_and(|it| it.clarify);
    if matches!(order, Order::Reply(_)) && (!asks || replied()) {
        return refused(OrderRefusal::NotAsked);
    }
    match before.len() >= MOST_ORDERS {
        true => refused(OrderRefusal::TooMany),
        false => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RunId;

    fn refusal(order: &Order, before: &[Order]) -> Option<OrderRefusal> {
        let run = Run::new(RunId::new(0, 0));
        let fault = is_new(order, &run, before).err()?;
        std::error::Error::source(&fault)?.downcast_ref().copied()
    }

    #[test]
    fn orders_are_bounded_in_number_and_length() {
        let steer = |n: usize| Order::Steer("x".repeat(n));
        assert_eq!(refusal(&steer(LONGEST_WORDS), &[]), None);
        let long = refusal(&steer(LONGEST_WORDS + 1), &[]);
        assert_eq!(long, Some(OrderRefusal::TooLong));
        let words = Order::Approve(Approval::Words("x".repeat(900_000)));
        assert_eq!(refusal(&words, &[]), Some(OrderRefusal::TooLong));
        let many = vec![steer(1); MOST_ORDERS];
        assert_eq!(refusal(&steer(1), &many), Some(OrderRefusal::TooMany));
        assert_eq!(refusal(&steer(1), &many[1..]), None);
        // Whoever wants an end gets it, and once.
        let run = Run::new(RunId::new(0, 0));
        assert!(is_new(&Order::Cancel, &run, &many).unwrap());
        assert!(!is_new(&Order::Cancel, &run, &[Order::Cancel]).unwrap());
    }

    #[test]
    fn nobody_answers_what_was_not_asked() {
        let reply = Order::Reply(vec!["y".to_owned()]);
        assert_eq!(refusal(&reply, &[]), Some(OrderRefusal::NotAsked));
        let many = Order::Reply(vec!["y".to_owned(); 100_000]);
        assert_eq!(refusal(&many, &[]), Some(OrderRefusal::TooLong));
    }
}
