//! Crossref, where publishers register what they publish: the record that says first that a work was taken back.
use async_trait::async_trait;
use serde_json::Value;

use super::answer::{
    self, Read, abstract_of, count, cut, parts, plain, taken_back, title, whole, word,
};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::work::doi;
use crate::domain::{Hit, Hits, Query, Work};
use crate::error::Result;

/// `GET /v1/works?query.bibliographic=`.
struct Crossref {
    contact: Option<String>,
}

pub(super) fn api(given: &Given) -> Box<dyn Api> {
    Box::new(Crossref {
        contact: given.contact.clone(),
    })
}

#[async_trait]
impl Api for Crossref {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let limit = query.limit.min(100).to_string();
        let bound =
            |name: &str, day: &Option<String>| day.as_ref().map(|it| format!("{name}:{it}"));
        let bounds = [
            bound("from-pub-date", &query.since),
            bound("until-pub-date", &query.until),
        ];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        let bounds = bounds.join(",");
        let mut asked = vec![("query.bibliographic", query.text()), ("rows", &limit)];
        if !bounds.is_empty() {
            asked.push(("filter", &bounds));
        }
        // Who says how to be reached is asked to wait less often.
        asked.extend(self.contact.as_deref().map(|it| ("mailto", it)));
        service.answered(&Ask::get("/v1/works", &asked), read).await
    }
}

/// The works of an answer: a list of works, or one.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let message = message(status, headers, body)?;
    let found: Vec<Hit> = match message.get("items").and_then(Value::as_array) {
        Some(items) => items.iter().filter_map(work).collect(),
        None if message.get("DOI").is_some() => work(&message).into_iter().collect(),
        None => {
            return Err(ModelFault::malformed(
                "its answer has no list `message.items`",
            ));
        }
    };
    Ok(found.into())
}

/// What an answer says. A refusal has a list of reasons in its place.
pub(super) fn message(status: u16, headers: &Headers, body: &[u8]) -> Read<Value> {
    if let Some(fault) = told(status, body) {
        return Err(fault);
    }
    let mut value = answer::json(status, headers, body)?;
    match value.get_mut("message") {
        Some(it @ Value::Object(_)) => Ok(it.take()),
        _ => Err(ModelFault::malformed("its answer has no `message`")),
    }
}

fn told(status: u16, body: &[u8]) -> Option<ModelFault> {
    let value: Value = serde_json::from_slice(body).ok()?;
    if !matches!(word(&value, "status"), Some("failed" | "error")) {
        return None;
    }
    let said = value
        .pointer("/message/0/message")
        .or(value.pointer("/message/message"));
    let said = said
        .and_then(Value::as_str)
        .unwrap_or("it refused without a reason");
    Some(ModelFault::said(
        Some(status).filter(|it| *it >= 300),
        &cut(said, 300),
    ))
}

/// A work as Crossref records it, and as `application/vnd.citationstyles.csl+json` has it, whose lists may be single.
pub(super) fn work(it: &Value) -> Option<Hit> {
    let id = word(it, "DOI").and_then(doi)?;
    let first = |name: &str| match it.get(name) {
        Some(Value::Array(all)) => all.first()?.as_str(),
        Some(Value::String(one)) => Some(one.as_str()),
        _ => None,
    };
    let url = format!("https://doi.org/{id}");
    let mut work = Work {
        doi: Some(id),
        cited_by: count(it, "is-referenced-by-count"),
        kinds: word(it, "type").map(|it| cut(it, 60)).into_iter().collect(),
        venue: first("container-title")
            .map(|it| plain(it, 200))
            .filter(|it| !it.is_empty()),
        ..Work::default()
    };
    if word(it, "subtype") == Some("preprint") {
        work.kinds.push("preprint".to_owned());
    }
    let people = it
        .get("author")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    work.authors = people.filter_map(person).take(50).collect();
    let bare = first("title").filter(|it| !it.trim().is_empty());
    let name = title(bare.unwrap_or(&url));
    work.retracted = updated(it).or_else(|| taken_back(&name, &work.kinds, "Crossref"));
    work.full_text = open(it);
    let text = abstract_of(word(it, "abstract").unwrap_or_default());
    let mut hit = Hit::new("crossref", &url, &name, &cut(&text, 600));
    hit.text = whole(&text);
    // `created` is the day of registration, of which books of long ago have none better.
    let dates = ["published", "issued", "published-online", "published-print"];
    hit.date = dates.iter().find_map(|name| date(it.get(name)?));
    hit.work = work;
    Some(hit)
}

fn person(it: &Value) -> Option<String> {
    let family = word(it, "family")
        .or_else(|| word(it, "name"))
        .or_else(|| word(it, "literal"))?;
    let whole = match word(it, "given") {
        Some(given) => format!("{given} {family}"),
        None => family.to_owned(),
    };
    Some(cut(&whole, 100))
}

