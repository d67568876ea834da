//! `.tar.gz` files whose bytes depend on their files alone: one order, one time, one owner.
use std::collections::BTreeSet;
use std::io::Write as _;

use flate2::{Compression, GzBuilder};

use crate::file_tree::FileTree;

/// The files of `tree` below `prefix`, with their directories, as gzip-compressed tar.
///
/// `time` is the time of every entry, in seconds since 1970. `prefix` is empty or ends in a slash.
///
/// # Errors
/// A message that names the entry that cannot be written.
pub(crate) fn tar_gz(tree: &FileTree, prefix: &str, time: u64) -> Result<Vec<u8>, String> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut known = BTreeSet::new();
    for (path, file) in tree.iter() {
        let path = format!("{prefix}{path}");
        for (at, _) in path.match_indices('/') {
            // `./` itself is an entry too, as dpkg writes it.
            let dir = &path[..=at];
            if known.insert(dir.to_owned()) {
                add(&mut builder, dir, &[], 0o755, time)?;
            }
        }
        add(&mut builder, &path, &file.bytes, file.mode(), time)?;
    }
    let bytes = builder.into_inner().map_err(|fault| fault.to_string())?;
    gzip(&bytes)
}

fn add(
    builder: &mut tar::Builder<Vec<u8>>,
    path: &str,
    bytes: &[u8],
    mode: u32,
    time: u64,
) -> Result<(), String> {
    let failed = |fault: std::io::Error| format!("{path}: {fault}");
    let mut header = tar::Header::new_ustar();
    let kind = match path.ends_with('/') {
        true => tar::EntryType::Directory,
        false => tar::EntryType::Regular,
    };
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root").map_err(failed)?;
    header.set_groupname("root").map_err(failed)?;
    header.set_size(bytes.len() as u64);
    // `set_path` drops a leading `./`, which dpkg expects.
    match (path.strip_prefix("./"), header.as_ustar_mut()) {
        (Some(_), Some(ustar)) if path.len() < ustar.name.len() => {
            ustar.name[..path.len()].copy_from_slice(path.as_bytes());
        }
        _ => header.set_path(path).map_err(failed)?,
    }
    header.set_cksum();
    builder.append(&header, bytes).map_err(failed)
}

/// Compresses `bytes` without a time or a name in the header.
///
/// # Errors
/// A message if memory runs out.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    out.write_all(bytes).map_err(|fault| fault.to_string())?;
    out.finish().map_err(|fault| fault.to_string())
}
