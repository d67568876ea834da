//! Whether the heading of a section asks what the question asks, so that what stands under it answers, in whatever words.
use std::collections::BTreeSet;

use crate::heuristic::answer_shape::is_free_form;
use crate::heuristic::enumeration::lead_to_own_list;
use crate::heuristic::intake::{content_weight, is_question_word};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::question_kind::question_kind;
use crate::heuristic::sentence::{has_denial, is_imperative, is_listed};
use crate::thresholds::{
    MIN_HEADING_ASPECT, MIN_HEADING_OWN_WORDS, MIN_HEADING_TOPIC, MIN_HEADING_TOPIC_OF_NOUN,
    MIN_PAGE_TOPIC_OVERLAP, MIN_WORD_MATCH, TITLE_ASPECT_WEIGHT,
};
use ibid_core::domain::words::{Token, is_stop_word, tokens};
use ibid_core::domain::{Evidence, Page, QuestionKind, SourceId};

use super::item_matchers::ItemMatcher;
use super::page::{PageInput, PageSentences};
use super::scorer::RelevanceScorer;
use super::sections::is_question;
use super::terms::WeightedTerm;

/// First words by which it refers to the sentence before.
const POINTS_BACK: [&str; 3] = ["such", "these", "those"];
/// Words by which a sentence leaves out what it names, or sets it apart: no list leads on from there.
const SETS_APART: [&str; 16] = [
    "besides",
    "cannot",
    "contrast",
    "except",
    "excluding",
    "instead",
    "less",
    "never",
    "no",
    "not",
    "rather",
    "refused",
    "than",
    "unlike",
    "whereas",
    "without",
];
/// Share of the question that it must have.
const MIN_LEAD_IN: f32 = 0.85;
/// Share of its words from which a heading has nothing but what is asked.
const WHOLE_HEADING_SHARE: f32 = 0.99;
/// Words of headings that say nothing of the matter.
const EMPTY_WORDS: [&str; 27] = [
    "much",
    "many",
    "quick",
    "getting",
    "possible",
    "general",
    "overview",
    "information",
    "details",
    "important",
    "known",
    "main",
    "something",
    "anything",
    "someone",
    "things",
    "own",
    "guide",
    "tutorial",
    "complete",
    "ultimate",
    "beginners",
    "step",
    "steps",
    "easy",
    "simple",
    "tips",
];
/// Share of the question that a heading by itself has which asks all of it: "What does an infusion cost?".
const MIN_WHOLE_QUESTION: f32 = 0.8;
/// How nearly such a heading asks the question, and the most for all others.
const WHOLE_QUESTION: f32 = 1.0;
const NOT_WHOLE_QUESTION: f32 = 0.99;
/// Share of the question that a title has which has no other words.
const MIN_TITLE_OF_ASKED: f32 = 0.5;
/// Number of lines of a page, title included, that open it.
const OPENING_LINES: usize = 4;

/// The versions and codes in a text, in lower case: "3.0.0", "e0214".
fn codes(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_')));
    let words = words.map(|word| word.trim_matches(['.', '-', '_']));
    let is_code = |word: &&str| {
        let digits = word.contains(|c: char| c.is_ascii_digit());
        let letters = word.contains(char::is_alphabetic);
        digits && (letters && !word.contains(char::is_lowercase) || word.matches('.').count() > 1)
    };
    words.filter(is_code).map(str::to_lowercase).collect()
}

/// A heading without the number of its section, "4. " or "2.1 ", which is none of its words; a version, "3.0.0 — 2 May", stays.
fn without_number(heading: &str) -> &str {
    let rest = heading
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
        .trim_start_matches(')');
    let words = rest.trim_start();
    let numbered = words.len() < rest.len() && words.starts_with(char::is_alphabetic);
    if numbered { words } else { heading }
}

