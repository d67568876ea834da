//! What texts answer to a question, and whether their answers differ.
//!
//! The answer of a text is the date, amount or name nearest to the question's words, in the sentence that has
//! most of them. This is a guess by words: it does not know that two people share a name, or that "AFL" is a
//! kind of football. `evals conflicts` measures it.
use crate::thresholds::{ANSWER_HALF_DISTANCE, FOLLOWING_SENTENCE_WEIGHT, ROUNDING_TOLERANCE};
use std::collections::BTreeSet;

use super::calendar::years_at;
use super::measures::measures;
use super::question_kind::question_kind;
use crate::prompts;
use ibid_core::Result;
use ibid_core::domain::words::{Token, is_stop_word, stem, tokens};
use ibid_core::domain::{QuestionKind, split_sentences};

/// The type of answer a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerType {
    /// A year.
    Date,
    /// A measure or a count.
    Amount,
    /// The name of a person, place or thing.
    Name,
    /// Anything else: a name, or what the subject is said to be.
    Other,
}

impl AnswerType {
    /// The type of answer that `question` wants.
    ///
    /// # Errors
    /// Fails when the built-in word lists cannot be read.
    pub fn from_question(question: &str) -> Result<AnswerType> {
        let first = question.split_whitespace().take(3);
        let opening: Vec<String> = first.map(str::to_lowercase).collect();
        if opening.iter().any(|text| text == "year") {
            return Ok(AnswerType::Date);
        }
        Ok(match question_kind(question, prompts::phrases()?) {
            QuestionKind::When => AnswerType::Date,
            QuestionKind::Quantity => AnswerType::Amount,
            QuestionKind::Who | QuestionKind::Where => AnswerType::Name,
            _ => AnswerType::Other,
        })
    }
}

/// The answer of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextAnswer {
    /// Its text: `1984`, `36 years`, `Raj Kapoor`.
    pub shown: String,
    /// Its score, 0 to 1: how many of the question's words are near, and how near.
    pub worth: f32,
    /// The stems of its words.
    words: Vec<String>,
    /// For an amount, its value and unit.
    amount: Option<(f64, Option<String>)>,
}

impl TextAnswer {
    /// The amount, in its unit, if the answer is one.
    pub(crate) fn amount(&self) -> Option<f64> {
        self.amount.as_ref().map(|amount| amount.0)
    }

    /// The unit of an amount that has one.
    pub(crate) fn unit(&self) -> Option<&str> {
        self.amount.as_ref()?.1.as_deref()
    }
}

/// Words after "is" or "was" that may say what the subject is.
const MAX_PREDICATE_WORDS: usize = 8;
/// Maximum number of words between the subject and "is" or "was".
const COPULA_WITHIN: usize = 14;

/// The answer of `text` to `question`; `None` if nothing of the type is near its words.
pub fn extract_answer(wanted: AnswerType, question: &str, text: &str) -> Option<TextAnswer> {
    let asked: BTreeSet<String> = tokens(question)
        .iter()
        .filter(|token| !is_stop_word(&token.text))
        .map(|token| stem(&token.text))
        .collect();
    let mut best: Option<TextAnswer> = None;
    let mut before = 0.0_f32;
    for span in split_sentences(text) {
        let line = AnswerSentence::new(&text[span], &asked);
        let here = line.share.max(FOLLOWING_SENTENCE_WEIGHT * before);
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

/// Whether two answers differ: amounts by more than rounding, unless their units differ; others by having no
/// word in common.
pub fn answers_differ(one: &TextAnswer, other: &TextAnswer) -> bool {
    match (&one.amount, &other.amount) {
        (Some((a, unit)), Some((b, other_unit))) => {
            let apart = (a - b).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE);
            let alike = unit == other_unit || unit.is_none() || other_unit.is_none();
            alike && apart > ROUNDING_TOLERANCE
        }
        _ => !one.words.iter().any(|word| other.words.contains(word)),
    }
}

/// A sentence compared with the question.
struct AnswerSentence<'a> {
    text: &'a str,
    words: Vec<Token>,
    stems: Vec<String>,
    /// The indices of its words that are in the question.
    asked: Vec<usize>,
    /// Share of the question's words that it has.
    share: f32,
}

