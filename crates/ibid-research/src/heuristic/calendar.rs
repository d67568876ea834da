//! Dates and times in texts.
use ibid_core::domain::words::{Token, tokens};

/// The days of the week, in lower case.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The months, in lower case.
pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Maximum length of an hour, "18:15:00" and a full stop.
const MAX_CLOCK_CHARS: usize = 9;

/// Years from 1000 to 2099 in the text.
pub(crate) fn years(text: &str) -> Vec<u32> {
    year_tokens(text).map(|year_token| year_token.1).collect()
}

/// Whether a question is on what will be, and a text tells of a year that is over: "in 2023 a strike lasted nine days".
pub(crate) fn answers_future_with_past(asked: &str, text: &str) -> bool {
    let (asked, said) = (tokens(asked), tokens(text));
    let says = |words: &[Token], wanted: &str| words.iter().any(|it| it.text == wanted);
    let opens = |word: &Token| matches!(word.text.as_str(), "in" | "during" | "since");
    says(&asked, "will")
        && !says(&said, "will")
        && said.first().is_some_and(opens)
        && said.get(1).is_some_and(|it| !years(&it.text).is_empty())
}

/// Whether a question is on the first time of something, and a text tells of a time that it does not call the first.
pub(crate) fn lacks_first_time(asked: &str, text: &str) -> bool {
    const BEGINNINGS: [&str; 13] = [
        "first",
        "began",
        "begun",
        "begins",
        "started",
        "founded",
        "introduced",
        "original",
        "originally",
        "earliest",
        "since",
        "opened",
        "inaugurated",
    ];
    let (asked, said) = (tokens(asked), tokens(text));
    let is_when = asked.first().is_some_and(|it| it.text == "when");
    // "The first test" is a name; "when did it first take place" asks for the first time.
    let mut pairs = asked.windows(2);
    let first_time = pairs.any(|two| {
        two[1].text == "first"
            && !matches!(two[0].text.as_str(), "the" | "a" | "an" | "his" | "her")
    });
    is_when && first_time && !said.iter().any(|it| BEGINNINGS.contains(&it.text.as_str()))
}

/// The byte offsets of the years.
pub(crate) fn years_at(text: &str) -> Vec<usize> {
    year_tokens(text).map(|year_token| year_token.0).collect()
}

fn year_tokens(text: &str) -> impl Iterator<Item = (usize, u32)> {
    tokens(text).into_iter().filter_map(|token: Token| {
        if let Some((year, ..)) = iso_date(&token.text) {
            return Some((token.span.start, year));
        }
        let bare = token.text.strip_suffix('s').unwrap_or(&token.text);
        let year = (bare.len() == 4).then(|| bare.parse().ok()).flatten()?;
        (1000..2100).contains(&year).then_some((token.span.start, year))
    })
}

/// The year, month and day of "2019-03-01".
pub(crate) fn iso_date(word: &str) -> Option<(u32, u32, u32)> {
    let parts: Vec<&str> = word.split('-').collect();
    let &[year, month, day] = parts.as_slice() else { return None };
    if year.len() != 4 || month.len() != 2 || day.len() != 2 {
        return None;
    }
    let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let is_date = (1000..2100).contains(&year) && (1..=12).contains(&month);
    (is_date && (1..=31).contains(&day)).then_some((year, month, day))
}

/// The number of a month, from 1, by its name or the first three letters of it.
pub(crate) fn month_number(word: &str) -> Option<u32> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let at = MONTHS.iter().position(|month| *month == word || month[..3] == word)?;
    u32::try_from(at + 1).ok()
}

/// Whether a word is the name of a day of the week or of a month, in the singular or the plural.
pub(crate) fn names_day_or_month(word: &str) -> bool {
    is_weekday(word) || names_month(&format!(" {word} "))
}

/// Whether the text names a month.
pub(crate) fn names_month(spaced: &str) -> bool {
    const MONTHS: &[&str] = &[
        " january ",
        " february ",
        " march ",
        " april ",
        " june ",
        " july ",
        " august ",
        " september ",
        " october ",
        " november ",
        " december ",
        // "May" is also a verb.
        " in may ",
        " of may ",
        " by may ",
        " until may ",
        " since may ",
        " from may ",
    ];
    MONTHS.iter().any(|month| spaced.contains(month))
}

/// Whether a word is the name of a day of the week, in the singular or the plural.
fn is_weekday(word: &str) -> bool {
    WEEKDAYS.contains(&word.strip_suffix('s').unwrap_or(word))
}

/// Whether the text names a day of the week.
pub(crate) fn names_weekday(spaced: &str) -> bool {
    spaced.split([' ', ',']).any(is_weekday)
}

/// The byte offsets of the times of day: "9 pm", "9.30 am", "18:15", "noon", "7 o'clock".
pub(crate) fn times_of_day_at(text: &str) -> Vec<usize> {
    let words = tokens(text);
    let is_time = |(nth, word): (usize, &Token)| {
        let next = words.get(nth + 1).map(|next| next.text.as_str());
        let written = text[word.span.start..].chars().take(MAX_CLOCK_CHARS);
        let written: String =
            written.take_while(|c| c.is_ascii_digit() || ".:".contains(*c)).collect();
        let hour = written.split(['.', ':']).next().and_then(|hour| hour.parse::<u32>().ok());
        let halved = next.is_some_and(|next| {
            matches!(next, "am" | "pm" | "a.m" | "p.m" | "o'clock" | "o’clock")
        });
        let joined =
            ["am", "pm"].iter().any(|half| word.text.strip_suffix(half).is_some_and(is_clock));
        let by_colon = written.split_once(':').is_some_and(|(hours, minutes)| {
            hours.len() <= 2 && minutes.trim_end_matches(['.', ':']).len() == 2
        });
        matches!(word.text.as_str(), "noon" | "midday" | "midnight")
            || joined
            || hour.is_some_and(|hour| hour <= 24) && (halved || by_colon)
    };
    words
        .iter()
        .enumerate()
        .filter(|word| is_time(*word))
        .map(|(_, word)| word.span.start)
        .collect()
}

/// Whether a text is an hour: "9", "9.30", "18:15".
fn is_clock(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || ".:".contains(c))
}

/// The byte offsets of all that says when: years, months, days of the week and times of day.
pub(crate) fn dates_at(text: &str) -> Vec<usize> {
    let days = tokens(text).into_iter().filter(|word| names_day_or_month(&word.text));
    let mut places: Vec<usize> = days.map(|word| word.span.start).collect();
    places.extend(years_at(text));
    places.extend(times_of_day_at(text));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_told_from_other_numbers() {
        for (text, count) in [
            ("The pool opens at 6.30 am on weekdays and at 8 am at weekends.", 2),
            ("It shuts at 9pm, or at noon on Sundays.", 2),
            ("The last boat leaves at 18:15.", 1),
            ("Add 2.5 litres for 9 people, at a ratio of 1:3.", 0),
            ("Doors open at 7 o'clock.", 1),
        ] {
            assert_eq!(times_of_day_at(text).len(), count, "{text}");
        }
        assert_eq!(years("Opened 2019-03-01, tel. 2019-33-01."), [2019]);
        assert_eq!(dates_at("On Tuesdays in March 2024, at 9 am.").len(), 4);
        assert!(names_weekday(" it closes on mondays, except in may "));
    }
}
