//! What is measured beside us: plain BM25, which is the floor, and BM25 libraries of Python, run through their own
//! interfaces in the same invocation.
use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use ibid_core::domain::words::{stem, tokens};
use serde_json::{Value, json};

use crate::collection::{Collection, Document};

/// An answer to every question: the places of documents, best first, with what it took.
pub(crate) struct Ranked {
    pub(crate) name: String,
    /// Seconds to index all documents.
    pub(crate) index_s: f64,
    /// Seconds for the first documents of all questions.
    pub(crate) query_s: f64,
    pub(crate) ranked: Vec<Vec<usize>>,
}

/// How to get what `--python` needs.
pub(crate) const HOW: &str = "no BM25 library beside it: `python3 -m venv DIR && DIR/bin/pip install bm25s PyStemmer rank-bm25`, \
    then `--python DIR/bin/python`";

/// The value behind `name`, and the other arguments.
pub(crate) fn option(args: &[String], name: &str) -> (Option<String>, Vec<String>) {
    let mut rest = args.to_vec();
    let Some(at) = args.iter().position(|arg| arg == name) else {
        return (None, rest);
    };
    rest.remove(at);
    let value = (at < rest.len()).then(|| rest.remove(at));
    (value, rest)
}

/// Each library of `python`, on all questions of `collection`.
pub(crate) fn libraries(
    python: &str,
    collection: &Collection,
    top: usize,
    timed: usize,
) -> Vec<Result<Ranked, String>> {
    ["bm25s", "rank_bm25"]
        .iter()
        .map(|peer| {
            let asked = json!({
                "peer": peer,
                "documents": collection.documents.iter().map(whole).collect::<Vec<_>>(),
                "queries": collection.questions.iter().map(|question| &question.text).collect::<Vec<_>>(),
                "top": top,
                "timed": timed,
            });
            library(python, &asked).map_err(|error| format!("{peer}: {error}"))
        })
        .collect()
}

fn whole(it: &Document) -> String {
    format!("{} {}", it.title, it.text)
}

fn library(python: &str, asked: &Value) -> Result<Ranked, String> {
    let mut child = Command::new(python)
        .args(["-c", include_str!("libraries.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("starting {python}: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        let sent = input.write_all(asked.to_string().as_bytes());
        sent.map_err(|error| error.to_string())?;
    }
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    if !done.status.success() {
        return Err(format!("{}; {HOW}", done.status));
    }
    let answer: Value = serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())?;
    let places = |row: &Value| {
        let row = row.as_array().into_iter().flatten();
        row.filter_map(Value::as_u64).map(|it| it as usize).collect()
    };
    Ok(Ranked {
        name: answer["name"].as_str().unwrap_or_default().to_owned(),
        index_s: answer["index_s"].as_f64().unwrap_or(0.0),
        query_s: answer["query_s"].as_f64().unwrap_or(0.0),
        ranked: answer["ranked"].as_array().into_iter().flatten().map(places).collect(),
    })
}

/// Plain BM25 (k1 1.2, b 0.75) over stems of title and text, kept in memory.
pub(crate) struct Bm25 {
    /// For each stem the documents that have it, with how often.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean: f64,
}

impl Bm25 {
    pub(crate) fn of(texts: &[String]) -> Bm25 {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(texts.len());
        for (at, text) in texts.iter().enumerate() {
            let words = tokens(text);
            lengths.push(words.len() as f64);
            for word in words {
                let having = postings.entry(stem(&word.text)).or_default();
                match having.last_mut().filter(|having| having.0 == at) {
                    Some(it) => it.1 += 1.0,
                    None => having.push((at, 1.0)),
                }
            }
        }
        let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Bm25 { postings, lengths, mean }
    }

    /// The documents that have a word of `query`, best first, with their scores.
    pub(crate) fn rank(&self, query: &str) -> Vec<(usize, f64)> {
        let n = self.lengths.len() as f64;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in tokens(query) {
            let Some(having) = self.postings.get(&stem(&word.text)) else {
                continue;
            };
            let df = having.len() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            for (at, count) in having {
                let norm = 1.2 * (0.25 + 0.75 * self.lengths[*at] / self.mean);
                *scores.entry(*at).or_default() += idf * count * 2.2 / (count + norm);
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }
}

/// The floor on all questions of `collection`: `top` documents each, and the time of `timed`.
pub(crate) fn floor(collection: &Collection, top: usize, timed: usize) -> Ranked {
    let began = Instant::now();
    let index = Bm25::of(&collection.documents.iter().map(whole).collect::<Vec<_>>());
    let index_s = began.elapsed().as_secs_f64();
    let best = |query: &str, n: usize| {
        let ranked = index.rank(query).into_iter();
        ranked.take(n).map(|pair| pair.0).collect::<Vec<usize>>()
    };
    let all = |n: usize| collection.questions.iter().map(move |question| (&question.text, n));
    let began = Instant::now();
    let first: usize = all(timed).map(|(it, n)| best(it, n).len()).sum();
    // What is not used might not be done.
    std::hint::black_box(first);
    let query_s = began.elapsed().as_secs_f64();
    Ranked {
        name: "plain BM25 (floor)".to_owned(),
        index_s,
        query_s,
        ranked: all(top).map(|(it, n)| best(it, n)).collect(),
    }
}