impl RelevanceScorer {
    /// How nearly a heading asks what the question asks, 0 to 1; 0 where it asks something else. It has something of what is
    /// asked of the subject; with the title of its page and what opens the page it has the question; and it has little besides.
    pub(super) fn heading_match(&mut self, heading: &str, lines: &PageSentences) -> f32 {
        let heading = without_number(heading);
        let own = self.ids(heading);
        let question = self.known_terms(&self.question);
        // What stands under the version or the code that is asked about, and under no other, is what is asked for. "How did you find out
        // about 18F?" asks of it.
        let asked = codes(&self.question_text);
        if !asked.is_empty() && asked.is_subset(&codes(heading)) && !is_question(heading) {
            return TITLE_ASPECT_WEIGHT;
        }
        // "How to use Terraform" asks a part of "what is Terraform and how to use it".
        if self.item_matchers.iter().any(|it| it.core && it.is_asked_by(heading)) {
            return WHOLE_QUESTION;
        }
        if self.asks_same(heading, &own, &lines.title) && !self.denies_otherwise(heading) {
            return WHOLE_QUESTION;
        }
        if self.heads_list_of_title(heading, lines) {
            return TITLE_ASPECT_WEIGHT;
        }
        // "Tastes bitter" of "why does coffee taste bitter" may be all that there is besides the question word.
        let aspect = if self.aspect.is_empty() { question.clone() } else { self.aspect.clone() };
        let names = |term: &WeightedTerm| self.match_strength(term.id, &own) >= MIN_WORD_MATCH;
        // "How many plants" names one word in four of "which plants survive in a thin layer of soil".
        let met = aspect.iter().filter(|term| names(term)).count();
        let share = self.asked_share(heading);
        // "Benefits" is all that "what benefits does the company offer" asks for.
        let is_head = share >= WHOLE_HEADING_SHARE
            && self.noun.is_some_and(|noun| self.match_strength(noun, &own) >= MIN_WORD_MATCH);
        let rarest = is_head || self.names_rarest(heading, &own, &question);
        let named = met * 2 >= aspect.len().max(1) && met > 0 || rarest;
        // Of the history that no page calls so, "What is slate?" tells nothing.
        let lacks_facet =
            self.facet.is_some_and(|noun| self.match_strength(noun, &own) < MIN_WORD_MATCH);
        let elsewhere =
            lacks_facet || self.tells_how_instead(heading) || self.denies_otherwise(heading);
        if own.is_empty() || !named || elsewhere || share < MIN_HEADING_OWN_WORDS {
            return 0.0;
        }
        let mut under_title = [own.as_slice(), &lines.title].concat();
        let opening = lines.lines.iter().take(OPENING_LINES).flat_map(|line| &line.1);
        let mut on_page: Vec<u32> = under_title.iter().chain(opening).copied().collect();
        on_page.sort_unstable();
        under_title.sort_unstable();
        let mut asked = self
            .share_in_use(&aspect, heading)
            .max(TITLE_ASPECT_WEIGHT * self.coverage(&aspect, &under_title));
        if rarest {
            asked = asked.max(TITLE_ASPECT_WEIGHT);
        }
        let whole = self.coverage(&question, &on_page);
        let least = if is_head { MIN_HEADING_TOPIC_OF_NOUN } else { MIN_HEADING_TOPIC };
        if asked < MIN_HEADING_ASPECT || whole < least {
            return 0.0;
        }
        if self.has_whole_question(&own, &lines.title) {
            return WHOLE_QUESTION;
        }
        f32::midpoint(asked, whole).min(NOT_WHOLE_QUESTION)
    }

    /// Whether a heading inside a paragraph has nearly all words of the question.
    pub(super) fn asks_whole_question(&mut self, heading: &str, title: &[u32]) -> bool {
        let own = self.ids(heading);
        self.has_whole_question(&own, title)
    }

