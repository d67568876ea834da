//! Reads files and bytes into documents; hostile formats go to a child process.
use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::blocking::run_blocking;
use crate::format::{self, Format};
use crate::limits::ExtractLimits;
use crate::parse_error::ParseError;
use crate::parsed_document::{DocumentOrigin, ParsedDocument};
use crate::{json_rows, parse};
use ibid_core::domain::PageDraft;
use ibid_core::files::open_no_follow;
use ibid_core::{Error, ErrorKind, ReadFailure, Result};

/// Bytes read to detect the format of a file before the rest of it is read.
const HEAD_BYTES: u64 = 4096;

/// One result of reading a file.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one lives at a time")]
pub enum ReadItem {
    /// A document.
    Draft(PageDraft),
    /// A document that could not be read; reading continues with the rest of the file.
    Fault(DocumentFailure),
}

/// A document that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DocumentFailure {
    /// The file.
    pub path: PathBuf,
    /// The place in the file, such as `line 7`.
    pub place: Option<String>,
    /// The kind of failure.
    pub reason: ReadFailure,
    /// One sentence for the user; it names the file.
    pub message: String,
}

impl DocumentFailure {
    fn new(path: &Path, place: Option<String>, error: ParseError) -> DocumentFailure {
        let at = place.as_deref().map(|place| format!(", {place}")).unwrap_or_default();
        DocumentFailure {
            path: path.to_owned(),
            message: format!("{}{at}: {}", path.display(), error.message),
            place,
            reason: error.reason,
        }
    }
}

/// How a file is opened.
type OpenFile = fn(&Path) -> std::io::Result<File>;

/// Reads one file and passes each document in it to `each`, until `each` breaks.
///
/// A JSONL file is streamed line by line, so memory stays bounded by one document.
///
/// # Errors
/// Only for a file whose path cannot be made absolute; every problem with the file itself is a [`ReadItem::Fault`].
pub fn read_file(
    path: &Path,
    limits: &ExtractLimits,
    each: &mut dyn FnMut(ReadItem) -> ControlFlow<()>,
) -> Result<()> {
    let stop = AtomicBool::new(false);
    read_opened(path, |path| File::open(path), limits, &stop, each)
}

/// Like [`read_file`], for a file listed below a folder, given by its absolute path without links. A file that has become a
/// link since is not followed. Setting `stop` ends the child that works on the file, which is then a [`ReadItem::Fault`].
///
/// # Errors
/// As [`read_file`].
pub fn read_listed(
    path: &Path,
    limits: &ExtractLimits,
    stop: &AtomicBool,
    each: &mut dyn FnMut(ReadItem) -> ControlFlow<()>,
) -> Result<()> {
    read_opened(path, open_no_follow, limits, stop, each)
}

fn read_opened(
    path: &Path,
    open: OpenFile,
    limits: &ExtractLimits,
    stop: &AtomicBool,
    each: &mut dyn FnMut(ReadItem) -> ControlFlow<()>,
) -> Result<()> {
    let full = std::path::absolute(path).map_err(|cause| {
        Error::new(ErrorKind::Usage, format!("finding {}", path.display())).with_source(cause)
    })?;
    let origin = DocumentOrigin::from_file(full);
    let to_item =
        |place: Option<String>, parsed: std::result::Result<ParsedDocument, _>| match parsed {
            Ok(document) => ReadItem::Draft(document.into_draft(&origin)),
            Err(error) => ReadItem::Fault(DocumentFailure::new(path, place, error)),
        };
    if json_rows::is_jsonl(path) {
        match open(path) {
            Ok(file) => json_rows::read_lines(path, file, limits.max_bytes, &mut |place, row| {
                each(to_item(place, row))
            }),
            Err(cause) => {
                let _ = each(to_item(None, Err(ParseError::from_io(&cause))));
            }
        }
        return Ok(());
    }
    match load(path, open, limits).and_then(|bytes| parse_documents(bytes, &origin, limits, stop)) {
        Ok(documents) => {
            for (nth, document) in documents.into_iter().enumerate() {
                let place = Some(format!("item {}", nth + 1));
                if each(to_item(place, document)).is_break() {
                    break;
                }
            }
        }
        Err(error) => {
            let _ = each(to_item(None, Err(error)));
        }
    }
    Ok(())
}

