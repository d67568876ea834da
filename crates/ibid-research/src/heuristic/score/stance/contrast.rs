//! What a sentence says of something else than the question: of other things, "it stops ants, but not slugs", or of a lack.
use super::super::scorer::RelevanceScorer;
use super::super::yes_no_claim::YesNoClaim;
use crate::heuristic::lexicon::has_phrase;
use crate::heuristic::sentence::{BUT_NOT, has_denial};
use crate::thresholds::MIN_WORD_MATCH;
use ibid_core::domain::Stance;
use ibid_core::domain::words::{is_stop_word, tokens};

/// Words before a verb that tell of less of the thing they stand with.
pub(super) const LACKS: [&str; 19] = [
    "deficiency",
    "loss",
    "lack",
    "absence",
    "low",
    "without",
    "quitting",
    "stopping",
    "removing",
    "removal",
    "avoiding",
    "inhibition",
    "silencing",
    "depletion",
    "knockdown",
    "knockout",
    "less",
    "reduced",
    "blocking",
];

/// Words for what stands in place of the thing they stand with.
const SUBSTITUTES: [&str; 4] = ["copy", "copies", "imitation", "imitations"];

impl RelevanceScorer {
    /// Whether a sentence tells of a lack or a substitute of the subject, "stopping the drug reduced bleeding", and the question does not.
    pub(super) fn is_of_lack(&mut self, claim: &YesNoClaim, spaced: &str) -> bool {
        let words = tokens(spaced);
        words.iter().enumerate().any(|(at, word)| {
            let text = word.text.as_str();
            // "Slugs were reduced by the spray" has the verb asked about.
            let is_lack = (LACKS.contains(&text) || SUBSTITUTES.contains(&text))
                && !has_phrase(&claim.asked, text)
                && claim.verb != Some(self.lexicon.id(text));
            let thing = words[at + 1..].iter().find(|it| !is_stop_word(&it.text));
            is_lack
                && thing.is_some_and(|thing| {
                    let ids = self.ids(&thing.text);
                    claim.subject.iter().any(|it| self.match_strength(*it, &ids) >= MIN_WORD_MATCH)
                })
        })
    }

    /// The stance of a sentence that says the verb asked about, but not of the object: "the spray reduced the number of ants, but not
    /// that of slugs" of "does the spray reduce the number of slugs?" What it says of another subject decides nothing.
    pub(super) fn stance_by_exception(
        &mut self,
        claim: &YesNoClaim,
        spaced: &str,
    ) -> Option<Stance> {
        let (told, excepted) = spaced.split_once(BUT_NOT).filter(|_| claim.objects_follow)?;
        let excepted = excepted.split(';').next().unwrap_or_default();
        let words = &self.words.sentence;
        let is_plain = ![told, excepted].into_iter().any(|it| has_denial(it, words))
            && !words.clause_breaks.iter().any(|it| has_phrase(&format!(" {excepted} "), it));
        let of_lack = self.is_of_lack(claim, told);
        let (told, excepted) = (self.ids(told), self.ids(excepted));
        let has = |id: &u32, ids: &[u32]| self.match_strength(*id, ids) >= MIN_WORD_MATCH;
        let says_verb = claim.verb.is_some_and(|verb| has(&verb, &told) && !has(&verb, &excepted));
        let (of_told, others): (Vec<u32>, Vec<u32>) =
            claim.objects.iter().partition(|it| has(it, &told));
        let of_excepted = others.iter().filter(|it| has(it, &excepted)).count();
        let names_all = of_told.is_empty() || of_excepted == others.len();
        let of_subject = !of_lack && claim.subject.iter().all(|it| has(it, &told));
        (says_verb && of_excepted > 0).then_some(if is_plain && names_all && of_subject {
            Stance::Against
        } else {
            Stance::Neutral
        })
    }

    /// Whether a clause measures what the verb asked about does to its object: "the air was 0.4 °C cooler, compared with streets without
    /// trees" of "do trees cool the air?"
    pub(super) fn measures_change(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let Some(verb) = claim.verb.filter(|_| claim.objects_follow) else {
            return false;
        };
        let baseline = [" than ", " compared with ", " compared to "];
        let told = baseline.iter().filter_map(|it| clause.find(it)).min();
        let told = format!("{} ", &clause[..told.unwrap_or(clause.len())]);
        let words = &self.words.sentence;
        let denies = has_denial(&told, words) || has_denial(&claim.asked, words);
        if denies || self.is_of_lack(claim, &told) {
            return false;
        }
        let is_number = |text: &str| text.parse::<f64>().is_ok_and(|it| it > 0.0);
        let words = tokens(&told);
        let is_measured = |at: &usize| {
            words[*at].text.ends_with("er")
                && words[at.saturating_sub(2)..*at].iter().any(|it| is_number(&it.text))
        };
        let measured: Vec<usize> = (0..words.len()).filter(is_measured).collect();
        // "Warmer by night and cooler by day" is both.
        let all_say_verb = measured.iter().all(|at| {
            let ids = self.ids(&words[*at].text);
            self.match_strength(verb, &ids) >= MIN_WORD_MATCH
        });
        let ids = self.ids(&told);
        let names = |id: &u32| self.match_strength(*id, &ids) >= MIN_WORD_MATCH;
        all_say_verb
            && !measured.is_empty()
            && claim.names_enough(names)
            && claim.subject.iter().all(names)
    }
}
