//! Serper: Google's results for the web, news and scholarly works.
use async_trait::async_trait;
use serde_json::{Value, json};

use super::answer::{self, Read, count, day, hit, parts, word};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query, Vertical};
use crate::error::Result;

/// `POST /search`, `/scholar`, `/news`.
struct Serper;

pub(super) fn api(_: &Given) -> Box<dyn super::Api> {
    Box::new(Serper)
}

#[async_trait]
impl Api for Serper {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let path = match query.vertical {
            Vertical::News => "/news",
            Vertical::Scholar | Vertical::Pubmed => "/scholar",
            _ => "/search",
        };
        let ask = Ask::post(path, body(query));
        service.answered(&ask, read).await
    }
}

/// What one query is; several in a list are one batch (row A2).
fn body(query: &Query) -> Value {
    let mut text = query.text.clone();
    let sites: Vec<String> = query
        .domains
        .iter()
        .map(|it| format!("site:{it}"))
        .collect();
    if !sites.is_empty() {
        text = format!("{text} {}", sites.join(" OR "));
    }
    for it in &query.not_domains {
        text = format!("{text} -site:{it}");
    }
    let mut body = json!({ "q": text, "num": query.limit.min(100) });
    let day = |it: &String| {
        let (year, rest) = it.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        Some(format!("{month}/{day}/{year}"))
    };
    let since = query
        .since
        .as_ref()
        .and_then(day)
        .map(|it| format!(",cd_min:{it}"));
    let until = query
        .until
        .as_ref()
        .and_then(day)
        .map(|it| format!(",cd_max:{it}"));
    if since.is_some() || until.is_some() {
        let bounds = [Some("cdr:1".to_owned()), since, until];
        body["tbs"] = bounds.into_iter().flatten().collect::<String>().into();
    }
    body
}

/// The hits of an answer; an answer in error has no `organic`.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let rows = ["organic", "news"]
        .iter()
        .find_map(|it| value.get(it)?.as_array());
    let Some(rows) = rows else {
        return Err(match word(&value, "message") {
            Some(said) => ModelFault::said(None, said),
            None => ModelFault::malformed("its answer has no list `organic`"),
        });
    };
    let found = rows.iter().filter_map(|it| {
        let mut hit = hit("serper", it, "link", "title", "snippet")?;
        let year = it.get("year").and_then(Value::as_i64);
        hit.date = word(it, "date")
            .and_then(day)
            .or_else(|| parts(year, None, None));
        hit.work.cited_by = count(it, "citedBy");
        hit.work.full_text = word(it, "pdfUrl").map(str::to_owned).into_iter().collect();
        Some(hit)
    });
    Ok(found.collect::<Vec<_>>().into())
}
