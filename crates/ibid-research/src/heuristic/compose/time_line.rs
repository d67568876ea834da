//! The time line of a report: what the sources date, in the order of its dates.
use std::collections::BTreeSet;

use super::word_budget::WordBudget;
use crate::draft::DraftComparison;
use crate::heuristic::asked_years::asked_years;
use crate::heuristic::calendar::{month_number, years, years_at};
use crate::heuristic::claim_clusters::{ClaimCluster, share_sentences};
use crate::heuristic::question_kind::changing_thing;
use crate::heuristic::ranked_points::RankedPoint;
use ibid_core::domain::EvidenceStore;
use ibid_core::domain::words::{content_stems, stem};

/// Maximum number of events, minimum number of different years, and maximum number of events of the short answer.
const MAX_ROWS: usize = 12;
const MIN_YEARS: usize = 3;
const MAX_SHORT: usize = 4;
/// Shares of the best score and of the most words of the question that an event must have.
const MIN_SCORE_SHARE: f32 = 0.4;
const MIN_WORD_SHARE: f32 = 0.6;
/// Share of the words of the question that an event must have.
const MIN_WORDS_ASKED: f32 = 0.6;

/// A date as a text writes it.
struct WrittenDate {
    /// Year, month, and day; zero where it does not tell.
    order: (u32, u32, u32),
    /// Its words: "2019", "July 2025", "1 July 2025".
    words: String,
}

/// A dated event of a time line.
pub(super) struct DatedEvent<'a> {
    date: WrittenDate,
    point: &'a ClaimCluster,
    /// Its place among the points, best first.
    rank: usize,
}

/// The events of a time line, in the order of their dates; none if the question asks for no time line or none is `wanted`, or too little of what was read
/// is dated.
pub(super) fn dated_events<'a>(
    (wanted, asked): (bool, &str),
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
) -> Vec<DatedEvent<'a>> {
    let Some(span) = asked_years(asked).filter(|_| wanted) else { return Vec::new() };
    let thing = changing_thing(asked).map(|thing| stem(&thing));
    let is_on_thing =
        |text: &str| thing.as_ref().is_none_or(|thing| content_stems(text).contains(thing));
    let most = |of: fn(&RankedPoint<'_>) -> f32| ranked.iter().map(of).fold(0.0, f32::max);
    let (score, share) = (most(|it| it.point.score), most(|it| it.share));
    let mut events: Vec<DatedEvent<'a>> = Vec::new();
    for (rank, it) in ranked.iter().enumerate() {
        let quoted = it.point.evidence[0];
        let is_told =
            |other: &DatedEvent<'_>| share_sentences(notes, quoted, other.point.evidence[0]);
        let fits = it.point.score >= score * MIN_SCORE_SHARE
            && it.share >= (share * MIN_WORD_SHARE).max(MIN_WORDS_ASKED)
            && notes.evidence[quoted].table_header.is_none()
            && is_on_thing(&it.point.text);
        match first_date(&it.point.text).filter(|date| span.contains(&date.order.0)) {
            Some(date) if fits && events.len() < MAX_ROWS && !events.iter().any(is_told) => {
                events.push(DatedEvent { date, point: it.point, rank });
            }
            _ => {}
        }
    }
    let years: BTreeSet<u32> = events.iter().map(|it| it.date.order.0).collect();
    if years.len() < MIN_YEARS {
        return Vec::new();
    }
    events.sort_by_key(|it| it.date.order);
    events
}

/// What the short answer tells of a time line: the best event of each of its first years and of its last one.
pub(super) fn short_events<'a>(events: &[DatedEvent<'a>]) -> Vec<&'a ClaimCluster> {
    let years = events.chunk_by(|one, next| one.date.order.0 == next.date.order.0);
    let mut of_years: Vec<&'a ClaimCluster> =
        years.filter_map(|year| Some(year.iter().min_by_key(|it| it.rank)?.point)).collect();
    let last = of_years.pop();
    of_years.truncate(MAX_SHORT - 1);
    of_years.extend(last);
    of_years
}

/// The table of a time line; `None` without events.
pub(super) fn time_line(
    events: &[DatedEvent<'_>],
    page: &mut WordBudget<'_>,
) -> Option<DraftComparison> {
    let row = |it: &DatedEvent<'_>| (it.date.words.clone(), vec![vec![page.write_point(it.point)]]);
    (!events.is_empty()).then(|| DraftComparison {
        columns: vec!["Date".to_owned(), "What the source says".to_owned()],
        rows: events.iter().map(row).collect(),
        by_row: false,
        asked: None,
        is_time_line: true,
    })
}

/// The first date of a text. A year in brackets tells of another work.
fn first_date(text: &str) -> Option<WrittenDate> {
    let at = years_at(text).into_iter().find(|at| !text[..*at].ends_with('('))?;
    let year: u32 = text.get(at..at + 4)?.parse().ok()?;
    let before: Vec<&str> = text[..at].split_whitespace().rev().take(2).collect();
    let month = before.first().and_then(|word| month_number(word));
    let day = before.get(1).and_then(|word| word.parse().ok()).filter(|day| (1..=31).contains(day));
    let (order, words) = match (month, day) {
        (Some(month), Some(day)) => {
            ((year, month, day), format!("{day} {} {year}", before[0].trim_end_matches(',')))
        }
        (Some(month), None) => {
            ((year, month, 0), format!("{} {year}", before[0].trim_end_matches(',')))
        }
        (None, _) => ((year, 0, 0), format!("{year}{}", end_of_span(&text[..at], &text[at + 4..]))),
    };
    Some(WrittenDate { order, words })
}

/// The end of a span of years that begins before `after`: " to 2023" in "between 2014 and 2023".
fn end_of_span(before: &str, after: &str) -> String {
    let opened = before.split_whitespace().next_back().map(str::to_lowercase);
    let joint = match opened.as_deref() {
        Some("between") => " and ",
        Some("from") => " to ",
        _ => return String::new(),
    };
    let end = after.strip_prefix(joint).and_then(|rest| rest.get(..4));
    let year = end.filter(|end| !years(end).is_empty());
    year.map(|year| format!(" to {year}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::first_date;

    #[test]
    fn a_date_is_told_as_far_as_it_is_written() {
        let date = |text| first_date(text).map(|it| (it.order, it.words));
        assert_eq!(
            date("From 1 July 2025 the mill pays 55 euros."),
            Some(((2025, 7, 1), "1 July 2025".to_owned()))
        );
        assert_eq!(date("In March 2019 it rained."), Some(((2019, 3, 0), "March 2019".to_owned())));
        assert_eq!(
            date("Weber (2011) counted them in 2014."),
            Some(((2014, 0, 0), "2014".to_owned()))
        );
        let told = date("It retained 63 % of the rain between 2014 and 2023.").map(|it| it.1);
        assert_eq!(told.as_deref(), Some("2014 to 2023"));
        assert_eq!(date("Nobody knows when."), None);
    }
}
