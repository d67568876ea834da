//! Selects the blocks of a page that are main text.
//!
//! Boosted regression trees (Friedman 2001) give each block the probability that a person would count it as main text. They
//! were fitted by `evals fit` on the development halves of WCXB, the Zyte article benchmark and the evaluation sets of
//! trafilatura and Readability (`keep.model` holds only numbers, no text of any page). The set of blocks with the highest
//! *expected F1* is kept (Lipton, Elkan & Naryanaswamy 2014). This lowers the threshold on pages where nothing is certain, so
//! that every page with words gives some text.
use std::collections::HashMap;
use std::sync::OnceLock;

use super::blocks::FlatBlock;
use super::dom::Dom;
use super::element_hints;
use super::features::{self, FEATURES, FeatureRow};
use super::metadata::{ARTICLE, FORUM, Metadata};
use super::smoothing;
use ibid_core::domain::BlockKind;

/// The probability of comments, related links and asides on an article's page is multiplied by this.
const ASIDE_FACTOR: f32 = 0.3;
/// That of what its element calls an advertisement.
const ADVERT_FACTOR: f32 = 0.2;
/// One in this many words of a page at most is advertisement.
const MAX_ADVERT_SHARE: u32 = 4;
/// That of a paragraph that is all link.
const LINK_FACTOR: f32 = 0.2;
/// Words; a shorter linked paragraph may be a name or an address.
const MIN_LINK_WORDS: u32 = 4;
/// Levels of probability that the expected F1 is averaged over.
const LEVELS: usize = 64;
/// The probability from which a table right below kept text is kept.
const MIN_TABLE_CHANCE: f32 = 0.1;
/// The probability from which a heading right above kept text is kept.
const MIN_HEADING_CHANCE: f32 = 0.2;
/// Bytes; a shorter title may be any heading.
const MIN_TITLE_BYTES: usize = 8;
/// Words; shorter texts, such as names and numbers, may be repeated on purpose.
const MIN_COPY_WORDS: u32 = 8;

type BlockPredicate<'a> = &'a dyn Fn(&FlatBlock) -> bool;

/// For each block, whether it is kept.
pub(super) fn select_blocks(
    trees: &BoostedTrees,
    dom: &Dom,
    flat: &[FlatBlock],
    meta: &Metadata,
) -> Vec<bool> {
    let rows = features::describe(dom, flat, meta);
    let mut chances = smoothing::smooth(dom, flat, &trees.predict(&rows));
    discount_asides(flat, meta, &mut chances);
    let mut kept = best_expected_f1(flat, &rescale_probabilities(flat, &chances));
    keep_tables_whole(flat, &chances, &mut kept);
    keep_code_of_kept(flat, &mut kept);
    keep_headings_of_kept(flat, &chances, &mut kept);
    drop_copies(dom, flat, &mut kept);
    drop_title(flat, meta, &mut kept);
    kept
}

