//! Adds the other name of a thing to a query that has one of its names ([`super::synonym_table`]).
//!
//! The other name counts like a word of the query, with a lower weight, and only in passages that lack the name in the
//! query: a passage that explains both gains nothing twice. A name of several words counts where a passage has them all.
use std::collections::BTreeMap;

use super::postings::PassagePostings;
use super::query_terms::QueryTerm;
use super::search_index::SearchIndex;
use super::snapshot::RowId;
use super::synonym_table::{NameWord, SynonymMatch, SynonymTable, name_words};
use super::term_index::{TermId, TermIndex};
use ibid_core::domain::Synonym;

/// The weight of the other name relative to the one in the query.
const SYNONYM_WEIGHT: f32 = 0.5;
/// Synonyms that expand one query, things that one of its names may mean, and other names of a name.
const MAX_EXPANSIONS: usize = 12;
const MAX_MEANINGS: usize = 3;
const MAX_NAMES: usize = 8;
/// A meaning is taken alone if its passages have this many times as much of the rest of the query as those of any other.
const CLEAR_LEAD: f32 = 2.0;
/// A short form in lower case is meant if one passage in this many with the word explains it: "cat" is seldom a scan.
const MAX_PASSAGES_PER_DOCUMENT: u64 = 5;

/// The passages with another name of a thing that the query names.
pub(super) struct Expansion {
    /// The synonym.
    pub(super) synonym: Synonym,
    /// Which terms of the query it stands for.
    stands_for: Vec<usize>,
    /// The weight of the other name as a share of the one in the query.
    share: f32,
    /// The passages that have the other name and lack the one in the query, in order, with its count.
    rows: Vec<(RowId, f32)>,
    /// The weight of a count of 1.
    weight: f32,
}

impl Expansion {
    /// Adds to the scores of the passages.
    pub(super) fn add(&self, scores: &mut [f32]) {
        for (row, count) in &self.rows {
            scores[*row as usize] += self.weight * count;
        }
    }

    /// The weight of the terms of the query that the other name stands for in a passage.
    pub(super) fn covered(&self, row: RowId, wanted: &[QueryTerm<'_>]) -> f32 {
        if self.rows.binary_search_by_key(&row, |pair| pair.0).is_err() {
            return 0.0;
        }
        let lacks = |term: &&QueryTerm<'_>| term.postings.position_of(row).is_none();
        let lacking = self.stands_for.iter().map(|nth| &wanted[*nth]).filter(lacks);
        self.share * lacking.map(|term| term.idf).sum::<f32>()
    }
}

/// The expansions of a query, whose terms are `wanted`.
pub(super) fn expansions(
    index: &SearchIndex,
    lexicon: &dyn TermIndex,
    query: &str,
    wanted: &[QueryTerm<'_>],
) -> tantivy::Result<Vec<Expansion>> {
    let table = index.synonyms()?;
    if table.all.is_empty() {
        return Ok(Vec::new());
    }
    let is_usual = |synonym: &Synonym, stem: &str| {
        let passages = lexicon.term(stem).map_or(Ok(0), |term| lexicon.passage_count(term))?;
        Ok(synonym.documents * MAX_PASSAGES_PER_DOCUMENT >= passages as u64)
    };
    let query = name_words(query);
    let matches = table.matches(&query, &is_usual)?;
    let mut found = Vec::new();
    for same in matches.chunk_by(|a, b| a.words == b.words) {
        let context = QueryContext { index, lexicon, table, query: &query, wanted };
        found.extend(context.expand(&same[..same.len().min(MAX_NAMES)])?);
    }
    found.truncate(MAX_EXPANSIONS);
    Ok(found)
}

/// What an expansion is made from.
struct QueryContext<'a> {
    index: &'a SearchIndex,
    lexicon: &'a dyn TermIndex,
    table: &'a SynonymTable,
    query: &'a [NameWord],
    wanted: &'a [QueryTerm<'a>],
}

