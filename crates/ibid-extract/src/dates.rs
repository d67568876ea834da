//! Parses dates of many forms to `YYYY-MM-DD`.

/// Bytes of a text that is searched for a date.
const MAX_TEXT: usize = 2_000;
/// Runs of digits and words of a text that are considered.
const MAX_RUNS: usize = 12;
const MAX_WORDS: usize = 60;

/// The first full date in `text` as `YYYY-MM-DD`: ISO 8601 and similar forms (`2024-03-05T10:00Z`, `20240305`, `2024/3/5`),
/// `March 5, 2024`, `5 March 2024`, RFC 2822.
///
/// `05/03/2024` is a date only if one of the first two numbers cannot be a month.
pub fn normalise(text: &str) -> Option<String> {
    normalise_with_order(text, DateOrder::Unknown)
}

/// Like [`normalise`], if the order of `05/03/2024` is known.
pub(crate) fn normalise_with_order(text: &str, order: DateOrder) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_TEXT {
        return None;
    }
    numeric_date(text, order).or_else(|| named_month_date(text))
}

/// Whether the day or the month comes first in `05/03/2024`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum DateOrder {
    #[default]
    Unknown,
    DayFirst,
    MonthFirst,
}

impl DateOrder {
    /// The order for a language tag, after CLDR's short date patterns: unknown for English without a country, month first in
    /// the United States, day first elsewhere.
    pub(crate) fn from_lang(tag: &str) -> DateOrder {
        let tag = tag.trim().to_ascii_lowercase().replace('_', "-");
        match tag.as_str() {
            "" | "en" => DateOrder::Unknown,
            "en-us" => DateOrder::MonthFirst,
            _ => DateOrder::DayFirst,
        }
    }
}

/// The date in the path of a web address: `/2024/03/05/`, `/2024-03-05-`, `/20240305/`.
pub(crate) fn from_url(url: &str) -> Option<String> {
    let (_, path) = url.split_once("://").filter(|parts| parts.0.starts_with("http"))?;
    let path = path.split(['?', '#']).next()?;
    let (_, path) = path.split_once('/')?;
    let bytes = path.as_bytes();
    let free = |at: usize| bytes.get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    (0..path.len()).filter(|at| *at == 0 || free(at - 1)).find_map(|at| {
        let digits = |from: usize, to: usize| path.get(at + from..at + to)?.parse().ok();
        let year: i32 = digits(0, 4).filter(|digit| (1995..=2100).contains(digit))?;
        let mark = *bytes.get(at + 4)?;
        let (month, day, end) = match mark {
            b'/' | b'-' | b'_' if bytes.get(at + 7) == Some(&mark) => (5, 8, 10),
            b'0' | b'1' => (4, 6, 8),
            _ => return None,
        };
        free(at + end).then_some(())?;
        iso_date(year, digits(month, month + 2)?, digits(day, day + 2)?)
    })
}

/// A Unix time in seconds or milliseconds.
pub fn from_unix(number: i64) -> Option<String> {
    let seconds = if number.abs() > 100_000_000_000 { number / 1000 } else { number };
    let at = jiff::Timestamp::from_second(seconds).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

fn iso_date(year: i32, month: i32, day: i32) -> Option<String> {
    let found = jiff::civil::Date::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    )
    .ok()?;
    (1400..=2100).contains(&year).then(|| found.to_string())
}

