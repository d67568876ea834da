//! Folder indexes without a run: search, update, list, remove.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::components::ProgressFn;
use super::folders::no_search_error;
use super::{App, folders, semantic};
use ibid_core::domain::{Question, Synonym};
use ibid_core::{Error, Result};
use ibid_index::folder;
use ibid_index::folder::{Filter, RefreshSummary, SearchHit, VectorCount};

/// The time until a server first looks for passages without a vector.
const FIRST_VECTOR_ROUND: Duration = Duration::from_secs(5);
/// The time between two looks for passages without a vector.
const VECTOR_ROUND: Duration = Duration::from_secs(60);

impl App {
    /// Searches the folders at `paths`: for each query its `n` best documents, best first. Before the first query the indexes are brought
    /// up to date; `on_progress` reports how far that is. No store is created.
    ///
    /// # Errors
    /// `Usage` for a folder that does not exist, `Setup` when none is named.
    pub async fn search(
        &self,
        paths: &[PathBuf],
        queries: &[String],
        n: usize,
        on_progress: &ProgressFn,
    ) -> Result<Vec<Vec<SearchHit>>> {
        let embedder = semantic::embedder(&self.settings)?;
        let folders = folders::open(&self.settings, paths, embedder).await?;
        if folders.is_empty() {
            return Err(no_search_error());
        }
        for folder in &folders {
            let on_refresh = Arc::clone(on_progress);
            folders::refresh(Arc::clone(folder), move |it| on_refresh(it)).await?;
            folder.update_few_vectors(&mut |it| on_progress(it)).await?;
        }
        let mut found = Vec::new();
        for query in queries {
            folders.iter().for_each(|folder| folder.begin_question());
            found.push(folders::find(&folders, query, n, &Filter::default()).await?);
        }
        Ok(found)
    }

    /// Creates the index of the folder at `path` or brings it up to date, with its vectors, and counts these. `on_progress`
    /// reports how far it is.
    ///
    /// # Errors
    /// `Usage` for a folder that does not exist, `Setup` if the index cannot be written.
    pub async fn index_add(
        &self,
        path: &Path,
        on_progress: &ProgressFn,
    ) -> Result<(RefreshSummary, VectorCount)> {
        let embedder = semantic::embedder(&self.settings)?;
        let opened = folders::open(&self.settings, &[path.to_owned()], embedder).await?;
        let Some(folder) = opened.into_iter().next() else {
            return Err(no_search_error());
        };
        let on_refresh = Arc::clone(on_progress);
        let refreshed = folders::refresh(Arc::clone(&folder), move |it| on_refresh(it)).await?;
        let vectors = folder.update_vectors(&mut |it| on_progress(it)).await?;
        Ok((refreshed, vectors))
    }

    /// Makes the missing vectors of the folders at `paths` beside other work, and again when files have changed and runs have
    /// indexed them. Never returns; dropping it keeps what is made. `on_error` is called with each error once.
    pub async fn keep_vectors(&self, paths: &[PathBuf], on_error: impl Fn(&Error)) {
        let mut told = BTreeSet::new();
        // Runs that wait for the server come first: they tell why an index had to be rebuilt.
        tokio::time::sleep(FIRST_VECTOR_ROUND).await;
        loop {
            for path in paths {
                if let Err(error) = self.make_vectors(path).await
                    && told.insert(error.chain())
                {
                    on_error(&error);
                }
            }
            tokio::time::sleep(VECTOR_ROUND).await;
        }
    }

    /// Makes the missing vectors of the folder at `path` as it is indexed.
    async fn make_vectors(&self, path: &Path) -> Result<()> {
        let mut question = Question::new("vectors", "", self.settings.method.clone());
        question.folders = vec![path.to_string_lossy().into_owned()];
        let providers =
            (self.components.open)(&self.settings, &question, self.owner.as_ref()).await?;
        match providers.background {
            Some(background) => background.await,
            None => Ok(()),
        }
    }

    /// Brings the index of the folder at `path` up to date, without its vectors, and returns the names that its documents
    /// explain by other names.
    ///
    /// # Errors
    /// As [`App::index_add`].
    pub async fn index_synonyms(
        &self,
        path: &Path,
        on_progress: &ProgressFn,
    ) -> Result<(RefreshSummary, Vec<Synonym>)> {
        let opened = folders::open(&self.settings, &[path.to_owned()], None).await?;
        let Some(folder) = opened.into_iter().next() else {
            return Err(no_search_error());
        };
        let on_refresh = Arc::clone(on_progress);
        let refreshed = folders::refresh(Arc::clone(&folder), move |it| on_refresh(it)).await?;
        let synonyms = folders::spawn_blocking(move || folder.synonyms()).await?;
        Ok((refreshed, synonyms))
    }

    /// Removes the index of the folder at `path` with its vectors, not the folder. Returns whether there was one.
    ///
    /// # Errors
    /// `Setup` if a file cannot be removed or written.
    pub async fn index_remove(&self, path: &Path) -> Result<bool> {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (cache_dir, path) = (self.settings.cache_dir.clone(), path.to_owned());
        let removed =
            folders::spawn_blocking(move || folder::remove_index(&cache_dir, &path)).await?;
        semantic::remove_vectors(&self.settings, &whole).await?;
        Ok(removed)
    }

    /// The indexed folders: path, number of documents, bytes.
    pub async fn indexed_folders(&self) -> Result<Vec<(PathBuf, u64, u64)>> {
        let cache_dir = self.settings.cache_dir.clone();
        folders::spawn_blocking(move || folder::list_indexes(&cache_dir)).await
    }
}
