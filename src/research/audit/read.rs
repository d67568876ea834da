//! A text taken apart: what it claims, and what each claim points to.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::address::key;
use super::blocks::{Kind, blocks};
use super::clean::{Clean, Placed};
use super::list::{Entry, Marked, entries};
use super::marks::{To, marks};
use crate::domain::sentences;

/// Words that stand for themselves; fewer are part of what stands before them.
const WORDS: usize = 4;
/// Bytes of a sentence that may be looked back over for a citation with too few words before it.
const BACK: usize = 1_000;
/// Columns of tables that say nothing of the world.
const ASIDE: &[&str] = &[
    "",
    "#",
    "no",
    "no.",
    "nr",
    "nr.",
    "n",
    "source",
    "sources",
    "reference",
    "references",
    "ref",
    "refs",
    "citation",
    "citations",
    "cite",
    "confidence",
    "link",
    "links",
    "url",
    "quelle",
    "quellen",
];

/// A text with citations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cited {
    /// What it states with a citation, in order.
    pub claims: Vec<Stated>,
    /// What it cites or lists, by number.
    pub sources: Vec<Reference>,
    /// Sentences without a citation, outside of tables.
    pub uncited: Vec<Sentence>,
}

/// A sentence, or the part of one, that carries citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its words without the citations.
    pub text: String,
    /// What it cites, as places in [`Cited::sources`], each once.
    pub sources: Vec<usize>,
}

/// A sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its words.
    pub text: String,
}

/// A source as the text gives it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reference {
    /// Its number: the one it has in the text, where it has one.
    pub n: u32,
    /// What the text calls it: its number or the name of its footnote.
    pub label: Option<String>,
    /// Its address or path, if it has one.
    pub address: Option<String>,
    /// The file it was read from, where the text says so.
    pub path: Option<String>,
    /// What it is called there.
    pub title: Option<String>,
    /// All that the list says of it.
    pub text: String,
    /// Whether a list or footnote gives it.
    pub listed: bool,
    /// Whether a claim cites it.
    pub cited: bool,
    /// Its line in the file, from 1.
    pub line: usize,
}

impl Reference {
    /// Whether it is a number that no list explains.
    pub fn unexplained(&self) -> bool {
        !self.listed && self.address.is_none()
    }
}

/// Takes a Markdown text apart.
pub fn read(text: &str) -> Cited {
    let (blocks, defined) = blocks(text);
    let blocks: Vec<Marked> = blocks
        .into_iter()
        .map(|block| Marked {
            marks: marks(&block),
            block,
        })
        .collect();
    let (entries, listed) = entries(&blocks, &defined);
    let mut reading = Reading::new(text, entries);
    let mut head: Vec<String> = Vec::new();
    for (it, of_list) in blocks.iter().zip(listed) {
        match it.block.kind {
            _ if of_list => {}
            Kind::Heading(_) | Kind::Note(_) => {}
            Kind::Row { head: true } => head = cells(it),
            Kind::Row { head: false } => reading.row(it, &head),
            Kind::Prose | Kind::Item(_) => reading.block(it),
        }
    }
    reading.close()
}

/// The words of each cell of a head.
fn cells(it: &Marked) -> Vec<String> {
    let words = |range: &Range<usize>| it.block.text[range.clone()].trim().to_lowercase();
    it.block.cells.iter().map(words).collect()
}

struct Reading {
    /// Where each line begins.
    lines: Vec<usize>,
    labels: BTreeMap<String, usize>,
    addresses: BTreeMap<String, usize>,
    /// Footnotes that give the words of a source which stands beside them.
    notes: BTreeSet<usize>,
    /// The sources of the last claim.
    of_last: BTreeSet<usize>,
    out: Cited,
}

