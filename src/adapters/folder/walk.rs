//! Which files of a folder are documents.
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use sha2::{Digest, Sha256};

use crate::error::{Error, Kind, Result};

/// A file changed more recently than this may change again without its time of change telling.
const UNSETTLED: Duration = Duration::from_secs(2);

/// One file, as the file system tells.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// Where it is.
    pub(super) path: PathBuf,
    /// What it is known by: a hash of its path below the folder.
    pub(super) id: u64,
    /// Bytes.
    pub(super) size: u64,
    /// Time of last change, nanoseconds since 1970; 0 where it cannot be trusted.
    pub(super) mtime: i64,
}

/// What could not be looked at, and why.
pub(super) type Unseen = (PathBuf, String);

/// The files below `root` in order of path, and what could not be looked into (path and reason).
///
/// Hidden files are left out, and what `globs` name (gitignore syntax; `!` takes back in what an
/// earlier glob left out) or a `.ignore` file in the folder names. `.gitignore` is not obeyed: it
/// says what is not to be committed, and whoever names a folder wants it read. Links are not
/// followed, so nothing outside the folder is read and no loop is walked; devices and pipes are no
/// documents.
///
/// `cache_dir` is left out wherever it lies: an index must not read itself.
pub(super) fn files(
    root: &Path,
    globs: &[String],
    cache_dir: &Path,
) -> Result<(Vec<Seen>, Vec<Unseen>)> {
    let left_out = matcher(root, globs)?;
    let own = cache_dir.join("index");
    let own = own.canonicalize().unwrap_or(own);
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false)
        .hidden(true)
        .ignore(true)
        .follow_links(false)
        .filter_entry(move |it| {
            let folder = it.file_type().is_some_and(|it| it.is_dir());
            it.depth() == 0 || it.path() != own && !left_out.matched(it.path(), folder).is_ignore()
        });
    let now = SystemTime::now();
    let mut found = Vec::new();
    let mut closed = Vec::new();
    for entry in walk.build() {
        let entry = match entry {
            Ok(it) => it,
            Err(why) => {
                closed.push((place(&why, root), why.to_string()));
                continue;
            }
        };
        if !entry.file_type().is_some_and(|it| it.is_file()) {
            continue;
        }
        match entry.metadata() {
            Ok(meta) => found.push(Seen {
                id: id(root, entry.path()),
                size: meta.len(),
                mtime: meta.modified().map_or(0, |it| settled(it, now)),
                path: entry.into_path(),
            }),
            Err(why) => closed.push((entry.path().to_owned(), why.to_string())),
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    closed.sort();
    Ok((found, closed))
}

/// The files below `root` that may be documents, in order of path: what an index of it would read.
///
/// # Errors
/// `Usage` for a glob that cannot be understood.
pub fn files_below(root: &Path, globs: &[String], cache_dir: &Path) -> Result<Vec<PathBuf>> {
    let (found, _) = files(root, globs, cache_dir)?;
    Ok(found.into_iter().map(|it| it.path).collect())
}

fn matcher(root: &Path, globs: &[String]) -> Result<Gitignore> {
    let mut builder = GitignoreBuilder::new(root);
    for glob in globs {
        builder.add_line(None, glob).map_err(|why| {
            Error::new(Kind::Usage, format!("reading the glob `{glob}`"))
                .because(why)
                .hint("write globs as in .gitignore, such as `*.log` or `drafts/`")
        })?;
    }
    builder.build().map_err(|why| {
        Error::new(Kind::Usage, "reading the globs of what to leave out").because(why)
    })
}

fn place(why: &ignore::Error, root: &Path) -> PathBuf {
    match why {
        ignore::Error::WithPath { path, .. } => path.clone(),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            place(err, root)
        }
        _ => root.to_owned(),
    }
}

fn id(root: &Path, path: &Path) -> u64 {
    let below = path.strip_prefix(root).unwrap_or(path);
    short_hash(&[below.as_os_str().as_encoded_bytes()])
}

/// Nanoseconds since 1970, or 0 for a time so recent that the next change may bear the same.
fn settled(changed: SystemTime, now: SystemTime) -> i64 {
    match now.duration_since(changed) {
        Ok(age) if age < UNSETTLED => 0,
        _ => changed
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|it| i64::try_from(it.as_nanos()).ok())
            .unwrap_or(0),
    }
}

/// The first 64 bits of a SHA-256 over length-prefixed parts.
pub(super) fn short_hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    first_64(&hasher.finalize())
}

/// The first 64 bits of a digest.
pub(super) fn first_64(digest: &[u8]) -> u64 {
    digest
        .iter()
        .take(8)
        .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}
