//! A report as paragraphs, tables and notes, for forms that are not Markdown. It says what [`super::markdown`] says, in the same
//! order, which a test holds it to.
//!
//! Every word in it is one line without control characters; each form escapes it for itself.
use serde::Serialize;

use super::escape::{fragment, plain, target};
use super::markdown::{self, checks, file_name, ids, local, replaced};
use super::{account, framing, passages};
use crate::domain::{Citation, Claim, Conflict, Mode, Passage, Report, Source};

/// A report, laid out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What was asked.
    pub question: String,
    /// Two-letter language code.
    pub lang: String,
    /// The day it was asked, `YYYY-MM-DD`.
    pub date: String,
    /// The run that made it.
    pub run: String,
    /// What code checked.
    pub checks: String,
    /// What stands in it, in order.
    pub blocks: Vec<Block>,
    /// The exact words behind it, in order of first use; a [`Span::Note`] names its place here, from 1.
    pub notes: Vec<Note>,
}

/// A piece of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// A heading.
    Heading {
        /// 1 for a section, 2 for a part of it.
        level: u8,
        /// Its words.
        text: String,
    },
    /// A paragraph.
    Paragraph {
        /// Its words.
        spans: Vec<Span>,
    },
    /// An item of a list without numbers.
    Item {
        /// Its words.
        spans: Vec<Span>,
    },
    /// The short answer, set apart.
    Answer {
        /// What stands in it.
        blocks: Vec<Block>,
    },
    /// Sources that disagree, set apart.
    Conflict {
        /// What stands in it.
        blocks: Vec<Block>,
    },
    /// A table.
    Table {
        /// What stands above each column.
        head: Vec<String>,
        /// How wide each column is, in parts of their sum.
        widths: Vec<u16>,
        /// Its rows, cell by cell.
        rows: Vec<Vec<Vec<Span>>>,
    },
    /// A source, which numbers in the text lead to.
    Source {
        /// Its number.
        n: u32,
        /// Its words, without the number.
        spans: Vec<Span>,
    },
}

/// Words in one dress.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Span {
    /// Plain words.
    Text {
        /// The words.
        text: String,
    },
    /// Words that stand out.
    Strong {
        /// The words.
        text: String,
    },
    /// A title.
    Emphasis {
        /// The words.
        text: String,
    },
    /// The number of a source.
    Cite {
        /// The number.
        n: u32,
        /// Whether there is a list of sources to lead to.
        listed: bool,
    },
    /// A footnote.
    Note {
        /// Its place among the notes, from 1.
        nth: usize,
        /// Whether it is named here for the first time.
        first: bool,
    },
    /// A link out.
    Link {
        /// What is shown.
        text: String,
        /// Where it leads, percent-encoded.
        url: String,
    },
    /// A new line.
    Break,
}

/// The exact words behind a sentence, and where they stand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Note {
    /// The number of the source.
    pub n: u32,
    /// The words.
    pub quote: String,
    /// The title of the source.
    pub title: String,
    /// The page of the printed document, from 1.
    pub page: Option<u32>,
    /// The address that leads to the words, percent-encoded.
    pub url: Option<String>,
    /// The address of the page, as it is shown.
    pub address: Option<String>,
    /// The name of the file, of what has no address.
    pub file: Option<String>,
}

impl Document {
    /// The report laid out; with `quotes`, every citation has a note.
    pub fn of(it: &Report, quotes: bool) -> Document {
        let mut laying = Laying {
            it,
            passages: passages(it),
            quotes,
            named: Vec::new(),
            blocks: Vec::new(),
        };
        match it.mode {
            Mode::Report => laying.report(),
            Mode::Answer => laying.answer(),
            Mode::Evidence => laying.evidence(),
        }
        let notes = match quotes && it.mode != Mode::Evidence {
            true => laying
                .passages
                .iter()
                .map(|(n, it)| note(laying.it, *n, it))
                .collect(),
            false => Vec::new(),
        };
        let title = match (it.mode, plain(&it.title)) {
            (Mode::Report, title) if !title.is_empty() => title,
            (Mode::Evidence, _) => format!("Evidence: {}", plain(&it.question)),
            _ => plain(&it.question),
        };
        Document {
            title,
            question: plain(&it.question),
            lang: it.lang.clone(),
            date: plain(&it.date),
            run: it.run.to_string(),
            checks: checks(it),
            blocks: laying.blocks,
            notes,
        }
    }

