//! Which blocks of a page were written to be read.
//!
//! Boosted regression trees (Friedman 2001) give each block the chance that a person would count it
//! to the main text; they were fitted by `evals fit` on the development halves of WCXB, the Zyte
//! article benchmark and the evaluation sets of trafilatura and Readability (`keep.model`: numbers
//! alone, no text of any page). Of all sets of blocks
//! the one is kept whose *expected F1* is highest (Lipton, Elkan & Naryanaswamy 2014), by which the
//! threshold falls on pages where nothing is certain, so that no page with words comes out empty.
use std::collections::HashMap;
use std::sync::OnceLock;

use super::blocks::Flat;
use super::chrome;
use super::dom::Dom;
use super::features::{self, FEATURES, Row};
use super::metadata::{ARTICLE, FORUM, Metadata};
use super::together;
use crate::domain::BlockKind;

/// What is asked of a block.
type Asked<'a> = &'a dyn Fn(&Flat) -> bool;

/// For each block, whether it is kept.
pub(super) fn choose(trees: &Trees, dom: &Dom, flat: &[Flat], meta: &Metadata) -> Vec<bool> {
    let rows = features::describe(dom, flat, meta);
    let mut chances = together::lean(dom, flat, &trees.chances(&rows));
    doubt_what_is_beside_an_article(flat, meta, &mut chances);
    let mut kept = best_expected_f1(flat, &sharpened(flat, &chances));
    keep_tables_whole(flat, &chances, &mut kept);
    keep_code_of_kept(flat, &mut kept);
    keep_headings_of_kept(flat, &chances, &mut kept);
    keep_copies_once(dom, flat, &mut kept);
    drop_title(flat, meta, &mut kept);
    kept
}

/// What readers answer and what else there is to read are no part of a page that calls itself an
/// article; on forums and in collections they may be its matter. Nor is a paragraph that is all link:
/// it leads to another article.
fn doubt_what_is_beside_an_article(flat: &[Flat], meta: &Metadata, chances: &mut [f32]) {
    let beside = |it: &Flat| it.hints & (chrome::COMMENTS | chrome::RELATED | chrome::ASIDE) != 0;
    let leads_away = |it: &Flat| {
        let text = !matches!(it.kind, BlockKind::Heading | BlockKind::TableRow);
        text && it.words >= LEAST_LEAD && it.linked * 10 >= it.words * 9
    };
    if !is_article(meta) {
        return;
    }
    let doubts: [(Asked<'_>, f32); 2] = [(&beside, 0.3), (&leads_away, 0.2)];
    for (doubted, factor) in doubts {
        // Where everything is so marked, the mark says nothing.
        if flat.iter().all(doubted) {
            continue;
        }
        for (_, chance) in flat.iter().zip(&mut *chances).filter(|it| doubted(it.0)) {
            *chance *= factor;
        }
    }
}

/// A link of fewer words may be a paragraph's only one, such as a name or an address.
const LEAST_LEAD: u32 = 4;

/// Whether a page calls itself an article.
fn is_article(meta: &Metadata) -> bool {
    meta.is_a(ARTICLE) && !meta.is_a(FORUM)
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
///
/// What a page's author or a reader counts to the text differs from page to page by how much rather
/// than by which block: where the comments are not text, all of them are not. So the gold text is
/// taken to be all blocks above one level of chance, which is as likely to be here as there; were
/// blocks doubted each by itself, many doubtful ones would add up to a sure gain.
fn best_expected_f1(flat: &[Flat], chances: &[f32]) -> Vec<bool> {
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
        let f1: f32 = levels.iter().map(|it| it.min(*taken) / (it + taken)).sum();
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

/// How many levels of chance the expected F1 is summed over.
const LEVELS: usize = 64;

/// A table of which the head or a third of the words is kept, or that stands right below kept text and may
/// be of it, is kept whole: rows without their head, and a head without
/// its rows, say nothing.
fn keep_tables_whole(flat: &[Flat], chances: &[f32], kept: &mut [bool]) {
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
            let below = at > 0 && kept[at - 1] && chances[at] > LEAST_BELOW;
            if kept[at] || below || 3 * words(&|at| kept[at]) >= words(&|_| true).max(1) {
                kept[at..end].fill(true);
            }
        }
        at = end + 1;
    }
}

/// The chance from which a table right below kept text goes with it.
const LEAST_BELOW: f32 = 0.1;

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
/// for other sizes of screen. What comes again in the same element its author repeats.
fn keep_copies_once(dom: &Dom, flat: &[Flat], kept: &mut [bool]) {
    let mut said = HashMap::new();
    for (block, kept) in flat.iter().zip(kept).filter(|it| *it.1) {
        if block.words >= LEAST_COPY && block.kind != BlockKind::Code {
            let parent = dom.parent(block.node);
            let first = *said
                .entry(block.text.as_str())
                .or_insert((block.node, parent));
            *kept = first.0 == block.node || first.1 == parent;
        }
    }
}

/// The title of an article is told beside its text.
fn drop_title(flat: &[Flat], meta: &Metadata, kept: &mut [bool]) {
    let Some(title) = meta.title.as_deref().filter(|_| is_article(meta)) else {
        return;
    };
    if kept.iter().filter(|it| **it).count() < 2 {
        return;
    }
    let title = title.to_lowercase();
    for (block, kept) in flat.iter().zip(kept).filter(|it| *it.1) {
        let named = block.kind == BlockKind::Heading && block.text.len() > LEAST_TITLE;
        *kept = !(named && block.text.to_lowercase() == title);
    }
}

/// Bytes of a shorter title may be any heading.
const LEAST_TITLE: usize = 8;

/// Shorter texts, such as names and numbers, come twice with reason.
const LEAST_COPY: u32 = 8;

/// How many rows go down a tree together.
const ABREAST: usize = 16;

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
        // A few rows at a time go down each tree together, so that none waits for another's numbers.
        for (rows, sums) in rows.chunks(ABREAST).zip(sums.chunks_mut(ABREAST)) {
            let trees = self.splits.chunks_exact(inner);
            for (splits, leaves) in trees.zip(self.leaves.chunks_exact(inner + 1)) {
                let mut at = [0_usize; ABREAST];
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
