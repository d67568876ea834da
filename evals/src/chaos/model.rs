//! A language model that does its work: what it says is in the evidence that it is shown.
use serde_json::{Value, json};

use super::world::QUESTION;

/// What it answers to a prompt for `purpose`.
pub(super) fn answer(purpose: &str, words: &str) -> Value {
    match purpose {
        "refine" => json!({
            "kind": "definition", "question": question(words), "subjects": ["cork"],
            "key_terms": ["cork", "bark"], "scope_in": ["the material"], "scope_out": [],
            "lang": "en", "clarify": [],
        }),
        "plan" => plan(),
        "queries" => json!({"queries": [
            {"item": "Q2", "variation": "rephrased", "query": "cork harvest bark"},
        ]}),
        "weigh" => json!({"evidence": findings(words)}),
        "cover" => json!({"state": "covered", "gap": "", "gap_query": ""}),
        "supervise" => json!({"action": "ConductResearch", "thought": "", "units": [
            {"item": "Q1", "topic": "What cork is made from", "query": "cork bark"},
            {"item": "Q2", "topic": "How cork is harvested", "query": "cork harvest"},
        ]}),
        "research" => research(words),
        "write" => write(words),
        "critique" => json!({"objections": []}),
        "verify" => json!({"reason": "The quote says so.", "verdict": "entails"}),
        purpose if purpose.starts_with("answer") => match evidence(words).first() {
            Some((id, says)) => json!({"answer": says, "evidence": [id]}),
            None => json!({"answer": "", "evidence": []}),
        },
        _ => json!({}),
    }
}

/// The question that a prompt tells of: [`QUESTION`], or one that begins as it does.
fn question(words: &str) -> &str {
    let begins = QUESTION.trim_end_matches('?');
    let asked = words.find(begins).and_then(|at| words[at..].split_inclusive('?').next());
    asked.unwrap_or(QUESTION)
}

fn plan() -> Value {
    let item = |heading: &str, asks: &str| json!({"heading": heading, "asks": asks, "query": asks});
    json!({
        "complexity": "moderate",
        "items": [
            item("What cork is", "What is cork made from?"),
            item("Harvest", "How is cork harvested?"),
            item("Floating", "Why does cork float?"),
        ],
        "goal": "Say what cork is.", "tone": "plain",
        "sections": [
            {"title": "What cork is", "guidance": "", "items": [1, 3]},
            {"title": "Harvest", "guidance": "", "items": [2]},
        ],
        "directives": [],
    })
}

/// A researcher searches, then reads, then is done.
fn research(words: &str) -> Value {
    let turn = |action: &str, queries: &[&str], pages: &[u32]| {
        json!({
            "action": action, "queries": queries, "pages": pages, "thought": "", "notes": [],
        })
    };
    if words.contains("fetch_url http") {
        turn("finish", &[], &[])
    } else if words.contains("search_web cork") {
        turn("fetch_url", &[], &[1, 2, 3])
    } else {
        turn("search_web", &["cork bark"], &[])
    }
}

/// The numbered sentences of a page that tell of cork.
fn findings(words: &str) -> Vec<Value> {
    let shown = words.lines().filter_map(|line| {
        let (number, text) = line.strip_prefix('[')?.split_once("] ")?;
        Some((number.parse::<u32>().ok()?, text))
    });
    let finding = |(number, text): (u32, &str)| {
        let item = match text {
            text if text.contains("float") => "Q3",
            text if text.contains("strip") || text.contains("harvest") => "Q2",
            _ => "Q1",
        };
        json!({"item": item, "sentences": [number], "claim": text, "stance": "for"})
    };
    shown.filter(|it| it.1.contains("ork")).take(6).map(finding).collect()
}

fn write(words: &str) -> Value {
    let sentence = |it: &(&str, &str)| json!({"text": it.1, "evidence": [it.0]});
    let all = evidence(words);
    let (first, second) = all.split_at(all.len().min(3));
    let part = |heading: &str, rows: &[(&str, &str)]| json!({"heading": heading, "sentences": rows.iter().map(sentence).collect::<Vec<_>>()});
    json!({"sections": [part("What cork is", first), part("Harvest", second)]})
}

/// `E3: Cork floats. (oak.example, 2022)` as id and words.
fn evidence(words: &str) -> Vec<(&str, &str)> {
    let rows = words.lines().filter_map(|line| {
        let (id, rest) = line.split_once(": ")?;
        id.strip_prefix('E')?.parse::<u32>().ok()?;
        Some((id, rest.rsplit_once(" (").map_or(rest, |parts| parts.0)))
    });
    rows.collect()
}
