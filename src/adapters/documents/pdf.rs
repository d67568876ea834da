//! PDF to text, and the mending of what comes out.
use std::collections::BTreeMap;

use super::properties::{self, is_title};
use super::{ParsedDocument, Trouble, dates, prose};
use crate::domain::{Block, BlockKind};
use crate::record::FailReason;

/// The most bytes of text that are taken from one PDF.
pub(super) const MAX_TEXT: usize = 16 << 20;

/// Reads a PDF with the reader that is part of this program.
pub(super) fn embedded(bytes: &[u8]) -> Result<ParsedDocument, Trouble> {
    let parsed = unpdf::Unpdf::new()
        .lenient()
        .sequential()
        .parse_bytes(bytes);
    let parsed = parsed.map_err(|it| match it {
        unpdf::Error::Encrypted | unpdf::Error::InvalidPassword => encrypted(),
        other => damaged(&other.to_string()),
    })?;
    let document = parsed.document();
    let about = &document.metadata;
    let said = |text: Option<&str>| {
        let text = text?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let mut draft = ParsedDocument {
        title: said(about.title.as_deref())
            .filter(|it| is_title(it))
            .unwrap_or_default(),
        author: said(about.author.as_deref()).filter(|it| properties::is_author(it)),
        date: about
            .created
            .and_then(|it| dates::normalise(it.to_string().trim())),
        ..ParsedDocument::default()
    };
    draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
    let (mut pages, mut taken, mut cut) = (Pages::new(), 0, false);
    for page in &document.pages {
        let blocks: Vec<Block> = page.elements.iter().flat_map(pieces).collect();
        taken += blocks.iter().map(|it| it.text.len()).sum::<usize>();
        cut = taken > MAX_TEXT;
        if cut {
            break;
        }
        pages.push((page.number, blocks));
    }
    assembled(pages, draft, cut, |_| ())
}

/// Puts together what the programs of poppler said of a PDF: its text, its dictionary and its XMP packet, the latter two
/// empty where there is none.
pub(super) fn of_programs(
    text: &[u8],
    dictionary: &[u8],
    packet: &[u8],
    cut: bool,
) -> Result<ParsedDocument, Trouble> {
    let pages = from_plain(&String::from_utf8_lossy(text));
    assembled(pages, ParsedDocument::default(), cut, |draft| {
        properties::of_dictionary(&String::from_utf8_lossy(dictionary), draft);
        if !packet.is_empty() {
            properties::of_packet(packet, draft);
        }
    })
}

/// Whether a dictionary says that there is a packet, and leaves something for it to tell.
pub(super) fn wants_packet(dictionary: &[u8]) -> bool {
    let head = &dictionary[..dictionary.len().min(64 << 10)];
    let mut draft = ParsedDocument::default();
    let packet = properties::of_dictionary(&String::from_utf8_lossy(head), &mut draft);
    packet && (draft.title.is_empty() || draft.author.is_none() || draft.date.is_none())
}

pub(super) fn encrypted() -> Trouble {
    Trouble::new(
        FailReason::Unsupported,
        "it is encrypted and needs a password",
    )
}

/// Says that a PDF is damaged, and how, where that is one short line.
pub(super) fn damaged(complaint: &str) -> Trouble {
    let first = complaint.lines().next().unwrap_or_default().trim();
    let why = match first.is_empty() || first.len() > 300 {
        true => String::new(),
        false => format!(": {first}"),
    };
    Trouble::new(FailReason::Broken, format!("damaged PDF{why}"))
}

type Pages = Vec<(u32, Vec<Block>)>;

/// Pages as one document; `about` adds what is known of it besides its words.
fn assembled(
    mut pages: Pages,
    mut draft: ParsedDocument,
    cut: bool,
    about: impl FnOnce(&mut ParsedDocument),
) -> Result<ParsedDocument, Trouble> {
    if cut {
        draft
            .warnings
            .push(format!("truncated at {} MiB of text", MAX_TEXT >> 20));
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
    about(&mut draft);
    let headed = draft.blocks.iter().any(|it| it.kind == BlockKind::Heading);
    if draft.title.is_empty() && !headed {
        draft.title = properties::first_line(&draft.blocks).unwrap_or_default();
    }
    Ok(draft)
}

/// What a block of the embedded reader is to us.
fn pieces(block: &unpdf::model::Block) -> Vec<Block> {
    use unpdf::model::Block as Piece;
    let found = match block {
        Piece::Paragraph(it) => {
            let text = it.plain_text();
            if let Some(level) = it.heading_level() {
                vec![piece(BlockKind::Heading, level, &text)]
            } else if it.is_list_item() {
                let level = it.style.list_info.as_ref().map_or(0, |it| it.level);
                vec![piece(BlockKind::ListItem, level.saturating_add(1), &text)]
            } else {
                vec![piece(BlockKind::Prose, 0, &text)]
            }
        }
        Piece::Table(table) => {
            let row = |row: &unpdf::model::TableRow| {
                let cells: Vec<String> = row
                    .cells
                    .iter()
                    .map(|it| it.plain_text().replace('\n', " "))
                    .collect();
                piece(BlockKind::TableRow, 0, &cells.join(" | "))
            };
            table.rows.iter().map(row).collect()
        }
        Piece::Code { content } => vec![piece(BlockKind::Code, 0, content)],
        Piece::Raw { content } => vec![piece(BlockKind::Prose, 0, content)],
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}

fn piece(kind: BlockKind, level: u8, raw: &str) -> Option<Block> {
    let text = if kind == BlockKind::Code {
        raw.trim_matches('\n').to_owned()
    } else {
        mend(raw)
    };
    if !text.chars().any(char::is_alphanumeric) {
        return None;
    }
    let mut block = Block::new(kind, text);
    block.level = level;
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
