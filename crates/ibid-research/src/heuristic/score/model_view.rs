//! What a model may see of a page.
use std::ops::Range;

use super::page::PageSentences;
use super::scorer::RelevanceScorer;
use crate::heuristic::sentence::{SentenceText, fitness};
use ibid_core::domain::Page;

impl RelevanceScorer {
    /// Those of the sentences of a page that give no orders and belong to none, whatever their form.
    pub(crate) fn harmless_sentences(&self, page: &Page, sentences: &[Range<usize>]) -> Vec<usize> {
        let poisoned = self.orders.injected_sentences(page, 0..page.sentences().len());
        let wanted = sentences.iter().cloned().flatten();
        wanted.filter(|n| !poisoned.contains(n)).collect()
    }

    /// The title of a page, or nothing if it gives orders.
    pub(crate) fn shown_title<'p>(&self, page: &'p Page) -> &'p str {
        if self.orders.is_injection(&page.title) { "" } else { &page.title }
    }

    /// The sentences of a page that a model may see: those taken in, without non-sentences and without those
    /// that give orders or belong to such. Also returns how many of the latter there are.
    pub(crate) fn shown_sentences(
        &self,
        page: &Page,
        lines: &PageSentences,
    ) -> (Vec<usize>, usize) {
        let words = &self.words.sentence;
        let poisoned = self.orders.injected_sentences(page, lines.lines.iter().map(|line| line.0));
        let (orders, rest): (Vec<usize>, Vec<usize>) =
            lines.lines.iter().map(|line| line.0).partition(|n| poisoned.contains(n));
        let fit =
            |n: &usize| fitness(page, *n, &SentenceText::new(page.sentence(*n)), words).is_some();
        (rest.into_iter().filter(fit).collect(), orders.len())
    }
}
