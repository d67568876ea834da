//! Pages whose headings are the answer: the steps of "How to …", the members of "The biggest …".
use std::collections::BTreeMap;

use crate::heuristic::advice::{is_told_of_others, takes_back};
use crate::heuristic::lexicon::{has_phrase, spaced};
use crate::heuristic::procedure::MIN_LISTED;
use crate::heuristic::sentence::{
    SentenceText, fitness, has_denial, has_finite_verb, is_imperative,
};
use ibid_core::domain::words::{Token, is_stop_word, tokens};
use ibid_core::domain::{BlockKind, Page, QuestionKind};

use super::assertion::is_fiction;
use super::context::HeadingItem;
use super::page::PageSentences;
use super::scorer::RelevanceScorer;

/// Maximum number of words of a heading that is a step, and of one that names a member.
const MAX_STEP_WORDS: usize = 14;
const MAX_NAME_WORDS: usize = 8;
/// Maximum number of words of the sentence that is told with a heading.
const MAX_TOLD_WORDS: usize = 45;
/// Number of sentences at the start of a page of which one may call it a joke.
const OPENING_SENTENCES: usize = 4;
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

/// Phrases of headings that sell, invite or lead elsewhere.
const INVITATIONS: [&str; 14] = [
    "order now",
    "order today",
    "order online",
    "buy now",
    "buy online",
    "use code",
    "sponsored",
    "advertisement",
    "comment",
    "comments",
    "contact us",
    "follow us",
    "blog archive",
    "newsletter",
];
/// Words that stand before the name of a person.
const TITLES_OF_PERSONS: [&str; 5] = ["dr", "mr", "mrs", "ms", "prof"];
/// Words of a heading above what not to do, unless the question has them. "Never scrub it" is a step itself.
const WARNINGS: [&str; 9] =
    ["not to", "worst", "wrong", "mistake", "mistakes", "myth", "myths", "ruined", "failed"];
/// The same in a title, where one more word turns the matter round: "without chemicals", "foods to avoid".
const REVERSALS: [&str; 11] = [
    "not", "never", "stop", "avoid", "quit", "without", "badly", "don't", "don’t", "hire",
    "instead",
];
/// Words of which a title has the one and the question the other, where they ask for opposites.
const OPPOSITES: [(&str, &str); 6] = [
    ("on", "off"),
    ("off", "on"),
    ("up", "down"),
    ("down", "up"),
    ("into", "out"),
    ("out", "into"),
];

impl RelevanceScorer {
    /// The sentences that the headings of a page make steps or members of what is asked, where its title asks that: the first sentence
    /// below a heading, which is given with it, or the heading alone, where that sentence cannot be told.
    pub(super) fn told_by_headings(
        &mut self,
        page: &Page,
        lines: &PageSentences,
    ) -> BTreeMap<usize, HeadingItem> {
        let none = BTreeMap::new();
        let core = self.item_matchers.iter().find(|it| it.core && it.facet.is_some());
        let Some(kind @ (QuestionKind::HowTo | QuestionKind::List)) = core.map(|it| it.kind) else {
            return none;
        };
        let steps = kind == QuestionKind::HowTo;
        let is_asked = lines.sections.headings.len() >= MIN_LISTED
            && self.title_match(&page.title) > 0.0
            && (steps || self.matches_head(&lines.title))
            && self.agrees(&page.title)
            && !is_fiction(page, &self.question_text, &self.words.sentence)
            && !is_joke(page);
        if !is_asked {
            return none;
        }
        let mut groups: BTreeMap<(u8, Option<usize>), Vec<usize>> = BTreeMap::new();
        for heading in &lines.sections.headings {
            groups.entry((heading.level, heading.parent)).or_default().push(heading.at);
        }
        let is_item = |at: &usize| self.is_heading_item(page, *at, steps);
        // The outermost sections are what the title tells of.
        let found = groups.into_iter().find_map(|((_, parent), all)| {
            let items: Vec<usize> = all.iter().copied().filter(is_item).collect();
            let last = *items.last()?;
            // "What not to do" may stand above the items or before them.
            let above = parent.map(|nth| lines.sections.headings[nth].at);
            let mut before = all.into_iter().filter(|at| *at < last).chain(above);
            let is_aside =
                |text: &str| begins_as_question(text) || self.has_unasked(text, &WARNINGS);
            let whole = items.len() >= MIN_LISTED
                && !(steps && before.any(|at| is_aside(page.sentence(at))));
            whole.then_some(items)
        });
        let found = found.unwrap_or_default();
        // One forbidden step means that the page lists what not to do.
        if steps && found.iter().any(|at| is_forbidden_below(page, *at)) {
            return none;
        }
        found.into_iter().map(|at| self.told_below(page, at)).collect()
    }

