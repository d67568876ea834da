//! The source lists and footnotes of a text.
use std::ops::Range;

use super::blocks::{LinkDefinition, MarkdownBlock, MarkdownKind};
use super::citation_labels::{CitationTarget, citation_label};
use super::citation_marks::CitationMark;

/// Headings of source lists, in lower case.
const TITLES: &[&str] = &[
    "sources",
    "references",
    "reference list",
    "bibliography",
    "works cited",
    "citations",
    "cited sources",
    "sources cited",
    "source list",
    "list of sources",
    "footnotes",
    "endnotes",
    "notes",
    "further reading",
    "links",
    "quellen",
    "quellenverzeichnis",
    "literatur",
    "literaturverzeichnis",
    "références",
    "bibliographie",
    "sources et références",
    "fuentes",
    "referencias",
    "bibliografía",
];
/// Maximum length of a title kept, in characters.
const MAX_TITLE_CHARS: usize = 300;

/// A block and its citations.
pub(super) struct MarkedBlock {
    pub(super) block: MarkdownBlock,
    pub(super) marks: Vec<CitationMark>,
}

/// A source as the text describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SourceEntry {
    /// Its number or name; a footnote's begins with `^`.
    pub(super) label: Option<String>,
    pub(super) address: Option<String>,
    /// A file that is named but not linked.
    pub(super) path: Option<String>,
    pub(super) title: Option<String>,
    /// Everything that is said about it.
    pub(super) text: String,
    /// Its byte offset in the file.
    pub(super) at: usize,
}

/// The entries of all lists and footnotes in order, and for each block whether it belongs to a list.
pub(super) fn source_entries(
    blocks: &[MarkedBlock],
    defined: &[LinkDefinition],
) -> (Vec<SourceEntry>, Vec<bool>) {
    let mut found: Vec<SourceEntry> = Vec::new();
    let mut listed = vec![false; blocks.len()];
    // The level of the heading above the list.
    let mut within: Option<u8> = None;
    for (it, of_list) in blocks.iter().zip(&mut listed) {
        let block = &it.block;
        match &block.kind {
            MarkdownKind::Heading(level) => {
                if is_title(&block.text) {
                    within = Some(*level);
                } else if within.is_some_and(|byte| *level <= byte) {
                    within = None;
                }
            }
            MarkdownKind::Note(name) => {
                *of_list = true;
                add_footnote(it, name, &mut found);
            }
            // A line that only says "Sources:" acts as a heading, up to the next one.
            MarkdownKind::Prose if is_title(&block.text) => {
                *of_list = true;
                within = Some(7);
            }
            _ if within.is_some() || is_list(it) => {
                *of_list = true;
                add_entries(it, &mut found);
            }
            _ => {}
        }
    }
    if found.iter().all(|source_entry| source_entry.label.is_none()) && defined.is_empty() {
        add_last_list(blocks, &mut listed, &mut found);
    }
    for it in defined {
        found.push(SourceEntry {
            label: Some(it.label.clone()),
            address: Some(it.address.clone()),
            title: it.title.clone(),
            text: it.title.clone().unwrap_or_default(),
            at: it.at,
            ..SourceEntry::default()
        });
    }
    (found, listed)
}

fn is_title(text: &str) -> bool {
    let bare = text
        .trim()
        .trim_start_matches(|c: char| c.is_ascii_digit() || ".) #".contains(c))
        .trim_end_matches([':', '.'])
        .trim()
        .to_lowercase();
    TITLES.contains(&bare.as_str())
}

/// Whether a block outside any list is one: every line begins with a number in brackets and has an address,
/// or it is an item that is nothing but a link.
fn is_list(it: &MarkedBlock) -> bool {
    let block = &it.block;
    match &block.kind {
        MarkdownKind::Prose => {
            let mut lines = lines(&block.text).peekable();
            if lines.peek().is_some_and(|line| is_title(&block.text[line.clone()])) {
                lines.next();
            }
            let mut any = false;
            for range in lines {
                any = true;
                let line = &block.text[range.clone()];
                let numbered =
                    leading_label(line).is_some() && line.trim_start().starts_with(['[', '^']);
                if !numbered || first_address(it, &range).is_none() {
                    return false;
                }
            }
            any
        }
        MarkdownKind::Item(_) => {
            let whole = 0..block.text.len();
            let bare = block.text.trim();
            let alone =
                block.links.iter().any(|link| block.text[link.range.clone()].trim() == bare);
            let line = bare.starts_with('[') && leading_label(bare).is_some();
            (alone || line || is_url(bare)) && first_address(it, &whole).is_some()
        }
        _ => false,
    }
}

fn is_url(text: &str) -> bool {
    (text.starts_with("http://") || text.starts_with("https://"))
        && !text.contains(char::is_whitespace)
}

/// Adds a numbered list at the very end, whose items all have an address.
fn add_last_list(blocks: &[MarkedBlock], listed: &mut [bool], found: &mut Vec<SourceEntry>) {
    let is_item = |block: &MarkedBlock| {
        matches!(block.block.kind, MarkdownKind::Item(Some(_)))
            && first_address(block, &(0..block.block.text.len())).is_some()
    };
    let end = blocks
        .iter()
        .rposition(|block| !matches!(block.block.kind, MarkdownKind::Note(_)))
        .map_or(0, |at| at + 1);
    let start = blocks[..end].iter().rposition(|block| !is_item(block)).map_or(0, |at| at + 1);
    let begins =
        blocks.get(start).map(|block| &block.block.kind) == Some(&MarkdownKind::Item(Some(1)));
    if end.saturating_sub(start) < 2 || !begins {
        return;
    }
    for (it, of_list) in blocks[start..end].iter().zip(&mut listed[start..end]) {
        *of_list = true;
        add_entries(it, found);
    }
}

