//! What is already there: servers on this machine and keys that are set, for `ibid init`.
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;

use crate::adapters::model::ModelFault;
use crate::adapters::service::{Access, Ask, Service};
use crate::config::{Settings, by_key};

/// How long a server on this machine has to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest list of models that is read, bytes.
const LARGEST: usize = 1 << 20;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovered {
    /// Variables of model keys that are set, each with the model it stands for.
    pub keys: Vec<(&'static str, &'static str)>,
    /// Models that a server on this machine has, as `provider:model`, smallest names first.
    pub local_models: Vec<String>,
    /// A SearXNG on this machine that answers in JSON.
    pub searxng: Option<String>,
    /// A SearXNG on this machine whose JSON is off.
    pub searxng_without_json: Option<String>,
}

/// Asks the usual ports of this machine, and looks at the variables. Nothing else is contacted.
pub async fn discover(settings: &Settings) -> Discovered {
    let keys = by_key::rows().iter().copied();
    let keys = keys.filter(|it| settings.variables.get(it.0).is_some());
    let ollama = settings
        .variables
        .get("OLLAMA_BASE_URL")
        .unwrap_or("http://127.0.0.1:11434");
    let ollama = ollama.trim_end_matches("/v1");
    let named = settings.variables.get("SEARXNG_URL").map(str::to_owned);
    let usual = ["http://127.0.0.1:8080", "http://127.0.0.1:8888"].map(str::to_owned);
    let places: Vec<String> = named.into_iter().chain(usual).collect();
    let (local_models, searxng) = tokio::join!(
        models(ollama),
        join_all(places.iter().map(|it| searxng(it)))
    );
    let first = |wanted: Json| {
        let at = searxng.iter().position(|it| *it == Some(wanted))?;
        Some(places[at].clone())
    };
    Discovered {
        keys: keys.collect(),
        local_models,
        searxng: first(Json::On),
        searxng_without_json: first(Json::Off),
    }
}

/// Whether a SearXNG gives JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Json {
    On,
    Off,
}

async fn searxng(url: &str) -> Option<Json> {
    let service = Service::open("searxng", Access::bearer(url, None))
        .ok()?
        .within(PATIENCE, LARGEST);
    let ask = Ask::get("/search", &[("q", "water"), ("format", "json")]);
    let answer = service.answered(&ask, |status, _, body| {
        let value: Option<Value> = serde_json::from_slice(body).ok();
        Ok::<_, ModelFault>(match (status, value) {
            (200, Some(value)) if value.get("results").is_some() => Some(Json::On),
            // Its own refusal names the format.
            (403, _) => Some(Json::Off),
            _ => None,
        })
    });
    tokio::time::timeout(PATIENCE, answer).await.ok()?.ok()?
}

/// The models of an Ollama.
async fn models(url: &str) -> Vec<String> {
    let Ok(service) = Service::open("ollama", Access::bearer(url, None)) else {
        return Vec::new();
    };
    let service = service.within(PATIENCE, LARGEST);
    let ask = Ask::get("/api/tags", &[]);
    let answer = service.answered(&ask, |_, _, body| {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let all = value["models"].as_array().cloned().unwrap_or_default();
        let mut names: Vec<String> = all
            .iter()
            .filter_map(|it| Some(format!("ollama:{}", it["name"].as_str()?)))
            .collect();
        names.retain(|it| !it.contains("embed"));
        names.sort_by_key(|it| (it.len(), it.clone()));
        Ok::<_, ModelFault>(names)
    });
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(names)) => names,
        _ => Vec::new(),
    }
}
