//! GitHub: repositories, and what is said in their issues.
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::answer::{self, Read, cut, day, list, plain, title, whole, word};
use super::words::keywords;
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hit, Hits, Query};
use crate::error::Result;

/// Its quota is counted by the minute.
const MINUTE: Duration = Duration::from_secs(60);

/// `GET /search/repositories`, `/search/issues`.
struct GitHub;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(GitHub)
}

#[async_trait]
impl Api for GitHub {
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("accept", "application/vnd.github+json"),
            ("x-github-api-version", "2022-11-28"),
        ]
    }

    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let ask = |path: &str, name: &str, more: &str| {
            // It takes 256 characters and five operators.
            let words = super::words::shortened(&keywords(query.text()).join(" "), 150);
            let text = format!("{words}{}{more}", range(name, query));
            let limit = query.limit.clamp(1, 100).to_string();
            Ask::get(path, &[("q", text.trim()), ("per_page", &limit)])
        };
        let repositories = service
            .answered(&ask("/search/repositories", "pushed", ""), read)
            .await;
        let issues = service
            .answered(&ask("/search/issues", "created", " is:issue"), read)
            .await;
        let (first, second) = match (repositories, issues) {
            (Err(fault), Err(_)) => return Err(fault),
            (Ok(found), Err(fault)) | (Err(fault), Ok(found)) => {
                let mut found: Hits = found;
                found.remarks.push(cut(&fault.chain(), 200));
                return Ok(found);
            }
            (Ok(first), Ok(second)) => (first.hits, second.hits),
        };
        // In turns: neither list knows how good the other is.
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

/// The days of a query as a qualifier.
fn range(name: &str, query: &Query) -> String {
    match (&query.since, &query.until) {
        (None, None) => String::new(),
        (Some(since), None) => format!(" {name}:>={since}"),
        (None, Some(until)) => format!(" {name}:<={until}"),
        (Some(since), Some(until)) => format!(" {name}:{since}..{until}"),
    }
}

/// The repositories or issues of an answer.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    // A quota that is spent comes as 403, which is a refusal elsewhere.
    if matches!(status, 403 | 429) && is_spent(headers, body) {
        let asked = headers
            .get("retry-after")
            .and_then(|it| it.trim().parse().ok());
        return Err(ModelFault {
            status: Some(status),
            retry_after: Some(asked.map_or(MINUTE, |it: u32| Duration::from_secs(it.into()))),
            ..ModelFault::transient("its quota of searches is spent for now")
        });
    }
    let value = answer::json(status, headers, body)?;
    Ok(list(&value, "/items")?
        .iter()
        .filter_map(item)
        .collect::<Vec<_>>()
        .into())
}

fn is_spent(headers: &Headers, body: &[u8]) -> bool {
    let said = String::from_utf8_lossy(&body[..body.len().min(2_000)]).to_lowercase();
    headers.get("retry-after").is_some()
        || headers.get("x-ratelimit-remaining") == Some("0")
        || said.contains("rate limit")
}

fn item(it: &Value) -> Option<Hit> {
    let url = word(it, "html_url")?;
    let name = word(it, "full_name")
        .or_else(|| word(it, "title"))
        .unwrap_or(url);
    let text = word(it, "body").unwrap_or_default();
    let about = word(it, "description").unwrap_or(text);
    let mut hit = Hit::new("github", url, &title(name), &plain(about, 600));
    hit.text = whole(text);
    // A repository is as old as what was last brought in, an issue as the day it was told.
    hit.date = ["pushed_at", "created_at"]
        .iter()
        .find_map(|name| day(word(it, name)?));
    let who = ["/owner/login", "/user/login"]
        .iter()
        .find_map(|path| it.pointer(path)?.as_str());
    hit.work.authors = who.map(|it| cut(it, 100)).into_iter().collect();
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
        let hits = read(200, &Headers::default(), body.to_string().as_bytes())
            .unwrap()
            .hits;
        assert_eq!(hits[0].snippet.expose(), "floats");
        assert_eq!(hits[1].date.as_deref(), Some("2023-01-02"));
        assert_eq!(hits[1].work.authors, ["b"]);
    }

    #[test]
    fn a_spent_quota_is_a_wait_and_a_bad_key_is_not() {
        let of = |status, body: Value| {
            read(status, &Headers::default(), body.to_string().as_bytes()).unwrap_err()
        };
        let spent = of(
            403,
            json!({"message": "API rate limit exceeded for 203.0.113.7"}),
        );
        assert_eq!(
            (spent.kind, spent.retry_after),
            (crate::Kind::Transient, Some(MINUTE))
        );
        assert_eq!(
            of(401, json!({"message": "Bad credentials"})).kind,
            crate::Kind::Setup
        );
    }
}
