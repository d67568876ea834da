//! A folder as a search provider and a reader of pages.
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tantivy::DocAddress;

use super::filter::Filter;
use super::folder_index::FolderIndex;
use super::hits::{NAME, SearchHit};
use super::options::FolderOptions;
use super::refresh::{IndexProgress, RefreshSummary};
#[cfg(test)]
use super::search_index::SearchIndex;
use super::semantic::SemanticIndex;
use ibid_core::domain::{Hit, Hits, Page, Query, Synonym};
use ibid_core::ports::{PageReader, SearchProvider};
use ibid_core::{Error, ErrorKind, Result};

/// Passages embedded between two commits of vectors.
const EMBEDDING_BATCH: usize = 128;

/// A folder of documents and its index.
pub struct Folder {
    index: Arc<FolderIndex>,
    semantic: Option<SemanticIndex>,
    /// Whether too many passages lack a vector to search by meaning.
    lacks_vectors: AtomicBool,
}

impl Folder {
    /// Opens the index of the folder at `path`, or creates an empty one below `cache_dir`.
    ///
    /// An index that is damaged or of another version is rebuilt; [`RefreshSummary::rebuilt`] says why.
    ///
    /// # Errors
    /// `NotFound` if there is no such folder, `Setup` if `cache_dir` cannot be written, `Transient` if another process is
    /// building the index.
    pub fn open(path: &Path, cache_dir: &Path, options: &FolderOptions) -> Result<Folder> {
        let index = Arc::new(FolderIndex::open(path, cache_dir, options)?);
        Ok(Folder { index, semantic: None, lacks_vectors: AtomicBool::new(false) })
    }

    /// The same folder, which can also be searched by meaning after [`Folder::update_vectors`].
    #[must_use]
    pub fn with_semantic_index(self, semantic: SemanticIndex) -> Folder {
        Folder { semantic: Some(semantic), ..self }
    }

    /// Makes the vectors of passages that have none, and deletes those of passages that are gone. Returns how many were
    /// made: none without a [`SemanticIndex`].
    ///
    /// # Errors
    /// Those of the embedder and of the vector store; the vectors made until then are kept.
    pub async fn update_vectors(
        &self,
        on: &mut (dyn FnMut(IndexProgress) + Send),
    ) -> Result<usize> {
        self.update_some_vectors(usize::MAX, on).await
    }

    /// Like [`Folder::update_vectors`], but makes none if more passages lack one than a question waits for. Then
    /// [`Folder::search_hybrid`] searches by words alone.
    ///
    /// # Errors
    /// As [`Folder::update_vectors`].
    pub async fn update_few_vectors(
        &self,
        on: &mut (dyn FnMut(IndexProgress) + Send),
    ) -> Result<usize> {
        let most = self.semantic.as_ref().map_or(0, |semantic| semantic.max_missing);
        self.update_some_vectors(most, on).await
    }

    /// Whether passages lack a vector, so that only words are searched.
    pub fn lacks_vectors(&self) -> bool {
        self.lacks_vectors.load(Ordering::Relaxed)
    }

    async fn update_some_vectors(
        &self,
        most: usize,
        on: &mut (dyn FnMut(IndexProgress) + Send),
    ) -> Result<usize> {
        let Some(semantic) = &self.semantic else {
            return Ok(0);
        };
        let index = Arc::clone(&self.index);
        let places = run_blocking(move || index.vector_keys()).await??;
        let keys: Vec<u64> = places.keys().copied().collect();
        let missing = semantic.prune(&keys).await?;
        self.lacks_vectors.store(!missing.is_empty(), Ordering::Relaxed);
        if missing.len() > most {
            return Ok(0);
        }
        let total = missing.len() as u64;
        let embedded = |done: usize| IndexProgress {
            files: done as u64,
            total,
            documents: 0,
            embedding: true,
        };
        let mut done = 0;
        for keys in missing.chunks(EMBEDDING_BATCH) {
            on(embedded(done));
            let wanted: Vec<(u64, DocAddress)> =
                keys.iter().map(|key| (*key, places[key])).collect();
            let index = Arc::clone(&self.index);
            let passages = run_blocking(move || index.passage_texts(&wanted)).await??;
            done += semantic.embed(passages).await?;
        }
        self.lacks_vectors.store(false, Ordering::Relaxed);
        if done > 0 {
            on(embedded(done));
        }
        Ok(done)
    }

