//! Files to clean text: one reader a format, and the child processes for what may be hostile.
//!
//! [`read_file`] takes any file apart into documents, [`read_bytes`] reads one document of a person's own from memory, and
//! [`read_fetched`] reads what a stranger sent: always in a confined child, for one owner, until nobody waits for it any more.
//!
//! A person's own HTML, Markdown, text, JATS and JSON are parsed in this process: whoever names a file has chosen it, these
//! parsers take time in proportion to its size, which is bounded, and a process costs more than such a file. PDFs, Word documents and books
//! are parsed in a child wherever they come from.
//! Formats: HTML, Markdown, plain text, JATS, JSONL (also `.gz`), JSON, PDF, DOCX, EPUB. What a file holds
//! is told by its first bytes, then by its content type, then by its name.
mod address;
mod archive;
mod aside;
mod charset;
pub mod child;
pub(in crate::adapters) mod dates;
mod docx;
mod epub;
mod format;
mod html;
mod jats;
mod language;
mod markdown;
mod parse;
mod parsed;
mod pdf;
mod pool;
mod process;
mod programs;
mod properties;
mod prose;
mod render;
mod rows;
mod sandbox;
mod trial;
mod unread;
mod wire;
pub(in crate::adapters) mod xml;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(in crate::adapters) use aside::aside;
pub use format::Format;
pub(in crate::adapters) use html::links;
pub use parsed::Origin;
pub(in crate::adapters) use parsed::ParsedDocument;
pub use pool::Parser;
pub use render::{markdown, row};
pub use sandbox::{Confinement, Escapes};
pub use trial::{PdfReader, try_pdf, try_sandbox};
pub use unread::Unread;

use super::files::open_without_links;
use crate::domain::PageDraft;
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
    /// Wall-clock seconds for one document that a child parses. 20.
    pub pdf_seconds: u64,
    /// Address space of the child, in bytes. 512 MiB.
    pub pdf_memory_bytes: u64,
    /// Who parses what may be hostile, and for whom; `None` where this program cannot be started as the child (see [`Parser`]).
    pub parser: Option<Parser>,
    /// The search path on which `pdftotext` and `pdfinfo` are looked for: that of this process.
    pub path: OsString,
}

impl Limits {
    /// Gets a child ready, where none is: a document is being fetched that it will parse.
    pub(crate) fn warm(&self) {
        if let Some(parser) = &self.parser {
            parser.warm(self);
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_bytes: 32 << 20,
            pdf_seconds: 20,
            pdf_memory_bytes: 512 << 20,
            parser: Parser::of_this_process(),
            path: std::env::var_os("PATH").unwrap_or_default(),
        }
    }
}

/// What came out of a file.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one lives at a time")]
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
    pub(in crate::adapters) reason: FailReason,
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

/// How a file is opened.
type OpenFile = fn(&Path) -> std::io::Result<File>;

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
    let stop = AtomicBool::new(false);
    read_opened(path, |it| File::open(it), limits, &stop, each)
}

/// The same of a file that was listed below a folder, by its absolute path without links: one that has become a link since is
/// not followed. Once `stop` is set, a child that works on it is ended, and the file is a [`Taken::Fault`].
///
/// # Errors
/// As [`read_file`].
pub fn read_listed(
    path: &Path,
    limits: &Limits,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Taken) -> ControlFlow<()>,
) -> Result<()> {
    read_opened(path, open_without_links, limits, stop, each)
}

