//! The files of a package, by their path below a prefix such as `/usr`.
use std::collections::BTreeMap;
use std::path::Path;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackageFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_executable: bool,
}

impl PackageFile {
    /// Permission bits: 0o755 or 0o644.
    pub(crate) fn mode(&self) -> u32 {
        if self.is_executable { 0o755 } else { 0o644 }
    }
}

/// Files by path, in the order of paths, so that every archive of them has one order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileTree(BTreeMap<String, PackageFile>);

impl FileTree {
    /// Adds a file that is not executable.
    pub(crate) fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let file = PackageFile { bytes: bytes.into(), is_executable: false };
        self.0.insert(path.into(), file);
    }

    /// Adds a program.
    pub(crate) fn add_program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let file = PackageFile { bytes: bytes.into(), is_executable: true };
        self.0.insert(path.into(), file);
    }

    /// Adds all files below the directory `from` under the path `to`.
    ///
    /// # Errors
    /// A message that names the path that cannot be read.
    pub(crate) fn add_dir(&mut self, from: &Path, to: &str) -> Result<(), String> {
        let failed = |fault: std::io::Error| format!("{}: {fault}", from.display());
        for entry in std::fs::read_dir(from).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let to = format!("{to}/{name}");
            if path.is_dir() {
                self.add_dir(&path, &to)?;
            } else {
                self.add(to, read(&path)?);
            }
        }
        Ok(())
    }

    /// Adds all files of `other` with `prefix` before their paths.
    pub(crate) fn add_tree(&mut self, prefix: &str, other: &FileTree) {
        let files = other.iter().map(|(path, file)| (format!("{prefix}{path}"), file.clone()));
        self.0.extend(files);
    }

    /// The files in the order of their paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &PackageFile)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The file at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&PackageFile> {
        self.0.get(path)
    }

    /// Renames a file; does nothing if it is not there.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(file) = self.0.remove(from) {
            self.0.insert(to.to_owned(), file);
        }
    }

    /// Bytes of all files together.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.values().map(|file| file.bytes.len() as u64).sum()
    }
}

/// Reads a file.
///
/// # Errors
/// A message that names the file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|fault| format!("{}: {fault}", path.display()))
}

/// Writes a file.
///
/// # Errors
/// A message that names the file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|fault| format!("{}: {fault}", path.display()))
}
