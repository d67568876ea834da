//! What a person sees while a run works. Everything shown comes from events.
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::console::{Paint, bare};
use super::supervised;
use crate::domain::{Coverage, CoverageRow, Report, RunId, Topic};
use crate::record::{Envelope, Event, Outcome, Run};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::counted;

/// Lines the block may have at most.
pub const MAX_LINES: usize = 14;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A run as the block shows it: the fold of its events and what is in flight.
#[derive(Debug, Clone)]
pub struct View {
    run: Run,
    flying: Vec<(String, &'static str, String)>,
    checked: (u32, u32),
    /// What was written last.
    written: Option<String>,
    warning: Option<String>,
}

impl View {
    /// A view of a run of which nothing is known yet.
    pub fn new(id: RunId) -> View {
        View {
            run: Run::new(id),
            flying: Vec::new(),
            checked: (0, 0),
            written: None,
            warning: None,
        }
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Takes in one more event.
    pub fn apply(&mut self, it: &Envelope) {
        self.run.apply(it);
        let who = it
            .agent
            .as_deref()
            .map_or_else(String::new, |it| format!("{it}  "));
        match &it.event {
            Event::SearchStarted { engine, query, .. } => {
                self.flying
                    .push((who, "searching", format!("{engine}: {query}")));
            }
            Event::SearchCompleted { engine, query, .. } => {
                self.land("searching", &format!("{engine}: {query}"));
            }
            Event::ReadStarted { url } => self.flying.push((who, "reading", url.clone())),
            Event::ReadCompleted { source, .. } => self.land("reading", &source.url),
            Event::ReadFailed { url, .. } => self.land("reading", url),
            Event::ClaimChecked {
                quotes_hold,
                numbers_hold,
                ..
            } => {
                self.checked.0 += u32::from(*quotes_hold && *numbers_hold);
                self.checked.1 += 1;
            }
            Event::DraftDelta { text, .. } => self.written = Some(line(text)),
            Event::BudgetWarning { message } => self.warning = Some(line(message)),
            Event::StepUnaided { step, reason, .. } => {
                self.warning = Some(format!("{step} without a model: {}", line(reason)));
            }
            Event::RunFinishing { .. } => {
                self.warning = Some("finishing with what there is".to_owned());
            }
            Event::RunResumed { .. } => self.flying.clear(),
            _ => {}
        }
    }

    fn land(&mut self, verb: &str, what: &str) {
        if let Some(at) = self
            .flying
            .iter()
            .position(|it| it.1 == verb && it.2 == what)
        {
            self.flying.remove(at);
        }
    }

    /// The block, at most [`MAX_LINES`] lines of at most `width` columns.
    pub fn lines(&self, paint: Paint, width: usize, frame: usize, seconds: u64) -> Vec<String> {
        let mut out = vec![self.title(paint, width, seconds), self.counts(paint, width)];
        for (nth, (who, verb, what)) in self.flying.iter().rev().take(2).enumerate() {
            let spin = SPINNER[(frame + nth * 3) % SPINNER.len()];
            let what = clip(&place(what), width.saturating_sub(15 + who.len()));
            out.push(format!("  {} {who}{verb:<9}  {what}", paint.cyan(spin)));
        }
        if let (Some(written), 0) = (&self.written, self.checked.1) {
            let text = format!("  writing    {written}");
            out.push(paint.dim(&clip(&text, width)));
        }
        out.extend(self.table(paint, width));
        if let Some(warning) = &self.warning {
            out.push(format!(
                "  {}",
                paint.yellow(&clip(&format!("! {warning}"), width.saturating_sub(2)))
            ));
        }
        out.truncate(MAX_LINES);
        out
    }

    fn title(&self, paint: Paint, width: usize, seconds: u64) -> String {
        let asked = self.run.question.as_ref();
        let effort = asked.map_or("", |it| crate::config::effort::name(it.method.effort));
        let id: String = self.run.id.as_str().chars().take(12).collect();
        let mut right = format!("{id} · {effort} · {}", clock(seconds));
        if let Some(most) = asked.and_then(|it| it.budget.usd) {
            let _ = write!(
                right,
                " · ${:.2}/{most:.2}",
                self.run.usage.usd.unwrap_or(0.0)
            );
        }
        let room = width.saturating_sub(right.width() + 4);
        if room < 20 {
            let text = asked.map_or_else(String::new, |it| line(&it.text));
            return format!("▸ {}", paint.bold(&clip(&text, width.saturating_sub(2))));
        }
        let text = clip(&asked.map_or_else(String::new, |it| line(&it.text)), room);
        let gap = " ".repeat(room - text.width() + 2);
        format!("▸ {}{gap}{}", paint.bold(&text), paint.dim(&right))
    }

    fn counts(&self, paint: Paint, width: usize) -> String {
        let run = &self.run;
        let mut parts = Vec::new();
        parts.push(match &run.plan {
            Some(plan) => format!("plan ✓ {}", counted(plan.items().len() as u64, "question")),
            None => "planning".to_owned(),
        });
        if run.wave > 0 {
            let most = run
                .question
                .as_ref()
                .map_or(run.wave, |it| it.method.depth.min(it.method.max_iterations));
            parts.push(format!("wave {}/{}", run.wave, most.max(run.wave)));
        }
        if let Some(it) = &run.progress {
            parts.push(format!("researchers {}", it.dispatched_research_units));
        }
        parts.push(format!("searches {}", run.searches));
        parts.push(match run.failed_pages {
            0 => format!("pages {}", run.pages),
            n => format!("pages {} ({n} unreadable)", run.pages),
        });
        parts.push(format!("evidence {}", run.evidence));
        if self.checked.1 > 0 {
            parts.push(format!("checked {}/{}", self.checked.0, self.checked.1));
        }
        paint.dim(&clip(&format!("  {}", parts.join("   ")), width))
    }

    fn table(&self, paint: Paint, width: usize) -> Vec<String> {
        let rows = self.rows();
        if rows.is_empty() {
            return Vec::new();
        }
        let waves = rows.iter().map(|it| it.by_wave.len()).max().unwrap_or(0);
        let shown = waves.min(5);
        // On a narrow terminal the question keeps its room: the waves go, then the numbers.
        let columns = [(shown, true), (0, true), (0, false)]
            .into_iter()
            .find(|it| width >= fixed(it.0, it.1) + 20)
            .unwrap_or((0, false));
        let longest = rows.iter().map(|it| label(it).width()).max().unwrap_or(0);
        let most = width
            .saturating_sub(fixed(columns.0, columns.1))
            .clamp(4, 48);
        let layout = Layout {
            width,
            label: longest.clamp(8, 48).min(most),
            waves: waves - columns.0..waves,
            numbers: columns.1,
        };
        let mut head = format!("  {}  ", padded("question", layout.label));
        for nth in layout.waves.clone() {
            let _ = write!(head, "{:<5}", format!("w{}", nth + 1));
        }
        head.push_str(if layout.numbers {
            "sources  evidence  state"
        } else {
            "state"
        });
        let mut out = vec![paint.dim(&clip(&head, width))];
        out.extend(rows.iter().map(|it| layout.row(it, paint)));
        out
    }

    /// The coverage told last, or the items of the plan, all open.
    fn rows(&self) -> Vec<CoverageRow> {
        if !self.run.coverage.is_empty() {
            return self.run.coverage.clone();
        }
        let items = self.run.plan.iter().flat_map(|it| it.items());
        items
            .map(|it| CoverageRow::open(it.id, &it.heading))
            .collect()
    }
}

fn label(it: &CoverageRow) -> String {
    format!("{} {}", it.id, line(&it.text))
}

/// Columns a row takes besides its label.
fn fixed(waves: usize, numbers: bool) -> usize {
    2 + 2 + waves * 5 + if numbers { 19 } else { 0 } + 8
}

/// How a table of coverage is laid out.
struct Layout {
    width: usize,
    label: usize,
    waves: std::ops::Range<usize>,
    numbers: bool,
}

impl Layout {
    fn row(&self, it: &CoverageRow, paint: Paint) -> String {
        let mut out = format!("  {}  ", padded(&clip(&label(it), self.label), self.label));
        for nth in self.waves.clone() {
            let dots = match it.by_wave.get(nth) {
                None => "",
                Some(0) => "○",
                Some(1) => "●",
                Some(2) => "●●",
                Some(_) => "●●●",
            };
            let _ = write!(out, "{}{}", paint.cyan(dots), padded("", 5 - dots.width()));
        }
        if self.numbers {
            let _ = write!(out, "{:>4}     {:>5}     ", it.sources, it.evidence);
        }
        let state = match it.state {
            Coverage::Open => paint.dim("open"),
            Coverage::Partial => paint.yellow("partial"),
            Coverage::Covered => paint.green("covered"),
            Coverage::Conflict => paint.magenta("conflict"),
        };
        out.push_str(&state);
        if let (Some(gap), Coverage::Open | Coverage::Partial) = (&it.gap, it.state) {
            let used = fixed(self.waves.len(), self.numbers) + self.label;
            let room = self.width.saturating_sub(used + 2);
            if room >= 16 {
                let pad = 8usize.saturating_sub(bare_width(&state)) + 2;
                let gap = clip(&format!("← {}", line(gap)), room);
                let _ = write!(out, "{}{}", padded("", pad), paint.dim(&gap));
            }
        }
        out
    }
}

/// `text` and as many spaces as it takes to fill `columns`.
fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Columns of a text that may carry colour codes.
fn bare_width(text: &str) -> usize {
    bare(text).width()
}

/// At most `columns` of `text`, with an ellipsis where something is cut off.
pub fn clip(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// What is being read, as a person recognises it: no scheme, no path of folders.
fn place(what: &str) -> String {
    let what = line(what);
    let file = url::Url::parse(&what)
        .ok()
        .filter(|it| it.scheme() == "file")
        .and_then(|it| it.to_file_path().ok());
    if let Some(name) = file.as_deref().and_then(std::path::Path::file_name) {
        return line(&name.to_string_lossy());
    }
    what.strip_prefix("https://")
        .or_else(|| what.strip_prefix("http://"))
        .unwrap_or(&what)
        .to_owned()
}

/// `mm:ss`, or `h:mm:ss`.
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes:02}:{rest:02}")
    }
}

