//! Fits the weights of the unaided verdict (`src/research/attribution/weights.rs`) and measures them
//! on rows they were not fitted to.
//!
//! Two logistic regressions with ridge penalty. The first tells supported claims from those that the
//! source does not say, on the sets where people wrote claims without a wish to deceive; the second
//! tells supported claims from contradicted ones, on the sets that have such. Their sum orders the
//! claims. Together in one regression they get in each other's way: where claims are made to deceive,
//! shared words speak for nothing, and the weight of the words is lost for all other claims. The sign
//! of each weight is fixed by what its signal means, so that no set's habits are learned.
use std::io::Write;

use ibid_core::ports::PairScorer;
use ibid_research::attribution::named_signals;

use super::{AttributionRow, Sets, auroc, balanced, best_balanced};
use crate::Fault;

/// Signals that speak for a claim; all others speak against it or have no direction.
const FOR: &[&str] = &[
    "cov_doc",
    "cov_best",
    "cov_window",
    "cov_rare",
    "names_doc",
    "run",
    "order",
    "trigrams",
    "reverse",
    "entailed",
    "entailed_best",
    "answered",
];
/// Signals of no direction of their own: they move the threshold.
const EITHER: &[&str] = &["long_source", "long_claim"];
/// The signals of the second regression: what a contradiction shows in.
const DENYING: &[&str] = &[
    "numbers_doc",
    "numbers_conflict",
    "negation",
    "claim_denies",
    "source_denies",
    "opposite",
    "direction",
    "hedged",
    "other_name",
    "denied_nowhere",
    "names_missing",
    "missing_weight",
    "long_source",
    "long_claim",
    "order",
    "entailed",
    "entailed_best",
    "contradicted",
    "contradicted_best",
];
/// Sets whose claims were written to answer, not to deceive.
const NATURAL: &[&str] = &["attributionbench", "wice", "qags", "factcheckgpt"];
/// Weight of the penalty against a row's loss of 1.
const RIDGE: f64 = 100.0;
/// Steps of the fit; it has settled long before.
const STEPS: usize = 1500;
const FOLDS: usize = 5;

/// A row as the fit sees it.
struct LabelledRow {
    set: usize,
    /// Rows of one question, article or page, which are never on both sides of a fold.
    group: String,
    label: Label,
    signals: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Label {
    Supported,
    Contradicted,
    Neither,
}

/// Prints held-out figures for each set, by folds and by leaving the set out, then the weights fitted
/// to all rows.
pub(super) fn run(
    sets: &Sets,
    scorer: Option<&dyn PairScorer>,
    out: &mut impl Write,
) -> Result<(), Fault> {
    let names: Vec<&String> = sets.keys().collect();
    let mut signal_names: Vec<&'static str> = Vec::new();
    let mut rows = Vec::new();
    for (set, all) in sets.values().enumerate() {
        for row in all {
            let found = named_signals(&row.claim, &row.source, scorer);
            if signal_names.is_empty() {
                signal_names = found.iter().map(|pair| pair.0).collect();
            }
            let mut values: Vec<f64> = found.iter().map(|pair| f64::from(pair.1)).collect();
            values.resize(signal_names.len(), 0.0);
            rows.push(seen(set, row, values));
        }
    }
    let fold = |it: &LabelledRow| fnv(&it.group) as usize % FOLDS;
    let folds: Vec<f64> = held_out(&rows, &names, &signal_names, FOLDS, fold);
    let left: Vec<f64> = held_out(&rows, &names, &signal_names, names.len(), |it| it.set);
    writeln!(
        out,
        "{:<18} | {FOLDS} folds: AUC  best bal.acc  bal.acc | set left out: AUC  best bal.acc  bal.acc",
        "set"
    )?;
    let mut sums = [0.0; 6];
    for (set, name) in names.iter().enumerate() {
        let mine: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].set == set).collect();
        let line = [figures(&rows, &mine, &folds), figures(&rows, &mine, &left)].concat();
        for (sum, it) in sums.iter_mut().zip(&line) {
            *sum += it / names.len() as f64;
        }
        print(out, name, &line)?;
    }
    print(out, "macro", &sums)?;
    let all: Vec<&LabelledRow> = rows.iter().collect();
    let model = fit(&all, &names, &signal_names);
    for (name, weights) in [("SUPPORT", &model.support), ("CONTRADICTION", &model.contradiction)] {
        writeln!(out, "\n{name}")?;
        for (signal, weight) in signal_names.iter().zip(&weights.slopes) {
            // Without the sign of a nothing.
            writeln!(out, "    {:.3}, // {signal}", weight + 0.0)?;
        }
        writeln!(out, "{name}_BIAS: {:.3}", weights.bias)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, name: &str, it: &[f64]) -> std::io::Result<()> {
    writeln!(
        out,
        "{name:<18} | {:>12.3}  {:>11.3}  {:>7.3} | {:>17.3}  {:>11.3}  {:>7.3}",
        it[0], it[1], it[2], it[3], it[4], it[5]
    )
}

