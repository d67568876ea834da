//! A run as it goes: meters, phases, what is covered round by round, what happens.
use askama::Template;
use jiff::Timestamp;

use super::Shell;
use super::draft::Draft;
use super::feed::{self, Group, Told};
use super::words::{between, clip, cost, money, phase, sentence, state, thousands, took};
use crate::domain::{Coverage, CoverageRow, StopReason};
use crate::record::{Envelope, Phase, Run};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::{counted, stopped};

/// Events shown at most; earlier ones have pages of their own.
pub const SHOWN: usize = 250;

/// What stands above every page of a run.
#[derive(Debug, Clone)]
pub struct Head {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// Class of its state.
    pub class: &'static str,
    /// Its state.
    pub word: &'static str,
    /// Which of its pages this is.
    pub here: &'static str,
    /// Whether there is a report.
    pub report: bool,
    /// Whether it has ended.
    pub ended: bool,
    /// Whether there is still something to add to it: it is not being written yet.
    pub open: bool,
    /// The run it follows.
    pub follows: Option<String>,
}

impl Head {
    /// The head of a run's page `here`.
    pub fn of(run: &Run, here: &'static str) -> Head {
        let (class, word) = state(run);
        let question = run.question.as_ref();
        Head {
            id: run.id.to_string(),
            question: question.map_or_else(String::new, |it| line(&it.text)),
            class,
            word,
            here,
            report: run.report.is_some(),
            ended: run.status.ended(),
            open: !run.status.ended() && !matches!(run.phase, Phase::Write | Phase::Check),
            follows: question
                .and_then(|it| it.follows.as_ref())
                .map(|it| it.run.to_string()),
        }
    }

    /// The pages of a run: word, name, address.
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
        all.into_iter()
            .filter(|it| it.0 != "report" || self.report)
            .collect()
    }
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meter {
    /// What it is of.
    pub name: &'static str,
    /// The figure.
    pub value: String,
    /// What else is to be known of it.
    pub more: String,
    /// How much of its bound is used, in hundredths.
    pub share: Option<u32>,
}

/// A step of the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Its name.
    pub name: String,
    /// `past`, `now`, `next`.
    pub when: &'static str,
}

/// A cell of the coverage matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// New passages of evidence.
    pub n: u32,
    /// How dark it is, 0 to 4.
    pub shade: u32,
}

/// A row of the coverage matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// `Q1`, `Q2`, …
    pub id: String,
    /// What it asks.
    pub text: String,
    /// Class of how far it is covered.
    pub class: &'static str,
    /// How far it is covered.
    pub word: &'static str,
    /// Round by round.
    pub cells: Vec<Cell>,
    /// Passages of evidence.
    pub evidence: u32,
    /// Distinct sources.
    pub sources: u32,
    /// What is missing.
    pub gap: Option<String>,
}

/// A researcher.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Passages of evidence it found.
    pub evidence: u32,
    /// What it did last, latest first.
    pub lines: Vec<Told>,
}

/// What the run waits for.
#[derive(Debug, Clone)]
pub enum Waits {
    /// For answers to these questions.
    Answers(Vec<String>),
    /// For a word on the plan, told so.
    Approval(String),
}

/// Where a run stands.
#[derive(Debug, Clone, Template)]
#[template(path = "state.html")]
pub struct State {
    /// Its head.
    pub head: Head,
    /// Figures.
    pub meters: Vec<Meter>,
    /// The way from question to report.
    pub way: Vec<Stop>,
    /// Rounds that the matrix has columns for.
    pub rounds: u32,
    /// The matrix.
    pub questions: Vec<Question>,
    /// Who is at work, where there are several.
    pub agents: Vec<Agent>,
    /// What is told of the draft while it is written and checked; nothing once the run has ended.
    pub draft: Option<Draft>,
    /// What happened, latest first.
    pub feed: Vec<Group>,
    /// Where earlier events are.
    pub earlier: Option<String>,
    /// What it waits for.
    pub waits: Option<Waits>,
    /// Why it failed, and what would help.
    pub fault: Option<(String, Option<String>)>,
    /// Why looking stopped.
    pub stopped: Option<&'static str>,
    /// One sentence for who listens.
    pub summary: String,
    /// Whether it was asked to finish already.
    pub finishing: bool,
    /// Number of the last event.
    pub seq: u64,
}

