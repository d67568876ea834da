//! A plain text as a document: its first line may be its title, lines in capitals are headings, and a date may stand at its top.
use ibid_core::domain::{Block, BlockKind, split_sentences};

use crate::parsed_document::ParsedDocument;
use crate::{dates, plain_text};

/// Maximum length of a title or heading, in bytes.
const MAX_HEADING_BYTES: usize = 120;
/// Blocks at the top, title included, that may give the date, and their maximum length, in bytes.
const DATED_BLOCKS: usize = 2;
const MAX_DATED_BYTES: usize = 200;

/// Reads a plain text.
pub(crate) fn read(text: &str) -> ParsedDocument {
    let mut blocks = plain_text::blocks(text);
    let several = blocks.len() > 1;
    let date = if several && blocks.first().is_some_and(is_title) {
        // A paragraph tells when something happened, not when it was written.
        let is_line = |block: &&Block| {
            block.text.len() <= MAX_DATED_BYTES && split_sentences(&block.text).len() == 1
        };
        let top = blocks.iter().take(DATED_BLOCKS).filter(is_line);
        top.into_iter().find_map(|block| dates::normalise(&block.text))
    } else {
        None
    };
    for (nth, block) in blocks.iter_mut().enumerate() {
        let level = match nth {
            0 if several && is_title(block) => 1,
            _ if is_in_capitals(block) => 2,
            _ => continue,
        };
        block.kind = BlockKind::Heading;
        block.level = level;
    }
    ParsedDocument {
        date_source: date.as_ref().map(|_| "text".to_owned()),
        date,
        blocks,
        ..ParsedDocument::default()
    }
}

/// Whether a block may be a title: short, of several words, and not a whole sentence.
fn is_title(block: &Block) -> bool {
    let text = block.text.trim();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    matches!(block.kind, BlockKind::Prose | BlockKind::Heading)
        && text.len() <= MAX_HEADING_BYTES
        && text.split_whitespace().count() >= 2
        && text.starts_with(|c: char| c.is_uppercase() || matches!(c, '"' | '“' | '‘'))
        && !text.ends_with(['.', ',', ';', ':', '。'])
        && letters * 2 > text.chars().count()
}

/// Whether a block is a heading in capitals: "MARCH OR APRIL".
fn is_in_capitals(block: &Block) -> bool {
    let text = block.text.trim();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    matches!(block.kind, BlockKind::Prose | BlockKind::Heading)
        && text.len() <= MAX_HEADING_BYTES
        && letters >= 4
        && letters * 2 > text.chars().count()
        && !text.chars().any(char::is_lowercase)
        && !text.ends_with(['.', ',', ';'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_text_is_its_title_and_gives_its_date() {
        let text = "Minutes of the boat club, 3 May 2023\n\nBEFORE THE SEASON\nWash the hull with fresh water.\n\nThe jetty was \
                    mended.\n";
        let read = read(text);
        let headings: Vec<(&str, u8)> = read
            .blocks
            .iter()
            .filter(|block| block.kind == BlockKind::Heading)
            .map(|block| (block.text.as_str(), block.level))
            .collect();
        assert_eq!(
            headings,
            [("Minutes of the boat club, 3 May 2023", 1), ("BEFORE THE SEASON", 2)]
        );
        assert_eq!(read.date.as_deref(), Some("2023-05-03"));
    }

    #[test]
    fn a_paragraph_below_the_title_gives_no_date() {
        let text = "The Orm line\n\nThe line has two stops. It was opened on 2 May 1864 by a lord.\n\nIt is short.\n";
        assert_eq!(read(text).date, None);
        let text = "A talk with Ove\n\nRecorded in the shed on 2 May 1964\n\nHe laughs.\n";
        assert_eq!(read(text).date.as_deref(), Some("1964-05-02"));
    }

    #[test]
    fn a_text_that_begins_with_a_sentence_has_no_title_and_no_date() {
        for text in ["The club met on 3 May 2023.\n\nNobody came.\n", "One line alone"] {
            let read = read(text);
            assert!(read.blocks.iter().all(|block| block.kind == BlockKind::Prose), "{text}");
            assert_eq!(read.date, None, "{text}");
        }
    }
}
