//! The parts of a long page that are scored.
use std::ops::Range;

use super::page::PageInput;
use super::scorer::RelevanceScorer;
use super::terms::WeightedTerm;
use crate::thresholds::{MIN_WORD_MATCH, OTHER_SUBJECT_WEIGHT};
use ibid_core::domain::Page;

/// The chunks of a page as ranges of sentences, each at most `length` characters long unless a single sentence is longer.
pub(crate) fn chunk_ranges(page: &Page, length: usize) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    for (n, it) in page.sentences().iter().enumerate() {
        let from = page.sentences()[start].start;
        if (it.end - from) as usize > length && n > start {
            chunks.push(start..n);
            start = n;
        }
    }
    chunks.push(start..page.sentences().len());
    chunks
}

impl RelevanceScorer {
    /// The sentences of the best chunks of a long page, at most as many and as long as `reading` says, in the order of the
    /// page.
    pub(super) fn best_chunks(&mut self, reading: &PageInput<'_>) -> Vec<usize> {
        let page = reading.page;
        let chunks = chunk_ranges(page, reading.chunk_length);
        let mut scored: Vec<(f32, usize)> = if reading.chunk_scores.len() == chunks.len() {
            reading.chunk_scores.iter().copied().zip(0..).collect()
        } else {
            let by_words = self.score_chunks(page, &chunks);
            by_words.into_iter().zip(0..).filter(|(score, _)| *score > 0.0).collect()
        };
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut room = reading.whole;
        let mut kept: Vec<usize> = Vec::new();
        for (_, nth) in scored.into_iter().take(reading.chunks.max(1)) {
            let Range { start, end } = chunks[nth];
            let size = (page.sentences()[end - 1].end - page.sentences()[start].start) as usize;
            if size > room {
                break;
            }
            room -= size;
            kept.push(nth);
        }
        kept.sort_unstable();
        kept.into_iter().flat_map(|nth| chunks[nth].clone()).collect()
    }

    /// How well each chunk matches the question and, less, its items, by their words.
    fn score_chunks(&mut self, page: &Page, chunks: &[Range<usize>]) -> Vec<f32> {
        let words: Vec<Vec<u32>> = chunks
            .iter()
            .map(|chunk| {
                let mut ids: Vec<u32> =
                    chunk.clone().flat_map(|n| self.lexicon.ids(page.sentence(n))).collect();
                ids.sort_unstable();
                ids
            })
            .collect();
        let mut wanted = self.question.clone();
        for item_matcher in &self.item_matchers {
            for term in &item_matcher.terms {
                if !wanted.iter().any(|it| it.id == term.id) {
                    wanted.push(WeightedTerm { weight: term.weight * 0.3, ..*term });
                }
            }
        }
        let mut scores = vec![0.0; chunks.len()];
        for term in &wanted {
            let counts: Vec<usize> = words.iter().map(|word| count_of(word, term.id)).collect();
            let df = counts.iter().filter(|count| **count > 0).count();
            let rare = ((chunks.len() as f32 + 1.0) / (df as f32 + 0.5)).ln().max(0.05);
            for (score, tf) in scores.iter_mut().zip(counts) {
                let tf = tf as f32;
                *score += term.weight * rare * tf / (tf + 1.2);
            }
        }
        // A part that speaks of the question's subject, or stands beside one that does, goes before parts on others of its kind.
        for which in self.subject_words() {
            let named: Vec<bool> =
                words.iter().map(|ids| self.match_strength(which, ids) >= MIN_WORD_MATCH).collect();
            for (at, score) in scores.iter_mut().enumerate() {
                let around = at.saturating_sub(1)..(at + 2).min(named.len());
                if !named[around].contains(&true) {
                    *score *= OTHER_SUBJECT_WEIGHT;
                }
            }
        }
        scores
    }
}

fn count_of(sorted: &[u32], id: u32) -> usize {
    let from = sorted.partition_point(|number| *number < id);
    sorted[from..].iter().take_while(|it| **it == id).count()
}