    /// Whether `own`, the words of a heading, are nearly all of the question's, with the noun whose things it asks for: "Treatment of common
    /// ovarian cancers" does not ask for "common symptoms of ovarian cancer".
    fn has_whole_question(&mut self, own: &[u32], title: &[u32]) -> bool {
        let named = |noun: u32| self.match_strength(noun, own) >= MIN_WORD_MATCH;
        self.noun.is_none_or(named)
            && self.coverage(&self.known_terms(&self.question), own) >= MIN_WHOLE_QUESTION
            && self.has_all_asked(own, title)
    }

    /// Whether a heading or its title has each telling word of the question: a ticket to another zoo costs something else, and a deputy
    /// director is somebody else. That a figure is asked for is told by the kind of the question.
    fn has_all_asked(&mut self, own: &[u32], title: &[u32]) -> bool {
        let asked = tokens(&self.question_text);
        let of_amount = |word: &str| {
            let words = &self.words.question;
            [&words.amount_verbs, &words.amount_nouns]
                .iter()
                .any(|all| all.iter().any(|it| it == word))
        };
        let telling = |word: &&Token| {
            !is_stop_word(&word.text)
                && !EMPTY_WORDS.contains(&&*word.text)
                && !of_amount(&word.text)
        };
        let telling: Vec<String> = asked.iter().filter(telling).map(|it| it.text.clone()).collect();
        telling.iter().filter(|word| !is_question_word(word)).all(|word| {
            let ids = self.lexicon.part_ids(word);
            ids.iter().all(|id| {
                [own, title].iter().any(|ids| self.match_strength(*id, ids) >= MIN_WORD_MATCH)
            })
        })
    }

    /// Whether a heading is a question of the same kind, with words of the question alone, that leaves out only what the title has: "How
    /// much is a day ticket?" on the page of the zoo to whose tickets the question asks.
    fn asks_same(&mut self, heading: &str, own: &[u32], title: &[u32]) -> bool {
        let kind = question_kind(heading, self.words);
        let is_same = |it: &ItemMatcher| it.core && it.facet.is_some() && it.kind == kind;
        let mut titled = [own, title].concat();
        titled.sort_unstable();
        is_question(heading)
            && self.item_matchers.iter().any(is_same)
            && self.has_all_asked(own, title)
            && self.asked_share(heading) >= WHOLE_HEADING_SHARE
            && self.coverage(&self.known_terms(&self.question), &titled) >= MIN_WHOLE_QUESTION
    }

    /// Whether a title, a heading or a line that leads to a list denies what the question asks, or asks what it denies: "These trees do not
    /// tolerate wet ground:".
    pub(super) fn denies_otherwise(&self, text: &str) -> bool {
        let denies = |text: &str| has_denial(&spaced(text), &self.words.sentence);
        denies(text) != denies(&self.question_text)
    }

    /// Whether a heading or a line that leads to a list does so and has most of what is asked.
    pub(super) fn denies_asked(&mut self, text: &str) -> bool {
        self.denies_otherwise(text) && self.aspect_words_share(text) >= MIN_HEADING_ASPECT
    }

    /// Whether a heading is on how something is done, "Implementing encryption" or "Build the site", where the question asks why it is.
    fn tells_how_instead(&mut self, heading: &str) -> bool {
        let why = self.item_matchers.iter().any(|it| it.core && it.kind == QuestionKind::Why);
        let first = tokens(heading).first().map(|word| word.text.clone()).unwrap_or_default();
        let acts = first.ends_with("ing")
            || first == "introduction"
            || is_imperative(&heading.to_lowercase(), &self.words.sentence);
        let id = self.lexicon.id(&first);
        let asked = |term: &WeightedTerm| self.match_strength(term.id, &[id]) >= MIN_WORD_MATCH;
        why && acts && !self.question.iter().any(asked)
    }

