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
use tantivy::{DocAddress, DocId};

use super::Filter;
use super::feedback::feedback;
use super::lexicon::{Lexicon, OnDisk, TermId};
use super::meaning;
use super::named::Named;
use super::nearness::nearness;
use super::postings::{At, Occurrences};
use super::terms::terms;
use super::view::{Row, View};

/// Rare words count more than by their idf alone: questions are wordy, and their rare words name
/// what they are about.
const IDF_POWER: f32 = 1.3;
/// What covering the whole query adds to the score of a passage, as a share of it.
const COVERAGE: f32 = 0.5;
/// Passages that are looked at closely.
const CLOSELY: usize = 50;
/// What a document's further passages add, as a share of their score.
const FURTHER: f32 = 0.05;
/// A query is read up to this many bytes; what follows seldom says something new.
const QUERY_BYTES: usize = 16 << 10;
/// Passages that are gathered into documents at first; more where these do not decide.
const LOOKED_AT: usize = 100;
/// Further passages of a document that add to it.
const OTHERS: usize = 3;
/// Words of a query that count, the rarest first.
const QUERY_WORDS: usize = 48;

/// One document found: its score and its passages that matched, best first.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) score: f32,
    pub(super) passages: Vec<(f32, Row)>,
}

impl Ranked {
    /// Where its best passages lie, best first.
    pub(super) fn addresses(&self, view: &View) -> impl Iterator<Item = (f32, DocAddress)> {
        self.passages.iter().map(|it| (it.0, view.address(it.1)))
    }
}

/// A word of the query.
pub(super) struct Wanted<'a> {
    pub(super) term: TermId,
    /// Its weight.
    pub(super) idf: f32,
    pub(super) found: Occurrences<'a>,
}

/// The `n` documents, at least, that have a word of `query` or are `near` it and are best of all, best first.
pub(super) fn rank(
    view: &View,
    query: &str,
    n: usize,
    filter: &Filter,
    near: &[(u64, f32)],
) -> tantivy::Result<Vec<Ranked>> {
    match view.resident()? {
        Some(it) => rank_by(view, it, query, n, filter, near),
        None => rank_by(view, &OnDisk::of(view), query, n, filter, near),
    }
}

fn rank_by(
    view: &View,
    lexicon: &dyn Lexicon,
    query: &str,
    n: usize,
    filter: &Filter,
    near: &[(u64, f32)],
) -> tantivy::Result<Vec<Ranked>> {
    let (wanted, sequence) = wanted(view, lexicon, query)?;
    let mut scores = vec![0.0f32; view.rows()];
    for it in &wanted {
        it.found.add(it.idf, &mut scores, |_| true);
    }
    leave_out(view, filter, &mut scores)?;
    let weight: f32 = wanted.iter().map(|it| it.idf).sum();
    let mut best = closely(view, &scores);
    let rows: Vec<Row> = best.iter().map(|it| it.row).collect();
    let together = nearness(lexicon, &wanted, &sequence, &rows)?;
    for (at, together) in best.iter_mut().zip(together) {
        let covered = wanted.iter().filter(|it| it.found.nth(at.row).is_some());
        let covered: f32 = covered.map(|it| it.idf).sum();
        at.score = at.score * (1.0 + COVERAGE * covered / weight) + together;
        scores[at.row as usize] = at.score;
    }
    // Stable: what ties stays in the order of document ids.
    best.sort_by(|a, b| b.score.total_cmp(&a.score));
    for (weight, found) in feedback(view, lexicon, &best, weight)? {
        found.add(weight, &mut scores, |it| it > 0.0);
    }
    let named = Named::of(view, query)?;
    named.favour(view, &mut scores)?;
    if !near.is_empty() {
        meaning::join(view, near, &mut scores)?;
        leave_out(view, filter, &mut scores)?;
    }
    let mut ranked = by_document(view, &scores, n.max(named.ordered()));
    named.alternate(view, &mut ranked)?;
    Ok(ranked)
}

