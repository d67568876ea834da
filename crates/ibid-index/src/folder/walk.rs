//! Lists the files of a folder.
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::hash::short_hash;
use ibid_core::{Error, ErrorKind, Result};

/// A file that changed more recently than this may change again within the resolution of its time of change.
const MTIME_RESOLUTION: Duration = Duration::from_secs(2);

/// One file in the folder.
#[derive(Debug, Clone)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    /// A hash of the path relative to the folder.
    pub(super) id: u64,
    /// Size in bytes.
    pub(super) size: u64,
    /// Time of last change, nanoseconds since 1970; 0 if it cannot be trusted.
    pub(super) mtime: i64,
}

/// A path that could not be read, and why.
pub(super) type WalkFault = (PathBuf, String);

/// The files below `root` in order of path, and the paths that could not be read.
///
/// Leaves out hidden files, files that match `globs` (gitignore syntax; `!` includes again what an earlier glob left out) and
/// files named in a `.ignore` file in the folder. `.gitignore` is not obeyed: it names files that are not committed, and a
/// user who names a folder wants it read. Links are not followed, so nothing outside the folder is read and there are no
/// loops. Devices and pipes are skipped.
///
/// The indexes in `cache_dir` are left out wherever they are: an index must not read itself.
pub(super) fn walk(
    root: &Path,
    globs: &[String],
    cache_dir: &Path,
) -> Result<(Vec<FoundFile>, Vec<WalkFault>)> {
    let left_out = matcher(root, globs)?;
    let indexes = cache_dir.join("index");
    let indexes = indexes.canonicalize().unwrap_or(indexes);
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).hidden(true).ignore(true).follow_links(false).filter_entry(
        move |entry| {
            let is_dir = entry.file_type().is_some_and(|file_type| file_type.is_dir());
            let path = entry.path();
            entry.depth() == 0 || path != indexes && !left_out.matched(path, is_dir).is_ignore()
        },
    );
    let now = SystemTime::now();
    let mut found = Vec::new();
    let mut faults = Vec::new();
    for entry in walk.build() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(why) => {
                faults.push((error_path(&why, root), why.to_string()));
                continue;
            }
        };
        if !entry.file_type().is_some_and(|file_type| file_type.is_file()) {
            continue;
        }
        match entry.metadata() {
            Ok(meta) => found.push(FoundFile {
                id: id(root, entry.path()),
                size: meta.len(),
                mtime: meta.modified().map_or(0, |modified| trusted_mtime(modified, now)),
                path: entry.into_path(),
            }),
            Err(why) => faults.push((entry.path().to_owned(), why.to_string())),
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    faults.sort();
    Ok((found, faults))
}

/// The files below `root` that an index would read, in order of path.
///
/// # Errors
/// `Usage` for an invalid glob.
pub fn files_below(root: &Path, globs: &[String], cache_dir: &Path) -> Result<Vec<PathBuf>> {
    let (found, _) = walk(root, globs, cache_dir)?;
    Ok(found.into_iter().map(|it| it.path).collect())
}

fn matcher(root: &Path, globs: &[String]) -> Result<Gitignore> {
    let mut builder = GitignoreBuilder::new(root);
    for glob in globs {
        builder.add_line(None, glob).map_err(|why| {
            Error::new(ErrorKind::Usage, format!("reading the glob `{glob}`"))
                .with_source(why)
                .with_hint("write globs as in .gitignore, such as `*.log` or `drafts/`")
        })?;
    }
    builder
        .build()
        .map_err(|why| Error::new(ErrorKind::Usage, "combining the exclude globs").with_source(why))
}

fn error_path(why: &ignore::Error, root: &Path) -> PathBuf {
    match why {
        ignore::Error::WithPath { path, .. } => path.clone(),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            error_path(err, root)
        }
        _ => root.to_owned(),
    }
}

fn id(root: &Path, path: &Path) -> u64 {
    let below = path.strip_prefix(root).unwrap_or(path);
    short_hash(&[below.as_os_str().as_encoded_bytes()])
}

/// Nanoseconds since 1970, or 0 for a time so recent that the next change may have the same time.
fn trusted_mtime(changed: SystemTime, now: SystemTime) -> i64 {
    match now.duration_since(changed) {
        Ok(age) if age < MTIME_RESOLUTION => 0,
        _ => changed
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|it| i64::try_from(it.as_nanos()).ok())
            .unwrap_or(0),
    }
}
