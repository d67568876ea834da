//! Files to clean text: one reader a format, and the child process for those that may be hostile.
//!
//! [`read_file`] takes any file apart into documents, [`read_bytes`] reads one document from memory.
//! Formats: HTML, Markdown, plain text, JATS, JSONL (also `.gz`), JSON, PDF, DOCX, EPUB. What a file holds
//! is told by its first bytes, then by its content type, then by its name.
mod address;
mod archive;
mod aside;
mod charset;
pub mod child;
mod confined;
pub(in crate::adapters) mod dates;
mod docx;
mod epub;
mod format;
mod html;
mod jats;
mod language;
mod markdown;
mod office;
mod parsed;
mod pdf;
mod properties;
mod prose;
mod render;
mod rows;
mod trial;
mod unread;
pub(in crate::adapters) mod xml;

use std::fs::File;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub(in crate::adapters) use aside::aside;
pub use format::Format;
pub(in crate::adapters) use html::links;
pub use parsed::Origin;
pub(in crate::adapters) use parsed::ParsedDocument;
pub use render::{markdown, row};
pub use trial::{PdfReader, try_pdf};
pub use unread::Unread;

use crate::domain::{BlockKind, PageDraft};
use crate::record::FailReason;
use crate::{Error, Kind, Result};

/// Each visible block of an HTML page with the numbers that describe it, for `evals fit`, which
/// fits the trees that choose the main text.
#[doc(hidden)]
pub fn described_blocks(page: &str) -> Vec<(String, Vec<f32>)> {
    let described = html::described(page).into_iter();
    described.map(|(text, row)| (text, row.to_vec())).collect()
}

/// A page's bytes as text, in the encoding it names or seems to have.
#[doc(hidden)]
pub fn decoded(page: &[u8]) -> String {
    charset::decode_html(page, None).0.into_owned()
}

/// The main text as other trees than the built-in ones choose it, for `evals fit`; `None` where
/// `trees` is no such file.
#[doc(hidden)]
pub fn main_text_by(page: &str, trees: &str) -> Option<String> {
    html::main_text_by(page, trees)
}

/// Bytes by which a file of unknown kind is told from text, before the rest of it is read.
const HEAD: u64 = 4096;

/// How much one file may cost.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of one document: a file, or one line of a JSONL file. 32 MiB.
    pub max_bytes: u64,
    /// Wall-clock seconds for one PDF or office container. 20.
    pub pdf_seconds: u64,
    /// Address space of the child that reads one, in bytes. 512 MiB.
    pub pdf_memory_bytes: u64,
    /// The program that runs [`child::child_main`] when called with `__document` first: the
    /// running program itself, unless a test says otherwise.
    pub child: PathBuf,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_bytes: 32 << 20,
            pdf_seconds: 20,
            pdf_memory_bytes: 512 << 20,
            child: std::env::current_exe().unwrap_or_default(),
        }
    }
}

/// What came out of a file.
#[derive(Debug)]
pub enum Taken {
    /// A document.
    Draft(PageDraft),
    /// A document that could not be read; the rest of the file goes on.
    Fault(Fault),
}

/// What could not be read, where, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// The place in it: `line 7`.
    pub place: Option<String>,
    /// The kind of failure.
    pub reason: FailReason,
    /// One sentence for a person; it names the file.
    pub message: String,
}

/// Why a reader gave up, before it is known which file it was.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(in crate::adapters) struct Trouble {
    reason: FailReason,
    pub(in crate::adapters) message: String,
}

impl Trouble {
    fn new(reason: FailReason, message: impl Into<String>) -> Trouble {
        Trouble {
            reason,
            message: message.into(),
        }
    }
}

/// Reads one file and hands over each document in it as it comes, until `each` breaks off.
///
/// A JSONL file is streamed line by line, so memory stays bounded by one document.
///
/// # Errors
/// Only for a file whose path cannot be made absolute; everything wrong with the file itself is a
/// [`Taken::Fault`].
pub fn read_file(
    path: &Path,
    limits: &Limits,
    each: &mut dyn FnMut(Taken) -> ControlFlow<()>,
) -> Result<()> {
    let full = std::path::absolute(path)
        .map_err(|it| Error::new(Kind::Usage, format!("finding {}", path.display())).because(it))?;
    let fault = |place: Option<String>, it: Trouble| {
        let at = place
            .as_deref()
            .map(|it| format!(", {it}"))
            .unwrap_or_default();
        Taken::Fault(Fault {
            path: path.to_owned(),
            message: format!("{}{at}: {}", path.display(), it.message),
            place,
            reason: it.reason,
        })
    };
    let origin = Origin::file(full);
    if rows::is_lines(path) {
        rows::read_lines(path, limits, &mut |place, taken| {
            each(match taken {
                Ok(parsed) => Taken::Draft(parsed.placed(&origin)),
                Err(it) => fault(place, it),
            })
        });
        return Ok(());
    }
    let found = load(path, limits).and_then(|bytes| {
        let format = format::detect(&bytes, &origin);
        if format == Format::Json {
            let mut all = Vec::new();
            rows::read_json(&bytes, &mut |it| {
                all.push(it);
                ControlFlow::Continue(())
            })?;
            return Ok(all);
        }
        one(&bytes, format, &origin, limits).map(|it| vec![Ok(it)])
    });
    match found {
        Ok(all) => {
            for (nth, taken) in all.into_iter().enumerate() {
                let taken = match taken {
                    Ok(parsed) => Taken::Draft(parsed.placed(&origin)),
                    Err(it) => fault(Some(format!("item {}", nth + 1)), it),
                };
                if each(taken).is_break() {
                    break;
                }
            }
        }
        Err(it) => {
            let _ = each(fault(None, it));
        }
    }
    Ok(())
}

