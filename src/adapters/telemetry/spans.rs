//! The spans of a run, from its events alone. So a trace is whole also when the run was killed and gone on with, and is the
//! same whenever it is made.
use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::span::{Event as Mark, SpanKind};
use opentelemetry_proto::tonic::trace::v1::{Span, Status, status::StatusCode};
use sha2::{Digest, Sha256};

use super::semconv::{self as name, Conventions};
use super::thought::Thoughts;
use crate::domain::{RunId, SourceKind};
use crate::record::{Envelope, Event, Outcome, Phase, Run};

/// The trace that a caller's request belongs to: `traceparent` of W3C Trace Context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    /// The trace.
    pub(super) trace: [u8; 16],
    /// The caller's span.
    pub(super) span: [u8; 8],
    /// Whether the caller's part is recorded.
    pub(super) sampled: bool,
}

impl Parent {
    /// Reads `00-<32 hex>-<16 hex>-<2 hex>`; `None` for anything else, and for the ids of zeros that the standard forbids.
    pub(super) fn read(words: &str) -> Option<Parent> {
        let mut parts = words.trim().splitn(5, '-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (span, flags) = (parts.next()?, parts.next()?);
        let more = parts.next().is_some();
        let lower = !words.bytes().any(|it| it.is_ascii_uppercase());
        if version.len() != 2 || version == "ff" || (version == "00" && more) || !lower {
            return None;
        }
        hex::decode(version).ok()?;
        let trace: [u8; 16] = hex::decode(trace).ok()?.try_into().ok()?;
        let span: [u8; 8] = hex::decode(span).ok()?.try_into().ok()?;
        let [flags]: [u8; 1] = hex::decode(flags).ok()?.try_into().ok()?;
        let sound = trace != [0; 16] && span != [0; 8];
        sound.then_some(Parent {
            trace,
            span,
            sampled: flags & 1 == 1,
        })
    }
}

/// The trace of a run: the caller's, where there is one, else one of its own that is always the same.
pub(super) fn trace_of(run: &RunId, parent: Option<Parent>) -> [u8; 16] {
    match parent {
        Some(it) => it.trace,
        None => first(&["trace", run.as_str()]),
    }
}

/// The first bytes of the hash of `parts`.
fn first<const N: usize>(parts: &[&str]) -> [u8; N] {
    let hash = Sha256::digest(parts.join("\n").as_bytes());
    let mut out = [0; N];
    out.copy_from_slice(&hash[..N]);
    out
}

/// A word with its value.
pub(super) fn pair(key: &str, value: impl Into<Held>) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(value.into().0),
        }),
        ..KeyValue::default()
    }
}

/// A value of an attribute.
pub(super) struct Held(any_value::Value);

impl From<&str> for Held {
    fn from(it: &str) -> Held {
        Held(any_value::Value::StringValue(it.to_owned()))
    }
}
impl From<String> for Held {
    fn from(it: String) -> Held {
        Held(any_value::Value::StringValue(it))
    }
}
impl From<u64> for Held {
    fn from(it: u64) -> Held {
        Held(any_value::Value::IntValue(
            i64::try_from(it).unwrap_or(i64::MAX),
        ))
    }
}
impl From<u32> for Held {
    fn from(it: u32) -> Held {
        Held::from(u64::from(it))
    }
}
impl From<f64> for Held {
    fn from(it: f64) -> Held {
        Held(any_value::Value::DoubleValue(it))
    }
}
impl From<bool> for Held {
    fn from(it: bool) -> Held {
        Held(any_value::Value::BoolValue(it))
    }
}

/// A serialised word: `max_iterations`, `quick`.
fn word(it: impl serde::Serialize) -> String {
    match serde_json::to_value(it) {
        Ok(serde_json::Value::String(it)) => it,
        _ => "none".to_owned(),
    }
}

/// Nanoseconds since 1970; 0 for what is no time.
fn nanos(ts: &str) -> u64 {
    let at = ts.parse::<jiff::Timestamp>().ok();
    at.and_then(|it| u64::try_from(it.as_nanosecond()).ok())
        .unwrap_or(0)
}

/// Makes the spans of one run.
struct Maker<'a> {
    run: &'a RunId,
    trace: [u8; 16],
    names: Conventions,
    /// Hits asked of each search, where that is known.
    wanted: Option<u32>,
    /// Whether nothing but folders was searched.
    only_local: bool,
    spans: Vec<Span>,
    /// Where each stage stands among `spans`, by who does what in which round.
    stages: BTreeMap<Stage, usize>,
}

/// A stretch of a run that other spans lie in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Plan,
    Wave(u32, Option<String>),
    Write,
    Check,
}

