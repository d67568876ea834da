//! LaTeX: a document and its sources as BibTeX. It is set by any engine that is not older than 2020; for scripts other than
//! Latin by `lualatex`.
use std::fmt::Write as _;

use super::document::{Block, Document, Note, Span};
use super::escape::tex;
use super::references::{Reference, bibtex};

/// `report.tex` and, where there are sources, `references.bib`.
pub fn write(it: &Document, all: &[Reference]) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("report.tex".to_owned(), document(it, all).into_bytes())];
    if !all.is_empty() {
        let text = bibtex::write(all);
        files.push(("references.bib".to_owned(), text.into_bytes()));
    }
    files
}

const PREAMBLE: &str = r"\documentclass[11pt,a4paper]{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
  \IfFileExists{glyphtounicode.tex}{\input{glyphtounicode}\pdfgentounicode=1}{}
\else
  \usepackage{fontspec}
\fi
\usepackage{textcomp}
\usepackage[margin=25mm]{geometry}
\usepackage[numbers]{natbib}
\usepackage{longtable}
\usepackage{array}
\usepackage[hidelinks]{hyperref}
\sloppy
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.6em}
";

fn document(it: &Document, all: &[Reference]) -> String {
    let mut out = PREAMBLE.to_owned();
    let _ = write!(
        out,
        "\\hypersetup{{pdftitle={{{0}}},pdfcreator={{Ibid}}}}\n\\title{{{0}}}\n\\author{{}}\n\\date{{{1}}}\n\n\\begin{{document}}\n\\maketitle\n",
        tex(&it.title),
        tex(&it.date),
    );
    let mut setting = Setting {
        notes: &it.notes,
        all,
        out,
        listing: false,
    };
    if !all.is_empty() {
        // Sources are numbered in the order in which they are first named: here, so that each has the number that it has in
        // every other form.
        let keys: Vec<&str> = all.iter().map(|it| it.key.as_str()).collect();
        let _ = writeln!(setting.out, "\\nocite{{{}}}", keys.join(","));
    }
    setting.blocks(&it.blocks);
    setting.close();
    if !all.is_empty() {
        setting
            .out
            .push_str("\n\\bibliographystyle{unsrtnat}\n\\bibliography{references}\n");
    }
    setting.out.push_str("\\end{document}\n");
    setting.out
}

struct Setting<'d> {
    notes: &'d [Note],
    all: &'d [Reference],
    out: String,
    /// Whether a list is open.
    listing: bool,
}

