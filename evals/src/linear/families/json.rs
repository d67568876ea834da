//! JSON whose strings, keys and nesting grow.
use std::fmt::Write as _;

use super::{Rule, grown, repeated};

pub(super) const FAMILIES: &[Rule] = &[
    ("json: one long string", |size| repeated(size, "{\"text\":\"", "Some words. ", "\"}")),
    ("json: escapes", |size| repeated(size, "{\"text\":\"a", "\\u00e9\\n\\\"", "\"}")),
    ("json: keys", |size| {
        grown(size, "{", "\"text\":\"words\"}", |nth, out| _ = write!(out, "\"k{nth}\":1,"))
    }),
    ("json: one key", |size| repeated(size, "{", "\"k\":1,", "\"text\":\"words\"}")),
    ("json: lists in lists", |size| repeated(size, "{\"text\":\"words\",\"a\":", "[", "")),
    ("json: a long list of texts", |size| repeated(size, "{\"text\":[", "\"words\",", "\"end\"]}")),
    ("json: an array of rows", |size| {
        repeated(size, "[", "{\"text\":\"Some words.\"},", "{\"text\":\"end\"}]")
    }),
    ("json: numbers", |size| repeated(size, "{\"text\":\"words\",\"a\":[", "1e9,-0.5,", "1]}")),
    ("json: a long number", |size| repeated(size, "{\"text\":\"words\",\"a\":", "12345678", "}")),
    ("json: an object that is never closed", |size| {
        repeated(size, "", "{\"text\":\"words\"\n", "")
    }),
];

pub(super) const LINES: &[Rule] = &[
    ("lines: rows", |size| repeated(size, "", "{\"text\":\"Some words.\"}\n", "")),
    ("lines: rows that are none", |size| repeated(size, "{\"text\":\"words\"}\n", "{\n", "")),
    ("lines: one long row", |size| repeated(size, "{\"text\":\"", "Some words. ", "\"}\n")),
];
