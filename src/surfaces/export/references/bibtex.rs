//! BibTeX, in a form that BibTeX and biber both take.
use std::fmt::Write as _;

use super::{Kind, Name, Reference};
use crate::surfaces::export::escape::tex;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// All entries, in order.
pub fn write(all: &[Reference]) -> String {
    let each: Vec<String> = all.iter().map(entry).collect();
    each.join("\n")
}

fn entry(it: &Reference) -> String {
    let (kind, container) = kind(it.kind);
    let mut out = format!("@{kind}{{{},\n", it.key);
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name} = {{{value}}},");
        }
    };
    let authors: Vec<String> = it.authors.iter().map(author).collect();
    field("author", &authors.join(" and "));
    // The second braces keep the letters as they are.
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
    field(
        "urldate",
        &it.accessed.map_or_else(String::new, |it| it.joined("-")),
    );
    field("note", &tex(&note(it)));
    if let Some(month) = it.issued.and_then(|it| it.month)
        && let Some(name) = MONTHS.get(usize::from(month) - 1)
    {
        let _ = writeln!(out, "  month = {name},");
    }
    out.push_str("}\n");
    out
}

fn kind(it: Kind) -> (&'static str, &'static str) {
    match it {
        Kind::Article => ("article", "journal"),
        Kind::News => ("article", "journal"),
        Kind::Book => ("book", "series"),
        Kind::Chapter => ("incollection", "booktitle"),
        Kind::Conference => ("inproceedings", "booktitle"),
        Kind::Thesis => ("phdthesis", "school"),
        Kind::Report => ("techreport", "institution"),
        Kind::Preprint | Kind::Web | Kind::Dataset | Kind::Local => ("misc", "howpublished"),
    }
}

fn note(it: &Reference) -> String {
    let mut parts = Vec::new();
    if it.kind == Kind::Preprint {
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

/// A name; one that is no person's, or that holds words that mean something between names, is kept whole by braces.
fn author(it: &Name) -> String {
    let plain = |text: &str| {
        !text.contains(',') && !text.split(' ').any(|it| it.eq_ignore_ascii_case("and"))
    };
    match it {
        Name::Person { family, given } if plain(family) && plain(given) => {
            format!("{}, {}", tex(family), tex(given))
        }
        other => format!("{{{}}}", tex(&other.sorted())),
    }
}

/// An address or an id as it stands: such fields are not read as TeX, so that braces and backslashes alone must not be in them.
fn verbatim(text: Option<&str>) -> String {
    text.unwrap_or_default()
        .chars()
        .map(|it| match it {
            '{' => "%7B".to_owned(),
            '}' => "%7D".to_owned(),
            '\\' => "%5C".to_owned(),
            it => it.to_string(),
        })
        .collect()
}