    /// Every heading with its level, in order.
    pub fn headings(&self) -> Vec<(u8, &str)> {
        let heading = |it| match it {
            &Block::Heading { level, ref text } => Some((level, text.as_str())),
            _ => None,
        };
        self.blocks.iter().filter_map(heading).collect()
    }
}

fn text(it: impl Into<String>) -> Span {
    Span::Text { text: it.into() }
}

fn strong(it: impl Into<String>) -> Span {
    Span::Strong { text: it.into() }
}

fn paragraph(it: impl Into<String>) -> Block {
    Block::Paragraph {
        spans: vec![text(it)],
    }
}

fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}

fn note(report: &Report, n: u32, passage: &Passage) -> Note {
    let source = source(report, n);
    let words = passage.text().expose();
    let address = source.and_then(|it| target(&it.url));
    let url = address.as_ref().map(|url| {
        let joint = if url.contains('#') { "" } else { "#" };
        format!("{url}{joint}{}", fragment(words))
    });
    Note {
        n,
        quote: plain(words),
        title: source.map_or_else(String::new, |it| plain(&it.title)),
        page: passage.printed_page(),
        file: source
            .filter(|_| url.is_none())
            .map(|it| plain(&file_name(it))),
        url,
        address,
    }
}

struct Laying<'r> {
    it: &'r Report,
    passages: Vec<(u32, &'r Passage)>,
    quotes: bool,
    named: Vec<usize>,
    blocks: Vec<Block>,
}