    /// Whether a title asks for the same, not for the opposite or for another model: "ivy on a wall" and "ivy off a wall", "Alder 2" and
    /// "Alder 3".
    fn agrees(&self, title: &str) -> bool {
        let (own, asked) = (tokens(title), tokens(&self.question_text));
        let has = |all: &[Token], word: &str| all.iter().any(|it| it.text == word);
        let is_opposite = |(title, question): &(&str, &str)| {
            has(&own, title) && has(&asked, question) && !has(&own, question)
        };
        let has_digit = |it: &&Token| it.text.contains(|c: char| c.is_ascii_digit());
        !self.has_unasked(title, &WARNINGS)
            && !self.has_unasked(title, &REVERSALS)
            && !OPPOSITES.iter().any(is_opposite)
            && asked.iter().filter(has_digit).all(|it| has(&own, &it.text))
    }

    /// Whether a title or a heading has one of `words`, and the question does not.
    fn has_unasked(&self, text: &str, words: &[&str]) -> bool {
        let (asked, said) = (spaced(&self.question_text), spaced(text));
        words.iter().any(|word| has_phrase(&said, word) && !has_phrase(&asked, word))
    }

    /// Whether a heading may be a step, or else name a member of a list.
    fn is_heading_item(&self, page: &Page, at: usize, steps: bool) -> bool {
        let words = &self.words.sentence;
        let heading = page.sentence(at);
        let lower = without_step_number(heading).to_lowercase();
        let said = spaced(&lower);
        let all = tokens(&lower);
        let Some(first) = all.first().map(|it| it.text.as_str()) else {
            return false;
        };
        if begins_as_question(heading)
            || PARTS.contains(&first)
            || TITLES_OF_PERSONS.contains(&first)
            || INVITATIONS.iter().any(|it| has_phrase(&said, it))
            || is_told_of_others(heading)
        {
            return false;
        }
        if steps {
            let directs = is_imperative(&lower, words) || begins_with_verb(&all);
            return directs && (2..=MAX_STEP_WORDS).contains(&all.len());
        }
        let denies = |text: &str| has_denial(&spaced(text), words);
        let below = page.sentences().get(at + 1).map_or("", |_| page.sentence(at + 1));
        // "The safest toys" leads to another list.
        let is_other_list = first == "the" && all.get(1).is_some_and(|it| it.text.ends_with("est"));
        all.len() <= MAX_NAME_WORDS
            && !is_other_list
            && !self.has_unasked(heading, &WARNINGS)
            && !denies(heading)
            && !opens_with_denial(below)
            && (all.len() < 3 || !has_finite_verb(&said, words))
    }

    /// The first sentence below a heading and the heading, or the heading alone, if that sentence is not fit to be told.
    fn told_below(&self, page: &Page, at: usize) -> (usize, HeadingItem) {
        let n = at + 1;
        let told = page.sentences().get(n).is_some_and(|below| {
            let seen = SentenceText::new(page.sentence(n));
            below.kind == BlockKind::Prose
                && seen.words <= MAX_TOLD_WORDS
                && fitness(page, n, &seen, &self.words.sentence).is_some()
        });
        if told { (n, HeadingItem::Below(at)) } else { (at, HeadingItem::Heading) }
    }
}

/// Whether a heading begins as a question does, and is no step or member: "How we asked", "What we did in the end".
fn begins_as_question(heading: &str) -> bool {
    let words = tokens(heading);
    let first = words.first().map_or("", |it| it.text.as_str());
    let needs = words.iter().any(|it| it.text.starts_with("need"));
    heading.trim_end().ends_with('?')
        || matches!(first, "how" | "why" | "what" | "when" | "where" | "who" | "which") && !needs
}

/// Whether a sentence denies what stands above it: "Not dangerous at all", "No trial has measured it".
fn opens_with_denial(text: &str) -> bool {
    let first = tokens(text).first().map(|it| it.text.clone()).unwrap_or_default();
    matches!(first.as_str(), "no" | "not" | "nobody" | "none" | "nothing" | "never" | "neither")
}

/// Whether the text below a heading forbids what it tells to do: "Never.", "Do not do this.", "This makes a poisonous gas."
fn is_forbidden_below(page: &Page, at: usize) -> bool {
    const HAZARDS: [&str; 7] =
        ["poisonous", "toxic", "deadly", "dangerous", "explodes", "burned down", "burnt down"];
    let Some(below) = page.sentences().get(at + 1) else {
        return false;
    };
    let text = page.sentence(at + 1);
    let said = spaced(text);
    let begins = |of: &[&str]| of.iter().any(|it| said.starts_with(it));
    below.kind != BlockKind::Heading
        && (opens_with_denial(text) && tokens(text).len() <= 2
            || begins(&[
                " do not do this ",
                " do not do it ",
                " don't do this ",
                " never do this ",
            ])
            || begins(&[" do not try this ", " never try this "])
            || takes_back(text)
            || begins(&[" this ", " that ", " it "])
                && HAZARDS.iter().any(|it| has_phrase(&said, it)))
}

/// Whether a page calls itself a joke at its start.
fn is_joke(page: &Page) -> bool {
    const JOKES: [&str; 6] = ["satire", "satirical", "parody", "spoof", "joke", "april fool"];
    let opening = (0..page.sentences().len().min(OPENING_SENTENCES)).map(|n| page.sentence(n));
    opening.chain([page.title.as_str()]).any(|text| {
        let lower = spaced(text);
        JOKES.iter().any(|word| has_phrase(&lower, word))
    })
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
