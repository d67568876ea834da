//! Which points are on the question.
use crate::heuristic::answer_shape::asks_for_fact;
use crate::heuristic::claim_clusters::ClaimCluster;
use crate::heuristic::editions;
use crate::heuristic::procedure::MIN_LISTED;
use crate::heuristic::ranked_points::{self, RankedPoint};
use crate::heuristic::score::RelevanceScorer;
use crate::thresholds::{
    MIN_ANSWER_PROBABILITY, MIN_ASPECT_SHARE, MIN_DECIDING_CONTENT_WORDS, MIN_DEFINITION_FIT,
    MIN_ITEM_ANSWER_SCORE, MIN_PART_ANSWER_SCORE, MIN_RELEVANCE, MIN_RELEVANCE_SHARE,
    MIN_RELEVANCE_SHARE_WITHOUT_VERB, MIN_STEP_FIT, MIN_STEP_SCORE, OTHER_ASPECT_SURE,
};
use ibid_core::Result;
use ibid_core::domain::{Brief, EvidenceStore, ItemId, QuestionKind};

use super::sections::{covers_core_item, is_core_item};
use super::time_line::is_event_of_titled_page;

/// Number of points of pages whose titles ask the question from which they say enough.
const MIN_TITLED_POINTS: usize = 3;
/// Share of the words of the best point from which a point of another page stays beside them.
const MIN_OTHER_PAGE_SHARE: f32 = 0.85;

/// The points on the question, and what newer editions say where none of them stands; `None` if none is on the question.
pub(super) fn standing_points(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    points: &[ClaimCluster],
    stands: impl Fn(&ClaimCluster) -> bool,
) -> Result<Option<Vec<ClaimCluster>>> {
    let Some(mut kept) = question_points(brief, notes, scorer, points.to_vec())? else {
        return Ok(None);
    };
    // What answers best may be withdrawn while weaker sentences stand.
    if kept.iter().max_by(|a, b| a.score.total_cmp(&b.score)).is_some_and(|best| !stands(best)) {
        kept.extend(newer_editions(notes, &kept, points.to_vec()));
    }
    Ok(Some(kept))
}

/// The points of `all` on the question itself that newer editions of the works behind `kept` make, in whatever words.
fn newer_editions(
    notes: &EvidenceStore,
    kept: &[ClaimCluster],
    all: Vec<ClaimCluster>,
) -> Vec<ClaimCluster> {
    let source = |point: &ClaimCluster| notes.source(notes.evidence[point.evidence[0]].source);
    let newer = |point: &ClaimCluster| {
        let own = source(point);
        let older = kept.iter().filter_map(source);
        own.is_some_and(|own| older.into_iter().any(|it| editions::is_newer_edition(own, it)))
    };
    let answers = |point: &ClaimCluster| {
        covers_core_item(notes, point) && point.score >= MIN_PART_ANSWER_SCORE && newer(point)
    };
    all.into_iter().filter(answers).collect()
}

/// The points on the question or on a part of it; `None` if none is on the question.
///
/// A point much less relevant than the best is dropped. Steps and members of a list need not repeat what they
/// belong to.
fn question_points(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    mut all: Vec<ClaimCluster>,
) -> Result<Option<Vec<ClaimCluster>>> {
    let ranked = ranked_points::rank_points(brief, notes, scorer, &all)?;
    let best = ranked.iter().map(|it| it.relevance).fold(0.0, f32::max);
    let defines = brief.kind == QuestionKind::Definition
        && ranked.iter().any(|it| it.early || it.fit >= MIN_DEFINITION_FIT);
    let by_shape = matches!(brief.kind, QuestionKind::HowTo | QuestionKind::List);
    // Points on a part of the question, or on an item the person added, use words of their own.
    let items = notes.plan.items().iter().map(|item| item.id);
    let parts: Vec<ItemId> = items.filter(|item| scorer.asks_part(*item)).collect();
    // A sentence on one side of a comparison has half of the question's words.
    let one_side =
        |id: &ItemId| brief.kind == QuestionKind::Comparison && !is_core_item(notes, *id);
    let steps: Vec<ItemId> = parts
        .iter()
        .copied()
        .filter(|id| scorer.part_question(*id).is_some_and(|part| part.0 == QuestionKind::HowTo))
        .collect();
    let own_part = |ranked_point: &RankedPoint<'_>| {
        let Some(id) = ranked_point.point.items.first() else {
            return false;
        };
        // Steps seldom name what they belong to.
        let least = if steps.contains(id) { MIN_STEP_SCORE } else { MIN_PART_ANSWER_SCORE };
        (parts.contains(id) || one_side(id)) && ranked_point.point.score >= least
    };
    // A sentence on one part has few of the words of a question of many parts, and what means what is asked may have none.
    if best < MIN_RELEVANCE && !ranked.iter().any(|it| own_part(it) || it.meant) {
        return Ok(None);
    }
    let kept: Vec<RankedPoint<'_>> = ranked
        .into_iter()
        .filter(|it| {
            let near = it.relevance >= best * MIN_RELEVANCE_SHARE
                || it.listed
                || it.headed && matches!(brief.kind, QuestionKind::Why | QuestionKind::Open)
                || by_shape && it.point.score >= MIN_ITEM_ANSWER_SCORE;
            let does = by_shape
                || it.relevance >= best * MIN_RELEVANCE_SHARE_WITHOUT_VERB
                || scorer.mentions_question_verb(&it.point.text);
            let side = it.point.items.first().is_some_and(|id| !is_core_item(notes, *id));
            let defined = !defines || side || it.early || it.fit >= MIN_DEFINITION_FIT;
            near && (does || it.headed) && defined
                || own_part(it)
                || it.meant
                || it.states_fact
                || is_event_of_titled_page(&brief.question, notes, it.point)
        })
        .collect();
    let kept = without_other_pages(brief, notes, scorer, kept);
    let on_aspect = matches_aspect(brief, notes, scorer, &kept);
    // What only comes nearest is not told beside what is on it.
    let any_on_aspect = on_aspect.contains(&true);
    let is_meant = |it: &RankedPoint<'_>| {
        let least = match brief.kind {
            QuestionKind::YesNo | QuestionKind::Causal => OTHER_ASPECT_SURE,
            kind if asks_for_fact(kind) => 0.0,
            _ => MIN_ANSWER_PROBABILITY,
        };
        it.meant && (!any_on_aspect || it.probability.is_none_or(|sure| sure >= least))
    };
    let kept: Vec<usize> = kept
        .iter()
        .zip(on_aspect)
        .filter(|(it, on_aspect)| *on_aspect || own_part(it) || is_meant(it) || it.states_fact)
        .map(|(it, _)| it.point.evidence[0])
        .collect();
    if kept.is_empty() {
        return Ok(None);
    }
    all.retain(|point| kept.contains(&point.evidence[0]));
    Ok(Some(all))
}