    /// How nearly what stands before the colon of sentence `n` asks what a question for a list asks: "Such risk factors include: age, …",
    /// after a sentence that names what they are of. It leads to what the sentence itself lists.
    pub(super) fn lead_in_match(&mut self, page: &Page, n: usize) -> f32 {
        let asks_list =
            self.item_matchers.iter().any(|it| it.core && it.kind == QuestionKind::List);
        let Some(lead) = lead_to_own_list(page.sentence(n)).filter(|_| asks_list) else {
            return 0.0;
        };
        let words = tokens(lead);
        let own = self.ids(lead);
        let names_thing =
            self.noun.is_some_and(|it| self.match_strength(it, &own) >= MIN_WORD_MATCH);
        let points_back = words.first().is_some_and(|it| POINTS_BACK.contains(&&*it.text));
        let before = n.checked_sub(1).filter(|_| points_back).map_or("", |at| page.sentence(at));
        let ids = self.ids(&format!("{before} {lead}"));
        let question = self.known_terms(&self.question);
        let covered = self.coverage(&question, &ids);
        let told = tokens(before);
        let sets_apart = words.iter().chain(&told).any(|it| SETS_APART.contains(&&*it.text));
        if !names_thing || sets_apart || covered < MIN_LEAD_IN || self.denies_otherwise(lead) {
            return 0.0;
        }
        covered.min(NOT_WHOLE_QUESTION)
    }

    /// How nearly the title of a page asks what the question asks, 0 to 1; 0 below a share of both of its words and of the question's.
    pub(crate) fn title_match(&mut self, title: &str) -> f32 {
        let question = self.known_terms(&self.question);
        // "Discussion: should teams code first?" asks after its label.
        let after_label = title.split_once(": ").map_or("", |parts| parts.1);
        let mut match_of = |text: &str| {
            let ids = self.ids(text);
            self.coverage(&question, &ids).min(self.asked_share(text))
        };
        let nearest = match_of(title).max(match_of(after_label));
        if self.denies_otherwise(title) {
            return 0.0;
        }
        // A title that has nothing but what is asked may leave out whose site it is.
        let least = match self.asked_share(title) >= WHOLE_HEADING_SHARE {
            true => MIN_TITLE_OF_ASKED,
            false => MIN_PAGE_TOPIC_OVERLAP,
        };
        if nearest >= least { nearest.max(MIN_PAGE_TOPIC_OVERLAP) } else { 0.0 }
    }

    /// Whether a heading stands above the list that the title of its page names, and the question asks for that: "The list" under "Plants
    /// that survive on a roof". "Mailing list" and "price list" are other lists.
    fn heads_list_of_title(&self, heading: &str, lines: &PageSentences) -> bool {
        const PLAIN: [&str; 9] = [
            "full",
            "complete",
            "whole",
            "short",
            "tested",
            "reliable",
            "proven",
            "recommended",
            "best",
        ];
        let is_plain = |word: &Token| is_stop_word(&word.text) || PLAIN.contains(&&*word.text);
        let words = tokens(heading);
        let is_list = words
            .split_last()
            .is_some_and(|(last, rest)| last.text == "list" && rest.iter().all(is_plain));
        let asks_list =
            |it: &ItemMatcher| it.core && it.kind == QuestionKind::List && self.aspect.len() > 1;
        if !is_list || !self.item_matchers.iter().any(asks_list) {
            return false;
        }
        let names =
            |term: &WeightedTerm| self.match_strength(term.id, &lines.title) >= MIN_WORD_MATCH;
        let opening = lines.lines.iter().take(OPENING_LINES).flat_map(|line| &line.1);
        let mut on_page: Vec<u32> = lines.title.iter().chain(opening).copied().collect();
        on_page.sort_unstable();
        // "Plants that survive on 8 cm" has no word for a thin layer.
        let named = self.aspect.iter().filter(|term| names(term)).count();
        2 * named >= self.aspect.len()
            && self.coverage(&self.known_terms(&self.question), &on_page) >= MIN_HEADING_TOPIC
    }

    /// Whether a heading begins as the question does, "Why …", and has its most telling word.
    fn names_rarest(&self, heading: &str, own: &[u32], question: &[WeightedTerm]) -> bool {
        let first = |text: &str| tokens(text).first().map(|word| word.text.clone());
        let rarest = question.iter().max_by(|a, b| self.weight(a).total_cmp(&self.weight(b)));
        first(heading) == first(&self.question_text)
            && first(heading).is_some_and(|word| matches!(word.as_str(), "why" | "how"))
            && rarest.is_some_and(|term| own.binary_search(&term.id).is_ok())
    }

