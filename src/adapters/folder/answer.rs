//! What is found, as it is shown, and the page behind it.
use serde::Serialize;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::{DocAddress, DocSet as _, TERMINATED, TantivyDocument};

use super::filter::Filter;
use super::postings::postings;
use super::rank::{Ranked, rank};
use super::rows::{Shown, damaged, pages, shown};
use super::view::{View, column};
use crate::domain::{Hit, Page, Untrusted, Vertical, Work};

/// Most bytes of a found document's `content`.
const CONTENT: usize = 4_000;

/// One document found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The document's own id where it has one, else where it was read.
    pub id: String,
    /// Where it is: the address that the document gives as its own, else where it was read.
    pub url: String,
    /// Where it was read, as `file://`, if `url` is another address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The document's own id in its collection.
    #[serde(skip)]
    pub doc_id: Option<String>,
    /// What it is called.
    pub title: String,
    /// Its passages that speak to the query, in the order of the text.
    pub content: String,
    /// Higher is better; comparable within one answer and one folder.
    pub score: f32,
    /// When it was published, `YYYY-MM-DD`.
    pub date: Option<String>,
}

impl Found {
    /// The hit it is, at place `rank` of an answer.
    pub fn into_hit(self, rank: u32) -> Hit {
        Hit {
            url: self.url,
            file: self.file,
            doc_id: self.doc_id,
            title: self.title,
            snippet: Untrusted::new(self.content),
            rank,
            score: self.score,
            provider: super::NAME.to_owned(),
            vertical: Vertical::Local,
            date: self.date,
            work: Work::default(),
            text: None,
        }
    }
}

/// The `n` documents that speak best to `query`; `near` are the passages most like it in meaning.
pub(super) fn find(
    view: &View,
    query: &str,
    n: usize,
    filter: &Filter,
    near: &[(u64, f32)],
) -> tantivy::Result<Vec<Found>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut asked = n;
    loop {
        let ranked = rank(view, query, asked, filter, near)?;
        let mut found: Vec<Found> = Vec::new();
        for it in &ranked {
            let shown = show(view, it)?;
            // Two files may hold a document of the same id; the better one stands for both.
            if found.iter().all(|it| it.id != shown.id) {
                found.push(shown);
            }
            if found.len() == n {
                return Ok(found);
            }
        }
        if ranked.len() < asked {
            return Ok(found);
        }
        asked = 2 * ranked.len();
    }
}

/// The numbers of the `n` documents that speak best to `query`.
pub(super) fn order(view: &View, query: &str, n: usize) -> tantivy::Result<Vec<u64>> {
    let ranked = rank(view, query, n, &Filter::default(), &[])?;
    let best = ranked.iter().take(n).filter_map(|it| it.passages.first());
    Ok(best.filter_map(|it| Some(view.place(it.1)?.0)).collect())
}

/// What a ranked document shows: its best passages, as many as fit, in the order of the text.
fn show(view: &View, it: &Ranked) -> tantivy::Result<Found> {
    let best = it.passages.first().map_or(0.0, |it| it.0);
    let mut head = None;
    let mut parts: Vec<(DocAddress, String)> = Vec::new();
    let mut bytes = 0;
    for (score, at) in it.addresses(view).take(3) {
        if head.is_some() && score < best * 0.6 {
            break;
        }
        let shown = shown(view, at)?;
        if head.is_some() && bytes + shown.text.len() > CONTENT {
            break;
        }
        bytes += shown.text.len();
        parts.push((at, shown.text.clone()));
        head.get_or_insert(shown);
    }
    parts.sort_by_key(|it| it.0);
    let content: Vec<String> = parts.into_iter().map(|it| it.1).collect();
    let head = head.ok_or_else(|| damaged("a document without passages"))?;
    Ok(Found {
        id: head
            .id
            .as_ref()
            .or(head.file.as_ref())
            .unwrap_or(&head.url)
            .clone(),
        url: head.url,
        file: head.file,
        doc_id: head.id,
        title: head.title,
        content: content.join("\n\n"),
        score: it.score,
        date: head.date,
    })
}

/// The pages of sites at `host` whose address `wanted` accepts, at most `n`, in the order of the index.
pub(super) fn at_address(
    view: &View,
    host: &str,
    wanted: &dyn Fn(&str) -> bool,
    n: usize,
) -> tantivy::Result<Vec<Page>> {
    let mut found: Vec<Page> = Vec::new();
    for (ord, segment) in view.searcher.segment_readers().iter().enumerate() {
        let option = IndexRecordOption::Basic;
        let passages = postings(segment, view.fields.host, host, option)?;
        let (Some(mut it), Some(nth)) = (passages, column(segment, "nth")?) else {
            continue;
        };
        while it.doc() != TERMINATED {
            let doc = it.doc();
            it.advance();
            if segment.is_deleted(doc) || nth.first(doc) != Some(0) {
                continue;
            }
            let shown = shown(view, DocAddress::new(ord as u32, doc))?;
            if !wanted(&shown.url) {
                continue;
            }
            let page = read(view, &hit_of(shown))?;
            found.extend(page.filter(|it| found.iter().all(|had| had.hash() != it.hash())));
            if found.len() >= n {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// The hit that a passage would be.
fn hit_of(it: Shown) -> Hit {
    Hit {
        url: it.url,
        file: it.file,
        doc_id: it.id,
        title: it.title,
        snippet: Untrusted::new(it.text),
        rank: 1,
        score: 0.0,
        provider: super::NAME.to_owned(),
        vertical: Vertical::Local,
        date: it.date,
        work: Work::default(),
        text: None,
    }
}

/// The page behind `hit`. Of several under one key, the one that says what the hit shows.
pub(super) fn read(view: &View, hit: &Hit) -> tantivy::Result<Option<Page>> {
    let mut found = Vec::new();
    for at in pages(view, hit.key())? {
        let row: TantivyDocument = view.searcher.doc(at)?;
        let page: Page = row
            .get_first(view.fields.page)
            .and_then(|it| it.as_str())
            .and_then(|it| serde_json::from_str(it).ok())
            .ok_or_else(|| damaged("a page that cannot be read"))?;
        if page.url == hit.url && page.file == hit.file {
            found.push(page);
        }
    }
    found.sort_by(|a, b| a.hash().cmp(b.hash()));
    let snippet = hit.snippet.expose();
    let says = |it: &Page| {
        let opening = snippet.split("\n\n").next().unwrap_or_default();
        it.text().expose().contains(opening)
    };
    let nth = found.iter().position(says).unwrap_or(0);
    Ok((nth < found.len()).then(|| found.swap_remove(nth)))
}
