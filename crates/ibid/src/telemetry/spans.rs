//! The spans of a run, made from its events alone, so that the trace of a resumed run is complete and always the same.
use std::collections::BTreeMap;
use std::ops::Range;

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::span::{Event as Mark, SpanKind};
use opentelemetry_proto::tonic::trace::v1::{Span, Status, status::StatusCode};
use sha2::{Digest, Sha256};

use super::exchange::ModelExchanges;
use super::semconv::{self as name, SemConvVersion};
use ibid_core::domain::{ClaimId, RunId, SourceKind};
use ibid_core::record::{Envelope, Event, Phase, Run, SearchOutcome};

/// A `traceparent` of W3C Trace Context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceParent {
    /// The trace.
    pub(super) trace: [u8; 16],
    /// The caller's span.
    pub(super) span: [u8; 8],
    /// Whether the caller's part is recorded.
    pub(super) sampled: bool,
}

impl TraceParent {
    /// Parses `00-<32 hex>-<16 hex>-<2 hex>`; `None` for anything else, and for ids of zeros, which the standard forbids.
    pub(super) fn parse(text: &str) -> Option<TraceParent> {
        let mut parts = text.trim().splitn(5, '-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (span, flags) = (parts.next()?, parts.next()?);
        let more = parts.next().is_some();
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        if version.len() != 2 || version == "ff" || (version == "00" && more) || !lower {
            return None;
        }
        hex::decode(version).ok()?;
        let trace: [u8; 16] = hex::decode(trace).ok()?.try_into().ok()?;
        let span: [u8; 8] = hex::decode(span).ok()?.try_into().ok()?;
        let [flags]: [u8; 1] = hex::decode(flags).ok()?.try_into().ok()?;
        let is_valid = trace != [0; 16] && span != [0; 8];
        is_valid.then_some(TraceParent { trace, span, sampled: flags & 1 == 1 })
    }
}

/// The trace id of a run: the caller's, else one derived from the run id.
pub(super) fn trace_id(run: &RunId, parent: Option<TraceParent>) -> [u8; 16] {
    match parent {
        Some(parent) => parent.trace,
        None => hash_prefix(&["trace", run.as_str()]),
    }
}

/// The first bytes of the hash of `parts`.
fn hash_prefix<const N: usize>(parts: &[&str]) -> [u8; N] {
    let hash = Sha256::digest(parts.join("\n").as_bytes());
    let mut out = [0; N];
    out.copy_from_slice(&hash[..N]);
    out
}

/// An attribute.
pub(super) fn attribute(key: &str, value: impl Into<AttributeValue>) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value.into().0) }),
        ..KeyValue::default()
    }
}

/// The value of an attribute.
pub(super) struct AttributeValue(any_value::Value);

impl From<&str> for AttributeValue {
    fn from(it: &str) -> AttributeValue {
        AttributeValue(any_value::Value::StringValue(it.to_owned()))
    }
}
impl From<String> for AttributeValue {
    fn from(it: String) -> AttributeValue {
        AttributeValue(any_value::Value::StringValue(it))
    }
}
impl From<u64> for AttributeValue {
    fn from(it: u64) -> AttributeValue {
        AttributeValue(any_value::Value::IntValue(i64::try_from(it).unwrap_or(i64::MAX)))
    }
}
impl From<u32> for AttributeValue {
    fn from(it: u32) -> AttributeValue {
        AttributeValue::from(u64::from(it))
    }
}
impl From<f64> for AttributeValue {
    fn from(it: f64) -> AttributeValue {
        AttributeValue(any_value::Value::DoubleValue(it))
    }
}
impl From<bool> for AttributeValue {
    fn from(it: bool) -> AttributeValue {
        AttributeValue(any_value::Value::BoolValue(it))
    }
}

/// The serialized name of a unit variant: `max_iterations`, `quick`.
fn serialized_name(it: impl serde::Serialize) -> String {
    match serde_json::to_value(it) {
        Ok(serde_json::Value::String(it)) => it,
        _ => "none".to_owned(),
    }
}

/// Nanoseconds since 1970; 0 for an invalid time.
fn nanos(ts: &str) -> u64 {
    let at = ts.parse::<jiff::Timestamp>().ok();
    at.and_then(|at| u64::try_from(at.as_nanosecond()).ok()).unwrap_or(0)
}

/// Builds the spans of one run.
struct SpanBuilder<'a> {
    run: &'a RunId,
    trace: [u8; 16],
    names: SemConvVersion,
    /// Requested hits of each search, if known.
    top_k: Option<u32>,
    /// Whether only folders were searched.
    only_local: bool,
    spans: Vec<Span>,
    /// The position of each stage in `spans`.
    stages: BTreeMap<SpanStage, usize>,
}

/// A part of a run that contains other spans.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SpanStage {
    Plan,
    Round(u32, Option<String>),
    Write,
    Check,
}

