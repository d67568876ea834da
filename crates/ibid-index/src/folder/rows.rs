//! The rows of documents: writes them and reads them back.
use serde::{Deserialize, Serialize};
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, TantivyError};

use super::field_values::{date_number, hosts, normalize_name, vector_key, vector_text};
use super::hash::short_hash;
use super::passages::passages;
use super::postings::segment_postings;
use super::schema::IndexFields;
use super::snapshot::IndexSnapshot;
use super::synonym_table::synonym_values;
use ibid_core::domain::{Page, PageDraft};

/// The id of one version of a file. Its rows carry it, so that deleting the rows of an old version cannot delete new ones.
pub(super) fn file_version(file: u64, hash: u64) -> u64 {
    short_hash(&[&file.to_le_bytes(), &hash.to_le_bytes()])
}

/// The fields of a hit, stored with each passage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredHit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    pub(super) title: String,
    /// Title, site and author, if there is more than a title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) date: Option<String>,
    /// The words of the passage.
    pub(super) text: String,
}

impl StoredHit {
    /// The hit of a passage of `page` with the words `text`.
    fn from_page(page: &Page, text: String) -> StoredHit {
        let about = about(page);
        StoredHit {
            id: page.doc_id.clone(),
            url: page.url.clone(),
            file: page.file.clone(),
            about: (about != page.title).then_some(about),
            title: page.title.clone(),
            date: page.date.clone(),
            text,
        }
    }
}

/// Title, site and author. Queries name all three alike: "the report by The Verge".
fn about(page: &Page) -> String {
    let parts = [Some(&page.title), page.site.as_ref(), page.author.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    parts.join(" · ")
}

/// The rows of one document: one per passage, and one with the page. Empty for a document without words.
///
/// `from` is the version of its file, `nth` its number there.
pub(super) fn build_rows(
    fields: IndexFields,
    from: u64,
    nth: u64,
    draft: PageDraft,
) -> tantivy::Result<Vec<TantivyDocument>> {
    let page = Page::new(draft);
    let ranges = passages(&page);
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let id = short_hash(&[&from.to_le_bytes(), &nth.to_le_bytes()]);
    let about = about(&page);
    let alone = ranges.len() == 1;
    let mut rows = Vec::with_capacity(ranges.len() + 1);
    for (nth, (first, last)) in ranges.into_iter().enumerate() {
        let Some(passage) = page.passage(first, last) else {
            continue;
        };
        let words = passage.text().expose();
        let mut row = TantivyDocument::new();
        row.add_u64(fields.from, from);
        row.add_u64(fields.document, id);
        row.add_u64(fields.nth, nth as u64);
        row.add_u64(fields.date, page.date.as_deref().map_or(0, date_number));
        row.add_text(fields.title, &about);
        row.add_text(fields.body, words);
        row.add_u64(fields.vector, vector_key(&vector_text(&page.title, words)));
        if let Some(site) = &page.site {
            row.add_text(fields.publisher, normalize_name(site));
        }
        if !alone {
            row.add_text(fields.shown, json(&StoredHit::from_page(&page, words.to_owned()))?);
        }
        for host in hosts(&page.url) {
            row.add_text(fields.host, host);
        }
        rows.push(row);
    }
    if !alone {
        let mut row = TantivyDocument::new();
        row.add_u64(fields.from, from);
        rows.push(row);
    }
    if let Some(row) = rows.last_mut() {
        row.add_text(fields.key, page.key());
        row.add_text(fields.page, json(&page)?);
        for value in synonym_values(&page) {
            row.add_text(fields.synonym, value);
        }
    }
    Ok(rows)
}

fn json(value: &impl Serialize) -> tantivy::Result<String> {
    serde_json::to_string(value).map_err(|why| TantivyError::InternalError(why.to_string()))
}

/// The error of rows that cannot be decoded.
pub(super) fn corrupt_error(what: &str) -> TantivyError {
    TantivyError::InternalError(what.to_owned())
}

/// The stored hit of the passage at `at`.
pub(super) fn stored_hit(view: &IndexSnapshot, at: DocAddress) -> tantivy::Result<StoredHit> {
    let row: TantivyDocument = view.searcher.doc(at)?;
    let text = |field| row.get_first(field).and_then(|it| it.as_str());
    let found = match text(view.fields.shown) {
        Some(it) => serde_json::from_str(it).ok(),
        None => text(view.fields.page)
            .and_then(|text| serde_json::from_str::<Page>(text).ok())
            .and_then(|page| {
                let last = page.sentences().len().checked_sub(1)?;
                let words = page.passage(0, last)?.text().expose().to_owned();
                Some(StoredHit::from_page(&page, words))
            }),
    };
    found.ok_or_else(|| corrupt_error("the passage cannot be decoded"))
}

/// The addresses of the pages under `key`.
pub(super) fn page_rows(view: &IndexSnapshot, key: &str) -> tantivy::Result<Vec<DocAddress>> {
    let mut found = Vec::new();
    for (ord, segment) in view.searcher.segment_readers().iter().enumerate() {
        let option = IndexRecordOption::Basic;
        let Some(mut postings) = segment_postings(segment, view.fields.key, key, option)? else {
            continue;
        };
        while postings.doc() != TERMINATED {
            if !segment.is_deleted(postings.doc()) {
                found.push(DocAddress::new(ord as u32, postings.doc()));
            }
            postings.advance();
        }
    }
    Ok(found)
}
