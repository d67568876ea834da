//! Detects the format of a document.
use std::path::Path;

use crate::jats;
use crate::parsed_document::DocumentOrigin;

/// A document format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Format {
    /// HTML or XHTML.
    Html,
    /// Markdown.
    Markdown,
    /// Plain text.
    Text,
    /// Comma-separated values, or those separated by semicolons, tabs or bars.
    Csv,
    /// One JSON object or an array of them.
    Json,
    /// JSON objects, one per line.
    Lines,
    /// JATS, the XML of scientific papers.
    Jats,
    /// PDF.
    Pdf,
    /// Word.
    Docx,
    /// EPUB.
    Epub,
    /// Any other format.
    Unknown,
}

/// Bytes at the beginning of a file that decide whether it is binary or has front matter.
const HEAD_BYTES: usize = 4096;
/// Bytes at the end of a zip file that are searched for the names of its entries.
const ZIP_TAIL_BYTES: usize = 65_536;

impl Format {
    /// The format by the extension of a file name; [`Format::Unknown`] for an unknown extension. It does not open the file.
    pub fn from_path(path: &Path) -> Format {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        if name.ends_with(".jsonl.gz") || name.ends_with(".ndjson.gz") {
            return Format::Lines;
        }
        match name.rsplit_once('.').map_or("", |parts| parts.1) {
            "html" | "htm" | "xhtml" | "shtml" => Format::Html,
            "md" | "markdown" | "mdown" | "mkd" | "mdx" | "rmd" | "qmd" => Format::Markdown,
            "txt" | "text" | "rst" | "adoc" | "asciidoc" | "org" | "tex" | "log" => Format::Text,
            "csv" | "tsv" => Format::Csv,
            "json" => Format::Json,
            "jsonl" | "ndjson" => Format::Lines,
            "pdf" => Format::Pdf,
            "docx" => Format::Docx,
            "epub" => Format::Epub,
            _ => Format::Unknown,
        }
    }
}

/// The format of `bytes`: by their first bytes, then by the content type, then by the name.
pub(crate) fn detect(bytes: &[u8], origin: &DocumentOrigin) -> Format {
    if let Some(found) = from_magic(bytes) {
        return found;
    }
    // An HTML page may begin with an `article` element too.
    let html = origin.content_type().is_some_and(|content_type| content_type.contains("html"));
    if !html && jats::is_jats(bytes) {
        return Format::Jats;
    }
    let name = origin.name();
    let name = name.split(['?', '#']).next().unwrap_or_default();
    let named = Format::from_path(Path::new(name));
    let typed = origin.content_type().and_then(from_content_type);
    // Servers send `text/plain` for files that they do not know.
    let found = match typed {
        Some(Format::Text) if named != Format::Unknown => named,
        Some(it) => it,
        None => named,
    };
    match found {
        Format::Pdf | Format::Docx | Format::Epub => found,
        _ if is_binary(bytes) => Format::Unknown,
        Format::Text | Format::Unknown if looks_like_html(bytes) => Format::Html,
        Format::Unknown if looks_like_jsonl(bytes) => Format::Lines,
        Format::Unknown if has_front_matter(bytes) => Format::Markdown,
        Format::Unknown => Format::Text,
        it => it,
    }
}

/// Whether a file that begins with `head` may contain text, so that a video of several gigabytes is not read whole. Zip files are
/// recognised by their end, so they are accepted.
pub(crate) fn may_be_readable(head: &[u8], path: &Path) -> bool {
    if Format::from_path(path) != Format::Unknown || head.starts_with(b"PK") {
        return true;
    }
    match from_magic(head) {
        Some(found) => found != Format::Unknown,
        None => !is_binary(head),
    }
}

fn from_magic(bytes: &[u8]) -> Option<Format> {
    let head = &bytes[..bytes.len().min(1024)];
    if head.windows(5).any(|window| window == b"%PDF-") {
        return Some(Format::Pdf);
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        let within = |needle: &[u8]| {
            let ends = [
                &bytes[..bytes.len().min(HEAD_BYTES)],
                &bytes[bytes.len().saturating_sub(ZIP_TAIL_BYTES)..],
            ];
            ends.iter().any(|it| it.windows(needle.len()).any(|at| at == needle))
        };
        return Some(if within(b"application/epub+zip") || within(b"META-INF/container.xml") {
            Format::Epub
        } else if within(b"word/document") {
            Format::Docx
        } else {
            Format::Unknown
        });
    }
    const BINARY: &[&[u8]] = &[
        b"\x89PNG",
        b"\xff\xd8\xff",
        b"GIF8",
        b"\x1f\x8b",
        b"\x7fELF",
        b"\xd0\xcf\x11\xe0",
        b"SQLite format",
        b"7z\xbc\xaf",
        b"Rar!",
    ];
    BINARY.iter().any(|prefix| head.starts_with(prefix)).then_some(Format::Unknown)
}

fn from_content_type(content_type: &str) -> Option<Format> {
    let bare = content_type.split(';').next()?.trim().to_ascii_lowercase();
    Some(match bare.as_str() {
        "text/html" | "application/xhtml+xml" => Format::Html,
        "text/markdown" | "text/x-markdown" => Format::Markdown,
        "text/plain" => Format::Text,
        "text/csv" | "text/tab-separated-values" => Format::Csv,
        "application/json" => Format::Json,
        "application/x-ndjson" | "application/jsonl" | "application/jsonlines" => Format::Lines,
        "application/pdf" | "application/x-pdf" => Format::Pdf,
        "application/epub+zip" => Format::Epub,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Format::Docx,
        _ => return None,
    })
}

/// Whether more than a tenth of the bytes are control characters, and it is not UTF-16.
fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return false;
    }
    let odd = head
        .iter()
        .filter(|byte| **byte == 0 || (**byte < 32 && !matches!(**byte, 9 | 10 | 12 | 13 | 27)))
        .count();
    odd * 10 > head.len()
}

/// Whether the file begins with fields between two lines of dashes, as Markdown files do.
fn has_front_matter(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let mut lines = head.trim_start_matches('\u{feff}').lines();
    lines.next().is_some_and(|line| line.trim_end() == "---")
        && lines
            .take_while(|line| line.trim_end() != "---")
            .any(|line| line.split_once(": ").is_some_and(|parts| !parts.0.contains(' ')))
        && head.matches("\n---").count() >= 1
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]).to_ascii_lowercase();
    let head = head.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
    ["<!doctype html", "<html", "<head", "<body", "<!--"]
        .iter()
        .any(|prefix| head.starts_with(prefix))
        || head.contains("<html")
}

/// Whether the first line is a JSON object.
fn looks_like_jsonl(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}
