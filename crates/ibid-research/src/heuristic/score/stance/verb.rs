//! Whether a clause has the verb of a question as its verb: not "the stolen painting", and not what nearly happened.
use super::super::scorer::RelevanceScorer;
use super::super::yes_no_claim::YesNoClaim;
use crate::heuristic::lexicon::{is_past_form, is_verb};
use crate::thresholds::MIN_WORD_MATCH;
use ibid_core::domain::words::{Token, tokens};

impl RelevanceScorer {
    /// Whether a clause has the verb asked about as a verb, or says that the subject serves the purpose asked about.
    pub(super) fn says_verb(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let ids = self.ids(clause);
        let says = |word: u32| self.match_strength(word, &ids) >= MIN_WORD_MATCH;
        let has_purpose =
            claim.purpose.as_ref().is_some_and(|purpose| purpose.iter().any(|word| says(*word)));
        let says_verb = claim.verb.is_none_or(says);
        // Where the verb is not known, any word may be it.
        if claim.verb.is_none() {
            let words = tokens(clause);
            let describes = (0..words.len()).any(|nth| {
                claim.all_words.contains(&self.lexicon.id(&words[nth].text))
                    && self.describes_noun(claim, (clause, &words), nth)
            });
            if describes {
                return false;
            }
        }
        says_verb && !claim.verb.is_some_and(|verb| self.has_only_as_noun(claim, verb, clause))
            || has_purpose
            || claim.purpose.is_some() && self.is_said_to_serve(claim, clause)
    }

    /// Whether a clause has the verb of a question only as a noun or adjective: "the energy for cooling", "the cool air", "is cooler".
    pub(super) fn has_only_as_noun(&mut self, claim: &YesNoClaim, verb: u32, clause: &str) -> bool {
        const BEFORE_NOUN: [&str; 6] = ["for", "of", "the", "a", "an", "some"];
        let words = tokens(clause);
        let mut found = false;
        for (nth, word) in words.iter().enumerate() {
            let ids = self.ids(&word.text);
            if self.match_strength(verb, &ids) < MIN_WORD_MATCH {
                continue;
            }
            let before = nth.checked_sub(1).map(|before| words[before].text.as_str());
            let is_itself = self.lexicon.id(&word.text) == verb;
            // What a thing is said to be, "a biomarker", is a noun in the question, too.
            let may_be_noun = claim.objects_follow || word.text.ends_with("ing");
            let after_article = before.is_some_and(|it| BEFORE_NOUN.contains(&it));
            let compares = !is_itself && claim.objects_follow && word.text.ends_with("er");
            let describes = self.describes_noun(claim, (clause, &words), nth);
            if !(is_itself && may_be_noun && after_article || compares || describes) {
                return false;
            }
            found = true;
        }
        found
    }

    /// Whether the `nth` word is a past form without an auxiliary or a subject before it: "the stolen painting", "frozen fish".
    fn describes_noun(
        &mut self,
        claim: &YesNoClaim,
        (clause, words): (&str, &[Token]),
        nth: usize,
    ) -> bool {
        const BEFORE_VERB: [&str; 17] = [
            "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "he", "she",
            "it", "they", "we", "who", "which",
        ];
        if !is_past_form(&words[nth].text) {
            return false;
        }
        let before = &words[nth.saturating_sub(3)..nth];
        let is_verb = before.iter().any(|it| BEFORE_VERB.contains(&it.text.as_str()));
        // "In winter, frozen fish": a comma ends what stands before.
        let follows_subject = before.last().is_some_and(|it| {
            if clause[it.span.end..words[nth].span.start].contains(',') {
                return false;
            }
            let ids = self.ids(&it.text);
            claim.subject.iter().any(|id| self.match_strength(*id, &ids) >= MIN_WORD_MATCH)
        });
        !is_verb && !follows_subject
    }

    /// Whether what the question asks only nearly came about: "was nearly sold", "almost broke".
    pub(super) fn only_nearly(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let words = tokens(clause);
        words.windows(2).any(|two| {
            let ids = self.ids(&two[1].text);
            matches!(two[0].text.as_str(), "nearly" | "almost")
                && match claim.verb {
                    Some(verb) => self.match_strength(verb, &ids) >= MIN_WORD_MATCH,
                    None => is_verb(&two[1].text),
                }
        })
    }
}