fn read_opened(
    path: &Path,
    open: OpenFile,
    limits: &Limits,
    stop: &AtomicBool,
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
        rows::read_lines(path, open, limits, &mut |place, taken| {
            each(match taken {
                Ok(parsed) => Taken::Draft(parsed.placed(&origin)),
                Err(it) => fault(place, it),
            })
        });
        return Ok(());
    }
    let found = load(path, open, limits).and_then(|bytes| {
        let format = format::detect(&bytes, &origin);
        if format == Format::Json {
            let mut all = Vec::new();
            rows::read_json(&bytes, &mut |it| {
                all.push(it);
                ControlFlow::Continue(())
            })?;
            return Ok(all);
        }
        one(bytes.into(), format, &origin, limits, stop).map(|it| vec![Ok(it)])
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

/// Reads one document of a person's own from memory. What a stranger sent is for [`read_fetched`].
///
/// # Errors
/// [`Kind::Malformed`] when there are no words in it or nobody here can read it; the message names
/// the origin.
pub fn read_bytes(bytes: &[u8], origin: &Origin, limits: &Limits) -> Result<PageDraft> {
    let read = || {
        bounded(bytes, limits)?;
        let (format, stop) = (format::detect(bytes, origin), AtomicBool::new(false));
        one(bytes.into(), format, origin, limits, &stop)
    };
    let parsed = read().map_err(|it| failed(origin, &it))?;
    Ok(parsed.placed(origin))
}

/// Reads one document that was fetched, whatever it is, in a child process that has no files, no network and nobody else's
/// documents. Dropped, it ends the child that is at work on it. A program that cannot be the child (see [`Parser`]) parses on a
/// thread of its own.
///
/// # Errors
/// As [`read_bytes`].
pub async fn read_fetched(bytes: Vec<u8>, origin: Origin, limits: &Limits) -> Result<PageDraft> {
    let read = fetched(bytes, origin.clone(), limits).await;
    read.map_err(|it| failed(&origin, &it))
}

/// As [`read_fetched`], with the trouble as it is.
pub(in crate::adapters) async fn fetched(
    bytes: Vec<u8>,
    origin: Origin,
    limits: &Limits,
) -> std::result::Result<PageDraft, Trouble> {
    bounded(&bytes, limits)?;
    if let Some(parser) = &limits.parser {
        let parsed = parser.parse(bytes, origin.clone(), limits).await;
        return parsed.map(|it| it.placed(&origin));
    }
    let limits = limits.clone();
    let read = aside(move || {
        let format = format::detect(&bytes, &origin);
        let stop = AtomicBool::new(false);
        let parsed = parse::admitted(one(bytes.into(), format, &origin, &limits, &stop));
        parsed.map(|it| it.placed(&origin))
    });
    let gave_up = |_| Err(Trouble::new(FailReason::Broken, "its reader gave up"));
    read.await.unwrap_or_else(gave_up)
}

fn failed(origin: &Origin, trouble: &Trouble) -> Error {
    let name = origin.name();
    let name = match &*name {
        "" => "standard input",
        name => name,
    };
    Error::new(
        Kind::Malformed,
        format!("reading {name}: {}", trouble.message),
    )
}

fn bounded(bytes: &[u8], limits: &Limits) -> std::result::Result<(), Trouble> {
    match bytes.len() as u64 > limits.max_bytes {
        true => Err(too_large(limits)),
        false => Ok(()),
    }
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

fn load(path: &Path, open: OpenFile, limits: &Limits) -> std::result::Result<Vec<u8>, Trouble> {
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        let mut file = open(path)?;
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

/// One document of a known format: in a child, until `stop` is set, where its parsers may be brought down by it, else here.
fn one(
    bytes: Cow<'_, [u8]>,
    format: Format,
    origin: &Origin,
    limits: &Limits,
    stop: &AtomicBool,
) -> std::result::Result<ParsedDocument, Trouble> {
    if matches!(format, Format::Pdf | Format::Docx | Format::Epub) {
        let Some(parser) = &limits.parser else {
            let why = "it is read in a child process, which this program cannot start";
            return Err(Trouble::new(FailReason::Unsupported, why));
        };
        return parser.parse_blocking(bytes.into_owned(), origin.clone(), limits, stop);
    }
    parse::document(&bytes, format, &origin.name(), origin.content_type())
}
