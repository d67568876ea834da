//! LaTeX with the sources as BibTeX, for any engine since 2020; `lualatex` for scripts other than Latin.
use std::fmt::Write as _;

use super::document::{DocumentBlock, InlineSpan, QuoteNote, ReportDocument};
use super::escape::{keep_outer_space, tex};
use super::references::{ReferenceEntry, bibtex};

/// `report.tex` and, if there are sources, `references.bib`.
pub fn write(it: &ReportDocument, all: &[ReferenceEntry]) -> Vec<(String, Vec<u8>)> {
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

fn document(it: &ReportDocument, all: &[ReferenceEntry]) -> String {
    let mut out = PREAMBLE.to_owned();
    let _ = write!(
        out,
        "\\hypersetup{{pdftitle={{{0}}},pdfcreator={{Ibid}}}}\n\\title{{{0}}}\n\\author{{}}\n\\date{{{1}}}\n\n\\begin{{document}}\n\\maketitle\n",
        tex(&it.title),
        tex(&it.date),
    );
    let mut setting = LatexWriter { notes: &it.notes, all, out, listing: false };
    if !all.is_empty() {
        // BibTeX numbers sources in the order of first citation. Citing them here gives each the number that it has in the other formats.
        let keys: Vec<&str> =
            all.iter().map(|reference_entry| reference_entry.key.as_str()).collect();
        let _ = writeln!(setting.out, "\\nocite{{{}}}", keys.join(","));
    }
    setting.blocks(&it.blocks);
    setting.end_list();
    if !all.is_empty() {
        setting.out.push_str("\n\\bibliographystyle{unsrtnat}\n\\bibliography{references}\n");
    }
    setting.out.push_str("\\end{document}\n");
    setting.out
}

struct LatexWriter<'d> {
    notes: &'d [QuoteNote],
    all: &'d [ReferenceEntry],
    out: String,
    /// Whether a list is open.
    listing: bool,
}

/// A line of a chart with characters that every font has. A backslash could end its surroundings.
fn plain_chart(line: &str) -> String {
    let plain = |c: char| match c {
        '█' => '#',
        '─' => '-',
        '●' => 'o',
        '·' => '.',
        '\\' => '/',
        c => c,
    };
    line.chars().map(plain).collect()
}

impl LatexWriter<'_> {
    fn end_list(&mut self) {
        if std::mem::take(&mut self.listing) {
            self.out.push_str("\\end{itemize}\n");
        }
    }

    fn blocks(&mut self, blocks: &[DocumentBlock]) {
        for block in blocks {
            if !matches!(block, DocumentBlock::Item { .. }) {
                self.end_list();
            }
            match block {
                DocumentBlock::Heading { text, .. }
                    if text == "Sources" && !self.all.is_empty() => {}
                DocumentBlock::Heading { level, text } => {
                    let command = if *level > 1 { "subsection*" } else { "section*" };
                    let depth = if *level > 1 { "subsection" } else { "section" };
                    let text = tex(text);
                    let _ = writeln!(
                        self.out,
                        "\n\\{command}{{{text}}}\n\\addcontentsline{{toc}}{{{depth}}}{{{text}}}"
                    );
                }
                DocumentBlock::Paragraph { spans } => {
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "\n{text}");
                }
                DocumentBlock::Item { spans } => {
                    if !std::mem::replace(&mut self.listing, true) {
                        self.out.push_str("\n\\begin{itemize}\n");
                    }
                    let text = self.spans(spans);
                    let _ = writeln!(self.out, "\\item {{}}{text}");
                }
                DocumentBlock::Answer { blocks } | DocumentBlock::Conflict { blocks } => {
                    self.out.push_str("\n\\begin{quote}");
                    self.blocks(blocks);
                    self.end_list();
                    self.out.push_str("\\end{quote}\n");
                }
                DocumentBlock::Table { head, widths, rows } => self.table(head, widths, rows),
                DocumentBlock::Chart { lines } => {
                    let drawn: Vec<String> = lines.iter().map(|line| plain_chart(line)).collect();
                    let _ = writeln!(
                        self.out,
                        "\n{{\\footnotesize\\begin{{verbatim}}\n{}\n\\end{{verbatim}}}}",
                        drawn.join("\n")
                    );
                }
                // The bibliography comes from `references.bib`.
                DocumentBlock::Source { .. } => {}
            }
        }
    }

    fn table(&mut self, head: &[String], widths: &[u16], rows: &[Vec<Vec<InlineSpan>>]) {
        let sum: u16 = widths.iter().sum::<u16>().max(1);
        let columns: String = widths
            .iter()
            .map(|width| {
                let share = f32::from(*width) / f32::from(sum);
                format!("p{{\\dimexpr {share:.3}\\linewidth-2\\tabcolsep\\relax}}")
            })
            .collect();
        let named: Vec<String> =
            head.iter().map(|text| format!("\\textbf{{{}}}", tex(text))).collect();
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

    fn spans(&self, spans: &[InlineSpan]) -> String {
        let mut out = String::new();
        for span in spans {
            match span {
                InlineSpan::Text { text } => out.push_str(&inline_text(text)),
                InlineSpan::Strong { text } => {
                    let _ = write!(out, "\\textbf{{{}}}", inline_text(text));
                }
                InlineSpan::Emphasis { text } => {
                    let _ = write!(out, "\\emph{{{}}}", inline_text(text));
                }
                InlineSpan::Break => out.push_str("\\newline "),
                InlineSpan::Link { text, url } => out.push_str(&link(url, text)),
                InlineSpan::Cite { n, .. } => {
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
                InlineSpan::Note { nth, first } => self.note(&mut out, *nth, *first),
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

/// Text within a paragraph: white space at its ends is kept.
fn inline_text(text: &str) -> String {
    let escaped = tex(text).replace('●', "\\textbullet{}").replace('○', "\\textopenbullet{}");
    keep_outer_space(text, escaped)
}

/// A link. Characters of the URL that are special in TeX are escaped.
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
