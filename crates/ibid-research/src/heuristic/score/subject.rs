//! Whether a sentence is about the subject of the question, and not about another of its kind.
use super::context::SentenceView;
use super::item_matchers::ItemMatcher;
use super::page::PageSentences;
use super::scorer::RelevanceScorer;
use super::terms::{WeightedTerm, aspect_terms, part_terms, related_terms};
use crate::heuristic::answer_shape::cue_fit;
use crate::heuristic::intake::content_weight;
use crate::heuristic::lexicon::is_verb;
use crate::heuristic::lexicon::spaced;
use crate::heuristic::question_kind::question_kind;
use crate::thresholds::{
    ENOUGH_ASPECT_WORDS, MIN_CONTEXT_MATCH_WEIGHT, MIN_FACET_CUE_FIT, MIN_PART_OVERLAP,
    MIN_VERB_MATCH, MIN_WORD_MATCH,
};
use ibid_core::domain::words::{Token, is_stop_word, tokens};
use ibid_core::domain::{Brief, ChecklistItem, ItemId, QuestionKind};

/// Number of content words from which a question is specific.
const MIN_SPECIFIC_WORDS: usize = 3;
/// Words at the beginning of a sentence that name its subject.
const SUBJECT_WINDOW: usize = 7;
/// Number of the most informative words of a question of which a deciding sentence must have nearly all.
const MAX_DECIDING_WORDS: usize = 6;

/// Mentions of its specifying word from which a page names a subject repeatedly.
const MIN_SUBJECT_MENTIONS: usize = 5;
/// Sentences after and before such a mention that may be about the subject.
const SUBJECT_REACH: usize = 30;

/// Maximum number of words of what is asked of which a sentence of a model must have some.
const MAX_SHORT_ASPECT: usize = 4;

/// Share of the words of a question that the lead of a sentence about its subject has.
const MIN_LEAD_OVERLAP: f32 = 0.6;

/// The first words of `text`.
fn lead(text: &str) -> &str {
    let words = tokens(text);
    &text[..words.get(SUBJECT_WINDOW).map_or(text.len(), |it| it.span.start)]
}

impl RelevanceScorer {
    /// Whether a sentence names another thing of a kind that the question names, and neither it nor its
    /// context (`wide`) names the one in question.
    pub(super) fn names_another_kind(&mut self, text: &str, wide: &[u32]) -> bool {
        self.names_another(text, wide, false)
    }

    /// Whether a sentence, whose words are `own`, has the word that specifies a thing of the question, and neither it nor its context
    /// (`wide`) has the thing: "the Green Button initiative" where green roofs are asked about.
    pub(super) fn lacks_kind(&mut self, own: &[u32], wide: &[u32]) -> bool {
        let pairs = std::mem::take(&mut self.pairs);
        // A word that stands for little by itself; "karyopherin" of the karyopherin family is the thing.
        const ADJECTIVES: [&str; 18] = [
            "green", "blue", "red", "white", "black", "brown", "grey", "cool", "hot", "cold",
            "open", "smart", "deep", "dark", "light", "heavy", "fast", "slow",
        ];
        let plain = pairs.iter().filter(|pair| ADJECTIVES.contains(&&*pair.0));
        let lacks = plain.into_iter().any(|(which, kind)| {
            let (which, kind) = (self.lexicon.id(which), self.lexicon.id(kind));
            let in_text = |id: u32, ids: &[u32]| self.match_strength(id, ids) >= MIN_WORD_MATCH;
            in_text(which, own) && !in_text(kind, own) && !in_text(kind, wide)
        });
        self.pairs = pairs;
        lacks
    }

    /// Whether a sentence names another of a kind by its name, "the Holt tunnel" where the Garn tunnel is asked about, and not that one.
    pub(crate) fn has_another_name(&mut self, text: &str) -> bool {
        self.names_another(text, &[], true)
    }

