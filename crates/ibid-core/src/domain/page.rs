use serde::{Deserialize, Serialize};

use super::{PageHash, Synonym, Untrusted, Vertical, Work, split_sentences};

/// A document that a search returned. It has not been read yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Its URL. Local documents have `file://`, or the address that they or their collection state.
    pub url: String,
    /// The local file, as `file://`, if `url` is the address that the document states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The document's id in its collection, if any (a JSONL row's `id`).
    pub doc_id: Option<String>,
    /// The title given by the provider.
    pub title: String,
    /// The excerpt shown by the provider; untrusted text.
    pub snippet: Untrusted,
    /// Position in the provider's answer, from 1.
    pub rank: u32,
    /// The provider's score, higher is better; comparable only within one answer.
    pub score: f32,
    /// The provider: `local`, `pubmed`, `searxng`, …
    pub provider: String,
    /// The vertical that was searched.
    pub vertical: Vertical,
    /// Publication date as `YYYY-MM-DD`, if the provider gives one.
    pub date: Option<String>,
    /// Bibliographic data from the provider.
    #[serde(default, skip_serializing_if = "Work::is_empty")]
    pub work: Work,
    /// The full text or abstract, if the provider gives more than a snippet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Untrusted>,
}

impl Hit {
    /// Creates a hit with only a title and a snippet.
    pub fn new(provider: &str, url: &str, title: &str, snippet: &str) -> Hit {
        Hit {
            url: url.to_owned(),
            file: None,
            doc_id: None,
            title: title.to_owned(),
            snippet: Untrusted::new(snippet),
            rank: 0,
            score: 0.0,
            provider: provider.to_owned(),
            vertical: Vertical::Web,
            date: None,
            work: Work::from_url(url),
            text: None,
        }
    }

    /// The identity of the document: its id in the collection, or else the place it was found. The stated address of
    /// a local file is not used: two files may state the same one.
    pub fn key(&self) -> &str {
        key(&self.doc_id, &self.file, &self.url)
    }
}

/// The answer to a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "HitsRepr")]
pub struct Hits {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Notices of the provider for the user: engines behind it that did not answer, a query that was truncated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The cost in US dollars, if the provider charges and reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Names in the query for which the provider also searched other names, learned from its documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synonyms: Vec<Synonym>,
}

/// The stored form of hits: journals of earlier versions contain only the list.
#[derive(Deserialize)]
#[serde(untagged)]
enum HitsRepr {
    List(Vec<Hit>),
    Object {
        hits: Vec<Hit>,
        #[serde(default)]
        remarks: Vec<String>,
        #[serde(default)]
        cost_usd: Option<f64>,
        #[serde(default)]
        synonyms: Vec<Synonym>,
    },
}

impl From<HitsRepr> for Hits {
    fn from(kept: HitsRepr) -> Hits {
        match kept {
            HitsRepr::List(hits) => hits.into(),
            HitsRepr::Object { hits, remarks, cost_usd, synonyms } => {
                Hits { hits, remarks, cost_usd, synonyms }
            }
        }
    }
}

impl From<Vec<Hit>> for Hits {
    fn from(hits: Vec<Hit>) -> Hits {
        Hits { hits, ..Hits::default() }
    }
}

pub(super) fn key<'a>(id: &'a Option<String>, file: &'a Option<String>, url: &'a str) -> &'a str {
    id.as_deref().or(file.as_deref()).unwrap_or(url)
}

/// The kind of block that contains a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Running text.
    Prose,
    /// A heading.
    Heading,
    /// An item of a list.
    ListItem,
    /// One row of a table, cells joined by ` | `. A cell that spans columns or rows stands in each of them; a cell that spans
    /// them all stands alone.
    TableRow,
    /// A row of a table that the document marks as naming the columns, written as the others are.
    TableHeader,
    /// Code or preformatted text.
    Code,
    /// A reader's comment or forum answer below the main text.
    Comment,
}

impl BlockKind {
    /// Whether it is a row of a table.
    pub fn is_row(self) -> bool {
        matches!(self, BlockKind::TableRow | BlockKind::TableHeader)
    }
}