/// `{"date-parts": [[2024, 5]]}`; a date that is not known has a null in it.
fn date(it: &Value) -> Option<String> {
    let parted = it.pointer("/date-parts/0")?.as_array()?;
    let number = |at: usize| {
        let it = parted.get(at)?;
        it.as_i64().or_else(|| it.as_str()?.parse().ok())
    };
    parts(number(0), number(1), number(2))
}

/// What became of a work: `updated-by` stands in what was taken back, `update-to` in the notice that takes it back.
fn updated(it: &Value) -> Option<String> {
    let listed = |name: &str| -> Vec<(String, Option<String>)> {
        let all = it.get(name).and_then(Value::as_array).into_iter().flatten();
        let told = |it: &Value| {
            let kind = word(it, "type")?.to_lowercase().replace(['_', ' '], "-");
            let said = match kind.as_str() {
                "retraction" | "partial-retraction" | "removal" => "retracted",
                "withdrawal" => "withdrawn",
                "expression-of-concern" => "under an expression of concern",
                _ => return None,
            };
            Some((said.to_owned(), word(it, "DOI").and_then(doi)))
        };
        all.filter_map(told).collect()
    };
    let by = listed("updated-by").into_iter().next();
    if let Some((said, notice)) = by {
        let place = notice.map(|it| format!(" ({it})")).unwrap_or_default();
        return Some(format!("{said}, as Crossref records{place}"));
    }
    let (said, of) = listed("update-to").into_iter().next()?;
    // A work may be listed as an update of itself.
    let own = word(it, "DOI").and_then(doi);
    match of.filter(|it| Some(it) != own.as_ref()) {
        Some(of) => Some(format!("a notice that {of} is {said}, as Crossref records")),
        None => Some(format!("{said}, as Crossref records")),
    }
}

/// Addresses of the text of a work whose licence is open.
fn open(it: &Value) -> Vec<String> {
    let licences = it
        .get("license")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let is_open = licences
        .filter_map(|it| word(it, "URL"))
        .any(|it| it.contains("creativecommons.org"));
    let links = it
        .get("link")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut found: Vec<String> = Vec::new();
    for url in links
        .filter(|_| is_open)
        .filter_map(|it| word(it, "URL"))
        .take(10)
    {
        if !found.iter().any(|had| had == url) {
            found.push(url.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(body: Value) -> Read<Hits> {
        read(200, &Headers::default(), body.to_string().as_bytes())
    }

    #[test]
    fn a_work_says_who_took_it_back_and_a_notice_says_of_what() {
        let work = json!({"DOI": "10.1000/A", "title": ["Cork"], "author": [{"given": "A.", "family": "Quill"}, {"name": "The Guild"}],
            "issued": {"date-parts": [[2024, 5]]}, "container-title": ["J Cork"], "type": "journal-article", "is-referenced-by-count": 2,
            "updated-by": [{"type": "retraction", "DOI": "10.1000/B"}], "license": [{"URL": "http://creativecommons.org/licenses/by/4.0/"}],
            "link": [{"URL": "https://a.example/a.pdf"}, {"URL": "https://a.example/a.pdf"}], "abstract": "<jats:p>It floats.</jats:p>"});
        let notice = json!({"DOI": "10.1000/B", "title": ["Notice"], "update-to": [{"type": "retraction", "DOI": "10.1000/A"}]});
        let hits =
            of(json!({"status": "ok", "message": {"items": [work, notice, {"title": ["no id"]}]}}))
                .unwrap()
                .hits;
        assert_eq!(hits.len(), 2);
        assert_eq!(
            hits[0].work.retracted.as_deref(),
            Some("retracted, as Crossref records (10.1000/b)")
        );
        assert_eq!(hits[0].work.authors, ["A. Quill", "The Guild"]);
        assert_eq!(hits[0].date.as_deref(), Some("2024-05-01"));
        assert_eq!(hits[0].work.full_text, ["https://a.example/a.pdf"]);
        assert!(
            hits[1]
                .work
                .retracted
                .as_deref()
                .unwrap()
                .contains("a notice that 10.1000/a is retracted")
        );
    }

    #[test]
    fn a_refusal_says_why() {
        let body = json!({"status": "failed", "message": [{"type": "parameter-not-allowed", "message": "This route does not support sample"}]});
        let fault = read(400, &Headers::default(), body.to_string().as_bytes()).unwrap_err();
        assert_eq!(fault.message, "This route does not support sample");
        assert_eq!(
            of(json!({"status": "ok", "message": {"items": null}}))
                .unwrap_err()
                .kind,
            crate::Kind::Malformed
        );
    }
}
