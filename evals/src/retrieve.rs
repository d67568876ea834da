//! Ranking of a folder's documents against relevance judgements, beside plain BM25 and BM25 libraries.
//!
//! Each DIR is a [`Collection`]; it is indexed as a folder in a temporary directory. `multihop` asks in several steps,
//! as a run does, and prints the single step beside it.
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ibid_core::domain::{Hit, ItemId, Query, Variation};
use ibid_core::ports::{Embedder, SearchProvider as _};
use ibid_index::folder::Folder;

use crate::collection::{Collection, Judged, Measures};
use crate::libraries::{self, Ranked};
use crate::{Fault, Measured, Outcome, generated, meaning};

/// Documents asked for.
const TOP: usize = 100;
/// Documents asked for where time is taken.
const TIMED: usize = 10;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// One question, one search.
    Once,
    /// What is found leads to further searches.
    Steps,
}

/// Runs `evals retrieve [--python PATH] [--embedder SPEC] DIR…`.
pub(crate) fn once(args: &[String]) -> Outcome {
    run(args, Way::Once)
}

/// Runs `evals multihop …` with the same arguments.
pub(crate) fn steps(args: &[String]) -> Outcome {
    run(args, Way::Steps)
}

/// A generated collection, of which one search must find nearly everything among the first hundred.
pub(crate) fn small_once(_: &[String]) -> Outcome {
    small(Way::Once)
}

/// The same in steps, which must find nearly everything among the first ten.
pub(crate) fn small_steps(_: &[String]) -> Outcome {
    small(Way::Steps)
}

fn small(way: Way) -> Outcome {
    let dir = tempfile::tempdir()?;
    generated::collection(dir.path())?;
    let (asked, recall) = run_all(&[dir.path().to_string_lossy().into_owned()], None, None, way)?;
    if recall < 0.9 {
        Err(format!("of the documents that answer, {recall:.3} are found").into())
    } else {
        Ok(Measured::new(asked, "questions"))
    }
}

fn run(args: &[String], way: Way) -> Outcome {
    let (python, rest) = libraries::option(args, "--python");
    let (embedder, dirs) = libraries::option(&rest, "--embedder");
    let embedder = embedder.map(|embedder| meaning::embedder(&embedder)).transpose()?;
    if dirs.is_empty() {
        return Err("name the directories of judged collections".into());
    }
    let (asked, _) = run_all(&dirs, python.as_deref(), embedder.as_ref(), way)?;
    if python.is_none() {
        println!("{}", libraries::HOW);
    }
    Ok(Measured::new(asked, "questions"))
}

/// Prints a table of each collection; how many questions were asked, and our recall in the last of them.
fn run_all(
    dirs: &[String],
    python: Option<&str>,
    embedder: Option<&Arc<dyn Embedder>>,
    way: Way,
) -> Result<(usize, f64), Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut asked, mut recall) = (0, 0.0);
    for dir in dirs {
        let scratch = tempfile::tempdir()?;
        let collection = Collection::read(Path::new(dir))?;
        if collection.documents.is_empty() || collection.questions.is_empty() {
            return Err(format!("there are no documents or no judged questions in {dir}").into());
        }
        let measuring = Measuring { collection: &collection, python, embedder, way };
        let (table, measures) = runtime.block_on(measuring.table(scratch.path()))?;
        print!("{table}");
        asked += collection.questions.len();
        recall = match way {
            Way::Once => measures.recall_100(),
            Way::Steps => measures.all_10(),
        };
    }
    Ok((asked, recall))
}

/// One collection on its way into a table.
struct Measuring<'a> {
    collection: &'a Collection,
    python: Option<&'a str>,
    embedder: Option<&'a Arc<dyn Embedder>>,
    way: Way,
}

