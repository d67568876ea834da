//! The event vocabulary is a promise to whoever reads `--jsonl`, the log or the API.
//!
//! `tests/golden/events.jsonl` holds one line a kind of event as it stands on the wire, and
//! `docs/events.md` is made from it. After a change that is meant, look at the difference and accept
//! it with `IBID_ACCEPT=1 cargo xtask test events`.
pub(crate) mod samples;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use ibid_core::domain::TopicRelation;
use ibid_core::record::{EVENT_VERSION, Envelope, Event, Phase, Run, RunStatus};

use samples::{ID, enveloped, story};

#[test]
fn the_wire_form_of_every_event_is_as_recorded() {
    let now: String = story().iter().map(|it| serde_json::to_string(it).unwrap() + "\n").collect();
    same_as_file("crates/ibid-cli/tests/golden/events.jsonl", &now);
}

#[test]
fn the_record_holds_every_kind_of_event() {
    let recorded: BTreeSet<String> = story().iter().map(|it| it.event.name()).collect();
    let declared: BTreeSet<String> = declared().into_iter().map(|it| it.0).collect();
    assert_eq!(recorded, declared, "tests/it/events/samples.rs has one sample a kind");
}

#[test]
fn recorded_events_read_back_as_they_were() {
    let golden =
        fs::read_to_string(root().join("crates/ibid-cli/tests/golden/events.jsonl")).unwrap();
    let read: Vec<Envelope> = golden.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(read, story());
}

#[test]
fn fields_that_a_later_version_adds_are_passed_over() {
    let line = r#"{"seq":3,"ts":"2026-11-21T10:00:00.000Z","run":"r_01JD0000000000000000000000","type":"wave.finished",
        "data":{"new_evidence":4,"new_sources":2,"mood":"good"},"phase":"research","wave":1,"colour":"blue"}"#;
    let read: Envelope = serde_json::from_str(line).unwrap();
    assert_eq!(read.event, Event::RoundFinished { new_evidence: 4, new_sources: 2 });
    assert_eq!((read.seq, read.round, read.agent), (3, Some(1), None));
}

