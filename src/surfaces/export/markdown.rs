//! A report as Markdown, for GitHub's dialect and any other.
//!
//! Every word of a stranger goes through [`escape::markdown`]; the byte-exact quotes are in the JSON.
use std::fmt::Write as _;

use super::escape::{self, fragment, target};
use super::{account, framing, passages};
use crate::domain::{
    Citation, Claim, Conflict, Counted, Mode, Report, Source, SourceId, SourceKind, StopReason,
};

/// The whole report. With `quotes`, every citation has a footnote with its exact words.
/// Of mode `answer` it is one line.
pub fn report(it: &Report, quotes: bool) -> String {
    if it.mode == Mode::Answer {
        return it
            .answer
            .as_ref()
            .map(|it| escape::line(&it.text) + "\n")
            .unwrap_or_default();
    }
    if it.mode == Mode::Evidence {
        return super::evidence::markdown(it);
    }
    let mut out = String::new();
    front_matter(&mut out, it);
    out + &article(it, quotes)
}

/// The report without the front matter of a file: for who keeps it as a field of something else. Of any other mode it
/// is as [`report`] gives it.
pub fn article(it: &Report, quotes: bool) -> String {
    if it.mode != Mode::Report {
        return report(it, quotes);
    }
    let notes = Notes::of(it, quotes);
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", escape::markdown(&it.title));
    short_answer(&mut out, it, &notes);
    if !it.short.is_empty() {
        let text = framing::introduction(it, escape::markdown);
        let _ = writeln!(out, "## Introduction\n\n{text}\n");
    }
    findings(&mut out, it, &notes);
    for (nth, section) in it.sections.iter().enumerate() {
        let _ = writeln!(
            out,
            "## {}. {}\n",
            nth + 1,
            escape::markdown(&section.title)
        );
        for paragraph in &section.paragraphs {
            let _ = writeln!(out, "{}\n", sentences(paragraph, &notes));
        }
    }
    conflicts(&mut out, it, &notes);
    evidence_table(&mut out, it);
    not_established(&mut out, it);
    if !it.short.is_empty() {
        let text = framing::conclusion(it);
        let _ = writeln!(out, "## Conclusion\n\n{text}\n");
    }
    method(&mut out, it);
    sources(&mut out, it);
    notes.write(&mut out, it);
    out
}

/// Which footnote carries which passage.
struct Notes<'a> {
    passages: Vec<(u32, &'a crate::domain::Passage)>,
    shown: bool,
    /// Whether there is a list of sources to lead to.
    listed: bool,
}

impl<'a> Notes<'a> {
    fn of(report: &'a Report, shown: bool) -> Notes<'a> {
        Notes {
            passages: passages(report),
            shown,
            listed: !report.unlisted,
        }
    }

    /// The marks after a sentence: ` [[1]](#src-1)[^q1]`.
    fn marks(&self, citations: &[Citation]) -> String {
        let mut out = String::new();
        let mut before = None;
        for it in citations {
            if before != Some(it.n) {
                let _ = match self.listed {
                    true => write!(out, " [[{0}]](#src-{0})", it.n),
                    false => write!(out, " \\[{}\\]", it.n),
                };
            }
            before = Some(it.n);
            let at = self
                .passages
                .iter()
                .position(|known| *known.1 == it.passage);
            if let (true, Some(at)) = (self.shown, at) {
                let _ = write!(out, "[^q{}]", at + 1);
            }
        }
        out
    }

    fn write(&self, out: &mut String, report: &Report) {
        if !self.shown {
            return;
        }
        if !self.passages.is_empty() {
            out.push('\n');
        }
        for (at, (n, passage)) in self.passages.iter().enumerate() {
            let Some(source) = source(report, *n) else {
                continue;
            };
            let _ = write!(
                out,
                "[^q{}]: \"{}\" — {}",
                at + 1,
                escape::markdown(passage.text().expose()),
                escape::markdown(&source.title)
            );
            if let Some(page) = passage.printed_page() {
                let _ = write!(out, ", p. {page}");
            }
            match target(&source.url) {
                Some(url) => {
                    let joint = if url.contains('#') { "" } else { "#" };
                    let _ = writeln!(
                        out,
                        " — <{url}{joint}{}>",
                        fragment(passage.text().expose())
                    );
                }
                None => {
                    let _ = writeln!(out, " — {}", escape::markdown(&file_name(source)));
                }
            }
        }
    }
}

fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}

