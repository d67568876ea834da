//! Every invariant is broken once on purpose, and must be told.
use serde_json::{Value, json};

use super::*;
use crate::chaos::world::{Books, Sent};

const URL: &str = "https://oak.example/cork";
const QUOTE: &str = "Cork floats.";

/// A run that read one page and cites it.
fn sound() -> Left {
    let usage = json!({"searches": 0, "pages": 1, "model_calls": 0});
    let passage = json!({"page": "sha256:a", "start": 0, "end": 12, "text": QUOTE});
    let report = json!({
        "sources": [{"id": "src_1", "page": "sha256:a"}],
        "short": [{"citations": [{"passage": passage}]}],
        "usage": usage,
    });
    let told = [
        ("run.created", json!({})),
        ("read.completed", json!({"source": {"page": "sha256:a"}})),
        ("report.ready", json!({"report": report})),
        ("run.completed", json!({"usage": usage})),
    ];
    let event = |(nth, (name, data)): (usize, &(&str, Value))| {
        let seq = nth as i64 + 1;
        (seq, json!({"seq": seq, "type": name, "data": data}))
    };
    Left {
        events: told.iter().enumerate().map(event).collect(),
        steps: vec![Step {
            key: "k".to_owned(),
            door: "read:pages".to_owned(),
            asked: json!({"url": URL}),
            state: "answered".to_owned(),
            answer: Some(json!("sha256:a")),
            sent: 1,
        }],
        pages: [("sha256:a".to_owned(), json!({"url": URL, "text": "Cork floats. It is light."}))]
            .into(),
        held: ["sha256:a".to_owned()].into(),
        row: json!({"status": "completed", "usage": usage}),
    }
}

/// The books of a world in which that run went well.
fn books() -> Books {
    let sent = Sent { session: 1, port: Port::Page, key: read_key(URL) };
    Books {
        sent: vec![sent],
        served: [(URL.to_owned(), vec!["Cork floats. It is light.".to_owned()])].into(),
        billed: 0.01,
        ..Books::default()
    }
}

const BOUNDS: Bounds = Bounds { usd: Some(0.02), calls: Some(1) };

/// Breaks a sound run and expects to be told of just this invariant.
fn told_of(which: Invariant, spoil: impl FnOnce(&mut Left)) {
    let mut left = sound();
    spoil(&mut left);
    let found = in_store(&left);
    assert!(!found.is_empty() && found.iter().all(|it| it.0 == which), "{found:?}");
}

fn told_by_world(which: Invariant, spoil: impl FnOnce(&mut Books)) {
    let mut books = books();
    spoil(&mut books);
    let found = in_world(&sound(), &books, BOUNDS, false);
    assert!(!found.is_empty() && found.iter().all(|it| it.0 == which), "{found:?}");
}

#[test]
fn nothing_is_told_of_a_sound_run() {
    assert_eq!(in_store(&sound()), []);
    assert_eq!(in_world(&sound(), &books(), BOUNDS, false), []);
    assert_eq!(since(&sound(), &sound(), &books(), 2), []);
}

#[test]
fn a_journal_that_does_not_agree_with_events_and_report_is_told() {
    let broken = Invariant::Agreement;
    told_of(broken, |left| left.events[1].0 = 7);
    told_of(broken, |left| {
        left.events.remove(1);
    });
    told_of(broken, |left| left.events[0].1["type"] = json!("report.ready"));
    told_of(broken, |left| left.events[2].1["data"]["report"]["usage"]["model_calls"] = json!(1));
    told_of(broken, |left| {
        let data = json!({"engine": "alpha", "query": "cork", "outcome": "ok"});
        left.events[0].1 = json!({"seq": 1, "type": "search.completed", "data": data});
    });
    told_of(broken, |left| left.steps.clear());
    told_of(broken, |left| left.held.clear());
    told_of(broken, |left| left.events[1].1["data"]["source"]["page"] = json!("sha256:b"));
    told_of(broken, |left| left.row["usage"]["pages"] = json!(2));
    told_of(broken, |left| left.events[3].1["data"]["usage"]["pages"] = json!(0));
    told_by_world(broken, |books| {
        books.sent.push(Sent { session: 1, port: Port::Engine, key: "search:x".to_owned() });
        // Two calls would be over the bound, too.
        books.sent.remove(0);
    });
}

#[test]
fn a_quote_that_is_not_exact_is_told() {
    let passage = "/data/report/short/0/citations/0/passage";
    let at = |left: &mut Left, name: &str, value: Value| {
        if let Some(passage) = left.events[2].1.pointer_mut(passage) {
            passage[name] = value;
        }
    };
    told_of(Invariant::Quotes, |left| at(left, "text", json!("Cork sinks.")));
    told_of(Invariant::Quotes, |left| at(left, "end", json!(11)));
    told_of(Invariant::Quotes, |left| at(left, "page", json!("sha256:b")));
    told_by_world(Invariant::Quotes, |books| {
        books.served.insert(URL.to_owned(), vec!["Something else.".to_owned()]);
    });
}

#[test]
fn spending_beyond_a_bound_is_told() {
    told_by_world(Invariant::Spend, |books| books.billed = 0.03);
    let mut left = sound();
    left.steps.push(Step {
        key: "j".to_owned(),
        asked: json!({"url": "x"}),
        ..left.steps[0].clone()
    });
    let mut books = books();
    books.sent.push(Sent { session: 1, port: Port::Page, key: read_key("x") });
    let found = in_world(&left, &books, BOUNDS, false);
    assert!(found.len() == 1 && found[0].0 == Invariant::Spend, "{found:?}");
}

#[test]
fn an_answered_call_that_is_sent_again_is_told() {
    told_by_world(Invariant::Repeats, |books| books.sent.push(books.sent[0].clone()));
    let mut again = books();
    again.sent.push(Sent { session: 2, ..again.sent[0].clone() });
    let found = since(&sound(), &sound(), &again, 2);
    assert!(found.len() == 1 && found[0].0 == Invariant::Repeats, "{found:?}");
    let mut changed = sound();
    changed.steps[0].sent = 2;
    assert_eq!(since(&sound(), &changed, &books(), 2).len(), 1);
    changed = sound();
    changed.events[0].1["data"] = json!({"new": true});
    assert_eq!(since(&sound(), &changed, &books(), 2)[0].0, Invariant::Agreement);
}

#[test]
fn an_ending_that_is_not_typed_or_not_plain_is_told() {
    let broken = Invariant::Ending;
    let failed = |left: &mut Left, data: Value| {
        left.events[3].1 = json!({"seq": 4, "type": "run.failed", "data": data});
        left.row["status"] = json!("failed");
    };
    let mut well = sound();
    failed(&mut well, json!({"kind": "not_found", "reason": "found nothing"}));
    assert_eq!(in_store(&well), []);
    told_of(broken, |left| failed(left, json!({"reason": "found nothing"})));
    told_of(broken, |left| failed(left, json!({"kind": "internal", "reason": "found nothing"})));
    told_of(broken, |left| failed(left, json!({"kind": "setup", "reason": "the disk is full"})));
    told_of(broken, |left| failed(left, json!({"kind": "not_found", "reason": "Err(Empty)"})));
    told_of(broken, |left| failed(left, json!({"kind": "not_found", "reason": " "})));
    told_of(broken, |left| left.row["status"] = json!("in_progress"));
    told_of(broken, |left| {
        left.events.pop();
    });
}
