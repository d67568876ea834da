//! The progress block that a terminal shows while a run works, and the summary at its end. Both come from events alone.
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::console::{Palette, strip_ansi};
use ibid_core::domain::{Coverage, CoverageRow, Report, RunId};
use ibid_core::record::{Envelope, Event, Phase, Run};
use ibid_report::escape::single_line;
use ibid_report::event_line::event_line;
use ibid_report::markdown::pluralize;
use ibid_report::phrases::grouped;

/// Maximum number of lines in the block.
pub const MAX_LINES: usize = 14;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The state that the block shows: the run so far, and the searches and reads in flight.
#[derive(Debug, Clone)]
pub struct ProgressView {
    run: Run,
    in_flight: Vec<ActiveItem>,
    checked: (u32, u32),
    /// The last piece of the draft.
    written: Option<String>,
    warning: Option<String>,
}

/// A search or read in flight.
#[derive(Debug, Clone)]
struct ActiveItem {
    /// The researcher and two spaces, or nothing.
    agent: String,
    verb: &'static str,
    what: String,
}

impl ProgressView {
    /// A view before the first event.
    pub fn new(id: RunId) -> ProgressView {
        ProgressView {
            run: Run::new(id),
            in_flight: Vec::new(),
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
    pub fn apply(&mut self, envelope: &Envelope) {
        self.run.apply(envelope);
        match &envelope.event {
            Event::SearchStarted { engine, query, .. } => {
                self.start_item(envelope, "searching", format!("{engine}: {query}"));
            }
            Event::SearchCompleted { engine, query, .. } => {
                self.finish_item("searching", &format!("{engine}: {query}"));
            }
            Event::ReadStarted { url } => self.start_item(envelope, "reading", url.clone()),
            Event::ReadCompleted { source, .. } => self.finish_item("reading", &source.url),
            Event::ReadFailed { url, .. } => self.finish_item("reading", url),
            Event::ClaimChecked { quotes_hold, numbers_hold, .. } => {
                self.checked.0 += u32::from(*quotes_hold && *numbers_hold);
                self.checked.1 += 1;
            }
            Event::DraftDelta { text, .. } => self.written = Some(single_line(text)),
            Event::BudgetWarning { .. }
            | Event::StepUnaided { .. }
            | Event::RunFinishing { .. } => {
                self.warning = event_line(envelope).map(|line| line.text);
            }
            Event::RunResumed { .. } => self.in_flight.clear(),
            _ => {}
        }
    }

    fn start_item(&mut self, envelope: &Envelope, verb: &'static str, what: String) {
        let agent = envelope.agent.as_deref();
        self.in_flight.push(ActiveItem {
            agent: agent.map_or_else(String::new, |agent| format!("{}  ", single_line(agent))),
            verb,
            what,
        });
    }

    fn finish_item(&mut self, verb: &str, what: &str) {
        if let Some(at) =
            self.in_flight.iter().position(|item| item.verb == verb && item.what == what)
        {
            self.in_flight.remove(at);
        }
    }

    /// The block, at most [`MAX_LINES`] lines of at most `width` columns.
    pub fn lines(&self, paint: Palette, width: usize, frame: usize, seconds: u64) -> Vec<String> {
        let mut out = vec![self.title(paint, width, seconds), self.counts(paint, width)];
        for (nth, item) in self.in_flight.iter().rev().take(2).enumerate() {
            let ActiveItem { agent, verb, what } = item;
            let spin = SPINNER[(frame + nth * 3) % SPINNER.len()];
            let what = clip(&short_place(what), width.saturating_sub(15 + agent.len()));
            out.push(format!("  {} {agent}{verb:<9}  {what}", paint.cyan(spin)));
        }
        if let (Some(written), 0) = (&self.written, self.checked.1) {
            let verb = if self.run.phase == Phase::Write { "writing" } else { "so far" };
            let text = format!("  {verb:<9}  {written}");
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

    fn title(&self, paint: Palette, width: usize, seconds: u64) -> String {
        let question = self.run.question.as_ref();
        let effort =
            question.map_or("", |question| ibid::config::effort::name(question.method.effort));
        let id: String = self.run.id.as_str().chars().take(12).collect();
        let mut right = format!("{id} · {effort} · {}", clock(seconds));
        if let Some(most) = question.and_then(|question| question.budget.usd) {
            let _ = match self.run.charged_usd_at_most() {
                Some(usd) => write!(right, " · at most ${usd:.2}/{most:.2}"),
                None => {
                    write!(right, " · ${:.2}/{most:.2}", self.run.usage.usd.unwrap_or(0.0))
                }
            };
        }
        let text = question.map_or_else(String::new, |question| single_line(&question.text));
        let room = width.saturating_sub(right.width() + 4);
        if room < 20 {
            return format!("▸ {}", paint.bold(&clip(&text, width.saturating_sub(2))));
        }
        let text = clip(&text, room);
        let gap = " ".repeat(room - text.width() + 2);
        format!("▸ {}{gap}{}", paint.bold(&text), paint.dim(&right))
    }

    fn counts(&self, paint: Palette, width: usize) -> String {
        let run = &self.run;
        let mut parts = Vec::new();
        parts.push(match &run.plan {
            Some(plan) => format!("plan ✓ {}", pluralize(plan.items().len() as u64, "item")),
            None => "planning".to_owned(),
        });
        if run.round > 0 {
            let most = run.question.as_ref().map_or(run.round, |question| {
                question.method.depth.min(question.method.max_iterations)
            });
            parts.push(format!("round {}/{}", run.round, most.max(run.round)));
        }
        if let Some(progress) = &run.progress {
            parts.push(format!("researchers {}", progress.dispatched_research_units));
        }
        parts.push(format!("searches {}", run.searches));
        parts.push(match run.failed_pages {
            0 => format!("pages {}", run.pages),
            n => format!("pages {} ({n} not read)", run.pages),
        });
        parts.push(format!("evidence {}", run.evidence));
        if self.checked.1 > 0 {
            parts.push(format!("checked {}/{}", self.checked.0, self.checked.1));
        }
        paint.dim(&clip(&format!("  {}", parts.join("   ")), width))
    }

    fn table(&self, paint: Palette, width: usize) -> Vec<String> {
        let rows = self.rows();
        if rows.is_empty() {
            return Vec::new();
        }
        let rounds = rows.iter().map(|row| row.by_round.len()).max().unwrap_or(0);
        let shown = rounds.min(5);
        // A narrow terminal drops the rounds first, then the numbers, to keep room for the question.
        let columns = [(shown, true), (0, true), (0, false)]
            .into_iter()
            .find(|pair| width >= fixed(pair.0, pair.1) + 20)
            .unwrap_or((0, false));
        let longest = rows.iter().map(|row| label(row).width()).max().unwrap_or(0);
        let most = width.saturating_sub(fixed(columns.0, columns.1)).clamp(4, 48);
        let layout = Layout {
            width,
            label: longest.clamp(8, 48).min(most),
            rounds: rounds - columns.0..rounds,
            numbers: columns.1,
        };
        let mut head = format!("  {}  ", padded("item", layout.label));
        for nth in layout.rounds.clone() {
            let _ = write!(head, "{:<5}", format!("R{}", nth + 1));
        }
        head.push_str(if layout.numbers { "sources  evidence  state" } else { "state" });
        let mut out = vec![paint.dim(&clip(&head, width))];
        out.extend(rows.iter().map(|row| layout.row(row, paint)));
        out
    }

    /// The latest coverage, or the items of the plan, all open.
    fn rows(&self) -> Vec<CoverageRow> {
        if !self.run.coverage.is_empty() {
            return self.run.coverage.clone();
        }
        let items = self.run.plan.iter().flat_map(|it| it.items());
        items.map(|item| CoverageRow::empty(item.id, &item.heading)).collect()
    }
}

fn label(row: &CoverageRow) -> String {
    format!("{} {}", row.id, single_line(&row.text))
}

/// Columns of a row besides its label.
fn fixed(rounds: usize, numbers: bool) -> usize {
    2 + 2 + rounds * 5 + if numbers { 19 } else { 0 } + 8
}

/// The layout of the coverage table.
struct Layout {
    width: usize,
    label: usize,
    rounds: std::ops::Range<usize>,
    numbers: bool,
}

impl Layout {
    fn row(&self, coverage: &CoverageRow, paint: Palette) -> String {
        let mut out = format!("  {}  ", padded(&clip(&label(coverage), self.label), self.label));
        for nth in self.rounds.clone() {
            let dots = match coverage.by_round.get(nth) {
                None => "",
                Some(0) => "○",
                Some(1) => "●",
                Some(2) => "●●",
                Some(_) => "●●●",
            };
            let _ = write!(out, "{}{}", paint.cyan(dots), padded("", 5 - dots.width()));
        }
        if self.numbers {
            let _ = write!(out, "{:>4}     {:>5}     ", coverage.sources, coverage.evidence);
        }
        let state = match coverage.state {
            Coverage::Open => paint.dim("open"),
            Coverage::Partial => paint.yellow("partial"),
            Coverage::Covered => paint.green("covered"),
            Coverage::Conflict => paint.magenta("conflict"),
        };
        out.push_str(&state);
        if let (Some(gap), Coverage::Open | Coverage::Partial) = (&coverage.gap, coverage.state) {
            let used = fixed(self.rounds.len(), self.numbers) + self.label;
            let room = self.width.saturating_sub(used + 2);
            if room >= 16 {
                let pad = 8usize.saturating_sub(bare_width(&state)) + 2;
                let gap = clip(&format!("← {}", single_line(gap)), room);
                let _ = write!(out, "{}{}", padded("", pad), paint.dim(&gap));
            }
        }
        out
    }
}

/// `text`, filled with spaces to `columns`.
fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Columns of a text that may contain colour codes.
fn bare_width(text: &str) -> usize {
    strip_ansi(text).width()
}

/// At most `columns` of `text`, ending in an ellipsis if it is cut.
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

/// An address without its scheme, or the name of a file without its folders.
fn short_place(what: &str) -> String {
    let what = single_line(what);
    let file = url::Url::parse(&what)
        .ok()
        .filter(|parsed| parsed.scheme() == "file")
        .and_then(|parsed| parsed.to_file_path().ok());
    if let Some(name) = file.as_deref().and_then(std::path::Path::file_name) {
        return single_line(&name.to_string_lossy());
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

/// The last line of a run: the size of its report and what was checked.
pub fn summary_line(run: &Run, seconds: u64, written_to: Option<&str>, paint: Palette) -> String {
    let Some(report) = run.report.as_deref() else {
        return String::new();
    };
    let mut parts = vec![
        format!("{} words", grouped(words(report) as u64, ' ')),
        pluralize(report.sources.len() as u64, "source"),
    ];
    let (quotes, claims) = (report.checks.quotes, report.checks.claims);
    for (name, it) in [("quotes verified", quotes), ("claims cited", claims)] {
        if it.total > 0 {
            parts.push(format!("{}/{} {name}", it.passed, it.total));
        }
    }
    if report.checks.removed > 0 {
        parts.push(format!("{} unsupported removed", report.checks.removed));
    }
    parts.push(clock(seconds));
    if let Some(usd) = report.usage.usd.filter(|usd| *usd > 0.0) {
        parts.push(format!("${usd:.2}"));
    }
    if let Some(usd) = run.charged_usd_at_most() {
        parts.push(format!("charged at most ${usd:.2}, with calls whose answer was lost"));
    }
    let mark =
        if report.claims().next().is_some() { paint.green("✓") } else { paint.yellow("○") };
    let mut out = format!("{mark} {}", parts.join(" · "));
    if let Some(path) = written_to {
        let _ = write!(out, " → {path}");
    }
    out
}

fn words(report: &Report) -> usize {
    report.claims().map(|claim| claim.text().split_whitespace().count()).sum()
}
