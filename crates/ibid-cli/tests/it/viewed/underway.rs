//! The page of a run under way: its provisional answer, its outline, the verdicts of its gate and what failed.
use ibid_core::ReadFailure;
use ibid_core::domain::{EvidenceGate, EvidenceId, GateVerdict, ItemId, ModelRole, OutlineSection};
use ibid_core::record::{Envelope, Event, Phase, Run};
use ibid_server::view::live::{LivePage, RunStateView};
use ibid_server::view::{PageLayout, render};

use super::hostile::HOSTILE;
use super::{asked, between, look};
use crate::cli::{ASKED, TestHome};
use crate::events::samples::{enveloped, run_id, story};
use crate::progress::underway;
use crate::served::Served;

fn shown(events: &[Envelope]) -> String {
    let run = Run::from_events(run_id(), events);
    let now = "2026-11-21T20:20:25Z".parse().unwrap();
    render(&LivePage {
        shell: PageLayout::new("underway"),
        state: RunStateView::new(&run, events, None, None, now),
        past: false,
    })
    .unwrap()
}

fn with(mut events: Vec<Envelope>, more: Vec<(Event, Phase, Option<u32>)>) -> Vec<Envelope> {
    for (event, phase, round) in more {
        let seq = events.len() as u64 + 1;
        events.push(enveloped(seq, event, phase, round));
    }
    events
}

fn verdict(reason: Option<&str>) -> Event {
    let gate =
        EvidenceGate { min_evidence_records: 5, min_cited_records: 5, min_source_domains: 3 };
    Event::GateJudged {
        verdict: GateVerdict {
            pass: reason.is_none(),
            reason: reason.map(str::to_owned),
            evidence_records: 4,
            cited_records: 4,
            source_domains: 2,
            gate,
            lowered: false,
        },
    }
}

/// A piece of evidence of the sample story.
fn evidence() -> Event {
    let all = story().into_iter().map(|it| it.event);
    all.into_iter().find(|it| matches!(it, Event::EvidenceAdded { .. })).unwrap()
}

fn part<'t>(page: &'t str, name: &str) -> &'t str {
    between(page, &format!("<div data-part=\"{name}\">"), "</section>")
}

#[test]
fn the_outline_grows_with_what_is_searched_found_and_drafted() {
    let page = shown(&underway("cohorts"));
    let outline = part(&page, "outline");
    for words in [
        "Effect size in cohorts</strong> <span class=\"state covered\">covered</span>",
        "/evidence?item=Q1\">11 passages from 6 sources</a>",
        "<span class=\"state open\">open</span>",
        "nothing yet",
    ] {
        assert!(outline.contains(words), "{words}: {outline}");
    }
    assert!(!outline.contains("being searched") && !outline.contains("drafted"), "{outline}");
    // In a round: what it searches, and what it found already.
    let begun = Event::RoundStarted { items: vec![ItemId::new(2)], queries: 1 };
    let events = with(underway("cohorts"), vec![(begun, Phase::Research, Some(3))]);
    let outline = shown(&events);
    assert_eq!(part(&outline, "outline").matches("being searched").count(), 1);
    let over = Event::RoundFinished { new_evidence: 0, new_sources: 0 };
    let events = with(events, vec![(over, Phase::Research, Some(3))]);
    assert!(!part(&shown(&events), "outline").contains("being searched"));
    // In the draft: its sections, also those that no item has.
    let draft = |text: &str, section: &str| Event::DraftDelta {
        text: text.to_owned(),
        section: Some(section.to_owned()),
        begins: false,
    };
    let written = vec![
        (draft("Half.", "RCT evidence"), Phase::Write, None),
        (draft("Two trials.", "RCT evidence"), Phase::Write, None),
        (draft("Frail people differ.", "Who was asked"), Phase::Write, None),
    ];
    let page = shown(&with(events, written));
    let outline = part(&page, "outline");
    assert!(outline.contains("drafted, 2 sentences"), "{outline}");
    assert!(outline.contains("Who was asked</strong> <span class=\"badge\">drafted, 1 sentence"));
}

#[test]
fn the_outline_of_a_round_replaces_the_items_of_the_plan() {
    let section = |title: &str, items: &[u32], gap: Option<&str>| OutlineSection {
        title: title.to_owned(),
        claim: format!("What {title} says."),
        items: items.iter().map(|item| ItemId::new(*item)).collect(),
        evidence: vec![EvidenceId::new(1)],
        gaps: gap.iter().map(|gap| (*gap).to_owned()).collect(),
        answered: gap.is_none(),
    };
    let updated = Event::OutlineUpdated {
        edits: Vec::new(),
        sections: vec![
            section("Trials", &[2], Some("no trial of more than a year")),
            section("Cohorts", &[1], None),
        ],
    };
    let events = with(
        underway("cohorts"),
        vec![(evidence(), Phase::Research, Some(2)), (updated, Phase::Research, Some(2))],
    );
    let page = shown(&events);
    let outline = part(&page, "outline");
    let at =
        |words: &str| outline.find(words).unwrap_or_else(|| panic!("{words} is not in {outline}"));
    assert!(at("Trials</strong>") < at("Still lacking: no trial of more than a year"));
    assert!(
        at("Still lacking") < at("Cohorts</strong> <span class=\"state covered\">covered</span>")
    );
    assert!(outline.contains("What Cohorts says."), "{outline}");
    assert!(!outline.contains("Effect size in cohorts"), "{outline}");
}

