//! Documents to clean text for surfaces: no run, no store.
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Value, json};

use super::web::fetcher;
use crate::adapters::documents::{self, Limits, Origin, Taken, Unread};
pub use crate::adapters::documents::{Confinement, Escapes, PdfReader};
use crate::adapters::folder::files_below;
use crate::config::Settings;
use crate::domain::Owner;
use crate::error::Result;

/// One document read, or what stood in the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// `{path, url, title, author, date, lang, text, markdown, words, warnings}`. Where nothing could
    /// be read, all but `path` and `warnings` are empty.
    pub row: Value,
    /// Why nothing could be read, as one sentence that names the file.
    pub fault: Option<String>,
}

impl Reading {
    fn failed(path: &Path, message: String) -> Reading {
        Reading {
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

/// What one document of `owner` may cost, and who parses it: documents of one owner take no place from those of another.
pub(super) fn limits_of(settings: &Settings, owner: Option<&Owner>) -> Limits {
    let mut limits = limits(settings);
    if let Some(owner) = owner {
        limits.parser = limits.parser.map(|it| it.for_owner(&owner.user));
    }
    limits
}

/// What one document may cost.
pub(super) fn limits(settings: &Settings) -> Limits {
    Limits {
        max_bytes: settings.max_document_bytes,
        pdf_seconds: settings.pdf_seconds,
        pdf_memory_bytes: settings.pdf_memory_bytes,
        ..Limits::default()
    }
}

/// Reads every document of the file at `path`, or of the files below the folder there; what is
/// wrong with one is a [`Reading`] too. Files of a folder whose kind nobody here reads are no
/// documents: they are counted, and the count is given back.
///
/// # Errors
/// For a path that cannot be made absolute, and `Usage` for a glob that cannot be understood.
pub fn read_path(
    settings: &Settings,
    path: &Path,
    each: &mut dyn FnMut(Reading) -> ControlFlow<()>,
) -> Result<Unread> {
    let mut unread = Unread::default();
    if !path.is_dir() {
        read_file(settings, path, None, each)?;
        return Ok(unread);
    }
    let mut stopped = false;
    for file in files_below(path, &settings.globs, &settings.cache_dir)? {
        read_file(settings, &file, Some(&mut unread), &mut |it| {
            let flow = each(it);
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
    mut unread: Option<&mut Unread>,
    each: &mut dyn FnMut(Reading) -> ControlFlow<()>,
) -> Result<()> {
    documents::read_file(path, &limits(settings), &mut |taken| {
        each(match taken {
            Taken::Draft(draft) => Reading {
                row: documents::row(&draft, path),
                fault: None,
            },
            Taken::Fault(fault) => {
                if unread.as_mut().is_some_and(|it| it.takes(&fault)) {
                    return ControlFlow::Continue(());
                }
                Reading::failed(path, fault.message)
            }
        })
    })
}

/// Reads one document from memory: standard input.
pub fn read_bytes(settings: &Settings, bytes: &[u8]) -> Reading {
    let path = Path::new("-");
    match documents::read_bytes(bytes, &Origin::default(), &limits(settings)) {
        Ok(draft) => Reading {
            row: documents::row(&draft, path),
            fault: None,
        },
        Err(fault) => Reading::failed(path, fault.chain()),
    }
}

/// Reads one page of the web, through the guard.
///
/// # Errors
/// `Usage` for a wrong `allow_net`; what is wrong with the page is in the [`Reading`].
pub async fn read_url(settings: &Settings, url: &str) -> Result<Reading> {
    let fetcher = fetcher(settings)?;
    let limits = limits(settings);
    limits.warm();
    let fetched = fetcher.fetch(url).await;
    let fetched = match fetched {
        Ok(it) => it,
        Err(it) => {
            return Ok(Reading::failed(
                Path::new(url),
                format!("{url}: {}", it.why),
            ));
        }
    };
    let origin = Origin::fetched(fetched.url, fetched.content_type);
    Ok(
        match documents::read_fetched(fetched.bytes, origin, &limits).await {
            Ok(draft) => Reading {
                row: documents::row(&draft, Path::new(url)),
                fault: None,
            },
            Err(fault) => Reading::failed(Path::new(url), fault.chain()),
        },
    )
}

/// What the children that parse documents have taken from themselves, and what one of them could do all the same.
///
/// # Errors
/// `Setup` where none can be started.
pub fn try_sandbox(settings: &Settings) -> Result<(Confinement, Escapes)> {
    documents::try_sandbox(&limits(settings))
}

/// Who reads PDFs as things stand now.
pub fn pdf_reader() -> PdfReader {
    PdfReader::now()
}

/// Reads a small PDF that is whole, to see that whoever reads PDFs can.
///
/// # Errors
/// What reading it came to instead of its words.
pub fn try_pdf(settings: &Settings) -> Result<()> {
    documents::try_pdf(&limits(settings))
}