impl Reading {
    fn new(text: &str, entries: Vec<Entry>) -> Reading {
        let mut it = Reading {
            lines: std::iter::once(0)
                .chain(text.match_indices('\n').map(|it| it.0 + 1))
                .collect(),
            labels: BTreeMap::new(),
            addresses: BTreeMap::new(),
            notes: BTreeSet::new(),
            of_last: BTreeSet::new(),
            out: Cited::default(),
        };
        for entry in entries {
            it.list(entry);
        }
        it
    }

    fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|it| *it <= at)
    }

    fn list(&mut self, entry: Entry) {
        let nth = self.out.sources.len();
        let known = entry
            .label
            .as_ref()
            .is_some_and(|it| self.labels.contains_key(it));
        let note = entry.label.as_ref().is_some_and(|it| it.starts_with('^'));
        if note && entry.text.starts_with(['"', '“', '„', '«']) {
            self.notes.insert(nth);
        }
        if known && entry.address.is_none() {
            return;
        }
        if let Some(label) = &entry.label {
            self.labels.entry(label.clone()).or_insert(nth);
        }
        if let Some(address) = &entry.address {
            self.addresses.entry(same(address)).or_insert(nth);
        }
        self.out.sources.push(Reference {
            n: 0,
            label: entry.label,
            address: entry.address,
            path: entry.path,
            title: entry.title,
            text: entry.text,
            listed: true,
            cited: false,
            line: self.line(entry.at),
        });
    }

    /// The place of what a citation points to; a new one for what no list gives. `None` for what is no
    /// citation.
    fn source(&mut self, to: &To, line: usize) -> Option<usize> {
        let found = match to {
            To::Label(name) | To::Guess(name) => {
                let bare = name.trim_start_matches('^');
                [name.as_str(), bare, &format!("^{bare}")]
                    .iter()
                    .find_map(|it| self.labels.get(*it).copied())
            }
            To::Address(address) => self.addresses.get(&same(address)).copied(),
        };
        if found.is_some() {
            return found;
        }
        let fresh = match to {
            To::Guess(_) => return None,
            To::Label(name) => {
                self.labels.insert(name.clone(), self.out.sources.len());
                Reference {
                    label: Some(name.clone()),
                    ..Reference::default()
                }
            }
            To::Address(address) => {
                if !leads_to_words(address) {
                    return None;
                }
                self.addresses.insert(same(address), self.out.sources.len());
                Reference {
                    address: Some(address.clone()),
                    ..Reference::default()
                }
            }
        };
        self.out.sources.push(Reference { line, ..fresh });
        Some(self.out.sources.len() - 1)
    }

    /// What citations point to, each once; without footnotes that only quote what stands beside them.
    fn sources<'a>(&mut self, to: impl Iterator<Item = &'a To>, line: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for it in to {
            if let Some(nth) = self.source(it, line)
                && seen.insert(nth)
            {
                self.out.sources[nth].cited = true;
                found.push(nth);
            }
        }
        if found.iter().any(|it| !self.notes.contains(it)) {
            found.retain(|it| !self.notes.contains(it));
        }
        found
    }

    fn state(&mut self, text: &str, at: usize, marks: &[&Placed]) {
        let line = self.line(at);
        let text = unlabelled(tidy(text));
        let sources = self.sources(marks.iter().flat_map(|it| &it.to), line);
        if text.is_empty() || sources.is_empty() {
            return;
        }
        match self.out.claims.last_mut() {
            Some(last) if last.line == line && last.text == text => {
                let of_last = &mut self.of_last;
                let more = sources.into_iter().filter(|it| of_last.insert(*it));
                last.sources.extend(more);
            }
            _ => {
                self.of_last = sources.iter().copied().collect();
                self.out.claims.push(Stated {
                    line,
                    text: text.to_owned(),
                    sources,
                });
            }
        }
    }

    /// The sentences of running text or of an item.
    fn block(&mut self, it: &Marked) {
        let clean = Clean::of(&it.block, 0..it.block.text.len(), &it.marks);
        let spans = spans(&clean);
        let mut next = 0;
        for (nth, span) in spans.iter().enumerate() {
            let after = spans.get(nth + 1).map_or(usize::MAX, |it| it.start);
            let count = clean.marks[next..]
                .iter()
                .take_while(|it| it.at <= after)
                .count();
            let marks = &clean.marks[next..next + count];
            next += count;
            let at = clean.place(&it.block, span.start);
            let cites = marks.iter().any(|it| !it.to.is_empty());
            if cites {
                self.sentence(it, &clean, span, marks);
            } else if words(&clean.text[span.clone()]) >= WORDS {
                self.out.uncited.push(Sentence {
                    line: self.line(at),
                    text: clean.text[span.clone()].to_owned(),
                });
            }
        }
    }

    /// A sentence with citations: one claim for each place where some stand, up to there.
    fn sentence(&mut self, it: &Marked, clean: &Clean, span: &Range<usize>, marks: &[Placed]) {
        let whole = &clean.text[span.clone()];
        let at = clean.place(&it.block, span.start);
        let spoken = marks.iter().any(|it| it.words.is_some());
        if spoken {
            self.state(whole, at, &marks.iter().collect::<Vec<_>>());
            return;
        }
        let mut from = span.start;
        let mut rest = marks;
        while let Some(first) = rest.first() {
            let upto = first.at.clamp(from, span.end);
            let count = together(clean, rest);
            let (group, further) = rest.split_at(count);
            let group: Vec<&Placed> = group.iter().collect();
            let short = |it: &Range<usize>| it.len() <= BACK;
            let enough = |it: &Range<usize>| words(&clean.text[it.clone()]) >= WORDS;
            let text = Some(from..upto)
                .filter(enough)
                .or_else(|| Some(span.start..upto).filter(short).filter(enough))
                .or_else(|| Some(span.clone()).filter(short))
                .unwrap_or(from..upto);
            let at = clean.place(&it.block, text.start);
            self.state(&clean.text[text], at, &group);
            from = upto;
            rest = further;
        }
    }

    /// A row of a table: its cells are one claim, without those that only count, rate or name a source.
    fn row(&mut self, it: &Marked, head: &[String]) {
        let mut text: Vec<String> = Vec::new();
        let mut marks: Vec<Placed> = Vec::new();
        for (nth, range) in it.block.cells.iter().enumerate() {
            let clean = Clean::of(&it.block, range.clone(), &it.marks);
            let aside = head
                .get(nth)
                .is_some_and(|it| ASIDE.contains(&it.as_str()) || it.starts_with('#'));
            // A column without a name holds the names of the rows.
            let named = head.get(nth).is_some_and(|it| it.is_empty()) && nth == 0;
            let words = clean.text.trim();
            if !words.is_empty() && (!aside || named) {
                text.push(words.to_owned());
            }
            marks.extend(clean.marks);
        }
        if marks.iter().any(|it| !it.to.is_empty()) {
            self.state(
                &text.join(", "),
                it.block.place(0),
                &marks.iter().collect::<Vec<_>>(),
            );
        }
    }

    /// Gives every source its number: its own where it has one, else the next that nobody has.
    fn close(mut self) -> Cited {
        let own = |it: &Reference| -> Option<u32> {
            let label = it.label.as_deref()?;
            label.trim_start_matches('^').parse().ok()
        };
        let mut taken: BTreeSet<u32> = BTreeSet::new();
        for it in &mut self.out.sources {
            if let Some(n) = own(it).filter(|it| taken.insert(*it)) {
                it.n = n;
            }
        }
        let mut next = taken.last().copied().unwrap_or(0);
        for it in self.out.sources.iter_mut().filter(|it| it.n == 0) {
            next += 1;
            it.n = next;
        }
        // A footnote that quotes what another entry gives is no source of its own.
        let notes = std::mem::take(&mut self.notes);
        let used: BTreeSet<usize> = self
            .out
            .claims
            .iter()
            .flat_map(|it| it.sources.iter().copied())
            .collect();
        let drop: BTreeSet<usize> = notes.difference(&used).copied().collect();
        without(&mut self.out, &drop);
        self.out
    }
}