/// The documents in a file that was read whole: the rows of a JSON file, else one.
fn parse_documents(
    bytes: Vec<u8>,
    origin: &DocumentOrigin,
    limits: &ExtractLimits,
    stop: &AtomicBool,
) -> std::result::Result<Vec<std::result::Result<ParsedDocument, ParseError>>, ParseError> {
    let format = format::detect(&bytes, origin);
    if format == Format::Json {
        let mut rows = Vec::new();
        json_rows::read_json(&bytes, &mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        return Ok(rows);
    }
    parse_one(bytes.into(), format, origin, limits, stop).map(|document| vec![Ok(document)])
}

/// Reads one of the user's own documents from memory. Use [`read_fetched`] for fetched documents.
///
/// # Errors
/// [`ErrorKind::Malformed`] if the document contains no text or cannot be parsed; the message names the origin.
pub fn read_bytes(
    bytes: &[u8],
    origin: &DocumentOrigin,
    limits: &ExtractLimits,
) -> Result<PageDraft> {
    let read = || {
        limits.check_size(bytes)?;
        let (format, stop) = (format::detect(bytes, origin), AtomicBool::new(false));
        parse_one(bytes.into(), format, origin, limits, &stop)
    };
    let parsed = read().map_err(|error| read_error(origin, &error))?;
    Ok(parsed.into_draft(origin))
}

/// Reads one fetched document of any format in a child process that has no files, no network and no documents of other
/// owners. Dropping the future ends the child that works on the document. A program that cannot be the child (see
/// [`Parser`](crate::Parser)) parses on a separate thread.
///
/// # Errors
/// As [`read_bytes`].
pub async fn read_fetched(
    bytes: Vec<u8>,
    origin: DocumentOrigin,
    limits: &ExtractLimits,
) -> Result<PageDraft> {
    let read = fetched(bytes, origin.clone(), limits).await;
    read.map_err(|error| read_error(&origin, &error))
}

/// Like [`read_fetched`], with the parser's own error.
///
/// # Errors
/// Why the document could not be parsed.
pub async fn fetched(
    bytes: Vec<u8>,
    origin: DocumentOrigin,
    limits: &ExtractLimits,
) -> std::result::Result<PageDraft, ParseError> {
    limits.check_size(&bytes)?;
    if let Some(parser) = &limits.parser {
        let child_limits = limits.child_limits();
        let parsed = parser.parse(bytes, origin.clone(), child_limits).await;
        return parsed.map(|document| document.into_draft(&origin));
    }
    let limits = limits.clone();
    let read = run_blocking(move || {
        let format = format::detect(&bytes, &origin);
        let stop = AtomicBool::new(false);
        let parsed = parse_one(bytes.into(), format, &origin, &limits, &stop);
        let parsed = parse::validate_reply(parsed);
        parsed.map(|document| document.into_draft(&origin))
    });
    read.await.unwrap_or_else(|_| Err(ParseError::parser_failed()))
}

fn read_error(origin: &DocumentOrigin, error: &ParseError) -> Error {
    let name = origin.name();
    let name = match &*name {
        "" => "standard input",
        name => name,
    };
    Error::new(ErrorKind::Malformed, format!("reading {name}: {}", error.message))
}

/// Reads a whole file of a supported format.
fn load(
    path: &Path,
    open: OpenFile,
    limits: &ExtractLimits,
) -> std::result::Result<Vec<u8>, ParseError> {
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        let mut file = open(path)?;
        let mut bytes = Vec::new();
        (&mut file).take(HEAD_BYTES).read_to_end(&mut bytes)?;
        if !format::may_be_readable(&bytes, path) {
            return Ok(None);
        }
        file.take((limits.max_bytes + 1).saturating_sub(bytes.len() as u64))
            .read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let bytes = read()
        .map_err(|cause| ParseError::from_io(&cause))?
        .ok_or_else(ParseError::unsupported_format)?;
    limits.check_size(&bytes)?;
    Ok(bytes)
}

/// Parses one document of a known format: PDF, DOCX and EPUB in a child, until `stop` is set, everything else in this
/// process.
fn parse_one(
    bytes: Cow<'_, [u8]>,
    format: Format,
    origin: &DocumentOrigin,
    limits: &ExtractLimits,
    stop: &AtomicBool,
) -> std::result::Result<ParsedDocument, ParseError> {
    if matches!(format, Format::Pdf | Format::Docx | Format::Epub) {
        let Some(parser) = &limits.parser else {
            let why = "it must be parsed in a child process, which this program cannot start";
            return Err(ParseError::new(ReadFailure::Unsupported, why));
        };
        let child_limits = limits.child_limits();
        return parser.parse_blocking(bytes.into_owned(), origin.clone(), child_limits, stop);
    }
    parse::parse_document(&bytes, format, &origin.name(), origin.content_type())
}
