//! Passages in order of graded judgements: every ranker there is, beside BM25 over the same passages.
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use ibid_core::ports::Ranker;
use ibid_index::ranker::LexicalRanker;
use ibid_index::semantic::HybridRanker;

use crate::collection::rows;
use crate::libraries::{self, Bm25};
use crate::{Fault, Measured, Outcome, generated, meaning};

/// A question and its passages with their grades.
struct Graded {
    query: String,
    passages: Vec<String>,
    grades: Vec<f64>,
}

/// Runs `evals rerank [--embedder SPEC] DIR…`: rows `{query, passages[{text, grade}]}` in `dev/rerank.jsonl`. nDCG with
/// the grades themselves as gains, as the publishers of the set compute it.
pub(crate) fn run(args: &[String]) -> Outcome {
    let (embedder, dirs) = libraries::option(args, "--embedder");
    if dirs.is_empty() {
        return Err("name the directories of graded passages".into());
    }
    let (asked, _) = measure(embedder.as_deref(), &dirs)?;
    Ok(Measured::new(asked, "questions"))
}

/// Generated passages, of which the one that answers shares the most words with its question.
pub(crate) fn small(_: &[String]) -> Outcome {
    let dir = tempfile::tempdir()?;
    generated::graded(dir.path())?;
    let (asked, first) = measure(None, &[dir.path().to_string_lossy().into_owned()])?;
    if first < 0.9 {
        Err(format!("nDCG@1 of plain passages is {first:.3}").into())
    } else {
        Ok(Measured::new(asked, "questions"))
    }
}

/// Prints a table of each directory; how many questions were asked, and nDCG@1 of the last one by words.
fn measure(embedder: Option<&str>, dirs: &[String]) -> Result<(usize, f64), Fault> {
    let mut rankers: Vec<Arc<dyn Ranker>> = vec![Arc::new(LexicalRanker)];
    if let Some(spec) = embedder {
        rankers.push(Arc::new(HybridRanker::new(meaning::embedder(spec)?, Arc::new(|| Ok(None)))));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut all, mut first) = (0, 0.0);
    for dir in dirs {
        let asked = graded(&Path::new(dir).join("dev/rerank.jsonl"))?;
        if asked.is_empty() {
            return Err(format!("there are no graded passages in {dir}").into());
        }
        all += asked.len();
        let mut out =
            format!("{dir}: {} questions\n{:40} nDCG@1  nDCG@5  nDCG@10\n", asked.len(), "");
        for ranker in &rankers {
            let mut sums = [0.0; 3];
            for it in &asked {
                let texts: Vec<&str> = it.passages.iter().map(String::as_str).collect();
                let scores = runtime
                    .block_on(ranker.rank(&it.query, &texts))
                    .map_err(|error| error.chain())?;
                let mut order: Vec<usize> = (0..texts.len()).collect();
                order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
                add(&mut sums, &it.grades, &order);
            }
            line(&mut out, &format!("Ibid, {}", ranker.name()), sums, asked.len());
            first = sums[0] / asked.len() as f64;
        }
        let mut sums = [0.0; 3];
        for it in &asked {
            let ranked = Bm25::of(&it.passages).rank(&it.query);
            let order: Vec<usize> = ranked.into_iter().map(|pair| pair.0).collect();
            add(&mut sums, &it.grades, &order);
        }
        line(&mut out, "plain BM25 (floor)", sums, asked.len());
        print!("{out}");
    }
    Ok((all, first))
}

fn line(out: &mut String, name: &str, sums: [f64; 3], many: usize) {
    let [one, five, ten] = sums.map(|number| number / many.max(1) as f64);
    let _ = writeln!(out, "{name:40} {one:.4}  {five:.4}  {ten:.4}");
}

/// Adds nDCG at 1, 5 and 10 of the passages in this `order`.
fn add(sums: &mut [f64; 3], grades: &[f64], order: &[usize]) {
    let dcg = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
        grades.enumerate().map(|(rank, it)| it / ((rank + 2) as f64).log2()).sum()
    };
    let mut best = grades.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    for (sum, n) in sums.iter_mut().zip([1, 5, 10]) {
        let ideal = dcg(&mut best.iter().copied().take(n));
        let found = dcg(&mut order.iter().map(|number| grades[*number]).take(n));
        *sum += if ideal > 0.0 { found / ideal } else { 0.0 };
    }
}

fn graded(path: &Path) -> Result<Vec<Graded>, String> {
    let rows = rows(path)?;
    let one = |row: &serde_json::Value| {
        let passages = row["passages"].as_array().into_iter().flatten();
        Graded {
            query: row["query"].as_str().unwrap_or_default().to_owned(),
            passages: passages
                .clone()
                .map(|passage| passage["text"].as_str().unwrap_or_default().to_owned())
                .collect(),
            grades: passages.map(|passage| passage["grade"].as_f64().unwrap_or(0.0)).collect(),
        }
    };
    Ok(rows.iter().map(one).collect())
}
