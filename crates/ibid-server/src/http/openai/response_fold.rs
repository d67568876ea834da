//! A run as OpenAI's response: a fold of its events, so that a stream can resume at any sequence number.
use serde_json::{Map, Value, json};

use super::citations;
use ibid_core::domain::{Source, StopReason};
use ibid_core::record::{Envelope, Event, Run, RunStatus};

/// Length of one text delta, in characters.
const CHUNK_CHARS: usize = 400;

/// The response so far.
pub(super) struct ResponseFold {
    run: Run,
    /// The fields of the request besides the question.
    extras: Map<String, Value>,
    output: Vec<Value>,
    /// The open reasoning item, which comes after `output`.
    reasoning: Option<ReasoningItem>,
    sequence: u64,
    completed_at: Option<i64>,
    begun: bool,
}

/// A reasoning item that can still grow.
struct ReasoningItem {
    id: String,
    parts: Vec<Value>,
}

impl ReasoningItem {
    fn item(&self, status: &str) -> Value {
        json!({"type": "reasoning", "id": self.id, "summary": self.parts, "content": [], "status": status})
    }
}

impl ResponseFold {
    /// The response of `run` before its first event.
    pub(super) fn new(run: Run) -> ResponseFold {
        ResponseFold {
            run,
            extras: Map::new(),
            output: Vec::new(),
            reasoning: None,
            sequence: 0,
            completed_at: None,
            begun: false,
        }
    }

    /// The field `name` of the request.
    pub(super) fn extra(&self, name: &str) -> Option<&Value> {
        self.extras.get(name)
    }

    /// Applies one event and returns the messages of the stream, each with its `sequence_number`.
    pub(super) fn apply(&mut self, it: &Envelope) -> Vec<Value> {
        self.run.apply(it);
        let mut out = Vec::new();
        match &it.event {
            Event::RunQueued { request } => {
                let kept = request.as_ref().and_then(Value::as_object);
                self.extras = kept.cloned().unwrap_or_default();
                self.emit_response(&mut out, "response.created");
                self.emit_response(&mut out, "response.queued");
            }
            Event::RunStarted {} if !self.begun => {
                self.begun = true;
                self.emit_response(&mut out, "response.in_progress");
            }
            Event::PlanProposed { .. } => self.push_plan(&mut out),
            Event::SearchCompleted { engine, query, .. } => {
                self.push_search(&mut out, it.seq, engine, query);
            }
            Event::ReadCompleted { source, .. } => self.push_read(&mut out, it.seq, source),
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled {} => {
                self.completed_at = unix_seconds(Some(&it.ts));
                self.finish(&mut out);
            }
            _ => {}
        }
        out
    }

    fn emit(&mut self, out: &mut Vec<Value>, kind: &str, mut fields: Value) {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.push(fields);
    }

    fn emit_response(&mut self, out: &mut Vec<Value>, kind: &str) {
        let response = self.response();
        self.emit(out, kind, json!({"response": response}));
    }

    fn id(&self, kind: &str, n: u64) -> String {
        format!("{kind}_{}_{n}", bare_run_id(&self.run))
    }

    fn push_plan(&mut self, out: &mut Vec<Value>) {
        let items = self.run.plan.iter().flat_map(|it| it.items());
        let lines: Vec<String> = items.map(|item| format!("- {}", item.asks)).collect();
        let text = format!("Items to answer:\n{}", lines.join("\n"));
        self.push_reasoning(out, &text);
    }

    /// Adds a part to the open reasoning item, or opens one.
    fn push_reasoning(&mut self, out: &mut Vec<Value>, text: &str) {
        let index = self.output.len();
        let mut reasoning = match self.reasoning.take() {
            Some(reasoning) => reasoning,
            None => {
                let reasoning =
                    ReasoningItem { id: self.id("rs", index as u64 + 1), parts: Vec::new() };
                let item = reasoning.item("in_progress");
                self.emit(
                    out,
                    "response.output_item.added",
                    json!({"output_index": index, "item": item}),
                );
                reasoning
            }
        };
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        for (kind, field, value) in [
            ("part.added", "part", part("")),
            ("text.delta", "delta", text.into()),
            ("text.done", "text", text.into()),
            ("part.done", "part", part(text)),
        ] {
            let mut fields = json!({"item_id": reasoning.id, "output_index": index, "summary_index": reasoning.parts.len()});
            fields[field] = value;
            self.emit(out, &format!("response.reasoning_summary_{kind}"), fields);
        }
        reasoning.parts.push(part(text));
        self.reasoning = Some(reasoning);
    }

