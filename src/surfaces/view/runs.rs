//! The list of runs.
use askama::Template;
use jiff::Timestamp;

use super::Shell;
use super::words::{age, between, clip, cost, status, took};
use crate::domain::{Counted, CoverageRow, Vote};
use crate::record::{Envelope, Event, Run};
use crate::seams::RunRow;
use crate::surfaces::export::Form;
use crate::surfaces::export::escape::line;

/// Evidence as it came, drawn small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spark {
    /// The line, from left to right, in a box of [`Spark::WIDE`] by [`Spark::HIGH`].
    pub points: String,
    /// Passages of evidence in the end.
    pub evidence: u32,
}

impl Spark {
    /// How wide and how high the drawing is.
    pub const WIDE: usize = 64;
    /// See [`Spark::WIDE`].
    pub const HIGH: usize = 18;
    /// Moments that are drawn.
    const STEPS: usize = 16;

    /// That of these events; none where no evidence came.
    pub fn of(events: &[Envelope]) -> Option<Spark> {
        let at = |it: &Envelope| {
            it.ts
                .parse::<Timestamp>()
                .ok()
                .map(Timestamp::as_millisecond)
        };
        let mut own = events.iter().filter(|it| !it.event.is_afterword());
        let (first, last) = (at(events.first()?)?, at(own.next_back()?)?);
        let whole = (last - first).max(1);
        let mut steps = [0_usize; Spark::STEPS];
        let mut count = 0_usize;
        for it in events {
            if !matches!(it.event, Event::EvidenceAdded { .. }) {
                continue;
            }
            let place = at(it)? - first;
            let step = usize::try_from(place * Spark::STEPS as i64 / whole).unwrap_or(0);
            steps[step.min(Spark::STEPS - 1)] += 1;
            count += 1;
        }
        if count == 0 {
            return None;
        }
        let mut points = format!("0,{}", Spark::HIGH - 1);
        let mut sum = 0;
        for (nth, n) in steps.iter().enumerate() {
            sum += n;
            let x = (nth + 1) * Spark::WIDE / Spark::STEPS;
            let y = Spark::HIGH - 1 - sum * (Spark::HIGH - 2) / count;
            points += &format!(" {x},{y}");
        }
        Some(Spark {
            points,
            evidence: u32::try_from(count).unwrap_or(u32::MAX),
        })
    }
}

/// What of a run does not stand in its row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Glance {
    /// Points of a complete answer that are covered.
    pub covered: Counted,
    /// Quotes that were verified, where there is a report.
    pub quotes: Option<Counted>,
    /// Whether it waits for a person.
    pub waits: bool,
    /// The models that it was asked with, each once.
    pub models: Vec<String>,
    /// Its evidence as it came.
    pub spark: Option<Spark>,
}

impl Glance {
    /// That of this run, as `events` tell it.
    pub fn of(run: &Run, events: &[Envelope]) -> Glance {
        let mut models: Vec<String> = run
            .question
            .iter()
            .flat_map(|it| it.models.values())
            .map(|it| line(it))
            .collect();
        models.sort();
        models.dedup();
        let report = run.report.as_deref();
        let rows = report.map_or(&run.coverage, |it| &it.coverage);
        Glance {
            covered: Counted {
                held: CoverageRow::counts(rows).satisfied,
                total: rows.len() as u32,
            },
            quotes: report.map(|it| it.checks.quotes),
            waits: run.awaiting_approval || run.awaiting_clarification,
            models,
            spark: Spark::of(events),
        }
    }

    /// Whether it was asked with this model; `none` is one asked without any.
    pub fn is_with(&self, model: &str) -> bool {
        match model {
            "none" => self.models.is_empty(),
            it => self.models.iter().any(|known| known == it),
        }
    }
}

/// One run of the list.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// Class of its state.
    pub class: &'static str,
    /// Its state.
    pub word: &'static str,
    /// When it began, RFC 3339.
    pub when: String,
    /// How long ago that is.
    pub age: String,
    /// How long it took, or has taken.
    pub took: String,
    /// What was spent on models.
    pub cost: String,
    /// Points covered.
    pub covered: Option<Counted>,
    /// Quotes verified.
    pub quotes: Option<Counted>,
    /// What a reader thought of it.
    pub rating: Option<&'static str>,
    /// Whether it is a follow-up.
    pub follows: bool,
    /// The models that it was asked with.
    pub models: String,
    /// Its evidence as it came.
    pub spark: Option<Spark>,
    /// Where it leads.
    pub href: String,
}

