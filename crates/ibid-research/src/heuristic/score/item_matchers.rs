//! What a sentence is scored against for each item of the plan.
use crate::heuristic::lexicon::{StemInterner, spaced};
use crate::heuristic::question_kind::question_kind;
use crate::heuristic::side_name::SideName;
use crate::prompts;
use crate::prompts::Facet;
use crate::thresholds::{
    MEANING_SCORE, MIN_MEANT_SIMILARITY, MIN_SIDE_MATCH, SIDE_EARLY_WEIGHT, SIDE_MATCH_WEIGHT,
    SIDE_OF_COMPARISON_WEIGHT, SIDE_QUESTION_WEIGHT,
};
use ibid_core::Result;
use ibid_core::domain::{Brief, ItemId, Plan, QuestionKind};

use super::context::SentenceView;
use super::terms::{WeightedTerm, aspect_terms, part_terms, terms_of};

/// What evidence for an item must match.
pub(super) struct ItemMatcher {
    pub(super) item: ItemId,
    /// Whether the item asks the question itself or a part of it.
    pub(super) core: bool,
    pub(super) kind: QuestionKind,
    pub(super) question_text: String,
    pub(super) terms: Vec<WeightedTerm>,
    /// The terms of what is asked of the subject of the question.
    pub(super) aspect: Vec<WeightedTerm>,
    pub(super) facet: Option<&'static Facet>,
    /// Whether the item is one side of a comparison.
    pub(super) side: bool,
    /// The side, as written; empty for other items.
    pub(super) side_text: String,
    /// Whether the item asks something of each side of a comparison, so that a sentence need only be about one.
    pub(super) of_sides: bool,
}

impl ItemMatcher {
    /// Whether the item asks a part of the question or something added, and is neither an aspect nor a side of a comparison.
    pub(super) fn is_part(&self) -> bool {
        self.facet.is_none() && !self.side
    }

    /// Whether a heading asks, in the same words, what it asks.
    pub(super) fn is_asked_by(&self, heading: &str) -> bool {
        spaced(heading) == spaced(&self.question_text)
    }

    /// The name of the side that it is for, among `names`.
    pub(super) fn side_name<'n>(&self, names: &'n [SideName]) -> Option<&'n SideName> {
        names.iter().find(|name| name.is_in(&self.side_text))
    }
}

/// The matchers of all items of `plan`. `question` has the terms of the question itself.
pub(super) fn build_item_matchers(
    lexicon: &mut StemInterner,
    brief: &Brief,
    plan: &Plan,
    question: &[WeightedTerm],
) -> Result<Vec<ItemMatcher>> {
    let words = prompts::phrases()?;
    let facets = prompts::plan_words()?;
    let mut item_matchers = Vec::new();
    for (nth, item) in plan.items().iter().enumerate() {
        let facet = facets.facet_by_heading(&item.heading).map(|pair| pair.1);
        let side = facet.is_none()
            && brief.kind == QuestionKind::Comparison
            && !brief.question.contains(&item.asks);
        let part = facet.is_none() && !side;
        let core = part || nth == 0;
        let asked = if part { item.asks.clone() } else { brief.question.clone() };
        let terms = if part || side {
            part_terms(lexicon, item, side, brief)
        } else {
            terms_of(lexicon, &item.terms.join(" . "), &item.terms)
        };
        // What is asked of one subject is asked of it in every item; a comparison has two.
        let aspect = match brief.kind {
            QuestionKind::Comparison if !core => Vec::new(),
            _ => aspect_terms(lexicon, &asked, brief),
        };
        item_matchers.push(ItemMatcher {
            item: item.id,
            aspect,
            core,
            kind: if part { question_kind(&asked, words) } else { brief.kind },
            question_text: asked,
            terms: if core && !part { question.to_vec() } else { terms },
            facet,
            side_text: if side { item.terms.join(" ") } else { String::new() },
            side,
            of_sides: brief.kind == QuestionKind::Comparison && facet.is_some() && nth > 0,
        });
    }
    Ok(item_matchers)
}

/// The score of a sentence for what it means, whatever its words and its form.
pub(super) fn meaning_score(item_matcher: &ItemMatcher, view: &SentenceView<'_>) -> f32 {
    let compared = view.similarity.filter(|_| item_matcher.core && item_matcher.facet.is_some());
    compared.filter(|it| *it >= MIN_MEANT_SIMILARITY).map_or(0.0, |it| MEANING_SCORE * it)
}

/// The score of a sentence for a side of a comparison: of its words, of those of the question and of its place in the page.
pub(super) fn side_score(to_item: f32, question: f32, early: f32) -> f32 {
    if to_item < MIN_SIDE_MATCH {
        return 0.0;
    }
    let score =
        SIDE_MATCH_WEIGHT * to_item + SIDE_QUESTION_WEIGHT * question + SIDE_EARLY_WEIGHT * early;
    SIDE_OF_COMPARISON_WEIGHT * score
}