/// Reads one document from memory.
///
/// # Errors
/// [`Kind::Malformed`] when there are no words in it or nobody here can read it; the message names
/// the origin.
pub fn read_bytes(bytes: &[u8], origin: &Origin, limits: &Limits) -> Result<PageDraft> {
    let name = origin.name();
    let name = match &*name {
        "" => "standard input",
        name => name,
    };
    let failed =
        |it: Trouble| Error::new(Kind::Malformed, format!("reading {name}: {}", it.message));
    if bytes.len() as u64 > limits.max_bytes {
        return Err(failed(too_large(limits)));
    }
    let format = format::detect(bytes, origin);
    if matches!(format, Format::Json | Format::Lines) {
        let mut first = None;
        let mut more = false;
        let mut take = |it: std::result::Result<ParsedDocument, Trouble>| {
            match it {
                Ok(draft) if first.is_none() => first = Some(draft),
                Ok(_) => more = true,
                Err(_) => {}
            }
            // A file of many rows is not read further than this needs.
            match more {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        if format == Format::Json {
            rows::read_json(bytes, &mut take).map_err(failed)?;
        } else {
            rows::split_lines(bytes, &mut take);
        }
        let mut draft = first
            .ok_or_else(|| failed(Trouble::new(FailReason::Empty, "no row in it has a text")))?;
        if more {
            draft
                .warnings
                .push("several documents: only the first was read".to_owned());
        }
        return Ok(draft.placed(origin));
    }
    let parsed = one(bytes, format, origin, limits).map_err(failed)?;
    Ok(parsed.placed(origin))
}

fn too_large(limits: &Limits) -> Trouble {
    Trouble::new(
        FailReason::TooLarge,
        format!("larger than {} MiB", limits.max_bytes >> 20),
    )
}

fn not_read() -> Trouble {
    Trouble::new(
        FailReason::Unsupported,
        "not a kind of document that can be read",
    )
}

fn load(path: &Path, limits: &Limits) -> std::result::Result<Vec<u8>, Trouble> {
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        let mut file = File::open(path)?;
        let mut bytes = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut bytes)?;
        if !format::may_be_read(&bytes, path) {
            return Ok(None);
        }
        file.take((limits.max_bytes + 1).saturating_sub(bytes.len() as u64))
            .read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let bytes = read().map_err(|it| unreadable(&it))?.ok_or_else(not_read)?;
    if bytes.len() as u64 > limits.max_bytes {
        return Err(too_large(limits));
    }
    Ok(bytes)
}

fn unreadable(cause: &std::io::Error) -> Trouble {
    let reason = match cause.kind() {
        std::io::ErrorKind::NotFound => FailReason::NotFound,
        _ => FailReason::Broken,
    };
    Trouble::new(reason, format!("cannot be read: {cause}"))
}

/// One document of a known format.
fn one(
    bytes: &[u8],
    format: Format,
    origin: &Origin,
    limits: &Limits,
) -> std::result::Result<ParsedDocument, Trouble> {
    let here = origin.address();
    let mut draft = match format {
        Format::Html => {
            let (text, note) = charset::decode_html(bytes, origin.content_type());
            let mut draft = html::read(&text, &here);
            draft.warnings.extend(note);
            draft
        }
        Format::Markdown | Format::Text => {
            let (text, note) = charset::decode(bytes, origin.content_type());
            let mut draft = if format == Format::Markdown {
                markdown::read(&text)
            } else {
                ParsedDocument {
                    blocks: prose::blocks(&text),
                    ..ParsedDocument::default()
                }
            };
            draft.warnings.extend(note);
            draft
        }
        Format::Jats => jats::read(bytes)?,
        Format::Pdf => pdf::read(bytes, limits)?,
        Format::Docx => office::read(child::Task::Docx, bytes, limits)?,
        Format::Epub => office::read(child::Task::Epub, bytes, limits)?,
        Format::Json | Format::Lines | Format::Unknown => {
            return Err(not_read());
        }
    };
    finish(&mut draft, &origin.name());
    if draft.blocks.is_empty() {
        return Err(Trouble::new(FailReason::Empty, "there are no words in it"));
    }
    Ok(draft)
}

/// At most the first `most` bytes of a text.
fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

/// Fills what the document itself did not say: title and language.
fn finish(draft: &mut ParsedDocument, name: &str) {
    draft.blocks.retain(|it| !it.text.trim().is_empty());
    if draft.title.trim().is_empty() {
        let heading = draft.blocks.iter().find(|it| it.kind == BlockKind::Heading);
        let stem = || {
            let last = name
                .trim_end_matches('/')
                .rsplit(['/', '\\'])
                .next()
                .unwrap_or_default();
            let last = last.split(['?', '#']).next().unwrap_or_default();
            Path::new(last)
                .file_stem()
                .map(|it| it.to_string_lossy().into_owned())
        };
        draft.title = heading
            .map(|it| it.text.clone())
            .or_else(stem)
            .unwrap_or_default();
    }
    draft.title = cut(std::mem::take(&mut draft.title), 500);
    if draft.lang.is_none() {
        draft.lang = language::of(draft.blocks.iter().map(|it| it.text.as_str()));
    }
}
