//! The sections of a page: which headings stand above a sentence, and which sections are on another thing than the question
//! names. In a manual for three machines "It has a warranty of two years" is about the machine of its heading.
use std::collections::{BTreeMap, BTreeSet};

use ibid_core::domain::words::{Token, is_stop_word, tokens};
use ibid_core::domain::{BlockKind, Page};

use super::scorer::RelevanceScorer;

/// The level of a heading whose level the document does not give: below all others.
const UNKNOWN_LEVEL: u8 = 7;
/// Length of a longer heading, in bytes: it is a paragraph that looks like one.
const MAX_HEADING_BYTES: usize = 300;
/// Sentences at the beginning of a page of which one is its title.
const OPENING_SENTENCES: usize = 5;
/// Words of a heading that names a thing to tell it from what follows.
const CONTRASTS: [&str; 10] = [
    "other",
    "except",
    "not",
    "without",
    "unlike",
    "compared",
    "versus",
    "vs",
    "instead",
    "accessories",
];
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
    /// Whether the thing that it names is another one than the question names.
    other: bool,
}

/// The headings of a page in order.
pub(super) struct Sections {
    headings: Vec<SectionHeading>,
    /// The sentence of the title, where the title is a name of the question.
    title: Option<usize>,
    /// The names of the question that head sections, or are the title.
    names: Vec<SectionName>,
}

/// A name in a question, of one word or more.
#[derive(Clone, PartialEq)]
struct SectionName {
    /// Its words in lower case: "kestrel" and "45".
    words: Vec<String>,
    ids: Vec<u32>,
    /// The word without which nothing has the name; the others may stand in the title of the page.
    key: u32,
}

impl SectionName {
    /// Whether a name that begins with this one stands wherever this one stands in a text: "Kestrel 45 Pro" for "Kestrel 45".
    fn is_longer_in(&self, text: &str) -> bool {
        let words = tokens(text);
        let goes_on = |end: usize| {
            words.get(end).is_some_and(|next| {
                let beside = text[words[end - 1].span.end..next.span.start].trim().is_empty();
                beside && is_of_name(text, next)
            })
        };
        let places = words.windows(self.words.len()).enumerate();
        let mut ends = places
            .filter(|(_, window)| window.iter().map(|it| &it.text).eq(&self.words))
            .map(|(at, _)| at + self.words.len())
            .peekable();
        ends.peek().is_some() && ends.all(goes_on)
    }

    /// Whether a title is this name and no more.
    fn is_title(&self, title: &str) -> bool {
        tokens(title).iter().map(|it| &it.text).eq(&self.words)
    }

    /// Whether a text that has all its words has them beside each other.
    fn is_whole_in(&self, text: &str) -> bool {
        let words = tokens(text);
        let mut places = words.windows(self.words.len());
        places.any(|window| window.iter().map(|it| &it.text).eq(&self.words))
    }

