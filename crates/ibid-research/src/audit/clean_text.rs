//! A block's text without its citations, and where they stood in it.
use std::ops::Range;

use super::blocks::MarkdownBlock;
use super::citation_labels::CitationTarget;
use super::citation_marks::CitationMark;

/// A citation in clean text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedCitation {
    /// The byte offset at which it stood, or at which its own text ends.
    pub(super) at: usize,
    pub(super) to: Vec<CitationTarget>,
    /// Its own text, where that is part of the sentence.
    pub(super) words: Option<Range<usize>>,
}

/// Text without citations.
#[derive(Debug, Default)]
pub(super) struct CleanText {
    /// One line, with single blanks.
    pub(super) text: String,
    pub(super) marks: Vec<PlacedCitation>,
    /// Pairs of clean offset and block offset, one for each stretch of text.
    places: Vec<(usize, usize)>,
}

impl CleanText {
    /// The text of `block` within `range`, without its `marks`.
    pub(super) fn from_block(
        block: &MarkdownBlock,
        range: Range<usize>,
        marks: &[CitationMark],
    ) -> CleanText {
        let mut out = CleanText::default();
        let mut at = range.start;
        let first = marks.partition_point(|mark| mark.range.start < range.start);
        let begun = marks[first..].iter().take_while(|mark| mark.range.start <= range.end);
        for mark in begun.filter(|it| it.range.end <= range.end) {
            if mark.range.start > at {
                out.take(block, at..mark.range.start);
            }
            let start = out.text.len();
            if mark.has_link_text {
                out.take(block, mark.range.clone());
            }
            let end = out.text.len();
            out.marks.push(PlacedCitation {
                at: end,
                to: mark.to.clone(),
                words: mark.has_link_text.then_some(start..end),
            });
            at = at.max(mark.range.end);
        }
        if at < range.end {
            out.take(block, at..range.end);
        }
        out
    }

    /// The byte offset in the file of byte `at` of the clean text.
    pub(super) fn file_offset(&self, block: &MarkdownBlock, at: usize) -> usize {
        let nth = self.places.partition_point(|place| place.0 <= at);
        self.places.get(nth.saturating_sub(1)).map_or_else(
            || block.file_offset(0),
            |pair| block.file_offset(pair.1 + at.saturating_sub(pair.0)),
        )
    }

    fn take(&mut self, block: &MarkdownBlock, range: Range<usize>) {
        let words = &block.text[range.clone()];
        let mut fresh = true;
        for (nth, c) in words.char_indices() {
            if c.is_whitespace() {
                if !self.text.is_empty() && !self.text.ends_with(' ') {
                    self.text.push(' ');
                }
                // Collapsed white space shifts what follows.
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

    /// Closes the gap that a citation left before `next`: "rain [1]." becomes "rain.", and "rain.[1]The"
    /// becomes "rain. The".
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
            for it in self.marks.iter_mut().rev().take_while(|mark| mark.at > end) {
                it.at = end;
            }
        } else if self.text.ends_with(['.', '!', '?', '”', '"']) {
            self.text.push(' ');
        }
    }
}
