//! The comparison table of a report: the figures of several things side by side, each from the cell of a table.
use std::collections::BTreeMap;

use super::contrast::{AttributeRow, contrast_row};
use super::measure::{measure_of, stems};
use super::request::{TableRequest, year};
use super::rows::asked_figures;
use super::top_row::ordered_rows;
use super::view::{CellFigure, TableView};
use crate::draft::{DraftComparison, DraftLine};
use crate::heuristic::lexicon::sentence_case;
use crate::heuristic::plan::compared_things;
use crate::research_state::ResearchState;
use ibid_core::domain::words::{stem, tokens};
use ibid_core::domain::{Brief, Evidence};

/// Least number of rows and columns of figures, and the most.
const MIN_SIZE: usize = 2;
const MAX_ROWS: usize = 12;
const MAX_COLUMNS: usize = 5;
/// Maximum number of years.
const MAX_YEARS: usize = 40;

/// The comparison table of a report, if there are enough figures: of the sides of a comparison by their attributes, or else the
/// rows of a table that answer the question.
pub(super) fn comparison_table(
    brief: &Brief,
    request: &TableRequest,
    state: &ResearchState,
    stands: impl Fn(&Evidence) -> bool,
) -> Option<DraftComparison> {
    let standing = state.notes.evidence.iter().filter(|it| stands(it));
    let (rows, sentences): (Vec<&Evidence>, Vec<&Evidence>) =
        standing.partition(|it| it.table_header.is_some());
    let mut views = Vec::new();
    let mut seen = Vec::new();
    for it in &rows {
        if !seen.contains(&it.passage.page()) {
            seen.push(it.passage.page());
            let page = state.pages.pages().get(it.passage.page());
            views.extend(page.into_iter().flat_map(|page| TableView::of_page(page, request.words)));
        }
    }
    let found = if request.sides.is_empty() {
        let best = rows.iter().copied().reduce(|a, b| if b.score > a.score { b } else { a })?;
        rows_table(&views, request, &rows, best)
    } else {
        sides_table(brief, request, side_rows(&views, request, &rows, &sentences))
    };
    found.filter(is_full)
}

/// Whether a table has two rows and two columns of figures, or three rows of one, and figures in two thirds of its cells.
fn is_full(it: &DraftComparison) -> bool {
    let cells = || it.rows.iter().flat_map(|row| &row.1);
    let filled = cells().filter(|cell| !cell.is_empty()).count();
    let (rows, columns) = (it.rows.len(), it.columns.len());
    let large = rows >= MIN_SIZE && columns > MIN_SIZE || rows > MIN_SIZE && columns == MIN_SIZE;
    large && filled * 3 >= cells().count() * 2
}

/// The evidence that quotes a row of a table.
fn evidence_of<'e>(
    view: &TableView<'_>,
    row: usize,
    rows: &[&'e Evidence],
) -> Option<&'e Evidence> {
    let sentence = view.table.rows.get(row)?.sentence;
    let quotes = |it: &&&Evidence| {
        it.passage.page() == view.page.hash()
            && (it.passage.first()..=it.passage.last()).contains(&sentence)
    };
    rows.iter().find(quotes).copied()
}