#[test]
fn optional_fields_may_be_missing_and_required_ones_may_not() {
    let failed = |data: &str| {
        serde_json::from_str::<Envelope>(&format!(
            r#"{{"seq":1,"ts":"","run":"r_01JD0000000000000000000000","type":"run.failed","data":{data},"phase":"run"}}"#
        ))
    };
    assert_eq!(
        failed(r#"{"reason":"no disk"}"#).unwrap().event,
        Event::RunFailed { reason: "no disk".to_owned(), hint: None, kind: None }
    );
    let fault = failed(r#"{"hint":"clean up"}"#).unwrap_err().to_string();
    assert!(fault.contains("reason"), "{fault}");
}

#[test]
fn a_kind_of_event_that_nobody_knows_is_refused_by_name() {
    let line = r#"{"seq":1,"ts":"","run":"r_01JD0000000000000000000000","type":"moon.rose","data":{},"phase":"run"}"#;
    let fault = serde_json::from_str::<Envelope>(line).unwrap_err().to_string();
    assert!(fault.contains("moon.rose"), "{fault}");
}

#[test]
fn an_envelope_leaves_out_what_it_does_not_have() {
    let mut it = enveloped(1, Event::RunStarted {}, Phase::Run, None);
    let bare = serde_json::to_value(&it).unwrap();
    let keys: Vec<&String> = bare.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["seq", "ts", "run", "type", "data", "phase"]);
    it.round = Some(2);
    assert_eq!(serde_json::to_value(&it).unwrap()["wave"], 2);
}

#[test]
fn what_the_clock_measured_is_no_part_of_an_events_identity() {
    for it in story() {
        let mut slower = serde_json::to_value(&it.event).unwrap();
        if let Some(ms) = slower.pointer_mut("/data/ms") {
            *ms = 9_999.into();
        }
        let slower: Event = serde_json::from_value(slower).unwrap();
        assert_eq!(slower.identity(), it.event.identity(), "{}", it.event.name());
    }
}

#[test]
fn the_reference_page_tells_every_event_and_its_fields() {
    let page = fs::read_to_string(root().join("docs/events.md")).unwrap();
    let (begin, end) = ("<!-- events:begin -->\n", "<!-- events:end -->");
    let (head, rest) = page.split_once(begin).expect("docs/events.md has a begin mark");
    let (_, tail) = rest.split_once(end).expect("docs/events.md has an end mark");
    let story = story();
    let mut table = String::from("\n| type | what happened | data |\n| --- | --- | --- |\n");
    for (name, meaning) in declared() {
        let sample = story.iter().find(|it| it.event.name() == name).unwrap();
        let value = serde_json::to_value(&sample.event).unwrap();
        let fields: Vec<String> =
            value["data"].as_object().unwrap().keys().map(|it| format!("`{it}`")).collect();
        table += &format!("| `{name}` | {meaning} | {} |\n", fields.join(", "));
    }
    same_as_file("docs/events.md", &format!("{head}{begin}{table}\n{end}{tail}"));
    assert!(head.contains(&format!("version {EVENT_VERSION}")), "docs/events.md names the version");
}

#[test]
fn a_run_is_the_fold_of_its_events() {
    let story = story();
    let run = Run::from_events(samples::run_id(), &story);
    assert_eq!(run.id.as_str(), ID);
    // The sample story ends in every way a run can; the last word counts.
    assert_eq!(run.status, RunStatus::Cancelled);
    assert_eq!(run.question.as_ref().unwrap().text, "What is a green roof?");
    assert_eq!(run.plan.as_ref().unwrap().items().len(), 1);
    assert_eq!((run.searches, run.pages, run.failed_pages), (1, 1, 1));
    assert_eq!((run.evidence, run.round), (1, 1));
    assert_eq!(run.sources.len(), 2, "one known before, one read");
    assert_eq!(run.topic, Some(TopicRelation::Shift));
    assert!(!run.awaiting_clarification && !run.awaiting_approval);
    assert_eq!(run.coverage.len(), 1);
    assert!(run.gate.is_some() && run.report.is_some() && run.brief.is_some());
    assert_eq!(run.started_at.as_ref(), Some(&story[0].ts));
    assert_eq!(run.updated_at.as_ref(), story.last().map(|it| &it.ts));
    assert_eq!(run.seq, story.len() as u64);
    assert_eq!(run.error.as_deref(), Some("the disk is full"));
}

#[test]
fn a_run_folded_in_pieces_is_the_run_folded_at_once() {
    let story = story();
    for cut in 0..=story.len() {
        let mut run = Run::from_events(samples::run_id(), &story[..cut]);
        for it in &story[cut..] {
            run.apply(it);
        }
        assert_eq!(run, Run::from_events(samples::run_id(), &story), "cut after {cut}");
    }
}

#[test]
fn the_status_of_a_run_follows_its_events() {
    let story = story();
    let upto = |name: &str| {
        let at = story.iter().position(|it| it.event.name() == name).unwrap();
        Run::from_events(samples::run_id(), &story[..=at]).status
    };
    assert_eq!(Run::from_events(samples::run_id(), &[]).status, RunStatus::Pending);
    assert_eq!(upto("run.created"), RunStatus::Pending);
    assert_eq!(upto("run.started"), RunStatus::InProgress);
    assert_eq!(upto("run.resumed"), RunStatus::InProgress);
    assert_eq!(upto("report.ready"), RunStatus::InProgress);
    assert_eq!(upto("run.completed"), RunStatus::Completed);
    assert_eq!(upto("run.failed"), RunStatus::Failed);
}

#[test]
fn a_run_that_waits_for_the_person_says_so_until_they_have_spoken() {
    let story = story();
    let upto = |name: &str| {
        let at = story.iter().position(|it| it.event.name() == name).unwrap();
        let run = Run::from_events(samples::run_id(), &story[..=at]);
        (run.awaiting_clarification, run.awaiting_approval)
    };
    assert_eq!(upto("intake.decided"), (true, false));
    assert_eq!(upto("clarify.answered"), (false, false));
    assert_eq!(upto("plan.waiting"), (false, true));
    assert_eq!(upto("plan.changed"), (false, false));
    assert_eq!(upto("plan.approved"), (false, false));
}

/// Every event that `src/record/event.rs` declares: its name on the wire and its doc comment.
fn declared() -> Vec<(String, String)> {
    let code = fs::read_to_string(root().join("crates/ibid-core/src/record/event.rs")).unwrap();
    let body = code.split("pub enum Event {").nth(1).unwrap();
    let body = body.split("\n}").next().unwrap();
    let mut found = Vec::new();
    let mut meaning = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            meaning.push(words);
        } else if let Some(rest) = line.strip_prefix("#[serde(rename = \"") {
            let name = rest.split('"').next().unwrap();
            found.push((name.to_owned(), meaning.join(" ")));
            meaning.clear();
        } else if !line.starts_with("#[") {
            // What stands before a field is told of the field.
            meaning.clear();
        }
    }
    assert!(found.len() > 20, "only {} events found", found.len());
    found
}

fn same_as_file(name: &str, now: &str) {
    let path = root().join(name);
    if env::var_os("IBID_ACCEPT").is_some() {
        fs::write(&path, now).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<String> = recorded
        .lines()
        .zip(now.lines())
        .filter(|it| it.0 != it.1)
        .map(|it| format!("- {}\n+ {}", it.0, it.1))
        .collect();
    assert!(
        recorded == now,
        "{name} has changed; if that is meant, accept it with IBID_ACCEPT=1:\n{}",
        changed.join("\n")
    );
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