fn seen(set: usize, row: &AttributionRow, signals: Vec<f64>) -> LabelledRow {
    let label = match row.label.as_str() {
        "supported" => Label::Supported,
        "contradicted" => Label::Contradicted,
        _ => Label::Neither,
    };
    LabelledRow { set, group: format!("{set} {}", row.group), label, signals }
}

/// The FNV-1a hash, for folds that are the same on every machine.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn figures(rows: &[LabelledRow], mine: &[usize], told: &[f64]) -> Vec<f64> {
    let gold: Vec<bool> = mine.iter().map(|&at| rows[at].label == Label::Supported).collect();
    let score: Vec<f64> = mine.iter().map(|&at| told[at]).collect();
    let said: Vec<bool> = score.iter().map(|number| *number >= 0.0).collect();
    vec![auroc(&gold, &score), best_balanced(&gold, &score), balanced(&gold, &said)]
}

/// For each row the score by weights fitted without its fold.
fn held_out(
    rows: &[LabelledRow],
    names: &[&String],
    signals: &[&str],
    folds: usize,
    fold: impl Fn(&LabelledRow) -> usize,
) -> Vec<f64> {
    let mut told = vec![0.0; rows.len()];
    for nth in 0..folds {
        let train: Vec<&LabelledRow> = rows.iter().filter(|row| fold(row) != nth).collect();
        let model = fit(&train, names, signals);
        for (at, row) in rows.iter().enumerate().filter(|pair| fold(pair.1) == nth) {
            told[at] = model.support.tell(&row.signals);
        }
    }
    told
}

struct Line {
    slopes: Vec<f64>,
    bias: f64,
}

impl Line {
    fn tell(&self, row: &[f64]) -> f64 {
        self.bias + row.iter().zip(&self.slopes).map(|(a, b)| a * b).sum::<f64>()
    }

    /// The same line, its outcome times `factor` plus `bias`.
    fn scaled(&self, factor: f64, bias: f64) -> Line {
        Line {
            slopes: self.slopes.iter().map(|slope| slope * factor).collect(),
            bias: self.bias * factor + bias,
        }
    }
}

struct Model {
    support: Line,
    contradiction: Line,
}

/// The two regressions, summed, and brought to log-odds on all rows, each set and label weighing the same.
fn fit(rows: &[&LabelledRow], names: &[&String], signals: &[&str]) -> Model {
    let natural = |it: &LabelledRow| NATURAL.contains(&names[it.set].as_str());
    let speaking: Vec<&LabelledRow> = rows
        .iter()
        .copied()
        .filter(|row| natural(row) && row.label != Label::Contradicted)
        .collect();
    let has_denied =
        |set: usize| rows.iter().any(|row| row.set == set && row.label == Label::Contradicted);
    let denying: Vec<&LabelledRow> = rows
        .iter()
        .copied()
        .filter(|row| row.label != Label::Neither && has_denied(row.set))
        .collect();
    let signs: Vec<i8> = signals.iter().map(|signal| sign(signal)).collect();
    let supported = |it: &LabelledRow| it.label == Label::Supported;
    let all: Vec<bool> = vec![true; signals.len()];
    let second: Vec<bool> = signals.iter().map(|signal| DENYING.contains(signal)).collect();
    let says = regression(&speaking, supported, &signs, &all, RIDGE);
    let denies = regression(&denying, supported, &signs, &second, RIDGE);
    let both = Line {
        slopes: says.slopes.iter().zip(&denies.slopes).map(|(a, b)| a + b).collect(),
        bias: says.bias + denies.bias,
    };
    Model {
        support: calibrated(&both, rows, supported),
        contradiction: calibrated(&denies.scaled(-1.0, 0.0), rows, |it| {
            it.label == Label::Contradicted
        }),
    }
}

fn sign(signal: &str) -> i8 {
    match signal {
        it if FOR.contains(&it) => 1,
        it if EITHER.contains(&it) => 0,
        _ => -1,
    }
}

