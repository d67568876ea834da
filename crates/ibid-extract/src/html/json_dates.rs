//! Dates in JSON-LD and in the data of scripts.
use std::collections::BTreeSet;

use serde_json::Value;

use super::dom::{Dom, NodeData};
use crate::dates;

/// Bytes of a date in a script.
const MAX_VALUE: usize = 60;
/// Smaller numbers are no times.
const MIN_UNIX_TIME: i64 = 788_918_400;

/// The date in a value of JSON: a text, a time, a typed value, or the first of several.
pub(super) fn date_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => dates::normalise(text),
        Value::Number(number) => {
            number.as_i64().filter(|it| *it > MIN_UNIX_TIME).and_then(dates::from_unix)
        }
        Value::Array(all) => date_in(all.first()?),
        Value::Object(fields) => fields.get("@value")?.as_str().and_then(dates::normalise),
        _ => None,
    }
}

/// The first value with a date of a field in a text that is like JSON but has mistakes.
pub(super) fn field_in<'a>(text: &'a str, name: &'a str) -> Option<&'a str> {
    values(text, name).find(|value| dates::normalise(value).is_some())
}

/// The values of a field: `"name": "value"`, `name: 'value'`, also with escaped quotes. The name may be the end of a longer one.
fn values<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let unquoted = |text: &'a str| {
        let text = text.trim_start_matches('\\');
        text.strip_prefix(['"', '\'']).unwrap_or(text)
    };
    text.match_indices(name).filter_map(move |(at, _)| {
        let rest = unquoted(&text[at + name.len()..]).trim_start().strip_prefix(':')?;
        let rest = rest.trim_start().trim_start_matches('\\').strip_prefix(['"', '\''])?;
        let mut letters = rest.char_indices().take(MAX_VALUE);
        let end = letters.find(|pair| matches!(pair.1, '"' | '\'' | '\\'))?;
        Some(&rest[..end.0])
    })
}

/// Fields of scripts with the date of publication.
const FIELDS: &[&str] = &[
    "datePublished",
    "publishedAt",
    "published_at",
    "publishedDate",
    "published_date",
    "publishDate",
    "publish_date",
    "publicationDate",
    "publication_date",
    "firstPublished",
    "firstPublishedAt",
    "pubDate",
    "pubdate",
    "datePublication",
    "publishedTime",
    "published_time",
    "PublishedDate",
    "PublishDate",
    "PublicationDate",
];

/// The date of publication in the scripts of a page other than JSON-LD, if they have one and no other: with several, the scripts
/// describe other pages too.
pub(super) fn only_date_in_scripts(dom: &Dom) -> Option<String> {
    let mut found = BTreeSet::new();
    for id in dom.descendants(dom.root()).filter(|id| dom.name(*id) == "script") {
        if dom.attr(id, "type").is_some_and(|kind| kind.contains("ld+json")) {
            continue;
        }
        for child in dom.children(id) {
            let NodeData::Text(text) = dom.data(child) else {
                continue;
            };
            for value in FIELDS.iter().flat_map(|name| values(text, name)) {
                found.extend(dates::normalise(value));
                if found.len() > 1 {
                    return None;
                }
            }
        }
    }
    found.into_iter().next()
}
