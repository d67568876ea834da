//! Whom a supervisor sends out, and what for.
use std::collections::BTreeSet;

use crate::domain::ItemId;
use crate::domain::words::content_stems;
use crate::research::ask::shapes::UnitRow;

use super::Gathering;

/// Somebody to send out.
pub(super) struct Sent {
    pub(super) item: ItemId,
    /// What is to be found out.
    pub(super) topic: String,
    /// The first search.
    pub(super) query: String,
}

impl Sent {
    /// As a model wants it. Where nothing of that is in a word of the question or its item, which small models write when they
    /// copy from the prompt, the item speaks for itself; in another language than English that cannot be told.
    pub(super) fn by(it: &Gathering<'_>, unit: &UnitRow) -> Sent {
        let stems = |text: &str| -> BTreeSet<String> { content_stems(text).into_iter().collect() };
        let item = it.gathered.notes.plan.item(unit.item);
        let gap = it.standing.gaps.get(&unit.item);
        let asks = item.map_or("", |it| it.asks.as_str());
        let missing = gap.map_or("", |it| it.text.as_str());
        let own = stems(&format!("{} {asks} {missing}", it.brief.asked()));
        let said = stems(&format!("{} {}", unit.topic, unit.query));
        let strays = it.brief.lang == "en" && own.is_disjoint(&said);
        let policy = it.places.policy();
        // Where nothing was read yet, its own knowledge is no page's.
        if it.gathered.notes.sources.is_empty() {
            let read = |word: &str| it.found.says_privately(word);
            policy.thought(&format!("{} {}", unit.topic, unit.query), &read);
        }
        // It has read what was found: only words that are no page's own are taken over.
        let topic = policy.told(&unit.topic).filter(|_| !strays);
        let query = policy.narrowed(&unit.query).filter(|_| !strays);
        Sent {
            item: unit.item,
            topic: topic
                .or(item.map(|it| it.asks.as_str()))
                .unwrap_or_default()
                .to_owned(),
            query: query
                .or(item.map(|it| it.query.clone()))
                .unwrap_or_default(),
        }
    }
}