/// Lowers the probability of advertisements; and of comments, related links and asides on a page that calls itself an article, and of
/// paragraphs that are all link. On forums and in collections these may be the main text.
fn discount_asides(flat: &[FlatBlock], meta: &Metadata, chances: &mut [f32]) {
    let beside = |block: &FlatBlock| {
        let aside = element_hints::COMMENTS | element_hints::RELATED | element_hints::ASIDE;
        block.hints & aside != 0
    };
    let leads_away = |block: &FlatBlock| {
        let text = !matches!(block.kind, BlockKind::Heading | BlockKind::TableRow);
        text && block.words >= MIN_LINK_WORDS && block.linked * 10 >= block.words * 9
    };
    let advertises = |block: &FlatBlock| block.hints & element_hints::ADVERT != 0;
    // A page that names much of itself so only has advertisements somewhere.
    let words = |of: BlockPredicate<'_>| -> u32 {
        flat.iter().filter(|block| of(block)).map(|block| block.words).sum()
    };
    if words(&advertises) <= words(&|_| true) / MAX_ADVERT_SHARE {
        for (_, chance) in flat.iter().zip(&mut *chances).filter(|pair| advertises(pair.0)) {
            *chance *= ADVERT_FACTOR;
        }
    }
    if !is_article(meta) {
        return;
    }
    let doubts: [(BlockPredicate<'_>, f32); 2] =
        [(&beside, ASIDE_FACTOR), (&leads_away, LINK_FACTOR)];
    for (doubted, factor) in doubts {
        // If all blocks are marked, the mark means nothing.
        if flat.iter().all(doubted) {
            continue;
        }
        for (_, chance) in flat.iter().zip(&mut *chances).filter(|pair| doubted(pair.0)) {
            *chance *= factor;
        }
    }
}

/// Whether a page calls itself an article.
fn is_article(meta: &Metadata) -> bool {
    meta.has_type(ARTICLE) && !meta.has_type(FORUM)
}

/// Lowers the probability of doubtful blocks if most of the expected text is in blocks that are nearly certain, as on the page
/// of an article: doubtful blocks are right or wrong together, and there is enough text without them. The numbers were found by
/// cross-validation.
fn rescale_probabilities(flat: &[FlatBlock], chances: &[f32]) -> Vec<f32> {
    let words = |least: f32| -> f32 {
        let sure = flat.iter().zip(chances).filter(|pair| *pair.1 > least);
        sure.map(|(it, p)| it.words as f32 * p).sum()
    };
    let power = 0.85 + words(0.8) / words(0.0).max(1e-6);
    chances.iter().map(|number| number.powf(power)).collect()
}

/// The set of blocks with the highest expected F1, counted in words: the most probable blocks, as many as raise it.
///
/// Pages differ in how much counts as main text, not in single blocks: if comments do not count, none of them does. So the
/// true text is taken to be all blocks above one level of probability, and all levels are equally likely. If each block were
/// doubted by itself, many doubtful ones would add up to a certain gain.
fn best_expected_f1(flat: &[FlatBlock], chances: &[f32]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..flat.len()).collect();
    order.sort_by(|a, b| chances[*b].total_cmp(&chances[*a]).then(a.cmp(b)));
    let mut sum = 0;
    let words: Vec<f32> = order
        .iter()
        .map(|at| {
            sum += flat[*at].words;
            sum as f32
        })
        .collect();
    let levels = (0..LEVELS).filter_map(|nth| {
        let level = (nth as f32 + 0.5) / LEVELS as f32;
        let above = order.partition_point(|at| chances[*at] >= level);
        Some(words[above.checked_sub(1)?])
    });
    let levels: Vec<f32> = levels.collect();
    let (mut best, mut upto) = (0.0, 0);
    for (nth, taken) in words.iter().enumerate() {
        let f1: f32 = levels.iter().map(|level| level.min(*taken) / (level + taken)).sum();
        if f1 >= best {
            best = f1;
            upto = nth + 1;
        }
    }
    let mut kept = vec![false; flat.len()];
    for at in &order[..upto] {
        kept[*at] = true;
    }
    kept
}

/// Keeps a table whole if its head or a third of its words is kept, or if it is right below kept text and not improbable. Rows
/// without their head mean nothing, nor does a head without rows.
fn keep_tables_whole(flat: &[FlatBlock], chances: &[f32], kept: &mut [bool]) {
    let row = |at: usize| flat.get(at).is_some_and(|value| value.row.is_some());
    let mut at = 0;
    while at < flat.len() {
        let end = (at..).find(|at| !row(*at)).unwrap_or(flat.len());
        if end > at {
            let words = |of: &dyn Fn(usize) -> bool| -> u32 {
                (at..end).filter(|at| of(*at)).map(|at| flat[at].words).sum()
            };
            let below = at > 0 && kept[at - 1] && chances[at] > MIN_TABLE_CHANCE;
            if kept[at] || below || 3 * words(&|at| kept[at]) >= words(&|_| true).max(1) {
                kept[at..end].fill(true);
            }
        }
        at = end + 1;
    }
}

/// Keeps code right below kept text, which is about the code.
fn keep_code_of_kept(flat: &[FlatBlock], kept: &mut [bool]) {
    for at in 1..flat.len() {
        if flat[at].kind == BlockKind::Code && flat[at].linked == 0 && kept[at - 1] {
            kept[at] = true;
        }
    }
}

/// Keeps a heading right above kept text: readers need it, and it has few words.
fn keep_headings_of_kept(flat: &[FlatBlock], chances: &[f32], kept: &mut [bool]) {
    for at in 0..flat.len().saturating_sub(1) {
        let heads = flat[at].kind == BlockKind::Heading && flat[at + 1].kind != BlockKind::Heading;
        if heads && kept[at + 1] && chances[at] > MIN_HEADING_CHANCE {
            kept[at] = true;
        }
    }
}

