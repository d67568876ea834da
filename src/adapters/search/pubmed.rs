//! PubMed, through the E-utilities of the NCBI: search for ids, then fetch the records with their abstracts.
use async_trait::async_trait;

use super::answer::{Read, cut, month, parts, taken_back, title, whole};
use super::eutils::{self, Ids, ids};
use super::words::{is_written, terms};
use super::xml::Element;
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::work::{doi, pmcid, pmid};
use crate::domain::{Hit, Hits, Query, Work, pubmed as syntax};
use crate::error::{Kind, Result};

/// Ids asked for in one address; more are kept on the history server and fetched from there.
const IN_ADDRESS: usize = 200;
/// Works that a query in PubMed's syntax must find, or it is asked in plain words too.
const ENOUGH: usize = 3;

/// `esearch.fcgi`, then `efetch.fcgi`.
struct Pubmed {
    key: Option<String>,
    contact: Option<String>,
}

pub(super) fn api(given: &Given) -> Box<dyn super::Api> {
    Box::new(Pubmed {
        key: given.key.clone(),
        contact: given.contact.clone(),
    })
}

impl Pubmed {
    /// The parameters that every call has.
    fn common<'a>(&'a self, own: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut all = vec![("db", "pubmed"), ("tool", "ibid")];
        all.extend(self.contact.as_deref().map(|it| ("email", it)));
        all.extend(self.key.as_deref().map(|it| ("api_key", it)));
        all.extend(own);
        all
    }

    async fn ids(&self, service: &Service, term: &str, query: &Query) -> Result<Ids> {
        let limit = query.limit.to_string();
        let mut own = vec![
            ("term", term),
            ("retmax", &limit),
            ("retmode", "json"),
            ("sort", "relevance"),
        ];
        if query.limit as usize > IN_ADDRESS {
            own.push(("usehistory", "y"));
        }
        let slashes = |it: &Option<String>| it.as_ref().map(|it| it.replace('-', "/"));
        let (since, until) = (slashes(&query.since), slashes(&query.until));
        if since.is_some() || until.is_some() {
            own.push(("datetype", "pdat"));
            own.push(("mindate", since.as_deref().unwrap_or("1800")));
            own.push(("maxdate", until.as_deref().unwrap_or("3000")));
        }
        service
            .answered(&Ask::get("/esearch.fcgi", &self.common(&own)), ids)
            .await
    }

    /// The ids that a query finds. A query in PubMed's syntax that finds too little, or that PubMed does not understand, is
    /// asked in plain words too, and what these find stands behind: its form never costs a work that its words would find.
    async fn found(&self, service: &Service, query: &Query) -> Result<Ids> {
        let mut tries = terms(query.text());
        let mut enough = 1;
        let strict = is_written(query.text());
        if strict {
            enough = ENOUGH.min(query.limit.max(1) as usize);
            let plain = syntax::plain(query.text());
            tries.extend(terms(&plain).into_iter().filter(|_| !plain.is_empty()));
        }
        let last = tries.len().saturating_sub(1);
        let mut found = Ids::default();
        for (nth, term) in tries.iter().enumerate() {
            let more = match self.ids(service, term, query).await {
                Ok(more) => more,
                // What was found is not lost because another form fails, nor a plain form because the strict one does.
                Err(fault) if fault.kind() == Kind::Malformed && nth < last => continue,
                Err(fault) if found.ids.is_empty() || fault.kind() == Kind::Cancelled => {
                    return Err(fault);
                }
                Err(_) => break,
            };
            let had = found.ids.len();
            if strict && nth > 0 && !more.ids.is_empty() {
                found.remarks.push(format!(
                    "PubMed's own syntax found {had}; plain words were asked too"
                ));
            }
            found.count = found.count.max(more.count);
            found.remarks.extend(more.remarks);
            // The server keeps one search; what two have found is fetched by its ids.
            found.history = more.history.filter(|_| had == 0);
            let fresh = more.ids.into_iter().filter(|it| !found.ids.contains(it));
            let fresh: Vec<String> = fresh.collect();
            found.ids.extend(fresh);
            if found.ids.len() >= enough {
                break;
            }
        }
        let most = match found.history {
            Some(_) => query.limit as usize,
            None => (query.limit as usize).min(IN_ADDRESS),
        };
        found.ids.truncate(most.max(1));
        Ok(found)
    }
}

#[async_trait]
impl Api for Pubmed {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let found = self.found(service, query).await?;
        if found.ids.is_empty() {
            return Ok(Hits {
                remarks: found.remarks,
                ..Hits::default()
            });
        }
        let wanted = found.ids.join(",");
        let limit = query.limit.to_string();
        let own: Vec<(&str, &str)> = match &found.history {
            Some((env, key)) => vec![
                ("WebEnv", env),
                ("query_key", key),
                ("retmax", &limit),
                ("retmode", "xml"),
            ],
            None => vec![("id", &wanted), ("rettype", "abstract"), ("retmode", "xml")],
        };
        let records = service
            .answered(&Ask::get("/efetch.fcgi", &self.common(&own)), records)
            .await?;
        // Records come in the order of their ids; the search has put them by relevance.
        let mut records: Vec<Hit> = records;
        let place = |it: &Hit| {
            let of = |id: &String| it.work.pmid.as_ref() == Some(id);
            found.ids.iter().position(of).unwrap_or(usize::MAX)
        };
        records.sort_by_key(place);
        Ok(Hits {
            hits: records,
            remarks: found.remarks,
            cost_usd: None,
        })
    }
}

