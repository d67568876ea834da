//! What an abbreviation stands for.
use super::words::TextWords;
use super::{FactQuestion, FactValue, StatedFact};

impl FactQuestion {
    /// The long form of the abbreviation asked about: the words before "(VCD)" that begin with its letters.
    pub(super) fn expansion_in(&self, words: &TextWords<'_>) -> Option<StatedFact> {
        let [short] = self.name.as_slice() else {
            return None;
        };
        let letters: Vec<char> = self.shown.to_lowercase().chars().collect();
        (letters.len()..words.len()).find_map(|at| {
            let first = at - letters.len();
            let enclosed = words.stems[at] == *short
                && words.gap_before(at).contains('(')
                && words.gap_before(at + 1).trim_start().starts_with(')');
            let spelled = || {
                (first..at)
                    .zip(&letters)
                    .all(|(word, letter)| words.word(word).starts_with(*letter))
            };
            let together = || (first + 1..at).all(|word| !words.breaks_before(word));
            (enclosed && spelled() && together()).then(|| StatedFact {
                shown: words.slice(first, at - 1).to_owned(),
                value: FactValue::Expansion(words.stems[first..at].to_vec()),
            })
        })
    }
}
