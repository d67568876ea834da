//! The stance of a sentence on a yes-or-no question.
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::assertion::{is_fiction, is_taken_back, tells_fiction};
use super::scorer::RelevanceScorer;
use super::yes_no_claim::YesNoClaim;
use crate::heuristic::lexicon::{has_phrase, spaced};
use crate::heuristic::sentence::{count_denials, has_denial};
use crate::prompts::SentenceWords;
use crate::thresholds::{MIN_STANCE_OVERLAP, MIN_WORD_MATCH};
use ibid_core::domain::words::{is_stop_word, stem, tokens};
use ibid_core::domain::{Page, Stance, split_sentences};

/// A sentence: its text, its normalized words and their ids.
pub(super) struct NormalizedSentence<'a> {
    pub(super) text: &'a str,
    pub(super) spaced: &'a str,
    pub(super) ids: &'a [u32],
}

impl RelevanceScorer {
    /// The stance of a sentence on a yes-or-no question. It decides only if the clause that has most of the question's words
    /// also has the verb asked about, and no other amount than the one asked about.
    fn stance(&mut self, text: &str, spaced: &str, ids: &[u32]) -> Stance {
        let Some(claim) = self.yes_no.take() else {
            return Stance::Neutral;
        };
        let stance = if self.coverage(&self.question, ids) < MIN_STANCE_OVERLAP {
            Stance::Neutral
        } else {
            self.stance_on(&claim, text, spaced)
        };
        self.yes_no = Some(claim);
        stance
    }

    /// The stance that a model gives a text, but no yes of one sentence that says "rarely pays"; where the model gives none, the one that
    /// its words have.
    pub(crate) fn checked_stance(&mut self, by_model: Stance, text: &str) -> Stance {
        const RARE: [&str; 5] = ["rarely", "seldom", "hardly", "barely", "scarcely"];
        let (said, asked) = (spaced(text), spaced(&self.question_text));
        let is_rare = self.yes_no.is_some()
            && split_sentences(text).len() == 1
            && !has_phrase(&said, "hardly any doubt")
            && RARE.iter().any(|word| has_phrase(&said, word) && !has_phrase(&asked, word));
        match by_model {
            Stance::For if is_rare => Stance::Neutral,
            Stance::Neutral => {
                let ids = self.ids(text);
                self.stance(text, &said, &ids)
            }
            stance => stance,
        }
    }

    /// The stance of `sentences` of a page. `None` for what is no evidence: a yes or no of a work of fiction, and a yes that
    /// the page takes back.
    pub(super) fn stance_in(
        &mut self,
        page: &Page,
        mut sentences: RangeInclusive<usize>,
        said: NormalizedSentence<'_>,
    ) -> Option<Stance> {
        let stance = self.stance(said.text, said.spaced, said.ids);
        let (words, Some(claim)) = (&self.words.sentence, &self.yes_no) else {
            return Some(stance);
        };
        let of_myths = words.debunking.any_in(&claim.asked);
        let fiction = || is_fiction(page, &claim.asked, words);
        let unasserted = match stance {
            Stance::Neutral => false,
            Stance::Against => fiction(),
            Stance::For => {
                fiction() || !of_myths && sentences.any(|n| is_taken_back(page, n, words))
            }
        };
        (!unasserted).then_some(stance)
    }

    /// The content words of the question that a text neither has nor has another word for, as written.
    pub(crate) fn question_words_missing_in(&mut self, asked: &str, text: &str) -> Vec<String> {
        let said = self.ids(text);
        let mut missing = Vec::new();
        for word in tokens(asked).into_iter().filter(|it| !is_stop_word(&it.text)) {
            let ids = self.lexicon.id_set(&word.text);
            if !ids.iter().any(|id| self.match_strength(*id, &said) >= MIN_WORD_MATCH) {
                missing.push(asked[word.span].to_owned());
            }
        }
        missing
    }

