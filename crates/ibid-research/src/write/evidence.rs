//! Which evidence a written sentence rests on.
use std::collections::BTreeSet;

use crate::ask::shapes::EvidenceRow;
use crate::draft::ReportDraft;
use crate::heuristic::score::RelevanceScorer;
use crate::thresholds::{
    MIN_NAMED_EVIDENCE_OVERLAP, MIN_OTHER_EVIDENCE_OVERLAP, MIN_RELEVANCE_SHARE,
};
use ibid_core::domain::words::{Number, numbers, stem_overlap};
use ibid_core::domain::{Evidence, EvidenceId, EvidenceStore};

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
        let it = all.iter().find(|evidence| evidence.id == *id);
        let quotes = it.into_iter().flat_map(|it| it.quotes());
        let there: Vec<Number> = quotes.flat_map(|quote| numbers(quote.text().expose())).collect();
        let same = |a: &Number, b: &Number| a.value == b.value && a.unit == b.unit;
        figures.iter().any(|a| there.iter().any(|b| same(a, b)))
    };
    if named.iter().any(holds) { named.into_iter().filter(holds).collect() } else { named }
}

/// A sentence without the id of its evidence before it, as in "E12: Cork floats.": models copy it from the prompt.
pub(super) fn without_label(text: &str) -> &str {
    let text = text.trim();
    match text.split_once(':') {
        Some((label, rest)) if is_evidence_id(label) => rest.trim_start(),
        _ => text,
    }
}

/// Whether `label` is `E` and a number.
fn is_evidence_id(label: &str) -> bool {
    let number = label.strip_prefix(['E', 'e']).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The evidence for a sentence by its words alone.
fn resolve_by_words(text: &str, named: Vec<EvidenceId>, all: &[&Evidence]) -> Vec<EvidenceId> {
    let says = |evidence: &Evidence| {
        stem_overlap(text, evidence.passage.text().expose())
            .max(stem_overlap(text, &evidence.claim))
    };
    let own = all.iter().filter(|evidence| named.contains(&evidence.id));
    let own = own.map(|it| says(it)).fold(0.0, f32::max);
    if named.is_empty() || own >= MIN_NAMED_EVIDENCE_OVERLAP {
        return named;
    }
    let best = all
        .iter()
        .map(|evidence| (says(evidence), evidence.id))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    match best {
        Some((share, id)) if share >= MIN_OTHER_EVIDENCE_OVERLAP => vec![id],
        _ => named,
    }
}

/// The evidence that code finds to be on the question or on a part of it, and all that `draft` cites.
pub(super) fn evidence_on_question(
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    draft: &ReportDraft,
) -> BTreeSet<EvidenceId> {
    let sections = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let findings = draft.findings.iter().map(|finding| &finding.0);
    let cited = draft.short.iter().chain(findings).chain(sections);
    let mut ids: BTreeSet<EvidenceId> = cited.flat_map(|line| line.evidence.clone()).collect();
    let relevance: Vec<(EvidenceId, f32)> = notes
        .evidence
        .iter()
        .map(|it| {
            let parts = it.items.iter().map(|item| scorer.part_relevance(*item, &it.claim));
            let of_parts = parts.fold(0.0, f32::max);
            (it.id, scorer.relevance(&it.claim).max(of_parts))
        })
        .collect();
    let best = relevance.iter().map(|pair| pair.1).fold(0.0, f32::max);
    let near = |pair: &&(EvidenceId, f32)| pair.1 > 0.0 && pair.1 >= best * MIN_RELEVANCE_SHARE;
    ids.extend(relevance.iter().filter(near).map(|pair| pair.0));
    ids
}

/// The evidence as rows of a prompt, each with its label in `from`.
pub(super) fn evidence_rows<'a>(
    evidence: &'a [&Evidence],
    from: &'a [String],
) -> impl Iterator<Item = EvidenceRow<'a>> {
    evidence.iter().zip(from).map(|(it, from)| EvidenceRow { id: it.id, claim: &it.claim, from })
}

/// Evidence by score, ties in the order found; only from sources in the notes.
pub(crate) fn best_first<'a>(
    notes: &EvidenceStore,
    evidence: impl Iterator<Item = &'a Evidence>,
) -> Vec<&'a Evidence> {
    let mut all: Vec<&Evidence> =
        evidence.filter(|evidence| notes.source(evidence.source).is_some()).collect();
    let cited = |it: &Evidence| notes.source(it.source).is_some_and(|it| it.cited_by.is_some());
    all.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then(cited(b).cmp(&cited(a))).then(a.id.cmp(&b.id))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::without_label;

    #[test]
    fn the_id_of_evidence_before_a_sentence_is_removed() {
        assert_eq!(without_label(" E12: Cork floats."), "Cork floats.");
        assert_eq!(without_label("E12 : it"), "E12 : it");
        assert_eq!(without_label("Eve: cork floats."), "Eve: cork floats.");
        assert_eq!(without_label("E: cork."), "E: cork.");
    }
}
