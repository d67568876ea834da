//! The words that decide a verdict: negations, hedges, directions, opposites.
//!
//! The words are in `lexicon.toml`.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Default, Deserialize)]
struct Lexicon {
    negations: BTreeSet<String>,
    hedges: BTreeSet<String>,
    up: BTreeSet<String>,
    down: BTreeSet<String>,
    common: BTreeSet<String>,
    opposites: Vec<(Vec<String>, Vec<String>)>,
    exclusive: Vec<Vec<String>>,
    rates: Vec<String>,
    units: BTreeMap<String, BTreeMap<String, f64>>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let words: Result<Lexicon, _> = toml_edit::de::from_str(include_str!("lexicon.toml"));
    debug_assert!(words.is_ok(), "{:?}", words.err());
    words.unwrap_or_default()
});

/// Words that negate a statement. Whole words, not stems.
pub(super) fn is_negation(word: &str) -> bool {
    LEXICON.negations.contains(word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Words that weaken a statement.
pub(super) fn is_hedge(word: &str) -> bool {
    LEXICON.hedges.contains(word)
}

/// +1 for a stem that means more, −1 for one that means less, 0 for neither.
pub(super) fn direction(stem: &str) -> i8 {
    if LEXICON.up.contains(stem) {
        1
    } else if LEXICON.down.contains(stem) {
        -1
    } else {
        0
    }
}

/// The stems that contradict `stem` where they take its place.
pub(super) fn opposites(stem: &str) -> impl Iterator<Item = &'static str> {
    let has = |group: &[String], stem: &str| group.iter().any(|text| text == stem);
    let opposing =
        LEXICON.opposites.iter().flat_map(move |(x, y)| match (has(x, stem), has(y, stem)) {
            (true, _) => y.iter(),
            (_, true) => x.iter(),
            _ => [].iter(),
        });
    opposing.map(String::as_str)
}

/// Stems so common that finding them in a source means little.
pub(super) fn is_common(stem: &str) -> bool {
    LEXICON.common.contains(stem)
}

/// The group of words of which one excludes the others, and whether they do so only after "a" or "per", as "month" and "year" do.
pub(super) fn exclusive_group(word: &str) -> Option<(usize, bool)> {
    if LEXICON.rates.iter().any(|it| it == word) {
        return Some((LEXICON.exclusive.len(), true));
    }
    let group = LEXICON.exclusive.iter().position(|group| group.iter().any(|it| it == word))?;
    Some((group, false))
}

/// What a unit measures, and how many basic units it is.
pub(super) fn unit(stem: &str) -> Option<(&'static str, f64)> {
    LEXICON
        .units
        .iter()
        .find_map(|(measures, all)| all.get(stem).map(|factor| (measures.as_str(), *factor)))
}
