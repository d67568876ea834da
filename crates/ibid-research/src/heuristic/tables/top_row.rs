//! The row with the most or the least of a column, or of one column for another.
use super::measure::{exact_figure, holds, units};
use super::request::{Extreme, TableRequest};
use super::view::{CellFigure, RowLine, TableView};
use crate::prompts::fill_template;
use ibid_core::domain::words::tokens;

/// Least number of rows that one is picked from.
const MIN_ROWS: usize = 3;
/// Words that begin the name of a row about the other rows.
const SUMMARY_WORDS: [&str; 10] =
    ["total", "totals", "sum", "average", "mean", "median", "minimum", "maximum", "overall", "all"];
/// Maximum number of rows that share the first place.
const MAX_TIED: usize = 2;

/// A column in which every row has a figure of one unit.
struct FigureColumn<'p> {
    cells: Vec<CellFigure<'p>>,
    values: Vec<f64>,
}

/// The row that has the most or the least of what a request asks for. Nothing if a row has no figure to compare.
pub(super) fn top_rows(view: &TableView<'_>, request: &TableRequest) -> Vec<RowLine> {
    let Some(extreme) = request.extreme.filter(|_| !view.by_column) else {
        return Vec::new();
    };
    let columns: Vec<FigureColumn<'_>> =
        (1..view.table.columns()).filter_map(|column| figure_column(view, column)).collect();
    // A column of another measure is no answer where that of the measure asked for is unfit.
    let asks = |it: &&FigureColumn<'_>| {
        let CellFigure { attribute, value, .. } = it.cells[0];
        let mut measures = request.measures.iter();
        request.asks_for(attribute, value, &view.about)
            && (request.measures.is_empty()
                || measures.any(|measure| holds(measure, request.words, attribute, value)))
    };
    let share = |it: &FigureColumn<'_>| view.topic_share(request, &it.cells[0]);
    let best = columns.iter().filter(asks).reduce(
        |best, it| {
            if share(it) > share(best) { it } else { best }
        },
    );
    let Some(column) = best else {
        return Vec::new();
    };
    let per = request.per.map(|per| {
        let holds = |it: &&FigureColumn<'_>| {
            holds(per, request.words, it.cells[0].attribute, it.cells[0].value)
        };
        columns.iter().find(holds)
    });
    let per = match per {
        Some(None) => return Vec::new(),
        Some(Some(per)) => Some(per),
        None => None,
    };
    let divided = |row: usize| per.map_or(1.0, |per| per.values[row]);
    let worth: Vec<f64> =
        (0..column.values.len()).map(|row| column.values[row] / divided(row)).collect();
    if !worth.iter().all(|it| it.is_finite()) {
        return Vec::new();
    }
    let things: Vec<usize> =
        (0..worth.len()).filter(|row| !is_summary(column.cells[*row].entity)).collect();
    let of_things = things.iter().map(|row| worth[*row]);
    let top = match extreme {
        Extreme::Most => of_things.fold(f64::NEG_INFINITY, f64::max),
        Extreme::Least => of_things.fold(f64::INFINITY, f64::min),
    };
    let tied: Vec<usize> = things.into_iter().filter(|row| worth[*row] == top).collect();
    if tied.len() > MAX_TIED {
        return Vec::new();
    }
    let line = |row: usize| RowLine {
        text: text(request, extreme, &column.cells[row], per.map(|per| &per.cells[row])),
        rows: (0, view.table.rows.len() - 1),
        share: view.topic_share(request, &column.cells[row]),
    };
    tied.into_iter().map(line).collect()
}

/// "Cork, natural – Price: 0.30 €, the most of all rows."
fn text(
    request: &TableRequest,
    extreme: Extreme,
    figure: &CellFigure<'_>,
    per: Option<&CellFigure<'_>>,
) -> String {
    let lines = &request.words.lines;
    let CellFigure { entity, attribute, value, .. } = figure;
    match per {
        None => {
            let which = if extreme == Extreme::Most { &lines.most } else { &lines.least };
            format!("{entity} – {attribute}: {value}, {which}.")
        }
        Some(per) => {
            let which = if extreme == Extreme::Most { &lines.most_per } else { &lines.least_per };
            let which = fill_template(which, &[("attribute", attribute), ("per", per.attribute)]);
            let second = format!("{}: {}", per.attribute, per.value);
            format!("{entity} – {attribute}: {value}; {second}; {which}.")
        }
    }
}

/// Whether a row is about the other rows together.
fn is_summary(entity: &str) -> bool {
    let first = tokens(entity).into_iter().next();
    first.is_some_and(|first| SUMMARY_WORDS.contains(&first.text.as_str()))
}

/// A column, if every row has a figure in it and all are of one unit.
fn figure_column<'p>(view: &TableView<'p>, column: usize) -> Option<FigureColumn<'p>> {
    let rows = 0..view.table.rows.len();
    let cells = rows.map(|row| view.figure(row, column)).collect::<Option<Vec<_>>>()?;
    let values = cells.iter().map(|it| exact_figure(it.value)).collect::<Option<Vec<_>>>()?;
    let alike = cells.windows(2).all(|pair| units(pair[0].value) == units(pair[1].value));
    (cells.len() >= MIN_ROWS && alike).then_some(FigureColumn { cells, values })
}
