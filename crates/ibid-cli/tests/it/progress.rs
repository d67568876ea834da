//! What a person sees while a run works, from events alone.
use std::path::Path;

use std::sync::Arc;

use async_trait::async_trait;
use ibid_cli::console::Palette;
use ibid_cli::progress::{MAX_LINES, ProgressView, summary_line};
use ibid_cli::progress_line::progress_line;
use ibid_core::domain::{
    ChecklistItem, Complexity, Coverage, CoverageRow, Hits, ItemId, ModelRole, Plan, Query,
    StopReason, Strategy, Usage, Variation, Vertical, WritingPlan,
};
use ibid_core::ports::SearchProvider;
use ibid_core::record::{
    EVENT_VERSION, Envelope, Event, Phase, Run, RunMetrics, RunOutcome, ToolProgress,
    ToolProgressTracker,
};
use ibid_core::{ReadFailure, Result};
use ibid_server::view::feed::feed_line;
use unicode_width::UnicodeWidthStr as _;

use crate::events::samples::{enveloped, run_id, story};
use crate::memory::{Events, Pages, log, world};
use crate::strategies::{asked, shelf};

pub(crate) fn same_as_file(name: &str, now: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("crates/ibid-cli/tests/golden")
        .join(name);
    if std::env::var_os("IBID_ACCEPT").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    assert_eq!(now, std::fs::read_to_string(&path).unwrap(), "{}", path.display());
}

/// A run in its second wave.
pub(crate) fn underway(words: &str) -> Vec<Envelope> {
    let row = |id, text: &str, state, evidence, sources, by_round: &[u32], gap: Option<&str>| {
        CoverageRow {
            id: ItemId::new(id),
            text: text.to_owned(),
            state,
            score: 0.5,
            evidence,
            sources,
            by_round: by_round.to_vec(),
            proof: None,
            gap: gap.map(str::to_owned),
        }
    };
    let rows = vec![
        row(1, &format!("Effect size in {words}"), Coverage::Covered, 11, 6, &[2, 9], None),
        row(2, "RCT evidence", Coverage::Partial, 4, 2, &[0, 4], Some("no trial > 24 months")),
        row(3, "認知機能低下への効果", Coverage::Open, 0, 0, &[0, 0], Some(words)),
        row(4, "Confounding (frailty, indication)", Coverage::Conflict, 2, 1, &[0, 2], None),
    ];
    let items = rows
        .iter()
        .map(|it| ChecklistItem {
            id: it.id,
            asks: it.text.clone(),
            heading: it.text.clone(),
            terms: vec![],
            query: it.text.clone(),
        })
        .collect();
    let writing = WritingPlan {
        overall_goal: String::new(),
        desired_tone: String::new(),
        sections: vec![],
        additional_directives: vec![],
        bibliography: true,
    };
    let plan = Plan::new(items, Complexity::Moderate, writing).unwrap();
    let mut events: Vec<Envelope> = story().into_iter().take(3).collect();
    let searching = |query: &str| Event::SearchStarted {
        engine: "local".to_owned(),
        query: query.to_owned(),
        vertical: Vertical::Local,
        item: ItemId::new(1),
        variation: Variation::Original,
        origin: Vec::new(),
    };
    for event in [
        Event::PlanProposed { plan },
        searching(words),
        Event::ReadStarted { url: "file:///library/a%20paper.pdf".to_owned() },
        Event::CoverageUpdated { rows, ratio: 0.4 },
        Event::BudgetWarning { message: "50 of 60 calls used".to_owned() },
    ] {
        let seq = events.len() as u64 + 1;
        events.push(enveloped(seq, event, Phase::Research, Some(2)));
    }
    events
}

fn block(events: &[Envelope], width: usize, paint: bool) -> Vec<String> {
    let mut view = ProgressView::new(run_id());
    events.iter().for_each(|it| view.apply(it));
    view.lines(Palette(paint), width, 3, 161)
}

