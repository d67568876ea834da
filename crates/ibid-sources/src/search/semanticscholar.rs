//! Semantic Scholar, a catalogue of papers and citations.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, clean_title, count_field, date_from_parts, full_text, parse_date, retraction,
    text_field, truncate,
};
use ibid_core::Result;
use ibid_core::domain::work::{find_doi, parse_arxiv_id, parse_pmcid, parse_pmid};
use ibid_core::domain::{Hit, Hits, Query, Untrusted, Work};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// The requested fields of each paper.
pub(super) const FIELDS: &str = "title,abstract,year,publicationDate,externalIds,openAccessPdf,citationCount,tldr,authors,venue,\
     journal,publicationTypes,url";

/// `GET /graph/v1/paper/search`.
struct SemanticScholar;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(SemanticScholar)
}

#[async_trait]
impl EngineApi for SemanticScholar {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let text = super::query_text::content_words(query.text());
        let limit = query.limit.min(100).to_string();
        let mut asked = vec![("query", text.as_str()), ("fields", FIELDS), ("limit", &limit)];
        let day = |text: &Option<String>| text.clone().unwrap_or_default();
        let range = format!("{}:{}", day(&query.since), day(&query.until));
        if range != ":" {
            asked.push(("publicationDateOrYear", &range));
        }
        let ask = ServiceRequest::get("/graph/v1/paper/search", &asked);
        service.request(&ask, read).await
    }
}

/// Parses the papers of an answer: a list under `data`, a bare list, or one paper. A row may hold the paper in a field.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let listed = value.get("data").or(value.get("recommendedPapers"));
    let rows: &[Value] = match (&value, listed) {
        (Value::Array(rows), _) | (_, Some(Value::Array(rows))) => rows,
        (_, None) if text_field(&value, "paperId").is_some() => std::slice::from_ref(&value),
        // An answer without hits has no list.
        (_, None | Some(Value::Null)) if count_field(&value, "total") == Some(0) => &[],
        _ => return Err(ServiceError::malformed("its response has no list `data`")),
    };
    Ok(rows.iter().filter_map(row).collect::<Vec<_>>().into())
}

fn row(it: &Value) -> Option<Hit> {
    let inner = ["citedPaper", "citingPaper", "paper"].iter().find_map(|name| it.get(name));
    let mut hit = paper(inner.unwrap_or(it))?;
    if let Some(found) = it.get("snippet").and_then(|value| text_field(value, "text")) {
        hit.snippet = Untrusted::new(truncate(found, 2_000));
    }
    if let Some(score) = it.get("score").or(it.get("matchScore")).and_then(Value::as_f64) {
        hit.score = score as f32;
    }
    Some(hit)
}

fn paper(it: &Value) -> Option<Hit> {
    let ids = it.get("externalIds").unwrap_or(&Value::Null);
    let mut work = Work {
        doi: text_field(ids, "DOI").and_then(find_doi),
        pmid: text_field(ids, "PubMed").and_then(parse_pmid),
        // Only digits.
        pmcid: text_field(ids, "PubMedCentral")
            .and_then(|text| parse_pmcid(&format!("PMC{}", text.trim_start_matches("PMC")))),
        arxiv: text_field(ids, "ArXiv").and_then(parse_arxiv_id),
        cited_by: count_field(it, "citationCount"),
        ..Work::default()
    };
    let people = it.get("authors").and_then(Value::as_array).into_iter().flatten();
    let name = |value: &Value| {
        value.as_str().or_else(|| text_field(value, "name")).map(|text| truncate(text, 100))
    };
    work.authors = people.filter_map(name).take(50).collect();
    let kinds = it.get("publicationTypes").and_then(Value::as_array).into_iter().flatten();
    work.kinds = kinds.filter_map(Value::as_str).map(|text| truncate(text, 60)).take(20).collect();
    let journal = it.get("journal").and_then(|value| text_field(value, "name"));
    work.venue = journal.or(text_field(it, "venue")).map(|journal| truncate(journal, 200));
    let open = it.get("openAccessPdf").and_then(|value| text_field(value, "url"));
    work.full_text = open.map(str::to_owned).into_iter().collect();
    let number = ["/corpusId", "/externalIds/CorpusId"].iter().find_map(|path| it.pointer(path));
    let number = number.and_then(|number| {
        number.as_u64().map(|number| number.to_string()).or(number.as_str().map(str::to_owned))
    });
    let own = match (text_field(it, "paperId"), number) {
        (Some(id), _) => format!("https://www.semanticscholar.org/paper/{id}"),
        (None, Some(id)) => format!("https://api.semanticscholar.org/CorpusID:{id}"),
        (None, None) => text_field(it, "url")?.to_owned(),
    };
    let url = match (&work.doi, &work.arxiv) {
        (Some(doi), _) => format!("https://doi.org/{doi}"),
        (None, Some(id)) => format!("https://arxiv.org/abs/{id}"),
        (None, None) => own.clone(),
    };
    let name = clean_title(text_field(it, "title").unwrap_or(&own));
    work.retracted = retraction(&name, &work.kinds, "Semantic Scholar");
    let text = text_field(it, "abstract").unwrap_or_default();
    let short = it.get("tldr").and_then(|value| text_field(value, "text"));
    let snippet = if text.is_empty() { short.unwrap_or_default() } else { text };
    let mut hit = Hit::new("semanticscholar", &url, &name, &truncate(snippet, 600));
    hit.text = full_text(text);
    let year = || date_from_parts(it.get("year").and_then(Value::as_i64), None, None);
    hit.date = text_field(it, "publicationDate").and_then(parse_date).or_else(year);
    hit.work = work;
    Some(hit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(body: Value) -> ReadResult<Hits> {
        read(200, &ResponseHeaders::default(), body.to_string().as_bytes())
    }

    #[test]
    fn a_paper_has_its_ids_and_its_open_text() {
        let paper = json!({"paperId": "ab12", "externalIds": {"DOI": "10.1000/X", "PubMed": "77", "PubMedCentral": "123", "ArXiv": "2301.01234",
            "CorpusId": 5}, "title": "RETRACTED: Cork", "abstract": null, "tldr": {"text": "It floats."}, "year": 2023,
            "publicationDate": null, "openAccessPdf": {"url": ""}, "citationCount": 3, "authors": [{"name": "A. Quill"}]});
        let hits = of(json!({"total": 1, "data": [paper, null]})).unwrap().hits;
        assert_eq!(hits.len(), 1);
        assert_eq!(
            hits[0].work.keys(),
            ["doi:10.1000/x", "pmid:77", "pmcid:PMC123", "arxiv:2301.01234"]
        );
        assert_eq!(hits[0].date.as_deref(), Some("2023-01-01"));
        assert!(hits[0].work.full_text.is_empty());
        assert!(hits[0].work.retracted.is_some());
        assert_eq!(hits[0].snippet.expose(), "It floats.");
    }

    #[test]
    fn nothing_found_is_no_fault_and_references_are_papers() {
        assert!(of(json!({"total": 0, "offset": 0})).unwrap().hits.is_empty());
        assert!(of(json!({"offset": 0})).is_err());
        let cited =
            of(json!({"data": [{"citedPaper": {"paperId": "ab", "title": "Oak"}}]})).unwrap();
        assert_eq!(cited.hits[0].title, "Oak");
    }
}
