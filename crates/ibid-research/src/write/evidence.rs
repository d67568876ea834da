//! Which evidence a written sentence rests on.
use crate::ask::shapes::EvidenceRow;
use ibid_core::domain::words::{Number, numbers, stem_overlap};
use ibid_core::domain::{Evidence, EvidenceId, Notes};

/// Share of a sentence's words that its named evidence must have; below it, the share from which other
/// evidence is taken instead.
const MEANT: f32 = 0.5;
const SAYS_IT: f32 = 0.8;

/// The evidence for a sentence: what it names, unless that says something else and other evidence says it
/// nearly verbatim, because small models copy the right words and name the wrong id. Where only some of it
/// has the sentence's figures, only that is kept.
pub(super) fn resolve_evidence(
    text: &str,
    named: Vec<EvidenceId>,
    all: &[&Evidence],
) -> Vec<EvidenceId> {
    let named = resolve_by_words(text, named, all);
    let figures = numbers(text);
    let holds = |id: &EvidenceId| {
        let it = all.iter().find(|it| it.id == *id);
        let there = it.map_or_else(Vec::new, |it| numbers(it.passage.text().expose()));
        let same = |a: &Number, b: &Number| a.value == b.value && a.unit == b.unit;
        figures.iter().any(|a| there.iter().any(|b| same(a, b)))
    };
    if named.iter().any(holds) { named.into_iter().filter(holds).collect() } else { named }
}

/// The evidence for a sentence by its words alone.
fn resolve_by_words(text: &str, named: Vec<EvidenceId>, all: &[&Evidence]) -> Vec<EvidenceId> {
    let says = |it: &Evidence| {
        stem_overlap(text, it.passage.text().expose()).max(stem_overlap(text, &it.claim))
    };
    let own = all.iter().filter(|it| named.contains(&it.id));
    let own = own.map(|it| says(it)).fold(0.0, f32::max);
    if named.is_empty() || own >= MEANT {
        return named;
    }
    let best = all
        .iter()
        .map(|it| (says(it), it.id))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    match best {
        Some((share, id)) if share >= SAYS_IT => vec![id],
        _ => named,
    }
}

/// The evidence as rows of a prompt, each with its label in `from`.
pub(super) fn evidence_rows<'a>(
    evidence: &'a [&Evidence],
    from: &'a [String],
) -> impl Iterator<Item = EvidenceRow<'a>> {
    evidence.iter().zip(from).map(|(it, from)| EvidenceRow { id: it.id, claim: &it.claim, from })
}

/// Evidence by score, ties in the order found; only from sources in the notes.
pub(super) fn best_first<'a>(
    notes: &Notes,
    evidence: impl Iterator<Item = &'a Evidence>,
) -> Vec<&'a Evidence> {
    let mut all: Vec<&Evidence> = evidence.filter(|it| notes.source(it.source).is_some()).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    all
}