/// One block of clean text, as a reader returns it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The kind of block.
    pub kind: BlockKind,
    /// Its text on one line; code keeps its line breaks.
    pub text: String,
    /// Page number of the printed document, from 1 (PDF).
    pub page: Option<u32>,
    /// Level of a heading (1–6) or depth of a list item (1 = outermost); 1 for the first row of a table; 0 if unknown.
    #[serde(default)]
    pub level: u8,
}

impl Block {
    /// Creates a block without page or level.
    pub fn new(kind: BlockKind, text: impl Into<String>) -> Block {
        Block { kind, text: text.into(), page: None, level: 0 }
    }
}

/// A link in the main text of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftLink {
    /// The block, from 0.
    pub block: u32,
    /// The words that are linked, as they stand in the block.
    pub text: String,
    /// The absolute address.
    pub url: String,
}

/// A link in the text of a page that was fetched, to another site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    /// The sentence that has it, from 0.
    pub sentence: u32,
    /// The absolute address.
    pub url: String,
}

/// Who confirms that the content of a page came from its address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlProvenance {
    /// Unknown: the page was stored by a version that trusted the page's own statement.
    #[default]
    Unknown,
    /// The built-in fetcher, or a configured reader that was asked for this address.
    Fetcher,
    /// The search engine that returned the text.
    Engine,
    /// The file system: a file in a folder that the user named. A web address is the file's own statement.
    Folder,
}

impl UrlProvenance {
    fn is_unknown(&self) -> bool {
        *self == UrlProvenance::Unknown
    }

    fn hash_tag(self) -> &'static str {
        match self {
            UrlProvenance::Unknown => "",
            UrlProvenance::Fetcher => "witness:fetcher",
            UrlProvenance::Engine => "witness:engine",
            UrlProvenance::Folder => "witness:folder",
        }
    }
}

/// The output of a reader, before it becomes a [`Page`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageDraft {
    /// Its address: for fetched pages, the URL it was fetched from; for local files, the address they state, or else
    /// the file.
    pub url: String,
    /// The file it was read from, as `file://`, if `url` is another address.
    pub file: Option<String>,
    /// Who confirms `url`.
    #[serde(default, rename = "witness")]
    pub url_provenance: UrlProvenance,
    /// The canonical address that a fetched page states, if it differs. Informational only.
    #[serde(default)]
    pub stated_url: Option<String>,
    /// The document's id in its collection.
    pub doc_id: Option<String>,
    /// The title. If the document has none, readers use the first heading or the file name.
    pub title: String,
    /// The author.
    pub author: Option<String>,
    /// Publication date, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Where the date was found: `json-ld`, `meta`, `time`, `url`, `row`, `file`, …
    pub date_source: Option<String>,
    /// Two-letter language code.
    pub lang: Option<String>,
    /// The site or publication it appeared in.
    pub site: Option<String>,
    /// Whether it states that it offers for sale what it describes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_offer: bool,
    /// The main text, block by block.
    pub blocks: Vec<Block>,
    /// The links in it to other sites, in order; none for documents that were not fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<DraftLink>,
    /// Problems of the reader: `truncated at 4 MB`, `charset guessed`, …
    pub warnings: Vec<String>,
}

/// One sentence of a page: byte offsets into the text, and its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Number of the block, from 0. Where a table begins right below another one, a number is left out.
    pub block: u32,
    /// The kind of block.
    pub kind: BlockKind,
    /// Page number of the printed document, from 1 (PDF).
    pub page: Option<u32>,
    /// The level of a heading, from 1; 0 where the document gives none, and for other kinds.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub level: u8,
}

/// A document that has been read: clean text in numbered sentences, identified by its content hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    hash: PageHash,
    /// Its address: for fetched pages, the URL it was fetched from; for local files, the address they state, or else
    /// the file.
    pub url: String,
    /// The file it was read from, as `file://`, if `url` is another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Who confirms `url`.
    #[serde(default, rename = "witness", skip_serializing_if = "UrlProvenance::is_unknown")]
    pub url_provenance: UrlProvenance,
    /// The canonical address that a fetched page states, if it differs. Informational only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_url: Option<String>,
    /// The document's id in its collection.
    pub doc_id: Option<String>,
    /// The title.
    pub title: String,
    /// The author.
    pub author: Option<String>,
    /// Publication date, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Where the date was found.
    pub date_source: Option<String>,
    /// Two-letter language code.
    pub lang: Option<String>,
    /// The site or publication it appeared in.
    pub site: Option<String>,
    /// Whether it states that it offers for sale what it describes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_offer: bool,
    /// Problems of the reader.
    pub warnings: Vec<String>,
    text: Untrusted,
    sentences: Vec<Sentence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<PageLink>,
}