    /// With `names_alone`, another thing is one that a name tells from that of the question.
    fn names_another(&mut self, text: &str, wide: &[u32], names_alone: bool) -> bool {
        if self.pairs.is_empty() {
            return false;
        }
        let words = tokens(text);
        let pairs = std::mem::take(&mut self.pairs);
        // "Do green roofs leak more than bare roofs" asks about both.
        let asked: Vec<u32> = pairs.iter().map(|pair| self.lexicon.id(&pair.0)).collect();
        let here = self.ids(text);
        let is_capital =
            |text: &str, token: &Token| text[token.span.clone()].starts_with(char::is_uppercase);
        let question = tokens(&self.question_text);
        let found = pairs.iter().any(|(which, kind)| {
            let mut named = question.iter().skip(1).filter(|it| it.text == *which);
            let is_name = named.any(|it| is_capital(&self.question_text, it));
            let (which, kind) = (self.lexicon.id(which), self.lexicon.id(kind));
            let is_near = self.match_strength(which, wide) >= MIN_WORD_MATCH;
            let is_here = self.match_strength(which, &here) >= MIN_WORD_MATCH;
            // "A blue-green roof" is another kind than a green roof.
            let mut ids = |word: &str| self.lexicon.id(word);
            let is_plain = words.iter().any(|it| ids(&it.text) == which);
            let compound: Vec<bool> = words
                .iter()
                .map(|it| {
                    it.text.rsplit_once('-').is_some_and(|it| !is_plain && ids(it.1) == which)
                })
                .collect();
            let by_compound = compound.contains(&true);
            (!is_here || by_compound)
                && words.windows(2).enumerate().any(|(at, window)| {
                    let beside = text[window[0].span.end..window[1].span.start].trim().is_empty();
                    // "A cool roof", and not "green roofs cool roofs".
                    let by_article = at
                        .checked_sub(1)
                        .is_some_and(|at| matches!(words[at].text.as_str(), "a" | "an" | "the"));
                    let names_one = !is_stop_word(&window[0].text)
                        && content_weight(text, &window[0]) >= 1.0
                        && (by_article || !is_verb(&window[0].text));
                    // "The Holt tunnel" is not the Garn tunnel, whatever the sentences around it name.
                    let is_other_name = is_name && at > 0 && is_capital(text, &window[0]);
                    beside
                        && names_one
                        && (is_other_name || compound[at] || !is_near && !names_alone)
                        && self.lexicon.id(&window[1].text) == kind
                        && !asked.contains(&self.lexicon.id(&window[0].text))
                })
        });
        self.pairs = pairs;
        found
    }

    /// Whether a sentence of pages with these `titles` is about another thing of a kind that the question names: a timber roof, where
    /// green roofs are asked about.
    pub(crate) fn is_on_another_kind(&mut self, text: &str, titles: &str) -> bool {
        let wide = self.ids(&format!("{titles} {text}"));
        self.names_another_kind(text, &wide)
    }

    /// Whether a sentence that stands alone names another side of a comparison than that of `item`, and not that.
    pub(crate) fn is_on_other_side(&self, item: Option<ItemId>, text: &str) -> bool {
        let side = self.item_matchers.iter().find(|it| Some(it.item) == item && it.side);
        let own = side.and_then(|it| it.side_name(&self.apart));
        own.is_some_and(|own| !own.is_in(text) && self.names_side(text))
    }

    /// Whether a sentence names one of the things that are compared.
    pub(crate) fn names_side(&self, text: &str) -> bool {
        self.apart.iter().any(|name| name.is_in(text))
    }

    /// Which sides of a comparison a sentence names, by their positions in the question, if `item` is to compare them.
    pub(crate) fn compared_sides(&self, item: Option<ItemId>, text: &str) -> Vec<usize> {
        let compares = |it: &ItemMatcher| Some(it.item) == item && it.core;
        let names = self.apart.iter().enumerate().filter(|(_, name)| name.is_in(text));
        let is_asked = self.item_matchers.iter().any(compares);
        names.filter(|_| is_asked).map(|(nth, _)| nth).collect()
    }

    /// Whether a sentence of pages with these `titles` may be all that is told on an item: it has the form that a facet asks for and, with
    /// the titles, what is asked of the subject; it is on the side that the item is for, or on both sides that are compared.
    pub(crate) fn serves_item(&mut self, item: ItemId, titles: &str, text: &str) -> bool {
        let Some(matcher) = self.item_matchers.iter().find(|it| it.item == item) else {
            return true;
        };
        let (core, kind) = (matcher.core, matcher.kind);
        let is_formed = matcher
            .facet
            .is_none_or(|facet| core || cue_fit(facet, text, &spaced(text)) >= MIN_FACET_CUE_FIT);
        if kind == QuestionKind::Comparison {
            let names = self.apart.iter().filter(|name| name.is_in(text)).count();
            let sides = if core { self.apart.len() } else { self.apart.len().min(1) };
            return is_formed && names >= sides && !self.is_on_other_side(Some(item), text);
        }
        is_formed && (core || self.part_aspect_share(None, &format!("{titles} {text}")) > 0.0)
    }

    /// The words that tell the question's subjects from others of their kind: "prostate" of prostate cancer.
    pub(super) fn subject_words(&mut self) -> Vec<u32> {
        let pairs = std::mem::take(&mut self.pairs);
        let words = pairs.iter().map(|pair| self.lexicon.id(&pair.0)).collect();
        self.pairs = pairs;
        words
    }