    /// The terms of which the pages read have the word or one like it; all terms where they have none. A word that no page has
    /// tells no page from another.
    pub(super) fn known_terms(&self, terms: &[WeightedTerm]) -> Vec<WeightedTerm> {
        let met = |id: &u32| self.sentence_counts.get(id).is_some_and(|n| *n > 0);
        let known = |term: &&WeightedTerm| {
            let kin = self.related.get(&term.id).map_or(&[][..], Vec::as_slice);
            met(&term.id) || kin.iter().any(|pair| pair.1 >= MIN_WORD_MATCH && met(&pair.0))
        };
        let found: Vec<WeightedTerm> = terms.iter().filter(known).copied().collect();
        if found.is_empty() { terms.to_vec() } else { found }
    }

    /// Share of the content words of a heading that the question has.
    fn asked_share(&mut self, heading: &str) -> f32 {
        let words = tokens(heading);
        let telling = |text: &str| !is_stop_word(text) && !EMPTY_WORDS.contains(&text);
        let in_question = tokens(&self.question_text);
        let (mut all, mut met) = (0.0, 0.0);
        for word in words.iter().filter(|word| telling(&word.text)) {
            let weight = content_weight(heading, word);
            let id = self.lexicon.id(&word.text);
            let alike = |term: &WeightedTerm| self.match_strength(term.id, &[id]) >= MIN_WORD_MATCH;
            // "Three-sprint" may be no term of the question by itself.
            let asked = in_question.iter().any(|it| it.text == word.text)
                || self.question.iter().any(alike);
            all += weight;
            met += if asked { weight } else { 0.0 };
        }
        if all > 0.0 { met / all } else { 0.0 }
    }

    /// How nearly what stands under a heading answers a question of this kind, by how nearly the heading asks it: a yes or no must be
    /// asked for by the whole heading, and so must a figure, a date or a name, which must stand in the sentence itself, which then is
    /// `formed`.
    pub(crate) fn told_under_heading(kind: QuestionKind, heading: f32, formed: bool) -> f32 {
        let whole = heading >= WHOLE_QUESTION && (formed || kind == QuestionKind::YesNo);
        let told = is_free_form(kind) || whole;
        if told { heading } else { 0.0 }
    }

    /// Notes a step of a page whose title asks how to do what the question asks.
    pub(super) fn note_step_under_title(
        &mut self,
        reading: &PageInput<'_>,
        n: usize,
        lines: &PageSentences,
    ) {
        let how_to =
            |it: &&ItemMatcher| it.core && it.facet.is_some() && it.kind == QuestionKind::HowTo;
        let Some(matcher) = self.item_matchers.iter().find(how_to) else {
            return;
        };
        let strength = self.coverage(&self.known_terms(&matcher.terms), &lines.title);
        let opening = reading.page.sentence(n).to_lowercase();
        if strength >= MIN_PAGE_TOPIC_OVERLAP && is_imperative(&opening, &self.words.sentence) {
            self.headed.entry((reading.source, n)).or_insert(strength);
        }
    }

    /// Notes that sentence `n` stands under a heading that asks the question.
    pub(super) fn note_headed(&mut self, source: SourceId, page: &Page, n: usize, strength: f32) {
        self.headed.insert((source, n), strength);
        if is_listed(page, n) {
            self.listed.insert((source, n));
        }
    }

    /// How nearly the heading above evidence asks the question, 0 to 1.
    pub(crate) fn heading_strength(&self, evidence: &Evidence) -> f32 {
        let places = evidence.passage.first()..=evidence.passage.last();
        let strengths = places.filter_map(|n| self.headed.get(&(evidence.source, n)).copied());
        strengths.fold(0.0, f32::max)
    }
}
