//! Kagi, a search engine that is paid by its users.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::with_sites;
use super::response::{self, ReadResult, hit, list_at, parse_date, text_field};
use ibid_core::Result;
use ibid_core::domain::{Hits, Query};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// The list price of one search, US dollars: $12 per thousand (help.kagi.com, 2026-11).
const PRICE: f64 = 0.012;
/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 1_000;

/// `GET /search`.
struct Kagi;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Kagi)
}

#[async_trait]
impl EngineApi for Kagi {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let mut text = with_sites(query, MAX_QUERY_CHARS);
        for (name, day) in [("after", &query.since), ("before", &query.until)] {
            if let Some(day) = day {
                text = format!("{text} {name}:{day}");
            }
        }
        let limit = query.limit.min(100).to_string();
        let ask = ServiceRequest::get("/search", &[("q", &text), ("limit", &limit)]);
        service.request(&ask, read).await
    }
}

/// Parses the hits of an answer: rows of type 0; rows of type 1 are related searches. Version 1 of the API has the rows
/// under `data.search`.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body);
    let value = match value {
        Ok(it) => it,
        // An error has no data and a list of errors, with any status.
        Err(fault) => return Err(parse_error(status, body).unwrap_or(fault)),
    };
    let rows = list_at(&value, "/data").or_else(|_| list_at(&value, "/data/search"))?;
    let found = rows.iter().filter_map(|row| {
        let kind = row.get("t").and_then(Value::as_i64).unwrap_or(0);
        let mut hit = hit("kagi", row, "url", "title", "snippet").filter(|_| kind == 0)?;
        hit.date = ["published", "time"].iter().find_map(|name| parse_date(text_field(row, name)?));
        Some(hit)
    });
    Ok(Hits { hits: found.collect(), cost_usd: Some(PRICE), ..Hits::default() })
}

/// Parses the first error of `{"error": [{"code": 1, "msg": "…"}]}`.
fn parse_error(status: u16, body: &[u8]) -> Option<ServiceError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let said = text_field(value.pointer("/error/0")?, "msg")?;
    Some(ServiceError::from_text(
        Some(status).filter(|it| *it >= 300),
        &response::truncate(said, 300),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn related_searches_are_no_hits_and_an_error_says_what_it_is() {
        let body = json!({"data": [
            {"t": 0, "url": "https://a.example/", "title": "Cork", "snippet": "<b>floats</b>", "published": "2023-01-18T03:05:23Z"},
            {"t": 1, "list": ["cork oak"]}]});
        let hits = read(200, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(hits.hits.len(), 1);
        assert_eq!(hits.hits[0].date.as_deref(), Some("2023-01-18"));
        let refused = json!({"data": null, "error": [{"code": 1, "msg": "Unauthorized"}]});
        let fault =
            read(401, &ResponseHeaders::default(), refused.to_string().as_bytes()).unwrap_err();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (ibid_core::ErrorKind::Setup, "Unauthorized")
        );
    }
}
