//! How a folder is read.
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ibid_core::Result;
use ibid_extract::{ExtractLimits, ReadItem, read_listed};

/// Reads one file and passes its documents and failures to the callback. Once the flag is set it may stop, with a failure.
pub type ReadFile = dyn Fn(&Path, &AtomicBool, &mut dyn FnMut(ReadItem) -> ControlFlow<()>) -> Result<()>
    + Send
    + Sync;

/// How a folder is read.
#[derive(Clone)]
pub struct FolderOptions {
    /// Gitignore-style globs of files to leave out; a leading `!` includes them again.
    pub globs: Vec<String>,
    /// Reads one file.
    pub read: Arc<ReadFile>,
    /// Everything besides a file's bytes that decides what is read of it. When it changes, unchanged files are read again.
    pub salt: String,
}

impl FolderOptions {
    /// Options to read files with [`ibid_extract`] within `limits`.
    pub fn new(globs: Vec<String>, limits: ExtractLimits) -> FolderOptions {
        let salt =
            format!("{} {} {}", limits.max_bytes, limits.pdf_seconds, limits.pdf_memory_bytes);
        FolderOptions {
            globs,
            read: Arc::new(move |path, stop, each| read_listed(path, &limits, stop, each)),
            salt,
        }
    }
}
