//! Ranks documents for a query.
//!
//! 1. BM25 over passages, in which a word of the title counts more ([`super::postings`]). Each word of the query counts once:
//!    a long question repeats its filler words, not its subject.
//! 2. Passages with another name of what the query names gain, with a lower weight ([`super::expansion`]).
//! 3. The best passages gain by how much of the query they cover, and by query words that are close together
//!    ([`super::proximity`]).
//! 4. Words that the best passages share are added to the query with a low weight ([`super::feedback`]); the best by words, and by
//!    similarity where that is known.
//! 5. Documents of a publisher or a date that the query mentions gain. If it mentions several publishers, each further
//!    document of one counts for less ([`super::mentions`]).
//! 6. Passages similar to the query gain too: of all, if all have vectors, else of the first by words ([`super::passage_vectors`]). The
//!    first ranking moves the query towards its best passages, the second is by the moved query ([`super::semantic`]).
//! 7. The score of a document is that of its best passage and a small share of the others ([`super::documents`]).
//!
//! The weights were chosen on the development halves of five public collections (biomedicine, science, aerodynamics,
//! electronics, news, Wikipedia) as those that help on all, not best on one; `evals retrieve` measures them.
use std::collections::HashSet;

use tantivy::DocId;

use super::documents::{RankedDocument, by_document, top_rows};
use super::expansion::expansions;
use super::feedback::feedback;
use super::filter::Filter;
use super::mentions::QueryMentions;
use super::postings::ScoredRow;
use super::proximity::proximity;
use super::query_terms::query_terms;
use super::search_index::SearchIndex;
use super::semantic::{FEEDBACK_PASSAGES, SimilarPassages};
use super::snapshot::{IndexSnapshot, RowId};
use super::term_index::{DiskTermIndex, TermIndex};
use ibid_core::domain::Synonym;

/// What covering the whole query adds to the score of a passage, as a share of it.
const COVERAGE_WEIGHT: f32 = 0.5;
/// Passages that are reranked by coverage and proximity.
const MAX_RERANKED: usize = 50;

/// At least the best `n` documents that have a word of `query` or are `near` it, best first.
pub(super) fn rank(
    index: &SearchIndex,
    query: &str,
    n: usize,
    filter: &Filter,
    near: &SimilarPassages,
) -> tantivy::Result<Vec<RankedDocument>> {
    let view = &index.snapshot;
    let (scores, mentions) = scores(index, query, filter, near)?;
    let mut ranked = by_document(view, &scores, n.max(mentions.rerank_depth()));
    mentions.diversify(view, &mut ranked)?;
    Ok(ranked)
}

/// The keys of the vectors of the `n` passages that the words of `query` rank first, best first; ties in the order of documents.
pub(super) fn first_passages(
    index: &SearchIndex,
    query: &str,
    n: usize,
    filter: &Filter,
) -> tantivy::Result<Vec<u64>> {
    let (scores, _) = scores(index, query, filter, &SimilarPassages::default())?;
    let found = keys_of_best(&index.snapshot, &scores, n)?;
    Ok(found.into_iter().map(|it| it.0).collect())
}

/// The keys of the vectors of the passages that a query is moved towards, with their scores, best first. None if `query` mentions
/// publishers or days: it asks for one document of each, not for what is like the best one.
pub(super) fn feedback_passages(
    index: &SearchIndex,
    query: &str,
    filter: &Filter,
    near: &SimilarPassages,
) -> tantivy::Result<Vec<(u64, f32)>> {
    let (scores, mentions) = scores(index, query, filter, near)?;
    match mentions.is_empty() {
        true => keys_of_best(&index.snapshot, &scores, FEEDBACK_PASSAGES),
        false => Ok(Vec::new()),
    }
}

/// The keys of the vectors of the best `n` passages, each once, and their scores.
fn keys_of_best(
    view: &IndexSnapshot,
    scores: &[f32],
    n: usize,
) -> tantivy::Result<Vec<(u64, f32)>> {
    let mut keys = Vec::with_capacity(n);
    let mut seen = HashSet::with_capacity(n);
    for passage in top_passages(view, scores, n) {
        // Equal passages share a vector.
        let key = view.vector_key(passage.row)?.filter(|key| seen.insert(*key));
        keys.extend(key.map(|key| (key, passage.score)));
    }
    Ok(keys)
}

