//! The order of documents for a query.
//!
//! 1. BM25 over passages, a word of the title counting more ([`super::postings`]). Each word of the
//!    query counts once: a long question repeats what it is built of, not what it asks for.
//! 2. The best passages gain by how much of the query they cover, and by query words that stand
//!    together ([`super::nearness`]).
//! 3. Words the best passages share are asked for too, weakly ([`super::feedback`]).
//! 4. Documents of a publisher or a day that the query names gain, and where it names several
//!    publishers, each further document of one counts for less ([`super::named`]).
//! 5. Where passages have vectors, what is like the query in meaning gains too ([`super::meaning`]).
//! 6. A document is worth its best passage and a little for the others.
//!
//! The weights were chosen on the development halves of five public collections (biomedicine,
//! science, aerodynamics, electronics, news, Wikipedia) as those that help on all, not best on one;
//! `evals retrieve` measures them.
use std::collections::BTreeMap;

use tantivy::{DocAddress, DocId, Searcher};

use super::Filter;
use super::feedback::feedback;
use super::meaning;
use super::named::Named;
use super::nearness::nearness;
use super::postings::{At, Occurrences, Statistics, Wanted, column};
use super::schema::Fields;
use super::terms::terms;

/// Rare words count more than by their idf alone: questions are wordy, and their rare words name
/// what they are about.
const IDF_POWER: f32 = 1.3;
/// What covering the whole query adds to the score of a passage, as a share of it.
const COVERAGE: f32 = 0.5;
/// Passages that are looked at closely.
const CLOSELY: usize = 50;
/// Passages that are gathered into documents; what scores less is not shown to anybody.
const GATHERED: usize = 2_000;
/// What a document's further passages add, as a share of their score.
const FURTHER: f32 = 0.05;
/// A query is read up to this many bytes; what follows seldom says something new.
const QUERY_BYTES: usize = 16 << 10;
/// Words of a query that count, the rarest first.
const QUERY_WORDS: usize = 48;

/// One document found: its score and its passages that matched, best first.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) score: f32,
    pub(super) passages: Vec<(f32, DocAddress)>,
}

/// The documents that have a word of `query` or are `near` it, best first.
pub(super) fn rank(
    searcher: &Searcher,
    fields: Fields,
    statistics: &Statistics,
    query: &str,
    filter: &Filter,
    near: &[(u64, f32)],
) -> tantivy::Result<Vec<Ranked>> {
    let (wanted, sequence) = wanted(searcher, fields, statistics, query)?;
    let mut scores = Vec::new();
    for (ord, segment) in searcher.segment_readers().iter().enumerate() {
        let mut sums = vec![0.0f32; segment.max_doc() as usize];
        for it in &wanted {
            for (doc, count) in &it.found.0[ord] {
                sums[*doc as usize] += it.idf * count;
            }
        }
        let passing = filter.passing(segment, fields)?;
        for (doc, sum) in sums.iter_mut().enumerate() {
            if *sum > 0.0 && !passing(doc as DocId) {
                *sum = 0.0;
            }
        }
        scores.push(sums);
    }
    let weight: f32 = wanted.iter().map(|it| it.idf).sum();
    let mut best = top(searcher, &scores)?;
    let together = nearness(searcher, fields, &wanted, &sequence, &best)?;
    for (at, together) in best.iter_mut().zip(together) {
        let covered = wanted.iter().filter(|it| it.found.has(at.segment, at.doc));
        let covered: f32 = covered.map(|it| it.idf).sum();
        at.score = at.score * (1.0 + COVERAGE * covered / weight) + together;
        scores[at.segment][at.doc as usize] = at.score;
    }
    // Stable: what ties stays in the order of document ids.
    best.sort_by(|a, b| b.score.total_cmp(&a.score));
    for (weight, found) in feedback(searcher, fields, statistics, &best, weight)? {
        for (sums, found) in scores.iter_mut().zip(&found.0) {
            for (doc, count) in found {
                if sums[*doc as usize] > 0.0 {
                    sums[*doc as usize] += weight * count;
                }
            }
        }
    }
    let named = Named::of(searcher, fields, query)?;
    named.favour(searcher, fields, &mut scores)?;
    meaning::join(searcher, fields, filter, near, &mut scores)?;
    let mut ranked = by_document(searcher, &scores)?;
    named.alternate(searcher, fields, &mut ranked)?;
    Ok(ranked)
}

/// Neighbours in the query, by their places among the words wanted.
type Pairs = Vec<(usize, usize)>;

