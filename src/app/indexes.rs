//! Folders without a run: searched, indexed, listed.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{App, Filter, Found, Heard, Refreshed, folders, meaning, nowhere};
use crate::adapters::folder;
use crate::error::Result;

impl App {
    /// The `n` documents below `paths` that speak best to each of `queries`, best first. The indexes
    /// are brought up to date once, before the first query, and `heard` hears how far that is; no store
    /// is made.
    ///
    /// # Errors
    /// `Usage` for a folder that is not there, or when none is named.
    pub async fn search(
        &self,
        paths: &[PathBuf],
        queries: &[String],
        n: usize,
        filter: &Filter,
        heard: &Heard,
    ) -> Result<Vec<Vec<Found>>> {
        let embedder = meaning::embedder(&self.settings)?;
        let folders = folders::open(&self.settings, paths, embedder).await?;
        if folders.is_empty() {
            return Err(nowhere());
        }
        for folder in &folders {
            let on = Arc::clone(heard);
            folders::refresh(Arc::clone(folder), move |it| on(it)).await?;
            folder.learn(&mut |it| heard(it)).await?;
        }
        let mut found = Vec::new();
        for query in queries {
            found.push(folders::find(&folders, query, n, filter).await?);
        }
        Ok(found)
    }

    /// Brings the index of the folder at `path` up to date, or makes it, with its vectors where there is
    /// an embedding model; `heard` hears how far it is.
    ///
    /// # Errors
    /// `Usage` for a folder that is not there, `Setup` where the index cannot be kept.
    pub async fn index_add(&self, path: &Path, heard: &Heard) -> Result<Refreshed> {
        let embedder = meaning::embedder(&self.settings)?;
        let opened = folders::open(&self.settings, &[path.to_owned()], embedder).await?;
        let Some(folder) = opened.into_iter().next() else {
            return Err(nowhere());
        };
        let on = Arc::clone(heard);
        let refreshed = folders::refresh(Arc::clone(&folder), move |it| on(it)).await?;
        folder.learn(&mut |it| heard(it)).await?;
        Ok(refreshed)
    }

    /// Removes the index of the folder at `path`, which itself is not touched. Says whether there
    /// was one.
    pub async fn index_remove(&self, path: &Path) -> Result<bool> {
        let (cache_dir, path) = (self.settings.cache_dir.clone(), path.to_owned());
        folders::off_thread(move || folder::forget(&cache_dir, &path)).await
    }

    /// Folders known to the index: path, documents, bytes.
    pub async fn folders(&self) -> Result<Vec<(PathBuf, u64, u64)>> {
        let cache_dir = self.settings.cache_dir.clone();
        folders::off_thread(move || folder::indexed(&cache_dir)).await
    }
}
