//! Whether a sentence is on what a section of the report is on.
use super::RelevanceScorer;
use super::item_matchers::ItemMatcher;
use super::terms::WeightedTerm;
use crate::heuristic::sentence::measures;
use crate::thresholds::MIN_WORD_MATCH;
use ibid_core::domain::{ItemId, split_sentences};

/// The rarest words of the question, of which a sentence on an aspect of its subject has two: the others are the subject's own.
const TELLING_WORDS: usize = 3;
/// Words of a part of the question that the other parts lack, from which a sentence on the part has two of them.
const MANY_OWN_WORDS: usize = 4;

impl RelevanceScorer {
    /// Whether a sentence may stand in the section of `item`, or among the further points if `None`: it has a figure where figures are
    /// asked for, the telling words of the question where the section is on an aspect of its subject, and a word that tells a part of
    /// the question from the others where it is on that part.
    pub(crate) fn fits_section(&mut self, item: Option<ItemId>, text: &str) -> bool {
        let telling = self.telling_words();
        let least = telling.len().min(2);
        let Some(item) = item else { return self.matched(&telling, text) >= least };
        let Some(matcher) = self.item_matchers.iter().find(|it| it.item == item) else {
            return true;
        };
        let asks_figures = matcher.facet.is_some_and(|facet| facet.numbers);
        let is_aspect = matcher.facet.is_some() && !matcher.core && !matcher.of_sides;
        let is_part = matcher.facet.is_none() && !matcher.side;
        if asks_figures {
            let mut figures = split_sentences(text)
                .into_iter()
                .map(|span| &text[span])
                .filter(|sentence| !measures(sentence).is_empty());
            // "It finds a hole to within 10 cm" is no figure on leaks.
            if !figures.any(|it| !is_aspect || self.matched(&telling, it) > 0) {
                return false;
            }
        }
        if is_part {
            let own = self.own_words(item);
            let least = if own.len() >= MANY_OWN_WORDS { 2 } else { own.len().min(1) };
            return self.matched(&own, text) >= least;
        }
        if is_aspect {
            // Beside "why do roofs leak and how is it prevented?", how long leaks take to show is asked by neither part.
            let of_parts = self.words_of_parts();
            return self.matched(&telling, text) >= least
                && (of_parts.is_empty() || self.matched(&of_parts, text) > 0);
        }
        true
    }

    /// How many of `terms` a text has, or words like them.
    fn matched(&mut self, terms: &[WeightedTerm], text: &str) -> usize {
        let ids = self.ids(text);
        let has = |term: &&WeightedTerm| self.match_strength(term.id, &ids) >= MIN_WORD_MATCH;
        terms.iter().filter(has).count()
    }

    /// The rarest content words of the question among the sentences read.
    fn telling_words(&self) -> Vec<WeightedTerm> {
        let mut terms: Vec<WeightedTerm> =
            self.question.iter().filter(|term| term.weight >= 1.0).copied().collect();
        terms.sort_by(|a, b| self.weight(b).total_cmp(&self.weight(a)).then(a.id.cmp(&b.id)));
        terms.truncate(TELLING_WORDS);
        terms
    }

    /// Whether code planned an item, as the core or an aspect of a question of its kind.
    pub(crate) fn has_facet(&self, item: ItemId) -> bool {
        self.item_matchers.iter().any(|it| it.item == item && it.facet.is_some())
    }

    /// Whether an item is one of the things that are compared.
    pub(crate) fn is_side(&self, item: ItemId) -> bool {
        self.item_matchers.iter().any(|it| it.item == item && it.side)
    }

    /// What a part of the question asks that no other part asks; nothing of a question of one part.
    fn own_words(&self, item: ItemId) -> Vec<WeightedTerm> {
        let (own, others): (Vec<_>, Vec<_>) =
            self.parts().into_iter().partition(|it| it.item == item);
        if others.is_empty() {
            return Vec::new();
        }
        let is_own = |term: &&WeightedTerm| {
            !others.iter().flat_map(|it| &it.terms).any(|other| other.id == term.id)
        };
        // The subject, which a part need not name again, tells none from another.
        let is_asked = |of: &ItemMatcher, term: &WeightedTerm| {
            term.weight < 1.0 || of.aspect.iter().any(|it| it.id == term.id)
        };
        let terms = own.iter().flat_map(|it| it.terms.iter().filter(|term| is_asked(it, term)));
        terms.filter(is_own).copied().collect()
    }

    /// What the parts of the question ask that not all of them ask.
    fn words_of_parts(&self) -> Vec<WeightedTerm> {
        self.parts().iter().flat_map(|part| self.own_words(part.item)).collect()
    }

    /// The parts of the question. What a model plans beside the question is asked in words of its own.
    fn parts(&self) -> Vec<&ItemMatcher> {
        let asked = self.question_text.to_lowercase();
        let is_part = |it: &&ItemMatcher| {
            let text = it.question_text.trim_end_matches('?').to_lowercase();
            it.facet.is_none() && !it.side && asked.contains(&text)
        };
        self.item_matchers.iter().filter(is_part).collect()
    }
}
