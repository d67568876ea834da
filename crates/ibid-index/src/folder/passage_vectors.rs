//! The vectors of a folder's passages: made before a question if few are missing, beside it, or all at once.
//!
//! Until all are there, the words choose the passages that meaning ranks: a search by meaning over half of a folder would favour
//! that half.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::{sleep, timeout};

use super::filter::Filter;
use super::folder_index::FolderIndex;
use super::hash::short_hash;
use super::refresh::IndexProgress;
use super::semantic::{SemanticIndex, SimilarPassages, moved_query, similarities};
use ibid_core::ports::{VectorIndex, crash_point};
use ibid_core::{Error, ErrorKind, Result};

/// Passages that a search ranks by meaning while others lack a vector, and the most without one for which a question waits: 200
/// abstracts take 1.3 s on two cores.
pub(super) const MAX_RANKED: usize = 200;
/// How long the searches of a question may make vectors, all together. A run over 5,730 abstracts searches ten times.
const RANKING_TIME: Duration = Duration::from_secs(1);
/// Passages embedded between two commits: of all, beside other work, and by a search.
const BATCH: usize = 128;
const SMALL_BATCH: usize = 16;
/// How long work beside a question rests after a batch, as a multiple of the time that the batch took.
const REST: u32 = 2;

/// How many passages of a folder have a vector. Equal passages count once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VectorCount {
    /// Passages of the folder.
    pub passages: u64,
    /// Those that have a vector; 0 where there are too many passages for vectors.
    pub with_vector: u64,
    /// Vectors made by this call.
    pub made: u64,
    /// Whether the folder has more passages than get vectors.
    pub too_many: bool,
}

impl VectorCount {
    /// Whether passages lack a vector.
    pub fn is_partial(&self) -> bool {
        self.with_vector < self.passages
    }
}

/// Makes and compares the vectors of one folder.
pub(super) struct PassageVectors {
    index: Arc<FolderIndex>,
    semantic: SemanticIndex,
    /// Whether all passages have a vector.
    complete: AtomicBool,
    /// The time left for searches to make vectors.
    left: Mutex<Duration>,
    /// Held while a batch is made: a search waits for one batch of the work beside it, and no passage is embedded twice.
    making: tokio::sync::Mutex<()>,
}

/// The passages of a folder: the keys of those without a vector, and the number of all.
struct MissingVectors {
    keys: Vec<u64>,
    passages: usize,
    too_many: bool,
}

impl MissingVectors {
    /// The count if `done` of them have got a vector, `made` by this process.
    fn count(&self, done: usize, made: usize) -> VectorCount {
        let lacking = if self.too_many { self.passages } else { self.keys.len() - done };
        VectorCount {
            passages: self.passages as u64,
            with_vector: (self.passages - lacking) as u64,
            made: made as u64,
            too_many: self.too_many,
        }
    }
}

impl PassageVectors {
    /// Where the vectors are stored.
    pub(super) fn stored(&self) -> Arc<dyn VectorIndex> {
        Arc::clone(&self.semantic.vectors)
    }

