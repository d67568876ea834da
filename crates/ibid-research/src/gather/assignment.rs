//! What a supervisor sends a researcher to find out.
use std::collections::BTreeSet;

use crate::ask::shapes::AssignmentRow;
use ibid_core::domain::ItemId;
use ibid_core::domain::words::content_stems;

use super::research_loop::ResearchLoop;

/// The task of one researcher.
pub(super) struct Assignment {
    pub(super) item: ItemId,
    /// What to find out.
    pub(super) topic: String,
    /// The first search.
    pub(super) query: String,
}

impl Assignment {
    /// The assignment that a model proposed. If it shares no word with the question or its item, which
    /// happens when small models copy from the prompt, the item's own words are used. This is only checked in
    /// English.
    pub(super) fn from_row(research: &ResearchLoop<'_>, unit: &AssignmentRow) -> Assignment {
        let stems = |text: &str| -> BTreeSet<String> { content_stems(text).into_iter().collect() };
        let item = research.state.notes.plan.item(unit.item);
        let gap = research.coverage.gaps.get(&unit.item);
        let asks = item.map_or("", |item| item.asks.as_str());
        let missing = gap.map_or("", |gap| gap.text.as_str());
        let own = stems(&format!("{} {asks} {missing}", research.ctx.brief.effective_question()));
        let said = stems(&format!("{} {}", unit.topic, unit.query));
        let strays = research.ctx.brief.lang == "en" && own.is_disjoint(&said);
        let policy = research.targets.policy();
        // Before it was shown anything, its words come from its own knowledge. What was prefetched is not shown to it.
        let state = &research.state;
        let was_shown_nothing = state.rounds == 0 && state.pages.known_count() == 0;
        if was_shown_nothing || state.notes.sources.is_empty() {
            let read = |word: &str| !was_shown_nothing && research.hits.has_private_word(word);
            policy.narrow_own_query(&format!("{} {}", unit.topic, unit.query), &read);
        }
        // It has seen findings: words that are private to a page are not taken over.
        let topic = policy.permitted_sentence(&unit.topic).filter(|_| !strays);
        let query = policy.narrow(&unit.query).filter(|_| !strays);
        Assignment {
            item: unit.item,
            topic: topic.or(item.map(|item| item.asks.as_str())).unwrap_or_default().to_owned(),
            query: query.or(item.map(|item| item.query.clone())).unwrap_or_default(),
        }
    }
}
