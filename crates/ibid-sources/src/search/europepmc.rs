//! Europe PMC: the life sciences with preprints and open full text.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, abstract_of, clean_title, count_field, date_from_parts, full_text, list_at,
    parse_date, retraction, text_field, truncate,
};
use ibid_core::Result;
use ibid_core::domain::work::{find_doi, parse_pmcid, parse_pmid};
use ibid_core::domain::{Hit, Hits, Query, Work};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// The address of open full text, by PMC id.
const FULL_TEXT: &str = "https://www.ebi.ac.uk/europepmc/webservices/rest";

/// `GET /search?resultType=core`.
struct EuropePmc;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(EuropePmc)
}

#[async_trait]
impl EngineApi for EuropePmc {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let limit = query.limit.min(1_000).to_string();
        let mut found = Hits::default();
        for term in super::query_text::or_queries(query.text()) {
            let asked = bounded(&term, query);
            let ask = ServiceRequest::get(
                "/search",
                &[
                    ("query", &asked),
                    ("format", "json"),
                    ("resultType", "core"),
                    ("pageSize", &limit),
                ],
            );
            found = service.request(&ask, read).await?;
            if !found.hits.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// A term with the dates of the query.
fn bounded(term: &str, query: &Query) -> String {
    if query.since.is_none() && query.until.is_none() {
        return term.to_owned();
    }
    let since = query.since.as_deref().unwrap_or("1800-01-01");
    let until = query.until.as_deref().unwrap_or("3000-12-31");
    format!("({term}) AND (FIRST_PDATE:[{since} TO {until}])")
}

/// Parses the hits of an answer.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    // A refused query is reported with status 200 and no list.
    if let Some(said) = text_field(&value, "errMsg").or_else(|| text_field(&value, "message")) {
        return Err(super::response::error_from_text(said));
    }
    let rows = list_at(&value, "/resultList/result")?;
    Ok(rows.iter().filter_map(record).collect::<Vec<_>>().into())
}

fn record(it: &Value) -> Option<Hit> {
    let id = text_field(it, "id")?;
    let source = text_field(it, "source").unwrap_or("MED");
    let mut work = Work {
        doi: text_field(it, "doi").and_then(find_doi),
        pmid: text_field(it, "pmid").and_then(parse_pmid),
        pmcid: text_field(it, "pmcid").and_then(parse_pmcid),
        cited_by: count_field(it, "citedByCount"),
        ..Work::default()
    };
    let texts = |path: &str, name: &str| -> Vec<String> {
        let all = it.pointer(path).and_then(Value::as_array).into_iter().flatten();
        let text_of = |value: &Value| {
            value.as_str().or_else(|| text_field(value, name)).map(|text| truncate(text, 100))
        };
        all.filter_map(text_of).take(50).collect()
    };
    work.authors = texts("/authorList/author", "fullName");
    if work.authors.is_empty() {
        let all = text_field(it, "authorString").unwrap_or_default().trim_end_matches('.');
        let all = all.split(", ").filter(|part| !part.is_empty());
        work.authors = all.map(|it| truncate(it, 100)).take(50).collect();
    }
    work.kinds = texts("/pubTypeList/pubType", "name");
    if source == "PPR" && !work.kinds.iter().any(|kind| kind.eq_ignore_ascii_case("preprint")) {
        work.kinds.push("preprint".to_owned());
    }
    let venue = ["/journalInfo/journal/title", "/bookOrReportDetails/publisher"];
    let venue = venue.iter().find_map(|path| it.pointer(path)?.as_str());
    work.venue = venue.or(text_field(it, "journalTitle")).map(|venue| truncate(venue, 200));
    let name = clean_title(text_field(it, "title").unwrap_or(id));
    work.retracted = retraction(&name, &work.kinds, "Europe PMC").or_else(|| retraction_notice(it));
    work.full_text = open(it, work.pmcid.as_deref());
    let url = match &work.doi {
        Some(doi) => format!("https://doi.org/{doi}"),
        None => format!("https://europepmc.org/article/{source}/{id}"),
    };
    let text = abstract_of(text_field(it, "abstractText").unwrap_or_default());
    let mut hit = Hit::new("europepmc", &url, &name, &truncate(&text, 600));
    hit.text = full_text(&text);
    let dates = ["firstPublicationDate", "electronicPublicationDate"];
    let year = || date_from_parts(text_field(it, "pubYear")?.parse().ok(), None, None);
    hit.date = dates.iter().find_map(|name| parse_date(text_field(it, name)?)).or_else(year);
    hit.work = work;
    Some(hit)
}

/// The note of a retraction or an expression of concern in another record.
fn retraction_notice(it: &Value) -> Option<String> {
    let notes = it.pointer("/commentCorrectionList/commentCorrection")?;
    notes.as_array()?.iter().find_map(|items| {
        let kind = text_field(items, "type")?.to_lowercase();
        let said = match kind.as_str() {
            "retraction in" => "retracted",
            "expression of concern in" => "under an expression of concern",
            _ => return None,
        };
        Some(format!("{said}, as Europe PMC records"))
    })
}

/// The addresses of open full text, that of Europe PMC first.
fn open(it: &Value, pmcid: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some("Y"), Some(id)) = (text_field(it, "isOpenAccess"), pmcid) {
        found.push(format!("{FULL_TEXT}/{id}/fullTextXML"));
    }
    let listed = it.pointer("/fullTextUrlList/fullTextUrl").and_then(Value::as_array);
    for it in listed.into_iter().flatten().take(20) {
        let is_open = matches!(text_field(it, "availabilityCode"), Some("OA" | "F"));
        if let (true, Some(url)) = (is_open, text_field(it, "url"))
            && !found.iter().any(|had| had == url)
        {
            found.push(url.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_has_its_ids_its_text_and_what_became_of_it() {
        let body = json!({"hitCount": 1, "resultList": {"result": [{"id": "1234", "source": "MED", "pmid": "1234", "pmcid": "PMC77",
            "doi": "10.1000/ABC", "title": "Cork in <i>Quercus</i>.", "authorList": {"author": [{"fullName": "Quill A"}]},
            "journalInfo": {"journal": {"title": "J Cork"}}, "pubTypeList": {"pubType": ["Review", "Journal Article"]},
            "abstractText": "<h4>Aim</h4>To float.", "isOpenAccess": "Y", "citedByCount": 4, "firstPublicationDate": "2021-02-03",
            "fullTextUrlList": {"fullTextUrl": [{"availabilityCode": "OA", "url": "https://a.example/x.pdf"},
                {"availabilityCode": "S", "url": "https://a.example/paid"}]},
            "commentCorrectionList": {"commentCorrection": [{"type": "Retraction in", "id": "9"}]}}]}});
        let hits = read(200, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap();
        let hit = &hits.hits[0];
        assert_eq!(hit.work.keys(), ["doi:10.1000/abc", "pmid:1234", "pmcid:PMC77"]);
        assert_eq!(hit.title, "Cork in Quercus");
        assert_eq!(hit.work.full_text.len(), 2);
        assert!(hit.work.full_text[0].ends_with("/PMC77/fullTextXML"));
        assert_eq!(hit.work.retracted.as_deref(), Some("retracted, as Europe PMC records"));
        assert_eq!((hit.date.as_deref(), hit.work.cited_by), (Some("2021-02-03"), Some(4)));
    }
}
