//! What a cell measures, by its unit and by the words of its column.
use std::collections::BTreeSet;

use crate::prompts::{MeasureWords, TableWords};
use ibid_core::domain::words::{numbers, stem, tokens};

/// Signs of currencies, which may stand before or behind an amount.
const CURRENCIES: [char; 4] = ['€', '$', '£', '¥'];

/// The stems of all words of a text.
pub(super) fn stems(text: &str) -> BTreeSet<String> {
    tokens(text).iter().map(|token| stem(&token.text)).collect()
}

/// Whether a cell under `attribute` holds the measure: by its unit, if it has one that is known, or else by the attribute.
pub(super) fn holds(it: &MeasureWords, all: &TableWords, attribute: &str, value: &str) -> bool {
    let attribute = stems(attribute);
    let named = it.names.iter().any(|name| attribute.contains(name));
    let units = units(value);
    if units.iter().any(|unit| it.units.contains(unit)) {
        return named || !it.named;
    }
    let other = all.measures.values().flat_map(|measure| &measure.units);
    let of_other = other.into_iter().any(|unit| units.contains(unit));
    // "75 minutes" per 230 g is no weight.
    let named_unit =
        !it.named && units.is_empty() && it.units.iter().any(|unit| attribute.contains(unit));
    !of_other && (named || named_unit)
}

/// The measure that a cell holds.
pub(super) fn measure_of<'w>(
    all: &'w TableWords,
    attribute: &str,
    value: &str,
) -> Option<&'w MeasureWords> {
    all.measures.values().find(|it| holds(it, all, attribute, value))
}

/// The units of the figures of a cell.
pub(super) fn units(value: &str) -> BTreeSet<String> {
    let signs = value.chars().filter(|c| CURRENCIES.contains(c)).map(String::from);
    numbers(value).into_iter().filter_map(|number| number.unit).chain(signs).collect()
}

/// Whether a figure is in brackets, is followed at once by a magnitude, or has three digits behind its only point.
pub(super) fn is_ambiguous(value: &str) -> bool {
    let chars: Vec<char> = value.chars().collect();
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    (0..chars.len()).any(|at| match chars[at] {
        '(' => digit(at + 1),
        'k' | 'K' | 'M' => {
            at > 0 && digit(at - 1) && !chars.get(at + 1).is_some_and(|c| c.is_alphanumeric())
        }
        '.' => at > 0 && digit(at - 1) && (1..=3).all(|n| digit(at + n)) && !digit(at + 4),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts;

    #[test]
    fn a_cell_measures_what_its_unit_and_its_column_say() {
        let words = prompts::table_words().unwrap();
        for (attribute, value, measure) in [
            ("Average", "137 € per m²", Some("Cost")),
            ("Cost in million euros", "28", Some("Cost")),
            ("Saturated weight", "95 to 180 kg per square metre", Some("Weight")),
            ("Substrate depth", "8 cm", Some("Depth")),
            ("Annual retention", "39 %", Some("Water held")),
            ("Visits a year", "8 to 20", Some("Maintenance")),
            ("Cost of weighing", "3 kg", Some("Weight")),
            ("Roofs", "3", None),
            ("Plants", "sedum", None),
        ] {
            let found = measure_of(words, attribute, value).map(|it| it.heading.as_str());
            assert_eq!(found, measure, "{attribute}: {value}");
        }
    }
}
