//! A report laid out for a terminal, with the same text as the Markdown.
use unicode_width::UnicodeWidthStr as _;

use crate::console::{Palette, strip_ansi};
use ibid_core::domain::{Citation, Claim, OutputMode, Report, SectionLayout, YesNo};
use ibid_report::escape::single_line;
use ibid_report::introduction;
use ibid_report::markdown::{
    checks_line, is_from_seller, local_path, one_source_note, pluralize_as, source_file_name,
    source_note,
};

/// The report in lines of at most `width` columns. Quotes are left out; the last line says that `ibid cite` shows them.
pub(super) fn report(report: &Report, paint: Palette, width: usize) -> String {
    if let (OutputMode::Answer, Some(answer)) = (report.mode, &report.answer) {
        return format!("{}\n", single_line(&answer.text));
    }
    if report.mode == OutputMode::Evidence {
        return ibid_report::evidence::to_markdown(report);
    }
    let mut page = ReportWriter { out: String::new(), width: width.clamp(40, 96), paint };
    page.text("", &page.paint.bold(&single_line(&report.title)));
    page.gap();
    if let Some(note) = one_source_note(report) {
        page.text("", &page.paint.bold(note));
        page.gap();
    }
    short_answer(&mut page, report);
    if introduction::has_introduction(report) {
        page.heading("Introduction");
        page.opened_paragraph(&report.introduction, "");
        page.gap();
    }
    if !report.findings.is_empty() {
        page.heading("Key findings");
        for (heading, findings) in report.findings_by_kind() {
            if let Some(heading) = heading {
                page.text("", &page.paint.dim(heading));
            }
            for finding in findings {
                let dots = finding.confidence.level.dots();
                let text = page.sentence(&finding.claim);
                page.text(&format!("{}  ", page.paint.cyan(dots)), &text);
            }
        }
        page.gap();
    }
    comparison(&mut page, report);
    for (nth, section) in report.sections.iter().enumerate() {
        page.heading(&format!("{}. {}", nth + 1, single_line(&section.title)));
        for paragraph in &section.paragraphs {
            let sentences = paragraph.iter().map(|claim| page.sentence(claim)).collect::<Vec<_>>();
            match section.layout {
                SectionLayout::Prose => page.text("", &sentences.join(" ")),
                layout => {
                    (1..).zip(&sentences).for_each(|(nth, it)| page.text(&layout.marker(nth), it));
                }
            }
            page.gap();
        }
    }
    conflicts(&mut page, report);
    open_points(&mut page, report);
    if let Some(text) = introduction::conclusion(report, single_line) {
        page.heading("Conclusion");
        page.opened_paragraph(&report.conclusion, &text);
        page.gap();
    }
    if !report.unlisted {
        sources(&mut page, report);
    }
    let run: String = report.run.to_string();
    page.text(
        "",
        &page.paint.dim(&format!(
            "{}. Stopped because {}. Exact words: ibid cite {run} N",
            checks_line(report),
            report.method.stop.phrase()
        )),
    );
    page.out.replace(NO_BREAK_SPACE, " ")
}

fn short_answer(page: &mut ReportWriter, report: &Report) {
    if report.short.is_empty() {
        page.text("  ", "No source that was read answers this question.");
        page.gap();
        return;
    }
    let bar = page.paint.cyan("▌ ");
    let text: Vec<String> = report.short.iter().map(|report| page.sentence(report)).collect();
    let verdict = match report.verdict {
        Some(YesNo::Yes) => page.paint.bold("Yes. "),
        Some(YesNo::No) => page.paint.bold("No. "),
        None => String::new(),
    };
    match report.short_layout() {
        SectionLayout::Prose => {
            page.hanging_text(&bar, &format!("{verdict}{}", text.join(" ")));
        }
        layout => {
            for (nth, it) in (1..).zip(&text) {
                let mark = layout.marker(nth);
                let further = format!("{bar}{}", " ".repeat(mark.len()));
                page.set(&format!("{bar}{mark}"), &further, it);
            }
        }
    }
    if let Some(line) = report.computed_line() {
        page.hanging_text(&bar, &single_line(&line));
    }
    let why: Vec<String> = report.confidence.why.iter().map(|report| single_line(report)).collect();
    let level = format!("Confidence: {}", report.confidence.level.as_str());
    let why = page.paint.dim(&format!(" — {}", why.join("; ")));
    page.hanging_text(&bar, &format!("{}{why}", page.paint.bold(&level)));
    page.gap();
}

/// The rows of the comparison, one a line: a terminal may be too narrow for columns.
fn comparison(page: &mut ReportWriter, report: &Report) {
    let Some(table) = &report.comparison else {
        return;
    };
    page.heading(table.heading());
    for row in &table.rows {
        let columns = table.columns.iter().skip(1).zip(row.converted_cells());
        let filled = columns.filter(|(_, cell)| !cell.0.is_empty());
        let cells = filled.map(|(name, (cell, converted))| {
            let figures: Vec<String> = cell.iter().map(|claim| page.sentence(claim)).collect();
            let converted = converted.map(|it| format!(" ({}, computed)", single_line(it)));
            let converted = converted.unwrap_or_default();
            format!("{}: {}{converted}", single_line(name), figures.join(", "))
        });
        let cells: Vec<String> = cells.collect();
        let label = page.paint.bold(&single_line(&row.label));
        page.text("- ", &format!("{label} — {}", cells.join("; ")));
    }
    page.gap();
}