    /// Closes the open reasoning item, before another item begins.
    fn close_reasoning(&mut self, out: &mut Vec<Value>) {
        let Some(reasoning) = self.reasoning.take() else {
            return;
        };
        let (index, item) = (self.output.len(), reasoning.item("completed"));
        self.output.push(item.clone());
        self.emit(out, "response.output_item.done", json!({"output_index": index, "item": item}));
    }

    /// Whether to send items for calls. Open Responses has none, so only a request that names such a tool gets them.
    fn wants_call_items(&self) -> bool {
        self.extras.get("calls") == Some(&json!(true))
    }

    fn push_search(&mut self, out: &mut Vec<Value>, seq: u64, engine: &str, query: &str) {
        if !self.wants_call_items() {
            return self.push_reasoning(out, &format!("Searched {engine}: {query}"));
        }
        // All folders together are the engine `local`.
        if engine == "local" {
            let item = json!({"queries": [query], "results": null});
            return self.push_call_item(out, "file_search_call", &self.id("fs", seq), item);
        }
        let action = json!({"type": "search", "query": query, "queries": [query]});
        self.push_web_call(out, seq, action);
    }

    fn push_read(&mut self, out: &mut Vec<Value>, seq: u64, source: &Source) {
        if !self.wants_call_items() {
            self.push_reasoning(out, &format!("Read {}", source.title));
        } else if source.url.starts_with("http") {
            let action = json!({"type": "open_page", "url": source.url});
            self.push_web_call(out, seq, action);
        }
    }

    fn push_web_call(&mut self, out: &mut Vec<Value>, seq: u64, action: Value) {
        self.push_call_item(out, "web_search_call", &self.id("ws", seq), json!({"action": action}));
    }

    /// Adds an item for a completed call.
    fn push_call_item(&mut self, out: &mut Vec<Value>, kind: &str, id: &str, fields: Value) {
        self.close_reasoning(out);
        let index = self.output.len();
        let with = |status: &str| {
            let mut it = json!({"type": kind, "id": id, "status": status});
            if let (Some(it), Some(fields)) = (it.as_object_mut(), fields.as_object()) {
                it.extend(fields.clone());
            }
            it
        };
        self.emit(
            out,
            "response.output_item.added",
            json!({"output_index": index, "item": with("in_progress")}),
        );
        for word in ["in_progress", "searching", "completed"] {
            let name = format!("response.{kind}.{word}");
            self.emit(out, &name, json!({"output_index": index, "item_id": id}));
        }
        self.output.push(with("completed"));
        self.emit(
            out,
            "response.output_item.done",
            json!({"output_index": index, "item": with("completed")}),
        );
    }

    fn finish(&mut self, out: &mut Vec<Value>) {
        self.close_reasoning(out);
        if let Some(text) = citations::output_text(&self.run) {
            self.push_message(out, &text);
            return self.emit_response(out, "response.completed");
        }
        self.emit_response(out, "response.failed");
    }

