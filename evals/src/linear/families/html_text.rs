//! Web pages whose text, links, styles and metadata grow.
use std::fmt::Write as _;

use super::{Rule, grown, repeated, sentence};

const TEXT: &str = "<p>The library's green roof kept most of the rain of that year, and the cellar stayed dry.</p>";

/// A page whose JSON-LD carries a text of half its size.
fn with_json_ld(size: usize, part: fn(usize) -> String) -> Vec<u8> {
    let mut body = String::new();
    let mut nth = 0;
    while body.len() < size / 2 {
        body.push_str(&part(nth));
        nth += 1;
    }
    let head = format!(
        "<script type=application/ld+json>{{\"@type\":\"NewsArticle\",\"articleBody\":\"{body}\"}}</script>"
    );
    grown(size, &head, "", |nth, out| _ = write!(out, "<p>But {}</p>", sentence(nth)))
}

pub(super) const FAMILIES: &[Rule] = &[
    ("html: <", |size| repeated(size, TEXT, "<", "")),
    ("html: </", |size| repeated(size, TEXT, "</", "")),
    ("html: <!", |size| repeated(size, TEXT, "<!", "")),
    ("html: <? ", |size| repeated(size, TEXT, "<?x ", "")),
    ("html: tags that are never closed", |size| repeated(size, TEXT, "<a ", "")),
    ("html: brackets", |size| repeated(size, "<p>", "[](){}", "")),
    ("html: &", |size| repeated(size, "<p>", "&", "")),
    ("html: entities that are none", |size| {
        repeated(size, "<p>", "&CounterClockwiseContourIntegra", "")
    }),
    ("html: entities without an end", |size| repeated(size, "<p>", "&notit", "")),
    ("html: entities", |size| repeated(size, "<p>", "&amp;&#8212;&#x41;&NotEqualTilde; ", "")),
    ("html: a long numeric entity", |size| repeated(size, "<p>&#", "00000001", ";")),
    ("html: entities in attributes", |size| {
        repeated(size, "<p title=\"", "&amp=&lt&copy1", "\">word")
    }),
    ("html: comments", |size| repeated(size, TEXT, "<!---->", "")),
    ("html: a comment that is never closed", |size| repeated(size, TEXT, "<!-- -- >", "")),
    ("html: a comment of dashes", |size| repeated(size, &format!("{TEXT}<!--"), "--!->", "")),
    ("html: CDATA", |size| repeated(size, &format!("{TEXT}<svg>"), "<![CDATA[x]]>", "")),
    ("html: CDATA that is never closed", |size| {
        repeated(size, &format!("{TEXT}<svg>"), "<![CDATA[x]] ", "")
    }),
    ("html: doctypes", |size| repeated(size, "", "<!doctype html>", TEXT)),
    ("html: a long doctype", |size| repeated(size, "<!doctype html PUBLIC \"", "x ", "\">")),
    ("html: a script that is never closed", |size| {
        repeated(size, TEXT, "<script>if (a < b) </scrip ", "")
    }),
    ("html: scripts in comments in scripts", |size| {
        repeated(size, &format!("{TEXT}<script>"), "<!--<script></script", "")
    }),
    ("html: a style that is never closed", |size| {
        repeated(size, &format!("{TEXT}<style>"), "a{b:c}</styl ", "")
    }),
    ("html: a title that is never closed", |size| repeated(size, "<title>", "word </titl ", "")),
    ("html: noscript", |size| {
        repeated(size, TEXT, "<noscript><p>word word word</p></noscript>", "")
    }),
    ("html: plaintext", |size| repeated(size, &format!("{TEXT}<plaintext>"), "<b>word ", "")),
    ("html: style rules", |size| {
        let rules: String = (0..(size / 64).min(12_000)).fold(String::new(), |mut all, nth| {
            _ = write!(all, ".c{nth}{{display:none}}");
            all
        });
        let head = format!("<style>{rules}</style>");
        grown(size, &head, "", |nth, out| {
            _ = write!(out, "<p class=\"c{nth} d{nth}\">Some words.</p>")
        })
    }),
    ("html: one rule of many selectors", |size| {
        grown(size, "<style>", "{display:none}</style><p>word", |nth, out| {
            _ = write!(out, ".c{nth},")
        })
    }),
    ("html: style rules without an end", |size| {
        repeated(size, "<style>", "@media{a{", "</style><p>word")
    }),
    ("html: style comments", |size| repeated(size, "<style>", "/* } */ ", "a{b:c}</style><p>word")),
    ("html: many style elements", |size| {
        grown(size, TEXT, "", |nth, out| _ = write!(out, "<style>.c{nth}{{opacity:0}}</style>"))
    }),
    ("html: styles of elements", |size| {
        repeated(
            size,
            TEXT,
            "<p style=\"color:#fff;background:#fff;left:-999px;position:fixed\">w</p>",
            "",
        )
    }),
    ("html: a long style of one element", |size| {
        repeated(size, "<p style=\"", "color:red;", "\">word")
    }),
    ("html: line breaks in a long line", |size| {
        let line = "so many words without any end of a sentence ".repeat(3);
        repeated(size, &format!("<p>{line}"), "<br>", "")
    }),
    ("html: line breaks between words", |size| repeated(size, "<p>", "word<br>", "")),
    ("html: line breaks in a row of a table", |size| {
        repeated(size, "<table><tr><td>a<td>b", "<br>", "</table>")
    }),
    ("html: preformatted lines", |size| repeated(size, "<pre>", "a line   \n\n", "</pre>")),
    ("html: preformatted blanks", |size| repeated(size, "<pre>x", "        ", "</pre>")),
    ("html: blanks", |size| repeated(size, "<p>x", " \t\n\u{a0}", "x")),
    ("html: blanks in nested headings", |size| repeated(size, &"<h1><div>".repeat(120), " \n", "")),
    ("html: NUL in text", |size| repeated(size, "<p>", "a\0", "")),
    ("html: marks without width", |size| repeated(size, "<p>", "a\u{200b}\u{ad}", "")),
    ("html: links", |size| repeated(size, "", "<a href=/x>word</a> ", "")),
    ("html: links that are never closed", |size| repeated(size, "", "<a href=/x>word ", "")),
    ("html: a long link", |size| repeated(size, "<a href=\"", "/path", "\">word</a>")),
    ("html: base and canonical addresses", |size| {
        repeated(size, TEXT, "<base href=//a.example/><link rel=canonical href=//b.example/>", "")
    }),
    ("html: a long canonical address", |size| {
        repeated(size, "<link rel=canonical href=\"https://a.example/", "2024-", "\"><p>word")
    }),
    ("html: headings", |size| {
        grown(size, "", "", |nth, out| {
            _ = write!(out, "<h{0}>Of the {nth} rivers</h{0}>", nth % 6 + 1)
        })
    }),
    ("html: empty headings", |size| repeated(size, TEXT, "<h1></h1><title></title>", "")),
    ("html: headings that stand in a long title", |size| {
        let title = "of many rivers ".repeat(size / 30);
        repeated(size, &format!("<title>{title}</title>"), "<h2>rivers of many</h2>", "")
    }),
    ("html: a long title and its words", |size| {
        let title = "of many rivers ".repeat(size / 30);
        let head = format!("<meta property=og:title content=\"{title}\">");
        repeated(size, &head, "<h2>rivers without many words</h2>", "")
    }),
    ("html: times in one paragraph", |size| repeated(size, "<p>", "<time>2020-01-02</time> ", "")),
    ("html: dates in one paragraph", |size| {
        repeated(size, "<p>", "<b class=date>5 March 2020</b> ", "")
    }),
    ("html: dates in many paragraphs", |size| {
        repeated(size, "", "<p>On 5 March 2020, updated.</p>", "")
    }),
    ("html: dates for machines", |size| {
        repeated(size, TEXT, "<b itemprop=dateCreated>then</b>", "")
    }),
    ("html: metadata", |size| {
        repeated(size, "", "<meta property=og:description content=\"some words of it here\">", TEXT)
    }),
    ("html: a long description", |size| {
        let said = "of the river and its banks ".repeat(size / 54);
        let head = format!("<meta name=description content=\"{said}\">");
        grown(size, &head, "", |nth, out| _ = write!(out, "<p>{}</p>", sentence(nth)))
    }),
    ("html: a text that stands in JSON-LD too", |size| with_json_ld(size, sentence)),
    ("html: JSON-LD of one letter", |size| with_json_ld(size, |_| "aaaaaaaa".to_owned())),
    ("html: JSON-LD of many things", |size| {
        repeated(
            size,
            "<script type=application/ld+json>[",
            "{\"@type\":\"Article\",\"description\":\"some words\"},",
            "0]</script><p>word",
        )
    }),
    ("html: JSON-LD in JSON-LD", |size| {
        repeated(size, "<script type=application/ld+json>", "[{\"a\":", "</script>")
    }),
    ("html: one long word", |size| repeated(size, "<p>", "abcdefgh", "")),
    ("html: one long sentence", |size| repeated(size, "<p>", "many words and ", "")),
];
