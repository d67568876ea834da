//! What ranking asks of the index: which passages have a term, where, and what words a passage has.
//!
//! A small index answers from memory ([`super::resident`]), a large one from its files; both say the same.
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use super::postings::{Occurrences, having, postings};
use super::rows::shown;
use super::terms::terms;
use super::view::{Row, View};
use crate::domain::words::is_stop;

/// Of a long passage that is read from the files only the beginning is asked for its words, bytes.
const BYTES: usize = 4_000;

/// The number a lexicon knows a term by.
pub(super) type TermId = u32;

/// The words of a passage and its title.
pub(super) struct Said<'a> {
    /// Those with a meaning of their own, each once, with how often it stands there.
    pub(super) terms: Cow<'a, [(TermId, u32)]>,
    /// How many words there are in all.
    pub(super) words: usize,
}

/// For each of some passages the places of each of some terms in its body.
pub(super) struct Places {
    terms: usize,
    ends: Vec<usize>,
    all: Vec<u32>,
}

impl Places {
    /// Room for the places of so many terms.
    pub(super) fn of(terms: usize, passages: usize) -> Places {
        Places {
            terms,
            ends: Vec::with_capacity(terms * passages),
            all: Vec::new(),
        }
    }

    /// The next term's places; all terms of one passage come before those of the next.
    pub(super) fn push(&mut self, places: &[u32]) {
        self.all.extend(places);
        self.ends.push(self.all.len());
    }

    /// The places of one term in one passage, both as they were asked for.
    pub(super) fn get(&self, passage: usize, term: usize) -> &[u32] {
        let at = passage * self.terms + term;
        let start = at.checked_sub(1).map_or(0, |it| self.ends[it]);
        &self.all[start..self.ends[at]]
    }
}

/// See the module.
pub(super) trait Lexicon {
    /// The number of a term.
    fn term(&self, text: &str) -> Option<TermId>;
    /// The order of two terms by their letters.
    fn order(&self, a: TermId, b: TermId) -> Ordering;
    /// How many passages have a term.
    fn having(&self, term: TermId) -> tantivy::Result<usize>;
    /// Which.
    fn occurrences(&self, term: TermId) -> tantivy::Result<Occurrences<'_>>;
    /// What a passage says.
    fn said(&self, row: Row) -> tantivy::Result<Said<'_>>;
    /// Where terms, which were found so often, stand in passages.
    fn places(
        &self,
        terms: &[(TermId, &Occurrences<'_>)],
        passages: &[Row],
    ) -> tantivy::Result<Places>;
}

/// The lexicon of an index that is too large to be kept in memory. It lives for one query.
pub(super) struct OnDisk<'a> {
    view: &'a View,
    known: RefCell<Known>,
}

/// The terms met so far.
#[derive(Default)]
struct Known {
    numbers: HashMap<String, TermId>,
    texts: Vec<String>,
}

impl Known {
    fn number(&mut self, text: &str) -> TermId {
        if let Some(it) = self.numbers.get(text) {
            return *it;
        }
        let number = self.texts.len() as TermId;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }
}

impl OnDisk<'_> {
    /// The lexicon of `view`.
    pub(super) fn of(view: &View) -> OnDisk<'_> {
        OnDisk {
            view,
            known: RefCell::default(),
        }
    }

    fn text(&self, term: TermId) -> String {
        let known = self.known.borrow();
        known.texts.get(term as usize).cloned().unwrap_or_default()
    }
}

impl Lexicon for OnDisk<'_> {
    fn term(&self, text: &str) -> Option<TermId> {
        Some(self.known.borrow_mut().number(text))
    }

    fn order(&self, a: TermId, b: TermId) -> Ordering {
        self.text(a).cmp(&self.text(b))
    }

    fn having(&self, term: TermId) -> tantivy::Result<usize> {
        having(self.view, self.view.fields.body, &self.text(term))
    }

    fn occurrences(&self, term: TermId) -> tantivy::Result<Occurrences<'_>> {
        Occurrences::of(self.view, &self.text(term))
    }

    fn said(&self, row: Row) -> tantivy::Result<Said<'_>> {
        let shown = shown(self.view, self.view.address(row))?;
        let end = shown.text.floor_char_boundary(BYTES.min(shown.text.len()));
        let about = shown.about.as_ref().unwrap_or(&shown.title);
        let mut words = terms(about);
        words.extend(terms(&shown.text[..end]));
        let many = words.len();
        words.retain(|it| !is_stop(&it.text));
        words.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        let mut known = self.known.borrow_mut();
        let counted = words.chunk_by(|a, b| a.text == b.text);
        let counted = counted.map(|it| (known.number(&it[0].text), it.len() as u32));
        Ok(Said {
            terms: counted.collect(),
            words: many,
        })
    }

    fn places(
        &self,
        terms: &[(TermId, &Occurrences<'_>)],
        passages: &[Row],
    ) -> tantivy::Result<Places> {
        let mut found = vec![Vec::new(); passages.len() * terms.len()];
        let mut order: Vec<usize> = (0..passages.len()).collect();
        order.sort_by_key(|it| passages[*it]);
        for (nth, (term, _)) in terms.iter().enumerate() {
            let text = self.text(*term);
            for (base, segment) in self.view.segments() {
                let option = IndexRecordOption::WithFreqsAndPositions;
                let field = self.view.fields.body;
                let Some(mut it) = postings(segment, field, &text, option)? else {
                    continue;
                };
                let within = base..base + segment.max_doc();
                for at in order.iter().filter(|it| within.contains(&passages[**it])) {
                    let doc = passages[*at] - base;
                    if it.doc() < doc {
                        it.seek(doc);
                    }
                    if it.doc() == doc {
                        it.positions(&mut found[*at * terms.len() + nth]);
                    }
                }
            }
        }
        let mut places = Places::of(terms.len(), passages.len());
        found.iter().for_each(|it| places.push(it));
        Ok(places)
    }
}
