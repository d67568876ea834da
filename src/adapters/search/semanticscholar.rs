//! Semantic Scholar, a catalogue of papers and who cites them.
use async_trait::async_trait;
use serde_json::Value;

use super::answer::{self, Read, count, cut, day, parts, taken_back, title, whole, word};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::work::{arxiv, doi, pmcid, pmid};
use crate::domain::{Hit, Hits, Query, Untrusted, Work};
use crate::error::Result;

/// What is asked of each paper.
pub(super) const FIELDS: &str = "title,abstract,year,publicationDate,externalIds,openAccessPdf,citationCount,tldr,authors,venue,\
     journal,publicationTypes,url";

/// `GET /graph/v1/paper/search`.
struct SemanticScholar;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(SemanticScholar)
}

#[async_trait]
impl Api for SemanticScholar {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let text = super::words::telling(query.text());
        let limit = query.limit.min(100).to_string();
        let mut asked = vec![
            ("query", text.as_str()),
            ("fields", FIELDS),
            ("limit", &limit),
        ];
        let day = |it: &Option<String>| it.clone().unwrap_or_default();
        let range = format!("{}:{}", day(&query.since), day(&query.until));
        if range != ":" {
            asked.push(("publicationDateOrYear", &range));
        }
        let ask = Ask::get("/graph/v1/paper/search", &asked);
        service.answered(&ask, read).await
    }
}

/// The papers of an answer: a list under `data`, where it found any; a bare list; or one paper. A row may hold the paper in a
/// field, beside what leads to it.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let listed = value.get("data").or(value.get("recommendedPapers"));
    let rows: &[Value] = match (&value, listed) {
        (Value::Array(rows), _) | (_, Some(Value::Array(rows))) => rows,
        (_, None) if word(&value, "paperId").is_some() => std::slice::from_ref(&value),
        // What finds nothing has no list.
        (_, None | Some(Value::Null)) if count(&value, "total") == Some(0) => &[],
        _ => return Err(ModelFault::malformed("its answer has no list `data`")),
    };
    Ok(rows.iter().filter_map(row).collect::<Vec<_>>().into())
}

fn row(it: &Value) -> Option<Hit> {
    let inner = ["citedPaper", "citingPaper", "paper"]
        .iter()
        .find_map(|name| it.get(name));
    let mut hit = paper(inner.unwrap_or(it))?;
    if let Some(found) = it.get("snippet").and_then(|it| word(it, "text")) {
        hit.snippet = Untrusted::new(cut(found, 2_000));
    }
    if let Some(score) = it
        .get("score")
        .or(it.get("matchScore"))
        .and_then(Value::as_f64)
    {
        hit.score = score as f32;
    }
    Some(hit)
}

fn paper(it: &Value) -> Option<Hit> {
    let ids = it.get("externalIds").unwrap_or(&Value::Null);
    let mut work = Work {
        doi: word(ids, "DOI").and_then(doi),
        pmid: word(ids, "PubMed").and_then(pmid),
        // Digits alone.
        pmcid: word(ids, "PubMedCentral")
            .and_then(|it| pmcid(&format!("PMC{}", it.trim_start_matches("PMC")))),
        arxiv: word(ids, "ArXiv").and_then(arxiv),
        cited_by: count(it, "citationCount"),
        ..Work::default()
    };
    let people = it
        .get("authors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let name = |it: &Value| {
        it.as_str()
            .or_else(|| word(it, "name"))
            .map(|it| cut(it, 100))
    };
    work.authors = people.filter_map(name).take(50).collect();
    let kinds = it
        .get("publicationTypes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    work.kinds = kinds
        .filter_map(Value::as_str)
        .map(|it| cut(it, 60))
        .take(20)
        .collect();
    let journal = it.get("journal").and_then(|it| word(it, "name"));
    work.venue = journal.or(word(it, "venue")).map(|it| cut(it, 200));
    let open = it.get("openAccessPdf").and_then(|it| word(it, "url"));
    work.full_text = open.map(str::to_owned).into_iter().collect();
    let number = ["/corpusId", "/externalIds/CorpusId"]
        .iter()
        .find_map(|path| it.pointer(path));
    let number = number.and_then(|it| {
        it.as_u64()
            .map(|it| it.to_string())
            .or(it.as_str().map(str::to_owned))
    });
    let own = match (word(it, "paperId"), number) {
        (Some(id), _) => format!("https://www.semanticscholar.org/paper/{id}"),
        (None, Some(id)) => format!("https://api.semanticscholar.org/CorpusID:{id}"),
        (None, None) => word(it, "url")?.to_owned(),
    };
    let url = match (&work.doi, &work.arxiv) {
        (Some(doi), _) => format!("https://doi.org/{doi}"),
        (None, Some(id)) => format!("https://arxiv.org/abs/{id}"),
        (None, None) => own.clone(),
    };
    let name = title(word(it, "title").unwrap_or(&own));
    work.retracted = taken_back(&name, &work.kinds, "Semantic Scholar");
    let text = word(it, "abstract").unwrap_or_default();
    let short = it.get("tldr").and_then(|it| word(it, "text"));
    let snippet = if text.is_empty() {
        short.unwrap_or_default()
    } else {
        text
    };
    let mut hit = Hit::new("semanticscholar", &url, &name, &cut(snippet, 600));
    hit.text = whole(text);
    let year = || parts(it.get("year").and_then(Value::as_i64), None, None);
    hit.date = word(it, "publicationDate").and_then(day).or_else(year);
    hit.work = work;
    Some(hit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(body: Value) -> Read<Hits> {
        read(200, &Headers::default(), body.to_string().as_bytes())
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
            [
                "doi:10.1000/x",
                "pmid:77",
                "pmcid:PMC123",
                "arxiv:2301.01234"
            ]
        );
        assert_eq!(hits[0].date.as_deref(), Some("2023-01-01"));
        assert!(hits[0].work.full_text.is_empty());
        assert!(hits[0].work.retracted.is_some());
        assert_eq!(hits[0].snippet.expose(), "It floats.");
    }

    #[test]
    fn nothing_found_is_no_fault_and_references_are_papers() {
        assert!(
            of(json!({"total": 0, "offset": 0}))
                .unwrap()
                .hits
                .is_empty()
        );
        assert!(of(json!({"offset": 0})).is_err());
        let cited =
            of(json!({"data": [{"citedPaper": {"paperId": "ab", "title": "Oak"}}]})).unwrap();
        assert_eq!(cited.hits[0].title, "Oak");
    }
}
