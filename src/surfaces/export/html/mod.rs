//! A report as HTML: what a served page and the file that stands alone show alike.
//!
//! [`Body`] holds the report as it is shown; the templates escape every word of it. [`whole()`] makes the one file.
mod card;
mod contents;
mod drawing;
mod parts;
mod shared;
mod whole;

use std::collections::BTreeMap;

use super::escape::{line, target};
use super::framing;
use super::markdown::{checks, counted, file_name, local, plural, stopped};
use super::{Pages, escape, evidence, passages};
use crate::domain::{Citation, Claim, ConfidenceMark, Conflict, Mode, Passage, Report, Source};

pub use card::{Card, kind_of, leaf};
pub use drawing::{Drawing, Node, mermaid};
pub use parts::{
    Chip, Dispute, Entry, Figure, Found, Group, Part, Quote, Row, Sentence, SideShown, Sure, Taken,
    Topic,
};
pub use shared::{has_local, shared};
pub use whole::{FRAME, policy, whole};

/// The stylesheet of every page.
pub const STYLE: &str = include_str!("style.css");

/// A report as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The run.
    pub run: String,
    /// Its language.
    pub lang: String,
    /// Its title.
    pub title: String,
    /// What was asked.
    pub question: String,
    /// When, and with how much effort.
    pub about: String,
    /// The answer of mode `answer`.
    pub answer: Option<Sentence>,
    /// Whether it has the parts of a report.
    pub is_report: bool,
    /// The short answer.
    pub short: Vec<Sentence>,
    /// How sure that is.
    pub sure: Sure,
    /// The introduction.
    pub introduction: String,
    /// Key findings.
    pub groups: Vec<Group>,
    /// Sections.
    pub parts: Vec<Part>,
    /// Where sources disagree.
    pub disputes: Vec<Dispute>,
    /// The evidence table.
    pub rows: Vec<Row>,
    /// Whether claims of the table are word for word.
    pub verbatim: bool,
    /// What could not be established: what, why.
    pub open: Vec<(String, String)>,
    /// How many more documents could not be read than are named.
    pub unread_more: Option<String>,
    /// How many sentences were struck.
    pub struck: Option<String>,
    /// The conclusion.
    pub conclusion: String,
    /// How it came about: name, words.
    pub method: Vec<(&'static str, String)>,
    /// Checks: what, held, of how many.
    pub checks: Vec<(&'static str, u32, u32)>,
    /// The same in one line.
    pub checks_line: String,
    /// The works cited.
    pub cards: Vec<Card>,
    /// Kinds there are among them: class, word, how many.
    pub kinds: Vec<(&'static str, &'static str, usize)>,
    /// The exact words behind the numbers.
    pub quotes: Vec<Quote>,
    /// What was found, source by source, in mode `evidence`.
    pub taken: Vec<Taken>,
    /// How far each topic is covered, in mode `evidence`.
    pub topics: Vec<Topic>,
    /// What was looked for and what it rests on, drawn.
    pub drawing: Option<Drawing>,
    /// Headings in order.
    pub contents: Vec<Entry>,
}

/// Documents that could not be read that are named.
const UNREAD_SHOWN: usize = 10;

impl Body {
    /// The report as it is shown. `stored` is the address below which its quotes are served in their pages, where they are.
    pub fn of(it: &Report, pages: &Pages, stored: Option<&str>) -> Body {
        let all = passages(it);
        let marks = Marks {
            report: it,
            places: all
                .iter()
                .enumerate()
                .map(|(at, known)| {
                    (
                        (
                            known.1.page().as_str(),
                            known.1.bytes().start,
                            known.1.bytes().end,
                        ),
                        at + 1,
                    )
                })
                .collect(),
        };
        let is_report = it.mode == Mode::Report;
        let verbatim = is_verbatim(it);
        let failed = &it.method.pages_failed;
        let mut open: Vec<(String, String)> = it
            .open
            .iter()
            .map(|it| (line(&it.what), line(&it.why)))
            .collect();
        open.extend(
            failed
                .iter()
                .take(UNREAD_SHOWN)
                .map(|(page, why)| (format!("Not read: {}", line(page)), line(why))),
        );
        let more = failed.len().saturating_sub(UNREAD_SHOWN) as u64;
        let removed = u64::from(it.checks.removed);
        let cards: Vec<Card> = match it.unlisted {
            true => Vec::new(),
            false => (1..=it.sources.len())
                .filter_map(|n| Card::of(it, n))
                .collect(),
        };
        let mut body = Body {
            run: it.run.to_string(),
            lang: language(&it.lang),
            title: line(&it.title),
            question: line(&it.question),
            about: format!("{} · {} effort", it.date, it.depth),
            answer: it
                .answer
                .as_ref()
                .filter(|_| it.mode == Mode::Answer)
                .map(|answer| Sentence {
                    id: "answer".to_owned(),
                    text: line(&answer.text),
                    chips: marks.chips(&answer.citations),
                }),
            is_report,
            short: it.short.iter().map(|it| marks.sentence(it)).collect(),
            sure: sure(&it.confidence),
            introduction: framing::introduction(it, line),
            groups: it
                .learnings()
                .into_iter()
                .map(|(heading, all)| Group {
                    heading,
                    findings: all
                        .iter()
                        .map(|it| Found {
                            said: marks.sentence(&it.claim),
                            sure: sure(&it.confidence),
                        })
                        .collect(),
                })
                .collect(),
            parts: it
                .sections
                .iter()
                .enumerate()
                .map(|(nth, section)| Part {
                    id: format!("s-{}", nth + 1),
                    title: format!("{}. {}", nth + 1, line(&section.title)),
                    paragraphs: section
                        .paragraphs
                        .iter()
                        .map(|it| it.iter().map(|it| marks.sentence(it)).collect())
                        .collect(),
                })
                .collect(),
            disputes: it.conflicts.iter().map(|it| marks.dispute(it)).collect(),
            rows: it
                .findings
                .iter()
                .map(|it| marks.row(&it.claim, &it.confidence, verbatim))
                .collect(),
            verbatim,
            open,
            unread_more: (more > 0).then(|| counted(more, "more document")),
            struck: (removed > 0).then(|| counted(removed, "sentence")),
            conclusion: framing::conclusion(it),
            method: method(it),
            checks: vec![
                (
                    "quotes verified",
                    it.checks.quotes.held,
                    it.checks.quotes.total,
                ),
                (
                    "claims cited",
                    it.checks.claims.held,
                    it.checks.claims.total,
                ),
                (
                    "numbers matched",
                    it.checks.numbers.held,
                    it.checks.numbers.total,
                ),
            ],
            checks_line: checks(it),
            kinds: kinds(&cards),
            cards,
            quotes: all
                .iter()
                .enumerate()
                .filter_map(|(at, (n, passage))| quote(it, pages, at + 1, *n, passage, stored))
                .collect(),
            taken: it.results.iter().map(taken).collect(),
            topics: it
                .coverage
                .iter()
                .map(|it| Topic {
                    text: line(&it.text),
                    word: it.state.judged(),
                    gap: it.gap.as_deref().map(line),
                })
                .collect(),
            drawing: Drawing::of(it),
            contents: Vec::new(),
        };
        body.contents = contents::of(&body);
        body
    }

    /// Whether something could not be established.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty() || self.struck.is_some()
    }
}

