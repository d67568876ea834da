//! Rows of tables whose cells span columns and rows, as rows that have a cell in every column.
use ibid_core::domain::{Block, BlockKind};

/// Columns from which on nothing is repeated.
const MAX_COLUMNS: usize = 32;
/// Bytes of a cell that is repeated, and of all repeated cells of a document. Beyond them the cells are empty.
const MAX_REPEATED_CELL: usize = 300;
const MAX_REPEATED: usize = 1 << 20;

/// A cell as a document has it.
#[derive(Debug)]
pub(crate) struct GridCell {
    pub(crate) text: String,
    /// How many columns and rows it spans. No rows: to the end of the table.
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Whether it continues the cell above it.
    pub(crate) continues: bool,
}

impl Default for GridCell {
    fn default() -> GridCell {
        GridCell { text: String::new(), columns: 1, rows: 1, continues: false }
    }
}

impl GridCell {
    /// An empty cell that spans what the document states.
    pub(crate) fn spanning(columns: Option<usize>, rows: Option<usize>) -> GridCell {
        let rows = match rows {
            Some(0) => usize::MAX,
            rows => rows.unwrap_or(1),
        };
        GridCell { columns: columns.unwrap_or(1), rows, ..GridCell::default() }
    }
}

/// The cells of a table that reach into the rows to come.
#[derive(Debug, Default)]
pub(crate) struct TableGrid {
    /// For each column, how many more rows its cell spans.
    left: Vec<usize>,
    /// The cells of the row above.
    above: Vec<String>,
    /// Bytes repeated so far.
    repeated: usize,
    /// Whether no row of the table has been written yet.
    first: bool,
}

impl TableGrid {
    /// Begins a table, which no cell of the one before reaches into.
    pub(crate) fn begin_table(&mut self) {
        self.left.clear();
        self.above.clear();
        self.first = true;
    }

    /// Whether a cell reaches into the next row.
    pub(crate) fn reaches_on(&self) -> bool {
        self.left.iter().any(|left| *left > 0)
    }

    /// Forgets which cells reach into the next row.
    pub(crate) fn drop_spans(&mut self) {
        self.left.clear();
    }

    /// A row as a block; `None` if it has no words.
    pub(crate) fn block(&mut self, cells: Vec<GridCell>, names: bool) -> Option<Block> {
        let text = self.row(cells);
        let kind = if names { BlockKind::TableHeader } else { BlockKind::TableRow };
        let has_words = text.chars().any(char::is_alphanumeric);
        has_words.then(|| Block {
            level: u8::from(std::mem::take(&mut self.first)),
            ..Block::new(kind, text)
        })
    }

    /// A row with a cell in every column, joined by ` | `. A cell that spans the whole row stands alone.
    pub(crate) fn row(&mut self, cells: Vec<GridCell>) -> String {
        if let [whole] = cells.as_slice()
            && whole.columns > 1
            && self.left.iter().all(|left| *left == 0)
        {
            return cell_text(&whole.text);
        }
        let mut row: Vec<String> = Vec::new();
        for cell in cells {
            self.fill(&mut row);
            let text = match self.above.get(row.len()).filter(|_| cell.continues).cloned() {
                Some(above) if cell.text.is_empty() => self.repeat(&above),
                _ => cell_text(&cell.text),
            };
            let room = MAX_COLUMNS.saturating_sub(row.len()).max(1);
            for nth in 0..cell.columns.clamp(1, room) {
                let at = row.len();
                row.push(if nth == 0 { text.clone() } else { self.repeat(&text) });
                if cell.rows > 1 && at < MAX_COLUMNS {
                    self.left.resize(self.left.len().max(at + 1), 0);
                    self.left[at] = cell.rows.saturating_sub(1);
                }
            }
        }
        while row.len() < self.left.len() && self.left[row.len()..].iter().any(|left| *left > 0) {
            let before = row.len();
            self.fill(&mut row);
            if row.len() == before {
                row.push(String::new());
            }
        }
        let text = row.join(" | ");
        self.above = row;
        text
    }

    /// Adds the cells of rows above that reach into the next columns of this row.
    fn fill(&mut self, row: &mut Vec<String>) {
        while let Some(left) = self.left.get_mut(row.len()).filter(|left| **left > 0) {
            *left -= 1;
            let above = self.above.get(row.len()).cloned().unwrap_or_default();
            row.push(self.repeat(&above));
        }
    }

    /// A cell once more, if the document may repeat that much.
    fn repeat(&mut self, text: &str) -> String {
        let fits = text.len() <= MAX_REPEATED_CELL && self.repeated + text.len() <= MAX_REPEATED;
        if !fits {
            return String::new();
        }
        self.repeated += text.len();
        text.to_owned()
    }
}

/// The text of a cell without bars that would end it.
fn cell_text(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut out = words.next().unwrap_or_default().trim_matches('|').to_owned();
    for word in words {
        if word != "|" && !out.is_empty() && !out.ends_with('|') {
            out.push(' ');
        }
        out.push_str(word);
    }
    out.trim_end_matches('|').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str, columns: usize, rows: usize) -> GridCell {
        GridCell { text: text.to_owned(), ..GridCell::spanning(Some(columns), Some(rows)) }
    }

    fn rows(all: Vec<Vec<GridCell>>) -> Vec<String> {
        let mut grid = TableGrid::default();
        grid.begin_table();
        all.into_iter().map(|row| grid.row(row)).collect()
    }

    #[test]
    fn a_cell_stands_in_every_column_and_row_that_it_spans() {
        let found = rows(vec![
            vec![cell("Cork", 1, 2), cell("Weight", 2, 1)],
            vec![cell("dry", 1, 1), cell("wet", 1, 1)],
            vec![cell("Stoppers", 3, 1)],
            vec![cell("Natural", 1, 2), cell("4 g", 1, 1), cell("5 g", 1, 1)],
            vec![cell("6 g", 2, 1)],
            vec![cell("Pressed", 1, 1), cell("3 g", 1, 0), cell("4 g", 1, 1)],
            vec![cell("Dust", 1, 1), cell("2 g", 1, 1)],
        ]);
        assert_eq!(
            found,
            [
                "Cork | Weight | Weight",
                "Cork | dry | wet",
                "Stoppers",
                "Natural | 4 g | 5 g",
                "Natural | 6 g | 6 g",
                "Pressed | 3 g | 4 g",
                "Dust | 3 g | 2 g",
            ]
        );
    }

    #[test]
    fn bars_within_a_cell_do_not_end_it() {
        assert_eq!(rows(vec![vec![cell("a | b |", 1, 1), cell("|c", 1, 1)]]), ["a|b | c"]);
    }

    #[test]
    fn what_a_document_repeats_is_bounded() {
        let wide = "x".repeat(MAX_REPEATED_CELL);
        let mut grid = TableGrid::default();
        grid.begin_table();
        let mut total = 0;
        for _ in 0..1_000 {
            total += grid.row(vec![cell(&wide, 100_000, 1), cell("1", 1, 1)]).len();
        }
        assert!(total < 2 * MAX_REPEATED, "{total}");
    }
}
