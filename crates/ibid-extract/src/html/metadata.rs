//! Title, author, date, site and language of a page, from JSON-LD, meta elements and the page itself.
use serde_json::Value;

use super::char_refs::{self, CharRefContext};
use super::dom::{Dom, NodeData, NodeId};
use super::json_dates;
use super::text::collapse_whitespace;
use crate::dates::{self, DateOrder};
use crate::plain_text::truncate;

/// Bytes of a JSON-LD script; longer ones are not parsed.
const MAX_JSON: usize = 2_000_000;
/// Nesting of JSON-LD, and items of one list in it, that are read.
const MAX_JSON_DEPTH: u32 = 4;
const MAX_JSON_ITEMS: usize = 50;
/// Bytes of an author's name in an attribute or JSON-LD.
const MAX_NAME: usize = 120;
/// Bytes of a title from a heading or JSON-LD.
const MAX_TITLE: usize = 300;
/// Bytes of a heading that may replace the title of the tab; shorter ones may be any word.
const MIN_HEADING: usize = 8;
/// Descriptions that are kept.
const MAX_DESCRIPTIONS: usize = 12;

/// Bytes of the text of an element that is searched for a title, an author or a date: none of these is longer, and such
/// elements may be nested.
pub(super) const MAX_ELEMENT_TEXT: usize = 2_000;

/// Parts of the types of pages with one text.
pub(super) const ARTICLE: &[&str] = &["article", "posting", "report", "recipe"];

/// Parts of the types of pages with the texts of many people.
pub(super) const FORUM: &[&str] = &["forum", "qapage", "discussion", "question"];

/// Names of meta elements with the date of publication.
#[rustfmt::skip]
const PUBLISHED: &[&str] = &[
    "analyticsattributes.articledate", "article.created", "article.published", "article:post_date", "article:publicationdate",
    "article:published", "article:published_date", "article:published_time", "article_date_original", "bt:pubdate", "citation_date",
    "citation_online_date", "citation_publication_date", "content_create_date", "cxenseparse:recs:publishtime", "date.created",
    "date_created", "date_published", "datecreated", "dateposted", "datepublished", "dc.created", "dc.date.created",
    "dc.date.issued", "dc.date.publication", "dc.issued", "dc:created", "dcsext.articlefirstpublished", "dcterms.created",
    "dcterms.issued", "displaydate", "eprints.date", "first_published", "mediator_published_time", "og:article:published",
    "og:article:published_time", "og:datepublished", "og:pubdate", "og:publish_date", "og:published_time",
    "og:question:published_time", "og:regdate", "originalpublicationdate", "parsely-pub-date", "pdate", "prism.publicationdate",
    "ptime", "pub_date", "pubdate", "publication-date", "publication_date", "publicationdate", "publish-date", "publish_date",
    "publish_time", "publishdate", "published", "published-date", "published_date", "published_time", "publisheddate", "rbpubdate",
    "rnews:datepublished", "sailthru.date", "shareaholic:article_published_time", "twt-published-at",
    "video:release_date", "vr:published_time",
];

/// Names of meta elements with a date that is mostly that of publication.
#[rustfmt::skip]
const DATED: &[&str] = &[
    "created", "creation_date", "date", "dc.date", "dc:date", "dcterms.date", "doc_date", "field-name-post-date", "gentime",
    "release_date", "releasedate", "timestamp",
];

/// Names of meta elements with the date of the last change.
#[rustfmt::skip]
const MODIFIED: &[&str] = &[
    "article:modified", "article:modified_date", "article:modified_time", "article:post_modified", "bt:moddate", "datemodified",
    "dateupdate", "dc.date.modified", "dc.modified", "dcterms.modified", "last-modified", "last_modified", "lastdate", "lastmod",
    "lastmodified", "modificationdate", "modified", "modified_time", "og:article:modified_time", "og:modified_time",
    "og:updated_time", "revised", "revision_date", "updated_time", "utime",
];

/// Types in JSON-LD of what a page can sell, in lower case.
const SOLD: [&str; 6] =
    ["product", "productgroup", "hotel", "lodgingbusiness", "course", "service"];

/// The metadata of a page.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) dates: PageDates,
    pub(super) site: Option<String>,
    pub(super) lang: Option<String>,
    /// The page's canonical address, else its OpenGraph address.
    pub(super) canonical: Option<String>,
    /// The OpenGraph address, in case the canonical one is unusable.
    pub(super) address: Option<String>,
    /// The types in JSON-LD and OpenGraph, in lower case.
    pub(super) types: Vec<String>,
    /// Whether it describes a product that it offers for sale.
    pub(super) is_offer: bool,
    /// The descriptions in meta elements and JSON-LD.
    pub(super) descriptions: Vec<String>,
    /// The text in JSON-LD: the body of an article, or the description of a product.
    pub(super) body: Option<String>,
}

