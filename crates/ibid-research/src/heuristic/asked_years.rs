//! The years that a question asks a time line of.
use std::ops::RangeInclusive;

use crate::heuristic::calendar::years;
use ibid_core::domain::words::tokens;

/// What asks for a time line, between spaces. A question with two years asks for what lies between them.
const ASKS: [&str; 14] = [
    " time line ",
    " timeline ",
    " chronology ",
    " the history of ",
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
/// The first words of questions for something else: how many a year, or whether.
const OTHER_OPENINGS: [&str; 4] = [" how much ", " how many ", " how often ", " how long "];
/// The first words of a question or a request for a history.
const OPENINGS: [&str; 10] = [
    " what ",
    " how ",
    " history ",
    " timeline ",
    " time line ",
    " chronology ",
    " give ",
    " tell ",
    " describe ",
    " trace ",
];
/// What asks for a time line of what changes: a battery over time is asked for something else.
const OVER_TIME: [&str; 2] = [" over time ", " over the years "];
const CHANGES: [&str; 4] = [" chang", " evolv", " develop", " grow"];
/// The first words of a question on what lies between two years.
const BETWEEN_YEARS: [&str; 4] = [" what happened ", " how did ", " how has ", " how have "];
/// The words of such questions that say nothing of what they are on.
const ASKING: [&str; 12] = [
    "timeline",
    "time",
    "line",
    "chronology",
    "history",
    "happen",
    "happened",
    "year",
    "years",
    "evolution",
    "evolved",
    "evolve",
];

/// The years that a time line is asked for; `None` if none is.
pub(crate) fn asked_years(asked: &str) -> Option<RangeInclusive<u32>> {
    let words: Vec<String> = tokens(asked).into_iter().map(|word| word.text).collect();
    let spaced = format!(" {} ", words.join(" "));
    let named = years(asked);
    let has = |all: &[&str]| all.iter().any(|it| spaced.contains(it));
    let opens = |all: &[&str]| all.iter().any(|it| spaced.starts_with(it));
    // "Does a history of stroke matter?" and "How many are sold each year?" ask for no events.
    if !opens(&OPENINGS) || opens(&OTHER_OPENINGS) {
        return None;
    }
    let history = has(&ASKS) || opens(&[" history of "]);
    let changes = has(&OVER_TIME) && has(&CHANGES);
    let between = named.len() == 2 && opens(&BETWEEN_YEARS);
    let onwards = named.len() == 1 && has(&[" since ", " after "]);
    let happened = onwards && opens(&[" what happened "]);
    // "The 20th century" names years that are not read.
    if !(history || changes || between || happened) || has(&[" century "]) {
        return None;
    }
    Some(match named[..] {
        [from] if onwards => from..=u32::MAX,
        [from, to] => from.min(to)..=from.max(to),
        _ => 0..=u32::MAX,
    })
}

/// Whether a word of a question only asks for a time line, or bounds it: "history", "2014". How something has changed asks for figures
/// of its years first.
pub(crate) fn only_asks(asked: &str) -> impl Fn(&str) -> bool {
    let how = asked.get(..4).is_some_and(|opening| opening.eq_ignore_ascii_case("how "));
    let is_asked = !how && asked_years(asked).is_some();
    move |word| is_asked && (ASKING.contains(&word) || !years(word).is_empty())
}

#[cfg(test)]
mod tests {
    use super::{asked_years, only_asks};

    #[test]
    fn a_time_line_is_asked_for_by_its_words_or_by_two_years() {
        for asked in ["What is the history of cork?", "How has the price changed over time?"] {
            assert_eq!(asked_years(asked), Some(0..=u32::MAX), "{asked}");
        }
        assert_eq!(asked_years("What happened at the mill from 2014 to 2022?"), Some(2014..=2022));
        assert_eq!(asked_years("How has cork evolved since 2010?"), Some(2010..=u32::MAX));
        assert_eq!(asked_years("What happened to the mill after 1990?"), Some(1990..=u32::MAX));
        for asked in [
            "What happened in 2014?",
            "How much cork was sold in 2014 and 2022?",
            "What happens to a battery over time?",
            "How many lambs are born each year?",
            "Does a history of stroke raise the risk?",
            "What raises the risk of people with a history of stroke?",
            "What is the history of cork in the 20th century?",
        ] {
            assert_eq!(asked_years(asked), None, "{asked}");
        }
    }

    #[test]
    fn words_that_ask_for_a_time_line_are_told_apart() {
        let asks = only_asks("What happened at the mill from 2014 to 2022?");
        assert!(asks("happened") && asks("2014") && !asks("mill"));
        assert!(!only_asks("How much cork was sold in 2014?")("2014"));
    }
}