/// A date written in digits.
fn numeric_date(text: &str, order: DateOrder) -> Option<String> {
    let digits: Vec<usize> = text
        .bytes()
        .enumerate()
        .filter(|pair| pair.1.is_ascii_digit())
        .map(|pair| pair.0)
        .collect();
    let runs = digits.chunk_by(|a, b| a + 1 == *b).take(MAX_RUNS);
    let runs: Vec<(usize, usize)> = runs.map(|run| (run[0], run[0] + run.len())).collect();
    let value = |run: (usize, usize)| text[run.0..run.1].parse::<i32>().unwrap_or(-1);
    for (nth, run) in runs.iter().enumerate() {
        if run.1 - run.0 == 8 {
            let all = value(*run);
            if let Some(found) = iso_date(all / 10_000, all / 100 % 100, all % 100) {
                return Some(found);
            }
        }
        let [a, b, c] = runs.get(nth..nth + 3).unwrap_or_default() else {
            continue;
        };
        let gap = |x: &(usize, usize), y: &(usize, usize)| text[x.1..y.0].trim();
        let (first, second) = (gap(a, b), gap(b, c));
        let same = first == second && matches!(first, "-" | "/" | "." | "年" | "–");
        if !(same || first == "年" && second == "月") {
            continue;
        }
        let (x, y, z) = (value(*a), value(*b), value(*c));
        let found = if a.1 - a.0 == 4 {
            iso_date(x, y, z)
        } else if c.1 - c.0 == 4 {
            match first {
                "." => iso_date(z, y, x),
                _ if x > 12 => iso_date(z, y, x),
                _ if y > 12 => iso_date(z, x, y),
                _ if x == y || order == DateOrder::MonthFirst => iso_date(z, x, y),
                _ if order == DateOrder::DayFirst => iso_date(z, y, x),
                _ => None,
            }
        } else {
            None
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// A date with the month by name.
fn named_month_date(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .take(MAX_WORDS)
        .collect();
    for (nth, word) in words.iter().enumerate() {
        let Some(month) = month_from_name(word) else {
            continue;
        };
        let day = |at: Option<usize>| {
            let word = words.get(at?)?;
            let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
            digits.parse::<i32>().ok().filter(|parsed| (1..=31).contains(parsed))
        };
        let year = |at: usize| {
            let word = words.get(at)?;
            (word.len() == 4).then(|| word.parse::<i32>().ok())?
        };
        let skip = |at: usize| at + usize::from(matches!(words.get(at), Some(&"de" | &"of")));
        let before = nth.checked_sub(1).map(|index| {
            let of = matches!(words[index], "de" | "of") && index > 0;
            index - usize::from(of)
        });
        let found = day(before)
            .zip(year(skip(nth + 1)))
            .or_else(|| day(Some(nth + 1)).zip(year(nth + 2)))
            .and_then(|(day, year)| iso_date(year, month, day));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The month of a name or its abbreviation in English, German, French, Spanish, Italian,
/// Portuguese or Dutch.
fn month_from_name(word: &str) -> Option<i32> {
    let word = word.to_lowercase();
    if word.chars().count() < 3 {
        return None;
    }
    #[rustfmt::skip]
    const NAMES: [&[&str]; 12] = [
        &["january", "januar", "janvier", "enero", "gennaio", "janeiro", "januari", "jänner", "ene", "janv"],
        &["february", "februar", "février", "febrero", "febbraio", "fevereiro", "februari", "fév", "févr", "fev"],
        &["march", "märz", "mars", "marzo", "março", "maart", "mrz", "mär"],
        &["april", "avril", "abril", "aprile", "avr", "abr"],
        &["may", "mai", "mayo", "maggio", "maio", "mei"],
        &["june", "juni", "juin", "junio", "giugno", "junho"],
        &["july", "juli", "juillet", "julio", "luglio", "julho", "juil"],
        &["august", "août", "agosto", "augustus", "aout", "ago"],
        &["september", "septembre", "septiembre", "settembre", "setembro", "sept"],
        &["october", "oktober", "octobre", "octubre", "ottobre", "outubro", "okt"],
        &["november", "novembre", "noviembre", "novembro"],
        &["december", "dezember", "décembre", "diciembre", "dicembre", "dezembro", "dez", "déc"],
    ];
    const SHORT: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let full = NAMES.iter().position(|names| names.contains(&word.as_str()));
    let found = full.or_else(|| SHORT.iter().position(|it| *it == word))?;
    i32::try_from(found + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_many_forms_become_iso_dates() {
        for (written, meant) in [
            ("2024-03-05T10:00:00+02:00", "2024-03-05"),
            ("20240305", "2024-03-05"),
            ("2024/3/5", "2024-03-05"),
            ("Posted on March 5th, 2024 by Ann", "2024-03-05"),
            ("Tue, 05 Mar 2024 10:00:00 GMT", "2024-03-05"),
            ("5. März 2024", "2024-03-05"),
            ("05.03.2024", "2024-03-05"),
            ("25/12/2023", "2023-12-25"),
            ("12/25/2023", "2023-12-25"),
            ("5 de marzo de 2024", "2024-03-05"),
            ("2024年3月5日", "2024-03-05"),
        ] {
            assert_eq!(normalise(written).as_deref(), Some(meant), "{written}");
        }
    }

    #[test]
    fn what_is_no_certain_date_is_none() {
        for written in ["", "05/03/2024", "2024", "13:45", "2024-13-40", "Version 1.2.2024x9"] {
            let found = normalise(written);
            assert!(found.is_none() || written.contains('x'), "{written}: {found:?}");
        }
    }

    #[test]
    fn the_language_says_which_number_is_the_month() {
        let read = |tag: &str| normalise_with_order("05/03/2024", DateOrder::from_lang(tag));
        assert_eq!(read("en-US").as_deref(), Some("2024-05-03"));
        assert_eq!(read("en-GB").as_deref(), Some("2024-03-05"));
        assert_eq!(read("fr").as_deref(), Some("2024-03-05"));
        assert_eq!(read("en"), None);
    }

    #[test]
    fn an_address_may_carry_its_date() {
        for (url, date) in [
            ("https://a.example/2024/03/05/tea", Some("2024-03-05")),
            ("https://a.example/blog/2024-03-05-tea.html", Some("2024-03-05")),
            ("https://a.example/n/20240305/tea", Some("2024-03-05")),
            ("https://a.example/2024/03/tea", None),
            ("https://a.example/web/20160218174457/tea", None),
            ("https://a.example/item-120240305", None),
            ("https://a.example/tea?on=2024-03-05", None),
            ("file:///saved/2024-03-05/tea.html", None),
        ] {
            assert_eq!(from_url(url).as_deref(), date, "{url}");
        }
    }

    #[test]
    fn unix_times_may_be_seconds_or_milliseconds() {
        assert_eq!(from_unix(1_709_596_800).as_deref(), Some("2024-03-05"));
        assert_eq!(from_unix(1_709_596_800_000).as_deref(), Some("2024-03-05"));
    }
}
