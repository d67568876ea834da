//! Fits the trees that choose a page's main text (`src/adapters/documents/html/keep.model`).
//!
//! Gradient boosting with logistic loss (Friedman 2001) over histograms of 48 bins, on the blocks of
//! gold pages; a block's label is the share of its word triples that the gold text has, or, where a
//! set has only pieces of the text, whether a piece stands in the block. Each page weighs the same
//! within its set. The figures printed are those of `evals extract`, by five-fold cross-validation
//! over sites: what to expect of sites never seen.
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ibid_extract::{decode_page, describe_blocks, main_text_with};
use serde_json::Value;

use crate::align;
use crate::extract::{gold, read, tally, text};
use crate::generated::{self, Gold};
use crate::overlap::folded;
use crate::peers::PeerResult;
use crate::program::flag;
use crate::{Fault, Measured, Outcome};

/// The sets and how much a page of each weighs. What the last one gives for gold is another program's
/// output.
const SETS: [(&str, f32); 4] = [
    ("extract-wcxb/dev", 1.0),
    ("extract-zyte/dev", 1.0),
    ("extract-trafilatura/dev", 1.0),
    ("extract-readability/dev", 0.3),
];

/// How much of a page's weight one has that is known in pieces only.
const PIECES_WEIGHT: f32 = 0.3;

/// Trees of one boosting, and how many boostings are averaged, each of other samples of blocks and
/// features: what one has by chance the others have not. More would make reading slower.
const TREES: usize = 120;
const BOOSTINGS: usize = 2;
const DEPTH: usize = 5;
const RATE: f32 = 0.08;
const RIDGE: f32 = 1.0;
const LEAST_WEIGHT: f32 = 5.0;
const BINS: usize = 48;
const FOLDS: usize = 5;
/// Share of blocks, and of features, that each tree sees, in per cent.
const ROWS_SEEN: u64 = 60;
const FEATURES_SEEN: u64 = 30;

/// Runs `evals fit [--out FILE]`; without `--out` only the cross-validation is done.
pub(crate) fn run(args: &[String]) -> Outcome {
    let mut pages = Vec::new();
    for (name, weight) in SETS {
        load(&crate::sets::shared(name), name, weight, &mut pages)?;
    }
    cross_validated(&pages, TREES)?;
    if let Some(path) = flag(args, "--out").map(PathBuf::from) {
        let all: Vec<&TrainingPage> = pages.iter().collect();
        let model = fit(&all, TREES);
        std::fs::write(&path, model.text())
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(Measured::new(pages.len(), "pages"))
}

/// Generated articles in the place of each set, and few trees; of such, most must be found on sites not learned from.
pub(crate) fn small(_: &[String]) -> Outcome {
    let mut pages = Vec::new();
    for ((name, weight), gold) in
        SETS.into_iter().zip([Gold::Words, Gold::Shingles, Gold::Pieces, Gold::Words])
    {
        let dir = tempfile::tempdir()?;
        generated::pages(dir.path(), &gold)?;
        load(dir.path(), name, weight, &mut pages)?;
    }
    let least = cross_validated(&pages, TREES / 10)?;
    if least < 0.8 {
        Err(format!("the main text of plain articles is found to {least:.3} only").into())
    } else {
        Ok(Measured::new(pages.len(), "pages"))
    }
}

/// Prints the figures on sites not learned from; the least of those by which the sets are measured.
fn cross_validated(pages: &[TrainingPage], trees: usize) -> Result<f64, Fault> {
    let mut least = 1.0_f64;
    let all: Vec<&TrainingPage> = pages.iter().collect();
    let mut said: Vec<String> = vec![String::new(); all.len()];
    for fold in 0..FOLDS {
        let train: Vec<&TrainingPage> =
            all.iter().copied().filter(|page| page.fold != fold).collect();
        let model = fit(&train, trees).text();
        for (said, page) in said.iter_mut().zip(&all).filter(|pair| pair.1.fold == fold) {
            *said = main_text_with(&page.html, &model).unwrap_or_default();
        }
    }
    for (name, _) in SETS {
        let mut rows = Vec::new();
        let mut peer = PeerResult::default();
        for (page, said) in all.iter().zip(&said).filter(|pair| pair.0.set == name) {
            rows.push(page.gold.clone());
            peer.said.push(said.clone());
        }
        if rows.is_empty() {
            return Err(format!("{name} has no pages").into());
        }
        let figures = tally(&rows, &peer).figures();
        least = figures.first().map_or(least, |figure| least.min(figure.1));
        let figures: Vec<String> =
            figures.iter().map(|(name, figure)| format!("{name} {figure:.4}")).collect();
        println!("{name}, cross-validated: {}", figures.join("  "));
    }
    Ok(least)
}

struct TrainingPage {
    set: &'static str,
    gold: Value,
    html: String,
    fold: usize,
    blocks: Vec<TrainingBlock>,
}

struct TrainingBlock {
    row: Vec<f32>,
    label: f32,
    weight: f32,
}

fn load(
    dir: &Path,
    set: &'static str,
    weight: f32,
    into: &mut Vec<TrainingPage>,
) -> Result<(), String> {
    for gold in gold(dir)? {
        let Some(path) = text(&gold, "html") else {
            continue;
        };
        let bytes =
            if path.contains('<') { path.as_bytes().to_vec() } else { read(&dir.join(path))? };
        let html = decode_page(&bytes);
        let expected = text(&gold, "expected_html").map(|text| {
            let blocks = describe_blocks(text).into_iter().map(|describe_block| describe_block.0);
            blocks.collect::<Vec<_>>().join("\n")
        });
        let whole = text(&gold, "main_content").or(text(&gold, "article_body"));
        let blocks = match whole.or(expected.as_deref()) {
            Some(whole) => by_text(&html, whole, weight),
            None => by_pieces(&html, &gold, weight * PIECES_WEIGHT),
        };
        let fold = fold(text(&gold, "url").or(text(&gold, "id")).unwrap_or_default());
        into.push(TrainingPage { set, gold, html, fold, blocks });
    }
    Ok(())
}

/// The fold of a page's site: all pages of a site are in one.
fn fold(url: &str) -> usize {
    let host = url.rsplit("::").next().unwrap_or(url);
    let host = host.split_once("://").map_or(host, |parts| parts.1);
    let host = host.split(['/', ':', '?', '-']).next().unwrap_or(host);
    let dots: Vec<usize> = host.rmatch_indices('.').map(|rmatch_index| rmatch_index.0).collect();
    let site = dots.get(1).map_or(host, |dot| &host[dot + 1..]);
    // FNV-1a: the same on every machine.
    let hash = site.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % FOLDS as u64) as usize
}