impl Setting<'_> {
    fn close(&mut self) {
        if std::mem::take(&mut self.listing) {
            self.out.push_str("\\end{itemize}\n");
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            if !matches!(block, Block::Item { .. }) {
                self.close();
            }
            match block {
                Block::Heading { text, .. } if text == "Sources" && !self.all.is_empty() => {}
                Block::Heading { level, text } => {
                    let command = if *level > 1 {
                        "subsection*"
                    } else {
                        "section*"
                    };
                    let depth = if *level > 1 { "subsection" } else { "section" };
                    let text = tex(text);
                    let _ = writeln!(
                        self.out,
                        "\n\\{command}{{{text}}}\n\\addcontentsline{{toc}}{{{depth}}}{{{text}}}"
                    );
                }
                Block::Paragraph { spans } => {
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "\n{text}");
                }
                Block::Item { spans } => {
                    if !std::mem::replace(&mut self.listing, true) {
                        self.out.push_str("\n\\begin{itemize}\n");
                    }
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "\\item {{}}{text}");
                }
                Block::Answer { blocks } | Block::Conflict { blocks } => {
                    self.out.push_str("\n\\begin{quote}");
                    self.blocks(blocks);
                    self.close();
                    self.out.push_str("\\end{quote}\n");
                }
                Block::Table { head, widths, rows } => self.table(head, widths, rows),
                // The bibliography is made from `references.bib`.
                Block::Source { .. } => {}
            }
        }
    }

    fn table(&mut self, head: &[String], widths: &[u16], rows: &[Vec<Vec<Span>>]) {
        let sum: u16 = widths.iter().sum::<u16>().max(1);
        let columns: String = widths
            .iter()
            .map(|it| {
                let share = f32::from(*it) / f32::from(sum);
                format!("p{{\\dimexpr {share:.3}\\linewidth-2\\tabcolsep\\relax}}")
            })
            .collect();
        let named: Vec<String> = head
            .iter()
            .map(|it| format!("\\textbf{{{}}}", tex(it)))
            .collect();
        let _ = write!(
            self.out,
            "\n{{\\small\\raggedright\n\\begin{{longtable}}{{{columns}}}\n\\hline\n{} \\\\ \\hline\n\\endhead\n",
            named.join(" & ")
        );
        for row in rows {
            let cells: Vec<String> = row.iter().map(|it| self.spans(it)).collect();
            let _ = writeln!(self.out, "{} \\\\ \\hline", cells.join(" & "));
        }
        self.out.push_str("\\end{longtable}}\n");
    }

    fn spans(&self, spans: &[Span]) -> String {
        let mut out = String::new();
        for span in spans {
            match span {
                Span::Text { text } => out.push_str(&inside(text)),
                Span::Strong { text } => {
                    let _ = write!(out, "\\textbf{{{}}}", inside(text));
                }
                Span::Emphasis { text } => {
                    let _ = write!(out, "\\emph{{{}}}", inside(text));
                }
                Span::Break => out.push_str("\\newline "),
                Span::Link { text, url } => out.push_str(&link(url, text)),
                Span::Cite { n, .. } => {
                    let at = (*n as usize).checked_sub(1);
                    match at.and_then(|at| self.all.get(at)) {
                        Some(it) => {
                            let _ = write!(out, "\\cite{{{}}}", it.key);
                        }
                        None => {
                            let _ = write!(out, "{{[}}{n}{{]}}");
                        }
                    }
                }
                Span::Note { nth, first } => self.note(&mut out, *nth, *first),
            }
        }
        out
    }

    fn note(&self, out: &mut String, nth: usize, first: bool) {
        let note = nth.checked_sub(1).and_then(|at| self.notes.get(at));
        let Some(it) = note.filter(|_| first) else {
            let _ = write!(out, "\\textsuperscript{{\\ref{{note-{nth}}}}}");
            return;
        };
        let page = it.page.map_or_else(String::new, |it| format!(", p. {it}"));
        let place = match (&it.url, &it.address) {
            (Some(url), Some(address)) => link(url, address),
            _ => tex(it.file.as_deref().unwrap_or_default()),
        };
        let _ = write!(
            out,
            "\\footnote{{\\label{{note-{nth}}}{}{}{} --- {}{page} --- {place}}}",
            tex("\""),
            tex(&it.quote),
            tex("\""),
            tex(&it.title),
        );
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
    let core = tex(text)
        .replace('●', "\\textbullet{}")
        .replace('○', "\\textopenbullet{}");
    match core.is_empty() {
        true => blank(text.chars().next()).to_owned(),
        false => format!(
            "{}{core}{}",
            blank(text.chars().next()),
            blank(text.chars().next_back())
        ),
    }
}

/// A link; in the address what TeX would read as its own is written so that it does not.
fn link(url: &str, text: &str) -> String {
    let mut to = String::new();
    for c in url.chars() {
        match c {
            '%' | '#' | '&' => to.extend(['\\', c]),
            '\\' => to.push_str("\\%5C"),
            '{' => to.push_str("\\%7B"),
            '}' => to.push_str("\\%7D"),
            '^' => to.push_str("\\%5E"),
            '_' => to.push_str("\\%5F"),
            '$' => to.push_str("\\%24"),
            c => to.push(c),
        }
    }
    format!("\\href{{{to}}}{{{}}}", tex(text))
}
