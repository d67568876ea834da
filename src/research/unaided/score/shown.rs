//! What of a page a model may see.
use super::{Lines, Scale};
use crate::domain::Page;
use crate::research::unaided::orders::poisoned;
use crate::research::unaided::sentence::{Seen, fitness};

impl Scale {
    /// The sentences of a page that may be shown to a model: those that were taken in, without what
    /// is no sentence and without paragraphs that give orders. How many of the latter, too.
    pub(crate) fn shown(&self, page: &Page, lines: &Lines) -> (Vec<usize>, usize) {
        let words = &self.words.sentence;
        let poisoned = poisoned(page, lines.lines.iter().map(|it| it.0), words);
        let (orders, rest): (Vec<usize>, Vec<usize>) = lines
            .lines
            .iter()
            .map(|it| it.0)
            .partition(|n| poisoned.contains(&page.sentences()[*n].block));
        let fit = |n: &usize| fitness(page, *n, &Seen::of(page.sentence(*n)), words).is_ok();
        (rest.into_iter().filter(fit).collect(), orders.len())
    }
}
