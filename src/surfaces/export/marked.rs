//! Markdown for those who go on with it: Quarto, with the sources as BibTeX, and an Obsidian folder with a note a source.
//!
//! Both dialects run or embed what stands between certain signs, so every sign of strangers' words is written by its number.
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::document::{Block, Document, Note, Span};
use super::escape::{numbered, plain};
use super::html::mermaid;
use super::passages;
use super::references::{Name, Reference, bibtex};
use crate::domain::Report;

/// `report.qmd` and, where there are sources, `references.bib`.
pub fn quarto(it: &Document, all: &[Reference]) -> Vec<(String, Vec<u8>)> {
    let mut out = String::from("---\n");
    field(&mut out, "title", &it.title);
    field(&mut out, "date", &it.date);
    field(&mut out, "lang", &it.lang);
    // Straight quotation marks and hyphens stay what they are.
    out.push_str("from: markdown-smart\n");
    if !all.is_empty() {
        out.push_str("bibliography: references.bib\nlink-citations: true\n");
    }
    out.push_str("---\n\n");
    let mut marking = Marking {
        it,
        cite: &|n| all.get(n).map(|it| format!("[@{}]", it.key)),
        listed: all.is_empty(),
        // Whoever prints it would need a browser for Mermaid.
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
pub fn obsidian(report: &Report, it: &Document, all: &[Reference]) -> Vec<(String, Vec<u8>)> {
    let name = file_name(&it.title).unwrap_or_else(|| format!("Report {}", it.run));
    let mut taken = BTreeSet::new();
    let names: Vec<String> = all
        .iter()
        .map(|it| {
            let title = file_name(&it.title).unwrap_or_else(|| it.key.clone());
            let mut name = format!("{} {title}", it.key);
            // File systems that do not tell letters by their case must keep the two apart.
            while !taken.insert(name.to_lowercase()) {
                name.push_str(&format!(" {}", it.n));
            }
            name
        })
        .collect();
    let mut out = String::from("---\n");
    field(&mut out, "title", &it.title);
    field(&mut out, "question", &it.question);
    field(&mut out, "date", &it.date);
    field(&mut out, "run", &it.run);
    field(&mut out, "checks", &it.checks);
    out.push_str("---\n\n");
    let mut marking = Marking {
        it,
        cite: &|n| names.get(n).map(|it| format!("[[Sources/{it}|{}]]", n + 1)),
        listed: true,
        drawn: mermaid(report),
        out,
    };
    marking.blocks(&it.blocks, "");
    marking.notes();
    let mut files = vec![(format!("{name}.md"), marking.out.into_bytes())];
    let passages = passages(report);
    for (source, file) in all.iter().zip(&names) {
        let quotes = passages.iter().filter(|(n, _)| *n as usize == source.n);
        let quotes: Vec<(String, Option<u32>)> = quotes
            .map(|(_, it)| (plain(it.text().expose()), it.printed_page()))
            .collect();
        let text = source_note(source, &quotes, &name);
        files.push((format!("Sources/{file}.md"), text.into_bytes()));
    }
    files
}

fn source_note(it: &Reference, quotes: &[(String, Option<u32>)], report: &str) -> String {
    let mut out = String::from("---\n");
    field(&mut out, "title", &it.title);
    let authors: Vec<String> = it.authors.iter().map(Name::sorted).collect();
    listed(&mut out, "authors", &authors);
    for (name, value) in [
        ("in", &it.container),
        ("published", &it.issued.map(|it| it.joined("-"))),
        ("doi", &it.doi),
        ("pmid", &it.pmid),
        ("pmcid", &it.pmcid),
        ("arxiv", &it.arxiv),
        ("url", &it.url),
        ("file", &it.file),
        ("accessed", &it.accessed.map(|it| it.joined("-"))),
        ("retracted", &it.retracted),
    ] {
        if let Some(value) = value {
            field(&mut out, name, value);
        }
    }
    let words: Vec<String> = quotes.iter().map(|it| it.0.clone()).collect();
    listed(&mut out, "quotes", &words);
    out.push_str("---\n\n");
    let _ = writeln!(out, "# {}\n", numbered(&it.title));
    let _ = writeln!(out, "Source {} of [[{report}]].\n", it.n);
    for (words, page) in quotes {
        let page = page.map_or_else(String::new, |it| format!(" (p. {it})"));
        let _ = writeln!(out, "> {}{page}\n", numbered(words));
    }
    out
}

/// A line of YAML; JSON strings are YAML strings.
fn field(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name}: {}", Value::from(plain(value)));
}

fn listed(out: &mut String, name: &str, values: &[String]) {
    if values.is_empty() {
        return;
    }
    let _ = writeln!(out, "{name}:");
    for it in values {
        let _ = writeln!(out, "  - {}", Value::from(plain(it)));
    }
}

/// Characters a file name of ours has at most.
const LONGEST: usize = 80;

/// `text` as a file name that every system takes and that links can name: letters, digits, spaces, hyphens. `None` where nothing
/// of it is left, or where it is a name that Windows keeps for itself.
pub fn file_name(text: &str) -> Option<String> {
    let kept: String = plain(text)
        .chars()
        .map(|it| match it {
            it if it.is_alphanumeric() => it,
            '-' | '_' | ',' | '(' | ')' => it,
            _ => ' ',
        })
        .collect();
    let mut name = String::new();
    for word in kept.split(' ').filter(|it| !it.is_empty()) {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word);
    }
    // Systems count bytes.
    let end = name
        .char_indices()
        .map(|it| it.0)
        .take_while(|it| *it <= LONGEST)
        .last()?;
    if name.len() > LONGEST {
        name.truncate(end);
    }
    let name = name
        .trim_matches(|it: char| !it.is_alphanumeric() && it != ')')
        .to_owned();
    let stem = name.to_ascii_uppercase();
    let kept = ["CON", "PRN", "AUX", "NUL"].contains(&stem.as_str())
        || ["COM", "LPT"].iter().any(|it| {
            stem.strip_prefix(it)
                .is_some_and(|it| it.chars().count() == 1 && it.chars().all(char::is_numeric))
        });
    (!name.is_empty() && !kept).then_some(name)
}