/// Two letters as they stand in `lang`, else English.
fn language(code: &str) -> String {
    match code.len() == 2 && code.bytes().all(|it| it.is_ascii_lowercase()) {
        true => code.to_owned(),
        false => "en".to_owned(),
    }
}

fn sure(it: &ConfidenceMark) -> Sure {
    let why: Vec<String> = it.why.iter().map(|it| line(it)).collect();
    Sure {
        dots: it.level.dots(),
        word: it.level.word(),
        why: why.join("; "),
    }
}

/// Where each passage stands among the quotes.
struct Marks<'r> {
    report: &'r Report,
    places: BTreeMap<(&'r str, usize, usize), usize>,
}

impl Marks<'_> {
    fn chips(&self, citations: &[Citation]) -> Vec<Chip> {
        let mut out: Vec<Chip> = Vec::new();
        let mut before: BTreeMap<u32, u8> = BTreeMap::new();
        for it in citations {
            let range = it.passage.bytes();
            let place = (it.passage.page().as_str(), range.start, range.end);
            let Some(quote) = self.places.get(&place) else {
                continue;
            };
            if out.iter().any(|known| known.quote == *quote) {
                continue;
            }
            let times = before.entry(it.n).or_default();
            let letter = match *times {
                0 => String::new(),
                nth => char::from(b'a' + nth.min(25)).to_string(),
            };
            *times = times.saturating_add(1);
            let source = source(self.report, it.n);
            out.push(Chip {
                shown: format!("{}{letter}", it.n),
                quote: *quote,
                whose: source.map_or_else(String::new, |it| line(&it.title)),
            });
        }
        out
    }

    fn sentence(&self, it: &Claim) -> Sentence {
        Sentence {
            id: it.id.to_string(),
            text: line(it.text()),
            chips: self.chips(it.citations()),
        }
    }

    fn dispute(&self, it: &Conflict) -> Dispute {
        Dispute {
            about: line(&it.about),
            sides: it
                .sides
                .iter()
                .map(|side| SideShown {
                    says: line(&side.says),
                    said: self.sentence(&side.claim),
                    weight: (side.weight.clamp(0.0, 1.0) * 100.0).round() as u32,
                })
                .collect(),
            chart: parts::chart(&it.sides),
            likely: it.likely.as_deref().map(line),
        }
    }

    fn row(&self, it: &Claim, mark: &ConfidenceMark, verbatim: bool) -> Row {
        let mut works: Vec<(u32, String)> = Vec::new();
        for citation in it.citations() {
            if works.iter().any(|known| known.0 == citation.n) {
                continue;
            }
            let title = source(self.report, citation.n).map_or_else(String::new, |it| {
                let date = it.date.as_deref().map(|it| format!(", {}", line(it)));
                line(&it.title) + &date.unwrap_or_default()
            });
            works.push((citation.n, title));
        }
        let quotes = it.citations().iter();
        Row {
            claim: line(it.text()),
            quotes: match verbatim {
                true => Vec::new(),
                false => quotes.map(|it| line(it.passage.text().expose())).collect(),
            },
            works,
            sure: sure(mark),
        }
    }
}

