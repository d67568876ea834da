use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Envelope, Event, FailReason, Run, RunStatus};
use crate::domain::{Brief, Claim, Counted, CoverageRow, Report, SourceKind, Strategy, Vote};

/// Domains that a report is to draw on (row D13).
const DOMAINS: usize = 3;
/// Words from which a quote is a sentence: an entry of a menu has fewer.
const SENTENCE: usize = 5;

/// What many runs come to: every count with its denominator, beside the targets of row E16.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Runs kept.
    pub runs: u32,
    /// Runs by status.
    pub statuses: BTreeMap<String, u32>,
    /// Of the rated runs, those rated up.
    pub rated_up: Counted,
    /// Runs that were judged.
    pub judged: u32,
    /// Sums over the judged runs: answer, process, composite.
    #[serde(skip)]
    scores: [f64; 3],
    /// Quotes found at their place.
    pub quotes: Counted,
    /// Facts that hold: sentences of reports whose quotes and numbers hold, of all that were written.
    pub facts: Counted,
    /// Addresses of the web that answered when they were read, of those that were asked for.
    pub links: Counted,
    /// Reports of which every topic is covered.
    pub complete: Counted,
    /// Reports with sources of three domains and more.
    pub diverse: Counted,
    /// Reports on questions that want code, gathered by a strategy that looks for it, whose heart is covered.
    pub coded: Counted,
    /// Quotes that are sentences and no navigation: five words and more.
    pub worded: Counted,
    /// What each question came to that was asked: how often, and whether a run of it has a report.
    #[serde(skip)]
    asked: BTreeMap<String, (u32, bool)>,
    /// Sources of each report.
    #[serde(skip)]
    sources: Vec<f64>,
    /// Searches and page reads.
    pub calls: u64,
    /// Runs with a report: what the means below are over.
    pub reports: u32,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens sent and received.
    pub tokens: u64,
    /// Dollars spent, where prices are known; judging is in [`Tally::judging_usd`].
    pub usd: f64,
    /// Reports of which a price is not known.
    pub unpriced: u32,
    /// Dollars spent on the judgements that count.
    pub judging_usd: f64,
    /// Seconds of each report.
    #[serde(skip)]
    seconds: Vec<f64>,
    /// Tokens of each report that was made with a model.
    #[serde(skip)]
    spent: Vec<u64>,
}

/// A figure beside what it should be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// What is measured.
    pub name: &'static str,
    /// What it should be, in words.
    pub wanted: &'static str,
    /// What it is; `None` where nothing was measured yet.
    pub measured: Option<f64>,
    /// Over how many.
    pub of: u64,
    /// Whether it is as it should be.
    pub met: Option<bool>,
}

impl Tally {
    /// What one run comes to, from its events.
    pub fn of(run: &Run, events: &[Envelope]) -> Tally {
        let mut it = Tally {
            runs: 1,
            ..Tally::default()
        };
        it.statuses.insert(word(run.status), 1);
        if let Some(rating) = &run.rating {
            count(&mut it.rated_up, rating.vote == Vote::Up);
        }
        if let Some(judged) = &run.judgement {
            it.judged = 1;
            it.scores = [judged.answer.score, judged.process.score, judged.composite];
            it.judging_usd = judged.usage.usd.unwrap_or(0.0);
        }
        it.links(events);
        if let Some(question) = &run.question {
            let asked = question.text.trim().to_lowercase();
            it.asked.insert(asked, (1, run.report.is_some()));
        }
        let Some(report) = &run.report else {
            return it;
        };
        it.reports = 1;
        it.usefulness(run, report);
        let checks = report.checks;
        it.quotes = checks.quotes;
        it.facts = Counted {
            held: checks.claims.held,
            total: checks.claims.total + checks.removed,
        };
        let usage = report.usage;
        it.calls = usage.calls();
        it.model_calls = usage.model_calls;
        it.tokens = usage.tokens_in + usage.tokens_out;
        it.usd = usage.usd.unwrap_or(0.0);
        it.unpriced = u32::from(usage.model_calls > 0 && usage.usd.is_none());
        it.seconds.extend(seconds(run));
        it.spent
            .extend((usage.model_calls > 0).then_some(it.tokens));
        it
    }