    /// Whether a number tells it from others: such names are often the beginning of longer ones.
    fn has_number(&self) -> bool {
        self.words.iter().any(|word| has_digit(word))
    }
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

/// Whether a word is written as part of a name: with a capital or a digit.
fn is_of_name(text: &str, word: &Token) -> bool {
    text[word.span.clone()].starts_with(|c: char| c.is_uppercase()) || has_digit(&word.text)
}

impl RelevanceScorer {
    /// The sections of a page.
    pub(super) fn sections(&mut self, page: &Page, title: &[u32]) -> Sections {
        let (of_page, names): (Vec<SectionName>, Vec<SectionName>) =
            self.section_names().into_iter().partition(|name| has_all(title, &name.ids));
        let titled = of_page.iter().find(|name| name.is_title(&page.title));
        let mut sections = Sections {
            headings: Vec::new(),
            title: titled.and_then(|_| title_place(page)),
            names: titled.into_iter().cloned().collect(),
        };
        let mut open: Vec<usize> = Vec::new();
        // Level and parent of the headings that the names head, and the headings of the sections in them.
        let mut among: BTreeSet<(u8, Option<usize>)> = BTreeSet::new();
        let mut parts: BTreeSet<String> = BTreeSet::new();
        for (at, level) in headings_with_levels(page) {
            let text = page.sentence(at);
            let headings = &mut sections.headings;
            while open.last().is_some_and(|above| headings[*above].level >= level) {
                open.pop();
            }
            let parent = open.last().copied();
            if parent.is_some_and(|above| headings[above].named) {
                parts.insert(heading_key(text));
            }
            let ids = self.ids(text);
            let has = |id: &u32| ids.binary_search(id).is_ok();
            let met = |id: &u32| has(id) || title.binary_search(id).is_ok();
            let holds = |name: &SectionName| {
                let whole = || !name.ids.iter().all(has) || name.is_whole_in(text);
                has(&name.key) && name.ids.iter().all(met) && whole()
            };
            let found = names.iter().find(|name| holds(name));
            let longer = found.is_some_and(|name| name.is_longer_in(text));
            let words = tokens(text);
            let telling = words.iter().filter(|word| !is_stop_word(&word.text)).count();
            let contrasts = words.iter().any(|word| CONTRASTS.contains(&word.text.as_str()));
            let is_head = |it: &&SectionName| {
                telling <= it.ids.len() + MAX_WORDS_BESIDE_NAME && !longer && !contrasts
            };
            let head = found.filter(is_head);
            if let Some(name) = head {
                among.insert((level, parent));
                if !sections.names.contains(name) {
                    sections.names.push(name.clone());
                }
            }
            let asked = self.asked_things.iter().any(has);
            let named = head.is_some();
            // "Compared with the Falcon 90" is on the Falcon, wherever it stands.
            let other = longer || contrasts && (found.is_some() || has_digit(text));
            open.push(headings.len());
            headings.push(SectionHeading { at, level, parent, ids, named, asked, other });
        }
        sections.mark_others(page, &among, &parts);
        sections
    }

    /// The names in the question other than sites.
    fn section_names(&mut self) -> Vec<SectionName> {
        let text = self.question_text.clone();
        let words = tokens(&text);
        let mut runs: Vec<Vec<&Token>> = Vec::new();
        for word in words.iter().skip(1).filter(|word| is_of_name(&text, word)) {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|last| touches(&text, last, word)) => {
                    run.push(word);
                }
                _ => runs.push(vec![word]),
            }
        }
        let known: Vec<u32> = self
            .names
            .iter()
            .filter(|name| !self.sites.contains(&name.0))
            .map(|name| name.1)
            .collect();
        let mut all = Vec::new();
        for run in runs {
            let words: Vec<String> = run.iter().map(|word| word.text.clone()).collect();
            let mut ids: Vec<u32> = words.iter().map(|word| self.lexicon.id(word)).collect();
            let Some(key) = ids.iter().rev().find(|id| known.contains(id)).copied() else {
                continue;
            };
            ids.sort_unstable();
            ids.dedup();
            all.push(SectionName { words, ids, key });
        }
        all
    }
}

/// The sentence that is the title of a page.
fn title_place(page: &Page) -> Option<usize> {
    let is_title = |at: &usize| {
        page.sentences()[*at].kind == BlockKind::Heading
            && heading_key(page.sentence(*at)) == heading_key(&page.title)
    };
    (0..page.sentences().len().min(OPENING_SENTENCES)).find(is_title)
}

/// Whether nothing stands between two words of a text.
fn touches(text: &str, one: &Token, next: &Token) -> bool {
    text[one.span.end..next.span.start].trim().is_empty()
}