    pub(super) fn new(index: Arc<FolderIndex>, semantic: SemanticIndex) -> PassageVectors {
        PassageVectors {
            index,
            semantic,
            complete: AtomicBool::new(false),
            left: Mutex::new(RANKING_TIME),
            making: tokio::sync::Mutex::new(()),
        }
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Duration> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches may make vectors for some time again.
    pub(super) fn renew_time(&self) {
        *self.left() = RANKING_TIME;
    }

    /// Deletes the vectors of passages that are gone, and finds the passages that have none.
    async fn missing(&self) -> Result<MissingVectors> {
        let index = Arc::clone(&self.index);
        let keys = run_blocking(move || index.vector_keys()).await??;
        let passages = keys.len();
        if passages > self.semantic.max_passages {
            self.complete.store(false, Ordering::Relaxed);
            return Ok(MissingVectors { keys: Vec::new(), passages, too_many: true });
        }
        let mut missing = self.semantic.prune(&keys).await?;
        self.complete.store(missing.is_empty(), Ordering::Relaxed);
        // Each process has an order of its own, so that two share the work.
        let process = std::process::id().to_le_bytes();
        missing.sort_by_cached_key(|key| short_hash(&[&process, &key.to_le_bytes()]));
        Ok(MissingVectors { keys: missing, passages, too_many: false })
    }

    /// Makes the missing vectors, unless they are more than `most`. Searches may make vectors for some time again.
    pub(super) async fn update(
        &self,
        most: usize,
        on: &mut (dyn FnMut(IndexProgress) + Send),
    ) -> Result<VectorCount> {
        self.renew_time();
        let missing = self.missing().await?;
        if missing.keys.is_empty() || missing.keys.len() > most {
            return Ok(missing.count(0, 0));
        }
        let total = missing.keys.len() as u64;
        let embedded = |done: usize| IndexProgress {
            files: done as u64,
            total,
            documents: 0,
            embedding: true,
        };
        let (mut done, mut made) = (0, 0);
        for keys in missing.keys.chunks(BATCH) {
            on(embedded(done));
            made += self.make(keys).await?;
            done += keys.len();
        }
        on(embedded(done));
        self.complete.store(true, Ordering::Relaxed);
        Ok(missing.count(done, made))
    }

    /// Makes the missing vectors in small batches, with pauses.
    pub(super) async fn update_beside(&self) -> Result<VectorCount> {
        let missing = self.missing().await?;
        let mut made = 0;
        for keys in missing.keys.chunks(SMALL_BATCH) {
            let began = Instant::now();
            made += self.make(keys).await?;
            sleep(began.elapsed() * REST).await;
        }
        // A refresh may have found new passages meanwhile.
        Ok(self.missing().await?.count(0, made))
    }

    /// Makes and stores the vectors of the passages under `keys` that have none yet. Returns how many.
    async fn make(&self, keys: &[u64]) -> Result<usize> {
        let _one = self.making.lock().await;
        // A search or another process may have made some.
        let keys = self.semantic.vectors.missing_keys(keys).await?;
        if keys.is_empty() {
            return Ok(0);
        }
        let index = Arc::clone(&self.index);
        // Those of a file that has changed since are not there any more.
        let passages = run_blocking(move || index.passage_texts(&keys)).await??;
        let made = passages.len();
        crash_point("vectors.before_commit");
        self.semantic.embed(passages).await?;
        crash_point("vectors.after_commit");
        Ok(made)
    }

    /// The passages similar to `query`: of all passages if all have a vector, else of those that the words find.
    ///
    /// They are found twice: by the query, and by the query moved towards the best of those found so, by words and by meaning.
    pub(super) async fn similar(&self, query: &str, filter: &Filter) -> Result<SimilarPassages> {
        let compared = match self.complete.load(Ordering::Relaxed) {
            true => Compared::All,
            false => Compared::These(self.vectors_of_first(query, filter).await?),
        };
        if compared.is_empty() {
            return Ok(SimilarPassages::default());
        }
        let Some(vector) = self.semantic.embed_query(query).await? else {
            return Ok(SimilarPassages::default());
        };
        let near = SimilarPassages::of_query(self.nearest(&vector, &compared).await?);
        let (index, text, filter) = (Arc::clone(&self.index), query.to_owned(), filter.clone());
        let (near, best) = run_blocking(move || {
            let best = index.feedback_passages(&text, &filter, &near);
            best.map(|best| (near, best))
        })
        .await??;
        let keys: Vec<u64> = best.iter().map(|it| it.0).collect();
        let vectors = self.semantic.vectors.get(&keys).await?;
        if vectors.is_empty() {
            return Ok(near);
        }
        let moved = moved_query(&vector, &best, &vectors);
        Ok(near.moved_to(self.nearest(&moved, &compared).await?))
    }

    async fn nearest(&self, query: &[f32], compared: &Compared) -> Result<Vec<(u64, f32)>> {
        match compared {
            Compared::All => self.semantic.nearest(query).await,
            Compared::These(FirstPassages { keys, vectors }) => {
                Ok(similarities(keys, vectors, query))
            }
        }
    }

    /// The passages that the words of `query` find, with their vectors; those that they lack are made while there is time.
    async fn vectors_of_first(&self, query: &str, filter: &Filter) -> Result<FirstPassages> {
        let (index, text, filter) = (Arc::clone(&self.index), query.to_owned(), filter.clone());
        let first = run_blocking(move || index.first_passages(&text, MAX_RANKED, &filter));
        let keys = first.await??;
        let mut missing = self.semantic.vectors.missing_keys(&keys).await?;
        let began = Instant::now();
        let left = *self.left();
        while !missing.is_empty() && began.elapsed() < left {
            let rest = missing.split_off(missing.len().min(SMALL_BATCH));
            // What is not made by then is not waited for, such as the answer of a slow server.
            match timeout(left.saturating_sub(began.elapsed()), self.make(&missing)).await {
                Ok(made) => {
                    made?;
                }
                Err(_) => break,
            }
            missing = rest;
        }
        *self.left() = left.saturating_sub(began.elapsed());
        let vectors = self.semantic.vectors.get(&keys).await?;
        Ok(FirstPassages { keys, vectors })
    }
}

/// The passages that a query is compared with.
enum Compared {
    All,
    These(FirstPassages),
}

impl Compared {
    fn is_empty(&self) -> bool {
        matches!(self, Compared::These(first) if first.vectors.is_empty())
    }
}

/// The passages that the words of a query find, the best first.
struct FirstPassages {
    keys: Vec<u64>,
    /// The vectors of those that have one.
    vectors: Vec<(u64, Vec<f32>)>,
}

/// Runs `work` on a thread that may block.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|why| {
        Error::new(ErrorKind::Internal, "the index task panicked or was cancelled").with_source(why)
    })
}
