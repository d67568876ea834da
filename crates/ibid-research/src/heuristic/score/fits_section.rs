//! Whether a sentence is on what a section of the report is on.
use super::RelevanceScorer;
use super::item_matchers::ItemMatcher;
use super::terms::WeightedTerm;
use crate::heuristic::answer_shape::{asks_for_fact, kind_fit};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::question_parts;
use crate::heuristic::sentence::is_imperative;
use crate::thresholds::MIN_WORD_MATCH;
use ibid_core::domain::words::{numbers, tokens};
use ibid_core::domain::{ItemId, QuestionKind, split_sentences};

/// The number of the rarest words of the question of which a sentence on an aspect of its subject has two. The others are those of the
/// subject.
const RAREST_WORDS: usize = 3;
/// From this many words of a part that the other parts lack, a sentence on the part has two of them.
const TWO_WORDS_FROM: usize = 4;

/// Words that give a figure without digits, besides the numbers.
const FRACTIONS: [&str; 9] =
    ["half", "third", "thirds", "quarter", "quarters", "double", "twice", "dozen", "dozens"];

/// Whether a sentence has a number other than a bare year, or a fraction in words.
fn has_figure(text: &str) -> bool {
    let is_figure = |unit: Option<&str>, value: f64| {
        unit.is_some_and(|unit| unit != "th") || !(1000.0..2100.0).contains(&value)
    };
    // The "18F" of a name is no figure.
    let is_name = |end: usize| {
        let mut after = text[end..].chars();
        after.next().is_some_and(char::is_uppercase)
            && !after.next().is_some_and(char::is_alphanumeric)
    };
    numbers(text).iter().any(|it| {
        let digits = text[it.span.clone()].trim_end_matches(char::is_alphabetic).len();
        is_figure(it.unit.as_deref(), it.value) && !is_name(it.span.start + digits)
    }) || tokens(text).iter().any(|word| FRACTIONS.contains(&word.text.as_str()))
}

impl RelevanceScorer {
    /// Whether a sentence may stand in the section of `item`, or among the further points if `None`: it has a figure where figures are
    /// asked for, two of the rarest words of the question where the section is on an aspect of its subject, a word that tells a part of
    /// the question from the others where it is on that part, and a word of what is asked where it is on the question itself.
    pub(crate) fn fits_section(&mut self, item: Option<ItemId>, text: &str) -> bool {
        let rarest = self.rarest_question_words();
        // A question of two words does not tell what else is about it.
        let least = if rarest.len() < RAREST_WORDS { 0 } else { 2 };
        let Some(item) = item else { return self.matched(&rarest, text) >= least };
        let Some(matcher) = self.item_matchers.iter().find(|it| it.item == item) else {
            return true;
        };
        let asks_figures = matcher.facet.is_some_and(|facet| facet.numbers);
        let asks_amount = matcher.kind == QuestionKind::Quantity;
        let is_aspect = matcher.facet.is_some() && !matcher.core && !matcher.of_sides;
        let is_part = matcher.is_part();
        let (kind, is_core) = (matcher.kind, matcher.core && !matcher.of_sides && !matcher.side);
        if asks_figures {
            let mut figures = split_sentences(text)
                .into_iter()
                .map(|span| &text[span])
                .filter(|sentence| has_figure(sentence));
            // "It finds a hole to within 10 cm" is no figure on leaks.
            if !figures.any(|it| !is_aspect || self.matched(&rarest, it) > 0) {
                return false;
            }
        }
        if is_part {
            let own = match self.own_words(item) {
                // "Why do roofs leak" beside "how are leaks prevented" has no word of its own, but leaks.
                own if own.is_empty() => self.asked_words(item),
                own => own,
            };
            let least = if own.len() >= TWO_WORDS_FROM { 2 } else { own.len().min(1) };
            // "12,000 to 18,000 euros" says how much it costs without the word.
            let told = asks_amount && has_figure(text) || self.advises_against(item, text);
            return self.matched(&own, text) >= least || told;
        }
        // What a question lists, "costs, maintenance and risks", is asked for.
        let lists_aspects = || {
            self.parts().is_empty()
                && question_parts::parts(&self.question_text, self.words).len() > 1
        };
        if is_aspect && !lists_aspects() {
            // Beside "why do roofs leak and how is it prevented?", how long leaks take to show is asked by neither part.
            let of_parts = self.words_of_parts();
            let is_asked =
                of_parts.is_empty() || self.matched(&of_parts, text) > 0 || self.is_meant(text);
            return is_asked && self.matched(&rarest, text) >= least;
        }
        !is_core || self.is_on_question(kind, text)
    }

