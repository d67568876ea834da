//! Records of one work by its id: where its open text is, whether it was taken back, and whether its ids are one work's.
use std::time::Duration;

use serde_json::Value;

use super::answer::{self, Read, cut, day, parts, taken_back, title, word};
use super::{LARGEST, PATIENCE, bibtex, crossref, eutils, openalex, semanticscholar};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Access, Ask, Paces, Service};
use crate::domain::work::{arxiv, doi, pmcid, pmid};
use crate::domain::{Hit, Hits, Work};
use crate::error::Result;
use crate::seams::Egress;

/// Who is asked, where, how often, and in which form where there are several.
const CROSSREF: (&str, &str, u64) = ("crossref", "https://api.crossref.org", 200);
const OPENALEX: (&str, &str, u64) = ("openalex", "https://api.openalex.org", 200);
const SEMANTIC: (&str, &str, u64) = ("semanticscholar", "https://api.semanticscholar.org", 3_000);
const UNPAYWALL: (&str, &str, u64) = ("unpaywall", "https://api.unpaywall.org", 100);
const PMC_IDS: (&str, &str, u64) = ("pmc ids", "https://pmc.ncbi.nlm.nih.gov", 340);
const PUBMED: (&str, &str, u64) = (
    "pubmed",
    "https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
    340,
);
const RESOLVER: (&str, &str, u64) = ("doi", "https://doi.org", 200);
/// Where the resolver sends those who ask for a record: the registries of DOIs.
const REGISTRIES: &[&str] = &[
    "https://api.crossref.org",
    "https://data.crossref.org",
    "https://data.datacite.org",
    "https://data.crosscite.org",
    "https://citation.doi.org",
];
/// The forms of a record that are read, the better one first.
const FORMS: &str = "application/vnd.citationstyles.csl+json, application/x-bibtex;q=0.5";

/// Those who know works by their ids.
pub struct Lookups {
    crossref: Service,
    openalex: Service,
    semantic: Service,
    unpaywall: Service,
    pmc_ids: Service,
    pubmed: Service,
    resolver: Service,
    registries: Vec<Service>,
    contact: Option<String>,
}

impl Lookups {
    /// Those who are asked; `contact` is the e-mail address that some of them want. Nothing is sent yet.
    ///
    /// # Errors
    /// `Setup` when the system's certificates cannot be read.
    pub fn open(
        contact: Option<&str>,
        agent: &str,
        paces: &Paces,
        egress: &Egress,
    ) -> Result<Lookups> {
        let at = |(name, base_url, wait): (&str, &str, u64)| -> Result<Service> {
            let pace = paces.of(&format!("{name} {base_url}"), Duration::from_millis(wait));
            let service = Service::open(name, Access::bearer(base_url, None))?;
            let service = service
                .paced(pace)
                .noted(egress.clone())
                .within(PATIENCE, LARGEST);
            Ok(service.with_header("user-agent", agent))
        };
        let negotiated =
            |base_url: &str| Ok(at(("doi", base_url, 200))?.with_header("accept", FORMS));
        Ok(Lookups {
            crossref: at(CROSSREF)?,
            openalex: at(OPENALEX)?,
            semantic: at(SEMANTIC)?,
            unpaywall: at(UNPAYWALL)?,
            pmc_ids: at(PMC_IDS)?,
            pubmed: at(PUBMED)?,
            resolver: negotiated(RESOLVER.1)?,
            registries: REGISTRIES
                .iter()
                .map(|it| negotiated(it))
                .collect::<Result<_>>()?,
            contact: contact.filter(|it| !it.is_empty()).map(str::to_owned),
        })
    }

    /// How we can be reached, as a parameter.
    fn mailto(&self) -> Vec<(&str, &str)> {
        let contact = self.contact.as_deref();
        contact.map(|it| ("mailto", it)).into_iter().collect()
    }

    /// Crossref's record of a DOI; `None` where it has none.
    ///
    /// # Errors
    /// What Crossref failed with.
    pub async fn crossref(&self, doi: &str) -> Result<Option<Hit>> {
        let ask = Ask::get(&format!("/v1/works/{}", coded(doi)), &self.mailto());
        first(&self.crossref, &ask, crossref::read).await
    }

