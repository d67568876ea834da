//! The sentences that state the fact the question asks for: they are evidence, and what two sources state may differ.
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use ibid_core::domain::{Evidence, Page, SourceId, Stance};

use super::assertion::AssertionWords;
use super::best_sentences::SentenceMatch;
use super::limits::PAGE_CUT;
use super::page::PageInput;
use super::scorer::RelevanceScorer;
use super::stance::NormalizedSentence;
use crate::changed_fact::changed_sentences;
use crate::heuristic::asked_fact::{QualifiedName, StatedFact};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::sentence::{
    SentenceText, claim_text, has_denial, has_doubt_words, leans_on_previous,
};
use crate::thresholds::{MIN_COPIED_WORDS, MIN_EVIDENCE_SCORE};

/// Maximum number of words of a sentence that is quoted for a fact.
const MAX_FACT_WORDS: usize = 60;
/// Number of sentences with which a page says what it is about.
const LEAD_SENTENCES: usize = 5;

impl RelevanceScorer {
    /// Notes the facts that the sentences `fit` of a page state, and adds the first of them to `found` if none is there.
    pub(super) fn add_stated_facts(
        &mut self,
        reading: &PageInput<'_>,
        fit: &[usize],
        found: &mut Vec<SentenceMatch>,
    ) {
        let page = reading.page;
        let subject = self
            .fact_question
            .as_ref()
            .filter(|question| question.is_subject_of(&page.title, page.text().expose()));
        let on_page = subject.is_some();
        let name = self.fact_question.as_ref().and_then(|question| {
            let lead: Vec<&str> =
                fit.iter().take(LEAD_SENTENCES).map(|n| page.sentence(*n)).collect();
            question.qualified_name(self.shown_title(page), &lead.join(" "))
        });
        self.qualified.extend(name.map(|it| (reading.source, it)));
        let words = &self.words.sentence;
        let asserted = AssertionWords::new(words);
        let states = |n: usize| {
            if let Some(changed) = self.changed.get(&(reading.source, n)) {
                return Some((n, changed.clone()));
            }
            let sentence = page.sentence(n);
            let question = self.fact_question.as_ref()?;
            // "Without You I'm Nothing" denies nothing.
            let lower = spaced(sentence).replace(&spaced(question.name()), " ");
            // "It is a myth that it was built in 1925" and "it was not built in 1925" state no date.
            if has_denial(&lower, words) || asserted.asserted(&lower) != lower {
                return None;
            }
            let short = sentence.split_whitespace().count() <= MAX_FACT_WORDS;
            short.then(|| question.stated_in(sentence, on_page)).flatten().map(|fact| (n, fact))
        };
        let stated: Vec<(usize, StatedFact)> = fit.iter().filter_map(|n| states(*n)).collect();
        let holds = |n: usize| found.iter().any(|it| (it.first..=it.last).contains(&n));
        // "It was designed by Rudge" alone does not say what was.
        let alone = |n: &&(usize, StatedFact)| !leans_on_previous(page.sentence(n.0), words);
        if !stated.iter().any(|(n, _)| holds(*n))
            && let Some((n, _)) = stated.iter().find(alone)
        {
            let added = self.fact_sentence(page, *n);
            let at = found.partition_point(|it| it.first < *n);
            found.splice(at..at, added);
        }
        self.stated.extend(stated.into_iter().map(|(n, fact)| ((reading.source, n), fact)));
    }

    /// Records sentences of near-duplicate pages that differ in one fact the question asks for, unless their form shows that they
    /// state different facts.
    pub(crate) fn note_changed_facts(&mut self, inputs: &[PageInput<'_>]) {
        // One word of the question suffices in a copy, which is too few where no single fact is asked for.
        if self.fact_question.is_none() {
            return;
        }
        let words: Vec<BTreeSet<u32>> = inputs
            .iter()
            .map(|it| match it.page.text().expose() {
                text if text.len() <= PAGE_CUT => self.lexicon.ids(text).into_iter().collect(),
                _ => BTreeSet::new(),
            })
            .collect();
        for (at, one) in inputs.iter().enumerate() {
            for (other, theirs) in inputs.iter().zip(&words).skip(at + 1) {
                let shared = words[at].intersection(theirs).count() as f32;
                if shared == 0.0
                    || shared < MIN_COPIED_WORDS * words[at].len().min(theirs.len()) as f32
                {
                    continue;
                }
                let changed = changed_sentences(&self.question_text, one.page, other.page);
                let Some([(n, own), (m, its)]) = changed else {
                    continue;
                };
                let typed = |page: &Page, n: usize| {
                    let question = self.fact_question.as_ref()?;
                    let on_page = question.is_subject_of(&page.title, page.text().expose());
                    question.stated_in(page.sentence(n), on_page)
                };
                let both = typed(one.page, n).zip(typed(other.page, m));
                if both.is_some_and(|(one, other)| one.excludes(&other)) {
                    continue;
                }
                self.changed.insert((one.source, n), StatedFact::changed(&own, &its));
                self.changed.insert((other.source, m), StatedFact::changed(&its, &own));
            }
        }
    }

    /// Sentence `n` as evidence on the question, with the least score that evidence has.
    fn fact_sentence(&mut self, page: &Page, n: usize) -> Option<SentenceMatch> {
        let item = self.item_matchers.iter().find(|it| it.core)?.item;
        let seen = SentenceText::new(page.sentence(n));
        let claim = claim_text(page.sentence(n), &self.words.sentence);
        let ids = self.ids(&claim);
        let said = NormalizedSentence { text: &claim, spaced: &seen.spaced, ids: &ids };
        let sentences: RangeInclusive<usize> = n..=n;
        let stance: Stance = self.stance_in(page, sentences, said)?;
        Some(SentenceMatch {
            first: n,
            last: n,
            heading: None,
            stance,
            doubt: has_doubt_words(&seen.spaced, &self.words.sentence),
            items: vec![(item, MIN_EVIDENCE_SCORE)],
            claim,
        })
    }

    /// The fact that evidence states, where the question asks for one.
    pub(crate) fn stated_fact(&self, evidence: &Evidence) -> Option<&StatedFact> {
        let mut places = evidence.passage.first()..=evidence.passage.last();
        places.find_map(|n| self.stated.get(&(evidence.source, n)))
    }

    /// Whether a point from `evidence`, of this text, states the fact that the question asks for, of what it asks it of: a text that goes
    /// on with another one has its name.
    pub(crate) fn states_asked_fact(&mut self, evidence: &Evidence, text: &str) -> bool {
        let one_sentence = evidence.passage.first() == evidence.passage.last();
        self.stated_fact(evidence).is_some()
            && (one_sentence && evidence.heading.is_none() || self.has_asked_names(text))
    }

    /// Whether a source is on another thing of the name than the question asks for.
    pub(crate) fn is_ruled_out(&self, source: SourceId) -> bool {
        let name = self.qualified.get(&source);
        name.zip(self.fact_question.as_ref()).is_some_and(|(name, asked)| asked.rules_out(name))
    }

    /// Which of the things of the name asked about a source is on, where it says so.
    pub(crate) fn qualified_name(&self, source: SourceId) -> Option<&QualifiedName> {
        self.qualified.get(&source)
    }

    /// How many of the words that say which fact is asked `text` has.
    pub(crate) fn count_asked_words(&self, text: &str) -> usize {
        self.fact_question.as_ref().map_or(0, |question| question.count_asked_words(text))
    }

    /// The name of what the question asks a fact of.
    pub(crate) fn fact_subject(&self) -> Option<&str> {
        self.fact_question.as_ref().map(|question| question.name())
    }
}
