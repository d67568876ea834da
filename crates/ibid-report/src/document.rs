//! A report as paragraphs, tables and notes, for formats other than Markdown. It has the content of [`super::markdown`] in the same order,
//! which a test checks.
//!
//! Every text in it is one line without control characters. Each format escapes it.
mod comparison;

use serde::Serialize;

use super::escape::{plain_line, text_fragment, web_url};
use super::markdown;
use super::phrases::{checks_line, id_list, local_path, source_file_name, source_note};
use super::{introduction, method_notes, phrases};
use ibid_core::domain::{
    Citation, Claim, Conflict, OutputMode, Passage, Report, SectionLayout, Source,
};

/// A report as a sequence of blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportDocument {
    /// The title.
    pub title: String,
    /// The question.
    pub question: String,
    /// Two-letter language code.
    pub lang: String,
    /// The day of the question, `YYYY-MM-DD`.
    pub date: String,
    /// The id of the run.
    pub run: String,
    /// The results of the checks.
    pub checks: String,
    /// The blocks, in order.
    pub blocks: Vec<DocumentBlock>,
    /// The quotes, in order of first use. [`InlineSpan::Note`] refers to one by its position, from 1.
    pub notes: Vec<QuoteNote>,
}

/// A block of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DocumentBlock {
    /// A heading.
    Heading {
        /// 1 for a section, 2 for a subsection.
        level: u8,
        /// The text.
        text: String,
    },
    /// A paragraph.
    Paragraph {
        /// The text.
        spans: Vec<InlineSpan>,
    },
    /// An item of a bullet list.
    Item {
        /// The text.
        spans: Vec<InlineSpan>,
    },
    /// The short answer, as a callout.
    Answer {
        /// The blocks in it.
        blocks: Vec<DocumentBlock>,
    },
    /// A disagreement between sources, as a callout.
    Conflict {
        /// The blocks in it.
        blocks: Vec<DocumentBlock>,
    },
    /// A table.
    Table {
        /// The column headings.
        head: Vec<String>,
        /// The relative widths of the columns.
        widths: Vec<u16>,
        /// The rows, cell by cell.
        rows: Vec<Vec<Vec<InlineSpan>>>,
    },
    /// A chart, drawn with characters of one width.
    Chart {
        /// Its lines, the first of which is its title.
        lines: Vec<String>,
    },
    /// An entry of the list of sources.
    Source {
        /// The number.
        n: u32,
        /// The text, without the number.
        spans: Vec<InlineSpan>,
    },
}

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InlineSpan {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// Emphasized text.
    Strong {
        /// The text.
        text: String,
    },
    /// A title.
    Emphasis {
        /// The text.
        text: String,
    },
    /// The number of a source.
    Cite {
        /// The number.
        n: u32,
        /// Whether there is a list of sources to link to.
        listed: bool,
    },
    /// A footnote.
    Note {
        /// The number of the note, from 1.
        nth: usize,
        /// Whether this is the first reference to the note.
        first: bool,
    },
    /// An external link.
    Link {
        /// The text.
        text: String,
        /// The URL, percent-encoded.
        url: String,
    },
    /// A line break.
    Break,
}

/// A quote and its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuoteNote {
    /// The number of the source.
    pub n: u32,
    /// The quoted text.
    pub quote: String,
    /// The title of the source.
    pub title: String,
    /// The printed page number, from 1.
    pub page: Option<u32>,
    /// The URL of the quoted text, percent-encoded.
    pub url: Option<String>,
    /// The URL of the page, as it is shown.
    pub address: Option<String>,
    /// The file name, for a source without a URL.
    pub file: Option<String>,
}

impl ReportDocument {
    /// Lays the report out; with `quotes`, every citation has a note.
    pub fn from_report(it: &Report, quotes: bool) -> ReportDocument {
        let mut laying = DocumentBuilder {
            report: it,
            passages: it.cited_passages(),
            quotes,
            named: Vec::new(),
            blocks: Vec::new(),
        };
        if let Some(note) = phrases::one_source_note(it).filter(|_| it.mode != OutputMode::Answer) {
            laying.blocks.push(DocumentBlock::Paragraph { spans: vec![strong(note)] });
        }
        match it.mode {
            OutputMode::Report => laying.report(),
            OutputMode::Answer => laying.answer(),
            OutputMode::Evidence => laying.evidence(),
        }
        let notes = if quotes && it.mode != OutputMode::Evidence {
            laying.passages.iter().map(|(n, it)| note(laying.report, *n, it)).collect()
        } else {
            Vec::new()
        };
        let title = match (it.mode, plain_line(&it.title)) {
            (OutputMode::Report, title) if !title.is_empty() => title,
            (OutputMode::Evidence, _) => format!("Evidence: {}", plain_line(&it.question)),
            _ => plain_line(&it.question),
        };
        ReportDocument {
            title,
            question: plain_line(&it.question),
            lang: it.lang.clone(),
            date: plain_line(&it.date),
            run: it.run.to_string(),
            checks: checks_line(it),
            blocks: laying.blocks,
            notes,
        }
    }

