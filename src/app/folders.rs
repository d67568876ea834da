//! Folders as doors: opened when a run or a search needs them, refreshed before the first search.
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::meaning;
use super::parts::{Doors, Heard};
use crate::adapters::documents::Limits;
use crate::adapters::folder::{Filter, Folder, FolderOptions, Found, Progress, Refreshed};
use crate::config::Settings;
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::{Egress, Embedder, Models, Ranker};

/// Opens the folders at `paths`, in this order; with an embedder they are found by meaning too.
///
/// # Errors
/// `Usage` for a folder that is not there, `Setup` where an index cannot be kept.
pub(super) async fn open(
    settings: &Settings,
    paths: &[PathBuf],
    embedder: Option<Arc<dyn Embedder>>,
) -> Result<Vec<Arc<Folder>>> {
    let limits = super::reading::limits(settings);
    open_within(settings, &limits, paths, embedder).await
}

/// The same, whose documents are parsed within `limits`.
async fn open_within(
    settings: &Settings,
    limits: &Limits,
    paths: &[PathBuf],
    embedder: Option<Arc<dyn Embedder>>,
) -> Result<Vec<Arc<Folder>>> {
    let options = FolderOptions::new(settings.globs.clone(), limits.clone());
    let cache_dir = settings.cache_dir.clone();
    let paths = paths.to_vec();
    let opened: Vec<Folder> = off_thread(move || {
        let open = |path: &PathBuf| {
            present(path)?;
            Folder::open(path, &cache_dir, &options)
        };
        paths.iter().map(open).collect()
    })
    .await?;
    let mut folders = Vec::new();
    for folder in opened {
        folders.push(Arc::new(match &embedder {
            Some(it) => {
                let meaning = meaning::of_folder(settings, folder.path(), it).await?;
                folder.with_meaning(meaning)
            }
            None => folder,
        }));
    }
    Ok(folders)
}

/// Folders that are open in this process, by path: runs that work at the same time share their indexes.
#[derive(Default)]
pub(super) struct Shelves(Mutex<HashMap<PathBuf, Weak<Folder>>>);

impl Shelves {
    /// As [`open`], where those that somebody holds open already are not opened again.
    pub(super) async fn open(
        &self,
        settings: &Settings,
        limits: &Limits,
        paths: &[PathBuf],
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Vec<Arc<Folder>>> {
        let mut folders = Vec::new();
        for path in paths {
            present(path)?;
            let held = self.locked().get(path).and_then(Weak::upgrade);
            let folder = match held {
                Some(it) => it,
                None => {
                    let one = std::slice::from_ref(path);
                    let opened = open_within(settings, limits, one, embedder.clone()).await?;
                    let Some(it) = opened.into_iter().next() else {
                        continue;
                    };
                    self.locked().insert(path.clone(), Arc::downgrade(&it));
                    it
                }
            };
            folders.push(folder);
        }
        Ok(folders)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Weak<Folder>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says plainly what is wrong with a folder somebody named.
fn present(path: &Path) -> Result<()> {
    let wrong = |what: &str| {
        Error::new(Kind::Usage, format!("folder {} {what}", path.display()))
            .hint("name a folder that exists and can be read")
    };
    match std::fs::metadata(path) {
        Ok(it) if it.is_dir() => Ok(()),
        Ok(_) => Err(wrong("is not a folder")),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Err(wrong("does not exist")),
        Err(cause) => Err(wrong("cannot be read").because(cause)),
    }
}

/// The doors of a run over `folders`.
pub(super) fn doors(folders: Vec<Arc<Folder>>, ranker: Arc<dyn Ranker>) -> Doors {
    Doors {
        search: folders.iter().map(|it| Arc::clone(it) as _).collect(),
        readers: folders.iter().map(|it| Arc::clone(it) as _).collect(),
        ranker,
        models: Models::default(),
        egress: Egress::default(),
        spent_before: None,
        prepare: Some(Box::new(|heard| Box::pin(prepare(folders, heard)))),
    }
}

/// Brings every index up to date and tells what could not be taken in, by path and place.
async fn prepare(folders: Vec<Arc<Folder>>, heard: Heard) -> Result<Vec<Event>> {
    let mut told = Vec::new();
    for folder in folders {
        let name = folder.path().display().to_string();
        let on = Arc::clone(&heard);
        let mut found = refresh(Arc::clone(&folder), move |it| on(it)).await?;
        if let Err(why) = folder.learn(&mut |it| heard(it)).await {
            told.push(Event::Log {
                level: "warn".to_owned(),
                message: format!("{name} is searched without some vectors: {}", why.chain()),
            });
        }
        if let Some(reason) = found.rebuilt {
            told.push(Event::Log {
                level: "warn".to_owned(),
                message: format!("the index of {name} was built anew: {reason}"),
            });
        }
        if let Some(remark) = found.unread.remark() {
            told.push(Event::Log {
                level: "warn".to_owned(),
                message: format!("{name}: {remark}"),
            });
        }
        found
            .faults
            .sort_by(|a, b| (&a.path, &a.place, &a.message).cmp(&(&b.path, &b.place, &b.message)));
        told.extend(found.faults.into_iter().map(|it| Event::DocumentFailed {
            path: it.path.display().to_string(),
            place: it.place,
            reason: it.reason,
            message: it.message,
        }));
    }
    Ok(told)
}

/// Stops what goes on in another thread when the future that waits for it is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Brings one index up to date. Dropping the future stops it: children that read for it are ended, other files begun are read to
/// their end, and what was read is kept.
pub(super) async fn refresh(
    folder: Arc<Folder>,
    mut on: impl FnMut(Progress) + Send + 'static,
) -> Result<Refreshed> {
    until_dropped(move |stop| {
        // Who has stopped listening must not hear the last files come in.
        let mut still = |it| {
            if !stop.load(Ordering::Relaxed) {
                on(it);
            }
        };
        folder.refresh_until(stop, &mut still)
    })
    .await
}

/// Runs `work` where it may block, and tells it to stop when the future is dropped.
pub(super) async fn until_dropped<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send + 'static,
) -> Result<T> {
    let guard = StopOnDrop(Arc::default());
    let stop = Arc::clone(&guard.0);
    off_thread(move || work(&stop)).await
}

/// Runs `work` where it may block.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|it| Error::new(Kind::Internal, "working on a folder's index").because(it))?
}

/// What the folders hold on `query`, best first, at most `n`; each folder's best stand together.
///
/// Scores of two folders are not comparable (each weighs words by how rare they are in itself), so
/// several folders are fused by rank (reciprocal rank fusion, k = 60, Cormack et al. 2009).
pub(super) async fn find(
    folders: &[Arc<Folder>],
    query: &str,
    n: usize,
    filter: &Filter,
) -> Result<Vec<Found>> {
    if let [only] = folders {
        return only.look(query, n, filter).await;
    }
    let mut fused = Vec::new();
    for (nth, folder) in folders.iter().enumerate() {
        let found = folder.look(query, n, filter).await?;
        fused.extend(
            found
                .into_iter()
                .enumerate()
                .map(|(rank, it)| (rank, nth, it)),
        );
    }
    // A document stands in one folder, so its fused score falls with its rank alone; where folders
    // overlap it keeps its best place.
    fused.sort_by_key(|(rank, nth, _)| (*rank, *nth));
    let mut seen = HashSet::new();
    fused.retain(|(_, _, it)| seen.insert(it.id.clone()));
    let score = |(rank, _, it): (usize, usize, Found)| Found {
        score: 1.0 / (60.0 + rank as f32 + 1.0),
        ..it
    };
    Ok(fused.into_iter().take(n).map(score).collect())
}
