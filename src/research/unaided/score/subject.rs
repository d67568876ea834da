//! Whether a sentence is on what the question is about, and not on another of its kind.
use super::terms::{kin_of, part_terms};
use super::{Probe, STANDS_FOR, Scale, Term};
use crate::domain::words::{Token, is_stop, tokens};
use crate::domain::{Brief, Item, ItemId};
use crate::research::unaided::intake::{is_verb, telling};
use crate::research::unaided::kinds::kind_of;

/// Words at the beginning of a sentence that name its subject.
const LEAD: usize = 7;
/// Weight of the question's words around a sentence that makes up for the most telling one.
const MUCH: f32 = 0.4;
/// Telling words of a question of which a sentence that decides it has nearly all.
const FEW: usize = 6;
/// Share of the words of a part that a sentence on it has.
const ON_PART: f32 = 0.75;
/// Share of a verb that a word must say to be on what is done.
const DOES: f32 = 0.35;

/// Pairs of neighbouring words in the question's subjects, lower case: which one, and of what kind.
pub(super) fn pairs_of(brief: &Brief) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for subject in &brief.subjects {
        let words = tokens(subject);
        let tells = |it: &Token| telling(subject, it) >= 1.0 && !is_verb(&it.text);
        if let [.., which, kind] = words.as_slice()
            && tells(which)
            && kind.text.chars().all(char::is_alphabetic)
            && !is_verb(&kind.text)
        {
            pairs.push((which.text.clone(), kind.text.clone()));
        }
    }
    pairs
}

/// The noun behind "which" or "what" at the beginning of a question: the kind of thing sought.
pub(super) fn sought(question: &str) -> Option<String> {
    let mut words = tokens(question).into_iter();
    let asks = words
        .next()
        .is_some_and(|it| matches!(it.text.as_str(), "which" | "what" | "list" | "name"));
    let noun = words.find(|it| !matches!(it.text.as_str(), "the" | "all" | "some"))?;
    (asks && !is_stop(&noun.text) && !is_verb(&noun.text)).then_some(noun.text)
}

impl Scale {
    /// Whether a sentence names another of a kind that the question asks one of, and neither it nor
    /// what stands around it (`wide`) names the one asked of.
    pub(super) fn of_another(&mut self, text: &str, wide: &[u32]) -> bool {
        if self.pairs.is_empty() {
            return false;
        }
        let words = tokens(text);
        let pairs = std::mem::take(&mut self.pairs);
        let found = pairs.iter().any(|(which, kind)| {
            let (which, kind) = (self.lexicon.id(which), self.lexicon.id(kind));
            self.said(which, wide) < STANDS_FOR
                && words.windows(2).any(|it| {
                    let beside = text[it[0].span.end..it[1].span.start].trim().is_empty();
                    let names_one = !is_stop(&it[0].text)
                        && telling(text, &it[0]) >= 1.0
                        && !is_verb(&it[0].text);
                    beside && names_one && self.lexicon.id(&it[1].text) == kind
                })
        });
        self.pairs = pairs;
        found
    }

    /// Whether a sentence is on the question's subject: one of its names, where it has names that
    /// are not sites, is spoken of around it (`wide`), and enough of its telling words stand in it
    /// or beside it (`ids`).
    pub(super) fn on_subject(&self, ids: &[u32], wide: &[u32]) -> bool {
        let names: Vec<u32> = self
            .names
            .iter()
            .filter(|it| !self.sites.contains(&it.0))
            .map(|it| it.1)
            .collect();
        if !names.is_empty() && !names.iter().any(|it| wide.binary_search(it).is_ok()) {
            return false;
        }
        let mut telling: Vec<(f32, u32)> = self
            .question
            .iter()
            .filter(|it| it.telling >= 1.0)
            .map(|it| (self.weight(it), it.id))
            .collect();
        // Of "which skills does a planner need" the skills are what is sought, not what it is about.
        if telling.len() > 1 {
            telling.retain(|it| Some(it.1) != self.sought);
        }
        telling.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // How many must be met, and one of how many of the most telling.
        let (needed, heads) = match telling.len() {
            0 => return self.coverage(&self.question, ids) >= 0.5,
            1 | 2 => (1, 1),
            3..=5 => (2, 2),
            n => (3, n),
        };
        let met = |it: &&(f32, u32)| self.said(it.1, ids) >= STANDS_FOR;
        // What tells most stands there, or much of the rest does.
        let rarest = telling
            .first()
            .is_some_and(|it| self.said(it.1, wide) >= STANDS_FOR);
        let about: Vec<Term> = self
            .question
            .iter()
            .filter(|it| Some(it.id) != self.sought)
            .copied()
            .collect();
        (rarest || self.coverage(&about, wide) >= MUCH)
            && telling
                .iter()
                .take(heads)
                .any(|it| self.said(it.1, wide) >= STANDS_FOR)
            && telling.iter().filter(met).count() >= needed
    }

    /// Whether an item asks a part of the question, or something besides, and not the whole of it from one side.
    pub(crate) fn is_part(&self, item: ItemId) -> bool {
        let mut probes = self.probes.iter();
        probes.any(|it| it.item == item && it.facet.is_none() && !it.side)
    }

    /// Weighs for one more item from now on, one that the person added.
    pub(crate) fn add(&mut self, brief: &Brief, item: &Item) {
        let terms = part_terms(&mut self.lexicon, item, false, brief);
        self.kin
            .extend(kin_of(&mut self.lexicon, std::iter::once(&item.asks)));
        self.probes.push(Probe {
            item: item.id,
            core: true,
            kind: kind_of(&item.asks, self.words),
            asked: item.asks.clone(),
            terms,
            facet: None,
            side: false,
        });
    }

    /// Whether a sentence and what stands beside it are on a part of the question, or on something asked besides, whatever the
    /// rest of the question is about.
    pub(super) fn on_part(&self, ids: &[u32]) -> bool {
        let mut parts = self
            .probes
            .iter()
            .filter(|it| it.facet.is_none() && !it.side);
        parts.any(|it| self.coverage(&it.terms, ids) >= ON_PART)
    }

    /// Whether the question's telling words stand among the first few of `text`.
    pub(crate) fn begins_with_subject(&mut self, text: &str) -> bool {
        let words = tokens(text);
        let end = words.get(LEAD).map_or(text.len(), |it| it.span.start);
        let ids = self.ids(&text[..end]);
        self.coverage(&self.question, &ids) >= 0.6
    }

    /// How many of the question's telling words `text` has, each counting the same: 0 to 1. Of a long
    /// question nobody says all: 1.
    pub(crate) fn share(&mut self, text: &str) -> f32 {
        let ids = self.ids(text);
        let telling = || self.question.iter().filter(|it| it.telling >= 1.0);
        if telling().count() > FEW {
            return 1.0;
        }
        let met = telling().filter(|it| self.said(it.id, &ids) >= STANDS_FOR);
        met.count() as f32 / telling().count().max(1) as f32
    }

    /// Whether `text` says what the question asks its subject to do, in its verb or one near it; `true`
    /// where it asks for no doing.
    pub(crate) fn says_what_is_done(&mut self, text: &str) -> bool {
        let ids = self.ids(text);
        self.done.is_none_or(|it| self.said(it, &ids) >= DOES)
    }
}
