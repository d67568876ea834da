//! Which blocks of a page were written to be read.
//!
//! Boosted regression trees (Friedman 2001) give each block the chance that a person would count it
//! to the main text; they were fitted by `evals fit` on the development halves of WCXB, the Zyte
//! article benchmark and the evaluation sets of trafilatura and Readability (`keep.model`: numbers
//! alone, no text of any page). Of all sets of blocks
//! the one is kept whose *expected F1* is highest: the plug-in rule of Lipton, Elkan & Naryanaswamy
//! (2014), by which the threshold falls on pages where nothing is certain, so that no page with
//! words comes out empty.
use std::collections::HashSet;
use std::sync::OnceLock;

use super::blocks::Flat;
use super::chrome;
use super::dom::Dom;
use super::features::{self, FEATURES, Row};
use super::metadata::{ARTICLE, FORUM, Metadata};
use crate::domain::BlockKind;

/// For each block, whether it is kept.
pub(super) fn choose(trees: &Trees, dom: &Dom, flat: &[Flat], meta: &Metadata) -> Vec<bool> {
    let rows = features::describe(dom, flat, meta);
    let mut chances = trees.chances(&rows);
    doubt_what_is_beside_an_article(flat, meta, &mut chances);
    let mut kept = best_expected_f1(flat, &sharpened(flat, &chances));
    keep_tables_whole(flat, &mut kept);
    keep_code_of_kept(flat, &mut kept);
    keep_headings_of_kept(flat, &chances, &mut kept);
    keep_copies_once(flat, &mut kept);
    kept
}

/// What readers answer and what else there is to read are no part of a page that calls itself an
/// article; on forums and in collections they may be its matter.
fn doubt_what_is_beside_an_article(flat: &[Flat], meta: &Metadata, chances: &mut [f32]) {
    let beside = |it: &Flat| it.hints & (chrome::COMMENTS | chrome::RELATED | chrome::ASIDE) != 0;
    let article = meta.is_a(ARTICLE) && !meta.is_a(FORUM);
    // Where everything is so marked, the mark says nothing.
    if !article || flat.iter().all(beside) {
        return;
    }
    for (_, chance) in flat.iter().zip(chances).filter(|it| beside(it.0)) {
        *chance *= 0.3;
    }
}

/// Where most of what is expected stands in blocks that are nearly certain, as on the page of an
/// article, doubtful blocks are worth less than their chance: they are wrong together or right
/// together, and there is enough without them. The numbers were found by cross-validation.
fn sharpened(flat: &[Flat], chances: &[f32]) -> Vec<f32> {
    let words = |least: f32| -> f32 {
        let sure = flat.iter().zip(chances).filter(|it| *it.1 > least);
        sure.map(|(it, p)| it.words as f32 * p).sum()
    };
    let power = 0.85 + words(0.8) / words(0.0).max(1e-6);
    chances.iter().map(|it| it.powf(power)).collect()
}

