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
    let named_unit = !it.named && it.units.iter().any(|unit| attribute.contains(unit));
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

/// The figure of a cell: of a range, its middle. `None` for text, and for more than a figure or a range.
pub(super) fn figure(value: &str) -> Option<f64> {
    let found: Vec<f64> = numbers(value).iter().map(|number| number.value).collect();
    match found.as_slice() {
        [one] => Some(*one),
        [from, to] if from <= to => Some(f64::midpoint(*from, *to)),
        _ => None,
    }
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

    #[test]
    fn a_range_counts_by_its_middle() {
        assert_eq!(figure("95 to 105 kg"), Some(100.0));
        assert_eq!(figure("9"), Some(9.0));
        assert_eq!(figure("no"), None);
        assert_eq!(figure("1 of 2 of 3"), None);
    }
}
