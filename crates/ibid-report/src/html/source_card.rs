//! A source card: the work, its link, its trust score, and its record for reference managers.
use super::source_text::{display_title, source};
use crate::escape::{single_line, web_url};
use crate::phrases::{id_list, local_path, source_file_name, source_kind_label, source_note};
use ibid_core::domain::{Claim, Report, Source, SourceKind};

/// A cited work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceCard {
    /// The number.
    pub n: usize,
    /// The title.
    pub title: String,
    /// The first letter of its site, in place of an icon that would have to be fetched.
    pub letter: String,
    /// The author.
    pub author: Option<String>,
    /// The venue and the date.
    pub about: String,
    /// The CSS class of its kind.
    pub class: &'static str,
    /// The label of its kind.
    pub kind: &'static str,
    /// The host, or the file name.
    pub host: String,
    /// The URL of a web page.
    pub link: Option<String>,
    /// The file that it was read from, if it also has a URL.
    pub file: Option<String>,
    /// The ids.
    pub ids: String,
    /// The trust score, in percent.
    pub trust: Option<u32>,
    /// The number of sentences that cite it.
    pub used: usize,
    /// A note: a newer edition was read, or it was retracted.
    pub note: Option<String>,
    /// The record for reference managers, as an OpenURL context object.
    pub coins: String,
}

/// The CSS class of the kind of a source.
fn kind_class(it: &Source) -> &'static str {
    match it.kind {
        SourceKind::Web => "web",
        SourceKind::Scholar if it.is_unlisted_paper() => "web",
        SourceKind::Pubmed => "pubmed",
        SourceKind::Scholar => "scholar",
        SourceKind::News => "news",
        SourceKind::Local => "local",
    }
}

/// The venue and the date of a work.
pub(super) fn venue_and_date(it: &Source) -> String {
    let parts: Vec<String> = [it.work.venue.as_ref().or(it.site.as_ref()), it.date.as_ref()]
        .into_iter()
        .flatten()
        .map(|it| single_line(it))
        .filter(|it| !it.is_empty())
        .collect();
    parts.join(", ")
}

/// The file name in a URL, without its directory, which is private.
pub fn url_file_name(url: &str) -> String {
    let path = local_path(url);
    let name = path.rsplit(['/', '\\']).find(|part| !part.is_empty());
    single_line(name.unwrap_or(&path))
}

impl SourceCard {
    /// The card of the `n`-th work, from 1.
    pub fn from_report(report: &Report, n: usize) -> Option<SourceCard> {
        let it = source(report, u32::try_from(n).ok()?)?;
        let (class, word) = (kind_class(it), source_kind_label(it));
        let link = web_url(&it.url);
        let host = match &link {
            Some(url) => url::Url::parse(url)
                .ok()
                .and_then(|parsed| parsed.host_str().map(str::to_owned))
                .unwrap_or_default(),
            None => source_file_name(it),
        };
        let host = single_line(&host);
        let notes: Vec<String> = [
            source_note(report, it),
            it.work.retracted.as_deref().map(|it| format!("retracted: {}", single_line(it))),
        ]
        .into_iter()
        .flatten()
        .collect();
        let bare = host.strip_prefix("www.").unwrap_or(&host);
        Some(SourceCard {
            n,
            title: display_title(it),
            letter: bare
                .chars()
                .find(|c| c.is_alphanumeric())
                .map_or_else(|| "·".to_owned(), |it| it.to_uppercase().to_string()),
            author: it.author.as_deref().map(single_line).filter(|it| !it.is_empty()),
            about: venue_and_date(it),
            class,
            kind: word,
            file: it.file.as_deref().filter(|_| link.is_some()).map(url_file_name),
            host,
            link,
            ids: single_line(&id_list(it)),
            trust: it
                .trust
                .as_ref()
                .map(|trust| (trust.score.clamp(0.0, 1.0) * 100.0).round() as u32),
            used: citing_sentences(report, n),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            coins: coins_metadata(it),
        })
    }
}

/// How many sentences cite the work.
fn citing_sentences(report: &Report, n: usize) -> usize {
    let rests = |claim: &&Claim| claim.citations().iter().any(|citation| citation.n as usize == n);
    report.claims().filter(rests).count()
}

/// The work as an OpenURL context object (Z39.88-2004). Reference managers look for it in the title of a `span` of class `Z3988`. Source:
/// <https://en.wikipedia.org/wiki/COinS>.
fn coins_metadata(it: &Source) -> String {
    let scholarly =
        matches!(it.kind, SourceKind::Pubmed | SourceKind::Scholar) || it.work.doi.is_some();
    let mut out = url::form_urlencoded::Serializer::new(String::new());
    out.append_pair("ctx_ver", "Z39.88-2004");
    if scholarly {
        out.append_pair("rft_val_fmt", "info:ofi/fmt:kev:mtx:journal");
        out.append_pair("rft.genre", "article");
        out.append_pair("rft.atitle", &display_title(it));
        if let Some(venue) = it.work.venue.as_ref().or(it.site.as_ref()) {
            out.append_pair("rft.jtitle", &single_line(venue));
        }
    } else {
        out.append_pair("rft_val_fmt", "info:ofi/fmt:kev:mtx:dc");
        out.append_pair("rft.type", "webpage");
        out.append_pair("rft.title", &display_title(it));
        if let Some(site) = &it.site {
            out.append_pair("rft.source", &single_line(site));
        }
    }
    let author = if scholarly { "rft.au" } else { "rft.creator" };
    if it.work.authors.is_empty() {
        if let Some(one) = &it.author {
            out.append_pair(author, &single_line(one));
        }
    } else {
        for one in &it.work.authors {
            out.append_pair(author, &single_line(one));
        }
    }
    if let Some(date) = &it.date {
        out.append_pair("rft.date", &single_line(date));
    }
    if let Some(doi) = &it.work.doi {
        out.append_pair("rft_id", &format!("info:doi/{doi}"));
    }
    if let Some(pmid) = &it.work.pmid {
        out.append_pair("rft_id", &format!("info:pmid/{pmid}"));
    }
    if let Some(url) = web_url(&it.url) {
        out.append_pair(if scholarly { "rft_id" } else { "rft.identifier" }, &url);
    }
    out.finish()
}
