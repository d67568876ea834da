//! The evidence page and the sources page of a run.
use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::format::{duration, thousands, truncate};
use super::live::RunHeader;
use super::shell::PageLayout;
use ibid_core::ReadFailure;
use ibid_core::domain::{Evidence, Report, Source, Stance, Traffic};
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::escape::{single_line, web_url};
use ibid_report::html::{SourceCard, url_file_name};
use ibid_report::phrases::source_kind_label;

/// Rows per page.
const MAX_ROWS: usize = 300;

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceItem {
    /// `e1`, `e2`, …
    pub id: String,
    /// The questions it is evidence for.
    pub items: String,
    /// The quoted text.
    pub words: String,
    /// The title of its source.
    pub title: String,
    /// The web address of the source.
    pub link: Option<String>,
    /// The kind of source.
    pub kind: &'static str,
    /// The date of publication.
    pub date: String,
    /// The round that found it.
    pub round: u32,
    /// The researcher that found it, if there are several.
    pub agent: Option<String>,
    /// Whether it supports the claim.
    pub stance: &'static str,
    /// The relevance, percent.
    pub score: u32,
    /// Its number among the report's quotes, if it is cited.
    pub quote: Option<usize>,
}

/// A rejected piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedItem {
    /// The address of its page.
    pub place: String,
    /// The question it was considered for.
    pub item: String,
    /// Why it was rejected.
    pub why: String,
}

/// The evidence page.
#[derive(Template)]
#[template(path = "evidence.html")]
pub struct EvidencePage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// The evidence of this page.
    pub pieces: Vec<EvidenceItem>,
    /// The total number.
    pub total: usize,
    /// The questions: id, text, number of pieces, whether selected.
    pub items: Vec<(String, String, usize, bool)>,
    /// Whether one question is selected.
    pub one: bool,
    /// The rejected evidence.
    pub left: Vec<RejectedItem>,
    /// The total number rejected.
    pub left_total: usize,
    /// The address of the next page.
    pub more: Option<String>,
}

impl EvidencePage {
    /// The evidence of a run, for one `item` or all, from index `from` on.
    pub fn new(
        shell: PageLayout,
        run: &Run,
        events: &[Envelope],
        item: Option<&str>,
        from: usize,
    ) -> EvidencePage {
        let works: BTreeMap<_, &Source> =
            run.sources.iter().map(|source| (source.id, source)).collect();
        let report = run.report.as_deref();
        let quotes = report.map(Report::cited_passages).unwrap_or_default();
        let all: Vec<(&Evidence, Option<&str>)> = events
            .iter()
            .filter_map(|event| match &event.event {
                Event::EvidenceAdded { evidence } => Some((evidence, event.agent.as_deref())),
                _ => None,
            })
            .collect();
        let matches_item = |evidence: &Evidence| {
            item.is_none_or(|item| evidence.items.iter().any(|it| it.to_string() == item))
        };
        let found: Vec<_> = all.iter().filter(|pair| matches_item(pair.0)).collect();
        let total = found.len();
        let pieces = found.iter().skip(from).take(MAX_ROWS).map(|(it, agent)| {
            let work = works.get(&it.source);
            EvidenceItem {
                id: it.id.to_string(),
                items: it.items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                words: single_line(it.passage.text().expose()),
                title: work.map_or_else(|| it.source.to_string(), |it| truncate(&it.title, 120)),
                link: work.and_then(|work| web_url(&work.url)),
                kind: work.map_or("", |work| source_kind_label(work)),
                date: work
                    .and_then(|work| work.date.as_deref())
                    .map(single_line)
                    .unwrap_or_default(),
                round: it.round,
                agent: agent.map(single_line),
                stance: match it.stance {
                    Stance::For => "supports",
                    Stance::Against => "contradicts",
                    Stance::Neutral => "neutral",
                },
                score: (it.score.clamp(0.0, 1.0) * 100.0).round() as u32,
                quote: quotes.iter().position(|known| *known.1 == it.passage).map(|at| at + 1),
            }
        });
        let left: Vec<RejectedItem> = events
            .iter()
            .filter_map(|event| match &event.event {
                Event::EvidenceRejected { url, item, reason } => Some(RejectedItem {
                    place: display_place(url),
                    item: item.to_string(),
                    why: single_line(reason),
                }),
                Event::EvidenceMerged { url, into } => Some(RejectedItem {
                    place: display_place(url),
                    item: String::new(),
                    why: format!("merged with {}", display_place(into)),
                }),
                _ => None,
            })
            .collect();
        let planned = run.plan.iter().flat_map(|it| it.items());
        let items = planned.map(|it| {
            let id = it.id;
            let count = all.iter().filter(|piece| piece.0.items.contains(&id)).count();
            (id.to_string(), single_line(&it.asks), count, item == Some(id.to_string().as_str()))
        });
        let end = from + MAX_ROWS;
        EvidencePage {
            items: items.collect(),
            pieces: pieces.collect(),
            more: (end < total).then(|| match item {
                Some(item) => format!("/r/{}/evidence?item={item}&from={end}", run.id),
                None => format!("/r/{}/evidence?from={end}", run.id),
            }),
            total,
            one: item.is_some(),
            left_total: left.len(),
            left: left.into_iter().take(MAX_ROWS).collect(),
            head: RunHeader::new(run, "evidence"),
            shell,
        }
    }
}

/// A web address, or the name of a file.
fn display_place(url: &str) -> String {
    web_url(url).map_or_else(|| url_file_name(url), |it| truncate(&it, 140))
}

