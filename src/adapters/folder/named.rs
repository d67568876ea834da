//! Publishers and days that a query names: "what did The Verge report on 7 October 2023?"
//!
//! Who said it and when stands beside a document, not in its words, and a question that names them means it. The weights
//! were chosen on the development half of a collection of news that asks so; all others name neither.
use std::collections::{BTreeMap, BTreeSet};

use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use super::postings::postings;
use super::rank::Ranked;
use super::rows::day;
use super::terms::fold;
use super::view::{Row, View, column};
use crate::adapters::documents::dates::normalise;
use crate::domain::words::tokens;

/// What a document of a named publisher gains, and again one of a named day, as a share of the best score.
const GAIN: f32 = 0.4;
/// What a further document of a named publisher is worth, each time, where several are named.
const AGAIN: f32 = 0.9;
/// Documents that are put in another order.
const ORDERED: usize = 50;
/// Words of a publisher's name, at most.
const LONGEST: usize = 8;

/// A publisher's name as it is compared: its words in lower case without accents, one space between.
pub(super) fn name(text: &str) -> String {
    let words = tokens(text).into_iter().take(LONGEST);
    words.map(|it| bare(it.text)).collect::<Vec<_>>().join(" ")
}

fn bare(word: String) -> String {
    let word = fold(word);
    word.strip_suffix("'s").map(str::to_owned).unwrap_or(word)
}

/// What a query names.
pub(super) struct Named {
    publishers: Vec<String>,
    days: BTreeSet<u64>,
}

impl Named {
    /// The publishers of the index and the days that `query` names.
    pub(super) fn of(view: &View, query: &str) -> tantivy::Result<Named> {
        Ok(Named {
            publishers: publishers(view, query)?,
            days: days(query),
        })
    }

    /// How many documents are put in another order.
    pub(super) fn ordered(&self) -> usize {
        if self.publishers.len() < 2 {
            0
        } else {
            ORDERED
        }
    }

    /// Adds to the scores of passages (those that match at all) what their publisher and day are worth.
    pub(super) fn favour(&self, view: &View, scores: &mut [f32]) -> tantivy::Result<()> {
        if self.publishers.is_empty() && self.days.is_empty() {
            return Ok(());
        }
        let gain = GAIN * scores.iter().copied().fold(0.0, f32::max);
        for (base, segment) in view.segments() {
            let sums = &mut scores[base as usize..][..segment.max_doc() as usize];
            let mut favoured: BTreeSet<DocId> = BTreeSet::new();
            for publisher in &self.publishers {
                favoured.extend(having(segment, view.fields.publisher, publisher)?);
            }
            for doc in favoured {
                add(&mut sums[doc as usize], gain);
            }
            let dates = column(segment, "date")?.filter(|_| !self.days.is_empty());
            let Some(dates) = dates else { continue };
            for (doc, sum) in (0..).zip(sums) {
                if dates.first(doc).is_some_and(|it| self.days.contains(&it)) {
                    add(sum, gain);
                }
            }
        }
        Ok(())
    }

    /// Puts the best documents in an order in which the named publishers take turns.
    pub(super) fn alternate(&self, view: &View, ranked: &mut [Ranked]) -> tantivy::Result<()> {
        if self.ordered() == 0 {
            return Ok(());
        }
        let mut of: BTreeMap<Row, usize> = BTreeMap::new();
        for (base, segment) in view.segments() {
            for (nth, publisher) in self.publishers.iter().enumerate() {
                let docs = having(segment, view.fields.publisher, publisher)?;
                of.extend(docs.into_iter().map(|doc| (base + doc, nth)));
            }
        }
        let mut seen = vec![0; self.publishers.len()];
        let most = ranked.len().min(ORDERED);
        for at in 0..most {
            let publisher = |it: &Ranked| {
                let (_, best) = it.passages.first()?;
                of.get(best).copied()
            };
            let worth = |it: &Ranked| {
                let before = publisher(it).map_or(0, |nth| seen[nth]);
                it.score * AGAIN.powi(before)
            };
            let mut best = at;
            for other in at + 1..most {
                if worth(&ranked[other]) > worth(&ranked[best]) {
                    best = other;
                }
            }
            if let Some(nth) = publisher(&ranked[best]) {
                seen[nth] += 1;
            }
            ranked[at..=best].rotate_right(1);
        }
        Ok(())
    }
}

/// Only what matches at all can gain.
fn add(sum: &mut f32, gain: f32) {
    if *sum > 0.0 {
        *sum += gain;
    }
}

/// The rows of `segment` that have `text` in `field`.
fn having(segment: &SegmentReader, field: Field, text: &str) -> tantivy::Result<Vec<DocId>> {
    let mut found = Vec::new();
    if let Some(mut it) = postings(segment, field, text, IndexRecordOption::Basic)? {
        while it.doc() != TERMINATED {
            found.push(it.doc());
            it.advance();
        }
    }
    Ok(found)
}

/// The publishers of the index that `query` names, the longest name at each place. A name of one word counts where it is
/// written with a capital.
fn publishers(view: &View, query: &str) -> tantivy::Result<Vec<String>> {
    let mut segments = Vec::new();
    for (_, segment) in view.segments() {
        let terms = segment.inverted_index(view.fields.publisher)?;
        if terms.terms().num_terms() > 0 {
            segments.push(terms);
        }
    }
    if segments.is_empty() {
        return Ok(Vec::new());
    }
    let known = |name: &str| -> tantivy::Result<bool> {
        let term = tantivy::Term::from_field_text(view.fields.publisher, name);
        for it in &segments {
            if it.doc_freq(&term)? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut found: Vec<String> = Vec::new();
    let written = tokens(query);
    let words: Vec<String> = written.iter().map(|it| bare(it.text.clone())).collect();
    let mut at = 0;
    while at < words.len() {
        let capital = query[written[at].span.clone()].starts_with(char::is_uppercase);
        let mut taken = 1;
        for many in (1..=LONGEST.min(words.len() - at)).rev() {
            let name = words[at..at + many].join(" ");
            if (many > 1 || capital) && known(&name)? {
                if !found.contains(&name) {
                    found.push(name);
                }
                taken = many;
                break;
            }
        }
        at += taken;
    }
    Ok(found)
}

/// The days that `query` names, as `YYYYMMDD`.
fn days(query: &str) -> BTreeSet<u64> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let year = |it: &&str| it.bytes().filter(u8::is_ascii_digit).count() >= 4;
    if !words.iter().any(year) {
        return BTreeSet::new();
    }
    // A day with a month by name and a year takes three words.
    let parts = (0..words.len()).map(|at| words[at..words.len().min(at + 3)].join(" "));
    parts
        .filter_map(|it| normalise(&it))
        .map(|it| day(&it))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_found_in_their_usual_forms() {
        let found = days("Between October 7, 2023 and 2023-11-24, or the 3 May 2024?");
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [20_231_007, 20_231_124, 20_240_503]
        );
        assert!(days("What happened in 2023?").is_empty());
        assert!(days("How much is 1234 and 5678?").is_empty());
    }

    #[test]
    fn a_publisher_is_known_however_it_is_written() {
        assert_eq!(
            name("The Café | World News"),
            name("the cafe: World news's")
        );
    }
}
