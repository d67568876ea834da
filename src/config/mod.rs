//! Typed settings in layers: default < user < project < environment < flags. Every value knows its origin.
use std::path::PathBuf;

use crate::domain::{Budget, Method};

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where `ibid.db` lives.
    pub data_dir: PathBuf,
    /// Where folder indexes live.
    pub cache_dir: PathBuf,
    /// Folders that are always searched.
    pub folders: Vec<PathBuf>,
    /// Gitignore-style globs of what to leave out of folders; a leading `!` takes back in.
    pub globs: Vec<String>,
    /// The numbers of the method.
    pub method: Method,
    /// What a run may spend.
    pub budget: Budget,
    /// Largest document taken in, bytes.
    pub max_document_bytes: u64,
    /// Time a PDF may take, seconds.
    pub pdf_seconds: u64,
    /// Memory a PDF may take, bytes.
    pub pdf_memory_bytes: u64,
    /// Searches and reads at once, over all runs of the process.
    pub concurrency: usize,
}
