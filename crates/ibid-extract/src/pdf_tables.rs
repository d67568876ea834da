//! Puts the tables that the built-in parser finds in a PDF into the text that poppler gives, which prints cells line by line.
use std::ops::Range;

use crate::parsed_document::ParsedDocument;
use ibid_core::domain::{Block, BlockKind};

/// From this many short lines with a figure on, a page may have a table.
const MIN_LOOSE_FIGURES: usize = 4;
/// Characters of such a line.
const MAX_LOOSE_CHARS: usize = 40;
/// Maximum number of blocks that a table is looked for in.
const MAX_BLOCKS: usize = 20_000;

/// Whether a page has several short lines that begin with a figure, as the cells of a table are.
pub(crate) fn may_have_table(it: &ParsedDocument) -> bool {
    let is_loose = |block: &Block| {
        block.kind != BlockKind::Heading
            && block.text.starts_with(|c: char| c.is_ascii_digit())
            && block.text.chars().count() <= MAX_LOOSE_CHARS
    };
    it.blocks
        .chunk_by(|a, b| a.page == b.page)
        .any(|page| page.iter().filter(|block| is_loose(block)).count() >= MIN_LOOSE_FIGURES)
}

/// Replaces blocks of `it` by the tables of `parsed` with exactly the same words on the same page.
pub(crate) fn insert_tables(it: &mut ParsedDocument, parsed: &ParsedDocument) {
    if it.blocks.len() > MAX_BLOCKS {
        return;
    }
    let same_table = |a: &Block, b: &Block| {
        a.kind.is_row() && b.kind.is_row() && a.page == b.page && b.level == 0
    };
    for rows in parsed.blocks.chunk_by(same_table) {
        if rows[0].kind.is_row()
            && let Some(place) = blocks_with_words_of(&it.blocks, rows)
        {
            it.blocks.splice(place, rows.iter().cloned());
        }
    }
}

/// The blocks on the page of `rows` that have all of their words and no others.
fn blocks_with_words_of(blocks: &[Block], rows: &[Block]) -> Option<Range<usize>> {
    let wanted = sorted_words(rows);
    let page = rows[0].page;
    let start = blocks.iter().position(|block| block.page == page)?;
    let end = start + blocks[start..].iter().take_while(|block| block.page == page).count();
    (start..end).find_map(|from| {
        let mut count = 0;
        let holds = |to: &usize| {
            count += words(&blocks[*to]).count();
            count >= wanted.len()
        };
        let last = (from..end).find(holds)?;
        let found = from..last + 1;
        (count == wanted.len() && sorted_words(&blocks[found.clone()]) == wanted).then_some(found)
    })
}

fn words(block: &Block) -> impl Iterator<Item = &str> {
    block.text.split_whitespace().filter(|word| *word != "|")
}

fn sorted_words(blocks: &[Block]) -> Vec<&str> {
    let mut all: Vec<&str> = blocks.iter().flat_map(words).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(blocks: &[(BlockKind, &str)]) -> ParsedDocument {
        let block = |it: &(BlockKind, &str)| Block { page: Some(1), ..Block::new(it.0, it.1) };
        ParsedDocument { blocks: blocks.iter().map(block).collect(), ..ParsedDocument::default() }
    }

    const TEXT: BlockKind = BlockKind::Prose;
    const ROW: BlockKind = BlockKind::TableRow;

    #[test]
    fn cells_that_stand_line_by_line_become_the_rows_that_they_are() {
        let lines = [
            "Kind",
            "Weight",
            "Price in cents Years",
            "Natural",
            "4",
            "30",
            "9",
            "Pressed",
            "3",
            "10",
        ];
        let mut blocks = vec![(TEXT, "Cork floats.")];
        blocks.extend(lines.map(|line| (TEXT, line)));
        blocks.extend([(TEXT, "5"), (TEXT, "Oaks grow slowly.")]);
        let mut text = document(&blocks);
        assert!(may_have_table(&text));
        let parsed = document(&[
            (TEXT, "Cork floats."),
            (ROW, "Kind | Weight | Price in cents | Years"),
            (ROW, "Natural | 4 | 30 | 9"),
            (ROW, "Pressed | 3 | 10 | 5"),
        ]);
        insert_tables(&mut text, &parsed);
        let found: Vec<&str> = text.blocks.iter().map(|block| block.text.as_str()).collect();
        assert_eq!(
            found,
            [
                "Cork floats.",
                "Kind | Weight | Price in cents | Years",
                "Natural | 4 | 30 | 9",
                "Pressed | 3 | 10 | 5",
                "Oaks grow slowly.",
            ]
        );
    }

    #[test]
    fn a_table_with_other_words_changes_nothing() {
        let mut text = document(&[(TEXT, "Kind"), (TEXT, "4"), (TEXT, "Natural")]);
        let before = text.clone();
        insert_tables(&mut text, &document(&[(ROW, "Kind | 5"), (ROW, "Natural | 6")]));
        assert_eq!(text, before);
        assert!(!may_have_table(&text));
    }
}
