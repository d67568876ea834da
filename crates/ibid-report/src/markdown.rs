//! A report as Markdown for GitHub and other dialects.
//!
//! All untrusted text goes through [`escape::markdown`]; the byte-exact quotes are in the JSON.
use std::fmt::Write as _;

use super::escape::{self, text_fragment, web_url};
use super::{introduction, method_notes};
use crate::text_chart::text_chart;
use ibid_core::domain::{
    Citation, Claim, ComparisonTable, Conflict, Finding, OutputMode, Ratio, Report, SectionLayout,
    Source,
};

pub use super::phrases::{
    checks_line, is_from_seller, local_path, one_source_note, pluralize, pluralize_as,
    source_file_name, source_note,
};
pub(crate) use super::phrases::{id_list, side_weight, source_kind_label};

/// The whole report. With `quotes`, every citation has a footnote with its quote. In mode `answer` it is one line.
pub fn report(it: &Report, quotes: bool) -> String {
    if it.mode == OutputMode::Answer {
        return it
            .answer
            .as_ref()
            .map(|answer| escape::single_line(&answer.text) + "\n")
            .unwrap_or_default();
    }
    if it.mode == OutputMode::Evidence {
        return super::evidence::to_markdown(it);
    }
    let mut out = String::new();
    front_matter(&mut out, it);
    out + &report_body(it, quotes)
}

/// The report without front matter, for use as a field of something else. In other modes the same as [`report`].
pub fn report_body(it: &Report, quotes: bool) -> String {
    if it.mode != OutputMode::Report {
        return report(it, quotes);
    }
    let notes = Footnotes::new(it, quotes);
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", escape::markdown(&it.title));
    if let Some(note) = one_source_note(it) {
        let _ = writeln!(out, "**{note}**\n");
    }
    short_answer(&mut out, it, &notes);
    if introduction::has_introduction(it) {
        let _ = writeln!(out, "## Introduction\n\n{}\n", sentences(&it.introduction, &notes));
    }
    findings(&mut out, it, &notes);
    comparison(&mut out, it, &notes);
    for (nth, section) in it.sections.iter().enumerate() {
        let _ = writeln!(out, "## {}. {}\n", nth + 1, escape::markdown(&section.title));
        for paragraph in &section.paragraphs {
            match section.layout {
                SectionLayout::Prose => {
                    let _ = writeln!(out, "{}\n", sentences(paragraph, &notes));
                }
                layout => items(&mut out, layout, paragraph, &notes),
            }
        }
    }
    conflicts(&mut out, it, &notes);
    evidence_table(&mut out, it);
    not_established(&mut out, it);
    if let Some(text) = introduction::conclusion(it, escape::markdown) {
        let _ = writeln!(out, "## Conclusion\n\n{}\n", paragraph(&it.conclusion, &text, &notes));
    }
    method(&mut out, it);
    sources(&mut out, it);
    notes.write(&mut out, it);
    out
}

/// Sentences as the items of a list, numbered if they are steps.
fn items(out: &mut String, layout: SectionLayout, claims: &[Claim], notes: &Footnotes<'_>) {
    for (nth, claim) in (1..).zip(claims) {
        let _ = writeln!(out, "{}{}", layout.marker(nth), sentence(claim, notes));
    }
    out.push('\n');
}

/// The footnotes, one for each cited passage.
struct Footnotes<'a> {
    passages: Vec<(u32, &'a ibid_core::domain::Passage)>,
    shown: bool,
    /// Whether there is a list of sources to link to.
    listed: bool,
}

impl<'a> Footnotes<'a> {
    fn new(report: &'a Report, shown: bool) -> Footnotes<'a> {
        Footnotes { passages: report.cited_passages(), shown, listed: !report.unlisted }
    }

    /// The marks after a sentence: ` [[1]](#src-1)[^q1]`.
    fn marks(&self, citations: &[Citation]) -> String {
        let mut out = String::new();
        let mut before = None;
        for it in citations {
            if before != Some(it.n) {
                let _ = if self.listed {
                    write!(out, " [[{0}]](#src-{0})", it.n)
                } else {
                    write!(out, " \\[{}\\]", it.n)
                };
            }
            before = Some(it.n);
            let at = self.passages.iter().position(|known| *known.1 == it.passage);
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
            match web_url(&source.url) {
                Some(url) => {
                    let joint = if url.contains('#') { "" } else { "#" };
                    let _ = writeln!(
                        out,
                        " — <{url}{joint}{}>",
                        text_fragment(passage.text().expose())
                    );
                }
                None => {
                    let _ = writeln!(out, " — {}", escape::markdown(&source_file_name(source)));
                }
            }
        }
    }
}

fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}

