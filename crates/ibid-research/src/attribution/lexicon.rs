//! The words that decide a verdict: negations, hedges, directions, opposites.
//!
//! The words are in `lexicon.toml`.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use ibid_core::domain::words;
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
    contrasts: Vec<String>,
    contrasts_of_one: Vec<String>,
    contrasting: BTreeSet<String>,
    reports: BTreeSet<String>,
    parties: BTreeSet<String>,
    any_speakers: BTreeSet<String>,
    agreements: BTreeSet<String>,
    pronouns: BTreeSet<String>,
    sections: BTreeSet<String>,
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

/// Where a lower-case sentence names what it sets apart: the words after "unlike", up to the next comma, or the noun after "rather
/// than".
pub(super) fn contrast(sentence: &str) -> Option<Range<usize>> {
    let behind = |phrase: &String| {
        let at = sentence.match_indices(phrase.as_str()).map(|it| it.0).find(|at| {
            !sentence[..*at].ends_with(char::is_alphanumeric)
                && sentence[at + phrase.len()..].starts_with(' ')
        })?;
        Some(at + phrase.len())
    };
    let ends = |c: char| matches!(c, ',' | ';' | ':' | '(' | ')' | '–' | '—');
    let until = |start: usize| sentence[start..].find(ends).map_or(sentence.len(), |at| start + at);
    if let Some(start) = LEXICON.contrasts.iter().find_map(behind) {
        return Some(start..until(start));
    }
    let start = LEXICON.contrasts_of_one.iter().find_map(behind)?;
    let noun = words::tokens(&sentence[start..until(start)])
        .into_iter()
        .find(|token| !words::is_stop_word(&token.text))?;
    Some(start..start + noun.span.end)
}

/// Words by which a claim itself compares or sets apart.
pub(super) fn is_contrast(word: &str) -> bool {
    LEXICON.contrasting.contains(word)
}

/// Verbs that give what follows as somebody's words or finding.
pub(super) fn is_report(word: &str) -> bool {
    LEXICON.reports.contains(word)
}

/// Those who speak for themselves, and for no office or study.
pub(super) fn is_party(word: &str) -> bool {
    LEXICON.parties.contains(word)
}

/// Words for those who speak that may mean anybody who does.
pub(super) fn is_any_speaker(word: &str) -> bool {
    LEXICON.any_speakers.contains(word)
}

/// Words by which one says what another said.
pub(super) fn is_agreement(word: &str) -> bool {
    LEXICON.agreements.contains(word)
}

/// Pronouns that begin a sentence and mean the subject of the one before.
pub(super) fn is_pronoun(word: &str) -> bool {
    LEXICON.pronouns.contains(word)
}

/// Headings of parts that say nothing of what a text is about.
pub(super) fn is_section(word: &str) -> bool {
    LEXICON.sections.contains(word)
}
