//! The outline of a report while it grows: its sections, what was found for each, what it lacks, and what is drafted. Before the first
//! round ends, the items of the plan stand for the sections.
use std::collections::BTreeSet;

use super::draft::DraftView;
use super::format::{coverage_label, truncate};

use ibid_core::domain::{Coverage, CoverageRow, Evidence, ItemId, OutlineSection, SourceId};
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::escape::single_line;
use ibid_report::markdown::pluralize;

/// Maximum length of a passage, in characters.
const MAX_PASSAGE_CHARS: usize = 600;

/// A section of the outline, an item of the plan, or a section of the draft that is neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// `Q1`, `Q2`, …: its item, or the first of them.
    pub id: Option<String>,
    /// Its heading.
    pub title: String,
    /// What it asks or is to say, if the heading does not say so.
    pub asks: Option<String>,
    /// The CSS class and the label of its coverage.
    pub state: Option<(&'static str, &'static str)>,
    /// What happens with it now.
    pub now: Option<String>,
    /// How much was found.
    pub found: String,
    /// What it lacks.
    pub gap: Option<String>,
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
    let is_searched = |items: &[ItemId]| searched.iter().any(|item| items.contains(item));
    let searching = |items: &[ItemId]| is_searched(items).then(|| "being searched".to_owned());
    let mut out: Vec<OutlineEntry> = Vec::new();
    for section in &run.outline {
        let title = single_line(&section.title);
        let claim = Some(single_line(&section.claim)).filter(|claim| !claim.is_empty());
        let own = |evidence: &Evidence| section.evidence.contains(&evidence.id);
        let findings = FoundEvidence::from_events(own, events);
        let states = section_states(run, section);
        out.push(OutlineEntry {
            id: section.items.first().map(ToString::to_string),
            now: drafted(&title).or_else(|| searching(&section.items)),
            asks: claim.filter(|claim| *claim != title),
            title,
            state: states.map(coverage_label),
            found: findings.text(section.evidence.len() as u32, 0),
            gap: section.gaps.first().map(|gap| single_line(gap)),
            passage: findings.best.and_then(|it| shown_passage(it.passage.text().expose())),
        });
    }
    let rows = if run.outline.is_empty() { run.coverage_rows() } else { Vec::new() };
    for row in rows {
        let item = run.plan.as_ref().and_then(|plan| plan.item(row.id));
        let asks = single_line(&row.text);
        let title = item.map_or_else(|| asks.clone(), |it| single_line(&it.heading));
        let serves = |evidence: &Evidence| evidence.items.contains(&row.id);
        let findings = FoundEvidence::from_events(serves, events);
        out.push(OutlineEntry {
            id: Some(row.id.to_string()),
            now: drafted(&title).or_else(|| searching(&[row.id])),
            asks: Some(asks).filter(|asks| *asks != title),
            title,
            state: Some(coverage_label(row.state)),
            found: findings.text(row.evidence, row.sources),
            gap: None,
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
            gap: None,
            passage: None,
        });
    }
    out
}

/// How far the items of a section are covered together; `None` for a section without items.
fn section_states(run: &Run, section: &OutlineSection) -> Option<Coverage> {
    let rows = run.coverage_rows();
    let states: Vec<Coverage> =
        rows.iter().filter(|row| section.items.contains(&row.id)).map(|row| row.state).collect();
    let first = *states.first()?;
    Some(match () {
        () if states.contains(&Coverage::Conflict) => Coverage::Conflict,
        () if states.iter().all(|state| *state == first) => first,
        () => Coverage::Partial,
    })
}

/// A passage as it is shown; `None` for an empty one.
fn shown_passage(text: &str) -> Option<String> {
    Some(truncate(&single_line(text), MAX_PASSAGE_CHARS)).filter(|it| !it.is_empty())
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

/// The evidence for an item or a section, also in the round that goes on, whose coverage is not known yet.
#[derive(Default)]
struct FoundEvidence<'e> {
    passages: u32,
    sources: BTreeSet<SourceId>,
    best: Option<&'e Evidence>,
}

impl<'e> FoundEvidence<'e> {
    fn from_events(
        is_own: impl Fn(&Evidence) -> bool,
        events: &'e [Envelope],
    ) -> FoundEvidence<'e> {
        let mut out = FoundEvidence::default();
        for envelope in events {
            let Event::EvidenceAdded { evidence } = &envelope.event else {
                continue;
            };
            if !is_own(evidence) {
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

    /// How much was found: at least these many passages and sources.
    fn text(&self, passages: u32, sources: u32) -> String {
        let passages = self.passages.max(passages);
        let sources = sources.max(self.sources.len() as u32);
        if passages == 0 {
            return "nothing yet".to_owned();
        }
        let passages = pluralize(passages.into(), "passage");
        format!("{passages} from {}", pluralize(sources.into(), "source"))
    }

    /// The passage that supports the item best so far.
    fn passage(&self, row: &CoverageRow) -> Option<String> {
        let best = self.best.map(|it| it.passage.text().expose());
        shown_passage(row.proof.as_deref().or(best)?)
    }
}