/// YAML; JSON strings are YAML strings.
fn front_matter(out: &mut String, it: &Report) {
    let quoted = |text: &str| serde_json::Value::from(escape::line(text)).to_string();
    let cost = match it.usage.usd {
        Some(usd) => format!("{usd:.2}"),
        None if it.usage.model_calls == 0 => "0.00".to_owned(),
        None => "null".to_owned(),
    };
    let Counted { held, total } = it.checks.quotes;
    let _ = write!(
        out,
        "---\ntitle: {}\nrun: {}\ndate: {}\nquestion: {}\ndepth: {}\ncost_usd: {cost}\n\
         checks: {{quotes: {held}/{total}, claims_cited: {}/{}, numbers: {}/{}}}\n---\n\n",
        quoted(&it.title),
        it.run,
        it.date,
        quoted(&it.question),
        it.depth,
        it.checks.claims.held,
        it.checks.claims.total,
        it.checks.numbers.held,
        it.checks.numbers.total,
    );
}

fn sentence(claim: &Claim, notes: &Notes<'_>) -> String {
    escape::markdown(claim.text()) + &notes.marks(claim.citations())
}

fn sentences(claims: &[Claim], notes: &Notes<'_>) -> String {
    let each: Vec<String> = claims.iter().map(|it| sentence(it, notes)).collect();
    each.join(" ")
}

fn short_answer(out: &mut String, it: &Report, notes: &Notes<'_>) {
    if it.short.is_empty() {
        let _ = writeln!(
            out,
            "> **No answer.** The sources searched do not carry an answer to this question.\n"
        );
        return;
    }
    let why: Vec<String> = it
        .confidence
        .why
        .iter()
        .map(|it| escape::markdown(it))
        .collect();
    let _ = write!(
        out,
        "> **Short answer.** {}\n>\n> **Confidence: {}**",
        sentences(&it.short, notes),
        it.confidence.level.word()
    );
    if !why.is_empty() {
        let _ = write!(out, " — {}.", why.join("; "));
    }
    out.push_str("\n\n");
}

fn findings(out: &mut String, it: &Report, notes: &Notes<'_>) {
    if it.findings.is_empty() {
        return;
    }
    out.push_str("## Key findings\n\n");
    for (heading, findings) in it.learnings() {
        if let Some(heading) = heading {
            let _ = writeln!(out, "### {heading}\n");
        }
        for it in findings {
            let dots = it.confidence.level.dots();
            let _ = writeln!(out, "- {} · {dots}", sentence(&it.claim, notes));
        }
        out.push('\n');
    }
}

fn conflicts(out: &mut String, it: &Report, notes: &Notes<'_>) {
    if it.conflicts.is_empty() {
        return;
    }
    out.push_str("## Where sources disagree\n\n");
    for it in &it.conflicts {
        conflict(out, it, notes);
    }
}

fn conflict(out: &mut String, it: &Conflict, notes: &Notes<'_>) {
    let _ = writeln!(
        out,
        "> [!CONFLICT]\n> Sources disagree on {}:\n>",
        escape::markdown(&it.about)
    );
    for side in &it.sides {
        let quotes: Vec<String> = side
            .claim
            .citations()
            .iter()
            .map(|it| {
                format!(
                    "\"{}\"{}",
                    escape::markdown(it.passage.text().expose()),
                    notes.marks(std::slice::from_ref(it))
                )
            })
            .collect();
        let _ = writeln!(
            out,
            "> - **{}** — {} (weight {:.2})",
            escape::markdown(&side.says),
            quotes.join("; "),
            side.weight
        );
    }
    if let Some(likely) = &it.likely {
        let _ = writeln!(out, ">\n> Likely reason: {}", escape::markdown(likely));
    }
    out.push('\n');
}

