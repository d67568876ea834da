//! Parses a budget as written on the command line: `$2|15m|60calls`.
use ibid_core::{Error, ErrorKind, Result};

/// The settings of a budget, with their values. Parts are separated by `|` or `,`.
///
/// # Errors
/// `Usage`, naming the invalid part.
pub fn parse(text: &str) -> Result<Vec<(&'static str, String)>> {
    let parts: Vec<&str> =
        text.split(['|', ',']).map(str::trim).filter(|text| !text.is_empty()).collect();
    if parts.is_empty() {
        return Err(invalid_part(text));
    }
    parts.into_iter().map(|part| parse_part(part).ok_or_else(|| invalid_part(part))).collect()
}

fn invalid_part(part: &str) -> Error {
    Error::new(
        ErrorKind::Usage,
        format!("reading --budget: invalid amount `{part}`"),
    )
    .with_hint("write money as $2, time as 90s, 15m or 2h, work as 60calls, 20searches, 40pages or 300ktokens")
}

fn parse_part(part: &str) -> Option<(&'static str, String)> {
    let lower = part.to_lowercase();
    if let Some(money) = lower.strip_prefix('$') {
        return number(money).map(|number| ("budget.usd", number.to_string()));
    }
    let digits = lower.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(lower.len());
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
    text.parse::<f64>().ok().filter(|parsed| parsed.is_finite())
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
        assert_eq!(parse("300ktokens").unwrap(), [("budget.tokens", "300000".to_owned())]);
        assert_eq!(
            parse("1.5h, 20 searches").unwrap(),
            [("budget.seconds", "5400".to_owned()), ("budget.searches", "20".to_owned()),]
        );
    }

    #[test]
    fn an_invalid_amount_is_named() {
        for text in ["", "soon", "5", "$", "2.5calls", "-3m", "3 fortnights", "1e999s"] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Usage, "{text}");
        }
        assert!(parse("15m|lots").unwrap_err().chain().contains("`lots`"));
    }
}
