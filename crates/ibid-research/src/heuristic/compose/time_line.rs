//! The time line of a report: what the sources date, in the order of its dates.
use super::word_budget::WordBudget;
use crate::draft::DraftComparison;
use crate::heuristic::calendar::{month_number, years_at};
use crate::heuristic::ranked_points::RankedPoint;
use ibid_core::domain::words::tokens;

/// What asks for a time line, between spaces. A question with two years asks for what lies between them.
const ASKS: [&str; 16] = [
    " time line ",
    " timeline ",
    " chronology ",
    " history of ",
    " over time ",
    " over the years ",
    " each year ",
    " every year ",
    " year by year ",
    " through the years ",
    " evolution of ",
    " evolved ",
    " evolve ",
    " developed since ",
    " changed since ",
    " happened since ",
];
/// The first words of a question on what lies between two years.
const BETWEEN_YEARS: [&str; 4] = ["what happened ", "how did ", "how has ", "how have "];
/// Minimum and maximum number of rows, and minimum number of different years.
const MIN_ROWS: usize = 3;
const MAX_ROWS: usize = 12;
const MIN_YEARS: usize = 3;
/// Shares of the best score and of the most words of the question that an event must have.
const MIN_SCORE_SHARE: f32 = 0.4;
const MIN_WORD_SHARE: f32 = 0.6;

/// A date as a text writes it.
struct WrittenDate {
    /// Year, month, and day; zero where it does not tell.
    order: (u32, u32, u32),
    /// Its words: "2019", "July 2025", "1 July 2025".
    words: String,
}

/// The time line, if the question asks for one and enough of what was read is dated.
pub(super) fn time_line(
    asked: &str,
    ranked: &[RankedPoint<'_>],
    page: &mut WordBudget<'_>,
) -> Option<DraftComparison> {
    let span = asked_years(asked)?;
    let notes = page.notes;
    let most = |of: fn(&RankedPoint<'_>) -> f32| ranked.iter().map(of).fold(0.0, f32::max);
    let (score, share) = (most(|it| it.point.score), most(|it| it.share));
    let is_row = |it: &RankedPoint<'_>| notes.evidence[it.point.evidence[0]].table_header.is_some();
    let mut events: Vec<(WrittenDate, &RankedPoint<'_>)> = ranked
        .iter()
        .filter(|it| it.point.score >= score * MIN_SCORE_SHARE && !is_row(it))
        .filter(|it| it.share >= share * MIN_WORD_SHARE)
        .filter_map(|it| Some((first_date(&it.point.text)?, it)))
        .filter(|it| span.contains(&it.0.order.0))
        .take(MAX_ROWS)
        .collect();
    events.sort_by_key(|it| it.0.order);
    let mut years: Vec<u32> = events.iter().map(|it| it.0.order.0).collect();
    years.dedup();
    if events.len() < MIN_ROWS || years.len() < MIN_YEARS {
        return None;
    }
    let row = |(date, it): (WrittenDate, &RankedPoint<'_>)| {
        (date.words, vec![vec![page.write_point(it.point)]])
    };
    Some(DraftComparison {
        columns: vec!["Date".to_owned(), "What the source says".to_owned()],
        rows: events.into_iter().map(row).collect(),
        by_row: false,
        asked: None,
        is_time_line: true,
    })
}

/// The years that a time line is asked for; `None` if none is.
fn asked_years(asked: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let words: Vec<String> = tokens(asked).into_iter().map(|word| word.text).collect();
    let spaced = format!(" {} ", words.join(" "));
    let named = crate::heuristic::calendar::years(asked);
    let between = named.len() == 2 && BETWEEN_YEARS.iter().any(|it| spaced[1..].starts_with(it));
    if !between && !ASKS.iter().any(|it| spaced.contains(it)) {
        return None;
    }
    Some(match named[..] {
        [from] if spaced.contains(" since ") => from..=u32::MAX,
        [from, to] => from.min(to)..=from.max(to),
        _ => 0..=u32::MAX,
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
        (None, _) => ((year, 0, 0), year.to_string()),
    };
    Some(WrittenDate { order, words })
}

#[cfg(test)]
mod tests {
    use super::{asked_years, first_date};

    #[test]
    fn a_time_line_is_asked_for_by_its_words_or_by_two_years() {
        for asked in ["What is the history of cork?", "How has the price changed over time?"] {
            assert_eq!(asked_years(asked), Some(0..=u32::MAX), "{asked}");
        }
        assert_eq!(asked_years("What happened at the mill from 2014 to 2022?"), Some(2014..=2022));
        assert_eq!(asked_years("How has cork evolved since 2010?"), Some(2010..=u32::MAX));
        for asked in ["What happened in 2014?", "How much cork was sold in 2014 and 2022?"] {
            assert_eq!(asked_years(asked), None, "{asked}");
        }
    }

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
        assert_eq!(date("Nobody knows when."), None);
    }
}
