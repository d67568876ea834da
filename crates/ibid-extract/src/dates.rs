//! Parses dates of many forms to `YYYY-MM-DD`.
use std::borrow::Cow;

use crate::month_names::{month_from_name, month_from_pair};

/// Bytes of a text that is searched for a date.
const MAX_TEXT: usize = 2_000;
/// Words and numbers of a text that are considered.
const MAX_TOKENS: usize = 160;
/// Words without meaning between the parts of a date: `5th of March`, `5 de marzo del 2024`, `2024 m. kovo 5 d.`
const FILLERS: &[&str] = &[
    "st", "nd", "rd", "th", "er", "re", "e", "o", "a", "º", "ª", "de", "del", "of", "den", "the",
    "di", "do", "d", "го", "m", "gada", "dia", "day",
];
/// Two-digit years up to this one are of this century.
const LAST_SHORT_YEAR: i32 = 40;
const FIRST_SHORT_YEAR: i32 = 95;

/// The first full date in `text` as `YYYY-MM-DD`: ISO 8601 and similar forms (`2024-03-05T10:00Z`, `20240305`, `2024/3/5`),
/// `March 5, 2024`, `5 March 2024`, RFC 2822, `2024年3月5日`. The names of months may be in many languages.
///
/// `05/03/2024` is a date only if one of the first two numbers cannot be a month.
pub fn normalise(text: &str) -> Option<String> {
    normalise_with_order(text, DateOrder::Unknown)
}

/// Like [`normalise`], if the order of `05/03/2024` is known.
pub(crate) fn normalise_with_order(text: &str, order: DateOrder) -> Option<String> {
    DateScanner::new(text, order)?.next().map(|found| found.date)
}

/// All dates in `text`, in order.
pub(crate) fn all_dates(text: &str, order: DateOrder) -> Vec<DateMatch> {
    DateScanner::new(text, order).into_iter().flatten().collect()
}

/// The hour of a time in UTC: `2024-03-05T23:10:00Z`.
pub(crate) fn utc_hour(text: &str) -> Option<i32> {
    let text = text.trim();
    let utc = ["Z", "+00:00", "+0000", "-00:00", "GMT", "UTC"].iter().any(|it| text.ends_with(it));
    let (at, _) = text.match_indices(':').next().filter(|_| utc)?;
    let hour = text.get(at.checked_sub(2)?..at)?;
    hour.parse().ok().filter(|hour| (0..24).contains(hour))
}

/// The day before or after a date, as `YYYY-MM-DD`.
pub(crate) fn days_later(date: &str, days: i64) -> Option<String> {
    let date: jiff::civil::Date = date.parse().ok()?;
    Some(date.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?.to_string())
}

/// The order that the dates of a text show: `25/12/2023` is day first.
pub(crate) fn order_shown(text: &str) -> DateOrder {
    let Some(scanner) = DateScanner::new(text, DateOrder::Unknown) else {
        return DateOrder::Unknown;
    };
    let text = &scanner.text;
    let shown = scanner.tokens.windows(3).find_map(|three| {
        let [DatePart::Number(x), DatePart::Number(y), DatePart::Number(z)] = three else {
            return None;
        };
        let slashes =
            [(x, y), (y, z)].iter().all(|(a, b)| matches!(&text[a.end..b.start], "/" | "-"));
        let year = z.end - z.start == 4 && x.end - x.start <= 2 && slashes;
        match (x.value, y.value) {
            (13..=31, 1..=12) if year => Some(DateOrder::DayFirst),
            (1..=12, 13..=31) if year => Some(DateOrder::MonthFirst),
            _ => None,
        }
    });
    shown.unwrap_or_default()
}

