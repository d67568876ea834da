//! The stance of a sentence on a yes-or-no question.
mod contrast;
mod refusal;
mod verb;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use self::contrast::LACKS;
use self::refusal::{
    denies_only_some, forbids, is_charged, is_given_up, is_only_owner, is_unsuited,
    recurs_less_often, warns,
};
use super::assertion::{is_among_myths, is_fiction, is_taken_back, tells_fiction};
use super::scorer::RelevanceScorer;
use super::yes_no_claim::YesNoClaim;
use crate::heuristic::calendar::years;
use crate::heuristic::lexicon::{has_phrase, spaced};
use crate::heuristic::sentence::{BUT_NOT, count_denials, has_denial};
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

    /// The stance that a model gives a text, but no yes of one sentence that says "rarely pays", and none that its words have the other
    /// way; where the model gives none, the one that its words have.
    pub(crate) fn checked_stance(&mut self, by_model: Stance, text: &str) -> Stance {
        const RARE: [&str; 5] = ["rarely", "seldom", "hardly", "barely", "scarcely"];
        let (said, asked) = (spaced(text), spaced(&self.question_text));
        let is_rare = self.yes_no.is_some()
            && split_sentences(text).len() == 1
            && !has_phrase(&said, "hardly any doubt")
            && RARE.iter().any(|word| has_phrase(&said, word) && !has_phrase(&asked, word));
        let ids = self.ids(text);
        match (by_model, self.stance(text, &said, &ids)) {
            (Stance::For, _) if is_rare => Stance::Neutral,
            (Stance::For, Stance::Against) | (Stance::Against, Stance::For) => Stance::Neutral,
            (Stance::Neutral, by_words) => by_words,
            (by_model, _) => by_model,
        }
    }

    /// The stance of `sentences` of a page. `None` for what is no evidence: what the page takes back, a yes or no of a work of fiction,
    /// and a yes from a section on myths.
    pub(super) fn stance_in(
        &mut self,
        page: &Page,
        mut sentences: RangeInclusive<usize>,
        said: NormalizedSentence<'_>,
    ) -> Option<Stance> {
        let of_myths = self.words.sentence.debunking.any_in(&spaced(&self.question_text));
        let last = *sentences.end();
        if !of_myths && is_taken_back(page, last, &self.words.sentence) {
            return None;
        }
        let stance = self.stance(said.text, said.spaced, said.ids);
        let (words, Some(claim)) = (&self.words.sentence, &self.yes_no) else {
            return Some(stance);
        };
        let fiction = || is_fiction(page, &claim.asked, words);
        let unasserted = match stance {
            Stance::Neutral => false,
            Stance::Against => fiction(),
            Stance::For => {
                fiction()
                    || !of_myths
                        && sentences.any(|n| {
                            is_among_myths(page, n, words) || is_taken_back(page, n, words)
                        })
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

    /// The stance of a sentence that the words of its clauses need not tell: it frames what it says, gives another amount or frequency, or
    /// says the opposite of the object.
    fn stance_by_form(&mut self, claim: &YesNoClaim, text: &str, spaced: &str) -> Option<Stance> {
        let words = &self.words.sentence;
        let quoted = text.contains(['“', '”', '"']);
        // "Iron and copper, respectively" says which is which of two things.
        if quoted
            || words.framed.any_in(&without_use(spaced))
                && !words.framed.any_in(&without_use(&claim.asked))
            || has_phrase(spaced, "respectively")
        {
            return Some(Stance::Neutral);
        }
        if let Some(stance) = claim.stance_by_amounts(text, spaced, words) {
            return Some(stance);
        }
        let mut clauses = spaced.split([',', ';']).flat_map(|it| it.split(" but "));
        let charged =
            clauses.any(|clause| is_charged(&claim.asked, &format!(" {} ", clause.trim())));
        if charged
            || warns(&claim.asked, spaced) && self.names_deed(claim, spaced)
            || self.says_opposite_of_object(claim, spaced)
            || recurs_less_often(&claim.asked, spaced)
        {
            return Some(Stance::Against);
        }
        is_only_owner(&claim.subject_phrase, text).then_some(Stance::Neutral)
    }

    fn stance_on(&mut self, claim: &YesNoClaim, text: &str, spaced: &str) -> Stance {
        if let Some(stance) = self.stance_by_form(claim, text, spaced) {
            return stance;
        }
        let words = &self.words.sentence;
        // "Better survival?" is denied by "poor survival", and "a positive regulator" by "a negative regulator".
        let opposed = opposed_word(&claim.asked, spaced, words);
        let is_opposite = opposed.is_some();
        let opposed = opposed.map(|word| self.lexicon.id(&word));
        // "Do panels work better above plants?" is answered by what compares.
        let mut compared = words.comparing.all_in(&claim.asked).into_iter();
        let asks_more = compared.any(|it| Some(self.lexicon.id(it)) != claim.verb)
            && !words.comparing.any_in(spaced)
            && !is_opposite;
        let is_past = is_before_a_year(spaced) && !is_before_a_year(&claim.asked);
        if asks_more || is_past || tells_fiction(text, words) {
            return Stance::Neutral;
        }
        let asserted = claim.assertions.asserted(spaced);
        if let Some(stance) = self.stance_by_exception(claim, &asserted) {
            return stance;
        }
        let clause = self.deciding_clause(claim, &asserted);
        if self.is_contradicted(claim, &asserted, clause) {
            return Stance::Neutral;
        }
        if self.measures_change(claim, clause) {
            return Stance::For;
        }
        // What the verb is asked of may stand before its clause: "they reduce flooding, but do not prevent it".
        let end = asserted.find(clause).map_or(asserted.len(), |at| at + clause.len());
        let ids = self.ids(&asserted[..end]);
        let names = |object: &u32| self.match_strength(*object, &ids) >= MIN_WORD_MATCH;
        if !claim.objects.is_empty() && !claim.objects.iter().any(names) && !is_opposite
            // An opposite stands in place of the word itself.
            || !claim.all_words.iter().all(|it| names(it) || Some(*it) == opposed)
            || !claim.ranks.iter().all(|rank| has_phrase(spaced, rank))
            || claim.purpose.is_some() && !claim.names_enough(names)
        {
            return Stance::Neutral;
        }
        if self.does_opposite(claim, clause) {
            return if is_plain(clause, words) { Stance::Against } else { Stance::Neutral };
        }
        if claim.objects_follow && !self.acts_on_object(claim, clause) {
            return Stance::Neutral;
        }
        let is_unsuited = claim.purpose.is_some() && is_unsuited(&claim.subject_phrase, clause);
        let says_verb = is_unsuited || self.says_verb(claim, clause);
        let is_other = denies_only_some(&claim.asked, clause)
            || self.only_nearly(claim, clause)
            || self.is_of_lack(claim, &asserted);
        if !says_verb || is_other || claim.asks_enough && !words.enough.any_in(clause) {
            return Stance::Neutral;
        }
        if claim.asks_only && has_exception(&claim.asked, clause) {
            return Stance::Against;
        }
        let is_hard = self.is_hard(claim, clause);
        if is_hard && has_phrase(clause, "without") {
            return Stance::Neutral;
        }
        let refused = has_qualified_denial(clause)
            || is_too_much(clause)
            || is_hard
            || forbids(&claim.asked, clause)
            || is_unsuited
            || self.gives_up(claim, clause);
        let denials = self.denials(claim, clause) + usize::from(refused);
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

    /// Whether a clause says that the verb asked about is refused, failed in or ended.
    fn gives_up(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let verbs = claim.verb.map_or_else(|| claim.all_words.clone(), |verb| vec![verb]);
        tokens(clause).iter().enumerate().any(|(at, word)| {
            let ids = self.ids(&word.text);
            verbs.iter().any(|verb| self.match_strength(*verb, &ids) >= MIN_WORD_MATCH)
                && is_given_up(&claim.asked, clause, at)
        })
    }

    /// How often a clause denies the verb asked about. A contrast after the verb denies only what follows it: "the roof can carry
    /// plants without strengthening", "snow is added, not compared".
    fn denials(&mut self, claim: &YesNoClaim, clause: &str) -> usize {
        const CONTRASTS: [&str; 5] =
            [" without ", ", not ", BUT_NOT, " rather than ", " instead of "];
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

    /// Whether a clause calls what the question asks hard to do: "difficult to distinguish".
    fn is_hard(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let hard = &self.words.sentence.hard;
        if hard.any_in(&claim.asked) {
            return false;
        }
        let done: Vec<&str> = hard
            .all_in(clause)
            .into_iter()
            .filter_map(|phrase| clause.split_once(phrase)?.1.split_whitespace().next())
            .collect();
        done.into_iter().any(|word| {
            let id = self.lexicon.id(word);
            claim.verb == Some(id) || claim.all_words.contains(&id)
        })
    }

    /// Whether a clause says that the subject of the question works for something, or is approved or recommended.
    fn is_said_to_serve(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let serving = &self.words.sentence.serving;
        let at = serving.all_in(clause).into_iter().filter_map(|word| clause.find(word)).max();
        at.is_some_and(|at| self.is_of_subject(claim, &clause[..at]))
    }

    /// Whether a sentence has a word of the question and its opposite, and the opposite is said of an object of the question: "opens at 8
    /// and is closed on Monday" of "is it open on Monday".
    fn says_opposite_of_object(&mut self, claim: &YesNoClaim, spaced: &str) -> bool {
        const JOINTS: [&str; 4] = [" and ", " but ", ", ", "; "];
        let words = &self.words.sentence;
        let (asked, said) = (stems(&claim.asked), stems(spaced));
        let has_both = |(word, opposite): &(String, String)| {
            asked.contains(word)
                && !asked.contains(opposite)
                && said.contains(word)
                && said.contains(opposite)
        };
        let both = antonym_stems(words).find(has_both).filter(|_| !has_denial(spaced, words));
        let Some((word, opposite)) = both else {
            return false;
        };
        let mut parts = vec![spaced];
        for joint in JOINTS {
            parts = parts.into_iter().flat_map(|part| part.split(joint)).collect();
        }
        // What is joined to the opposite, "on Sunday and Monday", belongs to it up to the word itself.
        let from = parts.iter().position(|part| stems(part).contains(&opposite)).unwrap_or(0);
        let told = parts[from..].iter().take_while(|part| !stems(part).contains(&word));
        let told: Vec<&str> = told.copied().collect();
        let objects = if claim.objects.is_empty() { &claim.all_words } else { &claim.objects };
        told.into_iter().any(|part| {
            let ids = self.ids(part);
            objects.iter().any(|it| self.match_strength(*it, &ids) >= MIN_WORD_MATCH)
        })
    }

    /// Whether a sentence names what "should I put vinegar on it" asks about: the verb and the first noun after it.
    fn names_deed(&mut self, claim: &YesNoClaim, spaced: &str) -> bool {
        let ids = self.ids(spaced);
        let asked = tokens(&claim.asked);
        let object = asked.iter().skip(3).find(|word| !is_stop_word(&word.text));
        let (Some(verb), Some(object)) = (asked.get(2), object) else {
            return false;
        };
        [verb, object].into_iter().all(|word| {
            let id = self.lexicon.id(&word.text);
            self.match_strength(id, &ids) >= MIN_WORD_MATCH
        })
    }

    /// Whether what stands before a verb names the subject of the question, and no lack of it.
    fn is_of_subject(&mut self, claim: &YesNoClaim, before: &str) -> bool {
        let ids = self.ids(before);
        let lacks = LACKS.iter().any(|it| has_phrase(before, it) && !has_phrase(&claim.asked, it));
        let named = |id: &u32| self.match_strength(*id, &ids) >= MIN_WORD_MATCH;
        !lacks && !claim.subject.is_empty() && claim.subject.iter().all(named)
    }

    /// Whether a clause says the opposite of the verb asked about, of the subject and an object of the question: "it suppresses moss
    /// and promotes grass" of "does it promote moss".
    fn does_opposite(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let Some(verb) = claim.verb.filter(|_| claim.objects_follow) else {
            return false;
        };
        const NOUN_ENDINGS: [&str; 6] = ["ity", "ion", "ment", "ness", "ance", "ence"];
        let mut opposed = false;
        for word in tokens(clause) {
            let id = self.lexicon.id(&word.text);
            let is_object = || claim.objects.contains(&id);
            match id {
                _ if id == verb => return false,
                _ if claim.opposites.contains(&id) => {
                    let is_noun = NOUN_ENDINGS.iter().any(|it| word.text.ends_with(it));
                    opposed |= !is_noun && self.is_of_subject(claim, &clause[..word.span.start]);
                }
                _ if opposed && is_object() => return true,
                _ => {}
            }
        }
        false
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

    /// Whether a clause names an object of the question.
    fn names_object(&mut self, claim: &YesNoClaim, clause: &str) -> bool {
        let ids = self.ids(clause);
        claim.objects.iter().any(|it| self.match_strength(*it, &ids) >= MIN_WORD_MATCH)
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
            let object =
                verb >= MIN_WORD_MATCH && claim.objects_follow && self.names_object(claim, clause);
            let rank = self.coverage(&self.question, &ids) + 2.0 * verb + enough;
            let rank = rank + f32::from(u8::from(object));
            if rank > best.0 {
                best = (rank, clause);
            }
        }
        best.1
    }

    /// Whether another clause says the verb asked about the other way, of the same object: "they cool the rooms, but do not cool the
    /// street" decides nothing on roofs, and denies that they cool the street.
    fn is_contradicted(&mut self, claim: &YesNoClaim, spaced: &str, clause: &str) -> bool {
        let Some(verb) = claim.verb else {
            return false;
        };
        let denies = has_denial(clause, &self.words.sentence);
        let of_object = claim.objects_follow && self.names_object(claim, clause);
        self.clauses(spaced).into_iter().filter(|other| *other != clause).any(|other| {
            let ids = self.ids(other);
            self.match_strength(verb, &ids) >= MIN_WORD_MATCH
                && (!of_object || self.names_object(claim, other))
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

/// Whether a clause says that a thing is too much one way for another: "too old to be safe".
fn is_too_much(clause: &str) -> bool {
    let words = tokens(clause);
    words.windows(3).any(|three| three[0].text == "too" && three[2].text == "to")
}

/// Whether a sentence begins with a time that is over: "Before 1990 the dam was open".
fn is_before_a_year(spaced: &str) -> bool {
    let mut words = spaced.split_whitespace();
    matches!(words.next(), Some("before" | "until"))
        && words.next().is_some_and(|it| !years(it.trim_end_matches(',')).is_empty())
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

/// Whether a clause neither denies nor weakens what it says.
fn is_plain(clause: &str, words: &SentenceWords) -> bool {
    !has_denial(clause, words) && !words.qualified.any_in(clause) && !words.hard.any_in(clause)
}

/// A text without "used to" where it tells what something is for: "is used to", "can be used to", "are often used to".
fn without_use(spaced: &str) -> String {
    const FORMS: [&str; 7] = ["is", "are", "was", "were", "be", "been", "being"];
    const ADVERBS: [&str; 6] = ["", " often", " commonly", " widely", " usually", " frequently"];
    let forms = FORMS.iter().flat_map(|form| ADVERBS.iter().map(move |it| format!("{form}{it}")));
    forms.fold(spaced.to_owned(), |text, form| {
        text.replace(&format!(" {form} used to "), &format!(" {form} used for "))
    })
}

/// Whether the sentence has the opposite of a word where the question has that word.
fn opposes(asked: &str, said: &str, words: &SentenceWords) -> bool {
    opposed_word(asked, said, words).is_some()
}

/// The stem of a word of the question of which the sentence has the opposite instead: "better" and "poor", "dependence" and
/// "independence".
fn opposed_word(asked: &str, said: &str, words: &SentenceWords) -> Option<String> {
    let (asked, said) = (stems(asked), stems(said));
    let flips = |one: &str, other: &str| {
        asked.contains(one) && said.contains(other) && !said.contains(one) && !asked.contains(other)
    };
    let paired = antonym_stems(words).find(|(one, other)| flips(one, other)).map(|pair| pair.0);
    paired.or_else(|| {
        let mut long = asked.iter().filter(|text| text.len() >= 5);
        let negated = |text: &&String| {
            ["in", "un", "non", "non-", "dis", "ir", "im"]
                .iter()
                .any(|prefix| flips(text, &format!("{prefix}{text}")))
        };
        long.find(negated).cloned()
    })
}

/// The stems of each word that has an opposite, with those of the opposite.
fn antonym_stems(words: &SentenceWords) -> impl Iterator<Item = (String, String)> {
    let pairs = words.antonyms.iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    pairs.map(|(one, other)| (stem(one), stem(other)))
}

/// The stems of the words of a normalized text.
fn stems(spaced: &str) -> BTreeSet<String> {
    spaced.split([' ', ',']).filter(|part| part.len() > 2).map(stem).collect()
}

#[cfg(test)]
mod tests;
