//! How well a report answers its question, by what can be counted.
use crate::domain::{Coverage, ItemId, Mode, OpenPoint, Part, Report};
use crate::record::Run;

/// The parts of the answer's quality.
pub(super) fn counted(run: &Run, report: &Report) -> Vec<Part> {
    let mut parts = vec![
        coverage(run, report),
        support(report),
        confidence(report),
        short(report),
    ];
    // One line has no room for what it leaves open.
    if report.mode == Mode::Report {
        parts.push(candour(run, report));
    }
    parts
}

pub(super) fn part(name: &str, weight: f64, score: f64, why: String) -> Part {
    Part {
        name: name.to_owned(),
        weight,
        score,
        counted: Some(score),
        said: None,
        why,
    }
}

/// `a` of `b`; of nothing it is all.
pub(super) fn share(a: usize, b: usize) -> f64 {
    if b == 0 { 1.0 } else { a as f64 / b as f64 }
}

/// Whether there is anything in the report.
fn is_empty(report: &Report) -> bool {
    report.claims().next().is_none() && report.answer.is_none()
}

/// The checklist: an item answered counts 1, one answered in part a half.
fn coverage(run: &Run, report: &Report) -> Part {
    let rows = match report.coverage.is_empty() {
        true => &run.coverage,
        false => &report.coverage,
    };
    let done = |wanted: &[Coverage]| rows.iter().filter(|it| wanted.contains(&it.state)).count();
    let whole = done(&[Coverage::Covered, Coverage::Conflict]);
    let half = done(&[Coverage::Partial]);
    let score = match rows.is_empty() {
        true => 0.0,
        false => (whole as f64 + 0.5 * half as f64) / rows.len() as f64,
    };
    let why = format!("{whole} of {} items answered, {half} in part", rows.len());
    part("coverage", 0.3, score, why)
}

/// What was written that stood: sentences that were struck or put back into their quote's words count against it.
fn support(report: &Report) -> Part {
    let checks = report.checks;
    let written = checks.claims.total + checks.removed;
    let quotes = share(checks.quotes.held as usize, checks.quotes.total as usize);
    let score = match is_empty(report) {
        true => 0.0,
        false => share(checks.claims.held as usize, written as usize) * quotes,
    };
    let why = format!(
        "{} of {written} sentences held as written, {} of {} quotes",
        checks.claims.held, checks.quotes.held, checks.quotes.total
    );
    part("support", 0.3, score, why)
}

/// How sure the report is: a quarter a step of GRADE's words.
fn confidence(report: &Report) -> Part {
    let level = report.confidence.level;
    let score = match is_empty(report) {
        true => 0.0,
        false => f64::from(level as u8 + 1) / 4.0,
    };
    part(
        "confidence",
        0.15,
        score,
        format!("{} confidence", level.word()),
    )
}

/// What is not answered must be told as open.
fn candour(run: &Run, report: &Report) -> Part {
    let short_of = |it: &Coverage| matches!(it, Coverage::Open | Coverage::Partial);
    let gaps: Vec<_> = report
        .coverage
        .iter()
        .filter(|it| short_of(&it.state))
        .collect();
    let told = gaps
        .iter()
        .filter(|gap| report.open.iter().any(|it| tells(run, it, gap.id)))
        .count();
    // A conflict is shown where at least two sides are quoted; `check` lets no other pass.
    let shown = report.conflicts.iter().filter(|it| it.sides.len() >= 2);
    let shown = shown.count();
    let all = gaps.len() + report.conflicts.len();
    let why = format!(
        "{told} of {} gaps told, {shown} of {} conflicts shown",
        gaps.len(),
        report.conflicts.len()
    );
    part("candour", 0.15, share(told + shown, all), why)
}

/// Whether an open point is about an item: by its id, or by the heading that the plan gave it.
fn tells(run: &Run, it: &OpenPoint, gap: ItemId) -> bool {
    let item = run.plan.as_ref().and_then(|it| it.item(gap));
    let named = |heading: &str| {
        let said = format!("{} {}", it.what, it.why).to_lowercase();
        !heading.is_empty() && said.contains(&heading.to_lowercase())
    };
    it.item == Some(gap) || item.is_some_and(|it| named(&it.heading))
}

/// Words that a short answer may have.
const SHORT_WORDS: usize = 60;

/// Whether there is a short answer, and whether it is short.
fn short(report: &Report) -> Part {
    let words: usize = match (report.mode, &report.answer) {
        (Mode::Answer, Some(it)) => it.text.split_whitespace().count(),
        _ => {
            let claims = report.short.iter();
            claims.map(|it| it.text().split_whitespace().count()).sum()
        }
    };
    let (score, why) = match words {
        0 => (0.0, "no short answer".to_owned()),
        n if n <= SHORT_WORDS => (1.0, format!("a short answer of {n} words")),
        n => (
            SHORT_WORDS as f64 / n as f64,
            format!("a short answer of {n} words, of at most {SHORT_WORDS}"),
        ),
    };
    part("short_answer", 0.1, score, why)
}
