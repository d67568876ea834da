//! A parsed document, and where its bytes came from. A parser never sees the address and cannot set one: only
//! [`ParsedDocument::into_draft`] does, from the [`DocumentOrigin`] of the code that opened or fetched the bytes.
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::parse_error::ParseError;
use crate::plain_text::truncate;
use crate::{address, language, question_headings};
use ibid_core::domain::work::{is_site_of_host, registrable_domain};
use ibid_core::domain::{Block, BlockKind, DraftLink, PageDraft, UrlProvenance};

/// Bytes of a title; a longer one is cut.
pub(crate) const MAX_TITLE_BYTES: usize = 500;

/// Characters of a document's own words that a warning quotes.
const MAX_QUOTED_CHARS: usize = 80;

/// Where bytes came from, according to the fetcher or the disk, never to the bytes themselves.
#[derive(Debug, Clone, Default)]
pub struct DocumentOrigin {
    place: OriginPlace,
    content_type: Option<String>,
}

#[derive(Debug, Clone, Default)]
enum OriginPlace {
    /// Standard input.
    #[default]
    Input,
    /// The address that answered, after redirects.
    Fetched(String),
    /// A file on this machine.
    File(PathBuf),
}

impl DocumentOrigin {
    /// Bytes fetched from `url`, the last address after redirects, with the content type sent by the server.
    pub fn from_url(url: impl Into<String>, content_type: Option<String>) -> DocumentOrigin {
        DocumentOrigin { place: OriginPlace::Fetched(url.into()), content_type }
    }

    /// The bytes of the file at `path`.
    pub fn from_file(path: impl Into<PathBuf>) -> DocumentOrigin {
        DocumentOrigin { place: OriginPlace::File(path.into()), content_type: None }
    }

    /// The content type sent by the server, with or without a charset.
    pub(crate) fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// The address or path; empty for standard input.
    pub(crate) fn name(&self) -> std::borrow::Cow<'_, str> {
        match &self.place {
            OriginPlace::Input => "".into(),
            OriginPlace::Fetched(url) => url.as_str().into(),
            OriginPlace::File(path) => path.to_string_lossy(),
        }
    }

    /// The address of the file as a whole: a web address, or `file://` and the path; empty for standard input.
    pub(crate) fn url(&self) -> String {
        match &self.place {
            OriginPlace::Input => String::new(),
            OriginPlace::Fetched(url) => url.clone(),
            OriginPlace::File(path) => {
                let full = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                address::url_from_name(&full.to_string_lossy())
            }
        }
    }
}

/// A document as its bytes describe it. Every field is the document's own claim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParsedDocument {
    /// The address that it states as its own. It is not checked against where the document was read.
    pub stated_url: Option<String>,
    /// The id that it states as its own.
    pub stated_id: Option<String>,
    /// Its number among several documents in one file, from 1.
    pub row: Option<u64>,
    /// The title; empty if there is none.
    pub title: String,
    /// The author.
    pub author: Option<String>,
    /// The date of publication, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Where the date was found.
    pub date_source: Option<String>,
    /// Two-letter language code.
    pub lang: Option<String>,
    /// The site or publication.
    pub site: Option<String>,
    /// Whether it states that it offers for sale what it describes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_offer: bool,
    /// The main text.
    pub blocks: Vec<Block>,
    /// The links in the main text with an absolute address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<DraftLink>,
    /// What the parser could not do.
    pub warnings: Vec<String>,
}

impl ParsedDocument {
    /// Fills in the title and language, as [`ParsedDocument::fill_missing`] does.
    ///
    /// # Errors
    /// If the document contains no text.
    pub(crate) fn complete(mut self, name: &str) -> Result<ParsedDocument, ParseError> {
        self.fill_missing(name);
        if self.blocks.is_empty() {
            return Err(ParseError::empty());
        }
        Ok(self)
    }

    /// Derives a missing title from the first heading or from `name`, and a missing language from the text.
    pub(crate) fn fill_missing(&mut self, name: &str) {
        let blocks = self.blocks.len();
        self.blocks.retain(|block| !block.text.trim().is_empty());
        if self.blocks.len() != blocks {
            // The links name blocks by their numbers.
            self.links.clear();
        }
        if self.title.trim().is_empty() {
            let heading = self.blocks.iter().find(|block| block.kind == BlockKind::Heading);
            self.title = heading
                .map(|heading| heading.text.clone())
                .or_else(|| file_stem(name))
                .unwrap_or_default();
        }
        truncate(&mut self.title, MAX_TITLE_BYTES);
        question_headings::mark(&mut self.blocks);
        if self.lang.is_none() {
            self.lang = language::detect(self.blocks.iter().map(|block| block.text.as_str()));
        }
    }

    /// The document as a page at its origin. A fetched document is identified by the address it was fetched from and loses
    /// the id and site that it states. A file in a folder of the user's is cited by the address that it states, and shown
    /// with its path.
    pub(crate) fn into_draft(self, origin: &DocumentOrigin) -> PageDraft {
        let mut here = origin.url();
        let mut draft = PageDraft {
            title: self.title,
            author: self.author,
            date: self.date,
            date_source: self.date_source,
            lang: self.lang,
            is_offer: self.is_offer,
            blocks: self.blocks,
            warnings: self.warnings,
            ..PageDraft::default()
        };
        match &origin.place {
            OriginPlace::Fetched(_) => {
                if let Some(row) = self.row {
                    let whole = here.split('#').next().unwrap_or_default().len();
                    here.truncate(whole);
                    here.push_str(&format!("#row={row}"));
                }
                let served_by = registrable_domain(&here);
                let leads_on = |link: &DraftLink| registrable_domain(&link.url) != served_by;
                draft.links = self.links.into_iter().filter(leads_on).collect();
                if let Some(stated) = &self.stated_url
                    && registrable_domain(stated) != served_by
                {
                    draft.warnings.push(format!(
                        "it states the address {stated} but was fetched from {here}"
                    ));
                }
                match self.site {
                    Some(site) if is_site_of_host(&here, &site) => draft.site = Some(site),
                    Some(site) => {
                        let quoted = clip_for_message(&site);
                        draft.warnings.push(format!(
                            "it states the site `{quoted}`, which is not that of its host"
                        ));
                    }
                    None => {}
                }
                draft.stated_url = self.stated_url.filter(|stated_url| *stated_url != here);
                draft.url = here;
                draft.url_provenance = UrlProvenance::Fetcher;
            }
            OriginPlace::File(path) => {
                if let Some(row) = self.row {
                    here.push_str(&format!("#{row}"));
                }
                let nth = || Some(format!("{}#{}", file_name(path), self.row?));
                draft.doc_id = self.stated_id.or_else(nth);
                draft.site = self.site;
                draft.file = self.stated_url.is_some().then(|| here.clone());
                draft.url = self.stated_url.unwrap_or(here);
                draft.url_provenance = UrlProvenance::Folder;
            }
            OriginPlace::Input => {
                draft.doc_id = self.stated_id;
                draft.site = self.site;
                draft.url = self.stated_url.unwrap_or_default();
            }
        }
        draft
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

/// The last part of an address or path, without its extension.
fn file_stem(name: &str) -> Option<String> {
    let last = name.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default();
    let last = last.split(['?', '#']).next().unwrap_or_default();
    Path::new(last).file_stem().map(|file_stem| file_stem.to_string_lossy().into_owned())
}

/// The beginning of untrusted words, for one line of a message.
fn clip_for_message(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && *c != '`').take(MAX_QUOTED_CHARS).collect()
}