/// Whether every finding stands word for word in its pages, so that quote and claim are one.
fn is_verbatim(it: &Report) -> bool {
    it.findings.iter().all(|it| {
        let said = line(it.claim.text());
        let mut quotes = it.claim.citations().iter();
        quotes.all(|it| line(it.passage.text().expose()) == said)
    })
}

/// The work of this number, from 1.
pub fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}

/// The page of the web at exactly these words, where the work is one of the web.
pub fn live(source: &Source, passage: &Passage) -> Option<String> {
    let url = target(&source.url)?;
    let joint = if url.contains('#') { "" } else { "#" };
    Some(format!(
        "{url}{joint}{}",
        escape::fragment(passage.text().expose())
    ))
}

/// Where in its work a passage stands: `p. 4`, under which heading.
pub fn place(passage: &Passage, pages: &Pages) -> String {
    let page = passage.printed_page().map(|it| format!("p. {it}"));
    let heading = pages
        .get(passage.page())
        .and_then(|it| it.heading_above(passage.first()))
        .map(line);
    let both: Vec<String> = [page, heading].into_iter().flatten().collect();
    both.join(" · ")
}

fn quote(
    report: &Report,
    pages: &Pages,
    k: usize,
    n: u32,
    passage: &Passage,
    stored: Option<&str>,
) -> Option<Quote> {
    let source = source(report, n)?;
    let page = pages.get(passage.page());
    Some(Quote {
        k,
        n,
        words: line(passage.text().expose()),
        title: line(&source.title),
        about: card::about(source),
        kind: card::kind(source.kind).1,
        place: place(passage, pages),
        live: live(source, passage),
        stored: stored
            .filter(|_| page.is_some())
            .map(|it| format!("{it}{k}#quote")),
        holds: page.map(|it| passage.stands_in(it)),
    })
}

