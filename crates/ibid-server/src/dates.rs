//! Dates as users write them.
use jiff::civil::Date;
use jiff::{Span, ToSpan as _};

use ibid_core::{Error, ErrorKind, Result};

/// Which day of a year or month to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateBound {
    /// Its first day: `--since 2020`.
    First,
    /// Its last day: `--until 2020`.
    Last,
}

/// Parses a year, a month, a day, or a time before `today` (`30d`, `6w`, `3m`, `2y`), as `YYYY-MM-DD`.
///
/// # Errors
/// Kind `Usage`, naming `flag`.
pub fn parse_day(flag: &str, text: &str, bound: DateBound, today: Date) -> Result<String> {
    parse_date(text.trim(), bound, today)
        .map(|date| date.to_string())
        .ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("reading {flag}: invalid date `{text}`"))
                .with_hint("write a year (2020), a month (2020-05), a day (2020-05-01) or a time ago (30d, 6w, 3m, 2y)")
        })
}

fn parse_date(text: &str, bound: DateBound, today: Date) -> Option<Date> {
    if let Some(unit) = text.strip_suffix(['d', 'w', 'm', 'y']) {
        let n: i32 = unit.parse().ok().filter(|parsed| *parsed >= 0)?;
        let ago: Span = match text.as_bytes().last()? {
            b'd' => Span::new().try_days(n).ok()?,
            b'w' => Span::new().try_weeks(n).ok()?,
            b'm' => Span::new().try_months(n).ok()?,
            _ => Span::new().try_years(n).ok()?,
        };
        return today.checked_sub(ago).ok();
    }
    let parts: Vec<&str> = text.split('-').collect();
    if parts[0].len() != 4 {
        return None;
    }
    let year: i16 = parts[0].parse().ok()?;
    let first = |month: &str| Date::new(year, month.parse().ok()?, 1).ok();
    match parts.as_slice() {
        [_] => match bound {
            DateBound::First => Date::new(year, 1, 1).ok(),
            DateBound::Last => Date::new(year, 12, 31).ok(),
        },
        [_, month] => match bound {
            DateBound::First => first(month),
            DateBound::Last => first(month)?.checked_add(1.month()).ok()?.checked_sub(1.day()).ok(),
        },
        [_, month, day] => Date::new(year, month.parse().ok()?, day.parse().ok()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_parsed() {
        let today = Date::constant(2026, 3, 31);
        let since = |text: &str| parse_day("--since", text, DateBound::First, today).unwrap();
        assert_eq!(since("2020"), "2020-01-01");
        assert_eq!(since("2020-05"), "2020-05-01");
        assert_eq!(since("2020-05-07"), "2020-05-07");
        assert_eq!(since("30d"), "2026-03-01");
        assert_eq!(since("1m"), "2026-02-28");
        let until = |text: &str| parse_day("--until", text, DateBound::Last, today).unwrap();
        assert_eq!(until("2020"), "2020-12-31");
        assert_eq!(until("2024-02"), "2024-02-29");
    }

    #[test]
    fn an_invalid_date_is_named() {
        for text in ["", "soon", "2020-13", "2020-02-30", "20", "-5d", "99999999999y", "d", "ä"] {
            let fault = parse_day("--since", text, DateBound::First, Date::constant(2026, 1, 1))
                .unwrap_err();
            assert!(fault.chain().contains("--since"), "{text}");
        }
    }
}
