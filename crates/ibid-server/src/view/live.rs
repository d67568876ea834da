//! The live page of a run: meters, phases, coverage by round, events.
use askama::Template;
use jiff::Timestamp;

use super::draft::DraftView;
use super::feed::{self, FailureList, FeedGroup};
use super::format::{
    cost, coverage_label, duration, millis_between, money, phase_label, run_state, sentence,
    thousands, truncate,
};
use super::gate::GateView;
use super::meter::RunMeter;
use super::outline::{self, OutlineEntry};
use super::researchers::{ResearcherView, researchers};
use super::shell::PageLayout;
use ibid_core::domain::{CoverageRow, StopReason};
use ibid_core::record::{Envelope, Phase, Run};
use ibid_report::escape::single_line;
use ibid_report::markdown::{one_source_note, pluralize};

/// Maximum number of events of one page; earlier ones are on further pages.
pub(crate) const MAX_EVENTS: usize = 250;

/// The header of every page of a run.
#[derive(Debug, Clone)]
pub struct RunHeader {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The CSS class of its state.
    pub class: &'static str,
    /// The label of its state.
    pub word: &'static str,
    /// The active tab.
    pub here: &'static str,
    /// Whether there is a report.
    pub report: bool,
    /// Whether it has ended.
    pub ended: bool,
    /// Whether it can still be steered: it is not writing its report yet.
    pub open: bool,
    /// The run it follows.
    pub follows: Option<String>,
}

impl RunHeader {
    /// The header of the page `here`.
    pub fn new(run: &Run, here: &'static str) -> RunHeader {
        let (class, word) = run_state(run);
        let question = run.question.as_ref();
        RunHeader {
            id: run.id.to_string(),
            question: question.map_or_else(String::new, |it| single_line(&it.text)),
            class,
            word,
            here,
            report: run.report.is_some(),
            ended: run.status.ended(),
            open: !run.status.ended() && !matches!(run.phase, Phase::Write | Phase::Check),
            follows: question
                .and_then(|question| question.follows.as_ref())
                .map(|follows| follows.run.to_string()),
        }
    }

    /// The tabs of a run: id, label, address.
    pub fn tabs(&self) -> Vec<(&'static str, &'static str, String)> {
        let at = |rest: &str| format!("/r/{}{rest}", self.id);
        let all = [
            ("report", "Report", at("/report")),
            ("live", "Run", at("")),
            ("evidence", "Evidence", at("/evidence")),
            ("sources", "Sources", at("/sources")),
            ("timeline", "Timeline", at("/timeline")),
            ("trace", "Trace", at("/trace")),
        ];
        all.into_iter().filter(|pair| pair.0 != "report" || self.report).collect()
    }
}

/// A step of the progress bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressStep {
    /// Its name.
    pub name: String,
    /// `past`, `now`, `next`.
    pub when: &'static str,
}

/// A cell of the coverage matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoverageCell {
    /// The number of new passages of evidence.
    pub n: u32,
    /// The shade, 0 to 4.
    pub shade: u32,
}

/// A row of the coverage matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRow {
    /// `Q1`, `Q2`, …
    pub id: String,
    /// The question.
    pub text: String,
    /// The CSS class of its coverage.
    pub class: &'static str,
    /// The label of its coverage.
    pub word: &'static str,
    /// One cell per round.
    pub cells: Vec<CoverageCell>,
    /// Passages of evidence.
    pub evidence: u32,
    /// The number of distinct sources.
    pub sources: u32,
    /// What is missing.
    pub gap: Option<String>,
}

/// The input that a run waits for.
#[derive(Debug, Clone)]
pub enum PendingInput {
    /// Answers to these questions.
    Answers(Vec<String>),
    /// Approval of the plan, given in prose.
    Approval(String),
}