/// A requested document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    /// Its title, or its address.
    pub title: String,
    /// Its web address.
    pub link: Option<String>,
    /// Its host or the name of its file.
    pub place: String,
    /// Its kind.
    pub kind: &'static str,
    /// The CSS class of the outcome: `read`, `known`, `failed`.
    pub class: &'static str,
    /// The outcome.
    pub state: String,
    /// The number of sentences.
    pub sentences: String,
    /// How long reading took.
    pub took: String,
    /// The number of pieces of evidence from it.
    pub evidence: usize,
    /// Its number in the report.
    pub cited: Option<usize>,
    /// The reader's warnings.
    pub warnings: String,
}

/// A contacted host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRow {
    /// Its name.
    pub name: String,
    /// Requests, bytes sent, bytes received.
    pub figures: [String; 3],
}

/// The sources page.
#[derive(Template)]
#[template(path = "sources.html")]
pub struct SourcesPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// The documents in the order requested.
    pub documents: Vec<DocumentRow>,
    /// How many documents are not shown.
    pub more: usize,
    /// Number read, known from earlier runs, and failed.
    pub counts: [usize; 3],
    /// The contacted hosts.
    pub hosts: Vec<HostRow>,
}

impl SourcesPage {
    /// The sources of a run.
    pub fn new(
        shell: PageLayout,
        run: &Run,
        events: &[Envelope],
        traffic: &BTreeMap<String, Traffic>,
    ) -> SourcesPage {
        let mut all = document_rows(run.report.as_deref(), events);
        let count = |class| all.iter().filter(|row| row.class == class).count();
        SourcesPage {
            counts: [count("read"), count("known"), count("failed")],
            more: all.len().saturating_sub(2 * MAX_ROWS),
            hosts: traffic
                .iter()
                .map(|(name, traffic)| HostRow {
                    name: single_line(name),
                    figures: [
                        thousands(traffic.requests),
                        thousands(traffic.sent),
                        thousands(traffic.received),
                    ],
                })
                .collect(),
            documents: {
                all.truncate(2 * MAX_ROWS);
                all
            },
            head: RunHeader::new(run, "sources"),
            shell,
        }
    }
}

/// The documents in the order requested, each once.
fn document_rows(report: Option<&Report>, events: &[Envelope]) -> Vec<DocumentRow> {
    let mut pieces: BTreeMap<_, usize> = BTreeMap::new();
    for envelope in events {
        if let Event::EvidenceAdded { evidence } = &envelope.event {
            *pieces.entry(evidence.source).or_default() += 1;
        }
    }
    let row = |source: &Source| {
        let evidence = pieces.get(&source.id).copied().unwrap_or(0);
        DocumentRow::reused(source, report, evidence)
    };
    let mut out: Vec<DocumentRow> = Vec::new();
    let mut seen: BTreeSet<_> = BTreeSet::new();
    for envelope in events {
        match &envelope.event {
            Event::KnownWeighed { sources, .. } => {
                out.extend(sources.iter().filter(|source| seen.insert(source.id)).map(row));
            }
            Event::ReadCompleted { source, sentences, warnings, ms } if seen.insert(source.id) => {
                let warnings: Vec<String> = warnings.iter().map(|text| single_line(text)).collect();
                out.push(DocumentRow {
                    class: "read",
                    state: "read".to_owned(),
                    sentences: thousands(u64::from(*sentences)),
                    took: duration(i64::try_from(*ms).unwrap_or(i64::MAX)),
                    warnings: warnings.join("; "),
                    ..row(source)
                });
            }
            Event::ReadFailed { url, reason, message } => {
                out.push(DocumentRow::failed(url, *reason, message));
            }
            Event::DocumentFailed { path, reason, message, .. } => {
                out.push(DocumentRow::failed(path, *reason, message));
            }
            _ => {}
        }
    }
    out
}

impl DocumentRow {
    /// The row of a source of an earlier run.
    fn reused(source: &Source, report: Option<&Report>, evidence: usize) -> DocumentRow {
        let works = report.map(|report| report.sources.as_slice()).unwrap_or_default();
        let cited = works.iter().position(|work| work.id == source.id).map(|at| at + 1);
        let card = report.zip(cited).and_then(|(report, n)| SourceCard::from_report(report, n));
        DocumentRow {
            title: card.map_or_else(|| truncate(&source.title, 160), |card| card.title),
            link: web_url(&source.url),
            place: host(source),
            kind: source_kind_label(source),
            class: "known",
            state: "reused".to_owned(),
            sentences: String::new(),
            took: String::new(),
            evidence,
            cited,
            warnings: String::new(),
        }
    }

    /// The row of a document that could not be read.
    fn failed(url: &str, reason: ReadFailure, message: &str) -> DocumentRow {
        DocumentRow {
            title: display_place(url),
            link: web_url(url),
            place: String::new(),
            kind: "",
            class: "failed",
            state: format!("{}: {}", reason.as_str().replace('_', " "), truncate(message, 200)),
            sentences: String::new(),
            took: String::new(),
            evidence: 0,
            cited: None,
            warnings: String::new(),
        }
    }
}

fn host(it: &Source) -> String {
    let of_web = web_url(&it.url).and_then(|web_url| url::Url::parse(&web_url).ok());
    let host = of_web.as_ref().and_then(|of_web| of_web.host_str()).map(single_line);
    match (&it.file, host) {
        (Some(file), _) => url_file_name(file),
        (None, Some(host)) => host,
        (None, None) => url_file_name(&it.url),
    }
}