    /// OpenAlex's record of a DOI, which costs nothing; `None` where it has none.
    ///
    /// # Errors
    /// What OpenAlex failed with.
    pub async fn openalex(&self, doi: &str) -> Result<Option<Hit>> {
        let ask = Ask::get(
            &format!("/works/https://doi.org/{}", coded(doi)),
            &self.mailto(),
        );
        first(&self.openalex, &ask, openalex::read).await
    }

    /// Semantic Scholar's record of a work by its first id; `None` where it has none or the work has no id.
    ///
    /// # Errors
    /// What Semantic Scholar failed with.
    pub async fn semantic_scholar(&self, work: &Work) -> Result<Option<Hit>> {
        let Some(key) = work.key() else {
            return Ok(None);
        };
        let (kind, id) = key.split_once(':').unwrap_or_default();
        let id = id.trim_start_matches("PMC");
        let path = format!("/graph/v1/paper/{}:{}", kind.to_uppercase(), coded(id));
        let ask = Ask::get(&path, &[("fields", semanticscholar::FIELDS)]);
        first(&self.semantic, &ask, semanticscholar::read).await
    }

    /// Where the open text of a DOI is, as Unpaywall knows; `None` where it knows nothing of the DOI, or nobody said how to be
    /// reached, without which it does not answer.
    ///
    /// # Errors
    /// What Unpaywall failed with.
    pub async fn unpaywall(&self, doi: &str) -> Result<Option<Hit>> {
        let Some(contact) = &self.contact else {
            return Ok(None);
        };
        let ask = Ask::get(&format!("/v2/{}", coded(doi)), &[("email", contact)]);
        first(&self.unpaywall, &ask, unpaywall).await
    }

    /// The ids under which PubMed Central has a work that it has under the first of these; `None` where it does not have it.
    ///
    /// # Errors
    /// What the converter failed with.
    pub async fn ids(&self, work: &Work) -> Result<Option<Work>> {
        let known = work
            .doi
            .as_ref()
            .or(work.pmid.as_ref())
            .or(work.pmcid.as_ref());
        let Some(id) = known else {
            return Ok(None);
        };
        let mut asked = vec![("ids", id.as_str()), ("format", "json"), ("tool", "ibid")];
        asked.extend(self.contact.as_deref().map(|it| ("email", it)));
        let ask = Ask::get("/tools/idconv/api/v1/articles/", &asked);
        let found = self.pmc_ids.answered(&ask, converted).await?;
        Ok(found.into_iter().next())
    }

    /// The PubMed ids of what cites a work, as far as PubMed Central has it.
    ///
    /// # Errors
    /// What PubMed failed with.
    pub async fn citing(&self, pmid: &str) -> Result<Vec<String>> {
        let asked = [
            ("dbfrom", "pubmed"),
            ("linkname", "pubmed_pubmed_citedin"),
            ("id", pmid),
            ("tool", "ibid"),
        ];
        let ask = Ask::get("/elink.fcgi", &asked);
        self.pubmed.answered(&ask, eutils::cited_by).await
    }

    /// PubMed's summaries of these ids, without abstracts: what a list of citing works is told by.
    ///
    /// # Errors
    /// What PubMed failed with.
    pub async fn summaries(&self, pmids: &[String]) -> Result<Vec<Hit>> {
        if pmids.is_empty() {
            return Ok(Vec::new());
        }
        let ids = pmids
            .iter()
            .take(200)
            .cloned()
            .collect::<Vec<_>>()
            .join(",");
        let asked = [
            ("db", "pubmed"),
            ("id", ids.as_str()),
            ("retmode", "json"),
            ("tool", "ibid"),
        ];
        let ask = Ask::get("/esummary.fcgi", &asked);
        self.pubmed.answered(&ask, eutils::summaries).await
    }

