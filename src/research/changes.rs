//! What changed from one report to another: claims, numbers, sources, how sure the findings are.
//!
//! Claims are matched by their words: one is the other's if they share most of them. Of matched ones, other numbers or
//! a "not" more or less make a change; other words alone do not, for no two runs write alike.
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::prompts;
use crate::domain::words::{content_stems, numbers, tokens};
use crate::domain::{Claim, Confidence, Report, RunId, Source};
use crate::error::Result;

/// Share of their words that two claims must have in common to be one.
const LIKE: f32 = 0.6;

/// What changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changes {
    /// The two runs.
    pub runs: Change<RunId>,
    /// The questions.
    pub questions: Change<String>,
    /// The days they were asked, `YYYY-MM-DD`.
    pub dates: Change<String>,
    /// The short answers.
    pub short: Change<String>,
    /// How sure they are.
    pub confidence: Change<Confidence>,
    /// Claims that say something else now: another number, or the opposite.
    pub changed: Vec<Change<Said>>,
    /// Claims that nothing before was like.
    pub added: Vec<Said>,
    /// Claims that nothing now is like.
    pub removed: Vec<Said>,
    /// Claims that are as before, in these words or others.
    pub kept: usize,
    /// Findings that are surer now, or less sure.
    pub findings: Vec<Move>,
    /// Works cited now and not before.
    pub sources_new: Vec<Named>,
    /// Works cited before and not now.
    pub sources_lost: Vec<Named>,
    /// Works cited in both.
    pub sources_kept: usize,
}

/// Two sides of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// In the first run.
    pub before: T,
    /// In the second.
    pub after: T,
}

impl<T: PartialEq> Change<T> {
    /// Whether both sides are the same.
    pub fn none(&self) -> bool {
        self.before == self.after
    }
}

/// A claim with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The sentence.
    pub text: String,
    /// Its quotes.
    pub quotes: Vec<Quoted>,
}

/// Exact words and where they stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quoted {
    /// The words.
    pub quote: String,
    /// The work.
    pub source: Named,
}

/// A work by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// When it was published, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// A finding whose confidence moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    /// What it says now.
    pub text: String,
    /// How sure.
    pub confidence: Change<Confidence>,
}

impl Changes {
    /// Whether the second run says what the first said, from the same works.
    pub fn none(&self) -> bool {
        let lists = [self.added.len(), self.removed.len(), self.changed.len()];
        let works = [self.sources_new.len(), self.sources_lost.len()];
        lists.iter().chain(&works).all(|it| *it == 0)
            && self.findings.is_empty()
            && self.confidence.none()
    }
}

/// What changed from `old` to `new`.
///
/// # Errors
/// `Internal` where the program's own lists of words cannot be read.
pub fn changes(old: &Report, new: &Report) -> Result<Changes> {
    let negations = &prompts::phrases()?.sentence.negations;
    let (before, after) = (
        distinct(old, negations).collect::<Vec<_>>(),
        distinct(new, negations).collect::<Vec<_>>(),
    );
    let pairs = matched(&before, &after);
    let mut changed = Vec::new();
    let mut kept = 0;
    for (nth, at) in &pairs {
        let (a, b) = (&before[*nth], &after[*at]);
        match a.says_otherwise(b) {
            true => changed.push(Change {
                before: said(a.claim, old),
                after: said(b.claim, new),
            }),
            false => kept += 1,
        }
    }
    let met: BTreeSet<usize> = pairs.values().copied().collect();
    let added = after.iter().enumerate().filter(|it| !met.contains(&it.0));
    let removed = before.iter().enumerate();
    let removed = removed.filter(|it| !pairs.contains_key(&it.0));
    Ok(Changes {
        runs: Change {
            before: old.run.clone(),
            after: new.run.clone(),
        },
        questions: Change {
            before: old.question.clone(),
            after: new.question.clone(),
        },
        dates: Change {
            before: old.date.clone(),
            after: new.date.clone(),
        },
        short: Change {
            before: short(old),
            after: short(new),
        },
        confidence: Change {
            before: old.confidence.level,
            after: new.confidence.level,
        },
        added: added.map(|it| said(it.1.claim, new)).collect(),
        removed: removed.map(|it| said(it.1.claim, old)).collect(),
        findings: moves(old, new, negations),
        changed,
        kept,
        sources_new: lost(new, old),
        sources_lost: lost(old, new),
        sources_kept: old.sources.len() - lost(old, new).len(),
    })
}