    fn stance_on(&mut self, claim: &YesNoClaim, text: &str, spaced: &str) -> Stance {
        let words = &self.words.sentence;
        let quoted = text.contains(['“', '”', '"']);
        if quoted || words.framed.any_in(spaced) && !words.framed.any_in(&claim.asked) {
            return Stance::Neutral;
        }
        if let Some(stance) = claim.stance_by_amounts(text, spaced, words) {
            return stance;
        }
        // "Better survival?" is denied by "poor survival", and "a positive regulator" by "a negative regulator".
        let is_opposite = opposes(&claim.asked, spaced, words);
        // "Do panels work better above plants?" is answered by what compares.
        let asks_more =
            words.comparing.any_in(&claim.asked) && !words.comparing.any_in(spaced) && !is_opposite;
        if asks_more || tells_fiction(text, words) {
            return Stance::Neutral;
        }
        let asserted = claim.assertions.asserted(spaced);
        let clause = self.deciding_clause(claim, &asserted);
        if self.is_contradicted(claim, &asserted, clause) {
            return Stance::Neutral;
        }
        // What the verb is asked of may stand before its clause: "they reduce flooding, but do not prevent it".
        let end = asserted.find(clause).map_or(spaced.len(), |at| at + clause.len());
        let ids = self.ids(&spaced[..end]);
        let names = |object: &u32| self.match_strength(*object, &ids) >= MIN_WORD_MATCH;
        if !claim.objects.is_empty() && !claim.objects.iter().any(names) && !is_opposite
            || !claim.all_words.iter().all(names)
        {
            return Stance::Neutral;
        }
        if claim.objects_follow && !self.acts_on_object(claim, clause) {
            return Stance::Neutral;
        }
        let ids = self.ids(clause);
        let says_verb = |verb: u32| self.match_strength(verb, &ids) >= MIN_WORD_MATCH;
        let says_verb = claim.verb.is_none_or(says_verb)
            && !claim.verb.is_some_and(|verb| self.has_only_as_noun(verb, clause));
        if !says_verb || claim.asks_enough && !words.enough.any_in(clause) {
            return Stance::Neutral;
        }
        if claim.asks_only && has_exception(&claim.asked, clause) {
            return Stance::Against;
        }
        let denials = self.denials(claim, clause) + usize::from(has_qualified_denial(clause));
        // Two denials may cancel out or add up: "no evidence that it does not leak" says neither.
        if denials > 1 {
            return Stance::Neutral;
        }
        let denied = (denials == 1) != has_denial(&claim.asked, words);
        // "Most roofs can" answers "can any roof" with no.
        let only_some = claim.asks_every && words.some.any_in(clause) && !denied;
        if only_some || denied != opposes(&claim.asked, clause, words) {
            Stance::Against
        } else if claim.asks_only && !words.only.any_in(clause)
            || words.qualified.any_in(clause) && !words.qualified.any_in(&claim.asked)
        {
            Stance::Neutral
        } else {
            Stance::For
        }
    }

    /// How often a clause denies the verb asked about. A contrast after the verb denies only what follows it: "the roof can carry
    /// plants without strengthening", "snow is added, not compared".
    fn denials(&mut self, claim: &YesNoClaim, clause: &str) -> usize {
        const CONTRASTS: [&str; 4] = [" without ", ", not ", " rather than ", " instead of "];
        let words = &self.words.sentence;
        let contrast = CONTRASTS.iter().filter_map(|it| clause.find(it)).min();
        let (Some(at), Some(verb)) = (contrast, claim.verb) else {
            return count_denials(clause, words);
        };
        let before = format!("{} ", &clause[..at]);
        let ids = self.ids(&before);
        let verb_is_before = self.match_strength(verb, &ids) >= MIN_WORD_MATCH;
        count_denials(if verb_is_before { &before } else { clause }, words)
    }