    /// The record of a DOI wherever it is registered, asked of the resolver; `None` where it is registered nowhere, or where
    /// the resolver leads to somebody who is no registry.
    ///
    /// # Errors
    /// What the resolver or the registry failed with.
    pub async fn registered(&self, doi: &str) -> Result<Option<Hit>> {
        let mut service = &self.resolver;
        let mut path = format!("/{}", coded(doi));
        // The resolver leads to a registry, which may lead on once to its own address of the record.
        for _ in 0..3 {
            let found = service.answered(&Ask::get(&path, &[]), negotiated).await;
            match known(found)? {
                None => return Ok(None),
                Some(Negotiated::Record(hit)) => return Ok(Some(*hit)),
                Some(Negotiated::Elsewhere(url)) => {
                    let next = self.registries.iter().find_map(|it| {
                        let rest = url.strip_prefix(it.base_url())?;
                        rest.starts_with('/').then(|| (it, rest.to_owned()))
                    });
                    let Some(next) = next else {
                        return Ok(None);
                    };
                    (service, path) = next;
                }
            }
        }
        Ok(None)
    }

    /// Fills in what `work` lacks: its other ids, whether it was taken back, and where its open text is. What could not be
    /// asked, and where a record has other ids than the work, is said in a line each.
    pub async fn complete(&self, work: &mut Work) -> Vec<String> {
        let mut remarks = Vec::new();
        let found = self
            .ids(work)
            .await
            .map(|it| it.map(|work| (work, "PubMed Central")));
        take(work, found, &mut remarks);
        let Some(doi) = work.doi.clone() else {
            return remarks;
        };
        let of = |it: Result<Option<Hit>>, who| it.map(|it| it.map(|hit| (hit.work, who)));
        take(
            work,
            of(self.crossref(&doi).await, "Crossref"),
            &mut remarks,
        );
        if work.full_text.is_empty() || work.retracted.is_none() {
            take(
                work,
                of(self.openalex(&doi).await, "OpenAlex"),
                &mut remarks,
            );
        }
        if work.full_text.is_empty() {
            take(
                work,
                of(self.unpaywall(&doi).await, "Unpaywall"),
                &mut remarks,
            );
        }
        remarks
    }
}

/// Learns from a record of the same work; from one of another work nothing is taken.
fn take(work: &mut Work, found: Result<Option<(Work, &str)>>, remarks: &mut Vec<String>) {
    match found {
        Ok(Some((record, who))) => {
            let apart = disagreements(work, &record);
            if apart.is_empty() {
                work.learn(&record);
            }
            remarks.extend(apart.iter().map(|it| format!("{who} has another {it}")));
        }
        Ok(None) => {}
        Err(fault) => remarks.push(cut(&fault.chain(), 200)),
    }
}

/// Where the ids of a source and those of a record of it cannot be one work's: `PMID: 123 here, 456 there`. A preprint and what
/// appeared of it have a DOI each, so theirs may differ.
pub fn disagreements(work: &Work, record: &Work) -> Vec<String> {
    let is_preprint = work.is_preprint() != record.is_preprint();
    let pairs = [
        ("DOI", &work.doi, &record.doi, is_preprint),
        ("PMID", &work.pmid, &record.pmid, false),
        ("PMCID", &work.pmcid, &record.pmcid, false),
        ("arXiv id", &work.arxiv, &record.arxiv, false),
    ];
    let differ = pairs
        .into_iter()
        .filter_map(|(name, mine, theirs, excused)| {
            let (mine, theirs) = (mine.as_ref()?, theirs.as_ref()?);
            let apart = mine != theirs && !excused;
            apart.then(|| format!("{name}: {mine} here, {theirs} there"))
        });
    differ.collect()
}

/// Whether the ids of a source and those of a record of it can be one work's: a right quote under a wrong PMID is seen here.
pub fn ids_agree(work: &Work, record: &Work) -> bool {
    disagreements(work, record).is_empty()
}

/// An id as it stands in a path.
fn coded(id: &str) -> String {
    let coded: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    // A slash parts registrant and number; services want it bare.
    coded.replace("%2F", "/").replace('+', "%20")
}

/// The first record of an answer; `None` where the service does not know what was asked for.
async fn first(
    service: &Service,
    ask: &Ask,
    read: impl Fn(u16, &Headers, &[u8]) -> Read<Hits>,
) -> Result<Option<Hit>> {
    let found = known(service.answered(ask, read).await)?;
    Ok(found.and_then(|it| it.hits.into_iter().next()))
}

/// What a service knows; `None` where it says that there is no such thing.
fn known<T>(found: Result<T>) -> Result<Option<T>> {
    let is_unknown = |fault: &crate::Error| {
        ModelFault::inside(fault).is_some_and(|it| matches!(it.status, Some(404 | 410)))
    };
    match found {
        Err(fault) if is_unknown(&fault) => Ok(None),
        found => found.map(Some),
    }
}

