//! The row with the most or the least of a column, or of one column for another.
use super::measure::{holds, stems};
use super::quantity::{Quantity, align};
use super::request::{Extreme, TableRequest};
use super::view::{CellFigure, RowLine, TableView};
use crate::prompts::fill_template;

/// Least number of rows that one is picked from.
const MIN_ROWS: usize = 2;
/// Maximum number of rows that share the first place.
const MAX_TIED: usize = 2;

/// A column in which every row has a figure, all in one unit.
pub(super) struct FigureColumn<'v> {
    pub(super) cells: Vec<CellFigure<'v>>,
    pub(super) values: Vec<Quantity>,
}

/// The row that has the most or the least of what a request asks for. Nothing if a row has no figure to compare, or a range that
/// reaches to those of others.
pub(super) fn top_rows(view: &TableView<'_>, request: &TableRequest) -> Vec<RowLine> {
    let Some((extreme, column)) = request.extreme.zip(extreme_column(view, request)) else {
        return Vec::new();
    };
    let per = match per_column(view, request) {
        Some(None) => return Vec::new(),
        Some(per) => per,
        None => None,
    };
    let worth = |row: usize| match &per {
        None => Some(column.values[row].clone()),
        Some(per) => divided(&column.values[row], &per.values[row]),
    };
    let Some(worth) = (0..column.values.len()).map(worth).collect::<Option<Vec<Quantity>>>() else {
        return Vec::new();
    };
    let line = |row: usize| RowLine {
        text: text(request, extreme, &column.cells[row], per.as_ref().map(|per| &per.cells[row])),
        rows: (0, view.table.rows.len() - 1),
        share: view.topic_share(request, &column.cells[row]),
    };
    first_rows(view, request, extreme, &worth).into_iter().map(line).collect()
}

/// The rows in the first place: none if it is not certain which they are, or if an advertisement is before them.
fn first_rows(
    view: &TableView<'_>,
    request: &TableRequest,
    extreme: Extreme,
    worth: &[Quantity],
) -> Vec<usize> {
    let things = (0..worth.len()).filter(|row| !view.is_summary(request.words, *row));
    let things: Vec<usize> = things.collect();
    let before = |a: &Quantity, b: &Quantity| match extreme {
        Extreme::Most => a.low > b.high,
        Extreme::Least => a.high < b.low,
    };
    let equal = |a: &Quantity, b: &Quantity| {
        a.is_point() && b.is_point() && a.value.to_bits() == b.value.to_bits()
    };
    let leads = |row: &usize| {
        let own = &worth[*row];
        things
            .iter()
            .all(|other| other == row || before(own, &worth[*other]) || equal(own, &worth[*other]))
    };
    let first: Vec<usize> = things.iter().copied().filter(leads).collect();
    let doubtful = first.iter().any(|row| view.is_advertisement(request.words, *row));
    if doubtful || first.len() > MAX_TIED { Vec::new() } else { first }
}

/// The rows of a table from the one with the most or the least on, by their middle where they are ranges. Rows on the others
/// together are left out.
pub(super) fn ordered_rows(
    view: &TableView<'_>,
    request: &TableRequest,
) -> Option<(usize, Vec<usize>)> {
    let extreme = request.extreme?;
    let column = extreme_column(view, request)?;
    let of_things = (0..column.values.len()).filter(|row| !view.is_summary(request.words, *row));
    let mut rows: Vec<usize> = of_things.collect();
    rows.sort_by(|a, b| {
        let order = column.values[*a].value.total_cmp(&column.values[*b].value);
        if extreme == Extreme::Most { order.reverse() } else { order }
    });
    Some((column.cells.first()?.column, rows))
}

/// The column of what is asked for, if all of it can be compared.
fn extreme_column<'v>(view: &'v TableView<'_>, request: &TableRequest) -> Option<FigureColumn<'v>> {
    if view.by_column || !view.table.complete {
        return None;
    }
    // A column of another measure is no answer where that of the measure asked for is unfit.
    let asks = |it: &FigureColumn<'_>| {
        let CellFigure { attribute, value, .. } = it.cells[0];
        let mut measures = request.measures.iter();
        request.asks_for(attribute, value, &view.about)
            && (request.measures.is_empty()
                || measures.any(|measure| holds(measure, request.words, attribute, value)))
    };
    // Of "dry weight" and "saturated weight" the caption may name both.
    let rank = |it: &FigureColumn<'_>| {
        let cell = &it.cells[0];
        let words = request.common_words(cell.attribute) as f32;
        // The cheapest has the lowest price, and not the lowest costs a year.
        let runs = words == 0.0 && !request.asks_to_run && request.is_running(cell.attribute);
        view.topic_share(request, cell) + request.topic_share(&stems(cell.attribute)) + words
            - if runs { 0.5 } else { 0.0 }
    };
    let columns = view.keys..view.table.columns();
    let columns: Vec<FigureColumn<'_>> = columns
        .filter_map(|column| figure_column(view, column))
        .filter(|it| !request.asks_to_run || request.is_running(it.cells[0].attribute))
        .collect();
    let asked = columns.iter().filter(|it| asks(it));
    let best = asked.reduce(|best, it| if rank(it) > rank(best) { it } else { best });
    // "Which river is the longest?" names no column: its length is meant.
    let meant = |it: &FigureColumn<'_>| {
        request.measures.is_empty()
            && stems(it.cells[0].attribute).iter().any(|stem| request.extreme_names.contains(stem))
    };
    let at = columns
        .iter()
        .position(|it| best.is_some_and(|best| std::ptr::eq(best, it)))
        .or_else(|| columns.iter().position(meant))?;
    columns.into_iter().nth(at)
}

/// The column that the most is counted by, if one is asked for.
fn per_column<'v>(
    view: &'v TableView<'_>,
    request: &TableRequest,
) -> Option<Option<FigureColumn<'v>>> {
    let per = request.per?;
    let holds =
        |it: &FigureColumn<'_>| holds(per, request.words, it.cells[0].attribute, it.cells[0].value);
    let mut columns =
        (view.keys..view.table.columns()).filter_map(|column| figure_column(view, column));
    Some(columns.find(holds))
}

/// One figure by another; `None` if either is a range, or the other is nothing.
fn divided(one: &Quantity, by: &Quantity) -> Option<Quantity> {
    let value = one.value / by.value;
    let certain = one.is_point() && by.is_point() && value.is_finite();
    certain.then(|| Quantity { low: value, value, high: value, unit: one.unit.clone() })
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

/// A column, if every row has a figure in it and all are of one quantity.
fn figure_column<'v>(view: &'v TableView<'_>, column: usize) -> Option<FigureColumn<'v>> {
    let rows = 0..view.table.rows.len();
    let cells = rows.map(|row| view.figure(row, column)).collect::<Option<Vec<_>>>()?;
    let name = cells.first()?.attribute;
    let read = cells.iter().map(|it| Quantity::read(it.value, name)).collect::<Option<Vec<_>>>()?;
    let values = align(&read, name)?.quantities;
    (cells.len() >= MIN_ROWS).then_some(FigureColumn { cells, values })
}
