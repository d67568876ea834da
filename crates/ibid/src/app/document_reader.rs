//! Reads documents as clean text, without a run or a store.
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Value, json};

use super::web::fetcher;
use crate::config::Settings;
use ibid_core::Result;
use ibid_core::domain::Owner;
pub use ibid_extract::{Confinement, PdfBackend, SandboxEscapes};
use ibid_extract::{DocumentOrigin, ExtractLimits, ReadItem, UnsupportedFiles};
use ibid_index::folder::files_below;

/// One document that was read, or the reason why not.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOutcome {
    /// `{path, url, title, author, date, lang, text, markdown, words, warnings}`. After a fault all but `path` and `warnings` are empty.
    pub row: Value,
    /// Why the document could not be read, as one sentence that names the file.
    pub fault: Option<String>,
}

impl ReadOutcome {
    fn failed(path: &Path, message: String) -> ReadOutcome {
        ReadOutcome {
            row: json!({
                "path": path.to_string_lossy(),
                "url": null,
                "title": null,
                "author": null,
                "date": null,
                "lang": null,
                "words": 0,
                "markdown": "",
                "text": "",
                "warnings": [message],
            }),
            fault: Some(message),
        }
    }
}

/// The limits on a document of `owner`. Each owner has parser processes of their own.
pub(super) fn limits_for(settings: &Settings, owner: Option<&Owner>) -> ExtractLimits {
    let mut limits = document_limits(settings);
    if let Some(owner) = owner {
        limits.parser = limits.parser.map(|parser| parser.for_owner(&owner.user));
    }
    limits
}

/// The limits on a document.
pub(super) fn document_limits(settings: &Settings) -> ExtractLimits {
    ExtractLimits {
        max_bytes: settings.max_document_bytes,
        pdf_seconds: settings.pdf_seconds,
        pdf_memory_bytes: settings.pdf_memory_bytes,
        path: settings.search_path.clone(),
        ..ExtractLimits::default()
    }
}

/// Reads every document of the file at `path`, or of the files below a folder, and calls `each` with the outcome. Files of a folder in
/// unsupported formats are only counted; the count is returned.
///
/// # Errors
/// For a path that cannot be made absolute, and `Usage` for an invalid glob.
pub fn read_path(
    settings: &Settings,
    path: &Path,
    each: &mut dyn FnMut(ReadOutcome) -> ControlFlow<()>,
) -> Result<UnsupportedFiles> {
    let mut unread = UnsupportedFiles::default();
    if !path.is_dir() {
        read_file(settings, path, None, each)?;
        return Ok(unread);
    }
    let mut stopped = false;
    for file in files_below(path, &settings.globs, &settings.cache_dir)? {
        read_file(settings, &file, Some(&mut unread), &mut |outcome| {
            let flow = each(outcome);
            stopped = flow.is_break();
            flow
        })?;
        if stopped {
            break;
        }
    }
    Ok(unread)
}

fn read_file(
    settings: &Settings,
    path: &Path,
    mut unread: Option<&mut UnsupportedFiles>,
    each: &mut dyn FnMut(ReadOutcome) -> ControlFlow<()>,
) -> Result<()> {
    ibid_extract::read_file(path, &document_limits(settings), &mut |item| {
        each(match item {
            ReadItem::Draft(draft) => {
                ReadOutcome { row: ibid_extract::to_json_row(&draft, path), fault: None }
            }
            ReadItem::Fault(fault) => {
                if unread.as_mut().is_some_and(|files| files.record(&fault)) {
                    return ControlFlow::Continue(());
                }
                ReadOutcome::failed(path, fault.message)
            }
        })
    })
}

/// Reads one document from memory, as from standard input.
pub fn read_bytes(settings: &Settings, bytes: &[u8]) -> ReadOutcome {
    let path = Path::new("-");
    match ibid_extract::read_bytes(bytes, &DocumentOrigin::default(), &document_limits(settings)) {
        Ok(draft) => ReadOutcome { row: ibid_extract::to_json_row(&draft, path), fault: None },
        Err(fault) => ReadOutcome::failed(path, fault.chain()),
    }
}

/// Reads one web page, through the SSRF guard.
///
/// # Errors
/// `Usage` for an invalid `allow_net`. A fault of the page is in the [`ReadOutcome`].
pub async fn read_url(settings: &Settings, url: &str) -> Result<ReadOutcome> {
    let fetcher = fetcher(settings)?;
    let limits = document_limits(settings);
    limits.warm_up();
    let fetched = match fetcher.fetch(url).await {
        Ok(fetched) => fetched,
        Err(fault) => {
            let message = format!("{url}: {}", fault.why);
            return Ok(ReadOutcome::failed(Path::new(url), message));
        }
    };
    let origin = DocumentOrigin::from_url(fetched.url, fetched.content_type);
    Ok(match ibid_extract::read_fetched(fetched.bytes, origin, &limits).await {
        Ok(draft) => {
            ReadOutcome { row: ibid_extract::to_json_row(&draft, Path::new(url)), fault: None }
        }
        Err(fault) => ReadOutcome::failed(Path::new(url), fault.chain()),
    })
}

/// The confinement of the parser processes, and what one of them could still do.
///
/// # Errors
/// `Setup` if none can be started.
pub fn probe_sandbox(settings: &Settings) -> Result<(Confinement, SandboxEscapes)> {
    ibid_extract::check_sandbox(&document_limits(settings))
}

/// What reads PDFs on this machine.
pub fn pdf_reader(settings: &Settings) -> PdfBackend {
    PdfBackend::detect(&settings.search_path)
}

/// Reads a small valid PDF, to check that PDFs can be read.
///
/// # Errors
/// Why it could not be read.
pub fn probe_pdf(settings: &Settings) -> Result<()> {
    ibid_extract::check_pdf(&document_limits(settings))
}