    /// Whether the verb of a clause is said of an object of the question: the object or a pronoun follows it, or the verb is
    /// passive. "Green roofs carried panels" does not say that something carries green roofs.
    fn acts_on_object(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        const PRONOUNS: [&str; 5] = ["it", "them", "this", "these", "so"];
        const AUXILIARIES: [&str; 6] = ["is", "are", "was", "were", "be", "been"];
        let words = tokens(clause);
        let Some(verb) = claim.verb.filter(|_| !claim.objects.is_empty()) else {
            return true;
        };
        let is_verb = |scorer: &mut Self, word: &str| {
            let ids = scorer.ids(word);
            scorer.match_strength(verb, &ids) >= MIN_WORD_MATCH
        };
        let Some(at) = words.iter().position(|word| is_verb(self, &word.text)) else {
            return true;
        };
        let passive = words[..at].iter().rev().take(3);
        if passive.into_iter().any(|word| AUXILIARIES.contains(&word.text.as_str())) {
            return true;
        }
        words[at + 1..].iter().any(|word| {
            let ids = self.ids(&word.text);
            PRONOUNS.contains(&word.text.as_str())
                || claim.objects.iter().any(|it| self.match_strength(*it, &ids) >= MIN_WORD_MATCH)
        })
    }

    /// Whether a clause has a verb only as a noun: "the energy for cooling".
    fn has_only_as_noun(&mut self, verb: u32, clause: &str) -> bool {
        const BEFORE_NOUN: [&str; 5] = ["for", "of", "the", "a", "an"];
        let words = tokens(clause);
        let mut found = false;
        for (nth, word) in words.iter().enumerate() {
            if self.lexicon.id(&word.text) != verb {
                continue;
            }
            let noun = word.text.ends_with("ing")
                && nth > 0
                && BEFORE_NOUN.contains(&words[nth - 1].text.as_str());
            if !noun {
                return false;
            }
            found = true;
        }
        found
    }

    /// Of the clauses of a sentence, the one that has the verb asked about, or else most of the question's words: what stands
    /// after "because" denies nothing before it.
    fn deciding_clause<'t>(&mut self, claim: &YesNoClaim, spaced: &'t str) -> &'t str {
        let mut best = (f32::MIN, spaced);
        for clause in self.clauses(spaced) {
            let ids = self.ids(clause);
            let verb = claim.verb.map_or(0.0, |verb| self.match_strength(verb, &ids));
            let enough =
                f32::from(u8::from(claim.asks_enough && self.words.sentence.enough.any_in(clause)));
            let rank = self.coverage(&self.question, &ids) + 2.0 * verb + enough;
            if rank > best.0 {
                best = (rank, clause);
            }
        }
        best.1
    }

    /// Whether another clause says the verb asked about the other way: "they cool the rooms, but they do not cool the
    /// street" decides nothing.
    fn is_contradicted(&mut self, claim: &YesNoClaim, spaced: &str, clause: &str) -> bool {
        let Some(verb) = claim.verb else {
            return false;
        };
        let denies = has_denial(clause, &self.words.sentence);
        self.clauses(spaced).into_iter().filter(|other| *other != clause).any(|other| {
            let ids = self.ids(other);
            self.match_strength(verb, &ids) >= MIN_WORD_MATCH
                && has_denial(other, &self.words.sentence) != denies
        })
    }

    /// The clauses of a normalized sentence.
    fn clauses<'t>(&self, spaced: &'t str) -> Vec<&'t str> {
        let mut cuts: Vec<usize> = Vec::new();
        for word in &self.words.sentence.clause_breaks {
            let word = format!(" {word} ");
            cuts.extend(spaced.match_indices(&word).map(|found| found.0));
        }
        cuts.sort_unstable();
        cuts.push(spaced.len());
        let mut from = 0;
        cuts.into_iter().map(|to| &spaced[std::mem::replace(&mut from, to)..to]).collect()
    }
}

/// Whether a denial in a clause denies a refusal, "the committee did not object", or held for a time, "did not agree at first".
fn has_qualified_denial(clause: &str) -> bool {
    const REFUSALS: [&str; 15] = [
        "object", "refuse", "reject", "oppose", "decline", "hesitate", "disagree", "deny",
        "forbid", "ban", "mind", "need", "fail", "doubt", "dispute",
    ];
    let words = tokens(clause);
    let after_not = words.windows(2).any(|two| {
        (two[0].text == "not" || two[0].text.ends_with("n't"))
            && REFUSALS.contains(&two[1].text.as_str())
    });
    let later = words.windows(2).any(|two| two[0].text == "at" && two[1].text == "first");
    after_not || later
}