/// The points without those of other pages that only share words with the question, where pages whose titles ask it say enough.
fn without_other_pages<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    points: Vec<RankedPoint<'a>>,
) -> Vec<RankedPoint<'a>> {
    use QuestionKind::{Comparison, HowTo, Open, Why};
    let asked: Vec<bool> = points
        .iter()
        .map(|it| ranked_points::title_asks(brief.kind, notes, scorer, it.point) > 0.0)
        .collect();
    if !matches!(brief.kind, Comparison | HowTo | Open | Why)
        || asked.iter().filter(|asked| **asked).count() < MIN_TITLED_POINTS
    {
        return points;
    }
    let best = points.iter().map(|it| scorer.word_relevance(&it.point.text)).fold(0.0, f32::max);
    let stays = |it: &RankedPoint<'_>, scorer: &mut RelevanceScorer| {
        let means = it.probability.is_some_and(|sure| sure >= MIN_ANSWER_PROBABILITY);
        let titled = format!("{} {}", ranked_points::page_title(notes, it.point), it.point.text);
        let says = scorer.word_relevance(&it.point.text) >= best * MIN_OTHER_PAGE_SHARE;
        means || it.states_fact || (says || it.headed) && scorer.has_asked_names(&titled)
    };
    let rows = points.into_iter().zip(asked);
    rows.filter(|(it, asked)| *asked || stays(it, scorer)).map(|(it, _)| it).collect()
}

/// Whether each point is on what the question asks of its subject, and not on the subject alone. The title of its page may
/// say so. Where a page lists what is asked for, its items are, and other sentences must have the words of the question.
fn matches_aspect(
    brief: &Brief,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
    ranked: &[RankedPoint<'_>],
) -> Vec<bool> {
    let share = |it: &RankedPoint<'_>| {
        scorer.aspect_share(&format!(
            "{} {}",
            it.point.text,
            ranked_points::page_title(notes, it.point)
        ))
    };
    let shares: Vec<f32> = ranked.iter().map(share).collect();
    // To "does it raise the value of a house" a sentence on raising alone is no answer.
    if !ranked.iter().any(|it| it.headed || scorer.has_asked_word_besides_verb(&it.point.text)) {
        return vec![false; ranked.len()];
    }
    let least_share = shares.iter().copied().fold(0.0, f32::max) * MIN_ASPECT_SHARE;
    let has_list = ranked.iter().filter(|it| it.listed).count() >= MIN_LISTED;
    // Beside sentences that name animals, "the yard lives from its lime" names none.
    let names_kind: Vec<Option<bool>> =
        ranked.iter().map(|it| scorer.names_known_kind(&it.point.text)).collect();
    let by_kind = brief.kind == QuestionKind::List
        && names_kind.iter().filter(|names| **names == Some(true)).count() > 1;
    let rows = ranked.iter().zip(shares).zip(names_kind);
    rows.map(|((it, share), names)| {
        let step = brief.kind == QuestionKind::HowTo && it.fit >= MIN_STEP_FIT;
        let matches = (!has_list || it.share >= MIN_DECIDING_CONTENT_WORDS)
            && (!by_kind || names == Some(true));
        it.listed || it.headed || step || share >= least_share && matches
    })
    .collect()
}