/// Unpaywall's record of a DOI, or those of a search; the open addresses of its text are the best first.
pub(super) fn unpaywall(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    if let Some(rows) = value.get("results").and_then(Value::as_array) {
        let rows = rows.iter().map(|it| it.get("response").unwrap_or(it));
        return Ok(rows.filter_map(open).collect::<Vec<_>>().into());
    }
    let hit = open(&value).ok_or_else(|| ModelFault::malformed("its answer has no `doi`"))?;
    Ok(vec![hit].into())
}

fn open(it: &Value) -> Option<Hit> {
    let id = word(it, "doi").and_then(doi)?;
    let mut work = Work {
        kinds: word(it, "genre")
            .map(|it| cut(it, 60))
            .into_iter()
            .collect(),
        venue: word(it, "journal_name").map(|it| cut(it, 200)),
        ..Work::default()
    };
    let people = it
        .get("z_authors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let name = |it: &Value| {
        let parted = || Some(format!("{} {}", word(it, "given")?, word(it, "family")?));
        let whole = word(it, "raw_author_name")
            .map(str::to_owned)
            .or_else(parted);
        whole
            .or_else(|| word(it, "family").map(str::to_owned))
            .map(|it| cut(&it, 100))
    };
    work.authors = people.filter_map(name).take(50).collect();
    let best = it.get("best_oa_location").into_iter();
    let others = it
        .get("oa_locations")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for place in best.chain(others).take(30) {
        for url in ["url_for_pdf", "url"]
            .iter()
            .filter_map(|name| word(place, name))
        {
            if !work.full_text.iter().any(|had| had == url) {
                work.full_text.push(url.to_owned());
            }
            let known = Work::of_url(url);
            // Unpaywall writes addresses of PubMed Central without the letters of the id.
            let bare = url
                .split_once("ncbi.nlm.nih.gov/pmc/articles/")
                .map(|it| it.1);
            let digits = bare.and_then(|it| {
                pmcid(&format!(
                    "PMC{}",
                    it.trim_matches('/').trim_start_matches("PMC")
                ))
            });
            work.pmcid = work.pmcid.take().or(known.pmcid).or(digits);
        }
    }
    let url = format!("https://doi.org/{id}");
    let name = title(word(it, "title").unwrap_or(&url));
    work.doi = Some(id);
    work.retracted = taken_back(&name, &work.kinds, "Unpaywall");
    let mut hit = Hit::new("unpaywall", &url, &name, "");
    let year = || parts(it.get("year").and_then(Value::as_i64), None, None);
    hit.date = word(it, "published_date").and_then(day).or_else(year);
    hit.work = work;
    Some(hit)
}

