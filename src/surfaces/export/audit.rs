//! An audited text as JSON, and its sum in one line.
use serde_json::{Value, json};

use super::escape::line;
use super::markdown::counted;
use crate::app::Audit;
use crate::app::audit::{Heard, Reference, Ruled, Ruling, Sought};
use crate::domain::Page;

/// What was counted: never one number without the one it is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    claims: usize,
    by_ruling: [usize; 5],
    sources: usize,
    cited: usize,
    missing: usize,
    unexplained: usize,
    never_cited: usize,
    without_address: usize,
    uncited: usize,
}

const RULINGS: [Ruling; 5] = [
    Ruling::Supported,
    Ruling::Partly,
    Ruling::Contradicted,
    Ruling::Unsupported,
    Ruling::Unreadable,
];

impl Counts {
    /// Counts.
    pub fn of(it: &Audit) -> Counts {
        let sources = || it.sources.iter();
        let having =
            |found: &dyn Fn(&Reference) -> bool| sources().filter(|it| found(&it.0)).count();
        Counts {
            claims: it.claims.len(),
            by_ruling: RULINGS
                .map(|wanted| it.claims.iter().filter(|it| it.ruling == wanted).count()),
            sources: it.sources.len(),
            cited: having(&|it| it.cited),
            missing: sources()
                .filter(|it| matches!(it.1, Sought::Nowhere(_)))
                .count(),
            unexplained: having(&|it| it.unexplained()),
            never_cited: having(&|it| it.listed && !it.cited),
            without_address: having(&|it| it.listed && it.address.is_none() && it.path.is_none()),
            uncited: it.uncited.len(),
        }
    }

    /// Whether every claim is at least partly supported, every source cited was found, and there is a
    /// claim at all.
    pub fn holds(&self) -> bool {
        self.claims > 0 && self.missing == 0 && self.by_ruling[0] + self.by_ruling[1] == self.claims
    }

    /// `12 claims · 9 supported · 1 partly · 1 contradicted · 1 not in its source · 3 of 8 sources not found`.
    pub fn line(&self) -> String {
        let mut parts = vec![counted(self.claims as u64, "claim")];
        let words = [
            "supported",
            "partly",
            "contradicted",
            "not in its source",
            "without a source to read",
        ];
        for (n, word) in self.by_ruling.iter().zip(words) {
            if *n > 0 || word == "supported" {
                parts.push(format!("{n} {word}"));
            }
        }
        let sources = counted(self.cited as u64, "source");
        parts.push(match self.missing {
            0 => format!("all of {sources} found"),
            n => format!("{n} of {sources} not found"),
        });
        parts.join(" · ")
    }

    /// What else there is to say of the text, if anything.
    pub fn remarks(&self) -> Vec<String> {
        let sentences = match self.uncited {
            1 => "1 sentence without a citation".to_owned(),
            n => format!("{n} sentences without a citation"),
        };
        [
            (self.uncited, sentences),
            (
                self.unexplained,
                format!(
                    "{} cited that no list gives",
                    counted(self.unexplained as u64, "number")
                ),
            ),
            (
                self.never_cited,
                format!(
                    "{} listed and never cited",
                    counted(self.never_cited as u64, "source")
                ),
            ),
            (
                self.without_address,
                format!(
                    "{} listed without an address",
                    counted(self.without_address as u64, "source")
                ),
            ),
        ]
        .into_iter()
        .filter(|it| it.0 > 0)
        .map(|it| it.1)
        .collect()
    }

    fn json(&self) -> Value {
        let [supported, partly, contradicted, unsupported, unreadable] = self.by_ruling;
        json!({
            "claims": self.claims,
            "supported": supported,
            "partly": partly,
            "contradicted": contradicted,
            "unsupported": unsupported,
            "unreadable": unreadable,
            "sources": self.sources,
            "sources_cited": self.cited,
            "sources_not_found": self.missing,
            "numbers_not_listed": self.unexplained,
            "sources_never_cited": self.never_cited,
            "sources_without_address": self.without_address,
            "sentences_without_citation": self.uncited,
        })
    }
}

/// The whole audit of `file`.
pub fn json(file: &str, it: &Audit) -> Value {
    let claims = (1..)
        .zip(&it.claims)
        .map(|(n, claim)| claim_json(n, claim, it));
    let sources = it.sources.iter().map(source_json);
    let uncited = it
        .uncited
        .iter()
        .map(|it| json!({"line": it.line, "text": it.text}));
    json!({
        "file": file,
        "claims": claims.collect::<Vec<_>>(),
        "sources": sources.collect::<Vec<_>>(),
        "uncited": uncited.collect::<Vec<_>>(),
        "counts": Counts::of(it).json(),
        "judged_by": it.model.as_deref().unwrap_or("words"),
        "fault": it.fault,
        "usage": it.model.is_some().then_some(it.usage),
    })
}

fn claim_json(n: usize, claim: &Ruled, audit: &Audit) -> Value {
    let citations = claim.heard.iter().map(|it| citation(it, audit));
    json!({
        "n": n,
        "line": claim.line,
        "text": claim.text,
        "citations": citations.collect::<Vec<_>>(),
        "verdict": claim.ruling.word(),
    })
}

fn citation(it: &Heard, audit: &Audit) -> Value {
    let source = audit.sources.get(it.source);
    let quote = it.held.quote.as_ref();
    json!({
        "n": source.map(|it| it.0.n),
        "url": source.and_then(|it| it.0.address.as_ref()),
        "title": source.and_then(title),
        "found": source.is_some_and(|it| matches!(it.1, Sought::Pages(_))),
        "verdict": it.held.ruling.word(),
        "score": (f64::from(it.held.score) * 1e4).round() / 1e4,
        "quote": quote.map(|it| &it.text),
        "sentence": quote.map(|it| it.sentence),
        "start": quote.map(|it| it.place.start),
        "end": quote.map(|it| it.place.end),
        "reason": it.reason,
    })
}

/// What a source is called: by its page, else by the text.
fn title((said, sought): &(Reference, Sought)) -> Option<&str> {
    page(sought)
        .map(|it| it.title.as_str())
        .filter(|it| !it.is_empty())
        .or(said.title.as_deref())
}

fn page(sought: &Sought) -> Option<&Page> {
    match sought {
        Sought::Pages(pages) => pages.first(),
        _ => None,
    }
}

fn source_json(it: &(Reference, Sought)) -> Value {
    let (said, sought) = it;
    let page = page(sought);
    json!({
        "n": said.n,
        "label": said.label,
        "line": said.line,
        "url": said.address,
        "title": title(it),
        "listed": said.listed,
        "cited": said.cited,
        "found": page.is_some(),
        "page": page.map(Page::hash),
        "page_url": page.map(|it| &it.url),
        "file": page.and_then(|it| it.file.as_ref()),
        "reason": match sought {
            Sought::Nowhere(why) => Some(line(why)),
            _ => None,
        },
    })
}
