//! Files opened so that nobody else reads along, and nobody leads elsewhere.
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, open, openat};

/// How directories on the way are opened: to be searched, not to be listed.
#[cfg(target_os = "linux")]
const SEARCHED: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const SEARCHED: OFlags = OFlags::RDONLY;

/// Opens the regular file at `path`, which is absolute, to be read. No link on the way is followed: a file that becomes a link
/// after it was listed leads nowhere.
///
/// # Errors
/// `InvalidInput` for a path that is relative or has `..`, and for what is no regular file; those of the system, as for a link.
pub(in crate::adapters) fn open_without_links(path: &Path) -> io::Result<File> {
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
    // What is no regular file, as a pipe, must not be waited for.
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&at, *file, read, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(wrong("this is not a regular file")),
    }
}

/// Makes a directory with its parents, or takes the one that is there, for its owner alone.
pub(in crate::adapters) fn tightened_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    tighten(path)
}

/// Takes from all others what they may do with a file or a directory: an earlier version let them in.
fn tighten(path: &Path) -> io::Result<()> {
    let mode = path.metadata()?.permissions().mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => std::fs::set_permissions(path, Permissions::from_mode(mode & 0o700)),
    }
}

/// Makes an empty file, or takes the one that is there, for its owner alone.
pub(in crate::adapters) fn tightened_file(path: &Path) -> io::Result<()> {
    private_options().truncate(false).open(path)?;
    tighten(path)
}

/// How a file is made for its owner alone.
pub(in crate::adapters) fn private_options() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create(true).mode(0o600);
    options
}

/// Writes a file for its owner alone.
pub(in crate::adapters) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut file = private_options().truncate(true).open(path)?;
    file.write_all(bytes)
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
        assert!(open_without_links(&inside.join("deep/a.md")).is_ok());
        symlink(outside.join("a.md"), inside.join("b.md")).unwrap();
        symlink(&outside, inside.join("linked")).unwrap();
        symlink(root.join("nowhere"), inside.join("c.md")).unwrap();
        for it in [
            "b.md",
            "linked/a.md",
            "c.md",
            "deep",
            "../outside/a.md",
            "deep/none.md",
        ] {
            assert!(open_without_links(&inside.join(it)).is_err(), "{it}");
        }
        assert!(open_without_links(Path::new("inside/deep/a.md")).is_err());
        let pipe = inside.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(open_without_links(&pipe).is_err());
    }

    #[test]
    fn what_is_made_is_its_owner_s_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("a/b");
        tightened_dir(&at).unwrap();
        std::fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
        tightened_dir(&at).unwrap();
        write_private(&at.join("c"), b"x").unwrap();
        std::fs::write(at.join("d"), "kept").unwrap();
        std::fs::set_permissions(at.join("d"), Permissions::from_mode(0o644)).unwrap();
        tightened_file(&at.join("d")).unwrap();
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