impl Measuring<'_> {
    /// The table, and our own measures the way that is asked for.
    async fn table(&self, scratch: &Path) -> Result<(String, Measures), String> {
        let collection = self.collection;
        let documents = collection.documents.len();
        let mut out = format!(
            "{}: {documents} documents, {} questions\n{:24} {}  docs/s   ms/query  ids\n",
            collection.name,
            collection.questions.len(),
            "",
            Measures::HEADER
        );
        let ms = |seconds: Option<f64>| match seconds {
            Some(it) => format!("{:.3}", 1e3 * it / collection.questions.len().max(1) as f64),
            None => "-".to_owned(),
        };
        let mut row =
            |name: &str, it: &Measures, index_s: f64, whole: Option<f64>, ids: Option<f64>| {
                let docs = documents as f64 / index_s;
                let (whole, ids) = (ms(whole), ms(ids));
                let _ = writeln!(out, "{name:24} {}  {docs:7.0}  {whole:>8}  {ids}", it.row());
            };
        let began = Instant::now();
        let mut folder = collection.folder(scratch)?;
        let index_s = began.elapsed().as_secs_f64();
        let (mut ours, query_s) = self.ours(&folder, Way::Once).await?;
        let ids_s = self.ids(&folder)?;
        row("Ibid", &ours, index_s, Some(query_s), Some(ids_s));
        if self.way == Way::Steps {
            let (measures, query_s) = self.ours(&folder, Way::Steps).await?;
            row("Ibid, in steps", &measures, index_s, Some(query_s), None);
            ours = measures;
        }
        if let Some(embedder) = self.embedder {
            let began = Instant::now();
            folder = meaning::learnt(folder, embedder, &collection.name).await?;
            let index_s = index_s + began.elapsed().as_secs_f64();
            let (measures, query_s) = self.ours(&folder, self.way).await?;
            row("Ibid, with vectors", &measures, index_s, Some(query_s), None);
        }
        let mut others = vec![Ok(libraries::floor(collection, TOP, TIMED))];
        let libraries =
            self.python.map(|python| libraries::libraries(python, collection, TOP, TIMED));
        others.extend(libraries.into_iter().flatten());
        let mut missing = String::new();
        for other in others {
            match other {
                Ok(it) => {
                    let measures = judged(collection, &it);
                    row(&it.name, &measures, it.index_s, None, Some(it.query_s));
                }
                Err(why) => missing = why,
            }
        }
        if !missing.is_empty() {
            let _ = writeln!(out, "{missing}");
        }
        Ok((out, ours))
    }

    /// Figures of the first [`TOP`] documents, and seconds for the first [`TIMED`] of every question.
    async fn ours(&self, folder: &Folder, way: Way) -> Result<(Measures, f64), String> {
        let began = Instant::now();
        for it in &self.collection.questions {
            search(folder, it, TIMED, way).await?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let mut measures = Measures::default();
        for it in &self.collection.questions {
            let hits = search(folder, it, TOP, way).await?;
            let wanted = |hit: &Hit| it.wants(hit.key(), &hit.title);
            measures.take(it, &hits.iter().map(wanted).collect::<Vec<_>>());
        }
        Ok((measures, seconds))
    }
}

impl Measuring<'_> {
    /// Seconds to put the first [`TIMED`] of every question in order, without reading what they say.
    fn ids(&self, folder: &Folder) -> Result<f64, String> {
        let began = Instant::now();
        for it in &self.collection.questions {
            folder.rank_ids(&it.text, TIMED).map_err(|error| error.chain())?;
        }
        Ok(began.elapsed().as_secs_f64())
    }
}

async fn search(folder: &Folder, it: &Judged, limit: usize, way: Way) -> Result<Vec<Hit>, String> {
    let query = Query::local(it.text.as_str(), ItemId::new(1), Variation::Original, limit as u32);
    let found = match way {
        Way::Once => folder.search(&query).await.map(|it| it.hits),
        Way::Steps => crate::multi_hop::search_multi_hop(folder, &query).await,
    };
    found.map_err(|error| error.chain())
}

fn judged(collection: &Collection, ranked: &Ranked) -> Measures {
    let mut measures = Measures::default();
    for (question, places) in collection.questions.iter().zip(&ranked.ranked) {
        let wanted = |at: &usize| {
            let it = &collection.documents[*at];
            question.wants(&it.id, &it.title)
        };
        measures.take(question, &places.iter().map(wanted).collect::<Vec<_>>());
    }
    measures
}
