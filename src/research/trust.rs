//! How far each source of a report can be relied on (rows B16, D11), and what that weighs where they
//! disagree. `docs/trust.md` tells it to readers.
//!
//! Nothing here decides what is read, cited or shown: it is an indication, made of what can be seen
//! from outside, and every part of it stands beside the sum.
use std::collections::{BTreeMap, BTreeSet};

use super::authority::authority;
use super::gathered::Gathered;
use super::unaided::choose::{TELLING_TITLE, same_work, voice};
use super::unaided::editions::is_newer_edition;
use super::unaided::lexicon::jaccard;
use crate::domain::words::{content_stems, numbers, tokens};
use crate::domain::{Conflict, Evidence, Side, Source, SourceId, SourceKind, Trust};

/// The shares of the parts (row D11).
const AUTHORITY: f32 = 0.4;
const CONSISTENCY: f32 = 0.3;
const EXPERTISE: f32 = 0.2;
const RECENCY: f32 = 0.1;
/// Years in which recency halves: about what half of the findings of a field last.
const HALF_LIFE: f32 = 5.0;
/// Recency of a source without a date.
const UNDATED: f32 = 0.25;
/// Likeness from which two sentences say the same.
const SAME: f32 = 0.5;

/// Gives each of `sources` its trust, as seen on the day `asked_on` (`YYYY-MM-DD`).
pub(crate) fn tell(
    sources: &mut [Source],
    gathered: &Gathered,
    conflicts: &[Conflict],
    asked_on: &str,
) {
    let all = &gathered.notes.sources;
    let named = named(all, gathered);
    let agreeing = agreeing(all, &gathered.notes.evidence);
    let against = disagreeing(sources, conflicts);
    for source in sources.iter_mut() {
        let count =
            |of: &BTreeMap<SourceId, BTreeSet<String>>| of.get(&source.id).map_or(0, BTreeSet::len);
        let authority = authority(source, count(&named));
        let consistency = consistency(count(&agreeing), count(&against));
        let expertise = expertise(source);
        let recency = recency(source.date.as_deref(), asked_on);
        let score = AUTHORITY * authority
            + CONSISTENCY * consistency
            + EXPERTISE * expertise
            + RECENCY * recency;
        source.trust = Some(Trust {
            score: rounded(score),
            authority: rounded(authority),
            consistency: rounded(consistency),
            expertise: rounded(expertise),
            recency: rounded(recency),
            replaced_by: all
                .iter()
                .find(|it| is_newer_edition(it, source))
                .map(|it| it.id),
        });
    }
}

/// Mean trust of the sources that carry evidence, as seen on the day `asked_on`; conflicts are not known before writing.
pub(crate) fn mean(gathered: &Gathered, asked_on: &str) -> f32 {
    let evidence = &gathered.notes.evidence;
    let carries = |it: &&Source| evidence.iter().any(|e| e.source == it.id);
    let mut sources: Vec<Source> = gathered
        .notes
        .sources
        .iter()
        .filter(carries)
        .cloned()
        .collect();
    tell(&mut sources, gathered, &[], asked_on);
    let scores = sources.iter().filter_map(|it| it.trust.as_ref());
    let sum: f32 = scores.map(|it| it.score).sum();
    sum / sources.len().max(1) as f32
}

/// Gives each side of each conflict its share of the trust of all sides. A work counts with its trust,
/// half of it for one that is not new at all, and a work that a newer edition replaces with half of that.
pub(crate) fn weigh(conflicts: &mut [Conflict], sources: &[Source]) {
    for conflict in conflicts {
        let trust: Vec<f32> = conflict
            .sides
            .iter()
            .map(|it| trust_of(it, sources))
            .collect();
        let sum: f32 = trust.iter().sum();
        for (side, trust) in conflict.sides.iter_mut().zip(&trust) {
            side.weight = if sum == 0.0 {
                0.0
            } else {
                rounded(trust / sum)
            };
        }
    }
}

fn trust_of(side: &Side, sources: &[Source]) -> f32 {
    let cited: BTreeSet<u32> = side.claim.citations().iter().map(|it| it.n).collect();
    let works = cited
        .iter()
        .filter_map(|n| sources.get((*n as usize).checked_sub(1)?));
    works
        .filter_map(|it| it.trust.as_ref())
        .map(|it| {
            let replaced = if it.replaced_by.is_some() { 0.5 } else { 1.0 };
            it.score * (0.5 + 0.5 * it.recency) * replaced
        })
        .sum()
}

/// Two digits: more would look like knowledge.
fn rounded(it: f32) -> f32 {
    (it.clamp(0.0, 1.0) * 100.0).round() / 100.0
}

