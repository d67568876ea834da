//! JSON documents: one per line (JSONL, also gzipped), one object, or an array of objects.
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value};

use crate::format::Format;
use crate::parse_error::ParseError;
use crate::parsed_document::ParsedDocument;
use crate::{address, charset, dates, plain_text};
use ibid_core::ReadFailure;

/// Fields that may hold the text, the first that does counts.
const TEXT_FIELDS: &[&str] =
    &["text", "content", "body", "context", "contents", "abstract", "passage", "article"];
/// Fields that may hold the date.
const DATE_FIELDS: &[&str] = &[
    "date",
    "published_at",
    "publish_date",
    "published",
    "pub_date",
    "created_at",
    "datePublished",
];
/// Smaller numbers in a date field are not Unix times (March 1973).
const MIN_UNIX_TIME: i64 = 100_000_000;
/// A list with a longer item holds paragraphs and not names.
const MAX_NAME_BYTES: usize = 60;
/// Number of words of the text that replace a missing title.
const TITLE_WORDS: usize = 10;

/// Whether the name is that of a file with one JSON object per line.
pub(crate) fn is_jsonl(path: &Path) -> bool {
    Format::from_path(path) == Format::Lines
}

type RowResult = Result<ParsedDocument, ParseError>;

/// Streams the open JSONL `file`, whose lines may have `max_bytes` each. Each row comes with its place, such as `line 7`.
pub(crate) fn read_lines(
    path: &Path,
    file: File,
    max_bytes: u64,
    each: &mut dyn FnMut(Option<String>, RowResult) -> ControlFlow<()>,
) {
    let gzipped = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let reader: Box<dyn Read> =
        if gzipped { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut reader = BufReader::with_capacity(64 << 10, reader);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let place = || Some(format!("line {number}"));
        let read = (&mut reader).take(max_bytes + 1).read_until(b'\n', &mut line);
        let flow = match read {
            Ok(0) => return,
            Ok(_) if line.len() as u64 > max_bytes => {
                let flow = each(place(), Err(ParseError::too_large(max_bytes)));
                if skip_line(&mut reader).is_err() {
                    return;
                }
                flow
            }
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => each(place(), row(&line, number)),
            Err(cause) => {
                let _ = each(place(), Err(ParseError::from_io(&cause)));
                return;
            }
        };
        if flow.is_break() {
            return;
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let seen = reader.fill_buf()?;
        let end = seen.iter().position(|it| *it == b'\n');
        let (used, done) = match end {
            Some(at) => (at + 1, true),
            None => (seen.len(), seen.is_empty()),
        };
        reader.consume(used);
        if done {
            return Ok(());
        }
    }
}

/// Passes each row of JSONL bytes in memory to `take`, until `take` breaks.
pub(crate) fn split_lines(bytes: &[u8], take: &mut dyn FnMut(RowResult) -> ControlFlow<()>) {
    for (number, line) in (1_u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        if !line.trim_ascii().is_empty() && take(row(line, number)).is_break() {
            return;
        }
    }
}

fn row(line: &[u8], number: u64) -> RowResult {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let value = match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_str(&charset::decode(line, None).0),
    };
    let value: Value = value.map_err(|error| {
        ParseError::new(ReadFailure::Broken, format!("not valid JSON: {error}"))
    })?;
    document_from_object(&value, Some(number))
}

/// Passes each row of a JSON file, which is one object or an array of them, to `take`, until `take` breaks.
pub(crate) fn read_json(
    bytes: &[u8],
    take: &mut dyn FnMut(RowResult) -> ControlFlow<()>,
) -> Result<(), ParseError> {
    let (text, _) = charset::decode(bytes, None);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(all)) => {
            for (number, it) in (1_u64..).zip(&all) {
                if take(document_from_object(it, Some(number))).is_break() {
                    break;
                }
            }
        }
        Ok(one) => {
            let _ = take(Ok(document_from_object(&one, None)?));
        }
        // Some `.json` files are really JSONL.
        Err(cause) => {
            let (mut rows, mut any_valid) = (0, false);
            split_lines(bytes, &mut |row| {
                rows += 1;
                any_valid |= row.is_ok();
                if rows > 1 && any_valid {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if rows < 2 || !any_valid {
                return Err(ParseError::new(
                    ReadFailure::Broken,
                    format!("not valid JSON: {cause}"),
                ));
            }
            split_lines(bytes, take);
        }
    }
    Ok(())
}

/// The document that an object describes.
fn document_from_object(value: &Value, row: Option<u64>) -> RowResult {
    let Value::Object(fields) = value else {
        return Err(ParseError::new(ReadFailure::Broken, "not a JSON object"));
    };
    let text = TEXT_FIELDS.iter().find_map(|name| field_text(fields.get(*name)?));
    let Some(text) = text else {
        let message = if TEXT_FIELDS.iter().any(|name| fields.contains_key(*name)) {
            "its text is empty".to_owned()
        } else {
            format!("no text: none of the fields {}", TEXT_FIELDS.join(", "))
        };
        return Err(ParseError::new(ReadFailure::Empty, message));
    };
    let first = |names: &[&str]| names.iter().find_map(|name| field_text(fields.get(*name)?));
    let date = date(fields);
    let mut draft = ParsedDocument {
        row,
        // Kept as written, so that a collection's own addresses can be found again.
        stated_url: first(&["url", "link"]).filter(|it| address::parse_stated_url(it).is_some()),
        stated_id: first(&["id", "_id", "doc_id", "docid"]),
        title: first(&["title", "headline", "name"]).unwrap_or_default(),
        author: first(&["author", "authors", "byline"]),
        date_source: date.as_ref().map(|_| "row".to_owned()),
        date,
        lang: first(&["lang", "language"]).and_then(|it| it.get(..2).map(str::to_lowercase)),
        site: first(&["source", "site", "publisher", "journal"]),
        blocks: plain_text::blocks(&text),
        ..ParsedDocument::default()
    };
    if draft.blocks.is_empty() {
        return Err(ParseError::new(ReadFailure::Empty, "its text contains no words"));
    }
    if draft.title.is_empty() {
        draft.title = title_from_text(&draft.blocks[0].text);
    }
    draft.fill_missing("");
    Ok(draft)
}

/// A title made of the first words of a text.
fn title_from_text(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').take(TITLE_WORDS).collect();
    let title = words.join(" ");
    if title.len() < text.len() {
        format!("{}…", title.trim_end_matches([',', ';', ':']))
    } else {
        title
    }
}

fn date(fields: &Map<String, Value>) -> Option<String> {
    DATE_FIELDS.iter().find_map(|name| match fields.get(*name)? {
        Value::String(text) => dates::normalise(text),
        Value::Number(number) => {
            number.as_i64().filter(|number| *number > MIN_UNIX_TIME).and_then(dates::from_unix)
        }
        _ => None,
    })
}

/// The text of a field: a string, a number, a name within an object, or a list of these. `None` if it is empty.
fn field_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(it) => it.to_string(),
        Value::Array(all) => {
            let items: Vec<String> = all.iter().filter_map(field_text).collect();
            let names = items.iter().all(|item| item.len() < MAX_NAME_BYTES);
            items.join(if names { ", " } else { "\n" })
        }
        Value::Object(fields) => field_text(fields.get("name").or_else(|| fields.get("title"))?)?,
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}
