//! PDFs, written here object by object.
use std::fmt::Write as _;

use super::Rule;

/// A PDF of these objects, numbered from 1; the first is the catalogue.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut out = "%PDF-1.4\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (nth, object) in objects.iter().enumerate() {
        _ = writeln!(table, "{:010} 00000 n ", out.len());
        _ = write!(out, "{} 0 obj\n{object}\nendobj\n", nth + 1);
    }
    let tail = format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n",
        objects.len() + 1,
        out.len()
    );
    (out + &table + &tail).into_bytes()
}

fn stream(inside: &str) -> String {
    format!("<< /Length {} >>\nstream\n{inside}\nendstream", inside.len())
}

const FONT: &str = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";

/// The page that is object `nth`, with the content that is object `content`; the font is object 3.
fn page(parent: usize, content: usize, more: &str) -> String {
    format!(
        "<< /Type /Page /Parent {parent} 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R \
         /Resources << /Font << /F1 3 0 R >> >> {more} >>"
    )
}

const WORDS: &str = "BT /F1 12 Tf 72 700 Td (Some words of it) Tj ET\n";

/// One page with this content and more objects behind it.
fn one_page(content: &str, more: Vec<String>) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>".to_owned(),
        FONT.to_owned(),
        page(2, 5, ""),
        stream(content),
    ];
    objects.extend(more);
    pdf(&objects)
}

pub(super) const FAMILIES: &[Rule] = &[
    ("pdf: objects", |size| one_page(WORDS, vec!["<< /A 1 /B [1 2 3] >>".to_owned(); size / 65])),
    ("pdf: pages", |size| {
        let count = size / 350;
        let kids = (0..count).fold(String::new(), |mut all, nth| {
            _ = write!(all, "{} 0 R ", 2 * nth + 4);
            all
        });
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [{kids}] /Count {count} >>"),
            FONT.to_owned(),
        ];
        for nth in 0..count {
            let said = super::sentence(nth);
            objects.push(page(2, 2 * nth + 5, ""));
            objects.push(stream(&format!("BT /F1 12 Tf 72 700 Td ({said}) Tj ET")));
        }
        pdf(&objects)
    }),
    ("pdf: a deep tree of pages", |size| {
        let depth = size / 90;
        let mut objects = vec![
            "<< /Type /Catalog /Pages 5 0 R >>".to_owned(),
            stream(WORDS),
            FONT.to_owned(),
            page(5 + depth, 2, ""),
        ];
        for nth in 0..=depth {
            let kid = if nth == depth { 4 } else { nth + 6 };
            objects.push(format!("<< /Type /Pages /Kids [{kid} 0 R] /Count 1 >>"));
        }
        pdf(&objects)
    }),
    ("pdf: a tree of pages that goes in a circle", |size| {
        let kids = "2 0 R ".repeat(size / 6);
        pdf(&[
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [4 0 R {kids}] /Count 9 >>"),
            FONT.to_owned(),
            page(2, 5, ""),
            stream(WORDS),
        ])
    }),
    ("pdf: a long content stream", |size| one_page(&WORDS.repeat(size / WORDS.len()), Vec::new())),
    ("pdf: one long line", |size| {
        one_page(&format!("BT /F1 1 Tf 1 700 Td ({}) Tj ET", "word ".repeat(size / 5)), Vec::new())
    }),
    ("pdf: a huge array", |size| one_page(WORDS, vec![format!("[{}]", "1 0 R ".repeat(size / 6))])),
    ("pdf: arrays in arrays", |size| {
        one_page(WORDS, vec![format!("{}{}", "[".repeat(size / 2), "]".repeat(size / 2))])
    }),
    ("pdf: a chain of filters", |size| {
        let filters = "/ASCIIHexDecode ".repeat(size / 16);
        one_page(WORDS, vec![format!("<< /Length 2 /Filter [{filters}] >>\nstream\n41\nendstream")])
    }),
    ("pdf: tables that point at each other", |size| {
        let mut out = String::from_utf8_lossy(&one_page(WORDS, Vec::new())).into_owned();
        while out.len() < size {
            let at = out.rfind("xref\n0").unwrap_or_default();
            _ = write!(
                out,
                "trailer\n<< /Size 6 /Root 1 0 R /Prev {at} >>\nstartxref\n{at}\n%%EOF\n"
            );
        }
        out.into_bytes()
    }),
    ("pdf: no table", |size| {
        let whole =
            String::from_utf8_lossy(&one_page(WORDS, vec!["<< /A 1 >>".to_owned(); size / 50]))
                .into_owned();
        let at = whole.rfind("xref\n0").unwrap_or_default();
        whole.as_bytes()[..at].to_vec()
    }),
];