struct Marking<'d> {
    it: &'d Document,
    /// The mark of a source, by its place from 0.
    cite: &'d dyn Fn(usize) -> Option<String>,
    /// Whether the list of sources is written here.
    listed: bool,
    /// The Mermaid that stands under the heading of the method.
    drawn: Option<String>,
    out: String,
}

impl Marking<'_> {
    fn blocks(&mut self, blocks: &[Block], lead: &str) {
        let blank = lead.trim_end();
        for (nth, block) in blocks.iter().enumerate() {
            match block {
                Block::Heading { text, .. } if text == "Sources" && !self.listed => {}
                Block::Heading { level, text } => {
                    let marks = if *level > 1 { "###" } else { "##" };
                    let _ = writeln!(self.out, "{marks} {}\n", heading(text));
                    if let Some(drawn) = self.drawn.take_if(|_| text == "Method") {
                        let _ = writeln!(self.out, "```mermaid\n{drawn}```\n");
                    }
                }
                Block::Paragraph { spans } => {
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "{lead}{text}\n{blank}");
                }
                Block::Item { spans } => {
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "{lead}- {text}");
                    if !matches!(blocks.get(nth + 1), Some(Block::Item { .. })) {
                        let _ = writeln!(self.out, "{blank}");
                    }
                }
                Block::Answer { blocks } | Block::Conflict { blocks } => {
                    self.blocks(blocks, "> ");
                    self.out.push('\n');
                }
                Block::Table { head, rows, .. } => self.table(head, rows),
                Block::Source { .. } if !self.listed => {}
                Block::Source { n, spans } => {
                    let text = self.spans(spans);
                    let mark = usize::try_from(*n)
                        .ok()
                        .and_then(|n| (self.cite)(n.checked_sub(1)?));
                    let mark = mark.unwrap_or_else(|| n.to_string());
                    let _ = writeln!(self.out, "- {mark} {text}\n");
                }
            }
        }
    }

    fn table(&mut self, head: &[String], rows: &[Vec<Vec<Span>>]) {
        let named: Vec<String> = head.iter().map(|it| numbered(it)).collect();
        let _ = writeln!(self.out, "| {} |", named.join(" | "));
        let _ = writeln!(self.out, "|{}", " --- |".repeat(head.len()));
        for row in rows {
            // The sign between the two parts of a link would end the cell.
            let cells: Vec<String> = row
                .iter()
                .map(|it| self.spans(it).replace('|', "\\|"))
                .collect();
            let _ = writeln!(self.out, "| {} |", cells.join(" | "));
        }
        self.out.push('\n');
    }

    fn spans(&self, spans: &[Span]) -> String {
        let mut out = String::new();
        for span in spans {
            match span {
                Span::Text { text } => out.push_str(&inside(text)),
                Span::Strong { text } => {
                    let _ = write!(out, "**{}**", numbered(text));
                }
                Span::Emphasis { text } => {
                    let _ = write!(out, "*{}*", numbered(text));
                }
                Span::Break => out.push_str("; "),
                Span::Link { text, url } => {
                    let _ = write!(out, "[{}](<{}>)", numbered(text), address(url));
                }
                Span::Cite { n, .. } => {
                    let at = (*n as usize).checked_sub(1);
                    let mark = at.and_then(|at| (self.cite)(at));
                    out.push_str(&mark.unwrap_or_else(|| numbered(&format!("[{n}]"))));
                }
                Span::Note { nth, .. } => {
                    let _ = write!(out, "[^q{nth}]");
                }
            }
        }
        out
    }

    fn notes(&mut self) {
        for (nth, it) in (1..).zip(&self.it.notes) {
            let Note {
                quote,
                title,
                page,
                url,
                file,
                ..
            } = it;
            let page = page.map_or_else(String::new, |it| format!(", p. {it}"));
            let place = match url {
                Some(url) => format!("[the words there](<{}>)", address(url)),
                None => numbered(file.as_deref().unwrap_or_default()),
            };
            let _ = writeln!(
                self.out,
                "[^q{nth}]: \"{}\" — {}{page} — {place}\n",
                numbered(quote),
                numbered(title),
            );
        }
    }
}

