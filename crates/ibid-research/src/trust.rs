//! How reliable each source of a report is, and how the sides of a conflict weigh. `docs/trust.md` explains
//! it to readers.
//!
//! Trust does not decide what is read, cited or shown. It is an indication from what can be seen from
//! outside, and every part of it is shown beside the sum.
use crate::thresholds::{
    AFFILIATION_BONUS, MIN_AGREEING_SIMILARITY, MIN_RECENCY_FACTOR, NAMED_AUTHOR_EXPERTISE,
    RECENCY_HALF_LIFE_YEARS, REPLACED_FACTOR, REVIEWED_COLLECTION_BONUS, SEVERAL_AUTHORS_BONUS,
    TRUST_AUTHORITY_WEIGHT, TRUST_CONSISTENCY_WEIGHT, TRUST_EXPERTISE_WEIGHT, TRUST_RECENCY_WEIGHT,
    UNDATED_RECENCY, UNKNOWN_AUTHOR_EXPERTISE,
};
use std::collections::{BTreeMap, BTreeSet};

use super::authority::authority;
use super::heuristic::claim_clusters::{MIN_TITLE_CONTENT_WORDS, independent_source, is_same_work};
use super::heuristic::editions::is_newer_edition;
use super::heuristic::lexicon::jaccard;
use super::heuristic::same_voice::{is_same_wording, wording};
use super::research_state::ResearchState;
use ibid_core::domain::words::{content_stems, numbers, tokens};
use ibid_core::domain::{Conflict, ConflictSide, Evidence, Source, SourceId, SourceKind, Trust};

/// Sets the trust of each of `sources`, as of `asked_on` (`YYYY-MM-DD`).
pub(crate) fn assign_trust(
    sources: &mut [Source],
    state: &ResearchState,
    conflicts: &[Conflict],
    asked_on: &str,
) {
    let all = &state.notes.sources;
    let named = sources_naming(all, state);
    let agreeing = agreeing_sources(all, &state.notes.evidence);
    let against = disagreeing_voices(sources, conflicts);
    for source in sources.iter_mut() {
        let count =
            |of: &BTreeMap<SourceId, BTreeSet<String>>| of.get(&source.id).map_or(0, BTreeSet::len);
        let authority = authority(source, count(&named));
        let consistency = consistency_score(count(&agreeing), count(&against));
        let expertise = expertise_score(source);
        let recency = recency_score(source.date.as_deref(), asked_on);
        let score = TRUST_AUTHORITY_WEIGHT * authority
            + TRUST_CONSISTENCY_WEIGHT * consistency
            + TRUST_EXPERTISE_WEIGHT * expertise
            + TRUST_RECENCY_WEIGHT * recency;
        source.trust = Some(Trust {
            score: round_to_hundredths(score),
            authority: round_to_hundredths(authority),
            consistency: round_to_hundredths(consistency),
            expertise: round_to_hundredths(expertise),
            recency: round_to_hundredths(recency),
            replaced_by: all.iter().find(|it| is_newer_edition(it, source)).map(|it| it.id),
        });
    }
}

/// Mean trust of the sources with evidence, as of `asked_on`. Conflicts are not known before writing.
pub(crate) fn mean_trust(state: &ResearchState, asked_on: &str) -> f32 {
    let evidence = &state.notes.evidence;
    let carries = |source: &&Source| evidence.iter().any(|e| e.source == source.id);
    let mut sources: Vec<Source> = state.notes.sources.iter().filter(carries).cloned().collect();
    assign_trust(&mut sources, state, &[], asked_on);
    let scores = sources.iter().filter_map(|source| source.trust.as_ref());
    let sum: f32 = scores.map(|score| score.score).sum();
    sum / sources.len().max(1) as f32
}

