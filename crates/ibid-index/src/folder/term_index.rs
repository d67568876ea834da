//! The lookups that ranking needs: the passages with a term, its positions, and the terms of a passage.
//!
//! A small index is looked up in memory ([`super::memory_index`]), a large one in its files. Both give the same results.
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use super::postings::{PassagePostings, passage_count, segment_postings};
use super::rows::stored_hit;
use super::snapshot::{IndexSnapshot, RowId};
use super::terms::terms;
use ibid_core::domain::words::is_stop_word;

/// Bytes of a passage whose terms are read from the files; the rest of a longer passage is ignored.
const MAX_PASSAGE_BYTES: usize = 4_000;

/// The number of a term in a [`TermIndex`].
pub(super) type TermId = u32;

/// The terms of a passage and its title.
pub(super) struct PassageTerms<'a> {
    /// Each term that is not a stop word, with its count.
    pub(super) terms: Cow<'a, [(TermId, u32)]>,
    /// The number of words, including stop words.
    pub(super) words: usize,
}

/// The positions of some terms in the bodies of some passages.
pub(super) struct TermPositions {
    terms: usize,
    ends: Vec<usize>,
    all: Vec<u32>,
}

impl TermPositions {
    /// An empty table for the given numbers of terms and passages.
    pub(super) fn with_capacity(terms: usize, passages: usize) -> TermPositions {
        TermPositions { terms, ends: Vec::with_capacity(terms * passages), all: Vec::new() }
    }

    /// Adds the positions of the next term. All terms of one passage come before those of the next.
    pub(super) fn push(&mut self, positions: &[u32]) {
        self.all.extend(positions);
        self.ends.push(self.all.len());
    }

    /// The positions of one term in one passage, both by their index in the request.
    pub(super) fn get(&self, passage: usize, term: usize) -> &[u32] {
        let at = passage * self.terms + term;
        let start = at.checked_sub(1).map_or(0, |index| self.ends[index]);
        &self.all[start..self.ends[at]]
    }
}

/// Looks up terms and passages in one snapshot of the index.
pub(super) trait TermIndex {
    /// The number of a term; `None` if it does not occur in the index.
    fn term(&self, text: &str) -> Option<TermId>;
    /// The alphabetical order of two terms.
    fn order(&self, a: TermId, b: TermId) -> Ordering;
    /// The number of passages whose body has the term.
    fn passage_count(&self, term: TermId) -> tantivy::Result<usize>;
    /// The passages with the term in title or body.
    fn postings(&self, term: TermId) -> tantivy::Result<PassagePostings<'_>>;
    /// The terms of a passage.
    fn passage_terms(&self, row: RowId) -> tantivy::Result<PassageTerms<'_>>;
    /// The positions of `terms`, given with their postings, in the bodies of `passages`.
    fn positions(
        &self,
        terms: &[(TermId, &PassagePostings<'_>)],
        passages: &[RowId],
    ) -> tantivy::Result<TermPositions>;
}

/// Looks up an index that is too large to be kept in memory, in its files. It lives for one query.
pub(super) struct DiskTermIndex<'a> {
    view: &'a IndexSnapshot,
    terms: RefCell<TermNumbers>,
}

/// Numbers for the terms seen so far.
#[derive(Default)]
struct TermNumbers {
    numbers: HashMap<String, TermId>,
    texts: Vec<String>,
}

impl TermNumbers {
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

impl DiskTermIndex<'_> {
    pub(super) fn new(view: &IndexSnapshot) -> DiskTermIndex<'_> {
        DiskTermIndex { view, terms: RefCell::default() }
    }

    fn text(&self, term: TermId) -> String {
        let known = self.terms.borrow();
        known.texts.get(term as usize).cloned().unwrap_or_default()
    }
}

impl TermIndex for DiskTermIndex<'_> {
    fn term(&self, text: &str) -> Option<TermId> {
        Some(self.terms.borrow_mut().number(text))
    }

    fn order(&self, a: TermId, b: TermId) -> Ordering {
        self.text(a).cmp(&self.text(b))
    }

    fn passage_count(&self, term: TermId) -> tantivy::Result<usize> {
        passage_count(self.view, self.view.fields.body, &self.text(term))
    }

    fn postings(&self, term: TermId) -> tantivy::Result<PassagePostings<'_>> {
        PassagePostings::load(self.view, &self.text(term))
    }

    fn passage_terms(&self, row: RowId) -> tantivy::Result<PassageTerms<'_>> {
        let hit = stored_hit(self.view, self.view.address(row))?;
        let end = hit.text.floor_char_boundary(MAX_PASSAGE_BYTES.min(hit.text.len()));
        let about = hit.about.as_ref().unwrap_or(&hit.title);
        let mut words = terms(about);
        words.extend(terms(&hit.text[..end]));
        let many = words.len();
        words.retain(|it| !is_stop_word(&it.text));
        words.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        let mut known = self.terms.borrow_mut();
        let counted = words.chunk_by(|a, b| a.text == b.text);
        let counted = counted.map(|same| (known.number(&same[0].text), same.len() as u32));
        Ok(PassageTerms { terms: counted.collect(), words: many })
    }

    fn positions(
        &self,
        terms: &[(TermId, &PassagePostings<'_>)],
        passages: &[RowId],
    ) -> tantivy::Result<TermPositions> {
        let mut found = vec![Vec::new(); passages.len() * terms.len()];
        let mut order: Vec<usize> = (0..passages.len()).collect();
        order.sort_by_key(|number| passages[*number]);
        for (nth, (term, _)) in terms.iter().enumerate() {
            let text = self.text(*term);
            for (base, segment) in self.view.segments() {
                let option = IndexRecordOption::WithFreqsAndPositions;
                let field = self.view.fields.body;
                let Some(mut postings) = segment_postings(segment, field, &text, option)? else {
                    continue;
                };
                let within = base..base + segment.max_doc();
                for at in order.iter().filter(|at| within.contains(&passages[**at])) {
                    let doc = passages[*at] - base;
                    if postings.doc() < doc {
                        postings.seek(doc);
                    }
                    if postings.doc() == doc {
                        postings.positions(&mut found[*at * terms.len() + nth]);
                    }
                }
            }
        }
        let mut positions = TermPositions::with_capacity(terms.len(), passages.len());
        found.iter().for_each(|of_term| positions.push(of_term));
        Ok(positions)
    }
}
