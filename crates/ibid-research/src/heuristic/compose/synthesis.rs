//! What opens and closes a report without a model: what the subject is, and what several sources say together.
use crate::draft::DraftLine;
use crate::heuristic::answer::deciding_stances;
use crate::heuristic::answer_shape::kind_fit;
use crate::heuristic::claim_clusters::{ClaimCluster, independent_sources};
use crate::heuristic::lexicon::{jaccard, spaced};
use crate::heuristic::ranked_points::RankedPoint;
use crate::heuristic::score::RelevanceScorer;
use crate::prompts;
use crate::thresholds::{MAX_ANSWER_SIMILARITY, MIN_DEFINITION_FIT};
use ibid_core::Result;
use ibid_core::domain::{Brief, Evidence, EvidenceStore, QuestionKind, Stance};

/// Maximum number of words of the sentence that opens a report.
const OPENING_WORDS: usize = 40;
/// Number of independent sources from which something is said together.
const MIN_VOICES: usize = 2;

/// The sentence that says what the subject is, if one was read and the report does not have it yet.
pub(super) fn opening<'a>(
    brief: &Brief,
    scorer: &mut RelevanceScorer,
    points: &'a [ClaimCluster],
    used: &[Vec<u32>],
) -> Result<Option<&'a ClaimCluster>> {
    if brief.kind == QuestionKind::Definition {
        return Ok(None);
    }
    for point in points {
        let new = used.iter().all(|it| jaccard(it, &point.ids) <= MAX_ANSWER_SIMILARITY);
        if new
            && point.words <= OPENING_WORDS
            && scorer.begins_with_subject(&point.text)
            && kind_fit(
                QuestionKind::Definition,
                &brief.question,
                &point.text,
                &spaced(&point.text),
            )? >= MIN_DEFINITION_FIT
        {
            return Ok(Some(point));
        }
    }
    Ok(None)
}

/// What several sources say together: which of them say yes and which no. How many there are is told by the citations.
pub(super) fn conclusion(
    brief: &Brief,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'_>],
) -> Result<Vec<DraftLine>> {
    let words = &prompts::phrases()?.synthesis;
    let stances = deciding_stances(brief, notes, ranked);
    let say = |stance: Stance| -> Vec<&Evidence> {
        let all = stances.iter().flat_map(|(point, _)| &point.evidence);
        all.map(|nth| &notes.evidence[*nth]).filter(|it| it.stance == stance).collect()
    };
    let line = |text: &str, evidence: &[&Evidence]| DraftLine {
        text: text.to_owned(),
        evidence: evidence.iter().map(|it| it.id).collect(),
    };
    let (yes, no) = (say(Stance::For), say(Stance::Against));
    let voices = |of: &[&Evidence]| independent_sources(notes, of.iter().copied()).len();
    let lines = match (voices(&yes), voices(&no)) {
        (MIN_VOICES.., 0) => vec![line(&words.only_yes, &yes)],
        (0, MIN_VOICES..) => vec![line(&words.only_no, &no)],
        (1.., 1..) => vec![line(&words.some_yes, &yes), line(&words.some_no, &no)],
        _ => Vec::new(),
    };
    Ok(lines)
}