/// The state of a run: the part of the live page that is refreshed.
#[derive(Debug, Clone, Template)]
#[template(path = "run_state.html")]
pub struct RunStateView {
    /// Its header.
    pub head: RunHeader,
    /// The meters.
    pub meters: Vec<RunMeter>,
    /// The progress from question to report.
    pub way: Vec<ProgressStep>,
    /// The number of columns of the coverage matrix.
    pub rounds: u32,
    /// The rows of the coverage matrix.
    pub questions: Vec<QuestionRow>,
    /// The outline of the report, until there is one.
    pub outline: Vec<OutlineEntry>,
    /// The evidence gate, once it was judged.
    pub gate: Option<GateView>,
    /// The researchers, if there are several.
    pub agents: Vec<ResearcherView>,
    /// The draft while it is written and checked; `None` once the run has ended.
    pub draft: Option<DraftView>,
    /// The passage that answers best, until there is a draft.
    pub best: Option<String>,
    /// The short answer of the report.
    pub answer: Vec<String>,
    /// Its label, and its confidence with the reasons: a nearest passage is no answer.
    pub answer_label: Option<(String, String)>,
    /// What the report says before anything else.
    pub notice: Option<&'static str>,
    /// What failed on the way.
    pub failures: FailureList,
    /// The events, latest first.
    pub feed: Vec<FeedGroup>,
    /// The address of earlier events.
    pub earlier: Option<String>,
    /// The input it waits for.
    pub waits: Option<PendingInput>,
    /// Why it failed, and how to fix it.
    pub fault: Option<(String, Option<String>)>,
    /// Why the research stopped.
    pub stopped: Option<&'static str>,
    /// One sentence for screen readers.
    pub summary: String,
    /// Whether it was asked to finish.
    pub finishing: bool,
    /// Number of the last event.
    pub seq: u64,
}

impl RunStateView {
    /// The state of `run`, with its events before event `before`, if given. `plan` is the plan in prose, if it awaits approval.
    pub fn new(
        run: &Run,
        events: &[Envelope],
        before: Option<u64>,
        plan: Option<String>,
        now: Timestamp,
    ) -> RunStateView {
        let begun = run.started_at.clone().unwrap_or_default();
        let upto =
            before.map_or(events.len(), |seq| events.partition_point(|event| event.seq < seq));
        let first = first_shown(&events[..upto]);
        let rows = run.coverage_rows();
        let rounds =
            rows.iter().map(|row| row.by_round.len() as u32).max().unwrap_or(0).max(run.round);
        let draft = if run.status.ended() || before.is_some() {
            None
        } else {
            DraftView::from_events(events)
        };
        let mut outline = match run.report {
            Some(_) => Vec::new(),
            None => outline::outline(run, events, draft.as_ref()),
        };
        let best = if draft.is_none() && !run.status.ended() {
            outline.iter_mut().find_map(|entry| entry.passage.take())
        } else {
            None
        };
        RunStateView {
            head: RunHeader::new(run, "live"),
            meters: meters(run, now),
            way: progress_steps(run),
            rounds,
            questions: rows.iter().map(|row| question(row, rounds)).collect(),
            outline,
            gate: GateView::new(run, events),
            agents: researchers(run, events, &begun),
            draft,
            best,
            answer: short_answer(run),
            answer_label: answer_label(run),
            notice: run.report.as_deref().and_then(one_source_note),
            failures: FailureList::from_events(events, &begun),
            earlier: (first > 0)
                .then(|| events.get(first))
                .flatten()
                .map(|it| format!("/r/{}?before={}#feed", run.id, it.seq)),
            feed: feed::groups(&events[first..upto], &begun),
            waits: match (run.awaiting_clarification, run.awaiting_approval) {
                (true, _) => Some(PendingInput::Answers(
                    run.asks.iter().map(|ask| single_line(ask)).collect(),
                )),
                (_, true) => Some(PendingInput::Approval(plan.unwrap_or_default())),
                _ => None,
            },
            fault: run
                .error
                .as_deref()
                .map(|error| (error_sentence(error), run.hint.as_deref().map(error_sentence))),
            stopped: run.stop_reason.filter(|_| run.report.is_some()).map(StopReason::phrase),
            summary: summary(run),
            finishing: run.stop_reason == Some(StopReason::UserFinish),
            seq: run.seq,
        }
    }

