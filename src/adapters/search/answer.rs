//! Reading answers: JSON that may lack anything, and the hits in it.
use serde_json::Value;

use crate::adapters::documents::dates;
use crate::adapters::model::{Headers, ModelFault};
use crate::domain::{Hit, Untrusted};

/// The most characters kept of a title, a snippet and a text.
const TITLE: usize = 300;
const SNIPPET: usize = 2_000;
const TEXT: usize = 200_000;

/// What an answer comes to.
pub type Read<T> = std::result::Result<T, ModelFault>;

/// What an interface names that is no work: a person, a journal, a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// What it goes by in calls; empty where it has nothing.
    pub id: String,
    /// What people call it; empty where that is not told.
    pub name: String,
}

/// The JSON of an answer, or the fault that it tells.
pub(super) fn json(status: u16, headers: &Headers, body: &[u8]) -> Read<Value> {
    if !(200..300).contains(&status) {
        return Err(ModelFault::of_answer(status, headers, body));
    }
    let value: Value = serde_json::from_slice(body).map_err(|_| {
        let begins = String::from_utf8_lossy(&body[..body.len().min(400)]).to_lowercase();
        match begins.contains("captcha") || begins.contains("<html") || begins.contains("<!doctype")
        {
            true => ModelFault::malformed("it answered with a web page instead of JSON"),
            false => ModelFault::malformed("its answer is not JSON"),
        }
    })?;
    let told = value
        .get("error")
        .is_some_and(|it| !it.is_null() && *it != Value::Bool(false));
    match told {
        true => Err(ModelFault::of_value(Some(status), headers, &value)),
        false => Ok(value),
    }
}

/// The text of an answer, or the fault that it tells.
pub(super) fn text(status: u16, headers: &Headers, body: &[u8]) -> Read<String> {
    if !(200..300).contains(&status) {
        return Err(ModelFault::of_answer(status, headers, body));
    }
    Ok(String::from_utf8_lossy(body).into_owned())
}

/// What an interface says in words under a status that tells nothing: for a moment only, or for good.
pub(super) fn refused(said: &str) -> ModelFault {
    const FOR_NOW: &[&str] = &[
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
    let lower = said.to_lowercase();
    let said = cut(said.trim(), 300);
    match FOR_NOW.iter().any(|it| lower.contains(it)) {
        true => ModelFault::transient(said),
        false => ModelFault::malformed(said),
    }
}

/// The list at `path`, which an answer of this kind has.
pub(super) fn list<'a>(value: &'a Value, path: &str) -> Read<&'a [Value]> {
    let found = value.pointer(path).and_then(Value::as_array);
    found
        .map(Vec::as_slice)
        .ok_or_else(|| ModelFault::malformed(format!("its answer has no list `{}`", &path[1..])))
}

/// The text of a field, where it is one and has words.
pub(super) fn word<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value
        .get(name)
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|it| !it.is_empty())
}

/// The whole number of a field, also where it is spelt as text.
pub(super) fn count(value: &Value, name: &str) -> Option<u32> {
    let it = value.get(name)?;
    let number = it.as_u64().or_else(|| it.as_str()?.trim().parse().ok())?;
    u32::try_from(number).ok()
}

/// A hit of `provider` with the address at `url`; `None` without one.
pub(super) fn hit(
    provider: &str,
    value: &Value,
    url: &str,
    title: &str,
    snippet: &str,
) -> Option<Hit> {
    let url = word(value, url)?;
    let title = plain(word(value, title).unwrap_or(url), TITLE);
    let snippet = plain(word(value, snippet).unwrap_or_default(), SNIPPET);
    Some(Hit::new(provider, url, &title, &snippet))
}

/// Markup and entities taken off, blanks made single, cut to `most` characters.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut bare = String::with_capacity(text.len().min(4 * most));
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        bare.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let is_tag =
            behind.starts_with(|it: char| it.is_ascii_alphabetic() || it == '/' || it == '!');
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
    cut(&out, most)
}

/// At most `most` characters of `text`.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].trim_end().to_owned(),
        None => text.to_owned(),
    }
}

/// The title of a work, without its markup and the stop at its end.
pub(super) fn title(text: &str) -> String {
    let title = plain(text, TITLE);
    match title.strip_suffix('.') {
        Some(bare) if !bare.ends_with('.') => bare.to_owned(),
        _ => title,
    }
}

