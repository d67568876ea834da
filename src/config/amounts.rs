//! A budget as people write it: `$2|15m|60calls`.
use crate::error::{Error, Kind, Result};

/// The settings that a written budget means, with their values. Parts are joined by `|` or `,`.
///
/// # Errors
/// Kind `Usage`, naming the part that means nothing.
pub fn parse(text: &str) -> Result<Vec<(&'static str, String)>> {
    let parts: Vec<&str> = text
        .split(['|', ','])
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    if parts.is_empty() {
        return Err(unread(text));
    }
    parts
        .into_iter()
        .map(|part| one(part).ok_or_else(|| unread(part)))
        .collect()
}

fn unread(part: &str) -> Error {
    Error::new(
        Kind::Usage,
        format!("reading --budget: `{part}` is no amount"),
    )
    .hint("write money as $2, time as 90s, 15m or 2h, work as 60calls, 20searches, 40pages or 300ktokens")
}

fn one(part: &str) -> Option<(&'static str, String)> {
    let lower = part.to_lowercase();
    if let Some(money) = lower.strip_prefix('$') {
        return number(money).map(|it| ("budget.usd", it.to_string()));
    }
    let digits = lower
        .find(|it: char| !(it.is_ascii_digit() || it == '.'))
        .unwrap_or(lower.len());
    let amount = number(&lower[..digits])?;
    let seconds = |factor: f64| Some(("budget.seconds", (amount * factor).round().to_string()));
    let count = |name| (amount.fract() == 0.0).then(|| (name, amount.to_string()));
    match lower[digits..].trim() {
        "usd" | "$" => Some(("budget.usd", amount.to_string())),
        "s" | "sec" | "seconds" => seconds(1.0),
        "m" | "min" | "minutes" => seconds(60.0),
        "h" | "hours" => seconds(3600.0),
        "call" | "calls" => count("budget.calls"),
        "search" | "searches" => count("budget.searches"),
        "page" | "pages" => count("budget.pages"),
        "token" | "tokens" => count("budget.tokens"),
        "ktoken" | "ktokens" | "k tokens" => {
            Some(("budget.tokens", (amount * 1e3).round().to_string()))
        }
        "mtoken" | "mtokens" | "m tokens" => {
            Some(("budget.tokens", (amount * 1e6).round().to_string()))
        }
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|it| it.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_read_part_by_part() {
        assert_eq!(
            parse("$2|15m|60calls").unwrap(),
            [
                ("budget.usd", "2".to_owned()),
                ("budget.seconds", "900".to_owned()),
                ("budget.calls", "60".to_owned()),
            ]
        );
        assert_eq!(
            parse("300ktokens").unwrap(),
            [("budget.tokens", "300000".to_owned())]
        );
        assert_eq!(
            parse("1.5h, 20 searches").unwrap(),
            [
                ("budget.seconds", "5400".to_owned()),
                ("budget.searches", "20".to_owned()),
            ]
        );
    }

    #[test]
    fn what_is_no_amount_is_named() {
        for text in [
            "",
            "soon",
            "5",
            "$",
            "2.5calls",
            "-3m",
            "3 fortnights",
            "1e999s",
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.kind(), Kind::Usage, "{text}");
        }
        assert!(parse("15m|lots").unwrap_err().chain().contains("`lots`"));
    }
}
