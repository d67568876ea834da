//! Compares two reports: claims, numbers, sources and confidence.
//!
//! Claims are matched if they share most of their words. A matched claim has changed if it has other numbers
//! or is negated on one side; other words alone are not a change, because no two runs write alike.
use crate::thresholds::MIN_MATCHING_CLAIM_OVERLAP;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::prompts::{self, PhraseSet};
use ibid_core::Result;
use ibid_core::domain::words::{content_stems, numbers, tokens};
use ibid_core::domain::{Claim, Confidence, Report, RunId, Source};

/// The differences between two reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportDiff {
    /// The two runs.
    pub runs: Change<RunId>,
    /// The questions.
    pub questions: Change<String>,
    /// The days they were asked, `YYYY-MM-DD`.
    pub dates: Change<String>,
    /// The short answers.
    pub short: Change<String>,
    /// Their confidence.
    pub confidence: Change<Confidence>,
    /// Claims that say something else now: another number, or the opposite.
    pub changed: Vec<Change<DiffClaim>>,
    /// Claims that match none of the first report.
    pub added: Vec<DiffClaim>,
    /// Claims that match none of the second report.
    pub removed: Vec<DiffClaim>,
    /// How many claims say the same as before, in these words or others.
    pub kept: usize,
    /// Findings whose confidence changed.
    pub findings: Vec<ConfidenceChange>,
    /// Works cited now and not before.
    pub sources_new: Vec<DiffSource>,
    /// Works cited before and not now.
    pub sources_lost: Vec<DiffSource>,
    /// Works cited in both.
    pub sources_kept: usize,
}

/// A value in both reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// In the first report.
    pub before: T,
    /// In the second report.
    pub after: T,
}

impl<T: PartialEq> Change<T> {
    /// Whether both values are equal.
    pub fn is_unchanged(&self) -> bool {
        self.before == self.after
    }
}

/// A claim with its quotes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffClaim {
    /// The sentence.
    pub text: String,
    /// Its quotes.
    pub quotes: Vec<DiffQuote>,
}

/// A quote and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffQuote {
    /// The words.
    pub quote: String,
    /// The work.
    pub source: DiffSource,
}

/// A source by its title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffSource {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// When it was published, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// A finding whose confidence changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfidenceChange {
    /// Its text in the second report.
    pub text: String,
    /// Its confidence.
    pub confidence: Change<Confidence>,
}

impl ReportDiff {
    /// Whether nothing changed: same statements, same sources.
    pub fn is_empty(&self) -> bool {
        let lists = [self.added.len(), self.removed.len(), self.changed.len()];
        let works = [self.sources_new.len(), self.sources_lost.len()];
        lists.iter().chain(&works).all(|list| *list == 0)
            && self.findings.is_empty()
            && self.confidence.is_unchanged()
    }
}

/// Compares `old` with `new`.
///
/// # Errors
/// `Internal` when the built-in word lists cannot be read.
pub fn diff_reports(old: &Report, new: &Report) -> Result<ReportDiff> {
    let negations = &prompts::phrases()?.sentence.negations;
    let (before, after) = (
        distinct_claims(old, negations).collect::<Vec<_>>(),
        distinct_claims(new, negations).collect::<Vec<_>>(),
    );
    let pairs = match_claims(&before, &after);
    let mut changed = Vec::new();
    let mut kept = 0;
    for (nth, at) in &pairs {
        let (a, b) = (&before[*nth], &after[*at]);
        if a.has_changed(b) {
            changed
                .push(Change { before: diff_claim(a.claim, old), after: diff_claim(b.claim, new) })
        } else {
            kept += 1
        }
    }
    let met: BTreeSet<usize> = pairs.values().copied().collect();
    let added = after.iter().enumerate().filter(|pair| !met.contains(&pair.0));
    let removed = before.iter().enumerate();
    let removed = removed.filter(|pair| !pairs.contains_key(&pair.0));
    Ok(ReportDiff {
        runs: Change { before: old.run.clone(), after: new.run.clone() },
        questions: Change { before: old.question.clone(), after: new.question.clone() },
        dates: Change { before: old.date.clone(), after: new.date.clone() },
        short: Change { before: short_answer_text(old), after: short_answer_text(new) },
        confidence: Change { before: old.confidence.level, after: new.confidence.level },
        added: added.map(|pair| diff_claim(pair.1.claim, new)).collect(),
        removed: removed.map(|pair| diff_claim(pair.1.claim, old)).collect(),
        findings: confidence_changes(old, new, negations),
        changed,
        kept,
        sources_new: lost_sources(new, old),
        sources_lost: lost_sources(old, new),
        sources_kept: old.sources.len() - lost_sources(old, new).len(),
    })
}

