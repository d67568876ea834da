//! A second reader of recorded answers of search interfaces and catalogues: a walk over JSON and regular expressions over
//! XML, which share no code with the program. It counts and names, and knows nothing of what may be missing.

use regex::Regex;
use serde_json::Value;

/// What stands in a row.
#[derive(Debug)]
pub(super) enum Facts {
    /// Works, pages, posts, in any order.
    Found(Vec<Fact>),
    /// So many ids, names or links.
    Count(usize),
    /// The answer is no answer.
    Fault,
}

/// One of what was found.
#[derive(Debug, Default, Clone)]
pub(super) struct Fact {
    pub(super) title: String,
    /// An address or ids, each of which must be known of it.
    pub(super) ids: Vec<String>,
    /// The year at least.
    pub(super) date: Option<String>,
}

/// What a row of `api` says, asked at `url`.
pub(super) fn of(api: &str, url: &str, status: u16, body: &str) -> Facts {
    let first = body.trim_start().chars().next().unwrap_or(' ');
    let value: Option<Value> = serde_json::from_str(body).ok();
    let error = value.as_ref().and_then(|value| value.get("error")).is_some_and(|it| !it.is_null());
    if !(200..300).contains(&status) || first == ' ' || error {
        return Facts::Fault;
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let Some(value) = value else {
        return match api {
            "pubmed-eutils" => eutils(path, body),
            "arxiv" => arxiv(body),
            "wikipedia" if path.contains("/wiki/") => page(body),
            "duckduckgo" => duckduckgo(body),
            _ => Facts::Fault,
        };
    };
    match api {
        "crossref" => crossref(&value),
        "openalex" => openalex(&value),
        "semanticscholar" => semantic(&value),
        "unpaywall" => unpaywall(&value),
        "wikipedia" => wikipedia(&value),
        "pubmed-eutils" => match value.pointer("/esearchresult/idlist") {
            Some(Value::Array(ids)) => Facts::Count(ids.len()),
            _ => Facts::Fault,
        },
        "serper" => rows(&value, &["/organic", "/news"], "link"),
        "tavily" => rows(&value, &["/results"], "url"),
        _ => Facts::Fault,
    }
}

fn text(value: &Value, path: &str) -> String {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn all<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn rows(value: &Value, paths: &[&str], url: &str) -> Facts {
    let Some(list) = paths.iter().find_map(|path| value.pointer(path)?.as_array()) else {
        return Facts::Fault;
    };
    let fact = |value: &Value| Fact {
        title: text(value, "/title"),
        ids: vec![text(value, &format!("/{url}"))],
        date: None,
    };
    Facts::Found(list.iter().map(fact).collect())
}

fn crossref(value: &Value) -> Facts {
    let message = value.get("message").unwrap_or(value);
    let items = all(message, "/items");
    let is_list = message.get("items").is_some();
    let fact = |it: &Value| {
        let title = it
            .get("title")
            .and_then(|value| value.get(0).and_then(Value::as_str).or(value.as_str()));
        let years = ["published", "issued", "published-online", "published-print"];
        let years = years.iter().filter_map(|name| it.pointer(&format!("/{name}/date-parts/0/0")));
        Fact {
            title: title.unwrap_or_default().to_owned(),
            ids: vec![format!("doi:{}", text(it, "/DOI").to_lowercase())],
            date: years.filter_map(Value::as_i64).next().map(|it| it.to_string()),
        }
    };
    if is_list {
        // What was asked for without its DOI leads nowhere.
        Facts::Found(items.iter().filter(|item| item.get("DOI").is_some()).map(fact).collect())
    } else if message.get("DOI").is_none() {
        Facts::Fault
    } else {
        Facts::Found(vec![fact(message)])
    }
}

fn openalex(value: &Value) -> Facts {
    let fact = |value: &Value| {
        let last = |path: &str| text(value, path).rsplit('/').next().unwrap_or_default().to_owned();
        let doi = text(value, "/doi").replace("https://doi.org/", "").to_lowercase();
        let mut ids = vec![format!("doi:{doi}")];
        if !last("/ids/pmid").is_empty() {
            ids.push(format!("pmid:{}", last("/ids/pmid")));
        }
        Fact {
            title: text(value, "/title"),
            ids: if doi.is_empty() { Vec::new() } else { ids },
            date: Some(text(value, "/publication_date")).filter(|it| !it.is_empty()),
        }
    };
    match value.get("results") {
        Some(_) => Facts::Found(all(value, "/results").iter().map(fact).collect()),
        None => Facts::Found(vec![fact(value)]),
    }
}

fn semantic(value: &Value) -> Facts {
    let list: Vec<Value> = match (value, value.get("data").or(value.get("recommendedPapers"))) {
        (Value::Array(rows), _) => rows.clone(),
        (_, Some(Value::Array(rows))) => rows.clone(),
        _ if value.get("paperId").is_some() => vec![value.clone()],
        _ if value.get("total") == Some(&Value::from(0)) => Vec::new(),
        _ => return Facts::Fault,
    };
    let fact = |value: &Value| {
        let inner = ["citedPaper", "citingPaper", "paper"].iter().find_map(|name| value.get(*name));
        let value = inner.unwrap_or(value);
        let mut ids = Vec::new();
        for (kind, path) in [
            ("doi", "/externalIds/DOI"),
            ("pmid", "/externalIds/PubMed"),
            ("arxiv", "/externalIds/ArXiv"),
        ] {
            let id = text(value, path);
            if !id.is_empty() {
                let id = if kind == "doi" { id.to_lowercase() } else { id };
                ids.push(format!("{kind}:{id}"));
            }
        }
        let year = value.get("year").and_then(Value::as_i64).map(|it| it.to_string());
        let day = Some(text(value, "/publicationDate")).filter(|it| !it.is_empty());
        Fact { title: text(value, "/title"), ids, date: day.or(year) }
    };
    // What has neither an id of its own nor another's leads nowhere.
    let leads = |value: &Value| {
        let inner = ["citedPaper", "citingPaper", "paper"].iter().find_map(|name| value.get(*name));
        let value = inner.unwrap_or(value);
        let told = [
            "/paperId",
            "/externalIds/DOI",
            "/externalIds/ArXiv",
            "/externalIds/CorpusId",
            "/corpusId",
            "/url",
        ];
        told.iter().any(|path| value.pointer(path).is_some_and(|pointer| !pointer.is_null()))
    };
    Facts::Found(list.iter().filter(|value| leads(value)).map(fact).collect())
}

fn unpaywall(value: &Value) -> Facts {
    let fact = |value: &Value| Fact {
        title: text(value, "/title"),
        ids: vec![format!("doi:{}", text(value, "/doi").to_lowercase())],
        date: Some(text(value, "/published_date")).filter(|it| !it.is_empty()),
    };
    match value.get("results") {
        Some(Value::Array(list)) => {
            Facts::Found(list.iter().map(|value| fact(&value["response"])).collect())
        }
        _ => Facts::Found(vec![fact(value)]),
    }
}

fn wikipedia(value: &Value) -> Facts {
    let Some(query) = value.get("query").and_then(Value::as_object) else {
        if value.pointer("/parse/title").is_some() {
            return Facts::Found(vec![Fact {
                title: text(value, "/parse/title"),
                ..Fact::default()
            }]);
        }
        return match value.get("batchcomplete") {
            Some(_) => Facts::Found(Vec::new()),
            None => Facts::Fault,
        };
    };
    let mut found = Vec::new();
    for (name, group) in query {
        if ["normalized", "redirects", "converted", "interwiki"].contains(&name.as_str()) {
            continue;
        }
        let rows: Vec<&Value> = match group {
            Value::Array(rows) => rows.iter().collect(),
            Value::Object(rows) if name == "pages" => rows.values().collect(),
            _ => Vec::new(),
        };
        for it in rows.into_iter().filter(|row| row.get("title").is_some()) {
            if (it.get("missing").is_none() || it.get("known").is_some())
                && it.get("invalid").is_none()
            {
                found.push(Fact {
                    title: text(it, "/title"),
                    ids: vec![text(it, "/fullurl")]
                        .into_iter()
                        .filter(|it| !it.is_empty())
                        .collect(),
                    date: None,
                });
            }
        }
    }
    Facts::Found(found)
}

/// The insides of every element of this name.
fn insides(body: &str, name: &str) -> Vec<String> {
    let Ok(pattern) = Regex::new(&format!(r"(?s)<{name}(?:\s[^>]*)?>(.*?)</{name}>")) else {
        return Vec::new();
    };
    pattern.captures_iter(body).map(|captures_iter| captures_iter[1].to_owned()).collect()
}

fn eutils(path: &str, body: &str) -> Facts {
    if insides(body, "ERROR").iter().any(|text| !text.trim().is_empty())
        || body.trim_start().starts_with("<html")
    {
        return Facts::Fault;
    }
    let call = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".fcgi");
    match call {
        "efetch" if body.contains("<PubmedArticleSet") => {
            let articles =
                insides(body, "PubmedArticle").iter().map(|text| article(text)).collect::<Vec<_>>();
            let books = insides(body, "PubmedBookArticle")
                .iter()
                .map(|text| article(text))
                .collect::<Vec<_>>();
            Facts::Found([articles, books].concat())
        }
        _ => Facts::Fault,
    }
}

fn article(body: &str) -> Fact {
    let head = body.split("<CommentsCorrectionsList>").next().unwrap_or_default();
    let first = |name: &str| insides(body, name).first().cloned();
    let mut ids: Vec<String> =
        insides(head, "PMID").first().map(|it| format!("pmid:{it}")).into_iter().collect();
    // The ids of what the work cites have the same form.
    let own = body.split("<PubmedData>").nth(1).unwrap_or_default();
    let own = own.split("<ReferenceList>").next().unwrap_or_default();
    for (kind, name) in [("doi", "doi"), ("pmcid", "pmc")] {
        let pattern = format!(r#"<ArticleId IdType="{name}">\s*([^<]+?)\s*</ArticleId>"#);
        let id = Regex::new(&pattern).ok().and_then(|it| Some(it.captures(own)?[1].to_lowercase()));
        let id = id.map(|id| if kind == "pmcid" { id.to_uppercase() } else { id });
        ids.extend(id.map(|id| format!("{kind}:{}", id.replace("&lt;", "<").replace("&gt;", ">"))));
    }
    let date =
        first("ArticleDate").or_else(|| first("PubDate")).or_else(|| first("ContributionDate"));
    let year = date.and_then(|date| {
        let year = insides(&date, "Year").first().cloned();
        year.or_else(|| insides(&date, "MedlineDate").first()?.get(..4).map(str::to_owned))
    });
    Fact {
        title: first("ArticleTitle")
            .filter(|it| !it.trim().is_empty())
            .or_else(|| first("BookTitle"))
            .unwrap_or_default(),
        ids,
        date: year.filter(|year| year.parse::<u32>().is_ok()),
    }
}

fn arxiv(body: &str) -> Facts {
    if !body.contains("<feed") {
        return Facts::Fault;
    }
    let entries = insides(body, "entry");
    if entries.iter().any(|entry| entry.contains("/api/errors")) {
        return Facts::Fault;
    }
    let fact = |text: &String| {
        let id = insides(text, "id").first().cloned().unwrap_or_default();
        let id = id.split("/abs/").nth(1).unwrap_or_default().to_owned();
        let bare = id.rsplit_once('v').map_or(id.clone(), |parts| parts.0.to_owned());
        Fact {
            title: insides(text, "title").first().cloned().unwrap_or_default(),
            ids: vec![format!("arxiv:{bare}")],
            date: insides(text, "published").first().and_then(|it| it.get(..10).map(str::to_owned)),
        }
    };
    Facts::Found(entries.iter().map(fact).collect())
}

fn page(body: &str) -> Facts {
    let title = insides(body, "title").first().cloned().unwrap_or_default();
    Facts::Found(vec![Fact {
        title: title.trim_end_matches(" - Wikipedia").to_owned(),
        ..Fact::default()
    }])
}

fn duckduckgo(body: &str) -> Facts {
    let Ok(pattern) = Regex::new(r"(?s)<a\s([^>]*)>(.*?)</a>") else {
        return Facts::Fault;
    };
    let found = pattern.captures_iter(body).filter(|captures_iter| {
        let of_result =
            captures_iter[1].contains("result__a") || captures_iter[1].contains("result-link");
        of_result && !captures_iter[1].contains("duckduckgo.com/y.js")
    });
    let found: Vec<Fact> =
        found.map(|it| Fact { title: it[2].to_owned(), ..Fact::default() }).collect();
    if found.is_empty() && !body.contains("no-results") {
        Facts::Fault
    } else {
        Facts::Found(found)
    }
}
