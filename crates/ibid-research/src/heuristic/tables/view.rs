//! A table as figures of things: which side of it names the things, and which their attributes.
use std::collections::{BTreeMap, BTreeSet};

use super::measure::{measure_of, stems, units};
use super::request::TableRequest;
use crate::prompts::TableWords;
use ibid_core::domain::words::{numbers, tokens};
use ibid_core::domain::{Page, Table};

/// Maximum number of columns that name the rows.
const MAX_KEYS: usize = 3;

/// A cell that says something of a thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CellFigure<'p> {
    /// The thing; empty if it is what the page is about.
    pub(super) entity: &'p str,
    pub(super) attribute: &'p str,
    pub(super) value: &'p str,
    /// The indices of its row and its column.
    pub(super) row: usize,
    pub(super) column: usize,
}

/// A sentence from a table, and the rows that say it.
pub(super) struct RowLine {
    pub(super) text: String,
    /// The first and the last row.
    pub(super) rows: (usize, usize),
    /// Share of what the question is about.
    pub(super) share: f32,
}

/// A table with what it is about.
pub(super) struct TableView<'p> {
    pub(super) page: &'p Page,
    pub(super) table: Table,
    /// Whether its columns are the things, and its rows their attributes.
    pub(super) by_column: bool,
    /// Whether it lists properties of one thing, a row each: "Weight | 640 g" below "Item | Value", or without a header.
    lists_properties: bool,
    /// The stems of the page's title, the caption and the name of the first column.
    pub(super) about: BTreeSet<String>,
    /// The stems of what says what the rows are: the caption, the heading, the line above that introduces the table, and the names
    /// of the columns that name the rows.
    pub(super) kind: BTreeSet<String>,
    /// The stems of the caption, the heading and the line above, and of the names of the columns that tell something of the rows.
    pub(super) matter: BTreeSet<String>,
    /// The names of its columns.
    pub(super) names: Vec<String>,
    /// How many of its columns name its rows.
    pub(super) keys: usize,
    /// The name of each row. A name of two rows names neither.
    labels: Vec<Option<String>>,
}

impl<'p> TableView<'p> {
    /// The tables of a page of which it is known what their cells are.
    pub(super) fn of_page(page: &'p Page, words: &TableWords) -> Vec<TableView<'p>> {
        let known = |table: &Table| !table.header.is_empty() || table.columns() == 2;
        Table::in_page(page)
            .into_iter()
            .filter(known)
            .map(|table| {
                let caption = table.caption.map_or("", |n| page.sentence(n));
                let columns = 0..table.columns();
                // "price_eur" is two words.
                let names: Vec<String> =
                    columns.map(|column| table.name(page, column).replace('_', " ")).collect();
                let about = stems(&format!("{} {caption} {}", page.title, names[0]));
                let by_column = names_things_by_column(page, &table, words);
                let holds_values = || words.value_columns.contains(&names[1].to_lowercase());
                let lists_properties =
                    table.header.is_empty() || table.columns() == 2 && holds_values();
                let (keys, labels) = row_labels(page, &table);
                let above = table.header.first().and_then(|row| row.sentence.checked_sub(1));
                let above = above.map(|n| page.sentence(n)).filter(|text| text.ends_with(':'));
                let keys_named = names[..keys].join(" ");
                let rows = table.header.first().or(table.rows.first());
                let heading = rows.and_then(|row| page.heading_above(row.sentence));
                let introduced = [heading, above].map(Option::unwrap_or_default).join(" ");
                let kind = stems(&format!("{caption} {introduced} {keys_named}"));
                let others = names[keys..].join(" ");
                let matter = stems(&format!("{caption} {introduced} {others}"));
                TableView {
                    page,
                    by_column,
                    lists_properties,
                    about,
                    kind,
                    matter,
                    names,
                    keys,
                    labels,
                    table,
                }
            })
            .collect()
    }

    /// Whether a cell, a column's name, the caption or the title has this word.
    pub(super) fn tells(&self, word: &str) -> bool {
        let has = |text: &str| tokens(text).iter().any(|token| token.text == word);
        let cells = || self.figures().into_iter().any(|it| has(it.value) || has(it.entity));
        let caption = self.table.caption.map_or("", |n| self.page.sentence(n));
        self.names.iter().any(|name| has(name)) || has(caption) || has(&self.page.title) || cells()
    }

    /// The figures, row by row.
    pub(super) fn figures(&self) -> Vec<CellFigure<'_>> {
        let rows = 0..self.table.rows.len();
        let columns = self.keys..self.table.columns();
        let cells = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        cells.filter_map(|(row, column)| self.figure(row, column)).collect()
    }

