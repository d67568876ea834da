//! The primary sources that pages name for what they say: a link or a DOI beside the sentence, or an entry of the page's list of
//! references.
use std::collections::BTreeSet;
use std::ops::Range;

use super::heuristic::lexicon::spaced;
use super::page_set::PageSet;
use super::prompts;
use super::prompts::PhraseSet;
use super::thresholds::MIN_ANSWERING_SCORE;
use ibid_core::Result;
use ibid_core::domain::words::is_stop_word;
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
/// Marks of a quote that are followed, and bytes of a mark.
const MAX_MARKS: usize = 10;
const MAX_MARK_BYTES: usize = 200;
/// Words with a capital that stand before a year in brackets and name nobody.
const NO_NAMES: [&str; 18] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Since",
    "Until",
    "From",
    "After",
    "Before",
    "About",
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
    let mut marks: Vec<ReferenceMark> = Vec::new();
    for mark in (first..=last).flat_map(|n| reference_marks(page.sentence(n))) {
        if marks.len() < MAX_MARKS && !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    if !marks.is_empty() {
        let entries = reference_entries(page, last);
        found.extend(marks.iter().filter_map(|mark| reference_address(page, &entries, mark)));
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
        let rest = &text[at + 1..];
        let rest = &rest[..rest.floor_char_boundary(MAX_MARK_BYTES.min(rest.len()))];
        let Some((inside, _)) = rest.split_once(close) else {
            continue;
        };
        if open == "[" {
            let numbers = inside.split([',', ';']).flat_map(reference_numbers);
            marks.extend(numbers.map(ReferenceMark::Number));
            continue;
        }
        marks.extend(inside.split(';').filter_map(author_and_year));
    }
    marks
}

/// "3" or "3-5": the numbers of references, at most [`MAX_MARKS`].
fn reference_numbers(text: &str) -> impl Iterator<Item = u32> {
    let (first, last) = text.split_once(['–', '-']).unwrap_or((text, text));
    let parse = |it: &str| it.trim().parse::<u32>().ok();
    let range = parse(first).zip(parse(last)).map(|(first, last)| first..=last);
    range.into_iter().flatten().take(MAX_MARKS)
}

/// "Smith, 2021", "Smith et al., 2021a" and "Smith and Oak 2021": the first name and the year. "January 2021", "since 2019" and "the
/// 2021 study" name nobody.
fn author_and_year(text: &str) -> Option<ReferenceMark> {
    let text = text.trim();
    let (name, rest) = text.split_once([' ', ','])?;
    let is_name = name.len() > 2
        && name.starts_with(char::is_uppercase)
        && !NO_NAMES.contains(&name)
        && !is_stop_word(&name.to_lowercase());
    let rest = rest.trim_start_matches([' ', ',']);
    let (others, year) = match rest.rsplit_once([' ', ',']) {
        Some((others, year)) => (others.trim_end_matches([' ', ',']), year),
        None => ("", rest),
    };
    let others_fit =
        others.is_empty() || ["et al", "and ", "& "].iter().any(|it| others.starts_with(it));
    let digits = year.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let is_year = digits.len() == 4
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.starts_with("19") || digits.starts_with("20"));
    (is_name && others_fit && is_year)
        .then(|| ReferenceMark::AuthorYear(name.to_owned(), digits.to_owned()))
}

/// The short blocks of a page below sentence `after`: an entry of a list of references is a block of its own, and its parts may be
/// sentences.
fn reference_entries(page: &Page, after: usize) -> Vec<Range<usize>> {
    let sentences = page.sentences();
    let mut entries: Vec<Range<usize>> = Vec::new();
    for n in after + 1..sentences.len() {
        let begins = sentences[n - 1].block != sentences[n].block;
        match entries.last_mut() {
            Some(last) if !begins && last.end == n => last.end += 1,
            _ if begins => entries.push(n..n + 1),
            _ => {}
        }
    }
    entries.retain(|entry| page.bytes_of(entry).len() <= MAX_REFERENCE_BYTES);
    entries
}

/// The address in the entry of a list of references that a mark means.
fn reference_address(
    page: &Page,
    entries: &[Range<usize>],
    mark: &ReferenceMark,
) -> Option<String> {
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
    entries.iter().find_map(|entry| {
        let text = page.text().expose().get(page.bytes_of(entry))?;
        if !is_entry(text.trim_start()) {
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
            "Roofs hold 63 % of rain (Smith et al., 2021; Oak, 1998). Others hold less [2-3].";
        assert_eq!(
            reference_marks(text),
            [
                ReferenceMark::AuthorYear("Smith".to_owned(), "2021".to_owned()),
                ReferenceMark::AuthorYear("Oak".to_owned(), "1998".to_owned()),
                ReferenceMark::Number(2),
                ReferenceMark::Number(3),
            ]
        );
        for none in
            ["(January 2021)", "(Since 2019)", "(The 2021 study of roofs)", "(Roof 63 of 2021 a)"]
        {
            assert_eq!(reference_marks(none), [], "{none}");
        }
        assert_eq!(reference_marks(&"(".repeat(100_000)), []);
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
        let of = |nth: usize| {
            reference_address(&page, &reference_entries(&page, 1), &reference_marks(text)[nth])
        };
        assert_eq!(of(0).as_deref(), Some("https://doi.org/10.1234/roofs.63"));
        assert_eq!(of(1), None);
        assert_eq!(of(3).as_deref(), Some("https://doi.org/10.1234/less"));
    }
}
