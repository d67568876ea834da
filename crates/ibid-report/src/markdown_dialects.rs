//! Markdown for further work: Quarto with the sources as BibTeX, and an Obsidian folder with a note for each source.
//!
//! Both dialects execute or embed text between certain characters, so all special characters of untrusted text are written as entities.
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::document::{DocumentBlock, InlineSpan, QuoteNote, ReportDocument};
use super::escape::{keep_outer_space, markdown_entities, plain_line};
use super::html::mermaid;
use super::references::{AuthorName, ReferenceEntry, bibtex};
use ibid_core::domain::Report;

/// `report.qmd` and, if there are sources, `references.bib`.
pub fn quarto(it: &ReportDocument, all: &[ReferenceEntry]) -> Vec<(String, Vec<u8>)> {
    let mut out = String::from("---\n");
    yaml_field(&mut out, "title", &it.title);
    yaml_field(&mut out, "date", &it.date);
    yaml_field(&mut out, "lang", &it.lang);
    // Keeps straight quotation marks and hyphens.
    out.push_str("from: markdown-smart\n");
    if !all.is_empty() {
        out.push_str("bibliography: references.bib\nlink-citations: true\n");
    }
    out.push_str("---\n\n");
    let mut marking = DialectWriter {
        document: it,
        cite: &|n| all.get(n).map(|value| format!("[@{}]", value.key)),
        listed: all.is_empty(),
        // Printing Mermaid would require a browser.
        drawn: None,
        out,
    };
    marking.blocks(&it.blocks, "");
    if !all.is_empty() {
        marking.out.push_str("## Sources\n\n::: {#refs}\n:::\n\n");
    }
    marking.notes();
    let mut files = vec![("report.qmd".to_owned(), marking.out.into_bytes())];
    if !all.is_empty() {
        files.push(("references.bib".to_owned(), bibtex::write(all).into_bytes()));
    }
    files
}

/// A note on the report and, in `Sources`, one on each source, linked to each other.
pub fn obsidian(
    report: &Report,
    it: &ReportDocument,
    all: &[ReferenceEntry],
) -> Vec<(String, Vec<u8>)> {
    let name = safe_file_name(&it.title).unwrap_or_else(|| format!("Report {}", it.run));
    let mut taken = BTreeSet::new();
    let names: Vec<String> = all
        .iter()
        .map(|reference_entry| {
            let title = safe_file_name(&reference_entry.title)
                .unwrap_or_else(|| reference_entry.key.clone());
            let mut name = format!("{} {title}", reference_entry.key);
            // Names must differ also on case-insensitive file systems.
            while !taken.insert(name.to_lowercase()) {
                name.push_str(&format!(" {}", reference_entry.n));
            }
            name
        })
        .collect();
    let mut out = String::from("---\n");
    yaml_field(&mut out, "title", &it.title);
    yaml_field(&mut out, "question", &it.question);
    yaml_field(&mut out, "date", &it.date);
    yaml_field(&mut out, "run", &it.run);
    yaml_field(&mut out, "checks", &it.checks);
    out.push_str("---\n\n");
    let mut marking = DialectWriter {
        document: it,
        cite: &|n| names.get(n).map(|name| format!("[[Sources/{name}|{}]]", n + 1)),
        listed: true,
        drawn: mermaid(report),
        out,
    };
    marking.blocks(&it.blocks, "");
    marking.notes();
    let mut files = vec![(format!("{name}.md"), marking.out.into_bytes())];
    let passages = report.cited_passages();
    for (source, file) in all.iter().zip(&names) {
        let quotes = passages.iter().filter(|(n, _)| *n as usize == source.n);
        let quotes: Vec<(String, Option<u32>)> =
            quotes.map(|(_, it)| (plain_line(it.text().expose()), it.printed_page())).collect();
        let text = source_note(source, &quotes, &name);
        files.push((format!("Sources/{file}.md"), text.into_bytes()));
    }
    files
}

