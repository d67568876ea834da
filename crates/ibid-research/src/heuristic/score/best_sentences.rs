//! The best few sentences of a page for each item.
use std::collections::BTreeMap;

use super::limits::{CHUNK_CHARS, PAGE_CUT};
use ibid_core::domain::{BlockKind, ItemId, Page, Stance};

pub(super) struct SentenceMatch {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The heading that says what it is about, where it does not.
    pub(super) heading: Option<usize>,
    pub(super) items: Vec<(ItemId, f32)>,
    pub(super) claim: String,
    pub(super) stance: Stance,
    pub(super) doubt: bool,
}

/// The unit a sentence is counted in: the chunk of a long page, and the section. Only the chunk limits the
/// tokens kept.
pub(super) fn unit_of(page: &Page, n: usize) -> (usize, usize) {
    let sentences = page.sentences();
    let heading = sentences[..n.min(sentences.len())]
        .iter()
        .rposition(|sentence| sentence.kind == BlockKind::Heading)
        .unwrap_or(0);
    let chunk = match sentences.get(n) {
        Some(it) if page.text().len() > PAGE_CUT => it.start as usize / CHUNK_CHARS,
        _ => 0,
    };
    (chunk, heading)
}

/// Keeps the best sentences of a unit for each item, within the tokens of a chunk; in the order of the page.
pub(super) fn keep_best(
    found: &mut Vec<SentenceMatch>,
    tokens_kept: usize,
    unit_of: impl Fn(&SentenceMatch) -> (usize, usize),
    max_claims: impl Fn(ItemId) -> usize,
) {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|a, b| found[*b].items[0].1.total_cmp(&found[*a].items[0].1).then(a.cmp(b)));
    let mut counts: BTreeMap<((usize, usize), ItemId), usize> = BTreeMap::new();
    let mut spent: BTreeMap<usize, usize> = BTreeMap::new();
    let mut keep = vec![false; found.len()];
    let mut covered: Vec<(usize, usize)> = Vec::new();
    for nth in order {
        let unit = unit_of(&found[nth]);
        let it = &mut found[nth];
        it.items.retain(|(item, _)| {
            counts.get(&(unit, *item)).is_none_or(|row| *row < max_claims(*item))
        });
        let cost = it.claim.split_whitespace().count() * 4 / 3;
        let so_far = spent.entry(unit.0).or_insert(0);
        // Sentences that say what it is about may be kept for themselves, too.
        let overlaps = covered.iter().any(|(first, last)| (*first..=*last).contains(&it.last));
        if it.items.is_empty() || overlaps || (*so_far > 0 && *so_far + cost > tokens_kept) {
            continue;
        }
        *so_far += cost;
        covered.push((it.first, it.last));
        keep[nth] = true;
        for (item, _) in &it.items {
            *counts.entry((unit, *item)).or_insert(0) += 1;
        }
    }
    let mut kept = keep.into_iter();
    found.retain(|_| kept.next().unwrap_or(false));
}