/// Blocks by how much of them stands in the gold text.
fn by_text(html: &str, gold: &str, weight: f32) -> Vec<TrainingBlock> {
    let described = describe_blocks(html);
    let texts: Vec<&str> = described.iter().map(|pair| pair.0.as_str()).collect();
    let labels = labels(&texts, gold);
    let blocks = described.into_iter().zip(labels).map(|((text, row), label)| {
        let weight = (words(&text).len() as f32).powf(0.8);
        TrainingBlock { row, label, weight }
    });
    weighed(blocks.filter(|block| block.weight > 0.0).collect(), weight)
}

/// The share of each block that stands in the gold text: of its word triples, or, where it is short and
/// its words may stand in many places, of the words that an alignment of both texts pairs.
pub(crate) fn labels(texts: &[&str], gold: &str) -> Vec<f32> {
    let gold = words(gold);
    let triples: HashSet<&[String]> = gold.windows(3).collect();
    let joined = format!(" {} ", gold.join(" "));
    let blocks: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    let paired = align::paired(&blocks, &gold);
    let label = |(at, words): (usize, &Vec<String>)| {
        if words.len() >= LEAST_TRIPLES {
            let hits = words.windows(3).filter(|window| triples.contains(window)).count();
            return hits as f32 / (words.len() - 2) as f32;
        }
        match &paired {
            Some(paired) => paired[at] as f32 / words.len().max(1) as f32,
            None => f32::from(u8::from(joined.contains(&format!(" {} ", words.join(" "))))),
        }
    };
    blocks.iter().enumerate().map(label).collect()
}

/// A shorter block is found by alignment.
const LEAST_TRIPLES: usize = 6;

/// Blocks by the pieces that stand in them; of the others nothing is known.
fn by_pieces(html: &str, gold: &Value, weight: f32) -> Vec<TrainingBlock> {
    let pieces = |name: &str| -> Vec<String> {
        let all = gold.get(name).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(|page| page.as_str().map(folded)).collect()
    };
    let (wanted, unwanted) = (pieces("must_contain"), pieces("must_not_contain"));
    let blocks = describe_blocks(html).into_iter().filter_map(|(text, row)| {
        let text = folded(&text);
        let has = |all: &[String]| all.iter().any(|it| text.contains(it.as_str()));
        let label = match (has(&wanted), has(&unwanted)) {
            (false, false) => return None,
            (_, true) => 0.0,
            (true, false) => 1.0,
        };
        Some(TrainingBlock { row, label, weight: 1.0 })
    });
    weighed(blocks.collect(), weight)
}

