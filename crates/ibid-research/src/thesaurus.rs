//! Near-synonyms, words of one field, and kinds with their members.
//!
//! The lists of synonyms and fields hold lower-case stems from [`ibid_core::domain::words::stem`], so that one entry covers all
//! forms of a word. They were written by hand from general knowledge of English.
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use ibid_core::domain::words::{for_each_word, stem};

type StemGroups = LazyLock<Vec<Vec<&'static str>>>;

static SYNONYMS: StemGroups =
    LazyLock::new(|| parse_groups(include_str!("thesaurus/synonyms.txt")));
static RELATED: StemGroups = LazyLock::new(|| parse_groups(include_str!("thesaurus/related.txt")));

static KINDS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let lines = include_str!("thesaurus/kinds.txt").lines();
    let kinds = lines.filter_map(|line| line.split_once(": "));
    let stems = |members: &str| members.split_whitespace().map(stem).collect();
    kinds.map(|(kind, members)| (stem(kind), stems(members))).collect()
});

/// The near-synonyms of `stem`, including itself.
pub(crate) fn synonyms(stem: &str) -> impl Iterator<Item = &'static str> {
    groups_with(&SYNONYMS, stem)
}

/// Stems of the same field, a weaker relation than [`synonyms`].
pub(crate) fn related(stem: &str) -> impl Iterator<Item = &'static str> {
    groups_with(&RELATED, stem)
}

/// Stems of words for things of the kind that `stem` names: birds and insects of animals. A member does not name its kind.
pub(crate) fn members(stem: &str) -> impl Iterator<Item = &'static str> + use<> {
    KINDS.get(stem).into_iter().flatten().map(String::as_str)
}

fn groups_with(all: &'static StemGroups, stem: &str) -> impl Iterator<Item = &'static str> {
    all.iter().filter(move |group| group.contains(&stem)).flatten().copied()
}

static PHRASES: LazyLock<HashMap<&'static str, Vec<Phrase>>> =
    LazyLock::new(|| parse_phrases(include_str!("thesaurus/phrases.txt")));

/// A phrase of several words, and the word that says the same.
struct Phrase {
    /// The words after the first, with spaces before.
    rest: &'static str,
    word: &'static str,
}

/// `text` with everyday phrases as single words: "how do I look after a roof" as "how do I upkeep a roof".
pub(crate) fn single_words(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for_each_word(text, |span| {
        if span.start < copied || !text.is_char_boundary(span.end) {
            return;
        }
        let lower = text[span.clone()].to_lowercase();
        let found = phrases_with(&lower).find(|phrase| {
            let end = span.end + phrase.rest.len();
            let same =
                text.get(span.end..end).is_some_and(|it| it.eq_ignore_ascii_case(phrase.rest));
            same && !text[end..].starts_with(char::is_alphanumeric)
        });
        if let Some(phrase) = found {
            out.push_str(&text[copied..span.start]);
            out.push_str(phrase.word);
            copied = span.end + phrase.rest.len();
        }
    });
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The phrases that begin with `word`, or with the word that `word` is a regular form of.
fn phrases_with(word: &str) -> impl Iterator<Item = &'static Phrase> {
    let bases = ["", "s", "ed", "ing"].into_iter().filter_map(|end| word.strip_suffix(end));
    bases.filter_map(|base| PHRASES.get(base)).flatten()
}

/// One phrase a line, the longer of two with the same beginning first.
fn parse_phrases(text: &'static str) -> HashMap<&'static str, Vec<Phrase>> {
    let mut all: HashMap<&'static str, Vec<Phrase>> = HashMap::new();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    for (phrase, word) in lines.filter_map(|line| line.split_once(" = ")) {
        let first = phrase.split(' ').next().unwrap_or_default();
        all.entry(first).or_default().push(Phrase { rest: &phrase[first.len()..], word });
    }
    all
}

/// One group a line; a line with `#` is a comment.
fn parse_groups(text: &'static str) -> Vec<Vec<&'static str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_read_as_the_word_that_says_the_same() {
        for (text, plain) in [
            ("How do I look after a boat?", "How do I upkeep a boat?"),
            ("He looked after the boat.", "He upkeep the boat."),
            ("Take care of the hull", "upkeep the hull"),
            ("They look afterwards.", "They look afterwards."),
            ("The crops grow in a thin layer of peat.", "The crops grow in a shallow peat."),
        ] {
            assert_eq!(single_words(text), plain);
        }
    }

    #[test]
    fn a_kind_names_its_members_and_not_the_other_way_round() {
        assert!(members(&stem("animals")).any(|it| it == stem("beetles")));
        assert_eq!(members(&stem("beetles")).count(), 0);
    }

    #[test]
    fn upkeep_and_care_are_the_same() {
        assert!(synonyms("upkeep").any(|it| it == "care"));
        assert!(synonyms("mainten").any(|it| it == "upkeep"));
    }

    #[test]
    fn words_of_medicine_meet_the_everyday_ones() {
        for (one, other) in [
            ("dietary", "diet"),
            ("cardiac", "heart"),
            ("hepatic", "liver"),
            ("gastric", "stomach"),
            ("renal", "kidneys"),
            ("cutaneous", "skin"),
            ("dermal", "skin"),
            ("skeletal", "bones"),
            ("ocular", "eyes"),
            ("dental", "teeth"),
            ("uterine", "womb"),
            ("hereditary", "inherited"),
        ] {
            let (one, other) = (stem(one), stem(other));
            assert!(synonyms(&one).any(|it| it == other), "{one} and {other}");
        }
        assert_eq!(single_words("He had a heart attack."), "He had a infarction.");
    }
}