    /// Every heading with its level, in order.
    pub fn headings(&self) -> Vec<(u8, &str)> {
        let heading = |it| match it {
            &DocumentBlock::Heading { level, ref text } => Some((level, text.as_str())),
            _ => None,
        };
        self.blocks.iter().filter_map(heading).collect()
    }
}

fn text(it: impl Into<String>) -> InlineSpan {
    InlineSpan::Text { text: it.into() }
}

fn strong(it: impl Into<String>) -> InlineSpan {
    InlineSpan::Strong { text: it.into() }
}

fn paragraph(it: impl Into<String>) -> DocumentBlock {
    DocumentBlock::Paragraph { spans: vec![text(it)] }
}

fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}

fn note(report: &Report, n: u32, passage: &Passage) -> QuoteNote {
    let source = source(report, n);
    let words = passage.text().expose();
    let address = source.and_then(|source| web_url(&source.url));
    let url = address.as_ref().map(|url| {
        let joint = if url.contains('#') { "" } else { "#" };
        format!("{url}{joint}{}", text_fragment(words))
    });
    QuoteNote {
        n,
        quote: plain_line(words),
        title: source.map_or_else(String::new, |it| plain_line(&it.title)),
        page: passage.printed_page(),
        file: source.filter(|_| url.is_none()).map(|source| plain_line(&source_file_name(source))),
        url,
        address,
    }
}

struct DocumentBuilder<'r> {
    report: &'r Report,
    passages: Vec<(u32, &'r Passage)>,
    quotes: bool,
    named: Vec<usize>,
    blocks: Vec<DocumentBlock>,
}