impl State {
    /// Where `run` stands, as `events` tell up to event `before`, where that is given. `plan` is the plan in words, where there is one.
    pub fn of(
        run: &Run,
        events: &[Envelope],
        before: Option<u64>,
        plan: Option<String>,
        now: Timestamp,
    ) -> State {
        let begun = run.started_at.clone().unwrap_or_default();
        let upto = before.map_or(events.len(), |seq| {
            events.partition_point(|it| it.seq < seq)
        });
        let first = shown_from(&events[..upto]);
        let rows = rows(run);
        let rounds = rows
            .iter()
            .map(|it| it.by_wave.len() as u32)
            .max()
            .unwrap_or(0)
            .max(run.wave);
        State {
            head: Head::of(run, "live"),
            meters: meters(run, now),
            way: way(run),
            rounds,
            questions: rows.iter().map(|it| question(it, rounds)).collect(),
            agents: agents(events, &begun),
            draft: match run.status.ended() || before.is_some() {
                true => None,
                false => Draft::of(events),
            },
            earlier: (first > 0)
                .then(|| events.get(first))
                .flatten()
                .map(|it| format!("/r/{}?before={}#feed", run.id, it.seq)),
            feed: feed::groups(&events[first..upto], &begun),
            waits: match (run.awaiting_clarification, run.awaiting_approval) {
                (true, _) => Some(Waits::Answers(run.asks.iter().map(|it| line(it)).collect())),
                (_, true) => Some(Waits::Approval(plan.unwrap_or_default())),
                _ => None,
            },
            fault: run
                .error
                .as_deref()
                .map(|it| (told(it), run.hint.as_deref().map(told))),
            stopped: run
                .stop_reason
                .filter(|_| run.report.is_some())
                .map(stopped),
            summary: summary(run),
            finishing: run.stop_reason == Some(StopReason::UserFinish),
            seq: run.seq,
        }
    }

    fn columns(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.rounds
    }
}

/// From which event on there are at most [`SHOWN`] that make a line.
fn shown_from(events: &[Envelope]) -> usize {
    let mut lines = 0;
    for (at, it) in events.iter().enumerate().rev() {
        lines += usize::from(feed::told(it, "").is_some());
        if lines > SHOWN {
            return at + 1;
        }
    }
    0
}

/// Where every question stands: as told, else as planned.
fn rows(run: &Run) -> Vec<CoverageRow> {
    if !run.coverage.is_empty() {
        return run.coverage.clone();
    }
    let planned = run.plan.iter().flat_map(|it| it.items());
    planned
        .map(|it| CoverageRow::open(it.id, it.asks.clone()))
        .collect()
}

