//! Parts of a page: its passages with given words, and its text piece by piece.
use std::collections::BTreeSet;
use std::ops::Range;

use super::Page;
use super::words::{content_stems, tokens};

/// Sentences shown before and after a sentence with the words.
const SENTENCES_AROUND: usize = 1;

/// The passages of a page with given words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassageMatches {
    /// How many sentences have the words.
    pub found: usize,
    /// The best of them with the sentences around them, as ranges of sentences in the order of the page.
    pub passages: Vec<Range<usize>>,
}

impl Page {
    /// Finds the sentences that have most of `words`, in any form and order: at most `most` passages of together at most
    /// `length` bytes. Those with more of the words come first, then those that stand earlier.
    pub fn find_passages(&self, words: &str, most: usize, length: usize) -> PassageMatches {
        let sought = stems(words);
        if sought.is_empty() {
            return PassageMatches::default();
        }
        let mut matches: Vec<(usize, usize)> = (0..self.sentences().len())
            .map(|n| (stems(self.sentence(n)).intersection(&sought).count(), n))
            .filter(|(shared, _)| 2 * shared > sought.len())
            .collect();
        let found = matches.len();
        matches.sort_by_key(|(shared, n)| (usize::MAX - shared, *n));
        let last = self.sentences().len().saturating_sub(1);
        let mut passages: Vec<Range<usize>> = Vec::new();
        let mut room = length;
        for (_, n) in matches {
            if passages.len() >= most {
                break;
            }
            if passages.iter().any(|range| range.contains(&n)) {
                continue;
            }
            let range = n.saturating_sub(SENTENCES_AROUND)..(n + SENTENCES_AROUND).min(last) + 1;
            let size = self.bytes_of(&range).len();
            if size > room {
                continue;
            }
            room -= size;
            passages.push(range);
        }
        passages.sort_by_key(|range| range.start);
        PassageMatches { found, passages: join_overlapping(passages) }
    }

    /// The sentences from `first` on that together have at most `length` bytes, at least one if there is one.
    pub fn sentences_from(&self, first: usize, length: usize) -> Range<usize> {
        let all = self.sentences();
        let Some(begin) = all.get(first) else {
            return all.len()..all.len();
        };
        let fits = |n: &usize| (all[*n].end - begin.start) as usize <= length;
        let end = (first..all.len()).take_while(fits).last().unwrap_or(first);
        first..end + 1
    }

    /// The bytes of the text that a range of sentences covers; empty if the page has none of them.
    pub fn bytes_of(&self, range: &Range<usize>) -> Range<usize> {
        let all = self.sentences().get(range.clone()).unwrap_or_default();
        match (all.first(), all.last()) {
            (Some(first), Some(last)) => first.start as usize..last.end as usize,
            _ => 0..0,
        }
    }
}

/// The content words of a text as stems; all its words if it has only small ones.
fn stems(text: &str) -> BTreeSet<String> {
    let content: BTreeSet<String> = content_stems(text).into_iter().collect();
    if content.is_empty() {
        return tokens(text).into_iter().map(|token| token.text).collect();
    }
    content
}

fn join_overlapping(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, BlockKind, PageDraft};

    fn page() -> Page {
        let block = |text: &str| Block::new(BlockKind::Prose, text);
        Page::new(PageDraft {
            blocks: vec![
                block("Cork is bark. It is stripped by hand. Oaks live long."),
                block("The harvest falls in summer. Nine years pass until the next harvest."),
                block("Bread is baked daily."),
            ],
            ..PageDraft::default()
        })
    }

    #[test]
    fn passages_are_found_by_most_of_the_words_in_any_form() {
        let page = page();
        let found = page.find_passages("harvests in nine years", 8, 8_000);
        // "Nine", "years" and "harvest" stand in the fifth sentence alone; one neighbour on each side is shown.
        assert_eq!((found.found, found.passages.as_slice()), (1, std::slice::from_ref(&(3..6))));
        let all = page.find_passages("harvest", 8, 8_000);
        assert_eq!((all.found, all.passages.as_slice()), (2, std::slice::from_ref(&(2..5))));
        let none_fits = page.find_passages("harvest", 8, 20);
        assert_eq!((none_fits.found, none_fits.passages), (2, vec![]));
        assert_eq!(page.find_passages("zeppelin", 8, 8_000), PassageMatches::default());
        assert_eq!(page.find_passages(" ", 8, 8_000), PassageMatches::default());
    }

    #[test]
    fn a_page_is_read_on_in_whole_sentences_to_its_end() {
        let page = page();
        let mut pieces = Vec::new();
        let mut next = 0;
        while next < page.sentences().len() {
            let range = page.sentences_from(next, 50);
            next = range.end;
            pieces.push(page.text().expose()[page.bytes_of(&range)].to_owned());
        }
        assert_eq!(pieces[0], "Cork is bark. It is stripped by hand.");
        assert_eq!(pieces.last().unwrap(), "Bread is baked daily.");
        let read = pieces.join(" ");
        assert!(read.split_whitespace().eq(page.text().expose().split_whitespace()), "{read}");
        assert!(page.sentences_from(next, 50).is_empty());
        // A sentence that is longer than a piece is a piece of its own.
        assert_eq!(page.sentences_from(1, 3), 1..2);
    }
}