    fn push_message(&mut self, out: &mut Vec<Value>, text: &str) {
        let annotations = self
            .run
            .report
            .as_deref()
            .map_or_else(Vec::new, |it| citations::annotations(it, self.wants_call_items()));
        let (id, index) = (self.id("msg", 1), self.output.len());
        let message = |status: &str, content: Value| json!({"type": "message", "id": id, "status": status, "role": "assistant", "content": content});
        let part = |text: &str, annotations: &[Value]| json!({"type": "output_text", "text": text, "annotations": annotations, "logprobs": []});
        let at = |more: Value| {
            let mut it = json!({"item_id": id, "output_index": index, "content_index": 0});
            if let (Some(it), Some(more)) = (it.as_object_mut(), more.as_object()) {
                it.extend(more.clone());
            }
            it
        };
        let item = message("in_progress", json!([]));
        self.emit(out, "response.output_item.added", json!({"output_index": index, "item": item}));
        self.emit(out, "response.content_part.added", at(json!({"part": part("", &[])})));
        for piece in text_chunks(text) {
            self.emit(
                out,
                "response.output_text.delta",
                at(json!({"delta": piece, "logprobs": []})),
            );
        }
        for (nth, it) in annotations.iter().enumerate() {
            let it = at(json!({"annotation_index": nth, "annotation": it}));
            self.emit(out, "response.output_text.annotation.added", it);
        }
        self.emit(out, "response.output_text.done", at(json!({"text": text, "logprobs": []})));
        let whole = part(text, &annotations);
        self.emit(out, "response.content_part.done", at(json!({"part": whole})));
        let item = message("completed", json!([whole]));
        self.output.push(item.clone());
        self.emit(out, "response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn status(&self) -> &'static str {
        match self.run.status {
            RunStatus::Pending => "queued",
            RunStatus::InProgress => "in_progress",
            RunStatus::Cancelled => "cancelled",
            // Finding nothing is a completed response, too.
            _ if citations::output_text(&self.run).is_some() => "completed",
            _ => "failed",
        }
    }

    /// The response object.
    pub(super) fn response(&self) -> Value {
        let run = &self.run;
        let status = self.status();
        let kept = |name: &str| self.extras.get(name).cloned().unwrap_or_default();
        let usage = run.report.as_deref().map_or(run.usage, |report| report.usage);
        let failed = (status == "failed").then(|| {
            let why = run.error.as_deref().unwrap_or("it ended without a report");
            json!({"code": "server_error", "message": why})
        });
        json!({
            "id": format!("resp_{}", bare_run_id(run)),
            "object": "response",
            "created_at": unix_seconds(run.started_at.as_deref()).unwrap_or_default(),
            "completed_at": self.completed_at.filter(|_| status == "completed"),
            "status": status,
            "background": self.extras.get("background").and_then(Value::as_bool).unwrap_or(false),
            "model": self.extras.get("model").cloned().unwrap_or_else(|| "ibid".into()),
            "output": self.output_items(),
            "error": failed,
            "incomplete_details": null,
            "instructions": kept("instructions"),
            "previous_response_id": kept("previous_response_id"),
            "tools": [],
            "tool_choice": "auto",
            "truncation": "disabled",
            "parallel_tool_calls": true,
            "text": {"format": {"type": "text"}},
            "temperature": 1.0,
            "top_p": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "top_logprobs": 0,
            "max_output_tokens": null,
            "max_tool_calls": kept("max_tool_calls"),
            "reasoning": {"effort": kept("effort"), "summary": null},
            "store": true,
            "service_tier": "default",
            "safety_identifier": null,
            "prompt_cache_key": null,
            "usage": run.status.ended().then(|| json!({
                "input_tokens": usage.tokens_in,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage.tokens_out,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.tokens_in + usage.tokens_out,
            })),
            "metadata": self.response_metadata(),
        })
    }

    /// The output items, with Ibid's own items if the request includes them. Strict clients accept no others.
    fn output_items(&self) -> Vec<Value> {
        let mut items = self.output.clone();
        items.extend(self.reasoning.iter().map(|it| it.item("in_progress")));
        let wanted = |name: &str| {
            let include = self.extras.get("include").and_then(Value::as_array);
            include.is_some_and(|include| include.iter().any(|it| it == name))
        };
        if let Some(report) = self.run.report.as_deref().filter(|_| self.run.status.ended()) {
            if wanted("ibid.coverage") {
                let id = self.id("cov", 1);
                items.push(json!({"type": "ibid:coverage", "id": id, "status": "completed", "rows": report.coverage}));
            }
            if wanted("ibid.evidence") {
                let id = self.id("ev", 1);
                let claims = ibid_report::json::citations(report, &Default::default());
                items.push(json!({"type": "ibid:evidence", "id": id, "status": "completed", "citations": claims}));
            }
        }
        items
    }

    /// The caller's metadata and the figures of the run, as texts.
    fn response_metadata(&self) -> Value {
        let own = self.extras.get("metadata").and_then(Value::as_object);
        let mut out = own.cloned().unwrap_or_default();
        if let Some(it) = self.extras.get("unseen") {
            out.insert("ibid.unseen".to_owned(), it.clone());
        }
        let Some(report) = self.run.report.as_deref() else {
            return out.into();
        };
        let ratio = |ratio: ibid_core::domain::Ratio| format!("{}/{}", ratio.passed, ratio.total);
        let word = |reason: StopReason| json!(reason).as_str().unwrap_or_default().to_owned();
        for (name, value) in [
            ("ibid.stop_reason", word(report.method.stop)),
            ("ibid.quotes_verified", ratio(report.checks.quotes)),
            ("ibid.claims_cited", ratio(report.checks.claims)),
        ] {
            out.insert(name.to_owned(), value.into());
        }
        if let Some(usd) = report.usage.usd {
            out.insert("ibid.cost_usd".to_owned(), format!("{usd:.4}").into());
        }
        out.into()
    }
}

/// The id of a run without its prefix; response ids use it, too.
pub(super) fn bare_run_id(run: &Run) -> &str {
    run.id.as_str().trim_start_matches("r_")
}

/// Splits the text into deltas at character boundaries.
pub(super) fn text_chunks(text: &str) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(CHUNK_CHARS).map(|chunk| chunk.iter().collect()).collect()
}

/// The time of an event in seconds since 1970.
pub(super) fn unix_seconds(ts: Option<&str>) -> Option<i64> {
    ts?.parse::<jiff::Timestamp>().ok().map(|parsed| parsed.as_second())
}
