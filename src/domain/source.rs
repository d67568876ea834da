use serde::{Deserialize, Serialize};

use super::{Hit, Page, PageHash, SourceId, Vertical, Work};

/// What kind of publication a source is; decides how it is shown, not whether it is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A page of the open web.
    Web,
    /// A record of PubMed.
    Pubmed,
    /// A scholarly work from elsewhere.
    Scholar,
    /// News.
    News,
    /// A document of a local folder.
    Local,
}

impl From<Vertical> for SourceKind {
    fn from(it: Vertical) -> SourceKind {
        match it {
            Vertical::Web => SourceKind::Web,
            Vertical::News => SourceKind::News,
            Vertical::Scholar => SourceKind::Scholar,
            Vertical::Pubmed => SourceKind::Pubmed,
            Vertical::Local => SourceKind::Local,
        }
    }
}

/// One work that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// `src_1`, `src_2`, … in the order first read.
    pub id: SourceId,
    /// The page that was read of it.
    pub page: PageHash,
    /// What kind it is.
    pub kind: SourceKind,
    /// Canonical URL. Of a local file it is the address that the file gives as its own, where it
    /// gives one: only its word, so `file` is shown beside it.
    pub url: String,
    /// Where it was read, as `file://`, if `url` is another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The document's own id in its collection.
    pub doc_id: Option<String>,
    /// What it is called.
    pub title: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// When it was published, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// The site or publication it appeared in.
    pub site: Option<String>,
    /// What counts as one voice: the registrable domain of its URL, else the document itself (row C3).
    pub domain: String,
    /// What is known of it as a work: its ids, who made it, where it appeared.
    #[serde(default, skip_serializing_if = "Work::is_empty")]
    pub work: Work,
    /// How far it can be relied on, once a report is made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The source that was read before with nearly the same text: both are one voice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<SourceId>,
}

/// How far a source can be relied on, as far as can be seen from outside (row D11). `docs/trust.md`
/// tells how each part comes about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// 0.4 authority + 0.3 consistency + 0.2 expertise + 0.1 recency, 0 to 1.
    pub score: f32,
    /// What kind of place it was published in, and who names it, 0 to 1.
    pub authority: f32,
    /// Whether independent works of the run say the same, 0 to 1; 0.5 where none speaks of it.
    pub consistency: f32,
    /// Who wrote it, 0 to 1.
    pub expertise: f32,
    /// How new it was when the question was asked, 0 to 1.
    pub recency: f32,
    /// A newer edition of it that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<SourceId>,
}

impl Source {
    /// The source that `page` is a reading of. `domain` is the registrable domain, where there is one.
    pub fn of(id: SourceId, kind: SourceKind, page: &Page, domain: Option<String>) -> Source {
        Source {
            id,
            page: page.hash().clone(),
            kind,
            url: page.url.clone(),
            file: page.file.clone(),
            doc_id: page.doc_id.clone(),
            title: page.title.clone(),
            author: page.author.clone(),
            date: page.date.clone(),
            site: page.site.clone(),
            domain: domain.unwrap_or_else(|| page.key().to_owned()),
            work: Work::default(),
            trust: None,
            copy_of: None,
        }
    }

    /// The same with what is known from where it was found: of a work of the web its ids, and what its page does not say of
    /// authors, date and venue.
    #[must_use]
    pub fn found_as(mut self, hit: &Hit) -> Source {
        if self.kind == SourceKind::Local {
            return self;
        }
        self.work = hit.work.clone();
        self.work.learn(&Work::of_url(&self.url));
        self.doc_id = self.doc_id.or_else(|| hit.doc_id.clone());
        self.author = self.author.or_else(|| named(&self.work.authors));
        self.date = self.date.or_else(|| hit.date.clone());
        self.site = self.site.or_else(|| self.work.venue.clone());
        self
    }

    /// What tells this work from others: its own id where it has one, else the place it was read.
    pub fn key(&self) -> &str {
        super::page::key(&self.doc_id, &self.file, &self.url)
    }
}

/// Authors in a line: all of up to three, else the first of them.
fn named(authors: &[String]) -> Option<String> {
    match authors {
        [] => None,
        few @ ([_] | [_, _] | [_, _, _]) => Some(few.join(", ")),
        [first, ..] => Some(format!("{first} et al.")),
    }
}
