use serde::{Deserialize, Serialize};

use super::words::tokens;
use super::{Hit, Page, PageHash, SourceId, Vertical, Work};

/// The kind of publication. It affects how a source is displayed, not its trust.
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
    /// The page that was read.
    pub page: PageHash,
    /// Its kind.
    pub kind: SourceKind,
    /// Canonical URL. For a local file, the address that the file states, if any; since that is unverified, `file` is
    /// shown as well.
    pub url: String,
    /// The file it was read from, as `file://`, if `url` is another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The document's id in its collection.
    pub doc_id: Option<String>,
    /// The title.
    pub title: String,
    /// The author.
    pub author: Option<String>,
    /// Publication date, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// The site or publication it appeared in.
    pub site: Option<String>,
    /// The unit of independence: the registrable domain of the URL, or else the document itself.
    pub domain: String,
    /// Bibliographic data: ids, authors, venue.
    #[serde(default, skip_serializing_if = "Work::is_empty")]
    pub work: Work,
    /// Its trust, set when a report is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The earlier source with nearly the same text; the two are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<SourceId>,
    /// The earlier source that names it as the source of what it says; where the two say the same, they are one voice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_by: Option<SourceId>,
    /// Whether it says of itself, where it begins, that it no longer applies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub superseded: bool,
    /// The years or numbers of the editions that the page, in one of its first sentences, says it replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// Whether it states that it offers for sale what it describes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_offer: bool,
}

fn is_false(it: &bool) -> bool {
    !it
}

/// Whether a page says of itself that it no longer applies, in one of its first sentences: "Superseded – see version 4", "Status:
/// withdrawn", "This version has been replaced by …".
fn says_superseded(page: &Page) -> bool {
    const SENTENCES: usize = 3;
    (0..page.sentences().len().min(SENTENCES)).any(|n| is_note_of_end(page.sentence(n)))
}

/// The years or numbers of the editions that a page says it replaces: 2011 of "This edition replaces the edition of 2011, which is withdrawn".
fn replaced_editions(page: &Page) -> Vec<String> {
    // Titles and the line on its author stand before it.
    const SENTENCES: usize = 6;
    (0..page.sentences().len().min(SENTENCES)).flat_map(|n| replaced_in(page.sentence(n))).collect()
}

fn replaced_in(sentence: &str) -> Vec<String> {
    const VERBS: [&str; 2] = [" replaces ", " supersedes "];
    let lower = sentence.to_lowercase();
    let told = VERBS.iter().find_map(|verb| lower.split_once(verb));
    let Some((_, what)) = told.filter(|(own, _)| own.trim_start().starts_with("this ")) else {
        return Vec::new();
    };
    const ENDS: [&str; 4] = [", ", "; ", ": ", ". "];
    let clause = ENDS.iter().fold(what, |it, end| it.split(end).next().unwrap_or_default());
    let words = tokens(clause).into_iter().map(|it| it.text);
    words.filter(|it| it.chars().all(|c| c.is_ascii_digit())).collect()
}

fn is_note_of_end(sentence: &str) -> bool {
    const MARKS: [&str; 4] = ["superseded", "obsolete", "outdated", "withdrawn"];
    const ENDINGS: [&str; 6] = [
        "is superseded",
        "has been superseded",
        "is withdrawn",
        "has been withdrawn",
        "is no longer valid",
        "has been replaced by",
    ];
    // Number of words before which "This edition …" says it.
    const OPENING_WORDS: usize = 6;
    let lower = sentence.to_lowercase();
    let bare = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let bare = bare.strip_prefix("status:").map_or(bare, str::trim_start);
    // "Withdrawn patients" and "Obsolete drugs" are matters, and no notes.
    let is_note = |mark: &&str| {
        bare.strip_prefix(*mark).is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.is_empty() || rest.starts_with("by ") || !rest.starts_with(char::is_alphanumeric)
        })
    };
    // "These rules apply from May; the old rules are withdrawn" is said of others.
    let clause = bare.split([',', ';', ':']).next().unwrap_or_default();
    let opening: Vec<&str> = clause.split_whitespace().take(OPENING_WORDS).collect();
    let opening = opening.join(" ");
    MARKS.iter().any(is_note)
        || opening.starts_with("this ") && ENDINGS.iter().any(|it| opening.contains(it))
}

/// Estimated reliability of a source. `docs/trust.md` explains how each part is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// 0.4 authority + 0.3 consistency + 0.2 expertise + 0.1 recency, 0 to 1.
    pub score: f32,
    /// Type of publisher, and who links to it, 0 to 1.
    pub authority: f32,
    /// Agreement with independent sources of the run, 0 to 1; 0.5 if no other source covers it.
    pub consistency: f32,
    /// Expertise of the author, 0 to 1.
    pub expertise: f32,
    /// Age when the question was asked, 0 to 1.
    pub recency: f32,
    /// A newer edition that was also read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<SourceId>,
}

