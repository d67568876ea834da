//! Reports as documents.
use std::io::{Cursor, Read as _};

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, parse_document};
use ibid_core::domain::{OutputMode, Report};
use ibid_report::document::{DocumentBlock, InlineSpan, ReportDocument};
use ibid_report::{ExportOptions, ExportOutput, ReportFormat, markdown};
use quick_xml::events::Event;

use super::{PLAIN, hostile, made, sample};
use crate::export::dialect;

/// The words of a document in order, without white space.
fn said(it: &ReportDocument) -> String {
    let mut out = it.title.clone();
    blocks(&it.blocks, &mut out);
    out.retain(|it| !it.is_whitespace());
    out
}

fn blocks(all: &[DocumentBlock], out: &mut String) {
    for it in all {
        match it {
            DocumentBlock::Heading { text, .. } => out.push_str(text),
            DocumentBlock::Paragraph { spans } | DocumentBlock::Item { spans } => words(spans, out),
            DocumentBlock::Answer { blocks: all } | DocumentBlock::Conflict { blocks: all } => {
                blocks(all, out)
            }
            DocumentBlock::Source { n, spans } => {
                out.push_str(&format!("[{n}]"));
                words(spans, out);
            }
            DocumentBlock::Chart { lines } => lines.iter().for_each(|it| out.push_str(it)),
            DocumentBlock::Table { head, rows, .. } => {
                head.iter().for_each(|it| out.push_str(it));
                rows.iter().flatten().for_each(|it| words(it, out));
            }
        }
    }
}

fn words(spans: &[InlineSpan], out: &mut String) {
    for it in spans {
        match it {
            InlineSpan::Text { text }
            | InlineSpan::Strong { text }
            | InlineSpan::Emphasis { text } => out.push_str(text),
            InlineSpan::Link { text, .. } => out.push_str(text),
            InlineSpan::Cite { n, .. } => out.push_str(&format!("[{n}]")),
            InlineSpan::Note { .. } | InlineSpan::Break => {}
        }
    }
}

/// The words of Markdown in order, without its footnotes and white space.
fn shown(text: &str) -> String {
    fn visit<'a>(node: &'a AstNode<'a>, out: &mut String) {
        match &node.data.borrow().value {
            NodeValue::FootnoteDefinition(_) | NodeValue::FrontMatter(_) => return,
            NodeValue::Text(it) => out.push_str(it),
            _ => {}
        }
        node.children().for_each(|it| visit(it, out));
    }
    let arena = Arena::new();
    let root = parse_document(&arena, text, &dialect());
    let mut out = String::new();
    visit(root, &mut out);
    // The name of the box stands in its mark.
    out.retain(|it| !it.is_whitespace() && it != '\u{2060}');
    out.replace("[!CONFLICT]", "")
}

fn alike(report: &Report) {
    let text = markdown::report_body(report, true);
    assert_eq!(said(&ReportDocument::from_report(report, true)), shown(&text), "{text}");
}

#[test]
fn a_document_says_what_the_markdown_says() {
    for words in [PLAIN, "Über 5 % – “so”", "a_b* [c] <d>"] {
        let (mut report, _) = sample(words);
        alike(&report);
        report.unlisted = true;
        alike(&report);
        report.short.clear();
        report.findings.clear();
        alike(&report);
        report.mode = OutputMode::Evidence;
        alike(&report);
    }
}

#[test]
fn no_paragraph_stands_twice_and_every_note_is_named_once_first() {
    let (mut report, _) = sample(PLAIN);
    // In the sample it has the words of the introduction.
    report.conclusion.clear();
    let it = ReportDocument::from_report(&report, true);
    let mut seen = Vec::new();
    let mut first = 0;
    for block in &it.blocks {
        let mut text = String::new();
        blocks(std::slice::from_ref(block), &mut text);
        assert!(!seen.contains(&text), "twice: {text}");
        seen.push(text);
        first += format!("{block:?}").matches("first: true").count();
    }
    assert_eq!(first, it.notes.len());
    assert!(ReportDocument::from_report(&report, false).notes.is_empty());
}

