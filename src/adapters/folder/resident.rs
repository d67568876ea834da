//! The postings of a small index, decoded once and kept in memory.
//!
//! A query asks for some seventy terms, most of them words that its best passages share ([`super::feedback`]). In the files
//! each costs a walk through a dictionary and a list to unpack, and the words of a passage must be cut out of its
//! text; here all that is an offset. A hundred thousand words take some two megabytes.
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use tantivy::postings::{Postings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, SegmentReader, TERMINATED};

use super::lexicon::{Lexicon, Places, Said, TermId};
use super::postings::{Occurrences, saturated};
use super::view::{Row, TITLE, View};
use crate::domain::words::is_stop;

/// Words of an index that is kept in memory, at most: some 40 MB.
const WORDS: f64 = 2e6;

/// See the module. Lists of all terms lie one behind the other, and so do those of all rows.
pub(super) struct Resident {
    numbers: HashMap<Box<str>, TermId>,
    /// By term: where its postings end, and how many bodies have it.
    terms: Vec<(usize, u32)>,
    rows: Vec<Row>,
    counts: Vec<f32>,
    /// By posting: where the places in the body end.
    places_end: Vec<u32>,
    places: Vec<u32>,
    /// By row: where its terms end, and how many words it has.
    said: Vec<(usize, u32)>,
    spoken: Vec<(TermId, u32)>,
}

/// One entry of a segment's dictionary.
struct Entry<'a> {
    text: Box<[u8]>,
    base: Row,
    segment: &'a SegmentReader,
    title: bool,
    info: TermInfo,
}

impl Resident {
    /// Reads the postings of `view`; `None` where they are too many.
    pub(super) fn of(view: &View) -> tantivy::Result<Option<Resident>> {
        if view.words > WORDS {
            return Ok(None);
        }
        let mut entries = Vec::new();
        for (base, segment) in view.segments() {
            for (title, field) in [(false, view.fields.body), (true, view.fields.title)] {
                let index = segment.inverted_index(field)?;
                let mut terms = index.terms().stream()?;
                while terms.advance() {
                    entries.push(Entry {
                        text: terms.key().into(),
                        base,
                        segment,
                        title,
                        info: terms.value().clone(),
                    });
                }
            }
        }
        // Stable: of one term the segments stay in order, and in each the body before the title.
        entries.sort_by(|a, b| a.text.cmp(&b.text));
        let mut it = Resident {
            numbers: HashMap::new(),
            terms: Vec::new(),
            rows: Vec::new(),
            counts: Vec::new(),
            places_end: Vec::new(),
            places: Vec::new(),
            said: vec![(0, 0); view.rows()],
            spoken: Vec::new(),
        };
        let mut spoken: Vec<(Row, TermId, u32)> = Vec::new();
        for same in entries.chunk_by(|a, b| a.text == b.text) {
            it.take(view, same, &mut spoken)?;
        }
        it.turn(&spoken);
        Ok(Some(it))
    }

