//! Whether a sentence is about the subject of the question, and not about another of its kind.
use super::limits::STANDS_FOR;
use super::probes::Probe;
use super::scorer::RelevanceScorer;
use super::terms::{WeightedTerm, part_terms, related_terms};
use crate::heuristic::intake::{is_verb, telling_weight};
use crate::heuristic::kinds::question_kind;
use ibid_core::domain::words::{is_stop_word, tokens};
use ibid_core::domain::{Brief, Item, ItemId};

/// Words at the beginning of a sentence that name its subject.
const LEAD: usize = 7;
/// Weight of matched words around a sentence that makes up for the most telling word.
const MUCH: f32 = 0.4;
/// Most telling words of a question of which a deciding sentence must have nearly all.
const FEW: usize = 6;
/// Share of the words of a part that a sentence about it must have.
const ON_PART: f32 = 0.75;
/// Match strength from which a word expresses the question's verb.
const DOES: f32 = 0.35;

impl RelevanceScorer {
    /// Whether a sentence names another thing of a kind that the question names, and neither it nor its
    /// context (`wide`) names the one in question.
    pub(super) fn names_another_kind(&mut self, text: &str, wide: &[u32]) -> bool {
        if self.pairs.is_empty() {
            return false;
        }
        let words = tokens(text);
        let pairs = std::mem::take(&mut self.pairs);
        let found = pairs.iter().any(|(which, kind)| {
            let (which, kind) = (self.lexicon.id(which), self.lexicon.id(kind));
            self.match_strength(which, wide) < STANDS_FOR
                && words.windows(2).any(|it| {
                    let beside = text[it[0].span.end..it[1].span.start].trim().is_empty();
                    let names_one = !is_stop_word(&it[0].text)
                        && telling_weight(text, &it[0]) >= 1.0
                        && !is_verb(&it[0].text);
                    beside && names_one && self.lexicon.id(&it[1].text) == kind
                })
        });
        self.pairs = pairs;
        found
    }

    /// Whether a sentence is about the question's subject: its context (`wide`) has one of the question's
    /// names, other than sites, and enough of the telling words are in it or next to it (`ids`).
    pub(super) fn on_subject(&self, ids: &[u32], wide: &[u32]) -> bool {
        let names: Vec<u32> =
            self.names.iter().filter(|it| !self.sites.contains(&it.0)).map(|it| it.1).collect();
        if !names.is_empty() && !names.iter().any(|it| wide.binary_search(it).is_ok()) {
            return false;
        }
        let mut telling: Vec<(f32, u32)> = self
            .question
            .iter()
            .filter(|it| it.telling >= 1.0)
            .map(|it| (self.weight(it), it.id))
            .collect();
        // In "which skills does a planner need" the skills are sought; the planner is the subject.
        if telling.len() > 1 {
            telling.retain(|it| Some(it.1) != self.sought);
        }
        telling.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // How many telling words must be matched, and out of how many of the most telling one must be.
        let (needed, heads) = match telling.len() {
            0 => return self.coverage(&self.question, ids) >= 0.5,
            1 | 2 => (1, 1),
            3..=5 => (2, 2),
            n => (3, n),
        };
        let met = |it: &&(f32, u32)| self.match_strength(it.1, ids) >= STANDS_FOR;
        // The most telling word is there, or much of the rest is.
        let rarest =
            telling.first().is_some_and(|it| self.match_strength(it.1, wide) >= STANDS_FOR);
        let about: Vec<WeightedTerm> =
            self.question.iter().filter(|it| Some(it.id) != self.sought).copied().collect();
        (rarest || self.coverage(&about, wide) >= MUCH)
            && telling.iter().take(heads).any(|it| self.match_strength(it.1, wide) >= STANDS_FOR)
            && telling.iter().filter(met).count() >= needed
    }

    /// Whether an item asks a part of the question or something added, and is not a side of a comparison.
    pub(crate) fn is_part(&self, item: ItemId) -> bool {
        let mut probes = self.probes.iter();
        probes.any(|it| it.item == item && it.facet.is_none() && !it.side)
    }

    /// Adds an item to score for.
    pub(crate) fn add_item(&mut self, brief: &Brief, item: &Item) {
        let terms = part_terms(&mut self.lexicon, item, false, brief);
        self.kin.extend(related_terms(&mut self.lexicon, std::iter::once(&item.asks)));
        self.probes.push(Probe {
            item: item.id,
            core: true,
            kind: question_kind(&item.asks, self.words),
            asked: item.asks.clone(),
            terms,
            facet: None,
            side: false,
        });
    }

    /// Whether a sentence with its context is about a part of the question, or an added item, whatever the
    /// rest of the question is about.
    pub(super) fn on_part(&self, ids: &[u32]) -> bool {
        let mut parts = self.probes.iter().filter(|it| it.facet.is_none() && !it.side);
        parts.any(|it| self.coverage(&it.terms, ids) >= ON_PART)
    }

    /// Whether the question's telling words are among the first few of `text`.
    pub(crate) fn begins_with_subject(&mut self, text: &str) -> bool {
        let words = tokens(text);
        let end = words.get(LEAD).map_or(text.len(), |it| it.span.start);
        let ids = self.ids(&text[..end]);
        self.coverage(&self.question, &ids) >= 0.6
    }

    /// Unweighted share of the question's telling words in `text`, 0 to 1. 1 for a long question, which no
    /// sentence repeats in full.
    pub(crate) fn term_share(&mut self, text: &str) -> f32 {
        let ids = self.ids(text);
        let telling = || self.question.iter().filter(|it| it.telling >= 1.0);
        if telling().count() > FEW {
            return 1.0;
        }
        let met = telling().filter(|it| self.match_strength(it.id, &ids) >= STANDS_FOR);
        met.count() as f32 / telling().count().max(1) as f32
    }

    /// Whether `text` has the verb the question asks about, or one near it; `true` where it asks about none.
    pub(crate) fn says_what_is_done(&mut self, text: &str) -> bool {
        let ids = self.ids(text);
        self.done.is_none_or(|it| self.match_strength(it, &ids) >= DOES)
    }
}