/// One plain line for an event worth a line, for logs and pipes. With `verbose`, more are.
pub fn plain(it: &Envelope, verbose: bool) -> Option<String> {
    let text = match &it.event {
        Event::RunCreated { question, .. } => {
            format!("run {}: {}", it.run, line(&question.text))
        }
        Event::RunResumed { after, .. } => format!("resumed after event {after}"),
        Event::RunFinishing { .. } => "finishing with what there is".to_owned(),
        Event::DraftDelta { text, .. } if verbose => format!("draft: {}", line(text)),
        Event::ClarifyAsked { questions } => {
            let questions: Vec<String> = questions.iter().map(|it| line(it)).collect();
            format!("asked back: {}", questions.join(" / "))
        }
        Event::ClarifyAnswered { answers } => {
            let said = answers.iter().filter(|it| !it.is_empty()).count();
            format!("answered: {said} of what was asked back")
        }
        Event::IntakeDecided {
            topic: Topic::Shift,
            follows: Some(run),
            ..
        } => format!("another topic than in {run}: begins anew"),
        Event::IntakeDecided {
            topic: Topic::Same,
            follows: Some(run),
            ..
        } => format!("goes on with the topic of {run}"),
        Event::KnownWeighed { sources, evidence } => format!(
            "known already: {} with {}",
            counted(sources.len() as u64, "source"),
            match evidence {
                0 => "nothing that speaks to it".to_owned(),
                n => format!("{} of evidence", counted(u64::from(*n), "piece")),
            }
        ),
        Event::PlanWaiting { .. } => format!(
            "the plan waits for your word: ibid approve {}, or ibid cancel {}",
            it.run, it.run
        ),
        Event::PlanChanged { words } => format!("the plan is to change: {}", line(words)),
        Event::PlanApproved { changed, .. } => match changed {
            true => "the plan is approved, as changed".to_owned(),
            false => "the plan is approved".to_owned(),
        },
        Event::PlanProposed { plan } => {
            let items: Vec<String> = plan
                .items()
                .iter()
                .map(|it| format!("{} {}", it.id, line(&it.heading)))
                .collect();
            format!(
                "plan: {}: {}",
                counted(items.len() as u64, "question"),
                items.join("; ")
            )
        }
        Event::StrategyChosen { strategy, reason } => {
            format!("strategy: {} ({})", strategy.word(), line(reason))
        }
        Event::RuntimeProgress { progress } => supervised::line_of(progress),
        Event::ItemUpdated { item, status } if verbose => {
            let word = serde_json::to_value(status).unwrap_or_default();
            format!("{item} is {}", word.as_str().unwrap_or_default())
        }
        Event::SearchPrepared { found, shown, .. } if verbose => {
            format!("{shown} of {found} hits put before the researcher")
        }
        Event::WaveStarted { items, queries } => format!(
            "wave {}: {} for {}",
            it.wave.unwrap_or(1),
            if *queries == 1 {
                "1 query".to_owned()
            } else {
                format!("{queries} queries")
            },
            counted(items.len() as u64, "question")
        ),
        Event::WaveFinished {
            new_evidence,
            new_sources,
        } => format!(
            "wave {}: {} of evidence from {}",
            it.wave.unwrap_or(1),
            counted(u64::from(*new_evidence), "new piece"),
            counted(u64::from(*new_sources), "new source")
        ),
        Event::SearchCompleted {
            engine,
            query,
            hits,
            new,
            outcome,
            error,
            ..
        } => match outcome {
            Outcome::Ok | Outcome::Empty => {
                format!(
                    "searched {engine}: {} → {hits} hits, {new} new",
                    line(query)
                )
            }
            Outcome::RateLimited | Outcome::Error => format!(
                "search failed at {engine}: {}: {}",
                line(query),
                line(error.as_deref().unwrap_or("no reason given"))
            ),
        },
        Event::ReadFailed { url, message, .. } => {
            format!("not read: {}: {}", line(url), line(message))
        }
        // Most messages name the file and the place themselves.
        Event::DocumentFailed { path, message, .. } if message.contains(path.as_str()) => {
            format!("not read: {}", line(message))
        }
        Event::DocumentFailed {
            path,
            place,
            message,
            ..
        } => {
            let place = place
                .as_deref()
                .map_or_else(String::new, |it| format!(" {}", line(it)));
            format!("not read: {}{place}: {}", line(path), line(message))
        }
        Event::ReadCompleted {
            source, sentences, ..
        } if verbose => {
            format!(
                "read {}: {}",
                line(&source.title),
                counted(u64::from(*sentences), "sentence")
            )
        }
        Event::EvidenceAdded { evidence } if verbose => {
            format!("evidence {}: {}", evidence.id, line(&evidence.claim))
        }
        Event::EvidenceRejected { url, reason, .. } if verbose => {
            format!("left out: {}: {}", line(url), line(reason))
        }
        Event::GapFound { item, gap, .. } => format!("gap {item}: {}", line(gap)),
        Event::GateJudged { verdict } => match &verdict.reason {
            Some(reason) => format!("gate not passed: {}", line(reason)),
            None => "gate passed".to_owned(),
        },
        Event::ConflictFound { conflict } => {
            let sides: Vec<String> = conflict.sides.iter().map(|it| line(&it.says)).collect();
            format!(
                "sources disagree on {}: {}",
                line(&conflict.about),
                sides.join(" / ")
            )
        }
        Event::CoverageUpdated { rows, .. } => {
            let done = rows
                .iter()
                .filter(|it| matches!(it.state, Coverage::Covered | Coverage::Conflict))
                .count();
            format!("checklist: {done}/{} covered", rows.len())
        }
        Event::BudgetWarning { message } => line(message),
        Event::StepUnaided { step, reason, .. } => {
            format!("{step} goes on without a model: {}", line(reason))
        }
        Event::LlmCompleted {
            role,
            model,
            step,
            r#in,
            out,
            ms,
            ..
        } if verbose => {
            let tokens = |it: &Option<u64>| it.map_or("?".to_owned(), |it| it.to_string());
            let took = ms.map_or_else(String::new, |it| format!(", {:.1} s", it as f64 / 1000.0));
            format!(
                "{} {}: {step}, {} tokens in, {} out{took}",
                role.word(),
                line(model),
                tokens(r#in),
                tokens(out)
            )
        }
        Event::Log { level, message } if verbose || level == "warn" || level == "error" => {
            format!("{level}: {}", line(message))
        }
        _ => return None,
    };
    Some(match &it.agent {
        Some(agent) => format!("{agent}: {text}"),
        None => text,
    })
}

/// The last line of a run: what it made and what was checked, each with its denominator.
pub fn stat(run: &Run, seconds: u64, written_to: Option<&str>, paint: Paint) -> String {
    let Some(report) = run.report.as_deref() else {
        return String::new();
    };
    let mut parts = vec![
        format!("{} words", grouped(words(report))),
        counted(report.sources.len() as u64, "source"),
        format!(
            "{}/{} quotes verified",
            report.checks.quotes.held, report.checks.quotes.total
        ),
        format!(
            "{}/{} claims cited",
            report.checks.claims.held, report.checks.claims.total
        ),
    ];
    if report.checks.removed > 0 {
        parts.push(format!("{} unsupported removed", report.checks.removed));
    }
    parts.push(clock(seconds));
    if let Some(usd) = report.usage.usd.filter(|it| *it > 0.0) {
        parts.push(format!("${usd:.2}"));
    }
    let mark = if report.claims().next().is_some() {
        paint.green("✓")
    } else {
        paint.yellow("○")
    };
    let mut out = format!("{mark} {}", parts.join(" · "));
    if let Some(path) = written_to {
        let _ = write!(out, " → {path}");
    }
    out
}

fn words(report: &Report) -> usize {
    report
        .claims()
        .map(|it| it.text().split_whitespace().count())
        .sum()
}

/// `1 842`.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}
