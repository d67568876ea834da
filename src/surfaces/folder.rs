//! Folders as people name them.
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Kind, Result};

/// A folder that can be searched, as an absolute path.
///
/// # Errors
/// `Usage` where there is none, or it cannot be entered; `field` is what names it.
pub(crate) fn folder(field: &str, path: &Path) -> Result<String> {
    let doing = || format!("opening {field} {}", path.display());
    let real = path.canonicalize().map_err(|fault| {
        let fault: Box<dyn std::error::Error + Send + Sync> = match fault.kind() {
            ErrorKind::NotFound => "there is no such folder".into(),
            _ => fault.into(),
        };
        Error::new(Kind::Usage, doing())
            .because(fault)
            .hint("name a folder that exists and that you may enter")
    })?;
    if !real.is_dir() {
        return Err(Error::new(Kind::Usage, doing())
            .because("this is not a folder")
            .hint("name the folder that holds your documents"));
    }
    std::fs::read_dir(&real).map_err(|fault| {
        Error::new(Kind::Usage, doing())
            .because(fault)
            .hint(format!(
                "give yourself permission to read it: chmod u+rx {}",
                path.display()
            ))
    })?;
    real.into_os_string()
        .into_string()
        .map_err(|_| Error::new(Kind::Usage, doing()).because("its path is not UTF-8"))
}
