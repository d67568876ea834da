//! The sources of a report as records for reference managers: one for each number in the text.
//!
//! Every field is what the run knows and nothing is guessed to fill one: a source without an author has none.
pub mod bibtex;
pub mod csl;
mod names;
pub mod ris;
pub mod styled;

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization as _;

pub use names::Name;

use super::escape::{plain, target};
use super::markdown::file_name;
use crate::domain::{Report, Source, SourceKind, Work, work};

/// What kind of publication an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An article of a journal.
    Article,
    /// A work that no journal has reviewed yet.
    Preprint,
    /// A page of the web.
    Web,
    /// An article of a newspaper or news site.
    News,
    /// A book.
    Book,
    /// A chapter of a book.
    Chapter,
    /// A paper of a conference.
    Conference,
    /// A thesis.
    Thesis,
    /// A report of an institution.
    Report,
    /// Data.
    Dataset,
    /// A document of the person's own.
    Local,
}

/// A day, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// The year.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: Option<u8>,
    /// The day of the month, 1 to 31.
    pub day: Option<u8>,
}

impl Day {
    /// `2024`, `2024-05` or `2024-05-01`, with anything after it; `None` for anything else.
    pub fn parse(text: &str) -> Option<Day> {
        let digits = |part: Option<&str>, long: usize| -> Option<u16> {
            let part = part?;
            let sound = part.len() == long && part.bytes().all(|it| it.is_ascii_digit());
            sound.then(|| part.parse().ok())?
        };
        let mut parts = text.get(..10).unwrap_or(text).split('-');
        let year = digits(parts.next(), 4).filter(|it| *it > 0)?;
        let within =
            |it: u16, most: u16| u8::try_from(it).ok().filter(|_| (1..=most).contains(&it));
        let month = digits(parts.next(), 2).and_then(|it| within(it, 12));
        let day = digits(parts.next(), 2).and_then(|it| within(it, 31));
        Some(Day {
            year,
            month,
            day: day.filter(|_| month.is_some()),
        })
    }

    /// Its parts, the year first, joined: `2024-05-01`.
    pub fn joined(self, by: &str) -> String {
        let two = |it: Option<u8>| it.map_or_else(String::new, |it| format!("{by}{it:02}"));
        format!("{:04}{}{}", self.year, two(self.month), two(self.day))
    }
}

/// One source as reference managers know it. Its words are one line each, without control characters; each form escapes them
/// for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Its number in the text, from 1.
    pub n: usize,
    /// What it is cited by in files: `quill2024`, or `quill2024b` for the second of this name. ASCII letters and digits.
    pub key: String,
    /// What it is.
    pub kind: Kind,
    /// Its title; of one without, the name of its file or its address.
    pub title: String,
    /// Who wrote it, in order.
    pub authors: Vec<Name>,
    /// The journal, book, site or newspaper it appeared in.
    pub container: Option<String>,
    /// When it appeared.
    pub issued: Option<Day>,
    /// The day of the run, on which it was consulted; of what is on the web alone.
    pub accessed: Option<Day>,
    /// Its address on the web, percent-encoded.
    pub url: Option<String>,
    /// The name of the file it was read from, without its folder.
    pub file: Option<String>,
    /// Digital object identifier.
    pub doi: Option<String>,
    /// PubMed id.
    pub pmid: Option<String>,
    /// PubMed Central id.
    pub pmcid: Option<String>,
    /// arXiv id.
    pub arxiv: Option<String>,
    /// Why it should not be relied on, where it was withdrawn.
    pub retracted: Option<String>,
}

/// One entry for each number of the report, in order; none where the report leaves its sources out.
pub fn references(report: &Report) -> Vec<Reference> {
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let listed = report.sources.iter().filter(|_| !report.unlisted);
    let mut all: Vec<Reference> = (1..)
        .zip(listed)
        .map(|(n, it)| reference(n, it, Day::parse(&report.date)))
        .collect();
    for it in &mut all {
        let seen = known.entry(it.key.clone()).or_default();
        *seen += 1;
        if *seen > 1 {
            it.key.push_str(&suffix(*seen));
        }
    }
    all
}

/// `b` for the second, …, `z`, then `-27` and on.
fn suffix(nth: u32) -> String {
    match u8::try_from(nth) {
        Ok(nth @ 2..=26) => char::from(b'a' + nth - 1).to_string(),
        _ => format!("-{nth}"),
    }
}

