//! arXiv: preprints of physics, mathematics and computing, with open text.
use async_trait::async_trait;
use tokio::sync::Mutex;

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::keywords;
use super::response::{
    ReadResult, clean_title, error_from_text, full_text, parse_date, parse_text, retraction,
    truncate,
};
use super::xml::XmlElement;
use ibid_core::Result;
use ibid_core::domain::work::{find_doi, parse_arxiv_id};
use ibid_core::domain::{Hit, Hits, Query, Work};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// `GET /api/query`, an Atom feed.
#[derive(Default)]
struct Arxiv {
    /// Held during a request: arXiv allows one connection at a time.
    alone: Mutex<()>,
}

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Arxiv::default())
}

#[async_trait]
impl EngineApi for Arxiv {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let _alone = self.alone.lock().await;
        let limit = query.limit.min(200).to_string();
        let mut found = Hits::default();
        for term in terms(query) {
            let asked = [
                ("search_query", term.as_str()),
                ("start", "0"),
                ("max_results", &limit),
                ("sortBy", "relevance"),
                ("sortOrder", "descending"),
            ];
            found = service.request(&ServiceRequest::get("/api/query", &asked), read).await?;
            if !found.hits.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// The terms to try: all significant words, then any of them.
fn terms(query: &Query) -> Vec<String> {
    let words: Vec<String> =
        keywords(query.text()).iter().map(|keyword| format!("all:{keyword}")).collect();
    let mut all =
        vec![if words.is_empty() { format!("all:{}", query.text()) } else { words.join(" AND ") }];
    if words.len() > 2 {
        all.push(words.join(" OR "));
    }
    if query.since.is_some() || query.until.is_some() {
        let digits = |it: &Option<String>, or: &str| {
            it.as_ref().map_or(or.to_owned(), |it| it.replace('-', ""))
        };
        let (since, until) = (digits(&query.since, "19910101"), digits(&query.until, "29991231"));
        for it in &mut all {
            *it = format!("({it}) AND submittedDate:[{since}0000 TO {until}2359]");
        }
    }
    all
}

/// Parses the preprints of a feed. arXiv reports an error as an entry with status 200.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let page = parse_text(status, headers, body)?;
    if page.trim() == "Rate exceeded." {
        return Err(ServiceError::rate_limited("rate exceeded"));
    }
    let tree = XmlElement::parse(body)?;
    let feed =
        tree.find("feed").ok_or_else(|| ServiceError::malformed("its response has no `feed`"))?;
    let mut found = Vec::new();
    for it in feed.children_named("entry") {
        if it.text_at("id").is_some_and(|text| text.contains("/api/errors")) {
            return Err(error_from_text(&it.text_at("summary").unwrap_or_default()));
        }
        found.extend(entry(it));
    }
    Ok(found.into())
}

fn entry(it: &XmlElement) -> Option<Hit> {
    let address = it.text_at("id")?;
    let id = parse_arxiv_id(address.split_once("/abs/")?.1)?;
    let name = clean_title(&it.text_at("title").unwrap_or_else(|| id.clone()));
    let comment = it.text_at("comment").unwrap_or_default();
    let mut work = Work {
        doi: it.text_at("doi").as_deref().and_then(find_doi),
        authors: it
            .children_named("author")
            .filter_map(|element| element.text_at("name"))
            .map(|it| truncate(&it, 100))
            .take(50)
            .collect(),
        venue: Some(
            it.text_at("journal_ref").map_or("arXiv".to_owned(), |text| truncate(&text, 200)),
        ),
        kinds: vec!["preprint".to_owned()],
        full_text: vec![
            format!("https://arxiv.org/html/{id}"),
            format!("https://arxiv.org/pdf/{id}"),
        ],
        ..Work::default()
    };
    let text = it.text_at("summary").unwrap_or_default();
    let withdrawn = |text: &str| text.to_lowercase().contains("has been withdrawn");
    work.retracted = retraction(&name, &work.kinds, "arXiv").or_else(|| {
        (withdrawn(&comment) || withdrawn(&text)).then(|| "withdrawn, as arXiv records".to_owned())
    });
    let url = format!("https://arxiv.org/abs/{id}");
    work.arxiv = Some(id);
    let mut hit = Hit::new("arxiv", &url, &name, &truncate(&text, 600));
    hit.text = full_text(&text);
    hit.date = it.text_at("published").as_deref().and_then(parse_date);
    hit.work = work;
    Some(hit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_preprint_with_its_open_text() {
        let feed = br#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="x"><title>q</title><entry><id>http://arxiv.org/abs/2301.01234v2</id>
            <title>Cork
              floats</title><published>2023-01-03T00:00:00Z</published><summary> It is bark. </summary><author><name>A. Quill</name></author>
            <arxiv:doi>10.1000/X</arxiv:doi><arxiv:comment>4 pages</arxiv:comment></entry></feed>"#;
        let hit = read(200, &ResponseHeaders::default(), feed).unwrap().hits.remove(0);
        assert_eq!(hit.work.keys(), ["doi:10.1000/x", "arxiv:2301.01234"]);
        assert_eq!((hit.title.as_str(), hit.date.as_deref()), ("Cork floats", Some("2023-01-03")));
        assert_eq!(hit.work.full_text[0], "https://arxiv.org/html/2301.01234");
        assert_eq!(hit.work.retracted, None);
    }

    #[test]
    fn a_fault_in_an_entry_is_a_fault() {
        let feed = b"<feed><entry><id>http://arxiv.org/api/errors#incorrect_id_format</id><title>Error</title>\
            <summary>incorrect id format for 12</summary></entry></feed>";
        let fault = read(200, &ResponseHeaders::default(), feed).unwrap_err();
        assert_eq!(fault.message, "incorrect id format for 12");
        assert!(read(200, &ResponseHeaders::default(), b"<html></html>").is_err());
        assert_eq!(
            read(200, &ResponseHeaders::default(), b"Rate exceeded.").unwrap_err().kind,
            ibid_core::ErrorKind::Transient
        );
    }
}
