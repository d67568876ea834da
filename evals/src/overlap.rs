//! How much of a gold text was found: the measures of the extraction sets, each as its set defines it.
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Precision, recall and F1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Score {
    pub(crate) precision: f64,
    pub(crate) recall: f64,
    pub(crate) f1: f64,
}

impl Score {
    /// From what was found and wanted, found only, wanted only.
    pub(crate) fn of(both: f64, extra: f64, missed: f64) -> Score {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Score {
            precision: share(both, both + extra),
            recall: share(both, both + missed),
            f1: share(2.0 * both, 2.0 * both + extra + missed),
        }
    }
}

/// `\w+` as Python reads it.
pub(crate) fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty()).collect()
}

/// Overlap of two bags: multiset precision and recall.
fn bags<T: Hash + Eq>(found: Vec<T>, want: Vec<T>) -> Score {
    let (n, m) = (found.len(), want.len());
    let mut left: HashMap<T, u32> = HashMap::new();
    for it in want {
        *left.entry(it).or_default() += 1;
    }
    let mut both = 0;
    for it in found {
        if let Some(count) = left.get_mut(&it).filter(|it| **it > 0) {
            *count -= 1;
            both += 1;
        }
    }
    Score::of(f64::from(both), n as f64 - f64::from(both), m as f64 - f64::from(both))
}

/// WCXB: words in lower case, as a multiset.
pub(crate) fn by_words(found: &str, want: &str) -> Score {
    let (found, want) = (found.to_lowercase(), want.to_lowercase());
    bags(words(&found), words(&want))
}

/// Zyte's `evaluate.py`: shingles of four words, case kept; a shorter text is one shingle.
pub(crate) fn by_shingles(found: &str, want: &str) -> Score {
    let (found, want) = (words(found), words(want));
    fn shingles<'a>(of: &'a [&'a str]) -> Vec<&'a [&'a str]> {
        match of.len() {
            0 => Vec::new(),
            1..=3 => vec![of],
            _ => of.windows(4).collect(),
        }
    }
    bags(shingles(&found), shingles(&want))
}

/// White space folded: how a piece is sought.
pub(crate) fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many of the pieces stand in the text, and of how many; both folded.
pub(crate) fn pieces<'a>(text: &str, pieces: impl Iterator<Item = &'a str>) -> (u32, u32) {
    let pieces: HashSet<String> = pieces.map(folded).collect();
    let found = pieces.iter().filter(|piece| text.contains(piece.as_str())).count();
    (found as u32, pieces.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_as_often_as_they_come() {
        let score = by_words("Tea tea water", "tea, milk");
        assert_eq!((score.precision, score.recall), (1.0 / 3.0, 0.5));
    }

    #[test]
    fn a_shingle_is_four_words_in_order() {
        let score = by_shingles("a b c d e", "a b c d x");
        assert_eq!((score.precision, score.recall), (0.5, 0.5));
        assert_eq!(by_shingles("a b", "a b").f1, 1.0);
    }
}
