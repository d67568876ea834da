//! The folders to ask about, each with questions. Public sets are unpacked into `target/evals`; one
//! that is not on this machine is skipped, and that is said.
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

use super::Fault;

/// A folder of documents and what to ask about it.
pub(crate) struct Set {
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// Where its documents are.
    pub(crate) folder: PathBuf,
    /// What to ask, in a fixed order.
    pub(crate) questions: Vec<String>,
}

/// All sets that are here.
pub(crate) fn all() -> Result<Vec<Set>, Fault> {
    let mut found = vec![library()?];
    for (name, make) in [
        ("bioasq", bioasq as fn() -> Result<Set, Fault>),
        ("medical", medical),
        ("multihop", multihop),
        ("pages", pages),
    ] {
        match make() {
            Ok(set) => found.push(set),
            Err(fault) => eprintln!("skipped {name}: {fault}"),
        }
    }
    Ok(found)
}

/// The set called `name`.
pub(crate) fn one(name: &str) -> Result<Set, Fault> {
    match name {
        "library" => library(),
        "text" => text(),
        "bioasq" => bioasq(),
        "medical" => medical(),
        "multihop" => multihop(),
        "pages" => pages(),
        _ => {
            Err(format!("no set `{name}`: library, text, bioasq, medical, multihop, pages").into())
        }
    }
}

fn here() -> PathBuf {
    let evals = Path::new(env!("CARGO_MANIFEST_DIR"));
    evals.parent().unwrap_or(evals).to_owned()
}

/// A public set: in `shared/data` beside the repository, or beside a folder that holds it.
pub(crate) fn shared(name: &str) -> PathBuf {
    let beside = here().with_file_name("shared/data");
    here()
        .ancestors()
        .map(|ancestor| ancestor.with_file_name("shared/data"))
        .find(|it| it.is_dir())
        .unwrap_or(beside)
        .join(name)
}

/// The sample library; its questions are the numbered ones of `examples/README.md` and some more.
fn library() -> Result<Set, Fault> {
    let about = fs::read_to_string(here().join("examples/README.md"))?;
    let mut questions: Vec<String> = about
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.split_once(". ")?;
            number.parse::<u32>().ok()?;
            Some(rest.split_inclusive('?').next()?.to_owned())
        })
        .collect();
    questions.extend(
        [
            "What does an extensive green roof cost per square metre?",
            "How long does the waterproofing membrane under a green roof last?",
            "How do you flood-test a flat roof?",
            "Can a timber garage carry a green roof?",
            "Do green roofs leak?",
            "Do solar panels yield more electricity above a green roof?",
            "What is the minimum substrate depth of an extensive green roof?",
            "Who heads the Office for Urban Climate in Halvern?",
            "What is the difference between a blue-green roof and a green roof?",
            "Do green roofs prevent floods?",
            "What do wild bees need on a green roof?",
            "Are green roofs a source of phosphorus?",
        ]
        .map(str::to_owned),
    );
    Ok(Set { name: "library", folder: here().join("examples/library").canonicalize()?, questions })
}

/// The plain texts of the sample library, over which a run is short.
fn text() -> Result<Set, Fault> {
    let library = library()?;
    Ok(Set { name: "text", folder: library.folder.join("text"), ..library })
}

fn bioasq() -> Result<Set, Fault> {
    let source = shared("retrieval-bioasq");
    let folder = fresh("bioasq")?;
    fs::write(folder.join("corpus.jsonl"), unpacked(&source.join("corpus.jsonl.gz"))?)?;
    Ok(Set {
        name: "bioasq",
        folder,
        questions: field(&unpacked(&source.join("dev/questions.jsonl.gz"))?, "query")?,
    })
}

fn medical() -> Result<Set, Fault> {
    let source = shared("medical-graphragbench");
    let folder = fresh("medical")?;
    let corpus = unpacked(&source.join("corpus.jsonl.gz"))?;
    for (nth, text) in field(&corpus, "context")?.iter().enumerate() {
        fs::write(folder.join(format!("guide-{}.txt", nth + 1)), text)?;
    }
    let questions = fs::read_to_string(source.join("dev/questions.jsonl"))?;
    Ok(Set { name: "medical", folder, questions: field(&questions, "question")? })
}

fn multihop() -> Result<Set, Fault> {
    let source = shared("multihop-rag-evidence");
    let folder = fresh("multihop")?;
    fs::copy(source.join("evidence_corpus.jsonl"), folder.join("corpus.jsonl"))?;
    let questions = fs::read_to_string(source.join("dev/queries.jsonl"))?;
    Ok(Set { name: "multihop", folder, questions: field(&questions, "query")? })
}

