//! The numbers of a text that measure or count, and those that are labels.
use ibid_core::domain::words::{Number, numbers};

/// Stems of units that are measures also after a number that is spelled out.
const SPELLED_OUT_UNITS: [&str; 22] = [
    "year",
    "month",
    "week",
    "dai",
    "day",
    "hour",
    "minut",
    "metr",
    "meter",
    "centimetr",
    "centimet",
    "kilometr",
    "kilomet",
    "mile",
    "feet",
    "foot",
    "inch",
    "litr",
    "liter",
    "euro",
    "dollar",
    "%",
];

/// Words before a number that make it a label: "type 2", "Figure 3".
const LABELS: &[&str] = &[
    "type",
    "types",
    "grade",
    "stage",
    "phase",
    "level",
    "class",
    "figure",
    "fig",
    "table",
    "chapter",
    "section",
    "group",
    "version",
    "part",
    "page",
    "no",
    "number",
    "trial",
    "factor",
    "interleukin",
    "vitamin",
];

/// The numbers of a text that measure or count: not "type 2", "MEN 1", "Figure 3" or a year.
pub(crate) fn measures(text: &str) -> Vec<Number> {
    let measures = numbers(text).into_iter().filter(|number| is_measure(text, number));
    join_durations(text, measures.collect())
}

/// Adds up a duration in two units, "2 hours and 15 minutes", as one number of the smaller unit: 135 minutes.
fn join_durations(text: &str, found: Vec<Number>) -> Vec<Number> {
    // Stems of a unit of time and of the next smaller one, and how many of the second make one of the first.
    const STEPS: [(&str, &str, f64); 5] = [
        ("hour", "minut", 60.0),
        ("minut", "second", 60.0),
        ("day", "hour", 24.0),
        ("week", "day", 7.0),
        ("year", "month", 12.0),
    ];
    let mut joined: Vec<Number> = Vec::new();
    for number in found {
        let step = joined.last().and_then(|large| {
            let (first, second) = (large.unit.as_deref()?, number.unit.as_deref()?);
            let step = STEPS.iter().find(|step| step.0 == first && step.1 == second)?;
            let between: Vec<&str> =
                text.get(large.span.end..number.span.start)?.split_whitespace().collect();
            let is_sum = matches!(between.as_slice(), [_] | [_, "and"]) && number.value < step.2;
            is_sum.then_some(step.2)
        });
        match (step, joined.last_mut()) {
            (Some(factor), Some(large)) => {
                large.value = large.value * factor + number.value;
                large.span.end = number.span.end;
                large.unit = number.unit;
            }
            _ => joined.push(number),
        }
    }
    joined
}

/// The numbers of a text that are labels: "type 2", "roof number 4", as written, sorted.
pub(crate) fn labels(text: &str) -> Vec<String> {
    let mut found: Vec<String> = numbers(text)
        .into_iter()
        .filter(|number| is_labelled_number(text, number))
        .map(|it| text[it.span].to_owned())
        .collect();
    found.sort();
    found
}

fn is_measure(text: &str, it: &Number) -> bool {
    // "Seven years" is a measure, "two types" is not.
    if !text[it.span.clone()].starts_with(|c: char| c.is_ascii_digit()) {
        return it.unit.as_deref().is_some_and(|unit| SPELLED_OUT_UNITS.contains(&unit));
    }
    if it.unit.as_deref() == Some("%") {
        return true;
    }
    let word = word_before(text, it);
    let digits = word.chars().all(|c| c.is_ascii_digit());
    let code =
        word.len() >= 2 && !digits && word.chars().all(|c| c.is_uppercase() || c.is_ascii_digit());
    let whole = it.value.fract() == 0.0 && !text[it.span.clone()].contains(',');
    let year = whole && (1000.0..2100.0).contains(&it.value);
    !(code || year || is_labelled_number(text, it) && it.value < 10.0)
}

fn word_before<'a>(text: &'a str, it: &Number) -> &'a str {
    text[..it.span.start]
        .trim_end_matches([' ', '-', '('])
        .rsplit(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default()
}

/// Whether the word before a number makes it a label.
fn is_labelled_number(text: &str, it: &Number) -> bool {
    LABELS.contains(&word_before(text, it).to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_in_two_units_is_one_figure() {
        let of = |text: &str| -> Vec<(f64, Option<String>)> {
            measures(text).into_iter().map(|it| (it.value, it.unit)).collect()
        };
        let minutes = |value| vec![(value, Some("minut".to_owned()))];
        assert_eq!(of("It took 2 hours and 15 minutes."), minutes(135.0));
        assert_eq!(of("It took 2 hours 15 minutes."), minutes(135.0));
        assert_eq!(of("It took 135 minutes."), minutes(135.0));
        assert_eq!(of("Ferries leave after 2 hours, trains after 15 minutes.").len(), 2);
    }
}
