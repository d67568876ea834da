//! A row of a table as a sentence.
use std::collections::BTreeSet;

use super::view::{CellFigure, TableView};
use crate::prompts::TableWords;

/// Maximum number of words of a row with the columns that were not asked for.
const MAX_WORDS_WITH_REST: usize = 34;
/// Number of letters of "EUR", by which it is told from other units.
const CURRENCY_CODE_LENGTH: usize = 3;

/// What stands before the unit that a rate is by.
const RATES: [&str; 5] = [" a", " an", " per", " each", " every"];

/// Whether a cell is a number and nothing else.
fn is_number(cell: &str) -> bool {
    let all = cell.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ' '));
    all && cell.contains(|c: char| c.is_ascii_digit())
}

/// A row as a sentence, each number with the unit that the name of its column ends with: "Cork, natural – Price: 0.30 € (Weight: 4 g)."
pub(super) fn row_text(
    view: &TableView<'_>,
    words: &TableWords,
    row: usize,
    figures: &[CellFigure<'_>],
) -> String {
    let Some(first) = figures.first() else {
        return String::new();
    };
    if first.entity.is_empty() {
        return format!("{}: {}.", first.attribute, first.value);
    }
    let pairs = |figures: &[CellFigure<'_>]| {
        let pair = |it: &CellFigure<'_>| {
            let name = if view.by_column { it.entity } else { it.attribute };
            let unit = name.rsplit_once(' ').filter(|(name, unit)| {
                let is_unit = |units: &BTreeSet<String>| units.contains(*unit);
                // "Days saved a year" is a rate, and not in years.
                let is_rate = RATES.iter().any(|it| name.ends_with(it));
                !is_rate
                    && is_number(it.value)
                    && words.measures.values().any(|it| is_unit(&it.units))
            });
            match unit {
                Some((name, unit)) if unit.len() == CURRENCY_CODE_LENGTH => {
                    format!("{name}: {} {}", it.value, unit.to_uppercase())
                }
                Some((name, unit)) => format!("{name}: {} {unit}", it.value),
                None => format!("{name}: {}", it.value),
            }
        };
        figures.iter().map(pair).collect::<Vec<_>>().join("; ")
    };
    let label = if view.by_column { first.attribute } else { first.entity };
    let text = format!("{label} – {}", pairs(figures));
    let rest = (view.keys..view.table.columns()).filter_map(|column| view.figure(row, column));
    let rest: Vec<CellFigure<'_>> =
        rest.filter(|it| !view.by_column && !figures.contains(it)).collect();
    let whole = format!("{text} ({})", pairs(&rest));
    let fits = whole.split_whitespace().count() <= MAX_WORDS_WITH_REST;
    let text = if fits && !rest.is_empty() { whole } else { text };
    format!("{}.", text.trim_end_matches('.'))
}
