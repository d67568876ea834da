//! Title, author, date, site and language of a page, from JSON-LD, meta elements and the page itself.
use serde_json::Value;

use super::super::dates::{self, Order};
use super::dom::{Data, Dom, NodeId};

/// JSON-LD scripts longer than this are not parsed.
const MAX_JSON: usize = 2_000_000;

/// Bytes of the text of an element that is looked at for a title, an author or a date: none of these is longer, and such
/// elements may stand in each other.
pub(super) const MOST: usize = 2_000;

/// Parts of the types of pages that hold one text.
pub(super) const ARTICLE: &[&str] = &["article", "posting", "report", "recipe"];

/// Parts of the types of pages that hold what many people wrote.
pub(super) const FORUM: &[&str] = &["forum", "qapage", "discussion", "question"];

/// What a page says of itself.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) dates: Dates,
    pub(super) site: Option<String>,
    pub(super) lang: Option<String>,
    /// The page's own address, where it gives one.
    pub(super) canonical: Option<String>,
    /// The address OpenGraph gives: what is left where the canonical one is of no use.
    pub(super) address: Option<String>,
    /// The types JSON-LD and OpenGraph give, lower case.
    pub(super) types: Vec<String>,
    /// How the page describes itself, in meta elements and JSON-LD.
    pub(super) descriptions: Vec<String>,
    /// The text JSON-LD carries: an article's body, a product's description.
    pub(super) body: Option<String>,
}

impl Metadata {
    /// Whether one of the page's types has one of these names in it.
    pub(super) fn is_a(&self, names: &[&str]) -> bool {
        let named = |kind: &String| names.iter().any(|it| kind.contains(it));
        self.types.iter().any(named)
    }
}

/// What the page says for machines of its dates.
#[derive(Debug, Default)]
pub(super) struct Dates {
    pub(super) json_ld: Option<String>,
    pub(super) meta: Option<String>,
    pub(super) modified: Option<String>,
    /// How its language writes `05/03/2024`.
    pub(super) order: Order,
}

/// Reads what the page says of itself.
pub(super) fn read(dom: &Dom) -> Metadata {
    let mut meta = Metadata::default();
    let mut found = Found::default();
    for id in dom.descendants(dom.root()) {
        match dom.name(id).as_bytes() {
            b"html" => {
                // XHTML 1.0 calls it so.
                let tag = dom.attr(id, "lang").or_else(|| dom.attr(id, "xml:lang"));
                if let Some(tag) = tag.filter(|_| meta.lang.is_none()) {
                    meta.lang = language(tag);
                    meta.dates.order = Order::of(tag);
                }
            }
            b"title" if found.title.is_none() => {
                let inside_svg = dom.parent(id).is_some_and(|it| dom.name(it) == "svg");
                found.title =
                    Some(dom.text_within(id, MOST)).filter(|it| !it.is_empty() && !inside_svg);
            }
            b"meta" => found.meta(dom, id),
            b"link" if dom.attr(id, "rel") == Some("canonical") => {
                // A second one is a mistake or an attempt; the first stands.
                let said = dom.attr(id, "href").map(str::to_owned);
                meta.canonical = meta.canonical.take().or(said);
            }
            b"script"
                if dom
                    .attr(id, "type")
                    .is_some_and(|it| it.contains("ld+json")) =>
            {
                for child in dom.children(id) {
                    if let Data::Text(text) = dom.data(child)
                        && text.len() < MAX_JSON
                        && let Ok(value) = serde_json::from_str::<Value>(text.trim())
                    {
                        found.json_ld(&value, 0);
                    }
                }
            }
            b"h1" if found.h1.is_none() => {
                found.h1 =
                    Some(dom.text_within(id, MOST)).filter(|it| !it.is_empty() && it.len() < 300);
            }
            b"a" if found.byline.is_none() && dom.attr(id, "rel") == Some("author") => {
                found.byline =
                    Some(dom.text_within(id, MOST)).filter(|it| !it.is_empty() && it.len() < 80);
            }
            _ => {}
        }
        if found.byline.is_none() && is_byline(dom, id) {
            found.byline = byline(&dom.text_within(id, MOST));
        }
    }
    found.settle(meta)
}

