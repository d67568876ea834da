//! Filters by domain and date.
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use super::field_values::date_number;
use super::postings::segment_postings;
use super::schema::IndexFields;
use super::snapshot::column;

/// Restricts a search to documents by domain and date.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Only documents from these domains and their subdomains. Empty means all.
    pub domains: Vec<String>,
    /// No documents from these domains and their subdomains.
    pub not_domains: Vec<String>,
    /// Only documents published on or after this date, `YYYY-MM-DD`. Excludes documents without a date.
    pub since: Option<String>,
    /// Only documents published on or before this date, `YYYY-MM-DD`. Excludes documents without a date.
    pub until: Option<String>,
}

impl Filter {
    /// A predicate for the rows of `segment` that pass. A document without a host is in no domain.
    pub(super) fn matching_rows(
        &self,
        segment: &SegmentReader,
        fields: IndexFields,
    ) -> tantivy::Result<impl Fn(DocId) -> bool + use<>> {
        let wanted = rows_in_domains(segment, fields, &self.domains)?;
        let unwanted = rows_in_domains(segment, fields, &self.not_domains)?;
        let since = self.since.as_deref().map(date_number);
        let until = self.until.as_deref().map(last_day);
        let dates = column(segment, "date")?;
        Ok(move |doc: DocId| {
            let in_any = |rows: &Option<Vec<bool>>, default| {
                rows.as_ref().map_or(default, |rows| rows[doc as usize])
            };
            if !in_any(&wanted, true) || in_any(&unwanted, false) {
                return false;
            }
            if since.is_none() && until.is_none() {
                return true;
            }
            let date = dates.as_ref().and_then(|dates| dates.first(doc)).unwrap_or(0);
            date > 0 && since.is_none_or(|it| date >= it) && until.is_none_or(|it| date <= it)
        })
    }
}

/// The last day of a date, a month or a year, as a number.
fn last_day(date: &str) -> u64 {
    match date.len() {
        0..=4 => date_number(date) + 1_231,
        5..=7 => date_number(date) + 31,
        _ => date_number(date),
    }
}

/// For each row, whether it is in any of `domains`; `None` if `domains` is empty.
fn rows_in_domains(
    segment: &SegmentReader,
    fields: IndexFields,
    domains: &[String],
) -> tantivy::Result<Option<Vec<bool>>> {
    if domains.is_empty() {
        return Ok(None);
    }
    let mut on = vec![false; segment.max_doc() as usize];
    for domain in domains {
        let option = IndexRecordOption::Basic;
        let postings = segment_postings(segment, fields.host, &bare_domain(domain), option)?;
        if let Some(mut postings) = postings {
            while postings.doc() != TERMINATED {
                on[postings.doc() as usize] = true;
                postings.advance();
            }
        }
    }
    Ok(Some(on))
}

/// A domain as users write it, without scheme, path and `*.`.
fn bare_domain(domain: &str) -> String {
    let lower = domain.trim().to_lowercase();
    let host = lower.split_once("://").map_or(lower.as_str(), |parts| parts.1);
    let host = host.split(['/', ':', '?']).next().unwrap_or(host);
    host.trim_start_matches("*.").trim_matches('.').to_owned()
}
