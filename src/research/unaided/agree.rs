//! What texts answer to one question, and whether their answers differ.
//!
//! The answer of a text is the date, amount or name that stands nearest to the question's own words,
//! in the sentence that has most of them. It is a guess by words: it does not know that two people
//! have one name, or that "AFL" is a kind of football. `evals conflicts` measures it.
use std::collections::BTreeSet;

use super::kinds::kind_of;
use super::sentence::{measures, years_at};
use crate::domain::words::{Token, is_stop, stem, tokens};
use crate::domain::{QuestionKind, sentences};
use crate::error::Result;
use crate::research::prompts;

/// What kind of thing answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A year.
    Date,
    /// A number that measures or counts.
    Amount,
    /// A person, a place, a thing with a name.
    Name,
    /// Anything: a name, or what the subject is said to be.
    Other,
}

impl Wanted {
    /// What `question` wants.
    ///
    /// # Errors
    /// The program's own lists of words cannot be read.
    pub fn by(question: &str) -> Result<Wanted> {
        let first = question.split_whitespace().take(3);
        let opening: Vec<String> = first.map(str::to_lowercase).collect();
        if opening.iter().any(|it| it == "year") {
            return Ok(Wanted::Date);
        }
        Ok(match kind_of(question, prompts::phrases()?) {
            QuestionKind::When => Wanted::Date,
            QuestionKind::Quantity => Wanted::Amount,
            QuestionKind::Who | QuestionKind::Where => Wanted::Name,
            _ => Wanted::Other,
        })
    }
}

/// The answer of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// As it stands there: `1984`, `36 years`, `Raj Kapoor`.
    pub shown: String,
    /// How near it stands to how many of the question's words, 0 to 1.
    pub worth: f32,
    /// Its words, as stems.
    words: Vec<String>,
    /// Its value and unit, of an amount.
    amount: Option<(f64, Option<String>)>,
}

impl Answered {
    /// The unit of an amount that has one.
    pub(crate) fn unit(&self) -> Option<&str> {
        self.amount.as_ref()?.1.as_deref()
    }
}

/// A word between this and the question's words halves the worth of an answer.
const HALF: f32 = 8.0;
/// A sentence that follows one with the question's words counts this much of it ("He was born…").
const FOLLOWS: f32 = 0.6;
/// How many words behind "is" or "was" say what the subject is.
const TAIL: usize = 8;
/// How far behind the subject "is" or "was" may stand.
const COPULA_WITHIN: usize = 14;
/// Relative difference below which two amounts are one, rounded.
const ROUNDING: f64 = 0.05;

/// What `text` answers to `question`; `None` where nothing of the kind stands near its words.
pub fn answered(wanted: Wanted, question: &str, text: &str) -> Option<Answered> {
    let asked: BTreeSet<String> = tokens(question)
        .iter()
        .filter(|it| !is_stop(&it.text))
        .map(|it| stem(&it.text))
        .collect();
    let mut best: Option<Answered> = None;
    let mut before = 0.0_f32;
    for span in sentences(text) {
        let line = Line::read(&text[span], &asked);
        let here = line.share.max(FOLLOWS * before);
        before = line.share;
        if here == 0.0 {
            continue;
        }
        for mut it in line.candidates(wanted) {
            it.worth *= here;
            if best.as_ref().is_none_or(|known| it.worth > known.worth) {
                best = Some(it);
            }
        }
    }
    best
}

/// Whether two answers differ: amounts by more than rounding, unless they have two units; others by having
/// no word in common.
pub fn differ(one: &Answered, other: &Answered) -> bool {
    match (&one.amount, &other.amount) {
        (Some((a, unit)), Some((b, other_unit))) => {
            let apart = (a - b).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE);
            let alike = unit == other_unit || unit.is_none() || other_unit.is_none();
            alike && apart > ROUNDING
        }
        _ => !one.words.iter().any(|it| other.words.contains(it)),
    }
}

/// One sentence beside the question.
struct Line<'a> {
    text: &'a str,
    words: Vec<Token>,
    stems: Vec<String>,
    /// Which words the question has.
    asked: Vec<usize>,
    /// The share of the question's words that it has.
    share: f32,
}

