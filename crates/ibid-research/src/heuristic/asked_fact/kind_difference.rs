//! Whether two kinds of thing exclude each other: a footballer and a golfer.

/// Whether two kinds exclude each other: no word of one is in the other, or like it. `by_modifier`, they are of one noun, and each
/// has a word of its own before it.
pub(super) fn kinds_differ(
    one: &[String],
    other: &[String],
    by_modifier: bool,
    in_sport: bool,
) -> bool {
    let fresh = |a: &[String], b: &[String]| {
        a.iter().filter(|x| !b.iter().any(|y| are_alike(x, y))).count()
    };
    match by_modifier || in_sport && one.last() == other.last() {
        true => one.last() == other.last() && fresh(one, other) > 0 && fresh(other, one) > 0,
        false => fresh(one, other) == one.len(),
    }
}

/// Whether two words are of one family: "football" and "footballer".
pub(super) fn are_alike(a: &str, b: &str) -> bool {
    let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    a == b
        || same >= 4 && same * 5 >= a.chars().count().max(b.chars().count()) * 3
        || a.len() >= 4 && b.contains(a)
        || b.len() >= 4 && a.contains(b)
}