/// The parts of a DOCX by name.
pub(super) fn parts(words: &str) -> Vec<(String, String)> {
    let ExportOutput::Binary(bytes) = made(ReportFormat::Docx, words) else {
        panic!("a DOCX is no text");
    };
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let names: Vec<String> = archive.file_names().map(|it| it.unwrap().into_owned()).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for name in names.into_iter().filter(|it| it.ends_with(".xml") || it.ends_with(".rels")) {
        let mut text = String::new();
        archive.by_name(&name).unwrap().read_to_string(&mut text).unwrap();
        found.push((name, text));
    }
    found.sort();
    found
}

fn part<'a>(of: &'a [(String, String)], name: &str) -> &'a str {
    &of.iter().find(|it| it.0 == name).unwrap().1
}

/// Names of elements in order; attributes and words are left out.
pub(super) fn elements(xml: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let mut out = Vec::new();
    loop {
        match reader.read_event().unwrap_or_else(|it| panic!("{it}: {xml}")) {
            Event::Start(it) => out.push(it.name().as_ref().to_owned()),
            Event::Empty(it) => out.push(it.name().as_ref().to_owned()),
            Event::DocType(_) | Event::PI(_) => panic!("{xml}"),
            Event::Eof => return out,
            _ => {}
        }
    }
}

#[test]
fn a_docx_is_built_the_same_whatever_the_words_are() {
    let want: Vec<Vec<String>> = parts(PLAIN).iter().map(|it| elements(&it.1)).collect();
    for words in hostile() {
        let made = parts(words);
        let now: Vec<Vec<String>> = made.iter().map(|it| elements(&it.1)).collect();
        assert_eq!(now, want, "{words:?}");
        for (name, text) in made {
            let bad = |it: char| {
                it != '\n' && it.is_control() || matches!(it, '\u{202e}' | '\u{fffe}' | '\u{ffff}')
            };
            assert!(!text.contains(bad), "{name} {words:?}");
        }
    }
}

#[test]
fn a_docx_has_headings_footnotes_and_a_title() {
    let (report, _) = sample(PLAIN);
    let it = ReportDocument::from_report(&report, true);
    let made = parts(PLAIN);
    let body = part(&made, "word/document.xml");
    assert_eq!(
        body.matches("w:val=\"Heading1\"").count(),
        it.headings().iter().filter(|it| it.0 == 1).count()
    );
    assert_eq!(body.matches("<w:footnoteReference").count(), it.notes.len());
    let notes = part(&made, "word/footnotes.xml");
    assert_eq!(notes.matches("<w:footnote ").count(), it.notes.len());
    assert_eq!(notes.matches("<w:footnoteRef />").count(), it.notes.len());
    assert!(notes.contains("HYPERLINK \"https://a.example/roofs_%281%29#:~:text="), "{notes}");
    assert!(!notes.contains("&amp;amp;") && !notes.contains("r:id="), "{notes}");
    assert!(part(&made, "docProps/core.xml").contains(&format!("<dc:title>{PLAIN}</dc:title>")));
    let styles = part(&made, "word/styles.xml");
    assert!(
        styles.contains("<w:lang w:val=\"en\" />") && styles.contains("w:default=\"1\""),
        "{styles}"
    );
    for n in 1..=report.sources.len() {
        assert!(body.contains(&format!("w:name=\"src_{n}\"")));
    }
}

#[test]
fn without_quotes_there_are_no_notes() {
    let (report, pages) = sample(PLAIN);
    let options = ExportOptions { quotes: false, ..ExportOptions::default() };
    let ExportOutput::Binary(bytes) = ReportFormat::Docx.render(&report, &pages, options).unwrap()
    else {
        panic!("a DOCX is no text");
    };
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut text = String::new();
    archive.by_name("word/document.xml").unwrap().read_to_string(&mut text).unwrap();
    assert!(!text.contains("footnoteReference"));
}
