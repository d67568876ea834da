//! A judged collection: documents, questions, and which documents answer which question.
use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ibid_extract::ExtractLimits;
use ibid_index::folder::{Folder, FolderOptions};
use serde_json::Value;

/// What is ranked and how it is judged.
pub(crate) struct Collection {
    /// What its directory is called.
    pub(crate) name: String,
    /// The file of documents.
    pub(crate) corpus: PathBuf,
    pub(crate) documents: Vec<Document>,
    pub(crate) questions: Vec<Judged>,
}

/// A document as a peer gets it.
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// A question and what answers it.
pub(crate) struct Judged {
    pub(crate) text: String,
    relevant: HashSet<String>,
    by_title: bool,
}

impl Judged {
    /// Whether a document is one of those that answer it.
    pub(crate) fn wants(&self, id: &str, title: &str) -> bool {
        self.relevant.contains(if self.by_title { title } else { id })
    }
}

impl Collection {
    /// Reads `corpus.jsonl[.gz]` or `evidence_corpus.jsonl` in `dir`, and in `dir/dev` `queries.jsonl` or
    /// `questions.jsonl[.gz]`: rows `{query|question, relevant}` with ids, or `relevant_titles`. Questions that nothing
    /// answers are left out.
    pub(crate) fn read(dir: &Path) -> Result<Collection, String> {
        let corpus = one_of(dir, &["corpus.jsonl.gz", "corpus.jsonl", "evidence_corpus.jsonl"])?;
        let asked =
            one_of(&dir.join("dev"), &["queries.jsonl", "questions.jsonl", "questions.jsonl.gz"])?;
        let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let document = |row: &Value| Document {
            id: word(row, "_id"),
            title: word(row, "title"),
            text: word(row, "text"),
        };
        Ok(Collection {
            name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            documents: rows(&corpus)?.iter().map(document).collect(),
            questions: rows(&asked)?.iter().filter_map(judged).collect(),
            corpus,
        })
    }

    /// Its documents indexed as a folder below `scratch`.
    pub(crate) fn folder(&self, scratch: &Path) -> Result<Folder, String> {
        let docs = scratch.join("docs");
        let name = self.corpus.file_name().unwrap_or_default();
        std::fs::create_dir_all(&docs)
            .and_then(|()| std::fs::copy(&self.corpus, docs.join(name)))
            .map_err(|error| error.to_string())?;
        let options = FolderOptions::new(Vec::new(), ExtractLimits::default());
        let folder = Folder::open(&docs, scratch, &options).map_err(|error| error.chain())?;
        folder.refresh(&mut |_| {}).map_err(|error| error.chain())?;
        Ok(folder)
    }
}

fn judged(row: &Value) -> Option<Judged> {
    let text = row["query"].as_str().or(row["question"].as_str())?;
    let by_title = row["relevant"].is_null();
    let relevant = &row[if by_title { "relevant_titles" } else { "relevant" }];
    let relevant: HashSet<String> =
        relevant.as_array()?.iter().filter_map(|items| items.as_str().map(str::to_owned)).collect();
    (!relevant.is_empty()).then(|| Judged { text: text.to_owned(), relevant, by_title })
}

/// Means over questions.
#[derive(Default, Clone)]
pub(crate) struct Measures {
    questions: f64,
    ndcg: f64,
    recall: [f64; 2],
    map: f64,
    all: f64,
}

impl Measures {
    /// The header of [`Measures::row`].
    pub(crate) const HEADER: &str = "nDCG@10  rec@10  rec@100  MAP     all@10";

    /// Judges one answer, best first: for each document whether it is wanted.
    ///
    /// nDCG@10 and MAP (over the first 100) with binary gains; recall in the first 10 and 100; whether all that is
    /// wanted is among the first 10.
    pub(crate) fn take(&mut self, question: &Judged, wanted: &[bool]) {
        let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
        let many = question.relevant.len();
        let within = |n: usize| wanted.iter().take(n).filter(|flag| **flag).count();
        let hits = wanted.iter().enumerate().filter(|pair| *pair.1).map(|pair| pair.0);
        let dcg: f64 = hits.clone().filter(|hit| *hit < 10).map(gain).sum();
        let precision = hits.enumerate().map(|(nth, rank)| (nth + 1) as f64 / (rank + 1) as f64);
        self.questions += 1.0;
        self.ndcg += dcg / (0..many.min(10)).map(gain).sum::<f64>();
        self.map += precision.sum::<f64>() / many as f64;
        self.all += f64::from(u8::from(within(10) == many));
        for (sum, n) in self.recall.iter_mut().zip([10, 100]) {
            *sum += within(n) as f64 / many as f64;
        }
    }

    /// The share of what is wanted that is among the first hundred.
    pub(crate) fn recall_100(&self) -> f64 {
        self.recall[1] / self.questions.max(1.0)
    }

    /// The share of questions of which all that is wanted is among the first ten.
    pub(crate) fn all_10(&self) -> f64 {
        self.all / self.questions.max(1.0)
    }

    /// The means as a part of a table.
    pub(crate) fn row(&self) -> String {
        let n = self.questions.max(1.0);
        format!(
            "{:.4}   {:.4}  {:.4}   {:.4}  {:.4}",
            self.ndcg / n,
            self.recall[0] / n,
            self.recall[1] / n,
            self.map / n,
            self.all / n
        )
    }
}

/// The rows of a file of JSON lines, which may be packed.
pub(crate) fn rows(path: &Path) -> Result<Vec<Value>, String> {
    let fault = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(fault)?;
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(file).read_to_string(&mut text)
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text)
    }
    .map_err(fault)?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()))
        .collect()
}

fn one_of(dir: &Path, names: &[&str]) -> Result<PathBuf, String> {
    names
        .iter()
        .map(|name| dir.join(name))
        .find(|it| it.exists())
        .ok_or_else(|| format!("none of {} in {}", names.join(", "), dir.display()))
}
