//! The best few sentences of a page for each item.
use std::collections::BTreeMap;

use crate::domain::{ItemId, Stance};

pub(super) struct Found {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) items: Vec<(ItemId, f32)>,
    pub(super) claim: String,
    pub(super) stance: Stance,
    pub(super) doubt: bool,
}

/// The best few of a chunk for each item, within the tokens kept of a chunk; in the order of the
/// page. A short page is one chunk.
pub(super) fn keep_best(
    found: &mut Vec<Found>,
    most: usize,
    tokens_kept: usize,
    chunk_of: impl Fn(&Found) -> usize,
) {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|a, b| {
        found[*b].items[0]
            .1
            .total_cmp(&found[*a].items[0].1)
            .then(a.cmp(b))
    });
    let mut counts: BTreeMap<(usize, ItemId), usize> = BTreeMap::new();
    let mut spent: BTreeMap<usize, usize> = BTreeMap::new();
    let mut keep = vec![false; found.len()];
    let mut covered: Vec<(usize, usize)> = Vec::new();
    for nth in order {
        let chunk = chunk_of(&found[nth]);
        let it = &mut found[nth];
        it.items
            .retain(|(item, _)| counts.get(&(chunk, *item)).is_none_or(|row| *row < most));
        let cost = it.claim.split_whitespace().count() * 4 / 3;
        let so_far = spent.entry(chunk).or_insert(0);
        let overlaps = covered.iter().any(|(a, b)| it.first <= *b && *a <= it.last);
        if it.items.is_empty() || overlaps || (*so_far > 0 && *so_far + cost > tokens_kept) {
            continue;
        }
        *so_far += cost;
        covered.push((it.first, it.last));
        keep[nth] = true;
        for (item, _) in &it.items {
            *counts.entry((chunk, *item)).or_insert(0) += 1;
        }
    }
    let mut kept = keep.into_iter();
    found.retain(|_| kept.next().unwrap_or(false));
}
