//! The primary sources that pages name for what they say: a link or a DOI beside the sentence, or an entry of the page's list of
//! references.
use std::collections::BTreeSet;

use super::heuristic::lexicon::spaced;
use super::page_set::PageSet;
use super::prompts;
use super::prompts::PhraseSet;
use super::thresholds::MIN_ANSWERING_SCORE;
use ibid_core::Result;
use ibid_core::domain::work::{canonical_url, find_doi, registrable_domain};
use ibid_core::domain::{
    Evidence, EvidenceStore, ItemId, Page, Source, SourceId, SourceKind, Work, is_public,
};

/// Sites that pass on what others say, or only show it.
const PASSING_ON: &[&str] = &[
    "facebook.com",
    "google.com",
    "instagram.com",
    "linkedin.com",
    "pinterest.com",
    "reddit.com",
    "t.co",
    "tiktok.com",
    "twitter.com",
    "wikipedia.org",
    "x.com",
    "youtube.com",
];
/// Bytes of an entry of a list of references.
const MAX_REFERENCE_BYTES: usize = 600;

/// A primary source that a page names for evidence on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrimarySource {
    pub(crate) url: String,
    /// The source that names it.
    pub(crate) by: SourceId,
    /// The item that the evidence is for.
    pub(crate) item: ItemId,
}

/// The primary sources that secondary pages name for `evidence` which answers its item, best evidence first, each once. Pages
/// of folders lead nowhere, and neither do scholarly works and pages that are cited themselves.
pub(crate) fn cited_sources<'e>(
    notes: &EvidenceStore,
    pages: &PageSet,
    evidence: impl Iterator<Item = &'e Evidence>,
) -> Result<Vec<PrimarySource>> {
    let citing = &prompts::phrases()?.sentence.citing;
    let mut best: Vec<&Evidence> = evidence.filter(|it| it.score >= MIN_ANSWERING_SCORE).collect();
    best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    let mut known: BTreeSet<String> = notes.sources.iter().flat_map(source_keys).collect();
    let mut found = Vec::new();
    for it in best {
        let source = notes.source(it.source).filter(|source| is_secondary(source));
        let (Some(source), Some(item)) = (source, it.items.first()) else {
            continue;
        };
        let Some(page) = pages.page(source) else {
            continue;
        };
        for url in cited_addresses(page, it, citing) {
            let site = registrable_domain(&url);
            let passes_on = site.as_deref().is_none_or(|site| PASSING_ON.contains(&site));
            if passes_on
                || site == registrable_domain(&source.url)
                || !known.insert(address_key(&url))
            {
                continue;
            }
            found.push(PrimarySource { url, by: source.id, item: *item });
        }
    }
    Ok(found)
}

/// Whether a source may report what others found.
fn is_secondary(source: &Source) -> bool {
    is_public(source.kind)
        && matches!(source.kind, SourceKind::Web | SourceKind::News)
        && source.work.key().is_none()
        && source.cited_by.is_none()
}

/// The work at an address, or else the address in one form.
fn address_key(url: &str) -> String {
    Work::from_url(url).key().unwrap_or_else(|| canonical_url(url))
}

fn source_keys(source: &Source) -> Vec<String> {
    let mut keys = source.work.keys();
    keys.push(address_key(&source.url));
    keys
}

/// The addresses that a page gives for evidence on it, nearest first.
fn cited_addresses(page: &Page, evidence: &Evidence, citing: &PhraseSet) -> Vec<String> {
    let (first, last) = (evidence.passage.first(), evidence.passage.last());
    let block = page.sentences().get(first).map(|sentence| sentence.block);
    let beside = |n: &usize| page.sentences().get(*n).map(|sentence| sentence.block) == block;
    let around = [Some(last + 1), first.checked_sub(1)];
    let around = around.into_iter().flatten().filter(beside);
    let mut found = Vec::new();
    for n in (first..=last).chain(around) {
        let text = page.sentence(n);
        let cites = citing.any_in(&spaced(text));
        let of_work = |url: &&str| cites || Work::from_url(url).key().is_some();
        found.extend(page.links_in(n).filter(of_work).map(str::to_owned));
        found.extend(find_doi(text).map(|doi| format!("https://doi.org/{doi}")));
    }
    for n in first..=last {
        for mark in reference_marks(page.sentence(n)) {
            found.extend(reference_address(page, &mark, last));
        }
    }
    found
}

