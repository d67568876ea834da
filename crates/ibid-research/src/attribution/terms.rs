//! A text as the verdict sees it: words with stem, weight and kind, numbers, negations.
use std::ops::Range;

use ibid_core::domain::words;
use ibid_core::domain::words::Number;

use super::lexicon;

/// One word of a claim or a sentence.
#[derive(Debug, Clone)]
pub(super) struct TextTerm {
    /// Lower case, as written.
    pub text: String,
    /// Its stem.
    pub stem: String,
    /// What kind of word it is.
    pub kind: TermKind,
    /// Whether it begins with a capital.
    pub capital: bool,
}

/// The kind of a word, by its value as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermKind {
    /// A function word.
    Stop,
    /// A content word.
    Plain,
    /// A name, judging by its capitals.
    Name,
    /// Digits.
    Number,
}

impl TextTerm {
    /// The weight of the word: a prior for its rarity, from its kind, length and whether it is common.
    pub(super) fn weight(&self) -> f32 {
        match self.kind {
            TermKind::Stop => 0.0,
            TermKind::Name => 1.3,
            TermKind::Number => 1.5,
            TermKind::Plain if lexicon::is_common(&self.stem) => 0.45,
            TermKind::Plain => match self.text.chars().count() {
                0..=4 => 0.85,
                5..=7 => 1.0,
                _ => 1.2,
            },
        }
    }
}

/// A claim or a sentence, parsed.
#[derive(Debug)]
pub(super) struct ParsedText {
    /// All words in order, function words included.
    pub terms: Vec<TextTerm>,
    /// Its numbers.
    pub numbers: Vec<Number>,
    /// The bound that the text puts on each number.
    pub bounds: Vec<Bound>,
}

/// How the words before a number qualify it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// The number itself.
    Exact,
    /// "about": within a tenth.
    About,
    /// "over", "at least".
    Above,
    /// "under", "at most".
    Below,
}

/// Reads the bound from the words that end `before`.
fn parse_bound(before: &str) -> Bound {
    const MAX_BOUND_BYTES: usize = 24; // "approximately", "greater than"
    let start = before.char_indices().rev().take(MAX_BOUND_BYTES).last().map_or(0, |(at, _)| at);
    let last = before[start..].to_lowercase();
    let last = last.trim_end_matches(|c: char| !c.is_alphanumeric());
    let ends = |all: &[&str]| all.iter().any(|text| last.ends_with(text));
    // "No less than" is a bound, not a negation.
    let denied = |of: &[&str]| {
        let denials = ["no", "not", "never"];
        of.iter().any(|words| denials.iter().any(|no| last.ends_with(&format!("{no} {words}"))))
    };
    if denied(&["less than", "fewer than", "under", "below"]) {
        Bound::Above
    } else if denied(&["more than", "over", "exceed", "above", "greater than"]) {
        Bound::Below
    } else if ends(&[
        "more than",
        "over",
        "at least",
        "above",
        "exceed",
        "exceeds",
        "exceeding",
        "greater than",
    ]) {
        Bound::Above
    } else if ends(&["less than", "under", "fewer than", "below", "at most", "up to"]) {
        Bound::Below
    } else if ends(&["about", "around", "approximately", "roughly", "nearly", "almost", "some"]) {
        Bound::About
    } else {
        Bound::Exact
    }
}

/// Where reference marks stand: "[3]", "[1, 4-6]". They are not part of the statement.
fn reference_marks(text: &str) -> Vec<Range<usize>> {
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

impl ParsedText {
    pub(super) fn parse(text: &str) -> ParsedText {
        let marks = reference_marks(text);
        let cited = |span: &Range<usize>| {
            marks.iter().any(|mark| mark.start < span.end && span.start < mark.end)
        };
        let terms = words::tokens(text)
            .into_iter()
            .filter(|token| !cited(&token.span))
            .enumerate()
            .map(|(nth, token)| {
                let written = &text[token.span.clone()];
                let capital = written.starts_with(char::is_uppercase);
                let inner_capital = written.chars().skip(1).any(char::is_uppercase);
                let kind = if words::is_stop_word(&token.text)
                    || token.text.chars().count() == 1 && written.is_ascii() && !capital
                {
                    TermKind::Stop
                } else if token.text.starts_with(|c: char| c.is_ascii_digit()) {
                    TermKind::Number
                } else if inner_capital || (capital && nth > 0) {
                    TermKind::Name
                } else {
                    TermKind::Plain
                };
                let (kind, stem) = match (kind, words::parse_number_word(&token.text)) {
                    (TermKind::Plain | TermKind::Name, Some(value)) => {
                        (TermKind::Number, value.to_string())
                    }
                    (TermKind::Stop, _) => (kind, token.text.clone()),
                    (TermKind::Number, _) => (kind, token.text.replace(',', "")),
                    _ => (kind, words::stem(&token.text)),
                };
                TextTerm { stem, text: token.text, kind, capital }
            })
            .collect();
        let mut numbers = words::numbers(text);
        numbers.retain(|it| !cited(&it.span));
        let bounds = numbers.iter().map(|it| parse_bound(&text[..it.span.start])).collect();
        ParsedText { terms, numbers, bounds }
    }
}
