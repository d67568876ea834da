//! The index of one folder: opened, refreshed, searched, and rebuilt if it is damaged.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tantivy::{Index, IndexReader, ReloadPolicy};

use super::filter::Filter;
use super::hits::{self, SearchHit};
use super::index_dir::{IndexDir, IndexLabel, index_error};
use super::options::FolderOptions;
use super::rank::{self, query_synonyms};
use super::refresh::{IndexProgress, RefreshJob, RefreshSummary};
use super::rows::page_rows;
use super::schema::{IndexFields, VERSION};
use super::search_index::SearchIndex;
use super::semantic::{self, PassageText, SimilarPassages};
use ibid_core::domain::{Hit, Page, Synonym};
use ibid_core::{Error, ErrorKind, Result};

/// How long to wait for another process that writes the same index.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Decompressed blocks of rows kept in memory per segment.
const CACHED_BLOCKS: usize = 8;

/// The index of one folder.
pub(super) struct FolderIndex {
    path: PathBuf,
    cache_dir: PathBuf,
    options: FolderOptions,
    index_dir: IndexDir,
    state: Mutex<FolderState>,
    refreshing: Mutex<()>,
}

/// The index as it is open now.
#[derive(Clone)]
struct FolderState {
    index: Index,
    reader: IndexReader,
    fields: IndexFields,
    search_index: Arc<SearchIndex>,
    /// Why the index was rebuilt, until a refresh reports it.
    rebuilt: Option<String>,
}

impl FolderState {
    fn new(
        index: Index,
        fields: IndexFields,
        rebuilt: Option<String>,
    ) -> tantivy::Result<FolderState> {
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(CACHED_BLOCKS)
            .try_into()?;
        let search_index = Arc::new(SearchIndex::new(reader.searcher(), fields)?);
        Ok(FolderState { index, reader, fields, search_index, rebuilt })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FolderIndex {
    /// See [`Folder::open`](super::Folder::open).
    pub(super) fn open(
        path: &Path,
        cache_dir: &Path,
        options: &FolderOptions,
    ) -> Result<FolderIndex> {
        let doing = || format!("opening the folder {}", path.display());
        let path = path.canonicalize().map_err(|why| {
            let kind = match why.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Setup,
            };
            Error::new(kind, doing())
                .with_source(why)
                .with_hint("name a folder that exists and can be read")
        })?;
        let index_dir = IndexDir::new(cache_dir, &path);
        index_dir.create_dir()?;
        let state = open_or_create(&index_dir, &path)?;
        Ok(FolderIndex {
            path,
            cache_dir: cache_dir.to_owned(),
            options: options.clone(),
            index_dir,
            state: Mutex::new(state),
            refreshing: Mutex::new(()),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn search_index(&self) -> Arc<SearchIndex> {
        Arc::clone(&lock(&self.state).search_index)
    }

    fn state(&self) -> FolderState {
        lock(&self.state).clone()
    }

    /// Updates the index to the current state of the folder, until `stop` is set.
    pub(super) fn refresh(
        &self,
        stop: &AtomicBool,
        on: &mut dyn FnMut(IndexProgress),
    ) -> Result<RefreshSummary> {
        let _one = lock(&self.refreshing);
        let Some(write_lock) = self.index_dir.lock(LOCK_TIMEOUT)? else {
            return self.busy_summary();
        };
        // Another process may have committed, or rebuilt the index, since we opened it.
        let reloaded = self.index_dir.label().is_some() && self.state().reader.reload().is_ok();
        if !reloaded {
            let rebuilt = self.state().rebuilt;
            let (index, fields) = self.index_dir.create_index(&self.path, &write_lock)?;
            let why = rebuilt.or(Some("it was damaged".to_owned()));
            *lock(&self.state) = FolderState::new(index, fields, why)
                .map_err(|why| index_error("opening an index", why))?;
        }
        let mut summary = self.with_state(|state| {
            let job = RefreshJob {
                root: &self.path,
                options: &self.options,
                cache_dir: &self.cache_dir,
                index: &state.index,
                searcher: &state.reader.searcher(),
                fields: state.fields,
                stop,
            };
            job.run(on)
        })?;
        self.reload()?;
        let mut state = lock(&self.state);
        summary.rebuilt = state.rebuilt.take();
        summary.documents = state.search_index.snapshot.documents;
        drop(state);
        self.index_dir.write_label(&IndexLabel {
            version: VERSION.to_owned(),
            path: self.path.clone(),
            documents: summary.documents,
            bytes: summary.bytes,
        })?;
        Ok(summary)
    }

    /// The summary of a refresh that could not run because another process is writing the index.
    fn busy_summary(&self) -> Result<RefreshSummary> {
        self.reload()?;
        let documents = self.search_index().snapshot.documents;
        if documents == 0 {
            return Err(Error::new(
                ErrorKind::Transient,
                format!("reading the folder {}", self.path.display()),
            )
            .with_source("another process is building its index")
            .with_hint("try again when it has finished"));
        }
        Ok(RefreshSummary {
            documents,
            bytes: self.index_dir.label().map_or(0, |label| label.bytes),
            busy: true,
            ..RefreshSummary::default()
        })
    }

    /// Loads the state last committed.
    fn reload(&self) -> Result<()> {
        let fault = |why| index_error("opening the index", why);
        let mut state = lock(&self.state);
        state.reader.reload().map_err(fault)?;
        let search_index =
            SearchIndex::new(state.reader.searcher(), state.fields).map_err(fault)?;
        state.search_index = Arc::new(search_index);
        Ok(())
    }

    /// Runs `work` on the index. If it finds damaged rows or panics, the index is marked as corrupt, and the next process
    /// that opens it rebuilds it.
    fn with_state<T>(&self, work: impl FnOnce(&FolderState) -> Result<T>) -> Result<T> {
        let state = self.state();
        let done = catch_unwind(AssertUnwindSafe(|| work(&state))).unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Internal,
                format!("reading the index of {}", self.path.display()),
            )
            .with_source("its rows are damaged")
            .with_hint("try again: the index is rebuilt from the folder"))
        });
        if done.as_ref().is_err_and(|error| error.kind() == ErrorKind::Internal) {
            self.index_dir.mark_corrupt();
        }
        done
    }