/// A mark in a sentence that leads to the list of references.
#[derive(Debug, PartialEq, Eq)]
enum ReferenceMark {
    /// `[3]`
    Number(u32),
    /// `(Smith et al., 2021)`: the first name and the year.
    AuthorYear(String, String),
}

/// The marks of a sentence, in order.
fn reference_marks(text: &str) -> Vec<ReferenceMark> {
    let mut marks = Vec::new();
    for (at, open) in text.match_indices(['[', '(']) {
        let close = if open == "[" { ']' } else { ')' };
        let Some(inside) = text[at + 1..].split(close).next() else {
            continue;
        };
        if open == "[" {
            let numbers = inside.split([',', ';', '–', '-']);
            marks
                .extend(numbers.filter_map(|it| it.trim().parse().ok()).map(ReferenceMark::Number));
            continue;
        }
        for part in inside.split(';') {
            let year = part
                .split(|c: char| !c.is_ascii_digit())
                .find(|run| run.len() == 4 && (run.starts_with("19") || run.starts_with("20")));
            let name = part.split_whitespace().next().map(|it| it.trim_end_matches(','));
            let name = name.filter(|it| it.starts_with(char::is_uppercase) && it.len() > 2);
            if let (Some(year), Some(name)) = (year, name) {
                marks.push(ReferenceMark::AuthorYear(name.to_owned(), year.to_owned()));
            }
        }
    }
    marks
}

/// The address in the entry of the list of references below sentence `after` that a mark means.
fn reference_address(page: &Page, mark: &ReferenceMark, after: usize) -> Option<String> {
    let is_entry = |text: &str| match mark {
        ReferenceMark::Number(number) => {
            [format!("[{number}]"), format!("{number}. "), format!("{number}) ")]
                .iter()
                .any(|start| text.starts_with(start.as_str()))
        }
        ReferenceMark::AuthorYear(name, year) => {
            text.starts_with(name.as_str()) && text.contains(year.as_str())
        }
    };
    let sentences = page.sentences();
    // An entry is a block of its own; its parts may be sentences.
    let starts = (after + 1..sentences.len())
        .filter(|n| sentences[*n - 1].block != sentences[*n].block || sentences[*n].start == 0);
    let mut entries = starts.map(|n| {
        let end = (n..sentences.len()).take_while(|it| sentences[*it].block == sentences[n].block);
        n..end.last().unwrap_or(n) + 1
    });
    entries.find_map(|entry| {
        let text = page.text().expose().get(page.bytes_of(&entry))?;
        if text.len() > MAX_REFERENCE_BYTES || !is_entry(text.trim_start()) {
            return None;
        }
        let doi = find_doi(text).map(|doi| format!("https://doi.org/{doi}"));
        doi.or_else(|| entry.clone().find_map(|n| page.links_in(n).next().map(str::to_owned)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{Block, BlockKind, PageDraft};

    #[test]
    fn a_mark_leads_to_its_entry_of_the_list_of_references() {
        let text =
            "Roofs hold 63 % of rain (Smith et al., 2021; Oak, 1998). Others hold less [2, 3].";
        assert_eq!(
            reference_marks(text),
            [
                ReferenceMark::AuthorYear("Smith".to_owned(), "2021".to_owned()),
                ReferenceMark::AuthorYear("Oak".to_owned(), "1998".to_owned()),
                ReferenceMark::Number(2),
                ReferenceMark::Number(3),
            ]
        );
        let block = |text: &str| Block::new(BlockKind::Prose, text);
        let page = Page::new(PageDraft {
            blocks: vec![
                block(text),
                block("Smith told us more in 2021."),
                block("Smith, A. (2021). Rain on roofs. Journal of Roofs. doi:10.1234/roofs.63"),
                block("3. Elm, B. Less rain. https://doi.org/10.1234/less"),
            ],
            ..PageDraft::default()
        });
        let of = |nth: usize| reference_address(&page, &reference_marks(text)[nth], 1);
        assert_eq!(of(0).as_deref(), Some("https://doi.org/10.1234/roofs.63"));
        assert_eq!(of(1), None);
        assert_eq!(of(3).as_deref(), Some("https://doi.org/10.1234/less"));
    }
}
