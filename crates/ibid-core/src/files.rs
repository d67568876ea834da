//! Files and directories that only their owner can access, and opening files without following links.
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, open, openat};

/// Flags for directories on the path: search permission is enough.
#[cfg(target_os = "linux")]
const SEARCHED: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const SEARCHED: OFlags = OFlags::RDONLY;

/// Opens the regular file at the absolute `path` for reading, without following symbolic links anywhere on the path,
/// so that a file that was replaced by a link after it was listed is not opened.
///
/// # Errors
/// `InvalidInput` if the path is relative, contains `..` or is not a regular file; otherwise errors of the system,
/// for example for a link.
pub fn open_no_follow(path: &Path) -> io::Result<File> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    let mut names = Vec::new();
    for it in path.components() {
        match it {
            Component::RootDir => {}
            Component::Normal(name) => names.push(name),
            _ => return Err(wrong("the path is not plain")),
        }
    }
    let Some((file, parents)) = names.split_last().filter(|_| path.is_absolute()) else {
        return Err(wrong("the path is not absolute"));
    };
    let on_the_way = SEARCHED | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = open("/", on_the_way, Mode::empty())?;
    for name in parents {
        at = openat(&at, *name, on_the_way, Mode::empty())?;
    }
    // Opening a pipe must not block.
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&at, *file, read, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(wrong("this is not a regular file")) }
}

/// Creates a directory and its parents, or uses the existing one, accessible only by its owner.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    restrict_permissions(path)
}

/// Removes the permissions of group and others; earlier versions granted them.
fn restrict_permissions(path: &Path) -> io::Result<()> {
    let mode = path.metadata()?.permissions().mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => std::fs::set_permissions(path, Permissions::from_mode(mode & 0o700)),
    }
}

/// Creates an empty file, or uses the existing one, accessible only by its owner. It waits for no pipe and follows no link, so
/// that no other file is changed.
///
/// # Errors
/// `InvalidInput` if `path` is not a regular file; otherwise errors of the system, for example for a link.
pub fn create_private_file(path: &Path) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = private_options();
    let file = options.truncate(false).custom_flags(flags.bits() as i32).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file"));
    }
    match metadata.permissions().mode() {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => file.set_permissions(Permissions::from_mode(mode & 0o700)),
    }
}

/// Options for creating a file that only its owner can access.
pub fn private_options() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create(true).mode(0o600);
    options
}

/// Writes a file that only its owner can access.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut file = private_options().truncate(true).open(path)?;
    file.write_all(bytes)
}

/// Creates a directory and its parents, accessible only by its owner.
///
/// # Errors
/// Errors of the system.
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates a new directory, accessible only by its owner.
///
/// # Errors
/// `AlreadyExists` if it exists; otherwise errors of the system.
pub fn new_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed_wherever_it_stands_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        std::fs::create_dir_all(inside.join("deep")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(inside.join("deep/a.md"), "own").unwrap();
        std::fs::write(outside.join("a.md"), "secret").unwrap();
        assert!(open_no_follow(&inside.join("deep/a.md")).is_ok());
        symlink(outside.join("a.md"), inside.join("b.md")).unwrap();
        symlink(&outside, inside.join("linked")).unwrap();
        symlink(root.join("nowhere"), inside.join("c.md")).unwrap();
        for it in ["b.md", "linked/a.md", "c.md", "deep", "../outside/a.md", "deep/none.md"] {
            assert!(open_no_follow(&inside.join(it)).is_err(), "{it}");
        }
        assert!(open_no_follow(Path::new("inside/deep/a.md")).is_err());
        let pipe = inside.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(open_no_follow(&pipe).is_err());
    }

    #[test]
    fn what_is_made_is_its_owner_s_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("a/b");
        create_private_dir(&at).unwrap();
        std::fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
        create_private_dir(&at).unwrap();
        write_private(&at.join("c"), b"x").unwrap();
        std::fs::write(at.join("d"), "kept").unwrap();
        std::fs::set_permissions(at.join("d"), Permissions::from_mode(0o644)).unwrap();
        create_private_file(&at.join("d")).unwrap();
        assert_eq!(std::fs::read_to_string(at.join("d")).unwrap(), "kept");
        for (path, mode) in [
            (&*at.join("d"), 0o600),
            (at.parent().unwrap(), 0o700),
            (&at, 0o700),
            (&*at.join("c"), 0o600),
        ] {
            let found = path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{}", path.display());
        }
    }
}