/// Takes sources out that no claim uses.
fn without(cited: &mut Cited, drop: &BTreeSet<usize>) {
    let mut places = Vec::with_capacity(cited.sources.len());
    let mut kept = Vec::new();
    for (nth, it) in std::mem::take(&mut cited.sources).into_iter().enumerate() {
        places.push(kept.len());
        if !drop.contains(&nth) {
            kept.push(it);
        }
    }
    cited.sources = kept;
    for claim in &mut cited.claims {
        for it in &mut claim.sources {
            *it = places[*it];
        }
    }
}

/// What two ways to write an address have in common.
fn same(address: &str) -> String {
    key(address).unwrap_or_else(|| address.split('#').next().unwrap_or_default().to_owned())
}

/// Whether an address can lead to a document: of the web, or a file.
fn leads_to_words(address: &str) -> bool {
    let scheme = address
        .split_once(':')
        .map(|it| it.0.to_ascii_lowercase())
        .filter(|it| it.len() > 1 && it.bytes().all(|c| c.is_ascii_alphanumeric()));
    match scheme.as_deref() {
        Some("http" | "https" | "file") => true,
        Some(_) => false,
        None => !address.starts_with('#'),
    }
}

/// The sentences of clean words. One that is nothing but the words of links goes with the one before
/// it: "… of rain. [The survey](…)".
fn spans(clean: &Clean) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for span in sentences(&clean.text) {
        let from = clean.marks.partition_point(|it| it.at <= span.start);
        let linked: usize = clean.marks[from..]
            .iter()
            .take_while(|it| it.at <= span.end)
            .filter_map(|it| it.words.as_ref())
            .filter(|it| it.start >= span.start)
            .map(|it| words(&clean.text[it.clone()]))
            .sum();
        match out.last_mut() {
            Some(last) if linked > 0 && linked >= words(&clean.text[span.clone()]) => {
                last.end = span.end;
            }
            _ => out.push(span),
        }
    }
    out
}

