//! The list of runs.
use askama::Template;
use jiff::Timestamp;

use super::format::{
    NO_ANSWER, cost, duration, millis_between, relative_time, status_label, truncate,
};
use super::new_run::AskForm;
use super::shell::PageLayout;
use ibid_core::domain::{CoverageRow, Ratio, Vote};
use ibid_core::ports::RunRow;
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::ReportFormat;
use ibid_report::escape::single_line;

/// A small chart of the evidence over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sparkline {
    /// The line, from left to right, in a box of [`Sparkline::WIDE`] by `Sparkline::HIGH`.
    pub points: String,
    /// The total number of passages of evidence.
    pub evidence: u32,
}

impl Sparkline {
    /// The width of the drawing.
    pub const WIDE: usize = 64;
    /// The height of the drawing.
    pub(crate) const HIGH: usize = 18;
    /// The number of points.
    const STEPS: usize = 16;

    /// The chart of these events; `None` without evidence.
    pub fn from_events(events: &[Envelope]) -> Option<Sparkline> {
        let at = |envelope: &Envelope| {
            envelope.ts.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
        };
        let mut own = events.iter().filter(|event| !event.event.is_post_run());
        let (first, last) = (at(events.first()?)?, at(own.next_back()?)?);
        let whole = (last - first).max(1);
        let mut steps = [0_usize; Sparkline::STEPS];
        let mut count = 0_usize;
        for it in events {
            if !matches!(it.event, Event::EvidenceAdded { .. }) {
                continue;
            }
            let place = at(it)? - first;
            let step = usize::try_from(place * Sparkline::STEPS as i64 / whole).unwrap_or(0);
            steps[step.min(Sparkline::STEPS - 1)] += 1;
            count += 1;
        }
        if count == 0 {
            return None;
        }
        let mut points = format!("0,{}", Sparkline::HIGH - 1);
        let mut sum = 0;
        for (nth, n) in steps.iter().enumerate() {
            sum += n;
            let x = (nth + 1) * Sparkline::WIDE / Sparkline::STEPS;
            let y = Sparkline::HIGH - 1 - sum * (Sparkline::HIGH - 2) / count;
            points += &format!(" {x},{y}");
        }
        Some(Sparkline { points, evidence: u32::try_from(count).unwrap_or(u32::MAX) })
    }
}

/// The figures of a run that are not in its row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunStats {
    /// The covered share of the checklist.
    pub covered: Ratio,
    /// The verified quotes; `None` without a report.
    pub quotes: Option<Ratio>,
    /// Whether it waits for input.
    pub waits: bool,
    /// The models it uses, each once.
    pub models: Vec<String>,
    /// The chart of its evidence.
    pub spark: Option<Sparkline>,
}

impl RunStats {
    /// The figures of `run` with these events.
    pub fn from_events(run: &Run, events: &[Envelope]) -> RunStats {
        let mut models: Vec<String> = run
            .question
            .iter()
            .flat_map(|it| it.models.values())
            .map(|it| single_line(it))
            .collect();
        models.sort();
        models.dedup();
        let report = run.report.as_deref();
        let rows = report.map_or(&run.coverage, |report| &report.coverage);
        RunStats {
            covered: Ratio {
                passed: CoverageRow::counts(rows).satisfied,
                total: rows.len() as u32,
            },
            quotes: report.map(|report| report.checks.quotes),
            waits: run.awaiting_approval || run.awaiting_clarification,
            models,
            spark: Sparkline::from_events(events),
        }
    }

    /// Whether it uses this model; `none` matches runs without a model.
    pub(crate) fn uses_model(&self, model: &str) -> bool {
        match model {
            "none" => self.models.is_empty(),
            it => self.models.iter().any(|known| known == it),
        }
    }
}

/// One run of the list.
#[derive(Debug, Clone)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The CSS class of its state.
    pub class: &'static str,
    /// The label of its state.
    pub word: &'static str,
    /// When it started, RFC 3339.
    pub when: String,
    /// How long ago that was.
    pub age: String,
    /// Its duration so far.
    pub took: String,
    /// What was spent on models.
    pub cost: String,
    /// The covered share of the checklist.
    pub covered: Option<Ratio>,
    /// The verified quotes.
    pub quotes: Option<Ratio>,
    /// The reader's rating.
    pub rating: Option<&'static str>,
    /// Whether it is a follow-up.
    pub follows: bool,
    /// The models it uses.
    pub models: String,
    /// The chart of its evidence.
    pub spark: Option<Sparkline>,
    /// The address it links to.
    pub href: String,
}

impl RunLine {
    /// The date of its start, `YYYY-MM-DD`.
    pub fn day(&self) -> &str {
        self.when.get(..10).unwrap_or_default()
    }

