//! What the passages of a folder mean, as vectors beside its index.
//!
//! A vector is kept under a hash of the passage's words, so that it outlives an index that is built anew and is made
//! once for words that stand twice.
use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::DocAddress;

use super::rows::shown;
use super::view::View;
use super::walk::short_hash;
use super::{Progress, Shared, off_thread};
use crate::error::Result;
use crate::seams::{Embedder, Vector, VectorIndex};

/// Passages turned into vectors between two commits.
const AT_ONCE: usize = 128;
/// Passages whose likeness counts: so many that the least alike of them is no longer alike at all.
const NEAREST: usize = 1_000;
/// How much likeness counts beside words, both scaled to at most 1. Of 0.7 to 2 and of 100 to 1,000 passages the best on
/// the development halves of three collections together (abstracts, aerodynamics, biomedicine); all beat words alone.
const WEIGHT: f32 = 1.2;

/// What makes vectors of a folder's passages, and where they are kept.
#[derive(Clone)]
pub struct Meaning {
    /// Makes them.
    pub embedder: Arc<dyn Embedder>,
    /// Keeps them; of this folder and this embedder alone.
    pub vectors: Arc<dyn VectorIndex>,
}

impl Meaning {
    /// The keys of the passages most like `query`, with their likeness.
    pub(super) async fn near(&self, query: &str) -> Result<Vec<(u64, f32)>> {
        let made = self.embedder.embed(&[query]).await?;
        match made.first() {
            Some(it) => self.vectors.nearest(it, NEAREST).await,
            None => Ok(Vec::new()),
        }
    }

    /// Makes the vectors that the passages of `folder` lack and forgets those of passages that are gone; how many were
    /// made.
    pub(super) async fn learn(
        &self,
        folder: &Arc<Shared>,
        on: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<usize> {
        let at = Arc::clone(folder);
        let places = off_thread(move || at.passages()).await??;
        let keys: Vec<u64> = places.keys().copied().collect();
        self.vectors.retain(&keys).await?;
        let lacking = self.vectors.lacking(&keys).await?;
        let mut done = 0;
        for keys in lacking.chunks(AT_ONCE) {
            on(Progress {
                files: done as u64,
                of: lacking.len() as u64,
                documents: 0,
                embedding: true,
            });
            let wanted: Vec<(u64, DocAddress)> = keys.iter().map(|it| (*it, places[it])).collect();
            let at = Arc::clone(folder);
            let passages = off_thread(move || at.words(&wanted)).await??;
            let texts: Vec<&str> = passages.iter().map(|it| it.2.as_str()).collect();
            let made = self.embedder.embed(&texts).await?;
            let row = |((key, url, _), values): (&(u64, String, String), Vec<f32>)| Vector {
                key: *key,
                url: url.clone(),
                values,
            };
            let rows: Vec<Vector> = passages.iter().zip(made).map(row).collect();
            self.vectors.put(&rows).await?;
            done += rows.len();
        }
        Ok(done)
    }
}

/// The words of a passage that are turned into a vector: what its document is called, then itself.
pub(super) fn text(title: &str, words: &str) -> String {
    format!("{title}\n{words}")
}

/// What the vector of `text` is kept under.
pub(super) fn key(text: &str) -> u64 {
    short_hash(&[text.as_bytes()])
}

/// One living passage for each key.
pub(super) fn keys(view: &View) -> tantivy::Result<BTreeMap<u64, DocAddress>> {
    let rows = view.by_vector()?.iter();
    Ok(rows.map(|it| (it.0, view.address(it.1))).collect())
}

/// Key, address and words of each passage.
pub(super) fn words(
    view: &View,
    wanted: &[(u64, DocAddress)],
) -> tantivy::Result<Vec<(u64, String, String)>> {
    let row = |(key, at): &(u64, DocAddress)| {
        let it = shown(view, *at)?;
        let words = text(&it.title, &it.text);
        Ok((*key, it.url, words))
    };
    wanted.iter().map(row).collect()
}

/// Scales the scores of passages to at most 1 and adds what their likeness is worth (a convex combination, which Bruch
/// and others 2023 find better than fusion by rank). Likeness counts from the least alike of `near` on.
pub(super) fn join(view: &View, near: &[(u64, f32)], scores: &mut [f32]) -> tantivy::Result<()> {
    let (Some(first), Some(last)) = (near.first(), near.last()) else {
        return Ok(());
    };
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best > 0.0 {
        scores.iter_mut().for_each(|it| *it /= best);
    }
    let width = (first.1 - last.1).max(f32::MIN_POSITIVE);
    let rows = view.by_vector()?;
    for (key, likeness) in near {
        let from = rows.partition_point(|it| it.0 < *key);
        for (_, row) in rows[from..].iter().take_while(|it| it.0 == *key) {
            scores[*row as usize] += WEIGHT * (likeness - last.1) / width;
        }
    }
    Ok(())
}
