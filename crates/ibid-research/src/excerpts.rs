//! The evidence without prose: the passages of each source with the sentences around them, best source first.
use std::collections::{BTreeMap, BTreeSet};

use ibid_core::Result;
use ibid_core::domain::{Brief, Evidence, Excerpt, Page, SourceId};

use super::heuristic::injection::InjectionDetector;
use super::research_state::ResearchState;

/// Maximum number of characters of all excerpts together, and of those of one source.
const MAX_TOTAL_CHARS: usize = 15_000;
const MAX_SOURCE_CHARS: usize = 4_000;
/// Sentences shown on each side of a passage.
const CONTEXT_SENTENCES: usize = 2;

/// The excerpts of all sources with evidence.
pub(crate) fn build_excerpts(brief: &Brief, state: &ResearchState) -> Result<Vec<Excerpt>> {
    let orders = InjectionDetector::from_brief(brief)?;
    let notes = &state.notes;
    let mut by_source: BTreeMap<SourceId, Vec<&Evidence>> = BTreeMap::new();
    for it in &notes.evidence {
        by_source.entry(it.source).or_default().push(it);
    }
    let best = |all: &[&Evidence]| all.iter().map(|evidence| evidence.score).fold(0.0, f32::max);
    let mut sources: Vec<(SourceId, Vec<&Evidence>)> = by_source.into_iter().collect();
    sources.sort_by(|a, b| best(&b.1).total_cmp(&best(&a.1)).then(a.0.cmp(&b.0)));
    let mut found: Vec<Excerpt> = Vec::new();
    let mut left = MAX_TOTAL_CHARS;
    for (id, evidence) in sources {
        let source = notes.source(id);
        let Some((source, page)) =
            source.and_then(|source| Some((source, state.pages.page(source)?)))
        else {
            continue;
        };
        let content = excerpt_text(page, &evidence, &orders, left.min(MAX_SOURCE_CHARS));
        if content.is_empty() {
            continue;
        }
        left -= content.chars().count().min(left);
        // Chunks of one document are one result.
        found.push(Excerpt {
            source: id,
            url: source.url.clone(),
            title: source.title.clone(),
            content,
            score: best(&evidence),
        });
    }
    Ok(found)
}

/// The sentences of the passages and around them in the order of the page, at most `most` characters, with
/// gaps marked. Sentences that give orders to machine readers are left out, because excerpts are made for
/// machines.
fn excerpt_text(
    page: &Page,
    evidence: &[&Evidence],
    orders: &InjectionDetector,
    most: usize,
) -> String {
    let last = page.sentences().len().saturating_sub(1);
    let mut wanted: BTreeSet<usize> = BTreeSet::new();
    let mut room = most;
    let mut order: Vec<&&Evidence> = evidence.iter().collect();
    order.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    for it in order {
        let (first, end) = (it.passage.first(), it.passage.last());
        let own = first..=end;
        let around = (first.saturating_sub(CONTEXT_SENTENCES)..first)
            .chain(end + 1..=(end + CONTEXT_SENTENCES).min(last));
        for n in own.chain(around) {
            let text = page.sentence(n);
            let takes = text.chars().count() + 1;
            if takes > room || wanted.contains(&n) || orders.is_injection(text) {
                continue;
            }
            room -= takes;
            wanted.insert(n);
        }
    }
    let mut out = String::new();
    let mut before: Option<usize> = None;
    for n in wanted {
        match before {
            None => {}
            Some(at) if at + 1 == n => out.push(' '),
            Some(_) => out.push_str("\n…\n"),
        }
        out.push_str(page.sentence(n).trim());
        before = Some(n);
    }
    out
}