/// A date in a text, and the bytes that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DateMatch {
    pub(crate) date: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
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

    /// The order in the country of a web address. Addresses of no country, and of countries that write both, say nothing.
    pub(crate) fn from_host(address: &str) -> DateOrder {
        let host = address.split_once("://").map_or("", |parts| parts.1);
        let host = host.split(['/', ':', '?', '#']).next().unwrap_or_default();
        let country = host.rsplit('.').next().unwrap_or_default();
        match country.to_ascii_lowercase().as_str() {
            "us" | "gov" | "mil" => DateOrder::MonthFirst,
            "uk" | "au" | "nz" | "ie" | "in" | "za" | "de" | "at" | "ch" | "fr" | "be" | "nl"
            | "es" | "it" | "pt" | "br" | "ar" | "mx" | "pl" | "cz" | "sk" | "gr" | "tr" | "ru"
            | "ua" | "dk" | "no" | "se" | "fi" | "ro" | "id" | "vn" => DateOrder::DayFirst,
            _ => DateOrder::Unknown,
        }
    }
}

/// The date in the path of a web address: `/2024/03/05/`, `/2024-03-05-`, `/20240305/`, `/2024/mar/05/`, `/2024/0305/`,
/// `-25-12-2024.html`.
pub(crate) fn from_url(url: &str) -> Option<String> {
    let path = path_of(url)?;
    let tokens = tokens(path);
    let number = |at: usize| match tokens.get(at)? {
        DatePart::Number(digits) => Some(*digits),
        DatePart::Word(..) => None,
    };
    let mark = |a: Digits, b: Digits| &path[a.end..b.start];
    let free = |at: usize| !path[at..].starts_with(|c: char| c.is_ascii_alphanumeric());
    (0..tokens.len()).find_map(|at| {
        let a = number(at).filter(|it| begins_part(path, it.start))?;
        if a.len() == 8 && (19_950_000..21_000_000).contains(&a.value) && free(a.end) {
            return iso_date(a.value / 10_000, a.value / 100 % 100, a.value % 100);
        }
        if a.len() == 4 && !(1995..=2100).contains(&a.value) {
            return None;
        }
        if let (4, Some(DatePart::Word(start, end)), Some(day)) =
            (a.len(), tokens.get(at + 1), number(at + 2))
        {
            let same = matches!(&path[a.end..*start], "/" | "-")
                && path[a.end..*start] == path[*end..day.start];
            let month = month_from_name(&path[*start..*end]).filter(|_| same && free(day.end))?;
            return iso_date(a.value, month, day.day()?);
        }
        let b = number(at + 1)?;
        if a.len() == 4 && b.len() == 4 && mark(a, b) == "/" && path[b.end..].starts_with('/') {
            return iso_date(a.value, b.value / 100, b.value % 100);
        }
        let c = number(at + 2).filter(|it| free(it.end))?;
        match (a.len(), b.len(), c.len(), mark(a, b), mark(b, c)) {
            (4, 2, 2, "/" | "-" | "_" | ".", second) if second == mark(a, b) || second == "/" => {
                iso_date(a.value, b.value, c.value)
            }
            (4, 1 | 2, 1 | 2, "/", "/") if path[c.end..].starts_with('/') => {
                iso_date(a.value, b.value, c.value)
            }
            (2, 2, 4, "-" | "." | "_", second) if second == mark(a, b) && c.value >= 1995 => {
                match (a.value, b.value) {
                    (13.., _) => iso_date(c.value, b.value, a.value),
                    (_, 13..) => iso_date(c.value, a.value, b.value),
                    (day, month) if day == month => iso_date(c.value, month, day),
                    _ => None,
                }
            }
            _ => None,
        }
    })
}

/// The date in the query of a web address: `?date=2024-03-05`.
pub(crate) fn from_query(url: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    query.split('#').next()?.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let named = matches!(name, "date" | "pubdate" | "published" | "publishdate");
        normalise(value).filter(|_| named)
    })
}

fn path_of(url: &str) -> Option<&str> {
    let (_, path) = url.split_once("://").filter(|parts| parts.0.starts_with("http"))?;
    Some(path.split(['?', '#']).next()?.split_once('/')?.1)
}

