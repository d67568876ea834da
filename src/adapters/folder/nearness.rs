//! Query words that stand together in a passage as they do in the query.
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Searcher};

use super::postings::{At, Wanted, postings, saturated};
use super::schema::Fields;

/// Two words are near up to this many places apart.
const NEAR: u32 = 4;
/// Two words of the query belong together up to this many places apart: stop words may lie between.
const TOGETHER: usize = 3;
/// Weight of the bonus beside the score of the words alone (Metzler and Croft 2005 give their
/// unordered windows 0.05 to 0.1).
const WEIGHT: f32 = 0.1;

/// What nearness adds to each of `passages`, in their order.
pub(super) fn nearness(
    searcher: &Searcher,
    fields: Fields,
    wanted: &[Wanted],
    sequence: &[(usize, usize)],
    passages: &[At],
) -> tantivy::Result<Vec<f32>> {
    let mut pairs: Vec<(usize, usize)> = sequence
        .windows(2)
        .filter(|it| it[0].0 != it[1].0 && it[1].1 - it[0].1 <= TOGETHER)
        .map(|it| (it[0].0, it[1].0))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut bonus = vec![0.0; passages.len()];
    if pairs.is_empty() {
        return Ok(bonus);
    }
    let places = places(searcher, fields, wanted, passages)?;
    for (bonus, places) in bonus.iter_mut().zip(&places) {
        for (a, b) in &pairs {
            let near = places[*a]
                .iter()
                .map(|x| {
                    let near = |y: &&u32| (1..=NEAR).contains(&x.abs_diff(**y));
                    places[*b].iter().filter(near).count()
                })
                .sum::<usize>();
            let weight = (wanted[*a].idf + wanted[*b].idf) / 2.0;
            *bonus += WEIGHT * weight * saturated(near as f32, 1.0);
        }
    }
    Ok(bonus)
}

/// For each passage the places of each term in its body.
fn places(
    searcher: &Searcher,
    fields: Fields,
    wanted: &[Wanted],
    passages: &[At],
) -> tantivy::Result<Vec<Vec<Vec<u32>>>> {
    let mut found = vec![vec![Vec::new(); wanted.len()]; passages.len()];
    let mut order: Vec<usize> = (0..passages.len()).collect();
    order.sort_by_key(|it| (passages[*it].segment, passages[*it].doc));
    for (ord, segment) in searcher.segment_readers().iter().enumerate() {
        for (nth, term) in wanted.iter().enumerate() {
            let option = IndexRecordOption::WithFreqsAndPositions;
            let Some(mut it) = postings(segment, fields.body, &term.text, option)? else {
                continue;
            };
            for at in order.iter().filter(|it| passages[**it].segment == ord) {
                let doc = passages[*at].doc;
                if it.doc() < doc {
                    it.seek(doc);
                }
                if it.doc() == doc {
                    it.positions(&mut found[*at][nth]);
                }
            }
        }
    }
    Ok(found)
}
