//! What weight the place has that a source was published in: a part of its trust (row D11), and of its rank among the sources
//! kept for writing (row E8).
use crate::domain::{Source, SourceKind, Work};

/// What each independent voice of the run that names a source adds to its authority, and how many count.
const NAMED: f32 = 0.05;
const NAMED_MOST: usize = 3;

/// Authority of a page of which nobody knows who served it.
const UNWITNESSED: f32 = 0.3;

/// Authority of a work that nobody has reviewed.
const PREPRINT: f32 = 0.6;

/// What kind of place it was published in: reviewed collections first, then public bodies and
/// universities, then news and associations; a shop, a forum or a diary last. What independent voices
/// name gains.
pub(crate) fn authority(source: &Source, named: usize) -> f32 {
    let of_kind: f32 = match source.kind {
        SourceKind::Pubmed | SourceKind::Scholar if source.work.is_preprint() => PREPRINT,
        // A page that an engine of the whole web found among papers, and that no catalogue knows.
        SourceKind::Scholar if source.work.key().is_none() && source.work.venue.is_none() => 0.5,
        SourceKind::Pubmed => 0.88 + of_work(&source.work),
        SourceKind::Scholar => 0.83 + of_work(&source.work),
        SourceKind::News => 0.6,
        SourceKind::Web | SourceKind::Local => 0.5,
    };
    of_kind
        .max(of_host(source).unwrap_or(0.0))
        .min(ceiling(source))
        .min(if source.domain.is_empty() {
            UNWITNESSED
        } else {
            1.0
        })
        + NAMED * named.min(NAMED_MOST) as f32
}

/// What a work gains by its kind (a synthesis of studies, a trial) and by how often it is cited: one digit of the count for a
/// thirtieth, so that 1,000 citations are worth what a review is.
fn of_work(work: &Work) -> f32 {
    let kinds = work.kinds.join(" ").to_lowercase();
    let named = |all: &[&str]| all.iter().any(|it| kinds.contains(it));
    let by_kind = if named(&["meta-analysis", "systematic review", "practice guideline"]) {
        0.1
    } else if named(&["randomized", "clinical trial", "review"]) {
        0.05
    } else if named(&["editorial", "letter", "comment", "news"]) {
        -0.2
    } else {
        0.0
    };
    let cited = work.cited_by.unwrap_or(0) as f32;
    (by_kind + (1.0 + cited).log10() / 30.0).min(0.12)
}

/// Labels of host names that tell what stands there.
const PUBLIC: &[&str] = &["gov", "gob", "gouv", "govt", "mil", "int"];
const TEACHING: &[&str] = &["edu", "ac"];
const TALK: &[&str] = &[
    "blog",
    "blogs",
    "forum",
    "forums",
    "community",
    "shop",
    "store",
    "wiki",
];

/// The labels of the host in its address; none for a file without one.
fn labels(source: &Source) -> Vec<String> {
    url::Url::parse(&source.url)
        .ok()
        .filter(|it| it.scheme().starts_with("http"))
        .and_then(|it| it.host_str().map(str::to_owned))
        .map(|it| it.split('.').map(str::to_owned).collect())
        .unwrap_or_default()
}

/// Whether the host in its address is known to have served it: a file states what it likes.
fn is_served(source: &Source) -> bool {
    source.kind != SourceKind::Local && !source.domain.is_empty()
}

fn of_host(source: &Source) -> Option<f32> {
    if !is_served(source) {
        return None;
    }
    let labels = labels(source);
    let ends = |list: &[&str]| {
        labels
            .iter()
            .rev()
            .take(2)
            .any(|it| list.contains(&it.as_str()))
    };
    if ends(PUBLIC) {
        Some(0.85)
    } else if ends(TEACHING) {
        Some(0.8)
    } else if labels.last().is_some_and(|it| it == "org") {
        Some(0.6)
    } else {
        None
    }
}

/// Where anybody may write, or somebody sells, nothing else makes up for it. A file that states such an address is believed:
/// what it says of itself may lower its weight and never raise it.
fn ceiling(source: &Source) -> f32 {
    if labels(source).iter().any(|it| TALK.contains(&it.as_str())) {
        0.3
    } else {
        1.0
    }
}
