//! JSON documents: one a line (JSONL, also gzipped), one object, or an array of objects.
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value};

use super::parse::finish;
use super::{Limits, ParsedDocument, Trouble, address, charset, dates, prose};
use crate::record::FailReason;

/// Whether the name is that of a file with one JSON object a line.
pub(super) fn is_lines(path: &Path) -> bool {
    super::Format::of_name(path) == super::Format::Lines
}

type Row = Result<ParsedDocument, Trouble>;

/// Streams a JSONL file; each row comes with its place, `line 7`.
pub(super) fn read_lines(
    path: &Path,
    open: super::OpenFile,
    limits: &Limits,
    each: &mut dyn FnMut(Option<String>, Row) -> ControlFlow<()>,
) {
    let file = match open(path) {
        Ok(file) => file,
        Err(it) => {
            let _ = each(None, Err(super::unreadable(&it)));
            return;
        }
    };
    let gzipped = path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("gz"));
    let reader: Box<dyn Read> = if gzipped {
        Box::new(flate2::read::MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut reader = BufReader::with_capacity(64 << 10, reader);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let place = || Some(format!("line {number}"));
        let read = (&mut reader)
            .take(limits.max_bytes + 1)
            .read_until(b'\n', &mut line);
        let flow = match read {
            Ok(0) => return,
            Ok(_) if line.len() as u64 > limits.max_bytes => {
                let flow = each(place(), Err(super::too_large(limits)));
                if skip_line(&mut reader).is_err() {
                    return;
                }
                flow
            }
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => each(place(), row(&line, number)),
            Err(it) => {
                let _ = each(place(), Err(super::unreadable(&it)));
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

/// The rows of JSONL bytes in memory, until `take` breaks off.
pub(super) fn split_lines(bytes: &[u8], take: &mut dyn FnMut(Row) -> ControlFlow<()>) {
    for (number, line) in (1_u64..).zip(bytes.split(|it| *it == b'\n')) {
        if !line.trim_ascii().is_empty() && take(row(line, number)).is_break() {
            return;
        }
    }
}

fn row(line: &[u8], number: u64) -> Row {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let value = match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_str(&charset::decode(line, None).0),
    };
    let value: Value =
        value.map_err(|it| Trouble::new(FailReason::Broken, format!("not valid JSON: {it}")))?;
    object(&value, Some(number))
}

/// The rows of a JSON file, which is one object or an array of them, until `take` breaks off.
pub(super) fn read_json(
    bytes: &[u8],
    take: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let (text, _) = charset::decode(bytes, None);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(all)) => {
            for (number, it) in (1_u64..).zip(&all) {
                if take(object(it, Some(number))).is_break() {
                    break;
                }
            }
        }
        Ok(one) => {
            let _ = take(Ok(object(&one, None)?));
        }
        // Some `.json` files are JSONL in truth.
        Err(cause) => {
            let (mut rows, mut sound) = (0, false);
            split_lines(bytes, &mut |it| {
                rows += 1;
                sound |= it.is_ok();
                match rows > 1 && sound {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            if rows < 2 || !sound {
                return Err(Trouble::new(
                    FailReason::Broken,
                    format!("not valid JSON: {cause}"),
                ));
            }
            split_lines(bytes, take);
        }
    }
    Ok(())
}

const TEXT: &[&str] = &[
    "text", "content", "body", "context", "contents", "abstract", "passage", "article",
];
const DATE: &[&str] = &[
    "date",
    "published_at",
    "publish_date",
    "published",
    "pub_date",
    "created_at",
    "datePublished",
];

/// What an object says. Where it stands is for whoever opened the file or fetched it to say.
fn object(value: &Value, row: Option<u64>) -> Row {
    let Value::Object(fields) = value else {
        return Err(Trouble::new(FailReason::Broken, "not a JSON object"));
    };
    let texts: Option<String> = TEXT.iter().find_map(|it| written(fields.get(*it)?));
    let Some(text) = texts else {
        let (reason, said) = if TEXT.iter().any(|it| fields.contains_key(*it)) {
            (FailReason::Empty, "its text is empty".to_owned())
        } else {
            (
                FailReason::Empty,
                format!("no text: none of the fields {}", TEXT.join(", ")),
            )
        };
        return Err(Trouble::new(reason, said));
    };
    let first = |names: &[&str]| names.iter().find_map(|it| written(fields.get(*it)?));
    let date = date(fields);
    let mut draft = ParsedDocument {
        row,
        // As it is written there, so that a collection's own addresses are found again; only what can be a page's.
        stated_url: first(&["url", "link"]).filter(|it| address::claimed(it).is_some()),
        stated_id: first(&["id", "_id", "doc_id", "docid"]),
        title: first(&["title", "headline", "name"]).unwrap_or_default(),
        author: first(&["author", "authors", "byline"]),
        date_source: date.as_ref().map(|_| "row".to_owned()),
        date,
        lang: first(&["lang", "language"]).and_then(|it| it.get(..2).map(str::to_lowercase)),
        site: first(&["source", "site", "publisher", "journal"]),
        blocks: prose::blocks(&text),
        warnings: Vec::new(),
    };
    if draft.blocks.is_empty() {
        return Err(Trouble::new(
            FailReason::Empty,
            "there are no words in its text",
        ));
    }
    if draft.title.is_empty() {
        draft.title = lead(&draft.blocks[0].text);
    }
    finish(&mut draft, "");
    Ok(draft)
}

/// The first words of a text that has no title.
fn lead(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').take(10).collect();
    let said = words.join(" ");
    if said.len() < text.len() {
        format!("{}…", said.trim_end_matches([',', ';', ':']))
    } else {
        said
    }
}

fn date(fields: &Map<String, Value>) -> Option<String> {
    DATE.iter().find_map(|it| match fields.get(*it)? {
        Value::String(text) => dates::normalise(text),
        Value::Number(it) => it
            .as_i64()
            .filter(|it| *it > 100_000_000)
            .and_then(dates::from_unix),
        _ => None,
    })
}

/// A field as words: a string, a number, or a list of these; empty ones do not count.
fn written(value: &Value) -> Option<String> {
    let said = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(it) => it.to_string(),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(written).collect();
            let names = all.iter().all(|it| it.len() < 60);
            all.join(if names { ", " } else { "\n" })
        }
        Value::Object(fields) => written(fields.get("name").or_else(|| fields.get("title"))?)?,
        _ => return None,
    };
    (!said.is_empty()).then_some(said)
}
