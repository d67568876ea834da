//! What a run has found and read: the ledger of evidence, and the sources with what came of each.
use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::Shell;
use super::live::Head;
use super::words::{clip, thousands, took};
use crate::domain::{Evidence, Source, Stance, Traffic};
use crate::record::{Envelope, Event, Run};
use crate::surfaces::export::escape::{line, target};
use crate::surfaces::export::html::{Card, kind_of, leaf};
use crate::surfaces::export::passages;

/// Rows of a page of the ledger.
const ROWS: usize = 300;

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// `e1`, `e2`, …
    pub id: String,
    /// What it speaks to.
    pub items: String,
    /// The words.
    pub words: String,
    /// Its work.
    pub title: String,
    /// Where that is in the web.
    pub link: Option<String>,
    /// What kind of source that is.
    pub kind: &'static str,
    /// When it was published.
    pub date: String,
    /// The round that found it.
    pub wave: u32,
    /// Who found it, where there are several.
    pub agent: Option<String>,
    /// Which way it points.
    pub stance: &'static str,
    /// How well it speaks to its question, in hundredths.
    pub score: u32,
    /// Which quote of the report it is, where it is one.
    pub quote: Option<usize>,
}

/// Something that was looked at and left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Where it is.
    pub place: String,
    /// What it would have spoken to.
    pub item: String,
    /// Why it was left out.
    pub why: String,
}

/// The ledger.
#[derive(Template)]
#[template(path = "evidence.html")]
pub struct EvidencePage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// What was found, of the question asked for.
    pub pieces: Vec<Piece>,
    /// Of how many.
    pub total: usize,
    /// Questions: id, words, how many pieces speak to it, whether it is the one asked for.
    pub items: Vec<(String, String, usize, bool)>,
    /// Whether one question is asked for.
    pub one: bool,
    /// What was left out.
    pub left: Vec<Left>,
    /// How many were left out in all.
    pub left_total: usize,
    /// Where more is.
    pub more: Option<String>,
}

impl EvidencePage {
    /// The ledger of a run, of one `item` or all, from the piece `from` on.
    pub fn of(
        shell: Shell,
        run: &Run,
        events: &[Envelope],
        item: Option<&str>,
        from: usize,
    ) -> EvidencePage {
        let works: BTreeMap<_, &Source> = run.sources.iter().map(|it| (it.id, it)).collect();
        let report = run.report.as_deref();
        let quotes = report.map(passages).unwrap_or_default();
        let all: Vec<(&Evidence, Option<&str>)> = events
            .iter()
            .filter_map(|it| match &it.event {
                Event::EvidenceAdded { evidence } => Some((evidence, it.agent.as_deref())),
                _ => None,
            })
            .collect();
        let speaks = |it: &Evidence| {
            item.is_none_or(|item| it.items.iter().any(|it| it.to_string() == item))
        };
        let found: Vec<_> = all.iter().filter(|it| speaks(it.0)).collect();
        let total = found.len();
        let pieces = found.iter().skip(from).take(ROWS).map(|(it, agent)| {
            let work = works.get(&it.source);
            Piece {
                id: it.id.to_string(),
                items: it
                    .items
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
                words: line(it.passage.text().expose()),
                title: work.map_or_else(|| it.source.to_string(), |it| clip(&it.title, 120)),
                link: work.and_then(|it| target(&it.url)),
                kind: work.map_or("", |it| kind_of(it.kind)),
                date: work
                    .and_then(|it| it.date.as_deref())
                    .map(line)
                    .unwrap_or_default(),
                wave: it.wave,
                agent: agent.map(line),
                stance: match it.stance {
                    Stance::For => "says so",
                    Stance::Against => "says the opposite",
                    Stance::Neutral => "speaks of it",
                },
                score: (it.score.clamp(0.0, 1.0) * 100.0).round() as u32,
                quote: quotes
                    .iter()
                    .position(|known| *known.1 == it.passage)
                    .map(|at| at + 1),
            }
        });
        let left: Vec<Left> = events
            .iter()
            .filter_map(|it| match &it.event {
                Event::EvidenceRejected { url, item, reason } => Some(Left {
                    place: place(url),
                    item: item.to_string(),
                    why: line(reason),
                }),
                Event::EvidenceMerged { url, into } => Some(Left {
                    place: place(url),
                    item: String::new(),
                    why: format!("counted as one with {}", place(into)),
                }),
                _ => None,
            })
            .collect();
        let planned = run.plan.iter().flat_map(|it| it.items());
        let items = planned.map(|it| {
            let id = it.id;
            let count = all
                .iter()
                .filter(|piece| piece.0.items.contains(&id))
                .count();
            (
                id.to_string(),
                line(&it.asks),
                count,
                item == Some(id.to_string().as_str()),
            )
        });
        let end = from + ROWS;
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
            left: left.into_iter().take(ROWS).collect(),
            head: Head::of(run, "evidence"),
            shell,
        }
    }
}

