//! Wikipedia, in the language of the question.
use async_trait::async_trait;
use serde_json::Value;
use url::Url;

use super::answer::{self, Read, cut, day, plain, refused, title, whole, word};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hit, Hits, Query};
use crate::error::Result;

/// `GET /w/api.php?action=query&list=search`.
struct Wikipedia;

pub(super) fn api(_: &Given) -> Box<dyn super::Api> {
    Box::new(Wikipedia)
}

#[async_trait]
impl Api for Wikipedia {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let text = super::words::telling(query.text());
        let limit = query.limit.min(50).to_string();
        let ask = Ask::get(
            "/w/api.php",
            &[
                ("action", "query"),
                ("list", "search"),
                ("srsearch", &text),
                ("srlimit", &limit),
                ("format", "json"),
            ],
        );
        // Behind a proxy of another name stands the English one.
        let at = match service.base_url() {
            it if it.ends_with(".wikipedia.org") => it,
            _ => "https://en.wikipedia.org",
        };
        service
            .answered(&ask, |status, headers, body| {
                read(at, status, headers, body)
            })
            .await
    }
}

/// The pages that an answer names, whatever was asked of them: those of a list (`search`, `backlinks`, `categorymembers`, …), in its
/// order, and those under `pages`. `at` is an address of the wiki. A page that does not exist is none.
pub(super) fn read(at: &str, status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = match answer::json(status, headers, body) {
        Ok(it) => it,
        Err(fault) => return Err(told(body).unwrap_or(fault)),
    };
    let found = match (value.get("query"), value.get("parse")) {
        (Some(Value::Object(groups)), _) => groups,
        (_, Some(page @ Value::Object(_))) => {
            return Ok(hit(at, page).into_iter().collect::<Vec<_>>().into());
        }
        // What was asked of no page at all.
        _ if value.get("batchcomplete").is_some() => return Ok(Hits::default()),
        _ => return Err(ModelFault::malformed("its answer has no `query`")),
    };
    let mut hits = Vec::new();
    for (name, group) in found {
        // These say which titles stand for which others.
        if matches!(
            name.as_str(),
            "normalized" | "redirects" | "converted" | "interwiki"
        ) {
            continue;
        }
        match group {
            Value::Array(rows) => hits.extend(rows.iter().filter_map(|it| hit(at, it))),
            Value::Object(rows) if name == "pages" => {
                hits.extend(rows.values().filter_map(|it| hit(at, it)));
            }
            _ => {}
        }
    }
    Ok(hits.into())
}

/// A fault as MediaWiki tells it: `{"error": {"code": "…", "info": "…"}}`.
fn told(body: &[u8]) -> Option<ModelFault> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let error = value.get("error")?;
    let (code, said) = (word(error, "code")?, word(error, "info")?);
    let fault = match code {
        "maxlag" | "ratelimited" | "readonly" => ModelFault::transient(cut(said, 300)),
        _ => refused(said),
    };
    Some(ModelFault {
        code: Some(cut(code, 60)),
        ..fault
    })
}

fn hit(at: &str, it: &Value) -> Option<Hit> {
    let is = |name: &str| it.get(name).is_some_and(|it| *it != Value::Bool(false));
    // A file of the commons is missing here and known all the same.
    let is_absent = is("invalid") || is("missing") && !is("known");
    let name = word(it, "title").filter(|_| !is_absent)?;
    let url = match word(it, "fullurl") {
        Some(url) => url.to_owned(),
        None => address(at, name)?,
    };
    let text = word(it, "extract").map(plain_lines).unwrap_or_default();
    let snippet = plain(word(it, "snippet").unwrap_or(&text), 500);
    let mut hit = Hit::new("wikipedia", &url, &title(name), &snippet);
    hit.text = whole(&text);
    hit.date = word(it, "timestamp").and_then(day);
    Some(hit)
}

/// An extract, whose lines part paragraphs; it may be HTML.
fn plain_lines(text: &str) -> String {
    let text = cut(text, 200_000);
    match text.contains("</") {
        true => text
            .replace("</p>", "</p>\n")
            .lines()
            .map(|it| plain(it, 20_000))
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        false => text,
    }
}

/// The address of a page as the site itself writes it.
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

    fn of(body: Value) -> Read<Hits> {
        read(
            "https://en.wikipedia.org",
            200,
            &Headers::default(),
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
        assert_eq!(
            hits[0].text.as_ref().unwrap().expose(),
            "Cork floats.\nIt is bark."
        );
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
        assert_eq!(lag.kind, crate::Kind::Transient);
        let bad =
            of(json!({"error": {"code": "badvalue", "info": "Unrecognized value for parameter"}}))
                .unwrap_err();
        assert_eq!(bad.kind, crate::Kind::Malformed);
        assert!(of(json!({"query": []})).is_err());
    }
}
