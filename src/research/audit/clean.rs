//! A block's words without its citations, and where in them the citations stood.
use std::ops::Range;

use super::blocks::Block;
use super::marks::{Mark, To};

/// A citation among clean words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    /// The byte before which it stood, or at which its own words end.
    pub(super) at: usize,
    pub(super) to: Vec<To>,
    /// Its own words, where they are words of the sentence.
    pub(super) words: Option<Range<usize>>,
}

/// Words without citations.
#[derive(Debug, Default)]
pub(super) struct Clean {
    /// One line, single blanks.
    pub(super) text: String,
    pub(super) marks: Vec<Placed>,
    /// Where in the block each stretch stood.
    places: Vec<(usize, usize)>,
}

impl Clean {
    /// The words of `block` within `range`, without those of its `marks`.
    pub(super) fn of(block: &Block, range: Range<usize>, marks: &[Mark]) -> Clean {
        let mut out = Clean::default();
        let mut at = range.start;
        let first = marks.partition_point(|it| it.range.start < range.start);
        let begun = marks[first..]
            .iter()
            .take_while(|it| it.range.start <= range.end);
        for mark in begun.filter(|it| it.range.end <= range.end) {
            if mark.range.start > at {
                out.take(block, at..mark.range.start);
            }
            let start = out.text.len();
            if mark.spoken {
                out.take(block, mark.range.clone());
            }
            let end = out.text.len();
            out.marks.push(Placed {
                at: end,
                to: mark.to.clone(),
                words: mark.spoken.then_some(start..end),
            });
            at = at.max(mark.range.end);
        }
        if at < range.end {
            out.take(block, at..range.end);
        }
        out
    }

    /// The byte of the file where byte `at` of the clean words stands.
    pub(super) fn place(&self, block: &Block, at: usize) -> usize {
        let nth = self.places.partition_point(|it| it.0 <= at);
        self.places.get(nth.saturating_sub(1)).map_or_else(
            || block.place(0),
            |it| block.place(it.1 + at.saturating_sub(it.0)),
        )
    }

    fn take(&mut self, block: &Block, range: Range<usize>) {
        let words = &block.text[range.clone()];
        let mut fresh = true;
        for (nth, c) in words.char_indices() {
            if c.is_whitespace() {
                if !self.text.is_empty() && !self.text.ends_with(' ') {
                    self.text.push(' ');
                }
                // What was folded moves what follows.
                fresh = true;
                continue;
            }
            if nth == 0 || fresh {
                self.join(c);
                self.places.push((self.text.len(), range.start + nth));
                fresh = false;
            }
            self.text.push(c);
        }
    }

    /// Closes the gap that a citation left before `next`: "rain [1]." is "rain.", and "rain.[1]The" is
    /// "rain. The".
    fn join(&mut self, next: char) {
        let end = self.text.trim_end().len();
        let Some(last) = self.marks.last_mut() else {
            return;
        };
        if last.words.is_some() || last.at < end {
            return;
        }
        if ".,;:!?)]”’".contains(next) {
            self.text.truncate(end);
            for it in self.marks.iter_mut().rev().take_while(|it| it.at > end) {
                it.at = end;
            }
        } else if self.text.ends_with(['.', '!', '?', '”', '"']) {
            self.text.push(' ');
        }
    }
}
