//! Pages about several runs, or about the server: differences, costs, health checks.
use std::collections::BTreeMap;

use askama::Template;

use super::format::{duration, money, plural_noun, thousands, truncate};
use super::shell::PageLayout;
use ibid::app::changes::{DiffClaim, DiffSource};
use ibid::app::{AggregateMetrics, ReportDiff};
use ibid_core::domain::Ratio;
use ibid_core::ports::RunRow;
use ibid_report::changes::summary_line;
use ibid_report::escape::{single_line, web_url};
use ibid_report::markdown::pluralize;

/// A claim with its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimView {
    /// The sentence.
    pub text: String,
    /// Its quotes: text, title of the source, address.
    pub quotes: Vec<(String, String, Option<String>)>,
}

impl ClaimView {
    fn from_claim(it: &DiffClaim) -> ClaimView {
        let quotes = it.quotes.iter().map(|quote| {
            (
                single_line(&quote.quote),
                single_line(&quote.source.title),
                web_url(&quote.source.url),
            )
        });
        ClaimView { text: single_line(&it.text), quotes: quotes.collect() }
    }
}

/// The differences between two reports.
#[derive(Template)]
#[template(path = "diff.html")]
pub struct DiffPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The two runs.
    pub runs: (String, String),
    /// Their dates.
    pub dates: (String, String),
    /// Their questions.
    pub questions: (String, String),
    /// The summary in one line.
    pub sum: String,
    /// The short answers, if they differ.
    pub short: Option<(String, String)>,
    /// The confidence, if it differs.
    pub sure: Option<(&'static str, &'static str)>,
    /// Claims that changed: before, after.
    pub changed: Vec<(ClaimView, ClaimView)>,
    /// New claims.
    pub added: Vec<ClaimView>,
    /// Removed claims.
    pub removed: Vec<ClaimView>,
    /// Findings with a changed confidence: text, before, after.
    pub moved: Vec<(String, &'static str, &'static str)>,
    /// New sources: title, address.
    pub gained: Vec<(String, Option<String>)>,
    /// Sources no longer cited: title, address.
    pub lost: Vec<(String, Option<String>)>,
}

impl DiffPage {
    /// The page of these changes.
    pub fn new(shell: PageLayout, it: &ReportDiff) -> DiffPage {
        let works = |all: &[DiffSource]| {
            all.iter().map(|source| (single_line(&source.title), web_url(&source.url))).collect()
        };
        DiffPage {
            shell,
            runs: (it.runs.before.to_string(), it.runs.after.to_string()),
            dates: (single_line(&it.dates.before), single_line(&it.dates.after)),
            questions: (single_line(&it.questions.before), single_line(&it.questions.after)),
            sum: summary_line(it),
            short: (!it.short.is_unchanged())
                .then(|| (single_line(&it.short.before), single_line(&it.short.after))),
            sure: (!it.confidence.is_unchanged())
                .then(|| (it.confidence.before.as_str(), it.confidence.after.as_str())),
            changed: it
                .changed
                .iter()
                .map(|it| (ClaimView::from_claim(&it.before), ClaimView::from_claim(&it.after)))
                .collect(),
            added: it.added.iter().map(ClaimView::from_claim).collect(),
            removed: it.removed.iter().map(ClaimView::from_claim).collect(),
            moved: it
                .findings
                .iter()
                .map(|finding| {
                    (
                        single_line(&finding.text),
                        finding.confidence.before.as_str(),
                        finding.confidence.after.as_str(),
                    )
                })
                .collect(),
            gained: works(&it.sources_new),
            lost: works(&it.sources_lost),
        }
    }
}

/// The runs of one day.
#[derive(Debug, Clone, PartialEq)]
pub struct DailyCost {
    /// The date, `YYYY-MM-DD`.
    pub date: String,
    /// The number of runs started.
    pub runs: u32,
    /// What they cost.
    pub cost: String,
    /// Tokens of models.
    pub tokens: String,
    /// The height of its bar: percent of the day with the most runs.
    pub high: u32,
}

/// A metric and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRow {
    /// The metric.
    pub name: &'static str,
    /// The target.
    pub wanted: &'static str,
    /// The measured value.
    pub measured: String,
    /// The number of measurements.
    pub of: String,
    /// The CSS class and the label of whether the target is met.
    pub met: (&'static str, &'static str),
}

/// The costs and other metrics of all runs.
#[derive(Template)]
#[template(path = "costs.html")]
pub struct CostsPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// Metrics: name, value, detail.
    pub figures: Vec<(&'static str, String, String)>,
    /// The last days, latest last.
    pub days: Vec<DailyCost>,
    /// Metrics with targets.
    pub aims: Vec<TargetRow>,
    /// The most expensive runs: id, question, cost, tokens.
    pub dearest: Vec<(String, String, String, String)>,
    /// Runs by status.
    pub statuses: Vec<(String, u32)>,
}

/// Maximum number of days in the chart.
const MAX_CHART_DAYS: usize = 30;
/// How many of the most expensive runs are listed.
const MAX_EXPENSIVE_RUNS: usize = 10;