fn question(it: &CoverageRow, rounds: u32) -> Question {
    let (class, word) = covered(it.state);
    let cell = |round: u32| {
        let n = it.by_wave.get(round as usize - 1).copied().unwrap_or(0);
        Cell {
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
    Question {
        id: it.id.to_string(),
        text: line(&it.text),
        class,
        word,
        cells: (1..=rounds).map(cell).collect(),
        evidence: it.evidence,
        sources: it.sources,
        gap: it.gap.as_deref().map(line),
    }
}

/// How far something is covered: class and word.
pub fn covered(it: Coverage) -> (&'static str, &'static str) {
    match it {
        Coverage::Open => ("open", "open"),
        Coverage::Partial => ("partial", "partial"),
        Coverage::Covered => ("covered", "covered"),
        Coverage::Conflict => ("conflict", "in conflict"),
    }
}

fn meters(run: &Run, now: Timestamp) -> Vec<Meter> {
    let budget = run
        .question
        .as_ref()
        .map(|it| it.budget)
        .unwrap_or_default();
    let begun = run.started_at.clone().unwrap_or_default();
    let until = match run.status.ended() {
        true => run.updated_at.clone().unwrap_or_default(),
        false => now.to_string(),
    };
    let ms = between(&begun, &until).unwrap_or_default();
    let share =
        |used: f64, most: f64| (most > 0.0).then(|| (used / most * 100.0).clamp(0.0, 100.0) as u32);
    let usage = &run.usage;
    let seconds = budget.seconds;
    let searched = u64::from(run.searches).max(usage.searches);
    let satisfied = CoverageRow::counts(&run.coverage).satisfied;
    let total = rows(run).len();
    vec![
        Meter {
            name: "Time",
            value: took(ms),
            more: seconds.map_or_else(String::new, |it| {
                format!(
                    "of {}",
                    took(i64::try_from(it).unwrap_or(i64::MAX).saturating_mul(1_000))
                )
            }),
            share: seconds.and_then(|it| share(ms as f64 / 1_000.0, it as f64)),
        },
        Meter {
            name: "Cost",
            value: cost(usage),
            more: budget
                .usd
                .map_or_else(String::new, |it| format!("of {}", money(it))),
            share: budget
                .usd
                .and_then(|it| share(usage.usd.unwrap_or(0.0), it)),
        },
        Meter {
            name: "Tokens",
            value: thousands(usage.tokens_in + usage.tokens_out),
            more: match usage.model_calls {
                0 => "no model".to_owned(),
                n => counted(n, "call"),
            },
            share: None,
        },
        Meter {
            name: "Searches",
            value: thousands(searched),
            more: budget
                .searches
                .map_or_else(String::new, |it| format!("of {it}")),
            share: budget
                .searches
                .and_then(|it| share(searched as f64, it as f64)),
        },
        Meter {
            name: "Pages read",
            value: thousands(u64::from(run.pages)),
            more: match run.failed_pages {
                0 => budget
                    .pages
                    .map_or_else(String::new, |it| format!("of {it}")),
                n => format!("{n} not readable"),
            },
            share: budget
                .pages
                .and_then(|it| share(f64::from(run.pages), it as f64)),
        },
        Meter {
            name: "Evidence",
            value: thousands(u64::from(run.evidence)),
            more: "passages".to_owned(),
            share: None,
        },
        Meter {
            name: "Covered",
            value: format!("{satisfied}/{total}"),
            more: "questions".to_owned(),
            share: share(f64::from(satisfied), total as f64),
        },
    ]
}

/// Words of an error as a sentence of one line.
fn told(words: &str) -> String {
    sentence(&line(words))
}

fn way(run: &Run) -> Vec<Stop> {
    // Where it is: 0 the question, 1 the plan, 2 the rounds, 3 writing, 4 checking, 5 the end.
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
    let stop = |name: &str, when| Stop {
        name: name.to_owned(),
        when,
    };
    let mut out = vec![stop("Question", when(0)), stop("Plan", when(1))];
    let rounds = run.wave.max(1);
    for round in 1..=rounds {
        out.push(Stop {
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

/// Lines shown of each researcher.
const LINES_EACH: usize = 4;

fn agents(events: &[Envelope], begun: &str) -> Vec<Agent> {
    let mut out: Vec<Agent> = Vec::new();
    for it in events.iter().rev() {
        let Some(name) = &it.agent else { continue };
        let name = line(name);
        let at = match out.iter().position(|known| known.name == name) {
            Some(at) => at,
            None => {
                out.push(Agent {
                    name,
                    evidence: 0,
                    lines: Vec::new(),
                });
                out.len() - 1
            }
        };
        let Some(agent) = out.get_mut(at) else {
            continue;
        };
        if matches!(it.event, crate::record::Event::EvidenceAdded { .. }) {
            agent.evidence += 1;
        }
        if agent.lines.len() < LINES_EACH {
            agent.lines.extend(feed::told(it, begun));
        }
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

/// One sentence for who listens.
fn summary(run: &Run) -> String {
    let (_, word) = state(run);
    let satisfied = CoverageRow::counts(&run.coverage).satisfied;
    if run.status.ended() {
        return format!("The run has ended: {word}.");
    }
    if run.awaiting_approval || run.awaiting_clarification {
        return "The run waits for you.".to_owned();
    }
    format!(
        "{}: {} read, {satisfied} of {} covered.",
        clip(phase(run.phase), 60),
        counted(u64::from(run.pages), "page"),
        counted(rows(run).len() as u64, "question")
    )
}

/// The page.
#[derive(Template)]
#[template(path = "live.html")]
pub struct Live {
    /// What surrounds it.
    pub shell: Shell,
    /// Where the run stands.
    pub state: State,
    /// Whether earlier events are shown, so that it must not be refreshed.
    pub past: bool,
}