fn taken(it: &crate::domain::Excerpt) -> Taken {
    let title = match it.title.trim() {
        "" => line(&it.url),
        title => line(title),
    };
    Taken {
        title,
        link: target(&it.url),
        place: line(&local(&it.url)),
        pieces: it.content.split('\n').map(line).collect(),
        score: (it.score.clamp(0.0, 1.0) * 100.0).round() as u32,
    }
}

/// The kinds among the cards, in the order first met: class, word, how many.
fn kinds(cards: &[Card]) -> Vec<(&'static str, &'static str, usize)> {
    let mut out: Vec<(&'static str, &'static str, usize)> = Vec::new();
    for it in cards {
        match out.iter_mut().find(|known| known.0 == it.class) {
            Some(known) => known.2 += 1,
            None => out.push((it.class, it.kind, 1)),
        }
    }
    out
}

/// How the report came about, as pairs of a name and words.
fn method(it: &Report) -> Vec<(&'static str, String)> {
    let method = &it.method;
    let list = |all: &[String], by: &str| {
        let all: Vec<String> = all.iter().map(|it| line(it)).collect();
        all.join(by)
    };
    let mut out = vec![(
        "Searched",
        format!(
            "{} with {} in {}",
            match method.engines.is_empty() {
                true => "nothing".to_owned(),
                false => list(&method.engines, ", "),
            },
            plural(method.queries.len() as u64, "query", "queries"),
            counted(u64::from(method.waves), "round"),
        ),
    )];
    if !method.queries.is_empty() {
        let queries: Vec<String> = method
            .queries
            .iter()
            .map(|it| format!("“{}”", line(it)))
            .collect();
        out.push(("Queries", queries.join(" · ")));
    }
    out.push((
        "Read",
        format!(
            "{}, {} not readable",
            counted(u64::from(method.pages_read), "page"),
            method.pages_failed.len()
        ),
    ));
    let gate = &method.gate;
    let reason = gate.reason.as_deref().map(|it| format!(" ({})", line(it)));
    out.push((
        "Evidence gate",
        format!(
            "{}: {}, {} cited, {}{}",
            if gate.pass { "passed" } else { "not passed" },
            plural(u64::from(gate.evidence_records), "record", "records"),
            gate.cited_records,
            plural(u64::from(gate.source_domains), "site", "sites"),
            reason.unwrap_or_default()
        ),
    ));
    if let Some(it) = &method.followed {
        out.push((
            "Follows",
            format!(
                "{}, read as: {} ({} known from there)",
                it.run,
                line(&it.read_as),
                counted(u64::from(it.known), "page")
            ),
        ));
    }
    for it in &method.clarified {
        let said = it.answer.as_deref().unwrap_or_default();
        out.push((
            "Asked back",
            format!("{} — {}", line(&it.question), line(said)),
        ));
    }
    if let Some(strategy) = method.strategy {
        out.push(("Strategy", strategy.word().to_owned()));
    }
    out.push(("Stopped because", stopped(method.stop).to_owned()));
    if !method.models.is_empty() {
        out.push(("Models", list(&method.models, "; ")));
    }
    if !method.unaided.is_empty() {
        out.push(("Without a model", list(&method.unaided, ", ")));
    }
    if let Some((step, why)) = method.unaided_because.first() {
        out.push((
            "Why without",
            format!(
                "{}: {}",
                line(step),
                line(why).chars().take(200).collect::<String>()
            ),
        ));
    }
    let usage = &it.usage;
    if usage.model_calls > 0 {
        let usd = usage
            .usd
            .map_or("price unknown".to_owned(), |it| format!("${it:.4}"));
        out.push((
            "Spent",
            format!(
                "{} of models, {} tokens, {usd}",
                counted(usage.model_calls, "call"),
                usage.tokens_in + usage.tokens_out
            ),
        ));
    }
    out
}

/// What a source is called for people where it has no title worth showing.
pub(super) fn named(source: &Source) -> String {
    match source.title.trim() {
        "" => line(&file_name(source)),
        title => line(title),
    }
}

/// The share of topics that are covered, in hundredths, of mode `evidence`.
pub fn covered(it: &Report) -> u32 {
    let view = evidence::view(it, None, 0.0);
    (view["completeness"].as_f64().unwrap_or_default() * 100.0).round() as u32
}
