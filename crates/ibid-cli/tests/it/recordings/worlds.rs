//! Worlds to record: the sample library without its place on this machine, and a model that reads it.
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ibid::app::{App, AppComponents, Recording, RunProviders};
use ibid_core::Error;
use ibid_core::domain::{ModelRole, Page, PageDraft, Question};
use ibid_core::ports::{FrozenClock, LanguageModel, RoleModel, RoleModels, SeededRng};
use ibid_extract::{ExtractLimits, ReadItem, read_file};
use ibid_index::ranker::LexicalRanker;
use serde_json::{Value, json};

use crate::memory::{Pages, question};
use crate::stand_in::settings;
use crate::thought::Scripted;

pub(super) const RAIN: &str = "How much annual rainfall does a green roof retain?";

/// The documents of the sample library below these folders. A recording is kept in this repository, so
/// that it must not say where on a machine they were read.
pub(super) fn library(folders: &[&str]) -> Arc<Pages> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples/library");
    let mut pages = Vec::new();
    for folder in folders {
        let mut files: Vec<_> =
            std::fs::read_dir(root.join(folder)).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        for file in files {
            let mut take = |it: ReadItem| {
                if let ReadItem::Draft(draft) = it {
                    pages.push(moved(draft, &root));
                }
                ControlFlow::Continue(())
            };
            read_file(&file, &ExtractLimits::default(), &mut take).unwrap();
        }
    }
    Arc::new(Pages::new(pages))
}

fn moved(draft: PageDraft, root: &Path) -> Page {
    let here = format!("file://{}", root.display());
    let there = |it: String| it.replace(&here, "file:///library");
    Page::new(PageDraft { url: there(draft.url), file: None, ..draft })
}

/// Parts over `pages`, with `model` in every role if there is one.
pub(super) fn parts(pages: &Arc<Pages>, model: Option<Arc<Scripted>>) -> AppComponents {
    let pages = Arc::clone(pages);
    AppComponents {
        fleet: None,
        clock: Arc::new(FrozenClock::at(1_790_000_000_000)),
        chance: Arc::new(SeededRng::new(7)),
        open: Arc::new(move |_, _, _| {
            let pages = Arc::clone(&pages);
            let mut models = RoleModels::default();
            for (role, model) in
                ModelRole::ALL.into_iter().flat_map(|role| model.clone().map(|it| (role, it)))
            {
                let model = model as Arc<dyn LanguageModel>;
                let window = 6_000;
                models.insert(role, RoleModel { model, window });
            }
            Box::pin(async move {
                Ok(RunProviders {
                    egress: Default::default(),
                    search: vec![Arc::clone(&pages) as _],
                    readers: vec![pages as _],
                    ranker: Arc::new(LexicalRanker),
                    models,
                    prior_spend: None,
                    prepare: None,
                    background: None,
                })
            })
        }),
        ..AppComponents::local()
    }
}

/// An app with nobody behind its doors but what this machine has of itself.
pub(super) fn alone(dir: &Path) -> App {
    App::with_components(settings(dir), AppComponents::local())
}

/// A small question, so that its recording is small.
pub(super) fn asked(text: &str) -> Question {
    let mut asked = question(text);
    asked.method.breadth = 3;
    asked.method.depth = 1;
    asked.method.results_per_query = 4;
    asked
}

/// Asks and records.
pub(super) async fn recorded(parts: AppComponents, question: Question) -> Recording {
    let dir = tempfile::tempdir().unwrap();
    let app = App::with_components(settings(dir.path()), parts);
    let running = app.start(question).await.unwrap();
    let run = running.id.clone();
    running.wait().await.unwrap();
    app.recording(&run).await.unwrap()
}

/// A model that finds what pages say about retained rain and writes it down.
pub(super) fn reader_of_rain() -> Arc<Scripted> {
    Scripted::new(|step, words| Ok::<String, Error>(says(step, words).to_string()))
}

fn says(step: &str, words: &str) -> Value {
    match step {
        "refine" => json!({
            "kind": "quantity", "question": RAIN, "subjects": ["green roof"],
            "key_terms": ["green roof", "annual rainfall", "retain"], "scope_in": ["measured figures"],
            "scope_out": [], "lang": "en", "clarify": [],
        }),
        "plan" => json!({
            "complexity": "simple",
            "items": [
                {"heading": "The figure", "asks": RAIN, "query": "green roof annual rainfall retained"},
                {"heading": "Depth", "asks": "How does the depth of the substrate change it?",
                 "query": "substrate depth rainfall retention"},
                {"heading": "Season", "asks": "Does it differ between summer and winter?",
                 "query": "green roof winter rainfall retention"},
            ],
            "goal": "Say how much.", "tone": "plain",
            "sections": [{"title": "The figure", "guidance": "", "items": [1, 2, 3]}],
            "directives": [],
        }),
        "weigh" => json!({"evidence": found(words)}),
        "write" => json!({"sections": [{"heading": "The figure", "sentences": written(words)}]}),
        "answer" | "answer_report" => match written(words).first() {
            Some(it) => json!({"answer": it["text"], "evidence": it["evidence"]}),
            None => json!({"answer": "", "evidence": []}),
        },
        "verify" => json!({"reason": "The quote says so.", "verdict": "entails"}),
        "cover" => json!({"state": "covered", "gap": "", "gap_query": ""}),
        "queries" => {
            json!({"queries": [{"item": "Q1", "variation": "rephrased", "query": "rain held back by planted roofs"}]})
        }
        other => panic!("nobody asks for {other}"),
    }
}

/// `[12] The roof retained 56 % …` as evidence.
fn found(words: &str) -> Vec<Value> {
    let sentences = words.lines().filter_map(|it| {
        let (number, text) = it.strip_prefix('[')?.split_once("] ")?;
        Some((number.parse::<u32>().ok()?, text))
    });
    sentences
        .filter(|(_, text)| text.contains("retain") && text.contains('%'))
        .take(2)
        .map(|(number, text)| json!({"item": "Q1", "sentences": [number], "claim": text, "stance": "for"}))
        .collect()
}

/// `E3: The roof retained 56 %. (halvern.example, 2024)` as a sentence of the report.
fn written(words: &str) -> Vec<Value> {
    let evidence = words.lines().filter_map(|it| {
        let (id, rest) = it.split_once(": ")?;
        let number = id.strip_prefix('E')?;
        number.parse::<u32>().ok()?;
        Some(json!({"text": rest.rsplit_once(" (").map_or(rest, |it| it.0), "evidence": [id]}))
    });
    evidence.take(3).collect()
}