    /// Which sentences of a page stand far from any that names the question's subject, if the page names it repeatedly: a long guide to
    /// many cancers has parts on others.
    pub(super) fn far_from_subject(&mut self, page: &PageSentences) -> Vec<bool> {
        let mut far = vec![false; page.lines.len()];
        let kinds = self.subject_words();
        let names = |ids: &[u32]| {
            kinds.iter().any(|which| self.match_strength(*which, ids) >= MIN_WORD_MATCH)
        };
        let named: Vec<usize> =
            page.lines.iter().filter(|line| names(&line.1)).map(|line| line.0).collect();
        if named.len() < MIN_SUBJECT_MENTIONS || names(&page.title) {
            return far;
        }
        for (is_far, (n, _)) in far.iter_mut().zip(&page.lines) {
            let next = named.partition_point(|at| at < n);
            let near = |at: Option<&usize>| at.is_some_and(|at| at.abs_diff(*n) <= SUBJECT_REACH);
            *is_far = !near(named.get(next)) && !near(next.checked_sub(1).map(|at| &named[at]));
        }
        far
    }

    /// Whether the context of a sentence has one of the question's names, other than sites; `true` where it has none.
    pub(super) fn names_asked(&self, wide: &[u32]) -> bool {
        let mut names = self.names.iter().filter(|name| !self.sites.contains(&name.0)).peekable();
        names.peek().is_none() || names.any(|name| wide.binary_search(&name.1).is_ok())
    }

    /// Whether a sentence is about the question's subject: its context (`wide`) has one of the question's
    /// names, other than sites, and enough of the content words are in it or next to it (`ids`).
    pub(super) fn matches_subject(&self, ids: &[u32], wide: &[u32]) -> bool {
        if !self.names_asked(wide) {
            return false;
        }
        let mut content_terms: Vec<(f32, u32)> = self
            .question
            .iter()
            .filter(|it| it.weight >= 1.0)
            .map(|it| (self.weight(it), it.id))
            .collect();
        // In "which skills does a planner need" the skills are sought; the planner is the subject.
        if content_terms.len() > 1 {
            content_terms.retain(|pair| Some(pair.1) != self.target_noun);
        }
        content_terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // How many content words must be matched, and out of how many of the most informative one must be.
        let (needed, heads) = match content_terms.len() {
            0 => return self.coverage(&self.question, ids) >= 0.5,
            1 | 2 => (1, 1),
            3..=5 => (2, 2),
            n => (3, n),
        };
        let met = |pair: &&(f32, u32)| self.match_strength(pair.1, ids) >= MIN_WORD_MATCH;
        // The most informative word is there, or much of the rest is.
        let rarest = content_terms
            .first()
            .is_some_and(|pair| self.match_strength(pair.1, wide) >= MIN_WORD_MATCH);
        let about: Vec<WeightedTerm> =
            self.question.iter().filter(|it| Some(it.id) != self.target_noun).copied().collect();
        (rarest || self.coverage(&about, wide) >= MIN_CONTEXT_MATCH_WEIGHT)
            && content_terms
                .iter()
                .take(heads)
                .any(|pair| self.match_strength(pair.1, wide) >= MIN_WORD_MATCH)
            && content_terms.iter().filter(met).count() >= needed
    }

    /// Whether an item asks a part of the question or something added, and is not a side of a comparison.
    pub(crate) fn asks_part(&self, item: ItemId) -> bool {
        self.part(item).is_some()
    }

    /// What an item that is a part of the question asks, and the kind of answer that it wants.
    pub(crate) fn part_question(&self, item: ItemId) -> Option<(QuestionKind, String)> {
        let part = self.part(item)?;
        Some((part.kind, part.question_text.clone()))
    }

    /// Share of the content words of a part of the question in `text`, 0 to 1; 0 for an item that is no part.
    pub(crate) fn part_relevance(&mut self, item: ItemId, text: &str) -> f32 {
        let ids = self.ids(text);
        self.part(item).map_or(0.0, |part| self.coverage(&part.terms, &ids))
    }

    /// Share of the words that a part of the question asks of its subject in `text`, 0 to 1; that of the whole question for an
    /// item that is no part.
    pub(crate) fn part_aspect_share(&mut self, item: Option<ItemId>, text: &str) -> f32 {
        let aspect = match item.and_then(|item| self.part(item)) {
            Some(part) => part.aspect.clone(),
            None => self.aspect.clone(),
        };
        // Of a long question no sentence has most of the words.
        if aspect.len() > MAX_SHORT_ASPECT {
            return 1.0;
        }
        self.share_in_use(&aspect, text)
    }

