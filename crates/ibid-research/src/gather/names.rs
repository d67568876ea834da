//! Learns names from evidence that may then be searched for: few, and only next to a word of the question.
use std::collections::BTreeMap;

use crate::multi_hop::{asks_for_names, requested_names};
use crate::query_policy::QueryPolicy;
use ibid_core::domain::{Brief, Evidence, EvidenceStore, SourceId};

/// Maximum number of names learnt in a round, and from one page in a round.
const MAX_NAMES_PER_ROUND: usize = 4;
const MAX_NAMES_PER_PAGE: usize = 2;

/// Permits `policy` to use the names in the `new` evidence, where the question asks for names.
pub(super) fn learn_names<'e>(
    policy: &QueryPolicy,
    brief: &Brief,
    notes: &EvidenceStore,
    new: impl Iterator<Item = &'e Evidence>,
) {
    if !asks_for_names(&brief.question, brief.kind) {
        return;
    }
    let mut left = MAX_NAMES_PER_ROUND;
    let mut by_page: BTreeMap<SourceId, usize> = BTreeMap::new();
    for it in new {
        let Some(source) = notes.source(it.source) else {
            continue;
        };
        let asks = it.items.iter().filter_map(|id| notes.plan.item(*id));
        let asks: Vec<&str> = asks.map(|ask| ask.asks.as_str()).collect();
        let asked = format!("{} {}", brief.question, asks.join(" "));
        for name in requested_names(&asked, it.passage.text().expose()) {
            let of_page = by_page.entry(it.source).or_default();
            if left > 0
                && *of_page < MAX_NAMES_PER_PAGE
                && policy.permit_evidence_name(&name, source)
            {
                left -= 1;
                *of_page += 1;
            }
        }
    }
}
