//! One page read for one task: `{url, task}` in, the page's own sentences or a status out.
use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::domain::{Hit, ModelRole, Page, Question};
use ibid_core::ports::{LanguageModel, PageReader, RoleModel, RoleModels};
use ibid_core::{Error, ErrorKind, FailureReason, ReadFailure, Result};
use ibid_research::{PageSummary, summarize_url};
use serde_json::json;

use super::cli::*;
use crate::memory::{Events, Pages, log, page, question};
use crate::thought::Scripted;

const URL: &str = "https://oak.example/cork";

fn cork(url: &str) -> Page {
    page(
        url,
        "Cork",
        Some("2022-03-01"),
        "Cork is a light material that is stripped from the bark of the cork oak.\n\
         The village of Alandroal has a church and a market.\n\
         Cork floats because its cells are closed and filled with air.\n\
         Tickets for the museum cost four euros.",
    )
}

/// A reader whose pages are all behind a wall.
struct Wall;

#[async_trait]
impl PageReader for Wall {
    fn name(&self) -> &str {
        "wall"
    }
    fn can_read(&self, _: &Hit) -> bool {
        true
    }
    async fn read(&self, hit: &Hit) -> Result<Page> {
        let doing = format!("reading {}: paywall: the page says `subscribe to read`", hit.url);
        Err(Error::new(ErrorKind::Malformed, doing)
            .with_reason(FailureReason::Read(ReadFailure::Paywall)))
    }
}

/// A reader that finds the same work in the open.
struct Open;

#[async_trait]
impl PageReader for Open {
    fn name(&self) -> &str {
        "open"
    }
    fn can_read(&self, _: &Hit) -> bool {
        true
    }
    async fn read(&self, _: &Hit) -> Result<Page> {
        Ok(cork("https://repository.example/cork"))
    }
}

async fn done(
    readers: Vec<Arc<dyn PageReader>>,
    models: RoleModels,
    task: &Question,
) -> PageSummary {
    let log = log(Arc::new(Events::default()));
    summarize_url(&readers, &models, &log, task, URL).await.unwrap()
}

fn stands(it: &PageSummary) {
    let page = cork(URL);
    let text: Vec<char> = page.text().expose().chars().collect();
    for told in &it.findings {
        let there: String = text[told.start..told.end].iter().collect();
        assert_eq!(there, told.quote);
    }
}

#[tokio::test]
async fn a_page_says_what_it_has_to_the_task_and_nothing_else() {
    let readers: Vec<Arc<dyn PageReader>> = vec![Arc::new(Pages::new(vec![cork(URL)]))];
    let task = question("Why does cork float?");
    let it = done(readers.clone(), RoleModels::default(), &task).await;
    assert_eq!((it.url.as_str(), it.title.as_str(), it.status.as_str()), (URL, "Cork", "ok"));
    assert!(it.summary.contains("Cork floats because its cells are closed"), "{it:?}");
    assert!(!it.summary.contains("Tickets") && !it.summary.contains("church"), "{it:?}");
    assert!(it.unaided.is_none() && it.message.is_none() && it.read_at.is_none());
    stands(&it);
    let other = question("How do submarines navigate under ice?");
    let it = done(readers, RoleModels::default(), &other).await;
    assert_eq!((it.status.as_str(), it.summary.as_str()), ("nothing", ""));
}

#[tokio::test]
async fn a_wall_is_told_and_an_open_version_read_where_there_is_one() {
    let task = question("Why does cork float?");
    let it = done(vec![Arc::new(Wall)], RoleModels::default(), &task).await;
    assert_eq!((it.status.as_str(), it.summary.as_str()), ("paywall", ""));
    assert!(it.message.unwrap().contains("subscribe to read"));
    let it = done(vec![Arc::new(Wall), Arc::new(Open)], RoleModels::default(), &task).await;
    assert_eq!((it.status.as_str(), it.url.as_str()), ("ok", URL));
    assert_eq!(it.read_at.as_deref(), Some("https://repository.example/cork"));
    stands(&it);
}

fn summarizer(model: Arc<Scripted>) -> RoleModels {
    let mut models = RoleModels::default();
    let model = model as Arc<dyn LanguageModel>;
    models.insert(ModelRole::Summarizer, RoleModel { model, window: 8_000 });
    models
}

#[tokio::test]
async fn a_model_words_what_sentences_say_and_where_it_fails_the_words_alone_do() {
    let readers: Vec<Arc<dyn PageReader>> = vec![Arc::new(Pages::new(vec![cork(URL)]))];
    let task = question("Why does cork float?");
    let model = Scripted::new(|_, words| {
        let line = words.lines().find(|it| it.contains("Cork floats")).unwrap();
        let nth: i64 = line.trim_start_matches('[').split(']').next().unwrap().parse().unwrap();
        Ok(json!({"evidence": [
            {"item": "Q1", "sentences": [nth], "claim": "Cork floats because air fills its closed cells.", "stance": "for"},
            {"item": "Q1", "sentences": [nth], "claim": "Cork floats because it holds helium.", "stance": "for"},
        ]})
        .to_string())
    });
    let it = done(readers.clone(), summarizer(model), &task).await;
    assert!(it.summary.contains("air fills its closed cells"), "{it:?}");
    assert!(!it.summary.contains("helium"), "{it:?}");
    assert!(it.unaided.is_none());
    stands(&it);
    let broken = Scripted::new(|_, _| Err(Error::new(ErrorKind::Malformed, "asking it")));
    let it = done(readers, summarizer(broken), &task).await;
    assert!(it.summary.contains("cells are closed"), "{it:?}");
    assert!(it.unaided.is_some());
}

#[test]
fn the_command_gives_an_object_a_document_and_its_status() {
    let desk = TestHome::new();
    let moss = desk.write(
        "moss.html",
        "<title>Moss</title><p>Moss holds water because its leaves are one cell thick.</p><p>The bus leaves at nine.</p>",
    );
    let asked = ["read", &moss, "--task", "Why does moss hold water?", "--json"];
    let it = desk.ibid(&asked);
    assert_eq!(it.code, 0, "{}", it.err);
    let row = it.json();
    assert_eq!((&row["status"], &row["title"]), (&json!("ok"), &json!("Moss")), "{row}");
    assert!(row["summary"].as_str().unwrap().contains("one cell thick"), "{row}");
    let it = desk.ibid(&asked[..4]);
    assert!(it.out.contains("one cell thick") && !it.out.contains("bus"), "{}", it.out);
    let it = desk.ibid(&["read", "http://10.0.0.1/", "--task", "Why?", "--json"]);
    assert_eq!(it.code, 1);
    assert_eq!(it.json()["status"], "blocked_address", "{}", it.out);
    let it = desk.ibid(&["read", &moss, "--model", "ollama:qwen3:8b"]);
    assert_eq!(it.code, 2, "a model reads for a task");
}
