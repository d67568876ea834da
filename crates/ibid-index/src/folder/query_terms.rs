//! The terms of a query that occur in the index.
use super::postings::PassagePostings;
use super::snapshot::IndexSnapshot;
use super::term_index::{TermId, TermIndex};
use super::terms::{IndexTerm, terms};

/// Bytes of a query that are read; the rest seldom adds anything new.
const MAX_QUERY_BYTES: usize = 16 << 10;
/// Terms of a query that count, the rarest first.
const MAX_QUERY_TERMS: usize = 48;

/// A term of the query.
pub(super) struct QueryTerm<'a> {
    pub(super) term: TermId,
    /// The weight of the term, see [`IndexSnapshot::idf_weight`].
    pub(super) idf: f32,
    pub(super) postings: PassagePostings<'a>,
}

/// The terms in the order of the query: the index of a [`QueryTerm`], and its position among the words.
pub(super) type TermSequence = Vec<(usize, usize)>;

/// The terms of `query` that occur in the index, the rarest first, and their sequence. Stop words count only if the query has
/// no other words.
pub(super) fn query_terms<'a>(
    view: &IndexSnapshot,
    lexicon: &'a dyn TermIndex,
    query: &str,
) -> tantivy::Result<(Vec<QueryTerm<'a>>, TermSequence)> {
    let end = query.floor_char_boundary(MAX_QUERY_BYTES.min(query.len()));
    let mut all = terms(&query[..end]);
    if all.iter().any(|it| !it.stop) {
        all.retain(|it| !it.stop);
    }
    let mut distinct: Vec<&str> = all.iter().map(|it| it.text.as_str()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut found = Vec::new();
    for text in distinct {
        let Some(term) = lexicon.term(text) else {
            continue;
        };
        let postings = lexicon.postings(term)?;
        if !postings.rows.is_empty() {
            let idf = view.idf_weight(postings.rows.len());
            found.push((text, QueryTerm { term, idf, postings }));
        }
    }
    found.sort_by(|a, b| b.1.idf.total_cmp(&a.1.idf).then_with(|| a.0.cmp(b.0)));
    found.truncate(MAX_QUERY_TERMS);
    let place = |term: &IndexTerm| {
        let nth = found.iter().position(|known| known.0 == term.text)?;
        Some((nth, term.position))
    };
    let sequence = all.iter().filter_map(place).collect();
    Ok((found.into_iter().map(|pair| pair.1).collect(), sequence))
}
