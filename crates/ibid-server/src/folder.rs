//! Checks the folders that users name.
use std::io;
use std::path::Path;

use ibid_core::{Error, ErrorKind, Result};

/// Returns the absolute path of a folder that can be searched. `field` is the flag or setting that names it.
///
/// # Errors
/// `Usage` if it does not exist, is not a folder or cannot be read.
pub fn resolve_folder(field: &str, path: &Path) -> Result<String> {
    let doing = || format!("opening {field} {}", path.display());
    let real = path.canonicalize().map_err(|fault| {
        let fault: Box<dyn std::error::Error + Send + Sync> = match fault.kind() {
            io::ErrorKind::NotFound => "there is no such folder".into(),
            _ => fault.into(),
        };
        Error::new(ErrorKind::Usage, doing())
            .with_source(fault)
            .with_hint("name an existing folder that you can read")
    })?;
    if !real.is_dir() {
        return Err(Error::new(ErrorKind::Usage, doing())
            .with_source("not a folder")
            .with_hint("name the folder with your documents"));
    }
    std::fs::read_dir(&real).map_err(|fault| {
        Error::new(ErrorKind::Usage, doing()).with_source(fault).with_hint(format!(
            "give yourself permission to read it: chmod u+rx {}",
            path.display()
        ))
    })?;
    real.into_os_string()
        .into_string()
        .map_err(|_| Error::new(ErrorKind::Usage, doing()).with_source("its path is not UTF-8"))
}
