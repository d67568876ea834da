//! The stance of a sentence on a yes-or-no question.
use std::collections::BTreeSet;

use super::scorer::RelevanceScorer;
use crate::heuristic::lexicon;
use crate::heuristic::sentence::has_denial;
use crate::prompts::SentenceWords;
use ibid_core::domain::words::stem;
use ibid_core::domain::{QuestionKind, Stance};

impl RelevanceScorer {
    /// The stance of a sentence on a yes-or-no question.
    pub(super) fn stance(&self, spaced: &str, ids: &[u32]) -> Stance {
        let Some(item_matcher) = self.item_matchers.first() else {
            return Stance::Neutral;
        };
        if !matches!(item_matcher.kind, QuestionKind::YesNo | QuestionKind::Causal)
            || self.coverage(&self.question, ids) < 0.45
        {
            return Stance::Neutral;
        }
        let asked = lexicon::spaced(&item_matcher.asked);
        let words = &self.words.sentence;
        let against = has_denial(spaced, words) != has_denial(&asked, words);
        if against != opposes(&asked, spaced, words) { Stance::Against } else { Stance::For }
    }
}

/// Whether the sentence has the opposite of a word where the question has that word: "better" and "poor",
/// "dependence" and "independence".
fn opposes(asked: &str, said: &str, words: &SentenceWords) -> bool {
    let stems = |text: &str| -> BTreeSet<String> {
        text.split([' ', ',']).filter(|part| part.len() > 2).map(stem).collect()
    };
    let (asked, said) = (stems(asked), stems(said));
    let flips = |one: &str, other: &str| {
        asked.contains(one) && said.contains(other) && !said.contains(one) && !asked.contains(other)
    };
    words.antonyms.iter().any(|(one, other)| {
        let (one, other) = (stem(one), stem(other));
        flips(&one, &other) || flips(&other, &one)
    }) || asked.iter().filter(|text| text.len() >= 5).any(|text| {
        ["in", "un", "non", "non-", "dis", "ir", "im"]
            .iter()
            .any(|prefix| flips(text, &format!("{prefix}{text}")))
    })
}