    /// Takes in what other runs come to.
    pub fn add(&mut self, other: &Tally) {
        // Whatever is counted one day must be taken in here, too.
        let Tally {
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
            sum.held += it.held;
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

    /// The addresses of the web that a run asked for, each once, and whether they answered.
    fn links(&mut self, events: &[Envelope]) {
        let mut asked: BTreeMap<&str, bool> = BTreeMap::new();
        let is_web = |it: &str| it.starts_with("http://") || it.starts_with("https://");
        for it in events {
            match &it.event {
                // A document of a folder may give an address as its own that nobody asked.
                Event::ReadCompleted { source, .. } if source.kind != SourceKind::Local => {
                    asked.insert(&source.url, true);
                }
                Event::ReadFailed { url, reason, .. } => {
                    // What is there and may not be read is no dead link.
                    let there = !matches!(
                        reason,
                        FailReason::NotFound | FailReason::Timeout | FailReason::Broken
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

    /// What row D13 asks of a report.
    fn usefulness(&mut self, run: &Run, report: &Report) {
        let covered = |it: &CoverageRow| it.state.judged() == "satisfied";
        let rows = &report.coverage;
        if !rows.is_empty() {
            count(&mut self.complete, rows.iter().all(covered));
        }
        let domains: BTreeSet<&str> = report.sources.iter().map(|it| &*it.domain).collect();
        count(&mut self.diverse, domains.len() >= DOMAINS);
        self.sources.push(report.sources.len() as f64);
        let technical = run.brief.as_ref().is_some_and(Brief::is_technical);
        // The other strategies do not look for code, so that nothing can be said of it.
        if let (true, Some(Strategy::Coverage), Some(heart)) =
            (technical, run.strategy, rows.first())
        {
            count(&mut self.coded, covered(heart));
        }
        for it in report.claims().flat_map(Claim::citations) {
            let words = it.passage.text().expose().split_whitespace().count();
            count(&mut self.worded, words >= SENTENCE);
        }
    }

    /// Questions that a report answers and that were asked once, of all that were asked.
    pub fn at_once(&self) -> Counted {
        let mut it = Counted::default();
        for (times, answered) in self.asked.values() {
            count(&mut it, *answered && *times == 1);
        }
        it
    }

    /// Means over the judged runs: answer, process, composite.
    pub fn judged_means(&self) -> Option<[f64; 3]> {
        let n = f64::from(self.judged);
        (self.judged > 0).then(|| self.scores.map(|it| it / n))
    }

    /// The median of the seconds that reports took.
    pub fn median_seconds(&self) -> Option<f64> {
        median(&self.seconds)
    }

    /// The rating as of 5: the share of thumbs up.
    pub fn rating(&self) -> Option<f64> {
        share(self.rated_up).map(|it| it * 5.0)
    }

    /// The targets of rows E16 and D13 beside what was measured.
    pub fn targets(&self) -> Vec<Target> {
        let spent: Vec<f64> = self.spent.iter().map(|it| *it as f64).collect();
        let row = |name, wanted, measured: Option<f64>, of: u64, met: fn(f64) -> bool| Target {
            name,
            wanted,
            measured,
            of,
            met: measured.map(met),
        };
        vec![
            row(
                "facts held, share",
                "at least 0.90",
                share(self.facts),
                self.facts.total.into(),
                |it| it >= 0.9,
            ),
            row(
                "links working, share",
                "at least 0.95",
                share(self.links),
                self.links.total.into(),
                |it| it >= 0.95,
            ),
            row(
                "tokens a report with a model, median",
                "at most 300000",
                median(&spent),
                self.spent.len() as u64,
                |it| it <= 300_000.0,
            ),
            row(
                "seconds a report, median",
                "at most 240",
                self.median_seconds(),
                self.seconds.len() as u64,
                |it| it <= 240.0,
            ),
            row(
                "rating, of 5",
                "at least 4",
                self.rating(),
                self.rated_up.total.into(),
                |it| it >= 4.0,
            ),
            row(
                "reports with all topics covered, share",
                "1.00",
                share(self.complete),
                self.complete.total.into(),
                |it| it >= 1.0,
            ),
            row(
                "reports with 3 domains, share",
                "1.00",
                share(self.diverse),
                self.diverse.total.into(),
                |it| it >= 1.0,
            ),
            row(
                "code where it was asked for, share",
                "1.00",
                share(self.coded),
                self.coded.total.into(),
                |it| it >= 1.0,
            ),
            row(
                "quotes without navigation, share",
                "1.00",
                share(self.worded),
                self.worded.total.into(),
                |it| it >= 1.0,
            ),
            row(
                "sources a report, median",
                "5 to 7",
                median(&self.sources),
                self.sources.len() as u64,
                |it| (5.0..=7.0).contains(&it),
            ),
            row(
                "questions answered the first time, share",
                "1.00",
                share(self.at_once()),
                self.at_once().total.into(),
                |it| it >= 1.0,
            ),
        ]
    }
}

fn count(it: &mut Counted, held: bool) {
    it.held += u32::from(held);
    it.total += 1;
}

fn share(it: Counted) -> Option<f64> {
    (it.total > 0).then(|| f64::from(it.held) / f64::from(it.total))
}

/// The middle one; of an even number, the mean of the two.
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

fn seconds(run: &Run) -> Option<f64> {
    let at = |it: &Option<String>| it.as_ref()?.parse::<jiff::Timestamp>().ok();
    let (begun, ended) = (at(&run.started_at)?, at(&run.updated_at)?);
    Some((ended.as_millisecond() - begun.as_millisecond()) as f64 / 1000.0)
}

/// The wire word of a status.
fn word(it: RunStatus) -> String {
    serde_json::to_value(it)
        .ok()
        .and_then(|it| it.as_str().map(str::to_owned))
        .unwrap_or_default()
}
