//! The tools `search` and `fetch`, in the form that ChatGPT requires: results with ids, and the text of one id.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::arguments::FetchInput;
use super::output::{McpToolResult, hit_id};
use super::page_part::part_of_page;
use super::server::McpServer;
use crate::request::ResearchRequest;
use crate::request_service::{CallerHit, CallerService};
use ibid_core::domain::words::content_stems;
use ibid_core::record::RunStatus;
use ibid_core::{Error, ErrorKind, Result};

/// Maximum number of results of a search.
const MAX_RESULTS: usize = 10;

/// Maximum number of results from earlier runs.
const MAX_PAST_RESULTS: usize = 3;
/// How many earlier runs are searched.
const MAX_PAST_RUNS: usize = 50;
/// How long searching earlier runs may take.
const PAST_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a search of engines and folders may take: less than the 25 seconds of a call.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(18);
/// How long reading a page may take: less than the 25 seconds of a call.
const READ_TIMEOUT: Duration = Duration::from_secs(22);

/// Tells the operator how to set up something to search.
fn no_source_error(cause: &Error) -> Error {
    Error::new(ErrorKind::Usage, cause.public_message()).with_hint(
        "the operator can serve documents with --folder DIR, or set up an engine: `ibid engines` lists them, and the setting `engines` selects them",
    )
}

impl McpServer {
    /// Searches documents, engines and earlier runs: `{results: [{id, title, url}]}`, with failures in `remarks`.
    pub(super) async fn search(&self, service: &CallerService, query: &str) -> McpToolResult {
        let request = ResearchRequest::parse(json!({"question": query}))?;
        let (question, mut remarks) = match service.question(&request).await {
            Ok(question) => (Some(Arc::new(question)), Vec::new()),
            // Without engines and folders, sources of earlier runs can still be found.
            Err(fault) if fault.kind() == ErrorKind::Usage => (None, vec![no_source_error(&fault)]),
            Err(fault) => return Err(fault),
        };
        let lookup = async {
            match &question {
                Some(question) => {
                    service.look_up(question, MAX_RESULTS, SEARCH_TIMEOUT).await.map(Some)
                }
                None => Ok(None),
            }
        };
        let past = timeout(PAST_TIMEOUT, self.past_sources(service, query));
        let (found, past) = tokio::join!(lookup, past);
        let found = found?.unwrap_or_default();
        let mut past = past.unwrap_or_else(|_| Ok(Vec::new()))?;
        if let (true, Some(fault)) = (past.is_empty(), remarks.pop()) {
            return Err(fault);
        }
        past.retain(|source| !found.hits.iter().any(|hit| source["url"] == hit.url.as_str()));
        let mut hits = found.hits;
        hits.truncate(MAX_RESULTS - past.len());
        if hits.is_empty() && past.is_empty() && !found.faults.is_empty() {
            // All engines failed, which differs from finding nothing.
            let what = format!("no engine answered: {}", found.faults.join("; "));
            return Err(
                Error::new(ErrorKind::Transient, what).with_hint("search again in a minute")
            );
        }
        let mut results = self.remember_hits(service, hits);
        results.extend(past);
        let mut out = json!({"results": results});
        if !found.faults.is_empty() {
            out["remarks"] = found.faults.into();
        }
        Ok(out)
    }

    /// Converts `hits` to results and keeps them for [`McpServer::fetch`].
    fn remember_hits(&self, service: &CallerService, hits: Vec<CallerHit>) -> Vec<Value> {
        let caller = service.caller().name();
        let mut results = Vec::new();
        for hit in hits {
            let id = hit_id(hit.hit());
            results.push(json!({"id": id, "title": hit.title, "url": hit.url}));
            self.recent_hits.insert(caller, id, hit);
        }
        results
    }

    /// Sources of the caller's latest reports whose titles contain at least two words of `query`, or its only word.
    async fn past_sources(&self, service: &CallerService, query: &str) -> Result<Vec<Value>> {
        let words: BTreeSet<String> = content_stems(query).into_iter().collect();
        let required = words.len().min(2);
        let mut out: Vec<Value> = Vec::new();
        if required == 0 {
            return Ok(out);
        }
        let rows = service.rows().await?.into_iter();
        let ended = rows.filter(|row| row.status == RunStatus::Completed);
        for row in ended.take(MAX_PAST_RUNS) {
            let run = service.run_for_row(&row)?.run().await?;
            let sources = run.report.iter().flat_map(|it| &it.sources).enumerate();
            for (at, it) in sources.filter(|source| source.1.url.starts_with("http")) {
                let title: BTreeSet<String> = content_stems(&it.title).into_iter().collect();
                let is_known = out.iter().any(|known| known["url"] == it.url.as_str());
                if is_known || title.intersection(&words).count() < required {
                    continue;
                }
                out.push(json!({"id": format!("{}:{}", run.id, at + 1), "title": it.title, "url": it.url}));
                if out.len() >= MAX_PAST_RESULTS {
                    return Ok(out);
                }
            }
        }
        Ok(out)
    }

    /// The text of a result, or the part of it that `input` names: `{id, title, text, url, metadata}`.
    pub(super) async fn fetch(&self, service: &CallerService, input: &FetchInput) -> McpToolResult {
        let id = input.id.as_str();
        let gone = || {
            Error::new(ErrorKind::Usage, "no result has this id")
                .with_hint("search again and use an id from its results")
        };
        if let Some((run, n)) = id.split_once(':') {
            let handle = service.run(run).await.map_err(|_| gone())?;
            let run = handle.run().await?;
            let n: usize = n.parse().map_err(|_| gone())?;
            let report = run.report.as_deref().ok_or_else(gone)?;
            let source = report.sources.get(n.wrapping_sub(1)).ok_or_else(gone)?;
            let page = handle.page(&source.page).await?.ok_or_else(gone)?;
            let whole = json!({
                "id": id,
                "title": source.title,
                "text": page["text"],
                "url": source.url,
                "metadata": {"published": source.date, "doi": source.work.doi, "pmid": source.work.pmid},
            });
            return Ok(part_of_page(whole, input));
        }
        let caller = service.caller().name();
        let found = self.recent_hits.get(caller, id).ok_or_else(gone)?;
        let page = service.read_hit(&found, READ_TIMEOUT).await;
        let page = page.map_err(|fault| self.unreadable_error(&found, fault))?;
        let work = &found.hit().work;
        let whole = json!({
            "id": id,
            "title": found.title,
            "text": page.text().expose(),
            "url": found.url,
            "metadata": {"published": page.date, "doi": work.doi, "pmid": work.pmid},
        });
        Ok(part_of_page(whole, input))
    }

    /// Reports an unreadable page with its reason, instead of as an internal error.
    fn unreadable_error(&self, hit: &CallerHit, fault: Error) -> Error {
        match fault.kind() {
            ErrorKind::Usage
            | ErrorKind::NotFound
            | ErrorKind::Transient
            | ErrorKind::Exhausted => fault,
            _ => Error::new(
                ErrorKind::NotFound,
                format!("{} cannot be read: {}", hit.url, fault.public_message()),
            )
            .with_hint("fetch another result"),
        }
    }
}
