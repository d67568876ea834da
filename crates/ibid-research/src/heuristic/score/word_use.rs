//! Whether a text uses a word as the question does: "watered" as a verb, "fire" as a noun.
use ibid_core::domain::words::tokens;

use super::scorer::RelevanceScorer;

/// A word of the question that tells by its form whether it is a verb.
#[derive(Debug, Clone)]
pub(super) struct AskedWord {
    id: u32,
    /// Whether it is a participle, "watered", and not the bare word, "fire".
    participle: bool,
}

/// Words after which a bare word is a noun: "less water", "full of water".
const BEFORE_NOUN: [&str; 18] = [
    "the", "a", "an", "of", "less", "more", "much", "no", "its", "their", "this", "some", "first",
    "with", "for", "in", "any", "without",
];

fn is_participle(word: &str) -> bool {
    word.len() > 4 && (word.ends_with("ed") || word.ends_with("ing"))
}

impl RelevanceScorer {
    /// Keeps how the question uses the words that it asks of its subject. A bare verb, "cool", is not told from its
    /// participles.
    pub(super) fn keep_asked_words(&mut self, verbs: &[u32]) {
        for word in tokens(&self.question_text) {
            let id = self.lexicon.id(&word.text);
            let participle = is_participle(&word.text);
            let of_aspect = self.aspect.iter().any(|term| term.id == id);
            if of_aspect && (participle || !verbs.contains(&id)) {
                self.asked_words.push(AskedWord { id, participle });
            }
        }
    }

    /// Whether `text` has the word `id` of the question only in another use: "the first water left the roof" does not say
    /// that a roof is watered, and "firing clay" is no fire.
    pub(super) fn has_other_use(&mut self, id: u32, text: &str) -> bool {
        let Some(participle) =
            self.asked_words.iter().find(|it| it.id == id).map(|it| it.participle)
        else {
            return false;
        };
        let words = tokens(text);
        let mut found = false;
        for (nth, word) in words.iter().enumerate() {
            if self.lexicon.id(&word.text) != id {
                continue;
            }
            found = true;
            let after_noun_marker = nth > 0 && {
                let before = words[nth - 1].text.as_str();
                BEFORE_NOUN.contains(&before) || before.ends_with("ing")
            };
            let verb = is_participle(&word.text) || participle && !after_noun_marker;
            if verb == participle {
                return false;
            }
        }
        found
    }
}