/// Whether a part of a path begins there, or begins with one letter before: `/t20240305_12.html`.
fn begins_part(path: &str, start: usize) -> bool {
    let mut before = path[..start].chars().rev();
    let (last, second) = (before.next(), before.next());
    let mark = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    mark(last) || last.is_some_and(|c| c.is_ascii_alphabetic()) && mark(second)
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

/// A run of digits.
#[derive(Debug, Clone, Copy)]
struct Digits {
    start: usize,
    end: usize,
    /// -1 if it is no number of 32 bits.
    value: i32,
}

impl Digits {
    fn len(self) -> usize {
        self.end - self.start
    }

    /// The number, if it can be a day.
    fn day(self) -> Option<i32> {
        Some(self.value).filter(|value| self.len() <= 2 && (1..=31).contains(value))
    }
}

#[derive(Debug, Clone, Copy)]
enum DatePart {
    Number(Digits),
    Word(usize, usize),
}

/// Finds the dates of a text one after the other.
struct DateScanner<'a> {
    text: Cow<'a, str>,
    tokens: Vec<DatePart>,
    order: DateOrder,
    at: usize,
}

impl Iterator for DateScanner<'_> {
    type Item = DateMatch;

    fn next(&mut self) -> Option<DateMatch> {
        while self.at < self.tokens.len() {
            let first = self.at;
            if let Some((date, last)) = self.numeric(first).or_else(|| self.named(first)) {
                self.at = last + 1;
                return Some(DateMatch { date, start: self.start(first), end: self.end(last) });
            }
            self.at += 1;
        }
        None
    }
}

impl<'a> DateScanner<'a> {
    fn new(text: &'a str, order: DateOrder) -> Option<Self> {
        if text.trim().is_empty() || text.len() > MAX_TEXT {
            return None;
        }
        let text = with_ascii_digits(text);
        let tokens = tokens(&text);
        Some(DateScanner { text, tokens, order, at: 0 })
    }

    fn start(&self, at: usize) -> usize {
        match self.tokens[at] {
            DatePart::Number(digits) => digits.start,
            DatePart::Word(start, _) => start,
        }
    }

    fn end(&self, at: usize) -> usize {
        match self.tokens[at] {
            DatePart::Number(digits) => digits.end,
            DatePart::Word(_, end) => end,
        }
    }

    fn number(&self, at: usize) -> Option<Digits> {
        match self.tokens.get(at)? {
            DatePart::Number(digits) => Some(*digits),
            DatePart::Word(..) => None,
        }
    }

    fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at)? {
            DatePart::Word(start, end) => Some(&self.text[*start..*end]),
            DatePart::Number(_) => None,
        }
    }

    /// What is between two neighbouring tokens.
    fn gap(&self, at: usize) -> &str {
        self.text.get(self.end(at)..self.start(at + 1)).unwrap_or_default().trim()
    }

    /// A date in digits that begins at a token, and its last token.
    fn numeric(&self, at: usize) -> Option<(String, usize)> {
        let a = self.number(at)?;
        if matches!(a.len(), 8 | 12 | 14) {
            let head = self.text.get(a.start..a.start + 8)?.parse::<i32>().ok()?;
            let known = a.len() == 8 || (19_900_101..=21_000_101).contains(&head);
            // The last part of a telephone number is no date.
            let apart = at
                .checked_sub(1)
                .is_none_or(|it| self.number(it).is_none() || !self.gap(it).is_empty());
            let free = apart && !self.text[..a.start].ends_with(|c: char| c.is_ascii_alphabetic());
            let found = iso_date(head / 10_000, head / 100 % 100, head % 100);
            return found.filter(|_| known && free).map(|date| (date, at));
        }
        self.with_marks(at, a).or_else(|| self.with_unit_words(at, a))
    }

    /// `2024-03-05`, `5.3.2024`, `05/03/2024`, `05.03.24`.
    fn with_marks(&self, at: usize, a: Digits) -> Option<(String, usize)> {
        let (b, c) = (self.number(at + 1)?, self.number(at + 2)?);
        let mark = self.gap(at);
        if mark != self.gap(at + 1) || !matches!(mark, "-" | "/" | "." | "–" | "‑" | "−") {
            return None;
        }
        // `1.2.3.2024` is no date.
        let tight = |x: usize| {
            self.tokens.get(x + 1).is_some() && self.end(x) + mark.len() == self.start(x + 1)
        };
        let more = |x: usize| self.number(x).is_some() && tight(x) && self.gap(x) == mark;
        if at > 0 && more(at - 1) || mark == "." && more(at + 2) && self.number(at + 3).is_some() {
            return None;
        }
        let (x, y, z) = (a.value, b.value, c.value);
        let last = at + 2;
        if a.len() == 4 {
            return iso_date(x, y, z)
                .filter(|_| b.len() <= 2 && c.len() <= 2)
                .map(|date| (date, last));
        }
        if a.len() > 2 || b.len() > 2 {
            return None;
        }
        let year = match c.len() {
            4 => z,
            2 if mark == "/" || mark == "." && a.len() == 2 && b.len() == 2 => short_year(z)?,
            _ => return None,
        };
        let found = match mark {
            "." => iso_date(year, y, x),
            _ if x > 12 => iso_date(year, y, x),
            _ if y > 12 => iso_date(year, x, y),
            _ if x == y || self.order == DateOrder::MonthFirst => iso_date(year, x, y),
            _ if self.order == DateOrder::DayFirst => iso_date(year, y, x),
            _ => None,
        };
        found.map(|date| (date, last))
    }

    /// `2024年3月5日`, `2024년 3월 5일`, `5 tháng 3 năm 2024`.
    fn with_unit_words(&self, at: usize, a: Digits) -> Option<(String, usize)> {
        let (first, b) = (self.word(at + 1)?, self.number(at + 2)?);
        let second = self.word(at + 3);
        if matches!(first, "年" | "년") && matches!(second, Some("月" | "월")) {
            let c = self.number(at + 4)?;
            let era = at.checked_sub(1).and_then(|before| self.word(before)).unwrap_or_default();
            let year = match a.value {
                year if a.len() == 4 => year,
                year if era.ends_with("令和") => year + 2018,
                year if era.ends_with("平成") => year + 1988,
                year if era.ends_with("民國") || era.ends_with("民国") => year + 1911,
                _ => return None,
            };
            return iso_date(year, b.value, c.value).map(|date| (date, at + 4));
        }
        if first.to_lowercase() != "tháng" {
            return None;
        }
        let last = at + 3 + usize::from(second.is_some_and(|it| it.to_lowercase() == "năm"));
        let year = self.number(last).filter(|it| it.len() == 4)?;
        iso_date(year.value, b.value, a.day()?).map(|date| (date, last))
    }

    /// A date with the month by name that begins at a token, and its last token.
    fn named(&self, at: usize) -> Option<(String, usize)> {
        let Some(a) = self.number(at) else {
            let (month, next) = self.month(at)?;
            let next = self.skip_fillers(next);
            let day = self.number(next)?.day()?;
            let year = self.skip_fillers(next + 1);
            let found = self.year(year).map(|found| (found, year));
            let (year, last) = found.or_else(|| self.year_after_time(next))?;
            return iso_date(year, month, day).map(|date| (date, last));
        };
        let (month, next) = self.month(self.skip_fillers(at + 1))?;
        let next = self.skip_fillers(next);
        if let (Some(day), Some(year)) = (a.day(), self.year(next)) {
            return iso_date(year, month, day).map(|date| (date, next));
        }
        let day = self.number(next).and_then(Digits::day).filter(|_| a.len() == 4)?;
        // In `2023 March 5, 2024`, the first number is something else.
        if self.year(next + 1).is_some() {
            return None;
        }
        iso_date(a.value, month, day).map(|date| (date, next))
    }

    /// The month named at a token before a number, and the token after it.
    fn month(&self, at: usize) -> Option<(i32, usize)> {
        let word = self.word(at)?;
        // Only words near a number are looked up: there are many words.
        (at + 1..at + 5).find(|it| self.number(*it).is_some())?;
        let second = self.word(at + 1);
        if let Some(month) = second.and_then(|second| month_from_pair(word, second)) {
            return Some((month, at + 2));
        }
        let month = month_from_name(word)?;
        // Arabic dates often name the month twice: `آذار/مارس`.
        let twice = second.and_then(month_from_name) == Some(month);
        Some((month, at + 1 + usize::from(twice)))
    }

    fn year(&self, at: usize) -> Option<i32> {
        let digits = self.number(at)?;
        match digits.len() {
            4 => Some(digits.value),
            // `5-Mar-24`, `March 5, '24`
            2 if matches!(self.gap(at - 1), "-" | "'" | "’" | ", '" | ", ’") => {
                short_year(digits.value)
            }
            _ => None,
        }
    }

    /// The year of `Mar 5 10:00:00 CET 2024`.
    fn year_after_time(&self, day: usize) -> Option<(i32, usize)> {
        let time = (day + 1..day + 4).all(|at| self.number(at).is_some_and(|it| it.len() == 2));
        let at = day + 4 + usize::from(self.word(day + 4).is_some());
        let year = self.number(at).filter(|it| time && it.len() == 4)?;
        Some((year.value, at))
    }

    /// The first token from `at` that is no filler; at most two are skipped.
    fn skip_fillers(&self, at: usize) -> usize {
        let filler = |at: usize| {
            self.word(at).is_some_and(|word| FILLERS.iter().any(|it| it.eq_ignore_ascii_case(word)))
        };
        at + usize::from(filler(at)) + usize::from(filler(at) && filler(at + 1))
    }
}

