//! OpenAI's Chat Completions API: `/v1/chat/completions`, with the extra fields of Jina's and Perplexity's APIs.
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::Event as Message;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::api_error::{ApiError, ApiResult};
use super::super::events::{event_batches, sse_response};
use super::super::extract::QueryParams;
use super::super::runs::{accept, check_capacity, idempotent_request};
use super::super::state::ServerState;
use super::super::values::{invalid_value, json_body};
use super::citations::{self, source};
use super::request::{self, RUN_TIMEOUT};
use super::response_fold::{bare_run_id, text_chunks, unix_seconds};
use crate::request_service::{CallerRun, CallerService};
use ibid_core::domain::{Report, SourceKind};
use ibid_core::record::{Envelope, Event, Run, RunStatus};
use ibid_report::citation_spans::text_with_citations;
use ibid_report::escape::web_url;

#[derive(Deserialize)]
pub(in crate::http) struct ChatParams {
    think_tags: Option<String>,
}

/// `POST /v1/chat/completions`.
pub(in crate::http) async fn create(
    State(server): State<Arc<ServerState>>,
    Extension(service): Extension<CallerService>,
    QueryParams(params): QueryParams<ChatParams>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    check_capacity(&service, &headers)?;
    let think = match params.think_tags.as_deref() {
        None | Some("0") => false,
        Some("1") => true,
        Some(_) => return Err(invalid_value("think_tags", "must be 0 or 1")),
    };
    let idempotency = idempotent_request("/v1/chat/completions", &headers, &bytes)?;
    let parsed = request::parse_chat(&json_body(bytes)?)?;
    let extras = parsed.extras;
    let stored = Some(extras.clone().into());
    let handle = accept(&service, &parsed.request, stored, idempotency).await?;
    if extras.get("stream") == Some(&json!(true)) {
        return Ok(stream_response(&server, &handle, extras, think));
    }
    handle.wait(RUN_TIMEOUT).await?;
    let run = handle.run().await?;
    match citations::output_text(&run) {
        Some(text) => Ok(Json(completion(&run, &extras, &text)).into_response()),
        None => Err(ApiError::new(
            // Not 409 or 5xx: OpenAI's clients would retry, and pay for another run. The run itself has retried transient failures.
            StatusCode::UNPROCESSABLE_ENTITY,
            "run_failed",
            run.error.unwrap_or_else(|| "the run ended without a report".to_owned()),
        )),
    }
}

/// The completion as a stream of chunks.
fn stream_response(
    server: &ServerState,
    handle: &CallerRun,
    extras: Map<String, Value>,
    think: bool,
) -> Response {
    let fold = ChatFold { run: Run::new(handle.id().clone()), extras, think, thinking: false };
    let messages = event_batches(handle.follow(0), server.stopping.clone())
        .scan(fold, |fold, batch| {
            let chunks: Vec<Value> = batch.iter().flat_map(|it| fold.apply(it)).collect();
            std::future::ready(Some((chunks, fold.run.status.ended())))
        })
        .flat_map(|(chunks, ended)| {
            let mut messages: Vec<_> =
                chunks.iter().map(|chunk| Ok(Message::default().data(chunk.to_string()))).collect();
            if ended {
                messages.push(Ok(Message::default().data("[DONE]")));
            }
            stream::iter(messages)
        });
    sse_response(messages)
}

/// The complete response.
fn completion(run: &Run, extras: &Map<String, Value>, text: &str) -> Value {
    let mut out = frame(run, extras, "chat.completion");
    let annotations = run.report.as_deref().map_or_else(Vec::new, |it| annotations(it, extras));
    out["choices"] = json!([{
        "index": 0,
        "finish_reason": "stop",
        "logprobs": null,
        "message": {"role": "assistant", "content": text, "refusal": null, "annotations": annotations},
    }]);
    extend(&mut out, search_fields(run, extras));
    out
}

/// The fields that every response object and chunk has.
fn frame(run: &Run, extras: &Map<String, Value>, object: &str) -> Value {
    let mut own = json!({"run_id": run.id});
    if let Some(it) = extras.get("unseen") {
        own["unseen"] = it.clone();
    }
    json!({
        "id": format!("chatcmpl-{}", bare_run_id(run)),
        "object": object,
        "created": unix_seconds(run.started_at.as_deref()).unwrap_or_default(),
        "model": extras.get("model").cloned().unwrap_or_else(|| "ibid".into()),
        "system_fingerprint": concat!("ibid-", env!("CARGO_PKG_VERSION")),
        "ibid": own,
    })
}

fn extend(out: &mut Value, more: Value) {
    if let (Some(out), Value::Object(more)) = (out.as_object_mut(), more) {
        out.extend(more);
    }
}

/// One annotation per quote in OpenAI's nested form, with Jina's `exactQuote` and `dateTime`.
fn annotations(report: &Report, extras: &Map<String, Value>) -> Vec<Value> {
    let (_, marks) = text_with_citations(report);
    let each =
        marks.iter().flat_map(|mark| mark.passages.iter().map(move |passage| (mark, passage)));
    let all = each.filter_map(|(mark, passage)| {
        let source = source(report, mark.n)?;
        Some(json!({"type": "url_citation", "url_citation": {
            "url": source.url,
            "title": source.title,
            "start_index": mark.start,
            "end_index": mark.end,
            "exactQuote": passage.text(),
            "dateTime": source.date,
        }}))
    });
    let limit = extras.get("max_annotations").and_then(Value::as_u64);
    all.take(limit.map_or(usize::MAX, |limit| limit as usize)).collect()
}

