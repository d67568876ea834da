//! PubMed, through the E-utilities of the NCBI: search for ids, then fetch the records with their abstracts.
use async_trait::async_trait;

use super::engine_api::{EngineApi, EngineConfig};
use super::eutils::{self, EsearchIds, parse_ids};
use super::query_text::{is_query_syntax, or_queries};
use super::response::{
    ReadResult, clean_title, date_from_parts, full_text, parse_month, retraction, truncate,
};
use super::xml::XmlElement;
use ibid_core::domain::work::{find_doi, parse_pmcid, parse_pmid};
use ibid_core::domain::{Hit, Hits, Query, Work, pubmed as syntax};
use ibid_core::{ErrorKind, Result};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Maximum number of ids in an address. More are fetched from the history server.
const MAX_IDS_IN_URL: usize = 200;
/// If a query in PubMed's syntax finds fewer works than this, it is also sent in plain words.
const MIN_STRICT_HITS: usize = 3;

/// `esearch.fcgi`, then `efetch.fcgi`.
struct Pubmed {
    key: Option<String>,
    contact: Option<String>,
}

pub(super) fn api(given: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Pubmed { key: given.key.clone(), contact: given.contact.clone() })
}

impl Pubmed {
    /// The parameters of every call, followed by `own`.
    fn common<'a>(&'a self, own: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut all = vec![("db", "pubmed"), ("tool", "ibid")];
        all.extend(self.contact.as_deref().map(|contact| ("email", contact)));
        all.extend(self.key.as_deref().map(|key| ("api_key", key)));
        all.extend(own);
        all
    }

    async fn ids(&self, service: &ServiceClient, term: &str, query: &Query) -> Result<EsearchIds> {
        let limit = query.limit.to_string();
        let mut own =
            vec![("term", term), ("retmax", &limit), ("retmode", "json"), ("sort", "relevance")];
        if query.limit as usize > MAX_IDS_IN_URL {
            own.push(("usehistory", "y"));
        }
        let slashes = |text: &Option<String>| text.as_ref().map(|it| it.replace('-', "/"));
        let (since, until) = (slashes(&query.since), slashes(&query.until));
        if since.is_some() || until.is_some() {
            own.push(("datetype", "pdat"));
            own.push(("mindate", since.as_deref().unwrap_or("1800")));
            own.push(("maxdate", until.as_deref().unwrap_or("3000")));
        }
        service.request(&ServiceRequest::get("/esearch.fcgi", &self.common(&own)), parse_ids).await
    }

    /// Returns the ids that a query finds. A query in PubMed's syntax that finds too few works, or that PubMed does not
    /// understand, is also sent in plain words, whose ids come after.
    async fn search_ids(&self, service: &ServiceClient, query: &Query) -> Result<EsearchIds> {
        let mut tries = or_queries(query.text());
        let mut enough = 1;
        let strict = is_query_syntax(query.text());
        if strict {
            enough = MIN_STRICT_HITS.min(query.limit.max(1) as usize);
            let plain = syntax::plain_words(query.text());
            tries.extend(or_queries(&plain).into_iter().filter(|_| !plain.is_empty()));
        }
        let last = tries.len().saturating_sub(1);
        let mut found = EsearchIds::default();
        for (nth, term) in tries.iter().enumerate() {
            let more = match self.ids(service, term, query).await {
                Ok(more) => more,
                // An error of one form does not discard the ids of another, nor keep the next form from being sent.
                Err(fault) if fault.kind() == ErrorKind::Malformed && nth < last => continue,
                Err(fault) if found.ids.is_empty() || fault.kind() == ErrorKind::Cancelled => {
                    return Err(fault);
                }
                Err(_) => break,
            };
            let had = found.ids.len();
            if strict && nth > 0 && !more.ids.is_empty() {
                found
                    .remarks
                    .push(format!("PubMed's own syntax found {had}; plain words were asked too"));
            }
            found.count = found.count.max(more.count);
            found.remarks.extend(more.remarks);
            // The history server has the ids of one search. Those of two searches are fetched by id.
            found.history = more.history.filter(|_| had == 0);
            let fresh = more.ids.into_iter().filter(|id| !found.ids.contains(id));
            let fresh: Vec<String> = fresh.collect();
            found.ids.extend(fresh);
            if found.ids.len() >= enough {
                break;
            }
        }
        let most = match found.history {
            Some(_) => query.limit as usize,
            None => (query.limit as usize).min(MAX_IDS_IN_URL),
        };
        found.ids.truncate(most.max(1));
        Ok(found)
    }
}

