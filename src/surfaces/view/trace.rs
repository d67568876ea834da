//! Every call to the outside as it was written down: what was asked, what came back, what it cost.
use askama::Template;
use serde_json::Value;

use super::Shell;
use super::live::Head;
use super::words::{clip, money, thousands, took};
use crate::record::Run;
use crate::seams::{Step, StepState};
use crate::surfaces::export::escape::shown;

/// Bytes of a request or an answer that are shown.
const LONGEST: usize = 200_000;
/// Steps of a page.
const ROWS: usize = 500;

/// A call in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which, from 1.
    pub n: usize,
    /// Which door: `search:local`, `model:…`.
    pub door: String,
    /// What is asked, in short.
    pub asked: String,
    /// Class of how far it came.
    pub class: &'static str,
    /// How far it came.
    pub state: &'static str,
    /// Tokens in and out, where a model answered.
    pub tokens: String,
    /// What it cost.
    pub cost: String,
}

impl Call {
    fn of(n: usize, it: &Step) -> Call {
        let (class, state) = state(it);
        let answer = answer(it);
        let count = |name: &str| answer.and_then(|it| it["tokens"][name].as_u64());
        Call {
            n,
            door: shown(&it.door),
            asked: match clip(&said(&it.asked), 160) {
                text if text.is_empty() => "(nothing)".to_owned(),
                text => text,
            },
            class,
            state,
            tokens: match (count("input"), count("output")) {
                (None, None) => String::new(),
                (a, b) => format!(
                    "{} → {}",
                    thousands(a.unwrap_or(0)),
                    thousands(b.unwrap_or(0))
                ),
            },
            cost: cost(it)
                .filter(|it| *it > 0.0)
                .map_or_else(String::new, money),
        }
    }
}

fn state(it: &Step) -> (&'static str, &'static str) {
    match it.state {
        StepState::Intended => ("pending", "no answer yet"),
        StepState::Answered(_) => ("done", "answered"),
        StepState::Failed { .. } => ("failed", "failed"),
    }
}

fn answer(it: &Step) -> Option<&Value> {
    match &it.state {
        StepState::Answered(it) => Some(&it.answer),
        _ => None,
    }
}

fn cost(it: &Step) -> Option<f64> {
    match &it.state {
        StepState::Answered(it) => Some(it.cost_usd),
        _ => None,
    }
}

/// What is asked, in words: the query, the address, the last message of a prompt.
fn said(asked: &Value) -> String {
    let last = asked["messages"].as_array().and_then(|it| it.last());
    let text = [
        &asked["text"],
        &asked["url"],
        last.map_or(&Value::Null, |it| &it["text"]),
        asked,
    ];
    let found = text.iter().find_map(|it| it.as_str());
    found.map_or_else(|| asked.to_string(), str::to_owned)
}

/// The list.
#[derive(Template)]
#[template(path = "trace.html")]
pub struct TracePage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// The calls in order.
    pub calls: Vec<Call>,
    /// Of how many.
    pub total: usize,
    /// Where more are.
    pub more: Option<String>,
}

impl TracePage {
    /// The calls of a run, from the one after `from` on.
    pub fn of(shell: Shell, run: &Run, steps: &[Step], from: usize) -> TracePage {
        let end = from + ROWS;
        TracePage {
            shell,
            head: Head::of(run, "trace"),
            calls: steps
                .iter()
                .enumerate()
                .skip(from)
                .take(ROWS)
                .map(|(at, it)| Call::of(at + 1, it))
                .collect(),
            total: steps.len(),
            more: (end < steps.len()).then(|| format!("/r/{}/trace?from={end}", run.id)),
        }
    }
}

/// A piece of a request or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it is.
    pub name: String,
    /// The words.
    pub words: String,
    /// Whether there are more.
    pub cut: bool,
}

impl Text {
    fn of(name: impl Into<String>, words: &str) -> Text {
        let end = words.floor_char_boundary(LONGEST);
        Text {
            name: name.into(),
            words: shown(&words[..end]),
            cut: end < words.len(),
        }
    }

    fn json(name: &str, it: &Value) -> Text {
        let text = match it {
            Value::String(it) => it.clone(),
            it => serde_json::to_string_pretty(it).unwrap_or_default(),
        };
        Text::of(name, &text)
    }
}

