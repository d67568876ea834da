//! A text as the verdict sees it: its words with stem, weight and kind, its numbers, its negations.
use std::ops::Range;

use crate::domain::words::{self, Number};

use super::lexicon;

/// One word of a claim or a sentence.
#[derive(Debug, Clone)]
pub(super) struct Term {
    /// Lower case, as written.
    pub text: String,
    /// Its stem.
    pub stem: String,
    /// What kind of word it is.
    pub kind: Kind,
    /// Whether it begins with a capital.
    pub capital: bool,
}

/// What a word is good for as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Grammar only.
    Stop,
    /// A word with meaning.
    Plain,
    /// A name, as far as its capitals tell.
    Name,
    /// Digits.
    Number,
}

impl Term {
    /// How telling the word is: a prior for its rarity, from its kind, length and whether it is common.
    pub(super) fn weight(&self) -> f32 {
        match self.kind {
            Kind::Stop => 0.0,
            Kind::Name => 1.3,
            Kind::Number => 1.5,
            Kind::Plain if lexicon::is_common(&self.stem) => 0.45,
            Kind::Plain => match self.text.chars().count() {
                0..=4 => 0.85,
                5..=7 => 1.0,
                _ => 1.2,
            },
        }
    }
}

/// A claim or a sentence, taken apart.
#[derive(Debug)]
pub(super) struct Text {
    /// All words in order, grammar included.
    pub terms: Vec<Term>,
    /// Its numbers.
    pub numbers: Vec<Number>,
    /// How each number bounds the quantity.
    pub bounds: Vec<Bound>,
}

/// What the words before a number make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// The quantity itself.
    Exact,
    /// "about": within a tenth.
    About,
    /// "over", "at least".
    Above,
    /// "under", "at most".
    Below,
}

/// Reads the bound off the words that end `before`.
fn bound(before: &str) -> Bound {
    const LONGEST: usize = 24; // "approximately", "greater than"
    let start = before
        .char_indices()
        .rev()
        .take(LONGEST)
        .last()
        .map_or(0, |(at, _)| at);
    let last = before[start..].to_lowercase();
    let last = last.trim_end_matches(|c: char| !c.is_alphanumeric());
    let ends = |all: &[&str]| all.iter().any(|it| last.ends_with(it));
    if ends(&[
        "more than",
        "over",
        "at least",
        "above",
        "exceeding",
        "greater than",
    ]) {
        Bound::Above
    } else if ends(&[
        "less than",
        "under",
        "fewer than",
        "below",
        "at most",
        "up to",
    ]) {
        Bound::Below
    } else if ends(&[
        "about",
        "around",
        "approximately",
        "roughly",
        "nearly",
        "almost",
        "some",
    ]) {
        Bound::About
    } else {
        Bound::Exact
    }
}

/// Where reference marks stand: "[3]", "[1, 4-6]". They are no words of what is said.
fn marks(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (open, _) in text.match_indices('[') {
        let inside = &text[open + 1..];
        let Some(close) = inside.find(']') else {
            break;
        };
        let digits = inside[..close].contains(|c: char| c.is_ascii_digit());
        let mark = |c: char| c.is_ascii_digit() || matches!(c, ' ' | ',' | '-' | '–');
        if digits && inside[..close].chars().all(mark) {
            found.push(open..open + close + 2);
        }
    }
    found
}

impl Text {
    pub(super) fn read(text: &str) -> Text {
        let marks = marks(text);
        let cited = |span: &Range<usize>| {
            marks
                .iter()
                .any(|it| it.start < span.end && span.start < it.end)
        };
        let terms = words::tokens(text)
            .into_iter()
            .filter(|it| !cited(&it.span))
            .enumerate()
            .map(|(nth, token)| {
                let written = &text[token.span.clone()];
                let capital = written.starts_with(char::is_uppercase);
                let inner_capital = written.chars().skip(1).any(char::is_uppercase);
                let kind = if words::is_stop(&token.text)
                    || token.text.chars().count() == 1 && written.is_ascii() && !capital
                {
                    Kind::Stop
                } else if token.text.starts_with(|c: char| c.is_ascii_digit()) {
                    Kind::Number
                } else if inner_capital || (capital && nth > 0) {
                    Kind::Name
                } else {
                    Kind::Plain
                };
                let (kind, stem) = match (kind, words::number_word(&token.text)) {
                    (Kind::Plain | Kind::Name, Some(value)) => (Kind::Number, value.to_string()),
                    (Kind::Stop, _) => (kind, token.text.clone()),
                    (Kind::Number, _) => (kind, token.text.replace(',', "")),
                    _ => (kind, words::stem(&token.text)),
                };
                Term {
                    stem,
                    text: token.text,
                    kind,
                    capital,
                }
            })
            .collect();
        let mut numbers = words::numbers(text);
        numbers.retain(|it| !cited(&it.span));
        let bounds = numbers
            .iter()
            .map(|it| bound(&text[..it.span.start]))
            .collect();
        Text {
            terms,
            numbers,
            bounds,
        }
    }
}
