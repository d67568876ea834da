//! Identification of works: scholarly ids and canonical URLs.
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use psl::Psl as _;
use serde::{Deserialize, Serialize};
use url::Url;

/// Bibliographic data of a work: authors, venue and ids.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Digital object identifier in lower case, without resolver: `10.1000/182`.
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
    /// Authors, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// Venue: a journal, a conference, a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub venue: Option<String>,
    /// Publication types, as in the record: `Review`, `Randomized Controlled Trial`, `preprint`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Number of citing works, according to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cited_by: Option<u32>,
    /// Retraction or expression of concern, as text for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retracted: Option<String>,
    /// URLs of the open-access full text, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub full_text: Vec<String>,
}

impl Work {
    /// Whether all fields are empty.
    pub fn is_empty(&self) -> bool {
        *self == Work::default()
    }

    /// Returns the ids contained in a URL: `https://doi.org/10.1000/182`, `https://arxiv.org/abs/2301.01234v2`.
    pub fn from_url(url: &str) -> Work {
        let mut work = Work::default();
        let Ok(parsed) = Url::parse(url) else {
            return work;
        };
        let host = parsed.host_str().unwrap_or_default();
        let host = host.strip_prefix("www.").unwrap_or(host);
        let path = parsed.path().trim_matches('/');
        let mut parts = path.split('/');
        match host {
            "doi.org" | "dx.doi.org" => work.doi = find_doi(path),
            "pubmed.ncbi.nlm.nih.gov" => work.pmid = parse_pmid(parts.next().unwrap_or_default()),
            "pmc.ncbi.nlm.nih.gov" => work.pmcid = parts.nth(1).and_then(parse_pmcid),
            "ncbi.nlm.nih.gov" => match (parts.next(), parts.next(), parts.next()) {
                (Some("pmc"), Some("articles"), Some(id)) => work.pmcid = parse_pmcid(id),
                (Some("pubmed"), Some(id), _) => work.pmid = parse_pmid(id),
                _ => {}
            },
            "europepmc.org" => {
                let named = parts.next_back().unwrap_or_default();
                work.pmcid = parse_pmcid(named);
                if path.contains("/med/") || path.contains("/MED/") {
                    work.pmid = parse_pmid(named);
                }
            }
            "arxiv.org" | "export.arxiv.org" => {
                if let Some(("abs" | "pdf" | "html", id)) = path.split_once('/') {
                    work.arxiv = parse_arxiv_id(id.trim_end_matches(".pdf"));
                }
            }
            // Publishers have the DOI in the path. On any other host it would be an unverified claim to be that work.
            _ if is_publisher(host) => {
                work.doi = path.find("10.").and_then(|at| doi_in_path(&path[at..]));
            }
            _ => {}
        }
        if work.doi.as_deref().is_some_and(|doi| doi.starts_with("10.48550/arxiv.")) {
            work.arxiv = work.doi.as_deref().and_then(|doi| parse_arxiv_id(&doi[15..]));
        }
        work
    }

    /// The preferred id, in the order DOI, PMID, PMCID, arXiv.
    pub fn key(&self) -> Option<String> {
        self.keys().into_iter().next()
    }