/// The words of a query that are in the index, and the order they stand in: which word, and its
/// place. Words without meaning of their own count only where there are no others.
fn wanted(
    searcher: &Searcher,
    fields: Fields,
    statistics: &Statistics,
    query: &str,
) -> tantivy::Result<(Vec<Wanted>, Pairs)> {
    let end = query.floor_char_boundary(QUERY_BYTES.min(query.len()));
    let mut all = terms(&query[..end]);
    if all.iter().any(|it| !it.stop) {
        all.retain(|it| !it.stop);
    }
    let mut distinct: Vec<&str> = all.iter().map(|it| it.text.as_str()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut found = Vec::new();
    for text in distinct {
        let it = Occurrences::of(searcher, fields, statistics, text)?;
        if it.passages() > 0 {
            found.push(Wanted {
                text: text.to_owned(),
                idf: statistics.idf(it.passages()).powf(IDF_POWER),
                found: it,
            });
        }
    }
    found.sort_by(|a, b| b.idf.total_cmp(&a.idf).then_with(|| a.text.cmp(&b.text)));
    found.truncate(QUERY_WORDS);
    let sequence = all
        .iter()
        .filter_map(|it| {
            let nth = found.iter().position(|known| known.text == it.text)?;
            Some((nth, it.position))
        })
        .collect();
    Ok((found, sequence))
}

/// The best passages by what is known so far, best first; ties in the order of documents.
fn top(searcher: &Searcher, scores: &[Vec<f32>]) -> tantivy::Result<Vec<At>> {
    let mut all: Vec<At> = Vec::new();
    for (segment, sums) in scores.iter().enumerate() {
        for (doc, score) in (0..).zip(sums) {
            if *score > 0.0 {
                all.push(At {
                    segment,
                    doc,
                    score: *score,
                });
            }
        }
    }
    if all.len() > CLOSELY {
        // Everything that scores as the last one kept stays for now, so that where rows happen to
        // lie does not decide.
        let (_, last, _) =
            all.select_nth_unstable_by(CLOSELY - 1, |a, b| b.score.total_cmp(&a.score));
        let least = last.score;
        all.retain(|it| it.score >= least);
    }
    let mut keyed = Vec::with_capacity(all.len());
    let columns: Vec<_> = searcher
        .segment_readers()
        .iter()
        .map(|it| Ok((column(it, "document")?, column(it, "nth")?)))
        .collect::<tantivy::Result<_>>()?;
    for at in all {
        let (document, nth) = &columns[at.segment];
        let value = |it: &Option<tantivy::columnar::Column<u64>>| {
            it.as_ref().and_then(|it| it.first(at.doc)).unwrap_or(0)
        };
        keyed.push(((value(document), value(nth)), at));
    }
    keyed.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
    keyed.truncate(CLOSELY);
    Ok(keyed.into_iter().map(|it| it.1).collect())
}

/// The score of the `n`-th best passage, 0 where there are not so many: whatever ties with it stays.
fn least(scores: &[Vec<f32>], n: usize) -> f32 {
    let mut all: Vec<f32> = scores
        .iter()
        .flatten()
        .copied()
        .filter(|it| *it > 0.0)
        .collect();
    if all.len() <= n {
        return 0.0;
    }
    *all.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a)).1
}

/// Passages gathered by document, best document first; ties in the order of document ids, which are
/// hashes of file and place.
fn by_document(searcher: &Searcher, scores: &[Vec<f32>]) -> tantivy::Result<Vec<Ranked>> {
    let least = least(scores, GATHERED);
    let mut documents: BTreeMap<u64, Vec<(f32, DocAddress)>> = BTreeMap::new();
    for (ord, segment) in searcher.segment_readers().iter().enumerate() {
        let Some(document) = column(segment, "document")? else {
            continue;
        };
        for (doc, score) in (0..).zip(&scores[ord]) {
            if *score > 0.0
                && *score >= least
                && let Some(id) = document.first(doc)
            {
                let at = DocAddress::new(ord as u32, doc);
                documents.entry(id).or_default().push((*score, at));
            }
        }
    }
    let mut ranked: Vec<Ranked> = documents
        .into_values()
        .map(|mut passages| {
            passages.sort_by(|a, b| b.0.total_cmp(&a.0));
            let further: f32 = passages.iter().skip(1).take(3).map(|it| it.0).sum();
            Ranked {
                score: passages.first().map_or(0.0, |it| it.0) + FURTHER * further,
                passages,
            }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(ranked)
}
