//! One BibTeX entry, as resolvers of DOIs write it.
use super::answer::{Read, cut, month, parts, plain, title};
use crate::adapters::model::ModelFault;
use crate::domain::work::doi;
use crate::domain::{Hit, Work};

/// Fields looked at; an entry has some ten.
const FIELDS: usize = 100;
/// The longest value taken, bytes.
const LONGEST: usize = 100_000;

/// The work that the first entry of `text` describes.
pub(super) fn work(text: &str) -> Read<Hit> {
    let fault = || ModelFault::malformed("its answer is no BibTeX");
    let entry = text.trim_start().strip_prefix('@').ok_or_else(fault)?;
    let (kind, rest) = entry.split_once('{').ok_or_else(fault)?;
    let kind = kind.trim().to_lowercase();
    if kind.is_empty() || !kind.bytes().all(|it| it.is_ascii_alphabetic()) {
        return Err(fault());
    }
    let fields = fields(rest.split_once(',').ok_or_else(fault)?.1);
    let field = |name: &str| {
        let found = fields.iter().find(|it| it.0.eq_ignore_ascii_case(name));
        found.map(|it| it.1.as_str()).filter(|it| !it.is_empty())
    };
    let id = field("doi")
        .and_then(doi)
        .or_else(|| field("url").and_then(doi));
    let id = id.ok_or_else(|| ModelFault::malformed("its BibTeX names no DOI"))?;
    let url = format!("https://doi.org/{id}");
    let venue = ["journal", "booktitle", "publisher"]
        .iter()
        .find_map(|name| field(name));
    let mut work = Work {
        venue: venue.map(|it| cut(it, 200)),
        kinds: vec![kind],
        ..Work::default()
    };
    let people = field("author").unwrap_or_default().split(" and ");
    work.authors = people.filter_map(person).take(50).collect();
    let name = field("title").or(field("booktitle")).unwrap_or(&url);
    let mut hit = Hit::new("doi", &url, &title(name), "");
    let number = |name: &str| field(name)?.parse().ok();
    hit.date = parts(
        number("year"),
        field("month").and_then(month),
        number("day"),
    );
    work.retracted = super::answer::taken_back(&hit.title, &[], "the publisher");
    work.doi = Some(id);
    hit.work = work;
    Ok(hit)
}

/// `Last, First` as people say it.
fn person(text: &str) -> Option<String> {
    let text = text.trim();
    let said = match text.split_once(',') {
        Some((last, first)) => format!("{} {}", first.trim(), last.trim()),
        None => text.to_owned(),
    };
    (!text.is_empty()).then(|| cut(said.trim(), 100))
}

/// `name = {value}`, `name = "value"`, `name = value`, parted by commas.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while found.len() < FIELDS {
        let Some((name, behind)) = rest.split_once('=') else {
            break;
        };
        let behind = behind.trim_start();
        let (value, after) = match behind.as_bytes().first() {
            Some(b'{') => braced(behind),
            Some(b'"') => behind[1..].split_once('"').unwrap_or((&behind[1..], "")),
            _ => {
                let end = behind.find([',', '}']).unwrap_or(behind.len());
                behind.split_at(end)
            }
        };
        let name = name.trim_matches(|it: char| it == ',' || it.is_whitespace());
        found.push((name.to_owned(), bare(value)));
        rest = after;
    }
    found
}

/// What stands between a brace and its partner, and what follows.
fn braced(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    for (at, it) in text.bytes().enumerate() {
        match it {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return (&text[1..at], &text[at + 1..]),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    (text.get(1..).unwrap_or_default(), "")
}

/// A value without braces, the backslash before signs, and markup.
fn bare(value: &str) -> String {
    let mut value = value;
    if value.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|it| value.is_char_boundary(*it));
        value = &value[..end.unwrap_or(0)];
    }
    let value = value.replace("{\\textquotesingle}", "'").replace("--", "–");
    let kept: String = value
        .chars()
        .filter(|it| !matches!(it, '{' | '}'))
        .collect();
    let kept = ["&", "%", "_", "#", "$"]
        .iter()
        .fold(kept, |text, it| text.replace(&format!("\\{it}"), it));
    plain(&kept, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_work() {
        let text = " @article{Quill_2024, title={Cork {\\&} oak, a {S}tudy}, volume={6}, DOI={10.1000/ABC}, journal=\"J Cork\",\n\
             author={Quill, Anna and Oak, B.}, year={2024}, month=may }\n";
        let hit = work(text).unwrap();
        assert_eq!(hit.title, "Cork & oak, a Study");
        assert_eq!(hit.work.doi.as_deref(), Some("10.1000/abc"));
        assert_eq!(hit.work.authors, ["Anna Quill", "B. Oak"]);
        assert_eq!(hit.date.as_deref(), Some("2024-05-01"));
        assert_eq!(hit.work.venue.as_deref(), Some("J Cork"));
    }

    #[test]
    fn what_is_torn_is_a_fault_or_less() {
        for text in [
            "",
            "@",
            "@article",
            "@article{",
            "@article{x",
            "@article{x,",
            "Resource not found.",
            "@a{x, doi={",
        ] {
            assert!(work(text).is_err(), "{text}");
        }
        let torn = work("@article{x, doi={10.1000/a}, title={Cork {fl").unwrap();
        assert_eq!(torn.title, "Cork fl");
        let long = format!(
            "@article{{x, doi={{10.1000/a}}, title={{{}",
            "ä{".repeat(500_000)
        );
        assert!(work(&long).is_ok());
    }
}
