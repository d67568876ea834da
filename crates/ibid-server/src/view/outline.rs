//! The outline of a report while it grows: the items of the plan, what was found for each, and what is drafted.
use std::collections::BTreeSet;

use super::draft::DraftView;
use super::format::{coverage_label, truncate};

use ibid_core::domain::{CoverageRow, Evidence, ItemId, SourceId};
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::escape::single_line;
use ibid_report::markdown::pluralize;

/// Maximum length of a passage, in characters.
const MAX_PASSAGE_CHARS: usize = 600;

/// An item of the plan, or a section of the draft that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// `Q1`, `Q2`, …
    pub id: Option<String>,
    /// The heading of its section.
    pub title: String,
    /// What it asks, if the heading does not say so.
    pub asks: Option<String>,
    /// The CSS class and the label of its coverage.
    pub state: Option<(&'static str, &'static str)>,
    /// What happens with it now.
    pub now: Option<String>,
    /// How much was found.
    pub found: String,
    /// The passage that supports it best so far.
    pub passage: Option<String>,
}

/// The outline; empty before there is a plan.
pub fn outline(run: &Run, events: &[Envelope], draft: Option<&DraftView>) -> Vec<OutlineEntry> {
    let searched = if run.status.ended() { &[] } else { items_searched(events) };
    let drafted = |title: &str| {
        let part = draft?.parts.iter().find(|it| it.title.as_deref() == Some(title))?;
        Some(format!("drafted, {}", pluralize(part.sentences.len() as u64, "sentence")))
    };
    let mut out: Vec<OutlineEntry> = Vec::new();
    for row in run.coverage_rows() {
        let item = run.plan.as_ref().and_then(|plan| plan.item(row.id));
        let asks = single_line(&row.text);
        let title = item.map_or_else(|| asks.clone(), |it| single_line(&it.heading));
        let findings = ItemFindings::from_events(row.id, events);
        let searching = searched.contains(&row.id).then(|| "being searched".to_owned());
        out.push(OutlineEntry {
            id: Some(row.id.to_string()),
            now: drafted(&title).or(searching),
            asks: Some(asks).filter(|asks| *asks != title),
            title,
            state: Some(coverage_label(row.state)),
            found: findings.text(&row),
            passage: findings.passage(&row),
        });
    }
    for part in draft.iter().flat_map(|draft| &draft.parts) {
        let Some(title) =
            part.title.clone().filter(|it| out.iter().all(|known| known.title != *it))
        else {
            continue;
        };
        let now = drafted(&title);
        let found = String::new();
        out.push(OutlineEntry {
            id: None,
            title,
            asks: None,
            state: None,
            now,
            found,
            passage: None,
        });
    }
    out
}

/// The items of the round that goes on.
fn items_searched(events: &[Envelope]) -> &[ItemId] {
    for envelope in events.iter().rev() {
        match &envelope.event {
            Event::RoundStarted { items, .. } => return items,
            Event::RoundFinished { .. } => break,
            _ => {}
        }
    }
    &[]
}

/// What was found for an item, also in the round that goes on, whose coverage is not known yet.
#[derive(Default)]
struct ItemFindings<'e> {
    passages: u32,
    sources: BTreeSet<SourceId>,
    best: Option<&'e Evidence>,
}

impl<'e> ItemFindings<'e> {
    fn from_events(item: ItemId, events: &'e [Envelope]) -> ItemFindings<'e> {
        let mut out = ItemFindings::default();
        for envelope in events {
            let Event::EvidenceAdded { evidence } = &envelope.event else {
                continue;
            };
            if !evidence.items.contains(&item) {
                continue;
            }
            out.passages += 1;
            out.sources.insert(evidence.source);
            if out.best.is_none_or(|best| best.score < evidence.score) {
                out.best = Some(evidence);
            }
        }
        out
    }

    fn text(&self, row: &CoverageRow) -> String {
        let passages = self.passages.max(row.evidence);
        let sources = row.sources.max(self.sources.len() as u32);
        if passages == 0 {
            return "nothing yet".to_owned();
        }
        let passages = pluralize(passages.into(), "passage");
        format!("{passages} from {}", pluralize(sources.into(), "source"))
    }

    /// The passage that supports the item best so far.
    fn passage(&self, row: &CoverageRow) -> Option<String> {
        let best = self.best.map(|it| it.passage.text().expose());
        let words = single_line(row.proof.as_deref().or(best)?);
        Some(truncate(&words, MAX_PASSAGE_CHARS)).filter(|it| !it.is_empty())
    }
}
