//! Looking back: what changed between two runs, what all of them come to, whether everything is set up.
use std::collections::BTreeMap;

use askama::Template;

use super::Shell;
use super::words::{clip, money, noun, thousands, took};
use crate::app::changes::{Named, Said};
use crate::app::{Changes, Tally};
use crate::domain::Counted;
use crate::seams::RunRow;
use crate::surfaces::export::changes::sum;
use crate::surfaces::export::escape::{line, target};

/// A claim with its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The sentence.
    pub text: String,
    /// The words, the work, its address.
    pub quotes: Vec<(String, String, Option<String>)>,
}

impl Claimed {
    fn of(it: &Said) -> Claimed {
        let quotes = it.quotes.iter().map(|it| {
            (
                line(&it.quote),
                line(&it.source.title),
                target(&it.source.url),
            )
        });
        Claimed {
            text: line(&it.text),
            quotes: quotes.collect(),
        }
    }
}

/// What changed.
#[derive(Template)]
#[template(path = "diff.html")]
pub struct DiffPage {
    /// What surrounds it.
    pub shell: Shell,
    /// The two runs.
    pub runs: (String, String),
    /// Their days.
    pub dates: (String, String),
    /// Their questions.
    pub questions: (String, String),
    /// In one line.
    pub sum: String,
    /// The short answers, where they differ.
    pub short: Option<(String, String)>,
    /// How sure they are, where that differs.
    pub sure: Option<(&'static str, &'static str)>,
    /// Claims that say something else now.
    pub changed: Vec<(Claimed, Claimed)>,
    /// New claims.
    pub added: Vec<Claimed>,
    /// Claims that are gone.
    pub removed: Vec<Claimed>,
    /// Findings surer or less sure: text, before, after.
    pub moved: Vec<(String, &'static str, &'static str)>,
    /// Works cited now and not before: title, address.
    pub gained: Vec<(String, Option<String>)>,
    /// Works cited before and not now.
    pub lost: Vec<(String, Option<String>)>,
}

impl DiffPage {
    /// The page of these changes.
    pub fn of(shell: Shell, it: &Changes) -> DiffPage {
        let works = |all: &[Named]| {
            all.iter()
                .map(|it| (line(&it.title), target(&it.url)))
                .collect()
        };
        DiffPage {
            shell,
            runs: (it.runs.before.to_string(), it.runs.after.to_string()),
            dates: (line(&it.dates.before), line(&it.dates.after)),
            questions: (line(&it.questions.before), line(&it.questions.after)),
            sum: sum(it),
            short: (!it.short.none()).then(|| (line(&it.short.before), line(&it.short.after))),
            sure: (!it.confidence.none())
                .then(|| (it.confidence.before.word(), it.confidence.after.word())),
            changed: it
                .changed
                .iter()
                .map(|it| (Claimed::of(&it.before), Claimed::of(&it.after)))
                .collect(),
            added: it.added.iter().map(Claimed::of).collect(),
            removed: it.removed.iter().map(Claimed::of).collect(),
            moved: it
                .findings
                .iter()
                .map(|it| {
                    (
                        line(&it.text),
                        it.confidence.before.word(),
                        it.confidence.after.word(),
                    )
                })
                .collect(),
            gained: works(&it.sources_new),
            lost: works(&it.sources_lost),
        }
    }
}

/// A day.
#[derive(Debug, Clone, PartialEq)]
pub struct Day {
    /// Which, `YYYY-MM-DD`.
    pub date: String,
    /// Runs begun.
    pub runs: u32,
    /// What they cost.
    pub cost: String,
    /// Tokens of models.
    pub tokens: String,
    /// Height of its bar, of 100: its share of the day with most runs.
    pub high: u32,
}

/// A figure beside what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aim {
    /// What is measured.
    pub name: &'static str,
    /// What it should be.
    pub wanted: &'static str,
    /// What it is.
    pub measured: String,
    /// Over how many.
    pub of: String,
    /// Class and word of whether it is so.
    pub met: (&'static str, &'static str),
}

