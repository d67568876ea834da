//! How much or how many of something a named thing has.
use super::words::TextWords;
use super::{FactQuestion, FactValue, StatedFact};
use crate::heuristic::calendar::years;
use crate::heuristic::measures::measures;

/// Maximum number of words between what is measured and its figure.
const MAX_FIGURE_DISTANCE: usize = 6;

impl FactQuestion {
    /// The figure that a sentence gives for what is asked of the subject.
    pub(super) fn amount_in(&self, words: &TextWords<'_>, on_page: bool) -> Option<StatedFact> {
        if !self.is_spoken_of(words, on_page) {
            return None;
        }
        let found = measures(words.text);
        let at_of = |from: usize| words.tokens.partition_point(|it| it.span.end <= from);
        let counted = found.iter().find(|number| {
            let unit = number.unit.as_deref().unwrap_or_default();
            self.relation.last().is_some_and(|asked| asked == unit)
                || self.asks("popul") && matches!(unit, "peopl" | "inhabit" | "resid")
        });
        let named = || {
            let measured = (0..words.len()).filter(|at| self.is_measured(words, *at));
            measured.into_iter().find_map(|at| {
                found.iter().find(|number| {
                    let of = at_of(number.span.start);
                    of > at && of - at <= MAX_FIGURE_DISTANCE && self.leads_to(words, at, of)
                })
            })
        };
        let number = counted.or_else(named)?;
        let at = at_of(number.span.start);
        let last = match &number.unit {
            Some(unit) if unit != "%" && at + 1 < words.len() && words.stems[at + 1] == *unit => {
                at + 1
            }
            _ => at,
        };
        Some(StatedFact {
            shown: words.slice(at.min(last), last).to_owned(),
            value: FactValue::Amount {
                value: number.value,
                // People, residents and inhabitants are counted alike.
                unit: number.unit.clone().filter(|_| !self.asks("popul")),
                years: years(words.text),
            },
        })
    }

    /// Whether the word is what is measured: "population", and not "population density". Where two words say it, both are near.
    fn is_measured(&self, words: &TextWords<'_>, at: usize) -> bool {
        let Some(head) = self.measured.last() else {
            return false;
        };
        let others = &self.measured[..self.measured.len() - 1];
        let before = &words.stems[at.saturating_sub(4)..at];
        words.stems[at] == *head && others.iter().all(|it| before.contains(it))
    }

    /// Whether only verbs, years and words of estimation stand between what is measured and the figure.
    fn leads_to(&self, words: &TextWords<'_>, from: usize, to: usize) -> bool {
        (from + 1..to).all(|at| {
            let year = words.word(at).starts_with(|c: char| c.is_ascii_digit());
            let own = words.stems[at].as_str();
            let filler = matches!(
                own,
                "estim"
                    | "total"
                    | "approxim"
                    | "amount"
                    | "number"
                    | "around"
                    | "record"
                    | "roughli"
                    | "citi"
                    | "town"
                    | "villag"
                    | "township"
                    | "counti"
            );
            year || words.is_stop(at) || filler || self.has_name_word(own)
        })
    }
}