    /// Whether a call, a step or a researcher failed.
    fn has_failures(&self) -> bool {
        !self.failures.lines.is_empty() || self.agents.iter().any(|it| it.failure.is_some())
    }

    fn columns(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.rounds
    }
}

/// The index from which on at most [`MAX_EVENTS`] events have a line.
fn first_shown(events: &[Envelope]) -> usize {
    let mut lines = 0;
    for (at, it) in events.iter().enumerate().rev() {
        lines += usize::from(feed::feed_line(it, "").is_some());
        if lines > MAX_EVENTS {
            return at + 1;
        }
    }
    0
}

fn question(it: &CoverageRow, rounds: u32) -> QuestionRow {
    let (class, word) = coverage_label(it.state);
    let cell = |round: u32| {
        let n = it.by_round.get(round as usize - 1).copied().unwrap_or(0);
        CoverageCell {
            n,
            shade: match n {
                0 => 0,
                1..=2 => 1,
                3..=5 => 2,
                6..=10 => 3,
                _ => 4,
            },
        }
    };
    QuestionRow {
        id: it.id.to_string(),
        text: single_line(&it.text),
        class,
        word,
        cells: (1..=rounds).map(cell).collect(),
        evidence: it.evidence,
        sources: it.sources,
        gap: it.gap.as_deref().map(single_line),
    }
}

fn meters(run: &Run, now: Timestamp) -> Vec<RunMeter> {
    let budget = run.question.as_ref().map(|question| question.budget).unwrap_or_default();
    let begun = run.started_at.clone().unwrap_or_default();
    let until = if run.status.ended() {
        run.updated_at.clone().unwrap_or_default()
    } else {
        now.to_string()
    };
    let ms = millis_between(&begun, &until).unwrap_or_default();
    let share =
        |used: f64, most: f64| (most > 0.0).then(|| (used / most * 100.0).clamp(0.0, 100.0) as u32);
    let usage = &run.usage;
    let seconds = budget.seconds;
    let searched = u64::from(run.searches).max(usage.searches);
    let satisfied = CoverageRow::counts(&run.coverage).satisfied;
    let total = run.coverage_rows().len();
    vec![
        RunMeter {
            name: "Time",
            value: duration(ms),
            more: seconds.map_or_else(String::new, |it| {
                format!(
                    "of {}",
                    duration(i64::try_from(it).unwrap_or(i64::MAX).saturating_mul(1_000))
                )
            }),
            share: seconds.and_then(|seconds| share(ms as f64 / 1_000.0, seconds as f64)),
        },
        RunMeter {
            name: "Cost",
            // Calls whose answer was lost are charged as if they had cost as much as they could.
            value: run
                .charged_usd_at_most()
                .map_or_else(|| cost(usage), |usd| format!("at most {}", money(usd))),
            more: budget.usd.map_or_else(String::new, |it| format!("of {}", money(it))),
            share: budget.usd.and_then(|most| {
                share(run.charged_usd_at_most().or(usage.usd).unwrap_or(0.0), most)
            }),
        },
        RunMeter {
            name: "Tokens",
            value: thousands(usage.tokens_in + usage.tokens_out),
            more: match usage.model_calls {
                0 => "no model".to_owned(),
                n => pluralize(n, "call"),
            },
            share: None,
        },
        RunMeter {
            name: "Searches",
            value: thousands(searched),
            more: budget.searches.map_or_else(String::new, |it| format!("of {it}")),
            share: budget.searches.and_then(|searches| share(searched as f64, searches as f64)),
        },
        RunMeter {
            name: "Pages read",
            value: thousands(u64::from(run.pages)),
            more: match run.failed_pages {
                0 => budget.pages.map_or_else(String::new, |it| format!("of {it}")),
                n => format!("{n} not read"),
            },
            share: budget.pages.and_then(|pages| share(f64::from(run.pages), pages as f64)),
        },
        RunMeter {
            name: "Evidence",
            value: thousands(u64::from(run.evidence)),
            more: "passages".to_owned(),
            share: None,
        },
        RunMeter {
            name: "Covered",
            value: if total == 0 { "–".to_owned() } else { format!("{satisfied}/{total}") },
            more: if total == 0 { "no plan yet" } else { "items" }.to_owned(),
            share: share(f64::from(satisfied), total as f64),
        },
    ]
}

