//! Ranking of a folder's documents against relevance judgements.
//!
//! Each DIR holds a corpus (`corpus.jsonl[.gz]` or `evidence_corpus.jsonl`) and judged questions in
//! `dev/` (`queries.jsonl` or `questions.jsonl[.gz]`, rows `{query|question, relevant}` with ids or
//! `relevant_titles`). The corpus is indexed as a folder in a temporary directory. Measures, averaged
//! over questions that have something relevant: nDCG@10 with binary gains, recall@10, and the share
//! of questions with all relevant documents in the top 10.
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibid::adapters::documents::Limits;
use ibid::adapters::folder::{Filter, Folder, FolderOptions, Found};
use serde_json::Value;

const TOP: usize = 10;

/// Runs `evals retrieve DIR…`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut out = String::from(
        "set                        docs queries  nDCG@10  recall  all-in  docs/s  ms/query  p95 ms\n",
    );
    for dir in args {
        let scratch = std::env::temp_dir().join(format!("ibid-retrieve-{}", std::process::id()));
        let measured = measure(Path::new(dir), &scratch, &mut out);
        std::fs::remove_dir_all(&scratch).map_err(|it| it.to_string())?;
        measured?;
    }
    if let Some(peak) = peak_memory() {
        let _ = writeln!(out, "peak memory of this process: {peak}");
    }
    std::io::stdout()
        .write_all(out.as_bytes())
        .map_err(|it| it.to_string())
}

fn measure(dir: &Path, scratch: &Path, out: &mut String) -> Result<(), String> {
    let corpus = one_of(
        dir,
        &["corpus.jsonl.gz", "corpus.jsonl", "evidence_corpus.jsonl"],
    )?;
    let name = corpus.file_name().unwrap_or_default();
    let docs = scratch.join("docs");
    std::fs::create_dir_all(&docs)
        .and_then(|()| std::fs::copy(&corpus, docs.join(name)))
        .map_err(|it| it.to_string())?;

    let began = Instant::now();
    let options = FolderOptions::new(Vec::new(), Limits::default());
    let folder = Folder::open(&docs, scratch, &options).map_err(|it| it.chain())?;
    let told = folder.refresh(&mut |_| {}).map_err(|it| it.chain())?;
    let build = began.elapsed();
    for fault in &told.faults {
        let _ = writeln!(out, "  left out: {}", fault.message);
    }

    let mut sums = [0.0; 3];
    let mut times = Vec::new();
    for (query, relevant, by_title) in questions(&dir.join("dev"))? {
        let began = Instant::now();
        let found = folder
            .find(&query, TOP, &Filter::default())
            .map_err(|it| it.chain())?;
        times.push(began.elapsed());
        let scores = judge(&found, &relevant, by_title);
        sums.iter_mut().zip(scores).for_each(|(sum, it)| *sum += it);
    }
    times.sort_unstable();
    let n = times.len().max(1) as f64;
    let total: Duration = times.iter().sum();
    let slow = times
        .get(times.len() * 95 / 100)
        .copied()
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "{:24} {:6} {:7}   {:.4}   {:.4}  {:.4}  {:6.0}  {:8.2}  {:6.2}",
        dir.file_name().unwrap_or_default().to_string_lossy(),
        told.documents,
        times.len(),
        sums[0] / n,
        sums[1] / n,
        sums[2] / n,
        told.documents as f64 / build.as_secs_f64(),
        total.as_secs_f64() * 1e3 / n,
        slow.as_secs_f64() * 1e3,
    );
    Ok(())
}

/// nDCG@10, recall@10, and whether all relevant documents are among the ten.
fn judge(found: &[Found], relevant: &HashSet<String>, by_title: bool) -> [f64; 3] {
    let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let hits: Vec<usize> = found
        .iter()
        .enumerate()
        .filter(|(_, it)| relevant.contains(if by_title { &it.title } else { &it.id }))
        .map(|it| it.0)
        .collect();
    let ideal: f64 = (0..relevant.len().min(TOP)).map(gain).sum();
    let dcg: f64 = hits.iter().map(|it| gain(*it)).sum();
    let all = f64::from(u8::from(hits.len() == relevant.len()));
    [dcg / ideal, hits.len() as f64 / relevant.len() as f64, all]
}

/// The questions with something relevant: the words, what is relevant, and whether that is titles.
fn questions(dir: &Path) -> Result<Vec<(String, HashSet<String>, bool)>, String> {
    let path = one_of(
        dir,
        &["queries.jsonl", "questions.jsonl", "questions.jsonl.gz"],
    )?;
    let mut found = Vec::new();
    for line in text(&path)?.lines().filter(|it| !it.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).map_err(|it| it.to_string())?;
        let query = row["query"].as_str().or(row["question"].as_str());
        let by_title = row["relevant"].is_null();
        let relevant = if by_title {
            &row["relevant_titles"]
        } else {
            &row["relevant"]
        };
        let relevant: HashSet<String> = relevant
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect();
        if let Some(query) = query
            && !relevant.is_empty()
        {
            found.push((query.to_owned(), relevant, by_title));
        }
    }
    Ok(found)
}

fn one_of(dir: &Path, names: &[&str]) -> Result<PathBuf, String> {
    names
        .iter()
        .map(|it| dir.join(it))
        .find(|it| it.exists())
        .ok_or_else(|| format!("none of {} in {}", names.join(", "), dir.display()))
}

fn text(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|it| it.to_string())?;
    let mut text = String::new();
    let read = if path.extension().is_some_and(|it| it == "gz") {
        flate2::read::GzDecoder::new(file).read_to_string(&mut text)
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text)
    };
    read.map_err(|it| format!("{}: {it}", path.display()))?;
    Ok(text)
}

/// Peak resident memory, where the system tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|it| it.starts_with("VmHWM"))?;
    Some(
        line.split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" "),
    )
}