impl DocumentBuilder<'_> {
    fn heading(&mut self, level: u8, words: &str) {
        self.blocks.push(DocumentBlock::Heading { level, text: words.to_owned() });
    }

    /// The marks after a sentence: its sources, each with its notes.
    fn marks(&mut self, citations: &[Citation]) -> Vec<InlineSpan> {
        let mut out = Vec::new();
        let mut before = None;
        for it in citations {
            if before != Some(it.n) {
                out.push(text(" "));
                out.push(InlineSpan::Cite { n: it.n, listed: !self.report.unlisted });
            }
            before = Some(it.n);
            let known = |(_, known): &(u32, &Passage)| **known == it.passage;
            if let (true, Some(at)) = (self.quotes, self.passages.iter().position(known)) {
                let first = !self.named.contains(&at);
                if first {
                    self.named.push(at);
                }
                out.push(InlineSpan::Note { nth: at + 1, first });
            }
        }
        out
    }

    fn sentences(&mut self, claims: &[Claim]) -> Vec<InlineSpan> {
        let mut out = Vec::new();
        for it in claims {
            if !out.is_empty() {
                out.push(text(" "));
            }
            out.push(text(plain_line(&it.told())));
            out.extend(self.marks(it.citations()));
        }
        out
    }

    fn section_paragraph(&mut self, layout: SectionLayout, claims: &[Claim]) {
        if layout == SectionLayout::Prose {
            let spans = self.sentences(claims);
            self.blocks.push(DocumentBlock::Paragraph { spans });
            return;
        }
        let items = self.items(layout, claims);
        self.blocks.extend(items);
    }

    /// Each claim as an item, numbered if they are steps.
    fn items(&mut self, layout: SectionLayout, claims: &[Claim]) -> Vec<DocumentBlock> {
        let item = |(nth, claim): (usize, &Claim)| {
            let mut spans = self.sentences(std::slice::from_ref(claim));
            if layout == SectionLayout::Steps {
                spans.insert(0, text(layout.marker(nth)));
                return DocumentBlock::Paragraph { spans };
            }
            DocumentBlock::Item { spans }
        };
        (1..).zip(claims).map(item).collect()
    }

    fn report(&mut self) {
        let it = self.report;
        self.short_answer();
        if introduction::has_introduction(it) {
            self.heading(1, "Introduction");
            self.opened_paragraph(&it.introduction, "");
        }
        if !it.findings.is_empty() {
            self.heading(1, "Key findings");
            for (heading, findings) in it.findings_by_kind() {
                if let Some(heading) = heading {
                    self.heading(2, heading);
                }
                for finding in findings {
                    let mut spans = self.sentences(std::slice::from_ref(&finding.claim));
                    spans.push(text(format!(" · {}", finding.confidence.level.dots())));
                    self.blocks.push(DocumentBlock::Item { spans });
                }
            }
        }
        self.comparison();
        for (nth, section) in (1..).zip(&it.sections) {
            self.heading(1, &format!("{nth}. {}", plain_line(&section.title)));
            for claims in &section.paragraphs {
                self.section_paragraph(section.layout, claims);
            }
        }
        if !it.conflicts.is_empty() {
            self.heading(1, introduction::conflicts_heading(&it.conflicts));
            for conflict in &it.conflicts {
                self.conflict(conflict);
            }
        }
        self.table();
        let open = method_notes::unresolved_points(it, plain_line);
        if !open.is_empty() {
            self.heading(1, "What could not be established");
            for (what, why) in open {
                let spans = match what {
                    Some(what) => vec![strong(what), text(format!(" — {why}"))],
                    None => vec![text(why)],
                };
                self.blocks.push(DocumentBlock::Item { spans });
            }
        }
        if let Some(text) = introduction::conclusion(it, plain_line) {
            self.heading(1, "Conclusion");
            self.opened_paragraph(&it.conclusion, &text);
        }
        self.heading(1, "Method");
        for line in method_notes::method_lines(it, plain_line) {
            self.blocks.push(DocumentBlock::Item { spans: vec![text(line)] });
        }
        self.sources();
    }

    /// Sentences and the counted text that follows them.
    fn opened_paragraph(&mut self, claims: &[Claim], counted: &str) {
        let mut spans = self.sentences(claims);
        let joint = if spans.is_empty() { "" } else { " " };
        if !counted.is_empty() {
            spans.push(text(format!("{joint}{counted}")));
        }
        self.blocks.push(DocumentBlock::Paragraph { spans });
    }

    fn short_answer(&mut self) {
        let it = self.report;
        if it.short.is_empty() {
            let spans =
                vec![strong("No answer."), text(" No source that was read answers this question.")];
            self.blocks
                .push(DocumentBlock::Answer { blocks: vec![DocumentBlock::Paragraph { spans }] });
            return;
        }
        let label = strong(format!("{}.", it.short_answer_label()));
        let mut blocks = match it.short_layout() {
            SectionLayout::Prose => {
                let mut spans = vec![label, text(" ")];
                spans.extend(self.sentences(&it.short));
                vec![DocumentBlock::Paragraph { spans }]
            }
            layout => {
                let mut blocks = vec![DocumentBlock::Paragraph { spans: vec![label] }];
                blocks.extend(self.items(layout, &it.short));
                blocks
            }
        };
        blocks.extend(it.computed_line().map(|line| paragraph(plain_line(&line))));
        let mut sure = vec![strong(format!("Confidence: {}", it.confidence.level.as_str()))];
        let why: Vec<String> = it.confidence.why.iter().map(|it| plain_line(it)).collect();
        if !why.is_empty() {
            sure.push(text(format!(" — {}.", why.join("; "))));
        }
        blocks.push(DocumentBlock::Paragraph { spans: sure });
        self.blocks.push(DocumentBlock::Answer { blocks });
    }

    fn conflict(&mut self, it: &Conflict) {
        let about = format!("{}:", plain_line(&introduction::conflict_title(it)));
        let mut blocks = vec![paragraph(about)];
        for side in &it.sides {
            let mut spans = vec![strong(plain_line(&side.says)), text(" — ")];
            for (nth, it) in side.claim.citations().iter().enumerate() {
                let joint = if nth > 0 { "; " } else { "" };
                let words = plain_line(it.passage.text().expose());
                spans.push(text(format!("{joint}\"{words}\"")));
                spans.extend(self.marks(std::slice::from_ref(it)));
            }
            spans.push(text(format!(" ({})", phrases::side_weight(self.report, side))));
            blocks.push(DocumentBlock::Item { spans });
        }
        let reason = introduction::conflict_reason(it);
        blocks.extend(reason.map(|reason| paragraph(plain_line(&reason))));
        self.blocks.push(DocumentBlock::Conflict { blocks });
    }

    fn table(&mut self) {
        let it = self.report;
        let findings = markdown::tabled_findings(it);
        if findings.is_empty() {
            return;
        }
        self.heading(1, "Evidence table");
        let (head, widths): (&[&str], &[u16]) =
            (&["#", "Claim", "Quote", "Source", "Confidence"], &[1, 6, 6, 5, 4]);
        let rows = findings
            .into_iter()
            .enumerate()
            .map(|(nth, finding)| {
                let citations = finding.claim.citations();
                let level = finding.confidence.level;
                let mut works: Vec<Vec<InlineSpan>> =
                    citations.iter().map(|citation| self.citation_label(citation)).collect();
                works.dedup();
                let mut row = vec![
                    vec![text((nth + 1).to_string())],
                    vec![text(plain_line(finding.claim.text()))],
                ];
                let quoted = |citation: &Citation| {
                    let words = plain_line(citation.passage.text().expose());
                    vec![text(format!("\"{words}\""))]
                };
                row.push(join_lines(citations.iter().map(quoted).collect()));
                row.push(join_lines(works));
                row.push(vec![text(format!("{} {}", level.dots(), level.as_str()))]);
                row
            })
            .collect();
        self.blocks.push(DocumentBlock::Table {
            head: head.iter().map(|it| (*it).to_owned()).collect(),
            widths: widths.to_vec(),
            rows,
        });
    }

    /// `[1] Title, 2024-05-01`.
    fn citation_label(&self, citation: &Citation) -> Vec<InlineSpan> {
        let title = source(self.report, citation.n).map_or_else(String::new, |it| match &it.date {
            Some(date) => plain_line(&format!("{}, {date}", it.title)),
            None => plain_line(&it.title),
        });
        let n = citation.n;
        let listed = !self.report.unlisted;
        vec![InlineSpan::Cite { n, listed }, text(format!(" {title}"))]
    }

    fn sources(&mut self) {
        if self.report.sources.is_empty() || self.report.unlisted {
            return;
        }
        self.heading(1, "Sources");
        for (n, it) in (1..).zip(&self.report.sources) {
            let spans = source_entry(self.report, it);
            self.blocks.push(DocumentBlock::Source { n, spans });
        }
    }

    /// Mode `answer`: the answer and its sources.
    fn answer(&mut self) {
        let Some(answer) = &self.report.answer else {
            return;
        };
        let mut spans = vec![text(plain_line(&answer.text))];
        spans.extend(self.marks(&answer.citations));
        self.blocks.push(DocumentBlock::Paragraph { spans });
        self.sources();
    }

    /// Mode `evidence`: the coverage of each topic, and the excerpts by source.
    fn evidence(&mut self) {
        self.blocks.push(paragraph(super::evidence::coverage_sentence(self.report)));
        for row in &self.report.coverage {
            let gap = row.gap.as_deref().map(plain_line);
            let gap = gap.map_or_else(String::new, |it| format!(" ({it})"));
            let what = text(format!(" {}{gap}", plain_line(&row.text)));
            let spans = vec![strong(row.state.status_word().to_string()), what];
            self.blocks.push(DocumentBlock::Item { spans });
        }
        for (nth, it) in (1..).zip(&self.report.results) {
            let title = match it.title.trim() {
                "" => it.url.as_str(),
                title => title,
            };
            self.heading(1, &format!("{nth}. {}", plain_line(title)));
            let place = match web_url(&it.url) {
                Some(url) => InlineSpan::Link { text: url.clone(), url },
                None => text(plain_line(&it.url)),
            };
            let spans = vec![place, text(format!(" · score {:.2}", it.score))];
            self.blocks.push(DocumentBlock::Paragraph { spans });
            self.blocks.extend(it.content.split('\n').map(|part| paragraph(plain_line(part))));
        }
    }
}