/// The sentences of the short answer, or the answer in one line.
fn short_answer(run: &Run) -> Vec<String> {
    let Some(report) = run.report.as_deref() else {
        return Vec::new();
    };
    let line = report.answer.iter().filter(|_| report.short.is_empty());
    let short = report.short.iter().map(|claim| claim.text());
    short.chain(line.map(|it| it.text.as_str())).map(single_line).collect()
}

/// The label of the short answer, and its confidence with the reasons.
fn answer_label(run: &Run) -> Option<(String, String)> {
    let report = run.report.as_deref().filter(|it| !it.short.is_empty())?;
    let why: Vec<String> = report.confidence.why.iter().map(|it| single_line(it)).collect();
    let level = report.confidence.level.as_str();
    let sure =
        if why.is_empty() { level.to_owned() } else { format!("{level}: {}", why.join("; ")) };
    Some((report.short_answer_label().into_owned(), sure))
}

/// An error message as a sentence on one line.
fn error_sentence(words: &str) -> String {
    sentence(&single_line(words))
}

fn progress_steps(run: &Run) -> Vec<ProgressStep> {
    // The current step: 0 question, 1 plan, 2 rounds, 3 writing, 4 checking, 5 report.
    let reached = match (run.status.ended() && run.report.is_some(), run.phase) {
        (true, _) => 5,
        (_, Phase::Intake) => 0,
        (_, Phase::Plan) => 1,
        (_, Phase::Research) => 2,
        (_, Phase::Write) => 3,
        (_, Phase::Check) => 4,
        (_, Phase::Run) if run.plan.is_some() => 2,
        (_, Phase::Run) => 0,
    };
    let when = |place: u32| match place.cmp(&reached) {
        std::cmp::Ordering::Less => "past",
        std::cmp::Ordering::Equal => "now",
        std::cmp::Ordering::Greater => "next",
    };
    let stop = |name: &str, when| ProgressStep { name: name.to_owned(), when };
    let mut out = vec![stop("Question", when(0)), stop("Plan", when(1))];
    let rounds = run.round.max(1);
    for round in 1..=rounds {
        out.push(ProgressStep {
            name: format!("Round {round}"),
            when: match reached {
                2 if round < rounds => "past",
                _ => when(2),
            },
        });
    }
    out.extend([
        stop("Writing", when(3)),
        stop("Checking", when(4)),
        stop("Report", if reached == 5 { "past" } else { "next" }),
    ]);
    out
}

/// One sentence for screen readers.
fn summary(run: &Run) -> String {
    let (_, word) = run_state(run);
    let satisfied = CoverageRow::counts(&run.coverage).satisfied;
    if run.status.ended() {
        return format!("The run has ended: {word}.");
    }
    if run.awaiting_approval || run.awaiting_clarification {
        return "The run is waiting for you.".to_owned();
    }
    format!(
        "{}: {} read, {satisfied} of {} covered.",
        truncate(phase_label(run.phase), 60),
        pluralize(u64::from(run.pages), "page"),
        pluralize(run.coverage_rows().len() as u64, "item")
    )
}

/// The page.
#[derive(Template)]
#[template(path = "live.html")]
pub struct LivePage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The state of the run.
    pub state: RunStateView,
    /// Whether earlier events are shown, so that the page is not refreshed.
    pub past: bool,
}