/// The score of every row by the words of `query` and by similarity, and the publishers and days that it mentions.
fn scores(
    index: &SearchIndex,
    query: &str,
    filter: &Filter,
    near: &SimilarPassages,
) -> tantivy::Result<(Vec<f32>, QueryMentions)> {
    let view = &index.snapshot;
    let (mut scores, mentions) = word_scores(index, query, filter, near)?;
    if !near.is_empty() {
        near.add(view, &mut scores)?;
        apply_filter(view, filter, &mut scores)?;
    }
    Ok((scores, mentions))
}

/// The score of every row by the words of `query`, and the publishers and days that it mentions. Words are added from passages that are
/// `near`, too.
fn word_scores(
    index: &SearchIndex,
    query: &str,
    filter: &Filter,
    near: &SimilarPassages,
) -> tantivy::Result<(Vec<f32>, QueryMentions)> {
    let view = &index.snapshot;
    let disk = DiskTermIndex::new(view);
    let lexicon = term_index(index, &disk)?;
    let (wanted, sequence) = query_terms(view, lexicon, query)?;
    let mut scores = vec![0.0f32; view.rows()];
    for term in &wanted {
        term.postings.add(term.idf, &mut scores, |_| true);
    }
    let expanded = expansions(index, lexicon, query, &wanted)?;
    expanded.iter().for_each(|it| it.add(&mut scores));
    apply_filter(view, filter, &mut scores)?;
    let weight: f32 = wanted.iter().map(|it| it.idf).sum();
    let mut best = top_passages(view, &scores, MAX_RERANKED);
    let rows: Vec<RowId> = best.iter().map(|it| it.row).collect();
    let bonuses = proximity(lexicon, &wanted, &sequence, &rows)?;
    for (at, bonus) in best.iter_mut().zip(bonuses) {
        let covered = wanted.iter().filter(|term| term.postings.position_of(at.row).is_some());
        let covered: f32 = covered.map(|it| it.idf).sum::<f32>()
            + expanded.iter().map(|it| it.covered(at.row, &wanted)).sum::<f32>();
        at.score = at.score * (1.0 + COVERAGE_WEIGHT * covered / weight) + bonus;
        scores[at.row as usize] = at.score;
    }
    let mentions = QueryMentions::find(view, query)?;
    if mentions.is_empty() {
        near.add_to(view, &mut best)?;
    }
    // A stable sort: ties stay in the order of document ids.
    best.sort_by(|a, b| b.score.total_cmp(&a.score));
    for (weight, postings) in feedback(view, lexicon, &best, weight)? {
        postings.add(weight, &mut scores, |score| score > 0.0);
    }
    mentions.boost(view, &mut scores)?;
    Ok((scores, mentions))
}

/// The postings in memory, if they are few enough, else those on `disk`.
fn term_index<'a>(
    index: &'a SearchIndex,
    disk: &'a DiskTermIndex<'a>,
) -> tantivy::Result<&'a dyn TermIndex> {
    Ok(index.memory_index()?.map_or(disk as &dyn TermIndex, |memory| memory))
}

/// The synonyms by which [`rank`] expands `query`.
pub(super) fn query_synonyms(index: &SearchIndex, query: &str) -> tantivy::Result<Vec<Synonym>> {
    let disk = DiskTermIndex::new(&index.snapshot);
    let lexicon = term_index(index, &disk)?;
    let (wanted, _) = query_terms(&index.snapshot, lexicon, query)?;
    let expanded = expansions(index, lexicon, query, &wanted)?;
    Ok(expanded.into_iter().map(|it| it.synonym).collect())
}

