//! The rows that a question names, told whole: by a code, by a name or a number together with what the table is about, or by most of
//! their words.
use std::collections::BTreeSet;

use super::measure::stems;
use super::request::TableRequest;
use super::row_text::row_text;
use super::view::{CellFigure, RowLine, TableView};
use ibid_core::domain::words::{Number, numbers};

/// Share of what a question is about that a row has which it does not name.
const MIN_WORDS_SHARE: f32 = 0.6;
/// The share of a row on the problem that the question is about: it answers before any sentence.
pub(super) const PROBLEM_SHARE: f32 = 1.1;
/// The least number of stems of the question that such a row has.
const MIN_ROW_STEMS: usize = 3;

/// The rows that a question names: "E3 – Cause: iced up; Remedy: switch it off."
pub(super) fn named_rows(view: &TableView<'_>, request: &TableRequest) -> Vec<RowLine> {
    let rows = 0..view.table.rows.len();
    let named: Vec<RowLine> = rows
        .clone()
        .filter_map(|row| {
            let named = || view.label(row).is_some_and(|label| is_named(view, request, label));
            let share = match is_asked_problem(view, request, row) {
                true => PROBLEM_SHARE,
                false => named().then_some(1.0)?,
            };
            whole_row(view, request, row, share)
        })
        .collect();
    if !named.is_empty() || view.table.header.is_empty() {
        return named;
    }
    // "What are the exit codes?" is asked of all rows of the table of exit codes.
    let plain = request.measures.is_empty() && request.extreme.is_none() && !request.asks_time;
    let asks_all = plain
        && request.sides.is_empty()
        && !request.topic.is_empty()
        && request.topic.iter().any(|stem| view.kind.contains(stem))
        && request.topic.iter().all(|stem| view.kind.contains(stem) || view.about.contains(stem));
    if asks_all {
        return rows.filter_map(|row| whole_row(view, request, row, 1.0)).collect();
    }
    if !request.asks_figures {
        return named;
    }
    let share = |row: usize| words_share(view, request, row).map(|share| (row, share));
    let mut best: Vec<(usize, f32)> = rows.filter_map(share).collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1));
    match best.as_slice() {
        // Two rows with as many words are none that is meant.
        [first, second, ..] if first.1 <= second.1 => Vec::new(),
        [(row, share), ..] => whole_row(view, request, *row, *share).into_iter().collect(),
        [] => Vec::new(),
    }
}

fn whole_row(
    view: &TableView<'_>,
    request: &TableRequest,
    row: usize,
    share: f32,
) -> Option<RowLine> {
    let columns = view.keys..view.table.columns();
    let cells: Vec<CellFigure<'_>> =
        columns.filter_map(|column| view.figure(row, column)).collect();
    let text = row_text(view, request.words, row, &cells);
    (!cells.is_empty()).then_some(RowLine { text, rows: (row, row), share })
}

/// Whether the question names a row: by a code, or by its name, its number or an amount within its range where the question also has
/// a word of what the rows are.
fn is_named(view: &TableView<'_>, request: &TableRequest, label: &str) -> bool {
    let own = stems(label);
    let has = |stem: &String| request.topic.contains(stem);
    if is_code(label) {
        return own.iter().all(has);
    }
    if own.is_empty() || view.table.header.is_empty() {
        return false;
    }
    // "Code 7" names the row 7 of a table of codes, "7 games" does not.
    let number = |stem: &String| {
        let numbered = |(before, number): &(String, String)| {
            number == stem && (view.kind.contains(before) || own.contains(before))
        };
        request.numbered.iter().any(numbered)
    };
    let told = view.kind.iter().any(|stem| has(stem) && !own.contains(stem));
    let named = told && own.iter().all(|stem| has(stem) || number(stem));
    // A range says only who or what is meant: what is told of it must be asked for, too.
    let asks = view.matter.iter().any(|stem| has(stem) && !own.contains(stem));
    named || asks && request.amounts.iter().any(|asked| is_within(label, asked))
}

/// Whether the question has all words of the problem of a row: "Why does the red lamp blink?" has those of "Red lamp blinks".
fn is_asked_problem(view: &TableView<'_>, request: &TableRequest, row: usize) -> bool {
    let column = stems(&view.names[0]);
    !view.table.header.is_empty()
        && column.iter().any(|stem| request.words.problems.contains(stem))
        && view.table.cell(view.page, row, 0).is_some_and(|cell| request.has_words(cell))
}

/// Whether a name is a code: one word with a letter and a digit.
fn is_code(name: &str) -> bool {
    let has = |is: fn(char) -> bool| name.contains(is);
    has(char::is_alphabetic) && has(|c| c.is_ascii_digit()) && !has(char::is_whitespace)
}

/// Whether a name is a range, "2 to 5 years", "up to 2 years", "over 65", that an amount of the same unit is within.
fn is_within(name: &str, asked: &Number) -> bool {
    const BELOW: [&str; 4] = ["under", "below", "less than", "<"];
    const UP_TO: [&str; 4] = ["up to", "at most", "until", "≤"];
    const ABOVE: [&str; 6] = ["over", "above", "more than", "older than", "beyond", ">"];
    const FROM: [&str; 3] = ["at least", "from", "≥"];
    const AND_MORE: [&str; 5] = ["+", "or more", "and more", "or older", "and over"];
    let name = name.to_lowercase();
    let found = numbers(&name);
    let unit = found.iter().rev().find_map(|it| it.unit.as_ref());
    if unit != asked.unit.as_ref() || unit.is_none() {
        return false;
    }
    let begins = |with: &[&str]| with.iter().any(|word| name.starts_with(word));
    let and_more = AND_MORE.iter().any(|end| name.ends_with(end));
    let it = asked.value;
    match found.as_slice() {
        [low, high] => low.value <= it && it <= high.value,
        [bound] if begins(&BELOW) => it < bound.value,
        [bound] if begins(&UP_TO) => it <= bound.value,
        [bound] if begins(&ABOVE) => it > bound.value,
        [bound] if begins(&FROM) || and_more => it >= bound.value,
        _ => false,
    }
}

/// Share of what the question is about that a row has with the line above its table, if it has enough by itself.
fn words_share(view: &TableView<'_>, request: &TableRequest, row: usize) -> Option<f32> {
    view.label(row)?;
    let cells = (0..view.table.columns()).filter_map(|at| view.table.cell(view.page, row, at));
    let mut own: BTreeSet<String> = stems(&cells.collect::<Vec<_>>().join(" "));
    if request.topic.intersection(&own).count() < MIN_ROW_STEMS {
        return None;
    }
    own.extend(view.kind.iter().cloned());
    Some(request.topic_share(&own)).filter(|share| *share >= MIN_WORDS_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_within_a_range_of_its_unit() {
        for (name, asked, within) in [
            ("2 to 5 years", "3 years", true),
            ("2 to 5 years", "7 years", false),
            ("2 to 5 years", "3 months", false),
            ("up to 2 years", "2 years", true),
            ("more than 5 years", "5 years", false),
            ("more than 5 years", "6 years", true),
            ("under 5 years", "5 years", false),
            ("at least 5 years", "5 years", true),
            ("12 kg or more", "12 kg", true),
            ("5 years", "3 years", false),
        ] {
            assert_eq!(is_within(name, &numbers(asked)[0]), within, "{name}: {asked}");
        }
    }
}