fn ratio(it: Ratio) -> String {
    match it.total {
        0 => "–".to_owned(),
        total => format!("{}/{total}", it.passed),
    }
}

impl CostsPage {
    /// The page of these runs.
    pub fn new(shell: PageLayout, it: &AggregateMetrics, rows: &[RunRow]) -> CostsPage {
        CostsPage {
            shell,
            figures: total_figures(it),
            days: daily_costs(rows),
            aims: target_rows(it),
            dearest: dearest_runs(rows),
            statuses: it.statuses.iter().map(|(name, n)| (name.replace('_', " "), *n)).collect(),
        }
    }

    fn x(&self, at: &usize) -> usize {
        at * 24
    }

    fn wide(&self) -> usize {
        (self.days.len() * 24).max(240)
    }
}

/// The metrics of all runs: name, value, detail.
fn total_figures(it: &AggregateMetrics) -> Vec<(&'static str, String, String)> {
    let median = it
        .median_seconds()
        .map_or_else(|| "–".to_owned(), |seconds| duration((seconds * 1_000.0) as i64));
    let unpriced = match it.unpriced {
        0 => String::new(),
        n => format!("plus {} of unknown price", pluralize(n.into(), "run")),
    };
    let judged = it
        .mean_scores()
        .map_or_else(String::new, |mean| format!("mean judgement {:.2} of 1", mean[2]));
    vec![
        ("Runs", thousands(u64::from(it.runs)), format!("{} with a report", it.reports)),
        ("Spent on models", money(it.usd), unpriced),
        (
            "Tokens",
            thousands(it.tokens),
            format!("{} {}", thousands(it.model_calls), plural_noun(it.model_calls, "call")),
        ),
        ("Quotes verified", ratio(it.quotes), "of all reports".to_owned()),
        ("Rated good", ratio(it.rated_up), judged),
        ("Time per report", median, "median".to_owned()),
        ("Searches and pages", thousands(it.calls), "of runs with a report".to_owned()),
        ("Judging", money(it.judging_usd), format!("{} judged", it.judged)),
    ]
}

/// The last days with runs, latest last.
fn daily_costs(rows: &[RunRow]) -> Vec<DailyCost> {
    let mut days: BTreeMap<&str, (u32, f64, u64)> = BTreeMap::new();
    for row in rows {
        let day = days.entry(row.started_at.get(..10).unwrap_or_default()).or_default();
        day.0 += 1;
        day.1 += row.usage.usd.unwrap_or(0.0);
        day.2 += row.usage.tokens_in + row.usage.tokens_out;
    }
    let skipped = days.len().saturating_sub(MAX_CHART_DAYS);
    let days: Vec<_> = days.into_iter().skip(skipped).collect();
    let most = days.iter().map(|(_, day)| day.0).max().unwrap_or(1).max(1);
    let row = |(date, (runs, usd, tokens)): (&str, (u32, f64, u64))| DailyCost {
        date: single_line(date),
        runs,
        cost: money(usd),
        tokens: thousands(tokens),
        high: runs * 100 / most,
    };
    days.into_iter().map(row).collect()
}

fn target_rows(it: &AggregateMetrics) -> Vec<TargetRow> {
    let targets = it.targets().into_iter().map(|target| TargetRow {
        name: target.name,
        wanted: target.wanted,
        measured: target.measured.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}")),
        of: thousands(target.of),
        met: match target.met {
            Some(true) => ("covered", "met"),
            Some(false) => ("conflict", "not met"),
            None => ("open", "not measured"),
        },
    });
    targets.collect()
}

/// The most expensive runs: id, question, cost, tokens.
fn dearest_runs(rows: &[RunRow]) -> Vec<(String, String, String, String)> {
    let usd = |row: &RunRow| row.usage.usd.unwrap_or(0.0);
    let mut priced: Vec<&RunRow> = rows.iter().filter(|row| usd(row) > 0.0).collect();
    priced.sort_by(|a, b| usd(b).total_cmp(&usd(a)));
    let shown = priced.into_iter().take(MAX_EXPENSIVE_RUNS).map(|row| {
        (
            row.run_id.to_string(),
            truncate(&row.question, 120),
            money(usd(row)),
            thousands(row.usage.tokens_in + row.usage.tokens_out),
        )
    });
    shown.collect()
}

/// The result of one health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheckRow {
    /// What was checked.
    pub name: String,
    /// The CSS class and the label of its state.
    pub state: (&'static str, &'static str),
    /// What was found.
    pub found: String,
    /// How to fix it.
    pub fix: Option<String>,
}

/// The health checks.
#[derive(Template)]
#[template(path = "doctor.html")]
pub struct DoctorPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The checks.
    pub looked: Vec<HealthCheckRow>,
    /// Whether external services were checked, too.
    pub outside: bool,
    /// Settings that are not the default: name, value, origin.
    pub settings: Vec<(String, String, String)>,
}