#[test]
fn the_block_is_as_recorded() {
    let events = underway("cohorts");
    let mut now = String::new();
    for width in [100, 72, 40] {
        now += &format!("--- {width} columns\n{}\n", block(&events, width, false).join("\n"));
    }
    same_as_file("progress.txt", &now);
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_block_higher_than_promised() {
    let long = "長い言葉 ".repeat(80);
    for words in ["cohorts", long.as_str(), ""] {
        for width in 20..140 {
            let lines = block(&underway(words), width, false);
            assert!(lines.len() <= MAX_LINES);
            for line in lines {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn strangers_words_cannot_drive_the_terminal() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{9b}31m\u{202e}x";
    let mut shown = block(&underway(evil), 100, false).join("");
    let text = || evil.to_owned();
    let failed = [
        Event::Log { level: "warn".to_owned(), message: text(), source: None },
        Event::PlanChanged { words: text() },
        Event::ClarifyAsked { questions: vec![text()] },
        Event::ReadFailed { url: text(), reason: ReadFailure::Empty, message: text() },
        Event::DocumentFailed {
            path: text(),
            place: Some(text()),
            reason: ReadFailure::Broken,
            message: text(),
        },
        Event::StepUnaided {
            step: text(),
            role: ModelRole::Planner,
            reason: text(),
            hint: Some(text()),
        },
        Event::RunFailed { reason: text(), hint: None, kind: None },
    ];
    let failed = failed.into_iter().map(|event| {
        let of_agent = enveloped(1, event, Phase::Research, Some(1));
        Envelope { agent: Some(text()), ..of_agent }
    });
    for envelope in underway(evil).into_iter().chain(failed) {
        shown += &progress_line(&envelope, true).unwrap_or_default();
        if let Some(line) = feed_line(&envelope, "") {
            shown += &line.text;
            shown += &line.agent.unwrap_or_default();
        }
    }
    assert!(!shown.chars().any(|it| it.is_control() || it == '\u{202e}'), "{shown:?}");
}

#[test]
fn the_plain_lines_are_as_recorded() {
    let lines = |verbose: bool| -> String {
        let all = story();
        let lines = all.iter().filter_map(|it| progress_line(it, verbose));
        lines.map(|it| it + "\n").collect()
    };
    let now = format!("--- plain\n{}--- verbose\n{}", lines(false), lines(true));
    same_as_file("progress-plain.txt", &now);
}

#[test]
fn the_last_line_counts_and_never_gives_a_percentage() {
    let mut view = ProgressView::new(run_id());
    story().iter().for_each(|it| view.apply(it));
    let line = summary_line(view.run(), 372, Some("report.md"), Palette(false));
    assert_eq!(
        line,
        "✓ 56 words · 1 source · 5/5 quotes verified · 5/5 claims cited · 06:12 · charged at most $0.02, with calls whose answer was lost → report.md"
    );
    assert!(!line.contains('%'));
}

/// Pages under the name of an engine.
struct Named(&'static str, [Vertical; 1], Pages);

#[async_trait]
impl SearchProvider for Named {
    fn name(&self) -> &str {
        self.0
    }
    fn verticals(&self) -> &[Vertical] {
        &self.1
    }
    async fn search(&self, query: &Query) -> Result<Hits> {
        let mut hits = self.2.search(query).await?;
        for it in &mut hits.hits {
            it.vertical = query.vertical();
        }
        Ok(hits)
    }
}

/// A run over PubMed and the web, from its beginning to its end.
async fn whole_run() -> Vec<Envelope> {
    let mut world = world(Arc::new(Pages::new(shelf())));
    world.search = vec![
        Arc::new(Named("pubmed", [Vertical::Pubmed], Pages::new(shelf()))),
        Arc::new(Named("searxng", [Vertical::Web], Pages::new(shelf()))),
    ];
    let question = asked(Strategy::Checklist);
    let events = Arc::new(Events::default());
    let log = log(events.clone());
    log.emit(Event::RunCreated { question: question.clone(), version: EVENT_VERSION, owner: None });
    log.emit(Event::RunStarted {});
    let id = crate::memory::run_id();
    let report = ibid_research::research(&world, &log, &id, &question).await.unwrap();
    log.emit(Event::RunCompleted {
        status: RunOutcome::Completed,
        stop_reason: StopReason::CoverageReached,
        usage: report.usage,
    });
    log.flush().await.unwrap();
    events.0.lock().unwrap().clone()
}

fn told(events: &[Envelope]) -> Vec<ToolProgress> {
    let mut story = ToolProgressTracker::default();
    events.iter().filter_map(|it| story.update(it)).collect()
}

#[tokio::test]
async fn the_progress_of_a_tool_is_as_recorded() {
    let all = told(&whole_run().await);
    let lines: Vec<String> =
        all.iter().map(|it| serde_json::to_string(it).unwrap() + "\n").collect();
    same_as_file("tool-progress.jsonl", &lines.concat());
    let messages: Vec<&str> = all.iter().map(|it| it.message.as_str()).collect();
    for line in ["Iteration 1/2", "Processing 5 results"] {
        assert!(messages.contains(&line), "{line}: {messages:?}");
    }
    assert!(messages.iter().any(|it| it.starts_with("Searching PubMed: \"")));
    assert!(messages.iter().any(|it| it.starts_with("Searching Web: \"")));
    let checklist = |it: &&str| it.starts_with("Checklist: ") && it.ends_with(" items satisfied");
    assert!(messages.iter().any(checklist));
    assert_eq!(all[0].stage, "refining");
    let last = all.last().unwrap();
    assert_eq!((last.stage.as_str(), last.progress), ("completed", 1.0));
}

#[tokio::test]
async fn progress_never_goes_back_also_where_a_run_is_resumed_or_fails() {
    for events in [whole_run().await, story()] {
        let all = told(&events);
        assert!(all.windows(2).all(|it| it[0].progress <= it[1].progress));
        assert!(all.iter().all(|it| (0.0..=1.0).contains(&it.progress)));
        // Whoever hears only half of it and then the whole again is told the same.
        let half = &events[..events.len() / 2];
        assert_eq!(told(half), all[..told(half).len()]);
    }
    let failed =
        Event::RunFailed { reason: "no engine answers".to_owned(), hint: None, kind: None };
    let all = told(&[enveloped(1, failed, Phase::Write, None)]);
    assert_eq!(all.len(), 1, "a run that fails is not complete");
    assert_eq!(
        (all[0].stage.as_str(), all[0].message.as_str()),
        ("failed", "Research failed: no engine answers")
    );
}

#[tokio::test]
async fn what_a_run_took_is_counted_by_kind() {
    let events = whole_run().await;
    let run = Run::from_events(crate::memory::run_id(), &events);
    let sent = |name: &str| {
        let of = |it: &&Envelope| matches!(&it.event, Event::SearchStarted { engine, .. } if engine == name);
        events.iter().filter(of).count() as u32
    };
    let read = events.iter().filter(|it| it.event.name() == "read.completed");
    let it = run.metrics();
    assert!(it.pubmed_queries > 0 && it.web_queries > 0);
    assert_eq!(
        it,
        RunMetrics {
            total_iterations: run.round,
            pubmed_queries: sent("pubmed"),
            web_queries: sent("searxng"),
            sources_processed: read.count() as u32,
            articles_processed: it.articles_processed,
            pages_processed: it.sources_processed - it.articles_processed,
            ..RunMetrics::default()
        }
    );
    let mut thought = Run::new(run_id());
    thought.usage = Usage { model_calls: 7, ..Usage::default() };
    assert_eq!(thought.metrics().llm_calls, 7);
}