fn conflicts(page: &mut ReportWriter, report: &Report) {
    if report.conflicts.is_empty() {
        return;
    }
    page.heading(introduction::conflicts_heading(&report.conflicts));
    for conflict in &report.conflicts {
        let about = format!("{}:", single_line(&introduction::conflict_title(conflict)));
        page.text(&page.paint.yellow("⚡ "), &about);
        for side in &conflict.sides {
            let says = page.paint.bold(&single_line(&side.says));
            let seller = if is_from_seller(report, side) { " (from a seller)" } else { "" };
            let text = format!("{says} — {}{seller}", page.sentence(&side.claim));
            page.text("   ", &text);
        }
        if let Some(reason) = introduction::conflict_reason(conflict) {
            page.text("   ", &page.paint.dim(&single_line(&reason)));
        }
        page.gap();
    }
}

fn open_points(page: &mut ReportWriter, report: &Report) {
    let failed = report.method.pages_failed.len() as u64;
    if report.open.is_empty() && failed == 0 {
        return;
    }
    page.heading("What could not be established");
    for point in &report.open {
        page.text("· ", &format!("{} — {}", single_line(&point.what), single_line(&point.why)));
    }
    if failed > 0 {
        page.text("· ", &format!("{} could not be read", pluralize_as(failed, "page", "pages")));
    }
    page.gap();
}

fn sources(page: &mut ReportWriter, report: &Report) {
    page.heading("Sources");
    let digits = report.sources.len().to_string().len();
    for (at, source) in report.sources.iter().enumerate() {
        let mark = page.paint.cyan(&format!("[{}]", at + 1));
        let pad = " ".repeat(digits - (at + 1).to_string().len() + 1);
        let mut text = single_line(&source.title);
        for part in [&source.author, &source.site, &source.date].into_iter().flatten() {
            text += &format!(", {}", single_line(part));
        }
        let place = match url::Url::parse(&source.url) {
            Ok(url) if url.scheme() != "file" => match &source.file {
                Some(file) => format!(
                    "{} (read from {})",
                    single_line(&source.url),
                    single_line(&local_path(file))
                ),
                None => single_line(&source.url),
            },
            _ => single_line(&source_file_name(source)),
        };
        let note =
            source_note(report, source).map_or_else(String::new, |note| format!(" ({note})"));
        let text = format!("{text}{note} {}", page.paint.dim(&place));
        page.text(&format!("{mark}{pad}"), &text);
    }
    page.gap();
}

/// A space at which no line breaks. Source texts never contain it, because [`single_line`] replaces it.
const NO_BREAK_SPACE: char = '\u{a0}';

/// Writes lines of a fixed width.
struct ReportWriter {
    out: String,
    width: usize,
    paint: Palette,
}

impl ReportWriter {
    fn gap(&mut self) {
        self.out.push('\n');
    }

    fn heading(&mut self, text: &str) {
        let text = self.paint.style("1;36", text);
        self.text("", &text);
    }

    /// Sentences and the counted text that follows them.
    fn opened_paragraph(&mut self, claims: &[Claim], counted: &str) {
        let mut sentences: Vec<String> = claims.iter().map(|claim| self.sentence(claim)).collect();
        sentences.push(counted.to_owned());
        self.text("", sentences.join(" ").trim());
    }

    fn sentence(&self, claim: &Claim) -> String {
        format!("{}{}", single_line(&claim.told()), self.marks(claim.citations()))
    }

    /// The marks ` [1][3]`, each source once, kept on the line of the word before them.
    fn marks(&self, citations: &[Citation]) -> String {
        let mut seen = Vec::new();
        for citation in citations {
            if !seen.contains(&citation.n) {
                seen.push(citation.n);
            }
        }
        let marks: String = seen.iter().map(|n| format!("[{n}]")).collect();
        format!("{NO_BREAK_SPACE}{}", self.paint.cyan(&marks))
    }

    /// Writes `text` after `lead`; further lines are indented to the first.
    fn text(&mut self, lead: &str, text: &str) {
        let indent = " ".repeat(strip_ansi(lead).width());
        self.set(lead, &indent, text);
    }

    /// Writes `text` with `lead` before every line.
    fn hanging_text(&mut self, lead: &str, text: &str) {
        self.set(lead, lead, text);
    }

    fn set(&mut self, first: &str, further: &str, text: &str) {
        let room = self.width.saturating_sub(strip_ansi(first).width()).max(20);
        let mut line = String::new();
        let mut used = 0;
        let mut lead = first;
        for word in text.split(' ').filter(|part| !part.is_empty()) {
            let wide = strip_ansi(word).width();
            if used > 0 && used + 1 + wide > room {
                self.out.push_str(&format!("{lead}{line}\n"));
                lead = further;
                line.clear();
                used = 0;
            }
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += wide;
        }
        self.out.push_str(&format!("{lead}{line}\n"));
    }
}
