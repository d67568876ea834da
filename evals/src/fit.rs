//! Fits the trees that choose a page's main text (`src/adapters/documents/html/keep.model`).
//!
//! Gradient boosting with logistic loss (Friedman 2001) over histograms of 48 bins, on the blocks of
//! gold pages; a block's label is the share of its word triples that the gold text has. Each page
//! weighs the same within its set, the first set 1.0 and the others 0.3. The F1 printed is that of
//! three-fold cross-validation by page over the first set: what to expect of pages never seen.
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ibid::adapters::documents::described_blocks;
use serde_json::Value;

const TREES: usize = 120;
const DEPTH: usize = 5;
const RATE: f32 = 0.08;
const RIDGE: f32 = 1.0;
const LEAST_WEIGHT: f32 = 5.0;
const BINS: usize = 48;
const FOLDS: usize = 3;
/// Share of blocks, and of features, that each tree sees, in per cent.
const ROWS_SEEN: u64 = 60;
const FEATURES_SEEN: u64 = 50;

/// Runs `evals fit [--out FILE] DIR…`; without `--out` only the cross-validation is done.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut out = None;
    let mut pages = Vec::new();
    let mut weight = 1.0;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--out" {
            out = args.next().map(PathBuf::from);
            continue;
        }
        load(Path::new(arg), weight, &mut pages)?;
        weight = 0.3;
    }
    let all: Vec<&Page> = pages.iter().collect();
    let mut sum = 0.0;
    let mut judged = 0;
    for fold in 0..FOLDS {
        let (test, train): (Vec<_>, Vec<_>) = all
            .iter()
            .enumerate()
            .partition(|(nth, _)| nth % FOLDS == fold);
        let train: Vec<&Page> = train.into_iter().map(|it| *it.1).collect();
        let model = fit(&train);
        for (_, page) in test.into_iter().filter(|it| it.1.weight == 1.0) {
            sum += f1(page, &model);
            judged += 1;
        }
    }
    println!(
        "cross-validated word F1 over {judged} pages: {:.4}",
        sum / f64::from(judged)
    );
    if let Some(path) = out {
        let model = fit(&all);
        std::fs::write(&path, model.text()).map_err(|it| format!("{}: {it}", path.display()))?;
    }
    Ok(())
}

struct Page {
    weight: f32,
    gold: HashMap<String, u32>,
    gold_words: u32,
    blocks: Vec<Block>,
}

struct Block {
    row: Vec<f32>,
    words: Vec<String>,
    label: f32,
    weight: f32,
}

fn load(dir: &Path, weight: f32, into: &mut Vec<Page>) -> Result<(), String> {
    for row in crate::extract::gold(dir)? {
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        let gold = text("main_content")
            .or(text("article_body"))
            .unwrap_or_default();
        let Some(html) = text("html").filter(|_| !gold.trim().is_empty()) else {
            continue;
        };
        let bytes = crate::extract::read(&dir.join(html))?;
        into.push(page(&String::from_utf8_lossy(&bytes), gold, weight));
    }
    Ok(())
}

fn page(html: &str, gold: &str, weight: f32) -> Page {
    let gold = words(gold);
    let triples: HashSet<&[String]> = gold.windows(3).collect();
    let joined = format!(" {} ", gold.join(" "));
    let mut blocks: Vec<Block> = described_blocks(html)
        .into_iter()
        .map(|(text, row)| {
            let words = words(&text);
            let label = if words.len() < 6 {
                f32::from(u8::from(joined.contains(&format!(" {} ", words.join(" ")))))
            } else {
                let hits = words.windows(3).filter(|it| triples.contains(it)).count();
                hits as f32 / (words.len() - 2) as f32
            };
            let weight = (words.len() as f32).powf(0.8);
            Block {
                row,
                words,
                label,
                weight,
            }
        })
        .filter(|it| !it.words.is_empty())
        .collect();
    let total: f32 = blocks.iter().map(|it| it.weight).sum();
    for block in &mut blocks {
        block.weight *= weight * 100.0 / total.max(1.0);
    }
    let mut bag = HashMap::new();
    for word in &gold {
        *bag.entry(word.clone()).or_default() += 1;
    }
    Page {
        weight,
        gold_words: gold.len() as u32,
        gold: bag,
        blocks,
    }
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Word F1 of the blocks with the highest expected F1, as the reader chooses them.
fn f1(page: &Page, model: &Model) -> f64 {
    let mut told: Vec<(f32, &Block)> = page
        .blocks
        .iter()
        .map(|it| (model.chance(&it.row), it))
        .collect();
    let expected: f32 = told.iter().map(|it| it.0 * it.1.words.len() as f32).sum();
    told.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut hits, mut taken, mut best, mut upto) = (0.0, 0.0, 0.0, 0);
    for (nth, (chance, block)) in told.iter().enumerate() {
        let n = block.words.len() as f32;
        hits += chance * n;
        taken += n;
        let f1 = 2.0 * hits / (taken + expected);
        if f1 >= best {
            best = f1;
            upto = nth + 1;
        }
    }
    let mut bag: HashMap<&str, u32> = HashMap::new();
    let mut n = 0;
    for word in told[..upto].iter().flat_map(|it| &it.1.words) {
        *bag.entry(word).or_default() += 1;
        n += 1;
    }
    let both: u32 = bag
        .iter()
        .map(|(word, n)| (*n).min(page.gold.get(*word).copied().unwrap_or(0)))
        .sum();
    2.0 * f64::from(both) / f64::from((n + page.gold_words).max(1))
}

