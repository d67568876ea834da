//! How far sentences mean what the question asks, where a model that compares meaning says so.
use std::collections::HashSet;

use crate::heuristic::sentence::{SentenceText, claim_text, fitness};
use crate::thresholds::{
    MIN_ANSWER_PROBABILITY, MIN_MEMBER_SIMILARITY, MIN_NEAREST_PROBABILITY, SHARED_WORDS_MEANING,
    SURE_ANSWER, UNKNOWN_THING_ANSWER,
};

use ibid_core::domain::{BlockKind, Page, QuestionKind};
use ibid_core::ports::SentenceInContext;

use super::item_matchers::ItemMatcher;
use super::page::{PageInput, PageSentences};
use super::scorer::RelevanceScorer;
use super::sections::Sections;

/// Sentences that are compared in one round.
const MAX_COMPARED: usize = 400;

impl RelevanceScorer {
    /// The sentences of a round's pages that may be evidence and were not compared yet, each once, as claims.
    pub(crate) fn sentences_to_compare<'p>(
        &self,
        pages: impl Iterator<Item = (&'p PageInput<'p>, &'p PageSentences)>,
    ) -> Vec<SentenceInContext> {
        let words = &self.words.sentence;
        let mut seen = HashSet::new();
        let of_pages: Vec<Vec<SentenceInContext>> = pages
            .map(|(input, sentences)| {
                let page = input.page;
                let fit = |n: &&usize| {
                    let seen = SentenceText::new(page.sentence(**n));
                    // "Mr Hall asked whether" is as near to the question as its reply.
                    fitness(page, **n, &seen, words).is_some()
                        && !words.reported_question.any_in(&seen.spaced)
                };
                let lines = sentences.lines.iter().filter(|line| fit(&&line.0));
                lines.map(|line| self.in_context(page, &sentences.sections, line.0)).collect()
            })
            .collect();
        // A sentence of each page in turn, so that a long page leaves room for the others.
        let longest = of_pages.iter().map(Vec::len).max().unwrap_or_default();
        let texts =
            (0..longest).flat_map(|nth| of_pages.iter().filter_map(move |page| page.get(nth)));
        texts
            .filter(|text| {
                !self.compared.similarity.contains_key(&text.whole()) && seen.insert(*text)
            })
            .take(MAX_COMPARED)
            .cloned()
            .collect()
    }

    /// What is compared with the question: the claim of a sentence in its context.
    pub(super) fn in_context(
        &self,
        page: &Page,
        sections: &Sections,
        n: usize,
    ) -> SentenceInContext {
        sections.in_context(page, n, claim_text(page.sentence(n), &self.words.sentence))
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
        sentences: &[SentenceInContext],
        similarity: Vec<f32>,
        words_fail: bool,
    ) {
        self.compared.words_fail |= words_fail;
        let least = if self.asks_of_unknown_thing() { UNKNOWN_THING_ANSWER } else { SURE_ANSWER };
        let known = self.compared.best.max(least);
        self.compared.best = similarity.iter().copied().fold(known, f32::max);
        self.compared.likeliest =
            similarity.iter().copied().fold(self.compared.likeliest, f32::max);
        let claims = sentences.iter().map(SentenceInContext::whole);
        self.compared.similarity.extend(claims.zip(similarity));
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

    /// For steps and lists, the heading of the section of a page with the sentence that is likeliest to answer, if it may and is no
    /// item itself: the list below it is what is asked for. `None` on other pages; `Some(None)` is what stands above all headings.
    pub(super) fn answering_section(
        &self,
        page: &Page,
        lines: &PageSentences,
    ) -> Option<Option<usize>> {
        let asked = |it: &ItemMatcher| {
            it.core
                && it.facet.is_some()
                && matches!(it.kind, QuestionKind::HowTo | QuestionKind::List)
        };
        if !self.item_matchers.iter().any(asked) {
            return None;
        }
        let answers = |n: &usize| {
            let compared = self.in_context(page, &lines.sections, *n).whole();
            page.sentences()[*n].kind != BlockKind::ListItem
                && self.is_nearest(&compared)
                && self.answer_probability(&compared) >= Some(MIN_ANSWER_PROBABILITY)
        };
        let places = lines.lines.iter().map(|line| line.0);
        places.into_iter().find(answers).map(|n| lines.sections.nearest_heading(n))
    }

    /// Whether nothing that was compared is likelier to answer than this claim, and it may: it is at least what comes nearest.
    pub(crate) fn is_nearest(&self, claim: &str) -> bool {
        self.answer_probability(claim)
            .is_some_and(|it| it >= MIN_NEAREST_PROBABILITY.max(self.compared.likeliest))
    }

    /// Whether no evidence had most of the words asked for in a round.
    pub(crate) fn words_failed(&self) -> bool {
        self.compared.words_fail
    }

    /// Whether a claim means what is asked, in whatever words, or comes nearest to it of all that was read.
    pub(crate) fn is_meant(&self, claim: &str) -> bool {
        self.is_nearest(claim) || self.answer_probability(claim) >= Some(MIN_ANSWER_PROBABILITY)
    }

    /// Gives a claim of several sentences the similarity of one of them.
    pub(super) fn copy_similarity(&mut self, from: &str, to: &str) {
        if let Some(similar) = self.compared.similarity.get(from).copied() {
            self.compared.similarity.insert(to.to_owned(), similar);
        }
    }
}
