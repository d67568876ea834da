//! What was found, without prose (rows D1, D9, D13): of each source the passages that carry evidence, with what stands
//! around them, best source first.
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Brief, Evidence, Excerpt, Page, SourceId};
use crate::error::Result;

use super::gathered::Gathered;
use super::unaided::orders::Orders;

/// Characters of all excerpts together, and of those of one source (rows D9, D13).
const ALL: usize = 15_000;
const ONE: usize = 4_000;
/// Sentences around a passage.
const AROUND: usize = 2;

/// The excerpts of everything that carries evidence.
pub(crate) fn of(brief: &Brief, gathered: &Gathered) -> Result<Vec<Excerpt>> {
    let orders = Orders::of(brief)?;
    let notes = &gathered.notes;
    let mut by_source: BTreeMap<SourceId, Vec<&Evidence>> = BTreeMap::new();
    for it in &notes.evidence {
        by_source.entry(it.source).or_default().push(it);
    }
    let best = |all: &[&Evidence]| all.iter().map(|it| it.score).fold(0.0, f32::max);
    let mut sources: Vec<(SourceId, Vec<&Evidence>)> = by_source.into_iter().collect();
    sources.sort_by(|a, b| best(&b.1).total_cmp(&best(&a.1)).then(a.0.cmp(&b.0)));
    let mut found: Vec<Excerpt> = Vec::new();
    let mut left = ALL;
    for (id, evidence) in sources {
        let source = notes.source(id);
        let Some((source, page)) = source.and_then(|it| Some((it, gathered.shelf.page(it)?)))
        else {
            continue;
        };
        let content = content(page, &evidence, &orders, left.min(ONE));
        if content.is_empty() {
            continue;
        }
        left -= content.chars().count().min(left);
        // Chunks of one document are one result (row D9).
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

/// The sentences of the passages and around them in the order of the page, at most `most` characters; gaps are marked.
/// Sentences that give orders to whoever reads by machine are left out, for it is a machine that reads this.
fn content(page: &Page, evidence: &[&Evidence], orders: &Orders, most: usize) -> String {
    let last = page.sentences().len().saturating_sub(1);
    let mut wanted: BTreeSet<usize> = BTreeSet::new();
    let mut room = most;
    let mut order: Vec<&&Evidence> = evidence.iter().collect();
    order.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    for it in order {
        let (first, end) = (it.passage.first(), it.passage.last());
        let own = first..=end;
        let around =
            (first.saturating_sub(AROUND)..first).chain(end + 1..=(end + AROUND).min(last));
        for n in own.chain(around) {
            let text = page.sentence(n);
            let takes = text.chars().count() + 1;
            if takes > room || wanted.contains(&n) || orders.stand_in(text) {
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
