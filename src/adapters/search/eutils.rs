//! The E-utilities of the NCBI besides the records of PubMed: searches for ids, summaries, links between records, and what the
//! service says of itself. Whichever database is asked, an answer is of these forms.
use super::answer::{
    Named, Read, count, cut, json, month, parts, refused, taken_back, text, title, word,
};
use super::xml::Element;
use crate::adapters::model::{Headers, ModelFault};
use crate::domain::work::{doi, pmcid, pmid};
use crate::domain::{Hit, Work};

/// What a search for ids found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// How many there are in all.
    pub count: u64,
    /// Those of this answer, in its order.
    pub ids: Vec<String>,
    /// Where the whole answer is kept: the history server's `WebEnv` and `query_key`.
    pub history: Option<(String, String)>,
    /// What the service says of the query: words it does not know.
    pub remarks: Vec<String>,
}

/// Records of one database that records of another lead to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// What leads there: `pubmed_pubmed_citedin` for those that cite.
    pub name: String,
    /// From which ids.
    pub from: Vec<String>,
    /// To which ids.
    pub to: Vec<String>,
}

/// The XML of an answer, or the fault that it tells under 200: `<ERROR>` somewhere near its root.
pub(super) fn tree(status: u16, headers: &Headers, body: &[u8]) -> Read<Element> {
    let page = text(status, headers, body)?;
    if page.trim().is_empty() {
        return Err(ModelFault::transient("its answer is empty"));
    }
    if page.trim_start().starts_with('{') {
        // Faults of the gateway before the service are JSON: `{"error": "API rate limit exceeded"}`.
        let value = json(status, headers, body)?;
        let said = word(&value, "error").or_else(|| word(&value, "message"));
        return Err(refused(said.unwrap_or("its answer is JSON instead of XML")));
    }
    let tree = Element::of(body)?;
    let errors = |it: &Element| {
        let all: Vec<String> = it
            .all("ERROR")
            .chain(it.all("Error"))
            .map(Element::text)
            .collect();
        all.into_iter().find(|it| !it.is_empty())
    };
    let root = tree.children().next();
    let below = root
        .into_iter()
        .flat_map(Element::children)
        .find_map(errors);
    match root.and_then(errors).or(below) {
        Some(said) => Err(refused(&said)),
        None => Ok(tree),
    }
}

fn part<'a>(tree: &'a Element, name: &str) -> Read<&'a Element> {
    tree.at(name)
        .ok_or_else(|| ModelFault::malformed(format!("its answer has no `{name}`")))
}

/// Ids are numbers; those of some databases have more digits than PubMed's.
fn is_id(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
}

/// The ids in an answer of `esearch`, in JSON or XML.
pub(super) fn ids(status: u16, headers: &Headers, body: &[u8]) -> Read<Ids> {
    if body.trim_ascii_start().starts_with(b"<") {
        let tree = tree(status, headers, body)?;
        let found = part(&tree, "eSearchResult")?;
        return Ok(Ids {
            count: found
                .word("Count")
                .and_then(|it| it.parse().ok())
                .unwrap_or(0),
            ids: found
                .at("IdList")
                .into_iter()
                .flat_map(|it| it.all("Id"))
                .map(Element::text)
                .filter(|it| is_id(it))
                .collect(),
            history: found.word("WebEnv").zip(found.word("QueryKey")),
            remarks: Vec::new(),
        });
    }
    let value = json(status, headers, body)?;
    let found = value
        .get("esearchresult")
        .ok_or_else(|| ModelFault::malformed("its answer has no `esearchresult`"))?;
    if let Some(said) = word(found, "ERROR") {
        return Err(refused(said));
    }
    let listed = |value: &serde_json::Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|it| it.as_str().map(str::to_owned))
            .collect()
    };
    let unknown = found
        .pointer("/errorlist/phrasesnotfound")
        .map(listed)
        .unwrap_or_default();
    Ok(Ids {
        count: word(found, "count")
            .and_then(|it| it.parse().ok())
            .unwrap_or(0),
        ids: found
            .get("idlist")
            .map(listed)
            .unwrap_or_default()
            .iter()
            .filter(|it| is_id(it))
            .cloned()
            .collect(),
        history: word(found, "webenv")
            .zip(word(found, "querykey"))
            .map(|it| (it.0.to_owned(), it.1.to_owned())),
        remarks: unknown
            .iter()
            .take(5)
            .map(|it| format!("PubMed does not know `{}`", cut(it, 60)))
            .collect(),
    })
}

