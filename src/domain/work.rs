//! One work, however many addresses it has: ids of the scholarly record, and addresses written one way.
use std::net::IpAddr;

use psl::Psl as _;
use serde::{Deserialize, Serialize};
use url::Url;

/// What is known of a work besides its words: who made it, where it appeared, and the ids it is known by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Digital object identifier in lower case, without a resolver: `10.1000/182`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doi: Option<String>,
    /// PubMed id, digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmid: Option<String>,
    /// PubMed Central id, `PMC` and digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmcid: Option<String>,
    /// arXiv id without its version: `2301.01234`, `hep-th/9901001`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arxiv: Option<String>,
    /// Who wrote it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// Where it appeared: a journal, a conference, a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub venue: Option<String>,
    /// What it is, in the words of the record: `Review`, `Randomized Controlled Trial`, `preprint`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Works that cite it, as counted by whoever told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cited_by: Option<u32>,
    /// Why it should not be relied on: retracted, or an expression of concern; in words for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retracted: Option<String>,
    /// Addresses of its open full text, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub full_text: Vec<String>,
}

impl Work {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Work::default()
    }

    /// The ids that an address gives away: `https://doi.org/10.1000/182`, `https://arxiv.org/abs/2301.01234v2`.
    pub fn of_url(url: &str) -> Work {
        let mut work = Work::default();
        let Ok(parsed) = Url::parse(url) else {
            return work;
        };
        let host = parsed.host_str().unwrap_or_default();
        let host = host.strip_prefix("www.").unwrap_or(host);
        let path = parsed.path().trim_matches('/');
        let mut parts = path.split('/');
        match host {
            "doi.org" | "dx.doi.org" => work.doi = doi(path),
            "pubmed.ncbi.nlm.nih.gov" => work.pmid = pmid(parts.next().unwrap_or_default()),
            "pmc.ncbi.nlm.nih.gov" => work.pmcid = parts.nth(1).and_then(pmcid),
            "ncbi.nlm.nih.gov" => match (parts.next(), parts.next(), parts.next()) {
                (Some("pmc"), Some("articles"), Some(id)) => work.pmcid = pmcid(id),
                (Some("pubmed"), Some(id), _) => work.pmid = pmid(id),
                _ => {}
            },
            "europepmc.org" => {
                let named = parts.next_back().unwrap_or_default();
                work.pmcid = pmcid(named);
                if path.contains("/med/") || path.contains("/MED/") {
                    work.pmid = pmid(named);
                }
            }
            "arxiv.org" | "export.arxiv.org" => {
                if let Some(("abs" | "pdf" | "html", id)) = path.split_once('/') {
                    work.arxiv = arxiv(id.trim_end_matches(".pdf"));
                }
            }
            // Publishers put the DOI into the path. Of anybody else it would be a stranger's word for being that work.
            _ if is_publisher(host) => {
                work.doi = path.find("10.").and_then(|at| doi_in_path(&path[at..]));
            }
            _ => {}
        }
        if work
            .doi
            .as_deref()
            .is_some_and(|it| it.starts_with("10.48550/arxiv."))
        {
            work.arxiv = work.doi.as_deref().and_then(|it| arxiv(&it[15..]));
        }
        work
    }

    /// The name that this work goes by among others: its first id, DOI before PMID before PMCID before arXiv.
    pub fn key(&self) -> Option<String> {
        self.keys().into_iter().next()
    }

    /// Every name it goes by.
    pub fn keys(&self) -> Vec<String> {
        let named = |kind: &str, id: &Option<String>| id.as_ref().map(|it| format!("{kind}:{it}"));
        [
            named("doi", &self.doi),
            named("pmid", &self.pmid),
            named("pmcid", &self.pmcid),
            named("arxiv", &self.arxiv),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether an id of the same kind differs: then they are not one work, whatever else they share.
    pub fn contradicts(&self, other: &Work) -> bool {
        let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        // A preprint and its journal version have a DOI each; only ids of one record must agree.
        differ(&self.pmid, &other.pmid) || differ(&self.pmcid, &other.pmcid)
    }

    /// Takes over what `other`, a record of the same work, knows and this one does not.
    pub fn learn(&mut self, other: &Work) {
        let take = |mine: &mut Option<String>, theirs: &Option<String>| {
            if mine.is_none() {
                mine.clone_from(theirs);
            }
        };
        // The DOI of a journal is worth more than that of a preprint server.
        if self.is_preprint() && !other.is_preprint() && other.doi.is_some() {
            self.doi.clone_from(&other.doi);
            self.venue = other.venue.clone().or(self.venue.take());
            self.kinds.clone_from(&other.kinds);
        }
        take(&mut self.doi, &other.doi);
        take(&mut self.pmid, &other.pmid);
        take(&mut self.pmcid, &other.pmcid);
        take(&mut self.arxiv, &other.arxiv);
        take(&mut self.venue, &other.venue);
        take(&mut self.retracted, &other.retracted);
        if self.authors.len() < other.authors.len() {
            self.authors.clone_from(&other.authors);
        }
        if self.kinds.is_empty() {
            self.kinds.clone_from(&other.kinds);
        }
        self.cited_by = self.cited_by.max(other.cited_by);
        for it in &other.full_text {
            if !self.full_text.contains(it) {
                self.full_text.push(it.clone());
            }
        }
    }

    /// Whether it appeared without review by a journal, as far as the record says.
    pub fn is_preprint(&self) -> bool {
        let servers = [
            "10.48550/",
            "10.1101/",
            "10.21203/",
            "10.20944/",
            "10.2139/",
        ];
        let doi = self.doi.as_deref().unwrap_or_default();
        let named = |it: &String| {
            it.eq_ignore_ascii_case("preprint") || it.eq_ignore_ascii_case("posted-content")
        };
        servers.iter().any(|it| doi.starts_with(it))
            || self.kinds.iter().any(named)
            || (self.doi.is_none() && self.pmid.is_none() && self.arxiv.is_some())
    }
}

/// Registrable domains of publishers and archives whose addresses hold the DOI of the work that stands there.
#[rustfmt::skip]
const PUBLISHERS: &[&str] = &[
    "acm.org", "acs.org", "ahajournals.org", "aip.org", "aps.org", "annualreviews.org", "apa.org", "asce.org",
    "ascopubs.org", "asm.org", "asme.org", "atsjournals.org", "bioone.org", "biorxiv.org", "brill.com", "cell.com",
    "degruyter.com", "degruyterbrill.com", "emerald.com", "epa.gov", "europepmc.org", "frontiersin.org", "ieee.org",
    "informs.org", "iop.org", "jamanetwork.com", "karger.com", "liebertpub.com", "medrxiv.org", "mitpressjournals.org",
    "mit.edu", "mdpi.com", "nejm.org", "oup.com", "peerj.com", "physiology.org", "plos.org", "pnas.org", "royalsocietypublishing.org",
    "rsc.org", "sagepub.com", "science.org", "sciencemag.org", "semanticscholar.org", "siam.org", "springer.com",
    "springernature.com", "tandfonline.com", "thelancet.com", "thieme.com", "thieme-connect.com", "thieme-connect.de",
    "wiley.com", "worldscientific.com", "zenodo.org",
];

fn is_publisher(host: &str) -> bool {
    registrable_of(host).is_some_and(|it| PUBLISHERS.contains(&it.as_str()))
}

/// The registrable domain of an http(s) URL: `www.bbc.co.uk` is `bbc.co.uk`. An IP address stands for itself.
pub fn registrable_domain(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?;
    // An address has no name to register.
    if !matches!(url.host(), Some(url::Host::Domain(_))) {
        return Some(host.to_owned());
    }
    Some(registrable_of(host).unwrap_or_else(|| host.to_owned()))
}

fn registrable_of(host: &str) -> Option<String> {
    let domain = psl::List.domain(host.as_bytes())?;
    std::str::from_utf8(domain.as_bytes())
        .ok()
        .map(str::to_owned)
}

/// Whether the name that a page gives to its site is one that the host of `url` bears out: its letters hold those of the
/// name that is registered, or the other way round (`BBC News` on `bbc.co.uk`, `Verge` on `theverge.com`).
pub fn host_of_site(url: &str, site: &str) -> bool {
    let letters = |it: &str| -> String {
        let kept = it.chars().filter(|it| it.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let Some(domain) = registrable_domain(url) else {
        return false;
    };
    // An address has no name to bear anything out.
    let Some(domain) = registrable_of(&domain).filter(|_| domain.parse::<IpAddr>().is_err()) else {
        return false;
    };
    let own = letters(domain.split('.').next().unwrap_or_default());
    let site = letters(site);
    // Two letters are in every name.
    own.len() > 2 && (site.contains(&own) || site.len() > 3 && own.contains(&site))
}

/// A DOI as it stands in `text`, in lower case and without a resolver; `None` where none stands.
pub fn doi(text: &str) -> Option<String> {
    let text = text.trim();
    let at = text.find("10.")?;
    let text = percent(&text[at..]);
    let (registrant, rest) = text[3..].split_once('/')?;
    let number = registrant.split('.').next().unwrap_or_default();
    let digits =
        number.len() >= 4 && number.len() <= 9 && number.bytes().all(|it| it.is_ascii_digit());
    let end = rest
        .find(|it: char| {
            it.is_whitespace() || matches!(it, '"' | '<' | '>' | '{' | '}' | '|' | '^' | '`' | '\\')
        })
        .unwrap_or(rest.len());
    let rest = rest[..end].trim_end_matches(['.', ',', ';', ':', ')', ']', '\'']);
    (digits && !rest.is_empty()).then(|| format!("10.{registrant}/{rest}").to_lowercase())
}

/// A DOI in the path of a publisher's address, without the words that follow it there.
fn doi_in_path(path: &str) -> Option<String> {
    let found = doi(path)?;
    let tails = [
        "/full",
        "/abstract",
        "/pdf",
        "/epdf",
        "/meta",
        "/fulltext",
        "/pdfdirect",
        ".full",
        ".pdf",
        ".abstract",
    ];
    let mut kept = found.as_str();
    while let Some(shorter) = tails.iter().find_map(|it| kept.strip_suffix(it)) {
        kept = shorter;
    }
    // The part behind the registrant may not be cut away whole.
    kept.split_once('/').filter(|it| !it.1.is_empty())?;
    Some(kept.to_owned())
}

/// `%2F` and its like, as they stand in addresses.
fn percent(text: &str) -> String {
    let with_blank = text.replace('+', "%2B");
    match url::form_urlencoded::parse(with_blank.as_bytes()).next() {
        // What holds `=` or `&` is cut by that reader; such an id is left as it is.
        Some((name, value)) if value.is_empty() && !text.contains(['=', '&']) => name.into_owned(),
        _ => text.to_owned(),
    }
}

/// A PubMed id: one to eight digits.
pub fn pmid(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = (1..=8).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    (digits && !text.starts_with('0')).then(|| text.to_owned())
}

/// A PubMed Central id: `PMC` and digits, without a version.
pub fn pmcid(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.strip_prefix("PMC")?.split('.').next()?;
    let sound =
        !digits.is_empty() && digits.len() <= 10 && digits.bytes().all(|it| it.is_ascii_digit());
    sound.then(|| format!("PMC{digits}"))
}

/// An arXiv id without its version: `2301.01234` or `hep-th/9901001`.
pub fn arxiv(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text
        .strip_prefix("arXiv:")
        .or(text.strip_prefix("arxiv:"))
        .unwrap_or(text);
    let bare = match text.rfind('v') {
        Some(at)
            if at > 0
                && !text[at + 1..].is_empty()
                && text[at + 1..].bytes().all(|it| it.is_ascii_digit()) =>
        {
            &text[..at]
        }
        _ => text,
    };
    let digits = |it: &str, most: usize| {
        !it.is_empty() && it.len() <= most && it.bytes().all(|it| it.is_ascii_digit())
    };
    let new = bare.split_once('.').is_some_and(|(month, n)| {
        month.len() == 4 && digits(month, 4) && (4..=5).contains(&n.len()) && digits(n, 5)
    });
    let old = bare.split_once('/').is_some_and(|(archive, n)| {
        n.len() == 7
            && digits(n, 7)
            && !archive.is_empty()
            && archive
                .bytes()
                .all(|it| it.is_ascii_alphabetic() || matches!(it, b'-' | b'.'))
    });
    (new || old).then(|| bare.to_owned())
}

/// Parameters of addresses that say where a reader came from, and nothing of what is there.
const TRACKERS: &[&str] = &[
    "fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl",
    "ref_src", "cmpid", "ocid", "smid", "spm", "wt_mc", "xtor", "share_id",
];

/// The address as one work's is written: scheme and host in lower case, without `www.`, fragment, default port, what
/// follows readers around and a slash at the end; parameters in order. What is no web address stays as it is.
///
/// For comparing alone: what is fetched and shown is the address as it was found.
pub fn canonical(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url.trim()) else {
        return url.trim().to_owned();
    };
    if !matches!(parsed.scheme(), "http" | "https") {
        return parsed.to_string();
    }
    // A text fragment and an anchor lead to a place in the same page.
    parsed.set_fragment(None);
    let mut kept: Vec<(String, String)> = parsed
        .query_pairs()
        .filter(|(name, _)| {
            !name.starts_with("utm_") && !TRACKERS.contains(&name.to_lowercase().as_str())
        })
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    kept.sort();
    let query: String = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(&kept)
        .finish();
    let host = parsed.host_str().unwrap_or_default().trim_end_matches('.');
    let host = host.strip_prefix("www.").unwrap_or(host);
    // The mobile pages of a site have the same words.
    let host = host
        .strip_prefix("m.")
        .filter(|it| it.contains('.'))
        .unwrap_or(host);
    let host = host.replace(".m.wikipedia.org", ".wikipedia.org");
    let port = parsed.port().map(|it| format!(":{it}")).unwrap_or_default();
    let path = parsed.path().trim_end_matches('/');
    let path = path
        .strip_suffix("/index.html")
        .or(path.strip_suffix("/index.php"))
        .unwrap_or(path);
    // The copy of a page for phones; it has the same words.
    let path = path.strip_suffix("/amp").unwrap_or(path);
    let query = match query.as_str() {
        "" => String::new(),
        it => format!("?{it}"),
    };
    format!("https://{host}{port}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_out_of_addresses() {
        let of = |it| Work::of_url(it).keys();
        assert_eq!(of("https://doi.org/10.1000/ABC.1"), ["doi:10.1000/abc.1"]);
        assert_eq!(of("https://dx.doi.org/10.1002%2Fxyz"), ["doi:10.1002/xyz"]);
        assert_eq!(
            of("https://pubmed.ncbi.nlm.nih.gov/12345678/"),
            ["pmid:12345678"]
        );
        assert_eq!(
            of("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC123/"),
            ["pmcid:PMC123"]
        );
        assert_eq!(
            of("https://pmc.ncbi.nlm.nih.gov/articles/PMC9/"),
            ["pmcid:PMC9"]
        );
        assert_eq!(
            of("https://arxiv.org/pdf/2301.01234v2.pdf"),
            ["arxiv:2301.01234"]
        );
        assert_eq!(
            of("https://arxiv.org/abs/hep-th/9901001"),
            ["arxiv:hep-th/9901001"]
        );
        assert_eq!(
            of("https://doi.org/10.48550/arXiv.2301.01234"),
            ["doi:10.48550/arxiv.2301.01234", "arxiv:2301.01234"]
        );
        assert_eq!(
            of("https://onlinelibrary.wiley.com/doi/10.1002/abc.123/full"),
            ["doi:10.1002/abc.123"]
        );
        assert!(of("https://example.org/10.0/x").is_empty());
        assert!(of("https://evil.example/10.1038/nature12373").is_empty());
        assert!(of("https://wiley.com.evil.example/doi/10.1002/abc.123").is_empty());
        assert!(of("no address").is_empty());
    }

    #[test]
    fn a_site_is_called_what_its_host_bears_out() {
        assert!(host_of_site("https://www.bbc.co.uk/news", "BBC News"));
        assert!(host_of_site("https://www.theverge.com/1", "The Verge"));
        assert!(!host_of_site("https://nature.evil.example/1", "Nature"));
        assert!(!host_of_site("http://127.0.0.1:80/1", "Nature 127"));
        assert!(!host_of_site(
            "https://evil.example/1",
            "World Health Organization"
        ));
    }

    #[test]
    fn domains_are_registrable_ones() {
        assert_eq!(
            registrable_domain("https://www.bbc.co.uk/news"),
            Some("bbc.co.uk".to_owned())
        );
        assert_eq!(registrable_domain("file:///tmp/a.html"), None);
        assert_eq!(
            registrable_domain("http://192.0.2.7/a"),
            Some("192.0.2.7".to_owned())
        );
    }

    #[test]
    fn ids_that_are_none_are_refused() {
        assert_eq!(pmid("0123"), None);
        assert_eq!(pmid("123456789"), None);
        assert_eq!(pmcid("PMC"), None);
        assert_eq!(pmcid("PMC12.2"), Some("PMC12".to_owned()));
        assert_eq!(arxiv("cs/99"), None);
        assert_eq!(doi("10.12/x"), None);
        assert_eq!(
            doi("see doi:10.1234/Some-Thing."),
            Some("10.1234/some-thing".to_owned())
        );
    }

    #[test]
    fn two_ways_to_write_an_address_are_one() {
        let one = canonical("http://WWW.Example.org:80/a/?utm_source=x&b=2&a=1#:~:text=y");
        assert_eq!(one, canonical("https://example.org/a?a=1&b=2"));
        assert_ne!(one, canonical("https://example.org/a?a=1&b=3"));
        assert_eq!(
            canonical("https://en.m.wikipedia.org/wiki/Cork"),
            canonical("https://en.wikipedia.org/wiki/Cork")
        );
        assert_eq!(
            canonical("https://example.org/news/cork/amp"),
            canonical("https://example.org/news/cork")
        );
        assert_eq!(canonical("file:///a/b"), "file:///a/b");
    }

    #[test]
    fn a_record_learns_from_another_and_a_journal_outranks_a_preprint() {
        let mut preprint = Work::of_url("https://arxiv.org/abs/2301.01234");
        let journal = Work {
            doi: doi("10.1000/1"),
            venue: Some("A Journal".to_owned()),
            ..Work::default()
        };
        assert!(preprint.is_preprint());
        preprint.learn(&journal);
        assert_eq!(preprint.keys(), ["doi:10.1000/1", "arxiv:2301.01234"]);
        assert_eq!(preprint.venue.as_deref(), Some("A Journal"));
    }

    #[test]
    fn two_records_with_another_pmid_are_two_works() {
        let of = |it: &str| Work {
            pmid: pmid(it),
            ..Work::default()
        };
        assert!(of("1").contradicts(&of("2")));
        assert!(!of("1").contradicts(&Work::default()));
    }
}