/// The share of independent voices that say the same, with one imagined on each side.
fn consistency(agreeing: usize, against: usize) -> f32 {
    (1 + agreeing) as f32 / (2 + agreeing + against) as f32
}

/// Words in the name of an author that tell a title, a body or where somebody works.
const STANDING: &[&str] = &[
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

/// Who wrote it, as the record of a catalogue or an engine says: nobody named, one, or several; with a title or a body behind the
/// name; in a collection that asks for authors' affiliations. The author that a page names itself is shown and earns nothing.
fn expertise(source: &Source) -> f32 {
    let author = source.work.authors.join("; ");
    let author = author.trim_matches([' ', ';']);
    if author.is_empty() {
        return 0.3;
    }
    let several =
        author.contains([';', '&']) || author.contains(" and ") || author.matches(',').count() > 1;
    let standing = tokens(author)
        .iter()
        .any(|it| STANDING.contains(&it.text.as_str()));
    let reviewed = matches!(source.kind, SourceKind::Pubmed | SourceKind::Scholar);
    let plus = |yes: bool, much: f32| if yes { much } else { 0.0 };
    0.6 + plus(several, 0.1) + plus(standing, 0.2) + plus(reviewed, 0.2)
}

/// Halves every [`HALF_LIFE`] years.
fn recency(date: Option<&str>, asked_on: &str) -> f32 {
    let (Some(then), Some(now)) = (date.and_then(in_years), in_years(asked_on)) else {
        return UNDATED;
    };
    0.5_f32.powf((now - then).max(0.0) / HALF_LIFE)
}

/// A date as years: `2020-07-01` is 2020.5; a year alone counts from its middle.
fn in_years(date: &str) -> Option<f32> {
    let mut parts = date.split('-');
    let year: f32 = parts.next()?.parse().ok()?;
    let month = parts
        .next()
        .and_then(|it| it.parse::<f32>().ok())
        .unwrap_or(7.0);
    Some(year + (month - 1.0) / 12.0)
}

/// The voices of the run that name each source by its title or address: the links that can be seen
/// between pages whose markup is gone.
fn named(sources: &[Source], gathered: &Gathered) -> BTreeMap<SourceId, BTreeSet<String>> {
    let texts: Vec<(&Source, String)> = sources
        .iter()
        .filter_map(|it| {
            let page = gathered.shelf.pages().get(&it.page)?;
            Some((it, page.text().expose().to_lowercase()))
        })
        .collect();
    let mut found: BTreeMap<SourceId, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let title = source.title.to_lowercase();
        let own = tokens(&title).len() >= TELLING_TITLE;
        let address = source
            .url
            .split_once("://")
            .map(|it| it.1.trim_end_matches('/').to_lowercase());
        let address = address.filter(|it| it.contains('/') && source.url.starts_with("http"));
        for (by, text) in &texts {
            let names = own && text.contains(&title)
                || address.as_ref().is_some_and(|it| text.contains(it));
            if names && independent(by, source) {
                found
                    .entry(source.id)
                    .or_default()
                    .insert(voice(by).to_owned());
            }
        }
    }
    found
}

/// Whether two sources are two works by two voices: the same text at two addresses is one work.
fn independent(one: &Source, other: &Source) -> bool {
    let known = !voice(one).is_empty() && !voice(other).is_empty();
    known && voice(one) != voice(other) && !same_work(one, other)
}

/// For each source the independent voices with a sentence that says the same as one of its own.
fn agreeing(sources: &[Source], evidence: &[Evidence]) -> BTreeMap<SourceId, BTreeSet<String>> {
    let by_id: BTreeMap<SourceId, &Source> = sources.iter().map(|it| (it.id, it)).collect();
    let mut vocabulary: BTreeMap<String, u32> = BTreeMap::new();
    let said: Vec<(&Source, Vec<u32>, Vec<f64>)> = evidence
        .iter()
        .filter_map(|it| {
            let mut ids: Vec<u32> = content_stems(&it.claim)
                .into_iter()
                .map(|stem| {
                    let next = vocabulary.len() as u32;
                    *vocabulary.entry(stem).or_insert(next)
                })
                .collect();
            ids.sort_unstable();
            ids.dedup();
            let values = numbers(&it.claim).into_iter().map(|it| it.value).collect();
            Some((*by_id.get(&it.source)?, ids, values))
        })
        .collect();
    let mut found: BTreeMap<SourceId, BTreeSet<String>> = BTreeMap::new();
    for (one, ids, values) in &said {
        for (other, other_ids, other_values) in &said {
            let figures = values.iter().all(|it| other_values.contains(it));
            if figures && independent(one, other) && jaccard(ids, other_ids) >= SAME {
                found
                    .entry(one.id)
                    .or_default()
                    .insert(voice(other).to_owned());
            }
        }
    }
    found
}

