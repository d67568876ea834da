//! Evidence that is no voice of its own: it has the words of another source, or repeats the source that it names.
use crate::thresholds::{MIN_SAME_CLAIM_OVERLAP, MIN_SAME_WORDING};
use ibid_core::domain::words::{numbers, stem_overlap, tokens};
use ibid_core::domain::{Evidence, EvidenceStore};

/// Words below which two sources may have the same sentence by chance.
const MIN_COMPARED_WORDS: usize = 8;

/// The words of the quote of some evidence; none of a table row.
pub(crate) fn wording(evidence: &Evidence) -> Vec<String> {
    if evidence.table_header.is_some() {
        return Vec::new();
    }
    tokens(evidence.passage.text().expose()).into_iter().map(|token| token.text).collect()
}

/// Whether two texts have almost all of their words in the same order, and all numbers.
pub(crate) fn is_same_wording(one: &[String], other: &[String]) -> bool {
    let (most, least) = (one.len().max(other.len()), one.len().min(other.len()));
    let share = |words: usize| words as f32 / most.max(1) as f32;
    if least < MIN_COMPARED_WORDS || share(least) < MIN_SAME_WORDING {
        return false;
    }
    let is_number = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
    one.iter().filter(is_number).eq(other.iter().filter(is_number))
        && share(common_in_order(one, other)) >= MIN_SAME_WORDING
}

/// How many words two texts have in the same order: the length of their longest common subsequence.
fn common_in_order(one: &[String], other: &[String]) -> usize {
    let mut row = vec![0; other.len() + 1];
    for word in one {
        let mut diagonal = 0;
        for (nth, its) in other.iter().enumerate() {
            let above = row[nth + 1];
            row[nth + 1] = if word == its { diagonal + 1 } else { above.max(row[nth]) };
            diagonal = above;
        }
    }
    row[other.len()]
}

/// Whether `secondary` says of the same item what `primary` says, which its source names as its own source.
pub(crate) fn repeats_primary(
    notes: &EvidenceStore,
    secondary: &Evidence,
    primary: &Evidence,
) -> bool {
    let cites =
        notes.source(primary.source).is_some_and(|it| it.cited_by == Some(secondary.source));
    if !cites || !secondary.items.iter().any(|item| primary.items.contains(item)) {
        return false;
    }
    let values = |evidence: &Evidence| -> Vec<f64> {
        numbers(&evidence.claim).into_iter().map(|number| number.value).collect()
    };
    let (own, its) = (values(secondary), values(primary));
    let same_figures = !own.is_empty() && own.iter().all(|value| its.contains(value));
    same_figures || stem_overlap(&secondary.claim, &primary.claim) >= MIN_SAME_CLAIM_OVERLAP
}

/// Those of `all` that speak for themselves: of sources with the same words the first, and not who repeats the source it names.
pub(crate) fn own_voices<'e>(notes: &EvidenceStore, all: &[&'e Evidence]) -> Vec<&'e Evidence> {
    let words: Vec<Vec<String>> = all.iter().map(|evidence| wording(evidence)).collect();
    let repeats = |it: &Evidence| all.iter().any(|primary| repeats_primary(notes, it, primary));
    let copies = |nth: usize| {
        let mut earlier = all[..nth].iter().zip(&words);
        earlier.any(|(other, its)| {
            other.source != all[nth].source && is_same_wording(its, &words[nth])
        })
    };
    let alone = (0..all.len()).filter(|nth| !repeats(all[*nth]) && !copies(*nth));
    alone.map(|nth| all[nth]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_release_with_a_word_changed_is_the_same_wording_and_other_figures_are_not() {
        let words = |text: &str| -> Vec<String> {
            tokens(text).into_iter().map(|token| token.text).collect()
        };
        let text = "The new roof of the station held 63 percent of the rain that fell on it in its first year.";
        let own = words(text);
        assert!(is_same_wording(&own, &words(&text.replace("new roof", "green roof"))));
        assert!(!is_same_wording(&own, &words(&text.replace("63", "36"))));
        let told = "In its first year, 63 percent of the rain that fell on it was held by the new roof of the station.";
        assert!(!is_same_wording(&own, &words(told)));
        assert!(!is_same_wording(&words("Rain is water."), &words("Rain is water.")));
    }
}
