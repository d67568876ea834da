//! Papers in XML whose elements and attributes grow.
use std::fmt::Write as _;

use super::{Rule, grown, nested, repeated};

const HEAD: &str = "<?xml version=\"1.0\"?><article article-type=\"research-article\"><body><p>The first words.</p>";
const TAIL: &str = "</body></article>";

pub(super) const FAMILIES: &[Rule] = &[
    ("xml: attributes of one tag", |size| {
        let head = HEAD.replace("<body>", "<body><sec><p>w</p><xref ");
        grown(size, &head, "/></sec></body></article>", |nth, out| _ = write!(out, "a{nth}=\"1\" "))
    }),
    ("xml: attributes of the root", |size| {
        let head = "<?xml version=\"1.0\"?><article article-type=\"research-article\" ";
        grown(size, head, "><body><p>words</p></body></article>", |nth, out| {
            _ = write!(out, "a{nth}=\"1\" ")
        })
    }),
    ("xml: namespaces", |size| {
        grown(size, HEAD, TAIL, |nth, out| {
            _ = write!(out, "<n{nth}:p xmlns:n{nth}=\"urn:{nth}\">words</n{nth}:p>")
        })
    }),
    ("xml: entities", |size| {
        repeated(size, &format!("{HEAD}<p>"), "&lt;&#8212;", &format!("</p>{TAIL}"))
    }),
    ("xml: entities that are none", |size| {
        repeated(size, &format!("{HEAD}<p>"), "&a;", &format!("</p>{TAIL}"))
    }),
    ("xml: entities deep inside", |size| {
        let deep = "<sec>".repeat(120);
        repeated(size, &format!("{HEAD}{deep}<p>"), "&lt;", "")
    }),
    ("xml: entities that are declared", |size| {
        let head = "<?xml version=\"1.0\"?><!DOCTYPE article [";
        grown(
            size,
            head,
            &format!("]>{}", HEAD.replace("<?xml version=\"1.0\"?>", "")),
            |nth, out| {
                _ = write!(out, "<!ENTITY e{nth} \"&e{};&e{};\">", nth.max(1) - 1, nth.max(1) - 1);
            },
        )
    }),
    ("xml: sections in sections", |size| {
        nested(size, HEAD, ["<sec>", "<p>words</p>", "</sec>"], TAIL)
    }),
    ("xml: sections with words", |size| {
        nested(size, HEAD, ["<sec><p>some words</p>", "", "</sec>"], TAIL)
    }),
    ("xml: lists in lists", |size| {
        nested(size, HEAD, ["<list><list-item>", "<p>words</p>", "</list-item></list>"], TAIL)
    }),
    ("xml: elements that are never closed", |size| repeated(size, HEAD, "<p>words ", "")),
    ("xml: paragraphs", |size| repeated(size, HEAD, "<p>Some words of it.</p>", TAIL)),
    ("xml: references", |size| {
        repeated(
            size,
            &format!("{HEAD}<p>words"),
            "[<xref ref-type=\"bibr\">1</xref>, ",
            &format!("</p>{TAIL}"),
        )
    }),
    ("xml: raised numbers", |size| {
        repeated(size, &format!("{HEAD}<p>10"), "<sup>6</sup>", &format!("</p>{TAIL}"))
    }),
    ("xml: raised in raised", |size| {
        let deep = "<sup>".repeat(110);
        repeated(size, &format!("{HEAD}<p>10{deep}"), "123456", "")
    }),
    ("xml: tables", |size| {
        repeated(size, &format!("{HEAD}<table-wrap><table>"), "<tr><td>a</td><td>1</td></tr>", TAIL)
    }),
    ("xml: wide tables", |size| {
        repeated(size, &format!("{HEAD}<table-wrap><table><tr>"), "<td>a</td>", TAIL)
    }),
    ("xml: authors", |size| {
        let part = "<contrib contrib-type=\"author\"><name><surname>A</surname></name></contrib>";
        let head = HEAD.replace("<body>", "<front><article-meta><contrib-group>");
        repeated(size, &head, part, "</contrib-group></article-meta></front></article>")
    }),
    ("xml: a list of references", |size| {
        repeated(
            size,
            &format!("{HEAD}<ref-list>"),
            "<ref id=\"r\"><label>1</label><mixed-citation>w</mixed-citation></ref>",
            TAIL,
        )
    }),
    ("xml: comments", |size| repeated(size, HEAD, "<!-- -->", TAIL)),
    ("xml: a comment that is never closed", |size| repeated(size, HEAD, "<!-- - ", "")),
    ("xml: CDATA", |size| {
        repeated(size, &format!("{HEAD}<p>"), "<![CDATA[x]]>", &format!("</p>{TAIL}"))
    }),
    ("xml: empty brackets", |size| {
        repeated(size, &format!("{HEAD}<p>w"), "[ , , (", &format!("</p>{TAIL}"))
    }),
    ("xml: formulas", |size| {
        repeated(
            size,
            &format!("{HEAD}<p>"),
            "<tex-math>\\begin{document}$x$\\end{document}</tex-math>",
            &format!("</p>{TAIL}"),
        )
    }),
];
