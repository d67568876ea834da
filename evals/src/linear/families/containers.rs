//! Word documents and books: zip files, written here byte by byte, so that they can be what no program writes.
use std::fmt::Write as _;
use std::io::Write as _;

use super::{Rule, grown, nested, repeated};

/// One entry of a zip file: its name and content, and whether it is packed.
type Entry<'a> = (&'a str, &'a [u8], bool);

/// A zip file of these entries.
fn zip(entries: &[Entry<'_>]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content, packed) in entries {
        let (data, method) =
            if *packed { (deflated(content), 8_u16) } else { (content.to_vec(), 0) };
        let at = out.len() as u32;
        let mut head = Vec::new();
        for short in [20_u16, 0, method, 0, 0] {
            head.extend(short.to_le_bytes());
        }
        for long in [checksum(content), data.len() as u32, content.len() as u32] {
            head.extend(long.to_le_bytes());
        }
        head.extend((name.len() as u16).to_le_bytes());
        head.extend(0_u16.to_le_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&head);
        out.extend(name.as_bytes());
        out.extend(&data);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&head);
        directory.extend([0_u8; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, count) = (out.len() as u32, entries.len() as u16);
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend(0_u16.to_le_bytes());
    out
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    let _ = packer.write_all(content);
    packer.finish().unwrap_or_default()
}

fn checksum(content: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(content);
    sum.sum()
}

const HEAD: &str = "<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>The first words.</w:t></w:r></w:p>";
const TAIL: &str = "</w:body></w:document>";

/// A Word document with this text.
fn docx(text: &[u8]) -> Vec<u8> {
    zip(&[("word/document.xml", text, false)])
}

/// A Word document with styles.
fn styled(size: usize) -> Vec<u8> {
    let styles = grown(size / 2, "<w:styles>", "</w:styles>", |nth, out| {
        _ = write!(out, "<w:style w:styleId=\"s{nth}\"><w:name w:val=\"heading 2\"/></w:style>");
    });
    let text = grown(size / 2, HEAD, TAIL, |nth, out| {
        _ = write!(
            out,
            "<w:p><w:pPr><w:pStyle w:val=\"s{nth}\"/></w:pPr><w:r><w:t>words</w:t></w:r></w:p>"
        );
    });
    zip(&[("word/document.xml", &text, false), ("word/styles.xml", &styles, false)])
}

pub(super) const DOCX: &[Rule] = &[
    ("docx: paragraphs", |size| {
        docx(&repeated(size, HEAD, "<w:p><w:r><w:t>Some words of it.</w:t></w:r></w:p>", TAIL))
    }),
    ("docx: runs of one paragraph", |size| {
        docx(&repeated(
            size,
            &format!("{HEAD}<w:p>"),
            "<w:r><w:t>a </w:t></w:r>",
            &format!("</w:p>{TAIL}"),
        ))
    }),
    ("docx: styles of paragraphs", styled),
    ("docx: attributes of one tag", |size| {
        docx(&grown(
            size,
            &format!("{HEAD}<w:p><w:pStyle "),
            &format!("/></w:p>{TAIL}"),
            |nth, out| {
                _ = write!(out, "a{nth}=\"1\" ");
            },
        ))
    }),
    ("docx: tables in tables", |size| {
        docx(&nested(
            size,
            HEAD,
            ["<w:tbl><w:tr><w:tc><w:p>", "", "</w:p></w:tc></w:tr></w:tbl>"],
            TAIL,
        ))
    }),
    ("docx: tall table", |size| {
        let row = "<w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>";
        docx(&repeated(size, &format!("{HEAD}<w:tbl>"), row, &format!("</w:tbl>{TAIL}")))
    }),
    ("docx: wide table", |size| {
        let cell = "<w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>";
        docx(&repeated(
            size,
            &format!("{HEAD}<w:tbl><w:tr>"),
            cell,
            &format!("</w:tr></w:tbl>{TAIL}"),
        ))
    }),
    ("docx: deleted in deleted", |size| docx(&repeated(size, HEAD, "<w:del><w:instrText>", TAIL))),
    ("docx: entities", |size| {
        docx(&repeated(
            size,
            &format!("{HEAD}<w:p><w:r><w:t>"),
            "&lt;&#65;",
            &format!("</w:t></w:r></w:p>{TAIL}"),
        ))
    }),
    ("docx: packed a thousand to one", |size| {
        let text = repeated(size, &format!("{HEAD}<w:p><w:r><w:t>"), "        ", "");
        zip(&[("word/document.xml", &text, true)])
    }),
    ("docx: many entries", |size| {
        let names: Vec<String> =
            (0..(size / 100).min(15_000)).map(|index| format!("word/media/{index}")).collect();
        let text = [HEAD, TAIL].concat();
        let mut entries: Vec<Entry<'_>> =
            names.iter().map(|name| (name.as_str(), &b""[..], false)).collect();
        entries.push(("word/document.xml", text.as_bytes(), false));
        zip(&entries)
    }),
    ("docx: ends of directories", |size| {
        let text = [HEAD, TAIL].concat();
        let ends = b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x2e\0\0\0\0\0\0\0\0\0".repeat(size / 22);
        zip(&[("word/document.xml", text.as_bytes(), false), ("word/x", &ends, false)])
    }),
    ("docx: ends of large directories", |size| {
        let text = [HEAD, TAIL].concat();
        let ends = b"PK\x06\x06PK\x06\x07PK\x05\x06".repeat(size / 12);
        zip(&[("word/document.xml", text.as_bytes(), false), ("word/x", &ends, false)])
    }),
    ("docx: a long name", |size| {
        let name = format!("word/{}", "../a/".repeat((size / 5).min(12_000)));
        let text = repeated(size, HEAD, "<w:p><w:r><w:t>words</w:t></w:r></w:p>", TAIL);
        zip(&[(&name, b"", false), ("word/document.xml", &text, false)])
    }),
];

/// A book of these chapters.
fn epub(chapters: &[Vec<u8>], more_of_spine: &str) -> Vec<u8> {
    let container =
        b"<container><rootfiles><rootfile full-path=\"p.opf\"/></rootfiles></container>";
    let mut package = "<package><manifest>".to_owned();
    for nth in 0..chapters.len() {
        _ = write!(package, "<item id=\"c{nth}\" href=\"c{nth}.xhtml\"/>");
    }
    package.push_str("</manifest><spine>");
    for nth in 0..chapters.len() {
        _ = write!(package, "<itemref idref=\"c{nth}\"/>");
    }
    package.push_str(more_of_spine);
    package.push_str("</spine></package>");
    let names: Vec<String> = (0..chapters.len()).map(|index| format!("c{index}.xhtml")).collect();
    let mut entries: Vec<Entry<'_>> = vec![
        ("mimetype", b"application/epub+zip", false),
        ("META-INF/container.xml", container, false),
        ("p.opf", package.as_bytes(), false),
    ];
    for (name, chapter) in names.iter().zip(chapters) {
        entries.push((name, chapter, false));
    }
    zip(&entries)
}

const CHAPTER: &str =
    "<html><body><p>The river rose by two inches in that year, and the cellar stayed dry.</p>";

pub(super) const EPUB: &[Rule] = &[
    ("epub: one long chapter", |size| {
        epub(&[repeated(size, CHAPTER, "<p>Some words of it.</p>", "</body></html>")], "")
    }),
    ("epub: chapters", |size| {
        epub(&vec![CHAPTER.as_bytes().to_vec(); (size / 300).min(15_000)], "")
    }),
    ("epub: one chapter many times", |size| {
        epub(&[CHAPTER.as_bytes().to_vec()], &"<itemref idref=\"c0\"/>".repeat(size / 22))
    }),
    ("epub: attributes of one tag", |size| {
        epub(
            &[grown(size, CHAPTER, ">word</p>", |nth, out| {
                if nth == 0 {
                    out.push_str("<p ");
                }
                _ = write!(out, "a{nth} ");
            })],
            "",
        )
    }),
];
