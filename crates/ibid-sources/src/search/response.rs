//! Parsing answers: JSON in which anything may be missing, and the hits in it.
use serde_json::Value;

use ibid_core::domain::{Hit, Untrusted};
use ibid_extract::dates;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;

/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 300;
/// Maximum length of a snippet, in characters.
const MAX_SNIPPET_CHARS: usize = 2_000;
/// Maximum length of a text, in characters.
const MAX_TEXT_CHARS: usize = 200_000;

/// A parsed answer, or the error that it reports.
pub type ReadResult<T> = std::result::Result<T, ServiceError>;

/// Parses an answer as JSON.
///
/// # Errors
/// Also for an answer with a field `error`.
pub(super) fn parse_json(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Value> {
    if !(200..300).contains(&status) {
        return Err(ServiceError::from_response(status, headers, body));
    }
    let value: Value = serde_json::from_slice(body).map_err(|_| {
        let start = String::from_utf8_lossy(&body[..body.len().min(400)]).to_lowercase();
        let is_page = ["captcha", "<html", "<!doctype"].iter().any(|sign| start.contains(sign));
        ServiceError::malformed(if is_page {
            "it answered with a web page instead of JSON"
        } else {
            "its response is not JSON"
        })
    })?;
    let has_error =
        value.get("error").is_some_and(|error| !error.is_null() && *error != Value::Bool(false));
    if has_error {
        return Err(ServiceError::from_json(Some(status), headers, &value));
    }
    Ok(value)
}

/// The text of an answer.
///
/// # Errors
/// For any status that is not a success.
pub(super) fn parse_text(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<String> {
    if !(200..300).contains(&status) {
        return Err(ServiceError::from_response(status, headers, body));
    }
    Ok(String::from_utf8_lossy(body).into_owned())
}

/// The error for a message with a status that says nothing: transient or malformed, by its words.
pub(super) fn error_from_text(message: &str) -> ServiceError {
    const TRANSIENT: &[&str] = &[
        "backend",
        "exceeded",
        "overloaded",
        "rate limit",
        "temporar",
        "timed out",
        "timeout",
        "too many",
        "try again",
        "unavailable",
    ];
    let lower = message.to_lowercase();
    let message = truncate(message.trim(), 300);
    if TRANSIENT.iter().any(|phrase| lower.contains(phrase)) {
        ServiceError::transient(message)
    } else {
        ServiceError::malformed(message)
    }
}

/// The list at `path`.
///
/// # Errors
/// `Malformed` when there is none.
pub(super) fn list_at<'a>(value: &'a Value, path: &str) -> ReadResult<&'a [Value]> {
    let found = value.pointer(path).and_then(Value::as_array);
    found.map(Vec::as_slice).ok_or_else(|| {
        ServiceError::malformed(format!("its response has no list `{}`", &path[1..]))
    })
}

/// The text of a field, unless it is blank.
pub(super) fn text_field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

/// The whole number of a field, also when it is written as text.
pub(super) fn count_field(value: &Value, name: &str) -> Option<u32> {
    let it = value.get(name)?;
    let number = it.as_u64().or_else(|| it.as_str()?.trim().parse().ok())?;
    u32::try_from(number).ok()
}

/// A hit of `provider`, from the fields that hold its address, title and snippet; `None` without an address.
pub(super) fn hit(
    provider: &str,
    value: &Value,
    url: &str,
    title: &str,
    snippet: &str,
) -> Option<Hit> {
    let url = text_field(value, url)?;
    let title = plain_text(text_field(value, title).unwrap_or(url), MAX_TITLE_CHARS);
    let snippet = plain_text(text_field(value, snippet).unwrap_or_default(), MAX_SNIPPET_CHARS);
    Some(Hit::new(provider, url, &title, &snippet))
}

/// Removes markup, decodes entities, collapses whitespace and cuts the text to `most` characters.
pub(super) fn plain_text(text: &str, most: usize) -> String {
    let mut bare = String::with_capacity(text.len().min(4 * most));
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        bare.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let is_tag = behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        match behind.find('>').filter(|it| is_tag && *it < 400) {
            Some(end) => rest = &behind[end + 1..],
            None => {
                bare.push('<');
                rest = behind;
            }
        }
        if bare.len() > 8 * most {
            break;
        }
    }
    bare.push_str(rest);
    let mut unescaped = bare;
    for (entity, letter) in [
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#039;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&hellip;", "…"),
        ("&amp;", "&"),
    ] {
        if unescaped.contains('&') {
            unescaped = unescaped.replace(entity, letter);
        }
    }
    let mut out = String::new();
    for (nth, it) in unescaped.split_whitespace().enumerate() {
        if out.len() >= 4 * most {
            break;
        }
        if nth > 0 {
            out.push(' ');
        }
        out.push_str(it);
    }
    truncate(&out, most)
}