/// An address of the web as it is, a file by its name.
fn place(url: &str) -> String {
    target(url).map_or_else(|| leaf(url), |it| clip(&it, 140))
}

/// A document that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its title, or its address.
    pub title: String,
    /// Its address, where it is one of the web.
    pub link: Option<String>,
    /// Its host or the name of its file.
    pub place: String,
    /// What kind it is.
    pub kind: &'static str,
    /// Class of what came of it: `read`, `known`, `failed`.
    pub class: &'static str,
    /// What came of it.
    pub state: String,
    /// Sentences in it.
    pub sentences: String,
    /// How long reading took.
    pub took: String,
    /// Pieces of evidence taken from it.
    pub evidence: usize,
    /// Its number in the report.
    pub cited: Option<usize>,
    /// What the reader could not do.
    pub warnings: String,
}

/// A host that was contacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Requests, bytes sent, bytes received.
    pub figures: [String; 3],
}

/// The sources.
#[derive(Template)]
#[template(path = "sources.html")]
pub struct SourcesPage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// Documents in the order asked for.
    pub documents: Vec<Document>,
    /// How many more there are than are shown.
    pub more: usize,
    /// How many were read, known from before, not readable.
    pub counts: [usize; 3],
    /// Hosts that were contacted.
    pub hosts: Vec<Host>,
}

impl SourcesPage {
    /// The sources of a run.
    pub fn of(
        shell: Shell,
        run: &Run,
        events: &[Envelope],
        traffic: &BTreeMap<String, Traffic>,
    ) -> SourcesPage {
        let mut pieces: BTreeMap<_, usize> = BTreeMap::new();
        for it in events {
            if let Event::EvidenceAdded { evidence } = &it.event {
                *pieces.entry(evidence.source).or_default() += 1;
            }
        }
        let report = run.report.as_deref();
        let cited = |source: &Source| {
            let all = report.map(|it| it.sources.as_slice()).unwrap_or_default();
            all.iter()
                .position(|it| it.id == source.id)
                .map(|at| at + 1)
        };
        let of = |source: &Source| Document {
            title: match report
                .zip(cited(source))
                .and_then(|(report, n)| Card::of(report, n))
            {
                Some(card) => card.title,
                None => clip(&source.title, 160),
            },
            link: target(&source.url),
            place: host(source),
            kind: kind_of(source.kind),
            class: "known",
            state: "known from before".to_owned(),
            sentences: String::new(),
            took: String::new(),
            evidence: pieces.get(&source.id).copied().unwrap_or(0),
            cited: cited(source),
            warnings: String::new(),
        };
        let failed = |url: &str, reason: crate::record::FailReason, message: &str| Document {
            title: place(url),
            link: target(url),
            place: String::new(),
            kind: "",
            class: "failed",
            state: format!(
                "{}: {}",
                reason.word().replace('_', " "),
                clip(message, 200)
            ),
            sentences: String::new(),
            took: String::new(),
            evidence: 0,
            cited: None,
            warnings: String::new(),
        };
        let mut all: Vec<Document> = Vec::new();
        let mut seen: BTreeSet<_> = BTreeSet::new();
        for it in events {
            match &it.event {
                Event::KnownWeighed { sources, .. } => {
                    all.extend(sources.iter().filter(|it| seen.insert(it.id)).map(of))
                }
                Event::ReadCompleted {
                    source,
                    sentences,
                    warnings,
                    ms,
                } if seen.insert(source.id) => all.push(Document {
                    class: "read",
                    state: "read".to_owned(),
                    sentences: thousands(u64::from(*sentences)),
                    took: took(i64::try_from(*ms).unwrap_or(i64::MAX)),
                    warnings: warnings
                        .iter()
                        .map(|it| line(it))
                        .collect::<Vec<_>>()
                        .join("; "),
                    ..of(source)
                }),
                Event::ReadFailed {
                    url,
                    reason,
                    message,
                } => all.push(failed(url, *reason, message)),
                Event::DocumentFailed {
                    path,
                    reason,
                    message,
                    ..
                } => all.push(failed(path, *reason, message)),
                _ => {}
            }
        }
        let count = |class| all.iter().filter(|it| it.class == class).count();
        SourcesPage {
            counts: [count("read"), count("known"), count("failed")],
            more: all.len().saturating_sub(2 * ROWS),
            hosts: traffic
                .iter()
                .map(|(name, it)| Host {
                    name: line(name),
                    figures: [
                        thousands(it.requests),
                        thousands(it.sent),
                        thousands(it.received),
                    ],
                })
                .collect(),
            documents: {
                all.truncate(2 * ROWS);
                all
            },
            head: Head::of(run, "sources"),
            shell,
        }
    }
}

fn host(it: &Source) -> String {
    let of_web = target(&it.url).and_then(|it| url::Url::parse(&it).ok());
    let host = of_web.as_ref().and_then(|it| it.host_str()).map(line);
    match (&it.file, host) {
        (Some(file), _) => leaf(file),
        (None, Some(host)) => host,
        (None, None) => leaf(&it.url),
    }
}
