//! The introduction and the conclusion of a report. They make no claims: everything in them is counted or comes from the run.
use std::collections::BTreeSet;

use super::phrases::{end_sentence, pluralize_as};
use ibid_core::domain::{CoverageRow, Report};

/// The introduction: how many sources answer, the sections, and how to read the citations. `shown` escapes text of the plan. `None`
/// if there is no answer, or if a planned section takes its place.
pub fn introduction(it: &Report, shown: impl Fn(&str) -> String) -> Option<String> {
    if it.short.is_empty() || has_section(it, &["introduction"]) {
        return None;
    }
    let sources = pluralize_as(it.sources.len() as u64, "source", "sources");
    let mut out = format!("Asked on {}, and answered from {sources}{}.", it.date, published(it));
    let titles: Vec<String> =
        it.sections.iter().map(|section| shown(section.title.trim())).collect();
    if titles.len() > 1 {
        out += &format!(" The sections after the findings: {}", end_sentence(&titles.join("; ")));
    }
    let by_code = it.method.unaided.iter().any(|step| step == "write");
    out += if by_code {
        " Each sentence is quoted from a source, and the number in brackets opens the quote."
    } else {
        " Each sentence was written from its sources and checked against them, and the number in brackets opens the quote."
    };
    Some(out)
}

/// The years in which the sources were published: ", published in 2024", ", published from 2017 to 2024".
fn published(it: &Report) -> String {
    let years = it.sources.iter().filter_map(|source| source.date.as_deref()?.get(..4));
    let years: BTreeSet<&str> = years.filter(|year| year.parse::<u16>().is_ok()).collect();
    match (years.first(), years.last()) {
        (Some(first), Some(last)) if first == last => format!(", published in {first}"),
        (Some(first), Some(last)) => format!(", published from {first} to {last}"),
        _ => String::new(),
    }
}

fn has_section(it: &Report, titles: &[&str]) -> bool {
    let named = |title: &str| titles.iter().any(|known| known.eq_ignore_ascii_case(title.trim()));
    it.sections.iter().any(|section| named(&section.title))
}

/// Whether a report written by code tells what was found on an item: it is the question or a part of it, or has a section.
/// The sections of a model may tell of several items.
fn is_told(it: &Report, row: &CoverageRow) -> bool {
    let by_model = !it.method.unaided.iter().any(|step| step == "write");
    let asked = row.text.trim().trim_end_matches(['.', '?', '!']);
    let has_section = it.sections.iter().any(|section| section.item == Some(row.id));
    by_model || has_section || it.question.contains(asked) || it.coverage.first() == Some(row)
}

/// The conclusion: what is answered, in part or not at all, and what the sources disagree on. `shown` escapes text of the plan.
/// `None` if there is no answer, or if a planned section takes its place.
pub fn conclusion(it: &Report, shown: impl Fn(&str) -> String) -> Option<String> {
    if it.short.is_empty() || has_section(it, &["conclusion", "conclusions"]) {
        return None;
    }
    let sources = pluralize_as(it.sources.len() as u64, "source", "sources");
    let rows = |status: &str| -> Vec<String> {
        let rows = it.coverage.iter().filter(|row| row.state.status_word() == status);
        let told = rows.filter(|row| status != "satisfied" || is_told(it, row));
        told.map(|row| shown(row.text.trim().trim_end_matches(['.', '?', '!']))).collect()
    };
    let asked = |status: &str| rows(status).join("; ");
    let counts = CoverageRow::counts(&it.coverage);
    let total = it.coverage.len();
    let mut out = match (total, rows("satisfied").len()) {
        (0, _) => format!("The answer rests on {sources}."),
        (1, 1) => format!("The question is answered, from {sources}."),
        (_, 0) => format!("Nothing is answered in full, from {sources}."),
        (total, met) if met == total => {
            format!("Every item is answered, from {sources}: {}.", asked("satisfied"))
        }
        _ => format!("Answered, from {sources}: {}.", asked("satisfied")),
    };
    if counts.partial > 0 {
        out += &format!(" Answered in part: {}.", asked("partial"));
    }
    if counts.unsatisfied > 0 {
        out += &format!(" Not answered: {}.", asked("unsatisfied"));
    }
    if !it.conflicts.is_empty() {
        let about = it.conflicts.iter().map(|it| shown(it.about.trim().trim_end_matches('.')));
        let about: Vec<String> = about.collect();
        let who = if it.sources.len() == 1 {
            "The source disagrees with itself"
        } else {
            "Sources disagree"
        };
        out += &format!(" {who} on {}; all sides are shown.", about.join("; on "));
    }
    Some(out)
}