impl QueryContext<'_> {
    /// The expansions of one name in the query by the other names that `meanings` give it.
    fn expand(&self, meanings: &[SynonymMatch]) -> tantivy::Result<Vec<Expansion>> {
        let Some(words) = meanings.first().map(|it| it.words.clone()) else {
            return Ok(Vec::new());
        };
        let own = self.terms(&self.query[words])?;
        let stands_for: Vec<usize> = (0..self.wanted.len())
            .filter(|nth| own.iter().any(|term| term.0 == self.wanted[*nth].term))
            .collect();
        let own_weight: f32 = stands_for.iter().map(|nth| self.wanted[*nth].idf).sum();
        if stands_for.is_empty() {
            return Ok(Vec::new());
        }
        let has_own = rows_with_all(&own);
        let mut found = Vec::new();
        for meaning in meanings {
            let synonym = &self.table.all[meaning.nth];
            let other = if meaning.has_name { &synonym.other } else { &synonym.name };
            let other = self.terms(&name_words(other))?;
            let all = rows_with_all(&other);
            let weight = self.index.snapshot.idf_weight(all.len()).min(own_weight);
            let support = self.support(&all, &stands_for);
            let mut rows = all;
            rows.retain(|pair| has_own.binary_search_by_key(&pair.0, |own| own.0).is_err());
            let expansion = Expansion {
                synonym: synonym.clone(),
                stands_for: stands_for.clone(),
                share: SYNONYM_WEIGHT,
                rows,
                weight,
            };
            found.push(Meaning { thing: self.table.thing(meaning.nth), support, expansion });
        }
        Ok(weigh_meanings(found))
    }

    /// The terms of a name with their postings; empty if the index lacks one of them.
    fn terms(&self, name: &[NameWord]) -> tantivy::Result<Vec<(TermId, PassagePostings<'_>)>> {
        let mut found: Vec<(TermId, PassagePostings<'_>)> = Vec::new();
        for word in name.iter().filter(|word| !word.stop || name.len() == 1) {
            let Some(term) = self.lexicon.term(&word.stem) else {
                return Ok(Vec::new());
            };
            if found.iter().all(|known| known.0 != term) {
                found.push((term, self.lexicon.postings(term)?));
            }
        }
        Ok(found)
    }

    /// How much of the rest of the query the passages of a meaning have on average.
    fn support(&self, rows: &[(RowId, f32)], stands_for: &[usize]) -> f32 {
        let rest = (0..self.wanted.len()).filter(|nth| !stands_for.contains(nth));
        let rest: Vec<&QueryTerm<'_>> = rest.map(|nth| &self.wanted[nth]).collect();
        let share = |row: RowId| {
            let has = |term: &&&QueryTerm<'_>| term.postings.position_of(row).is_some();
            rest.iter().filter(has).map(|term| term.idf).sum::<f32>()
        };
        rows.iter().map(|pair| share(pair.0)).sum::<f32>() / rows.len().max(1) as f32
    }
}

/// An expansion, the thing that its names name, and how much of the rest of the query the passages with the other name have.
struct Meaning {
    thing: usize,
    support: f32,
    expansion: Expansion,
}

/// Of several things that a name may mean, the one that the rest of the query speaks for; else each with the share of documents that
/// explain it.
fn weigh_meanings(found: Vec<Meaning>) -> Vec<Expansion> {
    // Of each thing: the support, and the documents.
    let mut things: BTreeMap<usize, (f32, u64)> = BTreeMap::new();
    for it in &found {
        let (support, documents) = things.entry(it.thing).or_default();
        *support = support.max(it.support);
        *documents = (*documents).max(it.expansion.synonym.documents);
    }
    let mut things: Vec<(usize, (f32, u64))> = things.into_iter().collect();
    things.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    things.truncate(MAX_MEANINGS);
    if let [first, second, ..] = things.as_slice()
        && first.1.0 > CLEAR_LEAD * second.1.0
    {
        things.truncate(1);
    }
    let all: u64 = things.iter().map(|it| it.1.1).sum();
    let weigh = |it: Meaning| {
        let (_, (_, documents)) = things.iter().find(|thing| thing.0 == it.thing)?;
        let mut expansion = it.expansion;
        expansion.share *= *documents as f32 / all.max(1) as f32;
        expansion.weight *= expansion.share;
        Some(expansion)
    };
    found.into_iter().filter_map(weigh).collect()
}

/// The passages that have every one of `terms`, in order, each with its smallest count.
fn rows_with_all(terms: &[(TermId, PassagePostings<'_>)]) -> Vec<(RowId, f32)> {
    let Some((rarest, _)) = terms.iter().enumerate().min_by_key(|(_, term)| term.1.rows.len())
    else {
        return Vec::new();
    };
    let postings = &terms[rarest].1;
    let count = |(row, count): (&RowId, &f32)| {
        let mut least = *count;
        for (_, other) in terms {
            least = least.min(other.counts[other.position_of(*row)?]);
        }
        Some((*row, least))
    };
    postings.rows.iter().zip(postings.counts.iter()).filter_map(count).collect()
}