impl<'a> AnswerSentence<'a> {
    fn new(text: &'a str, asked: &BTreeSet<String>) -> AnswerSentence<'a> {
        let words = tokens(text);
        let stems: Vec<String> = words.iter().map(|it| stem(&it.text)).collect();
        let hits: Vec<usize> = (0..stems.len()).filter(|&at| asked.contains(&stems[at])).collect();
        let found: BTreeSet<&String> = hits.iter().map(|&at| &stems[at]).collect();
        AnswerSentence {
            text,
            share: found.len() as f32 / asked.len().max(1) as f32,
            words,
            stems,
            asked: hits,
        }
    }

    fn candidates(&self, wanted: AnswerType) -> Vec<TextAnswer> {
        match wanted {
            AnswerType::Date => years_at(self.text)
                .into_iter()
                .filter_map(|from| {
                    let at = self.words.iter().position(|it| it.span.start == from)?;
                    Some(self.candidate(at, at, ANSWER_HALF_DISTANCE))
                })
                .collect(),
            AnswerType::Amount => self.amounts(),
            AnswerType::Name => self.names(),
            AnswerType::Other => [self.names(), self.copula_answers()].concat(),
        }
    }

    /// The words `first` to `last` as an answer, scored by their distance to the question's words.
    fn candidate(&self, first: usize, last: usize, half: f32) -> TextAnswer {
        let distance = |at: usize| self.asked.iter().map(|it| it.abs_diff(at)).min();
        let near = distance(first).min(distance(last)).unwrap_or(2 * half as usize);
        TextAnswer {
            shown: self.text[self.words[first].span.start..self.words[last].span.end].to_owned(),
            worth: 1.0 / (1.0 + near as f32 / half),
            words: self.stems[first..=last].to_vec(),
            amount: None,
        }
    }

    fn amounts(&self) -> Vec<TextAnswer> {
        let mut found = Vec::new();
        for number in measures(self.text) {
            let at = self.words.partition_point(|it| it.span.end <= number.span.start);
            if at >= self.words.len() {
                continue;
            }
            let mut it = self.candidate(at, at, ANSWER_HALF_DISTANCE);
            let behind = self.text[number.span.end..].trim_start();
            it.shown = match &number.unit {
                Some(unit) if unit == "%" => format!("{} %", &self.text[number.span.clone()]),
                Some(_) => {
                    let unit =
                        tokens(behind).first().map_or("", |token| &behind[token.span.clone()]);
                    format!("{} {unit}", &self.text[number.span.clone()]).trim_end().to_owned()
                }
                None => self.text[number.span.clone()].to_owned(),
            };
            it.amount = Some((number.value, number.unit));
            found.push(it);
        }
        found
    }

    /// Runs of capitalised words that are not in the question.
    fn names(&self) -> Vec<TextAnswer> {
        let is_name = |at: usize| {
            let word = &self.text[self.words[at].span.clone()];
            word.starts_with(char::is_uppercase)
                && !is_stop_word(&self.words[at].text)
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
                found.push(self.candidate(at, last, ANSWER_HALF_DISTANCE * 0.75));
            }
            at = last + 1;
        }
        found
    }

    /// The words after "is" or "was" where the subject precedes it.
    fn copula_answers(&self) -> Vec<TextAnswer> {
        let mut found = Vec::new();
        for at in 0..self.words.len() {
            let copula = matches!(self.words[at].text.as_str(), "is" | "was" | "are" | "were");
            if !copula || !self.asked.iter().any(|it| *it < at && at - it < COPULA_WITHIN) {
                continue;
            }
            let tail =
                (at + 1..(at + 1 + MAX_PREDICATE_WORDS).min(self.words.len())).filter(|index| {
                    let text = &self.words[*index].text;
                    !is_stop_word(text)
                        && !self.asked.contains(index)
                        && !text.starts_with(|c: char| c.is_ascii_digit())
                });
            for (nth, word) in tail.enumerate() {
                let mut it = self.candidate(word, word, ANSWER_HALF_DISTANCE);
                it.worth = 1.1 * (1.0 - 0.06 * nth as f32);
                found.push(it);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerType, TextAnswer, answers_differ, extract_answer};

    fn of(wanted: AnswerType, question: &str, text: &str) -> Option<TextAnswer> {
        extract_answer(wanted, question, text)
    }

    #[test]
    fn the_amount_beside_the_words_asked_for_is_the_answer() {
        let asked = "How long does a membrane last under a green roof?";
        let a = of(
            AnswerType::Amount,
            asked,
            "A membrane under a green roof lasts 36 years on average, against 24 years under gravel.",
        );
        let b = of(
            AnswerType::Amount,
            asked,
            "Built in 1999. The membrane under a green roof lasts 55 years.",
        );
        let (a, b) = (a.expect("an amount"), b.expect("an amount"));
        assert_eq!((a.shown.as_str(), b.shown.as_str()), ("36 years", "55 years"));
        assert!(answers_differ(&a, &b));
        assert!(!answers_differ(&a, &a));
    }

    #[test]
    fn amounts_of_two_units_do_not_differ() {
        let asked = "How heavy is the roof?";
        let a = of(AnswerType::Amount, asked, "The roof is 120 kg heavy.").expect("an amount");
        let b = of(AnswerType::Amount, asked, "The roof is 20 cm heavy.").expect("an amount");
        assert!(!answers_differ(&a, &b));
    }

    #[test]
    fn years_and_names_are_told_apart() {
        let asked = "When was Marcus Dods born?";
        let a = of(AnswerType::Date, asked, "Marcus Dods was born in Gifford in 1786.")
            .expect("a year");
        let b = of(
            AnswerType::Date,
            asked,
            "The conductor Marcus Dods (born 19 April 1918) died in 1984.",
        )
        .expect("a year");
        assert_eq!((a.shown.as_str(), b.shown.as_str()), ("1786", "1918"));
        assert!(answers_differ(&a, &b));
        let asked = "Who directed the film Lahu?";
        let a = of(AnswerType::Name, asked, "Lahu is a film directed by Mahesh Bhatt.")
            .expect("a name");
        let b =
            of(AnswerType::Name, asked, "The film Lahu was directed by M. Bhatt.").expect("a name");
        assert_eq!(a.shown, "Mahesh Bhatt");
        assert!(!answers_differ(&a, &b));
    }

    #[test]
    fn a_text_on_another_matter_answers_nothing() {
        assert_eq!(
            of(AnswerType::Amount, "How heavy is the roof?", "Bread takes 40 minutes."),
            None
        );
    }
}
