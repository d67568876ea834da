//! `/v1/chat/completions`, with the fields of jina's and Perplexity's APIs.
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

use super::super::Server;
use super::super::extract::Params;
use super::super::fault::{Answer, Fault};
use super::super::runs::{accept, bad, body, once, room};
use super::super::story::{batches, streamed};
use super::cites::{self, source};
use super::stream::{pieces, ulid};
use super::{FOREVER, asked, seconds};
use crate::domain::{Report, SourceKind};
use crate::record::{Envelope, Event, Run, RunStatus};
use crate::surfaces::desk::CallerService;
use crate::surfaces::export::cited::cited;
use crate::surfaces::export::escape::target;

#[derive(Deserialize)]
pub(in crate::surfaces::http) struct Wanted {
    think_tags: Option<String>,
}

/// `POST /v1/chat/completions`.
pub(in crate::surfaces::http) async fn create(
    State(server): State<Arc<Server>>,
    Extension(service): Extension<CallerService>,
    Params(wanted): Params<Wanted>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Response> {
    room(&service, &headers)?;
    let think = match wanted.think_tags.as_deref() {
        None | Some("0") => false,
        Some("1") => true,
        Some(_) => return Err(bad("think_tags", "must be 0 or 1")),
    };
    let once = once("/v1/chat/completions", &headers, &bytes)?;
    let read = asked::chat(&body(bytes)?)?;
    let kept = read.kept.clone();
    let of = accept(&service, &read.asked, Some(read.kept.into()), once).await?;
    if kept.get("stream") == Some(&json!(true)) {
        let fold = Fold {
            run: Run::new(of.id().clone()),
            kept,
            think,
            thinking: false,
        };
        let messages = batches(of.follow(0), server.stopping.clone())
            .scan(fold, |fold, batch| {
                let all: Vec<Value> = batch.iter().flat_map(|it| fold.take(it)).collect();
                std::future::ready(Some((all, fold.run.status.ended())))
            })
            .flat_map(|(all, ended)| {
                let mut out: Vec<_> = all
                    .iter()
                    .map(|it| Ok(Message::default().data(it.to_string())))
                    .collect();
                if ended {
                    out.push(Ok(Message::default().data("[DONE]")));
                }
                stream::iter(out)
            });
        return Ok(streamed(messages));
    }
    of.wait(FOREVER).await?;
    let run = of.run().await?;
    match cites::text(&run) {
        Some(text) => Ok(Json(completion(&run, &kept, &text)).into_response()),
        None => Err(Fault::new(
            // OpenAI's clients ask again after 409 and 5xx: that would be another run, for another price. What could not be
            // reached was asked again by the run itself, and is no fault of this server.
            StatusCode::UNPROCESSABLE_ENTITY,
            "run_failed",
            run.error
                .unwrap_or_else(|| "the run ended without a report".to_owned()),
        )),
    }
}

/// The whole answer.
fn completion(run: &Run, kept: &Map<String, Value>, text: &str) -> Value {
    let mut out = frame(run, kept, "chat.completion");
    let annotations = run
        .report
        .as_deref()
        .map_or_else(Vec::new, |it| annotations(it, kept));
    out["choices"] = json!([{
        "index": 0,
        "finish_reason": "stop",
        "logprobs": null,
        "message": {"role": "assistant", "content": text, "refusal": null, "annotations": annotations},
    }]);
    extend(&mut out, told(run, kept));
    out
}

fn frame(run: &Run, kept: &Map<String, Value>, object: &str) -> Value {
    let mut ours = json!({"run_id": run.id});
    if let Some(it) = kept.get("unseen") {
        ours["unseen"] = it.clone();
    }
    json!({
        "id": format!("chatcmpl-{}", ulid(run)),
        "object": object,
        "created": seconds(run.started_at.as_deref()).unwrap_or_default(),
        "model": kept.get("model").cloned().unwrap_or_else(|| "ibid".into()),
        "system_fingerprint": concat!("ibid-", env!("CARGO_PKG_VERSION")),
        "ibid": ours,
    })
}

fn extend(out: &mut Value, more: Value) {
    if let (Some(out), Value::Object(more)) = (out.as_object_mut(), more) {
        out.extend(more);
    }
}

/// OpenAI's nested form, with jina's `exactQuote` and `dateTime`: one for each quote.
fn annotations(report: &Report, kept: &Map<String, Value>) -> Vec<Value> {
    let (_, marks) = cited(report);
    let each = marks
        .iter()
        .flat_map(|mark| mark.passages.iter().map(move |it| (mark, it)));
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
    let most = kept.get("max_annotations").and_then(Value::as_u64);
    all.take(most.map_or(usize::MAX, |it| it as usize))
        .collect()
}

/// What the run rests on and came to, under the names of Perplexity's and jina's answers.
fn told(run: &Run, kept: &Map<String, Value>) -> Value {
    let usage = run.report.as_deref().map_or(run.usage, |it| it.usage);
    let sources = run.report.iter().flat_map(|it| &it.sources);
    let results: Vec<Value> = sources
        .clone()
        .map(|it| {
            let kind = match it.kind {
                SourceKind::Local => "file",
                _ => "web",
            };
            json!({"title": it.title, "url": it.url, "date": it.date, "last_updated": null, "source": kind})
        })
        .collect();
    let most = kept.get("max_returned_urls").and_then(Value::as_u64);
    let most = most.map_or(usize::MAX, |it| it as usize);
    let read: Vec<&String> = run.sources.iter().map(|it| &it.url).collect();
    json!({
        "citations": sources.map(|it| &it.url).collect::<Vec<_>>(),
        "search_results": results,
        "visitedURLs": read.iter().take(most).collect::<Vec<_>>(),
        "readURLs": read.iter().take(most).filter(|it| target(it).is_some()).collect::<Vec<_>>(),
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

/// The chunks of a stream, folded from the events.
struct Fold {
    run: Run,
    kept: Map<String, Value>,
    /// Whether what happens is told between `<think>` tags, as jina does.
    think: bool,
    thinking: bool,
}

impl Fold {
    fn take(&mut self, it: &Envelope) -> Vec<Value> {
        self.run.apply(it);
        let mut out = Vec::new();
        match &it.event {
            Event::RunQueued { .. } => {
                out.push(self.chunk(json!({"role": "assistant", "content": ""}), None))
            }
            Event::PlanProposed { plan } => {
                let items: Vec<&str> = plan.items().iter().map(|it| it.asks.as_str()).collect();
                self.thought(
                    &mut out,
                    &format!("To be answered: {}\n", items.join("; ")),
                    json!({}),
                );
            }
            Event::SearchCompleted {
                engine,
                query,
                hits,
                ..
            } => {
                let more = json!({"query": query});
                self.thought(
                    &mut out,
                    &format!("Searched {engine}: {query} ({hits} found)\n"),
                    more,
                );
            }
            Event::ReadCompleted { source, .. } => {
                let more = json!({"url": source.url});
                self.thought(&mut out, &format!("Read {}\n", source.title), more);
            }
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled {} => {
                self.end(&mut out)
            }
            _ => {}
        }
        out
    }

    fn chunk(&self, delta: Value, finish: Option<&str>) -> Value {
        let mut out = frame(&self.run, &self.kept, "chat.completion.chunk");
        out["choices"] =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        out
    }

    fn thought(&mut self, out: &mut Vec<Value>, text: &str, more: Value) {
        let mut delta = match self.think {
            true if self.thinking => json!({"content": text}),
            true => json!({"content": format!("<think>{text}")}),
            false => json!({"reasoning_content": text}),
        };
        self.thinking = true;
        extend(&mut delta, more);
        out.push(self.chunk(delta, None));
    }

    fn end(&mut self, out: &mut Vec<Value>) {
        if self.think && self.thinking {
            out.push(self.chunk(json!({"content": "</think>\n\n"}), Some("thinking_end")));
        }
        let text = cites::text(&self.run).unwrap_or_else(|| match self.run.status {
            RunStatus::Cancelled => "The run was cancelled.".to_owned(),
            _ => format!(
                "The run failed: {}",
                self.run.error.as_deref().unwrap_or("no reason is known")
            ),
        });
        for piece in pieces(&text) {
            out.push(self.chunk(json!({"content": piece}), None));
        }
        let annotations = self
            .run
            .report
            .as_deref()
            .map_or_else(Vec::new, |it| annotations(it, &self.kept));
        let mut last = self.chunk(json!({"annotations": annotations}), Some("stop"));
        let mut more = told(&self.run, &self.kept);
        // OpenAI's clients want usage in a chunk of its own, and only where they asked for it.
        let usage = more.as_object_mut().and_then(|it| it.remove("usage"));
        extend(&mut last, more);
        out.push(last);
        if self.kept.get("include_usage") == Some(&json!(true)) {
            let mut it = frame(&self.run, &self.kept, "chat.completion.chunk");
            it["choices"] = json!([]);
            it["usage"] = usage.unwrap_or_default();
            out.push(it);
        }
    }
}