/// Real web pages. They come without questions, so their titles are asked for.
fn pages() -> Result<Set, Fault> {
    let source = shared("extract-wcxb/dev");
    let folder = fresh("pages")?;
    let mut names: Vec<PathBuf> = fs::read_dir(source.join("html"))
        .map_err(|error| format!("{}: {error}", source.display()))?
        .map(|dir| dir.map(|dir| dir.path()))
        .collect::<Result<_, _>>()?;
    names.sort();
    for path in names {
        let name = path.file_stem().unwrap_or_default();
        let mut bytes = Vec::new();
        GzDecoder::new(fs::File::open(&path)?).read_to_end(&mut bytes)?;
        fs::write(folder.join(name), bytes)?;
    }
    let titles = field(&unpacked(&source.join("gold.jsonl.gz"))?, "title")?;
    Ok(Set {
        name: "pages",
        folder,
        questions: titles
            .into_iter()
            .filter(|title| !title.trim().is_empty())
            .map(|title| format!("What is said about {}?", title.trim().trim_end_matches('?')))
            .collect(),
    })
}

/// An empty folder for an unpacked set.
pub(crate) fn fresh(name: &str) -> Result<PathBuf, Fault> {
    let folder = kept(name);
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

/// Where `name` is kept between measurements.
pub(crate) fn kept(name: &str) -> PathBuf {
    here().join("target/evals").join(name)
}

/// The text of a file packed with gzip.
pub(crate) fn unpacked(path: &Path) -> Result<String, Fault> {
    let file = fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text)?;
    Ok(text)
}

/// The string field `name` of each JSON line that has it.
fn field(lines: &str, name: &str) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line)?;
        if let Some(text) = row[name].as_str() {
            found.push(text.to_owned());
        }
    }
    Ok(found)
}

/// Questions about the sample library, in the form of the judged sets.
const JUDGED: [&str; 3] = [
    r#"{"query": "When did the Halvern roof ordinance come into force?", "answer": "2020", "relevant": ["council-minutes-2025.txt"]}"#,
    r#"{"query": "Do green roofs cool the air at street level?", "answer": "no", "relevant": ["street-level-cooling"]}"#,
    r#"{"query": "Who invented the bicycle?", "question_type": "null_query", "relevant": []}"#,
];

/// What is known of the answer to a judged question.
pub(crate) enum Known {
    /// Any of these names answers it.
    Any(Vec<String>),
    /// Yes or no.
    YesNo(bool),
    /// The documents do not answer it.
    Nothing,
    /// It takes prose to answer it.
    Text,
}

/// A question with what people judged to answer it.
pub(crate) struct JudgedQuestion {
    /// The question.
    pub(crate) text: String,
    /// Its answer.
    pub(crate) known: Known,
    /// Ids of the documents that bear on it.
    pub(crate) relevant: BTreeSet<String>,
}

/// The folder of the judged set called `name`, and its questions.
pub(crate) fn judged(name: &str) -> Result<(PathBuf, Vec<JudgedQuestion>), Fault> {
    let (set, rows) = match name {
        "bioasq" => {
            let path = shared("retrieval-bioasq").join("dev/questions.jsonl.gz");
            (bioasq()?, unpacked(&path)?)
        }
        "multihop" => {
            let path = shared("multihop-rag-evidence").join("dev/queries.jsonl");
            (multihop()?, fs::read_to_string(path)?)
        }
        "library" => (library()?, JUDGED.map(|judged| format!("{judged}\n")).concat()),
        _ => return Err(format!("no judged set `{name}`: bioasq, multihop, library").into()),
    };
    let mut questions = Vec::new();
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line)?;
        questions.push(JudgedQuestion {
            text: row["query"].as_str().unwrap_or_default().to_owned(),
            known: known(&row),
            relevant: strings(&row["relevant"]).into_iter().collect(),
        });
    }
    Ok((set.folder, questions))
}

/// The answer in BioASQ's form (`type`, `exact_answer`) or MultiHop-RAG's (`question_type`, `answer`).
fn known(row: &Value) -> Known {
    let yes_no = |text: &str| match text.to_lowercase().as_str() {
        "yes" => Some(Known::YesNo(true)),
        "no" => Some(Known::YesNo(false)),
        _ => None,
    };
    if row["question_type"] == "null_query" {
        return Known::Nothing;
    }
    if let Some(text) = row["answer"].as_str().or(row["exact_answer"].as_str()) {
        return yes_no(text).unwrap_or_else(|| Known::Any(vec![text.to_owned()]));
    }
    // Names of one thing stand together in a list of their own.
    let names = strings(&row["exact_answer"]);
    if names.is_empty() { Known::Text } else { Known::Any(names) }
}

/// All strings of a list, however deep.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