fn source_note(it: &ReferenceEntry, quotes: &[(String, Option<u32>)], report: &str) -> String {
    let mut out = String::from("---\n");
    yaml_field(&mut out, "title", &it.title);
    let authors: Vec<String> = it.authors.iter().map(AuthorName::family_first).collect();
    yaml_list(&mut out, "authors", &authors);
    for (name, value) in [
        ("in", &it.container),
        ("published", &it.issued.map(|date| date.join("-"))),
        ("doi", &it.doi),
        ("pmid", &it.pmid),
        ("pmcid", &it.pmcid),
        ("arxiv", &it.arxiv),
        ("url", &it.url),
        ("file", &it.file),
        ("accessed", &it.accessed.map(|accessed| accessed.join("-"))),
        ("retracted", &it.retracted),
    ] {
        if let Some(value) = value {
            yaml_field(&mut out, name, value);
        }
    }
    let words: Vec<String> = quotes.iter().map(|quote| quote.0.clone()).collect();
    yaml_list(&mut out, "quotes", &words);
    out.push_str("---\n\n");
    let _ = writeln!(out, "# {}\n", markdown_entities(&it.title));
    let _ = writeln!(out, "Source {} of [[{report}]].\n", it.n);
    for (words, page) in quotes {
        let page = page.map_or_else(String::new, |it| format!(" (p. {it})"));
        let _ = writeln!(out, "> {}{page}\n", markdown_entities(words));
    }
    out
}

/// A line of YAML. JSON strings are valid YAML strings.
fn yaml_field(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name}: {}", Value::from(plain_line(value)));
}

fn yaml_list(out: &mut String, name: &str, values: &[String]) {
    if values.is_empty() {
        return;
    }
    let _ = writeln!(out, "{name}:");
    for it in values {
        let _ = writeln!(out, "  - {}", Value::from(plain_line(it)));
    }
}

/// Characters of a file name, at most.
const MAX_FILE_NAME_CHARS: usize = 80;

/// `text` as a file name that is valid on every system and in links: letters, digits, spaces, hyphens. `None` when nothing is left of it,
/// or it is reserved on Windows.
pub(crate) fn safe_file_name(text: &str) -> Option<String> {
    let spaced: String = plain_line(text)
        .chars()
        .map(|c| match c {
            c if c.is_alphanumeric() => c,
            '-' | '_' | ',' | '(' | ')' => c,
            _ => ' ',
        })
        .collect();
    let mut name = String::new();
    for word in spaced.split(' ').filter(|part| !part.is_empty()) {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word);
    }
    // File systems limit bytes, not characters.
    let end = name
        .char_indices()
        .map(|pair| pair.0)
        .take_while(|it| *it <= MAX_FILE_NAME_CHARS)
        .last()?;
    if name.len() > MAX_FILE_NAME_CHARS {
        name.truncate(end);
    }
    let name = name.trim_matches(|c: char| !c.is_alphanumeric() && c != ')').to_owned();
    let stem = name.to_ascii_uppercase();
    let is_reserved = ["CON", "PRN", "AUX", "NUL"].contains(&stem.as_str())
        || ["COM", "LPT"].iter().any(|prefix| {
            stem.strip_prefix(prefix)
                .is_some_and(|rest| rest.chars().count() == 1 && rest.chars().all(char::is_numeric))
        });
    (!name.is_empty() && !is_reserved).then_some(name)
}

struct DialectWriter<'d> {
    document: &'d ReportDocument,
    /// The mark of a source, by its position from 0.
    cite: &'d dyn Fn(usize) -> Option<String>,
    /// Whether the list of sources is written.
    listed: bool,
    /// The Mermaid diagram of the section "Method".
    drawn: Option<String>,
    out: String,
}