/// The rows of the table of `best` that answer the question, with all of its columns.
fn rows_table(
    views: &[TableView<'_>],
    request: &TableRequest,
    rows: &[&Evidence],
    best: &Evidence,
) -> Option<DraftComparison> {
    let is_best = |view: &&TableView<'_>| {
        let quoted = (0..view.table.rows.len()).filter_map(|row| evidence_of(view, row, &[best]));
        !view.by_column && quoted.count() > 0
    };
    let view = views.iter().find(is_best)?;
    if view.table.header.is_empty() {
        return None;
    }
    let figures = asked_figures(view, request);
    if figures.first().is_some_and(|it| year(it.attribute).is_some()) && request.years.is_some() {
        return Some(years_table(view, rows, &figures));
    }
    let (asked, of_rows) = match ordered_rows(view, request) {
        Some((column, of_rows)) => (Some(column), of_rows),
        None if request.extreme.is_some() => (None, (0..view.table.rows.len()).collect()),
        None => {
            let mut of_rows: Vec<usize> = figures.iter().map(|it| it.row).collect();
            of_rows.dedup();
            (figures.first().map(|it| it.column), of_rows)
        }
    };
    // The row that is asked for may be among those left out.
    if request.extreme.is_some()
        && of_rows.len() > MAX_ROWS
        && (asked.is_none() || request.per.is_some())
    {
        return None;
    }
    let mut shown: Vec<usize> = (view.keys..view.table.columns()).take(MAX_COLUMNS).collect();
    if let (Some(asked), Some(last)) = (asked, shown.last_mut())
        && asked > *last
    {
        *last = asked;
    }
    let row = |row: usize| {
        let quote = evidence_of(view, row, rows)?;
        let cell = |column: &usize| cell(view.figure(row, *column), quote);
        Some((view.label(row)?.to_owned(), shown.iter().map(cell).collect()))
    };
    let most = if request.years.is_some() { MAX_YEARS } else { MAX_ROWS };
    let things = of_rows.into_iter().filter(|row| !view.is_summary(request.words, *row));
    let rows = things.take(most).filter_map(row).collect();
    let names = std::iter::once(0).chain(shown.iter().copied());
    Some(DraftComparison {
        columns: names.map(|at| view.names[at].clone()).collect(),
        rows,
        by_row: false,
        asked: asked.and_then(|asked| shown.iter().position(|it| *it == asked)).map(|at| at + 1),
        is_time_line: false,
    })
}

/// A cell of a comparison with its quote; empty if there is no figure.
fn cell(figure: Option<CellFigure<'_>>, quote: &Evidence) -> Vec<DraftLine> {
    let line =
        |it: CellFigure<'_>| DraftLine { text: it.value.to_owned(), evidence: vec![quote.id] };
    figure.map(line).into_iter().collect()
}