    /// Runs `work` on the index and reports its errors as those of `doing`.
    fn with_index<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&SearchIndex) -> tantivy::Result<T>,
    ) -> Result<T> {
        self.with_state(|state| work(&state.search_index).map_err(|why| index_error(doing, why)))
    }

    /// The `n` documents that match `query` best; `near` are the passages most similar to it.
    pub(super) fn search(
        &self,
        query: &str,
        n: usize,
        filter: &Filter,
        near: &SimilarPassages,
    ) -> Result<Vec<SearchHit>> {
        self.with_index("searching the index", |index| hits::search(index, query, n, filter, near))
    }

    /// The synonyms by which a search for `query` is expanded.
    pub(super) fn query_synonyms(&self, query: &str) -> Result<Vec<Synonym>> {
        self.with_index("searching the index", |index| query_synonyms(index, query))
    }

    /// All synonyms that the documents explain.
    pub(super) fn synonyms(&self) -> Result<Vec<Synonym>> {
        self.with_index("reading the index", |index| {
            let table = index.synonyms()?;
            Ok(table.all[..table.explained].to_vec())
        })
    }

    pub(super) fn rank_ids(&self, query: &str, n: usize) -> Result<Vec<u64>> {
        self.with_index("searching the index", |index| hits::rank_ids(index, query, n))
    }

    pub(super) fn pages_at(
        &self,
        host: &str,
        accept: &dyn Fn(&str) -> bool,
        n: usize,
    ) -> Result<Vec<Page>> {
        self.with_index("searching the index", |index| {
            hits::pages_at(&index.snapshot, host, accept, n)
        })
    }

    /// The keys of the `n` passages that match the words of `query` best, best first.
    pub(super) fn first_passages(
        &self,
        query: &str,
        n: usize,
        filter: &Filter,
    ) -> Result<Vec<u64>> {
        self.with_index("searching the index", |index| {
            rank::first_passages(index, query, n, filter)
        })
    }

    /// The keys of the passages that `query` is moved towards, and their scores, best first; `near` are the passages most similar to it.
    pub(super) fn feedback_passages(
        &self,
        query: &str,
        filter: &Filter,
        near: &SimilarPassages,
    ) -> Result<Vec<(u64, f32)>> {
        self.with_index("searching the index", |index| {
            rank::feedback_passages(index, query, filter, near)
        })
    }

    /// The keys of the vectors of all passages, each once.
    pub(super) fn vector_keys(&self) -> Result<Vec<u64>> {
        self.with_index("reading the index", |index| semantic::vector_keys(&index.snapshot))
    }

    /// The words of the passages under `keys`.
    pub(super) fn passage_texts(&self, keys: &[u64]) -> Result<Vec<PassageText>> {
        self.with_index("reading the index", |index| semantic::passage_texts(&index.snapshot, keys))
    }

    /// Whether there is a page under `key`.
    pub(super) fn has_page(&self, key: &str) -> bool {
        page_rows(&self.search_index().snapshot, key).is_ok_and(|rows| !rows.is_empty())
    }

    /// The page of `hit`.
    pub(super) fn read(&self, hit: &Hit) -> Result<Page> {
        self.with_index("reading a page from the index", |index| {
            hits::read_page(&index.snapshot, hit)
        })?
        .ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("reading {} from {}", hit.key(), self.path.display()),
            )
        })
    }
}

/// Opens the index in `index_dir`, or replaces it by an empty one if it cannot be opened.
fn open_or_create(index_dir: &IndexDir, path: &Path) -> Result<FolderState> {
    let open = || {
        index_dir.open().and_then(|(index, fields)| {
            FolderState::new(index, fields, None).map_err(|why| why.to_string())
        })
    };
    if let Ok(state) = open() {
        return Ok(state);
    }
    let is_new = index_dir.label().is_none();
    let Some(write_lock) = index_dir.lock(LOCK_TIMEOUT)? else {
        return Err(Error::new(
            ErrorKind::Transient,
            format!("opening the index of {}", path.display()),
        )
        .with_source("another process is building it")
        .with_hint("try again when it has finished"));
    };
    // Another process may have rebuilt it while we waited for the lock.
    let why = match open() {
        Ok(state) => return Ok(state),
        Err(why) => why,
    };
    let (index, fields) = index_dir.create_index(path, &write_lock)?;
    FolderState::new(index, fields, (!is_new).then_some(why))
        .map_err(|why| index_error("opening an index", why))
}