impl<'a> Line<'a> {
    fn read(text: &'a str, asked: &BTreeSet<String>) -> Line<'a> {
        let words = tokens(text);
        let stems: Vec<String> = words.iter().map(|it| stem(&it.text)).collect();
        let hits: Vec<usize> = (0..stems.len())
            .filter(|&at| asked.contains(&stems[at]))
            .collect();
        let found: BTreeSet<&String> = hits.iter().map(|&at| &stems[at]).collect();
        Line {
            text,
            share: found.len() as f32 / asked.len().max(1) as f32,
            words,
            stems,
            asked: hits,
        }
    }

    fn candidates(&self, wanted: Wanted) -> Vec<Answered> {
        match wanted {
            Wanted::Date => years_at(self.text)
                .into_iter()
                .filter_map(|from| {
                    let at = self.words.iter().position(|it| it.span.start == from)?;
                    Some(self.candidate(at, at, HALF))
                })
                .collect(),
            Wanted::Amount => self.amounts(),
            Wanted::Name => self.names(),
            Wanted::Other => [self.names(), self.said_to_be()].concat(),
        }
    }

    /// The words `first` to `last`, worth what their distance to the question's words leaves.
    fn candidate(&self, first: usize, last: usize, half: f32) -> Answered {
        let distance = |at: usize| self.asked.iter().map(|it| it.abs_diff(at)).min();
        let near = distance(first)
            .min(distance(last))
            .unwrap_or(2 * half as usize);
        Answered {
            shown: self.text[self.words[first].span.start..self.words[last].span.end].to_owned(),
            worth: 1.0 / (1.0 + near as f32 / half),
            words: self.stems[first..=last].to_vec(),
            amount: None,
        }
    }

    fn amounts(&self) -> Vec<Answered> {
        let mut found = Vec::new();
        for number in measures(self.text) {
            let at = self
                .words
                .partition_point(|it| it.span.end <= number.span.start);
            if at >= self.words.len() {
                continue;
            }
            let mut it = self.candidate(at, at, HALF);
            let behind = self.text[number.span.end..].trim_start();
            it.shown = match &number.unit {
                Some(unit) if unit == "%" => format!("{} %", &self.text[number.span.clone()]),
                Some(_) => {
                    let unit = tokens(behind)
                        .first()
                        .map_or("", |it| &behind[it.span.clone()]);
                    format!("{} {unit}", &self.text[number.span.clone()])
                        .trim_end()
                        .to_owned()
                }
                None => self.text[number.span.clone()].to_owned(),
            };
            it.amount = Some((number.value, number.unit));
            found.push(it);
        }
        found
    }

    /// Runs of capitalised words that the question does not have.
    fn names(&self) -> Vec<Answered> {
        let is_name = |at: usize| {
            let word = &self.text[self.words[at].span.clone()];
            word.starts_with(char::is_uppercase)
                && !is_stop(&self.words[at].text)
                && !self.asked.contains(&at)
        };
        let glued = |at: usize| self.words[at + 1].span.start - self.words[at].span.end <= 2;
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let mut last = at;
            if is_name(at) {
                while last + 1 < self.words.len() && glued(last) && is_name(last + 1) {
                    last += 1;
                }
                found.push(self.candidate(at, last, HALF * 0.75));
            }
            at = last + 1;
        }
        found
    }

    /// The words behind "is" or "was" where the subject stands before it.
    fn said_to_be(&self) -> Vec<Answered> {
        let mut found = Vec::new();
        for at in 0..self.words.len() {
            let copula = matches!(self.words[at].text.as_str(), "is" | "was" | "are" | "were");
            if !copula
                || !self
                    .asked
                    .iter()
                    .any(|it| *it < at && at - it < COPULA_WITHIN)
            {
                continue;
            }
            let tail = (at + 1..(at + 1 + TAIL).min(self.words.len())).filter(|it| {
                let text = &self.words[*it].text;
                !is_stop(text)
                    && !self.asked.contains(it)
                    && !text.starts_with(|c: char| c.is_ascii_digit())
            });
            for (nth, word) in tail.enumerate() {
                let mut it = self.candidate(word, word, HALF);
                it.worth = 1.1 * (1.0 - 0.06 * nth as f32);
                found.push(it);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Answered, Wanted, answered, differ};

    fn of(wanted: Wanted, question: &str, text: &str) -> Option<Answered> {
        answered(wanted, question, text)
    }

    #[test]
    fn the_amount_beside_the_words_asked_for_is_the_answer() {
        let asked = "How long does a membrane last under a green roof?";
        let a = of(
            Wanted::Amount,
            asked,
            "A membrane under a green roof lasts 36 years on average, against 24 years under gravel.",
        );
        let b = of(
            Wanted::Amount,
            asked,
            "Built in 1999. The membrane under a green roof lasts 55 years.",
        );
        let (a, b) = (a.expect("an amount"), b.expect("an amount"));
        assert_eq!(
            (a.shown.as_str(), b.shown.as_str()),
            ("36 years", "55 years")
        );
        assert!(differ(&a, &b));
        assert!(!differ(&a, &a));
    }

    #[test]
    fn amounts_of_two_units_do_not_differ() {
        let asked = "How heavy is the roof?";
        let a = of(Wanted::Amount, asked, "The roof is 120 kg heavy.").expect("an amount");
        let b = of(Wanted::Amount, asked, "The roof is 20 cm heavy.").expect("an amount");
        assert!(!differ(&a, &b));
    }

    #[test]
    fn years_and_names_are_told_apart() {
        let asked = "When was Marcus Dods born?";
        let a = of(
            Wanted::Date,
            asked,
            "Marcus Dods was born in Gifford in 1786.",
        )
        .expect("a year");
        let b = of(
            Wanted::Date,
            asked,
            "The conductor Marcus Dods (born 19 April 1918) died in 1984.",
        )
        .expect("a year");
        assert_eq!((a.shown.as_str(), b.shown.as_str()), ("1786", "1918"));
        assert!(differ(&a, &b));
        let asked = "Who directed the film Lahu?";
        let a = of(
            Wanted::Name,
            asked,
            "Lahu is a film directed by Mahesh Bhatt.",
        )
        .expect("a name");
        let b = of(
            Wanted::Name,
            asked,
            "The film Lahu was directed by M. Bhatt.",
        )
        .expect("a name");
        assert_eq!(a.shown, "Mahesh Bhatt");
        assert!(!differ(&a, &b));
    }

    #[test]
    fn a_text_on_another_matter_answers_nothing() {
        assert_eq!(
            of(
                Wanted::Amount,
                "How heavy is the roof?",
                "Bread takes 40 minutes."
            ),
            None
        );
    }
}