    /// All ids.
    pub fn keys(&self) -> Vec<String> {
        let named = |kind: &str, id: &Option<String>| id.as_ref().map(|id| format!("{kind}:{id}"));
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

    /// Whether the two have different ids of the same kind, and so cannot be the same work.
    pub fn contradicts(&self, other: &Work) -> bool {
        let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        // A preprint and its journal version have different DOIs; only ids of the same registry must agree.
        differ(&self.pmid, &other.pmid) || differ(&self.pmcid, &other.pmcid)
    }

    /// Fills missing fields from `other`, a record of the same work.
    pub fn merge(&mut self, other: &Work) {
        let take = |mine: &mut Option<String>, theirs: &Option<String>| {
            if mine.is_none() {
                mine.clone_from(theirs);
            }
        };
        // The DOI of the journal version takes precedence over that of the preprint.
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

    /// Whether the record identifies it as a preprint.
    pub fn is_preprint(&self) -> bool {
        let servers = ["10.48550/", "10.1101/", "10.21203/", "10.20944/", "10.2139/"];
        let doi = self.doi.as_deref().unwrap_or_default();
        let named = |text: &String| {
            text.eq_ignore_ascii_case("preprint") || text.eq_ignore_ascii_case("posted-content")
        };
        servers.iter().any(|server| doi.starts_with(server))
            || self.kinds.iter().any(named)
            || (self.doi.is_none() && self.pmid.is_none() && self.arxiv.is_some())
    }
}

/// Registrable domains of publishers and archives whose URLs contain the DOI of the work.
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
    registrable_suffix(host)
        .is_some_and(|registrable_suffix| PUBLISHERS.contains(&registrable_suffix.as_str()))
}

/// The registrable domain of an http(s) URL: `bbc.co.uk` for `www.bbc.co.uk`. IP addresses are returned unchanged. All
/// documents of an MCP server are of one source: `mcp://name`.
pub fn registrable_domain(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    if url.scheme() == "mcp" {
        return url.host_str().map(|name| format!("mcp://{name}"));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?;
    // IP addresses have no registrable domain.
    if !matches!(url.host(), Some(url::Host::Domain(_))) {
        return Some(host.to_owned());
    }
    Some(registrable_suffix(host).unwrap_or_else(|| host.to_owned()))
}

fn registrable_suffix(host: &str) -> Option<String> {
    let domain = psl::List.domain(host.as_bytes())?;
    std::str::from_utf8(domain.as_bytes()).ok().map(str::to_owned)
}

/// Whether the host of `url` is in one of `domains`, if there are any, and in none of `not_domains`.
pub fn is_within_domains(url: &str, domains: &[String], not_domains: &[String]) -> bool {
    let url = Url::parse(url).ok();
    let Some(host) = url.as_ref().and_then(Url::host_str) else {
        return false;
    };
    let within = |domain: &String| {
        let domain = domain.trim_start_matches("www.").to_lowercase();
        host == domain || host.ends_with(&format!(".{domain}"))
    };
    (domains.is_empty() || domains.iter().any(within)) && !not_domains.iter().any(within)
}

/// Whether the site name given by a page matches the host of `url`: one contains the letters of the other's
/// registered name (`BBC News` on `bbc.co.uk`, `Verge` on `theverge.com`).
pub fn is_site_of_host(url: &str, site: &str) -> bool {
    let letters = |text: &str| -> String {
        let kept = text.chars().filter(|c| c.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let Some(domain) = registrable_domain(url) else {
        return false;
    };
    // An IP address has no name to compare with.
    let Some(domain) = registrable_suffix(&domain).filter(|_| domain.parse::<IpAddr>().is_err())
    else {
        return false;
    };
    let own = letters(domain.split('.').next().unwrap_or_default());
    let site = letters(site);
    // Names of two letters would match almost anything.
    own.len() > 2 && (site.contains(&own) || site.len() > 3 && own.contains(&site))
}

/// Finds a DOI in `text`, in lower case and without resolver.
pub fn find_doi(text: &str) -> Option<String> {
    let text = text.trim();
    let at = text.find("10.")?;
    let text = percent_decode_str(&text[at..]).decode_utf8_lossy();
    let (registrant, rest) = text[3..].split_once('/')?;
    let number = registrant.split('.').next().unwrap_or_default();
    let digits =
        number.len() >= 4 && number.len() <= 9 && number.bytes().all(|byte| byte.is_ascii_digit());
    let end = rest
        .find(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '<' | '>' | '{' | '}' | '|' | '^' | '`' | '\\')
        })
        .unwrap_or(rest.len());
    let rest = rest[..end].trim_end_matches(['.', ',', ';', ':', ')', ']', '\'']);
    (digits && !rest.is_empty()).then(|| format!("10.{registrant}/{rest}").to_lowercase())
}

/// Extracts the DOI from the path of a publisher's URL, without the path segments after it.
fn doi_in_path(path: &str) -> Option<String> {
    let found = find_doi(path)?;
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
    while let Some(shorter) = tails.iter().find_map(|tail| kept.strip_suffix(tail)) {
        kept = shorter;
    }
    // The part after the registrant must not be removed completely.
    kept.split_once('/').filter(|parts| !parts.1.is_empty())?;
    Some(kept.to_owned())
}

/// Parses a PubMed id: one to eight digits.
pub fn parse_pmid(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !text.starts_with('0')).then(|| text.to_owned())
}

/// Parses a PubMed Central id: `PMC` and digits, without version.
pub fn parse_pmcid(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.strip_prefix("PMC")?.split('.').next()?;
    let sound = !digits.is_empty()
        && digits.len() <= 10
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| format!("PMC{digits}"))
}

/// Parses an arXiv id, without its version: `2301.01234` or `hep-th/9901001`.
pub fn parse_arxiv_id(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix("arXiv:").or(text.strip_prefix("arxiv:")).unwrap_or(text);
    let bare = match text.rfind('v') {
        Some(at)
            if at > 0
                && !text[at + 1..].is_empty()
                && text[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            &text[..at]
        }
        _ => text,
    };
    let digits = |it: &str, most: usize| {
        !it.is_empty() && it.len() <= most && it.bytes().all(|byte| byte.is_ascii_digit())
    };
    let new = bare.split_once('.').is_some_and(|(month, n)| {
        month.len() == 4 && digits(month, 4) && (4..=5).contains(&n.len()) && digits(n, 5)
    });
    let old = bare.split_once('/').is_some_and(|(archive, n)| {
        n.len() == 7
            && digits(n, 7)
            && !archive.is_empty()
            && archive.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'.'))
    });
    (new || old).then(|| bare.to_owned())
}

/// Tracking parameters, which do not affect the content of a page.
const TRACKERS: &[&str] = &[
    "fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl",
    "ref_src", "cmpid", "ocid", "smid", "spm", "wt_mc", "xtor", "share_id",
];

