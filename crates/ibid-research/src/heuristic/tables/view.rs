//! A table as figures of things: which side of it names the things, and which their attributes.
use std::collections::BTreeSet;

use super::measure::{measure_of, stems, units};
use super::request::TableRequest;
use crate::prompts::TableWords;
use ibid_core::domain::{Page, Table};

/// A cell that says something of a thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CellFigure<'p> {
    /// The thing; empty if it is what the page is about.
    pub(super) entity: &'p str,
    pub(super) attribute: &'p str,
    pub(super) value: &'p str,
    /// The index of its row.
    pub(super) row: usize,
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
    /// The stems of the page's title, the caption and the name of the first column.
    pub(super) about: BTreeSet<String>,
}

impl<'p> TableView<'p> {
    /// The tables of a page of which it is known what their cells are.
    pub(super) fn of_page(page: &'p Page, words: &TableWords) -> Vec<TableView<'p>> {
        let known = |table: &Table| table.header.is_some() || table.columns() == 2;
        Table::in_page(page)
            .into_iter()
            .filter(known)
            .map(|table| {
                let caption = table.caption.map_or("", |n| page.sentence(n));
                let first = table.header.as_ref().map_or("", |header| header.cell(page, 0));
                let about = stems(&format!("{} {caption} {first}", page.title));
                let by_column = names_things_by_column(page, &table, words);
                TableView { page, by_column, about, table }
            })
            .collect()
    }

    /// The figures, row by row.
    pub(super) fn figures(&self) -> Vec<CellFigure<'p>> {
        let rows = 0..self.table.rows.len();
        let columns = 1..self.table.columns();
        let cells = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        cells.filter_map(|(row, column)| self.figure(row, column)).collect()
    }

    /// What the cell at a row and a column says.
    pub(super) fn figure(&self, row: usize, column: usize) -> Option<CellFigure<'p>> {
        let label = self.table.cell(self.page, row, 0)?;
        let value = self.table.cell(self.page, row, column)?;
        let name = self.table.header.as_ref().map_or("", |header| header.cell(self.page, column));
        let (entity, attribute) = match (&self.table.header, self.by_column) {
            (None, _) => ("", label),
            (Some(_), true) => (name, label),
            (Some(_), false) => (label, name),
        };
        Some(CellFigure { entity, attribute, value, row })
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

    /// The side of a comparison that a figure is on, if it is on one.
    pub(super) fn side(&self, request: &TableRequest, figure: &CellFigure<'_>) -> Option<usize> {
        let entity = stems(figure.entity);
        let mut on = (0..request.sides.len()).filter(|side| entity.contains(&request.sides[*side]));
        on.next().filter(|_| on.next().is_none())
    }

    /// How many stems of the question's topic name the thing of a figure.
    pub(super) fn named(&self, request: &TableRequest, figure: &CellFigure<'_>) -> usize {
        request.topic.intersection(&stems(figure.entity)).count()
    }
}

/// Whether the columns are the things: the first one says that it holds properties, or a column mixes units.
fn names_things_by_column(page: &Page, table: &Table, words: &TableWords) -> bool {
    let Some(header) = &table.header else {
        return false;
    };
    let first = header.cell(page, 0).to_lowercase();
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
