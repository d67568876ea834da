//! The trace page: every journaled external call with its request, response and cost.
use askama::Template;
use serde_json::Value;

use super::format::{duration, money, thousands, truncate};
use super::live::RunHeader;
use super::shell::PageLayout;
use ibid_core::ports::{JournalCall, JournalCallState};
use ibid_core::record::Run;
use ibid_report::escape::strip_controls;

/// Maximum number of bytes of a request or response shown.
const MAX_TEXT_BYTES: usize = 200_000;
/// Calls per page.
const MAX_ROWS: usize = 500;

/// A call in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceCall {
    /// Its number, from 1.
    pub n: usize,
    /// The provider: `search:local`, `model:…`.
    pub provider: String,
    /// The request in short.
    pub asked: String,
    /// The CSS class of its state.
    pub class: &'static str,
    /// The label of its state.
    pub state: &'static str,
    /// Input and output tokens of a model call.
    pub tokens: String,
    /// The effort of reasoning asked for, and the tokens spent on it.
    pub reasoning: String,
    /// What it cost.
    pub cost: String,
}

impl TraceCall {
    fn from_step(n: usize, it: &JournalCall) -> TraceCall {
        let (class, state) = step_state(it);
        let answer = step_answer(it);
        let count = |name: &str| answer.and_then(|answer| answer["tokens"][name].as_u64());
        TraceCall {
            n,
            provider: strip_controls(&it.provider),
            asked: match truncate(&request_summary(&it.request), 160) {
                text if text.is_empty() => "(empty)".to_owned(),
                text => text,
            },
            class,
            state,
            tokens: match (count("input"), count("output")) {
                (None, None) => String::new(),
                (a, b) => format!("{} → {}", thousands(a.unwrap_or(0)), thousands(b.unwrap_or(0))),
            },
            reasoning: {
                let effort = answer.and_then(|answer| answer["effort"].as_str());
                let effort = effort.map(|effort| format!("{} effort", strip_controls(effort)));
                let tokens = count("reasoning_output").filter(|n| *n > 0);
                let tokens = tokens.map(|n| format!("{} for reasoning", thousands(n)));
                effort.into_iter().chain(tokens).collect::<Vec<_>>().join(", ")
            },
            cost: step_cost(it)
                .filter(|step_cost| *step_cost > 0.0)
                .map_or_else(String::new, money),
        }
    }
}

fn step_state(it: &JournalCall) -> (&'static str, &'static str) {
    match it.state {
        JournalCallState::Intended => ("pending", "no answer yet"),
        JournalCallState::Answered(_) => ("done", "answered"),
        JournalCallState::Failed { .. } => ("failed", "failed"),
    }
}

fn step_answer(it: &JournalCall) -> Option<&Value> {
    match &it.state {
        JournalCallState::Answered(it) => Some(&it.answer),
        _ => None,
    }
}

fn step_cost(it: &JournalCall) -> Option<f64> {
    match &it.state {
        JournalCallState::Answered(it) => Some(it.cost_usd),
        _ => None,
    }
}

/// The request in short: the query, the address, or the last message of a prompt.
fn request_summary(asked: &Value) -> String {
    let last = asked["messages"].as_array().and_then(|items| items.last());
    let text = [&asked["text"], &asked["url"], last.map_or(&Value::Null, |it| &it["text"]), asked];
    let found = text.iter().find_map(|it| it.as_str());
    found.map_or_else(|| asked.to_string(), str::to_owned)
}

/// The list of calls.
#[derive(Template)]
#[template(path = "trace.html")]
pub struct TracePage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// The calls in order.
    pub calls: Vec<TraceCall>,
    /// The total number.
    pub total: usize,
    /// The address of the next page.
    pub more: Option<String>,
}

impl TracePage {
    /// The calls of a run from index `from` on.
    pub fn new(shell: PageLayout, run: &Run, steps: &[JournalCall], from: usize) -> TracePage {
        let end = from + MAX_ROWS;
        TracePage {
            shell,
            head: RunHeader::new(run, "trace"),
            calls: steps
                .iter()
                .enumerate()
                .skip(from)
                .take(MAX_ROWS)
                .map(|(at, it)| TraceCall::from_step(at + 1, it))
                .collect(),
            total: steps.len(),
            more: (end < steps.len()).then(|| format!("/r/{}/trace?from={end}", run.id)),
        }
    }
}

/// A part of a request or a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceText {
    /// Its name.
    pub name: String,
    /// The text.
    pub words: String,
    /// Whether it was cut.
    pub cut: bool,
}

impl TraceText {
    fn new(name: impl Into<String>, words: &str) -> TraceText {
        let end = words.floor_char_boundary(MAX_TEXT_BYTES);
        TraceText {
            name: name.into(),
            words: strip_controls(&words[..end]),
            cut: end < words.len(),
        }
    }