/// Drops copies of prose that was kept above: pages repeat their text for other screen sizes. A repetition in the same element
/// is the author's.
fn drop_copies(dom: &Dom, flat: &[FlatBlock], kept: &mut [bool]) {
    let mut seen = HashMap::new();
    for (block, kept) in flat.iter().zip(kept).filter(|pair| *pair.1) {
        if block.words >= MIN_COPY_WORDS && block.kind != BlockKind::Code {
            let parent = dom.parent(block.node);
            let first = *seen.entry(block.text.as_str()).or_insert((block.node, parent));
            *kept = first.0 == block.node || first.1 == parent;
        }
    }
}

/// Drops the title of an article from its text, because it is a separate field.
fn drop_title(flat: &[FlatBlock], meta: &Metadata, kept: &mut [bool]) {
    let Some(title) = meta.title.as_deref().filter(|_| is_article(meta)) else {
        return;
    };
    if kept.iter().filter(|flag| **flag).count() < 2 {
        return;
    }
    let title = title.to_lowercase();
    for (block, kept) in flat.iter().zip(kept).filter(|pair| *pair.1) {
        let named = block.kind == BlockKind::Heading && block.text.len() > MIN_TITLE_BYTES;
        *kept = !(named && block.text.to_lowercase() == title);
    }
}

/// Rows that are evaluated together.
const BATCH: usize = 16;

/// Trees of equal depth. The children of split `n` are `2n + 1` and `2n + 2`.
pub(super) struct BoostedTrees {
    base: f32,
    depth: usize,
    splits: Vec<(u16, f32)>,
    leaves: Vec<f32>,
}

impl BoostedTrees {
    /// The probability of each row.
    fn predict(&self, rows: &[FeatureRow]) -> Vec<f32> {
        let inner = (1 << self.depth) - 1;
        let mut sums = vec![self.base; rows.len()];
        // A few rows go down each tree together, so that their memory accesses overlap.
        for (rows, sums) in rows.chunks(BATCH).zip(sums.chunks_mut(BATCH)) {
            let trees = self.splits.chunks_exact(inner);
            for (splits, leaves) in trees.zip(self.leaves.chunks_exact(inner + 1)) {
                let mut at = [0_usize; BATCH];
                for _ in 0..self.depth {
                    for (at, row) in at.iter_mut().zip(rows) {
                        let (feature, threshold) = splits[*at];
                        *at = 2 * *at + 1 + usize::from(row[usize::from(feature)] > threshold);
                    }
                }
                for (sum, at) in sums.iter_mut().zip(at) {
                    *sum += leaves[at - inner];
                }
            }
        }
        for sum in &mut sums {
            *sum = 1.0 / (1.0 + (-*sum).exp());
        }
        sums
    }

    /// Parses the text form: a line `base count depth`, then one tree per line, with its splits as `feature:threshold` and its
    /// leaves. `None` if it is malformed.
    pub(super) fn parse(text: &str) -> Option<BoostedTrees> {
        let mut lines = text.lines();
        let mut head = lines.next()?.split(' ');
        let base = head.next()?.parse().ok()?;
        let count: usize = head.next()?.parse().ok()?;
        let depth: usize = head.next()?.parse().ok()?;
        let mut trees = BoostedTrees { base, depth, splits: Vec::new(), leaves: Vec::new() };
        for line in lines {
            for number in line.split(' ') {
                match number.split_once(':') {
                    Some((feature, threshold)) => {
                        let feature: u16 = feature.parse().ok()?;
                        if usize::from(feature) >= FEATURES {
                            return None;
                        }
                        trees.splits.push((feature, threshold.parse().ok()?));
                    }
                    None => trees.leaves.push(number.parse().ok()?),
                }
            }
        }
        let whole = trees.leaves.len() == count << depth
            && trees.splits.len() == count * ((1 << depth) - 1);
        whole.then_some(trees)
    }
}

/// The fitted trees.
pub(super) fn fitted_trees() -> &'static BoostedTrees {
    static TREES: OnceLock<BoostedTrees> = OnceLock::new();
    TREES.get_or_init(|| {
        // A test checks that the file parses. Without trees all blocks have the same probability.
        BoostedTrees::parse(include_str!("keep.model")).unwrap_or(BoostedTrees {
            base: 0.0,
            depth: 1,
            splits: Vec::new(),
            leaves: Vec::new(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fitted_trees_are_whole() {
        assert!(BoostedTrees::parse(include_str!("keep.model")).is_some());
    }
}