#[test]
fn the_best_passage_is_the_provisional_answer_until_there_is_a_draft() {
    let page = shown(&underway("cohorts"));
    assert!(!page.contains("Provisional answer"), "nothing was found that could be shown");
    let events = with(underway("cohorts"), vec![(evidence(), Phase::Research, Some(2))]);
    let page = shown(&events);
    let answer = part(&page, "draft");
    let passage = "A green roof is a roof with plants.";
    assert!(answer.contains("Provisional answer") && answer.contains(passage), "{answer}");
    assert!(answer.contains("Nothing is written yet."), "{answer}");
    assert!(!part(&page, "outline").contains(passage), "it is not said twice");
    let draft = Event::DraftDelta { text: "Half of it.".to_owned(), section: None, begins: true };
    let page = shown(&with(events, vec![(draft, Phase::Write, None)]));
    let answer = part(&page, "draft");
    assert!(answer.contains("not yet checked") && answer.contains("Half of it."), "{answer}");
    assert!(!answer.contains("Nothing is written yet."));
}

#[test]
fn each_verdict_of_the_gate_is_shown_for_every_strategy() {
    let first = vec![(verdict(Some("2 of 3 sites")), Phase::Research, Some(1))];
    let events = with(underway("cohorts"), first);
    let page = shown(&events);
    let gate = part(&page, "gate");
    assert!(gate.contains("<span class=\"state partial\">not passed</span>"), "{gate}");
    assert!(gate.contains("<span class=\"value\">2</span><span class=\"more\">at least 3</span>"));
    assert!(!gate.contains("Round 1") && !gate.contains("Researchers"), "{gate}");
    let page = shown(&with(events, vec![(verdict(None), Phase::Research, Some(2))]));
    let gate = part(&page, "gate");
    assert!(gate.contains("Evidence gate <span class=\"state covered\">passed</span>"), "{gate}");
    assert!(gate.contains("Round 1 <span class=\"state partial\">not passed</span> 2 of 3 sites"));
    assert!(gate.contains("Round 2 <span class=\"state covered\">passed</span>"), "{gate}");
}

#[test]
fn failures_on_the_way_stand_together() {
    assert!(!shown(&underway("cohorts")).contains("id=\"failures\""));
    let unread = |nth: usize| Event::ReadFailed {
        url: format!("https://a.example/{nth}"),
        reason: ReadFailure::Empty,
        message: "nothing to read".to_owned(),
    };
    let unaided = Event::StepUnaided {
        step: "write".to_owned(),
        role: ModelRole::Writer,
        reason: "HTTP 503".to_owned(),
        hint: None,
    };
    let mut more: Vec<_> = (0..20).map(|n| (unread(n), Phase::Research, Some(2))).collect();
    more.push((unaided, Phase::Write, None));
    let page = shown(&with(underway("cohorts"), more));
    let failures = part(&page, "failures");
    assert!(failures.contains("write continues without a model: HTTP 503"), "{failures}");
    assert!(failures.contains("https://a.example/19") && !failures.contains("a.example/1:"));
    assert!(failures.contains("9 more: see"), "{failures}");
}

#[test]
fn words_of_strangers_are_words_on_the_page_of_a_run() {
    let page = |words: &str| {
        let read = Event::ReadFailed {
            url: words.to_owned(),
            reason: ReadFailure::Empty,
            message: words.to_owned(),
        };
        let more = vec![
            (verdict(Some(words)), Phase::Research, Some(1)),
            (verdict(Some(words)), Phase::Research, Some(2)),
            (read, Phase::Research, Some(2)),
        ];
        shown(&with(underway(words), more))
    };
    let plain = page("words");
    for words in HOSTILE {
        let page = page(words);
        assert_eq!(page.matches('<').count(), plain.matches('<').count(), "{words}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{0}'), "{words}");
    }
}

#[tokio::test]
async fn the_page_of_an_ended_run_begins_with_its_answer() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    let page = look(&served, &format!("/r/{id}"), None).await.body;
    let result = between(&page, "aria-label=\"Result\">", "</section>");
    assert!(result.contains("56 % of annual rainfall"), "{result}");
    assert!(result.contains(&format!("/r/{id}/report\">Read the report")), "{result}");
    assert!(!page.contains("id=\"outline\""), "the report has its own contents");
    assert!(page.contains("<h2 id=\"gate\">Evidence gate"), "{page}");
}
