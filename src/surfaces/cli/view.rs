//! A report as a person reads it on a terminal: the same words as the Markdown, set for the eye.
use unicode_width::UnicodeWidthStr as _;

use super::console::{Paint, bare};
use crate::domain::{Citation, Claim, Mode, Report};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::framing;
use crate::surfaces::export::markdown::{checks, file_name, local, plural, replaced, stopped};

/// The report in lines of at most `width` columns. The exact words behind a number are left to
/// `ibid cite`, which the last line names.
pub(super) fn report(it: &Report, paint: Paint, width: usize) -> String {
    if let (Mode::Answer, Some(answer)) = (it.mode, &it.answer) {
        return format!("{}\n", line(&answer.text));
    }
    if it.mode == Mode::Evidence {
        return crate::surfaces::export::evidence::markdown(it);
    }
    let mut page = Sheet {
        out: String::new(),
        width: width.clamp(40, 96),
        paint,
    };
    page.text("", &page.paint.bold(&line(&it.title)));
    page.gap();
    short(&mut page, it);
    if !it.short.is_empty() {
        page.heading("Introduction");
        page.text("", &framing::introduction(it, line));
        page.gap();
    }
    if !it.findings.is_empty() {
        page.heading("Key findings");
        for (heading, findings) in it.learnings() {
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
    for (nth, section) in it.sections.iter().enumerate() {
        page.heading(&format!("{}. {}", nth + 1, line(&section.title)));
        for paragraph in &section.paragraphs {
            let text: Vec<String> = paragraph.iter().map(|it| page.sentence(it)).collect();
            page.text("", &text.join(" "));
            page.gap();
        }
    }
    conflicts(&mut page, it);
    open(&mut page, it);
    if !it.short.is_empty() {
        page.heading("Conclusion");
        page.text("", &framing::conclusion(it));
        page.gap();
    }
    if !it.unlisted {
        sources(&mut page, it);
    }
    let run: String = it.run.to_string();
    page.text(
        "",
        &page.paint.dim(&format!(
            "{}. Stopped because {}. Exact words: ibid cite {run} N",
            checks(it),
            stopped(it.method.stop)
        )),
    );
    page.out.replace(GLUE, " ")
}

fn short(page: &mut Sheet, it: &Report) {
    if it.short.is_empty() {
        page.text(
            "  ",
            "The sources searched do not carry an answer to this question.",
        );
        page.gap();
        return;
    }
    let bar = page.paint.cyan("▌ ");
    let text: Vec<String> = it.short.iter().map(|it| page.sentence(it)).collect();
    page.text_along(&bar, &text.join(" "));
    let why: Vec<String> = it.confidence.why.iter().map(|it| line(it)).collect();
    let level = format!("Confidence: {}", it.confidence.level.word());
    let why = page.paint.dim(&format!(" — {}", why.join("; ")));
    page.text_along(&bar, &format!("{}{why}", page.paint.bold(&level)));
    page.gap();
}

fn conflicts(page: &mut Sheet, it: &Report) {
    if it.conflicts.is_empty() {
        return;
    }
    page.heading("Where sources disagree");
    for conflict in &it.conflicts {
        let about = format!("On {}:", line(&conflict.about));
        page.text(&page.paint.yellow("⚡ "), &about);
        for side in &conflict.sides {
            let says = page.paint.bold(&line(&side.says));
            let text = format!("{says} — {}", page.sentence(&side.claim));
            page.text("   ", &text);
        }
        if let Some(likely) = &conflict.likely {
            let likely = format!("Likely reason: {}", line(likely));
            page.text("   ", &page.paint.dim(&likely));
        }
        page.gap();
    }
}

fn open(page: &mut Sheet, it: &Report) {
    let failed = it.method.pages_failed.len() as u64;
    if it.open.is_empty() && failed == 0 {
        return;
    }
    page.heading("What we could not establish");
    for point in &it.open {
        page.text(
            "· ",
            &format!("{} — {}", line(&point.what), line(&point.why)),
        );
    }
    if failed > 0 {
        page.text(
            "· ",
            &format!("{} could not be read", plural(failed, "page", "pages")),
        );
    }
    page.gap();
}

fn sources(page: &mut Sheet, it: &Report) {
    page.heading("Sources");
    let wide = it.sources.len().to_string().len();
    for (at, source) in it.sources.iter().enumerate() {
        let mark = page.paint.cyan(&format!("[{}]", at + 1));
        let pad = " ".repeat(wide - (at + 1).to_string().len() + 1);
        let mut text = line(&source.title);
        for part in [&source.author, &source.site, &source.date]
            .into_iter()
            .flatten()
        {
            text += &format!(", {}", line(part));
        }
        let place = match url::Url::parse(&source.url) {
            Ok(it) if it.scheme() != "file" => match &source.file {
                Some(file) => format!("{} (read from {})", line(&source.url), line(&local(file))),
                None => line(&source.url),
            },
            _ => line(&file_name(source)),
        };
        let newer = source.trust.as_ref().and_then(|it| it.replaced_by);
        let note = newer.map_or_else(String::new, |newer| format!(" ({})", replaced(it, newer)));
        let text = format!("{text}{note} {}", page.paint.dim(&place));
        page.text(&format!("{mark}{pad}"), &text);
    }
    page.gap();
}

/// A space at which no line ends. Of strangers' words none has it: [`line`] makes plain spaces of all.
const GLUE: char = '\u{a0}';

/// Lines being set.
struct Sheet {
    out: String,
    width: usize,
    paint: Paint,
}

impl Sheet {
    fn gap(&mut self) {
        self.out.push('\n');
    }

    fn heading(&mut self, text: &str) {
        let text = self.paint.on("1;36", text);
        self.text("", &text);
    }

    fn sentence(&self, claim: &Claim) -> String {
        format!("{}{}", line(claim.text()), self.marks(claim.citations()))
    }

    /// ` [1][3]`, each work once, never on a line without the word before.
    fn marks(&self, citations: &[Citation]) -> String {
        let mut seen = Vec::new();
        for it in citations {
            if !seen.contains(&it.n) {
                seen.push(it.n);
            }
        }
        let marks: String = seen.iter().map(|it| format!("[{it}]")).collect();
        format!("{GLUE}{}", self.paint.cyan(&marks))
    }

    /// Sets `text` after `lead`, its further lines below its first.
    fn text(&mut self, lead: &str, text: &str) {
        let indent = " ".repeat(bare(lead).width());
        self.set(lead, &indent, text);
    }

    /// The same, with `lead` before every line.
    fn text_along(&mut self, lead: &str, text: &str) {
        self.set(lead, lead, text);
    }

    fn set(&mut self, first: &str, further: &str, text: &str) {
        let room = self.width.saturating_sub(bare(first).width()).max(20);
        let mut line = String::new();
        let mut used = 0;
        let mut lead = first;
        for word in text.split(' ').filter(|it| !it.is_empty()) {
            let wide = bare(word).width();
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
