//! OpenAI's APIs over the same runs: Responses and Chat Completions. A run is never tied to the call that began it.
mod asked;
pub(super) mod chat;
mod cites;
pub(super) mod responses;
mod stream;

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::fault::{Answer, Fault};
use crate::domain::{Effort, Mode, RunId};
use crate::record::{Envelope, Event, Run};

/// A model as callers name it: what is asked for, no language model.
struct Offered {
    id: &'static str,
    mode: Mode,
    effort: Option<Effort>,
}

const OFFERED: [Offered; 3] = [
    Offered {
        id: "ibid",
        mode: Mode::Report,
        effort: None,
    },
    Offered {
        id: "ibid-answer",
        mode: Mode::Answer,
        effort: None,
    },
    Offered {
        id: "ibid-quick",
        mode: Mode::Report,
        effort: Some(Effort::Quick),
    },
];

fn offered(id: &str) -> Answer<&'static Offered> {
    OFFERED.iter().find(|it| it.id == id).ok_or_else(|| {
        Fault::new(
            StatusCode::NOT_FOUND,
            "model_not_found",
            "there is no such model",
        )
        .at("model")
        .hint("models are ibid, ibid-answer and ibid-quick")
    })
}

/// How long a call that is neither a stream nor in the background waits: longer than any run may take.
const FOREVER: Duration = Duration::from_secs(7 * 24 * 3600);

/// When the models were made: the day of the first release, seconds since 1970.
const MADE: u64 = 1_795_219_200;

/// `GET /v1/models`.
pub(super) async fn models() -> Json<Value> {
    let data: Vec<Value> = OFFERED.iter().map(|it| card(it.id)).collect();
    Json(json!({"object": "list", "data": data}))
}

/// `GET /v1/models/{id}`.
pub(super) async fn model(
    super::extract::Place(id): super::extract::Place<String>,
) -> Answer<Json<Value>> {
    Ok(Json(card(offered(&id)?.id)))
}

fn card(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": MADE, "owned_by": "ibid"})
}

/// What is told to an address that a caller has named.
pub(super) struct Hook {
    pub(super) url: String,
    pub(super) id: String,
    pub(super) body: Value,
    /// Whether whoever runs the server named it, and not a user.
    pub(super) by_operator: bool,
}

/// The webhook that the caller of a run wants to hear once it has ended.
pub(super) fn hook(run: &RunId, events: &[Envelope]) -> Option<Hook> {
    let mut fold = stream::Fold::new(Run::new(run.clone()));
    let told: Vec<Value> = events.iter().flat_map(|it| fold.take(it)).collect();
    let url = fold.kept("webhook_url")?.as_str()?.to_owned();
    let response = fold.response();
    let status = response["status"].as_str()?;
    let id = format!("evt_{}", run.as_str().trim_start_matches("r_"));
    let body = json!({
        "id": id,
        "object": "event",
        "type": format!("response.{status}"),
        "created_at": seconds(events.last().map(|it| it.ts.as_str())),
        "data": {"id": response["id"]},
    });
    let created = events.first().map(|it| &it.event);
    let by_operator = matches!(created, Some(Event::RunCreated { owner: None, .. }));
    (!told.is_empty()).then_some(Hook {
        url,
        id,
        body,
        by_operator,
    })
}

/// The time of an event, seconds since 1970.
fn seconds(ts: Option<&str>) -> Option<i64> {
    ts?.parse::<jiff::Timestamp>().ok().map(|it| it.as_second())
}
