//! The tables in the text of a page, read from the text as it is stored, so that every cell is an exact quote.
use std::ops::Range;

use super::words::numbers;
use super::{BlockKind, Page, Sentence};

/// Maximum number of tables of a page, of rows of a table and of cells of a row. What exceeds them is not read.
const MAX_TABLES: usize = 64;
const MAX_ROWS: usize = 400;
const MAX_CELLS: usize = 16;
/// Maximum number of words of a cell of a header.
const MAX_HEADER_WORDS: usize = 10;
/// Maximum number of words of a paragraph before a table that is its caption.
const MAX_CAPTION_WORDS: usize = 20;
/// What stands in a cell without a value.
const MISSING: [&str; 8] = ["none", "n/a", "na", "yes", "no", "nil", "unknown", "not known"];
/// Share of the cells of a column with figures from which the column holds figures.
const MIN_FIGURE_SHARE: f32 = 0.5;

/// A table of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The sentence that says what it is about: its caption, or else the nearest heading above.
    pub caption: Option<usize>,
    /// The rows that name the columns, from the widest names to the narrowest; empty if none does.
    pub header: Vec<TableRow>,
    /// The other rows, in order.
    pub rows: Vec<TableRow>,
    /// Whether all rows were read.
    pub complete: bool,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// The sentence of the page that is the row.
    pub sentence: usize,
    /// The sentence of the row of one cell above it that heads it and its neighbours.
    pub group: Option<usize>,
    /// The byte range of each cell in the text of the page, without white space around it.
    pub cells: Vec<Range<usize>>,
}

impl TableRow {
    /// The words of a cell; empty if there is none.
    pub fn cell<'p>(&self, page: &'p Page, at: usize) -> &'p str {
        let range = self.cells.get(at).cloned();
        range.and_then(|range| page.text().expose().get(range)).unwrap_or_default()
    }
}

impl Table {
    /// The tables of a page, in order.
    pub fn in_page(page: &Page) -> Vec<Table> {
        let sentences = page.sentences();
        let mut found = Vec::new();
        let mut at = 0;
        while at < sentences.len() && found.len() < MAX_TABLES {
            let end = end_of_table(sentences, at);
            if end - at >= 2 {
                let rows = (at..end.min(at + MAX_ROWS)).map(|n| row(page, n)).collect();
                found.extend(table(page, rows, end - at <= MAX_ROWS));
            }
            at = end.max(at + 1);
        }
        found
    }

    /// The value at a row and a column. A row that has more or fewer cells than there are columns says nothing of any.
    pub fn cell<'p>(&self, page: &'p Page, row: usize, column: usize) -> Option<&'p str> {
        let row = self.rows.get(row).filter(|row| self.is_whole(row))?;
        Some(row.cell(page, column)).filter(|text| has_words(text))
    }

    /// The name of a column: what the rows of the header say of it, each once.
    pub fn name(&self, page: &Page, column: usize) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in self.header.iter().map(|row| row.cell(page, column)) {
            if has_words(name) && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// Whether a row has a cell in every column.
    pub fn is_whole(&self, row: &TableRow) -> bool {
        row.cells.len() == self.columns()
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.header.last().or(self.rows.first()).map_or(0, |row| row.cells.len())
    }
}

/// Where the rows from `at` on end; `at` if it is no row. A header below other rows begins another table.
fn end_of_table(sentences: &[Sentence], at: usize) -> usize {
    let is_next = |n: &usize| {
        let (Some(first), Some(it)) = (sentences.get(at), sentences.get(*n)) else { return false };
        let block = it.block.checked_sub(first.block);
        let begins = *n > at
            && it.kind == BlockKind::TableHeader
            && sentences[*n - 1].kind == BlockKind::TableRow;
        it.kind.is_row() && !begins && block.is_some_and(|block| block as usize == n - at)
    };
    (at..sentences.len()).take_while(is_next).last().map_or(at, |last| last + 1)
}

/// Splits a row at the bars that stand between white space. Bars within a word belong to a cell.
fn row(page: &Page, n: usize) -> TableRow {
    let text = page.sentence(n);
    let start = page.sentences()[n].start as usize;
    let mut cells = Vec::new();
    let mut from = 0;
    let bars = text.match_indices('|').map(|bar| bar.0);
    let ends = bars.filter(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + 1..].chars().next();
        [before, after].into_iter().flatten().all(char::is_whitespace)
    });
    for end in ends.chain([text.len()]) {
        let cell = &text[from..end];
        let lead = from + (cell.len() - cell.trim_start().len());
        cells.push(start + lead..start + lead.max(from + cell.trim_end().len()));
        from = end + 1;
    }
    TableRow { sentence: n, group: None, cells }
}