fn is_byline(dom: &Dom, id: NodeId) -> bool {
    dom.attr(id, "itemprop") == Some("author")
        || dom.attr(id, "class").is_some_and(|it| {
            it.split_ascii_whitespace().any(|word| {
                matches!(
                    word,
                    "byline"
                        | "author"
                        | "author-name"
                        | "post-author"
                        | "entry-author"
                        | "byline-name"
                )
            })
        })
}

/// The name in `By Ann Example, Staff Writer`.
fn byline(text: &str) -> Option<String> {
    let text = text
        .strip_prefix("By ")
        .or_else(|| text.strip_prefix("by "))
        .or_else(|| text.strip_prefix("BY "))
        .unwrap_or(text);
    let name = text.split(['|', '•', '·', '\n']).next().unwrap_or_default();
    let name = name.trim().trim_end_matches(',').trim();
    let good =
        (3..60).contains(&name.len()) && !name.contains("http") && name.split(' ').count() < 7;
    good.then(|| name.to_owned())
}

/// The two-letter code of a language tag.
pub(super) fn language(tag: &str) -> Option<String> {
    let code = tag.split(['-', '_']).next()?.trim().to_ascii_lowercase();
    (code.len() == 2 && code.bytes().all(|it| it.is_ascii_lowercase())).then_some(code)
}

/// Everything found, by where it was found; [`Found::settle`] chooses.
#[derive(Default)]
struct Found {
    title: Option<String>,
    meta_title: Option<String>,
    ld_title: Option<String>,
    h1: Option<String>,
    author: Option<String>,
    ld_author: Option<String>,
    byline: Option<String>,
    date: Option<String>,
    ld_date: Option<String>,
    modified: Option<String>,
    site: Option<String>,
    ld_site: Option<String>,
    lang: Option<String>,
    types: Vec<String>,
    body: Option<String>,
    descriptions: Vec<String>,
    address: Option<String>,
}

impl Found {
    fn meta(&mut self, dom: &Dom, id: NodeId) {
        let Some(content) = dom.attr(id, "content") else {
            return;
        };
        let content = super::blocks::fold(content);
        if content.is_empty() {
            return;
        }
        let name = dom
            .attr(id, "property")
            .or_else(|| dom.attr(id, "name"))
            .or_else(|| dom.attr(id, "itemprop"))
            .unwrap_or_default()
            .to_ascii_lowercase();
        let keep = |slot: &mut Option<String>, value: Option<String>| {
            if slot.is_none() {
                *slot = value;
            }
        };
        match name.as_str() {
            "citation_title" | "dc.title" | "dcterms.title" => {
                keep(&mut self.ld_title, Some(content));
            }
            "og:title" | "twitter:title" | "headline" => keep(&mut self.meta_title, Some(content)),
            "author" | "article:author" | "citation_author" | "dc.creator" | "dcterms.creator"
            | "sailthru.author" | "parsely-author" | "byl" => {
                let name = content.strip_prefix("By ").unwrap_or(&content);
                if !name.contains("://") && name.len() < 120 {
                    keep(&mut self.author, Some(name.to_owned()));
                }
            }
            "article:published_time"
            | "citation_publication_date"
            | "citation_date"
            | "citation_online_date"
            | "datepublished"
            | "date"
            | "pubdate"
            | "publishdate"
            | "publish-date"
            | "publication_date"
            | "dc.date"
            | "dc.date.issued"
            | "dcterms.date"
            | "dcterms.created"
            | "dcterms.issued"
            | "parsely-pub-date"
            | "sailthru.date"
            | "article.published"
            | "cxenseparse:recs:publishtime"
            | "og:article:published_time" => {
                keep(&mut self.date, dates::normalise(&content));
            }
            "article:modified_time" | "og:updated_time" | "datemodified" | "last-modified" => {
                keep(&mut self.modified, dates::normalise(&content));
            }
            "og:site_name" | "application-name" | "citation_journal_title" => {
                keep(&mut self.site, Some(content));
            }
            "og:locale" | "language" | "content-language" => {
                keep(&mut self.lang, language(&content));
            }
            "description" | "og:description" | "twitter:description" => {
                self.descriptions.push(content)
            }
            "og:url" => self.address = Some(content),
            "og:type" => self.types.push(content.to_ascii_lowercase()),
            _ => {}
        }
    }