/// YAML front matter. JSON strings are valid YAML strings.
fn front_matter(out: &mut String, it: &Report) {
    let quoted = |text: &str| serde_json::Value::from(escape::single_line(text)).to_string();
    let cost = match it.usage.usd {
        Some(usd) => format!("{usd:.2}"),
        None if it.usage.model_calls == 0 => "0.00".to_owned(),
        None => "null".to_owned(),
    };
    let Ratio { passed: held, total } = it.checks.quotes;
    let _ = write!(
        out,
        "---\ntitle: {}\nrun: {}\ndate: {}\nquestion: {}\ndepth: {}\ncost_usd: {cost}\n\
         checks: {{quotes: {held}/{total}, claims_cited: {}/{}, numbers: {}/{}}}\n---\n\n",
        quoted(&it.title),
        it.run,
        it.date,
        quoted(&it.question),
        it.depth,
        it.checks.claims.passed,
        it.checks.claims.total,
        it.checks.numbers.passed,
        it.checks.numbers.total,
    );
}

fn sentence(claim: &Claim, notes: &Footnotes<'_>) -> String {
    escape::markdown(&claim.told()) + &notes.marks(claim.citations())
}

fn sentences(claims: &[Claim], notes: &Footnotes<'_>) -> String {
    let each: Vec<String> = claims.iter().map(|claim| sentence(claim, notes)).collect();
    each.join(" ")
}

/// Sentences and the counted text that follows them.
fn paragraph(claims: &[Claim], counted: &str, notes: &Footnotes<'_>) -> String {
    format!("{} {counted}", sentences(claims, notes)).trim().to_owned()
}

fn short_answer(out: &mut String, it: &Report, notes: &Footnotes<'_>) {
    if it.short.is_empty() {
        let _ = writeln!(out, "> **No answer.** No source that was read answers this question.\n");
        return;
    }
    let why: Vec<String> = it.confidence.why.iter().map(|it| escape::markdown(it)).collect();
    let _ = write!(out, "> **{}.**", it.short_answer_label());
    match it.short_layout() {
        SectionLayout::Prose => {
            let _ = writeln!(out, " {}", sentences(&it.short, notes));
        }
        layout => {
            let mut listed = String::new();
            items(&mut listed, layout, &it.short, notes);
            let lines = listed.trim_end().lines().map(|line| format!("> {line}\n"));
            let _ = write!(out, "\n>\n{}", lines.collect::<String>());
        }
    }
    if let Some(line) = it.computed_line() {
        let _ = writeln!(out, ">\n> {}", escape::markdown(&line));
    }
    let _ = write!(out, ">\n> **Confidence: {}**", it.confidence.level.as_str());
    if !why.is_empty() {
        let _ = write!(out, " — {}.", why.join("; "));
    }
    out.push_str("\n\n");
}