impl Page {
    /// Joins the draft's blocks with newlines, numbers the sentences and computes the hash.
    pub fn new(draft: PageDraft) -> Page {
        let mut text = String::new();
        let mut numbered: Vec<Sentence> = Vec::new();
        let mut links = Vec::new();
        let (mut next, mut before) = (0, None);
        for (at, block) in draft.blocks.iter().enumerate() {
            let touches = before.is_some_and(BlockKind::is_row) && block.kind.is_row();
            let nth = next + u32::from(touches && block.level == 1);
            (next, before) = (nth + 1, Some(block.kind));
            if !text.is_empty() {
                text.push('\n');
            }
            let base = text.len();
            text.push_str(&block.text);
            let spans = match block.kind {
                BlockKind::Prose | BlockKind::ListItem | BlockKind::Comment => {
                    split_sentences(&block.text)
                }
                BlockKind::Heading
                | BlockKind::TableRow
                | BlockKind::TableHeader
                | BlockKind::Code => std::iter::once(0..block.text.len()).collect(),
            };
            let first = numbered.len();
            numbered.extend(spans.into_iter().filter(|span| !span.is_empty()).map(|span| {
                Sentence {
                    start: (base + span.start) as u32,
                    end: (base + span.end) as u32,
                    block: nth,
                    kind: block.kind,
                    page: block.page,
                    level: if block.kind == BlockKind::Heading { block.level } else { 0 },
                }
            }));
            let of_block = draft.links.iter().filter(|link| link.block as usize == at);
            links.extend(locate_links(&block.text, base, of_block, &numbered[first..], first));
        }
        let mut page = Page {
            hash: PageHash::from_parts(&[]),
            url: draft.url,
            file: draft.file,
            url_provenance: draft.url_provenance,
            stated_url: draft.stated_url,
            doc_id: draft.doc_id,
            title: draft.title,
            author: draft.author,
            date: draft.date,
            date_source: draft.date_source,
            lang: draft.lang,
            site: draft.site,
            is_offer: draft.is_offer,
            warnings: draft.warnings,
            text: Untrusted::new(text),
            sentences: numbered,
            links,
        };
        page.hash = page.compute_hash();
        page
    }

    fn compute_hash(&self) -> PageHash {
        let mut parts = vec![
            self.url.as_str(),
            self.doc_id.as_deref().unwrap_or_default(),
            &self.title,
            self.author.as_deref().unwrap_or_default(),
            self.date.as_deref().unwrap_or_default(),
            self.text.expose(),
        ];
        // Two files that state the same address are two pages.
        parts.extend(self.file.as_deref());
        // Pages of earlier versions keep their hash.
        if !self.url_provenance.is_unknown() {
            parts.push(self.url_provenance.hash_tag());
        }
        // So do pages without links. What a page links to is a part of what a run does with it.
        let links: Vec<String> =
            self.links.iter().map(|link| format!("link:{} {}", link.sentence, link.url)).collect();
        parts.extend(links.iter().map(String::as_str));
        // And pages whose headings have no levels: the levels decide what belongs to a section.
        let levels: Vec<String> = self
            .sentences
            .iter()
            .enumerate()
            .filter(|(_, sentence)| sentence.level > 0)
            .map(|(nth, sentence)| format!("heading:{nth} {}", sentence.level))
            .collect();
        parts.extend(levels.iter().map(String::as_str));
        PageHash::from_parts(&parts)
    }

    /// Whether the stored hash matches the content.
    pub fn is_intact(&self) -> bool {
        self.compute_hash() == self.hash
    }

    /// The hash of the text and of the fields that identify the page.
    pub fn hash(&self) -> &PageHash {
        &self.hash
    }

