//! What of a page a model may see.
use super::{Lines, Scale};
use crate::domain::Page;
use crate::research::unaided::sentence::{Seen, fitness};

impl Scale {
    /// The title of a page as a model may see it: nothing where it gives orders.
    pub(crate) fn shown_title<'p>(&self, page: &'p Page) -> &'p str {
        match self.orders.stand_in(&page.title) {
            true => "",
            false => &page.title,
        }
    }

    /// The sentences of a page that may be shown to a model: those that were taken in, without what
    /// is no sentence and without those that give orders or go with them. How many of the latter, too.
    pub(crate) fn shown(&self, page: &Page, lines: &Lines) -> (Vec<usize>, usize) {
        let words = &self.words.sentence;
        let poisoned = self
            .orders
            .poisoned(page, lines.lines.iter().map(|it| it.0));
        let (orders, rest): (Vec<usize>, Vec<usize>) = lines
            .lines
            .iter()
            .map(|it| it.0)
            .partition(|n| poisoned.contains(n));
        let fit = |n: &usize| fitness(page, *n, &Seen::of(page.sentence(*n)), words).is_some();
        (rest.into_iter().filter(fit).collect(), orders.len())
    }
}
