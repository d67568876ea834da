//! JSON documents: one a line (JSONL, also gzipped), one object, or an array of objects.
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value};

use super::parse::finish;
use super::{Limits, Trouble, charset, dates, prose};
use crate::domain::PageDraft;
use crate::record::FailReason;

/// Whether the name is that of a file with one JSON object a line.
pub(super) fn is_lines(path: &Path) -> bool {
    super::Format::of_name(path) == super::Format::Lines
}

type Row = Result<PageDraft, Trouble>;

/// Streams a JSONL file; each row comes with its place, `line 7`.
pub(super) fn read_lines(
    path: &Path,
    limits: &Limits,
    each: &mut dyn FnMut(Option<String>, Row) -> ControlFlow<()>,
) {
    let file = match File::open(path) {
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
            Ok(_) => each(place(), row(&line, path, number)),
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

/// The rows of JSONL bytes in memory.
pub(super) fn split_lines(bytes: &[u8], path: &Path, take: &mut dyn FnMut(Row)) {
    for (number, line) in (1_u64..).zip(bytes.split(|it| *it == b'\n')) {
        if !line.trim_ascii().is_empty() {
            take(row(line, path, number));
        }
    }
}

fn row(line: &[u8], path: &Path, number: u64) -> Row {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let value = match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_str(&charset::decode(line, None).0),
    };
    let value: Value =
        value.map_err(|it| Trouble::new(FailReason::Broken, format!("not valid JSON: {it}")))?;
    object(&value, path, number)
}

/// A JSON file: one object, or an array of them.
pub(super) fn read_json(bytes: &[u8], path: &Path) -> Result<Vec<Row>, Trouble> {
    let (text, _) = charset::decode(bytes, None);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(all)) => Ok((1_u64..)
            .zip(&all)
            .map(|(number, it)| object(it, path, number))
            .collect()),
        Ok(one) => {
            let mut draft = object(&one, path, 0)?;
            if draft.doc_id.as_deref().is_some_and(|it| it.ends_with("#0")) {
                draft.doc_id = None;
            }
            Ok(vec![Ok(draft)])
        }
        // Some `.json` files are JSONL in truth.
        Err(cause) => {
            let mut rows = Vec::new();
            split_lines(bytes, path, &mut |it| rows.push(it));
            if rows.len() > 1 && rows.iter().any(Result::is_ok) {
                return Ok(rows);
            }
            Err(Trouble::new(
                FailReason::Broken,
                format!("not valid JSON: {cause}"),
            ))
        }
    }
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

fn object(value: &Value, path: &Path, number: u64) -> Row {
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
    let name = path
        .file_name()
        .map(|it| it.to_string_lossy())
        .unwrap_or_default();
    let date = date(fields);
    let id = first(&["id", "_id", "doc_id", "docid"]).unwrap_or_else(|| format!("{name}#{number}"));
    let url = first(&["url", "link"]).unwrap_or_else(|| {
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut url = super::address::of_name(&full.to_string_lossy());
        url.push_str(&format!("#{number}"));
        url
    });
    let mut draft = PageDraft {
        url,
        file: None,
        doc_id: Some(id),
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
    finish(&mut draft, &name);
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