fn short_year(year: i32) -> Option<i32> {
    match year {
        0..=LAST_SHORT_YEAR => Some(2000 + year),
        FIRST_SHORT_YEAR..=99 => Some(1900 + year),
        _ => None,
    }
}

/// The text with the digits of other scripts replaced.
pub(crate) fn with_ascii_digits(text: &str) -> Cow<'_, str> {
    let value = |c: char| match c {
        '٠'..='٩' => Some(c as u32 - '٠' as u32),
        '۰'..='۹' => Some(c as u32 - '۰' as u32),
        '０'..='９' => Some(c as u32 - '０' as u32),
        _ => None,
    };
    if text.is_ascii() || !text.contains(|c| value(c).is_some()) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| value(c).and_then(|it| char::from_digit(it, 10)).unwrap_or(c)).collect()
}

/// The runs of digits and the words of a text.
fn tokens(text: &str) -> Vec<DatePart> {
    let kind = |c: char| match c {
        '0'..='9' => 1,
        // Combining accents belong to their letter.
        c if c.is_alphabetic() || ('\u{300}'..='\u{36f}').contains(&c) => 2,
        _ => 0,
    };
    let mut found = Vec::new();
    let mut all = text.char_indices().peekable();
    while let Some((start, first)) = all.next() {
        if found.len() >= MAX_TOKENS {
            break;
        }
        let (mut end, mut last) = (start + first.len_utf8(), first);
        // `5 min readFeb 11, 2019`: elements side by side leave no space.
        let goes_on = |last: char, c: char| {
            kind(c) == kind(first) && !(c.is_uppercase() && last.is_lowercase())
        };
        while let Some((at, c)) = all.next_if(|pair| goes_on(last, pair.1)) {
            (end, last) = (at + c.len_utf8(), c);
        }
        match kind(first) {
            1 => found.push(DatePart::Number(Digits {
                start,
                end,
                value: text[start..end].parse().unwrap_or(-1),
            })),
            2 => found.push(DatePart::Word(start, end)),
            _ => {}
        }
    }
    found
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
            ("https://a.example/2024/mar/05/tea", Some("2024-03-05")),
            ("https://a.example/2024/3/5/tea", Some("2024-03-05")),
            ("https://a.example/n/2024/0305/c1-2.html", Some("2024-03-05")),
            ("https://a.example/2024-03/05/content_1.html", Some("2024-03-05")),
            ("https://a.example/a/t20240305_12.html", Some("2024-03-05")),
            ("https://a.example/tea-25-12-2023.html", Some("2023-12-25")),
            ("https://a.example/tea-05-03-2024.html", None),
            ("https://a.example/journal/2024/3/5", None),
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
