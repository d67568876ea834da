//! The introduction and the conclusion of a report. They make no claims: everything in them is counted or comes from the run.
use super::phrases::{end_sentence, pluralize_as};
use ibid_core::domain::{CoverageRow, Report};

/// The introduction: what a complete answer was expected to cover, and how to read the report. `shown` escapes text of the plan.
/// `None` if there is no answer, or if a planned section takes its place.
pub fn introduction(it: &Report, shown: impl Fn(&str) -> String) -> Option<String> {
    if it.short.is_empty() || has_section(it, &["introduction"]) {
        return None;
    }
    let asked: Vec<String> =
        it.coverage.iter().map(|row| end_sentence(&shown(row.text.trim()))).collect();
    let wanted = match asked.len() {
        0 => String::new(),
        1 => format!(" A complete answer covers one checklist item: {}", asked[0]),
        n => format!(" A complete answer covers {n} checklist items: {}", asked.join(" ")),
    };
    let by_code = it.method.unaided.iter().any(|step| step == "write");
    let words = if by_code {
        "The sentences below are those of the sources themselves"
    } else {
        "The sentences below were written from those of the sources, and checked against them"
    };
    Some(format!(
        "Asked on {}.{wanted} {words}; each number in brackets links to the exact quote.",
        it.date
    ))
}

fn has_section(it: &Report, titles: &[&str]) -> bool {
    let named = |title: &str| titles.iter().any(|known| known.eq_ignore_ascii_case(title.trim()));
    it.sections.iter().any(|section| named(&section.title))
}

/// The conclusion: how much of a complete answer there is, on how many sources, and where they disagree. `None` if there is no
/// answer, or if a planned section takes its place.
pub fn conclusion(it: &Report) -> Option<String> {
    if it.short.is_empty() || has_section(it, &["conclusion", "conclusions"]) {
        return None;
    }
    let counts = CoverageRow::counts(&it.coverage);
    let total = it.coverage.len() as u64;
    let cited = it.sources.len() as u64;
    let sources = pluralize_as(cited, "source", "sources");
    // "One source answers", "two sources answer".
    let answer = if cited == 1 { "answers" } else { "answer" };
    let mut out = match total {
        0 => format!("The answer rests on {sources}."),
        _ if u64::from(counts.satisfied) == total => {
            let all = match total {
                1 => "the checklist item".to_owned(),
                2 => "both checklist items".to_owned(),
                n => format!("all {n} checklist items"),
            };
            format!("The {sources} cited here {answer} {all}.")
        }
        1 if counts.partial == 1 => {
            format!("The {sources} cited here {answer} the checklist item in part.")
        }
        1 => {
            let not = if cited == 1 { "does" } else { "do" };
            format!("The {sources} cited here {not} not answer the checklist item.")
        }
        _ => {
            let part = |n: u32, how: &str| (n > 0).then(|| format!("{n} {how}"));
            let parts: Vec<String> =
                [part(counts.partial, "in part"), part(counts.unsatisfied, "not at all")]
                    .into_iter()
                    .flatten()
                    .collect();
            format!(
                "Of the {total} checklist items, the {sources} cited here {answer} {}, {}.",
                match counts.satisfied {
                    0 => "none in full".to_owned(),
                    n => n.to_string(),
                },
                parts.join(" and ")
            )
        }
    };
    if !it.conflicts.is_empty() {
        let disputed = pluralize_as(it.conflicts.len() as u64, "question", "questions");
        out += &match cited {
            1 => format!(" It gives two answers to {disputed}, shown with both sides."),
            _ => format!(" They disagree on {disputed}, shown with both sides."),
        };
    }
    Some(out)
}