/// All blocks of a page together weigh a hundred times `weight`.
fn weighed(mut blocks: Vec<TrainingBlock>, weight: f32) -> Vec<TrainingBlock> {
    let total: f32 = blocks.iter().map(|block| block.weight).sum();
    for block in &mut blocks {
        block.weight *= weight * 100.0 / total.max(1e-3);
    }
    blocks
}

fn words(text: &str) -> Vec<String> {
    crate::overlap::words(&text.to_lowercase()).into_iter().map(str::to_owned).collect()
}

/// One tree: `(feature, threshold)` of each split, then the leaves; the children of split `n` are
/// `2n + 1` and `2n + 2`.
struct Tree {
    splits: Vec<(usize, f32)>,
    leaves: Vec<f32>,
}

struct TreeModel {
    base: f32,
    trees: Vec<Tree>,
}

const INNER: usize = (1 << DEPTH) - 1;

/// A split that sends every block to the left.
const NO_SPLIT: (usize, f32) = (0, 9e9);

impl Tree {
    fn leaf(&self, row: &[f32]) -> usize {
        let mut at = 0;
        while at < INNER {
            let (feature, threshold) = self.splits[at];
            at = 2 * at + 1 + usize::from(row[feature] > threshold);
        }
        at - INNER
    }
}

impl TreeModel {
    fn text(&self) -> String {
        let mut out = format!("{} {} {DEPTH}\n", self.base, self.trees.len());
        for tree in &self.trees {
            let round = |it: f32, to: f32| (it * to).round() / to;
            let splits = tree.splits.iter().map(|(feature, at)| match *at {
                at if at > 1e9 => "0:9e9".to_owned(),
                at => format!("{feature}:{}", round(at, 1e4)),
            });
            let leaves = tree.leaves.iter().map(|leaf| round(*leaf, 1e4).to_string());
            let line: Vec<String> = splits.chain(leaves).collect();
            out.push_str(&line.join(" "));
            out.push('\n');
        }
        out
    }
}

/// Blocks as the fitting sees them.
struct Data<'a> {
    blocks: Vec<&'a TrainingBlock>,
    /// For each feature, where its bins are cut.
    cuts: Vec<Vec<f32>>,
    /// For each block, the bin of each feature.
    bins: Vec<Vec<u8>>,
}

