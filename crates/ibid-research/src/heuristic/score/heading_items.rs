//! Pages whose headings are the answer: the steps of "How to …", the members of "The biggest …".
use std::collections::BTreeMap;

use crate::heuristic::procedure::MIN_LISTED;
use crate::heuristic::sentence::{SentenceText, fitness, is_imperative};
use ibid_core::domain::words::{Token, is_stop_word, tokens};
use ibid_core::domain::{BlockKind, Page, QuestionKind};

use super::page::PageSentences;
use super::scorer::RelevanceScorer;

/// Maximum number of words of a heading that is a step, and of one that names a member.
const MAX_STEP_WORDS: usize = 14;
const MAX_NAME_WORDS: usize = 8;
/// Maximum number of words of the sentence that is told with the name of a member.
const MAX_TOLD_WORDS: usize = 45;
/// Words that begin the headings of parts of a text, and of no step or member.
const PARTS: [&str; 42] = [
    "about",
    "appendix",
    "author",
    "background",
    "bibliography",
    "bottom",
    "closing",
    "comments",
    "conclusion",
    "conclusions",
    "contents",
    "data",
    "definition",
    "discussion",
    "examples",
    "faq",
    "final",
    "footnotes",
    "frequently",
    "further",
    "history",
    "introduction",
    "key",
    "method",
    "methodology",
    "methods",
    "more",
    "next",
    "notes",
    "our",
    "outlook",
    "overview",
    "references",
    "related",
    "results",
    "see",
    "share",
    "sources",
    "summary",
    "tl",
    "this",
    "wrapping",
];

impl RelevanceScorer {
    /// The sentences that the headings of a page make steps or members of what is asked, where its title asks that: a step is a heading
    /// by itself, and a member is the first sentence below the heading, which is given with it.
    pub(super) fn told_by_headings(
        &mut self,
        page: &Page,
        lines: &PageSentences,
    ) -> BTreeMap<usize, Option<usize>> {
        let core = self.item_matchers.iter().find(|it| it.core && it.facet.is_some());
        let Some(kind @ (QuestionKind::HowTo | QuestionKind::List)) = core.map(|it| it.kind) else {
            return BTreeMap::new();
        };
        let steps = kind == QuestionKind::HowTo;
        let is_asked = self.title_match(&page.title) > 0.0
            && (steps || self.matches_head(&lines.title))
            && lines.sections.headings.len() >= MIN_LISTED;
        if !is_asked {
            return BTreeMap::new();
        }
        let mut groups: BTreeMap<(u8, Option<usize>), Vec<usize>> = BTreeMap::new();
        for heading in &lines.sections.headings {
            if self.is_heading_item(page.sentence(heading.at), steps) {
                groups.entry((heading.level, heading.parent)).or_default().push(heading.at);
            }
        }
        // The outermost sections are what the title tells of.
        let Some(items) = groups.into_values().find(|items| items.len() >= MIN_LISTED) else {
            return BTreeMap::new();
        };
        match steps {
            true => items.into_iter().map(|at| (at, None)).collect(),
            false => items.into_iter().map(|at| self.told_below(page, at)).collect(),
        }
    }

    /// Whether a heading may be a step, or else name a member of a list.
    fn is_heading_item(&self, heading: &str, steps: bool) -> bool {
        let lower = without_step_number(heading).to_lowercase();
        let words = tokens(&lower);
        let Some(first) = words.first().map(|it| it.text.as_str()) else {
            return false;
        };
        let asks = heading.trim_end().ends_with('?')
            || matches!(first, "how" | "why" | "what" | "when" | "where" | "who" | "which");
        let directs = is_imperative(&lower, &self.words.sentence) || begins_with_verb(&words);
        if asks || PARTS.contains(&first) {
            return false;
        }
        match steps {
            true => directs && (2..=MAX_STEP_WORDS).contains(&words.len()),
            false => words.len() <= MAX_NAME_WORDS,
        }
    }

    /// The first sentence below the heading of a member and the heading, or the heading alone, if that sentence is not fit to be told.
    fn told_below(&self, page: &Page, at: usize) -> (usize, Option<usize>) {
        let n = at + 1;
        let told = page.sentences().get(n).is_some_and(|below| {
            let seen = SentenceText::new(page.sentence(n));
            below.kind == BlockKind::Prose
                && seen.words <= MAX_TOLD_WORDS
                && fitness(page, n, &seen, &self.words.sentence).is_some()
        });
        if told { (n, Some(at)) } else { (at, None) }
    }
}

/// Whether a heading begins as "Light a small fire" does: with a word before an article that is no preposition and no noun.
fn begins_with_verb(words: &[Token]) -> bool {
    const ARTICLES: [&str; 8] = ["the", "a", "an", "your", "every", "all", "any", "each"];
    let [first, second, ..] = words else {
        return false;
    };
    let is_verb =
        !is_stop_word(&first.text) && !first.text.ends_with("ing") && !first.text.ends_with('s');
    is_verb && ARTICLES.contains(&second.text.as_str())
}

/// A heading without "Step 3:" or "3." before it.
fn without_step_number(heading: &str) -> &str {
    let bare = heading.trim();
    let after = bare.strip_prefix("Step ").unwrap_or(bare);
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.len() < after.len() {
        true => rest.trim_start_matches(['.', ':', ')', '-', '–', ' ']),
        false => bare,
    }
}
