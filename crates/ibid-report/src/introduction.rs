//! Whether a report has an introduction, what its conclusion says besides sentences, and how it tells of conflicts. The text made
//! here makes no claims: everything in it comes from the run.
use super::phrases::is_from_seller;
use ibid_core::domain::{Conflict, ConflictCause, ConflictSide, CoverageRow, Report};

/// Maximum number of words of a position that the conclusion repeats.
const MAX_POSITION_WORDS: usize = 5;

/// Whether the sentences that introduce the report are shown: where there is an answer, and no planned section takes their place.
pub fn has_introduction(it: &Report) -> bool {
    !it.short.is_empty() && !it.introduction.is_empty() && !has_section(it, &["introduction"])
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
    let seller = |side| if is_from_seller(it, side) { " (from a seller)" } else { "" };
    let quoted = |side| format!("“{}”{}", shown(&position(side)), seller(side));
    let says: Vec<String> = conflict.sides.iter().map(quoted).collect();
    let (last, before) = says.split_last().filter(|pair| !pair.1.is_empty())?;
    let about = conflict.about.trim().trim_end_matches('.');
    let what = match (conflict.is_disagreement(), it.sources.len()) {
        (false, _) => conflict_title(conflict),
        (true, 1) => format!("The source differs with itself on {about}"),
        (true, _) => format!("Sources differ on {about}"),
    };
    // The reason says which case has yes and which has no.
    let is_plain = |side: &ConflictSide| matches!(side.says.as_str(), "yes" | "no");
    let reason_names_sides = !conflict.is_disagreement() && conflict.sides.iter().all(is_plain);
    let given = match reason_names_sides {
        true => shown(&what),
        false => format!("{}: {} and {last}", shown(&what), before.join(", ")),
    };
    let dates: Option<Vec<&str>> = conflict.sides.iter().map(|side| side_date(it, side)).collect();
    let newest = dates.as_ref().and_then(|dates| {
        let last = dates.iter().max()?;
        let mut with = says.iter().zip(dates).filter(|(_, it)| *it == last);
        with.next().filter(|_| with.next().is_none()).map(|(says, _)| says)
    });
    // A reason other than their age settles more than which is newer.
    let reason = conflict.likely.as_deref().map(|likely| likely.trim().trim_end_matches('.'));
    let reason = reason.filter(|_| conflict.cause != Some(ConflictCause::Age));
    Some(match (reason, newest) {
        (Some(reason), _) => format!("{given}. {}.", shown(reason)),
        (None, Some(newest)) => format!("{given}; the most recent of these has {newest}."),
        (None, None) => format!("{given}."),
    })
}

/// The date of the source of a side of a conflict.
fn side_date<'r>(it: &'r Report, side: &ConflictSide) -> Option<&'r str> {
    let n = side.claim.citations().first()?.n as usize;
    it.sources.get(n.checked_sub(1)?)?.date.as_deref()
}

/// The heading of the conflicts of a report: sources that speak of different cases do not disagree.
pub fn conflicts_heading(all: &[Conflict]) -> &'static str {
    match all.iter().any(Conflict::is_disagreement) {
        true => "Where sources disagree",
        false => "Where sources differ",
    }
}

/// What a conflict is on, as a report says it before its sides.
pub fn conflict_title(it: &Conflict) -> String {
    let about = it.about.trim().trim_end_matches('.');
    match (it.is_disagreement(), about == Conflict::ANSWER) {
        (true, _) => format!("Sources disagree on {about}"),
        (false, true) => "The answer depends on the case".to_owned(),
        (false, false) => format!("Sources speak of different cases on {about}"),
    }
}

/// The reason of a conflict with its label: that one source is older explains nothing by itself, and different cases need no other
/// reason.
pub fn conflict_reason(it: &Conflict) -> Option<String> {
    let likely = it.likely.as_deref()?;
    Some(match it.cause {
        Some(ConflictCause::Cases) => likely.to_owned(),
        Some(ConflictCause::Age) => format!("Dates: {likely}"),
        Some(ConflictCause::Things) | None => format!("Likely reason: {likely}"),
    })
}

/// Whether an item is the question, or a part of it.
fn is_asked(it: &Report, row: &CoverageRow) -> bool {
    let asks = row.text.trim().trim_end_matches(['.', '?', '!']);
    it.coverage.first().is_some_and(|first| first.id == row.id) || it.question.contains(asks)
}

/// The text of the conclusion besides its sentences: of a question of several parts, which are answered in part or not at all; and
/// what the sources disagree on. `shown` escapes text of the plan. `None` if there is no conclusion: without an answer, with nothing
/// to tell, or if a planned section takes its place.
pub fn conclusion(it: &Report, shown: impl Fn(&str) -> String) -> Option<String> {
    if it.short.is_empty() || has_section(it, &["conclusion", "conclusions"]) {
        return None;
    }
    // The sentences of a model weigh the disagreements, too.
    let by_model = !it.method.unaided.iter().any(|step| step == "write");
    if by_model && !it.conclusion.is_empty() {
        return Some(String::new());
    }
    // Items besides the question are listed where the report says what it could not establish.
    let asked = || it.coverage.iter().filter(|row| is_asked(it, row));
    let rows = |status: &str| -> Vec<String> {
        let rows = asked().filter(|row| row.state.status_word() == status);
        rows.map(|row| shown(row.text.trim().trim_end_matches(['.', '?', '!']))).collect()
    };
    let mut out = Vec::new();
    // What is only near the question answers no part of it.
    if it.conclusion.is_empty() && asked().count() > 1 && !it.nearest_only {
        for (what, status) in [("Answered in part", "partial"), ("Not answered", "unsatisfied")] {
            let parts = rows(status);
            if !parts.is_empty() {
                out.push(format!("{what}: {}.", parts.join("; ")));
            }
        }
    }
    out.extend(it.conflicts.iter().filter_map(|conflict| disputed(it, conflict, &shown)));
    (!it.conclusion.is_empty() || !out.is_empty()).then(|| out.join(" "))
}