impl Metadata {
    /// Whether one of the page's types contains one of `names`.
    pub(super) fn has_type(&self, names: &[&str]) -> bool {
        let named = |kind: &String| names.iter().any(|name| kind.contains(name));
        self.types.iter().any(named)
    }
}

/// A date that machines can read.
#[derive(Debug, Clone)]
pub(super) struct StatedDate {
    pub(super) date: String,
    /// The hour, if it is a time in UTC: it may be another day where the author is.
    pub(super) utc_hour: Option<i32>,
}

impl StatedDate {
    fn new(text: &str, order: DateOrder) -> Option<StatedDate> {
        let date = dates::normalise_with_order(text, order)?;
        Some(StatedDate { date, utc_hour: dates::utc_hour(text) })
    }
}

/// The machine-readable dates of a page.
#[derive(Debug, Default)]
pub(super) struct PageDates {
    pub(super) json_ld: Option<StatedDate>,
    pub(super) meta: Option<StatedDate>,
    /// A date in a meta element that does not say what it is the day of.
    pub(super) weak_meta: Option<StatedDate>,
    pub(super) modified: Option<String>,
    /// The order of `05/03/2024` in the page's language.
    pub(super) order: DateOrder,
}

/// Reads the metadata of a page.
pub(super) fn read(dom: &Dom) -> Metadata {
    let mut meta = Metadata::default();
    let mut found = MetadataCandidates::default();
    for id in dom.descendants(dom.root()) {
        match dom.name(id).as_bytes() {
            b"html" => {
                // XHTML 1.0 uses `xml:lang`.
                let tag = dom.attr(id, "lang").or_else(|| dom.attr(id, "xml:lang"));
                if let Some(tag) = tag.filter(|_| meta.lang.is_none()) {
                    meta.lang = language_code(tag);
                    meta.dates.order = DateOrder::from_lang(tag);
                    found.order = meta.dates.order;
                }
            }
            b"title" if found.title.is_none() => {
                let inside_svg = dom.parent(id).is_some_and(|parent| dom.name(parent) == "svg");
                found.title = Some(dom.text_within(id, MAX_ELEMENT_TEXT))
                    .filter(|it| !it.is_empty() && !inside_svg);
            }
            b"meta" => found.add_meta(dom, id),
            b"link" if dom.attr(id, "rel") == Some("canonical") => {
                // The first one counts. A second one is a mistake or an attack.
                let href = dom.attr(id, "href").map(str::to_owned);
                meta.canonical = meta.canonical.take().or(href);
            }
            b"script" if dom.attr(id, "type").is_some_and(|attr| attr.contains("ld+json")) => {
                for child in dom.children(id) {
                    if let NodeData::Text(text) = dom.data(child)
                        && text.len() < MAX_JSON
                    {
                        found.add_script(text);
                    }
                }
            }
            b"h1" if found.h1.is_none() => {
                found.h1 = Some(dom.text_within(id, MAX_ELEMENT_TEXT))
                    .filter(|it| !it.is_empty() && it.len() < 300);
            }
            b"a" if found.byline.is_none() && dom.attr(id, "rel") == Some("author") => {
                found.byline = Some(dom.text_within(id, MAX_ELEMENT_TEXT))
                    .filter(|it| !it.is_empty() && it.len() < 80);
            }
            _ => {}
        }
        found.is_product |=
            dom.attr(id, "itemtype").is_some_and(|it| it.ends_with("schema.org/Product"));
        found.has_price |= matches!(dom.attr(id, "itemprop"), Some("offers" | "price"));
        if found.byline.is_none() && is_byline(dom, id) {
            found.byline = byline(&dom.text_within(id, MAX_ELEMENT_TEXT));
        }
    }
    found.resolve(meta)
}

