//! A work as a card: what it is, where it is, how far it can be relied on, and its record for reference managers.
use super::{named, source};
use crate::domain::{Claim, Report, Source, SourceKind};
use crate::surfaces::export::escape::{line, target};
use crate::surfaces::export::markdown::{file_name, ids, local, replaced};

/// A work that is cited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its number.
    pub n: usize,
    /// Its title.
    pub title: String,
    /// The first letter of its site, in place of a picture that would have to be fetched.
    pub letter: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// Where and when it appeared.
    pub about: String,
    /// What kind it is, as a class.
    pub class: &'static str,
    /// The same as a word.
    pub kind: &'static str,
    /// Its host, or the name of its file.
    pub host: String,
    /// Its address, where it is one of the web.
    pub link: Option<String>,
    /// Where it was read, where that is another place than its address.
    pub file: Option<String>,
    /// Its ids.
    pub ids: String,
    /// How far it can be relied on, in hundredths.
    pub trust: Option<u32>,
    /// How many sentences rest on it.
    pub used: usize,
    /// What else is to be said: that a newer edition was read, that it was taken back.
    pub note: Option<String>,
    /// Its record for reference managers, as a context object.
    pub coins: String,
}

/// The class and the word of a kind of source.
pub(super) fn kind(it: SourceKind) -> (&'static str, &'static str) {
    match it {
        SourceKind::Web => ("web", "web page"),
        SourceKind::Pubmed => ("pubmed", "PubMed"),
        SourceKind::Scholar => ("scholar", "scholarly work"),
        SourceKind::News => ("news", "news"),
        SourceKind::Local => ("local", "local document"),
    }
}

/// The word of a kind of source.
pub fn kind_of(it: SourceKind) -> &'static str {
    kind(it).1
}

/// Where and when a work appeared.
pub(super) fn about(it: &Source) -> String {
    let parts: Vec<String> = [
        it.work.venue.as_ref().or(it.site.as_ref()),
        it.date.as_ref(),
    ]
    .into_iter()
    .flatten()
    .map(|it| line(it))
    .filter(|it| !it.is_empty())
    .collect();
    parts.join(", ")
}

/// The name of the file at this address: where on the machine it lies is nobody's business here.
pub fn leaf(url: &str) -> String {
    let path = local(url);
    let name = path.rsplit(['/', '\\']).find(|it| !it.is_empty());
    line(name.unwrap_or(&path))
}

impl Card {
    /// The card of the `n`-th work, from 1.
    pub fn of(report: &Report, n: usize) -> Option<Card> {
        let it = source(report, u32::try_from(n).ok()?)?;
        let (class, word) = kind(it.kind);
        let link = target(&it.url);
        let host = match &link {
            Some(url) => url::Url::parse(url)
                .ok()
                .and_then(|it| it.host_str().map(str::to_owned))
                .unwrap_or_default(),
            None => file_name(it),
        };
        let host = line(&host);
        let newer = it.trust.as_ref().and_then(|it| it.replaced_by);
        let notes: Vec<String> = [
            newer.map(|newer| replaced(report, newer)),
            it.work
                .retracted
                .as_deref()
                .map(|it| format!("taken back: {}", line(it))),
        ]
        .into_iter()
        .flatten()
        .collect();
        let bare = host.strip_prefix("www.").unwrap_or(&host);
        Some(Card {
            n,
            title: named(it),
            letter: bare
                .chars()
                .find(|it| it.is_alphanumeric())
                .map_or_else(|| "·".to_owned(), |it| it.to_uppercase().to_string()),
            author: it.author.as_deref().map(line).filter(|it| !it.is_empty()),
            about: about(it),
            class,
            kind: word,
            file: it.file.as_deref().filter(|_| link.is_some()).map(leaf),
            host,
            link,
            ids: line(&ids(it)),
            trust: it
                .trust
                .as_ref()
                .map(|it| (it.score.clamp(0.0, 1.0) * 100.0).round() as u32),
            used: used(report, n),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            coins: coins(it),
        })
    }
}

/// How many sentences rest on the work.
fn used(report: &Report, n: usize) -> usize {
    let rests = |it: &&Claim| it.citations().iter().any(|it| it.n as usize == n);
    report.claims().filter(rests).count()
}

/// The work as an OpenURL context object (Z39.88-2004), which reference managers find on a page in the title of a
/// `span` of class `Z3988`. Source: <https://en.wikipedia.org/wiki/COinS>.
fn coins(it: &Source) -> String {
    let scholarly =
        matches!(it.kind, SourceKind::Pubmed | SourceKind::Scholar) || it.work.doi.is_some();
    let mut out = url::form_urlencoded::Serializer::new(String::new());
    out.append_pair("ctx_ver", "Z39.88-2004");
    match scholarly {
        true => {
            out.append_pair("rft_val_fmt", "info:ofi/fmt:kev:mtx:journal");
            out.append_pair("rft.genre", "article");
            out.append_pair("rft.atitle", &named(it));
            if let Some(venue) = it.work.venue.as_ref().or(it.site.as_ref()) {
                out.append_pair("rft.jtitle", &line(venue));
            }
        }
        false => {
            out.append_pair("rft_val_fmt", "info:ofi/fmt:kev:mtx:dc");
            out.append_pair("rft.type", "webpage");
            out.append_pair("rft.title", &named(it));
            if let Some(site) = &it.site {
                out.append_pair("rft.source", &line(site));
            }
        }
    }
    let author = match scholarly {
        true => "rft.au",
        false => "rft.creator",
    };
    match it.work.authors.is_empty() {
        true => {
            if let Some(one) = &it.author {
                out.append_pair(author, &line(one));
            }
        }
        false => {
            for one in &it.work.authors {
                out.append_pair(author, &line(one));
            }
        }
    }
    if let Some(date) = &it.date {
        out.append_pair("rft.date", &line(date));
    }
    if let Some(doi) = &it.work.doi {
        out.append_pair("rft_id", &format!("info:doi/{doi}"));
    }
    if let Some(pmid) = &it.work.pmid {
        out.append_pair("rft_id", &format!("info:pmid/{pmid}"));
    }
    if let Some(url) = target(&it.url) {
        out.append_pair(
            if scholarly {
                "rft_id"
            } else {
                "rft.identifier"
            },
            &url,
        );
    }
    out.finish()
}