impl Laying<'_> {
    fn heading(&mut self, level: u8, words: &str) {
        self.blocks.push(Block::Heading {
            level,
            text: words.to_owned(),
        });
    }

    /// The marks after a sentence: its sources, each with the notes that carry it.
    fn marks(&mut self, citations: &[Citation]) -> Vec<Span> {
        let mut out = Vec::new();
        let mut before = None;
        for it in citations {
            if before != Some(it.n) {
                out.push(text(" "));
                out.push(Span::Cite {
                    n: it.n,
                    listed: !self.it.unlisted,
                });
            }
            before = Some(it.n);
            let known = |(_, known): &(u32, &Passage)| **known == it.passage;
            if let (true, Some(at)) = (self.quotes, self.passages.iter().position(known)) {
                let first = !self.named.contains(&at);
                if first {
                    self.named.push(at);
                }
                out.push(Span::Note { nth: at + 1, first });
            }
        }
        out
    }

    fn sentences(&mut self, claims: &[Claim]) -> Vec<Span> {
        let mut out = Vec::new();
        for it in claims {
            if !out.is_empty() {
                out.push(text(" "));
            }
            out.push(text(plain(it.text())));
            out.extend(self.marks(it.citations()));
        }
        out
    }

    fn report(&mut self) {
        let it = self.it;
        self.short();
        if !it.short.is_empty() {
            self.heading(1, "Introduction");
            self.blocks
                .push(paragraph(framing::introduction(it, plain)));
        }
        if !it.findings.is_empty() {
            self.heading(1, "Key findings");
            for (heading, findings) in it.learnings() {
                if let Some(heading) = heading {
                    self.heading(2, heading);
                }
                for finding in findings {
                    let mut spans = self.sentences(std::slice::from_ref(&finding.claim));
                    spans.push(text(format!(" · {}", finding.confidence.level.dots())));
                    self.blocks.push(Block::Item { spans });
                }
            }
        }
        for (nth, section) in (1..).zip(&it.sections) {
            self.heading(1, &format!("{nth}. {}", plain(&section.title)));
            for claims in &section.paragraphs {
                let spans = self.sentences(claims);
                self.blocks.push(Block::Paragraph { spans });
            }
        }
        if !it.conflicts.is_empty() {
            self.heading(1, "Where sources disagree");
            for conflict in &it.conflicts {
                self.conflict(conflict);
            }
        }
        self.table();
        let open = account::not_established(it, plain);
        if !open.is_empty() {
            self.heading(1, "What we could not establish");
            for (what, why) in open {
                let spans = match what {
                    Some(what) => vec![strong(what), text(format!(" — {why}"))],
                    None => vec![text(why)],
                };
                self.blocks.push(Block::Item { spans });
            }
        }
        if !it.short.is_empty() {
            self.heading(1, "Conclusion");
            self.blocks.push(paragraph(framing::conclusion(it)));
        }
        self.heading(1, "Method");
        for line in account::method(it, plain) {
            self.blocks.push(Block::Item {
                spans: vec![text(line)],
            });
        }
        self.sources();
    }

    fn short(&mut self) {
        let it = self.it;
        if it.short.is_empty() {
            let spans = vec![
                strong("No answer."),
                text(" The sources searched do not carry an answer to this question."),
            ];
            self.blocks.push(Block::Answer {
                blocks: vec![Block::Paragraph { spans }],
            });
            return;
        }
        let mut spans = vec![strong("Short answer."), text(" ")];
        spans.extend(self.sentences(&it.short));
        let mut sure = vec![strong(format!(
            "Confidence: {}",
            it.confidence.level.word()
        ))];
        let why: Vec<String> = it.confidence.why.iter().map(|it| plain(it)).collect();
        if !why.is_empty() {
            sure.push(text(format!(" — {}.", why.join("; "))));
        }
        self.blocks.push(Block::Answer {
            blocks: vec![Block::Paragraph { spans }, Block::Paragraph { spans: sure }],
        });
    }

    fn conflict(&mut self, it: &Conflict) {
        let about = format!("Sources disagree on {}:", plain(&it.about));
        let mut blocks = vec![paragraph(about)];
        for side in &it.sides {
            let mut spans = vec![strong(plain(&side.says)), text(" — ")];
            for (nth, it) in side.claim.citations().iter().enumerate() {
                let joint = if nth > 0 { "; " } else { "" };
                let words = plain(it.passage.text().expose());
                spans.push(text(format!("{joint}\"{words}\"")));
                spans.extend(self.marks(std::slice::from_ref(it)));
            }
            spans.push(text(format!(" (weight {:.2})", side.weight)));
            blocks.push(Block::Item { spans });
        }
        if let Some(likely) = &it.likely {
            blocks.push(paragraph(format!("Likely reason: {}", plain(likely))));
        }
        self.blocks.push(Block::Conflict { blocks });
    }

    fn table(&mut self) {
        let it = self.it;
        if it.findings.is_empty() {
            return;
        }
        let verbatim = markdown::verbatim(it);
        self.heading(1, "Evidence table");
        let (head, widths): (&[&str], &[u16]) = match verbatim {
            true => (
                &["#", "Claim, word for word", "Source", "Confidence"],
                &[1, 9, 6, 4],
            ),
            false => (
                &["#", "Claim", "Quote", "Source", "Confidence"],
                &[1, 6, 6, 5, 4],
            ),
        };
        let rows = it
            .findings
            .iter()
            .enumerate()
            .map(|(nth, finding)| {
                let citations = finding.claim.citations();
                let level = finding.confidence.level;
                let mut works: Vec<Vec<Span>> = citations.iter().map(|it| self.work(it)).collect();
                works.dedup();
                let mut row = vec![
                    vec![text((nth + 1).to_string())],
                    vec![text(plain(finding.claim.text()))],
                ];
                if !verbatim {
                    let quoted = |it: &Citation| {
                        let words = plain(it.passage.text().expose());
                        vec![text(format!("\"{words}\""))]
                    };
                    row.push(broken(citations.iter().map(quoted).collect()));
                }
                row.push(broken(works));
                row.push(vec![text(format!("{} {}", level.dots(), level.word()))]);
                row
            })
            .collect();
        self.blocks.push(Block::Table {
            head: head.iter().map(|it| (*it).to_owned()).collect(),
            widths: widths.to_vec(),
            rows,
        });
    }

    /// `[1] Title, 2024-05-01`.
    fn work(&self, citation: &Citation) -> Vec<Span> {
        let title = source(self.it, citation.n).map_or_else(String::new, |it| match &it.date {
            Some(date) => plain(&format!("{}, {date}", it.title)),
            None => plain(&it.title),
        });
        let n = citation.n;
        let listed = !self.it.unlisted;
        vec![Span::Cite { n, listed }, text(format!(" {title}"))]
    }

    fn sources(&mut self) {
        if self.it.sources.is_empty() || self.it.unlisted {
            return;
        }
        self.heading(1, "Sources");
        for (n, it) in (1..).zip(&self.it.sources) {
            let spans = listed(self.it, it);
            self.blocks.push(Block::Source { n, spans });
        }
    }

    /// Of mode `answer`: the line and what it rests on.
    fn answer(&mut self) {
        let Some(answer) = &self.it.answer else {
            return;
        };
        let mut spans = vec![text(plain(&answer.text))];
        spans.extend(self.marks(&answer.citations));
        self.blocks.push(Block::Paragraph { spans });
        self.sources();
    }

    /// Of mode `evidence`: how far each topic is covered, and what was found, source by source.
    fn evidence(&mut self) {
        self.blocks
            .push(paragraph(super::evidence::covered(self.it)));
        for row in &self.it.coverage {
            let gap = row.gap.as_deref().map(plain);
            let gap = gap.map_or_else(String::new, |it| format!(" ({it})"));
            let what = text(format!(" {}{gap}", plain(&row.text)));
            let spans = vec![strong(row.state.judged().to_string()), what];
            self.blocks.push(Block::Item { spans });
        }
        for (nth, it) in (1..).zip(&self.it.results) {
            let title = match it.title.trim() {
                "" => it.url.as_str(),
                title => title,
            };
            self.heading(1, &format!("{nth}. {}", plain(title)));
            let place = match target(&it.url) {
                Some(url) => Span::Link {
                    text: url.clone(),
                    url,
                },
                None => text(plain(&it.url)),
            };
            let spans = vec![place, text(format!(" · score {:.2}", it.score))];
            self.blocks.push(Block::Paragraph { spans });
            self.blocks
                .extend(it.content.split('\n').map(|it| paragraph(plain(it))));
        }
    }
}