    /// What the cell at a row and a column says.
    pub(super) fn figure(&self, row: usize, column: usize) -> Option<CellFigure<'_>> {
        let label = self.label(row)?;
        let value = self.table.cell(self.page, row, column)?;
        let name = self.names.get(column).map_or("", String::as_str);
        let (entity, attribute) = match (self.lists_properties, self.by_column) {
            (true, _) => ("", label),
            (false, true) => (name, label),
            (false, false) => (label, name),
        };
        Some(CellFigure { entity, attribute, value, row, column })
    }

    /// The name of a row.
    pub(super) fn label(&self, row: usize) -> Option<&str> {
        self.labels.get(row)?.as_deref()
    }

    /// Whether a row is about the other rows together.
    pub(super) fn is_summary(&self, words: &TableWords, row: usize) -> bool {
        let label = self.label(row).map(tokens).unwrap_or_default();
        let ends = [label.first(), label.last()];
        ends.into_iter().flatten().any(|word| words.summaries.contains(&word.text))
    }

    /// Whether the name of a row calls a reader to buy.
    pub(super) fn is_advertisement(&self, words: &TableWords, row: usize) -> bool {
        let label = self.label(row).unwrap_or_default();
        let calls =
            tokens(label).iter().filter(|word| words.advertisements.contains(&word.text)).count();
        calls > 1
            || calls > 0 && label.contains(['!', '→', '»', ':'])
            || label.contains("://")
            || label.contains("www.")
    }

    /// Share of what a question is about that the table has where it says `figure`.
    pub(super) fn topic_share(&self, request: &TableRequest, figure: &CellFigure<'_>) -> f32 {
        let mut there = stems(&format!("{} {}", figure.entity, figure.attribute));
        there.extend(self.about.iter().cloned());
        request.topic_share(&there)
    }

    /// Whether a figure is a property of its thing, and not a count of cases.
    pub(super) fn is_property(&self, words: &TableWords, figure: &CellFigure<'_>) -> bool {
        self.by_column || measure_of(words, figure.attribute, figure.value).is_some()
    }

    /// The side of a comparison that a figure is on, if it is on one. Of the S2 and the S2 Pro, what has both words is on the second.
    pub(super) fn side(&self, request: &TableRequest, figure: &CellFigure<'_>) -> Option<usize> {
        let entity = stems(figure.entity);
        let mut on: Vec<usize> = (0..request.sides.len()).collect();
        on.retain(|side| entity.contains(&request.sides[*side]));
        if on.len() > 1 {
            on.retain(|side| request.general_side != Some(*side));
        }
        on.first().copied().filter(|_| on.len() == 1)
    }

    /// How many sides of a comparison the table has figures of.
    pub(super) fn sides(&self, request: &TableRequest) -> usize {
        if request.sides.is_empty() {
            return 0;
        }
        let figures = self.figures();
        let sides = figures.iter().filter_map(|it| self.side(request, it));
        sides.collect::<BTreeSet<usize>>().len()
    }

    /// How many stems of the question's topic name the thing of a figure.
    pub(super) fn named(&self, request: &TableRequest, figure: &CellFigure<'_>) -> usize {
        request.topic.intersection(&stems(figure.entity)).count()
    }
}

/// How many columns name the rows, and the name of each row: of its first column, and where that repeats, as a cell across rows
/// does, of the next columns of words, with the row that heads it and its neighbours.
fn row_labels(page: &Page, table: &Table) -> (usize, Vec<Option<String>>) {
    let of_keys = |keys: usize| -> Vec<Option<String>> {
        let label = |nth: usize| {
            let row = &table.rows[nth];
            let first = table.cell(page, nth, 0)?;
            let mut parts = vec![first];
            parts.extend(
                (1..keys)
                    .map(|at| row.cell(page, at))
                    .filter(|part| !part.is_empty() && *part != first),
            );
            let label = parts.join(", ");
            let group =
                row.group.filter(|_| !table.header.is_empty()).map(|group| page.sentence(group));
            Some(group.map_or(label.clone(), |group| format!("{label} ({group})")))
        };
        let labels: Vec<Option<String>> = (0..table.rows.len()).map(label).collect();
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for label in labels.iter().flatten() {
            *count.entry(label.to_lowercase()).or_default() += 1;
        }
        let is_one = |label: &String| count.get(&label.to_lowercase()) == Some(&1);
        labels.into_iter().map(|label| label.filter(is_one)).collect()
    };
    let is_words = |column: usize| {
        let mut cells = table.rows.iter().map(|row| row.cell(page, column));
        cells.all(|cell| numbers(cell).is_empty())
    };
    // A number of an article is named by the article.
    let coded = table.columns() > 3
        && (0..table.rows.len()).all(|row| table.cell(page, row, 0).is_none_or(is_article_number));
    let names_articles = |row: usize| {
        table.cell(page, row, 1).is_some_and(|cell| cell.starts_with(char::is_alphabetic))
    };
    let coded = coded && (0..table.rows.len()).all(names_articles);
    let mut keys = if coded { 2 } else { 1 };
    let mut labels = of_keys(keys);
    while keys < MAX_KEYS
        && keys + 1 < table.columns()
        && labels.iter().any(Option::is_none)
        && is_words(keys)
    {
        keys += 1;
        labels = of_keys(keys);
    }
    (keys, labels)
}

/// Whether a cell is the number of an article: one word with a digit, and with a letter or of five digits or more.
fn is_article_number(cell: &str) -> bool {
    let digits = cell.chars().filter(char::is_ascii_digit).count();
    let letters = cell.chars().any(char::is_alphabetic);
    digits > 0 && (letters || digits >= 5) && !cell.contains(char::is_whitespace)
}

/// Whether the columns are the things: the first one says that it holds properties, or a column mixes units.
fn names_things_by_column(page: &Page, table: &Table, words: &TableWords) -> bool {
    if table.header.is_empty() {
        return false;
    }
    let first = table.name(page, 0).to_lowercase();
    let known: BTreeSet<&String> = words.measures.values().flat_map(|it| &it.units).collect();
    let mixes = |column: usize| {
        let cells = (0..table.rows.len()).filter_map(|row| table.cell(page, row, column));
        let measured = cells.map(|cell| {
            units(cell).into_iter().filter(|unit| known.contains(unit)).collect::<Vec<_>>()
        });
        measured.filter(|it| !it.is_empty()).collect::<BTreeSet<_>>().len() > 1
    };
    words.property_columns.contains(&first)
        || table.columns() > 2 && (1..table.columns()).all(mixes)
}
