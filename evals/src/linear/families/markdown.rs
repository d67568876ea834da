//! Markdown whose marks grow.
use std::fmt::Write as _;

use super::{Rule, grown, nested, repeated};

pub(super) const FAMILIES: &[Rule] = &[
    ("markdown: [", |size| repeated(size, "Words ", "[", "")),
    ("markdown: ]", |size| repeated(size, "Words ", "]", "")),
    ("markdown: links in links", |size| nested(size, "Words ", ["[", "word", "](x)"], "")),
    ("markdown: links that go on", |size| repeated(size, "Words ", "[a](", "")),
    ("markdown: links in links that go on", |size| {
        repeated(size, "Words ", &format!("{}x{}", "[".repeat(300), "](".repeat(300)), "")
    }),
    ("markdown: links", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "[word {nth}](https://a.example/{nth}) and ")
        })
    }),
    ("markdown: references", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "[word][{nth}]\n\n[{nth}]: https://a.example/\n\n")
        })
    }),
    ("markdown: images", |size| repeated(size, "Words ", "![a", "")),
    ("markdown: footnotes", |size| repeated(size, "Words ", "[^a", "")),
    ("markdown: tags that go on", |size| repeated(size, "Words ", "<a ", "")),
    ("markdown: emphasis", |size| repeated(size, "Words ", "*a _b **c __d ", "")),
    ("markdown: backticks", |size| repeated(size, "Words ", "` `` ``` ", "")),
    ("markdown: a fence of backticks", |size| repeated(size, "    x", "`", "\n")),
    ("markdown: code that holds fences", |size| repeated(size, "~~~\nx ", "`", "\n~~~\n")),
    ("markdown: fences", |size| repeated(size, "", "```\nword\n```\n", "")),
    ("markdown: quotes in quotes", |size| repeated(size, "", "> ", "word")),
    ("markdown: quoted lines", |size| repeated(size, "", "> > some words\n", "")),
    ("markdown: lists in lists", |size| repeated(size, "", "- ", "word")),
    ("markdown: lists", |size| repeated(size, "", "  - some words\n", "")),
    ("markdown: tables", |size| repeated(size, "| a | b |\n|---|---|\n", "| word | 1 |\n", "")),
    ("markdown: wide tables", |size| repeated(size, "|", " word |", "\n")),
    ("markdown: underlines", |size| repeated(size, "", "word\n---\n", "")),
    ("markdown: rules", |size| repeated(size, "", "- - - - - - - - x", "")),
    ("markdown: html comments", |size| repeated(size, "Words ", "<!-- ", "")),
    ("markdown: html blocks", |size| repeated(size, "", "<div><p>word</p></div>\n", "")),
    ("markdown: front matter", |size| repeated(size, "---\n", "author: A Name\n", "---\nwords")),
    ("markdown: front matter without an end", |size| repeated(size, "---\n", "a: b\n", "")),
    ("markdown: lines of one paragraph", |size| repeated(size, "", "some words\n", "")),
    ("markdown: escapes", |size| repeated(size, "Words ", "\\[", "")),
    ("markdown: entities", |size| repeated(size, "Words ", "&amp;&lt;", "")),
];
