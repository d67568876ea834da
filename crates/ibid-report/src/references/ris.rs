//! RIS, which every reference manager reads. A record is a list of lines `TY  - value`, so a value is one line.
use std::fmt::Write as _;

use super::{PublicationKind, ReferenceEntry};

/// All entries, in order. Lines end in CR LF, as the format requires.
pub fn write(all: &[ReferenceEntry]) -> String {
    all.iter().map(entry).collect()
}

fn entry(it: &ReferenceEntry) -> String {
    let mut out = String::new();
    let mut line = |tag: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(out, "{tag}  - {value}\r\n");
        }
    };
    let shown = |text: &Option<String>| text.clone().unwrap_or_default();
    line("TY", kind(it.kind));
    line("ID", &it.key);
    line("TI", &it.title);
    for author in &it.authors {
        line("AU", &author.family_first());
    }
    line("T2", &shown(&it.container));
    if let Some(day) = it.issued {
        line("PY", &format!("{:04}", day.year));
        line("DA", &day.join("/"));
    }
    line("DO", &shown(&it.doi));
    line("AN", &shown(&it.pmid));
    line("C2", &shown(&it.pmcid));
    line("UR", &shown(&it.url));
    line("Y2", &it.accessed.map_or_else(String::new, |it| it.join("/")));
    if let Some(id) = &it.pmid {
        line("N1", &format!("PMID: {id}"));
    }
    if let Some(id) = &it.arxiv {
        line("N1", &format!("arXiv: {id}"));
    }
    if let Some(file) = &it.file {
        line("N1", &format!("Read from: {file}"));
    }
    if let Some(why) = &it.retracted {
        line("N1", &format!("Retracted: {why}"));
    }
    line("N1", &format!("Source [{}] of the report", it.n));
    out.push_str("ER  - \r\n\r\n");
    out
}

fn kind(it: PublicationKind) -> &'static str {
    match it {
        PublicationKind::Article => "JOUR",
        PublicationKind::Preprint => "UNPB",
        PublicationKind::Web => "ELEC",
        PublicationKind::News => "NEWS",
        PublicationKind::Book => "BOOK",
        PublicationKind::Chapter => "CHAP",
        PublicationKind::Conference => "CPAPER",
        PublicationKind::Thesis => "THES",
        PublicationKind::Report => "RPRT",
        PublicationKind::Dataset => "DATA",
        PublicationKind::Local => "GEN",
    }
}
