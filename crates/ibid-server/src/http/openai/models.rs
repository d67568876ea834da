//! The model names of OpenAI's clients, and `/v1/models`.
use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::api_error::{ApiError, ApiResult};
use super::super::extract::PathParams;
use ibid_core::domain::{Effort, OutputMode};

/// A model name of OpenAI's clients. It selects the kind of research, not a language model.
pub(super) struct ModelAlias {
    pub(super) id: &'static str,
    pub(super) mode: OutputMode,
    pub(super) effort: Option<Effort>,
}

/// The offered names.
const MODEL_ALIASES: [ModelAlias; 3] = [
    ModelAlias { id: "ibid", mode: OutputMode::Report, effort: None },
    ModelAlias { id: "ibid-answer", mode: OutputMode::Answer, effort: None },
    ModelAlias { id: "ibid-quick", mode: OutputMode::Report, effort: Some(Effort::Quick) },
];

/// The alias with this name.
///
/// # Errors
/// 404 for another name.
pub(super) fn find_alias(id: &str) -> ApiResult<&'static ModelAlias> {
    MODEL_ALIASES.iter().find(|model_alias| model_alias.id == id).ok_or_else(|| {
        ApiError::new(StatusCode::NOT_FOUND, "model_not_found", "there is no such model")
            .with_param("model")
            .with_hint("the models are ibid, ibid-answer and ibid-quick")
    })
}

/// `created` of the models: the day of the first release, seconds since 1970.
const MODEL_CREATED: u64 = 1_795_219_200;

/// `GET /v1/models`.
pub(in crate::http) async fn models() -> Json<Value> {
    let data: Vec<Value> =
        MODEL_ALIASES.iter().map(|model_alias| model_object(model_alias.id)).collect();
    Json(json!({"object": "list", "data": data}))
}

/// `GET /v1/models/{id}`.
pub(in crate::http) async fn model(PathParams(id): PathParams<String>) -> ApiResult<Json<Value>> {
    Ok(Json(model_object(find_alias(&id)?.id)))
}

fn model_object(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": MODEL_CREATED, "owned_by": "ibid"})
}
