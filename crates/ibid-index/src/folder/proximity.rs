//! The proximity bonus: neighbouring words of the query that are close together in a passage.
use super::postings::saturate;
use super::query_terms::QueryTerm;
use super::snapshot::RowId;
use super::term_index::TermIndex;
use crate::bm25::{NEAR, neighbours};

/// The weight of the bonus relative to the score of the words alone (Metzler and Croft 2005 give their unordered windows
/// 0.05 to 0.1).
const WEIGHT: f32 = 0.1;

/// The bonus of each of `passages`, in their order.
pub(super) fn proximity(
    lexicon: &dyn TermIndex,
    wanted: &[QueryTerm<'_>],
    sequence: &[(usize, usize)],
    passages: &[RowId],
) -> tantivy::Result<Vec<f32>> {
    let mut pairs: Vec<(usize, usize)> =
        neighbours(sequence).map(|(first, second, _)| (*first, *second)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut bonus = vec![0.0; passages.len()];
    if pairs.is_empty() {
        return Ok(bonus);
    }
    let terms: Vec<_> = wanted.iter().map(|term| (term.term, &term.postings)).collect();
    let places = lexicon.positions(&terms, passages)?;
    for (at, bonus) in bonus.iter_mut().enumerate() {
        for (a, b) in &pairs {
            let near = places
                .get(at, *a)
                .iter()
                .map(|x| {
                    let near = |y: &&u32| (1..=NEAR as u32).contains(&x.abs_diff(**y));
                    places.get(at, *b).iter().filter(near).count()
                })
                .sum::<usize>();
            let weight = (wanted[*a].idf + wanted[*b].idf) / 2.0;
            *bonus += WEIGHT * weight * saturate(near as f32, 1.0);
        }
    }
    Ok(bonus)
}
