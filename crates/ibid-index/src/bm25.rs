//! What the two rankers by words share: the constants of BM25 and of proximity, and the neighbouring words of a query.

/// BM25's saturation of repeated words, the usual value.
pub(crate) const K1: f64 = 1.2;
/// BM25's weight of the length of a text, the usual value.
pub(crate) const B: f64 = 0.75;
/// Two words of a text are near each other up to this distance.
pub(crate) const NEAR: usize = 4;
/// Two words of a query are neighbours up to this distance: there may be stop words between them.
const NEIGHBOURS: usize = 3;

/// The pairs of different neighbouring words of a query, and their distance. `words` holds each word with its position.
pub(crate) fn neighbours<T: PartialEq>(
    words: &[(T, usize)],
) -> impl Iterator<Item = (&T, &T, usize)> {
    words
        .windows(2)
        .map(|pair| (&pair[0].0, &pair[1].0, pair[1].1 - pair[0].1))
        .filter(|(first, second, distance)| first != second && *distance <= NEIGHBOURS)
}
