//! What of a page a model may see.
use std::collections::BTreeSet;

use super::{Lines, Scale};
use crate::domain::Page;
use crate::research::unaided::lexicon::spaced;
use crate::research::unaided::sentence::{Seen, fitness, gives_orders};

impl Scale {
    /// The sentences of a page that may be shown to a model: those that were taken in, without what
    /// is no sentence and without paragraphs that give orders. How many of the latter, too.
    pub(crate) fn shown(&self, page: &Page, lines: &Lines) -> (Vec<usize>, usize) {
        let words = &self.words.sentence;
        let poisoned: BTreeSet<u32> = lines
            .lines
            .iter()
            .filter(|(n, _)| gives_orders(&spaced(page.sentence(*n)), words))
            .map(|(n, _)| page.sentences()[*n].block)
            .collect();
        let (orders, rest): (Vec<usize>, Vec<usize>) = lines
            .lines
            .iter()
            .map(|it| it.0)
            .partition(|n| poisoned.contains(&page.sentences()[*n].block));
        let fit = |n: &usize| fitness(page, *n, &Seen::of(page.sentence(*n)), words).is_ok();
        (rest.into_iter().filter(fit).collect(), orders.len())
    }
}
