//! Folders as providers: opened when a run or a search needs them, refreshed before the first search.
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::components::{ProgressFn, RunProviders};
use super::semantic::{self, VectorStorage};
use crate::config::Settings;
use ibid_core::ports::{Egress, Embedder, Ranker, RoleModels};
use ibid_core::record::{Event, LogSource};
use ibid_core::{Error, ErrorKind, Result};
use ibid_extract::ExtractLimits;
use ibid_index::folder::{
    Filter, Folder, FolderOptions, IndexProgress, RefreshSummary, SearchHit, VectorCount,
};

/// The constant of reciprocal rank fusion, as in Cormack et al. 2009.
const FUSION_K: f32 = 60.0;

/// Opens the folders at `paths`, in this order; with an embedder, also for semantic search.
///
/// # Errors
/// `Usage` for a folder that does not exist, `Setup` if an index cannot be written.
pub(super) async fn open(
    settings: &Settings,
    paths: &[PathBuf],
    embedder: Option<Arc<dyn Embedder>>,
) -> Result<Vec<Arc<Folder>>> {
    let limits = super::document_reader::document_limits(settings);
    open_with_limits(settings, &limits, paths, embedder, VectorStorage::File).await
}

/// Like [`open`], with `limits` on parsing.
async fn open_with_limits(
    settings: &Settings,
    limits: &ExtractLimits,
    paths: &[PathBuf],
    embedder: Option<Arc<dyn Embedder>>,
    storage: VectorStorage,
) -> Result<Vec<Arc<Folder>>> {
    let options = FolderOptions::new(settings.globs.clone(), limits.clone());
    let cache_dir = settings.cache_dir.clone();
    let paths = paths.to_vec();
    let opened: Vec<Folder> = spawn_blocking(move || {
        let open = |path: &PathBuf| {
            check_exists(path)?;
            Folder::open(path, &cache_dir, &options)
        };
        paths.iter().map(open).collect()
    })
    .await?;
    let mut folders = Vec::new();
    for folder in opened {
        folders.push(Arc::new(match &embedder {
            Some(it) => {
                let vectors =
                    semantic::folder_vectors(settings, folder.path(), it, storage).await?;
                folder.with_semantic_index(vectors)
            }
            None => folder,
        }));
    }
    Ok(folders)
}

/// The open folders of this process, by path. Concurrent runs over one folder share its index.
#[derive(Default)]
pub(super) struct IndexPool(Mutex<HashMap<PathBuf, Weak<Folder>>>);