/// Lines below each other.
fn broken(lines: Vec<Vec<Span>>) -> Vec<Span> {
    let mut out = Vec::new();
    for line in lines {
        if !out.is_empty() {
            out.push(Span::Break);
        }
        out.extend(line);
    }
    out
}

/// A source as the list shows it, without its number.
fn listed(report: &Report, it: &Source) -> Vec<Span> {
    let mut out = Vec::new();
    if let Some(author) = &it.author {
        out.push(text(format!("{}. ", plain(author).trim_end_matches('.'))));
    }
    let title = plain(&it.title);
    out.push(Span::Emphasis { text: title });
    let mut after = String::new();
    for part in [&it.site, &it.date].into_iter().flatten() {
        after += &format!(", {}", plain(part));
    }
    out.push(text(after + ". "));
    match target(&it.url) {
        Some(url) => {
            let parsed = url::Url::parse(&url).ok();
            let host = parsed.and_then(|it| it.host_str().map(str::to_owned));
            let shown = plain(&host.unwrap_or_default());
            out.push(Span::Link { text: shown, url });
            if let Some(file) = &it.file {
                out.push(text(format!(", read from {}", plain(&local(file)))));
            }
        }
        None => out.push(text(plain(&local(&it.url)))),
    }
    let mut after = String::new();
    let ids = ids(it);
    if !ids.is_empty() {
        after += &format!(" · {}", plain(&ids));
    }
    after += &format!(" · {}", markdown::kind(it.kind));
    if let Some(trust) = &it.trust {
        after += &format!(" · trust {:.2}", trust.score);
        if let Some(newer) = trust.replaced_by {
            after += &format!(" · {}", replaced(report, newer));
        }
    }
    out.push(text(after));
    out
}