/// Joins lines with line breaks.
fn join_lines(lines: Vec<Vec<InlineSpan>>) -> Vec<InlineSpan> {
    let mut out = Vec::new();
    for line in lines {
        if !out.is_empty() {
            out.push(InlineSpan::Break);
        }
        out.extend(line);
    }
    out
}

/// An entry of the list of sources, without its number.
fn source_entry(report: &Report, it: &Source) -> Vec<InlineSpan> {
    let mut out = Vec::new();
    if let Some(author) = &it.author {
        out.push(text(format!("{}. ", plain_line(author).trim_end_matches('.'))));
    }
    let title = plain_line(&it.title);
    out.push(InlineSpan::Emphasis { text: title });
    let mut after = String::new();
    for part in [&it.site, &it.date].into_iter().flatten() {
        after += &format!(", {}", plain_line(part));
    }
    out.push(text(after + ". "));
    match web_url(&it.url) {
        Some(url) => {
            let parsed = url::Url::parse(&url).ok();
            let host = parsed.and_then(|parsed| parsed.host_str().map(str::to_owned));
            let shown = plain_line(&host.unwrap_or_default());
            out.push(InlineSpan::Link { text: shown, url });
            if let Some(file) = &it.file {
                out.push(text(format!(", read from {}", plain_line(&local_path(file)))));
            }
        }
        None => out.push(text(plain_line(&local_path(&it.url)))),
    }
    let mut after = String::new();
    let ids = id_list(it);
    if !ids.is_empty() {
        after += &format!(" · {}", plain_line(&ids));
    }
    after += &format!(" · {}", phrases::source_kind_label(it));
    if let Some(trust) = &it.trust {
        after += &format!(" · trust {:.2}", trust.score);
    }
    if let Some(note) = source_note(report, it) {
        after += &format!(" · {note}");
    }
    out.push(text(after));
    out
}
