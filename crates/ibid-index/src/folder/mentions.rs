//! Publishers and dates that a query mentions: "what did The Verge report on 7 October 2023?"
//!
//! The publisher and date of a document are in its fields, not in its words. The weights were chosen on the development half
//! of a news collection whose queries mention them; the queries of the other collections mention neither.
use std::collections::{BTreeMap, BTreeSet};

use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use super::documents::RankedDocument;
use super::field_values::{MAX_NAME_WORDS, date_number, normalize_name_word};
use super::postings::segment_postings;
use super::snapshot::{IndexSnapshot, RowId, column};
use ibid_core::domain::words::tokens;
use ibid_extract::dates::normalise;

/// What a document gains if its publisher is mentioned, and again if its date is, as a share of the best score.
const MENTION_BONUS: f32 = 0.4;
/// If several publishers are mentioned, the score of each further document of one is multiplied by this.
const REPEAT_FACTOR: f32 = 0.9;
/// Documents that are reordered so that the mentioned publishers alternate.
const MAX_REORDERED: usize = 50;

/// The publishers and dates that a query mentions.
pub(super) struct QueryMentions {
    publishers: Vec<String>,
    days: BTreeSet<u64>,
}

impl QueryMentions {
    /// Finds the publishers of the index and the dates that `query` mentions.
    pub(super) fn find(view: &IndexSnapshot, query: &str) -> tantivy::Result<QueryMentions> {
        Ok(QueryMentions { publishers: publishers(view, query)?, days: days(query) })
    }

    /// Whether `query` mentions neither.
    pub(super) fn is_empty(&self) -> bool {
        self.publishers.is_empty() && self.days.is_empty()
    }

    /// How many documents [`QueryMentions::diversify`] reorders.
    pub(super) fn rerank_depth(&self) -> usize {
        if self.publishers.len() < 2 { 0 } else { MAX_REORDERED }
    }

    /// Raises the scores of matching passages whose publisher or date is mentioned.
    pub(super) fn boost(&self, view: &IndexSnapshot, scores: &mut [f32]) -> tantivy::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let gain = MENTION_BONUS * scores.iter().copied().fold(0.0, f32::max);
        for (base, segment) in view.segments() {
            let sums = &mut scores[base as usize..][..segment.max_doc() as usize];
            let mut favoured: BTreeSet<DocId> = BTreeSet::new();
            for publisher in &self.publishers {
                favoured.extend(rows_with(segment, view.fields.publisher, publisher)?);
            }
            for doc in favoured {
                add(&mut sums[doc as usize], gain);
            }
            let dates = column(segment, "date")?.filter(|_| !self.days.is_empty());
            let Some(dates) = dates else { continue };
            for (doc, sum) in (0..).zip(sums) {
                if dates.first(doc).is_some_and(|date| self.days.contains(&date)) {
                    add(sum, gain);
                }
            }
        }
        Ok(())
    }

    /// Reorders the best documents so that the mentioned publishers alternate.
    pub(super) fn diversify(
        &self,
        view: &IndexSnapshot,
        ranked: &mut [RankedDocument],
    ) -> tantivy::Result<()> {
        if self.rerank_depth() == 0 {
            return Ok(());
        }
        let mut publisher_of: BTreeMap<RowId, usize> = BTreeMap::new();
        for (base, segment) in view.segments() {
            for (nth, publisher) in self.publishers.iter().enumerate() {
                let docs = rows_with(segment, view.fields.publisher, publisher)?;
                publisher_of.extend(docs.into_iter().map(|doc| (base + doc, nth)));
            }
        }
        let mut seen = vec![0; self.publishers.len()];
        let end = ranked.len().min(MAX_REORDERED);
        for at in 0..end {
            let publisher = |document: &RankedDocument| {
                let (_, best) = document.passages.first()?;
                publisher_of.get(best).copied()
            };
            let worth = |document: &RankedDocument| {
                let before = publisher(document).map_or(0, |nth| seen[nth]);
                document.score * REPEAT_FACTOR.powi(before)
            };
            let mut best = at;
            for other in at + 1..end {
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

/// Adds `gain` to the score of a passage that matches.
fn add(sum: &mut f32, gain: f32) {
    if *sum > 0.0 {
        *sum += gain;
    }
}

/// The rows of `segment` that have `text` in `field`.
fn rows_with(segment: &SegmentReader, field: Field, text: &str) -> tantivy::Result<Vec<DocId>> {
    let mut found = Vec::new();
    if let Some(mut postings) = segment_postings(segment, field, text, IndexRecordOption::Basic)? {
        while postings.doc() != TERMINATED {
            found.push(postings.doc());
            postings.advance();
        }
    }
    Ok(found)
}

/// The publishers of the index that `query` mentions, the longest name at each position. A name of one word must be
/// capitalised.
fn publishers(view: &IndexSnapshot, query: &str) -> tantivy::Result<Vec<String>> {
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
        for segment in &segments {
            if segment.doc_freq(&term)? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut found: Vec<String> = Vec::new();
    let written = tokens(query);
    let words: Vec<String> =
        written.iter().map(|token| normalize_name_word(token.text.clone())).collect();
    let mut at = 0;
    while at < words.len() {
        let capital = query[written[at].span.clone()].starts_with(char::is_uppercase);
        let mut taken = 1;
        for many in (1..=MAX_NAME_WORDS.min(words.len() - at)).rev() {
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

/// The dates that `query` mentions, as `YYYYMMDD`.
fn days(query: &str) -> BTreeSet<u64> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let has_year = |word: &&str| word.bytes().filter(u8::is_ascii_digit).count() >= 4;
    if !words.iter().any(has_year) {
        return BTreeSet::new();
    }
    // A date with the month by name takes three words.
    let parts = (0..words.len()).map(|at| words[at..words.len().min(at + 3)].join(" "));
    parts.filter_map(|part| normalise(&part)).map(|it| date_number(&it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_found_in_their_usual_forms() {
        let found = days("Between October 7, 2023 and 2023-11-24, or the 3 May 2024?");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [20_231_007, 20_231_124, 20_240_503]);
        assert!(days("What happened in 2023?").is_empty());
        assert!(days("How much is 1234 and 5678?").is_empty());
    }
}