    fn from_json(name: &str, it: &Value) -> TraceText {
        let text = match it {
            Value::String(it) => it.clone(),
            it => serde_json::to_string_pretty(it).unwrap_or_default(),
        };
        TraceText::new(name, &text)
    }
}

/// One call.
#[derive(Template)]
#[template(path = "call.html")]
pub struct CallPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// The call.
    pub call: TraceCall,
    /// The total number.
    pub total: usize,
    /// Facts: name, text.
    pub facts: Vec<(&'static str, String)>,
    /// The request.
    pub asked: Vec<TraceText>,
    /// The response.
    pub answered: Vec<TraceText>,
}

impl CallPage {
    /// The `n`-th call of a run, from 1; `None` if there is no such call.
    pub fn new(shell: PageLayout, run: &Run, steps: &[JournalCall], n: usize) -> Option<CallPage> {
        let it = steps.get(n.checked_sub(1)?)?;
        let answer = step_answer(it);
        let mut facts = vec![
            ("Provider", strip_controls(&it.provider)),
            ("State", step_state(it).1.to_owned()),
        ];
        let times = steps
            .iter()
            .filter(|other| other.provider == it.provider && other.request == it.request)
            .count();
        facts.push((
            "Sent",
            match times {
                1 => "once".to_owned(),
                n => format!("{n} times in this run"),
            },
        ));
        if let Some(usd) = step_cost(it) {
            facts.push(("Cost", money(usd)));
        }
        if let Some(answer) = answer {
            facts.extend(token_facts(answer));
        }
        if let JournalCallState::Failed { kind, message, .. } = &it.state {
            facts.push(("Error kind", format!("{kind:?}").to_lowercase()));
            facts.push(("Message", strip_controls(message)));
        }
        facts.push(("Key", it.key.clone()));
        Some(CallPage {
            shell,
            head: RunHeader::new(run, "trace"),
            call: TraceCall::from_step(n, it),
            total: steps.len(),
            facts,
            asked: request_texts(&it.request),
            answered: answer.map(answer_texts).unwrap_or_default(),
        })
    }

    fn next(&self) -> Option<usize> {
        (self.call.n < self.total).then_some(self.call.n + 1)
    }

    fn before(&self) -> Option<usize> {
        (self.call.n > 1).then_some(self.call.n - 1)
    }
}

/// The token counts and other facts of a model's response.
fn token_facts(answer: &Value) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for (name, key) in [
        ("Tokens sent", "input"),
        ("From cache", "cached_input"),
        ("Written to cache", "cache_write"),
        ("Tokens received", "output"),
        ("Reasoning tokens", "reasoning_output"),
    ] {
        if let Some(n) = answer["tokens"][key].as_u64() {
            out.push((name, thousands(n)));
        }
    }
    if let Some(effort) = answer["effort"].as_str() {
        out.push(("Effort of reasoning", strip_controls(effort)));
    }
    if let Some(model) = answer["model"].as_str() {
        out.push(("Model", strip_controls(model)));
    }
    if let Some(ms) = answer["ms"].as_i64() {
        out.push(("Time, including waits and retries", duration(ms)));
    }
    if let Some(finish) = answer["finish"].as_str() {
        out.push(("Finish reason", strip_controls(finish)));
    }
    out
}

fn request_texts(it: &Value) -> Vec<TraceText> {
    let Some(messages) = it["messages"].as_array() else {
        return vec![TraceText::from_json("Request", it)];
    };
    let mut out: Vec<TraceText> =
        it["system"].as_str().map(|text| TraceText::new("System", text)).into_iter().collect();
    for message in messages {
        let who = match message["role"].as_str() {
            Some("assistant") => "Model",
            _ => "Ibid",
        };
        out.push(TraceText::new(who, message["text"].as_str().unwrap_or_default()));
    }
    let mut rest = it.clone();
    if let Some(object) = rest.as_object_mut() {
        object.remove("messages");
        object.remove("system");
    }
    out.push(TraceText::from_json("Other parameters", &rest));
    out
}

fn answer_texts(it: &Value) -> Vec<TraceText> {
    let Some(text) = it["text"].as_str().filter(|_| it["tokens"].is_object()) else {
        return vec![TraceText::from_json("Response", it)];
    };
    let mut out = Vec::new();
    if let Some(thought) = it["reasoning"].as_str() {
        out.push(TraceText::new("Reasoning", thought));
    }
    out.push(TraceText::new("Response", text));
    if it["tool_calls"].as_array().is_some_and(|items| !items.is_empty()) {
        out.push(TraceText::from_json("Tool calls", &it["tool_calls"]));
    }
    if let Some(why) = it["refusal"].as_str() {
        out.push(TraceText::new("Refusal", why));
    }
    out
}
