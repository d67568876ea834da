//! Where a model's files come from: a directory, a zip archive, or a URL of either.
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::known_models::{MODEL_FILES, known_model};
use super::web;
use crate::config::Settings;
use ibid_core::files::private_options;
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::web::fetch::{FetchLimits, Fetcher, SystemResolver};

/// Bytes of one file of a model, or of an archive.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// Bytes between two reports of progress.
const PROGRESS_BYTES: u64 = 256 << 10;
/// The longest time between two pieces of a download.
const SILENCE: Duration = Duration::from_secs(30);
/// The name of a downloaded archive among the files that are being installed.
const ARCHIVE: &str = "archive.zip";

/// Reports that so many bytes of a file have arrived, and of how many if that is known.
pub(super) type ProgressBytes<'a> = dyn FnMut(&str, u64, Option<u64>) + Send + 'a;

/// Where a model's files come from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ModelSource {
    Directory(PathBuf),
    Archive(PathBuf),
    /// The URL of a directory, with a slash at its end, or of an archive.
    Web(Url),
}

impl ModelSource {
    /// The source that `text` names, and the name of the model that it would have.
    ///
    /// # Errors
    /// `Usage` if it is none.
    pub(super) fn from_request(text: &str) -> Result<(ModelSource, String)> {
        let unnamed = || {
            Error::new(ErrorKind::Usage, format!("`{text}` names no model"))
                .with_hint("name one of `ibid models ls`, a directory, a .zip archive, or an https:// URL of either")
        };
        if let Some(known) = known_model(text) {
            let url = Url::parse(known.url).map_err(|_| unnamed())?;
            return Ok((ModelSource::Web(url), known.name.to_owned()));
        }
        if text.contains("://") {
            let mut url = Url::parse(text).map_err(|_| unnamed())?;
            let last = |url: &Url| {
                let mut parts = url.path_segments().into_iter().flatten();
                parts.rfind(|part| !part.is_empty()).unwrap_or_default().to_owned()
            };
            let name = last(&url);
            if !is_zip(&name) && !url.path().ends_with('/') {
                url.set_path(&format!("{}/", url.path()));
            }
            return Ok((ModelSource::Web(url), bare_name(&name)));
        }
        let path = PathBuf::from(text);
        let name = path.file_name().map(|it| it.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        match std::fs::metadata(&path) {
            Ok(it) if it.is_dir() => Ok((ModelSource::Directory(path), name)),
            Ok(_) if is_zip(&name) => Ok((ModelSource::Archive(path), bare_name(&name))),
            _ => Err(unnamed()),
        }
    }

    /// Copies the files of the model into the directory `to`.
    ///
    /// # Errors
    /// `Setup` for files that are missing or too large, and the errors of the download.
    pub(super) async fn copy_to(
        &self,
        settings: &Settings,
        to: &Path,
        on_progress: &mut ProgressBytes<'_>,
    ) -> Result<()> {
        match self {
            ModelSource::Directory(from) => {
                for file in MODEL_FILES {
                    let path = from.join(file);
                    let copied = open_file(&path).and_then(|from| copy(from, &to.join(file)));
                    copied.map_err(|why| copy_error(&path.display().to_string(), why))?;
                }
            }
            ModelSource::Archive(path) => unpack(path, to)?,
            ModelSource::Web(url) if is_zip(url.path()) => {
                let archive = to.join(ARCHIVE);
                download(settings, url, &archive, on_progress).await?;
                unpack(&archive, to)?;
                std::fs::remove_file(&archive)
                    .map_err(|why| copy_error(&archive.display().to_string(), why))?;
            }
            ModelSource::Web(url) => {
                for file in MODEL_FILES {
                    let mut part = url.clone();
                    part.set_path(&format!("{}{file}", url.path()));
                    download(settings, &part, &to.join(file), on_progress).await?;
                }
            }
        }
        Ok(())
    }
}

fn is_zip(name: &str) -> bool {
    name.len() > 4 && name.to_ascii_lowercase().ends_with(".zip")
}

/// The name of an archive without its ending.
fn bare_name(name: &str) -> String {
    let end = if is_zip(name) { name.len() - 4 } else { name.len() };
    name[..end].to_owned()
}

fn copy_error(what: &str, why: io::Error) -> Error {
    Error::new(ErrorKind::Setup, format!("copying {what}")).with_source(why).with_hint(
        "a model has three files, config.json, tokenizer.json and model.safetensors; nothing was installed",
    )
}

/// Copies at most [`MAX_FILE_BYTES`] into a new file.
fn copy(from: impl Read, to: &Path) -> io::Result<()> {
    let mut file = private_options().open(to)?;
    let copied = io::copy(&mut from.take(MAX_FILE_BYTES + 1), &mut file)?;
    if copied > MAX_FILE_BYTES {
        let why = format!("the file is larger than {MAX_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    file.sync_all()
}

/// Opens a regular file: a pipe would be waited for.
fn open_file(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file"));
    }
    File::open(path)
}

/// Unpacks the files of a model, which stand together somewhere in the archive at `path`.
fn unpack(path: &Path, to: &Path) -> Result<()> {
    let fault = |why: io::Error| copy_error(&path.display().to_string(), why);
    let mut archive =
        zip::ZipArchive::new(open_file(path).map_err(fault)?).map_err(|why| fault(why.into()))?;
    let weights = MODEL_FILES[2];
    let names = archive.file_names().filter_map(|name| name.ok().map(|it| it.to_string()));
    let places = names.filter_map(|name| name.strip_suffix(weights).map(str::to_owned));
    let place = places.filter(|place| place.is_empty() || place.ends_with('/'));
    let Some(place) = place.min_by_key(|place| (place.len(), place.clone())) else {
        let why = format!("the archive has no {weights}");
        return Err(fault(io::Error::new(io::ErrorKind::NotFound, why)));
    };
    for file in MODEL_FILES {
        let entry = archive.by_name(&format!("{place}{file}"));
        let entry = entry.map_err(|why| {
            let why = io::Error::new(io::ErrorKind::InvalidData, format!("{file}: {why}"));
            fault(why)
        })?;
        copy(entry, &to.join(file)).map_err(fault)?;
    }
    Ok(())
}

/// Downloads `url` into a new file, through the guard.
async fn download(
    settings: &Settings,
    url: &Url,
    to: &Path,
    on_progress: &mut ProgressBytes<'_>,
) -> Result<()> {
    let limits = FetchLimits { silence: SILENCE, ..FetchLimits::default() };
    let names = Arc::new(SystemResolver);
    let agent = web::user_agent(settings);
    let fetcher = Fetcher::new(web::guard(settings)?, names, limits, &agent);
    let name = url.path().rsplit('/').next().unwrap_or_default().to_owned();
    let mut file =
        private_options().open(to).map_err(|why| copy_error(&to.display().to_string(), why))?;
    let (mut received, mut reported) = (0u64, 0u64);
    on_progress(&name, 0, None);
    let mut each = |(piece, whole): (&[u8], Option<u64>)| {
        file.write_all(piece)?;
        received += piece.len() as u64;
        if received - reported >= PROGRESS_BYTES || Some(received) == whole {
            reported = received;
            on_progress(&name, received, whole);
        }
        Ok(())
    };
    fetcher.download(url.as_str(), MAX_FILE_BYTES, &mut each).await.map_err(|fault| {
        let kind = match fault.status {
            Some(404 | 410) => ErrorKind::NotFound,
            _ => ErrorKind::Transient,
        };
        Error::new(kind, format!("downloading {url}"))
            .with_source(fault.why)
            .with_hint("nothing was installed; try again, or name a copy on this machine")
    })?;
    file.sync_all().map_err(|why| copy_error(&to.display().to_string(), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_known_name_a_url_or_something_on_this_machine() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_string_lossy().into_owned();
        let (source, _) = ModelSource::from_request(&path).unwrap();
        assert_eq!(source, ModelSource::Directory(dir.path().to_owned()));
        let web = |text: &str| match ModelSource::from_request(text).unwrap() {
            (ModelSource::Web(url), name) => (url.to_string(), name),
            other => panic!("{other:?}"),
        };
        let (url, name) = web("all-MiniLM-L6-v2");
        assert!(url.starts_with("https://huggingface.co/") && name == "all-MiniLM-L6-v2");
        assert_eq!(
            web("https://a.example/m/small"),
            ("https://a.example/m/small/".to_owned(), "small".to_owned())
        );
        assert_eq!(
            web("https://a.example/small.zip"),
            ("https://a.example/small.zip".to_owned(), "small".to_owned())
        );
        assert!(ModelSource::from_request("none-such").is_err());
    }
}
