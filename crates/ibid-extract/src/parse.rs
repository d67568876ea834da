//! The parsers as plain functions from bytes to a document, without side effects. They run in a child process for fetched
//! documents and in this process for the user's own text.
use std::ops::ControlFlow;

use crate::format::Format;
use crate::parse_error::ParseError;
use crate::parsed_document::{MAX_TITLE_BYTES, ParsedDocument};
use crate::plain_text::truncate;
use crate::{
    address, charset, delimited, docx, epub, html, jats, json_rows, markdown, pdf, text_document,
};
use ibid_core::ReadFailure;

// What a child process may reply. Longer values are cut.

/// Bytes of an error message, a warning or an id.
const MAX_MESSAGE_BYTES: usize = 400;
/// Bytes of an author or a site.
const MAX_NAME_BYTES: usize = 4_000;
/// Bytes of the word for where a date was found.
const MAX_DATE_SOURCE_BYTES: usize = 60;
/// Warnings of one document.
const MAX_WARNINGS: usize = 20;

/// Parses one document of a known format. `name` is the address or path against which links are resolved.
pub(crate) fn parse_document(
    bytes: &[u8],
    format: Format,
    name: &str,
    content_type: Option<&str>,
) -> Result<ParsedDocument, ParseError> {
    let draft = match format {
        Format::Html => {
            let (text, note) = charset::decode_html(bytes, content_type);
            let mut draft = html::read(&text, &address::url_from_name(name));
            draft.warnings.extend(note);
            draft
        }
        Format::Markdown | Format::Text | Format::Csv => {
            let (text, note) = charset::decode(bytes, content_type);
            let mut draft = match format {
                Format::Markdown => markdown::read(&text),
                Format::Csv => delimited::read(&text),
                _ => text_document::read(&text),
            };
            draft.warnings.extend(note);
            draft
        }
        Format::Jats => jats::read(bytes)?,
        Format::Pdf => pdf::parse_embedded(bytes)?,
        Format::Docx => docx::read(check_container(bytes)?)?,
        Format::Epub => epub::read(check_container(bytes)?)?,
        Format::Json | Format::Lines => return first_document(bytes, format),
        Format::Unknown => return Err(ParseError::unsupported_format()),
    };
    draft.complete(name)
}

/// Rejects bytes that are not a zip file before anything is unpacked.
fn check_container(bytes: &[u8]) -> Result<&[u8], ParseError> {
    if bytes.starts_with(b"PK") {
        return Ok(bytes);
    }
    Err(ParseError::new(ReadFailure::Broken, "damaged container: not a zip file"))
}

/// The first document of a file that holds several.
fn first_document(bytes: &[u8], format: Format) -> Result<ParsedDocument, ParseError> {
    let mut first = None;
    let mut more = false;
    let mut take = |row: Result<ParsedDocument, ParseError>| {
        match row {
            Ok(draft) if first.is_none() => first = Some(draft),
            Ok(_) => more = true,
            Err(_) => {}
        }
        // The second document is read only to know that there is one.
        if more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    if format == Format::Json {
        json_rows::read_json(bytes, &mut take)?;
    } else {
        json_rows::split_lines(bytes, &mut take);
    }
    let mut draft = first
        .ok_or_else(|| ParseError::new(ReadFailure::Empty, "none of its rows contains text"))?;
    if more {
        draft.warnings.push("several documents: only the first was read".to_owned());
    }
    Ok(draft)
}

/// Reduces what a child process replied to what an honest parser can reply: the document may have taken the child over.
/// Sentences and their offsets are computed later, from these words.
pub(crate) fn validate_reply(
    parsed: Result<ParsedDocument, ParseError>,
) -> Result<ParsedDocument, ParseError> {
    let mut draft = parsed.map_err(validate_error)?;
    // The stated address is only the document's claim; it is judged as strictly as in the parser.
    draft.stated_url = draft.stated_url.filter(|url| address::parse_stated_url(url).is_some());
    if let Some(id) = &mut draft.stated_id {
        truncate(id, MAX_MESSAGE_BYTES);
    }
    truncate(&mut draft.title, MAX_TITLE_BYTES);
    for name in [&mut draft.author, &mut draft.site].into_iter().flatten() {
        truncate(name, MAX_NAME_BYTES);
    }
    let is_day =
        |date: &String| date.len() <= 10 && date.bytes().all(|c| c.is_ascii_digit() || c == b'-');
    draft.date = draft.date.filter(is_day);
    let is_source = |source: &String| {
        source.len() <= MAX_DATE_SOURCE_BYTES
            && source.chars().all(|c| c.is_ascii_graphic() || c == ' ')
    };
    draft.date_source =
        draft.date_source.filter(|source| draft.date.is_some() && is_source(source));
    draft.lang =
        draft.lang.filter(|code| code.len() <= 3 && code.bytes().all(|c| c.is_ascii_lowercase()));
    draft.warnings.truncate(MAX_WARNINGS);
    for warning in &mut draft.warnings {
        truncate(warning, MAX_MESSAGE_BYTES);
    }
    draft.blocks.retain(|block| !block.text.trim().is_empty());
    if draft.blocks.is_empty() {
        return Err(ParseError::empty());
    }
    Ok(draft)
}

/// Limits an error to the reasons that a parser can know. It knows nothing of servers and rules.
fn validate_error(mut error: ParseError) -> ParseError {
    use ReadFailure::{Broken, Empty, TooLarge, Unsupported};
    error.message.retain(|c| !c.is_control());
    truncate(&mut error.message, MAX_MESSAGE_BYTES);
    if matches!(error.reason, Broken | Empty | TooLarge | Unsupported) {
        error
    } else {
        ParseError::new(Broken, error.message)
    }
}