/// The records that lead on from others, in an answer of `elink`: one for each way in which they do.
pub(super) fn links(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<Links>> {
    let tree = tree(status, headers, body)?;
    let mut found = Vec::new();
    for set in part(&tree, "eLinkResult")?.all("LinkSet") {
        let from: Vec<String> = set
            .at("IdList")
            .into_iter()
            .flat_map(|it| it.all("Id"))
            .map(Element::text)
            .collect();
        for way in set.all("LinkSetDb") {
            found.push(Links {
                name: way.word("LinkName").unwrap_or_default(),
                from: from.clone(),
                to: way.all("Link").filter_map(|it| it.word("Id")).collect(),
            });
        }
        // What was kept on the history server names the way alone; a check of links names all there are, by id.
        for way in set.all("LinkSetDbHistory") {
            found.push(Links {
                name: way.word("LinkName").unwrap_or_default(),
                from: from.clone(),
                to: Vec::new(),
            });
        }
        let checked = set.all("IdCheckList").flat_map(|it| it.all("IdLinkSet"));
        for one in checked {
            for way in one.all("LinkInfo") {
                found.push(Links {
                    name: way.word("LinkName").unwrap_or_default(),
                    from: one.word("Id").into_iter().collect(),
                    to: Vec::new(),
                });
            }
        }
    }
    Ok(found)
}

/// The PubMed ids of what cites a work, in an answer of `elink` with `linkname=pubmed_pubmed_citedin`.
pub(super) fn cited_by(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<String>> {
    let ways = links(status, headers, body)?;
    let citing = ways
        .into_iter()
        .filter(|it| it.name == "pubmed_pubmed_citedin");
    Ok(citing
        .flat_map(|it| it.to)
        .filter_map(|it| pmid(&it))
        .collect())
}

/// The records in an answer of `esummary`, without their abstracts: in XML of either version, or in JSON. What has no title is none.
pub(super) fn summaries(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<Hit>> {
    if body.trim_ascii_start().starts_with(b"{") {
        return in_json(status, headers, body);
    }
    let tree = tree(status, headers, body)?;
    let found = part(&tree, "eSummaryResult")?;
    let newer = found
        .all("DocumentSummarySet")
        .flat_map(|it| it.all("DocumentSummary"));
    let newer = newer.filter_map(summary_2);
    Ok(found
        .all("DocSum")
        .filter_map(summary)
        .chain(newer)
        .collect())
}

/// A summary of version 2, whose fields are elements.
fn summary_2(it: &Element) -> Option<Hit> {
    let id = it.attribute("uid").filter(|it| is_id(it))?;
    let name = ["Title", "Name", "Description", "Caption"]
        .iter()
        .find_map(|name| it.word(name))?;
    let is_pubmed = it.word("PubDate").is_some() && it.at("FullJournalName").is_some();
    let ids = it.at("ArticleIds");
    let id_of = |kind: &str| {
        let mut all = ids.into_iter().flat_map(|it| it.all("ArticleId"));
        let found = all.find(|it| it.word("IdType").as_deref() == Some(kind));
        found.and_then(|it| it.word("Value"))
    };
    let people = it.at("Authors").into_iter().flat_map(|it| it.all("Author"));
    let work = Work {
        pmid: pmid(id).filter(|_| is_pubmed),
        doi: id_of("doi").as_deref().and_then(doi),
        pmcid: id_of("pmc").as_deref().and_then(pmcid),
        authors: people
            .filter_map(|it| it.word("Name"))
            .map(|it| cut(&it, 100))
            .take(50)
            .collect(),
        venue: it.word("FullJournalName").map(|it| cut(&it, 200)),
        ..Work::default()
    };
    let date = ["EPubDate", "PubDate"]
        .iter()
        .find_map(|name| spelt(&it.word(name)?));
    Some(shown(id, is_pubmed, &name, date, work))
}

fn summary(it: &Element) -> Option<Hit> {
    let id = it.word("Id").filter(|it| is_id(it))?;
    let item = |name: &str| {
        let found = it.all("Item").find(|it| it.attribute("Name") == Some(name));
        found.map(Element::text).filter(|it| !it.is_empty())
    };
    let listed = |name: &str| -> Vec<String> {
        let list = it.all("Item").find(|it| it.attribute("Name") == Some(name));
        let all = list
            .into_iter()
            .flat_map(|it| it.all("Item"))
            .map(|it| cut(&it.text(), 100));
        all.filter(|it| !it.is_empty()).take(50).collect()
    };
    let within = |list: &str, name: &str| {
        let list = it
            .all("Item")
            .find(|it| it.attribute("Name") == Some(list))?;
        let found = list
            .all("Item")
            .find(|it| it.attribute("Name") == Some(name))?;
        Some(found.text()).filter(|it| !it.is_empty())
    };
    let name = item("Title")
        .or_else(|| item("MeSHHeadingList"))
        .or_else(|| item("Caption"))?;
    // Only a summary of PubMed has these.
    let is_pubmed = item("PubDate").is_some() || item("PubStatus").is_some();
    let mut work = Work::default();
    if is_pubmed {
        work = Work {
            pmid: pmid(&id),
            doi: item("DOI")
                .or_else(|| within("ArticleIds", "doi"))
                .as_deref()
                .and_then(doi),
            pmcid: within("ArticleIds", "pmc").as_deref().and_then(pmcid),
            authors: listed("AuthorList"),
            venue: item("FullJournalName").or_else(|| item("Source")),
            kinds: listed("PubTypeList"),
            cited_by: item("PmcRefCount").and_then(|it| it.parse().ok()),
            ..Work::default()
        };
    }
    let date = ["EPubDate", "PubDate"]
        .iter()
        .find_map(|name| spelt(&item(name)?));
    Some(shown(&id, is_pubmed, &name, date, work))
}

fn in_json(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<Hit>> {
    let value = json(status, headers, body)?;
    let found = value
        .get("result")
        .and_then(serde_json::Value::as_object)
        .ok_or_else(|| ModelFault::malformed("its answer has no `result`"))?;
    let each = found
        .iter()
        .filter(|it| it.0 != "uids")
        .filter_map(|(id, it)| {
            let name = word(it, "title").filter(|_| is_id(id))?;
            let ids = it.get("articleids").and_then(serde_json::Value::as_array);
            let id_of = |kind: &str| {
                let all = ids.into_iter().flatten();
                let mut named = all.filter(|it| word(it, "idtype") == Some(kind));
                named.find_map(|it| word(it, "value"))
            };
            let people = it
                .get("authors")
                .and_then(serde_json::Value::as_array)
                .into_iter()
                .flatten();
            let is_pubmed = word(it, "pubdate").is_some();
            let mut work = Work {
                pmid: pmid(id).filter(|_| is_pubmed),
                doi: id_of("doi").and_then(doi),
                pmcid: id_of("pmc").and_then(pmcid),
                authors: people
                    .filter_map(|it| word(it, "name"))
                    .map(|it| cut(it, 100))
                    .take(50)
                    .collect(),
                venue: word(it, "fulljournalname")
                    .or(word(it, "source"))
                    .map(|it| cut(it, 200)),
                cited_by: count(it, "pmcrefcount"),
                ..Work::default()
            };
            let kinds = it
                .get("pubtype")
                .and_then(serde_json::Value::as_array)
                .into_iter()
                .flatten();
            work.kinds = kinds
                .filter_map(|it| it.as_str())
                .map(|it| cut(it, 100))
                .take(20)
                .collect();
            let date = ["epubdate", "pubdate"]
                .iter()
                .find_map(|name| spelt(word(it, name)?));
            Some(shown(id, is_pubmed, name, date, work))
        });
    Ok(each.collect())
}

/// A date as PubMed spells it: `2001 Jun 5`, `2001 Jun-Jul`, `2001 Spring`, `2001`.
fn spelt(text: &str) -> Option<String> {
    let mut words = text.split([' ', '-', '/']).filter(|it| !it.is_empty());
    let year = words.next()?.parse().ok();
    let month = words.next().and_then(month);
    parts(year, month, words.next().and_then(|it| it.parse().ok()))
}

fn shown(id: &str, is_pubmed: bool, name: &str, date: Option<String>, mut work: Work) -> Hit {
    let url = match is_pubmed {
        true => format!("https://pubmed.ncbi.nlm.nih.gov/{id}/"),
        false => format!("https://www.ncbi.nlm.nih.gov/search/all/?term={id}"),
    };
    work.retracted = taken_back(name, &work.kinds, "PubMed");
    let mut hit = Hit::new("pubmed", &url, &title(name.trim_matches(['[', ']'])), "");
    hit.date = date;
    hit.work = work;
    hit
}

/// Where `epost` has put ids: `WebEnv` and `query_key`.
pub(super) fn posted(status: u16, headers: &Headers, body: &[u8]) -> Read<(String, String)> {
    let tree = tree(status, headers, body)?;
    let found = part(&tree, "ePostResult")?;
    let place = found.word("WebEnv").zip(found.word("QueryKey"));
    place.ok_or_else(|| ModelFault::malformed("its answer has no `WebEnv`"))
}

/// The databases there are, or what one has to search in and to follow, in an answer of `einfo`.
pub(super) fn described(status: u16, headers: &Headers, body: &[u8]) -> Read<Vec<Named>> {
    let tree = tree(status, headers, body)?;
    let found = part(&tree, "eInfoResult")?;
    let names = found.all("DbList").flat_map(|it| it.all("DbName"));
    let mut all: Vec<Named> = names
        .map(|it| Named {
            id: it.text(),
            name: String::new(),
        })
        .collect();
    for one in found.all("DbInfo") {
        let lists = ["FieldList", "LinkList"]
            .iter()
            .flat_map(|name| one.all(name));
        let rows = std::iter::once(one).chain(lists.flat_map(Element::children));
        all.extend(rows.map(|it| {
            Named {
                id: it
                    .word("DbName")
                    .or_else(|| it.word("Name"))
                    .unwrap_or_default(),
                name: it.word("Description").unwrap_or_default(),
            }
        }));
    }
    match all.is_empty() {
        true => Err(ModelFault::malformed("its answer names no database")),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xml(inner: &str) -> Vec<u8> {
        format!("<?xml version=\"1.0\"?><!DOCTYPE x>\n{inner}").into_bytes()
    }

    #[test]
    fn a_fault_under_200_is_of_its_kind() {
        let of = |it: &str| ids(200, &Headers::default(), &xml(it)).unwrap_err().kind;
        let gone = "<eSearchResult><ERROR>Search Backend failed: timed out</ERROR></eSearchResult>";
        assert_eq!(of(gone), crate::Kind::Transient);
        let bad =
            "<eSearchResult><ERROR>Invalid db name specified: nothing</ERROR></eSearchResult>";
        assert_eq!(of(bad), crate::Kind::Malformed);
        let json = br#"{"error":"API rate limit exceeded","count":"11"}"#;
        assert!(links(200, &Headers::default(), json).is_err());
        assert_eq!(
            posted(200, &Headers::default(), b"").unwrap_err().kind,
            crate::Kind::Transient
        );
    }

    #[test]
    fn what_cites_a_work_is_among_its_links() {
        let body = xml(
            "<eLinkResult><LinkSet><DbFrom>pubmed</DbFrom><IdList><Id>1</Id></IdList>\
             <LinkSetDb><LinkName>pubmed_pubmed</LinkName><Link><Id>2</Id></Link></LinkSetDb>\
             <LinkSetDb><LinkName>pubmed_pubmed_citedin</LinkName><Link><Id>3</Id></Link><Link><Id>4</Id></Link></LinkSetDb>\
             </LinkSet></eLinkResult>",
        );
        let all = links(200, &Headers::default(), &body).unwrap();
        assert_eq!(
            (all.len(), all[0].from.as_slice()),
            (2, ["1".to_owned()].as_slice())
        );
        assert_eq!(
            cited_by(200, &Headers::default(), &body).unwrap(),
            ["3", "4"]
        );
    }

    #[test]
    fn a_summary_has_its_ids_and_its_day() {
        let body = xml(
            "<eSummaryResult><DocSum><Id>7</Id><Item Name=\"PubDate\" Type=\"Date\">2001 Jun-Jul</Item>\
             <Item Name=\"Title\" Type=\"String\">Cork floats.</Item><Item Name=\"DOI\" Type=\"String\">10.1000/A</Item>\
             <Item Name=\"AuthorList\" Type=\"List\"><Item Name=\"Author\" Type=\"String\">Quill A</Item></Item></DocSum>\
             <DocSum><Id>8</Id></DocSum></eSummaryResult>",
        );
        let hits = summaries(200, &Headers::default(), &body).unwrap();
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].work.keys(), ["doi:10.1000/a", "pmid:7"]);
        assert_eq!(hits[0].date.as_deref(), Some("2001-06-01"));
        let json = br#"{"result":{"uids":["7"],"7":{"uid":"7","title":"Cork floats.","pubdate":"2001 Jun","authors":[{"name":"Quill A"}],
            "articleids":[{"idtype":"doi","value":"10.1000/A"}],"pmcrefcount":3}}}"#;
        let hits = summaries(200, &Headers::default(), json).unwrap();
        assert_eq!(hits[0].work.cited_by, Some(3));
        assert_eq!(hits[0].work.doi.as_deref(), Some("10.1000/a"));
    }

    #[test]
    fn databases_fields_and_what_was_kept_are_named() {
        let list = xml("<eInfoResult><DbList><DbName>pubmed</DbName></DbList></eInfoResult>");
        assert_eq!(
            described(200, &Headers::default(), &list).unwrap()[0].id,
            "pubmed"
        );
        let one = xml(
            "<eInfoResult><DbInfo><DbName>pubmed</DbName><Description>papers</Description>\
             <FieldList><Field><Name>TITL</Name></Field></FieldList></DbInfo></eInfoResult>",
        );
        assert_eq!(
            described(200, &Headers::default(), &one).unwrap()[1].id,
            "TITL"
        );
        let kept = xml("<ePostResult><QueryKey>1</QueryKey><WebEnv>abc</WebEnv></ePostResult>");
        assert_eq!(
            posted(200, &Headers::default(), &kept).unwrap(),
            ("abc".to_owned(), "1".to_owned())
        );
    }
}
