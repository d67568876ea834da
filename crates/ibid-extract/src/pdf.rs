//! PDF to text: joins hyphenated words and split paragraphs, and removes running heads and page numbers.
use std::collections::BTreeMap;

use crate::parse_error::ParseError;
use crate::parsed_document::ParsedDocument;
use crate::pdf_properties::{self, is_title};
use crate::table_grid::{GridCell, TableGrid};
use crate::{dates, plain_text};
use ibid_core::ReadFailure;
use ibid_core::domain::{Block, BlockKind};

/// Bytes of text of one PDF.
pub(crate) const MAX_TEXT: usize = 16 << 20;
/// Bytes of the dictionary that are searched for properties.
const MAX_DICTIONARY: usize = 64 << 10;
/// Bytes of the complaint of a parser; a longer one is not quoted.
const MAX_COMPLAINT: usize = 300;
/// Bytes of a running head; a longer line at the edge of a page is text.
const MAX_RUNNING_LINE: usize = 160;
/// A line is a running head if it is at the edge of one in this many pages, but of at least this many pages.
const RUNNING_SHARE: u32 = 3;
const MIN_RUNNING: u32 = 3;

/// Reads a PDF with the built-in parser.
pub(crate) fn parse_embedded(bytes: &[u8]) -> Result<ParsedDocument, ParseError> {
    let parsed = unpdf::Unpdf::new().lenient().sequential().parse_bytes(bytes);
    let parsed = parsed.map_err(|error| match error {
        unpdf::Error::Encrypted | unpdf::Error::InvalidPassword => encrypted_error(),
        other => damaged_error(&other.to_string()),
    })?;
    let document = parsed.document();
    let metadata = &document.metadata;
    let non_empty = |text: Option<&str>| {
        let text = text?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let mut draft = ParsedDocument {
        title: non_empty(metadata.title.as_deref()).filter(|it| is_title(it)).unwrap_or_default(),
        author: non_empty(metadata.author.as_deref()).filter(|it| pdf_properties::is_author(it)),
        date: metadata.created.and_then(|it| dates::normalise(it.to_string().trim())),
        ..ParsedDocument::default()
    };
    draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
    let (mut pages, mut taken, mut cut) = (Pages::new(), 0, false);
    for page in &document.pages {
        let blocks: Vec<Block> = page.elements.iter().flat_map(to_blocks).collect();
        taken += blocks.iter().map(|block| block.text.len()).sum::<usize>();
        cut = taken > MAX_TEXT;
        if cut {
            break;
        }
        pages.push((page.number, blocks));
    }
    assemble(pages, draft, cut, |_| ())
}

/// Builds a document from the output of poppler: the text, the dictionary and the XMP packet. The latter two may be empty.
pub(crate) fn from_poppler(
    text: &[u8],
    dictionary: &[u8],
    packet: &[u8],
    cut: bool,
) -> Result<ParsedDocument, ParseError> {
    let pages = from_plain(&String::from_utf8_lossy(text));
    assemble(pages, ParsedDocument::default(), cut, |draft| {
        pdf_properties::read_dictionary(&String::from_utf8_lossy(dictionary), draft);
        if !packet.is_empty() {
            pdf_properties::read_xmp_packet(packet, draft);
        }
    })
}

/// Whether there is an XMP packet, according to the dictionary, and the dictionary itself is incomplete.
pub(crate) fn needs_packet(dictionary: &[u8]) -> bool {
    let head = &dictionary[..dictionary.len().min(MAX_DICTIONARY)];
    let mut draft = ParsedDocument::default();
    let packet = pdf_properties::read_dictionary(&String::from_utf8_lossy(head), &mut draft);
    packet && (draft.title.is_empty() || draft.author.is_none() || draft.date.is_none())
}

pub(crate) fn encrypted_error() -> ParseError {
    ParseError::new(ReadFailure::Unsupported, "it is encrypted and needs a password")
}

/// The error of a damaged PDF. Quotes the first line of the parser's complaint if it is short.
pub(crate) fn damaged_error(complaint: &str) -> ParseError {
    let first = complaint.lines().next().unwrap_or_default().trim();
    let why = if first.is_empty() || first.len() > MAX_COMPLAINT {
        String::new()
    } else {
        format!(": {first}")
    };
    ParseError::new(ReadFailure::Broken, format!("damaged PDF{why}"))
}

/// The blocks of each page, with the page's number.
type Pages = Vec<(u32, Vec<Block>)>;

/// Joins pages to one document; `add_properties` sets its title, author and date.
fn assemble(
    mut pages: Pages,
    mut draft: ParsedDocument,
    cut: bool,
    add_properties: impl FnOnce(&mut ParsedDocument),
) -> Result<ParsedDocument, ParseError> {
    if cut {
        draft.warnings.push(format!("truncated at {} MiB of text", MAX_TEXT >> 20));
    }
    drop_running_lines(&mut pages);
    for (number, mut blocks) in pages {
        blocks.iter_mut().for_each(|block| block.page = Some(number));
        join_pages(&mut draft.blocks, blocks);
    }
    if draft.blocks.is_empty() {
        return Err(ParseError::new(
            ReadFailure::Empty,
            "no text layer: its pages are images or empty",
        ));
    }
    add_properties(&mut draft);
    let headed = draft.blocks.iter().any(|block| block.kind == BlockKind::Heading);
    if draft.title.is_empty() && !headed {
        draft.title = pdf_properties::first_line(&draft.blocks).unwrap_or_default();
    }
    Ok(draft)
}

/// Converts a block of the built-in parser.
fn to_blocks(block: &unpdf::model::Block) -> Vec<Block> {
    use unpdf::model::Block as Piece;
    let found = match block {
        Piece::Paragraph(it) => {
            let text = it.plain_text();
            if let Some(level) = it.heading_level() {
                vec![to_block(BlockKind::Heading, level, &text)]
            } else if it.is_list_item() {
                let level = it.style.list_info.as_ref().map_or(0, |list_info| list_info.level);
                vec![to_block(BlockKind::ListItem, level.saturating_add(1), &text)]
            } else {
                vec![to_block(BlockKind::Prose, 0, &text)]
            }
        }
        Piece::Table(table) => {
            let mut grid = TableGrid::default();
            grid.begin_table();
            let row = |row: &unpdf::model::TableRow| {
                let cells = row.cells.iter().map(|cell| GridCell {
                    text: cell.plain_text().replace('\n', " "),
                    columns: cell.colspan.into(),
                    rows: cell.rowspan.into(),
                    continues: false,
                });
                grid.row(cells.collect())
            };
            let rows: Vec<String> = table.rows.iter().map(row).collect();
            let kind = BlockKind::TableRow;
            let block = |(nth, row): (usize, &String)| to_block(kind, u8::from(nth == 0), row);
            rows.iter().enumerate().map(block).collect()
        }
        Piece::Code { content } => vec![to_block(BlockKind::Code, 0, content)],
        Piece::Raw { content } => vec![to_block(BlockKind::Prose, 0, content)],
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}

fn to_block(kind: BlockKind, level: u8, raw: &str) -> Option<Block> {
    let text = if kind == BlockKind::Code {
        raw.trim_matches('\n').to_owned()
    } else {
        clean_paragraph(raw)
    };
    if !text.chars().any(char::is_alphanumeric) {
        return None;
    }
    let mut block = Block::new(kind, text);
    block.level = level;
    Some(block)
}

/// Splits plain text into pages, which end with form feeds.
fn from_plain(text: &str) -> Pages {
    (1_u32..)
        .zip(text.split('\u{c}'))
        .map(|(number, page)| {
            let blocks = page
                .split("\n\n")
                .flat_map(|part| plain_text::blocks(&join_hyphens(&expand_ligatures(part))))
                .collect();
            (number, blocks)
        })
        .collect()
}

/// A paragraph on one line, with ligatures expanded and hyphenated words joined.
fn clean_paragraph(text: &str) -> String {
    let joined = join_hyphens(&expand_ligatures(text));
    let mut out = String::with_capacity(joined.len());
    plain_text::fold_whitespace_into(&mut out, &joined);
    join_breaks(&out)
}

/// Joins `exam- ple`, which remains if a parser has joined the lines already. `two- and three-storey` stays, because a
/// conjunction follows.
fn join_breaks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let next = words.peek().copied();
        match (word.strip_suffix('-'), next) {
            (Some(stem), Some(next))
                if stem.ends_with(char::is_lowercase)
                    && next.starts_with(char::is_lowercase)
                    && !JOINING.contains(&next.trim_matches(|c: char| !c.is_alphabetic())) =>
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

/// Conjunctions and the like in the larger languages of the Latin script.
const JOINING: [&str; 22] = [
    "and", "or", "to", "und", "oder", "bis", "sowie", "et", "ou", "y", "o", "e", "en", "of", "och",
    "eller", "og", "i", "oraz", "lub", "ja", "tai",
];

fn expand_ligatures(text: &str) -> String {
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
fn join_hyphens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        let next = lines.peek().and_then(|line| line.trim_start().chars().next());
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

/// Removes lines that are at the top or foot of many pages, and page numbers there. Page numbers that follow the count of
/// pages are removed anywhere, because on a page with two columns the foot comes after the first column.
fn drop_running_lines(pages: &mut Pages) {
    let offset = page_number_offset(pages);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (_, blocks) in pages.iter() {
        let mut edge: Vec<String> =
            edge_indices(blocks.len()).map(|at| digit_pattern(&blocks[at].text)).collect();
        edge.sort();
        edge.dedup();
        for pattern in edge {
            *seen.entry(pattern).or_default() += 1;
        }
    }
    let many = (u32::try_from(pages.len()).unwrap_or(u32::MAX) / RUNNING_SHARE).max(MIN_RUNNING);
    for (number, blocks) in pages.iter_mut() {
        let at_edge: Vec<usize> = edge_indices(blocks.len()).collect();
        let mut nth = 0;
        blocks.retain(|block| {
            let is_edge = at_edge.contains(&nth);
            nth += 1;
            let bare = block.text.trim_matches(|c: char| !c.is_alphanumeric());
            let is_own_number = bare == number.to_string();
            let is_running = block.text.len() < MAX_RUNNING_LINE
                && seen.get(&digit_pattern(&block.text)).is_some_and(|pages| *pages >= many);
            let is_printed_number = offset
                .is_some_and(|offset| parse_page_number(bare) == Some(i64::from(*number) + offset));
            !(is_edge && (is_own_number || is_running) || is_printed_number)
        });
        if let Some(last) = blocks.last_mut() {
            cut_glued_page_number(last, *number);
        }
    }
}

/// Removes the number of the page from the end of its last paragraph where the paragraph goes on: a parser that does not see
/// the foot of the page as apart joins "the roof costs" and "1".
fn cut_glued_page_number(last: &mut Block, page: u32) {
    let Some(before) = last.text.strip_suffix(&format!(" {page}")) else {
        return;
    };
    let goes_on = before.ends_with(|c: char| c.is_lowercase() || c == ',');
    if last.kind == BlockKind::Prose && goes_on {
        last.text.truncate(before.len());
    }
}

/// The difference between printed page numbers and the count of pages, if most pages print a number.
fn page_number_offset(pages: &Pages) -> Option<i64> {
    let mut offsets: BTreeMap<i64, usize> = BTreeMap::new();
    for (number, blocks) in pages {
        let mut own: Vec<i64> = blocks
            .iter()
            .filter_map(|block| Some(parse_page_number(block.text.trim())? - i64::from(*number)))
            .collect();
        own.sort_unstable();
        own.dedup();
        for offset in own {
            *offsets.entry(offset).or_default() += 1;
        }
    }
    let most = offsets.into_iter().max_by_key(|offset| offset.1)?;
    (most.1 >= 3 && 2 * most.1 > pages.len()).then_some(most.0)
}

/// The number that a text consists of.
fn parse_page_number(text: &str) -> Option<i64> {
    (text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// The indices of the first two and the last two blocks.
fn edge_indices(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |index| *index < 2 || *index + 2 >= len)
}

/// A line in lower case with each number replaced by `#`.
fn digit_pattern(text: &str) -> String {
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

/// Appends a page, and joins a paragraph that was split by the page break.
fn join_pages(all: &mut Vec<Block>, page: Vec<Block>) {
    let mut page = page.into_iter();
    if let Some(first) = page.next() {
        match all.last_mut() {
            Some(last)
                if last.kind == BlockKind::Prose
                    && first.kind == BlockKind::Prose
                    && last.text.ends_with(|c: char| c.is_lowercase() || c == ',' || c == '-')
                    && first.text.starts_with(char::is_lowercase) =>
            {
                if last.text.ends_with('-') {
                    last.text.pop();
                } else {
                    last.text.push(' ');
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
            clean_paragraph("an exam-\nple of ﬁne print in the COVID-\n19 time"),
            "an example of fine print in the COVID- 19 time"
        );
        assert_eq!(
            clean_paragraph("the engi- neers of two- and three-storey houses"),
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
            pages.iter().all(|(_, it)| it.iter().all(|it| !it.text.starts_with("Journal"))),
            "{pages:?}"
        );
    }

    #[test]
    fn a_page_number_joined_to_an_open_sentence_is_dropped_and_a_figure_stays() {
        let cut = |text: &str, page: u32| {
            let mut pages: Pages = vec![(page, vec![Block::new(BlockKind::Prose, text)])];
            drop_running_lines(&mut pages);
            pages[0].1[0].text.clone()
        };
        assert_eq!(
            cut("At 62 euros the green roof costs 1", 1),
            "At 62 euros the green roof costs"
        );
        assert_eq!(
            cut("At 62 euros the green roof costs 1.", 1),
            "At 62 euros the green roof costs 1."
        );
        assert_eq!(cut("The green roof costs 12", 1), "The green roof costs 12");
    }

    #[test]
    fn a_paragraph_over_two_pages_is_one_block_on_the_first() {
        let mut all = vec![Block::new(BlockKind::Prose, "It was a very")];
        all[0].page = Some(1);
        join_pages(&mut all, vec![Block::new(BlockKind::Prose, "long day.")]);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].text.as_str(), all[0].page), ("It was a very long day.", Some(1)));
    }
}
