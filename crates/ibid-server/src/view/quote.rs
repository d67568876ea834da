//! A quote in its page: the claim, the quoted words, the exact position.
use askama::Template;

use super::live::RunHeader;
use super::shell::PageLayout;
use ibid_core::domain::{BlockKind, Claim, Page, Passage, Report};
use ibid_report::escape::{single_line, strip_controls, web_url};
use ibid_report::html::{SourceCard, live_url, passage_location, source, url_file_name};
use ibid_report::{PagesByHash, json as records};

/// Maximum number of bytes of a page shown on each side of the quote.
const CONTEXT_BYTES: usize = 150_000;

/// A sentence of the report that cites the quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitingSentence {
    /// The sentence.
    pub text: String,
    /// Whether its quotes contain each of its numbers.
    pub numbers: bool,
}

/// A line of the stored page, split at the quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLine {
    /// The CSS class of its block.
    pub class: &'static str,
    /// Text before.
    pub before: String,
    /// The quoted text.
    pub marked: String,
    /// Text after.
    pub after: String,
    /// Whether the quote begins here.
    pub first: bool,
}

/// The page.
#[derive(Template)]
#[template(path = "quote.html")]
pub struct QuotePage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// The number of the quote, from 1.
    pub k: usize,
    /// The total number.
    pub of: usize,
    /// The sentences that cite it.
    pub said: Vec<CitingSentence>,
    /// The quoted text.
    pub words: String,
    /// The source.
    pub card: SourceCard,
    /// The position in the source.
    pub place: String,
    /// The address of the web page, scrolled to the quote.
    pub live: Option<String>,
    /// The checks: whether each holds (`None` if unknown), and its text.
    pub checks: Vec<(Option<bool>, String)>,
    /// The lines of the stored page; empty if it is no longer stored.
    pub pieces: Vec<PageLine>,
    /// Whether text before and after was cut.
    pub cut: (bool, bool),
    /// The hash of the stored page.
    pub hash: String,
    /// The address or file it was read from.
    pub read_at: String,
}

impl QuotePage {
    /// The page of the `k`-th quote of a report, from 1; `None` if there is no such quote.
    pub fn new(
        shell: PageLayout,
        head: RunHeader,
        report: &Report,
        pages: &PagesByHash,
        k: usize,
    ) -> Option<QuotePage> {
        let all = report.cited_passages();
        let (n, passage) = *all.get(k.checked_sub(1)?)?;
        let work = source(report, n)?;
        let page = pages.get(passage.page());
        let rests =
            |claim: &&Claim| claim.citations().iter().any(|citation| citation.passage == *passage);
        let mut said: Vec<CitingSentence> = Vec::new();
        for it in report.claims().filter(rests) {
            let found = CitingSentence {
                text: single_line(it.text()),
                numbers: records::numbers_in_quotes(it),
            };
            if !said.contains(&found) {
                said.push(found);
            }
        }
        if said.is_empty()
            && let Some(answer) = &report.answer
        {
            said.push(CitingSentence { text: single_line(&answer.text), numbers: true });
        }
        let (pieces, cut) = page.map_or_else(Default::default, |it| page_lines(it, passage));
        Some(QuotePage {
            shell,
            head,
            k,
            of: all.len(),
            checks: checks(passage, page, &said),
            said,
            words: strip_controls(passage.text().expose()),
            card: SourceCard::from_report(report, n as usize)?,
            place: passage_location(passage, pages),
            live: live_url(work, passage),
            pieces,
            cut,
            hash: passage.page().to_string(),
            read_at: page.map_or_else(String::new, |it| match (&it.file, web_url(&it.url)) {
                (Some(file), _) => url_file_name(file),
                (None, Some(url)) => single_line(&url),
                (None, None) => url_file_name(&it.url),
            }),
        })
    }

    fn next(&self) -> Option<usize> {
        (self.k < self.of).then_some(self.k + 1)
    }

    fn before(&self) -> Option<usize> {
        (self.k > 1).then_some(self.k - 1)
    }
}

fn checks(
    passage: &Passage,
    page: Option<&Page>,
    said: &[CitingSentence],
) -> Vec<(Option<bool>, String)> {
    let numbers = said.iter().all(|sentence| sentence.numbers);
    let mut out = match page {
        None => {
            vec![(None, "The page is no longer stored, so the quote cannot be checked.".to_owned())]
        }
        Some(page) => {
            let at = passage.code_point_range(page);
            vec![
                (
                    Some(passage.is_found_in(page)),
                    format!(
                        "The stored page has exactly these words at characters {} to {}.",
                        at.start, at.end
                    ),
                ),
                (
                    Some(page.is_intact()),
                    "The stored page is unchanged: its text still matches its hash.".to_owned(),
                ),
            ]
        }
    };
    out.push((
        Some(numbers),
        match said.len() {
            1 => "Every number of the sentence is in its quotes.".to_owned(),
            n => format!("Every number of the {n} sentences is in their quotes."),
        },
    ));
    out
}

/// The lines of a page around a passage, and whether text before and after was cut.
fn page_lines(page: &Page, passage: &Passage) -> (Vec<PageLine>, (bool, bool)) {
    let text = page.text().expose();
    let words = passage.byte_range();
    let from = line_start(text, words.start.saturating_sub(CONTEXT_BYTES));
    let to = line_end(text, words.end.saturating_add(CONTEXT_BYTES));
    let mut out = Vec::new();
    let mut at = from;
    for row in text.get(from..to).unwrap_or_default().split('\n') {
        let (start, end) = (at, at + row.len());
        at = end + 1;
        if row.trim().is_empty() {
            continue;
        }
        let (first, last) = (words.start.clamp(start, end), words.end.clamp(start, end));
        let part = |from: usize, to: usize| strip_controls(text.get(from..to).unwrap_or_default());
        let marked = part(first, last);
        let (before, after) = if marked.is_empty() {
            (part(start, end), String::new())
        } else {
            (part(start, first), part(last, end))
        };
        out.push(PageLine {
            class: line_class(page, start),
            before,
            first: !marked.is_empty() && words.start >= start,
            marked,
            after,
        });
    }
    (out, (from > 0, to < text.len()))
}

fn line_start(text: &str, near: usize) -> usize {
    let near = text.floor_char_boundary(near);
    text[..near].rfind('\n').map_or(0, |it| it + 1)
}

fn line_end(text: &str, near: usize) -> usize {
    let near = text.ceil_char_boundary(near.min(text.len()));
    text[near..].find('\n').map_or(text.len(), |it| near + it)
}

fn line_class(page: &Page, start: usize) -> &'static str {
    let all = page.sentences();
    let at = all.partition_point(|it| (it.start as usize) < start);
    match all.get(at).map(|value| value.kind) {
        Some(BlockKind::Heading) => "heading",
        Some(BlockKind::ListItem) => "item",
        Some(BlockKind::TableRow | BlockKind::TableHeader) => "row",
        Some(BlockKind::Code) => "code",
        Some(BlockKind::Comment) => "comment",
        Some(BlockKind::Prose) | None => "prose",
    }
}
