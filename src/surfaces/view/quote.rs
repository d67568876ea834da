//! A quote beside the page it stands in: what is claimed, in which words, where exactly.
use askama::Template;

use super::Shell;
use super::live::Head;
use crate::domain::{BlockKind, Claim, Page, Passage, Report};
use crate::surfaces::export::escape::{line, shown, target};
use crate::surfaces::export::html::{Card, leaf, live, place, source};
use crate::surfaces::export::{Pages, json as records, passages};

/// Bytes of a page shown on each side of the words at most.
const AROUND: usize = 150_000;

/// A sentence of the report that rests on the quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The sentence.
    pub text: String,
    /// Whether each of its numbers stands in its quotes.
    pub numbers: bool,
}

/// A line of the stored page: what is before the words, the words, what is after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What kind of block it is, as a class.
    pub class: &'static str,
    /// Text before.
    pub before: String,
    /// The words themselves.
    pub marked: String,
    /// Text after.
    pub after: String,
    /// Whether the words begin here.
    pub first: bool,
}

/// The page.
#[derive(Template)]
#[template(path = "quote.html")]
pub struct QuotePage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// Which quote, from 1.
    pub k: usize,
    /// Of how many.
    pub of: usize,
    /// What rests on it.
    pub said: Vec<Said>,
    /// The words.
    pub words: String,
    /// The work.
    pub card: Card,
    /// Where in the work.
    pub place: String,
    /// The web page at these words.
    pub live: Option<String>,
    /// Checks: whether each holds (`None`: cannot be told), what was looked at.
    pub checks: Vec<(Option<bool>, String)>,
    /// The stored page, piece by piece; empty where it is gone.
    pub pieces: Vec<Piece>,
    /// Whether the page goes on before and after what is shown.
    pub cut: (bool, bool),
    /// The hash of the stored page.
    pub hash: String,
    /// Where it was read.
    pub read_at: String,
}

impl QuotePage {
    /// The `k`-th quote of a report, from 1; `None` where there is none.
    pub fn of(
        shell: Shell,
        head: Head,
        report: &Report,
        pages: &Pages,
        k: usize,
    ) -> Option<QuotePage> {
        let all = passages(report);
        let (n, passage) = *all.get(k.checked_sub(1)?)?;
        let work = source(report, n)?;
        let page = pages.get(passage.page());
        let rests = |it: &&Claim| it.citations().iter().any(|it| it.passage == *passage);
        let mut said: Vec<Said> = Vec::new();
        for it in report.claims().filter(rests) {
            let found = Said {
                text: line(it.text()),
                numbers: records::numbers_in_quotes(it),
            };
            if !said.contains(&found) {
                said.push(found);
            }
        }
        if said.is_empty()
            && let Some(answer) = &report.answer
        {
            said.push(Said {
                text: line(&answer.text),
                numbers: true,
            });
        }
        let (pieces, cut) = page.map_or_else(Default::default, |it| pieces(it, passage));
        Some(QuotePage {
            shell,
            head,
            k,
            of: all.len(),
            checks: checks(passage, page, &said),
            said,
            words: shown(passage.text().expose()),
            card: Card::of(report, n as usize)?,
            place: place(passage, pages),
            live: live(work, passage),
            pieces,
            cut,
            hash: passage.page().to_string(),
            read_at: page.map_or_else(String::new, |it| match (&it.file, target(&it.url)) {
                (Some(file), _) => leaf(file),
                (None, Some(url)) => line(&url),
                (None, None) => leaf(&it.url),
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

fn checks(passage: &Passage, page: Option<&Page>, said: &[Said]) -> Vec<(Option<bool>, String)> {
    let numbers = said.iter().all(|it| it.numbers);
    let mut out = match page {
        None => vec![(
            None,
            "The stored page is no longer kept, so that its words cannot be looked up.".to_owned(),
        )],
        Some(page) => {
            let at = passage.code_points(page);
            vec![
                (
                    Some(passage.stands_in(page)),
                    format!("Exactly these words stand in the stored page, at characters {} to {}.", at.start, at.end),
                ),
                (
                    Some(page.is_untouched()),
                    "The stored page is the one that was read: its words still give the hash it is known by.".to_owned(),
                ),
            ]
        }
    };
    out.push((
        Some(numbers),
        match said.len() {
            1 => "Every number of the sentence stands in its quotes.".to_owned(),
            n => format!("Every number of the {n} sentences stands in their quotes."),
        },
    ));
    out
}

/// The lines of a page around the words of a passage, and whether more comes before or after.
fn pieces(page: &Page, passage: &Passage) -> (Vec<Piece>, (bool, bool)) {
    let text = page.text().expose();
    let words = passage.bytes();
    let from = line_start(text, words.start.saturating_sub(AROUND));
    let to = line_end(text, words.end.saturating_add(AROUND));
    let mut out = Vec::new();
    let mut at = from;
    for row in text.get(from..to).unwrap_or_default().split('\n') {
        let (start, end) = (at, at + row.len());
        at = end + 1;
        if row.trim().is_empty() {
            continue;
        }
        let (first, last) = (words.start.clamp(start, end), words.end.clamp(start, end));
        let part = |from: usize, to: usize| shown(text.get(from..to).unwrap_or_default());
        let marked = part(first, last);
        let (before, after) = match marked.is_empty() {
            true => (part(start, end), String::new()),
            false => (part(start, first), part(last, end)),
        };
        out.push(Piece {
            class: class(page, start),
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

fn class(page: &Page, start: usize) -> &'static str {
    let all = page.sentences();
    let at = all.partition_point(|it| (it.start as usize) < start);
    match all.get(at).map(|it| it.kind) {
        Some(BlockKind::Heading) => "heading",
        Some(BlockKind::ListItem) => "item",
        Some(BlockKind::TableRow) => "row",
        Some(BlockKind::Code) => "code",
        Some(BlockKind::Comment) => "comment",
        Some(BlockKind::Prose) | None => "prose",
    }
}
