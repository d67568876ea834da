//! The sections of a page: which headings stand above a sentence, and which sections are on another thing than the question
//! names. In a manual for three machines "It has a warranty of two years" is about the machine of its heading.
use std::collections::BTreeMap;

use ibid_core::domain::words::{is_stop_word, tokens};
use ibid_core::domain::{BlockKind, Page};

use super::page::PageSentences;
use super::scorer::RelevanceScorer;

/// The level of a heading whose level the document does not give: below all others.
const UNKNOWN_LEVEL: u8 = 7;
/// Length of a longer heading, in bytes: it is a paragraph that looks like one.
const MAX_HEADING_BYTES: usize = 300;
/// Content words of a heading besides the name that it names.
const MAX_WORDS_BESIDE_NAME: usize = 2;

/// A heading other than the title.
struct SectionHeading {
    /// Its sentence.
    at: usize,
    level: u8,
    /// The heading of the section that contains this one.
    parent: Option<usize>,
    ids: Vec<u32>,
    /// Whether it has a name of the question.
    named: bool,
    /// Whether it has a thing that the question names.
    asked: bool,
    /// Whether it reads as a name: it has a digit, or several words which all begin with a capital.
    reads_as_name: bool,
}

/// The headings of a page in order.
pub(super) struct Sections {
    headings: Vec<SectionHeading>,
    /// Level and parent of the headings that a name of the question heads, and whether one of them has headings below it. Their
    /// siblings are then on other things; else only those that read as names.
    named_among: BTreeMap<(u8, Option<usize>), bool>,
    /// The names of the question that head sections: the words that a text must have to name it.
    names: Vec<Vec<u32>>,
}

impl RelevanceScorer {
    /// The sections of a page.
    pub(super) fn sections(&mut self, page: &Page, lines: &PageSentences) -> Sections {
        let names: Vec<Vec<u32>> =
            self.section_names().into_iter().filter(|name| !has_all(&lines.title, name)).collect();
        let mut sections =
            Sections { headings: Vec::new(), named_among: BTreeMap::new(), names: Vec::new() };
        let mut open: Vec<usize> = Vec::new();
        for (at, level) in headings_with_levels(page) {
            let text = page.sentence(at);
            let headings = &mut sections.headings;
            while open.last().is_some_and(|above| headings[*above].level >= level) {
                open.pop();
            }
            let parent = open.last().copied();
            if let Some(above) = parent.map(|nth| &headings[nth])
                && let Some(has_sections) =
                    sections.named_among.get_mut(&(above.level, above.parent))
            {
                *has_sections |= above.named;
            }
            let ids = self.ids(text);
            let found = names.iter().find(|name| has_all(&ids, name));
            let words = tokens(text);
            let telling = words.iter().filter(|word| !is_stop_word(&word.text)).count();
            if let Some(name) = found.filter(|it| telling <= it.len() + MAX_WORDS_BESIDE_NAME) {
                sections.named_among.entry((level, parent)).or_insert(false);
                if !sections.names.contains(name) {
                    sections.names.push(name.clone());
                }
            }
            let asked = self.asked_things.iter().any(|id| ids.binary_search(id).is_ok());
            let has_capital = |word: &&str| word.starts_with(char::is_uppercase);
            let mut spaced = text.split_whitespace();
            let reads_as_name = text.contains(|c: char| c.is_ascii_digit())
                || spaced.clone().count() > 1 && spaced.all(|word| has_capital(&word));
            let named = found.is_some();
            open.push(headings.len());
            headings.push(SectionHeading { at, level, parent, ids, named, asked, reads_as_name });
        }
        sections
    }

    /// The names in the question other than sites, each as the words that tell it from others: of "Kestrel 45" both.
    fn section_names(&mut self) -> Vec<Vec<u32>> {
        let names: Vec<(String, u32)> =
            self.names.iter().filter(|name| !self.sites.contains(&name.0)).cloned().collect();
        let mut all = Vec::new();
        for (name, word) in names {
            let mut ids: Vec<u32> = numbers_of_name(&self.question_text, &name)
                .iter()
                .map(|it| self.lexicon.id(it))
                .collect();
            ids.push(word);
            ids.sort_unstable();
            ids.dedup();
            all.push(ids);
        }
        all
    }
}