    /// Whether an item of the plan is an aspect of the subject, such as its reasons, and no part of the question.
    pub(crate) fn is_aspect(&self, item: ItemId) -> bool {
        self.item_matchers.iter().any(|it| it.item == item && it.facet.is_some() && !it.core)
    }

    fn part(&self, item: ItemId) -> Option<&ItemMatcher> {
        let mut matchers = self.item_matchers.iter();
        matchers.find(|it| it.item == item && it.is_part())
    }

    /// How far a sentence with its title and heading speaks of what an item asks of the subject, 0 to 1: a sentence on a roof
    /// and not on its leaks does not say why roofs leak.
    pub(super) fn aspect_match(&self, aspect: &[WeightedTerm], view: &SentenceView<'_>) -> f32 {
        let strength = |term: &WeightedTerm| {
            self.match_strength(term.id, view.own).max(self.match_strength(term.id, view.topic))
        };
        let all: f32 = aspect.iter().map(|term| self.weight(term)).sum();
        let met: f32 = aspect.iter().map(|term| self.weight(term) * strength(term)).sum();
        if all > 0.0 { (met / all / ENOUGH_ASPECT_WORDS).min(1.0) } else { 1.0 }
    }

    /// Adds an item to score for.
    pub(crate) fn add_item(&mut self, brief: &Brief, item: &ChecklistItem) {
        let terms = part_terms(&mut self.lexicon, item, false, brief);
        let aspect = aspect_terms(&mut self.lexicon, &item.asks, brief);
        self.related.extend(related_terms(&mut self.lexicon, std::iter::once(&item.asks)));
        self.item_matchers.push(ItemMatcher {
            item: item.id,
            aspect,
            core: true,
            kind: question_kind(&item.asks, self.words),
            question_text: item.asks.clone(),
            terms,
            facet: None,
            side: false,
            side_text: String::new(),
            of_sides: false,
        });
    }

    /// Whether a sentence with its context is about a part of the question, or an added item, whatever the
    /// rest of the question is about.
    pub(super) fn matches_part(&self, ids: &[u32]) -> bool {
        let mut parts = self.item_matchers.iter().filter(|item_matcher| item_matcher.is_part());
        parts.any(|it| self.coverage(&it.terms, ids) >= MIN_PART_OVERLAP)
    }

    /// Whether the question's content words are among the first few of `text`.
    pub(crate) fn begins_with_subject(&mut self, text: &str) -> bool {
        let ids = self.ids(lead(text));
        self.coverage(&self.question, &ids) >= MIN_LEAD_OVERLAP
    }

    /// Whether the content words of a part of the question are among the first few of `text`.
    pub(crate) fn begins_with_part(&mut self, item: ItemId, text: &str) -> bool {
        self.part_relevance(item, lead(text)) >= MIN_LEAD_OVERLAP
    }

    /// Whether a text has the names of the question, and one of the things that it asks of.
    pub(crate) fn names_what_is_asked_of(&mut self, text: &str) -> bool {
        let ids = self.ids(text);
        let has = |id: &u32| ids.binary_search(id).is_ok();
        self.names.iter().all(|(_, id)| has(id))
            && (self.asked_things.is_empty() || self.asked_things.iter().any(has))
    }

    /// Unweighted share of the question's content words in `text`, 0 to 1. 1 for a long question, which no
    /// sentence repeats in full.
    pub(crate) fn term_share(&mut self, text: &str) -> f32 {
        let ids = self.ids(text);
        let content_terms = || self.question.iter().filter(|it| it.weight >= 1.0);
        if content_terms().count() > MAX_DECIDING_WORDS {
            return 1.0;
        }
        let met = content_terms()
            .filter(|content_terms| self.match_strength(content_terms.id, &ids) >= MIN_WORD_MATCH);
        met.count() as f32 / content_terms().count().max(1) as f32
    }

    /// Whether the question has enough content words that a sentence which answers it has some of them.
    pub(crate) fn is_specific(&self) -> bool {
        self.question.iter().filter(|it| it.weight >= 1.0).count() >= MIN_SPECIFIC_WORDS
    }

    /// Whether `text` has the verb the question asks about, or one near it; `true` where it asks about none.
    pub(crate) fn mentions_question_verb(&mut self, text: &str) -> bool {
        let ids = self.ids(text);
        self.question_verb.is_none_or(|it| self.match_strength(it, &ids) >= MIN_VERB_MATCH)
    }
}
