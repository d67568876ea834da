//! The introduction and the conclusion of a report where no sentence was written for them. The text made here makes no claims:
//! everything in it is counted or comes from the run.
use std::collections::BTreeSet;

use super::phrases::pluralize_as;
use ibid_core::domain::{Conflict, ConflictSide, CoverageRow, Report};

/// Maximum number of words of a position that the conclusion repeats.
const MAX_POSITION_WORDS: usize = 5;

/// The text of the introduction besides its sentences: none if there are some, else how many sources answer, and how they are cited.
/// `None` if there is no introduction: without an answer, without a model, or if a planned section takes its place.
pub fn introduction(it: &Report) -> Option<String> {
    if it.short.is_empty() || has_section(it, &["introduction"]) {
        return None;
    }
    // Sentences introduce themselves, and so do quotes.
    if is_unaided(it) || !it.introduction.is_empty() {
        return (!it.introduction.is_empty()).then(String::new);
    }
    let sources = pluralize_as(it.sources.len() as u64, "source", "sources");
    let cited = match it.sources.len() {
        1 => "each sentence is checked against it",
        _ => "each sentence is checked against them",
    };
    Some(format!("Answered on {} from {sources}{}; {cited}.", it.date, published(it)))
}

/// Whether the report was put together from quotes, without a model.
fn is_unaided(it: &Report) -> bool {
    it.method.unaided.iter().any(|step| step == "write")
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

/// What a conflict comes to: what its sides give, and what the most recent of them gives, which is known only where each has a date.
/// `None` without sides.
fn disputed(it: &Report, conflict: &Conflict, shown: impl Fn(&str) -> String) -> Option<String> {
    let position = |side: &ConflictSide| {
        let words: Vec<&str> = side.says.split_whitespace().collect();
        match words.get(..MAX_POSITION_WORDS) {
            Some(first) if words.len() > MAX_POSITION_WORDS => format!("{}…", first.join(" ")),
            _ => words.join(" "),
        }
    };
    let says: Vec<String> =
        conflict.sides.iter().map(|side| format!("“{}”", shown(&position(side)))).collect();
    let (last, before) = says.split_last()?;
    let given = format!(
        "Sources differ on {}: {} and {last}",
        shown(conflict.about.trim().trim_end_matches('.')),
        before.join(", ")
    );
    let date = |side: &ConflictSide| {
        let n = side.claim.citations().first()?.n as usize;
        it.sources.get(n.checked_sub(1)?)?.date.as_deref()
    };
    let dates: Option<Vec<&str>> = conflict.sides.iter().map(date).collect();
    let newest = dates.and_then(|dates| {
        let last = dates.iter().max()?;
        let mut with = says.iter().zip(&dates).filter(|(_, it)| *it == last);
        with.next().filter(|_| with.next().is_none()).map(|(says, _)| says)
    });
    Some(match newest {
        Some(newest) => format!("{given}; the most recent has {newest}."),
        None => format!("{given}."),
    })
}

/// Whether an item is the question, or a part of it.
fn is_asked(it: &Report, row: &CoverageRow) -> bool {
    let asks = row.text.trim().trim_end_matches(['.', '?', '!']);
    it.coverage.first().is_some_and(|first| first.id == row.id) || it.question.contains(asks)
}

/// The text of the conclusion besides its sentences: none if there are some, else what of the question is answered in part or not at
/// all, and what the sources disagree on. `shown` escapes text of the plan. `None` if there is no conclusion: without an answer,
/// without a model, or if a planned section takes its place.
pub fn conclusion(it: &Report, shown: impl Fn(&str) -> String) -> Option<String> {
    if it.short.is_empty() || has_section(it, &["conclusion", "conclusions"]) {
        return None;
    }
    // Where no model wrote, the report says elsewhere what is open.
    if is_unaided(it) {
        let disputed: Vec<String> =
            it.conflicts.iter().filter_map(|conflict| disputed(it, conflict, &shown)).collect();
        let any = !it.conclusion.is_empty() || !disputed.is_empty();
        return any.then(|| disputed.join(" "));
    }
    if !it.conclusion.is_empty() {
        return Some(String::new());
    }
    let sources = pluralize_as(it.sources.len() as u64, "source", "sources");
    // Items besides the question are listed where the report says what it could not establish.
    let asked = || it.coverage.iter().filter(|row| is_asked(it, row));
    let rows = |status: &str| -> Vec<String> {
        let rows = asked().filter(|row| row.state.status_word() == status);
        rows.map(|row| shown(row.text.trim().trim_end_matches(['.', '?', '!']))).collect()
    };
    let (partial, open) = (rows("partial"), rows("unsatisfied"));
    let mut out = Vec::new();
    if partial.is_empty() && open.is_empty() {
        out.push(format!("The question is answered, from {sources}."));
    } else if partial.len() == asked().count() && open.is_empty() {
        out.push(format!("The question is answered in part, from {sources}."));
    } else {
        let told = rows("satisfied");
        if !told.is_empty() {
            out.push(format!("Answered, from {sources}: {}.", told.join("; ")));
        }
        if !partial.is_empty() {
            out.push(format!("Answered in part: {}.", partial.join("; ")));
        }
        if !open.is_empty() {
            out.push(format!("Not answered: {}.", open.join("; ")));
        }
    }
    if !it.conflicts.is_empty() {
        let about = it.conflicts.iter().map(|it| shown(it.about.trim().trim_end_matches('.')));
        let about: Vec<String> = about.collect();
        let who = if it.sources.len() == 1 {
            "The source disagrees with itself"
        } else {
            "Sources disagree"
        };
        out.push(format!("{who} on {}; all sides are shown.", about.join("; on ")));
    }
    Some(out.join(" "))
}
