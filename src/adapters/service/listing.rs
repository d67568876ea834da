//! Which models a provider offers: the cheapest question that tells whether it is there, takes the key and knows a model.
use std::time::Duration;

use serde_json::Value;

use super::{Access, Ask, Service};
use crate::adapters::model::providers::Auth;
use crate::adapters::model::{Dialect, ModelFault, Target};
use crate::error::Result;
use crate::seams::Egress;

/// For the whole list.
const PATIENCE: Duration = Duration::from_secs(15);
/// The largest list, bytes. OpenRouter's is half a megabyte.
const LARGEST: usize = 8 << 20;
/// Providers with no list that a key opens, by their documentation.
const WITHOUT: [&str; 2] = ["perplexity", "vertex"];

/// What a provider says of its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// Their names, as they are asked for, and whether these are all.
    Names(Vec<String>, bool),
    /// It takes the key, and what it lists says nothing of the names that it is asked for.
    Other,
    /// It is there and has no list at this path.
    Nowhere(&'static str),
    /// It has none, so that nobody was asked.
    Unasked,
}

/// Asks the provider of `target` for its models.
///
/// # Errors
/// What the provider failed with: it is not there, or the key is wrong.
pub async fn listed(target: &Target, egress: &Egress) -> Result<Listing> {
    let provider = target.provider;
    if WITHOUT.contains(&provider.name) {
        return Ok(Listing::Unasked);
    }
    let access = Access {
        base_url: target.base_url.clone(),
        header: match provider.auth {
            Auth::Bearer => ("authorization", "Bearer "),
            Auth::Header(name) => (name, ""),
        },
        key: target.key.clone(),
    };
    let service = Service::open(provider.name, access)?
        .noted(egress.clone())
        .within(PATIENCE, LARGEST)
        .once();
    let service = match provider.dialect {
        Dialect::Anthropic => service.with_header("anthropic-version", "2023-06-01"),
        _ => service,
    };
    if provider.name == "openrouter" {
        // Anybody gets its list; only this wants a key.
        service.answered(&Ask::get("/key", &[]), open).await?;
    }
    let (path, query): (_, &[(&str, &str)]) = match provider.dialect {
        Dialect::Anthropic => ("/v1/models", &[("limit", "1000")]),
        Dialect::Gemini => ("/models", &[("pageSize", "1000")]),
        Dialect::Ollama => ("/api/tags", &[]),
        Dialect::Cohere => ("/v1/models", &[("page_size", "1000")]),
        Dialect::OpenAiChat | Dialect::OpenAiResponses => ("/models", &[]),
    };
    let found = service.answered(&Ask::get(path, query), open).await?;
    Ok(match found {
        None => Listing::Nowhere(path),
        // Azure lists what could be deployed, and is asked for deployments.
        Some(_) if provider.name == "azure" => Listing::Other,
        Some(value) => names(&value),
    })
}

/// The JSON of an answer; nothing where there is no such place.
fn open(
    status: u16,
    headers: &crate::adapters::model::Headers,
    body: &[u8],
) -> std::result::Result<Option<Value>, ModelFault> {
    match status {
        404 | 405 | 501 => Ok(None),
        200..300 => serde_json::from_slice(body)
            .map(Some)
            .map_err(|_| ModelFault::malformed("what should be its list of models is no JSON")),
        _ => Err(ModelFault::of_answer(status, headers, body)),
    }
}

/// The names in a list, whichever provider it is of: `data` of OpenAI and Anthropic, `models` of Ollama, Gemini and Cohere, or
/// the list alone, as Together gives it.
fn names(value: &Value) -> Listing {
    let list = value.get("data").or_else(|| value.get("models"));
    let Some(rows) = list.unwrap_or(value).as_array() else {
        return Listing::Other;
    };
    let name = |row: &Value| {
        let name = row.get("id").or_else(|| row.get("name"))?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    let more = value.get("has_more").and_then(Value::as_bool) == Some(true)
        || ["nextPageToken", "next_page_token"].iter().any(|it| {
            value
                .get(it)
                .and_then(Value::as_str)
                .is_some_and(|it| !it.is_empty())
        });
    Listing::Names(rows.iter().filter_map(name).collect(), !more)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_every_form_are_read() {
        let of = |value| names(&value);
        let all =
            |it: &[&str]| Listing::Names(it.iter().map(|it| (*it).to_owned()).collect(), true);
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
            Listing::Names(vec!["gemini-2.5-flash".to_owned()], false)
        );
        assert_eq!(
            of(json!({"data": [{"id": "claude"}], "has_more": false})),
            all(&["claude"])
        );
        assert_eq!(of(json!({"hello": 1})), Listing::Other);
    }
}
