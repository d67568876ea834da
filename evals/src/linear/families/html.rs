//! Web pages whose tags, attributes and nesting grow.
use std::fmt::Write as _;

use super::{Rule, grown, nested, repeated, sentence};

/// Words enough that a page counts as one with text.
const TEXT: &str = "<p>The library's green roof kept most of the rain of that year, and the cellar stayed dry.</p>";

pub(super) const FAMILIES: &[Rule] = &[
    ("html: attributes of one tag", |size| {
        grown(size, "<p ", ">Said once.</p>", |nth, out| _ = write!(out, "a{nth} "))
    }),
    ("html: attributes of one tag with values", |size| {
        grown(size, "<p ", ">Said once.</p>", |nth, out| _ = write!(out, "data-{nth}=\"v{nth}\" "))
    }),
    ("html: attributes of one name", |size| repeated(size, "<p ", "a=1 ", ">Said once.</p>")),
    ("html: attributes in a page with NUL", |size| {
        grown(size, "<p>\0 <p ", ">Said once.</p>", |nth, out| _ = write!(out, "a{nth} "))
    }),
    ("html: attributes of many tags", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "<p a=1 b=2 c=3 d=4 e=5 class=x{nth} id=y{nth}>Some words in it.</p>");
        })
    }),
    ("html: attributes added to body", |size| {
        grown(size, TEXT, "", |nth, out| _ = write!(out, "<body a{nth}=1>"))
    }),
    ("html: one long attribute value", |size| {
        repeated(size, "<p title=\"", "word ", "\">Said once.</p>")
    }),
    ("html: one long attribute name", |size| repeated(size, "<p ", "abcdefgh", ">Said once.</p>")),
    ("html: a quote that is never closed", |size| {
        repeated(size, "<p title=\"", "<p>word word word ", "")
    }),
    ("html: quotes that are broken", |size| {
        repeated(size, "", "<a href=\"x\"\"y\"='z' \">word</a> ", "")
    }),
    ("html: a long class above many blocks", |size| {
        let class = "c".repeat(size / 2);
        repeated(size, &format!("<div class=\"{class}\">"), "<p>Some words in it.</p>", "</div>")
    }),
    ("html: a long class of many blocks", |size| {
        let class = "updates ".repeat(size / 16);
        repeated(size, &format!("<div class=\"{class}\">"), "On 5 March 2020.<br>", "</div>")
    }),
    ("html: many classes", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "<div class=\"post-body_{nth} nav-{nth}\">Some words.</div>");
        })
    }),
    ("html: classes of many dashes", |size| {
        repeated(size, "<p class=\"", "-a_", "\">Said once.</p>")
    }),
    ("html: div in div", |size| nested(size, TEXT, ["<div>", "Some words.", "</div>"], "")),
    ("html: div in div with words", |size| {
        nested(size, TEXT, ["<div>one two three four ", "", "five</div>"], "")
    }),
    ("html: div never closed", |size| repeated(size, TEXT, "<div>word ", "")),
    ("html: deep above, then wide", |size| {
        let deep = "<div>".repeat(250);
        repeated(size, &deep, "<p>Some words in it.</p>", "")
    }),
    ("html: end tags between start tags", |size| repeated(size, TEXT, "<div></x>", "")),
    ("html: end tags without start", |size| repeated(size, TEXT, "</div></b></table></p>", "")),
    ("html: table in table", |size| {
        nested(size, TEXT, ["<table><tr><td>", "Some words.", "</table>"], "")
    }),
    ("html: list in list", |size| {
        nested(size, TEXT, ["<ul><li>word ", "Some words.", "</ul>"], "")
    }),
    ("html: formatting never closed", |size| {
        repeated(size, TEXT, "<b><i><u><em><font size=2>word ", "")
    }),
    ("html: formatting with attributes", |size| {
        grown(size, TEXT, "", |nth, out| {
            _ = if nth < 200 {
                write!(out, "<b q{nth} r s t>")
            } else {
                write!(out, "<b a{nth} c d e f g h i j k l>x</b>")
            };
        })
    }),
    ("html: formatting with one attribute", |size| {
        grown(size, TEXT, "", |nth, out| {
            _ = if nth < 200 { write!(out, "<b q{nth}>") } else { write!(out, "<b a></b>") };
        })
    }),
    ("html: formatting beside many attributes", |size| {
        let attributes: String = (0..100).map(|index| format!("a{index} ")).collect();
        grown(size, TEXT, "", |nth, out| {
            _ = if nth < 60 {
                write!(out, "<b {attributes} q{nth}>")
            } else {
                write!(out, "<b></b>")
            };
        })
    }),
    ("html: formatting opened again in each paragraph", |size| {
        grown(size, TEXT, "", |nth, out| _ = write!(out, "<p><b a={nth}>word</p>"))
    }),
    ("html: the adoption agency", |size| repeated(size, TEXT, "<a><div>word", "")),
    ("html: the adoption agency, closed", |size| repeated(size, TEXT, "<b><p>word</b> word", "")),
    ("html: many children that are adopted", |size| {
        let many = "<i>x</i>".repeat(size / 20);
        let head = format!("{TEXT}<b><p>{many}");
        repeated(size, &head, "</b><b><p></b>", "")
    }),
    ("html: template in template", |size| {
        nested(size, TEXT, ["<template>", "word", "</template>"], TEXT)
    }),
    ("html: svg in svg", |size| {
        nested(size, TEXT, ["<svg><g>", "<text>word</text>", "</g></svg>"], TEXT)
    }),
    ("html: style in svg", |size| repeated(size, "<svg>", "<style>", "")),
    ("html: style in math", |size| repeated(size, TEXT, "<math><style>", "")),
    ("html: foreign objects", |size| {
        nested(size, TEXT, ["<svg><foreignObject><p>", "word", "</foreignObject></svg>"], "")
    }),
    ("html: formulas in formulas", |size| {
        nested(
            size,
            "<p><math>",
            ["<mfrac><mrow><mi>a</mi></mrow><mrow>", "<mi>b</mi>", "</mrow></mfrac>"],
            "</math>",
        )
    }),
    ("html: many formulas", |size| {
        repeated(size, TEXT, "<p><math><msup><mi>x</mi><mn>2</mn></msup></math> and so on.", "")
    }),
    ("html: one long formula", |size| {
        repeated(size, "<p><math>", "<mi>x</mi><mo>+</mo>", "</math>")
    }),
    ("html: foster parents", |size| repeated(size, &format!("{TEXT}<table>"), "word<b>x</b>", "")),
    ("html: foster parents, nested", |size| repeated(size, TEXT, "<table><b>word<tr>", "")),
    ("html: select", |size| repeated(size, TEXT, "<select><option>word", "")),
    ("html: forms and buttons", |size| repeated(size, TEXT, "<form><button>word", "")),
    ("html: details in details", |size| {
        nested(size, TEXT, ["<details><summary>", "word", "</summary>word</details>"], "")
    }),
    ("html: headings in headings", |size| {
        nested(size, TEXT, ["<h1><div>", "", "word</div></h1>"], "")
    }),
    ("html: authors in authors", |size| {
        nested(
            size,
            TEXT,
            ["<div class=author>", "", "A name of many words that is none.</div>"],
            "",
        )
    }),
    ("html: dates in dates", |size| {
        nested(size, TEXT, ["<div class=date>", "", "on the 5 March 2020 or so</div>"], "")
    }),
    ("html: wide table", |size| {
        repeated(size, &format!("{TEXT}<table><tr>"), "<td>word", "</table>")
    }),
    ("html: tall table", |size| {
        repeated(size, &format!("{TEXT}<table>"), "<tr><td>word<td>1,234", "</table>")
    }),
    ("html: spans of columns and rows", |size| {
        repeated(
            size,
            &format!("{TEXT}<table>"),
            "<tr><td colspan=65000 rowspan=65000>w",
            "</table>",
        )
    }),
    ("html: columns and captions", |size| {
        repeated(
            size,
            &format!("{TEXT}<table>"),
            "<caption>w<colgroup><col><thead><tfoot><tbody>",
            "</table>",
        )
    }),
    ("html: rows in rows", |size| {
        repeated(size, TEXT, "<table><tr><td>a<td><table><tr><td>b<td>c</table>", "")
    }),
    ("html: framesets", |size| {
        repeated(size, "", "<frameset><frame></frameset><noframes>word</noframes>", "")
    }),
    ("html: many small blocks", |size| repeated(size, "", "<p>a", "")),
    ("html: many paragraphs", |size| {
        grown(size, "", "", |nth, out| _ = write!(out, "<p>{}</p>", sentence(nth)))
    }),
    ("html: one paragraph many times", |size| {
        repeated(size, "", "<p>The same eight words are said here once more.</p>", "")
    }),
];