impl DialectWriter<'_> {
    fn blocks(&mut self, blocks: &[DocumentBlock], lead: &str) {
        let blank = lead.trim_end();
        for (nth, block) in blocks.iter().enumerate() {
            match block {
                DocumentBlock::Heading { text, .. } if text == "Sources" && !self.listed => {}
                DocumentBlock::Heading { level, text } => {
                    let marks = if *level > 1 { "###" } else { "##" };
                    let _ = writeln!(self.out, "{marks} {}\n", heading_text(text));
                    if let Some(drawn) = self.drawn.take_if(|_| text == "Method") {
                        let _ = writeln!(self.out, "```mermaid\n{drawn}```\n");
                    }
                }
                DocumentBlock::Paragraph { spans } => {
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "{lead}{text}\n{blank}");
                }
                DocumentBlock::Item { spans } => {
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "{lead}- {text}");
                    if !matches!(blocks.get(nth + 1), Some(DocumentBlock::Item { .. })) {
                        let _ = writeln!(self.out, "{blank}");
                    }
                }
                DocumentBlock::Answer { blocks } | DocumentBlock::Conflict { blocks } => {
                    self.blocks(blocks, "> ");
                    self.out.push('\n');
                }
                DocumentBlock::Table { head, rows, .. } => self.table(head, rows),
                DocumentBlock::Chart { lines } => {
                    let lines = lines.join("\n").replace('`', "'");
                    let _ = writeln!(self.out, "```text\n{lines}\n```\n");
                }
                DocumentBlock::Source { .. } if !self.listed => {}
                DocumentBlock::Source { n, spans } => {
                    let text = self.spans(spans);
                    let mark =
                        usize::try_from(*n).ok().and_then(|n| (self.cite)(n.checked_sub(1)?));
                    let mark = mark.unwrap_or_else(|| n.to_string());
                    let _ = writeln!(self.out, "- {mark} {text}\n");
                }
            }
        }
    }

    fn table(&mut self, head: &[String], rows: &[Vec<Vec<InlineSpan>>]) {
        let named: Vec<String> = head.iter().map(|text| markdown_entities(text)).collect();
        let _ = writeln!(self.out, "| {} |", named.join(" | "));
        let _ = writeln!(self.out, "|{}", " --- |".repeat(head.len()));
        for row in rows {
            // The separator in a link would end the table cell.
            let cells: Vec<String> =
                row.iter().map(|it| self.spans(it).replace('|', "\\|")).collect();
            let _ = writeln!(self.out, "| {} |", cells.join(" | "));
        }
        self.out.push('\n');
    }

    fn spans(&self, spans: &[InlineSpan]) -> String {
        let mut out = String::new();
        for span in spans {
            match span {
                InlineSpan::Text { text } => {
                    out.push_str(&keep_outer_space(text, markdown_entities(text)));
                }
                InlineSpan::Strong { text } => {
                    let _ = write!(out, "**{}**", markdown_entities(text));
                }
                InlineSpan::Emphasis { text } => {
                    let _ = write!(out, "*{}*", markdown_entities(text));
                }
                InlineSpan::Break => out.push_str("; "),
                InlineSpan::Link { text, url } => {
                    let _ = write!(out, "[{}](<{}>)", markdown_entities(text), escape_url(url));
                }
                InlineSpan::Cite { n, .. } => {
                    let at = (*n as usize).checked_sub(1);
                    let mark = at.and_then(|at| (self.cite)(at));
                    out.push_str(&mark.unwrap_or_else(|| markdown_entities(&format!("[{n}]"))));
                }
                InlineSpan::Note { nth, .. } => {
                    let _ = write!(out, "[^q{nth}]");
                }
            }
        }
        out
    }

    fn notes(&mut self) {
        for (nth, it) in (1..).zip(&self.document.notes) {
            let QuoteNote { quote, title, page, url, file, .. } = it;
            let page = page.map_or_else(String::new, |it| format!(", p. {it}"));
            let place = match url {
                Some(url) => format!("[the words there](<{}>)", escape_url(url)),
                None => markdown_entities(file.as_deref().unwrap_or_default()),
            };
            let _ = writeln!(
                self.out,
                "[^q{nth}]: \"{}\" — {}{page} — {place}\n",
                markdown_entities(quote),
                markdown_entities(title),
            );
        }
    }
}

/// A heading. The number of a section must not open a list.
fn heading_text(text: &str) -> String {
    match text.split_once(". ") {
        Some((n, words)) if !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{n}. {}", markdown_entities(words))
        }
        _ => markdown_entities(text),
    }
}

/// A link target, without characters that dialects look for in the raw text.
fn escape_url(url: &str) -> String {
    let mut out = String::new();
    for c in url.chars() {
        match c {
            '{' | '}' | '$' | '^' | '@' | '\'' | '"' | '!' => {
                let _ = write!(out, "%{:02X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe_everywhere() {
        for (text, want) in [
            ("What green roofs keep: 56 %?", Some("What green roofs keep 56")),
            ("../../etc/passwd", Some("etc passwd")),
            ("a/b\\c:d*e?f\"g<h>i|j#k^l[m]", Some("a b c d e f g h i j k l m")),
            ("..", None),
            ("con", None),
            ("LPT1", None),
            ("console", Some("console")),
            ("\u{202e}fdp.exe ", Some("fdp exe")),
            ("über Dächer (2)", Some("über Dächer (2)")),
        ] {
            assert_eq!(safe_file_name(text).as_deref(), want, "{text}");
        }
        assert!(
            safe_file_name(&"ü".repeat(200))
                .is_some_and(|safe_file_name| safe_file_name.len() <= MAX_FILE_NAME_CHARS + 4)
        );
    }
}