fn heading_key(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Whether a heading reads as a name: it has a digit, or several words which all begin with a capital.
fn reads_as_name(text: &str) -> bool {
    let mut words = text.split_whitespace();
    has_digit(text)
        || words.clone().count() > 1 && words.all(|word| word.starts_with(char::is_uppercase))
}

/// Whether the sorted `ids` contain all of `name`.
fn has_all(ids: &[u32], name: &[u32]) -> bool {
    name.iter().all(|id| ids.binary_search(id).is_ok())
}

/// The headings of a page other than its title, by sentence, with levels. One whose text recurs stands below one of the same
/// level whose text does not: "Warranty" of each machine.
fn headings_with_levels(page: &Page) -> Vec<(usize, u8)> {
    let key = |at: usize| heading_key(page.sentence(at));
    let title = heading_key(&page.title);
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
    /// Marks the headings beside those in `among` that are on other things: those that read as names, and those whose sections have
    /// the headings of `parts`, as those of each machine in a manual have. "General" stays.
    fn mark_others(
        &mut self,
        page: &Page,
        among: &BTreeSet<(u8, Option<usize>)>,
        parts: &BTreeSet<String>,
    ) {
        let alike: BTreeSet<usize> = self
            .headings
            .iter()
            .filter(|heading| parts.contains(&heading_key(page.sentence(heading.at))))
            .filter_map(|heading| heading.parent)
            .collect();
        for (nth, heading) in self.headings.iter_mut().enumerate() {
            let beside = !heading.named && among.contains(&(heading.level, heading.parent));
            let reads_as_name = || reads_as_name(page.sentence(heading.at));
            heading.other |= beside && (alike.contains(&nth) || reads_as_name());
        }
    }

    /// The headings above sentence `n`, the innermost first.
    fn above(&self, n: usize) -> impl Iterator<Item = &SectionHeading> {
        let last = self.headings.partition_point(|heading| heading.at < n).checked_sub(1);
        let first = last.map(|nth| &self.headings[nth]);
        std::iter::successors(first, |heading| heading.parent.map(|nth| &self.headings[nth]))
    }

    /// The words of the headings above sentence `n`, and of the names that it is about although no heading has them.
    pub(super) fn words_above(&self, n: usize) -> Vec<u32> {
        let mut ids: Vec<u32> = self.above(n).flat_map(|heading| &heading.ids).copied().collect();
        ids.extend(self.names_meant(n));
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The sentences of all headings.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.headings.iter().map(|heading| heading.at)
    }

    /// The heading above sentence `n` that has a name of the question, or the title if it is one, by its sentence.
    fn naming(&self, n: usize) -> Option<usize> {
        let nearest = self.above(n).find(|heading| heading.named || heading.other);
        match nearest {
            Some(heading) => heading.named.then_some(heading.at),
            None => self.title,
        }
    }

    /// The words of the names of the question, if sentence `n` stands beside the sections that they head and in none on another thing:
    /// what a manual says of all machines.
    fn names_meant(&self, n: usize) -> Vec<u32> {
        let of_one = self.above(n).any(|heading| heading.named || heading.other);
        let names = self.names.iter().filter(|_| !of_one && self.above(n).next().is_some());
        names.flat_map(|name| &name.ids).copied().collect()
    }

    /// Sentence `n` after the headings that say what it is about, for comparing its meaning: "Kestrel 45: Noise: It makes 47 dB."
    pub(super) fn with_headings(&self, page: &Page, n: usize, claim: &str) -> String {
        let Some(naming) = self.naming(n).filter(|naming| Some(*naming) != self.title) else {
            return claim.to_owned();
        };
        let nearest = self.above(n).next().map(|heading| heading.at).filter(|at| *at != naming);
        let above = std::iter::once(naming).chain(nearest);
        let above = above.map(|at| page.sentence(at).trim_end_matches(['.', ':']));
        above.chain([claim]).collect::<Vec<_>>().join(": ")
    }

    /// The heading above sentence `n`, whose words are `own`, that names what the sentence is about and the sentence does not.
    pub(super) fn subject_of(&self, n: usize, own: &[u32]) -> Option<usize> {
        let names_itself = self.names.iter().any(|name| has_all(own, &name.ids));
        self.naming(n).filter(|_| !names_itself)
    }

    /// The heading above sentence `n` that tells what "it" is: one with a name of the question, or else the outermost with a
    /// thing of the question.
    pub(super) fn antecedent_of(&self, n: usize) -> Option<usize> {
        let asked = || self.above(n).filter(|heading| heading.asked).last();
        self.naming(n).or_else(|| asked().map(|heading| heading.at))
    }

    /// Whether sentence `n`, whose words are `own`, is about another thing than the question names: it stands in a section on one,
    /// or has a name that only begins as the one of the question does.
    pub(super) fn is_on_other_name(&self, page: &Page, n: usize, own: &[u32]) -> bool {
        let mut named = self.names.iter().filter(|name| has_all(own, &name.ids)).peekable();
        if named.peek().is_some() {
            return named.all(|name| name.has_number() && name.is_longer_in(page.sentence(n)));
        }
        let nearest = self.above(n).find(|heading| heading.named || heading.other);
        nearest.is_some_and(|heading| heading.other)
    }
}
