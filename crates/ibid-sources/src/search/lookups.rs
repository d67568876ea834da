//! Records of a work by its ids: where its open text is, whether it was retracted, and whether its ids belong together.
use std::time::Duration;

use serde_json::Value;

use super::response::{
    self, ReadResult, clean_title, date_from_parts, parse_date, retraction, text_field, truncate,
};
use super::search_engine::{MAX_BYTES, TIMEOUT};
use super::{crossref, openalex};
use ibid_core::Result;
use ibid_core::domain::work::{find_doi, parse_arxiv_id, parse_pmcid, parse_pmid};
use ibid_core::domain::{Hit, Hits, Work};
use ibid_core::ports::Egress;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{RateLimiters, ServiceAccess, ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// A service: its name, its address and the least time between two calls, milliseconds.
type LookupService = (&'static str, &'static str, u64);

const CROSSREF: LookupService = ("crossref", "https://api.crossref.org", 200);
const OPENALEX: LookupService = ("openalex", "https://api.openalex.org", 200);
const UNPAYWALL: LookupService = ("unpaywall", "https://api.unpaywall.org", 100);
const PMC_IDS: LookupService = ("pmc ids", "https://pmc.ncbi.nlm.nih.gov", 340);
/// Maximum number of addresses of open text that are read from a record.
const MAX_LOCATIONS: usize = 30;
/// Maximum number of authors that are read from a record.
const MAX_AUTHORS: usize = 50;

/// The services that look up works by their ids.
pub struct CatalogueClient {
    crossref: ServiceClient,
    openalex: ServiceClient,
    unpaywall: ServiceClient,
    pmc_ids: ServiceClient,
    contact: Option<String>,
}

impl CatalogueClient {
    /// Opens the services; `contact` is the e-mail address that some of them ask for. Sends nothing.
    ///
    /// # Errors
    /// `Setup` when the system's certificates cannot be read.
    pub fn open(
        contact: Option<&str>,
        agent: &str,
        paces: &RateLimiters,
        egress: &Egress,
    ) -> Result<CatalogueClient> {
        let open = |(name, base_url, wait): LookupService| -> Result<ServiceClient> {
            let pace = paces.get(&format!("{name} {base_url}"), Duration::from_millis(wait));
            let service = ServiceClient::open(name, ServiceAccess::bearer(base_url, None))?;
            let service = service
                .with_rate_limit(pace)
                .with_egress(egress.clone())
                .with_limits(TIMEOUT, MAX_BYTES);
            Ok(service.with_header("user-agent", agent))
        };
        Ok(CatalogueClient {
            crossref: open(CROSSREF)?,
            openalex: open(OPENALEX)?,
            unpaywall: open(UNPAYWALL)?,
            pmc_ids: open(PMC_IDS)?,
            contact: contact.filter(|contact| !contact.is_empty()).map(str::to_owned),
        })
    }

    /// The contact as a parameter.
    fn mailto(&self) -> Vec<(&str, &str)> {
        let contact = self.contact.as_deref();
        contact.map(|contact| ("mailto", contact)).into_iter().collect()
    }

    /// Returns Crossref's record of a DOI, if it has one.
    ///
    /// # Errors
    /// Those of the request.
    pub async fn crossref(&self, doi: &str) -> Result<Option<Hit>> {
        let request = ServiceRequest::get(&format!("/v1/works/{}", encode_id(doi)), &self.mailto());
        first(&self.crossref, &request, crossref::read).await
    }

    /// Returns OpenAlex's record of a DOI, if it has one. The request is free.
    ///
    /// # Errors
    /// Those of the request.
    pub async fn openalex(&self, doi: &str) -> Result<Option<Hit>> {
        let request = ServiceRequest::get(
            &format!("/works/https://doi.org/{}", encode_id(doi)),
            &self.mailto(),
        );
        first(&self.openalex, &request, openalex::read).await
    }

    /// Returns Unpaywall's record of a DOI, with the addresses of its open text. `None` when Unpaywall does not know the DOI,
    /// and when there is no contact, without which it does not answer.
    ///
    /// # Errors
    /// Those of the request.
    pub async fn unpaywall(&self, doi: &str) -> Result<Option<Hit>> {
        let Some(contact) = &self.contact else {
            return Ok(None);
        };
        let request =
            ServiceRequest::get(&format!("/v2/{}", encode_id(doi)), &[("email", contact)]);
        first(&self.unpaywall, &request, parse_unpaywall).await
    }

    /// Returns the ids of a work in PubMed Central, looked up by its first known id. `None` when PubMed Central does not have
    /// the work.
    ///
    /// # Errors
    /// Those of the request.
    pub async fn ids(&self, work: &Work) -> Result<Option<Work>> {
        let first_id = work.doi.as_ref().or(work.pmid.as_ref()).or(work.pmcid.as_ref());
        let Some(id) = first_id else {
            return Ok(None);
        };
        let mut parameters = vec![("ids", id.as_str()), ("format", "json"), ("tool", "ibid")];
        parameters.extend(self.contact.as_deref().map(|contact| ("email", contact)));
        let request = ServiceRequest::get("/tools/idconv/api/v1/articles/", &parameters);
        let found = self.pmc_ids.request(&request, parse_id_converter).await?;
        Ok(found.into_iter().next())
    }

    /// Completes `work`: its other ids, whether it was retracted, and where its open text is. Returns a line for
    /// each record whose ids contradict those of the work. A service that fails adds nothing.
    pub(crate) async fn enrich(&self, work: &mut Work) -> Vec<String> {
        let mut conflicts = Vec::new();
        let found = self.ids(work).await.map(|record| record.map(|work| (work, "PubMed Central")));
        merge_record(work, found, &mut conflicts);
        let Some(doi) = work.doi.clone() else {
            return conflicts;
        };
        let record = |found: Result<Option<Hit>>, service| {
            found.map(|hit| hit.map(|hit| (hit.work, service)))
        };
        merge_record(work, record(self.crossref(&doi).await, "Crossref"), &mut conflicts);
        if work.full_text.is_empty() || work.retracted.is_none() {
            merge_record(work, record(self.openalex(&doi).await, "OpenAlex"), &mut conflicts);
        }
        if work.full_text.is_empty() {
            merge_record(work, record(self.unpaywall(&doi).await, "Unpaywall"), &mut conflicts);
        }
        conflicts
    }
}

/// Merges a record of `work` with the name of its service. A record whose ids contradict those of the work is not merged.
fn merge_record(work: &mut Work, found: Result<Option<(Work, &str)>>, conflicts: &mut Vec<String>) {
    let Ok(Some((record, service))) = found else {
        return;
    };
    let differing = id_conflicts(work, &record);
    if differing.is_empty() {
        work.merge(&record);
    }
    conflicts.extend(differing.iter().map(|id| format!("{service} has another {id}")));
}

/// The ids of a work that differ from those of a record of it: `PMID: 123 here, 456 there`. A preprint and its published
/// version have different DOIs, which is not a conflict.
fn id_conflicts(work: &Work, record: &Work) -> Vec<String> {
    let is_preprint = work.is_preprint() != record.is_preprint();
    let pairs = [
        ("DOI", &work.doi, &record.doi, is_preprint),
        ("PMID", &work.pmid, &record.pmid, false),
        ("PMCID", &work.pmcid, &record.pmcid, false),
        ("arXiv id", &work.arxiv, &record.arxiv, false),
    ];
    let differ = pairs.into_iter().filter_map(|(name, mine, theirs, excused)| {
        let (mine, theirs) = (mine.as_ref()?, theirs.as_ref()?);
        let apart = mine != theirs && !excused;
        apart.then(|| format!("{name}: {mine} here, {theirs} there"))
    });
    differ.collect()
}

/// Encodes an id for a path.
fn encode_id(id: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    // Services expect the slash of a DOI as it is.
    encoded.replace("%2F", "/").replace('+', "%20")
}

/// Returns the first record of an answer; `None` when the service does not know the id.
async fn first(
    service: &ServiceClient,
    request: &ServiceRequest,
    read: impl Fn(u16, &ResponseHeaders, &[u8]) -> ReadResult<Hits>,
) -> Result<Option<Hit>> {
    let found = none_if_not_found(service.request(request, read).await)?;
    Ok(found.and_then(|found| found.hits.into_iter().next()))
}

/// Turns the error that a service does not know an id into `None`.
fn none_if_not_found<T>(found: Result<T>) -> Result<Option<T>> {
    let is_unknown = |fault: &ibid_core::Error| {
        ServiceError::find_in(fault).is_some_and(|error| matches!(error.status, Some(404 | 410)))
    };
    match found {
        Err(fault) if is_unknown(&fault) => Ok(None),
        found => found.map(Some),
    }
}

/// Parses Unpaywall's record of a DOI, or those of a search. The best address of open text comes first.
pub(super) fn parse_unpaywall(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    if let Some(rows) = value.get("results").and_then(Value::as_array) {
        let rows = rows.iter().map(|row| row.get("response").unwrap_or(row));
        return Ok(rows.filter_map(parse_unpaywall_record).collect::<Vec<_>>().into());
    }
    let hit = parse_unpaywall_record(&value)
        .ok_or_else(|| ServiceError::malformed("its response has no `doi`"))?;
    Ok(vec![hit].into())
}

fn parse_unpaywall_record(record: &Value) -> Option<Hit> {
    let id = text_field(record, "doi").and_then(find_doi)?;
    let mut work = Work {
        kinds: text_field(record, "genre").map(|kind| truncate(kind, 60)).into_iter().collect(),
        venue: text_field(record, "journal_name").map(|venue| truncate(venue, 200)),
        authors: unpaywall_authors(record),
        ..Work::default()
    };
    let best = record.get("best_oa_location").into_iter();
    let locations = list_in(record, "oa_locations");
    for location in best.chain(locations).take(MAX_LOCATIONS) {
        for url in ["url_for_pdf", "url"].iter().filter_map(|name| text_field(location, name)) {
            if !work.full_text.iter().any(|known| known == url) {
                work.full_text.push(url.to_owned());
            }
            let pmcid = Work::from_url(url).pmcid.or_else(|| bare_pmcid(url));
            work.pmcid = work.pmcid.take().or(pmcid);
        }
    }
    let url = format!("https://doi.org/{id}");
    let title = clean_title(text_field(record, "title").unwrap_or(&url));
    work.doi = Some(id);
    work.retracted = retraction(&title, &work.kinds, "Unpaywall");
    let mut hit = Hit::new("unpaywall", &url, &title, "");
    let year = || date_from_parts(record.get("year").and_then(Value::as_i64), None, None);
    hit.date = text_field(record, "published_date").and_then(parse_date).or_else(year);
    hit.work = work;
    Some(hit)
}

fn unpaywall_authors(record: &Value) -> Vec<String> {
    let name = |author: &Value| {
        let given_and_family = || {
            let given = text_field(author, "given")?;
            Some(format!("{given} {}", text_field(author, "family")?))
        };
        text_field(author, "raw_author_name")
            .map(str::to_owned)
            .or_else(given_and_family)
            .or_else(|| text_field(author, "family").map(str::to_owned))
            .map(|name| truncate(&name, 100))
    };
    list_in(record, "z_authors").filter_map(name).take(MAX_AUTHORS).collect()
}

fn list_in<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// The PMCID in an address of PubMed Central, which Unpaywall writes without its letters.
fn bare_pmcid(url: &str) -> Option<String> {
    let (_, id) = url.split_once("ncbi.nlm.nih.gov/pmc/articles/")?;
    let digits = id.trim_matches('/').trim_start_matches("PMC");
    parse_pmcid(&format!("PMC{digits}"))
}

/// Parses the ids of each work that PubMed Central has.
pub(super) fn parse_id_converter(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<Vec<Work>> {
    let value = response::parse_json(status, headers, body)?;
    let text = |it: &Value, name: &str| {
        // Version 2 has numbers for PMIDs.
        let it = it.get(name)?;
        it.as_str().map(str::to_owned).or_else(|| it.as_u64().map(|number| number.to_string()))
    };
    let rows = response::list_at(&value, "/records")?
        .iter()
        .filter(|read_result| text_field(read_result, "status") != Some("error"));
    let works = rows.map(|row| Work {
        doi: text(row, "doi").as_deref().and_then(find_doi),
        pmid: text(row, "pmid").as_deref().and_then(parse_pmid),
        pmcid: text(row, "pmcid").as_deref().and_then(parse_pmcid),
        arxiv: text(row, "arxiv").as_deref().and_then(parse_arxiv_id),
        ..Work::default()
    });
    Ok(works.filter(|work| !work.is_empty()).collect())
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
        let hit = parse_unpaywall(200, &ResponseHeaders::default(), body.to_string().as_bytes())
            .unwrap()
            .hits
            .remove(0);
        assert_eq!(hit.work.full_text[0], "https://a.example/a.pdf");
        assert_eq!(hit.work.pmcid.as_deref(), Some("PMC123"));
        assert!(parse_unpaywall(200, &ResponseHeaders::default(), b"{}").is_err());
    }

    #[test]
    fn a_wrong_pmid_is_seen_and_a_preprint_s_doi_is_none() {
        let of = |doi: &str, pmid: &str| Work {
            doi: Some(doi.to_owned()),
            pmid: Some(pmid.to_owned()),
            ..Work::default()
        };
        let body = json!({"records": [{"doi": "10.1000/a", "pmid": 77, "pmcid": "PMC5"}, {"pmid": "1", "status": "error", "errmsg": "none"}]});
        let found =
            parse_id_converter(200, &ResponseHeaders::default(), body.to_string().as_bytes())
                .unwrap();
        assert_eq!(found.len(), 1);
        assert!(id_conflicts(&of("10.1000/a", "77"), &found[0]).is_empty());
        assert_eq!(id_conflicts(&of("10.1000/a", "78"), &found[0]), ["PMID: 78 here, 77 there"]);
        assert!(!id_conflicts(&of("10.1000/b", "77"), &found[0]).is_empty());
        assert!(id_conflicts(&of("10.1101/b", "77"), &found[0]).is_empty());
    }

    #[test]
    fn a_record_of_another_work_teaches_nothing() {
        let mut work =
            Work { doi: find_doi("10.1000/a"), pmid: parse_pmid("78"), ..Work::default() };
        let record = Work {
            doi: find_doi("10.1000/a"),
            pmid: parse_pmid("77"),
            retracted: Some("retracted".to_owned()),
            ..Work::default()
        };
        let mut remarks = Vec::new();
        merge_record(&mut work, Ok(Some((record, "PubMed Central"))), &mut remarks);
        assert_eq!(remarks, ["PubMed Central has another PMID: 78 here, 77 there"]);
        assert_eq!(work.retracted, None);
    }

    #[test]
    fn an_id_in_a_path_keeps_its_slash() {
        assert_eq!(encode_id("10.1000/a b?c#d"), "10.1000/a%20b%3Fc%23d");
    }
}