/// The records in an answer of `efetch`.
pub(super) fn records(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<Hit>> {
    let tree = eutils::tree(status, headers, body)?;
    let set = tree.at("PubmedArticleSet").ok_or_else(|| {
        // Another database answers with a set of its own.
        let found = tree.children().next().map(|it| cut(&it.name, 40));
        let found = found.unwrap_or_default();
        ModelFault::malformed(format!(
            "its answer is `{found}` instead of `PubmedArticleSet`"
        ))
    })?;
    let articles = set.all("PubmedArticle").filter_map(article);
    let books = set.all("PubmedBookArticle").filter_map(book);
    Ok(articles.chain(books).collect())
}

fn article(it: &Element) -> Option<Hit> {
    let cited = it.at("MedlineCitation")?;
    let id = pmid(&cited.word("PMID")?)?;
    let article = cited.at("Article")?;
    let mut work = Work {
        pmid: Some(id.clone()),
        venue: article.word("Journal/Title"),
        authors: people(article.at("AuthorList")),
        kinds: article
            .at("PublicationTypeList")
            .into_iter()
            .flat_map(|it| it.all("PublicationType"))
            .map(Element::text)
            .collect(),
        ..Work::default()
    };
    let ids = it
        .at("PubmedData/ArticleIdList")
        .into_iter()
        .flat_map(|it| it.all("ArticleId"));
    for it in ids {
        match it.attribute("IdType") {
            Some("doi") => work.doi = work.doi.or_else(|| doi(&it.text())),
            Some("pmc") => work.pmcid = work.pmcid.or_else(|| pmcid(&it.text())),
            _ => {}
        }
    }
    let located = article
        .all("ELocationID")
        .find(|it| it.attribute("EIdType") == Some("doi"));
    work.doi = work.doi.or_else(|| doi(&located?.text()));
    let name = article
        .word("ArticleTitle")
        .or_else(|| article.word("VernacularTitle"))?;
    work.retracted =
        retracted(cited, &work.kinds).or_else(|| taken_back(&name, &work.kinds, "PubMed"));
    let text = abstract_of(article.at("Abstract"));
    let date = date(article.at("ArticleDate"))
        .or_else(|| date(article.at("Journal/JournalIssue/PubDate")));
    Some(hit(&id, &name, &text, date, work))
}

fn book(it: &Element) -> Option<Hit> {
    let document = it.at("BookDocument")?;
    let id = pmid(&document.word("PMID")?)?;
    let name = document
        .word("ArticleTitle")
        .or_else(|| document.word("Book/BookTitle"))?;
    let work = Work {
        pmid: Some(id.clone()),
        venue: document.word("Book/BookTitle"),
        authors: people(
            document
                .at("AuthorList")
                .or_else(|| document.at("Book/AuthorList")),
        ),
        kinds: document.all("PublicationType").map(Element::text).collect(),
        ..Work::default()
    };
    let text = abstract_of(document.at("Abstract"));
    let date = date(document.at("ContributionDate")).or_else(|| date(document.at("Book/PubDate")));
    Some(hit(&id, &name, &text, date, work))
}

fn hit(id: &str, name: &str, text: &str, date: Option<String>, work: Work) -> Hit {
    let url = format!("https://pubmed.ncbi.nlm.nih.gov/{id}/");
    let mut hit = Hit::new(
        "pubmed",
        &url,
        &title(name.trim_matches(['[', ']'])),
        &cut(text, 600),
    );
    hit.text = whole(text);
    hit.date = date;
    hit.work = work;
    hit
}

/// An abstract, a paragraph for each of its parts, with their labels.
fn abstract_of(it: Option<&Element>) -> String {
    let parts = it
        .into_iter()
        .flat_map(|it| it.all("AbstractText"))
        .map(|it| {
            let text = it.text();
            match it
                .attribute("Label")
                .filter(|it| !it.is_empty() && *it != "UNLABELLED")
            {
                Some(label) => format!("{label}: {text}"),
                None => text,
            }
        });
    parts
        .filter(|it| !it.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn people(list: Option<&Element>) -> Vec<String> {
    let named = list
        .into_iter()
        .flat_map(|it| it.all("Author"))
        .filter_map(|it| {
            let last = it.word("LastName");
            let whole = || {
                let first = it.word("ForeName").or_else(|| it.word("Initials"));
                Some(match first {
                    Some(first) => format!("{first} {}", last?),
                    None => last?,
                })
            };
            whole().or_else(|| it.word("CollectiveName"))
        });
    named.map(|it| cut(&it, 100)).take(50).collect()
}

/// Whether PubMed says that a work was taken back, or is doubted by its journal.
fn retracted(cited: &Element, kinds: &[String]) -> Option<String> {
    if kinds
        .iter()
        .any(|it| it.eq_ignore_ascii_case("Retracted Publication"))
    {
        return Some("retracted, as PubMed records".to_owned());
    }
    let notes = cited
        .at("CommentsCorrectionsList")
        .into_iter()
        .flat_map(|it| it.all("CommentsCorrections"));
    for it in notes {
        let said = match it.attribute("RefType") {
            Some("RetractionIn") => "retracted",
            Some("ExpressionOfConcernIn") => "under an expression of concern",
            _ => continue,
        };
        let place = it
            .word("RefSource")
            .map(|it| format!(" ({})", cut(&it, 120)))
            .unwrap_or_default();
        return Some(format!("{said}, as PubMed records{place}"));
    }
    None
}

fn date(it: Option<&Element>) -> Option<String> {
    let it = it?;
    let number = |name: &str| it.word(name)?.parse().ok();
    // "1998 Dec-1999 Jan": the year it began.
    let loose = || it.word("MedlineDate")?.get(..4)?.parse().ok();
    let named = it.word("Month");
    parts(
        number("Year").or_else(loose),
        named.as_deref().and_then(month),
        number("Day"),
    )
}