/// Sources and usage of the run, under the names of Perplexity's and Jina's APIs.
fn search_fields(run: &Run, extras: &Map<String, Value>) -> Value {
    let usage = run.report.as_deref().map_or(run.usage, |report| report.usage);
    let sources = run.report.iter().flat_map(|it| &it.sources);
    let results: Vec<Value> = sources
        .clone()
        .map(|source| {
            let kind = match source.kind {
                SourceKind::Local => "file",
                _ => "web",
            };
            json!({"title": source.title, "url": source.url, "date": source.date, "last_updated": null, "source": kind})
        })
        .collect();
    let limit = extras.get("max_returned_urls").and_then(Value::as_u64);
    let limit = limit.map_or(usize::MAX, |limit| limit as usize);
    let read: Vec<&String> = run.sources.iter().map(|source| &source.url).collect();
    json!({
        "citations": sources.map(|source| &source.url).collect::<Vec<_>>(),
        "search_results": results,
        "visitedURLs": read.iter().take(limit).collect::<Vec<_>>(),
        "readURLs": read.iter().take(limit).filter(|text| web_url(text).is_some()).collect::<Vec<_>>(),
        "numURLs": read.len(),
        "usage": {
            "prompt_tokens": usage.tokens_in,
            "completion_tokens": usage.tokens_out,
            "total_tokens": usage.tokens_in + usage.tokens_out,
            "num_search_queries": usage.searches,
            "cost": {"total_cost": usage.usd},
        },
    })
}

/// Folds events into the chunks of a stream.
struct ChatFold {
    run: Run,
    extras: Map<String, Value>,
    /// Whether progress is sent between `<think>` tags, as Jina does.
    think: bool,
    /// Whether a `<think>` tag is open.
    thinking: bool,
}

impl ChatFold {
    fn apply(&mut self, it: &Envelope) -> Vec<Value> {
        self.run.apply(it);
        let mut out = Vec::new();
        match &it.event {
            Event::RunQueued { .. } => {
                out.push(self.chunk(json!({"role": "assistant", "content": ""}), None))
            }
            Event::PlanProposed { plan } => {
                let items: Vec<&str> = plan.items().iter().map(|item| item.asks.as_str()).collect();
                self.push_reasoning(
                    &mut out,
                    &format!("Items to answer: {}\n", items.join("; ")),
                    json!({}),
                );
            }
            Event::SearchCompleted { engine, query, hits, .. } => {
                let more = json!({"query": query});
                self.push_reasoning(
                    &mut out,
                    &format!("Searched {engine}: {query} ({hits} found)\n"),
                    more,
                );
            }
            Event::ReadCompleted { source, .. } => {
                let more = json!({"url": source.url});
                self.push_reasoning(&mut out, &format!("Read {}\n", source.title), more);
            }
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled {} => {
                self.finish(&mut out)
            }
            _ => {}
        }
        out
    }

    fn chunk(&self, delta: Value, finish: Option<&str>) -> Value {
        let mut out = frame(&self.run, &self.extras, "chat.completion.chunk");
        out["choices"] =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        out
    }

    fn push_reasoning(&mut self, out: &mut Vec<Value>, text: &str, more: Value) {
        let mut delta = match (self.think, self.thinking) {
            (true, true) => json!({"content": text}),
            (true, false) => json!({"content": format!("<think>{text}")}),
            (false, _) => json!({"reasoning_content": text}),
        };
        self.thinking = true;
        extend(&mut delta, more);
        out.push(self.chunk(delta, None));
    }

    fn finish(&mut self, out: &mut Vec<Value>) {
        if self.think && self.thinking {
            out.push(self.chunk(json!({"content": "</think>\n\n"}), Some("thinking_end")));
        }
        let text = citations::output_text(&self.run).unwrap_or_else(|| match self.run.status {
            RunStatus::Cancelled => "The run was cancelled.".to_owned(),
            _ => format!(
                "The run failed: {}",
                self.run.error.as_deref().unwrap_or("no reason is known")
            ),
        });
        for piece in text_chunks(&text) {
            out.push(self.chunk(json!({"content": piece}), None));
        }
        let annotations =
            self.run.report.as_deref().map_or_else(Vec::new, |it| annotations(it, &self.extras));
        let mut last = self.chunk(json!({"annotations": annotations}), Some("stop"));
        let mut more = search_fields(&self.run, &self.extras);
        // OpenAI sends usage in its own chunk, and only on request.
        let usage = more.as_object_mut().and_then(|it| it.remove("usage"));
        extend(&mut last, more);
        out.push(last);
        if self.extras.get("include_usage") == Some(&json!(true)) {
            let mut it = frame(&self.run, &self.extras, "chat.completion.chunk");
            it["choices"] = json!([]);
            it["usage"] = usage.unwrap_or_default();
            out.push(it);
        }
    }
}
