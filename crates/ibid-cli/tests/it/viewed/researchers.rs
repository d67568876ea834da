//! The evidence gate and the researchers on the page of a run, as the events `runtime_progress` tell them.
use ibid_core::domain::{
    GateStatus, ItemId, ResearcherProgress, ResearcherStatus, RuntimeProgress,
};
use ibid_core::record::{Envelope, Event, Phase, Run};
use ibid_server::view::live::{LivePage, RunStateView};
use ibid_server::view::{PageLayout, render};
use serde_json::json;

use super::hostile::HOSTILE;
use super::{asked, between, look};
use crate::cli::{ASKED, TestHome};
use crate::events::samples::{enveloped, run_id};
use crate::progress::underway;
use crate::served::{Answer, Served};

fn unit(n: u32, status: ResearcherStatus, failure: Option<&str>) -> ResearcherProgress {
    ResearcherProgress {
        id: format!("researcher-{n}"),
        topic: format!("Find out number {n}."),
        item: ItemId::new(n),
        status,
        tool_calls: 7,
        evidence: 2,
        ms: 12_400,
        failure: failure.map(str::to_owned),
    }
}

fn progress(
    gate: GateStatus,
    reason: Option<&str>,
    units: Vec<ResearcherProgress>,
) -> RuntimeProgress {
    RuntimeProgress {
        supervisor_iteration: 2,
        dispatched_research_units: 11,
        skipped_research_units: 3,
        quality_gate_status: gate,
        quality_gate_reason: reason.map(str::to_owned),
        evidence_record_count: 4,
        source_domain_count: 2,
        source_domains: vec!["oak.example".to_owned(), "file:///library/bark.md".to_owned()],
        min_evidence_records: 5,
        min_cited_records: 5,
        min_source_domains: 3,
        research_units: units,
    }
}

fn told(waves: Vec<RuntimeProgress>) -> Vec<Envelope> {
    let mut events = underway("cohorts");
    for progress in waves {
        let seq = events.len() as u64 + 1;
        events.push(enveloped(seq, Event::RuntimeProgress { progress }, Phase::Research, Some(1)));
    }
    events
}

fn shown(events: &[Envelope]) -> String {
    let run = Run::from_events(run_id(), events);
    let now = "2026-11-21T20:20:25Z".parse().unwrap();
    render(&LivePage {
        shell: PageLayout::new("researchers"),
        state: RunStateView::new(&run, events, None, None, now),
        past: false,
    })
    .unwrap()
}

/// The card of a researcher.
fn card<'t>(page: &'t str, name: &str) -> &'t str {
    between(page, &format!("<li><h3>{name}"), "</ul></li>")
}

#[test]
fn the_gate_and_each_researcher_of_every_wave_are_shown() {
    let page = shown(&underway("cohorts"));
    assert!(!page.contains("Evidence gate"), "nothing is told of a supervisor");
    let limit = Some("recursion limit of 41 reached");
    let events = told(vec![
        progress(GateStatus::None, None, vec![unit(1, ResearcherStatus::Dispatched, None)]),
        progress(
            GateStatus::Retry,
            Some("4 of 5 evidence records"),
            vec![
                unit(1, ResearcherStatus::Completed, None),
                unit(2, ResearcherStatus::Failed, limit),
            ],
        ),
        progress(
            GateStatus::Retry,
            Some("4 of 5 evidence records"),
            vec![unit(10, ResearcherStatus::Dispatched, None)],
        ),
    ]);
    let page = shown(&events);
    let gate = between(&page, "<div data-part=\"gate\">", "</section>");
    for part in [
        "<span class=\"state partial\">not passed</span>",
        "4 of 5 evidence records",
        "<span class=\"value\">4</span><span class=\"more\">at least 5</span>",
        "<span class=\"value\">2</span><span class=\"more\">at least 3</span>",
        "<span class=\"value\">11</span><span class=\"more\">sent, 3 skipped</span>",
        "Sites: oak.example, bark.md",
    ] {
        assert!(gate.contains(part), "{part}: {gate}");
    }
    let first = card(&page, "researcher-1 ");
    assert!(first.contains("Q1: Find out number 1."), "{first}");
    assert!(first.contains("done") && !first.contains("Failure"), "{first}");
    assert!(first.contains("7 calls, 2 passages of evidence, 12 s"), "{first}");
    let second = card(&page, "researcher-2 ");
    assert!(second.contains("Failure: hit tool call limit (41 steps)"), "{second}");
    let failures = between(&page, "<div data-part=\"failures\">", "</section>");
    assert_eq!(failures.matches("hit tool call limit (41 steps)").count(), 1, "{failures}");
    let third = card(&page, "researcher-10 ");
    assert!(third.contains("working") && !third.contains("calls"), "{third}");
    let at = ["-1 ", "-2 ", "-10 "].map(|n| page.find(&format!("<h3>researcher{n}")).unwrap());
    assert!(at.is_sorted(), "in the order in which they were sent out");
    // It stays once the run has ended, and nobody works then.
    let mut ended = events;
    let seq = ended.len() as u64 + 1;
    ended.push(enveloped(seq, Event::RunCancelled {}, Phase::Run, None));
    let page = shown(&ended);
    assert!(page.contains("Evidence gate"));
    assert!(card(&page, "researcher-10 ").contains("not finished"));
}

#[test]
fn words_of_models_in_tasks_failures_and_sites_are_words() {
    let hostile = |words: &str| {
        let it = ResearcherProgress {
            topic: words.to_owned(),
            failure: Some(words.to_owned()),
            ..unit(1, ResearcherStatus::Failed, None)
        };
        let said = progress(GateStatus::Retry, Some(words), vec![it]);
        shown(&told(vec![RuntimeProgress { source_domains: vec![words.to_owned()], ..said }]))
    };
    let plain = hostile("words");
    for words in HOSTILE {
        let page = hostile(words);
        assert_eq!(page.matches('<').count(), plain.matches('<').count(), "{words}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{0}'), "{words}");
    }
    assert!(hostile(&"roofs ".repeat(100_000)).len() < 60_000);
}

#[tokio::test]
async fn the_page_of_a_finished_run_with_a_supervisor_tells_of_its_researchers() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let body = json!({"question": ASKED, "strategy": "supervisor"});
    let it: Answer = served.post("/v1/runs?wait=55", &body).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let page = look(&served, &format!("/r/{}", it.json()["id"].as_str().unwrap()), None).await.body;
    assert!(page.contains("<h2 id=\"gate\">Evidence gate"), "{page}");
    let first = card(&page, "researcher-1 ");
    assert!(first.contains(" of evidence, "), "{first}");
    let checklist = asked(&served, ASKED).await;
    let page = look(&served, &format!("/r/{checklist}"), None).await.body;
    assert!(!page.contains("sent, "), "no supervisor, nobody sent out");
}