/// Sets the weight of each side of each conflict: its share of the trust of all sides. A work counts with its
/// trust, an old one with down to half of it, and one superseded by a newer edition with half of that.
pub(crate) fn weigh_sides(conflicts: &mut [Conflict], sources: &[Source]) {
    for conflict in conflicts {
        let trust: Vec<f32> = conflict.sides.iter().map(|side| trust_of(side, sources)).collect();
        let sum: f32 = trust.iter().sum();
        for (side, trust) in conflict.sides.iter_mut().zip(&trust) {
            side.weight = if sum == 0.0 { 0.0 } else { round_to_hundredths(trust / sum) };
        }
    }
}

fn trust_of(side: &ConflictSide, sources: &[Source]) -> f32 {
    let cited: BTreeSet<u32> = side.claim.citations().iter().map(|citation| citation.n).collect();
    let works = cited.iter().filter_map(|n| sources.get((*n as usize).checked_sub(1)?));
    works
        .filter_map(|work| Some((work, work.trust.as_ref()?)))
        .map(|(work, trust)| {
            let replaced = work.superseded || trust.replaced_by.is_some();
            let factor = if replaced { REPLACED_FACTOR } else { 1.0 };
            let recency = MIN_RECENCY_FACTOR + (1.0 - MIN_RECENCY_FACTOR) * trust.recency;
            trust.score * recency * factor
        })
        .sum()
}

/// Rounds to two digits: more would suggest precision.
fn round_to_hundredths(it: f32) -> f32 {
    (it.clamp(0.0, 1.0) * 100.0).round() / 100.0
}

/// The share of independent sources that say the same, with one imagined on each side.
fn consistency_score(agreeing: usize, against: usize) -> f32 {
    (1 + agreeing) as f32 / (2 + agreeing + against) as f32
}

/// Words in an author's name that indicate a title, an organisation or an affiliation.
const AFFILIATION_WORDS: &[&str] = &[
    "dr",
    "prof",
    "professor",
    "phd",
    "md",
    "university",
    "institute",
    "department",
    "committee",
    "ministry",
    "agency",
    "academy",
    "association",
    "society",
    "laboratory",
    "centre",
    "center",
    "hospital",
    "board",
    "organization",
    "organisation",
    "service",
];

/// The authorship, as a catalogue or an engine states it: none, one or several names; with a title or an
/// organisation; in a collection that requires affiliations. An author that only the page itself names is
/// shown but adds nothing.
fn expertise_score(source: &Source) -> f32 {
    let author = source.work.authors.join("; ");
    let author = author.trim_matches([' ', ';']);
    if author.is_empty() {
        return UNKNOWN_AUTHOR_EXPERTISE;
    }
    let several =
        author.contains([';', '&']) || author.contains(" and ") || author.matches(',').count() > 1;
    let standing =
        tokens(author).iter().any(|token| AFFILIATION_WORDS.contains(&token.text.as_str()));
    let reviewed = matches!(source.kind, SourceKind::Pubmed | SourceKind::Scholar);
    let plus = |yes: bool, much: f32| if yes { much } else { 0.0 };
    NAMED_AUTHOR_EXPERTISE
        + plus(several, SEVERAL_AUTHORS_BONUS)
        + plus(standing, AFFILIATION_BONUS)
        + plus(reviewed, REVIEWED_COLLECTION_BONUS)
}

/// Halves every [`RECENCY_HALF_LIFE_YEARS`] years.
fn recency_score(date: Option<&str>, asked_on: &str) -> f32 {
    let (Some(then), Some(now)) = (date.and_then(in_years), in_years(asked_on)) else {
        return UNDATED_RECENCY;
    };
    0.5_f32.powf((now - then).max(0.0) / RECENCY_HALF_LIFE_YEARS)
}

/// A date in years: `2020-07-01` is 2020.5; a year alone counts from its middle.
fn in_years(date: &str) -> Option<f32> {
    let mut parts = date.split('-');
    let year: f32 = parts.next()?.parse().ok()?;
    let month = parts.next().and_then(|part| part.parse::<f32>().ok()).unwrap_or(7.0);
    Some(year + (month - 1.0) / 12.0)
}