/// For each source the voices that stand on another side of a conflict.
fn disagreeing(sources: &[Source], conflicts: &[Conflict]) -> BTreeMap<SourceId, BTreeSet<String>> {
    let on = |side: &Side| -> Vec<&Source> {
        let cited = side.claim.citations().iter();
        cited
            .filter_map(|it| sources.get((it.n as usize).checked_sub(1)?))
            .collect()
    };
    let mut found: BTreeMap<SourceId, BTreeSet<String>> = BTreeMap::new();
    for conflict in conflicts {
        for (nth, side) in conflict.sides.iter().enumerate() {
            for (_, other) in conflict.sides.iter().enumerate().filter(|it| it.0 != nth) {
                for source in on(side) {
                    let voices = on(other).into_iter().filter(|it| it.id != source.id);
                    found
                        .entry(source.id)
                        .or_default()
                        .extend(voices.map(|it| voice(it).to_owned()));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Page, PageDraft};

    fn source(nth: u32, kind: SourceKind, url: &str, title: &str, date: Option<&str>) -> Source {
        let page = Page::new(PageDraft {
            url: url.to_owned(),
            title: title.to_owned(),
            date: date.map(str::to_owned),
            ..PageDraft::default()
        });
        Source::of(
            SourceId::new(nth),
            kind,
            &page,
            Some("roofs.example".to_owned()),
        )
    }

    #[test]
    fn a_reviewed_work_has_more_authority_than_a_page_and_a_page_more_than_a_forum() {
        let at = |kind, url: &str| authority(&source(1, kind, url, "Roofs", None), 0);
        let reviewed = at(SourceKind::Pubmed, "https://example.com/1");
        let public = at(SourceKind::Web, "https://data.roofs.gov/1");
        let page = at(SourceKind::Web, "https://roofs.example/1");
        let forum = at(SourceKind::Web, "https://forum.roofs.example/1");
        assert!(reviewed > public && public > page && page > forum);
        let named = authority(
            &source(1, SourceKind::Web, "https://roofs.example/1", "Roofs", None),
            2,
        );
        assert!(named > page);
    }

    #[test]
    fn agreement_raises_consistency_and_dissent_lowers_it() {
        assert_eq!(consistency(0, 0), 0.5);
        assert!(consistency(2, 0) > consistency(1, 0));
        assert!(consistency(0, 1) < 0.5);
        assert_eq!(consistency(3, 3), 0.5);
    }

    #[test]
    fn recency_halves_in_five_years_and_never_grows_beyond_one() {
        assert!((recency(Some("2020-03-01"), "2025-03-01") - 0.5).abs() < 1e-3);
        assert_eq!(recency(Some("2027-01-01"), "2025-03-01"), 1.0);
        assert_eq!(recency(None, "2025-03-01"), UNDATED);
        assert_eq!(recency(Some("unknown"), "2025-03-01"), UNDATED);
    }

    #[test]
    fn a_named_author_with_a_body_behind_counts_more_than_nobody() {
        let by = |author: Option<&str>| {
            let mut it = source(1, SourceKind::Web, "https://roofs.example/1", "Roofs", None);
            it.work.authors = author.map(str::to_owned).into_iter().collect();
            expertise(&it)
        };
        assert!(by(Some("Technical Committee 12")) > by(Some("Ines Vartanian")));
        assert!(by(Some("Ines Vartanian")) > by(None));
        assert_eq!(by(Some(" ")), by(None));
        let mut own = source(1, SourceKind::Web, "https://roofs.example/1", "Roofs", None);
        own.author = Some("Dr. A. Body, World Health Organization".to_owned());
        assert_eq!(expertise(&own), by(None), "a page's own word");
    }

    #[test]
    fn a_text_that_two_sites_print_is_one_work_and_no_agreement() {
        let at = |nth, host: &str, title: &str| {
            let mut it = source(
                nth,
                SourceKind::Web,
                &format!("https://{host}/1"),
                title,
                None,
            );
            it.domain = host.to_owned();
            it
        };
        let first = at(1, "one.example", "Roofs that keep the rain");
        assert!(!independent(
            &first,
            &at(2, "two.example", "Roofs That Keep the Rain")
        ));
        assert!(!independent(
            &first,
            &at(3, "one.example", "Another text of the site")
        ));
        assert!(independent(
            &first,
            &at(4, "two.example", "Another text of a site")
        ));
    }
}
