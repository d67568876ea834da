//! The events of a run as server-sent events. A client may disconnect and resume with the number of the last event.
use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use tokio::sync::watch;

use super::api_error::ApiResult;
use super::extract::{OwnedRun, QueryParams};
use super::values::{invalid_value, parse_number};
use crate::request_service::CallerEventStream;
use ibid_core::record::{Envelope, Event};

/// Interval of keep-alive comments in a quiet stream.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Maximum number of events of a list.
const MAX_EVENTS: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct EventsParams {
    after: Option<String>,
    limit: Option<String>,
    aliases: Option<String>,
}

/// `GET /v1/runs/{id}/events`: a stream, or a list with `Accept: application/json`.
pub(super) async fn events(
    mine: OwnedRun,
    QueryParams(from): QueryParams<EventsParams>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let mut after = from.after.map_or(Ok(0), |it| parse_number("after", &it))?;
    if let Some(it) = headers.get("last-event-id") {
        after = parse_number("Last-Event-ID", it.to_str().unwrap_or_default())?;
    }
    let limit =
        from.limit.map_or(Ok(MAX_EVENTS as u64), |limit| parse_number("limit", &limit))? as usize;
    if !(1..=MAX_EVENTS).contains(&limit) {
        let range = format!("must be from 1 to {MAX_EVENTS}");
        return Err(invalid_value("limit", &range));
    }
    let name: fn(&Event) -> String = match from.aliases.as_deref() {
        None | Some("false") => Event::name,
        Some("true") => alias,
        Some(_) => return Err(invalid_value("aliases", "must be true or false")),
    };
    let accepted = headers.get(header::ACCEPT).and_then(|header| header.to_str().ok());
    if accepted.is_some_and(|it| it.contains("application/json") && !it.contains("event-stream")) {
        let mut events = mine.run.events(after).await?;
        let more = events.len() > limit;
        events.truncate(limit);
        // Serialized exactly as in the stream.
        let each: Vec<String> =
            events.iter().filter_map(|event| serde_json::to_string(event).ok()).collect();
        let list =
            format!("{{\"object\":\"list\",\"data\":[{}],\"has_more\":{more}}}", each.join(","));
        return Ok(([(header::CONTENT_TYPE, "application/json")], list).into_response());
    }
    let events = mine.run.follow(after);
    let messages = event_batches(events, mine.server.stopping.clone()).flat_map(move |batch| {
        let each = batch.iter().filter_map(|it| sse_message(it, name(&it.event)));
        stream::iter(each.map(Ok::<_, Infallible>).collect::<Vec<_>>())
    });
    Ok(sse_response(messages))
}

/// A stream of messages with keep-alive comments, which proxies must not buffer.
pub(super) fn sse_response(
    messages: impl Stream<Item = Result<Message, Infallible>> + Send + 'static,
) -> Response {
    let alive = KeepAlive::new().interval(KEEP_ALIVE).text("keep-alive");
    let mut response = Sse::new(messages).keep_alive(alive).into_response();
    let no = HeaderValue::from_static("no");
    response.headers_mut().insert("x-accel-buffering", no);
    response
}

/// The batches of events until the run ends, a read fails, the caller loses access or the server stops. The stream then ends
/// without a message; a client resumes with the number of the last event.
pub(super) fn event_batches(
    events: CallerEventStream,
    stopping: watch::Receiver<bool>,
) -> impl Stream<Item = Vec<Envelope>> + Send {
    stream::unfold((events, stopping), |(mut events, mut stopping)| async {
        let next = tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return None,
            next = events.next() => next,
        };
        match next {
            Ok(Some(batch)) => Some((batch, (events, stopping))),
            Ok(None) | Err(_) => None,
        }
    })
}

/// The name of an event for clients that know research agents by tool calls and progress.
fn alias(event: &Event) -> String {
    let name = event.name();
    let alias = match name.as_str() {
        "search.started" | "read.started" => "tool-call-started",
        "search.completed" | "read.completed" => "tool-call-completed",
        "read.failed" => "tool-call-failed",
        "wave.started" | "wave.finished" | "coverage.updated" | "runtime_progress" => {
            "research-progress"
        }
        own => own,
    };
    alias.to_owned()
}

fn sse_message(it: &Envelope, name: String) -> Option<Message> {
    let data = serde_json::to_string(it).ok()?;
    Some(Message::default().id(it.seq.to_string()).event(name).data(data))
}
