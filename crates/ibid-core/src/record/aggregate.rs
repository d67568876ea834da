use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Envelope, Event, Run, RunStatus};
use crate::ReadFailure;
use crate::domain::{Brief, Claim, CoverageRow, Ratio, Report, SourceKind, Strategy, Vote};

/// Minimum number of domains of a diverse report.
const MIN_DIVERSE_DOMAINS: usize = 3;
/// Minimum words of a quote that is a sentence; menu entries have fewer.
const MIN_SENTENCE_WORDS: usize = 5;

/// Metrics over many runs: counts with their totals, compared with the targets.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AggregateMetrics {
    /// Number of runs.
    pub runs: u32,
    /// Runs by status.
    pub statuses: BTreeMap<String, u32>,
    /// Share of rated runs that were rated up.
    pub rated_up: Ratio,
    /// Number of judged runs.
    pub judged: u32,
    /// Sums over the judged runs: answer, process, composite.
    #[serde(skip)]
    scores: [f64; 3],
    /// Quotes found at their position.
    pub quotes: Ratio,
    /// Sentences of reports whose quotes and numbers were verified, of all that were written.
    pub facts: Ratio,
    /// Web URLs that could be read, of those requested.
    pub links: Ratio,
    /// Reports in which every item is covered.
    pub complete: Ratio,
    /// Reports with sources from at least three domains.
    pub diverse: Ratio,
    /// Reports on technical questions, made by a strategy that searches for code, whose code item is covered.
    pub coded: Ratio,
    /// Quotes that are sentences and not navigation: at least five words.
    pub worded: Ratio,
    /// By question: how often it was asked, and whether one of its runs has a report.
    #[serde(skip)]
    asked: BTreeMap<String, (u32, bool)>,
    /// Number of sources of each report.
    #[serde(skip)]
    sources: Vec<f64>,
    /// Searches and page reads.
    pub calls: u64,
    /// Runs with a report; the denominator of the means below.
    pub reports: u32,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens sent and received.
    pub tokens: u64,
    /// US dollars spent, where prices are known, without [`AggregateMetrics::judging_usd`].
    pub usd: f64,
    /// Reports with an unknown price.
    pub unpriced: u32,
    /// US dollars spent on the latest judgements.
    pub judging_usd: f64,
    /// Duration of each report, in seconds.
    #[serde(skip)]
    seconds: Vec<f64>,
    /// Tokens of each report that was made with a model.
    #[serde(skip)]
    spent: Vec<u64>,
}

/// A metric with its target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricTarget {
    /// The metric's name.
    pub name: &'static str,
    /// The target, in words.
    pub wanted: &'static str,
    /// The measured value; `None` if nothing was measured yet.
    pub measured: Option<f64>,
    /// The denominator.
    pub of: u64,
    /// Whether the target is met.
    pub met: Option<bool>,
}

impl AggregateMetrics {
    /// Computes the metrics of one run from its events.
    pub fn from_run(run: &Run, events: &[Envelope]) -> AggregateMetrics {
        let mut it = AggregateMetrics { runs: 1, ..AggregateMetrics::default() };
        it.statuses.insert(status_name(run.status), 1);
        if let Some(rating) = &run.rating {
            count(&mut it.rated_up, rating.vote == Vote::Up);
        }
        if let Some(judged) = &run.judgement {
            it.judged = 1;
            it.scores = [judged.answer.score, judged.process.score, judged.composite];
            it.judging_usd = judged.usage.usd.unwrap_or(0.0);
        }
        it.count_links(events);
        if let Some(question) = &run.question {
            let asked = question.text.trim().to_lowercase();
            it.asked.insert(asked, (1, run.report.is_some()));
        }
        let Some(report) = &run.report else {
            return it;
        };
        it.reports = 1;
        it.count_usefulness(run, report);
        let checks = report.checks;
        it.quotes = checks.quotes;
        it.facts =
            Ratio { passed: checks.claims.passed, total: checks.claims.total + checks.removed };
        let usage = report.usage;
        it.calls = usage.calls();
        it.model_calls = usage.model_calls;
        it.tokens = usage.tokens_in + usage.tokens_out;
        it.usd = usage.usd.unwrap_or(0.0);
        it.unpriced = u32::from(usage.model_calls > 0 && usage.usd.is_none());
        it.seconds.extend(duration_seconds(run));
        it.spent.extend((usage.model_calls > 0).then_some(it.tokens));
        it
    }

