//! The rows of documents: how they are written and read back.
use serde::{Deserialize, Serialize};
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, TantivyError};

use super::meaning;
use super::named::name;
use super::passages::passages;
use super::postings::postings;
use super::schema::Fields;
use super::view::View;
use super::walk::short_hash;
use crate::domain::{Page, PageDraft};

/// What the rows of one state of a file are known by. Another state has another, so that deleting
/// the old rows cannot reach the new ones.
pub(super) fn origin(file: u64, hash: u64) -> u64 {
    short_hash(&[&file.to_le_bytes(), &hash.to_le_bytes()])
}

/// What a hit shows of a document, kept with each passage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Shown {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    pub(super) title: String,
    /// Title, site and author, where there is more than a title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) date: Option<String>,
    /// The passage.
    pub(super) text: String,
}

impl Shown {
    /// What a passage of `page` that says `text` shows.
    fn of(page: &Page, text: String) -> Shown {
        let about = about(page);
        Shown {
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

/// Title, site and author. Who says it and where is asked for as the title is: "the report by The Verge".
fn about(page: &Page) -> String {
    let parts = [Some(&page.title), page.site.as_ref(), page.author.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    parts.join(" · ")
}

/// The rows of one document: its passages and its page. None for a document without words.
///
/// `from` is the state of the file it stands in, `nth` its place there.
pub(super) fn rows(
    fields: Fields,
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
        row.add_u64(fields.date, page.date.as_deref().map_or(0, day));
        row.add_text(fields.title, &about);
        row.add_text(fields.body, words);
        row.add_u64(
            fields.vector,
            meaning::key(&meaning::text(&page.title, words)),
        );
        if let Some(site) = &page.site {
            row.add_text(fields.publisher, name(site));
        }
        if !alone {
            row.add_text(fields.shown, json(&Shown::of(&page, words.to_owned()))?);
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
    }
    Ok(rows)
}

fn json(it: &impl Serialize) -> tantivy::Result<String> {
    serde_json::to_string(it).map_err(|why| TantivyError::InternalError(why.to_string()))
}

/// `YYYY-MM-DD` as the number `YYYYMMDD`; a missing month or day counts as 0.
pub(super) fn day(date: &str) -> u64 {
    let mut parts = date.split('-').map(|it| it.parse::<u64>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 10_000 + next() * 100 + next()
}

/// The host of `url` and the domains above it: `a.b.org`, `b.org`, `org`. None for a file.
fn hosts(url: &str) -> Vec<String> {
    let Some(host) = url::Url::parse(url)
        .ok()
        .and_then(|it| it.host_str().map(str::to_lowercase))
    else {
        return Vec::new();
    };
    let mut rest = host.trim_end_matches('.');
    let mut found = vec![rest.to_owned()];
    while let Some((_, above)) = rest.split_once('.') {
        found.push(above.to_owned());
        rest = above;
    }
    found
}

/// An error for rows that cannot be read as they were written.
pub(super) fn damaged(what: &str) -> TantivyError {
    TantivyError::InternalError(what.to_owned())
}

/// What the passage at `at` shows.
pub(super) fn shown(view: &View, at: DocAddress) -> tantivy::Result<Shown> {
    let row: TantivyDocument = view.searcher.doc(at)?;
    let text = |field| row.get_first(field).and_then(|it| it.as_str());
    let found = match text(view.fields.shown) {
        Some(it) => serde_json::from_str(it).ok(),
        None => text(view.fields.page)
            .and_then(|it| serde_json::from_str::<Page>(it).ok())
            .and_then(|page| {
                let last = page.sentences().len().checked_sub(1)?;
                let words = page.passage(0, last)?.text().expose().to_owned();
                Some(Shown::of(&page, words))
            }),
    };
    found.ok_or_else(|| damaged("a passage that cannot be read"))
}

/// The rows of the pages known by `key`.
pub(super) fn pages(view: &View, key: &str) -> tantivy::Result<Vec<DocAddress>> {
    let mut found = Vec::new();
    for (ord, segment) in view.searcher.segment_readers().iter().enumerate() {
        let option = IndexRecordOption::Basic;
        let Some(mut it) = postings(segment, view.fields.key, key, option)? else {
            continue;
        };
        while it.doc() != TERMINATED {
            if !segment.is_deleted(it.doc()) {
                found.push(DocAddress::new(ord as u32, it.doc()));
            }
            it.advance();
        }
    }
    Ok(found)
}
