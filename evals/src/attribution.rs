//! Verdicts on (claim, source) pairs of nine public sets, beside a lexical-overlap floor.
//!
//! Rows `{id, set, claim, source, label, rationale?}` in `*.jsonl.gz`; the label is `supported`,
//! `partially_supported`, `not_supported` or `contradicted`.
mod reliability;
mod weights;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ibid::app::semantic;
use ibid::config::Settings;
use ibid_core::domain::words::content_stems;
use ibid_core::ports::PairScorer;
use ibid_research::attribution::{SupportLevel, SupportVerdict, judge_support, named_signals};
use serde_json::{Value, json};

use crate::{Fault, Measured, Outcome, generated};

/// Measures the verdicts on `FOLDER` (`../shared/data/claims-attribution/dev` unless given);
/// `--words` leaves the cross-encoder out; `--signals` prints one JSON object of signals a row instead, `--fit` held-out figures and the
/// weights fitted anew.
pub(crate) fn run(args: &[String]) -> Outcome {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let folder = args.iter().find(|arg| !arg.starts_with("--")).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/claims-attribution/dev"),
        PathBuf::from,
    );
    let sets = read(&folder)?;
    let rows = sets.values().map(Vec::len).sum();
    if let Some((name, _)) = sets.iter().find(|set| set.1.is_empty()) {
        return Err(format!("{name} has no claims").into());
    }
    if rows == 0 {
        return Err(format!("there are no sets of claims in {}", folder.display()).into());
    }
    let scorer = if args.iter().any(|arg| arg == "--words") { None } else { bundled_scorer()? };
    let scorer = scorer.as_deref();
    if args.iter().any(|arg| arg == "--signals") {
        print_signals(&sets, scorer, &mut out)?;
    } else if args.iter().any(|arg| arg == "--fit") {
        weights::run(&sets, scorer, &mut out)?;
    } else {
        compared(&sets, scorer, &mut out)?;
    }
    Ok(Measured::new(rows, "claims"))
}

/// The cross-encoder that comes with Ibid.
fn bundled_scorer() -> Result<Option<Arc<dyn PairScorer>>, Fault> {
    let settings = Settings::defaults_in(&std::env::temp_dir())?;
    Ok(semantic::bundled_pair_scorer(&settings)?)
}

/// Generated claims that say what the source says, or plainly something else, with the verdict and with weights fitted anew.
pub(crate) fn small(_: &[String]) -> Outcome {
    let dir = tempfile::tempdir()?;
    generated::claims(dir.path())?;
    let sets = read(dir.path())?;
    let mut out = std::io::stdout().lock();
    let best = compared(&sets, None, &mut out)?;
    if best < 0.9 {
        return Err(
            format!("plain claims are told apart with an accuracy of {best:.3} only").into()
        );
    }
    print_signals(&sets, None, &mut std::io::sink())?;
    weights::run(&sets, None, &mut out)?;
    Ok(Measured::new(sets.values().map(Vec::len).sum(), "claims"))
}