fn is_byline(dom: &Dom, id: NodeId) -> bool {
    dom.attr(id, "itemprop") == Some("author")
        || dom.attr(id, "class").is_some_and(|attr| {
            attr.split_ascii_whitespace().any(|word| {
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
pub(super) fn language_code(tag: &str) -> Option<String> {
    let code = tag.split(['-', '_']).next()?.trim().to_ascii_lowercase();
    (code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(code)
}

/// Candidates for each field by source; [`MetadataCandidates::resolve`] chooses among them.
#[derive(Default)]
struct MetadataCandidates {
    title: Option<String>,
    meta_title: Option<String>,
    ld_title: Option<String>,
    h1: Option<String>,
    author: Option<String>,
    ld_author: Option<String>,
    byline: Option<String>,
    date: Option<StatedDate>,
    /// A date that is often that of a change.
    weak_date: Option<StatedDate>,
    ld_date: Option<StatedDate>,
    /// Whether it is that of an article, not of a page.
    ld_date_of_text: bool,
    damaged_date: Option<StatedDate>,
    order: DateOrder,
    modified: Option<String>,
    site: Option<String>,
    ld_site: Option<String>,
    lang: Option<String>,
    types: Vec<String>,
    /// Whether JSON-LD or OpenGraph has an offer of what the page describes.
    has_offer: bool,
    /// Whether microdata has a product, and a price.
    is_product: bool,
    has_price: bool,
    body: Option<String>,
    descriptions: Vec<String>,
    address: Option<String>,
}

impl MetadataCandidates {
    fn add_meta(&mut self, dom: &Dom, id: NodeId) {
        let Some(content) = dom.attr(id, "content") else {
            return;
        };
        let content = collapse_whitespace(content);
        if content.is_empty() {
            return;
        }
        let name = dom
            .attr(id, "property")
            .or_else(|| dom.attr(id, "name"))
            .or_else(|| dom.attr(id, "itemprop"))
            .or_else(|| dom.attr(id, "http-equiv"))
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
                if !name.contains("://") && name.len() < MAX_NAME {
                    keep(&mut self.author, Some(name.to_owned()));
                }
            }
            _ if PUBLISHED.contains(&name.as_str()) => {
                self.date = self.date.take().or_else(|| StatedDate::new(&content, self.order));
            }
            _ if DATED.contains(&name.as_str()) => {
                self.weak_date =
                    self.weak_date.take().or_else(|| StatedDate::new(&content, self.order));
            }
            _ if MODIFIED.contains(&name.as_str()) => {
                keep(&mut self.modified, dates::normalise_with_order(&content, self.order));
            }
            "og:site_name" | "application-name" | "citation_journal_title" => {
                keep(&mut self.site, Some(content));
            }
            "og:locale" | "language" | "content-language" => {
                keep(&mut self.lang, language_code(&content));
            }
            "description" | "og:description" | "twitter:description" => {
                self.descriptions.push(content)
            }
            "og:url" => self.address = Some(content),
            "og:type" => self.types.push(content.to_ascii_lowercase()),
            "product:price:amount" | "og:price:amount" => self.has_offer = true,
            _ => {}
        }
    }

    /// Reads JSON-LD. In a script with mistakes, only dates are looked for.
    fn add_script(&mut self, text: &str) {
        if let Ok(value) = serde_json::from_str::<Value>(text.trim()) {
            return self.add_json_ld(&value, 0);
        }
        if !["Article", "Posting", "Page", "Report", "Recipe"].iter().any(|it| text.contains(it)) {
            return;
        }
        let published = json_dates::field_in(text, "datePublished");
        let date = published.or_else(|| json_dates::field_in(text, "dateCreated"));
        self.damaged_date = self
            .damaged_date
            .take()
            .or(date.and_then(|it| StatedDate::new(it, DateOrder::Unknown)));
        let modified = || json_dates::field_in(text, "dateModified").and_then(dates::normalise);
        self.modified = self.modified.take().or_else(modified);
    }

    fn add_json_ld(&mut self, value: &Value, depth: u32) {
        if depth > MAX_JSON_DEPTH {
            return;
        }
        match value {
            Value::Array(all) => {
                all.iter().take(MAX_JSON_ITEMS).for_each(|it| self.add_json_ld(it, depth + 1))
            }
            Value::Object(fields) => {
                if let Some(graph) = fields.get("@graph") {
                    self.add_json_ld(graph, depth + 1);
                }
                for main in
                    ["mainEntity", "mainEntityOfPage"].iter().filter_map(|it| fields.get(*it))
                {
                    self.add_json_ld(main, depth + 1);
                }
                for kind in types(fields.get("@type")) {
                    self.add_typed(&kind, value);
                    self.types.push(kind);
                }
            }
            _ => {}
        }
    }

    fn add_typed(&mut self, kind: &str, value: &Value) {
        self.add_typed_date(kind, value);
        let has = |name: &str| value.get(name).is_some();
        self.has_offer |= SOLD.contains(&kind) && (has("offers") || has("makesOffer"))
            || kind == "productgroup" && has("hasVariant");
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
            self.ld_title =
                self.ld_title.take().or_else(|| text("headline").or_else(|| text("name")));
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
    }

    /// Keeps the date of a text before that of a page, and the first of either.
    fn add_typed_date(&mut self, kind: &str, value: &Value) {
        let text = ["article", "posting"].iter().any(|it| kind.ends_with(it))
            || matches!(
                kind,
                "report" | "recipe" | "question" | "howto" | "criticreview" | "podcastepisode"
            );
        let page = kind.ends_with("page");
        let work = matches!(kind, "creativework" | "book" | "product" | "dataset");
        if !(text || page || work) {
            return;
        }
        if self.ld_date.is_none() || text && !self.ld_date_of_text {
            let date = ["datePublished", "uploadDate", "dateCreated"].iter().find_map(|it| {
                let value = value.get(it)?;
                let utc_hour = value.as_str().and_then(dates::utc_hour);
                Some(StatedDate { date: json_dates::date_in(value)?, utc_hour })
            });
            self.ld_date_of_text |= text && date.is_some();
            self.ld_date = date.or(self.ld_date.take());
        }
        if self.modified.is_none() {
            self.modified = value.get("dateModified").and_then(json_dates::date_in);
        }
    }

    fn resolve(self, mut meta: Metadata) -> Metadata {
        meta.site = self.site.or(self.ld_site);
        let tab = self.title.map(|title| without_site(&title, meta.site.as_deref()));
        meta.title = self
            .ld_title
            .filter(|ld_title| ld_title.len() < MAX_TITLE)
            .or(self.meta_title)
            .or_else(|| tab.clone());
        // A first heading that is part of the tab's title is the title without the site's additions.
        if let (Some(h1), Some(tab)) = (&self.h1, &tab)
            && tab.contains(h1.as_str())
            && h1.len() > MIN_HEADING
        {
            meta.title = Some(h1.clone());
        }
        meta.title =
            meta.title.take().or(self.h1).map(|title| without_site(&title, meta.site.as_deref()));
        if let Some(title) = &mut meta.title {
            // Sites that escape twice show "&ldquo;" to their readers.
            if title.contains('&') && title.contains(';') {
                *title = char_refs::decode(title, CharRefContext::Text).to_string();
            }
            truncate(title, MAX_ELEMENT_TEXT);
        }
        meta.author = self.ld_author.or(self.author).or(self.byline);
        meta.dates.json_ld = self.ld_date.or(self.damaged_date);
        meta.dates.meta = self.date;
        meta.dates.weak_meta = self.weak_date;
        meta.dates.modified = self.modified;
        meta.lang = meta.lang.take().or(self.lang);
        meta.types = self.types;
        // A test of a product states its price, too.
        let has_offer = self.has_offer || self.is_product && self.has_price;
        meta.is_offer = has_offer && !meta.has_type(&["article", "posting", "review"]);
        meta.canonical = meta.canonical.take().or(self.address.clone());
        meta.address = self.address;
        meta.descriptions = self.descriptions;
        meta.descriptions.extend(self.body.clone());
        meta.descriptions.truncate(MAX_DESCRIPTIONS);
        meta.body = self.body;
        meta
    }
}

/// `Title | Site` without the site, if its name is known.
fn without_site(title: &str, site: Option<&str>) -> String {
    if let Some(site) = site
        && let Some(bare) = title.strip_suffix(site)
    {
        let bare =
            bare.trim_end().trim_end_matches(['|', '-', '–', '—', '·', ':', '»', '•']).trim_end();
        if !bare.is_empty() {
            return bare.to_owned();
        }
    }
    title.to_owned()
}

fn types(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.to_ascii_lowercase()],
        Some(Value::Array(all)) => {
            all.iter().filter_map(|it| it.as_str().map(str::to_ascii_lowercase)).take(4).collect()
        }
        _ => Vec::new(),
    }
}

fn words(value: &Value) -> Option<String> {
    let text = collapse_whitespace(value.as_str()?);
    (!text.is_empty()).then_some(text)
}

/// The name of a person or organisation, or of several, joined by commas.
fn names(value: &Value) -> Option<String> {
    match value {
        Value::String(_) => {
            words(value).filter(|word| !word.contains("://") && word.len() < MAX_NAME)
        }
        Value::Object(fields) => words(fields.get("name")?).filter(|word| word.len() < MAX_NAME),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().take(20).filter_map(names).collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        _ => None,
    }
}
