//! What a parser makes of bytes, and where those bytes came from. A parser never sees the address and cannot make one:
//! [`ParsedDocument::placed`] alone does, from the [`Origin`] that whoever opened or fetched the bytes gives.
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::address;
use crate::domain::work::{host_of_site, registrable_domain};
use crate::domain::{Block, PageDraft, Witness};

/// Where bytes came from: what the fetcher or the disk says, never the bytes themselves.
#[derive(Debug, Clone, Default)]
pub struct Origin {
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
    /// A file of this machine.
    File(PathBuf),
}

impl Origin {
    /// Bytes that were fetched from `url`, the last address after redirects, with the content type that its server gave.
    pub fn fetched(url: impl Into<String>, content_type: Option<String>) -> Origin {
        Origin {
            place: OriginPlace::Fetched(url.into()),
            content_type,
        }
    }

    /// The bytes of the file at `path`.
    pub fn file(path: impl Into<PathBuf>) -> Origin {
        Origin {
            place: OriginPlace::File(path.into()),
            content_type: None,
        }
    }

    /// The content type that a server gave, with or without a charset.
    pub(super) fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// The address or path; empty for standard input.
    pub(super) fn name(&self) -> std::borrow::Cow<'_, str> {
        match &self.place {
            OriginPlace::Input => "".into(),
            OriginPlace::Fetched(url) => url.as_str().into(),
            OriginPlace::File(path) => path.to_string_lossy(),
        }
    }

    /// The address of the whole: that of the web, or `file://` and the path; empty for standard input.
    pub(super) fn address(&self) -> String {
        match &self.place {
            OriginPlace::Input => String::new(),
            OriginPlace::Fetched(url) => url.clone(),
            OriginPlace::File(path) => {
                let full = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                address::of_name(&full.to_string_lossy())
            }
        }
    }
}

/// A document as its bytes tell it. All of it is the document's own word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct ParsedDocument {
    /// The address that it gives as its own: a remark, no address of anything.
    pub(in crate::adapters) stated_url: Option<String>,
    /// The id that it gives as its own.
    pub(in crate::adapters) stated_id: Option<String>,
    /// Which of several documents of one file it is, from 1.
    pub(in crate::adapters) row: Option<u64>,
    /// What it is called.
    pub(in crate::adapters) title: String,
    /// Who it says wrote it.
    pub(in crate::adapters) author: Option<String>,
    /// When it says it was published, `YYYY-MM-DD`.
    pub(in crate::adapters) date: Option<String>,
    /// Where the date was found.
    pub(in crate::adapters) date_source: Option<String>,
    /// Two-letter language code.
    pub(in crate::adapters) lang: Option<String>,
    /// The site or publication that it names.
    pub(in crate::adapters) site: Option<String>,
    /// The main text, block by block.
    pub(in crate::adapters) blocks: Vec<Block>,
    /// What the parser could not do.
    pub(in crate::adapters) warnings: Vec<String>,
}

impl ParsedDocument {
    /// The document as it stands at its place. What was fetched is known by where it was fetched from, and loses the id and
    /// site that it gives itself; a file of a folder that a person named is cited by the address that it states, and
    /// shown with its path.
    pub(super) fn placed(self, origin: &Origin) -> PageDraft {
        let mut here = origin.address();
        let mut draft = PageDraft {
            title: self.title,
            author: self.author,
            date: self.date,
            date_source: self.date_source,
            lang: self.lang,
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
                if let Some(stated) = &self.stated_url
                    && registrable_domain(stated) != served_by
                {
                    draft.warnings.push(format!(
                        "it says it is from {stated}, and was fetched from {here}"
                    ));
                }
                match self.site {
                    Some(site) if host_of_site(&here, &site) => draft.site = Some(site),
                    Some(site) => {
                        let said = clipped(&site);
                        draft
                            .warnings
                            .push(format!("it calls itself `{said}`, which its host does not"));
                    }
                    None => {}
                }
                draft.stated_url = self.stated_url.filter(|it| *it != here);
                draft.url = here;
                draft.witness = Witness::Fetcher;
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
                draft.witness = Witness::Folder;
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
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

/// The beginning of a stranger's words, for a line.
fn clipped(text: &str) -> String {
    text.chars()
        .filter(|it| !it.is_control() && *it != '`')
        .take(80)
        .collect()
}