/// The address of a document as a model or another person may see it: of a file on this machine, its name alone.
pub fn public_address(url: &str) -> &str {
    match url.strip_prefix("file:") {
        Some(path) => path.rsplit('/').next().unwrap_or_default(),
        None => url,
    }
}

impl Source {
    /// The site or the document as a model or another person may see it, without the path of a file on this machine.
    pub fn public_name(&self) -> &str {
        match self.domain.strip_prefix("file:") {
            None if !self.domain.is_empty() => &self.domain,
            _ if !self.title.is_empty() => &self.title,
            _ => public_address(&self.url),
        }
    }

    /// Whether a general web engine found it among papers, and no catalogue lists it: it may be any page.
    pub fn is_unlisted_paper(&self) -> bool {
        self.kind == SourceKind::Scholar && self.work.key().is_none() && self.work.venue.is_none()
    }

    /// Creates the source for `page`. `domain` is the registrable domain, if any.
    pub fn from_page(
        id: SourceId,
        kind: SourceKind,
        page: &Page,
        domain: Option<String>,
    ) -> Source {
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
            cited_by: None,
            superseded: says_superseded(page),
            replaces: replaced_editions(page),
            is_offer: page.is_offer,
        }
    }

    /// Adds metadata of the search hit: for works on the web, their ids, and authors, date and venue if the page does
    /// not state them.
    #[must_use]
    pub fn with_hit(mut self, hit: &Hit) -> Source {
        if self.kind == SourceKind::Local {
            return self;
        }
        self.work = hit.work.clone();
        self.work.merge(&Work::from_url(&self.url));
        self.doc_id = self.doc_id.or_else(|| hit.doc_id.clone());
        self.author = self.author.or_else(|| author_line(&self.work.authors));
        self.date = self.date.or_else(|| hit.date.clone());
        self.site = self.site.or_else(|| self.work.venue.clone());
        self
    }

    /// The identity of the document: its id in the collection, or else the place it was read from.
    pub fn key(&self) -> &str {
        super::page::key(&self.doc_id, &self.file, &self.url)
    }
}

/// Formats the author list: up to three authors, otherwise the first one.
fn author_line(authors: &[String]) -> Option<String> {
    match authors {
        [] => None,
        few @ ([_] | [_, _] | [_, _, _]) => Some(few.join(", ")),
        [first, ..] => Some(format!("{first} et al.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, BlockKind, PageDraft};

    #[test]
    fn a_note_of_the_end_of_a_document_is_told_from_its_matter() {
        for (sentence, ended) in [
            ("> SUPERSEDED – kept for the archive only.", true),
            ("*** OUTDATED. Replaced by edition 3 ***", true),
            ("Status: withdrawn", true),
            ("Superseded by version 4.", true),
            ("This version has been replaced by version 5.", true),
            ("Withdrawn patients were followed for two years.", false),
            ("Obsolete drugs: a review", false),
            ("These rules apply from 2024; the 2019 rules are withdrawn.", false),
            ("This page lists the codes; code 7 is withdrawn.", false),
        ] {
            assert_eq!(is_note_of_end(sentence), ended, "{sentence}");
        }
    }

    #[test]
    fn a_page_says_which_edition_it_replaces() {
        let told = "This edition replaces the edition of 2011, which is withdrawn.";
        assert_eq!(replaced_in(told), ["2011"]);
        assert_eq!(replaced_in("This guide replaces the second edition (2011)."), ["2011"]);
        assert!(replaced_in("The pump replaces the one of 2011.").is_empty());
        assert!(replaced_in("This edition is of 2011.").is_empty());
    }

    #[test]
    fn a_page_found_among_papers_is_one_only_if_a_catalogue_lists_it() {
        let page = Page::new(PageDraft {
            url: "https://a.example/care".to_owned(),
            blocks: vec![Block::new(BlockKind::Prose, "A roof needs two visits a year.")],
            ..PageDraft::default()
        });
        let mut source = Source::from_page(SourceId::new(1), SourceKind::Scholar, &page, None);
        assert!(source.is_unlisted_paper());
        source.work.doi = Some("10.1000/182".to_owned());
        assert!(!source.is_unlisted_paper());
    }

    #[test]
    fn a_path_of_this_machine_is_shown_to_nobody() {
        assert_eq!(public_address("file:///srv/secret/notes.md"), "notes.md");
        assert_eq!(public_address("https://example.org/notes.md"), "https://example.org/notes.md");
    }
}
