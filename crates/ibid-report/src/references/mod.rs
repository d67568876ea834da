//! The sources of a report as records for reference managers, one for each number in the text.
//!
//! No field is guessed: a source without an author has none.
mod author_names;
pub mod bibliography;
pub mod bibtex;
pub mod csl;
pub mod ris;

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization as _;

pub use author_names::AuthorName;

use super::escape::{plain_line, web_url};
use super::phrases::source_file_name;
use ibid_core::domain::{Report, Source, SourceKind, Work, work};

/// The kind of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationKind {
    /// An article of a journal.
    Article,
    /// A preprint.
    Preprint,
    /// A web page.
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
    /// A local document.
    Local,
}

/// A date, possibly without day or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialDate {
    /// The year.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: Option<u8>,
    /// The day of the month, 1 to 31.
    pub day: Option<u8>,
}

impl PartialDate {
    /// Parses `2024`, `2024-05` or `2024-05-01`, with anything after it.
    pub fn parse(text: &str) -> Option<PartialDate> {
        let digits = |part: Option<&str>, long: usize| -> Option<u16> {
            let part = part?;
            let sound = part.len() == long && part.bytes().all(|byte| byte.is_ascii_digit());
            sound.then(|| part.parse().ok())?
        };
        let mut parts = text.get(..10).unwrap_or(text).split('-');
        let year = digits(parts.next(), 4).filter(|digit| *digit > 0)?;
        let within =
            |it: u16, most: u16| u8::try_from(it).ok().filter(|_| (1..=most).contains(&it));
        let month = digits(parts.next(), 2).and_then(|digits| within(digits, 12));
        let day = digits(parts.next(), 2).and_then(|digits| within(digits, 31));
        Some(PartialDate { year, month, day: day.filter(|_| month.is_some()) })
    }

    /// The known parts, the year first: `2024-05-01`.
    pub fn join(self, by: &str) -> String {
        let two = |byte: Option<u8>| byte.map_or_else(String::new, |it| format!("{by}{it:02}"));
        format!("{:04}{}{}", self.year, two(self.month), two(self.day))
    }
}

/// One source for reference managers. Each text is one line without control characters. Each format escapes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceEntry {
    /// The number in the text, from 1.
    pub n: usize,
    /// The citation key: `quill2024`, or `quill2024b` for the second one. ASCII letters and digits.
    pub key: String,
    /// The kind.
    pub kind: PublicationKind,
    /// The title; without one, the file name or the URL.
    pub title: String,
    /// The authors, in order.
    pub authors: Vec<AuthorName>,
    /// The journal, book, site or newspaper.
    pub container: Option<String>,
    /// The date of publication.
    pub issued: Option<PartialDate>,
    /// The date of access, for web pages only: the day of the run.
    pub accessed: Option<PartialDate>,
    /// The URL, percent-encoded.
    pub url: Option<String>,
    /// The file name, without its directory.
    pub file: Option<String>,
    /// Digital object identifier.
    pub doi: Option<String>,
    /// PubMed id.
    pub pmid: Option<String>,
    /// PubMed Central id.
    pub pmcid: Option<String>,
    /// arXiv id.
    pub arxiv: Option<String>,
    /// Why it was retracted, if it was.
    pub retracted: Option<String>,
}

/// One entry for each number of the report, in order; none when the report leaves out its sources.
pub fn references(report: &Report) -> Vec<ReferenceEntry> {
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let listed = report.sources.iter().filter(|_| !report.unlisted);
    let mut all: Vec<ReferenceEntry> = (1..)
        .zip(listed)
        .map(|(n, it)| reference(n, it, PartialDate::parse(&report.date)))
        .collect();
    for it in &mut all {
        let seen = known.entry(it.key.clone()).or_default();
        *seen += 1;
        if *seen > 1 {
            it.key.push_str(&key_suffix(*seen));
        }
    }
    all
}

/// `b` for the second, …, `z`, then `-27` and on.
fn key_suffix(nth: u32) -> String {
    match u8::try_from(nth) {
        Ok(nth @ 2..=26) => char::from(b'a' + nth - 1).to_string(),
        _ => format!("-{nth}"),
    }
}

