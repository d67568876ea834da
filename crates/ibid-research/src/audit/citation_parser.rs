//! Splits a text into claims and the sources that each of them cites.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::address::page_key;
use super::blocks::{MarkdownKind, parse_blocks};
use super::citation_labels::CitationTarget;
use super::citation_marks::find_citations;
use super::clean_text::{CleanText, PlacedCitation};
use super::source_list::{MarkedBlock, SourceEntry, source_entries};
use ibid_core::domain::split_sentences;

/// Words that stand for themselves; fewer belong to what precedes them.
const MIN_CLAIM_WORDS: usize = 4;
/// Bytes of a sentence to look back over, for a citation with too few words before it.
const LOOKBACK_BYTES: usize = 1_000;
/// Headings of table columns that state no facts.
const NON_CLAIM_COLUMNS: &[&str] = &[
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
pub struct CitedText {
    /// The statements with a citation, in order.
    pub claims: Vec<CitedClaim>,
    /// What it cites or lists, by number.
    pub sources: Vec<CitedSource>,
    /// Sentences without a citation, outside of tables.
    pub uncited: Vec<UncitedSentence>,
}

/// A sentence, or a part of one, with its citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedClaim {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its text without the citations.
    pub text: String,
    /// Indices of the cited sources in [`CitedText::sources`], each once.
    pub sources: Vec<usize>,
}

/// A sentence without a citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncitedSentence {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// A source as the text describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CitedSource {
    /// Its number; the one it has in the text, where it has one.
    pub n: u32,
    /// Its label in the text: a number or the name of its footnote.
    pub label: Option<String>,
    /// Its address or path, if it has one.
    pub address: Option<String>,
    /// The file it was read from, where the text says so.
    pub path: Option<String>,
    /// What it is called there.
    pub title: Option<String>,
    /// Everything that the list says about it.
    pub text: String,
    /// Whether it is in a list or footnote.
    pub listed: bool,
    /// Whether a claim cites it.
    pub cited: bool,
    /// Its line in the file, from 1.
    pub line: usize,
}

impl CitedSource {
    /// Whether it is a number that no list explains.
    pub fn is_unexplained(&self) -> bool {
        !self.listed && self.address.is_none()
    }
}

/// Parses a Markdown text.
pub fn parse_citations(text: &str) -> CitedText {
    let (blocks, defined) = parse_blocks(text);
    let blocks: Vec<MarkedBlock> = blocks
        .into_iter()
        .map(|block| MarkedBlock { marks: find_citations(&block), block })
        .collect();
    let (entries, listed) = source_entries(&blocks, &defined);
    let mut reading = CitationParser::new(text, entries);
    let mut head: Vec<String> = Vec::new();
    for (it, of_list) in blocks.iter().zip(listed) {
        match it.block.kind {
            _ if of_list => {}
            MarkdownKind::Heading(_) | MarkdownKind::Note(_) => {}
            MarkdownKind::Row { head: true } => head = cells(it),
            MarkdownKind::Row { head: false } => reading.read_row(it, &head),
            MarkdownKind::Prose | MarkdownKind::Item(_) => reading.read_block(it),
        }
    }
    reading.finish()
}

/// The text of each cell of a table head.
fn cells(it: &MarkedBlock) -> Vec<String> {
    let words = |range: &Range<usize>| it.block.text[range.clone()].trim().to_lowercase();
    it.block.cells.iter().map(words).collect()
}

struct CitationParser {
    /// The byte offset of each line.
    lines: Vec<usize>,
    labels: BTreeMap<String, usize>,
    addresses: BTreeMap<String, usize>,
    /// Footnotes that only quote a source cited beside them.
    notes: BTreeSet<usize>,
    /// The sources of the last claim.
    of_last: BTreeSet<usize>,
    out: CitedText,
}

impl CitationParser {
    fn new(text: &str, entries: Vec<SourceEntry>) -> CitationParser {
        let mut it = CitationParser {
            lines: std::iter::once(0)
                .chain(text.match_indices('\n').map(|match_index| match_index.0 + 1))
                .collect(),
            labels: BTreeMap::new(),
            addresses: BTreeMap::new(),
            notes: BTreeSet::new(),
            of_last: BTreeSet::new(),
            out: CitedText::default(),
        };
        for entry in entries {
            it.add_entry(entry);
        }
        it
    }

    fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|line| *line <= at)
    }

    fn add_entry(&mut self, entry: SourceEntry) {
        let nth = self.out.sources.len();
        let known = entry.label.as_ref().is_some_and(|label| self.labels.contains_key(label));
        let note = entry.label.as_ref().is_some_and(|label| label.starts_with('^'));
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
            self.addresses.entry(address_key(address)).or_insert(nth);
        }
        self.out.sources.push(CitedSource {
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

    /// The index of the source that a citation points to, which is added where no list has it. `None` if it
    /// is not a citation after all.
    fn source_for(&mut self, to: &CitationTarget, line: usize) -> Option<usize> {
        let found = match to {
            CitationTarget::Label(name) | CitationTarget::Guess(name) => {
                let bare = name.trim_start_matches('^');
                [name.as_str(), bare, &format!("^{bare}")]
                    .iter()
                    .find_map(|it| self.labels.get(*it).copied())
            }
            CitationTarget::Address(address) => self.addresses.get(&address_key(address)).copied(),
        };
        if found.is_some() {
            return found;
        }
        let fresh = match to {
            CitationTarget::Guess(_) => return None,
            CitationTarget::Label(name) => {
                self.labels.insert(name.clone(), self.out.sources.len());
                CitedSource { label: Some(name.clone()), ..CitedSource::default() }
            }
            CitationTarget::Address(address) => {
                if !is_document_address(address) {
                    return None;
                }
                self.addresses.insert(address_key(address), self.out.sources.len());
                CitedSource { address: Some(address.clone()), ..CitedSource::default() }
            }
        };
        self.out.sources.push(CitedSource { line, ..fresh });
        Some(self.out.sources.len() - 1)
    }

    /// The sources that citations point to, each once, without footnotes that only quote the source beside
    /// them.
    fn sources_for<'a>(
        &mut self,
        to: impl Iterator<Item = &'a CitationTarget>,
        line: usize,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for it in to {
            if let Some(nth) = self.source_for(it, line)
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

    fn add_claim(&mut self, text: &str, at: usize, marks: &[&PlacedCitation]) {
        let line = self.line(at);
        let text = strip_label(trim_claim(text));
        let sources = self.sources_for(marks.iter().flat_map(|mark| &mark.to), line);
        if text.is_empty() || sources.is_empty() {
            return;
        }
        match self.out.claims.last_mut() {
            Some(last) if last.line == line && last.text == text => {
                let of_last = &mut self.of_last;
                let more = sources.into_iter().filter(|source| of_last.insert(*source));
                last.sources.extend(more);
            }
            _ => {
                self.of_last = sources.iter().copied().collect();
                self.out.claims.push(CitedClaim { line, text: text.to_owned(), sources });
            }
        }
    }

    /// Reads the sentences of running text or of a list item.
    fn read_block(&mut self, it: &MarkedBlock) {
        let clean = CleanText::from_block(&it.block, 0..it.block.text.len(), &it.marks);
        let spans = sentence_spans(&clean);
        let mut next = 0;
        for (nth, span) in spans.iter().enumerate() {
            let after = spans.get(nth + 1).map_or(usize::MAX, |span| span.start);
            let count = clean.marks[next..].iter().take_while(|mark| mark.at <= after).count();
            let marks = &clean.marks[next..next + count];
            next += count;
            let at = clean.file_offset(&it.block, span.start);
            let cites = marks.iter().any(|mark| !mark.to.is_empty());
            if cites {
                self.read_sentence(it, &clean, span, marks);
            } else if word_count(&clean.text[span.clone()]) >= MIN_CLAIM_WORDS {
                self.out.uncited.push(UncitedSentence {
                    line: self.line(at),
                    text: clean.text[span.clone()].to_owned(),
                });
            }
        }
    }

    /// Reads a sentence with citations: one claim for each place that has some, up to there.
    fn read_sentence(
        &mut self,
        it: &MarkedBlock,
        clean: &CleanText,
        span: &Range<usize>,
        marks: &[PlacedCitation],
    ) {
        let whole = &clean.text[span.clone()];
        let at = clean.file_offset(&it.block, span.start);
        let spoken = marks.iter().any(|mark| mark.words.is_some());
        if spoken {
            self.add_claim(whole, at, &marks.iter().collect::<Vec<_>>());
            return;
        }
        let mut from = span.start;
        let mut rest = marks;
        while let Some(first) = rest.first() {
            let upto = first.at.clamp(from, span.end);
            let count = adjacent_count(clean, rest);
            let (group, further) = rest.split_at(count);
            let group: Vec<&PlacedCitation> = group.iter().collect();
            let short = |range: &Range<usize>| range.len() <= LOOKBACK_BYTES;
            let enough =
                |range: &Range<usize>| word_count(&clean.text[range.clone()]) >= MIN_CLAIM_WORDS;
            let text = Some(from..upto)
                .filter(enough)
                .or_else(|| Some(span.start..upto).filter(short).filter(enough))
                .or_else(|| Some(span.clone()).filter(short))
                .unwrap_or(from..upto);
            let at = clean.file_offset(&it.block, text.start);
            self.add_claim(&clean.text[text], at, &group);
            from = upto;
            rest = further;
        }
    }

    /// Reads a table row: its cells are one claim, without those that only count, rate or name a source.
    fn read_row(&mut self, it: &MarkedBlock, head: &[String]) {
        let mut text: Vec<String> = Vec::new();
        let mut marks: Vec<PlacedCitation> = Vec::new();
        for (nth, range) in it.block.cells.iter().enumerate() {
            let clean = CleanText::from_block(&it.block, range.clone(), &it.marks);
            let aside = head.get(nth).is_some_and(|value| {
                NON_CLAIM_COLUMNS.contains(&value.as_str()) || value.starts_with('#')
            });
            // A column without a name holds the names of the rows.
            let named = head.get(nth).is_some_and(|value| value.is_empty()) && nth == 0;
            let words = clean.text.trim();
            if !words.is_empty() && (!aside || named) {
                text.push(words.to_owned());
            }
            marks.extend(clean.marks);
        }
        if marks.iter().any(|mark| !mark.to.is_empty()) {
            self.add_claim(
                &text.join(", "),
                it.block.file_offset(0),
                &marks.iter().collect::<Vec<_>>(),
            );
        }
    }

    /// Numbers every source: its own number where it has one, or else the next free one.
    fn finish(mut self) -> CitedText {
        let own = |source: &CitedSource| -> Option<u32> {
            let label = source.label.as_deref()?;
            label.trim_start_matches('^').parse().ok()
        };
        let mut taken: BTreeSet<u32> = BTreeSet::new();
        for it in &mut self.out.sources {
            if let Some(n) = own(it).filter(|it| taken.insert(*it)) {
                it.n = n;
            }
        }
        let mut next = taken.last().copied().unwrap_or(0);
        for it in self.out.sources.iter_mut().filter(|source| source.n == 0) {
            next += 1;
            it.n = next;
        }
        // A footnote that quotes another entry is no source of its own.
        let notes = std::mem::take(&mut self.notes);
        let used: BTreeSet<usize> =
            self.out.claims.iter().flat_map(|claim| claim.sources.iter().copied()).collect();
        let drop: BTreeSet<usize> = notes.difference(&used).copied().collect();
        drop_sources(&mut self.out, &drop);
        self.out
    }
}

/// Removes sources that no claim uses.
fn drop_sources(cited: &mut CitedText, drop: &BTreeSet<usize>) {
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

/// A key that all spellings of one address share.
fn address_key(address: &str) -> String {
    page_key(address).unwrap_or_else(|| address.split('#').next().unwrap_or_default().to_owned())
}

/// Whether an address can lead to a document: a web address or a file.
fn is_document_address(address: &str) -> bool {
    let scheme = address
        .split_once(':')
        .map(|parts| parts.0.to_ascii_lowercase())
        .filter(|it| it.len() > 1 && it.bytes().all(|c| c.is_ascii_alphanumeric()));
    match scheme.as_deref() {
        Some("http" | "https" | "file") => true,
        Some(_) => false,
        None => !address.starts_with('#'),
    }
}

/// The sentences of clean text. One that consists of link texts alone joins the one before it: "… of rain.
/// [The survey](…)".
fn sentence_spans(clean: &CleanText) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for span in split_sentences(&clean.text) {
        let from = clean.marks.partition_point(|mark| mark.at <= span.start);
        let linked: usize = clean.marks[from..]
            .iter()
            .take_while(|mark| mark.at <= span.end)
            .filter_map(|mark| mark.words.as_ref())
            .filter(|words| words.start >= span.start)
            .map(|words| word_count(&clean.text[words.clone()]))
            .sum();
        match out.last_mut() {
            Some(last) if linked > 0 && linked >= word_count(&clean.text[span.clone()]) => {
                last.end = span.end;
            }
            _ => out.push(span),
        }
    }
    out
}

fn word_count(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// How many of the citations stand together without a word between them; at least one.
fn adjacent_count(clean: &CleanText, marks: &[PlacedCitation]) -> usize {
    let apart = marks.windows(2).position(|window| {
        let between = clean.text.get(window[0].at..window[1].at).unwrap_or_default();
        between.contains(char::is_alphanumeric)
    });
    apart.map_or(marks.len(), |it| it + 1)
}

/// A claim without the punctuation that its citation leaves at its ends.
fn trim_claim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ",;:·|–—-".contains(c))
}

/// Maximum number of words before a dash that label a quotation.
const MAX_LABEL_WORDS: usize = 8;

/// The quotation alone, of a claim that is one quotation behind a label (`no — "…"`): the label says whose
/// side it is on, and no source says that.
fn strip_label(text: &str) -> &str {
    let Some((label, rest)) = text.split_once(" — ").or_else(|| text.split_once(" – ")) else {
        return text;
    };
    let rest = rest.trim();
    let Some(open) = rest.chars().next().filter(|c| "\"“„«".contains(*c)) else {
        return text;
    };
    let close = match open {
        '“' => '”',
        '„' => '“',
        '«' => '»',
        it => it,
    };
    let inside = &rest[open.len_utf8()..];
    // A quotation of several sentences is split, so its end may be in a later one.
    let quoted = match inside.find(close) {
        None => inside,
        Some(end) if word_count(&inside[end..]) == 0 => &inside[..end],
        Some(_) => return text,
    };
    if word_count(label) <= MAX_LABEL_WORDS && word_count(quoted) > 0 {
        quoted.trim()
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