fn findings(out: &mut String, it: &Report, notes: &Footnotes<'_>) {
    if it.findings.is_empty() {
        return;
    }
    out.push_str("## Key findings\n\n");
    for (heading, findings) in it.findings_by_kind() {
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

fn comparison(out: &mut String, it: &Report, notes: &Footnotes<'_>) {
    let chart = it.chart.as_ref();
    let Some(it) = &it.comparison else {
        return;
    };
    let _ = writeln!(out, "## {}\n", it.heading());
    let columns: Vec<String> = it.columns.iter().map(|name| escape::markdown(name)).collect();
    let _ = writeln!(out, "| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len()));
    for row in &it.rows {
        let _ = write!(out, "| {} |", escape::markdown(&row.label));
        for (cell, converted) in row.converted_cells() {
            let figures: Vec<String> = cell.iter().map(|claim| sentence(claim, notes)).collect();
            let text = if figures.is_empty() {
                ComparisonTable::UNKNOWN.to_owned()
            } else {
                figures.join("<br>")
            };
            let _ = write!(out, " {text}");
            if let Some(converted) = converted {
                let _ = write!(out, " ({}, computed)", escape::markdown(converted));
            }
            out.push_str(" |");
        }
        out.push('\n');
    }
    out.push('\n');
    if let Some(chart) = chart {
        // A fence that no line of a label ends.
        let lines = text_chart(chart).join("\n").replace('`', "'");
        let _ = writeln!(out, "```text\n{lines}\n```\n");
    }
}

fn conflicts(out: &mut String, it: &Report, notes: &Footnotes<'_>) {
    if it.conflicts.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {}\n", introduction::conflicts_heading(&it.conflicts));
    for disputed in &it.conflicts {
        conflict(out, disputed, it, notes);
    }
}

fn conflict(out: &mut String, it: &Conflict, report: &Report, notes: &Footnotes<'_>) {
    let title = escape::markdown(&introduction::conflict_title(it));
    let _ = writeln!(out, "> [!CONFLICT]\n> {title}:\n>");
    for side in &it.sides {
        let quotes: Vec<String> = side
            .claim
            .citations()
            .iter()
            .map(|citation| {
                format!(
                    "\"{}\"{}",
                    escape::markdown(citation.passage.text().expose()),
                    notes.marks(std::slice::from_ref(citation))
                )
            })
            .collect();
        let _ = writeln!(
            out,
            "> - **{}** — {} ({})",
            escape::markdown(&side.says),
            quotes.join("; "),
            side_weight(report, side)
        );
    }
    if let Some(reason) = introduction::conflict_reason(it) {
        let _ = writeln!(out, ">\n> {}", escape::markdown(&reason));
    }
    out.push('\n');
}

/// The findings that the table of evidence shows: those that are no verbatim quotes, which it would only repeat.
pub fn tabled_findings(it: &Report) -> Vec<&Finding> {
    it.findings.iter().filter(|it| !is_verbatim(&it.claim)).collect()
}

/// Words that a sentence is told without.
const MAX_LEAD_WORDS: usize = 3;

/// Whether a claim is the words of each of its quotes, but for a first "And" or "Overall," and the last mark.
fn is_verbatim(claim: &Claim) -> bool {
    let plain = |text: &str| {
        let text = escape::single_line(text).to_lowercase();
        text.trim_end_matches(['.', ' ']).to_owned()
    };
    let said = plain(claim.text());
    claim.citations().iter().all(|quote| {
        let quote = plain(quote.passage.text().expose());
        let lead = quote.strip_suffix(&said);
        lead.is_some_and(|lead| lead.split_whitespace().count() <= MAX_LEAD_WORDS)
    })
}

/// The findings by quote, work and confidence.
fn evidence_table(out: &mut String, it: &Report) {
    let findings = tabled_findings(it);
    if findings.is_empty() {
        return;
    }
    out.push_str("## Evidence table\n\n");
    out.push_str("| # | Claim | Quote | Source | Confidence |\n| --- | --- | --- | --- | --- |\n");
    for (nth, finding) in findings.into_iter().enumerate() {
        let citations = finding.claim.citations();
        let quotes: Vec<String> = citations
            .iter()
            .map(|citation| format!("\"{}\"", escape::markdown(citation.passage.text().expose())))
            .collect();
        let mut works: Vec<String> =
            citations.iter().map(|citation| citation_label(it, citation)).collect();
        works.dedup();
        let _ = write!(out, "| {} | {} |", nth + 1, escape::markdown(finding.claim.text()));
        let _ = write!(out, " {} |", quotes.join("<br>"));
        let _ = writeln!(
            out,
            " {} | {} {} |",
            works.join("<br>"),
            finding.confidence.level.dots(),
            finding.confidence.level.as_str(),
        );
    }
    out.push('\n');
}

/// `[1] Title, 2024-05-01`.
fn citation_label(report: &Report, citation: &Citation) -> String {
    let title = source(report, citation.n).map_or_else(String::new, |it| match &it.date {
        Some(date) => escape::markdown(&format!("{}, {date}", it.title)),
        None => escape::markdown(&it.title),
    });
    if report.unlisted {
        format!("\\[{}\\] {title}", citation.n)
    } else {
        format!("[[{0}]](#src-{0}) {title}", citation.n)
    }
}

fn not_established(out: &mut String, it: &Report) {
    let points = method_notes::unresolved_points(it, escape::markdown);
    if points.is_empty() {
        return;
    }
    out.push_str("## What could not be established\n\n");
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
    for line in method_notes::method_lines(it, escape::markdown) {
        let _ = writeln!(out, "- {line}");
    }
    out.push('\n');
}

fn sources(out: &mut String, it: &Report) {
    if it.sources.is_empty() || it.unlisted {
        return;
    }
    out.push_str("## Sources\n\n");
    for (at, source) in it.sources.iter().enumerate() {
        let n = at + 1;
        let _ = write!(out, "- **[{n}]** <a id=\"src-{n}\"></a>");
        if let Some(author) = &source.author {
            let _ = write!(out, "{}. ", escape::markdown(author).trim_end_matches('.'));
        }
        let _ = write!(out, "*{}*", escape::markdown(&source.title));
        for part in [&source.site, &source.date].into_iter().flatten() {
            let _ = write!(out, ", {}", escape::markdown(part));
        }
        out.push_str(". ");
        match web_url(&source.url) {
            Some(url) => {
                let host = url::Url::parse(&url)
                    .ok()
                    .and_then(|parsed| parsed.host_str().map(str::to_owned))
                    .unwrap_or_default();
                let _ = write!(out, "[{}]({url})", escape::markdown(&host));
                // The URL is what the document states; this is where it was read.
                if let Some(file) = &source.file {
                    let _ = write!(out, ", read from {}", escape::markdown(&local_path(file)));
                }
            }
            None => out.push_str(&escape::markdown(&local_path(&source.url))),
        }
        let ids = id_list(source);
        if !ids.is_empty() {
            let _ = write!(out, " · {}", escape::markdown(&ids));
        }
        let _ = write!(out, " · {}", source_kind_label(source));
        if let Some(trust) = &source.trust {
            let _ = write!(out, " · trust {:.2}", trust.score);
        }
        if let Some(note) = source_note(it, source) {
            let _ = write!(out, " · {note}");
        }
        out.push('\n');
    }
}