/// At most `most` characters of `text`.
pub(super) fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].trim_end().to_owned(),
        None => text.to_owned(),
    }
}

/// The title of a work without markup and final full stop.
pub(super) fn clean_title(text: &str) -> String {
    let title = plain_text(text, MAX_TITLE_CHARS);
    match title.strip_suffix('.') {
        Some(bare) if !bare.ends_with('.') => bare.to_owned(),
        _ => title,
    }
}

/// The text of a hit, with its lines; `None` if it is blank.
pub(super) fn full_text(text: &str) -> Option<Untrusted> {
    let text = truncate(text.trim(), MAX_TEXT_CHARS);
    (!text.is_empty()).then(|| Untrusted::new(text))
}

/// The text of an abstract in HTML or in JATS with prefixed tags.
pub(super) fn abstract_of(text: &str) -> String {
    // Adjacent tags separate words.
    let text = text.replace("><", "> <");
    let bare = plain_text(&text, MAX_TEXT_CHARS);
    bare.strip_prefix("Abstract ").unwrap_or(&bare).to_owned()
}

/// Why a work must not be relied on, if its title or its kinds say so. `who` is the catalogue.
pub(super) fn retraction(title: &str, kinds: &[String], who: &str) -> Option<String> {
    let kind = |text: &String| {
        text.eq_ignore_ascii_case("retracted publication")
            || text.eq_ignore_ascii_case("retracted-publication")
    };
    let title = title.trim_start_matches(['[', '(', '*', ' ']).to_lowercase();
    let marks = [("retracted", "retracted"), ("withdrawn", "withdrawn"), ("removed", "removed")];
    let marked = marks.iter().find(|mark| {
        // "RETRACTED: …", "Retracted Article: …", "[Retracted] …", but not "Retracted papers in …".
        let behind = title.strip_prefix(mark.0);
        let behind = behind.map(|it| it.trim_start_matches(" article").trim_start());
        behind.is_some_and(|it| it.starts_with([':', ']', ')']))
    });
    match marked {
        Some((_, said)) => Some(format!("{said}, as its title says")),
        None if kinds.iter().any(kind) => Some(format!("retracted, as {who} records")),
        None => None,
    }
}

/// Parses a date in any form that services use. Returns `YYYY-MM-DD`.
pub(super) fn parse_date(text: &str) -> Option<String> {
    let head = text.get(..10).filter(|value| is_day(value));
    head.map(str::to_owned).or_else(|| dates::normalise(text))
}

fn is_day(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok() && text.as_bytes()[4] == b'-'
}

/// Parses a month: digits, its name, or the first three letters of its name.
pub(super) fn parse_month(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let lower = text.trim().to_lowercase();
    let named = MONTHS.iter().position(|month| lower.starts_with(month));
    named.map(|it| it as i64 + 1).or_else(|| lower.parse().ok())
}

/// A date from its numbers. A missing month or day is the first.
pub(super) fn date_from_parts(
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
) -> Option<String> {
    let year = year.filter(|year| (1000..3000).contains(year))?;
    let month = month.filter(|month| (1..=12).contains(month)).unwrap_or(1);
    let day = day.filter(|day| (1..=31).contains(day)).unwrap_or(1);
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_taken_off_and_less_than_stays() {
        assert_eq!(
            plain_text("<b>Cork</b> is a&nbsp;bark &amp; p < 0.05", 99),
            "Cork is a bark & p < 0.05"
        );
        assert_eq!(plain_text(&"word ".repeat(1_000_000), 12), "word word wo");
    }

    #[test]
    fn a_title_tells_that_a_work_was_taken_back() {
        let of = |title: &str| retraction(title, &[], "a catalogue");
        for title in ["RETRACTED: Cork", "Retracted Article: Cork", "[Retracted] Cork"] {
            assert_eq!(of(title).as_deref(), Some("retracted, as its title says"));
        }
        assert!(of("WITHDRAWN: Cork").is_some());
        assert_eq!(of("Retracted papers and their citations"), None);
        let kind = ["Retracted Publication".to_owned()];
        assert!(retraction("Cork", &kind, "a catalogue").is_some());
    }

    #[test]
    fn an_abstract_loses_its_tags_and_no_words_grow_together() {
        let text = "<jats:title>Abstract</jats:title><jats:p>Cork floats.</jats:p><jats:p>Oak sinks.</jats:p>";
        assert_eq!(abstract_of(text), "Cork floats. Oak sinks.");
    }

    #[test]
    fn a_web_page_instead_of_json_is_told_as_such() {
        let fault =
            parse_json(200, &ResponseHeaders::default(), b"<!DOCTYPE html><title>Captcha</title>")
                .unwrap_err();
        assert!(fault.message.contains("web page"), "{fault}");
        assert!(list_at(&serde_json::json!({"results": null}), "/results").is_err());
    }
}
