//! Scores how well a report answers its question, by counting.
use ibid_core::domain::{
    Coverage, ItemId, OpenItem, OutputMode, QualityPart, Report, SectionLayout,
};
use ibid_core::record::Run;

/// The parts of the answer's quality.
pub(super) fn score_answer(run: &Run, report: &Report) -> Vec<QualityPart> {
    let mut parts = vec![coverage(run, report), support(report), confidence(report), short(report)];
    // A single line has no room for what it leaves open.
    if report.mode == OutputMode::Report {
        parts.push(candour(run, report));
    }
    parts
}

pub(super) fn score_part(name: &str, weight: f64, score: f64, why: String) -> QualityPart {
    QualityPart { name: name.to_owned(), weight, score, counted: Some(score), said: None, why }
}

/// `a` divided by `b`, or 1 when `b` is 0.
pub(super) fn share(a: usize, b: usize) -> f64 {
    if b == 0 { 1.0 } else { a as f64 / b as f64 }
}

/// Whether there is anything in the report.
fn is_empty(report: &Report) -> bool {
    report.claims().next().is_none() && report.answer.is_none()
}

/// The checklist: an item answered counts 1, one partly answered a half.
fn coverage(run: &Run, report: &Report) -> QualityPart {
    let rows = if report.coverage.is_empty() { &run.coverage } else { &report.coverage };
    let done = |wanted: &[Coverage]| rows.iter().filter(|row| wanted.contains(&row.state)).count();
    let whole = done(&[Coverage::Covered, Coverage::Conflict]);
    let half = done(&[Coverage::Partial]);
    let score =
        if rows.is_empty() { 0.0 } else { (whole as f64 + 0.5 * half as f64) / rows.len() as f64 };
    let why = format!("{whole} of {} items answered, {half} in part", rows.len());
    score_part("coverage", 0.3, score, why)
}

/// How much of what was written held. Sentences that were removed or replaced by their quotes count against
/// it.
fn support(report: &Report) -> QualityPart {
    let checks = report.checks;
    let written = checks.claims.total + checks.removed;
    let quotes = share(checks.quotes.passed as usize, checks.quotes.total as usize);
    let score = if is_empty(report) {
        0.0
    } else {
        share(checks.claims.passed as usize, written as usize) * quotes
    };
    let why = format!(
        "{} of {written} sentences held as written, {} of {} quotes",
        checks.claims.passed, checks.quotes.passed, checks.quotes.total
    );
    score_part("support", 0.3, score, why)
}

/// How sure the report is: a quarter for each GRADE level.
fn confidence(report: &Report) -> QualityPart {
    let level = report.confidence.level;
    let score = if is_empty(report) { 0.0 } else { f64::from(level as u8 + 1) / 4.0 };
    score_part("confidence", 0.15, score, format!("{} confidence", level.as_str()))
}

/// Whether unanswered items are reported as open.
fn candour(run: &Run, report: &Report) -> QualityPart {
    let short_of = |coverage: &Coverage| matches!(coverage, Coverage::Open | Coverage::Partial);
    let gaps: Vec<_> = report.coverage.iter().filter(|it| short_of(&it.state)).collect();
    let named = gaps
        .iter()
        .filter(|gap| report.open.iter().any(|it| is_about_item(run, it, gap.id)))
        .count();
    // A conflict is shown when at least two sides are quoted; `check` removes others.
    let shown = report.conflicts.iter().filter(|conflict| conflict.sides.len() >= 2);
    let shown = shown.count();
    let all = gaps.len() + report.conflicts.len();
    let why = format!(
        "{named} of {} gaps listed, {shown} of {} conflicts shown",
        gaps.len(),
        report.conflicts.len()
    );
    score_part("candour", 0.15, share(named + shown, all), why)
}

/// Whether an open point is about an item: by its id, or by the heading from the plan.
fn is_about_item(run: &Run, it: &OpenItem, gap: ItemId) -> bool {
    let item = run.plan.as_ref().and_then(|plan| plan.item(gap));
    let named = |heading: &str| {
        let said = format!("{} {}", it.what, it.why).to_lowercase();
        !heading.is_empty() && said.contains(&heading.to_lowercase())
    };
    it.item == Some(gap) || item.is_some_and(|item| named(&item.heading))
}

/// Maximum number of words of a short answer, and of one that is a list.
const SHORT_WORDS: usize = 60;
const SHORT_LIST_WORDS: usize = 100;
const SHORT_STEPS_WORDS: usize = 220;

/// Whether there is a short answer, and whether it is short.
fn short(report: &Report) -> QualityPart {
    let words: usize = match (report.mode, &report.answer) {
        (OutputMode::Answer, Some(it)) => it.text.split_whitespace().count(),
        _ => {
            let claims = report.short.iter();
            claims.map(|claim| claim.text().split_whitespace().count()).sum()
        }
    };
    let most = match report.short_layout() {
        SectionLayout::Prose => SHORT_WORDS,
        _ if report.short_is_steps => SHORT_STEPS_WORDS,
        _ => SHORT_LIST_WORDS,
    };
    let (score, why) = match words {
        0 => (0.0, "no short answer".to_owned()),
        n if n <= most => (1.0, format!("a short answer of {n} words")),
        n => (most as f64 / n as f64, format!("a short answer of {n} words, of at most {most}")),
    };
    score_part("short_answer", 0.1, score, why)
}