    /// Adds the metrics of other runs.
    pub fn merge(&mut self, other: &AggregateMetrics) {
        // Destructured without `..`, so that new fields must be handled here.
        let AggregateMetrics {
            runs,
            statuses,
            rated_up,
            judged,
            scores,
            quotes,
            facts,
            links,
            complete,
            diverse,
            coded,
            worded,
            asked,
            sources,
            calls,
            reports,
            model_calls,
            tokens,
            usd,
            unpriced,
            judging_usd,
            seconds,
            spent,
        } = other;
        self.runs += runs;
        for (status, n) in statuses {
            *self.statuses.entry(status.clone()).or_default() += n;
        }
        self.judged += judged;
        for (sum, score) in self.scores.iter_mut().zip(scores) {
            *sum += score;
        }
        for (sum, it) in [
            (&mut self.rated_up, rated_up),
            (&mut self.quotes, quotes),
            (&mut self.facts, facts),
            (&mut self.links, links),
            (&mut self.complete, complete),
            (&mut self.diverse, diverse),
            (&mut self.coded, coded),
            (&mut self.worded, worded),
        ] {
            sum.passed += it.passed;
            sum.total += it.total;
        }
        for (question, (times, answered)) in asked {
            let row = self.asked.entry(question.clone()).or_default();
            *row = (row.0 + times, row.1 || *answered);
        }
        self.sources.extend(sources);
        self.calls += calls;
        self.reports += reports;
        self.model_calls += model_calls;
        self.tokens += tokens;
        self.usd += usd;
        self.unpriced += unpriced;
        self.judging_usd += judging_usd;
        self.seconds.extend(seconds);
        self.spent.extend(spent);
    }

    /// Counts the distinct web URLs that a run requested, and which of them could be read.
    fn count_links(&mut self, events: &[Envelope]) {
        let mut asked: BTreeMap<&str, bool> = BTreeMap::new();
        let is_web = |text: &str| text.starts_with("http://") || text.starts_with("https://");
        for it in events {
            match &it.event {
                // A document of a folder may state a URL that was never requested.
                Event::ReadCompleted { source, .. } if source.kind != SourceKind::Local => {
                    asked.insert(&source.url, true);
                }
                Event::ReadFailed { url, reason, .. } => {
                    // A page that exists but may not be read is not a dead link.
                    let there = !matches!(
                        reason,
                        ReadFailure::NotFound | ReadFailure::Timeout | ReadFailure::Broken
                    );
                    asked.entry(url).or_insert(there);
                }
                _ => {}
            }
        }
        for (url, answered) in asked {
            if is_web(url) {
                count(&mut self.links, answered);
            }
        }
    }

    /// Counts diversity, code coverage and wording of a report.
    fn count_usefulness(&mut self, run: &Run, report: &Report) {
        let covered = |coverage_row: &CoverageRow| coverage_row.state.status_word() == "satisfied";
        let rows = &report.coverage;
        if !rows.is_empty() {
            count(&mut self.complete, rows.iter().all(covered));
        }
        let domains: BTreeSet<&str> = report.sources.iter().map(|source| &*source.domain).collect();
        count(&mut self.diverse, domains.len() >= MIN_DIVERSE_DOMAINS);
        self.sources.push(report.sources.len() as f64);
        let technical = run.brief.as_ref().is_some_and(Brief::is_technical);
        // The other strategies do not search for code.
        if let (true, Some(Strategy::Coverage), Some(heart)) =
            (technical, run.strategy, rows.first())
        {
            count(&mut self.coded, covered(heart));
        }
        for it in report.claims().flat_map(Claim::citations) {
            let words = it.passage.text().expose().split_whitespace().count();
            count(&mut self.worded, words >= MIN_SENTENCE_WORDS);
        }
    }

