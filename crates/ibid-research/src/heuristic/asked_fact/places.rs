//! Where a named thing is.
use super::words::TextWords;
use super::{FactQuestion, FactValue, StatedFact};

/// Maximum number of words between a name and its place.
const MAX_PLACE_DISTANCE: usize = 24;
/// Maximum number of parts of a place: "Frankfort, Kentucky, USA".
const MAX_PLACE_PARTS: usize = 3;

impl FactQuestion {
    /// The place that a sentence gives for the subject: the names after "located in", or after "is a … in".
    pub(super) fn place_in(&self, words: &TextWords<'_>) -> Option<StatedFact> {
        let named = self.last_name_word(words)?;
        let until = words.len().min(named + MAX_PLACE_DISTANCE);
        let copula = (named..until)
            .find(|at| matches!(words.word(*at), "is" | "was" | "are" | "located" | "based"))?;
        let run = (copula..until).find_map(|at| {
            let led = matches!(words.word(at), "in" | "near") && at + 1 < words.len();
            let run = led.then(|| words.capital_run(at + 1)).flatten()?;
            Some(run)
        })?;
        let (first, mut last) = run;
        let mut parts = vec![run];
        while parts.len() < MAX_PLACE_PARTS && last + 1 < words.len() {
            let Some(next) = words.capital_run(last + 1) else {
                break;
            };
            if words.gap_before(last + 1).trim() != "," {
                break;
            }
            last = next.1;
            parts.push(next);
        }
        let part = |&(first, last): &(usize, usize)| -> Vec<String> {
            let own = (first..=last).filter(|at| !words.is_stop(*at));
            own.map(|at| words.stems[at].clone()).collect()
        };
        let parts: Vec<Vec<String>> = parts.iter().map(part).collect();
        let fresh = parts.iter().flatten().any(|it| !self.has_name_word(it));
        fresh.then(|| StatedFact {
            shown: words.slice(first, last).to_owned(),
            value: FactValue::Place(parts),
        })
    }
}