/// A heading; the number of a section opens no list behind the marks.
fn heading(text: &str) -> String {
    match text.split_once(". ") {
        Some((n, words)) if !n.is_empty() && n.bytes().all(|it| it.is_ascii_digit()) => {
            format!("{n}. {}", numbered(words))
        }
        _ => numbered(text),
    }
}

/// Words between others: the white space at their ends stays.
fn inside(text: &str) -> String {
    let blank = |it: Option<char>| {
        if it.is_some_and(char::is_whitespace) {
            " "
        } else {
            ""
        }
    };
    let core = numbered(text);
    match core.is_empty() {
        true => blank(text.chars().next()).to_owned(),
        false => format!(
            "{}{core}{}",
            blank(text.chars().next()),
            blank(text.chars().next_back())
        ),
    }
}

/// A target of a link, without the signs that dialects look for in the raw text.
fn address(url: &str) -> String {
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
            (
                "What green roofs keep: 56 %?",
                Some("What green roofs keep 56"),
            ),
            ("../../etc/passwd", Some("etc passwd")),
            (
                "a/b\\c:d*e?f\"g<h>i|j#k^l[m]",
                Some("a b c d e f g h i j k l m"),
            ),
            ("..", None),
            ("con", None),
            ("LPT1", None),
            ("console", Some("console")),
            ("\u{202e}fdp.exe ", Some("fdp exe")),
            ("über Dächer (2)", Some("über Dächer (2)")),
        ] {
            assert_eq!(file_name(text).as_deref(), want, "{text}");
        }
        assert!(file_name(&"ü".repeat(200)).is_some_and(|it| it.len() <= LONGEST + 4));
    }
}
