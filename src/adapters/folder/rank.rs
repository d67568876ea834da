//! The order of documents for a query.
//!
//! BM25F (Robertson and Zaragoza 2009: title and body saturate together) over passages, with
//! statistics of living rows alone, so that the same folder gives the same scores whatever the
//! history of its index.
use std::collections::BTreeMap;

use tantivy::columnar::Column;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::Filter;
use super::intake::day;
use super::schema::Fields;
use super::terms::terms;

/// Saturation of repeated terms.
const K1: f32 = 1.2;
/// How far the length of the body counts.
const B_BODY: f32 = 0.75;
/// How far the length of the title counts.
const B_TITLE: f32 = 0.75;
/// What a term in the title is worth beside one in the body.
const TITLE: f32 = 2.0;
/// What a document's further passages add, as a share of their score.
const FURTHER: f32 = 0.05;
/// A query is read up to this many bytes; what follows seldom says something new.
const QUERY_BYTES: usize = 16 << 10;
/// Terms of a query that count, the rarest first.
const QUERY_TERMS: usize = 48;

/// Numbers over all living passages of one state of the index.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Statistics {
    passages: f32,
    title: f32,
    body: f32,
    /// Documents, for the count.
    pub(super) documents: u64,
}

impl Statistics {
    /// Counts the living rows.
    pub(super) fn of(searcher: &Searcher, fields: Fields) -> tantivy::Result<Statistics> {
        let (mut passages, mut title, mut body, mut documents) = (0u64, 0u64, 0u64, 0u64);
        for segment in searcher.segment_readers() {
            let Some(document) = column(segment, "document")? else {
                continue;
            };
            let nth = column(segment, "nth")?;
            let titles = segment.get_fieldnorms_reader(fields.title)?;
            let bodies = segment.get_fieldnorms_reader(fields.body)?;
            for doc in segment.doc_ids_alive() {
                if document.first(doc).is_some() {
                    passages += 1;
                    title += u64::from(titles.fieldnorm(doc));
                    body += u64::from(bodies.fieldnorm(doc));
                    documents += u64::from(first(nth.as_ref(), doc) == Some(0));
                }
            }
        }
        let mean = |sum: u64| (sum as f32 / passages.max(1) as f32).max(1.0);
        Ok(Statistics {
            passages: passages as f32,
            title: mean(title),
            body: mean(body),
            documents,
        })
    }
}

fn column(segment: &SegmentReader, name: &str) -> tantivy::Result<Option<Column<u64>>> {
    segment.fast_fields().column_opt::<u64>(name)
}

fn first(column: Option<&Column<u64>>, doc: DocId) -> Option<u64> {
    column.and_then(|it| it.first(doc))
}

/// One document found: its score and its passages that matched, best first.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) score: f32,
    pub(super) passages: Vec<(f32, DocAddress)>,
}

/// The documents that have a word of `query`, best first.
pub(super) fn rank(
    searcher: &Searcher,
    fields: Fields,
    statistics: Statistics,
    query: &str,
    filter: &Filter,
) -> tantivy::Result<Vec<Ranked>> {
    let query = query_terms(query);
    let mut weighed = Vec::new();
    for (text, count) in &query {
        let postings = Weighed::of(searcher, fields, statistics, text, *count)?;
        if postings.idf > 0.0 {
            weighed.push(postings);
        }
    }
    weighed.sort_by(|a, b| b.idf.total_cmp(&a.idf).then_with(|| a.text.cmp(&b.text)));
    weighed.truncate(QUERY_TERMS);
    let mut documents: BTreeMap<u64, Ranked> = BTreeMap::new();
    for (ord, segment) in searcher.segment_readers().iter().enumerate() {
        let Some(document) = column(segment, "document")? else {
            continue;
        };
        let mut scores = vec![0.0f32; segment.max_doc() as usize];
        for term in &weighed {
            for (doc, tf) in &term.segments[ord] {
                scores[*doc as usize] += term.idf * tf * (K1 + 1.0) / (K1 + tf);
            }
        }
        let allowed = allowed(segment, fields, filter)?;
        for (doc, score) in scores.iter().enumerate() {
            let doc = doc as DocId;
            if *score <= 0.0 || !allowed(doc) {
                continue;
            }
            if let Some(id) = document.first(doc) {
                let found = documents.entry(id).or_insert_with(|| Ranked {
                    score: 0.0,
                    passages: Vec::new(),
                });
                found
                    .passages
                    .push((*score, DocAddress::new(ord as u32, doc)));
            }
        }
    }
    let mut ranked: Vec<Ranked> = documents.into_values().collect();
    for it in &mut ranked {
        it.passages.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut scores = it.passages.iter().map(|it| it.0);
        it.score = scores.next().unwrap_or(0.0) + FURTHER * scores.take(3).sum::<f32>();
    }
    // Stable: what ties stays in the order of document ids, which are hashes of file and place.
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(ranked)
}

