//! GitHub: repositories and issues.
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::keywords;
use super::response::{
    self, ReadResult, clean_title, full_text, list_at, parse_date, plain_text, text_field, truncate,
};
use ibid_core::Result;
use ibid_core::domain::{Hit, Hits, Query};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// The quota is per minute.
const MINUTE: Duration = Duration::from_secs(60);

/// `GET /search/repositories`, `/search/issues`.
struct GitHub;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(GitHub)
}

#[async_trait]
impl EngineApi for GitHub {
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")]
    }

    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let ask = |path: &str, name: &str, more: &str| {
            // GitHub accepts 256 characters and five operators.
            let words = super::query_text::shorten(&keywords(query.text()).join(" "), 150);
            let text = format!("{words}{}{more}", range(name, query));
            let limit = query.limit.clamp(1, 100).to_string();
            ServiceRequest::get(path, &[("q", text.trim()), ("per_page", &limit)])
        };
        let repositories = service.request(&ask("/search/repositories", "pushed", ""), read).await;
        let issues = service.request(&ask("/search/issues", "created", " is:issue"), read).await;
        let (first, second) = match (repositories, issues) {
            (Err(fault), Err(_)) => return Err(fault),
            (Ok(found), Err(fault)) | (Err(fault), Ok(found)) => {
                let mut found: Hits = found;
                found.remarks.push(truncate(&fault.chain(), 200));
                return Ok(found);
            }
            (Ok(first), Ok(second)) => (first.hits, second.hits),
        };
        // The two lists are interleaved, because their scores cannot be compared.
        let mut all = Vec::new();
        let (mut first, mut second) = (first.into_iter(), second.into_iter());
        loop {
            let pair = (first.next(), second.next());
            if pair.0.is_none() && pair.1.is_none() {
                return Ok(all.into());
            }
            all.extend(pair.0);
            all.extend(pair.1);
        }
    }
}

/// The dates of a query as a qualifier.
fn range(name: &str, query: &Query) -> String {
    match (&query.since, &query.until) {
        (None, None) => String::new(),
        (Some(since), None) => format!(" {name}:>={since}"),
        (None, Some(until)) => format!(" {name}:<={until}"),
        (Some(since), Some(until)) => format!(" {name}:{since}..{until}"),
    }
}

/// Parses the repositories or issues of an answer.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    // GitHub reports a spent quota with status 403.
    if matches!(status, 403 | 429) && is_spent(headers, body) {
        let asked = headers.get("retry-after").and_then(|header| header.trim().parse().ok());
        return Err(ServiceError {
            status: Some(status),
            retry_after: Some(
                asked.map_or(MINUTE, |number: u32| Duration::from_secs(number.into())),
            ),
            ..ServiceError::rate_limited("its quota of searches is spent for now")
        });
    }
    let value = response::parse_json(status, headers, body)?;
    Ok(list_at(&value, "/items")?.iter().filter_map(item).collect::<Vec<_>>().into())
}

fn is_spent(headers: &ResponseHeaders, body: &[u8]) -> bool {
    let said = String::from_utf8_lossy(&body[..body.len().min(2_000)]).to_lowercase();
    headers.get("retry-after").is_some()
        || headers.get("x-ratelimit-remaining") == Some("0")
        || said.contains("rate limit")
}

fn item(it: &Value) -> Option<Hit> {
    let url = text_field(it, "html_url")?;
    let name = text_field(it, "full_name").or_else(|| text_field(it, "title")).unwrap_or(url);
    let text = text_field(it, "body").unwrap_or_default();
    let about = text_field(it, "description").unwrap_or(text);
    let mut hit = Hit::new("github", url, &clean_title(name), &plain_text(about, 600));
    hit.text = full_text(text);
    // The date of a repository is that of its last push, the date of an issue that of its creation.
    hit.date =
        ["pushed_at", "created_at"].iter().find_map(|name| parse_date(text_field(it, name)?));
    let who = ["/owner/login", "/user/login"].iter().find_map(|path| it.pointer(path)?.as_str());
    hit.work.authors = who.map(|who| truncate(who, 100)).into_iter().collect();
    hit.score = it.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
    Some(hit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repositories_and_issues_are_hits() {
        let body = json!({"total_count": 2, "items": [
            {"html_url": "https://github.com/a/cork", "full_name": "a/cork", "description": "floats", "pushed_at": "2024-01-02T03:04:05Z", "owner": {"login": "a"}},
            {"html_url": "https://github.com/a/cork/issues/1", "title": "It sinks", "body": "why?", "created_at": "2023-01-02T03:04:05Z", "user": {"login": "b"}}]});
        let hits =
            read(200, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap().hits;
        assert_eq!(hits[0].snippet.expose(), "floats");
        assert_eq!(hits[1].date.as_deref(), Some("2023-01-02"));
        assert_eq!(hits[1].work.authors, ["b"]);
    }

    #[test]
    fn a_spent_quota_is_a_wait_and_a_bad_key_is_not() {
        let of = |status, body: Value| {
            read(status, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap_err()
        };
        let spent = of(403, json!({"message": "API rate limit exceeded for 203.0.113.7"}));
        assert_eq!(
            (spent.kind, spent.retry_after),
            (ibid_core::ErrorKind::Transient, Some(MINUTE))
        );
        assert_eq!(
            of(401, json!({"message": "Bad credentials"})).kind,
            ibid_core::ErrorKind::Setup
        );
    }
}
