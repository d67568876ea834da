//! What code objects to in a draft.
use std::collections::BTreeSet;

use ibid_core::domain::words::content_stems;
use ibid_core::domain::{Critic, Evidence, EvidenceId, SourceId};

use super::proposal::{DraftChange, DraftResearch, ProposedPatch, is_cited, section_lines};
use crate::draft::{DraftLine, ReportDraft};
use crate::heuristic::editions::superseded_sources;
use crate::heuristic::score::RelevanceScorer;
use crate::thresholds::{MIN_DIRECTNESS_SHARE, MIN_REPEATED_SIMILARITY, MIN_SINGLE_SITE_SCORE};

/// Maximum number of quotes that code finds missing in a round, besides one for each section without a sentence.
const MAX_MISSING: usize = 2;

/// What code objects to, by critic.
pub(super) fn object(
    draft: &ReportDraft,
    question: &str,
    research: DraftResearch<'_>,
    scorer: &mut RelevanceScorer,
) -> Vec<ProposedPatch> {
    let replaced = superseded_sources(&research.notes.sources, question);
    let mut proposed = missing_sections(draft, research, &replaced, scorer);
    proposed.extend(missing_answers(draft, research, &replaced, scorer));
    proposed.extend(repeated_lines(draft));
    proposed.extend(better_answer(draft, scorer));
    proposed
}

/// Sections of the outline that have evidence and no sentence.
fn missing_sections(
    draft: &ReportDraft,
    research: DraftResearch<'_>,
    replaced: &BTreeSet<SourceId>,
    scorer: &mut RelevanceScorer,
) -> Vec<ProposedPatch> {
    let is_written = |title: &str| draft.sections.iter().any(|section| section.title == title);
    let outlined = research.outline.sections().iter();
    let missing = outlined.filter(|it| !it.items.is_empty() && !is_written(&it.title));
    let patch = missing.filter_map(|section| {
        let mut serves = |it: &Evidence| {
            let title = research.notes.source(it.source).map_or("", |source| source.title.as_str());
            section.items.iter().any(|item| scorer.serves_item(*item, title, &it.claim))
        };
        let mut stands = |id: &&EvidenceId| {
            let evidence = research.notes.evidence.iter().find(|it| it.id == **id);
            evidence.is_some_and(|it| !replaced.contains(&it.source) && serves(it))
                && !is_cited(draft, **id)
        };
        let best = section.evidence.iter().find(|id| stands(id))?;
        Some(ProposedPatch {
            critic: Critic::Coverage,
            by: None,
            section: Some(section.title.clone()),
            why: "no sentence answers this section, and there is evidence for it".to_owned(),
            change: DraftChange::AddQuote { evidence: *best, to: section.title.clone() },
        })
    });
    patch.collect()
}

/// Evidence that answers the question more directly than every sentence of the sections, and that none cites.
fn missing_answers(
    draft: &ReportDraft,
    research: DraftResearch<'_>,
    replaced: &BTreeSet<SourceId>,
    scorer: &mut RelevanceScorer,
) -> Vec<ProposedPatch> {
    let told: Vec<&DraftLine> = section_lines(draft).map(|pair| pair.1).collect();
    let best = told.iter().map(|line| scorer.relevance(&line.text)).fold(0.0, f32::max);
    let unused = |it: &&Evidence| {
        it.score >= MIN_SINGLE_SITE_SCORE
            && !replaced.contains(&it.source)
            && !is_cited(draft, it.id)
    };
    let mut found: Vec<(f32, &Evidence)> = research
        .notes
        .evidence
        .iter()
        .filter(unused)
        .map(|it| (scorer.relevance(&it.claim), it))
        .filter(|pair| pair.0 > best)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.id.cmp(&b.1.id)));
    let section_of = |it: &Evidence| {
        let mut outlined = research.outline.sections().iter();
        let section = outlined.find(|section| section.evidence.contains(&it.id))?;
        Some(section.title.clone())
    };
    let patch = found.into_iter().filter_map(|(_, it)| {
        let to = section_of(it)?;
        Some(ProposedPatch {
            critic: Critic::Coverage,
            by: None,
            section: Some(to.clone()),
            why: "it answers more directly than any sentence of the draft".to_owned(),
            change: DraftChange::AddQuote { evidence: it.id, to },
        })
    });
    patch.take(MAX_MISSING).collect()
}

/// Sentences with nearly all words of an earlier one.
fn repeated_lines(draft: &ReportDraft) -> Vec<ProposedPatch> {
    let mut seen: Vec<BTreeSet<String>> = Vec::new();
    let mut proposed = Vec::new();
    for (title, line) in section_lines(draft) {
        let own: BTreeSet<String> = content_stems(&line.text).into_iter().collect();
        let repeats = |it: &BTreeSet<String>| {
            let shared = it.intersection(&own).count() as f32;
            shared >= it.union(&own).count() as f32 * MIN_REPEATED_SIMILARITY
        };
        if !own.is_empty() && seen.iter().any(repeats) {
            proposed.push(ProposedPatch {
                critic: Critic::Reader,
                by: None,
                section: Some(title.to_owned()),
                why: "an earlier sentence says the same".to_owned(),
                change: DraftChange::Remove(line.clone()),
            });
        }
        seen.push(own);
    }
    proposed
}

/// The sentence of a section that answers the question where the short answer says much less of what is asked.
fn better_answer(draft: &ReportDraft, scorer: &mut RelevanceScorer) -> Option<ProposedPatch> {
    let told = draft.short.iter().map(|line| scorer.relevance(&line.text)).fold(0.0, f32::max);
    let mut best: Option<(f32, &str, &DraftLine)> = None;
    for (title, line) in section_lines(draft) {
        let relevance = scorer.relevance(&line.text);
        if best.is_none_or(|best| relevance > best.0) {
            best = Some((relevance, title, line));
        }
    }
    let (_, title, line) = best.filter(|best| told < best.0 * MIN_DIRECTNESS_SHARE)?;
    Some(ProposedPatch {
        critic: Critic::Reader,
        by: None,
        section: Some(title.to_owned()),
        why: "it answers the question more directly than the short answer".to_owned(),
        change: DraftChange::Lead(line.clone()),
    })
}
