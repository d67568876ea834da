//! BibTeX that both BibTeX and biber accept.
use std::fmt::Write as _;

use super::{AuthorName, PublicationKind, ReferenceEntry};
use crate::escape::tex;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// All entries, in order.
pub fn write(all: &[ReferenceEntry]) -> String {
    let each: Vec<String> = all.iter().map(entry).collect();
    each.join("\n")
}

fn entry(it: &ReferenceEntry) -> String {
    let (kind, container) = kind(it.kind);
    let mut out = format!("@{kind}{{{},\n", it.key);
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name} = {{{value}}},");
        }
    };
    let authors: Vec<String> = it.authors.iter().map(author).collect();
    field("author", &authors.join(" and "));
    // The second braces keep the capital letters.
    field("title", &format!("{{{}}}", tex(&it.title)));
    if let Some(name) = &it.container {
        field(container, &tex(name));
    }
    if let Some(day) = it.issued {
        field("year", &format!("{:04}", day.year));
    }
    field("doi", &verbatim(it.doi.as_deref()));
    field("pmid", it.pmid.as_deref().unwrap_or_default());
    field("pmcid", it.pmcid.as_deref().unwrap_or_default());
    if let Some(id) = &it.arxiv {
        field("eprint", id);
        field("archiveprefix", "arXiv");
    }
    field("url", &verbatim(it.url.as_deref()));
    field("urldate", &it.accessed.map_or_else(String::new, |it| it.join("-")));
    field("note", &tex(&note(it)));
    if let Some(month) = it.issued.and_then(|date| date.month)
        && let Some(name) = MONTHS.get(usize::from(month) - 1)
    {
        let _ = writeln!(out, "  month = {name},");
    }
    out.push_str("}\n");
    out
}

fn kind(it: PublicationKind) -> (&'static str, &'static str) {
    match it {
        PublicationKind::Article => ("article", "journal"),
        PublicationKind::News => ("article", "journal"),
        PublicationKind::Book => ("book", "series"),
        PublicationKind::Chapter => ("incollection", "booktitle"),
        PublicationKind::Conference => ("inproceedings", "booktitle"),
        PublicationKind::Thesis => ("phdthesis", "school"),
        PublicationKind::Report => ("techreport", "institution"),
        PublicationKind::Preprint
        | PublicationKind::Web
        | PublicationKind::Dataset
        | PublicationKind::Local => ("misc", "howpublished"),
    }
}

fn note(it: &ReferenceEntry) -> String {
    let mut parts = Vec::new();
    if it.kind == PublicationKind::Preprint {
        parts.push("Preprint".to_owned());
    }
    if let Some(why) = &it.retracted {
        parts.push(format!("Retracted: {why}"));
    }
    if let Some(file) = &it.file {
        parts.push(format!("Read from {file}"));
    }
    parts.join(". ")
}

/// A name. Braces protect an institution, and a name with words that have a meaning in lists of names.
fn author(it: &AuthorName) -> String {
    let plain = |text: &str| {
        !text.contains(',') && !text.split(' ').any(|part| part.eq_ignore_ascii_case("and"))
    };
    match it {
        AuthorName::Person { family, given } if plain(family) && plain(given) => {
            format!("{}, {}", tex(family), tex(given))
        }
        other => format!("{{{}}}", tex(&other.family_first())),
    }
}

/// A URL or an id. Such fields are not parsed as TeX, so only braces and backslashes are percent-encoded.
fn verbatim(text: Option<&str>) -> String {
    text.unwrap_or_default()
        .chars()
        .map(|c| match c {
            '{' => "%7B".to_owned(),
            '}' => "%7D".to_owned(),
            '\\' => "%5C".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
