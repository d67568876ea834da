//! Whether a text uses a word as the question does: "watered" as a verb, "fire" as a noun.
use ibid_core::domain::words::{Token, tokens};

use crate::heuristic::intake::is_weak;
use crate::heuristic::lexicon::StemInterner;

/// A word of the question that tells by its form whether it is a verb.
struct AskedWord {
    id: u32,
    /// Whether it is a participle or an infinitive, "watered" or "to water", and not the bare word, "fire".
    verb: bool,
    /// Whether a number follows that tells which: "phase 3".
    numbered: bool,
}

/// How the question uses the words that it asks of its subject.
#[derive(Default)]
pub(super) struct WordUse {
    asked: Vec<AskedWord>,
}

/// Words after which a bare word is a noun: "less water", "full of water".
const BEFORE_NOUN: [&str; 18] = [
    "the", "a", "an", "of", "less", "more", "much", "no", "its", "their", "this", "some", "first",
    "with", "for", "in", "any", "without",
];

fn is_participle(word: &str) -> bool {
    word.len() > 4 && (word.ends_with("ed") || word.ends_with("ing"))
}

/// Whether the word at `nth` is followed by a number that tells which: "phase 3", "stage IV".
fn is_numbered(words: &[Token], nth: usize) -> bool {
    const ROMAN: [&str; 7] = ["i", "ii", "iii", "iv", "v", "vi", "vii"];
    words.get(nth + 1).is_some_and(|next| {
        let number = next.text.chars().next().is_some_and(|c| c.is_ascii_digit());
        number || ROMAN.contains(&next.text.as_str())
    })
}

impl WordUse {
    /// The use of those words of `question` whose numbers are in `aspect`. A bare verb ("cool", in `verbs`) is not told
    /// from its participles.
    pub(super) fn of_question(
        lexicon: &mut StemInterner,
        question: &str,
        aspect: &[u32],
        verbs: &[u32],
    ) -> WordUse {
        let mut asked = Vec::new();
        let words = tokens(question);
        for (nth, word) in words.iter().enumerate() {
            let id = lexicon.id(&word.text);
            let infinitive = nth > 0 && words[nth - 1].text == "to";
            // "How long does it last" asks what lasts, and not for the last of many.
            let weak = verbs.contains(&id) && is_weak(&word.text);
            let verb = infinitive || weak || is_participle(&word.text);
            if aspect.contains(&id) && (verb || !verbs.contains(&id)) {
                asked.push(AskedWord { id, verb, numbered: is_numbered(&words, nth) });
            }
        }
        WordUse { asked }
    }

    /// Whether `text` has the word `id` of the question only in another use: "the first water left the roof" does not say
    /// that a roof is watered, and "firing clay" is no fire.
    pub(super) fn differs(&self, lexicon: &mut StemInterner, id: u32, text: &str) -> bool {
        let Some(asked) = self.asked.iter().find(|asked| asked.id == id) else {
            return false;
        };
        let words = tokens(text);
        let mut found = false;
        for (nth, word) in words.iter().enumerate() {
            if lexicon.id(&word.text) != id {
                continue;
            }
            found = true;
            // "Two phase 3 trials" tells of no phases.
            if is_numbered(&words, nth) && !asked.numbered {
                continue;
            }
            let after_noun_marker = nth > 0 && {
                let before = words[nth - 1].text.as_str();
                BEFORE_NOUN.contains(&before) || before.ends_with("ing")
            };
            let verb = is_participle(&word.text) || asked.verb && !after_noun_marker;
            if verb == asked.verb {
                return false;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_is_told_from_the_verb_of_the_question() {
        let mut lexicon = StemInterner::default();
        let mut differs = |question: &str, word: &str, text: &str| {
            let id = lexicon.id(word);
            let asked = WordUse::of_question(&mut lexicon, question, &[id], &[]);
            asked.differs(&mut lexicon, id, text)
        };
        let watered = "When should a roof be watered?";
        assert!(differs(watered, "watered", "The first water left the roof."));
        assert!(!differs(watered, "watered", "Water a new roof once a week."));
        assert!(!differs(watered, "watered", "The roof was watered in the evening."));
        let to_plant = "When is the best time to plant a roof?";
        assert!(differs(to_plant, "plant", "A plant for a roof must survive frost."));
        assert!(!differs(to_plant, "plant", "Plant plugs in late March."));
        let phases = "What are the phases of sleep?";
        assert!(differs(phases, "phases", "Two phase 3 trials measured sleep."));
        assert!(!differs(phases, "phases", "Sleep has phases of 90 minutes."));
        let fire = "Is a roof a fire risk?";
        assert!(differs("Is a roof watered?", "watered", "Less water runs off."));
        assert!(!differs(fire, "fire", "We found 17 fires on roofs."));
        assert!(!differs(fire, "fire", "Clay is light."), "it does not have the word at all");
    }
}