impl IndexPool {
    /// Like [`open`], but returns folders that are open already.
    pub(super) async fn open(
        &self,
        settings: &Settings,
        limits: &ExtractLimits,
        paths: &[PathBuf],
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Vec<Arc<Folder>>> {
        let mut folders = Vec::new();
        for path in paths {
            check_exists(path)?;
            let open = self.lock().get(path).and_then(Weak::upgrade);
            let folder = match open {
                Some(it) => it,
                None => {
                    let one = std::slice::from_ref(path);
                    let storage = VectorStorage::FileOrMemory;
                    let opened =
                        open_with_limits(settings, limits, one, embedder.clone(), storage).await?;
                    let Some(it) = opened.into_iter().next() else {
                        continue;
                    };
                    self.lock().insert(path.clone(), Arc::downgrade(&it));
                    it
                }
            };
            folders.push(folder);
        }
        Ok(folders)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Weak<Folder>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error when no folder and no engine can be searched.
pub(super) fn no_search_error() -> Error {
    Error::new(ErrorKind::Setup, "no folder or engine to search")
        .with_hint("name a folder of documents with `--folder DIR`")
}

/// Checks that a folder exists and can be read.
fn check_exists(path: &Path) -> Result<()> {
    let invalid = |what: &str| {
        Error::new(ErrorKind::Usage, format!("folder {} {what}", path.display()))
            .with_hint("name a folder that exists and can be read")
    };
    match std::fs::metadata(path) {
        Ok(it) if it.is_dir() => Ok(()),
        Ok(_) => Err(invalid("is not a folder")),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            Err(invalid("does not exist"))
        }
        Err(cause) => Err(invalid("cannot be read").with_source(cause)),
    }
}

/// The providers of a run over `folders`.
pub(super) fn folder_providers(folders: Vec<Arc<Folder>>, ranker: Arc<dyn Ranker>) -> RunProviders {
    RunProviders {
        background: Some(Box::pin(make_vectors(folders.clone()))),
        search: folders.iter().map(|folder| Arc::clone(folder) as _).collect(),
        readers: folders.iter().map(|folder| Arc::clone(folder) as _).collect(),
        ranker,
        models: RoleModels::default(),
        egress: Egress::default(),
        prior_spend: None,
        prepare: Some(Box::new(|on_progress| Box::pin(prepare(folders, on_progress)))),
    }
}

/// Brings every index up to date. Returns an event for each document that could not be read, by path and place.
async fn prepare(folders: Vec<Arc<Folder>>, on_progress: ProgressFn) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    let warning = |source: LogSource, message: String| Event::Log {
        level: "warn".to_owned(),
        message,
        source: Some(source),
    };
    for folder in folders {
        let name = folder.path().display().to_string();
        let on_refresh = Arc::clone(&on_progress);
        let mut refreshed = refresh(Arc::clone(&folder), move |it| on_refresh(it)).await?;
        match folder.update_few_vectors(&mut |it| on_progress(it)).await {
            Ok(count) if count.is_partial() => events.push(Event::Log {
                level: "info".to_owned(),
                message: partial_vectors(&name, count),
                source: Some(LogSource::Program),
            }),
            Ok(_) => {}
            Err(why) => {
                let why = why.chain();
                let message = format!("{name} is searched without some vectors: {why}");
                events.push(warning(LogSource::Service, message));
            }
        }
        if let Some(reason) = refreshed.rebuilt {
            // The reason may have words of the index library and of the operating system.
            let message = format!("the index of {name} was rebuilt: {reason}");
            events.push(warning(LogSource::Service, message));
        }
        if let Some(remark) = refreshed.unread.summary() {
            events.push(warning(LogSource::Program, format!("{name}: {remark}")));
        }
        refreshed
            .faults
            .sort_by(|a, b| (&a.path, &a.place, &a.message).cmp(&(&b.path, &b.place, &b.message)));
        events.extend(refreshed.faults.into_iter().map(|fault| Event::DocumentFailed {
            path: fault.path.display().to_string(),
            place: fault.place,
            reason: fault.reason,
            message: fault.message,
        }));
    }
    Ok(events)
}

/// What a run says of a folder whose passages do not all have a vector.
fn partial_vectors(name: &str, count: VectorCount) -> String {
    let VectorCount { passages, with_vector, too_many, .. } = count;
    if too_many {
        return format!(
            "{name} has {passages} passages, more than `vectors.max_passages`: meaning ranks what the words find"
        );
    }
    format!(
        "{with_vector} of {passages} passages of {name} have a vector: until `ibid index add` has made the others, meaning ranks what the words find"
    )
}

/// Makes the missing vectors of `folders`, one folder after the other.
async fn make_vectors(folders: Vec<Arc<Folder>>) -> Result<()> {
    for folder in folders {
        folder.update_vectors_beside().await?;
    }
    Ok(())
}

/// Stops the work of another thread when the future that waits for it is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Brings one index up to date. Dropping the future stops it: parser processes are killed, other files in progress are read to their
/// end, and what was read stays in the index.
pub(super) async fn refresh(
    folder: Arc<Folder>,
    mut on_progress: impl FnMut(IndexProgress) + Send + 'static,
) -> Result<RefreshSummary> {
    spawn_cancellable(move |stop| {
        // After the stop the caller must not get progress of files in flight.
        let mut until_stopped = |progress| {
            if !stop.load(Ordering::Relaxed) {
                on_progress(progress);
            }
        };
        folder.refresh_until(stop, &mut until_stopped)
    })
    .await
}

/// Runs blocking `work`, and sets its stop flag when the future is dropped.
pub(super) async fn spawn_cancellable<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send + 'static,
) -> Result<T> {
    let guard = StopOnDrop(Arc::default());
    let stop = Arc::clone(&guard.0);
    spawn_blocking(move || work(&stop)).await
}

/// Runs blocking `work`.
pub(super) async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Error::new(ErrorKind::Internal, "the index task panicked or was cancelled")
            .with_source(error)
    })?
}

/// Searches the folders for `query`: at most `n` hits, best first.
///
/// Scores of two folders are not comparable, because each weighs words by how rare they are in itself. Several folders are therefore
/// merged by rank (reciprocal rank fusion, Cormack et al. 2009).
pub(super) async fn find(
    folders: &[Arc<Folder>],
    query: &str,
    n: usize,
    filter: &Filter,
) -> Result<Vec<SearchHit>> {
    if let [only] = folders {
        return only.search_hybrid(query, n, filter).await;
    }
    let mut fused = Vec::new();
    for (nth, folder) in folders.iter().enumerate() {
        let found = folder.search_hybrid(query, n, filter).await?;
        fused.extend(found.into_iter().enumerate().map(|(rank, it)| (rank, nth, it)));
    }
    // A document is in one folder, so its fused score depends on its rank alone. Where folders overlap it keeps its best rank.
    fused.sort_by_key(|(rank, nth, _)| (*rank, *nth));
    let mut seen = HashSet::new();
    fused.retain(|(_, _, it)| seen.insert(it.id.clone()));
    let score = |(rank, _, it): (usize, usize, SearchHit)| SearchHit {
        score: 1.0 / (FUSION_K + rank as f32 + 1.0),
        ..it
    };
    Ok(fused.into_iter().take(n).map(score).collect())
}
