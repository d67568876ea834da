//! Reads the sections of a page: which of its headings are on a name of the question, and which on other things.
use std::collections::{BTreeMap, BTreeSet};

use crate::heuristic::text_headings::end_of_headed;
use ibid_core::domain::words::{Token, is_stop_word, tokens};
use ibid_core::domain::{BlockKind, Page};

use super::scorer::RelevanceScorer;
use super::sections::{
    SectionHeading, SectionName, Sections, has_all, has_digit, heading_key, is_of_name,
    is_question, tells_false_claims,
};

/// The level of a heading whose level the document does not give: below all others.
const UNKNOWN_LEVEL: u8 = 7;
/// The level of a heading in running text.
const TEXT_LEVEL: u8 = 8;
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
        for (at, end, level) in headings_with_levels(page) {
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
            // "Compared with the Falcon 90" is on the Falcon, wherever it stands. "Do green roofs leak more than other roofs?" is on both.
            let other =
                !is_question(text) && (longer || contrasts && (found.is_some() || has_digit(text)));
            open.push(headings.len());
            let false_claims = tells_false_claims(text);
            headings.push(SectionHeading {
                at,
                end,
                level,
                parent,
                ids,
                named,
                asked,
                other,
                false_claims,
            });
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
            let bare = |word: &&Token| {
                let text = &word.text;
                text.trim_end_matches("'s").trim_end_matches("’s").to_owned()
            };
            let words: Vec<String> = run.iter().map(bare).collect();
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

/// The headings of a page other than its title, by sentence, with what ends them and their levels. One whose text recurs stands below
/// one of the same level whose text does not: "Warranty" of each machine. Those in running text stand below all others.
fn headings_with_levels(page: &Page) -> Vec<(usize, usize, u8)> {
    let key = |at: usize| heading_key(page.sentence(at));
    let title = heading_key(&page.title);
    let count = page.sentences().len();
    let end = |at: usize| match page.sentences()[at].kind {
        BlockKind::Heading => Some(count),
        _ => end_of_headed(page, at),
    };
    let headings = (0..count).filter_map(|at| Some((at, end(at)?)));
    let headings: Vec<(usize, usize)> = headings
        .filter(|(at, _)| page.sentence(*at).len() <= MAX_HEADING_BYTES && key(*at) != title)
        .collect();
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for (at, _) in &headings {
        *times.entry(key(*at)).or_default() += 1;
    }
    let recurs = |at: usize| times.get(&key(at)).is_some_and(|n| *n > 1);
    let levelled = |(at, end): (usize, usize)| {
        let level = match (page.sentences()[at].kind, page.sentences()[at].level) {
            (BlockKind::Heading, 0) => UNKNOWN_LEVEL,
            (BlockKind::Heading, level) => level,
            _ => TEXT_LEVEL,
        };
        (at, end, 2 * level + u8::from(recurs(at)))
    };
    headings.into_iter().map(levelled).collect()
}