impl<'a> Data<'a> {
    fn of(pages: &[&'a TrainingPage]) -> Data<'a> {
        let blocks: Vec<&TrainingBlock> = pages.iter().flat_map(|page| &page.blocks).collect();
        let features = blocks.first().map_or(0, |block| block.row.len());
        let cuts: Vec<Vec<f32>> = (0..features)
            .map(|feature| {
                let mut all: Vec<f32> = blocks.iter().map(|block| block.row[feature]).collect();
                all.sort_by(f32::total_cmp);
                let (least, most) = (all[0], all[all.len() - 1]);
                let inner = (1..BINS).map(|index| all[index * (all.len() - 1) / BINS]);
                let mut cuts: Vec<f32> = std::iter::once(least).chain(inner).collect();
                cuts.dedup();
                cuts.retain(|cut| *cut < most);
                cuts
            })
            .collect();
        let bin = |block: &&TrainingBlock| {
            let of =
                |(cuts, value): (&Vec<f32>, &f32)| cuts.partition_point(|cut| cut < value) as u8;
            cuts.iter().zip(&block.row).map(of).collect()
        };
        let bins = blocks.iter().map(bin).collect();
        Data { blocks, cuts, bins }
    }
}

/// Several boostings as one: the mean of their sums.
fn fit(pages: &[&TrainingPage], trees: usize) -> TreeModel {
    let data = Data::of(pages);
    let mut chance = Xorshift(12_345);
    let mut model = TreeModel { base: 0.0, trees: Vec::with_capacity(BOOSTINGS * trees) };
    for _ in 0..BOOSTINGS {
        let one = boost(&data, trees, &mut chance);
        model.base += one.base / BOOSTINGS as f32;
        for mut tree in one.trees {
            tree.leaves.iter_mut().for_each(|leaf| *leaf /= BOOSTINGS as f32);
            model.trees.push(tree);
        }
    }
    model
}

fn boost(data: &Data<'_>, count: usize, chance: &mut Xorshift) -> TreeModel {
    let total: f32 = data.blocks.iter().map(|block| block.weight).sum();
    let mean = data.blocks.iter().map(|block| block.label * block.weight).sum::<f32>() / total;
    let base = (mean / (1.0 - mean)).ln();
    let mut sums = vec![base; data.blocks.len()];
    let mut trees = Vec::with_capacity(count);
    for _ in 0..count {
        let slopes: Vec<(f32, f32)> = data
            .blocks
            .iter()
            .zip(&sums)
            .map(|(block, sum)| {
                let p = 1.0 / (1.0 + (-sum).exp());
                ((block.label - p) * block.weight, (p * (1.0 - p)).max(1e-4) * block.weight)
            })
            .collect();
        let seen: Vec<usize> =
            (0..data.blocks.len()).filter(|_| chance.next() % 100 < ROWS_SEEN).collect();
        let features: Vec<usize> =
            (0..data.cuts.len()).filter(|_| chance.next() % 100 < FEATURES_SEEN).collect();
        let tree = grow(data, &slopes, &seen, &features);
        for (sum, block) in sums.iter_mut().zip(&data.blocks) {
            *sum += tree.leaves[tree.leaf(&block.row)];
        }
        trees.push(tree);
    }
    TreeModel { base, trees }
}

fn grow(data: &Data<'_>, slopes: &[(f32, f32)], seen: &[usize], features: &[usize]) -> Tree {
    let mut tree = Tree { splits: vec![NO_SPLIT; INNER], leaves: vec![0.0; INNER + 1] };
    let mut node = vec![0_usize; data.blocks.len()];
    for level in 0..DEPTH {
        let first = (1 << level) - 1;
        let width = BINS + 1;
        let mut bars = vec![(0.0_f32, 0.0_f32); (1 << level) * features.len() * width];
        for &at in seen {
            let row = (node[at] - first) * features.len();
            for (nth, feature) in features.iter().enumerate() {
                let bar = &mut bars[(row + nth) * width + usize::from(data.bins[at][*feature])];
                bar.0 += slopes[at].0;
                bar.1 += slopes[at].1;
            }
        }
        for (nth, bars) in bars.chunks(features.len() * width).enumerate() {
            if let Some(split) = best_split(data, features, bars) {
                tree.splits[first + nth] = split;
            }
        }
        for (at, block) in data.blocks.iter().enumerate() {
            let (feature, threshold) = tree.splits[node[at]];
            node[at] = 2 * node[at] + 1 + usize::from(block.row[feature] > threshold);
        }
    }
    let mut sums = vec![(0.0_f32, 0.0_f32); INNER + 1];
    for (at, slope) in slopes.iter().enumerate() {
        let sum = &mut sums[node[at] - INNER];
        sum.0 += slope.0;
        sum.1 += slope.1;
    }
    tree.leaves = sums.iter().map(|pair| RATE * pair.0 / (pair.1 + RIDGE)).collect();
    tree
}

/// The split of one node that lowers the loss most, from the node's bars of all features.
fn best_split(data: &Data<'_>, features: &[usize], bars: &[(f32, f32)]) -> Option<(usize, f32)> {
    let worth = |pair: (f32, f32)| pair.0 * pair.0 / (pair.1 + RIDGE);
    let mut best = (1e-3, None);
    for (feature, bars) in features.iter().zip(bars.chunks(BINS + 1)) {
        let whole = bars.iter().fold((0.0, 0.0), |all, it| (all.0 + it.0, all.1 + it.1));
        let mut left = (0.0, 0.0);
        for (cut, bar) in data.cuts[*feature].iter().zip(bars) {
            left = (left.0 + bar.0, left.1 + bar.1);
            let right = (whole.0 - left.0, whole.1 - left.1);
            let gain = worth(left) + worth(right) - worth(whole);
            if left.1 >= LEAST_WEIGHT && right.1 >= LEAST_WEIGHT && gain > best.0 {
                best = (gain, Some((*feature, *cut)));
            }
        }
    }
    best.1
}

/// A small generator, so that a fit comes out the same each time.
struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_a_site_are_in_one_fold() {
        let place = fold("https://www.tea.example/one?x=1");
        assert_eq!(place, fold("http://blog.tea.example:80/two"));
        assert_eq!(place, fold("hard::tea.example-three.html"));
        let places: HashSet<usize> =
            (0..40).map(|index| fold(&format!("https://{index}.com/"))).collect();
        assert_eq!(places.len(), FOLDS);
    }
}