/// The set of blocks with the highest expected F1, counted in words: the likeliest first, as many
/// as raise it.
fn best_expected_f1(flat: &[Flat], chances: &[f32]) -> Vec<bool> {
    let expected: f32 = flat
        .iter()
        .zip(chances)
        .map(|(it, p)| it.words as f32 * p)
        .sum();
    let mut order: Vec<usize> = (0..flat.len()).collect();
    order.sort_by(|a, b| chances[*b].total_cmp(&chances[*a]).then(a.cmp(b)));
    let (mut hits, mut taken, mut best, mut upto) = (0.0, 0.0, 0.0, 0);
    for (nth, at) in order.iter().enumerate() {
        let words = flat[*at].words as f32;
        hits += words * chances[*at];
        taken += words;
        let f1 = 2.0 * hits / (taken + expected);
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

/// A table of which the head or a third of the words is kept is kept whole: rows without their head, and a head without
/// its rows, say nothing.
fn keep_tables_whole(flat: &[Flat], kept: &mut [bool]) {
    let row = |at: usize| {
        flat.get(at)
            .is_some_and(|it| it.kind == BlockKind::TableRow)
    };
    let mut at = 0;
    while at < flat.len() {
        let end = (at..).find(|at| !row(*at)).unwrap_or(flat.len());
        if end > at {
            let words = |of: &dyn Fn(usize) -> bool| -> u32 {
                (at..end)
                    .filter(|at| of(*at))
                    .map(|at| flat[at].words)
                    .sum()
            };
            if kept[at] || 3 * words(&|at| kept[at]) >= words(&|_| true).max(1) {
                kept[at..end].fill(true);
            }
        }
        at = end + 1;
    }
}

/// Code right below kept text is kept with it: that text speaks of it.
fn keep_code_of_kept(flat: &[Flat], kept: &mut [bool]) {
    for at in 1..flat.len() {
        if flat[at].kind == BlockKind::Code && flat[at].linked == 0 && kept[at - 1] {
            kept[at] = true;
        }
    }
}

/// A heading right above kept text is kept with it: a reader needs it, and it costs few words.
fn keep_headings_of_kept(flat: &[Flat], chances: &[f32], kept: &mut [bool]) {
    for at in 0..flat.len().saturating_sub(1) {
        let heads = flat[at].kind == BlockKind::Heading && flat[at + 1].kind != BlockKind::Heading;
        if heads && kept[at + 1] && chances[at] > 0.2 {
            kept[at] = true;
        }
    }
}

/// A sentence or more of prose that was kept above is not kept again: pages carry copies of their text
/// for other sizes of screen.
fn keep_copies_once(flat: &[Flat], kept: &mut [bool]) {
    let mut said = HashSet::new();
    for (block, kept) in flat.iter().zip(kept).filter(|it| *it.1) {
        if block.words >= LEAST_COPY && block.kind != BlockKind::Code {
            *kept = said.insert(block.text.as_str());
        }
    }
}

/// Shorter texts, such as names and numbers, come twice with reason.
const LEAST_COPY: u32 = 8;

/// Trees of one depth; the children of split `n` are `2n + 1` and `2n + 2`.
pub(super) struct Trees {
    base: f32,
    depth: usize,
    splits: Vec<(u16, f32)>,
    leaves: Vec<f32>,
}

impl Trees {
    /// The chance of each row.
    fn chances(&self, rows: &[Row]) -> Vec<f32> {
        let inner = (1 << self.depth) - 1;
        let mut sums = vec![self.base; rows.len()];
        // A few rows at a time go through each tree: their ways down do not wait for one another.
        for (rows, sums) in rows.chunks(8).zip(sums.chunks_mut(8)) {
            let trees = self.splits.chunks_exact(inner);
            for (splits, leaves) in trees.zip(self.leaves.chunks_exact(inner + 1)) {
                for (row, sum) in rows.iter().zip(sums.iter_mut()) {
                    let mut at = 0;
                    while at < inner {
                        let (feature, threshold) = splits[at];
                        at = 2 * at + 1 + usize::from(row[usize::from(feature)] > threshold);
                    }
                    *sum += leaves[at - inner];
                }
            }
        }
        for sum in &mut sums {
            *sum = 1.0 / (1.0 + (-*sum).exp());
        }
        sums
    }

    /// The text form: `base count depth`, then one tree a line, its splits as `feature:threshold`
    /// and its leaves.
    pub(super) fn parse(text: &str) -> Option<Trees> {
        let mut lines = text.lines();
        let mut head = lines.next()?.split(' ');
        let base = head.next()?.parse().ok()?;
        let count: usize = head.next()?.parse().ok()?;
        let depth: usize = head.next()?.parse().ok()?;
        let mut trees = Trees {
            base,
            depth,
            splits: Vec::new(),
            leaves: Vec::new(),
        };
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
pub(super) fn trees() -> &'static Trees {
    static TREES: OnceLock<Trees> = OnceLock::new();
    TREES.get_or_init(|| {
        // A test holds that the file parses; without trees every block counts the same.
        Trees::parse(include_str!("keep.model")).unwrap_or(Trees {
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
        assert!(Trees::parse(include_str!("keep.model")).is_some());
    }
}
