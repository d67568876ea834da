//! PDF to text through a child process, and the mending of what comes out.
use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;

use super::child::Task;
use super::confined::{MAX_OUTPUT, ask, deadline};
use super::properties::{self, is_title};
use super::{Limits, ParsedDocument, Trouble, dates, prose};
use crate::domain::{Block, BlockKind};
use crate::record::FailReason;

/// Reads a PDF.
pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, Trouble> {
    let until = deadline(limits);
    let said = ask(Task::Pdf, bytes, limits, until)?;
    said.verdict("PDF")?;
    let text = String::from_utf8_lossy(&said.text);
    let mut draft = ParsedDocument::default();
    let embedded = text.starts_with("{\"title\"");
    let mut pages = if embedded {
        from_json(&text, &mut draft)
    } else {
        from_plain(&text)
    };
    if said.cut {
        draft
            .warnings
            .push(format!("truncated at {} MiB of text", MAX_OUTPUT >> 20));
    }
    drop_running_lines(&mut pages);
    for (number, mut blocks) in pages {
        blocks.iter_mut().for_each(|it| it.page = Some(number));
        join_pages(&mut draft.blocks, blocks);
    }
    if draft.blocks.is_empty() {
        return Err(Trouble::new(
            FailReason::Empty,
            "no text layer: its pages are images or empty",
        ));
    }
    if !embedded {
        about(bytes, limits, until, &mut draft);
    }
    let headed = draft.blocks.iter().any(|it| it.kind == BlockKind::Heading);
    if draft.title.is_empty() && !headed {
        draft.title = properties::first_line(&draft.blocks).unwrap_or_default();
    }
    Ok(draft)
}

/// What the document says of itself, which its text alone does not tell: its dictionary first, then
/// its XMP packet. That this fails is no reason to lose the words.
fn about(bytes: &[u8], limits: &Limits, until: Instant, draft: &mut ParsedDocument) {
    let Ok(said) = ask(Task::PdfProperties, bytes, limits, until) else {
        return;
    };
    let packet = properties::of_dictionary(&String::from_utf8_lossy(&said.text), draft);
    let complete = !draft.title.is_empty() && draft.author.is_some() && draft.date.is_some();
    if packet
        && !complete
        && let Ok(said) = ask(Task::PdfPacket, bytes, limits, until)
    {
        properties::of_packet(&said.text, draft);
    }
}

type Pages = Vec<(u32, Vec<Block>)>;

fn from_json(text: &str, draft: &mut ParsedDocument) -> Pages {
    let mut pages = Pages::new();
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if let Some(number) = value.get("page").and_then(Value::as_u64) {
            let blocks = value.get("blocks").and_then(Value::as_array);
            let blocks = blocks.into_iter().flatten().flat_map(piece).collect();
            pages.push((u32::try_from(number).unwrap_or(u32::MAX), blocks));
        } else {
            let said = |name: &str| {
                let text = value.get(name)?.as_str()?.trim();
                (!text.is_empty()).then(|| text.to_owned())
            };
            draft.title = said("title").filter(|it| is_title(it)).unwrap_or_default();
            draft.author = said("author").filter(|it| properties::is_author(it));
            draft.date = said("created").and_then(|it| dates::normalise(&it));
            draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
        }
    }
    pages
}

fn piece(value: &Value) -> Option<Block> {
    let kind: BlockKind = serde_json::from_value(value.get(0)?.clone()).ok()?;
    let raw = value.get(2)?.as_str()?;
    let text = if kind == BlockKind::Code {
        raw.trim_matches('\n').to_owned()
    } else {
        mend(raw)
    };
    if !text.chars().any(char::is_alphanumeric) {
        return None;
    }
    let mut block = Block::new(kind, text);
    block.level = u8::try_from(value.get(1)?.as_u64()?).unwrap_or(0);
    Some(block)
}

/// Pages of plain text with a form feed after each.
fn from_plain(text: &str) -> Pages {
    (1_u32..)
        .zip(text.split('\u{c}'))
        .map(|(number, page)| {
            let blocks = page
                .split("\n\n")
                .flat_map(|it| prose::blocks(&hyphens_joined(&ligatures_undone(it))))
                .collect();
            (number, blocks)
        })
        .collect()
}

/// One paragraph on one line: ligatures undone, words put together again over line ends.
fn mend(text: &str) -> String {
    let joined = hyphens_joined(&ligatures_undone(text));
    let mut out = String::with_capacity(joined.len());
    prose::fold_into(&mut out, &joined);
    breaks_joined(&out)
}

/// Joins `exam- ple`, which is what a reader leaves that has joined the lines already. `two- and three-storey` stays: what
/// follows there is a word that joins others.
fn breaks_joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let next = words.peek().copied();
        match (word.strip_suffix('-'), next) {
            (Some(stem), Some(next))
                if stem.ends_with(char::is_lowercase)
                    && next.starts_with(char::is_lowercase)
                    && !JOINING.contains(&next.trim_matches(|it: char| !it.is_alphabetic())) =>
            {
                out.push_str(stem);
            }
            (_, Some(_)) => {
                out.push_str(word);
                out.push(' ');
            }
            (_, None) => out.push_str(word),
        }
    }
    out
}

/// Words that join others, in the larger languages of the Latin script.
const JOINING: [&str; 22] = [
    "and", "or", "to", "und", "oder", "bis", "sowie", "et", "ou", "y", "o", "e", "en", "of", "och",
    "eller", "og", "i", "oraz", "lub", "ja", "tai",
];

