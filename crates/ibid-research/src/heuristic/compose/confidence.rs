//! The confidence of a report in what it says.
use crate::draft::DraftConflict;
use crate::heuristic::answer::{self, YesNoTally};
use crate::heuristic::claim_clusters::{ClaimCluster, independent_sources};
use crate::heuristic::conflict_reason::dispute_reason;
use crate::heuristic::conflicts::is_on_verdict;
use crate::heuristic::ranked_points::RankedPoint;
use crate::prompts;
use crate::prompts::fill_template;
use crate::thresholds::{
    DIRECT_ANSWER_PROBABILITY, MIN_DIRECT_ANSWER_WEIGHT, MIN_DIRECT_ANSWER_WORDS,
    MIN_DIRECT_SIMILARITY,
};
use ibid_core::Result;
use ibid_core::domain::{Confidence, ConfidenceMark, Evidence, EvidenceStore};

/// The confidence of `said`, and the rules that gave it: how many independent sources say the same, how many
/// are on the subject, whether any disagrees or doubts, and whether the words are those of the question.
pub(super) fn confidence_mark(
    notes: &EvidenceStore,
    said: &[&ClaimCluster],
    conflicts: &[DraftConflict],
    best: Option<&RankedPoint<'_>>,
    lean: Option<&YesNoTally>,
) -> Result<ConfidenceMark> {
    let words = &prompts::phrases()?.confidence;
    let evidence: Vec<&Evidence> =
        said.iter().flat_map(|point| &point.evidence).map(|nth| &notes.evidence[*nth]).collect();
    let n = independent_sources(notes, evidence.iter().copied()).len();
    let same = said
        .iter()
        .map(|point| {
            independent_sources(notes, point.evidence.iter().map(|nth| &notes.evidence[*nth])).len()
        })
        .max()
        .unwrap_or(0);
    let leaning = lean.and_then(|lean| {
        lean.majority().map(|yes| (if yes { lean.yes } else { lean.no }, lean.yes + lean.no))
    });
    // A sentence may be evidence twice, once as a model found it and once as words did.
    let place = |it: &Evidence| (it.source, it.passage.first(), it.passage.last());
    let sides = conflicts.iter().flat_map(|conflict| &conflict.sides);
    let mut contested = sides.flat_map(|(_, line)| &line.evidence);
    let disputed = contested.any(|id| {
        let side = notes.evidence.iter().find(|it| it.id == *id);
        side.is_some_and(|side| evidence.iter().any(|it| place(it) == place(side)))
    });
    let disputed = disputed || conflicts.iter().any(|conflict| is_on_verdict(notes, conflict));
    let mut why = vec![match n {
        1 => words.one_source.clone(),
        _ => fill_template(&words.sources, &[("n", &n.to_string())]),
    }];
    let mut level: i32 = match (same, n) {
        (3.., _) => 3,
        (2, _) | (_, 3..) => 2,
        (_, 0) => 0,
        _ => 1,
    };
    if disputed {
        let causes = conflicts.iter().map(|it| it.likely.as_ref().map(|reason| reason.cause));
        why.push(dispute_reason(causes)?.to_owned());
        level = level.min(1);
    } else if let Some((way, total)) = leaning.filter(|pair| pair.1 > 1) {
        let template = match way {
            1 => &words.lean_one,
            _ => &words.lean,
        };
        why.push(fill_template(
            template,
            &[("n", &way.to_string()), ("total", &total.to_string())],
        ));
    } else if same > 1 && same == n {
        why.push(words.agree.clone());
    } else if same > 1 {
        why.push(fill_template(&words.same, &[("n", &same.to_string())]));
    } else if n > 1 {
        why.push(words.none_disagrees.clone());
    }
    let is_offer = |it: &&Evidence| notes.source(it.source).is_some_and(|source| source.is_offer);
    if !evidence.is_empty() && evidence.iter().all(is_offer) {
        why.push(words.seller.clone());
        level -= 1;
    }
    if answer::has_doubt(evidence.iter().copied()) {
        why.push(words.doubt.clone());
        level -= 1;
    }
    if best.is_none_or(|ranked_point| {
        let on_question = ranked_point.relevance >= MIN_DIRECT_ANSWER_WEIGHT
            && ranked_point.share >= MIN_DIRECT_ANSWER_WORDS
            && ranked_point.has_head
            && ranked_point.things_known
            && ranked_point.similarity.is_none_or(|it| it >= MIN_DIRECT_SIMILARITY);
        // Other words may mean what is asked.
        let meant = ranked_point.things_known
            && ranked_point.probability.is_some_and(|it| it >= DIRECT_ANSWER_PROBABILITY);
        let placed = ranked_point.headed || ranked_point.listed || ranked_point.states_fact;
        !placed && !on_question && !meant
    }) {
        why.push(words.indirect.clone());
        level -= 1;
    } else {
        why.push(words.direct.clone());
    }
    Ok(ConfidenceMark { level: grade_of_level(level), why })
}

fn grade_of_level(level: i32) -> Confidence {
    match level {
        ..=0 => Confidence::VeryLow,
        1 => Confidence::Low,
        2 => Confidence::Moderate,
        _ => Confidence::High,
    }
}
