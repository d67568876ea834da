//! Editions of one work: a superseded one does not lead a report.
use crate::thresholds::MIN_EDITION_TITLE_SIMILARITY;
use std::collections::BTreeSet;

use crate::authority::authority;

use super::claim_clusters::{MIN_TITLE_CONTENT_WORDS, independent_source};
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{Source, SourceId};

/// The sources superseded by a later edition among them, or by their own words, except an edition that `question` names by its
/// number.
pub(crate) fn superseded_sources(sources: &[Source], question: &str) -> BTreeSet<SourceId> {
    let asked = numbers_in(question);
    let older = |source: &&Source| {
        let named = numbers_in(&source.title).iter().any(|it| asked.contains(it));
        !named && (source.superseded || sources.iter().any(|newer| is_newer_edition(newer, source)))
    };
    sources.iter().filter(older).map(|source| source.id).collect()
}

fn numbers_in(text: &str) -> BTreeSet<String> {
    let digits = |word: &String| word.chars().all(|c| c.is_ascii_digit());
    content_stems(text).into_iter().filter(digits).collect()
}

/// Whether `newer` is a later edition of `older`: titles alike except for numbers, a later date, and the same independent source, or one of
/// no less authority that says which edition it replaces.
pub(crate) fn is_newer_edition(newer: &Source, older: &Source) -> bool {
    // What costs little rules out nearly all pairs.
    if newer.key() == older.key()
        || older.date.is_none()
        || newer.date <= older.date
        || independent_source(newer) != independent_source(older) && !says_it_replaces(newer, older)
    {
        return false;
    }
    let words = |it: &Source| -> (BTreeSet<String>, BTreeSet<String>) {
        let has_digits = |word: &String| word.chars().all(|c| c.is_ascii_digit());
        content_stems(&it.title).into_iter().partition(|word| !has_digits(word))
    };
    let ((one, numbers), (other, other_numbers)) = (words(newer), words(older));
    let shared = one.intersection(&other).count() as f32;
    let alike = shared / one.union(&other).count().max(1) as f32;
    one.len() >= MIN_TITLE_CONTENT_WORDS
        && alike >= MIN_EDITION_TITLE_SIMILARITY
        && !numbers.is_empty()
        && !other_numbers.is_empty()
        && numbers != other_numbers
}

/// Whether `newer` says that it replaces the edition of `older`, and is published in no lesser place.
fn says_it_replaces(newer: &Source, older: &Source) -> bool {
    let numbers = numbers_in(&older.title);
    newer.replaces.iter().any(|it| numbers.contains(it))
        && authority(newer, 0) >= authority(older, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{Page, PageDraft, SourceKind};

    #[test]
    fn a_later_edition_replaces_an_earlier_one_and_nothing_else() {
        let of = |nth: u32, title: &str, date: &str| {
            let page = Page::new(PageDraft {
                url: format!("https://roofs.example/{nth}"),
                title: title.to_owned(),
                date: Some(date.to_owned()),
                ..PageDraft::default()
            });
            let domain = Some("roofs.example".to_owned());
            Source::from_page(SourceId::new(nth), SourceKind::Web, &page, domain)
        };
        let old = of(1, "Guideline for Planted Flat Roofs, edition 2011", "2011-06-01");
        let new = of(2, "Guideline for Planted Flat Roofs, edition 2023", "2023-11-15");
        let other = of(3, "Plants that survive three dry summers, 2023", "2023-12-01");
        let again = of(4, "Guideline for Planted Flat Roofs", "2024-01-01");
        assert!(is_newer_edition(&new, &old));
        for it in [&old, &other, &again] {
            assert!(!is_newer_edition(it, &new));
        }
        assert!(!is_newer_edition(&other, &old) && !is_newer_edition(&again, &old));
        // Elsewhere it must say so itself, and cannot replace the guideline of a public body.
        let elsewhere = Source { domain: "copies.example".to_owned(), ..new.clone() };
        assert!(!is_newer_edition(&elsewhere, &old));
        let said = Source { replaces: vec!["2011".to_owned()], ..elsewhere };
        assert!(is_newer_edition(&said, &old));
        let official = Source {
            domain: "roofs.gov".to_owned(),
            url: "https://roofs.gov/1".to_owned(),
            ..old.clone()
        };
        assert!(!is_newer_edition(&said, &official));
        let all = [old, new, other, again];
        let asked = |question| superseded_sources(&all, question).into_iter().collect::<Vec<_>>();
        assert_eq!(asked("How deep is the substrate?"), [SourceId::new(1)]);
        // A question that names an edition is about that edition.
        assert_eq!(asked("How deep was it in the edition of 2011?"), []);
    }
}
