//! Lists the models of a provider: the cheapest request that shows whether the provider is reachable, accepts the key
//! and knows a model.
use std::time::Duration;

use serde_json::Value;

use crate::providers::Auth;
use crate::{Dialect, ModelTarget};
use ibid_core::Result;
use ibid_core::ports::Egress;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceAccess, ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Timeout for the whole list.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of the list, bytes. OpenRouter's is half a megabyte.
const MAX_BYTES: usize = 8 << 20;
/// Providers without a model list for API keys, according to their documentation.
const WITHOUT: [&str; 2] = ["perplexity", "vertex"];

/// The models of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelList {
    /// The model names, and whether the list is complete.
    Names(Vec<String>, bool),
    /// The key is accepted, but the listed names are not those used in requests.
    OtherNames,
    /// The provider is reachable and has no list at this path.
    NoListAt(&'static str),
    /// The provider has no list; nothing was sent.
    NotSupported,
}

/// Asks the provider of `target` for its models.
///
/// # Errors
/// The provider is not reachable, or the key is wrong.
pub async fn list_models(target: &ModelTarget, egress: &Egress) -> Result<ModelList> {
    let provider = target.provider;
    if WITHOUT.contains(&provider.name) {
        return Ok(ModelList::NotSupported);
    }
    let access = ServiceAccess {
        base_url: target.base_url.clone(),
        header: match provider.auth {
            Auth::Bearer => ("authorization", "Bearer "),
            Auth::Header(name) => (name, ""),
        },
        key: target.key.clone(),
    };
    let service = ServiceClient::open(provider.name, access)?
        .with_egress(egress.clone())
        .with_limits(TIMEOUT, MAX_BYTES)
        .without_retries();
    let service = match provider.dialect {
        Dialect::Anthropic => service.with_header("anthropic-version", "2023-06-01"),
        _ => service,
    };
    if provider.name == "openrouter" {
        // The list is public; only this request needs a key.
        service.request(&ServiceRequest::get("/key", &[]), parse_body).await?;
    }
    let (path, query): (_, &[(&str, &str)]) = match provider.dialect {
        Dialect::Anthropic => ("/v1/models", &[("limit", "1000")]),
        Dialect::Gemini => ("/models", &[("pageSize", "1000")]),
        Dialect::Ollama => ("/api/tags", &[]),
        Dialect::Cohere => ("/v1/models", &[("page_size", "1000")]),
        Dialect::OpenAiChat | Dialect::OpenAiResponses => ("/models", &[]),
    };
    let found = service.request(&ServiceRequest::get(path, query), parse_list).await?;
    Ok(match found {
        None => ModelList::NoListAt(path),
        // Azure lists models that could be deployed, but requests name deployments.
        Some(_) if provider.name == "azure" => ModelList::OtherNames,
        Some(list) => list,
    })
}

/// Parses the response to a request for the list; `None` if the path does not exist.
///
/// # Errors
/// The error that the provider reported; `Malformed` if the response is not JSON.
pub fn parse_list(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> std::result::Result<Option<ModelList>, ServiceError> {
    Ok(parse_body(status, headers, body)?.map(|value| parse_names(&value)))
}

/// Parses the response as JSON; `None` if the path does not exist.
fn parse_body(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> std::result::Result<Option<Value>, ServiceError> {
    match status {
        404 | 405 | 501 => Ok(None),
        200..300 => serde_json::from_slice(body)
            .map(Some)
            .map_err(|_| ServiceError::malformed("the list of models is not valid JSON")),
        _ => Err(ServiceError::from_response(status, headers, body)),
    }
}

/// Extracts the names from the list of any provider: `data` of OpenAI and Anthropic, `models` of Ollama, Gemini and
/// Cohere, or Together's bare list.
fn parse_names(value: &Value) -> ModelList {
    let list = value.get("data").or_else(|| value.get("models"));
    let Some(rows) = list.unwrap_or(value).as_array() else {
        return ModelList::OtherNames;
    };
    let name = |row: &Value| {
        let name = row.get("id").or_else(|| row.get("name"))?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    let more = value.get("has_more").and_then(Value::as_bool) == Some(true)
        || ["nextPageToken", "next_page_token"]
            .iter()
            .any(|key| value.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()));
    ModelList::Names(rows.iter().filter_map(name).collect(), !more)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ibid_core::ErrorKind;

    #[test]
    fn lists_of_every_form_are_read() {
        let of = |value| parse_names(&value);
        let all = |it: &[&str]| {
            ModelList::Names(it.iter().map(|text| (*text).to_owned()).collect(), true)
        };
        assert_eq!(
            of(json!({"object": "list", "data": [{"id": "gpt-5"}, {"id": "o4"}]})),
            all(&["gpt-5", "o4"])
        );
        assert_eq!(
            of(json!({"models": [{"name": "llama3.2:latest", "model": "llama3.2:latest"}]})),
            all(&["llama3.2:latest"])
        );
        assert_eq!(of(json!([{"id": "a/b"}])), all(&["a/b"]));
        assert_eq!(
            of(json!({"models": [{"name": "models/gemini-2.5-flash"}], "nextPageToken": "x"})),
            ModelList::Names(vec!["gemini-2.5-flash".to_owned()], false)
        );
        assert_eq!(of(json!({"data": [{"id": "claude"}], "has_more": false})), all(&["claude"]));
        assert_eq!(of(json!({"hello": 1})), ModelList::OtherNames);
        let refused = parse_list(401, &ResponseHeaders::default(), b"{}").unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Setup);
    }
}
