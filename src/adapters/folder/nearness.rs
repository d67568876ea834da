//! Query words that stand together in a passage as they do in the query.
use super::lexicon::Lexicon;
use super::postings::saturated;
use super::rank::Wanted;
use super::view::Row;

/// Two words are near up to this many places apart.
const NEAR: u32 = 4;
/// Two words of the query belong together up to this many places apart: stop words may lie between.
const TOGETHER: usize = 3;
/// Weight of the bonus beside the score of the words alone (Metzler and Croft 2005 give their
/// unordered windows 0.05 to 0.1).
const WEIGHT: f32 = 0.1;

/// What nearness adds to each of `passages`, in their order.
pub(super) fn nearness(
    lexicon: &dyn Lexicon,
    wanted: &[Wanted<'_>],
    sequence: &[(usize, usize)],
    passages: &[Row],
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
    let terms: Vec<_> = wanted.iter().map(|it| (it.term, &it.found)).collect();
    let places = lexicon.places(&terms, passages)?;
    for (at, bonus) in bonus.iter_mut().enumerate() {
        for (a, b) in &pairs {
            let near = places
                .get(at, *a)
                .iter()
                .map(|x| {
                    let near = |y: &&u32| (1..=NEAR).contains(&x.abs_diff(**y));
                    places.get(at, *b).iter().filter(near).count()
                })
                .sum::<usize>();
            let weight = (wanted[*a].idf + wanted[*b].idf) / 2.0;
            *bonus += WEIGHT * weight * saturated(near as f32, 1.0);
        }
    }
    Ok(bonus)
}
