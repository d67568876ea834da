//! The list of runs.
use askama::Template;
use jiff::Timestamp;

use super::Shell;
use super::words::{age, between, clip, cost, status, took};
use crate::domain::{Counted, CoverageRow, Vote};
use crate::record::Run;
use crate::seams::RunRow;

/// What of a run does not stand in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Glance {
    /// Points of a complete answer that are covered.
    pub covered: Counted,
    /// Quotes that were verified, where there is a report.
    pub quotes: Option<Counted>,
    /// Whether it waits for a person.
    pub waits: bool,
}

impl Glance {
    /// That of this run.
    pub fn of(run: &Run) -> Glance {
        let report = run.report.as_deref();
        let rows = report.map_or(&run.coverage, |it| &it.coverage);
        Glance {
            covered: Counted {
                held: CoverageRow::counts(rows).satisfied,
                total: rows.len() as u32,
            },
            quotes: report.map(|it| it.checks.quotes),
            waits: run.awaiting_approval || run.awaiting_clarification,
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
        !self.q.is_empty() || !self.status.is_empty()
    }
}
