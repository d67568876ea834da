//! Stack Exchange: questions and answers of Stack Overflow. Its answers are always compressed.
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, count_field, error_from_text, full_text, hit, list_at, plain_text, text_field,
};
use ibid_core::Result;
use ibid_core::domain::{Hits, Query, Untrusted};
use ibid_extract::dates;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Maximum `backoff` that is respected, in seconds.
const MAX_BACKOFF_SECONDS: u64 = 24 * 3600;

/// `GET /2.3/search/advanced`.
struct StackExchange {
    key: Option<String>,
}

pub(super) fn api(given: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(StackExchange { key: given.key.clone() })
}

#[async_trait]
impl EngineApi for StackExchange {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let limit = query.limit.min(100).to_string();
        let (since, until) =
            (unix(query.since.as_deref(), 0), unix(query.until.as_deref(), 86_399));
        let mut found = Hits::default();
        for term in super::query_text::and_queries(query.text()) {
            let mut asked = vec![
                ("site", "stackoverflow"),
                ("q", term.as_str()),
                ("sort", "relevance"),
                ("order", "desc"),
                ("filter", "withbody"),
                ("pagesize", &limit),
            ];
            asked.extend(since.as_deref().map(|it| ("fromdate", it)));
            asked.extend(until.as_deref().map(|it| ("todate", it)));
            asked.extend(self.key.as_deref().map(|key| ("key", key)));
            let ask = ServiceRequest::get("/2.3/search/advanced", &asked);
            let (hits, wait) = service.request(&ask, read_with_wait).await?;
            if let Some(wait) = wait {
                service.pause_for(wait);
            }
            found = hits;
            if !found.hits.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// The Unix time of a day, plus `seconds`.
pub(super) fn unix(day: Option<&str>, more: i64) -> Option<String> {
    let day: jiff::civil::Date = day?.parse().ok()?;
    let at = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some((at.as_second() + more).to_string())
}

/// Parses the hits of an answer.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    read_with_wait(status, headers, body).map(|read_result| read_result.0)
}

/// Parses the hits of an answer, and how long the service asks to wait (`backoff`).
fn read_with_wait(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<(Hits, Option<Duration>)> {
    if let Some(fault) = parse_error(status, body) {
        return Err(fault);
    }
    let value = response::parse_json(status, headers, body)?;
    let found = list_at(&value, "/items")?.iter().filter_map(|read_result| {
        let mut hit = hit("stackexchange", read_result, "link", "title", "body")?;
        hit.text =
            text_field(read_result, "body").and_then(|text| full_text(&plain_text(text, 200_000)));
        let tags = read_result.get("tags").and_then(Value::as_array).into_iter().flatten();
        let tags: Vec<&str> = tags.filter_map(Value::as_str).take(5).collect();
        if hit.snippet.is_empty() {
            hit.snippet = Untrusted::new(tags.join(", "));
        }
        hit.score = read_result.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        hit.date =
            read_result.get("creation_date").and_then(Value::as_i64).and_then(dates::from_unix);
        hit.work.authors = read_result
            .pointer("/owner/display_name")
            .and_then(Value::as_str)
            .map(|text| plain_text(text, 100))
            .into_iter()
            .collect();
        Some(hit)
    });
    let wait = value
        .get("backoff")
        .and_then(Value::as_u64)
        .filter(|it| (1..=MAX_BACKOFF_SECONDS).contains(it));
    let mut hits = Hits::from(found.collect::<Vec<_>>());
    if count_field(&value, "quota_remaining") == Some(0) {
        hits.remarks.push("daily quota of stackexchange used up".to_owned());
    }
    Ok((hits, wait.map(Duration::from_secs)))
}

/// Parses an error: `{"error_id": 502, "error_name": "throttle_violation", "error_message": "…"}`.
fn parse_error(status: u16, body: &[u8]) -> Option<ServiceError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let id = value.get("error_id").and_then(Value::as_u64)?;
    let said = text_field(&value, "error_message")
        .or_else(|| text_field(&value, "error_name"))
        .unwrap_or("it refused without a reason");
    let fault = match id {
        // https://api.stackexchange.com/docs/error-handling
        401..=403 | 405..=407 => ServiceError::setup(response::truncate(said, 300)),
        500 | 502 | 503 => ServiceError {
            // "too many requests from this IP, more requests available in 64 seconds"
            retry_after: said
                .rsplit_once(" in ")
                .and_then(|parts| parts.1.split(' ').next()?.parse().ok())
                .filter(|it| *it <= MAX_BACKOFF_SECONDS)
                .map(Duration::from_secs),
            ..ServiceError::transient(response::truncate(said, 300))
        },
        _ => error_from_text(said),
    };
    Some(ServiceError { status: Some(status).filter(|it| *it >= 300), ..fault })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(status: u16, body: Value) -> ReadResult<(Hits, Option<Duration>)> {
        read_with_wait(status, &ResponseHeaders::default(), body.to_string().as_bytes())
    }

    #[test]
    fn a_question_is_a_hit_and_a_backoff_is_heard() {
        let (hits, wait) = of(200, json!({"items": [{"link": "https://stackoverflow.com/q/1", "title": "Cork &quot;floats&quot;?",
            "body": "<p>It <code>does</code>.</p>", "creation_date": 1700000000, "score": 3, "owner": {"display_name": "quill"}}], "backoff": 10})).unwrap();
        assert_eq!(hits.hits[0].title, "Cork \"floats\"?");
        assert_eq!(hits.hits[0].date.as_deref(), Some("2023-11-14"));
        assert_eq!(wait, Some(Duration::from_secs(10)));
    }

    #[test]
    fn too_many_questions_are_a_wait() {
        let fault = of(400, json!({"error_id": 502, "error_name": "throttle_violation",
            "error_message": "too many requests from this IP, more requests available in 64 seconds"})).unwrap_err();
        assert_eq!(fault.kind, ibid_core::ErrorKind::Transient);
        assert_eq!(fault.retry_after, Some(Duration::from_secs(64)));
        assert_eq!(
            of(400, json!({"error_id": 400, "error_message": "pagesize"})).unwrap_err().kind,
            ibid_core::ErrorKind::Malformed
        );
    }

    #[test]
    fn a_day_is_a_time() {
        assert_eq!(unix(Some("1970-01-02"), 1).as_deref(), Some("86401"));
        assert_eq!(unix(Some("no day"), 0), None);
    }
}