/// Prints the agreement with the labels; the mean over the sets of our best balanced accuracy.
fn compared(
    sets: &Sets,
    scorer: Option<&dyn PairScorer>,
    out: &mut impl Write,
) -> Result<f64, Fault> {
    let mut all: Vec<[f64; 7]> = Vec::new();
    let mut said_and_held: Vec<(f64, bool)> = Vec::new();
    let (mut pairs, mut seconds) = (0, 0.0);
    writeln!(
        out,
        "{:<18}{:>6} | floor AUC  best bal.acc | AUC    best bal.acc | bal.acc macro-F1 of the verdict | 3-way macro-F1 | rationale recall (floor)",
        "set", "rows"
    )?;
    for (name, rows) in sets {
        let start = Instant::now();
        let found: Vec<SupportVerdict> =
            rows.iter().map(|row| judge_support(&row.claim, &row.source, scorer)).collect();
        seconds += start.elapsed().as_secs_f64();
        pairs += rows.len();
        let gold: Vec<bool> = rows.iter().map(|row| row.label == "supported").collect();
        let ours: Vec<f64> = found.iter().map(|verdict| f64::from(verdict.score)).collect();
        said_and_held.extend(ours.iter().copied().zip(gold.iter().copied()));
        let floor: Vec<f64> =
            rows.iter().map(|row| overlap(&row.claim, &row.source.join(" "))).collect();
        let said: Vec<bool> =
            found.iter().map(|verdict| verdict.verdict == SupportLevel::Supported).collect();
        let line = [
            auroc(&gold, &floor),
            best_balanced(&gold, &floor),
            auroc(&gold, &ours),
            best_balanced(&gold, &ours),
            balanced(&gold, &said),
            (f1(&gold, &said) + f1(&not(&gold), &not(&said))) / 2.0,
            three_way(rows, &found),
        ];
        let recall = rationale_recall(rows, &found);
        writeln!(
            out,
            "{name:<18}{:>6} | {:.3}      {:.3}        | {:.3}  {:.3}        | {:.3}   {:.3}                   | {:.3}          | {}",
            rows.len(),
            line[0],
            line[1],
            line[2],
            line[3],
            line[4],
            line[5],
            line[6],
            recall.map_or("-".to_owned(), |(ours, floor)| format!("{ours:.3} ({floor:.3})")),
        )?;
        all.push(line);
    }
    let mean =
        |nth: usize| all.iter().map(|number| number[nth]).sum::<f64>() / all.len().max(1) as f64;
    writeln!(
        out,
        "{:<18}{pairs:>6} | {:.3}      {:.3}        | {:.3}  {:.3}        | {:.3}   {:.3}                   | {:.3}          |",
        "macro",
        mean(0),
        mean(1),
        mean(2),
        mean(3),
        mean(4),
        mean(5),
        mean(6)
    )?;
    writeln!(
        out,
        "known: attributionbench .80 macro-F1 of a fine-tuned GPT-3.5; on LLM-AggreFact, which has sets like these, balanced\naccuracy .774 of Bespoke-MiniCheck-7B, .759 of GPT-4o, .747 of MiniCheck-FT5 (770 million parameters)"
    )?;
    reliability::write(&said_and_held, out)?;
    writeln!(out, "{:.0} pairs a second on one core", pairs as f64 / seconds)?;
    Ok(mean(3))
}

type Sets = BTreeMap<String, Vec<AttributionRow>>;

struct AttributionRow {
    id: String,
    /// What it is about: rows of one question, article or page have the same.
    group: String,
    claim: String,
    source: Vec<String>,
    label: String,
    /// The groups of source sentences of which each proves the claim, as texts.
    rationale: Vec<Vec<String>>,
}

fn read(folder: &Path) -> Result<Sets, Box<dyn std::error::Error>> {
    let mut sets = BTreeMap::new();
    let entries = std::fs::read_dir(folder)
        .map_err(|error| format!("reading {}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".jsonl.gz") else {
            continue;
        };
        let mut text = String::new();
        flate2::read::GzDecoder::new(File::open(&path)?).read_to_string(&mut text)?;
        let rows = text
            .lines()
            .map(|line| Ok(row(&serde_json::from_str(line)?)))
            .collect::<Result<Vec<AttributionRow>, serde_json::Error>>()?;
        sets.insert(name.to_owned(), rows);
    }
    Ok(sets)
}

fn row(value: &Value) -> AttributionRow {
    let texts = |value: &Value| -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    };
    let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let source = texts(&value["source"]);
    let meta = &value["meta"];
    let group = ["question", "doc", "page", "claim_id", "gold_source"]
        .iter()
        .map(|it| &meta[it])
        .chain([&meta["meta"]["claim_title"]])
        .find_map(Value::as_str)
        .map_or_else(|| source.concat().chars().take(150).collect(), str::to_owned);
    // Groups of sentence numbers (WiCE), or one group of sentences (FoolMeTwice).
    let rationale = match value["rationale"].as_array() {
        Some(all) if all.iter().all(Value::is_string) => vec![texts(&value["rationale"])],
        Some(all) => all
            .iter()
            .map(|group| {
                group
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|items| source.get(items.as_u64()? as usize).cloned())
                    .collect()
            })
            .collect(),
        None => Vec::new(),
    };
    AttributionRow {
        id: word("id"),
        group,
        claim: word("claim"),
        label: word("label"),
        source,
        rationale,
    }
}

fn print_signals(
    sets: &Sets,
    scorer: Option<&dyn PairScorer>,
    out: &mut impl Write,
) -> Result<(), Fault> {
    for (set, rows) in sets {
        for row in rows {
            let found: serde_json::Map<String, Value> =
                named_signals(&row.claim, &row.source, scorer)
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value.into()))
                    .collect();
            writeln!(out, "{}", json!({"id": row.id, "set": set, "label": row.label, "f": found}))?;
        }
    }
    Ok(())
}

