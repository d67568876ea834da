//! arXiv, preprints of physics, mathematics and computing, whose text is open.
use async_trait::async_trait;
use tokio::sync::Mutex;

use super::answer::{Read, cut, day, refused, taken_back, text, title, whole};
use super::words::keywords;
use super::xml::Element;
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::work::{arxiv, doi};
use crate::domain::{Hit, Hits, Query, Work};
use crate::error::Result;

/// `GET /api/query`, an Atom feed.
#[derive(Default)]
struct Arxiv {
    /// Held while it is asked: it wants one connection at a time.
    alone: Mutex<()>,
}

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(Arxiv::default())
}

#[async_trait]
impl Api for Arxiv {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
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
            found = service
                .answered(&Ask::get("/api/query", &asked), read)
                .await?;
            if !found.hits.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// The terms to try: all telling words, then any of them.
fn terms(query: &Query) -> Vec<String> {
    let words: Vec<String> = keywords(query.text())
        .iter()
        .map(|it| format!("all:{it}"))
        .collect();
    let mut all = vec![match words.is_empty() {
        true => format!("all:{}", query.text()),
        false => words.join(" AND "),
    }];
    if words.len() > 2 {
        all.push(words.join(" OR "));
    }
    if query.since.is_some() || query.until.is_some() {
        let digits = |it: &Option<String>, or: &str| {
            it.as_ref().map_or(or.to_owned(), |it| it.replace('-', ""))
        };
        let (since, until) = (
            digits(&query.since, "19910101"),
            digits(&query.until, "29991231"),
        );
        for it in &mut all {
            *it = format!("({it}) AND submittedDate:[{since}0000 TO {until}2359]");
        }
    }
    all
}

/// The preprints of a feed. A fault comes as an entry of its own under 200.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let page = text(status, headers, body)?;
    if page.trim() == "Rate exceeded." {
        return Err(ModelFault::transient("rate exceeded"));
    }
    let tree = Element::of(body)?;
    let feed = tree
        .at("feed")
        .ok_or_else(|| ModelFault::malformed("its answer has no `feed`"))?;
    let mut found = Vec::new();
    for it in feed.all("entry") {
        if it.word("id").is_some_and(|it| it.contains("/api/errors")) {
            return Err(refused(&it.word("summary").unwrap_or_default()));
        }
        found.extend(entry(it));
    }
    Ok(found.into())
}

fn entry(it: &Element) -> Option<Hit> {
    let address = it.word("id")?;
    let id = arxiv(address.split_once("/abs/")?.1)?;
    let name = title(&it.word("title").unwrap_or_else(|| id.clone()));
    let comment = it.word("comment").unwrap_or_default();
    let mut work = Work {
        doi: it.word("doi").as_deref().and_then(doi),
        authors: it
            .all("author")
            .filter_map(|it| it.word("name"))
            .map(|it| cut(&it, 100))
            .take(50)
            .collect(),
        venue: Some(
            it.word("journal_ref")
                .map_or("arXiv".to_owned(), |it| cut(&it, 200)),
        ),
        kinds: vec!["preprint".to_owned()],
        full_text: vec![
            format!("https://arxiv.org/html/{id}"),
            format!("https://arxiv.org/pdf/{id}"),
        ],
        ..Work::default()
    };
    let text = it.word("summary").unwrap_or_default();
    let withdrawn = |it: &str| it.to_lowercase().contains("has been withdrawn");
    work.retracted = taken_back(&name, &work.kinds, "arXiv").or_else(|| {
        (withdrawn(&comment) || withdrawn(&text)).then(|| "withdrawn, as arXiv records".to_owned())
    });
    let url = format!("https://arxiv.org/abs/{id}");
    work.arxiv = Some(id);
    let mut hit = Hit::new("arxiv", &url, &name, &cut(&text, 600));
    hit.text = whole(&text);
    hit.date = it.word("published").as_deref().and_then(day);
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
        let hit = read(200, &Headers::default(), feed).unwrap().hits.remove(0);
        assert_eq!(hit.work.keys(), ["doi:10.1000/x", "arxiv:2301.01234"]);
        assert_eq!(
            (hit.title.as_str(), hit.date.as_deref()),
            ("Cork floats", Some("2023-01-03"))
        );
        assert_eq!(hit.work.full_text[0], "https://arxiv.org/html/2301.01234");
        assert_eq!(hit.work.retracted, None);
    }

    #[test]
    fn a_fault_in_an_entry_is_a_fault() {
        let feed = b"<feed><entry><id>http://arxiv.org/api/errors#incorrect_id_format</id><title>Error</title>\
            <summary>incorrect id format for 12</summary></entry></feed>";
        let fault = read(200, &Headers::default(), feed).unwrap_err();
        assert_eq!(fault.message, "incorrect id format for 12");
        assert!(read(200, &Headers::default(), b"<html></html>").is_err());
        assert_eq!(
            read(200, &Headers::default(), b"Rate exceeded.")
                .unwrap_err()
                .kind,
            crate::Kind::Transient
        );
    }
}