/// The words with digits that belong to a name in a question: in it, or right behind it.
fn numbers_of_name(question: &str, name: &str) -> Vec<String> {
    let lower = question.to_lowercase();
    let Some(start) = lower.find(name) else {
        return Vec::new();
    };
    let end = start + name.len();
    let has_digit = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let mut numbers = Vec::new();
    let mut reached = end;
    for token in tokens(&lower).into_iter().filter(|token| token.span.start >= start) {
        let follows = token.span.start >= end && lower[reached..token.span.start].trim().is_empty();
        if has_digit(&token.text) && (token.span.end <= end || follows) {
            reached = token.span.end.max(end);
            numbers.push(token.text);
        } else if token.span.start >= end {
            break;
        }
    }
    numbers
}

/// Whether the sorted `ids` contain all of `name`.
fn has_all(ids: &[u32], name: &[u32]) -> bool {
    name.iter().all(|id| ids.binary_search(id).is_ok())
}

/// The headings of a page other than its title, by sentence, with levels. One whose text recurs stands below one of the same
/// level whose text does not: "Warranty" of each machine.
fn headings_with_levels(page: &Page) -> Vec<(usize, u8)> {
    let key = |at: usize| page.sentence(at).trim().to_lowercase();
    let title = page.title.trim().to_lowercase();
    let all = page.sentences().iter().enumerate();
    let headings = all.filter(|(_, sentence)| sentence.kind == BlockKind::Heading);
    let headings: Vec<(usize, u8)> = headings
        .map(|(at, sentence)| (at, sentence.level))
        .filter(|(at, _)| page.sentence(*at).len() <= MAX_HEADING_BYTES && key(*at) != title)
        .collect();
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for (at, _) in &headings {
        *times.entry(key(*at)).or_default() += 1;
    }
    let recurs = |at: usize| times.get(&key(at)).is_some_and(|n| *n > 1);
    let levelled = |(at, level): (usize, u8)| {
        let level = if level == 0 { UNKNOWN_LEVEL } else { level };
        (at, 2 * level + u8::from(recurs(at)))
    };
    headings.into_iter().map(levelled).collect()
}

impl Sections {
    /// The headings above sentence `n`, the innermost first.
    fn above(&self, n: usize) -> impl Iterator<Item = &SectionHeading> {
        let last = self.headings.partition_point(|heading| heading.at < n).checked_sub(1);
        let first = last.map(|nth| &self.headings[nth]);
        std::iter::successors(first, |heading| heading.parent.map(|nth| &self.headings[nth]))
    }

    /// The words of the headings above sentence `n`.
    pub(super) fn words_above(&self, n: usize) -> Vec<u32> {
        let mut ids: Vec<u32> = self.above(n).flat_map(|heading| &heading.ids).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The sentences of all headings.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.headings.iter().map(|heading| heading.at)
    }

    /// The heading above sentence `n` that has a name of the question, by its sentence.
    fn naming(&self, n: usize) -> Option<usize> {
        self.above(n).find(|heading| heading.named).map(|heading| heading.at)
    }

    /// The heading above sentence `n`, whose words are `own`, that names what the sentence is about and the sentence does not.
    pub(super) fn subject_of(&self, n: usize, own: &[u32]) -> Option<usize> {
        let names_itself = self.names.iter().any(|name| has_all(own, name));
        self.naming(n).filter(|_| !names_itself)
    }

    /// The heading above sentence `n` that tells what "it" is: one with a name of the question, or else the outermost with a
    /// thing of the question.
    pub(super) fn antecedent_of(&self, n: usize) -> Option<usize> {
        let asked = || self.above(n).filter(|heading| heading.asked).last();
        self.naming(n).or_else(|| asked().map(|heading| heading.at))
    }

    /// Whether sentence `n`, whose words are `own`, stands in a section on another thing than the question names: a section
    /// beside it has the name as its heading.
    pub(super) fn is_on_other_name(&self, n: usize, own: &[u32]) -> bool {
        let is_other = |it: &SectionHeading| {
            let beside = self.named_among.get(&(it.level, it.parent));
            beside.is_some_and(|has_sections| *has_sections || it.reads_as_name)
        };
        !self.named_among.is_empty()
            && self.above(n).any(is_other)
            && self.naming(n).is_none()
            && !self.names.iter().any(|name| has_all(own, name))
    }
}
