//! From the scores of passages to ranked documents.
use tantivy::DocAddress;

use super::postings::ScoredRow;
use super::snapshot::{IndexSnapshot, RowId};

/// What a document's further passages add, as a share of their score.
const OTHER_PASSAGES_WEIGHT: f32 = 0.05;
/// Further passages of a document that add to its score.
const MAX_FURTHER: usize = 3;
/// Passages that are gathered into documents at first. There are more rounds if these do not decide.
const FIRST_ROUND: usize = 100;

/// A document that matches a query: its score and its matching passages, best first.
#[derive(Debug, Clone)]
pub(super) struct RankedDocument {
    pub(super) score: f32,
    pub(super) passages: Vec<(f32, RowId)>,
}

impl RankedDocument {
    /// The scores and addresses of its passages, best first.
    pub(super) fn addresses(
        &self,
        view: &IndexSnapshot,
    ) -> impl Iterator<Item = (f32, DocAddress)> {
        self.passages.iter().map(|passage| (passage.0, view.address(passage.1)))
    }
}

/// At least the best `n` documents, best first; ties in the order of document ids, which are hashes of file and position.
pub(super) fn by_document(view: &IndexSnapshot, scores: &[f32], n: usize) -> Vec<RankedDocument> {
    let mut looked_at = FIRST_ROUND.max(4 * n);
    loop {
        let found = top_rows(scores, looked_at);
        let least = found.iter().map(|it| it.score).fold(f32::MAX, f32::min);
        let all = found.len() < looked_at;
        let mut ranked = documents(view, scores, &found);
        // A document none of whose passages was looked at scores no more than this.
        let most = least * (1.0 + OTHER_PASSAGES_WEIGHT * MAX_FURTHER as f32);
        let safe = ranked.iter().take_while(|it| it.score > most).count();
        if all || safe >= n {
            ranked.truncate(if all { ranked.len() } else { safe });
            return ranked;
        }
        looked_at *= 2;
    }
}

/// The documents of the passages in `found`, with all their matching passages.
fn documents(view: &IndexSnapshot, scores: &[f32], found: &[ScoredRow]) -> Vec<RankedDocument> {
    let mut firsts: Vec<(u64, RowId)> = Vec::with_capacity(found.len());
    for at in found {
        if let Some((document, nth)) = view.document_position(at.row) {
            firsts.push((document, at.row.saturating_sub(nth)));
        }
    }
    firsts.sort_unstable();
    firsts.dedup();
    let rank_document = |(document, first): &(u64, RowId)| {
        // The passages of a document have consecutive rows.
        let rows = (*first..)
            .take_while(|row| view.document_position(*row).is_some_and(|at| at.0 == *document));
        let scored = rows.map(|row| (scores[row as usize], row));
        let mut passages: Vec<(f32, RowId)> = scored.filter(|pair| pair.0 > 0.0).collect();
        passages.sort_by(|a, b| b.0.total_cmp(&a.0));
        let further: f32 = passages.iter().skip(1).take(MAX_FURTHER).map(|passage| passage.0).sum();
        RankedDocument {
            score: passages.first().map_or(0.0, |passage| passage.0)
                + OTHER_PASSAGES_WEIGHT * further,
            passages,
        }
    };
    let mut ranked: Vec<RankedDocument> = firsts.iter().map(rank_document).collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

/// The rows whose score is at least that of the `n`-th best, or all that match if they are fewer. Ties with the last one are
/// kept, so that the order of rows in the index does not decide.
pub(super) fn top_rows(scores: &[f32], n: usize) -> Vec<ScoredRow> {
    let mut kept: Vec<ScoredRow> = Vec::new();
    let mut least = f32::MIN_POSITIVE;
    let mut room = 4 * n;
    for (row, score) in (0..).zip(scores) {
        if *score >= least {
            kept.push(ScoredRow { row, score: *score });
            if kept.len() >= room {
                least = keep_top(&mut kept, n);
                room = room.max(2 * kept.len());
            }
        }
    }
    keep_top(&mut kept, n);
    kept
}

/// Keeps the rows that score as the `n`-th best or better, and returns that score.
fn keep_top(kept: &mut Vec<ScoredRow>, n: usize) -> f32 {
    if kept.len() <= n || n == 0 {
        return f32::MIN_POSITIVE;
    }
    let (_, last, _) = kept.select_nth_unstable_by(n - 1, |a, b| b.score.total_cmp(&a.score));
    let least = last.score;
    kept.retain(|scored_row| scored_row.score >= least);
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_many_are_kept_with_all_that_tie() {
        let scores: Vec<f32> = (0..1000).map(|index| ((index * 37) % 100) as f32).collect();
        let found = top_rows(&scores, 15);
        assert_eq!(found.len(), 20);
        assert!(found.iter().all(|scored_row| scored_row.score >= 98.0));
        assert_eq!(top_rows(&[0.0, 2.0, 1.0], 5).len(), 2);
    }
}