    /// The line of a run.
    pub fn new(row: &RunRow, stats: &RunStats, now: Timestamp) -> RunLine {
        let (class, word) = if stats.waits && !row.status.ended() {
            ("waits", "needs input")
        } else if row.has_no_answer() {
            NO_ANSWER
        } else {
            status_label(row.status)
        };
        let id = row.run_id.to_string();
        let until = if row.status.ended() { row.updated_at.clone() } else { now.to_string() };
        RunLine {
            question: truncate(&row.question, 200),
            class,
            word,
            when: row.started_at.clone(),
            age: relative_time(&row.started_at, now),
            took: millis_between(&row.started_at, &until).map_or_else(String::new, duration),
            cost: cost(&row.usage),
            covered: Some(stats.covered).filter(|it| it.total > 0),
            quotes: stats.quotes.filter(|it| it.total > 0),
            rating: row.rating.map(|rating| match rating {
                Vote::Up => "rated good",
                Vote::Down => "rated not good",
            }),
            follows: row.follows.is_some(),
            models: stats.models.join(", "),
            spark: stats.spark.clone(),
            href: if stats.quotes.is_some() {
                format!("/r/{id}/report")
            } else {
                format!("/r/{id}")
            },
            id,
        }
    }
}

/// The choices of the status filter: value, label.
pub(crate) const STATUSES: [(&str, &str); 7] = [
    ("", "any status"),
    ("pending", "waiting"),
    ("in_progress", "working"),
    ("completed", "completed"),
    ("max_iterations_reached", "round limit reached"),
    ("cancelled", "cancelled"),
    ("failed", "failed"),
];

/// The page.
#[derive(Template)]
#[template(path = "runs.html")]
pub struct RunsPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The form for a question, above the whole list.
    pub ask: Option<AskForm>,
    /// The runs, newest first.
    pub lines: Vec<RunLine>,
    /// The text filter.
    pub q: String,
    /// The status filter.
    pub status: String,
    /// The model filter.
    pub model: String,
    /// The choices of the model filter: value, label.
    pub models: Vec<(String, String)>,
    /// The first day of the date filter, `YYYY-MM-DD`.
    pub since: String,
    /// The last day of the date filter, `YYYY-MM-DD`.
    pub until: String,
    /// The address of the next page.
    pub older: Option<String>,
    /// Whether this is not the first page.
    pub later: bool,
    /// Whether any of them has not ended, so that the page is refreshed.
    pub moving: bool,
}

impl RunsPage {
    fn statuses(&self) -> [(&'static str, &'static str); 7] {
        STATUSES
    }

    fn filtered(&self) -> bool {
        !self.q.is_empty() || self.narrowed()
    }

    /// Whether a filter besides the text is set, so that the filters are unfolded.
    fn narrowed(&self) -> bool {
        [&self.status, &self.model, &self.since, &self.until].iter().any(|it| !it.is_empty())
    }

    /// The available report formats.
    fn forms(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let built = ReportFormat::ALL.iter().filter(|it| it.is_built());
        built.map(|it| (it.info().name, it.info().label))
    }
}

/// A run on the page that confirms deletion.
#[derive(Debug, Clone)]
pub struct DeletionCandidate {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Whether it has ended and so can be deleted.
    pub ended: bool,
}

/// The page that confirms deletion.
#[derive(Template)]
#[template(path = "delete.html")]
pub struct DeletePage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The runs.
    pub runs: Vec<DeletionCandidate>,
}

impl DeletePage {
    fn ended(&self) -> usize {
        self.runs.iter().filter(|run| run.ended).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::record::{Phase, RunOutcome};

    fn envelope(seconds: i64, event: Event) -> Envelope {
        let ts = Timestamp::from_second(1_763_900_000 + seconds).unwrap();
        Envelope {
            seq: 1,
            ts: ts.to_string(),
            run: "r_01J00000000000000000000000".parse().unwrap(),
            event,
            phase: Phase::Run,
            round: None,
            agent: None,
            span: None,
        }
    }

    #[test]
    fn a_run_without_evidence_has_no_line() {
        assert_eq!(Sparkline::from_events(&[]), None);
        let only = [envelope(0, Event::RunStarted {})];
        assert_eq!(Sparkline::from_events(&only), None);
        let done = Event::RunCompleted {
            status: RunOutcome::Completed,
            stop_reason: ibid_core::domain::StopReason::CoverageReached,
            usage: ibid_core::domain::Usage::default(),
        };
        assert_eq!(
            Sparkline::from_events(&[envelope(0, Event::RunStarted {}), envelope(9, done)]),
            None
        );
    }
}