    /// The names that the documents explain by other names, those of the most documents first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn synonyms(&self) -> Result<Vec<Synonym>> {
        self.index.synonyms()
    }

    #[cfg(test)]
    pub(super) fn search_index(&self) -> Arc<SearchIndex> {
        self.index.search_index()
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.index.path()
    }

    /// Updates the index to the current state of the folder; only changed files are read.
    ///
    /// # Errors
    /// `Setup` if the index cannot be written; `Transient` if another process is writing it and it is still empty.
    pub fn refresh(&self, on: &mut dyn FnMut(IndexProgress)) -> Result<RefreshSummary> {
        self.index.refresh(&AtomicBool::new(false), on)
    }

    /// Like [`Folder::refresh`], until `stop` is set. What was read by then is kept, and the next refresh continues.
    ///
    /// # Errors
    /// As [`Folder::refresh`].
    pub fn refresh_until(
        &self,
        stop: &AtomicBool,
        on: &mut dyn FnMut(IndexProgress),
    ) -> Result<RefreshSummary> {
        self.index.refresh(stop, on)
    }

    /// The `n` documents whose words match `query` best, best first: one hit per document, no id twice.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn search_lexical(&self, query: &str, n: usize, filter: &Filter) -> Result<Vec<SearchHit>> {
        self.index.search(query, n, filter, &[])
    }

    /// The internal numbers of the `n` documents of [`Folder::search_lexical`], without reading them: for `evals retrieve`,
    /// which compares with engines that return numbers.
    #[doc(hidden)]
    pub fn rank_ids(&self, query: &str, n: usize) -> Result<Vec<u64>> {
        self.index.rank_ids(query, n)
    }

    /// Like [`Folder::search_lexical`], and also by meaning if passages have vectors. If the embedder fails, only words
    /// count: fewer documents are found, but the search does not fail.
    ///
    /// # Errors
    /// As [`Folder::search_lexical`].
    pub async fn search_hybrid(
        &self,
        query: &str,
        n: usize,
        filter: &Filter,
    ) -> Result<Vec<SearchHit>> {
        let semantic = self.semantic.as_ref();
        let near = match semantic.filter(|_| !self.lacks_vectors()) {
            Some(semantic) => semantic.nearest(query).await.unwrap_or_default(),
            None => Vec::new(),
        };
        // A search in memory takes less time than waking another thread.
        if self.index.search_index().has_memory_index() {
            return self.index.search(query, n, filter, &near);
        }
        let (index, query, filter) = (Arc::clone(&self.index), query.to_owned(), filter.clone());
        run_blocking(move || index.search(&query, n, &filter, &near)).await?
    }

    /// At most `n` pages that state an address at `host`, or at a subdomain, that `accept` accepts.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn pages_at(
        &self,
        host: &str,
        accept: &dyn Fn(&str) -> bool,
        n: usize,
    ) -> Result<Vec<Page>> {
        self.index.pages_at(host, accept, n)
    }

    /// The page of a hit of this folder.
    ///
    /// # Errors
    /// `NotFound` if it has been deleted.
    pub fn page(&self, hit: SearchHit) -> Result<Page> {
        self.index.read(&hit.into_hit(1))
    }
}

#[async_trait]
impl SearchProvider for Folder {
    fn name(&self) -> &str {
        NAME
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let filter = Filter {
            domains: query.domains.clone(),
            not_domains: query.not_domains.clone(),
            since: query.since.clone(),
            until: query.until.clone(),
        };
        let found = self.search_hybrid(query.text(), query.limit as usize, &filter).await?;
        let hits = (1..).zip(found).map(|(rank, hit)| hit.into_hit(rank)).collect();
        let synonyms = self.index.query_synonyms(query.text())?;
        Ok(Hits { hits, synonyms, ..Hits::default() })
    }
}

#[async_trait]
impl PageReader for Folder {
    fn name(&self) -> &str {
        NAME
    }

    fn can_read(&self, hit: &Hit) -> bool {
        hit.provider == NAME && self.index.has_page(hit.key())
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let index = Arc::clone(&self.index);
        let hit = hit.clone();
        run_blocking(move || index.read(&hit)).await?
    }
}

/// Runs `work` on a thread that may block.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|why| {
        Error::new(ErrorKind::Internal, "the index task panicked or was cancelled").with_source(why)
    })
}
