//! Serper: Google's results for the web, news and scholarly works.
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::answer::{self, Read, count, day, hit, parts, word};
use super::words::{tbs, with_sites};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query, Vertical};
use crate::error::{Error, Kind, Result};

/// The longest query, characters.
const LONGEST: usize = 2_048;
/// The list price of one credit, US dollars: $1 a thousand in the smallest pack (serper.dev, seen 2026-08).
const CREDIT: f64 = 0.001;
/// How long a query waits for others to be sent with it.
const GATHERED: Duration = Duration::from_millis(5);
/// Queries of one request, at most.
const MOST: usize = 20;

/// `POST /search`, `/scholar`, `/news`. Queries that come at about the same time go in one request (row A2).
#[derive(Default)]
struct Serper {
    /// By path.
    waiting: Mutex<BTreeMap<&'static str, Vec<Waiting>>>,
}

pub(super) fn api(_: &Given) -> Box<dyn super::Api> {
    Box::new(Serper::default())
}

/// A query that waits for others, and who waits for what comes of it.
type Waiting = (Query, oneshot::Sender<Told>);

/// What one query of a batch is told.
enum Told {
    Found(Hits),
    /// The batch was refused, which says nothing of its queries.
    AskAlone,
    /// The service failed.
    Failed(Kind, String),
}

#[async_trait]
impl Api for Serper {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let path = path(query.vertical());
        let told = match self.join(path, query) {
            Some((mine, first)) => {
                if let Some(group) = first {
                    sleep(GATHERED).await;
                    together(service, path, group.taken()).await;
                }
                // Nobody tells where the one that gathered was stopped.
                mine.await.unwrap_or(Told::AskAlone)
            }
            None => Told::AskAlone,
        };
        match told {
            Told::Found(hits) => Ok(hits),
            Told::AskAlone => service.answered(&Ask::post(path, body(query)), read).await,
            Told::Failed(kind, why) => Err(Error::new(kind, "asking serper").because(why)),
        }
    }
}

/// The queries of a path that one of them, the first, gathers. Stopped before it took them, it leaves none waiting.
struct Group<'a> {
    of: &'a Serper,
    path: &'static str,
}

impl Group<'_> {
    fn taken(self) -> Vec<Waiting> {
        self.take()
    }

    fn take(&self) -> Vec<Waiting> {
        let mut waiting = self
            .of
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.remove(self.path).unwrap_or_default()
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

impl Serper {
    /// Puts a query among those that wait, with the group where it is the first, which must send them; `None` where enough wait.
    fn join(
        &self,
        path: &'static str,
        query: &Query,
    ) -> Option<(oneshot::Receiver<Told>, Option<Group<'_>>)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let group = waiting.entry(path).or_default();
        if group.len() >= MOST {
            return None;
        }
        let (answer, mine) = oneshot::channel();
        group.push((query.clone(), answer));
        let first = (group.len() == 1).then(|| Group { of: self, path });
        Some((mine, first))
    }
}

/// Sends several queries in one request and tells each what came of it.
async fn together(service: &Service, path: &str, gathered: Vec<Waiting>) {
    let queries: Vec<&Query> = gathered.iter().map(|it| &it.0).collect();
    let alone = || Told::AskAlone;
    let told: Vec<Told> = match queries.len() {
        0 | 1 => Vec::new(),
        _ => match service.answered(&batch(path, &queries), read_batch).await {
            Ok(found) if found.len() == queries.len() => found
                .into_iter()
                .map(|it| it.map_or_else(|_| alone(), Told::Found))
                .collect(),
            Ok(_) => Vec::new(),
            Err(fault) if fault.kind() == Kind::Malformed => Vec::new(),
            Err(fault) => queries
                .iter()
                .map(|_| Told::Failed(fault.kind(), fault.chain()))
                .collect(),
        },
    };
    let mut told = told.into_iter();
    for (_, waits) in gathered {
        // Who does not listen any more was stopped.
        let _stopped = waits.send(told.next().unwrap_or_else(alone));
    }
}

fn path(vertical: Vertical) -> &'static str {
    match vertical {
        Vertical::News => "/news",
        Vertical::Scholar | Vertical::Pubmed => "/scholar",
        _ => "/search",
    }
}

/// Several queries of one path as one request: a list of what each would be alone.
fn batch(path: &str, queries: &[&Query]) -> Ask {
    let all: Vec<Value> = queries.iter().map(|it| body(it)).collect();
    Ask::post(path, Value::Array(all))
}

/// What one query is.
fn body(query: &Query) -> Value {
    let mut body = json!({ "q": with_sites(query, LONGEST), "num": query.limit.min(100) });
    if let Some(bounds) = tbs(query) {
        body["tbs"] = bounds.into();
    }
    body
}

/// The hits of an answer; an answer in error has no `organic`.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    of_value(&answer::json(status, headers, body)?)
}

/// The answers of a batch, each on its own: one that failed leaves the others as they are.
fn read_batch(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<Read<Hits>>> {
    let value = answer::json(status, headers, body)?;
    let Value::Array(all) = &value else {
        return Err(ModelFault::malformed(
            "its answer to several queries is no list",
        ));
    };
    Ok(all.iter().map(of_value).collect())
}

fn of_value(value: &Value) -> Read<Hits> {
    let rows = ["organic", "news"]
        .iter()
        .find_map(|it| value.get(it)?.as_array());
    let Some(rows) = rows else {
        return Err(match word(value, "message") {
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
    Ok(Hits {
        hits: found.collect(),
        cost_usd: count(value, "credits").map(|it| f64::from(it) * CREDIT),
        ..Hits::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ItemId, OutboundWords, Variation};

    fn query(text: &'static str) -> Query {
        let words = OutboundWords::constant(text);
        let (item, variation) = (ItemId::new(1), Variation::Original);
        let mut query = Query::outside(words, Vertical::Web, item, variation, 10);
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
        let found = read_batch(200, &Headers::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(found[0].as_ref().unwrap().hits.len(), 1);
        assert_eq!(found[0].as_ref().unwrap().cost_usd, Some(0.002));
        assert!(found[1].is_err());
        assert!(read_batch(200, &Headers::default(), b"{}").is_err());
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