fn leave_out(view: &View, filter: &Filter, scores: &mut [f32]) -> tantivy::Result<()> {
    if *filter == Filter::default() {
        return Ok(());
    }
    for (base, segment) in view.segments() {
        let passing = filter.passing(segment, view.fields)?;
        for doc in 0..segment.max_doc() {
            let sum = &mut scores[(base + doc) as usize];
            if *sum > 0.0 && !passing(doc as DocId) {
                *sum = 0.0;
            }
        }
    }
    Ok(())
}

/// Neighbours in the query, by their places among the words wanted.
type Pairs = Vec<(usize, usize)>;

/// The words of a query that are in the index, and the order they stand in: which word, and its
/// place. Words without meaning of their own count only where there are no others.
fn wanted<'a>(
    view: &View,
    lexicon: &'a dyn Lexicon,
    query: &str,
) -> tantivy::Result<(Vec<Wanted<'a>>, Pairs)> {
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
        let Some(term) = lexicon.term(text) else {
            continue;
        };
        let it = lexicon.occurrences(term)?;
        if !it.rows.is_empty() {
            let idf = view.idf(it.rows.len()).powf(IDF_POWER);
            found.push((
                text,
                Wanted {
                    term,
                    idf,
                    found: it,
                },
            ));
        }
    }
    found.sort_by(|a, b| b.1.idf.total_cmp(&a.1.idf).then_with(|| a.0.cmp(b.0)));
    found.truncate(QUERY_WORDS);
    let place = |it: &super::terms::Term| {
        let nth = found.iter().position(|known| known.0 == it.text)?;
        Some((nth, it.position))
    };
    let sequence = all.iter().filter_map(place).collect();
    Ok((found.into_iter().map(|it| it.1).collect(), sequence))
}

/// The rows whose score is at least that of the `n`-th best; all that match where they are fewer. Whatever ties with the
/// last one stays, so that where rows happen to lie does not decide.
fn best(scores: &[f32], n: usize) -> Vec<At> {
    let mut kept: Vec<At> = Vec::new();
    let mut least = f32::MIN_POSITIVE;
    let mut room = 4 * n;
    for (row, score) in (0..).zip(scores) {
        if *score >= least {
            kept.push(At { row, score: *score });
            if kept.len() >= room {
                least = cut(&mut kept, n);
                room = room.max(2 * kept.len());
            }
        }
    }
    cut(&mut kept, n);
    kept
}

/// Keeps what scores as the `n`-th best or better; gives that score.
fn cut(kept: &mut Vec<At>, n: usize) -> f32 {
    if kept.len() <= n || n == 0 {
        return f32::MIN_POSITIVE;
    }
    let (_, last, _) = kept.select_nth_unstable_by(n - 1, |a, b| b.score.total_cmp(&a.score));
    let least = last.score;
    kept.retain(|it| it.score >= least);
    least
}

/// The best passages by what is known so far, best first; ties in the order of documents.
fn closely(view: &View, scores: &[f32]) -> Vec<At> {
    let mut found = best(scores, CLOSELY);
    found.sort_unstable_by(|a, b| {
        let by_place = || view.place(a.row).cmp(&view.place(b.row));
        b.score.total_cmp(&a.score).then_with(by_place)
    });
    found.truncate(CLOSELY);
    found
}

/// The best `n` documents or more, best first; ties in the order of document ids, which are hashes of file and place.
fn by_document(view: &View, scores: &[f32], n: usize) -> Vec<Ranked> {
    let mut looked_at = LOOKED_AT.max(4 * n);
    loop {
        let found = best(scores, looked_at);
        let least = found.iter().map(|it| it.score).fold(f32::MAX, f32::min);
        let all = found.len() < looked_at;
        let mut ranked = documents(view, scores, &found);
        // What was not looked at is in a document that is worth less than this, unless it was seen.
        let most = least * (1.0 + FURTHER * OTHERS as f32);
        let safe = ranked.iter().take_while(|it| it.score > most).count();
        if all || safe >= n {
            ranked.truncate(if all { ranked.len() } else { safe });
            return ranked;
        }
        looked_at *= 2;
    }
}