/// A whole text that an engine gives, its lines kept.
pub(super) fn whole(text: &str) -> Option<Untrusted> {
    let text = cut(text.trim(), TEXT);
    (!text.is_empty()).then(|| Untrusted::new(text))
}

/// An abstract with its markup taken off: HTML, or JATS with a prefix to its tags.
pub(super) fn abstract_of(text: &str) -> String {
    // Tags that stand side by side part words.
    let text = text.replace("><", "> <");
    let bare = plain(&text, TEXT);
    bare.strip_prefix("Abstract ").unwrap_or(&bare).to_owned()
}

/// Why a work should not be relied on, where its title or what it is says so. `who` records it.
pub(super) fn taken_back(title: &str, kinds: &[String], who: &str) -> Option<String> {
    let kind = |it: &String| {
        it.eq_ignore_ascii_case("retracted publication")
            || it.eq_ignore_ascii_case("retracted-publication")
    };
    let title = title
        .trim_start_matches(['[', '(', '*', ' '])
        .to_lowercase();
    let marks = [
        ("retracted", "retracted"),
        ("withdrawn", "withdrawn"),
        ("removed", "removed"),
    ];
    let marked = marks.iter().find(|it| {
        // "RETRACTED: …", "Retracted Article: …", "[Retracted] …", but not "Retracted papers in …".
        let behind = title.strip_prefix(it.0);
        let behind = behind.map(|it| it.trim_start_matches(" article").trim_start());
        behind.is_some_and(|it| it.starts_with([':', ']', ')']))
    });
    match marked {
        Some((_, said)) => Some(format!("{said}, as its title says")),
        None if kinds.iter().any(kind) => Some(format!("retracted, as {who} records")),
        None => None,
    }
}

/// A day in any of the ways that services write it, as `YYYY-MM-DD`.
pub(super) fn day(text: &str) -> Option<String> {
    let head = text.get(..10).filter(|it| is_day(it));
    head.map(str::to_owned).or_else(|| dates::normalise(text))
}

fn is_day(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok() && text.as_bytes()[4] == b'-'
}

/// The number of a month: in digits, or by its name or the first three letters of it.
pub(super) fn month(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let lower = text.trim().to_lowercase();
    let named = MONTHS.iter().position(|it| lower.starts_with(it));
    named.map(|it| it as i64 + 1).or_else(|| lower.parse().ok())
}

/// Numbers of a date, of which only the year must be there; the first day of what is not told.
pub(super) fn parts(year: Option<i64>, month: Option<i64>, day: Option<i64>) -> Option<String> {
    let year = year.filter(|it| (1000..3000).contains(it))?;
    let month = month.filter(|it| (1..=12).contains(it)).unwrap_or(1);
    let day = day.filter(|it| (1..=31).contains(it)).unwrap_or(1);
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_taken_off_and_less_than_stays() {
        assert_eq!(
            plain("<b>Cork</b> is a&nbsp;bark &amp; p < 0.05", 99),
            "Cork is a bark & p < 0.05"
        );
        assert_eq!(plain(&"word ".repeat(1_000_000), 12), "word word wo");
    }

    #[test]
    fn a_title_tells_that_a_work_was_taken_back() {
        let of = |title: &str| taken_back(title, &[], "a catalogue");
        for title in [
            "RETRACTED: Cork",
            "Retracted Article: Cork",
            "[Retracted] Cork",
        ] {
            assert_eq!(of(title).as_deref(), Some("retracted, as its title says"));
        }
        assert!(of("WITHDRAWN: Cork").is_some());
        assert_eq!(of("Retracted papers and their citations"), None);
        let kind = ["Retracted Publication".to_owned()];
        assert!(taken_back("Cork", &kind, "a catalogue").is_some());
    }

    #[test]
    fn an_abstract_loses_its_tags_and_no_words_grow_together() {
        let text = "<jats:title>Abstract</jats:title><jats:p>Cork floats.</jats:p><jats:p>Oak sinks.</jats:p>";
        assert_eq!(abstract_of(text), "Cork floats. Oak sinks.");
    }

    #[test]
    fn a_web_page_instead_of_json_is_told_as_such() {
        let fault = json(
            200,
            &Headers::default(),
            b"<!DOCTYPE html><title>Captcha</title>",
        )
        .unwrap_err();
        assert!(fault.message.contains("web page"), "{fault}");
        assert!(list(&serde_json::json!({"results": null}), "/results").is_err());
    }
}