/// The lines of a text that are not empty.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        (!line.trim().is_empty()).then(|| start..start + line.trim_end().len())
    })
}

/// Adds the entries of a block: a list item is one source; of running text, each line that begins with a
/// number or has an address.
fn add_entries(marked: &MarkedBlock, found: &mut Vec<SourceEntry>) {
    let block = &marked.block;
    match &block.kind {
        MarkdownKind::Item(number) => {
            let mut it = parse_entry(marked, 0..block.text.len());
            it.label = it.label.or_else(|| number.map(|number| number.to_string()));
            found.push(it);
        }
        MarkdownKind::Row { head: true } => {}
        MarkdownKind::Row { head: false } => found.push(parse_entry(marked, 0..block.text.len())),
        _ => {
            for range in lines(&block.text) {
                let line = &block.text[range.clone()];
                if is_title(line) {
                    continue;
                }
                let it = parse_entry(marked, range);
                if it.label.is_some() || it.address.is_some() {
                    found.push(it);
                } else if let Some(last) = found.last_mut() {
                    last.text.push(' ');
                    last.text.push_str(&it.text);
                }
            }
        }
    }
}

/// Adds the footnote `name`, or a further paragraph of it.
fn add_footnote(marked: &MarkedBlock, name: &str, found: &mut Vec<SourceEntry>) {
    let name = format!("^{name}");
    let mut it = parse_entry(marked, 0..marked.block.text.len());
    match found.last_mut().filter(|source_entry| source_entry.label.as_ref() == Some(&name)) {
        Some(had) => {
            had.address = had.address.take().or(it.address);
            had.text.push(' ');
            had.text.push_str(&it.text);
        }
        None => {
            it.label = Some(name);
            found.push(it);
        }
    }
}

fn parse_entry(marked: &MarkedBlock, range: Range<usize>) -> SourceEntry {
    let block = &marked.block;
    let whole = &block.text[range.clone()];
    let text = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    let lead = leading_label(whole);
    // Both are ordered by their ends.
    let links = block.links.partition_point(|link| link.range.end < range.start);
    let linked = block.links[links..]
        .iter()
        .take_while(|link| link.range.end <= range.end)
        .filter(|link| link.range.start >= range.start)
        .find(|link| link.to.iter().any(|to| matches!(to, CitationTarget::Address(_))));
    let emphasis = block.emphasis.partition_point(|it| it.end < range.start);
    let emphasis = block.emphasis[emphasis..]
        .iter()
        .take_while(|it| it.end <= range.end)
        .find(|it| it.start >= range.start);
    let words = linked.map(|it| block.text[it.range.clone()].trim());
    SourceEntry {
        label: lead.as_ref().map(|pair| pair.0.clone()).or_else(|| words.and_then(citation_label)),
        address: first_address(marked, &range),
        path: leading_path(&text),
        title: emphasis
            .map(|emphasis| block.text[emphasis.clone()].to_owned())
            .or_else(|| words.filter(|word| word.contains(' ')).map(str::to_owned))
            .or_else(|| leading_title(&whole[lead.map_or(0, |pair| pair.1)..]))
            .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
            .map(|it| it.chars().take(MAX_TITLE_CHARS).collect()),
        at: block.file_offset(range.start),
        text,
    }
}

/// The number at the start of a line, and the offset behind it: `[1]`, `[1]:`, `1.`, `1)`, `(1)`, `^1`.
fn leading_label(line: &str) -> Option<(String, usize)> {
    let trimmed = line.trim_start();
    let skipped = line.len() - trimmed.len();
    let digits = trimmed
        .trim_start_matches(['[', '(', '^', '【'])
        .split(|c: char| !c.is_ascii_digit())
        .next()?;
    let one = citation_label(digits)?;
    let from = trimmed.find(digits)?;
    let opened = from > 0;
    let after = &trimmed[from + digits.len()..];
    let rest = after.trim_start_matches([']', ')', '.', ':', '】']);
    let shut = after.len() - rest.len();
    let parted = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let sound = (opened || shut > 0) && (parted || shut > 0 && opened);
    sound.then(|| (one, skipped + trimmed.len() - rest.len()))
}

/// The first address in `range`, linked or bare.
fn first_address(it: &MarkedBlock, range: &Range<usize>) -> Option<String> {
    let from = it.marks.partition_point(|mark| mark.range.start < range.start);
    it.marks[from..]
        .iter()
        .take_while(|mark| mark.range.start < range.end)
        .flat_map(|mark| &mark.to)
        .find_map(|to| match to {
            CitationTarget::Address(it) if !it.is_empty() => Some(it.clone()),
            _ => None,
        })
}

/// A file named by its full path: up to the next ` · `, or the end.
fn leading_path(text: &str) -> Option<String> {
    let at = text.find(" /").map(|it| it + 1).or(text.starts_with('/').then_some(0))?;
    let rest = &text[at..];
    let end = rest.find(" · ").unwrap_or(rest.len());
    let path = rest[..end].trim_end_matches(['.', ',']);
    (path.len() > 1 && !path.starts_with("//")).then(|| path.to_owned())
}

/// The text before the address: "Title — https://…", "Title. https://…".
fn leading_title(text: &str) -> Option<String> {
    let before = text.split("http").next().unwrap_or_default();
    let first = before.split(" — ").next().unwrap_or_default();
    let first = first.trim_matches(|c: char| c.is_whitespace() || ".,:-–—\"“”*".contains(c));
    let letters = first.chars().filter(|c| c.is_alphabetic()).take(3).count();
    (letters == 3).then(|| first.to_owned())
}