/// The spans of `run`, the whole first. With `thoughts`, what models were told and answered stands in them.
pub(super) fn spans(
    run: &RunId,
    events: &[Envelope],
    parent: Option<Parent>,
    names: Conventions,
    thoughts: Option<&mut Thoughts>,
) -> Vec<Span> {
    let mut it = Maker {
        run,
        trace: trace_of(run, parent),
        names,
        wanted: None,
        only_local: false,
        spans: Vec::new(),
        stages: BTreeMap::new(),
    };
    it.whole(events, parent, thoughts.is_some());
    let mut thoughts = thoughts;
    for event in events {
        it.tell(event, &mut thoughts);
    }
    it.spans
}

impl Maker<'_> {
    fn id(&self, of: &str) -> Vec<u8> {
        first::<8>(&["span", self.run.as_str(), of]).to_vec()
    }

    fn span(&self, of: &str, name: String, kind: SpanKind, from: u64, to: u64) -> Span {
        Span {
            trace_id: self.trace.to_vec(),
            span_id: self.id(of),
            parent_span_id: self.id("run"),
            flags: 1,
            name,
            kind: kind.into(),
            start_time_unix_nano: from.min(to),
            end_time_unix_nano: to,
            ..Span::default()
        }
    }

    fn whole(&mut self, events: &[Envelope], parent: Option<Parent>, content: bool) {
        let run = Run::of(self.run.clone(), events);
        let (from, to) = match (events.first(), events.last()) {
            (Some(first), Some(last)) => (nanos(&first.ts), nanos(&last.ts)),
            _ => (0, 0),
        };
        let title = "invoke_workflow deep_research".to_owned();
        let mut span = self.span("run", title, SpanKind::Internal, from, to);
        span.parent_span_id = parent.map_or(Vec::new(), |it| it.span.to_vec());
        let at = &mut span.attributes;
        at.push(pair(name::OPERATION, "invoke_workflow"));
        at.push(pair(name::WORKFLOW, "deep_research"));
        at.push(pair(name::CONVERSATION, self.run.as_str()));
        at.push(pair(name::SESSION, self.run.as_str()));
        at.push(pair(name::SPAN_KIND, "CHAIN"));
        at.push(pair(name::LANGFUSE_TRACE, "deep_research"));
        at.push(pair(name::STATUS, word(run.status)));
        if let Some(question) = &run.question {
            self.wanted = Some(question.method.results_per_query);
            self.only_local = question.engines.is_empty();
            at.push(pair(name::EFFORT, word(question.method.effort)));
            if content {
                at.push(pair(name::INPUT, question.text.as_str()));
            }
        }
        if let Some(it) = run.stop_reason {
            at.push(pair(name::STOP, word(it)));
        }
        if let Some(it) = &run.owner {
            at.push(pair(name::USER, it.user.as_str()));
        }
        let usage = run.report.as_deref().map_or(run.usage, |it| it.usage);
        // An unknown price is left out: 0 would be a claim.
        if let Some(usd) = usage.usd {
            at.push(pair(name::COST, usd));
        }
        at.push(pair(name::INPUT_TOKENS, usage.tokens_in));
        at.push(pair(name::OUTPUT_TOKENS, usage.tokens_out));
        if let Some(report) = run.report.as_deref() {
            at.push(pair(name::QUOTES_HELD, report.checks.quotes.held));
            at.push(pair(name::QUOTES, report.checks.quotes.total));
            if content {
                let said = report.answer.as_ref().map(|it| it.text.clone());
                at.push(pair(
                    name::OUTPUT,
                    said.unwrap_or_else(|| report.title.clone()),
                ));
            }
        }
        let ratio = events.iter().rev().find_map(|it| match &it.event {
            Event::CoverageUpdated { ratio, .. } => Some(*ratio),
            _ => None,
        });
        if let Some(it) = ratio {
            at.push(pair(name::COVERAGE, f64::from(it)));
        }
        for it in events {
            match &it.event {
                Event::StrategyChosen { strategy, .. } => {
                    at.push(pair(name::STRATEGY, word(strategy)));
                }
                Event::RunFailed { kind, .. } => {
                    let kind = kind.map_or("error".to_owned(), word);
                    at.push(pair(name::ERROR, kind.as_str()));
                    span.status = Some(failed(&kind));
                }
                Event::RunResumed { .. } => span.events.push(Mark {
                    time_unix_nano: nanos(&it.ts),
                    name: name::RESUMED.to_owned(),
                    ..Mark::default()
                }),
                _ => {}
            }
        }
        self.spans.push(span);
    }

    /// The stage that `it` lies in; made, or made longer, so that it does.
    fn stage(&mut self, it: &Envelope, from: u64) -> Vec<u8> {
        let stage = match (it.phase, it.wave) {
            (Phase::Intake | Phase::Plan, _) => Stage::Plan,
            (Phase::Research, wave) => Stage::Wave(wave.unwrap_or(0), it.agent.clone()),
            (Phase::Write, _) => Stage::Write,
            (Phase::Check, _) => Stage::Check,
            (Phase::Run, _) => return self.id("run"),
        };
        let to = nanos(&it.ts);
        if let Some(at) = self.stages.get(&stage) {
            let span = &mut self.spans[*at];
            span.start_time_unix_nano = span.start_time_unix_nano.min(from);
            span.end_time_unix_nano = span.end_time_unix_nano.max(to);
            return span.span_id.clone();
        }
        let (of, title, agent) = match &stage {
            Stage::Plan => ("plan".to_owned(), "plan".to_owned(), "planner"),
            Stage::Wave(wave, agent) => (
                format!("wave {wave} {}", agent.as_deref().unwrap_or_default()),
                "invoke_agent researcher".to_owned(),
                agent.as_deref().unwrap_or("researcher"),
            ),
            Stage::Write => (
                "write".to_owned(),
                "invoke_agent writer".to_owned(),
                "writer",
            ),
            Stage::Check => (
                "check".to_owned(),
                "invoke_agent verifier".to_owned(),
                "verifier",
            ),
        };
        let operation = match stage {
            Stage::Plan => "plan",
            _ => "invoke_agent",
        };
        let mut span = self.span(&of, title, SpanKind::Internal, from, to);
        span.attributes.push(pair(name::OPERATION, operation));
        span.attributes.push(pair(name::AGENT, agent));
        span.attributes.push(pair(name::SPAN_KIND, "AGENT"));
        span.attributes.push(pair(name::LANGFUSE_TYPE, "agent"));
        if let Stage::Wave(wave, _) = stage {
            span.attributes.push(pair(name::WAVE, wave));
        }
        if self.names.agents_have_providers() {
            span.attributes.push(pair(name::PROVIDER, "ibid"));
        }
        let id = span.span_id.clone();
        self.stages.insert(stage, self.spans.len());
        self.spans.push(span);
        id
    }

    /// A call that ended with `it` after `ms`.
    fn call(&mut self, it: &Envelope, title: String, kind: SpanKind, ms: u64) -> Span {
        let to = nanos(&it.ts);
        let begun = self.spans.first().map_or(0, |it| it.start_time_unix_nano);
        let from = to.saturating_sub(ms.saturating_mul(1_000_000)).max(begun);
        let parent = self.stage(it, from);
        let mut span = self.span(&format!("event {}", it.seq), title, kind, from, to);
        span.parent_span_id = parent;
        span
    }

    fn tell(&mut self, it: &Envelope, thoughts: &mut Option<&mut Thoughts>) {
        match &it.event {
            Event::SearchCompleted {
                engine,
                query,
                item,
                hits,
                new,
                ms,
                cost_usd,
                outcome,
                error,
            } => {
                let (wanted, top_k) = (self.wanted, self.names.top_k());
                let title = format!("retrieval {engine}");
                let mut span = self.call(it, title, SpanKind::Client, *ms);
                let at = &mut span.attributes;
                at.push(pair(name::OPERATION, "retrieval"));
                at.push(pair(name::SPAN_KIND, "RETRIEVER"));
                at.push(pair(name::LANGFUSE_TYPE, "retriever"));
                at.push(pair(name::DATA_SOURCE, engine.as_str()));
                at.push(pair(name::ITEM, item.to_string()));
                if let Some(it) = wanted {
                    at.push(pair(top_k, it));
                }
                at.push(pair(name::HITS, *hits));
                at.push(pair(name::NEW_HITS, *new));
                at.push(pair(name::COST, *cost_usd));
                at.push(pair(name::OUTCOME, word(outcome)));
                if thoughts.is_some() {
                    at.push(pair(name::QUERY, query.as_str()));
                    at.push(pair(name::INPUT, query.as_str()));
                }
                if error.is_some() || matches!(outcome, Outcome::Error | Outcome::RateLimited) {
                    at.push(pair(name::ERROR, word(outcome)));
                    span.status = Some(failed(&word(outcome)));
                }
                self.spans.push(span);
            }
            Event::ReadCompleted { source, ms, .. } => {
                let private = source.kind == SourceKind::Local;
                let span = self.read(it, (&source.url, private), *ms, thoughts.is_some());
                self.spans.push(span);
            }
            Event::ReadFailed { url, reason, .. } => {
                let private = self.only_local || !url.starts_with("http");
                let mut span = self.read(it, (url, private), 0, thoughts.is_some());
                span.attributes.push(pair(name::ERROR, reason.word()));
                span.status = Some(failed(reason.word()));
                self.spans.push(span);
            }
            Event::LlmCompleted { .. } => {
                let span = self.thought(it, thoughts);
                self.spans.extend(span);
            }
            Event::WaveFinished { new_evidence, .. } => {
                self.stage(it, nanos(&it.ts));
                let stage = Stage::Wave(it.wave.unwrap_or(0), it.agent.clone());
                if let Some(at) = self.stages.get(&stage) {
                    let at = &mut self.spans[*at].attributes;
                    at.push(pair(name::EVIDENCE, *new_evidence));
                }
            }
            Event::ClaimChecked {
                claim,
                quotes_hold,
                numbers_hold,
            } => {
                self.stage(it, nanos(&it.ts));
                let marks = [("quote_in_source", quotes_hold), ("numbers", numbers_hold)];
                let marks = marks.map(|(check, holds)| Mark {
                    time_unix_nano: nanos(&it.ts),
                    name: name::EVALUATION.to_owned(),
                    attributes: vec![
                        pair(name::EVALUATION_NAME, check),
                        pair(name::EVALUATION_SCORE, f64::from(u8::from(*holds))),
                        pair(name::EVALUATION_LABEL, if *holds { "pass" } else { "fail" }),
                        pair(name::CLAIM, claim.id.to_string()),
                    ],
                    ..Mark::default()
                });
                let check = self.stages.get(&Stage::Check).copied();
                self.spans[check.unwrap_or(0)].events.extend(marks);
            }
            // What happens in a stage makes it as long as it was.
            _ if it.phase != Phase::Run => {
                self.stage(it, nanos(&it.ts));
            }
            _ => {}
        }
    }

    fn read(
        &mut self,
        it: &Envelope,
        (url, private): (&str, bool),
        ms: u64,
        content: bool,
    ) -> Span {
        let title = "execute_tool read_page".to_owned();
        let mut span = self.call(it, title, SpanKind::Internal, ms);
        let at = &mut span.attributes;
        at.push(pair(name::OPERATION, "execute_tool"));
        at.push(pair(name::SPAN_KIND, "TOOL"));
        at.push(pair(name::LANGFUSE_TYPE, "tool"));
        at.push(pair(name::TOOL, "read_page"));
        // Without its query, which may hold what nobody should see.
        let bare = url.split(['?', '#']).next().unwrap_or_default();
        let bare = match private && !content {
            // Paths and the addresses that documents state of themselves say what somebody works on.
            true => format!(
                "folder:{}",
                hex::encode(first::<8>(&["document", self.run.as_str(), url]))
            ),
            false => bare.to_owned(),
        };
        at.push(pair(name::URL, bare.as_str()));
        if content {
            at.push(pair(name::INPUT, bare));
        }
        span
    }

    fn thought(&mut self, it: &Envelope, thoughts: &mut Option<&mut Thoughts>) -> Option<Span> {
        let Event::LlmCompleted {
            role,
            model,
            step,
            r#in,
            out,
            cached,
            usd,
            ms,
        } = &it.event
        else {
            return None;
        };
        let (provider, bare) = model.split_once('/').unwrap_or(("", model));
        let title = format!("chat {bare}");
        let mut span = self.call(it, title, SpanKind::Client, ms.unwrap_or(0));
        let at = &mut span.attributes;
        at.push(pair(name::OPERATION, "chat"));
        at.push(pair(name::SPAN_KIND, "LLM"));
        at.push(pair(name::LANGFUSE_TYPE, "generation"));
        if !provider.is_empty() {
            at.push(pair(name::PROVIDER, name::provider(provider)));
        }
        at.push(pair(name::REQUEST_MODEL, bare));
        at.push(pair(name::RESPONSE_MODEL, bare));
        at.push(pair(name::LLM_MODEL, bare));
        at.push(pair(name::PROMPT_NAME, step.as_str()));
        at.push(pair(name::ROLE, role.word()));
        let counts = [
            (name::INPUT_TOKENS, name::LLM_INPUT_TOKENS, r#in),
            (name::OUTPUT_TOKENS, name::LLM_OUTPUT_TOKENS, out),
        ];
        for (ours, theirs, n) in counts {
            if let Some(n) = n {
                at.push(pair(ours, *n));
                at.push(pair(theirs, *n));
            }
        }
        if let Some(n) = cached {
            at.push(pair(name::CACHED_TOKENS, *n));
        }
        if let Some(usd) = usd {
            at.push(pair(name::COST, *usd));
            let details = serde_json::json!({ "total": usd }).to_string();
            at.push(pair(name::LANGFUSE_COST, details));
        }
        let known = thoughts.as_mut().and_then(|all| all.take(*r#in, *out));
        if let Some(known) = known {
            at.push(pair(name::INPUT_MESSAGES, known.input.as_str()));
            at.push(pair(name::INPUT, known.input));
            at.push(pair(name::OUTPUT_MESSAGES, known.output.as_str()));
            at.push(pair(name::OUTPUT, known.output));
        }
        Some(span)
    }
}

fn failed(why: &str) -> Status {
    Status {
        message: why.to_owned(),
        code: StatusCode::Error.into(),
    }
}
