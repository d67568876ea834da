//! The labels of citations: which texts are numbers of sources, and what a citation points to.

/// What a citation points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CitationTarget {
    /// An entry of the source list by its number or name; a footnote's begins with `^`.
    Label(String),
    /// The same, where it may be something else, such as a power or a version. It only counts if it is
    /// listed.
    Guess(String),
    /// An address or a path.
    Address(String),
}

/// Maximum number of numbers in one range.
const MAX_RANGE: u32 = 30;
/// The number in `text`, if a citation may have it: `7`, `[7]`, `^7`, `⁷`.
pub(super) fn citation_label(text: &str) -> Option<String> {
    let bare = text.trim().trim_matches(['[', ']', '(', ')', '^']);
    let plain: String = bare.trim().chars().map(|c| lowered_digit(c).unwrap_or(c)).collect();
    let digits = (1..=3).contains(&plain.len()) && plain.bytes().all(|byte| byte.is_ascii_digit());
    (digits && plain.bytes().any(|byte| byte != b'0'))
        .then(|| plain.trim_start_matches('0').to_owned())
}

/// The numbers listed in `text`: `1`, `1, 2`, `1-3`, `4, p. 12`, `cite: 1, 2`, `6†source`.
pub(super) fn citation_numbers(text: &str) -> Option<Vec<String>> {
    let text = text.trim().trim_matches(['[', ']', '【', '】']).trim();
    let text = text.strip_prefix("cite:").unwrap_or(text);
    if let Some((name, _)) = text.split_once('†') {
        let sound = |c: char| c.is_ascii_digit() || c == ':';
        let short = (1..=9).contains(&name.len());
        return (short && name.chars().all(sound)).then(|| vec![name.to_owned()]);
    }
    let mut found = Vec::new();
    for part in text.split([',', ';']) {
        let part = part.trim();
        if let Some(one) = citation_label(part) {
            found.push(one);
        } else if let Some((from, to)) = part.split_once(['-', '–', '—']) {
            let (from, to): (u32, u32) =
                (citation_label(from)?.parse().ok()?, citation_label(to)?.parse().ok()?);
            if from >= to || to - from > MAX_RANGE {
                return None;
            }
            found.extend((from..=to).map(|index| index.to_string()));
        } else if found.is_empty() || !is_place(part) {
            return None;
        }
    }
    Some(found)
}

/// `p. 12`, `pp. 3`, `S. 4`, `ch. 2`: a place in the source named before.
fn is_place(part: &str) -> bool {
    ["p", "S", "ch", "sec", "fig", "tab", "§", "Tab", "Fig", "cap"]
        .iter()
        .any(|prefix| part.starts_with(prefix))
}

/// The digit that a superscript digit stands for.
pub(super) fn lowered_digit(c: char) -> Option<char> {
    "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|it| it == c).and_then(|at| char::from_digit(at as u32, 10))
}

/// Whether a superscript number after `before` is a reference and not a power: after punctuation, or after a
/// word too long for a unit.
pub(super) fn is_raised_reference(before: &str) -> bool {
    let word = before.chars().rev().take_while(|c| c.is_alphabetic()).take(4).count();
    match before.chars().next_back() {
        None => false,
        Some(last) if last.is_alphabetic() => word >= 4,
        Some(last) => !last.is_ascii_digit() && lowered_digit(last).is_none(),
    }
}
