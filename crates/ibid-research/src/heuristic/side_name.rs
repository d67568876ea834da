//! How the text of a page names one of the things that are compared.
use ibid_core::domain::words::{is_stop_word, stem, tokens};
use ibid_core::domain::{Brief, QuestionKind};

use super::plan::{compared_things, distinguishing_words};

/// Maximum number of words between the word that tells a thing from the other and its noun: "extensive green roof".
const MAX_WORDS_BETWEEN: usize = 1;

/// The name of one side of a comparison.
pub(crate) struct SideName {
    /// The stem of the word that tells it from the other side: "cool" of "cool roof".
    word: String,
    /// The stem of its noun, "roof"; `None` where the word is all of the name.
    noun: Option<String>,
}

impl SideName {
    /// The names of the sides; empty for other questions, and where the sides have no word of their own.
    pub(crate) fn of_brief(brief: &Brief) -> Vec<SideName> {
        if brief.kind != QuestionKind::Comparison {
            return Vec::new();
        }
        let words = distinguishing_words(brief);
        let things = compared_things(brief);
        if words.len() < things.len() {
            return Vec::new();
        }
        let name = |(word, side): (&String, &String)| {
            let last = tokens(side).last().map(|token| stem(&token.text));
            let word = stem(word);
            SideName { noun: last.filter(|last| *last != word), word }
        };
        words.iter().zip(&things).map(name).collect()
    }

    /// Whether `text` names it: "a cool roof", and not "roofs cool the rooms".
    pub(crate) fn is_in(&self, text: &str) -> bool {
        !self.positions(text).is_empty()
    }

    /// Whether `text` says something of it: "a green roof costs more", and not "panels above a green roof yield more".
    pub(crate) fn is_subject_in(&self, text: &str) -> bool {
        const SPATIAL_PREPOSITIONS: [&str; 5] = ["above", "under", "below", "beneath", "beside"];
        let words = tokens(text);
        self.positions(text).into_iter().any(|at| {
            let before = words[..at].iter().rev().map(|token| token.text.as_str());
            let mut before = before.skip_while(|word| matches!(*word, "a" | "an" | "the"));
            before.next().is_none_or(|word| !SPATIAL_PREPOSITIONS.contains(&word))
        })
    }

    /// The positions in the words of `text` at which its name begins.
    fn positions(&self, text: &str) -> Vec<usize> {
        let words = tokens(text);
        let stems: Vec<String> = words.iter().map(|token| stem(&token.text)).collect();
        let named = |at: &usize| {
            let Some(noun) = &self.noun else {
                return true;
            };
            let after = stems[at + 1..].iter().zip(&words[at + 1..]).take(MAX_WORDS_BETWEEN + 1);
            let mut run = after.take_while(|(_, token)| !is_stop_word(&token.text));
            run.any(|(stem, _)| stem == noun)
        };
        (0..stems.len()).filter(|at| stems[*at] == self.word).filter(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_above_a_thing_is_not_said_of_it() {
        let name = SideName { word: stem("green"), noun: Some(stem("roof")) };
        assert!(name.is_subject_in("Green roofs cost more than slate roofs."));
        assert!(name.is_subject_in("Slate lasts longer, and a green roof keeps rain."));
        assert!(!name.is_subject_in("Panels above a green roof yield 2 % more electricity."));
        assert!(name.is_in("Panels above a green roof yield 2 % more electricity."));
        assert!(!name.is_in("Roofs that are green."));
    }
}
