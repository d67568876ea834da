//! A run as OpenAI's response: a fold of its events, so that a stream that broke goes on at the same number.
use serde_json::{Map, Value, json};

use super::{cites, seconds};
use crate::domain::{Source, StopReason};
use crate::record::{Envelope, Event, Run, RunStatus};

/// Characters of one piece of text.
const PIECE: usize = 400;

/// A response as far as it is told.
pub(super) struct Fold {
    run: Run,
    /// What the caller sent besides the question.
    kept: Map<String, Value>,
    output: Vec<Value>,
    /// What is thought of just now, the last item of the output while it is open.
    thought: Option<Thought>,
    sequence: u64,
    completed_at: Option<i64>,
    begun: bool,
}

/// A reasoning item that more may be added to.
struct Thought {
    id: String,
    parts: Vec<Value>,
}

impl Thought {
    fn item(&self, status: &str) -> Value {
        json!({"type": "reasoning", "id": self.id, "summary": self.parts, "content": [], "status": status})
    }
}

impl Fold {
    /// The response of `run`, of which nothing is known yet.
    pub(super) fn new(run: Run) -> Fold {
        Fold {
            run,
            kept: Map::new(),
            output: Vec::new(),
            thought: None,
            sequence: 0,
            completed_at: None,
            begun: false,
        }
    }

    /// What the caller sent under this name besides the question.
    pub(super) fn kept(&self, name: &str) -> Option<&Value> {
        self.kept.get(name)
    }

    /// Takes in one more event; what it comes to on the wire, each with its `sequence_number`.
    pub(super) fn take(&mut self, it: &Envelope) -> Vec<Value> {
        self.run.apply(it);
        let mut out = Vec::new();
        match &it.event {
            Event::RunQueued { request } => {
                let kept = request.as_ref().and_then(Value::as_object);
                self.kept = kept.cloned().unwrap_or_default();
                self.whole(&mut out, "response.created");
                self.whole(&mut out, "response.queued");
            }
            Event::RunStarted {} if !self.begun => {
                self.begun = true;
                self.whole(&mut out, "response.in_progress");
            }
            Event::PlanProposed { .. } => self.plan(&mut out),
            Event::SearchCompleted { engine, query, .. } => {
                self.search(&mut out, it.seq, engine, query);
            }
            Event::ReadCompleted { source, .. } => self.read(&mut out, it.seq, source),
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled {} => {
                self.completed_at = seconds(Some(&it.ts));
                self.end(&mut out);
            }
            _ => {}
        }
        out
    }

    fn tell(&mut self, out: &mut Vec<Value>, kind: &str, mut fields: Value) {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.push(fields);
    }

    fn whole(&mut self, out: &mut Vec<Value>, kind: &str) {
        let response = self.response();
        self.tell(out, kind, json!({"response": response}));
    }

    fn id(&self, kind: &str, n: u64) -> String {
        format!("{kind}_{}_{n}", ulid(&self.run))
    }

    fn plan(&mut self, out: &mut Vec<Value>) {
        let items = self.run.plan.iter().flat_map(|it| it.items());
        let lines: Vec<String> = items.map(|it| format!("- {}", it.asks)).collect();
        let text = format!("To be answered:\n{}", lines.join("\n"));
        self.think(out, &text);
    }

    /// One more part of what is thought of.
    fn think(&mut self, out: &mut Vec<Value>, text: &str) {
        let index = self.output.len();
        let mut thought = match self.thought.take() {
            Some(it) => it,
            None => {
                let it = Thought {
                    id: self.id("rs", index as u64 + 1),
                    parts: Vec::new(),
                };
                let item = it.item("in_progress");
                self.tell(
                    out,
                    "response.output_item.added",
                    json!({"output_index": index, "item": item}),
                );
                it
            }
        };
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        for (kind, field, value) in [
            ("part.added", "part", part("")),
            ("text.delta", "delta", text.into()),
            ("text.done", "text", text.into()),
            ("part.done", "part", part(text)),
        ] {
            let mut it = json!({"item_id": thought.id, "output_index": index, "summary_index": thought.parts.len()});
            it[field] = value;
            self.tell(out, &format!("response.reasoning_summary_{kind}"), it);
        }
        thought.parts.push(part(text));
        self.thought = Some(thought);
    }