fn words(text: &str) -> usize {
    text.split_whitespace()
        .filter(|it| it.contains(char::is_alphanumeric))
        .count()
}

/// How many of the citations stand together, no word between them; at least one.
fn together(clean: &Clean, marks: &[Placed]) -> usize {
    let apart = marks.windows(2).position(|it| {
        let between = clean.text.get(it[0].at..it[1].at).unwrap_or_default();
        between.contains(char::is_alphanumeric)
    });
    apart.map_or(marks.len(), |it| it + 1)
}

/// A claim without what its citation leaves behind at its ends.
fn tidy(text: &str) -> &str {
    text.trim_matches(|it: char| it.is_whitespace() || ",;:·|–—-".contains(it))
}

/// Words that may stand before a dash as the name of what is quoted behind it.
const LABEL: usize = 8;

/// Of a claim that is one quotation behind a label, `no — "…"`, the quotation alone: the label says
/// whose side it is on, and no source says that.
fn unlabelled(text: &str) -> &str {
    let Some((label, rest)) = text.split_once(" — ").or_else(|| text.split_once(" – ")) else {
        return text;
    };
    let rest = rest.trim();
    let Some(open) = rest.chars().next().filter(|it| "\"“„«".contains(*it)) else {
        return text;
    };
    let close = match open {
        '“' => '”',
        '„' => '“',
        '«' => '»',
        it => it,
    };
    let inside = &rest[open.len_utf8()..];
    // A quotation of several sentences is cut into them, so its end may be in a later one.
    let quoted = match inside.find(close) {
        None => inside,
        Some(end) if words(&inside[end..]) == 0 => &inside[..end],
        Some(_) => return text,
    };
    match words(label) <= LABEL && words(quoted) > 0 {
        true => quoted.trim(),
        false => text,
    }
}

#[cfg(test)]
mod tests;