/// Whether every finding stands word for word in its page.
pub fn verbatim(it: &Report) -> bool {
    it.findings.iter().all(|it| {
        let said = escape::line(it.claim.text());
        let mut quotes = it.claim.citations().iter();
        quotes.all(|it| escape::line(it.passage.text().expose()) == said)
    })
}

/// Findings by quote, work and confidence. Where every finding stands word for word in its page,
/// there is nothing to tell quote from claim, and one column shows both.
fn evidence_table(out: &mut String, it: &Report) {
    if it.findings.is_empty() {
        return;
    }
    let verbatim = verbatim(it);
    out.push_str("## Evidence table\n\n");
    out.push_str(if verbatim {
        "| # | Claim, word for word | Source | Confidence |\n| --- | --- | --- | --- |\n"
    } else {
        "| # | Claim | Quote | Source | Confidence |\n| --- | --- | --- | --- | --- |\n"
    });
    for (nth, finding) in it.findings.iter().enumerate() {
        let citations = finding.claim.citations();
        let quotes: Vec<String> = citations
            .iter()
            .map(|it| format!("\"{}\"", escape::markdown(it.passage.text().expose())))
            .collect();
        let mut works: Vec<String> = citations
            .iter()
            .map(|citation| work(it, citation))
            .collect();
        works.dedup();
        let _ = write!(
            out,
            "| {} | {} |",
            nth + 1,
            escape::markdown(finding.claim.text())
        );
        if !verbatim {
            let _ = write!(out, " {} |", quotes.join("<br>"));
        }
        let _ = writeln!(
            out,
            " {} | {} {} |",
            works.join("<br>"),
            finding.confidence.level.dots(),
            finding.confidence.level.word(),
        );
    }
    out.push('\n');
}

/// `[1] Title, 2024-05-01`.
fn work(report: &Report, citation: &Citation) -> String {
    let title = source(report, citation.n).map_or_else(String::new, |it| match &it.date {
        Some(date) => escape::markdown(&format!("{}, {date}", it.title)),
        None => escape::markdown(&it.title),
    });
    match report.unlisted {
        true => format!("\\[{}\\] {title}", citation.n),
        false => format!("[[{0}]](#src-{0}) {title}", citation.n),
    }
}

fn not_established(out: &mut String, it: &Report) {
    let points = account::not_established(it, escape::markdown);
    if points.is_empty() {
        return;
    }
    out.push_str("## What we could not establish\n\n");
    for (what, why) in points {
        let _ = match what {
            Some(what) => writeln!(out, "- **{what}** — {why}"),
            None => writeln!(out, "- {why}"),
        };
    }
    out.push('\n');
}

fn method(out: &mut String, it: &Report) {
    out.push_str("## Method\n\n");
    for line in account::method(it, escape::markdown) {
        let _ = writeln!(out, "- {line}");
    }
    out.push('\n');
}

/// `43/43 quotes verified · 61/64 claims cited · 12/12 numbers matched`: never a bare percentage.
pub fn checks(it: &Report) -> String {
    let Counted { held, total } = it.checks.quotes;
    format!(
        "{held}/{total} quotes verified · {}/{} claims cited · {}/{} numbers matched",
        it.checks.claims.held,
        it.checks.claims.total,
        it.checks.numbers.held,
        it.checks.numbers.total
    )
}

