//! PDF: what a reader of PDFs takes out of it is what the report says.
use std::path::Path;
use std::process::Command;

use ibid_core::domain::Report;
use ibid_report::document::{DocumentBlock, InlineSpan, ReportDocument};
use ibid_report::{ExportOptions, ExportOutput, PagesByHash, ReportFormat};

use super::{PLAIN, hostile, natural, sample};

/// What a tool of poppler says of a file.
fn poppler(program: &str, args: &[&str], file: &Path, after: &[&str]) -> String {
    let done = Command::new(program)
        .args(args)
        .arg(file)
        .args(after)
        .output()
        .unwrap_or_else(|it| panic!("`{program}` (`cargo xtask test` installs poppler): {it}"));
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn pdf(report: &Report, pages: &PagesByHash) -> Vec<u8> {
    match ReportFormat::Pdf.render(report, pages, ExportOptions::default()).unwrap() {
        ExportOutput::Binary(it) => it,
        other => panic!("{other:?}"),
    }
}

/// The words of blocks without white space; each footnote as its number.
fn said(blocks: &[DocumentBlock], out: &mut String) {
    for block in blocks {
        match block {
            DocumentBlock::Heading { text, .. } => out.push_str(text),
            DocumentBlock::Paragraph { spans } => words(spans, out),
            DocumentBlock::Item { spans } => {
                out.push('•');
                words(spans, out);
            }
            DocumentBlock::Answer { blocks } | DocumentBlock::Conflict { blocks } => {
                said(blocks, out)
            }
            DocumentBlock::Table { .. } | DocumentBlock::Chart { .. } => {}
            DocumentBlock::Source { n, spans } => {
                out.push_str(&format!("[{n}]"));
                words(spans, out);
            }
        }
    }
}

fn words(spans: &[InlineSpan], out: &mut String) {
    for span in spans {
        match span {
            InlineSpan::Text { text }
            | InlineSpan::Strong { text }
            | InlineSpan::Emphasis { text } => out.push_str(text),
            InlineSpan::Link { text, .. } => out.push_str(text),
            InlineSpan::Cite { n, .. } => out.push_str(&format!("[{n}]")),
            InlineSpan::Note { nth, .. } => out.push_str(&nth.to_string()),
            InlineSpan::Break => out.push(' '),
        }
    }
}

/// Without white space, and without hyphens: pdftotext takes one at the end of a line for a cut word.
fn bare(text: &str) -> String {
    text.chars().filter(|it| !it.is_whitespace() && *it != '-').collect()
}

/// Every paragraph of the report, cell of its tables and footnote, as it must be found in the text of the PDF.
fn pieces(it: &ReportDocument) -> Vec<String> {
    fn visit(blocks: &[DocumentBlock], out: &mut Vec<String>) {
        for block in blocks {
            match block {
                DocumentBlock::Answer { blocks } | DocumentBlock::Conflict { blocks } => {
                    visit(blocks, out)
                }
                DocumentBlock::Table { head, rows, .. } => {
                    out.extend(head.iter().map(|it| bare(it)));
                    for cell in rows.iter().flatten() {
                        // A cell is taken out line by line with its neighbours, so each word is looked for.
                        let mut text = String::new();
                        words(cell, &mut text);
                        out.extend(text.split(' ').map(bare));
                    }
                }
                other => {
                    let mut text = String::new();
                    said(std::slice::from_ref(other), &mut text);
                    out.push(bare(&text));
                }
            }
        }
    }
    let mut out = vec![bare(&it.title)];
    visit(&it.blocks, &mut out);
    out.extend(it.notes.iter().map(|it| bare(&format!("\"{}\"—{}", it.quote, it.title))));
    out
}

/// The text of a PDF without white space, page numbers and page breaks.
fn text_of(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.pdf");
    std::fs::write(&file, bytes).unwrap();
    let text = poppler("pdftotext", &["-enc", "UTF-8"], &file, &["-"]);
    let pages: Vec<&str> = text.split('\u{c}').collect();
    let all = pages.len() - 1;
    let mut out = String::new();
    for (nth, page) in (1..).zip(&pages[..all]) {
        let page = bare(page);
        let number = format!("{nth}/{all}");
        assert!(page.ends_with(&number), "{page}");
        out.push_str(page.strip_suffix(&number).unwrap());
    }
    out
}

#[test]
#[ignore = "needs poppler"]
fn the_text_of_a_pdf_is_the_text_of_the_report() {
    for (report, pages) in [natural(), sample(PLAIN)] {
        let text = text_of(&pdf(&report, &pages));
        let it = ReportDocument::from_report(&report, true);
        for piece in pieces(&it) {
            assert!(text.contains(&piece), "{piece}\nis not in\n{text}");
        }
        // And nothing else: as many letters as the report has, tables and notes included.
        let mut whole = String::new();
        said(&it.blocks, &mut whole);
        let mut want = bare(&it.title).chars().count() + bare(&whole).chars().count();
        for block in &it.blocks {
            if let DocumentBlock::Table { head, rows, .. } = block {
                let mut text = head.concat();
                rows.iter().flatten().for_each(|it| words(it, &mut text));
                want += bare(&text).chars().count();
            }
        }
        for (nth, note) in (1..).zip(&it.notes) {
            let page = note.page.map_or_else(String::new, |it| format!(",p.{it}"));
            let place = note.address.as_ref().or(note.file.as_ref()).unwrap();
            let line = format!("{nth}\"{}\"—{}{page}—{place}", note.quote, note.title);
            want += bare(&line).chars().count();
        }
        assert_eq!(text.chars().count(), want, "{text}");
    }
}

#[test]
#[ignore = "needs poppler"]
fn strangers_words_are_printed_as_they_are() {
    for words in hostile() {
        let (report, pages) = sample(words);
        let text = text_of(&pdf(&report, &pages));
        let it = ReportDocument::from_report(&report, true);
        // Signs outside of the fonts have no shape and no text; all of ours are in them.
        for piece in pieces(&it).iter().filter(|it| it.is_ascii()) {
            assert!(text.contains(piece.as_str()), "{words:?}: {piece}\nis not in\n{text}");
        }
    }
}

#[test]
#[ignore = "needs poppler"]
fn a_pdf_has_bookmarks_a_title_a_language_and_links() {
    let (report, pages) = natural();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.pdf");
    let bytes = pdf(&report, &pages);
    assert!(bytes.starts_with(b"%PDF-"));
    std::fs::write(&file, &bytes).unwrap();
    let info = poppler("pdfinfo", &[], &file, &[]);
    assert!(info.contains("Title:           What green roofs keep\n"), "{info}");
    assert!(info.contains("Tagged:          yes"), "{info}");
    let raw = String::from_utf8_lossy(&bytes);
    assert!(raw.contains("/Lang (en)") || raw.contains("/Lang(en)"), "no language");
    let outline = poppler("pdftohtml", &["-xml", "-stdout", "-i"], &file, &[]);
    let marks: Vec<String> = outline
        .split("<item page=")
        .skip(1)
        .filter_map(|it| Some(it.split_once('>')?.1.split_once('<')?.0.to_owned()))
        .collect();
    let it = ReportDocument::from_report(&report, true);
    let headings: Vec<&str> = it.headings().iter().map(|it| it.1).collect();
    assert_eq!(marks, headings);
    let urls = poppler("pdfinfo", &["-url"], &file, &[]);
    assert!(urls.contains("https://a.example/roofs_%281%29#:~:text="), "{urls}");
}

/// Nothing of strangers is a link: each leads to a source, whatever the words are.
#[test]
#[ignore = "needs poppler"]
fn links_of_a_pdf_lead_to_sources_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.pdf");
    for words in
        ["https://evil.example/x", "#link(\"https://evil.example\")", "[x](https://evil.example)"]
    {
        let (report, pages) = sample(words);
        std::fs::write(&file, pdf(&report, &pages)).unwrap();
        let urls = poppler("pdfinfo", &["-url"], &file, &[]);
        let links = urls.lines().filter(|it| it.contains("://"));
        for it in links {
            assert!(!it.contains("://evil"), "{words}: {it}");
        }
    }
}

#[test]
#[ignore = "needs poppler"]
fn a_long_table_breaks_over_pages() {
    let (mut report, pages) = natural();
    let one = report.findings[0].clone();
    report.findings = (0..120).map(|_| one.clone()).collect();
    let bytes = pdf(&report, &pages);
    let text = text_of(&bytes);
    // The head stands on every page that the table is on.
    assert!(text.matches("Confidence").count() > 3, "{text}");
}
