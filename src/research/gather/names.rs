//! The names that evidence leads to: few, and each beside a word of what is asked.
use std::collections::BTreeMap;

use crate::domain::{Brief, Evidence, Notes, SourceId};
use crate::research::query_policy::QueryPolicy;
use crate::research::steps::{asked_for, asks_for_names};

/// Names that pages may add in a round, and one page in a round.
const A_ROUND: usize = 4;
const A_PAGE: usize = 2;

/// Has `policy` take in the names that `new` evidence leads to, where the question asks for names.
pub(super) fn learn<'e>(
    policy: &QueryPolicy,
    brief: &Brief,
    notes: &Notes,
    new: impl Iterator<Item = &'e Evidence>,
) {
    if !asks_for_names(&brief.question, brief.kind) {
        return;
    }
    let mut left = A_ROUND;
    let mut by_page: BTreeMap<SourceId, usize> = BTreeMap::new();
    for it in new {
        let Some(source) = notes.source(it.source) else {
            continue;
        };
        let asks = it.items.iter().filter_map(|id| notes.plan.item(*id));
        let asks: Vec<&str> = asks.map(|it| it.asks.as_str()).collect();
        let asked = format!("{} {}", brief.question, asks.join(" "));
        for name in asked_for(&asked, it.passage.text().expose()) {
            let of_page = by_page.entry(it.source).or_default();
            if left > 0 && *of_page < A_PAGE && policy.evident(&name, source) {
                left -= 1;
                *of_page += 1;
            }
        }
    }
}
