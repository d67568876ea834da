//! Understanding the question (row B2).
use crate::domain::{Brief, Question, words};
use crate::error::{Error, Kind, Result};

use super::unaided;

/// The refined question.
///
/// # Errors
/// `Usage` when there is no word in it.
pub(crate) fn refine(question: &Question) -> Result<Brief> {
    if words::tokens(&question.text).is_empty() {
        return Err(Error::new(Kind::Usage, "the question has no words in it")
            .hint("ask in words, as in `ibid \"Why do bridges sway?\"`"));
    }
    unaided::intake::refine(question)
}