    /// The whole text, blocks joined with newlines.
    pub fn text(&self) -> &Untrusted {
        &self.text
    }

    /// The sentences in order.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// Returns the text of sentence `n`, counted from 0; empty if there is none.
    pub fn sentence(&self, n: usize) -> &str {
        self.sentences
            .get(n)
            .and_then(|sentence| {
                self.text.expose().get(sentence.start as usize..sentence.end as usize)
            })
            .unwrap_or_default()
    }

    /// Returns the nearest heading above sentence `n`.
    pub fn heading_above(&self, n: usize) -> Option<&str> {
        let upto = n.min(self.sentences.len());
        self.sentences[..upto]
            .iter()
            .rposition(|sentence| sentence.kind == BlockKind::Heading)
            .map(|at| self.sentence(at))
    }

    /// The links to other sites in sentence `n`.
    pub fn links_in(&self, n: usize) -> impl Iterator<Item = &str> {
        let of_sentence = self.links.iter().filter(move |link| link.sentence as usize == n);
        of_sentence.map(|link| link.url.as_str())
    }

    /// The identity of the document: its id in the collection, or else the place it was read from.
    pub fn key(&self) -> &str {
        key(&self.doc_id, &self.file, &self.url)
    }

    /// Returns the passage of sentences `first` to `last` (from 0, both included) if the page has them.
    ///
    /// This is the only way to construct a [`Passage`].
    pub fn passage(&self, first: usize, last: usize) -> Option<Passage> {
        let start = self.sentences.get(first)?;
        let end = self.sentences.get(last)?;
        if first > last {
            return None;
        }
        let words = self.text.expose().get(start.start as usize..end.end as usize)?;
        Some(Passage {
            page: self.hash.clone(),
            first: first as u32,
            last: last as u32,
            start: start.start,
            end: end.end,
            printed_page: start.page,
            text: Untrusted::new(words),
        })
    }
}

/// Which sentences of a block have its links, in order: `first` is the number of the block's first sentence, and `base` the
/// place of its text in the page's.
fn locate_links<'a>(
    text: &str,
    base: usize,
    links: impl Iterator<Item = &'a DraftLink>,
    sentences: &[Sentence],
    first: usize,
) -> Vec<PageLink> {
    let mut from = 0;
    let mut found = Vec::new();
    for link in links {
        let Some(at) = text.get(from..).and_then(|rest| rest.find(&link.text)) else {
            continue;
        };
        let start = base + from + at;
        from += at + link.text.len();
        let nth =
            sentences.iter().position(|it| (it.start as usize..it.end as usize).contains(&start));
        if let Some(nth) = nth {
            found.push(PageLink { sentence: (first + nth) as u32, url: link.url.clone() });
        }
    }
    found
}

/// An exact quote from a page. Only [`Page::passage`] constructs one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    page: PageHash,
    first: u32,
    last: u32,
    start: u32,
    end: u32,
    printed_page: Option<u32>,
    text: Untrusted,
}

impl Passage {
    /// The page that contains it.
    pub fn page(&self) -> &PageHash {
        &self.page
    }
    /// The exact words.
    pub fn text(&self) -> &Untrusted {
        &self.text
    }
    /// Index of the first sentence, from 0.
    pub fn first(&self) -> usize {
        self.first as usize
    }
    /// Index of the last sentence, from 0, inclusive.
    pub fn last(&self) -> usize {
        self.last as usize
    }
    /// Byte range in the page's text.
    pub fn byte_range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
    /// Page number of the printed document, from 1 (PDF).
    pub fn printed_page(&self) -> Option<u32> {
        self.printed_page
    }
    /// Whether the words occur at this position in `page`.
    pub fn is_found_in(&self, page: &Page) -> bool {
        *page.hash() == self.page
            && page.text().expose().get(self.byte_range()) == Some(self.text.expose())
    }
    /// The range in Unicode code points, as used in JSON.
    pub fn code_point_range(&self, page: &Page) -> std::ops::Range<usize> {
        let text = page.text().expose();
        let start = text.get(..self.start as usize).map_or(0, |value| value.chars().count());
        start..start + self.text.expose().chars().count()
    }
}
