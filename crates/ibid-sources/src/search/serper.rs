//! Serper: Google's results for the web, news and scholarly works.
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::{google_tbs, with_sites};
use super::response::{
    self, ReadResult, count_field, date_from_parts, hit, parse_date, text_field,
};
use ibid_core::domain::{Hits, Query, Vertical};
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 2_048;
/// The list price of one credit, US dollars: $1 per thousand in the smallest pack (serper.dev, 2026-08).
const CREDIT_PRICE: f64 = 0.001;
/// How long a query waits for others, to be sent in one request.
const BATCH_WINDOW: Duration = Duration::from_millis(5);
/// Maximum number of queries of one request.
const MAX_BATCH: usize = 20;

/// `POST /search`, `/scholar`, `/news`. Queries that arrive at about the same time share one request.
#[derive(Default)]
struct Serper {
    /// The waiting queries by path.
    waiting: Mutex<BTreeMap<&'static str, Vec<PendingQuery>>>,
}

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Serper::default())
}

/// A waiting query, and the sender of its outcome.
type PendingQuery = (Query, oneshot::Sender<BatchResult>);

/// The outcome of one query of a batch.
enum BatchResult {
    Found(Hits),
    /// The batch was refused; a query alone may succeed.
    AskAlone,
    /// The service failed.
    Failed(ErrorKind, String),
}

#[async_trait]
impl EngineApi for Serper {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let path = path(query.vertical());
        let outcome = match self.join(path, query) {
            Some((mine, first)) => {
                if let Some(group) = first {
                    sleep(BATCH_WINDOW).await;
                    send_batch(service, path, group.into_queries()).await;
                }
                // There is no outcome when the task that gathered the batch was stopped.
                mine.await.unwrap_or(BatchResult::AskAlone)
            }
            None => BatchResult::AskAlone,
        };
        match outcome {
            BatchResult::Found(hits) => Ok(hits),
            BatchResult::AskAlone => {
                service.request(&ServiceRequest::post(path, body(query)), read).await
            }
            BatchResult::Failed(kind, why) => {
                Err(Error::new(kind, "asking serper").with_source(why))
            }
        }
    }
}

/// The batch of a path, gathered by its first query. When that task is stopped before it sends them, the batch is removed.
struct QueryBatch<'a> {
    of: &'a Serper,
    path: &'static str,
}

impl QueryBatch<'_> {
    fn into_queries(self) -> Vec<PendingQuery> {
        self.take()
    }

    fn take(&self) -> Vec<PendingQuery> {
        let mut waiting = self.of.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(self.path).unwrap_or_default()
    }
}

impl Drop for QueryBatch<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

impl Serper {
    /// Adds a query to the batch. The first query also gets the batch, which it must send. `None` when the batch is full.
    fn join(
        &self,
        path: &'static str,
        query: &Query,
    ) -> Option<(oneshot::Receiver<BatchResult>, Option<QueryBatch<'_>>)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let group = waiting.entry(path).or_default();
        if group.len() >= MAX_BATCH {
            return None;
        }
        let (answer, mine) = oneshot::channel();
        group.push((query.clone(), answer));
        let first = (group.len() == 1).then(|| QueryBatch { of: self, path });
        Some((mine, first))
    }
}

/// Sends several queries in one request, and each its outcome.
async fn send_batch(service: &ServiceClient, path: &str, gathered: Vec<PendingQuery>) {
    let queries: Vec<&Query> = gathered.iter().map(|query| &query.0).collect();
    let alone = || BatchResult::AskAlone;
    let results: Vec<BatchResult> = match queries.len() {
        0 | 1 => Vec::new(),
        _ => match service.request(&batch(path, &queries), read_batch).await {
            Ok(found) if found.len() == queries.len() => found
                .into_iter()
                .map(|it| it.map_or_else(|_| alone(), BatchResult::Found))
                .collect(),
            Ok(_) => Vec::new(),
            Err(fault) if fault.kind() == ErrorKind::Malformed => Vec::new(),
            Err(fault) => {
                queries.iter().map(|_| BatchResult::Failed(fault.kind(), fault.chain())).collect()
            }
        },
    };
    let mut results = results.into_iter();
    for (_, waits) in gathered {
        // Sending fails when the caller was stopped.
        let _stopped = waits.send(results.next().unwrap_or_else(alone));
    }
}