    /// Whether a sentence tells what to do, and why, about that of which `item` asks how it is prevented: "Check the seams, because leaks
    /// begin there". "Anything more is a leak" finds one.
    fn advises_against(&mut self, item: ItemId, text: &str) -> bool {
        let Some(part) = self.item_matchers.iter().find(|it| it.item == item) else {
            return false;
        };
        let asks_prevention = tokens(&part.question_text)
            .iter()
            .any(|word| ["prevent", "avoid"].iter().any(|verb| word.text.starts_with(verb)));
        let terms = part.terms.clone();
        let said = spaced(text);
        let gives_reason =
            [" because ", " so that ", " otherwise "].iter().any(|word| said.contains(word));
        asks_prevention
            && gives_reason
            && is_imperative(&text.to_lowercase(), &self.words.sentence)
            && self.matched(&terms, text) > 0
    }

    /// Whether a sentence has a word of what is asked of the subject, or means what is asked. One for a kind whose members are known
    /// names one of them, and one for an amount has one that is no difference. Another fact is told in whatever words.
    fn is_on_question(&mut self, kind: QuestionKind, text: &str) -> bool {
        match kind {
            QuestionKind::List if self.names_known_kind(text) == Some(false) => false,
            QuestionKind::Quantity => {
                let fit = kind_fit(kind, &self.question_text, text, &spaced(text));
                fit.is_ok_and(|fit| fit > 0.0)
            }
            _ => asks_for_fact(kind) || self.aspect_words_share(text) > 0.0 || self.is_meant(text),
        }
    }

    /// How many of `terms` a text has, or words like them.
    fn matched(&mut self, terms: &[WeightedTerm], text: &str) -> usize {
        let ids = self.ids(text);
        let has = |term: &&WeightedTerm| self.match_strength(term.id, &ids) >= MIN_WORD_MATCH;
        terms.iter().filter(has).count()
    }

    /// The rarest content words of the question among the sentences read.
    fn rarest_question_words(&self) -> Vec<WeightedTerm> {
        let mut terms: Vec<WeightedTerm> =
            self.question.iter().filter(|term| term.weight >= 1.0).copied().collect();
        terms.sort_by(|a, b| self.weight(b).total_cmp(&self.weight(a)).then(a.id.cmp(&b.id)));
        terms.truncate(RAREST_WORDS);
        terms
    }

    /// Whether code planned an item, as the core or an aspect of a question of its kind.
    pub(crate) fn has_facet(&self, item: ItemId) -> bool {
        self.item_matchers.iter().any(|it| it.item == item && it.facet.is_some())
    }

    /// Whether an item asks for the figures on a subject, beside the question itself.
    pub(crate) fn is_of_figures(&self, item: ItemId) -> bool {
        let asks = |it: &ItemMatcher| it.facet.is_some_and(|facet| facet.numbers) && !it.core;
        self.item_matchers.iter().any(|it| it.item == item && asks(it))
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
        let terms = own.iter().flat_map(|it| asked_of_subject(it));
        terms.filter(is_own).copied().collect()
    }

    /// What a part of the question asks of the subject.
    fn asked_words(&self, item: ItemId) -> Vec<WeightedTerm> {
        let parts = self.parts().into_iter().filter(|it| it.item == item);
        parts.flat_map(|it| asked_of_subject(it).copied()).collect()
    }

    /// What the parts of the question ask that not all of them ask.
    fn words_of_parts(&self) -> Vec<WeightedTerm> {
        self.parts().iter().flat_map(|part| self.own_words(part.item)).collect()
    }

    /// The parts of the question. What a model plans beside the question is asked in words of its own.
    fn parts(&self) -> Vec<&ItemMatcher> {
        let asked = self.question_text.to_lowercase();
        let parts = question_parts::parts(&self.question_text, self.words);
        let is_part = |it: &&ItemMatcher| {
            let text = it.question_text.trim_end_matches('?').to_lowercase();
            let is_asked = asked.contains(&text) || parts.contains(&it.question_text);
            it.is_part() && is_asked
        };
        self.item_matchers.iter().filter(is_part).collect()
    }
}

/// The terms of an item without the subject, which a part need not name again and which tells none from another.
fn asked_of_subject(item: &ItemMatcher) -> impl Iterator<Item = &WeightedTerm> {
    let is_asked =
        |term: &&WeightedTerm| term.weight < 1.0 || item.aspect.iter().any(|it| it.id == term.id);
    item.terms.iter().filter(is_asked)
}
