//! What a search leaves out.
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use super::postings::postings;
use super::rows::day;
use super::schema::Fields;
use super::view::column;

/// What a search leaves out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Only documents from these domains or below them, where any are named.
    pub domains: Vec<String>,
    /// Nothing from these domains or below them.
    pub not_domains: Vec<String>,
    /// Published on or after, `YYYY-MM-DD`; leaves out what has no date.
    pub since: Option<String>,
    /// Published on or before, `YYYY-MM-DD`; leaves out what has no date.
    pub until: Option<String>,
}

impl Filter {
    /// Which rows of `segment` pass. A document without a date is not known to be in any time, and
    /// one without a host is in no domain.
    pub(super) fn passing(
        &self,
        segment: &SegmentReader,
        fields: Fields,
    ) -> tantivy::Result<impl Fn(DocId) -> bool + use<>> {
        let wanted = named(segment, fields, &self.domains)?;
        let unwanted = named(segment, fields, &self.not_domains)?;
        let since = self.since.as_deref().map(day);
        let until = self.until.as_deref().map(last_day);
        let dates = column(segment, "date")?;
        Ok(move |doc: DocId| {
            let on = |it: &Option<Vec<bool>>, or| it.as_ref().map_or(or, |it| it[doc as usize]);
            if !on(&wanted, true) || on(&unwanted, false) {
                return false;
            }
            if since.is_none() && until.is_none() {
                return true;
            }
            let date = dates.as_ref().and_then(|it| it.first(doc)).unwrap_or(0);
            date > 0 && since.is_none_or(|it| date >= it) && until.is_none_or(|it| date <= it)
        })
    }
}

/// The last day of a date, a month or a year.
fn last_day(date: &str) -> u64 {
    match date.len() {
        0..=4 => day(date) + 1_231,
        5..=7 => day(date) + 31,
        _ => day(date),
    }
}

/// The rows under any of `domains`; `None` where none is named.
fn named(
    segment: &SegmentReader,
    fields: Fields,
    domains: &[String],
) -> tantivy::Result<Option<Vec<bool>>> {
    if domains.is_empty() {
        return Ok(None);
    }
    let mut on = vec![false; segment.max_doc() as usize];
    for domain in domains {
        let option = IndexRecordOption::Basic;
        if let Some(mut it) = postings(segment, fields.host, &bare(domain), option)? {
            while it.doc() != TERMINATED {
                on[it.doc() as usize] = true;
                it.advance();
            }
        }
    }
    Ok(Some(on))
}

/// A domain as people write it, without scheme, path and `*.`.
fn bare(domain: &str) -> String {
    let lower = domain.trim().to_lowercase();
    let host = lower.split_once("://").map_or(lower.as_str(), |it| it.1);
    let host = host.split(['/', ':', '?']).next().unwrap_or(host);
    host.trim_start_matches("*.").trim_matches('.').to_owned()
}