fn reference(n: usize, it: &Source, asked: Option<PartialDate>) -> ReferenceEntry {
    let kind = kind(it);
    let url = web_url(&it.url);
    let authors = if it.work.authors.is_empty() {
        it.author.as_deref().map(AuthorName::parse_list).unwrap_or_default()
    } else {
        it.work.authors.iter().map(|author| AuthorName::parse(author)).collect()
    };
    let authors: Vec<AuthorName> =
        authors.into_iter().filter(|author| !author.is_empty()).collect();
    let issued = it.date.as_deref().and_then(PartialDate::parse);
    let filled =
        |text: &Option<String>| text.as_deref().map(plain_line).filter(|it| !it.is_empty());
    let title = match plain_line(&it.title) {
        title if title.is_empty() => plain_line(&source_file_name(it)),
        title => title,
    };
    let is_file = url.is_none() || it.file.is_some();
    let named = |source: &Source| {
        let path = source.file.as_deref().map(super::phrases::local_path);
        let path = path.unwrap_or_else(|| source_file_name(source));
        plain_line(path.rsplit('/').next().unwrap_or_default())
    };
    let Work { doi, pmid, pmcid, arxiv, .. } = &it.work;
    let sound = |id: &Option<String>, by: fn(&str) -> Option<String>| id.as_deref().and_then(by);
    ReferenceEntry {
        n,
        key: citation_key(authors.first(), issued),
        kind,
        title,
        container: filled(&it.work.venue).or_else(|| filled(&it.site)),
        issued,
        accessed: asked.filter(|_| url.is_some() && it.file.is_none()),
        file: is_file.then(|| named(it)).filter(|it| !it.is_empty()),
        url,
        doi: sound(doi, work::find_doi),
        pmid: sound(pmid, work::parse_pmid),
        pmcid: sound(pmcid, work::parse_pmcid),
        arxiv: sound(arxiv, work::parse_arxiv_id),
        retracted: filled(&it.work.retracted),
        authors,
    }
}

/// The kind that the record states, else the one of its origin.
fn kind(it: &Source) -> PublicationKind {
    let work = &it.work;
    if work.is_preprint() {
        return PublicationKind::Preprint;
    }
    let genres: Vec<String> =
        work.kinds.iter().map(|kind| kind.to_lowercase().replace('-', " ")).collect();
    let is = |words: &[&str]| genres.iter().any(|genre| words.contains(&genre.as_str()));
    let by_record = [
        (
            PublicationKind::Chapter,
            &["book chapter", "book section", "book part", "reference entry", "chapter"][..],
        ),
        (PublicationKind::Book, &["book", "monograph", "edited book", "reference book"]),
        (
            PublicationKind::Conference,
            &["proceedings article", "conference paper", "conference", "conference proceedings"],
        ),
        (PublicationKind::Thesis, &["dissertation", "thesis", "academic dissertation"]),
        (PublicationKind::Report, &["report", "technical report", "report component"]),
        (PublicationKind::Dataset, &["dataset"]),
        (PublicationKind::Article, &["journal article", "article", "review", "journalarticle"]),
    ];
    if let Some((kind, _)) = by_record.into_iter().find(|pair| is(pair.1)) {
        return kind;
    }
    let in_record = work.doi.is_some() || work.pmid.is_some() || work.pmcid.is_some();
    match it.kind {
        SourceKind::Pubmed => PublicationKind::Article,
        _ if work.venue.is_some() && in_record => PublicationKind::Article,
        SourceKind::Scholar if work.venue.is_some() => PublicationKind::Article,
        SourceKind::Local => PublicationKind::Local,
        SourceKind::News => PublicationKind::News,
        SourceKind::Web | SourceKind::Scholar => PublicationKind::Web,
    }
}

/// The first author's family name and the year, in ASCII letters and digits.
fn citation_key(author: Option<&AuthorName>, issued: Option<PartialDate>) -> String {
    let family = author.map_or("", AuthorName::family);
    let family: String = family.nfkd().filter(char::is_ascii_alphanumeric).take(24).collect();
    let family = if family.is_empty() || family.starts_with(|c: char| c.is_ascii_digit()) {
        format!("source{family}")
    } else {
        family.to_ascii_lowercase()
    };
    issued.map_or(family.clone(), |date| format!("{family}{:04}", date.year))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_far_as_it_is_told() {
        let day = |text| PartialDate::parse(text).map(|parsed| parsed.join("-"));
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
        let of = |name| citation_key(Some(&AuthorName::parse(name)), PartialDate::parse("2024"));
        assert_eq!(of("Ana Núñez"), "nunez2024");
        assert_eq!(of("}},@misc{x"), "miscx2024");
        assert_eq!(of("陳"), "source2024");
        assert_eq!(citation_key(None, None), "source");
        assert_eq!(
            (key_suffix(2), key_suffix(26), key_suffix(27)),
            ("b".into(), "z".into(), "-27".into())
        );
    }
}