/// `line` stretched and moved so that its outcome is the log-odds of `is`.
fn calibrated(line: &Line, rows: &[&LabelledRow], is: impl Fn(&LabelledRow) -> bool) -> Line {
    let told: Vec<LabelledRow> = rows
        .iter()
        .map(|row| LabelledRow {
            set: row.set,
            group: String::new(),
            label: row.label,
            signals: vec![line.tell(&row.signals)],
        })
        .collect();
    let told: Vec<&LabelledRow> = told.iter().collect();
    let by = regression(&told, is, &[1], &[true], 0.1);
    line.scaled(by.slopes[0], by.bias)
}

/// Logistic regression on standardised signals by accelerated projected gradient (Nesterov 1983,
/// Beck and Teboulle 2009): weights of the wrong sign are set to nothing in each step.
fn regression(
    rows: &[&LabelledRow],
    is: impl Fn(&LabelledRow) -> bool,
    signs: &[i8],
    used: &[bool],
    ridge: f64,
) -> Line {
    let width = signs.len();
    let count = rows.len().max(1) as f64;
    let mean: Vec<f64> = (0..width)
        .map(|nth| rows.iter().map(|row| row.signals[nth]).sum::<f64>() / count)
        .collect();
    let spread: Vec<f64> = (0..width)
        .map(|nth| {
            let square = |it: &&LabelledRow| (it.signals[nth] - mean[nth]).powi(2);
            (rows.iter().map(square).sum::<f64>() / count).sqrt() + 1e-6
        })
        .collect();
    let data: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            (0..width)
                .map(|nth| (row.signals[nth] - mean[nth]) / spread[nth])
                .chain(std::iter::once(1.0))
                .collect()
        })
        .collect();
    let gold: Vec<bool> = rows.iter().map(|row| is(row)).collect();
    let weights = row_weights(rows, &gold);
    let steepest = 0.3 * count * (width + 1) as f64 + 2.0 * ridge;
    let mut now = vec![0.0; width + 1];
    let mut ahead = now.clone();
    let mut pace = 1.0_f64;
    for _ in 0..STEPS {
        let mut slope: Vec<f64> = (0..=width)
            .map(|nth| if nth < width { 2.0 * ridge * ahead[nth] } else { 0.0 })
            .collect();
        for ((row, weight), gold) in data.iter().zip(&weights).zip(&gold) {
            let told: f64 = row.iter().zip(&ahead).map(|(a, b)| a * b).sum();
            let off = weight * (1.0 / (1.0 + (-told).exp()) - f64::from(u8::from(*gold)));
            for (slope, it) in slope.iter_mut().zip(row) {
                *slope += off * it;
            }
        }
        let next: Vec<f64> = (0..=width)
            .map(|nth| {
                let moved = ahead[nth] - slope[nth] / steepest;
                match signs.get(nth) {
                    Some(_) if !used[nth] => 0.0,
                    Some(1) => moved.max(0.0),
                    Some(-1) => moved.min(0.0),
                    _ => moved,
                }
            })
            .collect();
        let faster = (1.0 + (1.0 + 4.0 * pace * pace).sqrt()) / 2.0;
        let carry = (pace - 1.0) / faster;
        ahead = next.iter().zip(&now).map(|(a, b)| a + carry * (a - b)).collect();
        now = next;
        pace = faster;
    }
    let slopes: Vec<f64> = (0..width).map(|nth| now[nth] / spread[nth]).collect();
    let bias = now[width] - slopes.iter().zip(&mean).map(|(a, b)| a * b).sum::<f64>();
    Line { slopes, bias }
}

/// Each set weighs the same, and in it each of the two answers; one on average.
fn row_weights(rows: &[&LabelledRow], gold: &[bool]) -> Vec<f64> {
    let of = |set: usize, yes: bool| {
        rows.iter().zip(gold).filter(|(it, gold)| it.set == set && **gold == yes).count() as f64
    };
    let sets = rows.iter().map(|row| row.set).max().unwrap_or(0) + 1;
    let counts: Vec<[f64; 2]> = (0..sets).map(|set| [of(set, false), of(set, true)]).collect();
    let raw: Vec<f64> =
        rows.iter().zip(gold).map(|(it, gold)| 1.0 / counts[it.set][usize::from(*gold)]).collect();
    let mean = raw.iter().sum::<f64>() / raw.len().max(1) as f64;
    raw.iter().map(|number| number / mean).collect()
}
