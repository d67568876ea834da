//! The events of a run as they become durable: server-sent events that a client may leave and come back to.
use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::extract::{Mine, Params};
use super::fault::{Answer, Fault};
use crate::record::Envelope;
use crate::surfaces::desk::CallerStory;

/// How often a quiet stream says that it is still there.
pub(super) const ALIVE: Duration = Duration::from_secs(15);

/// Most events of one answer that is no stream.
const MOST: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct From {
    after: Option<String>,
    limit: Option<String>,
}

/// `GET /v1/runs/{id}/events`: a stream, or with `Accept: application/json` a list.
pub(super) async fn events(
    mine: Mine,
    Params(from): Params<From>,
    headers: HeaderMap,
) -> Answer<Response> {
    let mut after = from.after.map_or(Ok(0), |it| number("after", &it))?;
    if let Some(it) = headers.get("last-event-id") {
        after = number("Last-Event-ID", it.to_str().unwrap_or_default())?;
    }
    let limit = from
        .limit
        .map_or(Ok(MOST as u64), |it| number("limit", &it))? as usize;
    if !(1..=MOST).contains(&limit) {
        let most = format!("limit must be from 1 to {MOST}");
        return Err(Fault::new(StatusCode::BAD_REQUEST, "invalid_value", most).at("limit"));
    }
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    if accepted.is_some_and(|it| it.contains("application/json") && !it.contains("event-stream")) {
        let mut events = mine.run.events(after).await?;
        let more = events.len() > limit;
        events.truncate(limit);
        // Each as it stands on the wire of the stream, to the last digit.
        let each: Vec<String> = events
            .iter()
            .filter_map(|it| serde_json::to_string(it).ok())
            .collect();
        let list = format!(
            "{{\"object\":\"list\",\"data\":[{}],\"has_more\":{more}}}",
            each.join(",")
        );
        return Ok(([(header::CONTENT_TYPE, "application/json")], list).into_response());
    }
    let story = mine.run.follow(after);
    let messages = batches(story, mine.server.stopping.clone()).flat_map(|batch| {
        let each: Vec<_> = batch
            .iter()
            .filter_map(message)
            .map(Ok::<_, Infallible>)
            .collect();
        stream::iter(each)
    });
    Ok(streamed(messages))
}

/// A number as callers write it.
pub(super) fn number(name: &str, text: &str) -> Answer<u64> {
    text.parse().map_err(|_| {
        Fault::new(
            StatusCode::BAD_REQUEST,
            "invalid_value",
            format!("{name} must be a whole number"),
        )
        .at(name)
    })
}

/// A whole number of a body, also where it is written with a point.
pub(super) fn whole(it: &Value) -> Option<u64> {
    it.as_u64().or_else(|| {
        let it = it.as_f64().filter(|it| it.fract() == 0.0)?;
        (0.0..1e15).contains(&it).then_some(it as u64)
    })
}

/// A stream of messages, kept alive, which nothing between may hold back.
pub(super) fn streamed(
    messages: impl Stream<Item = Result<Message, Infallible>> + Send + 'static,
) -> Response {
    let alive = KeepAlive::new().interval(ALIVE).text("keep-alive");
    let mut response = Sse::new(messages).keep_alive(alive).into_response();
    let unbuffered = axum::http::HeaderValue::from_static("no");
    response
        .headers_mut()
        .insert("x-accel-buffering", unbuffered);
    response
}

/// What a story tells, until it ends, cannot be read, its caller may not ask any more, or the server stops: then the stream ends without a word, and a client comes
/// back with the number of the last event it has heard.
pub(super) fn batches(
    story: CallerStory,
    stopping: watch::Receiver<bool>,
) -> impl Stream<Item = Vec<Envelope>> + Send {
    stream::unfold((story, stopping), |(mut story, mut stopping)| async {
        let next = tokio::select! {
            _ = stopping.wait_for(|it| *it) => return None,
            next = story.next() => next,
        };
        match next {
            Ok(Some(batch)) => Some((batch, (story, stopping))),
            Ok(None) | Err(_) => None,
        }
    })
}

fn message(it: &Envelope) -> Option<Message> {
    let data = serde_json::to_string(it).ok()?;
    Some(
        Message::default()
            .id(it.seq.to_string())
            .event(it.event.name())
            .data(data),
    )
}
