//! What is computed from a comparison that has been checked: its figures in one unit, and its chart.
use std::collections::BTreeSet;

use super::quantity::{ConvertedColumn, Quantity, align};
use super::request::year;
use ibid_core::domain::{Chart, ChartKind, ChartPoint, Claim, ComparisonTable};

/// Least number of points of a chart.
const MIN_POINTS: usize = 3;

/// Adds to each cell its figure in the unit of most of its neighbours of the same measure, if it has another one. `by_row`:
/// whether the rows are the measures.
pub(crate) fn add_conversions(table: &mut ComparisonTable, by_row: bool) {
    let (rows, columns) = (table.rows.len(), table.columns.len().saturating_sub(1));
    let places = |nth: usize| -> Vec<(usize, usize)> {
        if by_row {
            (0..columns).map(|column| (nth, column)).collect()
        } else {
            (0..rows).map(|row| (row, nth)).collect()
        }
    };
    for nth in 0..if by_row { rows } else { columns } {
        let name = if by_row { &table.rows[nth].label } else { &table.columns[nth + 1] };
        let read = |at: (usize, usize)| {
            let cell = table.rows[at.0].cells.get(at.1)?;
            Some((at, Quantity::read(only(cell)?.text(), name)?))
        };
        let (places, read): (Vec<_>, Vec<Quantity>) =
            places(nth).into_iter().filter_map(read).unzip();
        let Some(ConvertedColumn { quantities, converted }) = align(&read, name) else {
            continue;
        };
        for ((at, it), converted) in places.into_iter().zip(quantities).zip(converted) {
            if converted {
                let row = &mut table.rows[at.0];
                row.converted.resize(row.cells.len(), None);
                row.converted[at.1] = Some(it.text());
            }
        }
    }
}

/// The chart of a column, if three of its figures can be drawn and none is of another quantity.
pub(crate) fn chart_of(table: &ComparisonTable, column: usize) -> Option<Chart> {
    let name = table.columns.get(column)?;
    let cells = table.rows.iter().filter_map(|row| {
        let claim = only(row.cells.get(column.checked_sub(1)?)?)?;
        Some((row.label.as_str(), claim))
    });
    let (cells, read): (Vec<(&str, &Claim)>, Vec<Quantity>) =
        cells.filter_map(|cell| Some((cell, Quantity::read(cell.1.text(), name)?))).unzip();
    let ConvertedColumn { quantities, converted } = align(&read, name)?;
    let unit = quantities.first()?.unit.text.clone();
    let point =
        |(((label, claim), it), converted): (((&str, &Claim), &Quantity), bool)| ChartPoint {
            label: label.to_owned(),
            claim: claim.id,
            text: claim.text().to_owned(),
            value: it.value,
            low: (!it.is_point()).then_some(it.low),
            high: (!it.is_point()).then_some(it.high),
            converted: converted.then(|| it.text()),
        };
    let all = cells.into_iter().zip(&quantities).zip(converted);
    let mut points: Vec<ChartPoint> = all.map(point).collect();
    let years: BTreeSet<u16> = points.iter().filter_map(|point| year(&point.label)).collect();
    let kind = if years.len() == points.len() {
        points.sort_by_key(|point| year(&point.label));
        ChartKind::Line
    } else if points.iter().filter(|point| point.low.is_some()).count() * 2 >= points.len() {
        ChartKind::Interval
    } else {
        ChartKind::Bar
    };
    let drawn = points.len() >= MIN_POINTS && points.iter().all(|point| point.value.is_finite());
    drawn.then(|| Chart { kind, title: name.clone(), unit, points })
}

/// The claim of a cell that has one.
fn only(cell: &[Claim]) -> Option<&Claim> {
    if let [claim] = cell { Some(claim) } else { None }
}
