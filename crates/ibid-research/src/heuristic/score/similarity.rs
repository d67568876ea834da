//! How far sentences mean what the question asks, where a model that compares meaning says so.
use std::collections::HashSet;

use crate::heuristic::sentence::{SentenceText, claim_text, fitness};

use crate::thresholds::{
    MIN_MEMBER_SIMILARITY, SHARED_WORDS_MEANING, SURE_ANSWER, UNKNOWN_THING_ANSWER,
};

use super::page::{PageInput, PageSentences};
use super::scorer::RelevanceScorer;
use super::sections::Sections;
use ibid_core::domain::Page;

/// Sentences that are compared in one round.
const MAX_COMPARED: usize = 400;

impl RelevanceScorer {
    /// The sentences of a round's pages that may be evidence and were not compared yet, each once, as claims.
    pub(crate) fn sentences_to_compare<'p>(
        &self,
        pages: impl Iterator<Item = (&'p PageInput<'p>, &'p PageSentences)>,
    ) -> Vec<String> {
        let words = &self.words.sentence;
        let mut seen = HashSet::new();
        let of_pages: Vec<Vec<String>> = pages
            .map(|(input, sentences)| {
                let page = input.page;
                let fit = |n: &&usize| {
                    fitness(page, **n, &SentenceText::new(page.sentence(**n)), words).is_some()
                };
                let lines = sentences.lines.iter().filter(|line| fit(&&line.0));
                lines.map(|line| self.compared_text(page, &sentences.sections, line)).collect()
            })
            .collect();
        // A sentence of each page in turn, so that a long page leaves room for the others.
        let longest = of_pages.iter().map(Vec::len).max().unwrap_or_default();
        let texts =
            (0..longest).flat_map(|nth| of_pages.iter().filter_map(move |page| page.get(nth)));
        texts
            .filter(|text| !self.compared.similarity.contains_key(*text) && seen.insert(*text))
            .take(MAX_COMPARED)
            .cloned()
            .collect()
    }

    /// What of a sentence is compared with the question: its claim after the heading with its subject, and after the nearest heading
    /// if it has none of the words asked for.
    pub(super) fn compared_text(
        &self,
        page: &Page,
        sections: &Sections,
        (n, ids): &(usize, Vec<u32>),
    ) -> String {
        let claim = claim_text(page.sentence(*n), &self.words.sentence);
        sections.with_headings(page, *n, &claim, self.coverage(&self.aspect, ids) == 0.0)
    }

    /// Whether a thing that the question names is named nowhere on the pages read, in these words or related ones. What the pages say is
    /// then on something else, however like the question it sounds.
    pub(crate) fn asks_of_unknown_thing(&self) -> bool {
        self.asked_things
            .iter()
            .any(|id| !self.occurs(*id) && !self.kin(*id).any(|kin| self.occurs(kin)))
    }

    /// Whether the pages read have less than half of the words of a side of the comparison: they do not compare it.
    pub(crate) fn lacks_a_side(&self) -> bool {
        self.sides.iter().any(|side| {
            let known = side.iter().filter(|term| self.occurs(term.id)).count();
            known * 2 < side.len()
        })
    }

    fn occurs(&self, id: u32) -> bool {
        self.sentence_counts.contains_key(&id)
    }

    fn kin(&self, id: u32) -> impl Iterator<Item = u32> {
        self.related.get(&id).into_iter().flatten().map(|pair| pair.0)
    }

    /// Takes in how far each claim means what the question asks, 0 to 1: the best of all rounds is the measure of the others. Where words
    /// fail, what means something else counts less.
    pub(crate) fn learn_similarity(
        &mut self,
        claims: Vec<String>,
        similarity: Vec<f32>,
        words_fail: bool,
    ) {
        self.compared.words_fail |= words_fail;
        let least = if self.asks_of_unknown_thing() { UNKNOWN_THING_ANSWER } else { SURE_ANSWER };
        let known = self.compared.best.max(least);
        self.compared.best = similarity.iter().copied().fold(known, f32::max);
        self.compared.similarity.extend(claims.into_iter().zip(similarity));
    }

    /// The factor for a sentence that neither means what is asked nor has its words, down to `least`. It is 1 where the words asked for
    /// are found: then meaning adds, and takes nothing away.
    pub(crate) fn dissimilar_factor(&self, similarity: f32, word_share: f32, least: f32) -> f32 {
        if !self.compared.words_fail {
            return 1.0;
        }
        let on_matter = (2.0 * similarity + SHARED_WORDS_MEANING * word_share).min(1.0);
        least + (1.0 - least) * on_matter
    }

    /// Whether a member of a list means something else than what is asked, where the words asked for are not found.
    pub(crate) fn is_off_topic(&self, similarity: Option<f32>) -> bool {
        self.compared.words_fail && similarity.is_some_and(|it| it < MIN_MEMBER_SIMILARITY)
    }

    /// Whether a claim was compared with the question. A long page has more sentences than are.
    pub(crate) fn was_compared(&self, claim: &str) -> bool {
        self.compared.similarity.contains_key(claim)
    }

    /// How far a claim means what the question asks, 0 to 1: 0 also for one that was not compared. `None` where none was.
    pub(crate) fn similarity(&self, claim: &str) -> Option<f32> {
        let compared = !self.compared.similarity.is_empty();
        let of_best = |similarity: f32| similarity / self.compared.best;
        compared.then(|| self.compared.similarity.get(claim).copied().map_or(0.0, of_best))
    }

    /// The probability that a claim answers the question: 0 if it was among the claims but not read, `None` if it was not.
    pub(crate) fn answer_probability(&self, claim: &str) -> Option<f32> {
        self.compared.similarity.get(claim).copied()
    }

    /// Gives a claim of several sentences the similarity of one of them.
    pub(super) fn copy_similarity(&mut self, from: &str, to: &str) {
        if let Some(similar) = self.compared.similarity.get(from).copied() {
            self.compared.similarity.insert(to.to_owned(), similar);
        }
    }
}