    /// Closes what is thought of, before another item begins.
    fn settle(&mut self, out: &mut Vec<Value>) {
        let Some(thought) = self.thought.take() else {
            return;
        };
        let (index, item) = (self.output.len(), thought.item("completed"));
        self.output.push(item.clone());
        self.tell(
            out,
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }

    /// Whether the caller knows items for calls: Open Responses has none, so only who names such a tool is told of them so.
    fn calls(&self) -> bool {
        self.kept.get("calls") == Some(&json!(true))
    }

    fn search(&mut self, out: &mut Vec<Value>, seq: u64, engine: &str, query: &str) {
        if !self.calls() {
            return self.think(out, &format!("Searched {engine}: {query}"));
        }
        // The name of every folder among the engines.
        if engine == "local" {
            let item = json!({"queries": [query], "results": null});
            return self.item(out, "file_search_call", &self.id("fs", seq), item);
        }
        let action = json!({"type": "search", "query": query, "queries": [query]});
        self.call(out, seq, action);
    }

    fn read(&mut self, out: &mut Vec<Value>, seq: u64, source: &Source) {
        if !self.calls() {
            self.think(out, &format!("Read {}", source.title));
        } else if source.url.starts_with("http") {
            let action = json!({"type": "open_page", "url": source.url});
            self.call(out, seq, action);
        }
    }

    fn call(&mut self, out: &mut Vec<Value>, seq: u64, action: Value) {
        self.item(
            out,
            "web_search_call",
            &self.id("ws", seq),
            json!({"action": action}),
        );
    }

    /// An item for a call that has come back.
    fn item(&mut self, out: &mut Vec<Value>, kind: &str, id: &str, fields: Value) {
        self.settle(out);
        let index = self.output.len();
        let with = |status: &str| {
            let mut it = json!({"type": kind, "id": id, "status": status});
            if let (Some(it), Some(fields)) = (it.as_object_mut(), fields.as_object()) {
                it.extend(fields.clone());
            }
            it
        };
        self.tell(
            out,
            "response.output_item.added",
            json!({"output_index": index, "item": with("in_progress")}),
        );
        for word in ["in_progress", "searching", "completed"] {
            let name = format!("response.{kind}.{word}");
            self.tell(out, &name, json!({"output_index": index, "item_id": id}));
        }
        self.output.push(with("completed"));
        self.tell(
            out,
            "response.output_item.done",
            json!({"output_index": index, "item": with("completed")}),
        );
    }

    fn end(&mut self, out: &mut Vec<Value>) {
        self.settle(out);
        if let Some(text) = cites::text(&self.run) {
            self.message(out, &text);
            return self.whole(out, "response.completed");
        }
        self.whole(out, "response.failed");
    }

    fn message(&mut self, out: &mut Vec<Value>, text: &str) {
        let annotations = self
            .run
            .report
            .as_deref()
            .map_or_else(Vec::new, |it| cites::annotations(it, self.calls()));
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
        self.tell(
            out,
            "response.output_item.added",
            json!({"output_index": index, "item": item}),
        );
        self.tell(
            out,
            "response.content_part.added",
            at(json!({"part": part("", &[])})),
        );
        for piece in pieces(text) {
            self.tell(
                out,
                "response.output_text.delta",
                at(json!({"delta": piece, "logprobs": []})),
            );
        }
        for (nth, it) in annotations.iter().enumerate() {
            let it = at(json!({"annotation_index": nth, "annotation": it}));
            self.tell(out, "response.output_text.annotation.added", it);
        }
        self.tell(
            out,
            "response.output_text.done",
            at(json!({"text": text, "logprobs": []})),
        );
        let whole = part(text, &annotations);
        self.tell(
            out,
            "response.content_part.done",
            at(json!({"part": whole})),
        );
        let item = message("completed", json!([whole]));
        self.output.push(item.clone());
        self.tell(
            out,
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }

    fn status(&self) -> &'static str {
        match self.run.status {
            RunStatus::Pending => "queued",
            RunStatus::InProgress => "in_progress",
            RunStatus::Cancelled => "cancelled",
            // That nothing was found is an answer, too.
            _ if cites::text(&self.run).is_some() => "completed",
            _ => "failed",
        }
    }

    /// The response as it stands.
    pub(super) fn response(&self) -> Value {
        let run = &self.run;
        let status = self.status();
        let kept = |name: &str| self.kept.get(name).cloned().unwrap_or_default();
        let usage = run.report.as_deref().map_or(run.usage, |it| it.usage);
        let failed = (status == "failed").then(|| {
            let why = run.error.as_deref().unwrap_or("it ended without a report");
            json!({"code": "server_error", "message": why})
        });
        json!({
            "id": format!("resp_{}", ulid(run)),
            "object": "response",
            "created_at": seconds(run.started_at.as_deref()).unwrap_or_default(),
            "completed_at": self.completed_at.filter(|_| status == "completed"),
            "status": status,
            "background": self.kept.get("background").and_then(Value::as_bool).unwrap_or(false),
            "model": self.kept.get("model").cloned().unwrap_or_else(|| "ibid".into()),
            "output": self.items(),
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
            "metadata": self.metadata(),
        })
    }

    /// The items told so far, with those of ours that the caller has asked for: strict clients know no others.
    fn items(&self) -> Vec<Value> {
        let mut items = self.output.clone();
        items.extend(self.thought.iter().map(|it| it.item("in_progress")));
        let wanted = |name: &str| {
            let include = self.kept.get("include").and_then(Value::as_array);
            include.is_some_and(|it| it.iter().any(|it| it == name))
        };
        if let Some(report) = self
            .run
            .report
            .as_deref()
            .filter(|_| self.run.status.ended())
        {
            if wanted("ibid.coverage") {
                let id = self.id("cov", 1);
                items.push(json!({"type": "ibid:coverage", "id": id, "status": "completed", "rows": report.coverage}));
            }
            if wanted("ibid.evidence") {
                let id = self.id("ev", 1);
                let claims = crate::surfaces::export::json::citations(report, &Default::default());
                items.push(json!({"type": "ibid:evidence", "id": id, "status": "completed", "citations": claims}));
            }
        }
        items
    }

    /// What the caller wrote there, and how the run did, as texts.
    fn metadata(&self) -> Value {
        let own = self.kept.get("metadata").and_then(Value::as_object);
        let mut out = own.cloned().unwrap_or_default();
        if let Some(it) = self.kept.get("unseen") {
            out.insert("ibid.unseen".to_owned(), it.clone());
        }
        let Some(report) = self.run.report.as_deref() else {
            return out.into();
        };
        let counted = |it: crate::domain::Counted| format!("{}/{}", it.held, it.total);
        let word = |it: StopReason| json!(it).as_str().unwrap_or_default().to_owned();
        for (name, value) in [
            ("ibid.stop_reason", word(report.method.stop)),
            ("ibid.quotes_verified", counted(report.checks.quotes)),
            ("ibid.claims_cited", counted(report.checks.claims)),
        ] {
            out.insert(name.to_owned(), value.into());
        }
        if let Some(usd) = report.usage.usd {
            out.insert("ibid.cost_usd".to_owned(), format!("{usd:.4}").into());
        }
        out.into()
    }
}

/// The id of a run without its prefix: that of its response, too.
pub(super) fn ulid(run: &Run) -> &str {
    run.id.as_str().trim_start_matches("r_")
}

/// The text in pieces that end at whole characters.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(PIECE).map(|it| it.iter().collect()).collect()
}