/// A claim as it is compared.
struct Words<'a> {
    claim: &'a Claim,
    stems: BTreeSet<String>,
    values: Vec<f64>,
    denied: bool,
}

impl<'a> Words<'a> {
    fn of(claim: &'a Claim, negations: &[String]) -> Words<'a> {
        let text = claim.text();
        let mut values: Vec<f64> = numbers(text).iter().map(|it| it.value).collect();
        values.sort_by(f64::total_cmp);
        let is_number = |it: &String| it.starts_with(|c: char| c.is_ascii_digit());
        let denials = tokens(text)
            .iter()
            .filter(|it| negations.contains(&it.text))
            .count();
        Words {
            claim,
            stems: content_stems(text)
                .into_iter()
                .filter(|it| !is_number(it))
                .collect(),
            values,
            denied: denials % 2 == 1,
        }
    }

    /// Share of words in common (Dice).
    fn like(&self, other: &Words<'_>) -> f32 {
        if self.claim.text() == other.claim.text() {
            return 1.0;
        }
        let both = self.stems.intersection(&other.stems).count();
        let all = self.stems.len() + other.stems.len();
        2.0 * both as f32 / all.max(1) as f32
    }

    fn says_otherwise(&self, other: &Words<'_>) -> bool {
        self.values != other.values || self.denied != other.denied
    }
}

/// The claims of a report, each sentence once.
fn distinct<'a>(report: &'a Report, negations: &'a [String]) -> impl Iterator<Item = Words<'a>> {
    let mut seen = BTreeSet::new();
    report
        .claims()
        .filter(move |it| seen.insert(it.text()))
        .map(|it| Words::of(it, negations))
}

/// Which of `after` each of `before` has become, the likest pairs first; of equals, those that say the same.
fn matched(before: &[Words<'_>], after: &[Words<'_>]) -> BTreeMap<usize, usize> {
    let mut all: Vec<(f32, bool, usize, usize)> = Vec::new();
    for (nth, a) in before.iter().enumerate() {
        for (at, b) in after.iter().enumerate() {
            let like = a.like(b);
            if like >= LIKE {
                all.push((like, a.says_otherwise(b), nth, at));
            }
        }
    }
    all.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then((a.1, a.2, a.3).cmp(&(b.1, b.2, b.3)))
    });
    let mut pairs = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (_, _, nth, at) in all {
        if !pairs.contains_key(&nth) && taken.insert(at) {
            pairs.insert(nth, at);
        }
    }
    pairs
}

/// Findings of both reports whose confidence is another now.
fn moves(old: &Report, new: &Report, negations: &[String]) -> Vec<Move> {
    let of = |it| Words::of(it, negations);
    let before: Vec<Words<'_>> = old.findings.iter().map(|it| of(&it.claim)).collect();
    let after: Vec<Words<'_>> = new.findings.iter().map(|it| of(&it.claim)).collect();
    let pairs = matched(&before, &after);
    pairs
        .into_iter()
        .map(|(nth, at)| (&old.findings[nth], &new.findings[at]))
        .filter(|(a, b)| a.confidence.level != b.confidence.level)
        .map(|(a, b)| Move {
            text: b.claim.text().to_owned(),
            confidence: Change {
                before: a.confidence.level,
                after: b.confidence.level,
            },
        })
        .collect()
}

/// The works that `one` cites and `other` does not.
fn lost(one: &Report, other: &Report) -> Vec<Named> {
    let there: BTreeSet<&str> = other.sources.iter().map(Source::key).collect();
    let gone = one.sources.iter().filter(|it| !there.contains(it.key()));
    gone.map(named).collect()
}

fn named(it: &Source) -> Named {
    Named {
        title: it.title.clone(),
        url: it.url.clone(),
        date: it.date.clone(),
    }
}

fn said(it: &Claim, report: &Report) -> Said {
    let quoted = it.citations().iter().filter_map(|it| {
        let source = report.sources.get((it.n as usize).wrapping_sub(1))?;
        Some(Quoted {
            quote: it.passage.text().expose().to_owned(),
            source: named(source),
        })
    });
    Said {
        text: it.text().to_owned(),
        quotes: quoted.collect(),
    }
}

/// The short answer in one piece; of mode `answer` its line.
fn short(report: &Report) -> String {
    if let (true, Some(answer)) = (report.short.is_empty(), &report.answer) {
        return answer.text.clone();
    }
    let all: Vec<&str> = report.short.iter().map(Claim::text).collect();
    all.join(" ")
}