/// The independent sources of the run that name each source by title or address: the links that remain visible in pages
/// without markup.
fn sources_naming(
    sources: &[Source],
    state: &ResearchState,
) -> BTreeMap<SourceId, BTreeSet<String>> {
    let texts: Vec<(&Source, String)> = sources
        .iter()
        .filter_map(|source| {
            let page = state.pages.pages().get(&source.page)?;
            Some((source, page.text().expose().to_lowercase()))
        })
        .collect();
    let mut found: BTreeMap<SourceId, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let title = source.title.to_lowercase();
        let own = tokens(&title).len() >= MIN_TITLE_CONTENT_WORDS;
        let address =
            source.url.split_once("://").map(|parts| parts.1.trim_end_matches('/').to_lowercase());
        let address =
            address.filter(|address| address.contains('/') && source.url.starts_with("http"));
        for (by, text) in &texts {
            let names = own && text.contains(&title)
                || address.as_ref().is_some_and(|address| text.contains(address));
            if names && is_independent(by, source) {
                found.entry(source.id).or_default().insert(independent_source(by).to_owned());
            }
        }
    }
    found
}

/// Whether two sources are two works by two independent sources: the same text at two addresses is one work.
fn is_independent(one: &Source, other: &Source) -> bool {
    let known = !independent_source(one).is_empty() && !independent_source(other).is_empty();
    known && independent_source(one) != independent_source(other) && !is_same_work(one, other)
}

/// For each source, the independent sources with a sentence that says the same as one of its own.
fn agreeing_sources(
    sources: &[Source],
    evidence: &[Evidence],
) -> BTreeMap<SourceId, BTreeSet<String>> {
    let by_id: BTreeMap<SourceId, &Source> =
        sources.iter().map(|source| (source.id, source)).collect();
    let mut vocabulary: BTreeMap<String, u32> = BTreeMap::new();
    let said: Vec<(&Source, &Evidence, Vec<u32>, Vec<f64>)> = evidence
        .iter()
        .filter_map(|evidence| {
            let mut ids: Vec<u32> = content_stems(&evidence.claim)
                .into_iter()
                .map(|stem| {
                    let next = vocabulary.len() as u32;
                    *vocabulary.entry(stem).or_insert(next)
                })
                .collect();
            ids.sort_unstable();
            ids.dedup();
            let values = numbers(&evidence.claim).into_iter().map(|it| it.value).collect();
            Some((*by_id.get(&evidence.source)?, evidence, ids, values))
        })
        .collect();
    let mut found: BTreeMap<SourceId, BTreeSet<String>> = BTreeMap::new();
    for (one, quote, ids, values) in &said {
        for (other, other_quote, other_ids, other_values) in &said {
            let figures = values.iter().all(|value| other_values.contains(value));
            if figures
                && is_independent(one, other)
                && jaccard(ids, other_ids) >= MIN_AGREEING_SIMILARITY
                // Who prints the other's words, or names it as the source, does not confirm it.
                && one.cited_by != Some(other.id)
                && other.cited_by != Some(one.id)
                && !is_same_wording(&wording(quote), &wording(other_quote))
            {
                found.entry(one.id).or_default().insert(independent_source(other).to_owned());
            }
        }
    }
    found
}