/// One call.
#[derive(Template)]
#[template(path = "step.html")]
pub struct StepPage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// The call.
    pub call: Call,
    /// Of how many.
    pub total: usize,
    /// Figures: name, words.
    pub facts: Vec<(&'static str, String)>,
    /// What was asked.
    pub asked: Vec<Text>,
    /// What came back.
    pub answered: Vec<Text>,
}

impl StepPage {
    /// The `n`-th call of a run, from 1; `None` where there is none.
    pub fn of(shell: Shell, run: &Run, steps: &[Step], n: usize) -> Option<StepPage> {
        let it = steps.get(n.checked_sub(1)?)?;
        let answer = answer(it);
        let mut facts = vec![("Door", shown(&it.door)), ("State", state(it).1.to_owned())];
        let times = steps
            .iter()
            .filter(|other| other.door == it.door && other.asked == it.asked)
            .count();
        facts.push((
            "Asked",
            match times {
                1 => "once".to_owned(),
                n => format!("{n} times in this run, each a call of its own"),
            },
        ));
        if let Some(usd) = cost(it) {
            facts.push(("Cost", money(usd)));
        }
        if let Some(answer) = answer {
            facts.extend(counted(answer));
        }
        if let StepState::Failed { kind, message } = &it.state {
            facts.push(("Kind of failure", format!("{kind:?}").to_lowercase()));
            facts.push(("Message", shown(message)));
        }
        facts.push(("Key", it.key.clone()));
        Some(StepPage {
            shell,
            head: Head::of(run, "trace"),
            call: Call::of(n, it),
            total: steps.len(),
            facts,
            asked: asked(&it.asked),
            answered: answer.map(answered).unwrap_or_default(),
        })
    }

    fn next(&self) -> Option<usize> {
        (self.call.n < self.total).then_some(self.call.n + 1)
    }

    fn before(&self) -> Option<usize> {
        (self.call.n > 1).then_some(self.call.n - 1)
    }
}

/// What was counted of a model's answer.
fn counted(answer: &Value) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for (name, key) in [
        ("Tokens sent", "input"),
        ("Of these from a cache", "cached_input"),
        ("Of these written to a cache", "cache_write"),
        ("Tokens received", "output"),
        ("Of these for reasoning", "reasoning_output"),
    ] {
        if let Some(n) = answer["tokens"][key].as_u64() {
            out.push((name, thousands(n)));
        }
    }
    if let Some(model) = answer["model"].as_str() {
        out.push(("Model", shown(model)));
    }
    if let Some(ms) = answer["ms"].as_i64() {
        out.push(("Time, waits and retries included", took(ms)));
    }
    if let Some(finish) = answer["finish"].as_str() {
        out.push(("Ended", shown(finish)));
    }
    out
}

fn asked(it: &Value) -> Vec<Text> {
    let Some(messages) = it["messages"].as_array() else {
        return vec![Text::json("Request", it)];
    };
    let mut out: Vec<Text> = it["system"]
        .as_str()
        .map(|it| Text::of("System", it))
        .into_iter()
        .collect();
    for message in messages {
        let who = match message["role"].as_str() {
            Some("assistant") => "Model",
            _ => "Ibid",
        };
        out.push(Text::of(who, message["text"].as_str().unwrap_or_default()));
    }
    let mut rest = it.clone();
    if let Some(object) = rest.as_object_mut() {
        object.remove("messages");
        object.remove("system");
    }
    out.push(Text::json("Besides", &rest));
    out
}

fn answered(it: &Value) -> Vec<Text> {
    let Some(text) = it["text"].as_str().filter(|_| it["tokens"].is_object()) else {
        return vec![Text::json("Answer", it)];
    };
    let mut out = Vec::new();
    if let Some(thought) = it["reasoning"].as_str() {
        out.push(Text::of("Reasoning", thought));
    }
    out.push(Text::of("Answer", text));
    if it["tool_calls"].as_array().is_some_and(|it| !it.is_empty()) {
        out.push(Text::json("Tools called", &it["tool_calls"]));
    }
    if let Some(why) = it["refusal"].as_str() {
        out.push(Text::of("Refusal", why));
    }
    out
}