fn sources(out: &mut String, it: &Report) {
    if it.sources.is_empty() || it.unlisted {
        return;
    }
    out.push_str("## Sources\n\n");
    for (at, source) in it.sources.iter().enumerate() {
        let n = at + 1;
        let _ = write!(out, "- <a id=\"src-{n}\"></a>**[{n}]** ");
        if let Some(author) = &source.author {
            let _ = write!(out, "{}. ", escape::markdown(author).trim_end_matches('.'));
        }
        let _ = write!(out, "*{}*", escape::markdown(&source.title));
        for part in [&source.site, &source.date].into_iter().flatten() {
            let _ = write!(out, ", {}", escape::markdown(part));
        }
        out.push_str(". ");
        match target(&source.url) {
            Some(url) => {
                let host = url::Url::parse(&url)
                    .ok()
                    .and_then(|it| it.host_str().map(str::to_owned))
                    .unwrap_or_default();
                let _ = write!(out, "[{}]({url})", escape::markdown(&host));
                // The address is the document's own word; this is where it was read.
                if let Some(file) = &source.file {
                    let _ = write!(out, ", read from {}", escape::markdown(&local(file)));
                }
            }
            None => out.push_str(&escape::markdown(&path(source))),
        }
        let ids = ids(source);
        if !ids.is_empty() {
            let _ = write!(out, " · {}", escape::markdown(&ids));
        }
        let _ = write!(out, " · {}", kind(source.kind));
        if let Some(trust) = &source.trust {
            let _ = write!(out, " · trust {:.2}", trust.score);
            if let Some(newer) = trust.replaced_by {
                let _ = write!(out, " · {}", replaced(it, newer));
            }
        }
        out.push('\n');
    }
}

/// The ids a source is known by, as people write them: `DOI 10.1000/182 · PMID 123`; of a document its id in its collection.
pub fn ids(source: &Source) -> String {
    let work = &source.work;
    let named = [
        ("DOI ", &work.doi),
        ("PMID ", &work.pmid),
        ("", &work.pmcid),
        ("arXiv ", &work.arxiv),
    ];
    let all: Vec<String> = named
        .into_iter()
        .filter_map(|(name, id)| Some(format!("{name}{}", id.as_ref()?)))
        .collect();
    match all.is_empty() {
        true => source.doc_id.clone().unwrap_or_default(),
        false => all.join(" · "),
    }
}

/// That a newer edition was read, with its number where it is cited.
pub fn replaced(it: &Report, newer: SourceId) -> String {
    match it.sources.iter().position(|source| source.id == newer) {
        Some(at) => format!("replaced by a newer edition: [{}]", at + 1),
        None => "a newer edition of it was read".to_owned(),
    }
}

/// What kind of source it is, in words.
pub fn kind(it: SourceKind) -> &'static str {
    match it {
        SourceKind::Web => "web page",
        SourceKind::Pubmed => "PubMed",
        SourceKind::Scholar => "scholarly work",
        SourceKind::News => "news",
        SourceKind::Local => "local document",
    }
}

fn path(source: &Source) -> String {
    local(&source.url)
}

/// The path behind a `file:` URL, or in a folder behind a `folder:` one, else the URL as text.
pub fn local(url: &str) -> String {
    if let Some(inside) = url.strip_prefix("folder:") {
        let path = local(&format!("file:///{inside}"));
        return format!("folder:{}", path.trim_start_matches('/'));
    }
    url::Url::parse(url)
        .ok()
        .filter(|it| it.scheme() == "file")
        .and_then(|it| it.to_file_path().ok())
        .map_or_else(|| url.to_owned(), |it| it.to_string_lossy().into_owned())
}

/// The name of the file that a source is, else its URL.
pub fn file_name(source: &Source) -> String {
    let path = path(source);
    match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name.to_owned(),
        _ => path,
    }
}

/// Why looking stopped, to go after "because".
pub fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::CoverageReached => "enough is covered",
        StopReason::TrustReached => "what was found is trusted enough",
        StopReason::NoNewEvidence => "a whole round brought nothing new",
        StopReason::MaxIterations => "the rounds were used up",
        StopReason::BudgetUsd => "what research may spend on models was spent",
        StopReason::BudgetTime => "the time was up",
        StopReason::BudgetCalls => "the calls were used up",
        StopReason::UserFinish => "it was asked to finish",
    }
}

/// `1 page`, `2 pages`.
pub fn counted(n: u64, word: &str) -> String {
    plural(n, word, &format!("{word}s"))
}

/// `1 query`, `2 queries`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
