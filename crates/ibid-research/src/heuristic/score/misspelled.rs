//! Misspelled words of a question.
use std::collections::BTreeSet;

use super::scorer::RelevanceScorer;
use ibid_core::domain::words::{is_stop_word, tokens};

/// Letters of a word from which a slip of the pen is told from another word: "trial" and "trail" are two.
const MIN_LETTERS: usize = 7;

impl RelevanceScorer {
    /// Takes a word of the question that no page read has for the word of the pages that it is a slip of: "phopshorylated" for
    /// "phosphorylated". Names are left as they are.
    pub(super) fn relate_misspelled(&mut self) {
        for word in tokens(&self.question_text.clone()) {
            let written = &self.question_text[word.span];
            let is_word = written.chars().all(char::is_lowercase) && !is_stop_word(&word.text);
            let id = self.lexicon.id(&word.text);
            if !is_word || self.occurs(id) || self.related.contains_key(&id) {
                continue;
            }
            let meant: BTreeSet<u32> = self
                .lexicon
                .words()
                .filter(|(other, id)| self.occurs(*id) && is_slip_of(&word.text, other))
                .map(|pair| pair.1)
                .collect();
            if let (Some(meant), 1) = (meant.first(), meant.len()) {
                self.related.insert(id, vec![(*meant, 1.0)]);
            }
        }
    }
}

/// Whether `written` is `word` with two neighbouring letters exchanged, or with one letter of a pair of the same left out or added.
fn is_slip_of(written: &str, word: &str) -> bool {
    let (written, word): (Vec<char>, Vec<char>) =
        (written.chars().collect(), word.chars().collect());
    if written.len() < MIN_LETTERS || written.first() != word.first() {
        return false;
    }
    let same = written.iter().zip(&word).take_while(|(a, b)| a == b).count();
    // The letter after `same` of the longer one repeats the one before it.
    let is_doubled = |long: &[char], short: &[char]| {
        long.len() == short.len() + 1
            && same > 0
            && long[same] == long[same - 1]
            && long[same + 1..] == short[same..]
    };
    if written.len() == word.len() {
        return same + 2 <= word.len()
            && written[same] == word[same + 1]
            && written[same + 1] == word[same]
            && written[same + 2..] == word[same + 2..];
    }
    is_doubled(&written, &word) || is_doubled(&word, &written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_exchanges_neighbours_or_miscounts_a_pair_of_letters() {
        for (written, word) in [
            ("phopshorylated", "phosphorylated"),
            ("accomodation", "accommodation"),
            ("occurence", "occurrence"),
            ("tommorrow", "tomorrow"),
            ("retension", "retenison"),
        ] {
            assert!(is_slip_of(written, word), "{written}");
        }
        for (written, word) in [
            ("absorption", "adsorption"),
            ("contract", "contact"),
            ("retention", "retention"),
            ("trial", "trail"),
            ("hypertension", "hypotension"),
            ("rotating", "rotation"),
        ] {
            assert!(!is_slip_of(written, word), "{written}");
        }
    }
}