/// A claim prepared for comparison.
struct ClaimWords<'a> {
    claim: &'a Claim,
    stems: BTreeSet<String>,
    values: Vec<f64>,
    denied: bool,
}

impl<'a> ClaimWords<'a> {
    fn from_claim(claim: &'a Claim, negations: &PhraseSet) -> ClaimWords<'a> {
        let text = claim.text();
        let mut values: Vec<f64> = numbers(text).iter().map(|it| it.value).collect();
        values.sort_by(f64::total_cmp);
        let is_number = |text: &String| text.starts_with(|c: char| c.is_ascii_digit());
        let denials = tokens(text).iter().filter(|token| negations.contains(&token.text)).count();
        ClaimWords {
            claim,
            stems: content_stems(text)
                .into_iter()
                .filter(|content_stem| !is_number(content_stem))
                .collect(),
            values,
            denied: denials % 2 == 1,
        }
    }

    /// Share of words in common (Dice).
    fn similarity(&self, other: &ClaimWords<'_>) -> f32 {
        if self.claim.text() == other.claim.text() {
            return 1.0;
        }
        let both = self.stems.intersection(&other.stems).count();
        let all = self.stems.len() + other.stems.len();
        2.0 * both as f32 / all.max(1) as f32
    }

    fn has_changed(&self, other: &ClaimWords<'_>) -> bool {
        self.values != other.values || self.denied != other.denied
    }
}

/// The claims of a report, each sentence once.
fn distinct_claims<'a>(
    report: &'a Report,
    negations: &'a PhraseSet,
) -> impl Iterator<Item = ClaimWords<'a>> {
    let mut seen = BTreeSet::new();
    report
        .claims()
        .filter(move |claim| seen.insert(claim.text()))
        .map(|claim| ClaimWords::from_claim(claim, negations))
}

/// The pairs of matching claims, the most similar first; of equals, those that say the same.
fn match_claims(before: &[ClaimWords<'_>], after: &[ClaimWords<'_>]) -> BTreeMap<usize, usize> {
    let mut all: Vec<(f32, bool, usize, usize)> = Vec::new();
    for (nth, a) in before.iter().enumerate() {
        for (at, b) in after.iter().enumerate() {
            let like = a.similarity(b);
            if like >= MIN_MATCHING_CLAIM_OVERLAP {
                all.push((like, a.has_changed(b), nth, at));
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2, a.3).cmp(&(b.1, b.2, b.3))));
    let mut pairs = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (_, _, nth, at) in all {
        if !pairs.contains_key(&nth) && taken.insert(at) {
            pairs.insert(nth, at);
        }
    }
    pairs
}

/// Findings of both reports whose confidence differs.
fn confidence_changes(old: &Report, new: &Report, negations: &PhraseSet) -> Vec<ConfidenceChange> {
    let of = |it| ClaimWords::from_claim(it, negations);
    let before: Vec<ClaimWords<'_>> =
        old.findings.iter().map(|finding| of(&finding.claim)).collect();
    let after: Vec<ClaimWords<'_>> =
        new.findings.iter().map(|finding| of(&finding.claim)).collect();
    let pairs = match_claims(&before, &after);
    pairs
        .into_iter()
        .map(|(nth, at)| (&old.findings[nth], &new.findings[at]))
        .filter(|(a, b)| a.confidence.level != b.confidence.level)
        .map(|(a, b)| ConfidenceChange {
            text: b.claim.text().to_owned(),
            confidence: Change { before: a.confidence.level, after: b.confidence.level },
        })
        .collect()
}

/// The works that `one` cites and `other` does not.
fn lost_sources(one: &Report, other: &Report) -> Vec<DiffSource> {
    let there: BTreeSet<&str> = other.sources.iter().map(Source::key).collect();
    let gone = one.sources.iter().filter(|source| !there.contains(source.key()));
    gone.map(diff_source).collect()
}

fn diff_source(it: &Source) -> DiffSource {
    DiffSource { title: it.title.clone(), url: it.url.clone(), date: it.date.clone() }
}

fn diff_claim(it: &Claim, report: &Report) -> DiffClaim {
    let quoted = it.citations().iter().filter_map(|citation| {
        let source = report.sources.get((citation.n as usize).wrapping_sub(1))?;
        Some(DiffQuote {
            quote: citation.passage.text().expose().to_owned(),
            source: diff_source(source),
        })
    });
    DiffClaim { text: it.text().to_owned(), quotes: quoted.collect() }
}

/// The short answer in one piece; in mode `answer`, the answer line.
fn short_answer_text(report: &Report) -> String {
    if let (true, Some(answer)) = (report.short.is_empty(), &report.answer) {
        return answer.text.clone();
    }
    let all: Vec<&str> = report.short.iter().map(Claim::text).collect();
    all.join(" ")
}
