//! Phrases that are looked for in normalized text, all in one pass.
use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use serde::Deserialize;

/// Phrases as whole words, and the automaton that finds them. The text to search is normalized: words in lower case with single spaces
/// between and around, commas behind the word they follow.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(crate) struct PhraseSet {
    phrases: Vec<String>,
    automaton: AhoCorasick,
}

impl TryFrom<Vec<String>> for PhraseSet {
    type Error = aho_corasick::BuildError;

    fn try_from(phrases: Vec<String>) -> Result<PhraseSet, Self::Error> {
        let automaton = AhoCorasick::new(&phrases)?;
        Ok(PhraseSet { phrases, automaton })
    }
}

impl PhraseSet {
    /// Whether `word` is one of the phrases.
    pub(crate) fn contains(&self, word: &str) -> bool {
        self.iter().any(|phrase| phrase == word)
    }

    /// Whether there are no phrases.
    pub(crate) fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// The phrases as written.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.phrases.iter().map(String::as_str)
    }

    /// Whether any of the phrases is in `text`.
    pub(crate) fn any_in(&self, text: &str) -> bool {
        self.found_in(text).next().is_some()
    }

    /// The phrases that are in `text`.
    pub(crate) fn all_in(&self, text: &str) -> BTreeSet<&str> {
        self.found_in(text).map(|nth| self.phrases[nth].as_str()).collect()
    }

    /// How often one of the phrases is in `text`.
    pub(crate) fn count_in(&self, text: &str) -> usize {
        self.found_in(text).count()
    }

    /// The position of the phrase of each occurrence as whole words in `text`.
    fn found_in(&self, text: &str) -> impl Iterator<Item = usize> {
        let whole = |phrase: &str, start: usize, end: usize| {
            text[..start].ends_with(' ')
                && (text[end..].starts_with([' ', ',']) || phrase.ends_with(','))
        };
        self.automaton.find_overlapping_iter(text).filter_map(move |found| {
            let nth = found.pattern().as_usize();
            whole(&self.phrases[nth], found.start(), found.end()).then_some(nth)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words_and_counted_once() {
        let phrases = ["such as", "as", "for example,", "roof"].map(str::to_owned);
        let set = PhraseSet::try_from(phrases.to_vec()).unwrap();
        let found = |text: &str| set.all_in(text).into_iter().collect::<Vec<_>>();
        assert_eq!(found(" plants such as thyme as well "), ["as", "such as"]);
        assert_eq!(found(" for example, a roof, or two "), ["for example,", "roof"]);
        assert_eq!(found(" roofs assume suchas "), [""; 0]);
        assert!(set.any_in(" a roof ") && !set.any_in(" a roofer "));
    }
}
