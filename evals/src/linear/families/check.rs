//! Markdown texts with citations, as `ibid check` takes them apart.
use std::fmt::Write as _;

use super::{Rule, grown, nested, repeated, sentence};

pub(super) const FAMILIES: &[Rule] = &[
    ("check: [", |size| repeated(size, "Words ", "[", "")),
    ("check: links in links", |size| nested(size, "Words ", ["[", "word", "](x)"], "")),
    ("check: links that go on", |size| repeated(size, "Words ", "[a](", "")),
    ("check: reference links", |size| repeated(size, "[a]: x\n\n", "[a][", "")),
    ("check: definitions", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "[word][{nth}]\n\n[{nth}]: https://a.example/\n\n")
        })
    }),
    ("check: cited sentences", |size| {
        grown(size, "", "", |nth, out| _ = write!(out, "{}[{}] ", sentence(nth), nth % 900 + 1))
    }),
    ("check: cited paragraphs", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "{}[it](https://a.example/{nth}).\n\n", sentence(nth));
        })
    }),
    ("check: links of one sentence", |size| {
        grown(size, "The river rose ", ".", |nth, out| {
            _ = write!(out, "[in {nth}](https://a.example/{nth}) ")
        })
    }),
    ("check: citations of one sentence", |size| {
        grown(size, "The river rose by two inches ", ".", |nth, out| {
            _ = write!(out, "[s](https://a.example/{nth})")
        })
    }),
    ("check: words between citations", |size| {
        grown(size, "", ".", |nth, out| _ = write!(out, "x [s](https://a.example/{nth}) "))
    }),
    ("check: numbers between words", |size| {
        grown(size, "", ".", |nth, out| _ = write!(out, "a b c d [{}] ", nth % 900 + 1))
    }),
    ("check: footnotes", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "{}[^n{nth}]\n\n[^n{nth}]: https://a.example/{nth}\n\n", sentence(nth))
        })
    }),
    ("check: lines of a footnote", |size| {
        repeated(size, "Said.[^a]\n\n[^a]: words\n", "\n    more words\n", "")
    }),
    ("check: anchors in anchors", |size| {
        nested(size, "Words ", ["<a href=\"x\">word ", "", "</a>"], "")
    }),
    ("check: raised", |size| repeated(size, "Words ", "word<sup>1</sup> <a href=\"x\">w</a> ", "")),
    ("check: a list of sources", |size| {
        grown(size, "Said.[1]\n\n## Sources\n\n", "", |nth, out| {
            _ = writeln!(out, "{}. A *title* of it — https://a.example/{nth}", nth + 1);
        })
    }),
    ("check: lines of a list of sources", |size| {
        grown(size, "Said.[1]\n\n## Sources\n\n", "", |nth, out| {
            _ = writeln!(out, "[{}] *A title* [of it](https://a.example/{nth})", nth % 900 + 1);
        })
    }),
    ("check: lines that belong to a source", |size| {
        repeated(size, "Said.[1]\n\n## Sources\n\n[1] https://a.example/\n", "more words\n", "")
    }),
    ("check: bare addresses", |size| {
        grown(size, "Words ", "", |nth, out| _ = write!(out, "https://a.example/{nth} "))
    }),
    ("check: addresses that end in brackets", |size| {
        repeated(size, "Words ", &format!("https://a.example/{} ", ")]".repeat(900)), "")
    }),
    ("check: tables", |size| {
        repeated(size, "| a | source |\n|---|---|\n", "| word | [1](https://a.example/) |\n", "")
    }),
    ("check: wide tables", |size| {
        let cells = size / 40;
        let row = |cell: &str| format!("|{}\n", cell.repeat(cells));
        [row(" a |"), row("---|"), row(" w [s](https://a.example/) |")].concat().into_bytes()
    }),
    ("check: cells that are missing", |size| {
        let cells = size / 16;
        let head = format!("|{}\n|{}\n", " a |".repeat(cells), "---|".repeat(cells));
        repeated(size, &head, "|w|\n", "")
    }),
    ("check: emphasis", |size| repeated(size, "Words ", "*a _b **c __d ", "")),
    ("check: emphasis in emphasis", |size| nested(size, "Words ", ["*a **b ", "c", "** *"], "")),
    ("check: backticks", |size| {
        grown(size, "Words ", "", |nth, out| _ = write!(out, "{} a ", "`".repeat(nth % 400 + 1)))
    }),
    ("check: quotes in quotes", |size| repeated(size, "", "> ", "word")),
    ("check: quoted lines", |size| repeated(size, "", "> > > > some words\n", "")),
    ("check: lists in lists", |size| repeated(size, "", "- ", "word")),
    ("check: html tags that go on", |size| repeated(size, "Words ", "<a x=\"", "")),
    ("check: html comments", |size| repeated(size, "Words ", "<!-- ", "")),
    ("check: html that is no comment", |size| repeated(size, "Words ", "<![CDATA[ <?x <!A ", "")),
    ("check: entities", |size| repeated(size, "Words ", "&amp;&#65;&x", "")),
    ("check: escapes", |size| repeated(size, "Words ", "\\[\\*", "")),
    ("check: long labels", |size| repeated(size, "[", "word ", "]: https://a.example/\n")),
    ("check: brackets around citations", |size| repeated(size, "Words ", "(see [1], and [2] ", "")),
    ("check: stops before numbers", |size| repeated(size, "", "word.12 The ", "")),
    ("check: raised digits", |size| repeated(size, "", "words¹² ", "")),
];
