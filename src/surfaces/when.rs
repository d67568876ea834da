//! Days as people write them.
use jiff::civil::Date;
use jiff::{Span, ToSpan as _};

use crate::error::{Error, Kind, Result};

/// Which end of a year or month is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Its first day: `--since 2020`.
    First,
    /// Its last day: `--until 2020`.
    Last,
}

/// The day that `text` means, as `YYYY-MM-DD`: a year, a month, a day, or so long before `today`
/// (`30d`, `6w`, `3m`, `2y`).
///
/// # Errors
/// Kind `Usage`, naming `flag`.
pub(crate) fn day(flag: &str, text: &str, edge: Edge, today: Date) -> Result<String> {
    read(text.trim(), edge, today)
        .map(|it| it.to_string())
        .ok_or_else(|| {
            Error::new(Kind::Usage, format!("reading {flag}: `{text}` is no day"))
                .hint("write a year (2020), a month (2020-05), a day (2020-05-01) or how long ago (30d, 6w, 3m, 2y)")
        })
}

fn read(text: &str, edge: Edge, today: Date) -> Option<Date> {
    if let Some(unit) = text.strip_suffix(['d', 'w', 'm', 'y']) {
        let n: i32 = unit.parse().ok().filter(|it| *it >= 0)?;
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
        [_] => match edge {
            Edge::First => Date::new(year, 1, 1).ok(),
            Edge::Last => Date::new(year, 12, 31).ok(),
        },
        [_, month] => match edge {
            Edge::First => first(month),
            Edge::Last => first(month)?
                .checked_add(1.month())
                .ok()?
                .checked_sub(1.day())
                .ok(),
        },
        [_, month, day] => Date::new(year, month.parse().ok()?, day.parse().ok()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_people_write_it() {
        let today = Date::constant(2026, 3, 31);
        let since = |it: &str| day("--since", it, Edge::First, today).unwrap();
        assert_eq!(since("2020"), "2020-01-01");
        assert_eq!(since("2020-05"), "2020-05-01");
        assert_eq!(since("2020-05-07"), "2020-05-07");
        assert_eq!(since("30d"), "2026-03-01");
        assert_eq!(since("1m"), "2026-02-28");
        let until = |it: &str| day("--until", it, Edge::Last, today).unwrap();
        assert_eq!(until("2020"), "2020-12-31");
        assert_eq!(until("2024-02"), "2024-02-29");
    }

    #[test]
    fn what_is_no_day_is_named() {
        for text in [
            "",
            "soon",
            "2020-13",
            "2020-02-30",
            "20",
            "-5d",
            "99999999999y",
            "d",
            "ä",
        ] {
            let fault = day("--since", text, Edge::First, Date::constant(2026, 1, 1)).unwrap_err();
            assert!(fault.chain().contains("--since"), "{text}");
        }
    }
}
