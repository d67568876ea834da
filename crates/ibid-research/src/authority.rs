//! How much weight the place of publication carries: a part of a source's trust, and of its rank among the
//! sources kept for writing.
use crate::thresholds::{
    AUTHORITY_PER_NAMING_SITE, CITATION_DIGITS_DIVISOR, MAX_OPEN_PUBLISHING_AUTHORITY,
    MAX_WORK_BONUS, NEWS_AUTHORITY, OPINION_BONUS, ORG_AUTHORITY, PAGE_AUTHORITY,
    PREPRINT_AUTHORITY, PUBLIC_BODY_AUTHORITY, PUBMED_AUTHORITY, SCHOLAR_AUTHORITY,
    SYNTHESIS_BONUS, TRIAL_BONUS, UNIVERSITY_AUTHORITY, UNKNOWN_SERVER_AUTHORITY,
    UNLISTED_PAPER_AUTHORITY,
};
use ibid_core::domain::{Source, SourceKind, Work};

const MAX_NAMING_SITES: usize = 3;

/// Authority by the kind of place: peer-reviewed collections first, then public bodies and universities, then
/// news and associations; shops, forums and blogs last. Being named by independent sites adds to it.
pub(crate) fn authority(source: &Source, named: usize) -> f32 {
    let of_kind: f32 = match source.kind {
        SourceKind::Pubmed | SourceKind::Scholar if source.work.is_preprint() => PREPRINT_AUTHORITY,
        SourceKind::Scholar if source.is_unlisted_paper() => UNLISTED_PAPER_AUTHORITY,
        SourceKind::Pubmed => PUBMED_AUTHORITY + work_bonus(&source.work),
        SourceKind::Scholar => SCHOLAR_AUTHORITY + work_bonus(&source.work),
        SourceKind::News => NEWS_AUTHORITY,
        SourceKind::Web | SourceKind::Local => PAGE_AUTHORITY,
    };
    of_kind
        .max(host_score(source).unwrap_or(0.0))
        .min(host_ceiling(source))
        .min(if source.domain.is_empty() { UNKNOWN_SERVER_AUTHORITY } else { 1.0 })
        + AUTHORITY_PER_NAMING_SITE * named.min(MAX_NAMING_SITES) as f32
}

/// What a work gains by its kind (a synthesis of studies, a trial) and its citations: a thirtieth for each
/// digit of their count, so that 1,000 citations are worth as much as being a review.
fn work_bonus(work: &Work) -> f32 {
    let kinds = work.kinds.join(" ").to_lowercase();
    let named = |all: &[&str]| all.iter().any(|text| kinds.contains(text));
    let by_kind = if named(&["meta-analysis", "systematic review", "practice guideline"]) {
        SYNTHESIS_BONUS
    } else if named(&["randomized", "clinical trial", "review"]) {
        TRIAL_BONUS
    } else if named(&["editorial", "letter", "comment", "news"]) {
        OPINION_BONUS
    } else {
        0.0
    };
    let cited = work.cited_by.unwrap_or(0) as f32;
    (by_kind + (1.0 + cited).log10() / CITATION_DIGITS_DIVISOR).min(MAX_WORK_BONUS)
}

/// Labels of host names that indicate the kind of site.
const PUBLIC: &[&str] = &["gov", "gob", "gouv", "govt", "mil", "int"];
const ACADEMIC_LABELS: &[&str] = &["edu", "ac"];
const OPEN_PUBLISHING_LABELS: &[&str] =
    &["blog", "blogs", "forum", "forums", "community", "shop", "store", "wiki"];

/// The labels of the host in its address; empty for a file without one.
fn host_labels(source: &Source) -> Vec<String> {
    url::Url::parse(&source.url)
        .ok()
        .filter(|parsed| parsed.scheme().starts_with("http"))
        .and_then(|parsed| parsed.host_str().map(str::to_owned))
        .map(|it| it.split('.').map(str::to_owned).collect())
        .unwrap_or_default()
}

/// Whether the host in its address is known to have served it. A file may state any address.
fn is_served(source: &Source) -> bool {
    source.kind != SourceKind::Local && !source.domain.is_empty()
}

fn host_score(source: &Source) -> Option<f32> {
    if !is_served(source) {
        return None;
    }
    let labels = host_labels(source);
    let ends =
        |list: &[&str]| labels.iter().rev().take(2).any(|label| list.contains(&label.as_str()));
    if ends(PUBLIC) {
        Some(PUBLIC_BODY_AUTHORITY)
    } else if ends(ACADEMIC_LABELS) {
        Some(UNIVERSITY_AUTHORITY)
    } else if labels.last().is_some_and(|label| label == "org") {
        Some(ORG_AUTHORITY)
    } else {
        None
    }
}

/// The upper limit for sites where anybody may write or something is sold. It also applies to a file that
/// states such an address: what a file says about itself may lower its weight and never raise it.
fn host_ceiling(source: &Source) -> f32 {
    let labels = host_labels(source);
    let is_open = || labels.iter().any(|it| OPEN_PUBLISHING_LABELS.contains(&it.as_str()));
    if source.is_offer || is_open() { MAX_OPEN_PUBLISHING_AUTHORITY } else { 1.0 }
}
