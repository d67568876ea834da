//! Wikipedia, in the language of the question.
use async_trait::async_trait;
use serde_json::Value;
use url::Url;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, clean_title, error_from_text, full_text, parse_date, plain_text, text_field,
    truncate,
};
use ibid_core::Result;
use ibid_core::domain::{Hit, Hits, Query};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// `GET /w/api.php?action=query&list=search`.
struct Wikipedia;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Wikipedia)
}

#[async_trait]
impl EngineApi for Wikipedia {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let text = super::query_text::content_words(query.text());
        let limit = query.limit.min(50).to_string();
        let ask = ServiceRequest::get(
            "/w/api.php",
            &[
                ("action", "query"),
                ("list", "search"),
                ("srsearch", &text),
                ("srlimit", &limit),
                ("format", "json"),
            ],
        );
        // A proxy with another name is taken to be for the English one.
        let at = match service.base_url() {
            it if it.ends_with(".wikipedia.org") => it,
            _ => "https://en.wikipedia.org",
        };
        service.request(&ask, |status, headers, body| read(at, status, headers, body)).await
    }
}

/// Parses the pages in an answer of any query: those of a list (`search`, `backlinks`, `categorymembers`, …) in its order, and
/// those under `pages`. `at` is an address of the wiki. Pages that do not exist are left out.
pub(super) fn read(
    at: &str,
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<Hits> {
    let value = match response::parse_json(status, headers, body) {
        Ok(it) => it,
        Err(fault) => return Err(parse_error(body).unwrap_or(fault)),
    };
    let found = match (value.get("query"), value.get("parse")) {
        (Some(Value::Object(groups)), _) => groups,
        (_, Some(page @ Value::Object(_))) => {
            return Ok(hit(at, page).into_iter().collect::<Vec<_>>().into());
        }
        // A query about no page.
        _ if value.get("batchcomplete").is_some() => return Ok(Hits::default()),
        _ => return Err(ServiceError::malformed("its response has no `query`")),
    };
    let mut hits = Vec::new();
    for (name, group) in found {
        // These map titles to other titles.
        if matches!(name.as_str(), "normalized" | "redirects" | "converted" | "interwiki") {
            continue;
        }
        match group {
            Value::Array(rows) => hits.extend(rows.iter().filter_map(|row| hit(at, row))),
            Value::Object(rows) if name == "pages" => {
                hits.extend(rows.values().filter_map(|value| hit(at, value)));
            }
            _ => {}
        }
    }
    Ok(hits.into())
}

/// Parses an error of MediaWiki: `{"error": {"code": "…", "info": "…"}}`.
fn parse_error(body: &[u8]) -> Option<ServiceError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let error = value.get("error")?;
    let (code, said) = (text_field(error, "code")?, text_field(error, "info")?);
    let fault = match code {
        "maxlag" | "ratelimited" | "readonly" => ServiceError::transient(truncate(said, 300)),
        _ => error_from_text(said),
    };
    Some(ServiceError { code: Some(truncate(code, 60)), ..fault })
}

fn hit(at: &str, it: &Value) -> Option<Hit> {
    let is = |name: &str| it.get(name).is_some_and(|value| *value != Value::Bool(false));
    // A file of Wikimedia Commons is missing in this wiki, but known.
    let is_absent = is("invalid") || is("missing") && !is("known");
    let name = text_field(it, "title").filter(|_| !is_absent)?;
    let url = match text_field(it, "fullurl") {
        Some(url) => url.to_owned(),
        None => address(at, name)?,
    };
    let text = text_field(it, "extract").map(plain_lines).unwrap_or_default();
    let snippet = plain_text(text_field(it, "snippet").unwrap_or(&text), 500);
    let mut hit = Hit::new("wikipedia", &url, &clean_title(name), &snippet);
    hit.text = full_text(&text);
    hit.date = text_field(it, "timestamp").and_then(parse_date);
    Some(hit)
}

/// The text of an extract, with a line for each paragraph. It may be HTML.
fn plain_lines(text: &str) -> String {
    let text = truncate(text, 200_000);
    if !text.contains("</") {
        return text;
    }
    let lines: Vec<String> = text
        .replace("</p>", "</p>\n")
        .lines()
        .map(|line| plain_text(line, 20_000))
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("\n")
}

/// The address of a page, as the site writes it.
fn address(at: &str, name: &str) -> Option<String> {
    let mut url = Url::parse(at).ok()?;
    let path: String =
        url::form_urlencoded::byte_serialize(name.replace(' ', "_").as_bytes()).collect();
    let path = path
        .replace("%28", "(")
        .replace("%29", ")")
        .replace("%2C", ",")
        .replace("%2F", "/")
        .replace("%3A", ":");
    url.set_query(None);
    url.set_path(&format!("/wiki/{path}"));
    Some(url.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(body: Value) -> ReadResult<Hits> {
        read(
            "https://en.wikipedia.org",
            200,
            &ResponseHeaders::default(),
            body.to_string().as_bytes(),
        )
    }

    #[test]
    fn pages_and_lists_are_read_and_what_does_not_exist_is_none() {
        let pages = json!({"query": {"normalized": [{"from": "a", "to": "Cork (material)"}], "pages": {
            "7": {"pageid": 7, "title": "Cork (material)", "extract": "Cork floats.\nIt is bark."},
            "-1": {"title": "No such page", "missing": ""}}}});
        let hits = of(pages).unwrap().hits;
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].url, "https://en.wikipedia.org/wiki/Cork_(material)");
        assert_eq!(hits[0].text.as_ref().unwrap().expose(), "Cork floats.\nIt is bark.");
        let list = json!({"batchcomplete": "", "query": {"search": [{"title": "Cork & co", "snippet": "<span class=\"x\">Cork</span> floats",
            "timestamp": "2024-01-02T03:04:05Z"}]}});
        let hits = of(list).unwrap().hits;
        assert_eq!(hits[0].url, "https://en.wikipedia.org/wiki/Cork_%26_co");
        assert_eq!(hits[0].snippet.expose(), "Cork floats");
        assert!(of(json!({"batchcomplete": ""})).unwrap().hits.is_empty());
    }

    #[test]
    fn a_fault_is_of_its_kind() {
        let lag = of(json!({"error": {"code": "maxlag", "info": "Waiting for a database server"}}))
            .unwrap_err();
        assert_eq!(lag.kind, ibid_core::ErrorKind::Transient);
        let bad =
            of(json!({"error": {"code": "badvalue", "info": "Unrecognized value for parameter"}}))
                .unwrap_err();
        assert_eq!(bad.kind, ibid_core::ErrorKind::Malformed);
        assert!(of(json!({"query": []})).is_err());
    }
}