/// Normalizes a URL for comparison: scheme and host in lower case; without `www.`, fragment, default port, tracking
/// parameters and trailing slash; query parameters sorted. Text that is not a web URL is returned unchanged.
///
/// Only for comparing; pages are fetched and displayed under their original URL.
pub fn canonical_url(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url.trim()) else {
        return url.trim().to_owned();
    };
    if !matches!(parsed.scheme(), "http" | "https") {
        return parsed.to_string();
    }
    // Fragments refer to a position in the same page.
    parsed.set_fragment(None);
    let mut kept: Vec<(String, String)> = parsed
        .query_pairs()
        .filter(|(name, _)| {
            !name.starts_with("utm_") && !TRACKERS.contains(&name.to_lowercase().as_str())
        })
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    kept.sort();
    let query: String =
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&kept).finish();
    let host = parsed.host_str().unwrap_or_default().trim_end_matches('.');
    let host = host.strip_prefix("www.").unwrap_or(host);
    // Mobile hosts serve the same text.
    let host = host.strip_prefix("m.").filter(|rest| rest.contains('.')).unwrap_or(host);
    let host = host.replace(".m.wikipedia.org", ".wikipedia.org");
    let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = parsed.path().trim_end_matches('/');
    let path = path.strip_suffix("/index.html").or(path.strip_suffix("/index.php")).unwrap_or(path);
    // AMP pages have the same text.
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
        let of = |it| Work::from_url(it).keys();
        assert_eq!(of("https://doi.org/10.1000/ABC.1"), ["doi:10.1000/abc.1"]);
        assert_eq!(of("https://dx.doi.org/10.1002%2Fxyz"), ["doi:10.1002/xyz"]);
        assert_eq!(of("https://pubmed.ncbi.nlm.nih.gov/12345678/"), ["pmid:12345678"]);
        assert_eq!(of("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC123/"), ["pmcid:PMC123"]);
        assert_eq!(of("https://pmc.ncbi.nlm.nih.gov/articles/PMC9/"), ["pmcid:PMC9"]);
        assert_eq!(of("https://arxiv.org/pdf/2301.01234v2.pdf"), ["arxiv:2301.01234"]);
        assert_eq!(of("https://arxiv.org/abs/hep-th/9901001"), ["arxiv:hep-th/9901001"]);
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
        assert!(is_site_of_host("https://www.bbc.co.uk/news", "BBC News"));
        assert!(is_site_of_host("https://www.theverge.com/1", "The Verge"));
        assert!(!is_site_of_host("https://nature.evil.example/1", "Nature"));
        assert!(!is_site_of_host("http://127.0.0.1:80/1", "Nature 127"));
        assert!(!is_site_of_host("https://evil.example/1", "World Health Organization"));
    }

    #[test]
    fn domains_are_registrable_ones() {
        assert_eq!(registrable_domain("https://www.bbc.co.uk/news"), Some("bbc.co.uk".to_owned()));
        assert_eq!(registrable_domain("file:///tmp/a.html"), None);
        assert_eq!(registrable_domain("http://192.0.2.7/a"), Some("192.0.2.7".to_owned()));
    }

    #[test]
    fn ids_that_are_none_are_refused() {
        assert_eq!(parse_pmid("0123"), None);
        assert_eq!(parse_pmid("123456789"), None);
        assert_eq!(parse_pmcid("PMC"), None);
        assert_eq!(parse_pmcid("PMC12.2"), Some("PMC12".to_owned()));
        assert_eq!(parse_arxiv_id("cs/99"), None);
        assert_eq!(find_doi("10.12/x"), None);
        assert_eq!(find_doi("see doi:10.1234/Some-Thing."), Some("10.1234/some-thing".to_owned()));
    }

    #[test]
    fn two_ways_to_write_an_address_are_one() {
        let one = canonical_url("http://WWW.Example.org:80/a/?utm_source=x&b=2&a=1#:~:text=y");
        assert_eq!(one, canonical_url("https://example.org/a?a=1&b=2"));
        assert_ne!(one, canonical_url("https://example.org/a?a=1&b=3"));
        assert_eq!(
            canonical_url("https://en.m.wikipedia.org/wiki/Cork"),
            canonical_url("https://en.wikipedia.org/wiki/Cork")
        );
        assert_eq!(
            canonical_url("https://example.org/news/cork/amp"),
            canonical_url("https://example.org/news/cork")
        );
        assert_eq!(canonical_url("file:///a/b"), "file:///a/b");
    }

    #[test]
    fn a_record_learns_from_another_and_a_journal_outranks_a_preprint() {
        let mut preprint = Work::from_url("https://arxiv.org/abs/2301.01234");
        let journal = Work {
            doi: find_doi("10.1000/1"),
            venue: Some("A Journal".to_owned()),
            ..Work::default()
        };
        assert!(preprint.is_preprint());
        preprint.merge(&journal);
        assert_eq!(preprint.keys(), ["doi:10.1000/1", "arxiv:2301.01234"]);
        assert_eq!(preprint.venue.as_deref(), Some("A Journal"));
    }

    #[test]
    fn two_records_with_another_pmid_are_two_works() {
        let of = |text: &str| Work { pmid: parse_pmid(text), ..Work::default() };
        assert!(of("1").contradicts(&of("2")));
        assert!(!of("1").contradicts(&Work::default()));
    }
}
