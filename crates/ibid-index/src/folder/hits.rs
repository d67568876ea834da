//! Search hits and the pages behind them.
use serde::Serialize;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::{DocAddress, DocSet as _, TERMINATED, TantivyDocument};

use super::documents::RankedDocument;
use super::field_values::BETWEEN_PASSAGES;
use super::filter::Filter;
use super::postings::segment_postings;
use super::rank::rank;
use super::rows::{StoredHit, corrupt_error, page_rows, stored_hit};
use super::search_index::SearchIndex;
use super::semantic::SimilarPassages;
use super::snapshot::{IndexSnapshot, column};
use ibid_core::domain::{Hit, Page, Untrusted, Vertical, Work};

/// The name of folders as a search provider and page reader.
pub const NAME: &str = "local";

/// Bytes of a hit's `content`; the best passage is shown even if it is longer.
const MAX_CONTENT_BYTES: usize = 4_000;
/// Passages that a hit shows.
const MAX_PASSAGES: usize = 3;
/// A further passage is shown if its score is at least this share of the best one's.
const MIN_PASSAGE_SCORE: f32 = 0.6;

/// A document found by a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchHit {
    /// The document's own id if it has one, else where it was read.
    pub id: String,
    /// The address that the document states as its own, else where it was read.
    pub url: String,
    /// Where it was read, as `file://`, if `url` is another address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The document's own id in its collection.
    #[serde(skip)]
    pub doc_id: Option<String>,
    /// The title.
    pub title: String,
    /// The passages that match the query, in the order of the text.
    pub content: String,
    /// Higher is better. Comparable within one result and one folder.
    pub score: f32,
    /// The date of publication, `YYYY-MM-DD`.
    pub date: Option<String>,
}

impl SearchHit {
    /// The hit as a result of a search provider, at position `rank`.
    pub(crate) fn into_hit(self, rank: u32) -> Hit {
        Hit {
            url: self.url,
            file: self.file,
            doc_id: self.doc_id,
            title: self.title,
            snippet: Untrusted::new(self.content),
            rank,
            score: self.score,
            provider: NAME.to_owned(),
            vertical: Vertical::Local,
            date: self.date,
            work: Work::default(),
            text: None,
        }
    }
}

/// The `n` documents that match `query` best; `near` are the passages most similar to it.
pub(super) fn search(
    index: &SearchIndex,
    query: &str,
    n: usize,
    filter: &Filter,
    near: &SimilarPassages,
) -> tantivy::Result<Vec<SearchHit>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut wanted = n;
    loop {
        let ranked = rank(index, query, wanted, filter, near)?;
        let mut found: Vec<SearchHit> = Vec::new();
        for document in &ranked {
            let hit = build_hit(&index.snapshot, document)?;
            // Two files may hold a document with the same id; only the better one is returned.
            if found.iter().all(|other| other.id != hit.id) {
                found.push(hit);
            }
            if found.len() == n {
                return Ok(found);
            }
        }
        if ranked.len() < wanted {
            return Ok(found);
        }
        wanted = 2 * ranked.len();
    }
}

/// The internal numbers of the `n` documents that match `query` best.
pub(super) fn rank_ids(index: &SearchIndex, query: &str, n: usize) -> tantivy::Result<Vec<u64>> {
    let ranked = rank(index, query, n, &Filter::default(), &SimilarPassages::default())?;
    let best = ranked.iter().take(n).filter_map(|it| it.passages.first());
    Ok(best.filter_map(|(_, row)| Some(index.snapshot.document_position(*row)?.0)).collect())
}

/// The hit of a ranked document: its best passages, as many as fit, in the order of the text.
fn build_hit(view: &IndexSnapshot, document: &RankedDocument) -> tantivy::Result<SearchHit> {
    let best = document.passages.first().map_or(0.0, |passage| passage.0);
    let mut head = None;
    let mut parts: Vec<(DocAddress, String)> = Vec::new();
    let mut bytes = 0;
    for (score, at) in document.addresses(view).take(MAX_PASSAGES) {
        if head.is_some() && score < best * MIN_PASSAGE_SCORE {
            break;
        }
        let hit = stored_hit(view, at)?;
        if head.is_some() && bytes + hit.text.len() > MAX_CONTENT_BYTES {
            break;
        }
        bytes += hit.text.len();
        parts.push((at, hit.text.clone()));
        head.get_or_insert(hit);
    }
    parts.sort_by_key(|part| part.0);
    let content: Vec<String> = parts.into_iter().map(|part| part.1).collect();
    let head = head.ok_or_else(|| corrupt_error("the document has no passages"))?;
    Ok(SearchHit {
        id: head.id.as_ref().or(head.file.as_ref()).unwrap_or(&head.url).clone(),
        url: head.url,
        file: head.file,
        doc_id: head.id,
        title: head.title,
        content: content.join(BETWEEN_PASSAGES),
        score: document.score,
        date: head.date,
    })
}

/// At most `n` pages at `host` or its subdomains whose address `accept` accepts, in the order of the index.
pub(super) fn pages_at(
    view: &IndexSnapshot,
    host: &str,
    accept: &dyn Fn(&str) -> bool,
    n: usize,
) -> tantivy::Result<Vec<Page>> {
    let mut found: Vec<Page> = Vec::new();
    for (ord, segment) in view.searcher.segment_readers().iter().enumerate() {
        let option = IndexRecordOption::Basic;
        let passages = segment_postings(segment, view.fields.host, host, option)?;
        let (Some(mut passages), Some(nth)) = (passages, column(segment, "nth")?) else {
            continue;
        };
        while passages.doc() != TERMINATED {
            let doc = passages.doc();
            passages.advance();
            if segment.is_deleted(doc) || nth.first(doc) != Some(0) {
                continue;
            }
            let stored = stored_hit(view, DocAddress::new(ord as u32, doc))?;
            if !accept(&stored.url) {
                continue;
            }
            let page = read_page(view, &to_hit(stored))?;
            let is_new = |page: &Page| found.iter().all(|had| had.hash() != page.hash());
            found.extend(page.filter(is_new));
            if found.len() >= n {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// A hit that shows only this passage, without a score.
fn to_hit(stored: StoredHit) -> Hit {
    Hit {
        url: stored.url,
        file: stored.file,
        doc_id: stored.id,
        title: stored.title,
        snippet: Untrusted::new(stored.text),
        rank: 1,
        score: 0.0,
        provider: NAME.to_owned(),
        vertical: Vertical::Local,
        date: stored.date,
        work: Work::default(),
        text: None,
    }
}

/// The page of `hit`. Of several under one key, the one that contains the hit's snippet.
pub(super) fn read_page(view: &IndexSnapshot, hit: &Hit) -> tantivy::Result<Option<Page>> {
    let mut found = Vec::new();
    for at in page_rows(view, hit.key())? {
        let row: TantivyDocument = view.searcher.doc(at)?;
        let page: Page = row
            .get_first(view.fields.page)
            .and_then(|it| it.as_str())
            .and_then(|it| serde_json::from_str(it).ok())
            .ok_or_else(|| corrupt_error("the stored page cannot be decoded"))?;
        if page.url == hit.url && page.file == hit.file {
            found.push(page);
        }
    }
    found.sort_by(|a, b| a.hash().cmp(b.hash()));
    let snippet = hit.snippet.expose();
    let opening = snippet.split("\n\n").next().unwrap_or_default();
    let has_snippet = |page: &Page| page.text().expose().contains(opening);
    let nth = found.iter().position(has_snippet).unwrap_or(0);
    Ok((nth < found.len()).then(|| found.swap_remove(nth)))
}