/// A table of these rows; `None` if they do not have two columns.
fn table(page: &Page, mut rows: Vec<TableRow>, complete: bool) -> Option<Table> {
    // Lines of one cell above the others say what the table is about.
    let titles = rows.iter().take_while(|row| row.cells.len() == 1).count();
    let title = titles.checked_sub(1).map(|last| rows[last].sentence);
    rows.drain(..titles);
    let first = rows.first()?;
    if !(2..=MAX_CELLS).contains(&first.cells.len()) {
        return None;
    }
    let caption = title.or_else(|| caption(page, first.sentence));
    let marked = |row: &TableRow| page.sentences()[row.sentence].kind == BlockKind::TableHeader;
    let named = rows.iter().take_while(|row| marked(row)).count();
    let named = match named {
        // Where every row is marked, the marks say nothing.
        named if named > 0 && named < rows.len() => named,
        _ if !names_columns(page, &rows) => 0,
        _ => 1 + usize::from(continues_header(page, &rows)),
    };
    let mut header: Vec<TableRow> = rows.drain(..named).collect();
    header.retain(|row| row.cells.len() > 1);
    let mut group = None;
    rows.retain_mut(|row| {
        row.group = group;
        if row.cells.len() == 1 {
            group = Some(row.sentence);
        }
        row.cells.len() > 1
    });
    Some(Table { caption, header, rows, complete })
}

/// The short paragraph before the row `first`, or else the nearest heading above it.
fn caption(page: &Page, first: usize) -> Option<usize> {
    let sentences = page.sentences();
    let before = first.checked_sub(1)?;
    let alone =
        before.checked_sub(1).is_none_or(|at| sentences[at].block != sentences[before].block);
    let short = page.sentence(before).split_whitespace().count() <= MAX_CAPTION_WORDS;
    if sentences[before].kind == BlockKind::Prose && alone && short {
        return Some(before);
    }
    sentences[..first].iter().rposition(|sentence| sentence.kind == BlockKind::Heading)
}

/// Whether the first row, which nothing marks, names the columns: its cells differ and are words, and a column of figures is below
/// one of them. Of a table of words alone nobody can say whether its first row is one of them.
fn names_columns(page: &Page, rows: &[TableRow]) -> bool {
    let Some((first, rest)) = rows.split_first().filter(|rows| !rows.1.is_empty()) else {
        return false;
    };
    let cells: Vec<&str> = (0..first.cells.len()).map(|at| first.cell(page, at)).collect();
    let is_name =
        |text: &str| !is_figure(text) && text.split_whitespace().count() <= MAX_HEADER_WORDS;
    let is_value = |text: &str| MISSING.contains(&text.to_lowercase().as_str()) || !has_words(text);
    let repeats = |at: usize| cells[..at].contains(&cells[at]);
    let after_first = 1..cells.len();
    if !cells.iter().all(|cell| is_name(cell))
        || after_first.clone().any(|at| is_value(cells[at]) || repeats(at))
    {
        return false;
    }
    let holds_figures = |column: usize| {
        let figures = rest.iter().filter(|row| is_figure(row.cell(page, column))).count();
        figures as f32 >= rest.len() as f32 * MIN_FIGURE_SHARE
    };
    after_first.into_iter().any(holds_figures)
}

/// Whether the second row goes on naming the columns: it does, too, and what its rows are of was said above it.
fn continues_header(page: &Page, rows: &[TableRow]) -> bool {
    let [first, second, ..] = rows else { return false };
    let label = second.cell(page, 0);
    (label.is_empty() || label == first.cell(page, 0)) && names_columns(page, &rows[1..])
}

/// Whether a cell is a figure. A year alone may name a column.
fn is_figure(text: &str) -> bool {
    let year =
        text.len() == 4 && text.parse::<u16>().is_ok_and(|year| (1000..2100).contains(&year));
    let begins = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    !year && begins.starts_with(|c: char| c.is_ascii_digit()) && !numbers(text).is_empty()
}

fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, PageDraft};

    fn page(blocks: &[(BlockKind, &str)]) -> Page {
        Page::new(PageDraft {
            url: "https://oak.example/".to_owned(),
            blocks: blocks.iter().map(|block| Block::new(block.0, block.1)).collect(),
            ..PageDraft::default()
        })
    }

    const ROW: BlockKind = BlockKind::TableRow;

    /// Each table as its caption, its header and its rows.
    fn tables(blocks: &[(BlockKind, &str)]) -> Vec<(String, Vec<String>, Vec<Vec<String>>)> {
        let page = page(blocks);
        let cells = |row: &TableRow| -> Vec<String> {
            (0..row.cells.len()).map(|at| row.cell(&page, at).to_owned()).collect()
        };
        let shown = |it: Table| {
            let caption = it.caption.map_or("", |n| page.sentence(n)).to_owned();
            let header = it.header.last().map(cells).unwrap_or_default();
            (caption, header, it.rows.iter().map(cells).collect())
        };
        Table::in_page(&page).into_iter().map(shown).collect()
    }

    #[test]
    fn a_table_has_its_heading_its_header_and_its_cells() {
        let found = tables(&[
            (BlockKind::Heading, "Corks"),
            (BlockKind::Prose, "Cork is the bark of an oak. It floats."),
            (ROW, "Kind | Weight | Price"),
            (ROW, "Natural | 4 g | 0.30 €"),
            (ROW, "Pressed | | 0.10 €"),
            (BlockKind::Prose, "Prices of 2024."),
        ]);
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        assert_eq!(
            found,
            [(
                "Corks".to_owned(),
                row(["Kind", "Weight", "Price"]),
                vec![row(["Natural", "4 g", "0.30 €"]), row(["Pressed", "", "0.10 €"])],
            )]
        );
    }

    #[test]
    fn a_list_of_names_and_values_has_no_header() {
        let found = tables(&[
            (BlockKind::Prose, "Facts in short"),
            (ROW, "Depth | 10 cm"),
            (ROW, "Warranty | 10 years"),
        ]);
        assert_eq!(
            (found[0].0.as_str(), found[0].1.len(), found[0].2.len()),
            ("Facts in short", 0, 2)
        );
        let words = tables(&[(ROW, "Bark | brown"), (ROW, "Leaf | green")]);
        assert_eq!((words[0].1.len(), words[0].2.len()), (0, 2));
    }

    #[test]
    fn years_name_columns() {
        let found = tables(&[(ROW, "Rule | 2011 | 2023"), (ROW, "Depth | 6 cm | 8 cm")]);
        assert_eq!(found[0].1, ["Rule", "2011", "2023"]);
    }

    #[test]
    fn a_ragged_row_says_nothing_of_a_column() {
        let page = page(&[
            (ROW, "Kind | Weight | Price"),
            (ROW, "Natural | 4 g"),
            (ROW, "a|b | 5 g | 1 €"),
            (ROW, "c | d | 6 g | 1 €"),
        ]);
        let table = Table::in_page(&page).remove(0);
        assert_eq!(table.cell(&page, 0, 1), None);
        assert_eq!(table.cell(&page, 1, 0), Some("a|b"));
        assert_eq!(table.cell(&page, 2, 1), None);
        assert_eq!(table.cell(&page, 9, 9), None);
    }

    #[test]
    fn lines_of_one_column_single_rows_and_endless_tables_are_bounded() {
        assert_eq!(tables(&[(ROW, "alone"), (ROW, "alone too")]), []);
        assert_eq!(tables(&[(ROW, "Kind | Weight"), (BlockKind::Prose, "Text.")]), []);
        let rows: Vec<(BlockKind, &str)> = vec![(ROW, "n | 1 g"); 5_000];
        assert_eq!(tables(&rows)[0].2.len(), MAX_ROWS);
    }

    #[test]
    fn a_marked_header_of_two_lines_names_columns_by_both() {
        const HEAD: BlockKind = BlockKind::TableHeader;
        let page = page(&[
            (HEAD, "Cork | Weight | Weight"),
            (HEAD, "Cork | dry | wet"),
            (ROW, "Natural | none | 5 g"),
            (HEAD, "Cork | Price"),
            (ROW, "Natural | 1 €"),
        ]);
        let tables = Table::in_page(&page);
        let names: Vec<String> = (0..3).map(|at| tables[0].name(&page, at)).collect();
        assert_eq!(names, ["Cork", "Weight, dry", "Weight, wet"]);
        assert_eq!((tables.len(), tables[0].rows.len(), tables[1].rows.len()), (2, 1, 1));
    }

    #[test]
    fn tables_that_touch_stay_apart_where_the_second_one_begins() {
        let begins = |text: &str| Block { level: 1, ..Block::new(ROW, text) };
        let page = Page::new(PageDraft {
            url: "https://oak.example/".to_owned(),
            blocks: vec![
                begins("Bark | 9 cm"),
                Block::new(ROW, "Leaf | 3 cm"),
                begins("Root | 2 m"),
                Block::new(ROW, "Trunk | 8 m"),
            ],
            ..PageDraft::default()
        });
        let rows: Vec<usize> = Table::in_page(&page).iter().map(|it| it.rows.len()).collect();
        assert_eq!(rows, [2, 2]);
    }

    #[test]
    fn a_row_of_one_cell_heads_those_below_it_or_the_table() {
        let page = page(&[
            (ROW, "Corks of the cellar"),
            (ROW, "Kind | Weight"),
            (ROW, "Natural | 4 g"),
            (ROW, "Of dust"),
            (ROW, "Pressed | 3 g"),
        ]);
        let table = Table::in_page(&page).remove(0);
        let groups: Vec<Option<usize>> = table.rows.iter().map(|row| row.group).collect();
        assert_eq!((table.caption, table.header.len(), groups), (Some(0), 1, vec![None, Some(3)]));
    }

    #[test]
    fn a_first_row_of_words_is_no_header_unless_figures_stand_below_it() {
        for first in ["Natural | none | 9", "Natural | light | light"] {
            let found = tables(&[(ROW, first), (ROW, "Pressed | 3 g | 4"), (ROW, "Wax | 2 g | 5")]);
            assert_eq!((found[0].1.len(), found[0].2.len()), (0, 3), "{first}");
        }
        let words = tables(&[(ROW, "a | b | c"), (ROW, "d | e | f")]);
        assert_eq!((words[0].1.len(), words[0].2.len()), (0, 2));
        let two =
            [(ROW, "Cork | Weight | Depth"), (ROW, " | wet | dry"), (ROW, "Wax | 2 g | 5 mm")];
        assert_eq!(tables(&two)[0].2.len(), 1);
    }
}