/// For each source, the independent sources on another side of a conflict.
fn disagreeing_voices(
    sources: &[Source],
    conflicts: &[Conflict],
) -> BTreeMap<SourceId, BTreeSet<String>> {
    let on = |side: &ConflictSide| -> Vec<&Source> {
        let cited = side.claim.citations().iter();
        cited.filter_map(|it| sources.get((it.n as usize).checked_sub(1)?)).collect()
    };
    let mut found: BTreeMap<SourceId, BTreeSet<String>> = BTreeMap::new();
    for conflict in conflicts.iter().filter(|it| it.is_disagreement()) {
        for (nth, side) in conflict.sides.iter().enumerate() {
            for (_, other) in conflict.sides.iter().enumerate().filter(|pair| pair.0 != nth) {
                for source in on(side) {
                    let independent_sources = on(other).into_iter().filter(|it| it.id != source.id);
                    found.entry(source.id).or_default().extend(
                        independent_sources.map(|source| independent_source(source).to_owned()),
                    );
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{Page, PageDraft};

    fn source(nth: u32, kind: SourceKind, url: &str, title: &str, date: Option<&str>) -> Source {
        let page = Page::new(PageDraft {
            url: url.to_owned(),
            title: title.to_owned(),
            date: date.map(str::to_owned),
            ..PageDraft::default()
        });
        Source::from_page(SourceId::new(nth), kind, &page, Some("roofs.example".to_owned()))
    }

    #[test]
    fn a_reviewed_work_has_more_authority_than_a_page_and_a_page_more_than_a_forum() {
        let at = |kind, url: &str| authority(&source(1, kind, url, "Roofs", None), 0);
        let reviewed = at(SourceKind::Pubmed, "https://example.com/1");
        let public = at(SourceKind::Web, "https://data.roofs.gov/1");
        let page = at(SourceKind::Web, "https://roofs.example/1");
        let forum = at(SourceKind::Web, "https://forum.roofs.example/1");
        assert!(reviewed > public && public > page && page > forum);
        let named =
            authority(&source(1, SourceKind::Web, "https://roofs.example/1", "Roofs", None), 2);
        assert!(named > page);
    }

    #[test]
    fn agreement_raises_consistency_and_dissent_lowers_it() {
        assert_eq!(consistency_score(0, 0), 0.5);
        assert!(consistency_score(2, 0) > consistency_score(1, 0));
        assert!(consistency_score(0, 1) < 0.5);
        assert_eq!(consistency_score(3, 3), 0.5);
    }

    #[test]
    fn recency_halves_in_five_years_and_never_grows_beyond_one() {
        assert!((recency_score(Some("2020-03-01"), "2025-03-01") - 0.5).abs() < 1e-3);
        assert_eq!(recency_score(Some("2027-01-01"), "2025-03-01"), 1.0);
        assert_eq!(recency_score(None, "2025-03-01"), UNDATED_RECENCY);
        assert_eq!(recency_score(Some("unknown"), "2025-03-01"), UNDATED_RECENCY);
    }

    #[test]
    fn a_named_author_with_a_body_behind_counts_more_than_nobody() {
        let by = |author: Option<&str>| {
            let mut it = source(1, SourceKind::Web, "https://roofs.example/1", "Roofs", None);
            it.work.authors = author.map(str::to_owned).into_iter().collect();
            expertise_score(&it)
        };
        assert!(by(Some("Technical Committee 12")) > by(Some("Ines Vartanian")));
        assert!(by(Some("Ines Vartanian")) > by(None));
        assert_eq!(by(Some(" ")), by(None));
        let mut own = source(1, SourceKind::Web, "https://roofs.example/1", "Roofs", None);
        own.author = Some("Dr. A. Body, World Health Organization".to_owned());
        assert_eq!(expertise_score(&own), by(None), "a page's own word");
    }

    #[test]
    fn a_text_that_two_sites_print_is_one_work_and_no_agreement() {
        let at = |nth, host: &str, title: &str| {
            let mut it = source(nth, SourceKind::Web, &format!("https://{host}/1"), title, None);
            it.domain = host.to_owned();
            it
        };
        let first = at(1, "one.example", "Roofs that keep the rain");
        assert!(!is_independent(&first, &at(2, "two.example", "Roofs That Keep the Rain")));
        assert!(!is_independent(&first, &at(3, "one.example", "Another text of the site")));
        assert!(is_independent(&first, &at(4, "two.example", "Another text of a site")));
    }
}
