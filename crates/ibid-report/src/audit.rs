//! An audited text as JSON, and its counts as one line.
use serde_json::{Value, json};

use super::escape::single_line;
use super::phrases::pluralize;
use ibid_core::domain::Page;
use ibid_research::audit::Audit;
use ibid_research::audit::{AuditVerdict, AuditedClaim, CitedSource, SourceLookup, SourceVerdict};

/// The counts of an audit, each with its total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditCounts {
    claims: usize,
    by_verdict: [usize; 5],
    sources: usize,
    cited: usize,
    missing: usize,
    unexplained: usize,
    never_cited: usize,
    without_address: usize,
    uncited: usize,
}

const VERDICTS: [AuditVerdict; 5] = [
    AuditVerdict::Supported,
    AuditVerdict::Partly,
    AuditVerdict::Contradicted,
    AuditVerdict::Unsupported,
    AuditVerdict::Unreadable,
];

impl AuditCounts {
    /// Counts.
    pub fn from_audit(it: &Audit) -> AuditCounts {
        let sources = || it.sources.iter();
        let having = |found: &dyn Fn(&CitedSource) -> bool| {
            sources().filter(|source| found(&source.0)).count()
        };
        AuditCounts {
            claims: it.claims.len(),
            by_verdict: VERDICTS
                .map(|wanted| it.claims.iter().filter(|claim| claim.verdict == wanted).count()),
            sources: it.sources.len(),
            cited: having(&|it| it.cited),
            missing: sources()
                .filter(|source| matches!(source.1, SourceLookup::NotFound(_)))
                .count(),
            unexplained: having(&|it| it.is_unexplained()),
            never_cited: having(&|it| it.listed && !it.cited),
            without_address: having(&|it| it.listed && it.address.is_none() && it.path.is_none()),
            uncited: it.uncited.len(),
        }
    }

    /// Whether there is a claim, every claim is at least partly supported, and every cited source was found.
    pub fn passes(&self) -> bool {
        self.claims > 0
            && self.missing == 0
            && self.by_verdict[0] + self.by_verdict[1] == self.claims
    }

    /// `12 claims · 9 supported · 1 partly · 1 contradicted · 1 not in its source · 3 of 8 sources not found`.
    pub fn summary_line(&self) -> String {
        let mut parts = vec![pluralize(self.claims as u64, "claim")];
        let words = [
            "supported",
            "partly",
            "contradicted",
            "not in its source",
            "without a source to read",
        ];
        for (n, word) in self.by_verdict.iter().zip(words) {
            if *n > 0 || word == "supported" {
                parts.push(format!("{n} {word}"));
            }
        }
        let sources = pluralize(self.cited as u64, "source");
        parts.push(match self.missing {
            0 => format!("all of {sources} found"),
            n => format!("{n} of {sources} not found"),
        });
        parts.join(" · ")
    }

    /// Remarks about the text, if any.
    pub fn remarks(&self) -> Vec<String> {
        let sentences = match self.uncited {
            1 => "1 sentence without a citation".to_owned(),
            n => format!("{n} sentences without a citation"),
        };
        [
            (self.uncited, sentences),
            (
                self.unexplained,
                format!("{} cited but not listed", pluralize(self.unexplained as u64, "number")),
            ),
            (
                self.never_cited,
                format!("{} listed and never cited", pluralize(self.never_cited as u64, "source")),
            ),
            (
                self.without_address,
                format!(
                    "{} listed without an address",
                    pluralize(self.without_address as u64, "source")
                ),
            ),
        ]
        .into_iter()
        .filter(|pair| pair.0 > 0)
        .map(|pair| pair.1)
        .collect()
    }

    fn to_json(self) -> Value {
        let [supported, partly, contradicted, unsupported, unreadable] = self.by_verdict;
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

/// The audit of `file` as JSON.
pub fn to_json(file: &str, it: &Audit) -> Value {
    let claims = (1..).zip(&it.claims).map(|(n, claim)| claim_json(n, claim, it));
    let sources = it.sources.iter().map(source_json);
    let uncited = it.uncited.iter().map(|it| json!({"line": it.line, "text": it.text}));
    json!({
        "file": file,
        "claims": claims.collect::<Vec<_>>(),
        "sources": sources.collect::<Vec<_>>(),
        "uncited": uncited.collect::<Vec<_>>(),
        "counts": AuditCounts::from_audit(it).to_json(),
        "judged_by": it.model.as_deref().unwrap_or("words"),
        "fault": it.fault,
        "usage": it.model.is_some().then_some(it.usage),
    })
}

fn claim_json(n: usize, claim: &AuditedClaim, audit: &Audit) -> Value {
    let citations = claim.source_verdicts.iter().map(|it| citation(it, audit));
    json!({
        "n": n,
        "line": claim.line,
        "text": claim.text,
        "citations": citations.collect::<Vec<_>>(),
        "verdict": claim.verdict.as_str(),
    })
}

fn citation(it: &SourceVerdict, audit: &Audit) -> Value {
    let source = audit.sources.get(it.source);
    let quote = it.check.quote.as_ref();
    json!({
        "n": source.map(|source| source.0.n),
        "url": source.and_then(|source| source.0.address.as_ref()),
        "title": source.and_then(source_title),
        "found": source.is_some_and(|source| matches!(source.1, SourceLookup::Pages(_))),
        "verdict": it.check.verdict.as_str(),
        "score": (f64::from(it.check.score) * 1e4).round() / 1e4,
        "quote": quote.map(|quote| &quote.text),
        "sentence": quote.map(|quote| quote.sentence),
        "start": quote.map(|quote| quote.place.start),
        "end": quote.map(|quote| quote.place.end),
        "reason": it.reason,
    })
}

/// The title of a source: that of its page, else as the text gives it.
fn source_title((source, lookup): &(CitedSource, SourceLookup)) -> Option<&str> {
    found_page(lookup)
        .map(|found_page| found_page.title.as_str())
        .filter(|title| !title.is_empty())
        .or(source.title.as_deref())
}

fn found_page(lookup: &SourceLookup) -> Option<&Page> {
    match lookup {
        SourceLookup::Pages(pages) => pages.first(),
        _ => None,
    }
}

fn source_json(it: &(CitedSource, SourceLookup)) -> Value {
    let (source, lookup) = it;
    let page = found_page(lookup);
    json!({
        "n": source.n,
        "label": source.label,
        "line": source.line,
        "url": source.address,
        "title": source_title(it),
        "listed": source.listed,
        "cited": source.cited,
        "found": page.is_some(),
        "page": page.map(Page::hash),
        "page_url": page.map(|page| &page.url),
        "file": page.and_then(|page| page.file.as_ref()),
        "reason": match lookup {
            SourceLookup::NotFound(why) => Some(single_line(why)),
            _ => None,
        },
    })
}