impl Line {
    /// The day it began, `YYYY-MM-DD`.
    pub fn day(&self) -> &str {
        self.when.get(..10).unwrap_or_default()
    }

    /// The line of a run.
    pub fn of(row: &RunRow, glance: &Glance, now: Timestamp) -> Line {
        let (class, word) = match glance.waits && !row.status.ended() {
            true => ("waits", "waits for you"),
            false => status(row.status),
        };
        let id = row.run_id.to_string();
        let until = match row.status.ended() {
            true => row.updated_at.clone(),
            false => now.to_string(),
        };
        Line {
            question: clip(&row.question, 200),
            class,
            word,
            when: row.started_at.clone(),
            age: age(&row.started_at, now),
            took: between(&row.started_at, &until).map_or_else(String::new, took),
            cost: cost(&row.usage),
            covered: Some(glance.covered).filter(|it| it.total > 0),
            quotes: glance.quotes,
            rating: row.rating.map(|it| match it {
                Vote::Up => "rated good",
                Vote::Down => "rated not good",
            }),
            follows: row.follows.is_some(),
            models: glance.models.join(", "),
            spark: glance.spark.clone(),
            href: match glance.quotes.is_some() {
                true => format!("/r/{id}/report"),
                false => format!("/r/{id}"),
            },
            id,
        }
    }
}

/// Words of the filter: the wire's, and a person's.
pub const STATUSES: [(&str, &str); 7] = [
    ("", "any state"),
    ("pending", "waiting"),
    ("in_progress", "working"),
    ("completed", "completed"),
    ("max_iterations_reached", "rounds used up"),
    ("cancelled", "cancelled"),
    ("failed", "failed"),
];

/// The page.
#[derive(Template)]
#[template(path = "runs.html")]
pub struct Runs {
    /// What surrounds it.
    pub shell: Shell,
    /// The runs, newest first.
    pub lines: Vec<Line>,
    /// What is searched for.
    pub q: String,
    /// Which state is asked for.
    pub status: String,
    /// Which model is asked for.
    pub model: String,
    /// The models that can be asked for: as named, as shown.
    pub models: Vec<(String, String)>,
    /// The first and the last day asked for, `YYYY-MM-DD`.
    pub since: String,
    /// See `since`.
    pub until: String,
    /// Where older ones are.
    pub older: Option<String>,
    /// Whether this is not the first page.
    pub later: bool,
    /// Whether any of them has not ended, so that it is worth looking again.
    pub moving: bool,
}

impl Runs {
    fn statuses(&self) -> [(&'static str, &'static str); 7] {
        STATUSES
    }

    fn filtered(&self) -> bool {
        !self.q.is_empty() || self.narrowed()
    }

    /// Whether a filter is set besides the words, so that it is shown where filters are folded.
    fn narrowed(&self) -> bool {
        [&self.status, &self.model, &self.since, &self.until]
            .iter()
            .any(|it| !it.is_empty())
    }

    /// The forms that reports can be taken in.
    fn forms(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let built = Form::ALL.iter().filter(|it| it.is_built());
        built.map(|it| (it.about().name, it.about().label))
    }
}

/// A run that is to be deleted, or cannot be.
#[derive(Debug, Clone)]
pub struct Doomed {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// Whether it has ended, so that it can be deleted.
    pub ended: bool,
}

/// The page that asks whether these runs are to be deleted.
#[derive(Template)]
#[template(path = "delete.html")]
pub struct DeletePage {
    /// What surrounds it.
    pub shell: Shell,
    /// The runs.
    pub runs: Vec<Doomed>,
}

impl DeletePage {
    fn ended(&self) -> usize {
        self.runs.iter().filter(|it| it.ended).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Phase, RunStatusWord};

    fn told(seconds: i64, event: Event) -> Envelope {
        let ts = Timestamp::from_second(1_763_900_000 + seconds).unwrap();
        Envelope {
            seq: 1,
            ts: ts.to_string(),
            run: "r_01J00000000000000000000000".parse().unwrap(),
            event,
            phase: Phase::Run,
            wave: None,
            agent: None,
            span: None,
        }
    }

    #[test]
    fn a_run_without_evidence_has_no_line() {
        assert_eq!(Spark::of(&[]), None);
        let only = [told(0, Event::RunStarted {})];
        assert_eq!(Spark::of(&only), None);
        let done = Event::RunCompleted {
            status: RunStatusWord::Completed,
            stop_reason: crate::domain::StopReason::CoverageReached,
            usage: crate::domain::Usage::default(),
        };
        assert_eq!(
            Spark::of(&[told(0, Event::RunStarted {}), told(9, done)]),
            None
        );
    }
}