/// The figures of things in the years that name the columns: a row for each year.
fn years_table(
    view: &TableView<'_>,
    rows: &[&Evidence],
    figures: &[CellFigure<'_>],
) -> DraftComparison {
    let mut things: Vec<usize> = figures.iter().map(|it| it.row).collect();
    things.dedup();
    let quoted = |row: usize| Some((row, view.label(row)?, evidence_of(view, row, rows)?));
    let things: Vec<(usize, &str, &Evidence)> =
        things.into_iter().filter_map(quoted).take(MAX_COLUMNS).collect();
    let mut years: Vec<(&str, usize)> =
        figures.iter().map(|it| (it.attribute, it.column)).collect();
    years.sort_unstable();
    years.dedup();
    let row = |(year, column): (&str, usize)| {
        let cell = |it: &(usize, &str, &Evidence)| cell(view.figure(it.0, column), it.2);
        (year.to_owned(), things.iter().map(cell).collect())
    };
    let names = things.iter().map(|it| it.1.to_owned());
    DraftComparison {
        columns: std::iter::once(String::new()).chain(names).collect(),
        rows: years.into_iter().take(MAX_YEARS).map(row).collect(),
        by_row: false,
        asked: Some(1),
        is_time_line: false,
    }
}

/// The attributes that tables, and else sentences, give of both sides. Each is from the one table that says most of it.
fn side_rows(
    views: &[TableView<'_>],
    request: &TableRequest,
    rows: &[&Evidence],
    sentences: &[&Evidence],
) -> Vec<AttributeRow> {
    let mut found: Vec<(String, AttributeRow)> = Vec::new();
    for view in views {
        for (key, row) in attribute_rows(view, request, rows) {
            let filled =
                |it: &AttributeRow| it.cells.iter().filter(|cell| !cell.is_empty()).count();
            let rank = |it: &AttributeRow| (filled(it), usize::MAX - it.qualified);
            match found.iter_mut().find(|known| known.0 == key) {
                Some(known) if rank(&row) > rank(&known.1) => known.1 = row,
                Some(_) => {}
                None => found.push((key, row)),
            }
        }
    }
    for (key, row) in sentences.iter().filter_map(|it| contrast_row(request, it)) {
        if !found.iter().any(|known| known.0 == key) {
            found.push((key, row));
        }
    }
    let filled = |row: &AttributeRow| row.cells.iter().filter(|cell| !cell.is_empty()).count();
    found.retain(|(_, row)| filled(row) >= MIN_SIZE);
    found.into_iter().take(MAX_ROWS).map(|it| it.1).collect()
}

/// The sides of a comparison by their attributes.
fn sides_table(
    brief: &Brief,
    request: &TableRequest,
    rows: Vec<AttributeRow>,
) -> Option<DraftComparison> {
    let things = compared_things(brief);
    let columns = std::iter::once(String::new());
    let columns: Vec<String> = columns.chain(things.iter().map(|it| sentence_case(it))).collect();
    let rows = rows.into_iter().map(|row| (row.label, row.cells)).collect();
    (request.sides.len() == things.len()).then_some(DraftComparison {
        columns,
        rows,
        by_row: true,
        asked: None,
        is_time_line: false,
    })
}

/// The attributes of a table with what they are of each side, each with a key that other tables share.
fn attribute_rows(
    view: &TableView<'_>,
    request: &TableRequest,
    rows: &[&Evidence],
) -> Vec<(String, AttributeRow)> {
    let mut by_attribute: BTreeMap<usize, (String, AttributeRow)> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for figure in asked_figures(view, request) {
        let (Some(side), Some(quote)) =
            (view.side(request, &figure), evidence_of(view, figure.row, rows))
        else {
            continue;
        };
        let at = order.iter().position(|it| *it == figure.attribute).unwrap_or(order.len());
        if at == order.len() {
            order.push(figure.attribute);
        }
        let (key, label) = key_and_label(request, &figure);
        let known = by_attribute.values().any(|it| it.0 == key);
        let key = if known { figure.attribute.to_owned() } else { key };
        let empty =
            || AttributeRow { label, cells: vec![Vec::new(); request.sides.len()], qualified: 0 };
        let row = &mut by_attribute.entry(at).or_insert_with(|| (key, empty())).1;
        let (text, qualified) = side_text(request, side, &figure);
        row.qualified += usize::from(qualified);
        if let Some(cell) = row.cells.get_mut(side) {
            cell.push(DraftLine { text, evidence: vec![quote.id] });
        }
    }
    by_attribute.into_values().collect()
}

/// What tables share of an attribute, and how it is headed: "Cost (Average)".
fn key_and_label(request: &TableRequest, figure: &CellFigure<'_>) -> (String, String) {
    let attribute = figure.attribute.to_owned();
    let Some(measure) = measure_of(request.words, figure.attribute, figure.value) else {
        return (attribute.clone(), attribute);
    };
    let names = measure.names.iter().any(|name| stems(&attribute).contains(name));
    let label = if names { attribute } else { format!("{} ({attribute})", measure.heading) };
    (measure.heading.clone(), label)
}

/// A cell with what its thing is besides the side: "137 € per m² (retrofit)".
fn side_text(request: &TableRequest, side: usize, figure: &CellFigure<'_>) -> (String, bool) {
    let own = |word: &str| word == request.sides[side] || request.topic.contains(word);
    let named = tokens(figure.entity);
    let rest = named.iter().find(|token| !own(&stem(&token.text)));
    let rest = rest.map(|token| figure.entity[token.span.start..].trim());
    match rest {
        Some(rest) => (format!("{} ({rest})", figure.value), true),
        None => (figure.value.to_owned(), false),
    }
}