fn reference(n: usize, it: &Source, asked: Option<Day>) -> Reference {
    let kind = kind(it);
    let url = target(&it.url);
    let authors = match it.work.authors.is_empty() {
        false => it.work.authors.iter().map(|it| Name::of(it)).collect(),
        true => it.author.as_deref().map(Name::several).unwrap_or_default(),
    };
    let authors: Vec<Name> = authors.into_iter().filter(|it| !it.is_empty()).collect();
    let issued = it.date.as_deref().and_then(Day::parse);
    let filled = |it: &Option<String>| it.as_deref().map(plain).filter(|it| !it.is_empty());
    let title = match plain(&it.title) {
        title if title.is_empty() => plain(&file_name(it)),
        title => title,
    };
    let is_file = url.is_none() || it.file.is_some();
    let named = |it: &Source| {
        let path = it.file.as_deref().map(super::markdown::local);
        let path = path.unwrap_or_else(|| file_name(it));
        plain(path.rsplit('/').next().unwrap_or_default())
    };
    let Work {
        doi,
        pmid,
        pmcid,
        arxiv,
        ..
    } = &it.work;
    let sound = |id: &Option<String>, by: fn(&str) -> Option<String>| id.as_deref().and_then(by);
    Reference {
        n,
        key: key(authors.first(), issued),
        kind,
        title,
        container: filled(&it.work.venue).or_else(|| filled(&it.site)),
        issued,
        accessed: asked.filter(|_| url.is_some() && it.file.is_none()),
        file: is_file.then(|| named(it)).filter(|it| !it.is_empty()),
        url,
        doi: sound(doi, work::doi),
        pmid: sound(pmid, work::pmid),
        pmcid: sound(pmcid, work::pmcid),
        arxiv: sound(arxiv, work::arxiv),
        retracted: filled(&it.work.retracted),
        authors,
    }
}

/// What the record says it is, else what can be told from where it was found.
fn kind(it: &Source) -> Kind {
    let work = &it.work;
    if work.is_preprint() {
        return Kind::Preprint;
    }
    let said: Vec<String> = work
        .kinds
        .iter()
        .map(|it| it.to_lowercase().replace('-', " "))
        .collect();
    let is = |words: &[&str]| said.iter().any(|it| words.contains(&it.as_str()));
    let by_record = [
        (
            Kind::Chapter,
            &[
                "book chapter",
                "book section",
                "book part",
                "reference entry",
                "chapter",
            ][..],
        ),
        (
            Kind::Book,
            &["book", "monograph", "edited book", "reference book"],
        ),
        (
            Kind::Conference,
            &[
                "proceedings article",
                "conference paper",
                "conference",
                "conference proceedings",
            ],
        ),
        (
            Kind::Thesis,
            &["dissertation", "thesis", "academic dissertation"],
        ),
        (
            Kind::Report,
            &["report", "technical report", "report component"],
        ),
        (Kind::Dataset, &["dataset"]),
        (
            Kind::Article,
            &["journal article", "article", "review", "journalarticle"],
        ),
    ];
    if let Some((kind, _)) = by_record.into_iter().find(|it| is(it.1)) {
        return kind;
    }
    let in_record = work.doi.is_some() || work.pmid.is_some() || work.pmcid.is_some();
    match it.kind {
        SourceKind::Pubmed => Kind::Article,
        _ if work.venue.is_some() && in_record => Kind::Article,
        SourceKind::Scholar if work.venue.is_some() => Kind::Article,
        SourceKind::Local => Kind::Local,
        SourceKind::News => Kind::News,
        SourceKind::Web | SourceKind::Scholar => Kind::Web,
    }
}

/// First author's family name and year, in ASCII letters and digits.
fn key(author: Option<&Name>, issued: Option<Day>) -> String {
    let family = author.map_or("", Name::family);
    let family: String = family
        .nfkd()
        .filter(char::is_ascii_alphanumeric)
        .take(24)
        .collect();
    let family = match family.is_empty() || family.starts_with(|it: char| it.is_ascii_digit()) {
        true => format!("source{family}"),
        false => family.to_ascii_lowercase(),
    };
    issued.map_or(family.clone(), |it| format!("{family}{:04}", it.year))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_far_as_it_is_told() {
        let day = |text| Day::parse(text).map(|it| it.joined("-"));
        assert_eq!(day("2024-05-01").as_deref(), Some("2024-05-01"));
        assert_eq!(day("2024-05-01T10:00:00Z").as_deref(), Some("2024-05-01"));
        assert_eq!(day("2024-05").as_deref(), Some("2024-05"));
        assert_eq!(day("2024").as_deref(), Some("2024"));
        assert_eq!(day("2024-13-01").as_deref(), Some("2024"));
        for none in ["", "0000", "May 2024", "24-05-01", "2024\nER  - "] {
            assert_eq!(day(none), None, "{none}");
        }
    }

    #[test]
    fn keys_are_plain_and_each_its_own() {
        let of = |name| key(Some(&Name::of(name)), Day::parse("2024"));
        assert_eq!(of("Ana Núñez"), "nunez2024");
        assert_eq!(of("}},@misc{x"), "miscx2024");
        assert_eq!(of("陳"), "source2024");
        assert_eq!(key(None, None), "source");
        assert_eq!(
            (suffix(2), suffix(26), suffix(27)),
            ("b".into(), "z".into(), "-27".into())
        );
    }
}
