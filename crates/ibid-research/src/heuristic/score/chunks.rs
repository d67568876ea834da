//! The parts of a long page that are scored.
use super::limits::CHUNK;
use super::scorer::RelevanceScorer;
use super::terms::WeightedTerm;
use ibid_core::domain::Page;

impl RelevanceScorer {
    /// The sentences of the chunks of a long page that match the question best, at most `most` chunks and
    /// `room` characters, in the order of the page.
    pub(super) fn best_chunks(&mut self, page: &Page, most: usize, mut room: usize) -> Vec<usize> {
        let mut chunks: Vec<(usize, usize)> = Vec::new();
        let mut start = 0;
        for (n, it) in page.sentences().iter().enumerate() {
            let from = page.sentences()[start].start;
            if (it.end - from) as usize > CHUNK && n > start {
                chunks.push((start, n));
                start = n;
            }
        }
        chunks.push((start, page.sentences().len()));
        let words: Vec<Vec<u32>> = chunks
            .iter()
            .map(|(from, to)| {
                let mut ids: Vec<u32> =
                    (*from..*to).flat_map(|n| self.lexicon.ids(page.sentence(n))).collect();
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
        let mut scored: Vec<(f32, usize)> = vec![(0.0, 0); chunks.len()];
        for (nth, slot) in scored.iter_mut().enumerate() {
            slot.1 = nth;
        }
        for term in &wanted {
            let counts: Vec<usize> = words.iter().map(|word| count_of(word, term.id)).collect();
            let df = counts.iter().filter(|count| **count > 0).count();
            let rare = ((chunks.len() as f32 + 1.0) / (df as f32 + 0.5)).ln().max(0.05);
            for (slot, tf) in scored.iter_mut().zip(counts) {
                let tf = tf as f32;
                slot.0 += term.weight * rare * tf / (tf + 1.2);
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut kept: Vec<usize> = Vec::new();
        for (score, nth) in scored.into_iter().take(most.max(1)) {
            let (from, to) = chunks[nth];
            let size = (page.sentences()[to - 1].end - page.sentences()[from].start) as usize;
            if score <= 0.0 || size > room {
                break;
            }
            room -= size;
            kept.push(nth);
        }
        kept.sort_unstable();
        kept.into_iter().flat_map(|nth| chunks[nth].0..chunks[nth].1).collect()
    }
}

fn count_of(sorted: &[u32], id: u32) -> usize {
    let from = sorted.partition_point(|number| *number < id);
    sorted[from..].iter().take_while(|it| **it == id).count()
}