    /// Reads the postings of one term, which comes after all before it.
    fn take(
        &mut self,
        view: &View,
        entries: &[Entry<'_>],
        spoken: &mut Vec<(Row, TermId, u32)>,
    ) -> tantivy::Result<()> {
        let text = String::from_utf8_lossy(&entries[0].text);
        let (stop, term) = (is_stop(&text), self.terms.len() as TermId);
        let first = self.rows.len();
        let mut bodies = 0;
        let mut at = Vec::new();
        // What one segment has of it: row, weighed count, words.
        let mut found: Vec<(Row, f32, u32, std::ops::Range<usize>)> = Vec::new();
        let mut places: Vec<u32> = Vec::new();
        for same in entries.chunk_by(|a, b| a.base == b.base) {
            found.clear();
            places.clear();
            for entry in same {
                let (field, option, weight) = if entry.title {
                    (view.fields.title, IndexRecordOption::WithFreqs, TITLE)
                } else {
                    let option = IndexRecordOption::WithFreqsAndPositions;
                    (view.fields.body, option, 1.0)
                };
                let index = entry.segment.inverted_index(field)?;
                let mut postings = index.read_postings_from_terminfo(&entry.info, option)?;
                let alive = entry.segment.alive_bitset();
                while postings.doc() != TERMINATED {
                    let doc = postings.doc();
                    if alive.is_none_or(|it| it.is_alive(doc)) {
                        let many = postings.term_freq();
                        let start = places.len();
                        if !entry.title {
                            bodies += 1;
                            postings.positions(&mut at);
                            places.extend(&at);
                        }
                        let row = entry.base + doc;
                        found.push((row, weight * many as f32, many, start..places.len()));
                    }
                    postings.advance();
                }
            }
            if same.len() > 1 {
                found.sort_by_key(|it| it.0);
                found.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 += next.1;
                        kept.2 += next.2;
                    }
                    same
                });
            }
            for (row, count, many, span) in found.drain(..) {
                self.rows.push(row);
                self.counts.push(saturated(count, view.length(row)));
                self.places.extend(&places[span]);
                self.places_end.push(self.places.len() as u32);
                self.said[row as usize].1 += many;
                if !stop {
                    spoken.push((row, term, many));
                }
            }
        }
        if self.rows.len() > first {
            self.numbers.insert(text.into(), term);
            self.terms.push((self.rows.len(), bodies));
        }
        Ok(())
    }

    /// Puts what is known by term in order by row.
    fn turn(&mut self, spoken: &[(Row, TermId, u32)]) {
        let mut many = vec![0usize; self.said.len() + 1];
        for (row, ..) in spoken {
            many[*row as usize + 1] += 1;
        }
        for nth in 1..many.len() {
            many[nth] += many[nth - 1];
        }
        self.spoken = vec![(0, 0); spoken.len()];
        for (row, term, count) in spoken {
            let next = &mut many[*row as usize];
            self.spoken[*next] = (*term, *count);
            *next += 1;
        }
        for (said, end) in self.said.iter_mut().zip(many) {
            said.0 = end;
        }
    }

    fn start(&self, term: TermId) -> usize {
        term.checked_sub(1)
            .map_or(0, |it| self.terms[it as usize].0)
    }
}

impl Lexicon for Resident {
    fn term(&self, text: &str) -> Option<TermId> {
        self.numbers.get(text).copied()
    }

    fn order(&self, a: TermId, b: TermId) -> Ordering {
        a.cmp(&b)
    }

    fn having(&self, term: TermId) -> tantivy::Result<usize> {
        Ok(self.terms[term as usize].1 as usize)
    }

    fn occurrences(&self, term: TermId) -> tantivy::Result<Occurrences<'_>> {
        let span = self.start(term)..self.terms[term as usize].0;
        Ok(Occurrences {
            rows: Cow::Borrowed(&self.rows[span.clone()]),
            counts: Cow::Borrowed(&self.counts[span]),
        })
    }

    fn said(&self, row: Row) -> tantivy::Result<Said<'_>> {
        let start = (row as usize)
            .checked_sub(1)
            .map_or(0, |it| self.said[it].0);
        let (end, words) = self.said[row as usize];
        Ok(Said {
            terms: Cow::Borrowed(&self.spoken[start..end]),
            words: words as usize,
        })
    }

    fn places(
        &self,
        terms: &[(TermId, &Occurrences<'_>)],
        passages: &[Row],
    ) -> tantivy::Result<Places> {
        let mut places = Places::of(terms.len(), passages.len());
        for row in passages {
            for (term, occurrences) in terms {
                let Some(nth) = occurrences.nth(*row) else {
                    places.push(&[]);
                    continue;
                };
                let posting = self.start(*term) + nth;
                let end = |it: usize| self.places_end[it] as usize;
                let start = posting.checked_sub(1).map_or(0, end);
                places.push(&self.places[start..end(posting)]);
            }
        }
        Ok(places)
    }
}