/// The documents of `found` passages with all their passages that match.
fn documents(view: &View, scores: &[f32], found: &[At]) -> Vec<Ranked> {
    let mut firsts: Vec<(u64, Row)> = Vec::with_capacity(found.len());
    for at in found {
        if let Some((document, nth)) = view.place(at.row) {
            firsts.push((document, at.row.saturating_sub(nth)));
        }
    }
    firsts.sort_unstable();
    firsts.dedup();
    let of = |(document, first): &(u64, Row)| {
        // The passages of a document are written one after another.
        let rows = (*first..).take_while(|it| view.place(*it).is_some_and(|at| at.0 == *document));
        let scored = rows.map(|it| (scores[it as usize], it));
        let mut passages: Vec<(f32, Row)> = scored.filter(|it| it.0 > 0.0).collect();
        passages.sort_by(|a, b| b.0.total_cmp(&a.0));
        let further: f32 = passages.iter().skip(1).take(OTHERS).map(|it| it.0).sum();
        Ranked {
            score: passages.first().map_or(0.0, |it| it.0) + FURTHER * further,
            passages,
        }
    };
    let mut ranked: Vec<Ranked> = firsts.iter().map(of).collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::documents::Limits;
    use crate::adapters::folder::{Folder, FolderOptions};

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
            let text: Vec<String> = (0..many).map(|it| sentence(nth + it)).collect();
            let mut row = serde_json::json!({"id": format!("d{nth}"), "title": sentence(nth + 3), "text": text.join(" ")});
            if nth.is_multiple_of(3) {
                row["source"] = "The Lantern".into();
                row["author"] = "Ann Oak".into();
            }
            row.to_string()
        };
        let write = |name: &str, from: usize, many: usize| {
            let rows: Vec<String> = (from..from + 20).map(|it| row(it, many)).collect();
            std::fs::write(docs.join(name), rows.join("\n")).unwrap();
        };
        write("short.jsonl", 0, 3);
        write("long.jsonl", 20, 120);
        let options = FolderOptions::new(Vec::new(), Limits::default());
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
        let view = folder.view();
        let resident = view.resident().unwrap().unwrap();
        let queries = [
            "harvest of cork oak bark",
            "wine bottle stopper item7",
            "The Lantern on tree-bark",
            "the",
            "none",
        ];
        for query in queries {
            let none = Filter::default();
            let fast = rank_by(&view, resident, query, 10, &none, &[]).unwrap();
            let slow = rank_by(&view, &OnDisk::of(&view), query, 10, &none, &[]).unwrap();
            assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{query}");
            assert_eq!(fast.is_empty(), query == "none");
        }
    }

    #[test]
    fn the_first_documents_are_the_same_however_many_are_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        let view = folder.view();
        let first = |n: usize| {
            let ranked = rank(&view, "cork oak harvest years", n, &Filter::default(), &[]).unwrap();
            let scores: Vec<f32> = ranked.iter().take(3).map(|it| it.score).collect();
            scores
        };
        assert_eq!(first(3).len(), 3);
        assert_eq!(first(3), first(40));
    }

    #[test]
    fn the_best_of_many_are_kept_with_all_that_tie() {
        let scores: Vec<f32> = (0..1000).map(|it| ((it * 37) % 100) as f32).collect();
        let found = best(&scores, 15);
        assert_eq!(found.len(), 20);
        assert!(found.iter().all(|it| it.score >= 98.0));
        assert_eq!(best(&[0.0, 2.0, 1.0], 5).len(), 2);
    }
}