fn ligatures_undone(text: &str) -> String {
    if !text.contains(['ﬀ', 'ﬁ', 'ﬂ', 'ﬃ', 'ﬄ', 'ﬅ', 'ﬆ']) {
        return text.to_owned();
    }
    text.replace('ﬀ', "ff")
        .replace('ﬁ', "fi")
        .replace('ﬂ', "fl")
        .replace('ﬃ', "ffi")
        .replace('ﬄ', "ffl")
        .replace(['ﬅ', 'ﬆ'], "st")
}

/// Joins `exam-\nple` to `example`; a hyphen between a letter and a capital or digit stays.
fn hyphens_joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        let next = lines.peek().and_then(|it| it.trim_start().chars().next());
        let stem = line.strip_suffix(['-', '\u{ad}', '‐']);
        match (stem, next) {
            (Some(stem), Some(next))
                if next.is_lowercase() && stem.ends_with(char::is_alphabetic) =>
            {
                out.push_str(stem);
                if let Some(rest) = lines.next() {
                    let rest = rest.trim_start();
                    let (word, more) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
                    out.push_str(word);
                    out.push('\n');
                    out.push_str(more.trim_start());
                    if !more.is_empty() {
                        out.push('\n');
                    }
                }
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Drops lines that stand at the top or foot of many pages, and bare page numbers there; bare numbers that count the pages
/// wherever they stand, for between two columns the foot of the page comes after the first.
fn drop_running_lines(pages: &mut Pages) {
    let counted = counts_pages(pages);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (_, blocks) in pages.iter() {
        let mut edge: Vec<String> = edges(blocks.len())
            .map(|at| shape(&blocks[at].text))
            .collect();
        edge.sort();
        edge.dedup();
        for it in edge {
            *seen.entry(it).or_default() += 1;
        }
    }
    let many = (u32::try_from(pages.len()).unwrap_or(u32::MAX) / 3).max(3);
    for (number, blocks) in pages.iter_mut() {
        let at_edge: Vec<usize> = edges(blocks.len()).collect();
        let mut nth = 0;
        blocks.retain(|it| {
            let edge = at_edge.contains(&nth);
            nth += 1;
            let bare = it.text.trim_matches(|c: char| !c.is_alphanumeric());
            let numbered = bare == number.to_string();
            let running =
                it.text.len() < 160 && seen.get(&shape(&it.text)).is_some_and(|it| *it >= many);
            let counts = counted.is_some_and(|it| printed(bare) == Some(i64::from(*number) + it));
            !(edge && (numbered || running) || counts)
        });
    }
}

/// How far the numbers that pages print are from their count, where most pages print one.
fn counts_pages(pages: &Pages) -> Option<i64> {
    let mut far: BTreeMap<i64, usize> = BTreeMap::new();
    for (number, blocks) in pages {
        let mut own: Vec<i64> = blocks
            .iter()
            .filter_map(|it| Some(printed(it.text.trim())? - i64::from(*number)))
            .collect();
        own.sort_unstable();
        own.dedup();
        for it in own {
            *far.entry(it).or_default() += 1;
        }
    }
    let most = far.into_iter().max_by_key(|it| it.1)?;
    (most.1 >= 3 && 2 * most.1 > pages.len()).then_some(most.0)
}

/// The number that a text is, if it is nothing else.
fn printed(text: &str) -> Option<i64> {
    (text.len() < 6 && text.bytes().all(|it| it.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// The first two and the last two blocks.
fn edges(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |it| *it < 2 || *it + 2 >= len)
}

/// A line with its numbers made alike.
fn shape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            if !out.ends_with('#') {
                out.push('#');
            }
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

/// Appends a page; a paragraph that runs over the page's end is put together again.
fn join_pages(all: &mut Vec<Block>, page: Vec<Block>) {
    let mut page = page.into_iter();
    if let Some(first) = page.next() {
        match all.last_mut() {
            Some(last)
                if last.kind == BlockKind::Prose
                    && first.kind == BlockKind::Prose
                    && last
                        .text
                        .ends_with(|c: char| c.is_lowercase() || c == ',' || c == '-')
                    && first.text.starts_with(char::is_lowercase) =>
            {
                match last.text.ends_with('-') {
                    true => drop(last.text.pop()),
                    false => last.text.push(' '),
                }
                last.text.push_str(&first.text);
            }
            _ => all.push(first),
        }
    }
    all.extend(page);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_and_ligatures_of_the_printer_are_undone() {
        assert_eq!(
            mend("an exam-\nple of ﬁne print in the COVID-\n19 time"),
            "an example of fine print in the COVID- 19 time"
        );
        assert_eq!(
            mend("the engi- neers of two- and three-storey houses"),
            "the engineers of two- and three-storey houses"
        );
    }

    #[test]
    fn running_heads_and_page_numbers_are_dropped() {
        let page = |n: u32| {
            (
                n,
                vec![
                    Block::new(BlockKind::Prose, format!("Journal of Tea {n}")),
                    Block::new(BlockKind::Prose, format!("Body of page {n} with words.")),
                    Block::new(BlockKind::Prose, n.to_string()),
                ],
            )
        };
        let mut pages: Pages = (1..=6).map(page).collect();
        drop_running_lines(&mut pages);
        assert!(
            pages
                .iter()
                .all(|(_, it)| it.iter().all(|it| !it.text.starts_with("Journal"))),
            "{pages:?}"
        );
    }

    #[test]
    fn a_paragraph_over_two_pages_is_one_block_on_the_first() {
        let mut all = vec![Block::new(BlockKind::Prose, "It was a very")];
        all[0].page = Some(1);
        join_pages(&mut all, vec![Block::new(BlockKind::Prose, "long day.")]);
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].text.as_str(), all[0].page),
            ("It was a very long day.", Some(1))
        );
    }
}
