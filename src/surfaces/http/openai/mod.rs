//! OpenAI's APIs over the same runs: Responses and Chat Completions. A run is never tied to the call that began it.
mod asked;
pub(super) mod chat;
mod cites;
pub(super) mod responses;
mod stream;

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::fault::{Answer, Fault};
use crate::domain::{Effort, Mode};

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

/// When the models were made: the day of the first release, seconds since 1970.
const MADE: u64 = 1_795_219_200;

/// `GET /v1/models`.
pub(super) async fn models() -> Json<Value> {
    let data: Vec<Value> = OFFERED.iter().map(|it| card(it.id)).collect();
    Json(json!({"object": "list", "data": data}))
}

/// `GET /v1/models/{id}`.
pub(super) async fn model(
    axum::extract::Path(id): axum::extract::Path<String>,
) -> Answer<Json<Value>> {
    Ok(Json(card(offered(&id)?.id)))
}

fn card(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": MADE, "owned_by": "ibid"})
}

/// The time of an event, seconds since 1970.
fn seconds(ts: Option<&str>) -> Option<i64> {
    ts?.parse::<jiff::Timestamp>().ok().map(|it| it.as_second())
}