    /// Questions with a report that were asked once, of all questions.
    pub(crate) fn answered_first_time(&self) -> Ratio {
        let mut it = Ratio::default();
        for (times, answered) in self.asked.values() {
            count(&mut it, *answered && *times == 1);
        }
        it
    }

    /// Means over the judged runs: answer, process, composite.
    pub fn mean_scores(&self) -> Option<[f64; 3]> {
        let n = f64::from(self.judged);
        (self.judged > 0).then(|| self.scores.map(|score| score / n))
    }

    /// Median duration of a report, in seconds.
    pub fn median_seconds(&self) -> Option<f64> {
        median(&self.seconds)
    }

    /// The rating on a scale to 5, from the share of positive votes.
    pub fn rating(&self) -> Option<f64> {
        share(self.rated_up).map(|share| share * 5.0)
    }

    /// The targets with the measured values.
    pub fn targets(&self) -> Vec<MetricTarget> {
        let tokens: Vec<f64> = self.spent.iter().map(|it| *it as f64).collect();
        let value = |name, wanted, measured: Option<f64>, of, met: fn(f64) -> bool| MetricTarget {
            name,
            wanted,
            measured,
            of,
            met: measured.map(met),
        };
        let middle = |name, wanted, values: &[f64], met| {
            value(name, wanted, median(values), values.len() as u64, met)
        };
        let ratio =
            |name, wanted, it: Ratio, met| value(name, wanted, share(it), it.total.into(), met);
        let all = |name, it| ratio(name, "1.00", it, |it| it >= 1.0);
        vec![
            // The target is of a spot check by people, which this check does not replace.
            MetricTarget {
                met: None,
                ..ratio(
                    "facts that passed Ibid's own check, share",
                    "at least 0.90",
                    self.facts,
                    |_| true,
                )
            },
            ratio("links working, share", "at least 0.95", self.links, |it| it >= 0.95),
            middle("tokens a report with a model, median", "at most 300000", &tokens, |it| {
                it <= 300_000.0
            }),
            middle("seconds a report, median", "at most 240", &self.seconds, |it| it <= 240.0),
            value("rating, of 5", "at least 4", self.rating(), self.rated_up.total.into(), |it| {
                it >= 4.0
            }),
            all("reports with all topics covered, share", self.complete),
            all("reports with 3 domains, share", self.diverse),
            all("code where it was asked for, share", self.coded),
            all("quotes without navigation, share", self.worded),
            middle("sources a report, median", "5 to 7", &self.sources, |it| {
                (5.0..=7.0).contains(&it)
            }),
            all("questions answered the first time, share", self.answered_first_time()),
        ]
    }
}

fn count(ratio: &mut Ratio, held: bool) {
    ratio.passed += u32::from(held);
    ratio.total += 1;
}

fn share(ratio: Ratio) -> Option<f64> {
    (ratio.total > 0).then(|| f64::from(ratio.passed) / f64::from(ratio.total))
}

/// The median; the mean of the middle two for an even number of values.
fn median(all: &[f64]) -> Option<f64> {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle)) {
        (1, Some(it)) => Some(*it),
        (_, Some(it)) => Some((sorted[middle - 1] + it) / 2.0),
        (_, None) => None,
    }
}

fn duration_seconds(run: &Run) -> Option<f64> {
    let at = |text: &Option<String>| text.as_ref()?.parse::<jiff::Timestamp>().ok();
    let (begun, ended) = (at(&run.started_at)?, at(&run.updated_at)?);
    Some((ended.as_millisecond() - begun.as_millisecond()) as f64 / 1000.0)
}

/// The name of a status in JSON.
fn status_name(status: RunStatus) -> String {
    serde_json::to_value(status)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
