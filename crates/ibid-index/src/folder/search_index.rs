//! A snapshot together with its postings in memory.
use std::sync::{Mutex, OnceLock, PoisonError};

use tantivy::Searcher;

use super::memory_index::MemoryTermIndex;
use super::schema::IndexFields;
use super::snapshot::IndexSnapshot;
use super::synonym_table::SynonymTable;

/// A snapshot of the index, and its postings in memory if they are few enough.
pub(super) struct SearchIndex {
    pub(super) snapshot: IndexSnapshot,
    memory: OnceLock<Option<MemoryTermIndex>>,
    loading: Mutex<()>,
    synonyms: OnceLock<SynonymTable>,
    loading_synonyms: Mutex<()>,
}

impl SearchIndex {
    pub(super) fn new(searcher: Searcher, fields: IndexFields) -> tantivy::Result<SearchIndex> {
        Ok(SearchIndex {
            snapshot: IndexSnapshot::new(searcher, fields)?,
            memory: OnceLock::new(),
            loading: Mutex::new(()),
            synonyms: OnceLock::new(),
            loading_synonyms: Mutex::new(()),
        })
    }

    /// The same snapshot, ranked from its files.
    #[cfg(test)]
    pub(super) fn on_disk(&self) -> tantivy::Result<SearchIndex> {
        let index = SearchIndex::new(self.snapshot.searcher.clone(), self.snapshot.fields)?;
        Ok(SearchIndex { memory: OnceLock::from(None), ..index })
    }

    /// The synonyms learned from the documents, read on the first call.
    pub(super) fn synonyms(&self) -> tantivy::Result<&SynonymTable> {
        if let Some(table) = self.synonyms.get() {
            return Ok(table);
        }
        let _lock = self.loading_synonyms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = self.synonyms.get() {
            return Ok(table);
        }
        let loaded = SynonymTable::load(&self.snapshot)?;
        Ok(self.synonyms.get_or_init(|| loaded))
    }

    /// Whether the postings are in memory.
    pub(super) fn has_memory_index(&self) -> bool {
        self.memory.get().is_some_and(Option::is_some)
    }

    /// The postings in memory, loaded on the first call; `None` if there are too many.
    pub(super) fn memory_index(&self) -> tantivy::Result<Option<&MemoryTermIndex>> {
        if let Some(index) = self.memory.get() {
            return Ok(index.as_ref());
        }
        // Only one thread loads them, because each load needs the memory; concurrent searches wait.
        let _lock = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = self.memory.get() {
            return Ok(index.as_ref());
        }
        let loaded = std::thread::scope(|scope| {
            // The first search needs both. What fails here fails again where it is used.
            let load = || self.synonyms().is_ok();
            let _ = std::thread::Builder::new().spawn_scoped(scope, load);
            MemoryTermIndex::load(&self.snapshot)
        })?;
        Ok(self.memory.get_or_init(|| loaded).as_ref())
    }
}