/// Sets the scores of rows that the filter excludes to 0.
fn apply_filter(view: &IndexSnapshot, filter: &Filter, scores: &mut [f32]) -> tantivy::Result<()> {
    if *filter == Filter::default() {
        return Ok(());
    }
    for (base, segment) in view.segments() {
        let passing = filter.matching_rows(segment, view.fields)?;
        for doc in 0..segment.max_doc() {
            let sum = &mut scores[(base + doc) as usize];
            if *sum > 0.0 && !passing(doc as DocId) {
                *sum = 0.0;
            }
        }
    }
    Ok(())
}

/// The best `n` passages by their score so far, best first; ties in the order of documents.
fn top_passages(view: &IndexSnapshot, scores: &[f32], n: usize) -> Vec<ScoredRow> {
    let mut found = top_rows(scores, n);
    found.sort_unstable_by(|a, b| {
        let by_place = || view.document_position(a.row).cmp(&view.document_position(b.row));
        b.score.total_cmp(&a.score).then_with(by_place)
    });
    found.truncate(n);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{Folder, FolderOptions};
    use ibid_extract::ExtractLimits;

    const WORDS: [&str; 12] = [
        "cork",
        "oak",
        "bark",
        "harvest",
        "forest",
        "nine",
        "years",
        "bottle",
        "wine",
        "stopper",
        "tree-bark",
        "the",
    ];

    /// Documents of one and of many passages, some with a site and an author, some changed since.
    fn folder(dir: &std::path::Path) -> Folder {
        let docs = dir.join("docs");
        std::fs::create_dir_all(&docs).unwrap();
        let sentence = |seed: usize| {
            let word = |nth: usize| WORDS[(seed * 7 + nth * nth * (1 + seed % 5)) % WORDS.len()];
            let words: Vec<&str> = (0..9).map(word).collect();
            format!("Cork {} item{seed}.", words.join(" "))
        };
        let row = |nth: usize, many: usize| {
            let text: Vec<String> = (0..many).map(|index| sentence(nth + index)).collect();
            let mut row = serde_json::json!({"id": format!("d{nth}"), "title": sentence(nth + 3), "text": text.join(" ")});
            if nth.is_multiple_of(3) {
                row["source"] = "The Lantern".into();
                row["author"] = "Ann Oak".into();
            }
            row.to_string()
        };
        let write = |name: &str, from: usize, many: usize| {
            let rows: Vec<String> = (from..from + 20).map(|index| row(index, many)).collect();
            std::fs::write(docs.join(name), rows.join("\n")).unwrap();
        };
        write("short.jsonl", 0, 3);
        write("long.jsonl", 20, 120);
        let options = FolderOptions::new(Vec::new(), ExtractLimits::default());
        let folder = Folder::open(&docs, &dir.join("cache"), &options).unwrap();
        folder.refresh(&mut |_| {}).unwrap();
        write("short.jsonl", 1, 4);
        folder.refresh(&mut |_| {}).unwrap();
        folder
    }

    #[test]
    fn from_memory_and_from_the_files_come_the_same_documents_with_the_same_scores() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        let index = folder.search_index();
        let on_disk = index.on_disk().unwrap();
        assert!(index.memory_index().unwrap().is_some());
        assert!(on_disk.memory_index().unwrap().is_none());
        let queries = [
            "harvest of cork oak bark",
            "wine bottle stopper item7",
            "The Lantern on tree-bark",
            "the",
            "none",
        ];
        for query in queries {
            let none = Filter::default();
            let fast = rank(&index, query, 10, &none, &SimilarPassages::default()).unwrap();
            let slow = rank(&on_disk, query, 10, &none, &SimilarPassages::default()).unwrap();
            assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{query}");
            assert_eq!(fast.is_empty(), query == "none");
        }
    }

    #[test]
    fn the_first_documents_are_the_same_however_many_are_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        let index = folder.search_index();
        let first = |n: usize| {
            let ranked = rank(
                &index,
                "cork oak harvest years",
                n,
                &Filter::default(),
                &SimilarPassages::default(),
            )
            .unwrap();
            let scores: Vec<f32> = ranked.iter().take(3).map(|it| it.score).collect();
            scores
        };
        assert_eq!(first(3).len(), 3);
        assert_eq!(first(3), first(40));
    }
}