#[async_trait]
impl EngineApi for Pubmed {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let found = self.search_ids(service, query).await?;
        if found.ids.is_empty() {
            return Ok(Hits { remarks: found.remarks, ..Hits::default() });
        }
        let wanted = found.ids.join(",");
        let limit = query.limit.to_string();
        let own: Vec<(&str, &str)> = match &found.history {
            Some((env, key)) => {
                vec![("WebEnv", env), ("query_key", key), ("retmax", &limit), ("retmode", "xml")]
            }
            None => vec![("id", &wanted), ("rettype", "abstract"), ("retmode", "xml")],
        };
        let records = service
            .request(&ServiceRequest::get("/efetch.fcgi", &self.common(&own)), parse_records)
            .await?;
        // Records come in the order of their ids, the search has ordered them by relevance.
        let mut records: Vec<Hit> = records;
        let place = |hit: &Hit| {
            let of = |id: &String| hit.work.pmid.as_ref() == Some(id);
            found.ids.iter().position(of).unwrap_or(usize::MAX)
        };
        records.sort_by_key(place);
        Ok(Hits { hits: records, remarks: found.remarks, ..Hits::default() })
    }
}

/// Parses the records in an answer of `efetch`.
pub(super) fn parse_records(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<Vec<Hit>> {
    let tree = eutils::parse_xml(status, headers, body)?;
    let set = tree.find("PubmedArticleSet").ok_or_else(|| {
        // Another database has another root element.
        let found = tree.children().next().map(|child| truncate(&child.name, 40));
        let found = found.unwrap_or_default();
        ServiceError::malformed(format!("its response is `{found}` instead of `PubmedArticleSet`"))
    })?;
    let articles = set.children_named("PubmedArticle").filter_map(article);
    let books = set.children_named("PubmedBookArticle").filter_map(book);
    Ok(articles.chain(books).collect())
}

fn article(it: &XmlElement) -> Option<Hit> {
    let cited = it.find("MedlineCitation")?;
    let id = parse_pmid(&cited.text_at("PMID")?)?;
    let article = cited.find("Article")?;
    let mut work = Work {
        pmid: Some(id.clone()),
        venue: article.text_at("Journal/Title"),
        authors: people(article.find("AuthorList")),
        kinds: article
            .find("PublicationTypeList")
            .into_iter()
            .flat_map(|it| it.children_named("PublicationType"))
            .map(XmlElement::text)
            .collect(),
        ..Work::default()
    };
    let ids = it
        .find("PubmedData/ArticleIdList")
        .into_iter()
        .flat_map(|it| it.children_named("ArticleId"));
    for it in ids {
        match it.attribute("IdType") {
            Some("doi") => work.doi = work.doi.or_else(|| find_doi(&it.text())),
            Some("pmc") => work.pmcid = work.pmcid.or_else(|| parse_pmcid(&it.text())),
            _ => {}
        }
    }
    let located = article
        .children_named("ELocationID")
        .find(|element| element.attribute("EIdType") == Some("doi"));
    work.doi = work.doi.or_else(|| find_doi(&located?.text()));
    let name = article.text_at("ArticleTitle").or_else(|| article.text_at("VernacularTitle"))?;
    work.retracted =
        retracted(cited, &work.kinds).or_else(|| retraction(&name, &work.kinds, "PubMed"));
    let text = abstract_of(article.find("Abstract"));
    let date = date(article.find("ArticleDate"))
        .or_else(|| date(article.find("Journal/JournalIssue/PubDate")));
    Some(hit(&id, &name, &text, date, work))
}

fn book(it: &XmlElement) -> Option<Hit> {
    let document = it.find("BookDocument")?;
    let id = parse_pmid(&document.text_at("PMID")?)?;
    let name = document.text_at("ArticleTitle").or_else(|| document.text_at("Book/BookTitle"))?;
    let work = Work {
        pmid: Some(id.clone()),
        venue: document.text_at("Book/BookTitle"),
        authors: people(document.find("AuthorList").or_else(|| document.find("Book/AuthorList"))),
        kinds: document.children_named("PublicationType").map(XmlElement::text).collect(),
        ..Work::default()
    };
    let text = abstract_of(document.find("Abstract"));
    let date =
        date(document.find("ContributionDate")).or_else(|| date(document.find("Book/PubDate")));
    Some(hit(&id, &name, &text, date, work))
}

fn hit(id: &str, name: &str, text: &str, date: Option<String>, work: Work) -> Hit {
    let url = format!("https://pubmed.ncbi.nlm.nih.gov/{id}/");
    let mut hit =
        Hit::new("pubmed", &url, &clean_title(name.trim_matches(['[', ']'])), &truncate(text, 600));
    hit.text = full_text(text);
    hit.date = date;
    hit.work = work;
    hit
}

/// The text of an abstract: a paragraph with its label for each part.
fn abstract_of(it: Option<&XmlElement>) -> String {
    let parts =
        it.into_iter().flat_map(|element| element.children_named("AbstractText")).map(|it| {
            let text = it.text();
            match it
                .attribute("Label")
                .filter(|attribute| !attribute.is_empty() && *attribute != "UNLABELLED")
            {
                Some(label) => format!("{label}: {text}"),
                None => text,
            }
        });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn people(list: Option<&XmlElement>) -> Vec<String> {
    let named =
        list.into_iter().flat_map(|element| element.children_named("Author")).filter_map(|it| {
            let last = it.text_at("LastName");
            let whole = || {
                let first = it.text_at("ForeName").or_else(|| it.text_at("Initials"));
                Some(match first {
                    Some(first) => format!("{first} {}", last?),
                    None => last?,
                })
            };
            whole().or_else(|| it.text_at("CollectiveName"))
        });
    named.map(|it| truncate(&it, 100)).take(50).collect()
}

/// The retraction of a work or the expression of concern about it, if PubMed records one.
fn retracted(cited: &XmlElement, kinds: &[String]) -> Option<String> {
    if kinds.iter().any(|kind| kind.eq_ignore_ascii_case("Retracted Publication")) {
        return Some("retracted, as PubMed records".to_owned());
    }
    let notes = cited
        .find("CommentsCorrectionsList")
        .into_iter()
        .flat_map(|it| it.children_named("CommentsCorrections"));
    for it in notes {
        let said = match it.attribute("RefType") {
            Some("RetractionIn") => "retracted",
            Some("ExpressionOfConcernIn") => "under an expression of concern",
            _ => continue,
        };
        let place = it
            .text_at("RefSource")
            .map(|text| format!(" ({})", truncate(&text, 120)))
            .unwrap_or_default();
        return Some(format!("{said}, as PubMed records{place}"));
    }
    None
}

fn date(it: Option<&XmlElement>) -> Option<String> {
    let it = it?;
    let number = |name: &str| it.text_at(name)?.parse().ok();
    // The first year of "1998 Dec-1999 Jan".
    let loose = || it.text_at("MedlineDate")?.get(..4)?.parse().ok();
    let named = it.text_at("Month");
    date_from_parts(
        number("Year").or_else(loose),
        named.as_deref().and_then(parse_month),
        number("Day"),
    )
}