/// What all runs come to.
#[derive(Template)]
#[template(path = "costs.html")]
pub struct CostsPage {
    /// What surrounds it.
    pub shell: Shell,
    /// Figures: name, value, more.
    pub figures: Vec<(&'static str, String, String)>,
    /// The last days, latest last.
    pub days: Vec<Day>,
    /// Figures beside their aims.
    pub aims: Vec<Aim>,
    /// The dearest runs: id, question, cost, tokens.
    pub dearest: Vec<(String, String, String, String)>,
    /// Runs by status.
    pub statuses: Vec<(String, u32)>,
}

/// Days drawn.
const DAYS: usize = 30;
/// Runs listed among the dearest.
const DEAREST: usize = 10;

fn counted(it: Counted) -> String {
    format!("{}/{}", it.held, it.total)
}

impl CostsPage {
    /// The page of these runs.
    pub fn of(shell: Shell, it: &Tally, rows: &[RunRow]) -> CostsPage {
        let mut days: BTreeMap<&str, (u32, f64, u64)> = BTreeMap::new();
        for row in rows {
            let day = days
                .entry(row.started_at.get(..10).unwrap_or_default())
                .or_default();
            day.0 += 1;
            day.1 += row.usage.usd.unwrap_or(0.0);
            day.2 += row.usage.tokens_in + row.usage.tokens_out;
        }
        let skipped = days.len().saturating_sub(DAYS);
        let days: Vec<_> = days.into_iter().skip(skipped).collect();
        let most = days.iter().map(|it| it.1.0).max().unwrap_or(1).max(1);
        let mut dear: Vec<&RunRow> = rows
            .iter()
            .filter(|it| it.usage.usd.is_some_and(|it| it > 0.0))
            .collect();
        dear.sort_by(|a, b| {
            b.usage
                .usd
                .unwrap_or(0.0)
                .total_cmp(&a.usage.usd.unwrap_or(0.0))
        });
        let median = it
            .median_seconds()
            .map_or_else(|| "–".to_owned(), |it| took((it * 1_000.0) as i64));
        let unpriced = match it.unpriced {
            0 => String::new(),
            n => format!("and {n} of unknown price"),
        };
        let judged = it.judged_means().map_or_else(String::new, |it| {
            format!("judged {:.2} of 1 in the mean", it[2])
        });
        CostsPage {
            shell,
            figures: vec![
                (
                    "Runs",
                    thousands(u64::from(it.runs)),
                    format!("{} with a report", it.reports),
                ),
                ("Spent on models", money(it.usd), unpriced),
                (
                    "Tokens",
                    thousands(it.tokens),
                    format!(
                        "{} {}",
                        thousands(it.model_calls),
                        noun(it.model_calls, "call")
                    ),
                ),
                (
                    "Quotes verified",
                    counted(it.quotes),
                    "of all reports".to_owned(),
                ),
                ("Rated good", counted(it.rated_up), judged),
                ("Time of a report", median, "median".to_owned()),
                (
                    "Searches and pages",
                    thousands(it.calls),
                    "of runs with a report".to_owned(),
                ),
                (
                    "Judging",
                    money(it.judging_usd),
                    format!("{} judged", it.judged),
                ),
            ],
            days: days
                .into_iter()
                .map(|(date, (runs, usd, tokens))| Day {
                    date: line(date),
                    runs,
                    cost: money(usd),
                    tokens: thousands(tokens),
                    high: runs * 100 / most,
                })
                .collect(),
            aims: it
                .targets()
                .into_iter()
                .map(|it| Aim {
                    name: it.name,
                    wanted: it.wanted,
                    measured: it
                        .measured
                        .map_or_else(|| "–".to_owned(), |it| format!("{it:.2}")),
                    of: thousands(it.of),
                    met: match it.met {
                        Some(true) => ("covered", "met"),
                        Some(false) => ("conflict", "not met"),
                        None => ("open", "not measured"),
                    },
                })
                .collect(),
            dearest: dear
                .into_iter()
                .take(DEAREST)
                .map(|it| {
                    let tokens = it.usage.tokens_in + it.usage.tokens_out;
                    (
                        it.run_id.to_string(),
                        clip(&it.question, 120),
                        money(it.usage.usd.unwrap_or(0.0)),
                        thousands(tokens),
                    )
                })
                .collect(),
            statuses: it
                .statuses
                .iter()
                .map(|(name, n)| (name.replace('_', " "), *n))
                .collect(),
        }
    }

    fn x(&self, at: &usize) -> usize {
        at * 24
    }

    fn wide(&self) -> usize {
        (self.days.len() * 24).max(240)
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// What.
    pub name: String,
    /// Class and word of how it is.
    pub state: (&'static str, &'static str),
    /// What was found.
    pub found: String,
    /// How to mend it.
    pub fix: Option<String>,
}

/// Whether everything is set up.
#[derive(Template)]
#[template(path = "doctor.html")]
pub struct DoctorPage {
    /// What surrounds it.
    pub shell: Shell,
    /// What was looked at.
    pub looked: Vec<Looked>,
    /// Whether those outside were asked, too.
    pub outside: bool,
    /// Settings that are not the default: name, value, origin.
    pub settings: Vec<(String, String, String)>,
}
