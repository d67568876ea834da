//! Crossref, where publishers register their works. It is the first to record a retraction.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, abstract_of, clean_title, count_field, date_from_parts, full_text,
    plain_text, retraction, text_field, truncate,
};
use ibid_core::Result;
use ibid_core::domain::work::find_doi;
use ibid_core::domain::{Hit, Hits, Query, Work};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// `GET /v1/works?query.bibliographic=`.
struct Crossref {
    contact: Option<String>,
}

pub(super) fn api(given: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Crossref { contact: given.contact.clone() })
}

#[async_trait]
impl EngineApi for Crossref {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let limit = query.limit.min(100).to_string();
        let bound =
            |name: &str, day: &Option<String>| day.as_ref().map(|day| format!("{name}:{day}"));
        let bounds = [bound("from-pub-date", &query.since), bound("until-pub-date", &query.until)];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        let bounds = bounds.join(",");
        let mut asked = vec![("query.bibliographic", query.text()), ("rows", &limit)];
        if !bounds.is_empty() {
            asked.push(("filter", &bounds));
        }
        // Crossref limits requests with a contact less.
        asked.extend(self.contact.as_deref().map(|contact| ("mailto", contact)));
        service.request(&ServiceRequest::get("/v1/works", &asked), read).await
    }
}

/// Parses the works of an answer: a list, or one work.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let message = message(status, headers, body)?;
    let found: Vec<Hit> = match message.get("items").and_then(Value::as_array) {
        Some(items) => items.iter().filter_map(work).collect(),
        None if message.get("DOI").is_some() => work(&message).into_iter().collect(),
        None => {
            return Err(ServiceError::malformed("its response has no list `message.items`"));
        }
    };
    Ok(found.into())
}

/// The `message` of an answer. An error has a list of reasons in its place.
pub(super) fn message(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Value> {
    if let Some(fault) = parse_error(status, body) {
        return Err(fault);
    }
    let mut value = response::parse_json(status, headers, body)?;
    match value.get_mut("message") {
        Some(it @ Value::Object(_)) => Ok(it.take()),
        _ => Err(ServiceError::malformed("its response has no `message`")),
    }
}

fn parse_error(status: u16, body: &[u8]) -> Option<ServiceError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    if !matches!(text_field(&value, "status"), Some("failed" | "error")) {
        return None;
    }
    let said = value.pointer("/message/0/message").or(value.pointer("/message/message"));
    let said = said.and_then(Value::as_str).unwrap_or("it refused without a reason");
    Some(ServiceError::from_text(Some(status).filter(|it| *it >= 300), &truncate(said, 300)))
}

/// Parses a work. A list of one text may also be the text itself.
pub(super) fn work(it: &Value) -> Option<Hit> {
    let id = text_field(it, "DOI").and_then(find_doi)?;
    let first = |name: &str| match it.get(name) {
        Some(Value::Array(all)) => all.first()?.as_str(),
        Some(Value::String(one)) => Some(one.as_str()),
        _ => None,
    };
    let url = format!("https://doi.org/{id}");
    let mut work = Work {
        doi: Some(id),
        cited_by: count_field(it, "is-referenced-by-count"),
        kinds: text_field(it, "type").map(|text| truncate(text, 60)).into_iter().collect(),
        venue: first("container-title").map(|it| plain_text(it, 200)).filter(|it| !it.is_empty()),
        ..Work::default()
    };
    if text_field(it, "subtype") == Some("preprint") {
        work.kinds.push("preprint".to_owned());
    }
    let people = it.get("author").and_then(Value::as_array).into_iter().flatten();
    work.authors = people.filter_map(person).take(50).collect();
    let bare = first("title").filter(|it| !it.trim().is_empty());
    let name = clean_title(bare.unwrap_or(&url));
    work.retracted = update_notice(it).or_else(|| retraction(&name, &work.kinds, "Crossref"));
    work.full_text = open(it);
    let text = abstract_of(text_field(it, "abstract").unwrap_or_default());
    let mut hit = Hit::new("crossref", &url, &name, &truncate(&text, 600));
    hit.text = full_text(&text);
    // `created` is not a date of publication: it is the day of registration.
    let dates = ["published", "issued", "published-online", "published-print"];
    hit.date = dates.iter().find_map(|name| date(it.get(name)?));
    hit.work = work;
    Some(hit)
}

fn person(it: &Value) -> Option<String> {
    let family = text_field(it, "family")
        .or_else(|| text_field(it, "name"))
        .or_else(|| text_field(it, "literal"))?;
    let whole = match text_field(it, "given") {
        Some(given) => format!("{given} {family}"),
        None => family.to_owned(),
    };
    Some(truncate(&whole, 100))
}

/// Parses `{"date-parts": [[2024, 5]]}`; an unknown date contains null.
fn date(it: &Value) -> Option<String> {
    let parted = it.pointer("/date-parts/0")?.as_array()?;
    let number = |at: usize| {
        let it = parted.get(at)?;
        it.as_i64().or_else(|| it.as_str()?.parse().ok())
    };
    date_from_parts(number(0), number(1), number(2))
}

/// The retraction of a work: a retracted work has `updated-by`, the notice of retraction has `update-to`.
fn update_notice(it: &Value) -> Option<String> {
    let listed = |name: &str| -> Vec<(String, Option<String>)> {
        let all = it.get(name).and_then(Value::as_array).into_iter().flatten();
        let mark = |value: &Value| {
            let kind = text_field(value, "type")?.to_lowercase().replace(['_', ' '], "-");
            let said = match kind.as_str() {
                "retraction" | "partial-retraction" | "removal" => "retracted",
                "withdrawal" => "withdrawn",
                "expression-of-concern" => "under an expression of concern",
                _ => return None,
            };
            Some((said.to_owned(), text_field(value, "DOI").and_then(find_doi)))
        };
        all.filter_map(mark).collect()
    };
    let by = listed("updated-by").into_iter().next();
    if let Some((said, notice)) = by {
        let place = notice.map(|notice| format!(" ({notice})")).unwrap_or_default();
        return Some(format!("{said}, as Crossref records{place}"));
    }
    let (said, of) = listed("update-to").into_iter().next()?;
    // A work may be listed as an update of itself.
    let own = text_field(it, "DOI").and_then(find_doi);
    match of.filter(|of| Some(of) != own.as_ref()) {
        Some(of) => Some(format!("a notice that {of} is {said}, as Crossref records")),
        None => Some(format!("{said}, as Crossref records")),
    }
}

/// The addresses of the text of a work with an open licence.
fn open(it: &Value) -> Vec<String> {
    let licences = it.get("license").and_then(Value::as_array).into_iter().flatten();
    let is_open = licences
        .filter_map(|licence| text_field(licence, "URL"))
        .any(|it| it.contains("creativecommons.org"));
    let links = it.get("link").and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<String> = Vec::new();
    for url in links.filter(|_| is_open).filter_map(|link| text_field(link, "URL")).take(10) {
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

    fn of(body: Value) -> ReadResult<Hits> {
        read(200, &ResponseHeaders::default(), body.to_string().as_bytes())
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
        let fault =
            read(400, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap_err();
        assert_eq!(fault.message, "This route does not support sample");
        assert_eq!(
            of(json!({"status": "ok", "message": {"items": null}})).unwrap_err().kind,
            ibid_core::ErrorKind::Malformed
        );
    }
}