/// The terms of a query with how often each stands in it. Words without meaning of their own count
/// only where there are no others.
fn query_terms(query: &str) -> Vec<(String, f32)> {
    let mut end = query.len().min(QUERY_BYTES);
    while !query.is_char_boundary(end) {
        end -= 1;
    }
    let all = terms(&query[..end]);
    let meaningful = all.iter().any(|it| !it.stop);
    let mut counted: BTreeMap<String, f32> = BTreeMap::new();
    for it in all {
        if !(meaningful && it.stop) {
            *counted.entry(it.text).or_default() += 1.0;
        }
    }
    counted.into_iter().collect()
}

/// A term of the query with its postings: per segment the living passages that have it, and how
/// much of it they have once title and body are weighed.
struct Weighed {
    text: String,
    idf: f32,
    segments: Vec<Vec<(DocId, f32)>>,
}

impl Weighed {
    fn of(
        searcher: &Searcher,
        fields: Fields,
        statistics: Statistics,
        text: &str,
        count: f32,
    ) -> tantivy::Result<Weighed> {
        let mut segments = Vec::new();
        for segment in searcher.segment_readers() {
            let mut found = occurrences(segment, fields.body, text, |tf, length| {
                tf / (1.0 - B_BODY + B_BODY * length / statistics.body)
            })?;
            let titles = occurrences(segment, fields.title, text, |tf, length| {
                TITLE * tf / (1.0 - B_TITLE + B_TITLE * length / statistics.title)
            })?;
            if !titles.is_empty() {
                found.extend(titles);
                found.sort_by_key(|it| it.0);
                found.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 += next.1;
                    }
                    same
                });
            }
            segments.push(found);
        }
        let having = segments.iter().map(Vec::len).sum::<usize>() as f32;
        let idf = (1.0 + (statistics.passages - having + 0.5) / (having + 0.5)).ln();
        Ok(Weighed {
            text: text.to_owned(),
            idf: if having > 0.0 { idf * count } else { 0.0 },
            segments,
        })
    }
}

/// The living rows of `segment` with `text` in `field`, and what `weigh` makes of its count and the
/// length of the field.
fn occurrences(
    segment: &SegmentReader,
    field: Field,
    text: &str,
    weigh: impl Fn(f32, f32) -> f32,
) -> tantivy::Result<Vec<(DocId, f32)>> {
    let Some(mut postings) = postings(segment, field, text, IndexRecordOption::WithFreqs)? else {
        return Ok(Vec::new());
    };
    let lengths = segment.get_fieldnorms_reader(field)?;
    let alive = segment.alive_bitset();
    let mut found = Vec::new();
    let mut doc = postings.doc();
    while doc != TERMINATED {
        if alive.is_none_or(|it| it.is_alive(doc)) {
            let tf = postings.term_freq() as f32;
            found.push((doc, weigh(tf, lengths.fieldnorm(doc) as f32)));
        }
        doc = postings.advance();
    }
    Ok(found)
}

fn postings(
    segment: &SegmentReader,
    field: Field,
    text: &str,
    option: IndexRecordOption,
) -> tantivy::Result<Option<SegmentPostings>> {
    let term = Term::from_field_text(field, text);
    Ok(segment
        .inverted_index(field)?
        .read_postings(&term, option)?)
}

/// Which rows of `segment` the filter lets through. A document without a date is not known to be in
/// any time, and one without a host in no domain.
fn allowed(
    segment: &SegmentReader,
    fields: Fields,
    filter: &Filter,
) -> tantivy::Result<impl Fn(DocId) -> bool + use<>> {
    let named = |domains: &[String]| -> tantivy::Result<Option<Vec<bool>>> {
        if domains.is_empty() {
            return Ok(None);
        }
        let mut on = vec![false; segment.max_doc() as usize];
        for domain in domains {
            let found = postings(
                segment,
                fields.host,
                &bare(domain),
                IndexRecordOption::Basic,
            )?;
            if let Some(mut it) = found {
                while it.doc() != TERMINATED {
                    on[it.doc() as usize] = true;
                    it.advance();
                }
            }
        }
        Ok(Some(on))
    };
    let wanted = named(&filter.domains)?;
    let unwanted = named(&filter.not_domains)?;
    let since = filter.since.as_deref().map(day);
    let until = filter.until.as_deref().map(|it| match it.len() {
        // A year or a month alone reaches to its end.
        0..=4 => day(it) + 1_231,
        5..=7 => day(it) + 31,
        _ => day(it),
    });
    let dates = column(segment, "date")?;
    Ok(move |doc: DocId| {
        let on = |it: &Option<Vec<bool>>, or| it.as_ref().map_or(or, |it| it[doc as usize]);
        if !on(&wanted, true) || on(&unwanted, false) {
            return false;
        }
        if since.is_none() && until.is_none() {
            return true;
        }
        let date = first(dates.as_ref(), doc).unwrap_or(0);
        date > 0 && since.is_none_or(|it| date >= it) && until.is_none_or(|it| date <= it)
    })
}

/// A domain as people write it, without scheme, path and `*.`.
fn bare(domain: &str) -> String {
    let lower = domain.trim().to_lowercase();
    let host = lower.split_once("://").map_or(lower.as_str(), |it| it.1);
    let host = host.split(['/', ':', '?']).next().unwrap_or(host);
    host.trim_start_matches("*.").trim_matches('.').to_owned()
}
