//! The sentences that state the fact the question asks for: they are evidence, and what two sources state may differ.
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use ibid_core::domain::{Evidence, Page, Stance};

use super::best_sentences::SentenceMatch;
use super::page::PageInput;
use super::scorer::RelevanceScorer;
use super::stance::Said;
use crate::changed_fact::changed_sentences;
use crate::heuristic::asked_fact::StatedFact;
use crate::heuristic::sentence::{SentenceText, claim_text, has_doubt_words};
use crate::thresholds::{MIN_COPIED_WORDS, MIN_EVIDENCE_SCORE};

/// Maximum number of words of a sentence that is quoted for a fact.
const MAX_FACT_WORDS: usize = 60;

impl RelevanceScorer {
    /// Notes the facts that the sentences `fit` of a page state, and adds the first of them to `found` if none is there.
    pub(super) fn add_stated_facts(
        &mut self,
        reading: &PageInput<'_>,
        fit: &[usize],
        found: &mut Vec<SentenceMatch>,
    ) {
        let page = reading.page;
        let short =
            fit.iter().filter(|n| page.sentence(**n).split_whitespace().count() <= MAX_FACT_WORDS);
        let mut stated: Vec<(usize, StatedFact)> = Vec::new();
        if let Some(question) = &self.fact_question {
            let on_page = question.is_subject_of(&page.title, page.text().expose());
            let states = |n: &usize| Some((*n, question.stated_in(page.sentence(*n), on_page)?));
            stated = short.filter_map(states).collect();
        }
        if stated.is_empty() {
            let changed = |n: &usize| Some((*n, self.changed.get(&(reading.source, *n))?.clone()));
            stated = fit.iter().filter_map(changed).collect();
        }
        let holds = |n: usize| found.iter().any(|it| (it.first..=it.last).contains(&n));
        if !stated.iter().any(|(n, _)| holds(*n))
            && let Some((n, _)) = stated.first()
        {
            let added = self.fact_sentence(page, *n);
            let at = found.partition_point(|it| it.first < *n);
            found.splice(at..at, added);
        }
        self.stated.extend(stated.into_iter().map(|(n, fact)| ((reading.source, n), fact)));
    }

    /// Notes the sentences of pages that are copies of one text but for one fact that the question is about.
    pub(crate) fn note_changed_facts(&mut self, inputs: &[PageInput<'_>]) {
        let words: Vec<BTreeSet<u32>> = inputs
            .iter()
            .map(|it| self.lexicon.ids(it.page.text().expose()).into_iter().collect())
            .collect();
        for (at, one) in inputs.iter().enumerate() {
            for (other, theirs) in inputs.iter().zip(&words).skip(at + 1) {
                let shared = words[at].intersection(theirs).count() as f32;
                if shared < MIN_COPIED_WORDS * words[at].len().min(theirs.len()) as f32 {
                    continue;
                }
                let changed = changed_sentences(&self.question_text, one.page, other.page);
                let Some([(n, own), (m, its)]) = changed else {
                    continue;
                };
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
        let said = Said { text: &claim, spaced: &seen.spaced, ids: &ids };
        let sentences: RangeInclusive<usize> = n..=n;
        let stance: Stance = self.stance_in(page, sentences, said)?;
        Some(SentenceMatch {
            first: n,
            last: n,
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

    /// The name of what the question asks a fact of.
    pub(crate) fn fact_subject(&self) -> Option<&str> {
        self.fact_question.as_ref().map(|question| question.name())
    }
}