/// The spans of `run`, the one of the whole run first. With `exchanges` they contain prompts and answers.
pub(super) fn build_spans(
    run: &RunId,
    events: &[Envelope],
    parent: Option<TraceParent>,
    names: SemConvVersion,
    exchanges: Option<&mut ModelExchanges>,
) -> Vec<Span> {
    let mut builder = SpanBuilder {
        run,
        trace: trace_id(run, parent),
        names,
        top_k: None,
        only_local: false,
        spans: Vec::new(),
        stages: BTreeMap::new(),
    };
    builder.run_span(events, parent, exchanges.is_some());
    let mut exchanges = exchanges;
    for event in events {
        builder.add_event(event, &mut exchanges);
    }
    builder.spans
}

impl SpanBuilder<'_> {
    fn id(&self, of: &str) -> Vec<u8> {
        hash_prefix::<8>(&["span", self.run.as_str(), of]).to_vec()
    }

    fn span(&self, of: &str, name: String, kind: SpanKind, time: Range<u64>) -> Span {
        Span {
            trace_id: self.trace.to_vec(),
            span_id: self.id(of),
            parent_span_id: self.id("run"),
            flags: 1,
            name,
            kind: kind.into(),
            start_time_unix_nano: time.start.min(time.end),
            end_time_unix_nano: time.end,
            ..Span::default()
        }
    }

    /// The span of the whole run.
    fn run_span(&mut self, events: &[Envelope], parent: Option<TraceParent>, content: bool) {
        let run = Run::from_events(self.run.clone(), events);
        let (from, to) = match (events.first(), events.last()) {
            (Some(first), Some(last)) => (nanos(&first.ts), nanos(&last.ts)),
            _ => (0, 0),
        };
        let title = "invoke_workflow deep_research".to_owned();
        let mut span = self.span("run", title, SpanKind::Internal, from..to);
        span.parent_span_id = parent.map_or(Vec::new(), |parent| parent.span.to_vec());
        let at = &mut span.attributes;
        at.push(attribute(name::OPERATION, "invoke_workflow"));
        at.push(attribute(name::WORKFLOW, "deep_research"));
        at.push(attribute(name::CONVERSATION, self.run.as_str()));
        at.push(attribute(name::SESSION, self.run.as_str()));
        at.push(attribute(name::SPAN_KIND, "CHAIN"));
        at.push(attribute(name::LANGFUSE_TRACE, "deep_research"));
        at.push(attribute(name::STATUS, serialized_name(run.status)));
        if let Some(question) = &run.question {
            self.top_k = Some(question.method.results_per_query);
            self.only_local = question.engines.is_empty();
            at.push(attribute(name::EFFORT, serialized_name(question.method.effort)));
            if content {
                at.push(attribute(name::INPUT, question.text.as_str()));
            }
        }
        if let Some(it) = run.stop_reason {
            at.push(attribute(name::STOP, serialized_name(it)));
        }
        if let Some(it) = &run.owner {
            at.push(attribute(name::USER, it.user.as_str()));
        }
        let usage = run.report.as_deref().map_or(run.usage, |report| report.usage);
        // An unknown price is left out: 0 would be wrong.
        if let Some(usd) = usage.usd {
            at.push(attribute(name::COST, usd));
        }
        at.push(attribute(name::INPUT_TOKENS, usage.tokens_in));
        at.push(attribute(name::OUTPUT_TOKENS, usage.tokens_out));
        if let Some(report) = run.report.as_deref() {
            at.push(attribute(name::QUOTES_HELD, report.checks.quotes.passed));
            at.push(attribute(name::QUOTES, report.checks.quotes.total));
            if content {
                let answer = report.answer.as_ref().map(|answer| answer.text.clone());
                at.push(attribute(name::OUTPUT, answer.unwrap_or_else(|| report.title.clone())));
            }
        }
        let ratio = events.iter().rev().find_map(|event| match &event.event {
            Event::CoverageUpdated { ratio, .. } => Some(*ratio),
            _ => None,
        });
        if let Some(it) = ratio {
            at.push(attribute(name::COVERAGE, f64::from(it)));
        }
        for it in events {
            match &it.event {
                Event::StrategyChosen { strategy, .. } => {
                    at.push(attribute(name::STRATEGY, serialized_name(strategy)));
                }
                Event::RunFailed { kind, .. } => {
                    let kind = kind.map_or("error".to_owned(), serialized_name);
                    at.push(attribute(name::ERROR, kind.as_str()));
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

    /// The id of the stage that contains `it`. Creates or extends the stage.
    fn stage(&mut self, it: &Envelope, from: u64) -> Vec<u8> {
        let stage = match (it.phase, it.round) {
            (Phase::Intake | Phase::Plan, _) => SpanStage::Plan,
            (Phase::Research, round) => SpanStage::Round(round.unwrap_or(0), it.agent.clone()),
            (Phase::Write, _) => SpanStage::Write,
            (Phase::Check, _) => SpanStage::Check,
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
            SpanStage::Plan => ("plan".to_owned(), "plan".to_owned(), "planner"),
            SpanStage::Round(round, agent) => (
                format!("wave {round} {}", agent.as_deref().unwrap_or_default()),
                "invoke_agent researcher".to_owned(),
                agent.as_deref().unwrap_or("researcher"),
            ),
            SpanStage::Write => ("write".to_owned(), "invoke_agent writer".to_owned(), "writer"),
            SpanStage::Check => {
                ("check".to_owned(), "invoke_agent verifier".to_owned(), "verifier")
            }
        };
        let operation = match stage {
            SpanStage::Plan => "plan",
            _ => "invoke_agent",
        };
        let mut span = self.span(&of, title, SpanKind::Internal, from..to);
        span.attributes.push(attribute(name::OPERATION, operation));
        span.attributes.push(attribute(name::AGENT, agent));
        span.attributes.push(attribute(name::SPAN_KIND, "AGENT"));
        span.attributes.push(attribute(name::LANGFUSE_TYPE, "agent"));
        if let SpanStage::Round(round, _) = stage {
            span.attributes.push(attribute(name::WAVE, round));
        }
        if self.names.agents_have_providers() {
            span.attributes.push(attribute(name::PROVIDER, "ibid"));
        }
        let id = span.span_id.clone();
        self.stages.insert(stage, self.spans.len());
        self.spans.push(span);
        id
    }

    /// The span of a call that ended with `it` after `ms` milliseconds.
    fn call(&mut self, it: &Envelope, title: String, kind: SpanKind, ms: u64) -> Span {
        let to = nanos(&it.ts);
        let begun = self.spans.first().map_or(0, |span| span.start_time_unix_nano);
        let from = to.saturating_sub(ms.saturating_mul(1_000_000)).max(begun);
        let parent = self.stage(it, from);
        let mut span = self.span(&format!("event {}", it.seq), title, kind, from..to);
        span.parent_span_id = parent;
        span
    }

    fn add_event(&mut self, it: &Envelope, exchanges: &mut Option<&mut ModelExchanges>) {
        match &it.event {
            Event::SearchCompleted { .. } => {
                let span = self.search(it, exchanges.is_some());
                self.spans.extend(span);
            }
            Event::ReadCompleted { source, ms, .. } => {
                let private = source.kind == SourceKind::Local;
                let span = self.read(it, (&source.url, private), *ms, exchanges.is_some());
                self.spans.push(span);
            }
            Event::ReadFailed { url, reason, .. } => {
                let private = self.only_local || !url.starts_with("http");
                let mut span = self.read(it, (url, private), 0, exchanges.is_some());
                span.attributes.push(attribute(name::ERROR, reason.as_str()));
                span.status = Some(failed(reason.as_str()));
                self.spans.push(span);
            }
            Event::LlmCompleted { .. } => {
                let span = self.model_call(it, exchanges);
                self.spans.extend(span);
            }
            Event::RoundFinished { new_evidence, .. } => {
                self.stage(it, nanos(&it.ts));
                let stage = SpanStage::Round(it.round.unwrap_or(0), it.agent.clone());
                if let Some(at) = self.stages.get(&stage) {
                    let at = &mut self.spans[*at].attributes;
                    at.push(attribute(name::EVIDENCE, *new_evidence));
                }
            }
            Event::ClaimChecked { claim, quotes_hold, numbers_hold } => {
                self.stage(it, nanos(&it.ts));
                let marks = [("quote_in_source", *quotes_hold), ("numbers", *numbers_hold)]
                    .map(|(check, holds)| evaluation(it, &claim.id, check, holds));
                let check = self.stages.get(&SpanStage::Check).copied();
                self.spans[check.unwrap_or(0)].events.extend(marks);
            }
            // Any other event only extends its stage.
            _ if it.phase != Phase::Run => {
                self.stage(it, nanos(&it.ts));
            }
            _ => {}
        }
    }

    /// The span of a search.
    fn search(&mut self, it: &Envelope, content: bool) -> Option<Span> {
        let Event::SearchCompleted {
            engine,
            query,
            item,
            hits,
            new,
            ms,
            cost_usd,
            outcome,
            error,
            ..
        } = &it.event
        else {
            return None;
        };
        let mut span = self.call(it, format!("retrieval {engine}"), SpanKind::Client, *ms);
        let at = &mut span.attributes;
        at.push(attribute(name::OPERATION, "retrieval"));
        at.push(attribute(name::SPAN_KIND, "RETRIEVER"));
        at.push(attribute(name::LANGFUSE_TYPE, "retriever"));
        at.push(attribute(name::DATA_SOURCE, engine.as_str()));
        at.push(attribute(name::ITEM, item.to_string()));
        if let Some(top_k) = self.top_k {
            at.push(attribute(self.names.top_k(), top_k));
        }
        at.push(attribute(name::HITS, *hits));
        at.push(attribute(name::NEW_HITS, *new));
        at.push(attribute(name::COST, *cost_usd));
        at.push(attribute(name::OUTCOME, serialized_name(outcome)));
        if content {
            at.push(attribute(name::QUERY, query.as_str()));
            at.push(attribute(name::INPUT, query.as_str()));
        }
        if error.is_some() || !matches!(outcome, SearchOutcome::Ok | SearchOutcome::Empty) {
            at.push(attribute(name::ERROR, serialized_name(outcome)));
            span.status = Some(failed(&serialized_name(outcome)));
        }
        Some(span)
    }

    /// The span of a page read. A `private` URL is shown only with `content`.
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
        at.push(attribute(name::OPERATION, "execute_tool"));
        at.push(attribute(name::SPAN_KIND, "TOOL"));
        at.push(attribute(name::LANGFUSE_TYPE, "tool"));
        at.push(attribute(name::TOOL, "read_page"));
        let address = if private && !content {
            // Paths, and addresses that local documents state, are private.
            let hash = hash_prefix::<8>(&["document", self.run.as_str(), url]);
            format!("folder:{}", hex::encode(hash))
        } else {
            // Without the query, which may contain secrets.
            url.split(['?', '#']).next().unwrap_or_default().to_owned()
        };
        at.push(attribute(name::URL, address.as_str()));
        if content {
            at.push(attribute(name::INPUT, address));
        }
        span
    }

    /// The span of a model call.
    fn model_call(
        &mut self,
        it: &Envelope,
        exchanges: &mut Option<&mut ModelExchanges>,
    ) -> Option<Span> {
        let Event::LlmCompleted { role, model, step, r#in, out, cached, usd, ms, .. } = &it.event
        else {
            return None;
        };
        let (provider, model_name) = model.split_once('/').unwrap_or(("", model));
        let title = format!("chat {model_name}");
        let mut span = self.call(it, title, SpanKind::Client, ms.unwrap_or(0));
        let at = &mut span.attributes;
        at.push(attribute(name::OPERATION, "chat"));
        at.push(attribute(name::SPAN_KIND, "LLM"));
        at.push(attribute(name::LANGFUSE_TYPE, "generation"));
        if !provider.is_empty() {
            at.push(attribute(name::PROVIDER, name::provider(provider)));
        }
        at.push(attribute(name::REQUEST_MODEL, model_name));
        at.push(attribute(name::RESPONSE_MODEL, model_name));
        at.push(attribute(name::LLM_MODEL, model_name));
        at.push(attribute(name::PROMPT_NAME, step.as_str()));
        at.push(attribute(name::ROLE, role.as_str()));
        let counts = [
            (name::INPUT_TOKENS, name::LLM_INPUT_TOKENS, r#in),
            (name::OUTPUT_TOKENS, name::LLM_OUTPUT_TOKENS, out),
        ];
        for (ours, theirs, n) in counts {
            if let Some(n) = n {
                at.push(attribute(ours, *n));
                at.push(attribute(theirs, *n));
            }
        }
        if let Some(n) = cached {
            at.push(attribute(name::CACHED_TOKENS, *n));
        }
        if let Some(usd) = usd {
            at.push(attribute(name::COST, *usd));
            let details = serde_json::json!({ "total": usd }).to_string();
            at.push(attribute(name::LANGFUSE_COST, details));
        }
        let known = exchanges.as_mut().and_then(|all| all.take(*r#in, *out));
        if let Some(known) = known {
            at.push(attribute(name::INPUT_MESSAGES, known.input.as_str()));
            at.push(attribute(name::INPUT, known.input));
            at.push(attribute(name::OUTPUT_MESSAGES, known.output.as_str()));
            at.push(attribute(name::OUTPUT, known.output));
        }
        Some(span)
    }
}

/// The span event for one check of a claim.
fn evaluation(it: &Envelope, claim: &ClaimId, check: &str, holds: bool) -> Mark {
    Mark {
        time_unix_nano: nanos(&it.ts),
        name: name::EVALUATION.to_owned(),
        attributes: vec![
            attribute(name::EVALUATION_NAME, check),
            attribute(name::EVALUATION_SCORE, f64::from(u8::from(holds))),
            attribute(name::EVALUATION_LABEL, if holds { "pass" } else { "fail" }),
            attribute(name::CLAIM, claim.to_string()),
        ],
        ..Mark::default()
    }
}

fn failed(why: &str) -> Status {
    Status { message: why.to_owned(), code: StatusCode::Error.into() }
}