fn path(vertical: Vertical) -> &'static str {
    match vertical {
        Vertical::News => "/news",
        Vertical::Scholar | Vertical::Pubmed => "/scholar",
        _ => "/search",
    }
}

/// The request for several queries of one path: a list of their bodies.
fn batch(path: &str, queries: &[&Query]) -> ServiceRequest {
    let all: Vec<Value> = queries.iter().map(|query| body(query)).collect();
    ServiceRequest::post(path, Value::Array(all))
}

/// The body of one query.
fn body(query: &Query) -> Value {
    let mut body = json!({ "q": with_sites(query, MAX_QUERY_CHARS), "num": query.limit.min(100) });
    if let Some(bounds) = google_tbs(query) {
        body["tbs"] = bounds.into();
    }
    body
}

/// Parses the hits of an answer. An error has no `organic`.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    of_value(&response::parse_json(status, headers, body)?)
}

/// Parses the answers of a batch, each by itself, so that one error does not affect the others.
fn read_batch(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<Vec<ReadResult<Hits>>> {
    let value = response::parse_json(status, headers, body)?;
    let Value::Array(all) = &value else {
        return Err(ServiceError::malformed("the response to a batch of queries is not a list"));
    };
    Ok(all.iter().map(of_value).collect())
}

fn of_value(value: &Value) -> ReadResult<Hits> {
    let rows = ["organic", "news"].iter().find_map(|it| value.get(it)?.as_array());
    let Some(rows) = rows else {
        return Err(match text_field(value, "message") {
            Some(said) => ServiceError::from_text(None, said),
            None => ServiceError::malformed("its response has no list `organic`"),
        });
    };
    let found = rows.iter().filter_map(|row| {
        let mut hit = hit("serper", row, "link", "title", "snippet")?;
        let year = row.get("year").and_then(Value::as_i64);
        hit.date = text_field(row, "date")
            .and_then(parse_date)
            .or_else(|| date_from_parts(year, None, None));
        hit.work.cited_by = count_field(row, "citedBy");
        hit.work.full_text = text_field(row, "pdfUrl").map(str::to_owned).into_iter().collect();
        Some(hit)
    });
    Ok(Hits {
        hits: found.collect(),
        cost_usd: count_field(value, "credits").map(|number| f64::from(number) * CREDIT_PRICE),
        ..Hits::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &'static str) -> Query {
        let mut query = Query::from_static(text, Vertical::Web, 10);
        query.domains = vec!["a.example".to_owned()];
        query.since = Some("2024-01-02".to_owned());
        query
    }

    #[test]
    fn a_batch_is_a_list_of_queries_and_one_failed_answer_spares_the_others() {
        let (one, two) = (query("cork"), query("oak"));
        let ask = batch("/search", &[&one, &two]);
        assert_eq!(ask.body[1]["q"], "oak site:a.example");
        assert_eq!(ask.body[0]["tbs"], "cdr:1,cd_min:01/02/2024");
        let body = json!([{"organic": [{"link": "https://a.example/", "title": "Cork"}], "credits": 2}, {"message": "no"}]);
        let found =
            read_batch(200, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(found[0].as_ref().unwrap().hits.len(), 1);
        assert_eq!(found[0].as_ref().unwrap().cost_usd, Some(0.002));
        assert!(found[1].is_err());
        assert!(read_batch(200, &ResponseHeaders::default(), b"{}").is_err());
    }

    #[tokio::test]
    async fn the_first_of_a_group_sends_it_and_a_stopped_one_leaves_nobody_waiting() {
        let serper = Serper::default();
        let (_, first) = serper.join("/search", &query("cork")).unwrap();
        let (second, none) = serper.join("/search", &query("oak")).unwrap();
        assert!(first.is_some() && none.is_none());
        assert!(serper.join("/news", &query("cork")).unwrap().1.is_some());
        drop(first);
        assert!(second.await.is_err());
        assert!(serper.join("/search", &query("ash")).unwrap().1.is_some());
    }
}
