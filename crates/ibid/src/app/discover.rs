//! Finds the servers of this machine and the keys in the environment, for `ibid init`.
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;

use crate::config::{Settings, default_model};
use ibid_net::service::{ServiceAccess, ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// The timeout of a server on this machine.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest response that is read, in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Key variables that are set, each with its default model.
    pub keys: Vec<(&'static str, &'static str)>,
    /// Models of a server on this machine, as `provider:model`, shortest names first.
    pub local_models: Vec<String>,
    /// A SearXNG on this machine that answers in JSON.
    pub searxng: Option<String>,
    /// A SearXNG on this machine that has JSON disabled.
    pub searxng_without_json: Option<String>,
}

/// Probes the usual ports of this machine and looks at the variables. Contacts nothing else.
pub async fn discover(settings: &Settings) -> Discovery {
    let keys = default_model::rows().iter().copied();
    let keys = keys.filter(|key| settings.variables.get(key.0).is_some());
    let ollama = settings.variables.get("OLLAMA_BASE_URL").unwrap_or("http://127.0.0.1:11434");
    let ollama = ollama.trim_end_matches("/v1");
    let named = settings.variables.get("SEARXNG_URL").map(str::to_owned);
    let usual = ["http://127.0.0.1:8080", "http://127.0.0.1:8888"].map(str::to_owned);
    let places: Vec<String> = named.into_iter().chain(usual).collect();
    let (local_models, searxng) = tokio::join!(
        list_ollama_models(ollama),
        join_all(places.iter().map(|place| probe_searxng(place)))
    );
    let first = |wanted: JsonSupport| {
        let at = searxng.iter().position(|it| *it == Some(wanted))?;
        Some(places[at].clone())
    };
    Discovery {
        keys: keys.collect(),
        local_models,
        searxng: first(JsonSupport::On),
        searxng_without_json: first(JsonSupport::Off),
    }
}

/// Whether a SearXNG answers in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonSupport {
    On,
    Off,
}

async fn probe_searxng(url: &str) -> Option<JsonSupport> {
    let service = ServiceClient::open("searxng", ServiceAccess::bearer(url, None))
        .ok()?
        .with_limits(PROBE_TIMEOUT, MAX_RESPONSE_BYTES);
    let request = ServiceRequest::get("/search", &[("q", "water"), ("format", "json")]);
    let answer = service.request(&request, |status, _, body| {
        let value: Option<Value> = serde_json::from_slice(body).ok();
        Ok::<_, ServiceError>(match (status, value) {
            (200, Some(value)) if value.get("results").is_some() => Some(JsonSupport::On),
            // SearXNG answers 403 to a format that is disabled.
            (403, _) => Some(JsonSupport::Off),
            _ => None,
        })
    });
    tokio::time::timeout(PROBE_TIMEOUT, answer).await.ok()?.ok()?
}

/// The models of an Ollama server, without embedding models.
async fn list_ollama_models(url: &str) -> Vec<String> {
    let Ok(service) = ServiceClient::open("ollama", ServiceAccess::bearer(url, None)) else {
        return Vec::new();
    };
    let service = service.with_limits(PROBE_TIMEOUT, MAX_RESPONSE_BYTES);
    let request = ServiceRequest::get("/api/tags", &[]);
    let answer = service.request(&request, |_, _, body| {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let all = value["models"].as_array().cloned().unwrap_or_default();
        let mut names: Vec<String> =
            all.iter().filter_map(|it| Some(format!("ollama:{}", it["name"].as_str()?))).collect();
        names.retain(|name| !name.contains("embed"));
        names.sort_by_key(|name| (name.len(), name.clone()));
        Ok::<_, ServiceError>(names)
    });
    match tokio::time::timeout(PROBE_TIMEOUT, answer).await {
        Ok(Ok(names)) => names,
        _ => Vec::new(),
    }
}