/// The ids of each work in an answer of the converter of PubMed Central; those that it does not have are none.
pub(super) fn converted(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<Work>> {
    let value = answer::json(status, headers, body)?;
    let text = |it: &Value, name: &str| {
        // Version 2 has numbers for PMIDs.
        let it = it.get(name)?;
        it.as_str()
            .map(str::to_owned)
            .or_else(|| it.as_u64().map(|it| it.to_string()))
    };
    let rows = answer::list(&value, "/records")?
        .iter()
        .filter(|it| word(it, "status") != Some("error"));
    let works = rows.map(|it| Work {
        doi: text(it, "doi").as_deref().and_then(doi),
        pmid: text(it, "pmid").as_deref().and_then(pmid),
        pmcid: text(it, "pmcid").as_deref().and_then(pmcid),
        arxiv: text(it, "arxiv").as_deref().and_then(arxiv),
        ..Work::default()
    });
    Ok(works.filter(|it| !it.is_empty()).collect())
}

/// What comes of asking a resolver for a record.
#[derive(Debug)]
pub(super) enum Negotiated {
    /// It is at this address.
    Elsewhere(String),
    /// The record.
    Record(Box<Hit>),
}

/// The record in an answer, as CSL JSON or BibTeX, or where it is instead.
pub(super) fn negotiated(status: u16, headers: &Headers, body: &[u8]) -> Read<Negotiated> {
    if (300..400).contains(&status)
        && let Some(place) = headers.get("location")
    {
        return Ok(Negotiated::Elsewhere(place.trim().to_owned()));
    }
    let page = answer::text(status, headers, body)?;
    let page = page.trim_start();
    let hit = match page.as_bytes().first() {
        Some(b'{') => {
            let value = answer::json(status, headers, body)?;
            crossref::work(&value)
                .ok_or_else(|| ModelFault::malformed("its record has no `DOI`"))?
        }
        Some(b'@') => bibtex::work(page)?,
        _ => {
            return Err(ModelFault::malformed(
                "its record is of a form that was not asked for",
            ));
        }
    };
    Ok(Negotiated::Record(Box::new(hit)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn open_addresses_are_the_best_first() {
        let body = json!({"doi": "10.1000/A", "title": "Cork", "published_date": "2024-05-06", "genre": "journal-article",
            "best_oa_location": {"url": "https://a.example/", "url_for_pdf": "https://a.example/a.pdf"},
            "oa_locations": [{"url": "https://www.ncbi.nlm.nih.gov/pmc/articles/123", "url_for_pdf": null}]});
        let hit = unpaywall(200, &Headers::default(), body.to_string().as_bytes())
            .unwrap()
            .hits
            .remove(0);
        assert_eq!(hit.work.full_text[0], "https://a.example/a.pdf");
        assert_eq!(hit.work.pmcid.as_deref(), Some("PMC123"));
        assert!(unpaywall(200, &Headers::default(), b"{}").is_err());
    }

    #[test]
    fn a_wrong_pmid_is_seen_and_a_preprint_s_doi_is_none() {
        let of = |doi: &str, pmid: &str| Work {
            doi: Some(doi.to_owned()),
            pmid: Some(pmid.to_owned()),
            ..Work::default()
        };
        let body = json!({"records": [{"doi": "10.1000/a", "pmid": 77, "pmcid": "PMC5"}, {"pmid": "1", "status": "error", "errmsg": "none"}]});
        let found = converted(200, &Headers::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(found.len(), 1);
        assert!(ids_agree(&of("10.1000/a", "77"), &found[0]));
        assert_eq!(
            disagreements(&of("10.1000/a", "78"), &found[0]),
            ["PMID: 78 here, 77 there"]
        );
        assert!(!ids_agree(&of("10.1000/b", "77"), &found[0]));
        assert!(ids_agree(&of("10.1101/b", "77"), &found[0]));
    }

    #[test]
    fn a_record_of_another_work_teaches_nothing() {
        let mut work = Work {
            doi: doi("10.1000/a"),
            pmid: pmid("78"),
            ..Work::default()
        };
        let record = Work {
            doi: doi("10.1000/a"),
            pmid: pmid("77"),
            retracted: Some("retracted".to_owned()),
            ..Work::default()
        };
        let mut remarks = Vec::new();
        take(
            &mut work,
            Ok(Some((record, "PubMed Central"))),
            &mut remarks,
        );
        assert_eq!(
            remarks,
            ["PubMed Central has another PMID: 78 here, 77 there"]
        );
        assert_eq!(work.retracted, None);
    }

    #[test]
    fn a_resolver_leads_on_or_answers() {
        let headers = Headers(vec![(
            "Location".to_owned(),
            "https://api.crossref.org/v1/works/x".to_owned(),
        )]);
        assert!(
            matches!(negotiated(302, &headers, b"").unwrap(), Negotiated::Elsewhere(it) if it.contains("/v1/works/"))
        );
        let csl = br#"{"DOI": "10.1000/A", "title": "Cork", "issued": {"date-parts": [[2024]]}, "container-title": "J Cork"}"#;
        let Negotiated::Record(hit) = negotiated(200, &Headers::default(), csl).unwrap() else {
            panic!("no record")
        };
        assert_eq!(
            (hit.title.as_str(), hit.date.as_deref()),
            ("Cork", Some("2024-01-01"))
        );
        assert_eq!(hit.work.venue.as_deref(), Some("J Cork"));
        assert!(negotiated(200, &Headers::default(), b"<html>").is_err());
        assert_eq!(coded("10.1000/a b?c#d"), "10.1000/a%20b%3Fc%23d");
    }
}