/// One tree: `(feature, threshold)` of each split, then the leaves; the children of split `n` are
/// `2n + 1` and `2n + 2`.
struct Tree {
    splits: Vec<(usize, f32)>,
    leaves: Vec<f32>,
}

struct Model {
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

impl Model {
    fn chance(&self, row: &[f32]) -> f32 {
        let sum: f32 = self.trees.iter().map(|it| it.leaves[it.leaf(row)]).sum();
        1.0 / (1.0 + (-self.base - sum).exp())
    }

    fn text(&self) -> String {
        let mut out = format!("{} {TREES} {DEPTH}\n", self.base);
        for tree in &self.trees {
            let round = |it: f32, to: f32| (it * to).round() / to;
            let splits = tree.splits.iter().map(|(feature, at)| match *at {
                at if at > 1e9 => "0:9e9".to_owned(),
                at => format!("{feature}:{}", round(at, 1e4)),
            });
            let leaves = tree.leaves.iter().map(|it| round(*it, 1e3).to_string());
            let line: Vec<String> = splits.chain(leaves).collect();
            out.push_str(&line.join(" "));
            out.push('\n');
        }
        out
    }
}

/// Blocks as the fitting sees them.
struct Data<'a> {
    blocks: Vec<&'a Block>,
    /// For each feature, where its bins are cut.
    cuts: Vec<Vec<f32>>,
    /// For each block, the bin of each feature.
    bins: Vec<Vec<u8>>,
}

impl<'a> Data<'a> {
    fn of(pages: &[&'a Page]) -> Data<'a> {
        let blocks: Vec<&Block> = pages.iter().flat_map(|it| &it.blocks).collect();
        let features = blocks.first().map_or(0, |it| it.row.len());
        let cuts: Vec<Vec<f32>> = (0..features)
            .map(|feature| {
                let mut all: Vec<f32> = blocks.iter().map(|it| it.row[feature]).collect();
                all.sort_by(f32::total_cmp);
                let (least, most) = (all[0], all[all.len() - 1]);
                let inner = (1..BINS).map(|it| all[it * (all.len() - 1) / BINS]);
                let mut cuts: Vec<f32> = std::iter::once(least).chain(inner).collect();
                cuts.dedup();
                cuts.retain(|it| *it < most);
                cuts
            })
            .collect();
        let bin = |block: &&Block| {
            let of = |(cuts, value): (&Vec<f32>, &f32)| cuts.partition_point(|it| it < value) as u8;
            cuts.iter().zip(&block.row).map(of).collect()
        };
        let bins = blocks.iter().map(bin).collect();
        Data { blocks, cuts, bins }
    }
}

fn fit(pages: &[&Page]) -> Model {
    let data = Data::of(pages);
    let total: f32 = data.blocks.iter().map(|it| it.weight).sum();
    let mean = data
        .blocks
        .iter()
        .map(|it| it.label * it.weight)
        .sum::<f32>()
        / total;
    let base = (mean / (1.0 - mean)).ln();
    let mut sums = vec![base; data.blocks.len()];
    let mut chance = Xorshift(12_345);
    let mut trees = Vec::with_capacity(TREES);
    for _ in 0..TREES {
        let slopes: Vec<(f32, f32)> = data
            .blocks
            .iter()
            .zip(&sums)
            .map(|(block, sum)| {
                let p = 1.0 / (1.0 + (-sum).exp());
                (
                    (block.label - p) * block.weight,
                    (p * (1.0 - p)).max(1e-4) * block.weight,
                )
            })
            .collect();
        let seen: Vec<usize> = (0..data.blocks.len())
            .filter(|_| chance.next() % 100 < ROWS_SEEN)
            .collect();
        let features: Vec<usize> = (0..data.cuts.len())
            .filter(|_| chance.next() % 100 < FEATURES_SEEN)
            .collect();
        let tree = grow(&data, &slopes, &seen, &features);
        for (sum, block) in sums.iter_mut().zip(&data.blocks) {
            *sum += tree.leaves[tree.leaf(&block.row)];
        }
        trees.push(tree);
    }
    Model { base, trees }
}

fn grow(data: &Data<'_>, slopes: &[(f32, f32)], seen: &[usize], features: &[usize]) -> Tree {
    let mut tree = Tree {
        splits: vec![NO_SPLIT; INNER],
        leaves: vec![0.0; INNER + 1],
    };
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
    tree.leaves = sums.iter().map(|it| RATE * it.0 / (it.1 + RIDGE)).collect();
    tree
}

/// The split of one node that lowers the loss most, from the node's bars of all features.
fn best_split(data: &Data<'_>, features: &[usize], bars: &[(f32, f32)]) -> Option<(usize, f32)> {
    let worth = |it: (f32, f32)| it.0 * it.0 / (it.1 + RIDGE);
    let mut best = (1e-3, None);
    for (feature, bars) in features.iter().zip(bars.chunks(BINS + 1)) {
        let whole = bars
            .iter()
            .fold((0.0, 0.0), |all, it| (all.0 + it.0, all.1 + it.1));
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