/// The floor: the share of the claim's distinct content stems that the source has.
fn overlap(claim: &str, source: &str) -> f64 {
    let claim: BTreeSet<String> = content_stems(claim).into_iter().collect();
    let source: BTreeSet<String> = content_stems(source).into_iter().collect();
    claim.intersection(&source).count() as f64 / claim.len().max(1) as f64
}

/// The share of (positive, negative) pairs the score orders rightly, ties counting half.
fn auroc(gold: &[bool], score: &[f64]) -> f64 {
    let mut wins = 0.0;
    let mut all = 0.0;
    for (a, _) in gold.iter().enumerate().filter(|pair| *pair.1) {
        for (b, _) in gold.iter().enumerate().filter(|pair| !*pair.1) {
            all += 1.0;
            wins += match score[a].total_cmp(&score[b]) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
    }
    wins / all
}

/// The best balanced accuracy any one threshold on the score gives.
fn best_balanced(gold: &[bool], score: &[f64]) -> f64 {
    score
        .iter()
        .map(|limit| {
            balanced(gold, &score.iter().map(|number| number >= limit).collect::<Vec<bool>>())
        })
        .fold(0.5, f64::max)
}

/// The mean of the recall of yes and of no.
fn balanced(gold: &[bool], said: &[bool]) -> f64 {
    let recall = |of: bool| {
        let all = gold.iter().filter(|flag| **flag == of).count();
        let hit = gold.iter().zip(said).filter(|(a, b)| **a == of && **b == of).count();
        hit as f64 / all.max(1) as f64
    };
    (recall(true) + recall(false)) / 2.0
}

fn f1(gold: &[bool], said: &[bool]) -> f64 {
    let both = gold.iter().zip(said).filter(|(a, b)| **a && **b).count();
    let either =
        gold.iter().filter(|flag| **flag).count() + said.iter().filter(|flag| **flag).count();
    2.0 * both as f64 / either.max(1) as f64
}

fn not(all: &[bool]) -> Vec<bool> {
    all.iter().map(|flag| !flag).collect()
}

/// The macro-F1 over supported, contradicted and neither (partly counts as neither), over those of
/// them the set has.
fn three_way(rows: &[AttributionRow], found: &[SupportVerdict]) -> f64 {
    let gold: Vec<u8> = rows
        .iter()
        .map(|row| match row.label.as_str() {
            "supported" => 0,
            "contradicted" => 1,
            _ => 2,
        })
        .collect();
    let said: Vec<u8> = found
        .iter()
        .map(|verdict| match verdict.verdict {
            SupportLevel::Supported => 0,
            SupportLevel::Contradicted => 1,
            SupportLevel::Partly | SupportLevel::Unsupported => 2,
        })
        .collect();
    let is = |all: &[u8], label: u8| all.iter().map(|byte| *byte == label).collect::<Vec<bool>>();
    let labels: Vec<u8> = (0..3).filter(|index| gold.contains(index)).collect();
    labels.iter().map(|&it| f1(&is(&gold, it), &is(&said, it))).sum::<f64>()
        / labels.len().max(1) as f64
}

/// Over the rows with a rationale and a quote: the share whose quote touches a sentence of it, ours
/// and by the sentence with the most overlap.
fn rationale_recall(rows: &[AttributionRow], found: &[SupportVerdict]) -> Option<(f64, f64)> {
    let (mut all, mut ours, mut floor) = (0, 0, 0);
    for (row, verdict) in rows.iter().zip(found) {
        let proof: Vec<&String> = row.rationale.iter().flatten().collect();
        let Some(quote) = &verdict.quote else {
            continue;
        };
        if proof.is_empty() {
            continue;
        }
        let touches = |quote: &str| {
            proof.iter().any(|text| text.contains(quote) || quote.contains(text.as_str()))
        };
        let naive = row
            .source
            .iter()
            .rev()
            .max_by(|a, b| overlap(&row.claim, a).total_cmp(&overlap(&row.claim, b)));
        all += 1;
        ours += usize::from(touches(quote));
        floor += usize::from(naive.is_some_and(|naive| touches(naive)));
    }
    (all > 0).then(|| {
        (f64::from(ours as u32) / f64::from(all), f64::from(floor as u32) / f64::from(all))
    })
}
