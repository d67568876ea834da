//! How high, long, deep, wide or heavy a named thing is.
use super::words::TextWords;
use super::{FactQuestion, FactValue, StatedFact};
use crate::heuristic::measures::measures;

/// Maximum number of words between the noun of a dimension and its figure: "a height above sea level of 1,911 m".
const MAX_NOUN_DISTANCE: usize = 6;
/// Stems of what has its height where it is: "the summit at 1,911 m".
const TOPS: [&str; 5] = ["point", "summit", "peak", "mountain", "top"];

impl FactQuestion {
    /// The figure that a sentence gives for the dimension that is asked for: "1,911 metres high", "the highest point … at 1,911 metres".
    pub(super) fn dimension_in(&self, words: &TextWords<'_>, on_page: bool) -> Option<StatedFact> {
        let dimension = self.dimension.filter(|_| self.is_spoken_of(words, on_page))?;
        let states = |at: usize| words.stems.get(at).is_some_and(|it| dimension.is_stated_by(it));
        let found = measures(words.text);
        let mut fitting = found.iter().filter_map(|number| {
            let unit = number.unit.as_deref().filter(|unit| dimension.has_unit(unit))?;
            let at = words.tokens.partition_point(|it| it.span.end <= number.span.start);
            let has_unit = words.stems.get(at + 1).is_some_and(|it| it == unit);
            let last = at + usize::from(has_unit);
            let led = || (at.saturating_sub(MAX_NOUN_DISTANCE)..at).any(states);
            let at_top = || {
                at > 0
                    && words.word(at - 1) == "at"
                    && words.stems[..at].iter().any(|it| TOPS.contains(&it.as_str()))
            };
            let stated = states(last + 1) || led() || dimension.is_stated_by("high") && at_top();
            stated.then_some((number.value, unit, at.min(last), last))
        });
        let (value, unit, first, last) = fitting.next()?;
        Some(StatedFact {
            shown: words.slice(first, last).to_owned(),
            value: FactValue::Dimension { value, unit: unit.to_owned() },
        })
    }
}