    fn json_ld(&mut self, value: &Value, depth: u32) {
        if depth > 4 {
            return;
        }
        match value {
            Value::Array(all) => all
                .iter()
                .take(50)
                .for_each(|it| self.json_ld(it, depth + 1)),
            Value::Object(fields) => {
                if let Some(graph) = fields.get("@graph") {
                    self.json_ld(graph, depth + 1);
                }
                if let Some(main) = fields.get("mainEntity") {
                    self.json_ld(main, depth + 1);
                }
                for kind in types(fields.get("@type")) {
                    self.typed(&kind, value);
                    self.types.push(kind);
                }
            }
            _ => {}
        }
    }

    fn typed(&mut self, kind: &str, value: &Value) {
        let work = kind.ends_with("article")
            || kind.ends_with("posting")
            || kind.ends_with("page")
            || matches!(
                kind,
                "report" | "recipe" | "creativework" | "book" | "product" | "question" | "dataset"
            );
        if !work {
            return;
        }
        let text = |name: &str| value.get(name).and_then(words);
        let page = kind.ends_with("page");
        if !page {
            self.ld_title = self
                .ld_title
                .take()
                .or_else(|| text("headline").or_else(|| text("name")));
            self.descriptions.extend(text("description"));
            let body = text("articleBody").or_else(|| text("text"));
            let body = body.or_else(|| text("description").filter(|_| kind == "product"));
            if body.as_ref().map_or(0, String::len) > self.body.as_ref().map_or(0, String::len) {
                self.body = body;
            }
        }
        if self.ld_author.is_none() {
            self.ld_author = value.get("author").and_then(names);
        }
        if self.ld_site.is_none() {
            self.ld_site = value.get("publisher").and_then(names);
        }
        if self.ld_date.is_none() {
            self.ld_date = ["datePublished", "uploadDate", "dateCreated"]
                .iter()
                .find_map(|it| dates::normalise(value.get(it)?.as_str()?));
        }
        if self.modified.is_none() {
            self.modified = value
                .get("dateModified")
                .and_then(|it| dates::normalise(it.as_str()?));
        }
    }

    fn settle(self, mut meta: Metadata) -> Metadata {
        meta.site = self.site.or(self.ld_site);
        let tab = self.title.map(|it| without_site(&it, meta.site.as_deref()));
        meta.title = self
            .ld_title
            .filter(|it| it.len() < 300)
            .or(self.meta_title)
            .or_else(|| tab.clone());
        // A first heading that the tab's title also carries is the title as its author wrote it.
        if let (Some(h1), Some(tab)) = (&self.h1, &tab)
            && tab.contains(h1.as_str())
            && h1.len() > 8
        {
            meta.title = Some(h1.clone());
        }
        meta.title = meta
            .title
            .take()
            .or(self.h1)
            .map(|it| without_site(&it, meta.site.as_deref()))
            .map(|it| super::super::parse::cut(it, MOST));
        meta.author = self.ld_author.or(self.author).or(self.byline);
        meta.dates.json_ld = self.ld_date;
        meta.dates.meta = self.date;
        meta.dates.modified = self.modified;
        meta.lang = meta.lang.take().or(self.lang);
        meta.types = self.types;
        meta.canonical = meta.canonical.take().or(self.address.clone());
        meta.address = self.address;
        meta.descriptions = self.descriptions;
        meta.descriptions.extend(self.body.clone());
        meta.descriptions.truncate(12);
        meta.body = self.body;
        meta
    }
}

/// `Title | Site` → `Title`, where the site's name is known.
fn without_site(title: &str, site: Option<&str>) -> String {
    if let Some(site) = site
        && let Some(bare) = title.strip_suffix(site)
    {
        let bare = bare
            .trim_end()
            .trim_end_matches(['|', '-', '–', '—', '·', ':', '»', '•'])
            .trim_end();
        if !bare.is_empty() {
            return bare.to_owned();
        }
    }
    title.to_owned()
}

fn types(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.to_ascii_lowercase()],
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(|it| it.as_str().map(str::to_ascii_lowercase))
            .take(4)
            .collect(),
        _ => Vec::new(),
    }
}

fn words(value: &Value) -> Option<String> {
    let text = super::blocks::fold(value.as_str()?);
    (!text.is_empty()).then_some(text)
}

/// The name of a person or organisation, or of several, joined by commas.
fn names(value: &Value) -> Option<String> {
    match value {
        Value::String(_) => words(value).filter(|it| !it.contains("://") && it.len() < 120),
        Value::Object(fields) => words(fields.get("name")?).filter(|it| it.len() < 120),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().take(20).filter_map(names).collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        _ => None,
    }
}