/// Whether a clause has a case without what the question asks if it is always there: "without epilepsy" of "only with epilepsy".
fn has_exception(asked: &str, clause: &str) -> bool {
    let after = |text: &str, word: &str| {
        let rest = text.split_once(word)?.1;
        tokens(rest).into_iter().find(|it| !is_stop_word(&it.text)).map(|it| stem(&it.text))
    };
    let with = after(asked, " with ");
    with.is_some() && with == after(clause, " without ")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_from_brief;
    use crate::test_support::brief;

    fn stance(asked: &str, text: &str) -> Stance {
        let brief = brief(asked);
        let plan = plan_from_brief(&brief).unwrap();
        let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
        let ids = scorer.ids(text);
        scorer.stance(text, &spaced(text), &ids)
    }

    #[test]
    fn what_rarely_happens_is_no_yes_of_a_model() {
        let brief = brief("Do green roofs pay for their owners?");
        let plan = plan_from_brief(&brief).unwrap();
        let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
        let mut of = |text| scorer.checked_stance(Stance::For, text);
        assert_eq!(of("A green roof rarely pays for its owner."), Stance::Neutral);
        assert_eq!(of("A green roof pays for its owner."), Stance::For);
        assert_eq!(of("A green roof pays for its owner. It rarely leaks."), Stance::For);
        let told =
            scorer.checked_stance(Stance::Neutral, "Green roofs do not pay for their owners.");
        assert_eq!(told, Stance::Against);
    }

    #[test]
    fn a_sentence_decides_with_the_verb_and_the_amount_asked_about() {
        for (asked, text, wanted) in [
            (
                "Do solar panels work better on a green roof?",
                "Eleven of the green roofs carried solar panels that work.",
                Stance::Neutral,
            ),
            (
                "Do green roofs leak more often than bare roofs?",
                "Green roofs leak less often than bare flat roofs, because sun and frost do not reach the membrane.",
                Stance::Against,
            ),
            (
                "Is gravel associated with better drainage?",
                "Gravel under a lawn is associated with poor drainage.",
                Stance::Against,
            ),
            (
                "Is moss a positive sign on a lawn?",
                "Moss is a negative sign on every lawn.",
                Stance::Against,
            ),
            (
                "Do cracks in a wall only cause trouble with rain?",
                "Cracks in a wall cause trouble without rain, too.",
                Stance::Against,
            ),
            (
                "Do green roofs prevent floods?",
                "Green roofs reduce flooding from short summer storms, but they do not prevent it.",
                Stance::Against,
            ),
            (
                "Do green roofs prevent floods?",
                "A green roof holds a shower and fails in the flood of a storm.",
                Stance::Neutral,
            ),
            (
                "Is a flood test of 24 hours enough?",
                "A flood test of 48 hours with 5 cm of water is required before planting.",
                Stance::Against,
            ),
            (
                "Is a flood test of 24 hours enough?",
                "A flood test of 24 hours with 5 cm of water is sufficient before planting.",
                Stance::For,
            ),
            (
                "Do green roofs save heating energy?",
                "In buildings with less than 5 cm of insulation, green roofs saved 8 % of the heating energy.",
                Stance::For,
            ),
            (
                "Are green roofs bad for solar panels?",
                "Eleven of the green roofs carried solar panels.",
                Stance::Neutral,
            ),
            (
                "Do green roofs cool cities?",
                "Green roofs cool the roof and the rooms below it, but they do not measurably cool the air of cities.",
                Stance::Neutral,
            ),
            (
                "Do green roofs cool cities?",
                "Green roofs reduced the electricity used for cooling the top floor by 27 % on average.",
                Stance::Neutral,
            ),
            (
                "Did the leak come from the green roof?",
                "The leak was first blamed on the green roof.",
                Stance::Neutral,
            ),
        ] {
            assert_eq!(stance(asked, text), wanted, "{asked} {text}");
        }
    }

    #[test]
    fn a_sentence_decides_with_what_is_claimed_of_the_object() {
        for (asked, text, wanted) in [
            (
                "Do green roofs cool cities?",
                "Flats under green roofs are cooler on hot days, according to Dr. Ekwueme, who heads the city's Office for Climate.",
                Stance::Neutral,
            ),
            (
                "Is a green roof a fire risk?",
                "The substrate of an extensive green roof emits 21 kg, mostly from firing expanded clay.",
                Stance::Neutral,
            ),
            ("Is a green roof a fire risk?", "A dry green roof is a fire risk.", Stance::For),
            (
                "Can any flat roof carry a green roof?",
                "Most concrete flat roofs can carry an extensive green roof without strengthening.",
                Stance::Against,
            ),
            (
                "Do I add snow to the wet weight?",
                "Snow is added to the saturated weight, not compared with it.",
                Stance::For,
            ),
            (
                "Do vaccines cause autism?",
                "The hypothesis that vaccines cause autism has been rejected by every large study.",
                Stance::Neutral,
            ),
            (
                "Does exercise reduce depression?",
                "There is no question that exercise reduces depression.",
                Stance::Neutral,
            ),
            (
                "Do green roofs only cool rooms?",
                "Green roofs cool rooms below them.",
                Stance::Neutral,
            ),
            (
                "Can any flat roof carry a green roof?",
                "Eleven of the green roofs carried solar panels.",
                Stance::Neutral,
            ),
            (
                "Can a concrete roof carry a green roof?",
                "A concrete roof can carry an extensive green roof without strengthening.",
                Stance::For,
            ),
        ] {
            assert_eq!(stance(asked, text), wanted, "{asked} {text}");
        }
    }

    #[test]
    fn what_is_only_reported_doubted_or_imagined_decides_nothing() {
        let asked = "Do green roofs cause cancer?";
        for text in [
            "A blogger was fined for saying that green roofs cause cancer.",
            "A blogger was fined for claiming green roofs cause cancer.",
            "Critics say green roofs cause cancer.",
            "Green roofs cause cancer, critics say.",
            "Green roofs, critics say, cause cancer.",
            "Green roofs cause cancer, according to a leaflet of the tile makers.",
            "The minister told reporters at the fair on Friday that green roofs cause cancer.",
            "Green roofs are said to cause cancer.",
            "Many owners still believe that green roofs cause cancer.",
            "It is untrue that green roofs cause cancer.",
            "The belief that green roofs cause cancer is common among owners.",
            "No study has shown that green roofs cause cancer.",
            "This does not mean that green roofs cause cancer.",
            "There is no evidence that green roofs do not cause cancer.",
            "It is not true that green roofs do not cause cancer.",
            "In the novel, green roofs cause cancer in a whole city.",
            "In the film Moss, green roofs cause cancer in a whole city.",
            "If roofs were sprayed with asbestos, green roofs would cause cancer.",
        ] {
            assert_eq!(stance(asked, text), Stance::Neutral, "{text}");
        }
    }

    #[test]
    fn what_a_study_shows_or_a_sentence_says_against_a_report_is_asserted() {
        let asked = "Do green roofs cause cancer?";
        for (text, wanted) in [
            ("A study of 900 flats showed that green roofs cause cancer.", Stance::For),
            ("The guidelines say that green roofs cause cancer.", Stance::For),
            ("We found that green roofs cause cancer.", Stance::For),
            ("It is false that green roofs cause cancer.", Stance::Against),
            ("It is not true that green roofs cause cancer.", Stance::Against),
            (
                "Critics claim that green roofs cause cancer, but green roofs do not cause cancer.",
                Stance::Against,
            ),
            (
                "Critics claim green roofs are safe, but studies show that green roofs cause cancer.",
                Stance::For,
            ),
            ("Neither green roofs nor gravel roofs cause cancer.", Stance::Against),
            ("Green roofs cause cancer, and owners say that they are ugly.", Stance::For),
        ] {
            assert_eq!(stance(asked, text), wanted, "{text}");
        }
    }
}
