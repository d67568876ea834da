use serde::{Deserialize, Serialize};

use super::{PageHash, Untrusted, Vertical, Work, sentences};

/// Someone says this exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Where it is said to be. Local documents have `file://`, or the address that they or their
    /// collection give.
    pub url: String,
    /// The local file, as `file://`, of a document whose `url` is the address it gives as its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The document's own id in its collection, where it has one (a JSONL row's `id`).
    pub doc_id: Option<String>,
    /// What it is called there.
    pub title: String,
    /// What the provider shows of it: a stranger's words.
    pub snippet: Untrusted,
    /// Its place in the provider's answer, from 1.
    pub rank: u32,
    /// The provider's score, higher is better; comparable only within one answer.
    pub score: f32,
    /// Who says so: `local`, `pubmed`, `searxng`, …
    pub provider: String,
    /// The vertical that was asked.
    pub vertical: Vertical,
    /// Publication date as `YYYY-MM-DD`, where the provider tells it.
    pub date: Option<String>,
    /// What the provider knows of it as a work.
    #[serde(default, skip_serializing_if = "Work::is_empty")]
    pub work: Work,
    /// Its whole text, or its abstract, where the provider gives more than a snippet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Untrusted>,
}

impl Hit {
    /// What `provider` says is at `url`, with nothing known besides its title and a snippet.
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
            work: Work::of_url(url),
            text: None,
        }
    }

    /// What tells this document from others: its own id where it has one, else the place it was
    /// found: the address that a local file gives as its own is only its word, and two may give one.
    pub fn key(&self) -> &str {
        key(&self.doc_id, &self.file, &self.url)
    }
}

/// What a search came back with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "AsKept")]
pub struct Hits {
    /// What was found, best first.
    pub hits: Vec<Hit>,
    /// What the provider says of the search that a person should know: engines behind it that did not answer, a query that
    /// was cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What it cost, US dollars, where the provider charges and says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Hits as a record holds them: journals of earlier versions have the list alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum AsKept {
    Alone(Vec<Hit>),
    Whole {
        hits: Vec<Hit>,
        #[serde(default)]
        remarks: Vec<String>,
        #[serde(default)]
        cost_usd: Option<f64>,
    },
}

impl From<AsKept> for Hits {
    fn from(kept: AsKept) -> Hits {
        match kept {
            AsKept::Alone(hits) => hits.into(),
            AsKept::Whole {
                hits,
                remarks,
                cost_usd,
            } => Hits {
                hits,
                remarks,
                cost_usd,
            },
        }
    }
}

impl From<Vec<Hit>> for Hits {
    fn from(hits: Vec<Hit>) -> Hits {
        Hits {
            hits,
            ..Hits::default()
        }
    }
}

pub(super) fn key<'a>(id: &'a Option<String>, file: &'a Option<String>, url: &'a str) -> &'a str {
    id.as_deref().or(file.as_deref()).unwrap_or(url)
}

/// What kind of block a sentence stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Running text.
    Prose,
    /// A heading.
    Heading,
    /// An item of a list.
    ListItem,
    /// One row of a table, cells joined by ` | `.
    TableRow,
    /// Code or preformatted text.
    Code,
    /// A reader's comment or forum answer below the main text.
    Comment,
}

/// One block of clean text, as a reader hands it over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Its words on one line (code keeps its line breaks).
    pub text: String,
    /// The page of the printed document, from 1 (PDF).
    pub page: Option<u32>,
    /// Level of a heading (1–6) or depth of a list item (1 = outermost); 0 where it is not known.
    #[serde(default)]
    pub level: u8,
}

impl Block {
    /// A block without page or level.
    pub fn new(kind: BlockKind, text: impl Into<String>) -> Block {
        Block {
            kind,
            text: text.into(),
            page: None,
            level: 0,
        }
    }
}

/// Who vouches that a page is what stands at its address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    /// Nobody that is known: pages written by versions that took a page's own word for its address.
    #[default]
    Unknown,
    /// Our own fetcher, or a reader that the operator configured and that was asked for this address.
    Fetcher,
    /// The search engine whose words these are.
    Engine,
    /// The disk: a file of a folder that a person named. An address of the web is the file's own word.
    Folder,
}

impl Witness {
    fn is_unknown(&self) -> bool {
        *self == Witness::Unknown
    }

    fn word(self) -> &'static str {
        match self {
            Witness::Unknown => "",
            Witness::Fetcher => "witness:fetcher",
            Witness::Engine => "witness:engine",
            Witness::Folder => "witness:folder",
        }
    }
}

/// What a reader made of a document, before it becomes a [`Page`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageDraft {
    /// Where it is: what was fetched, where it was fetched from; a local file, the address that it states, else the file.
    pub url: String,
    /// Where it was read, as `file://`, if `url` is another address.
    pub file: Option<String>,
    /// Who vouches for `url`.
    #[serde(default)]
    pub witness: Witness,
    /// The address that a fetched page gives as its own, if it is another: a remark, counted for nothing.
    #[serde(default)]
    pub stated_url: Option<String>,
    /// The document's own id in its collection.
    pub doc_id: Option<String>,
    /// What it is called; a reader that finds no title gives the first heading or the file name.
    pub title: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// When it was published, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Where the date was found: `json-ld`, `meta`, `time`, `url`, `row`, `file`, …
    pub date_source: Option<String>,
    /// Two-letter language code.
    pub lang: Option<String>,
    /// The site or publication it appeared in.
    pub site: Option<String>,
    /// The main text, block by block.
    pub blocks: Vec<Block>,
    /// What the reader could not do: `truncated at 4 MB`, `charset guessed`, …
    pub warnings: Vec<String>,
}

/// One sentence of a page: byte offsets into its text, and the block it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Which block, from 0.
    pub block: u32,
    /// What kind of block.
    pub kind: BlockKind,
    /// The page of the printed document, from 1 (PDF).
    pub page: Option<u32>,
}

/// We have read it: clean text in numbered sentences, known by its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    hash: PageHash,
    /// Where it is: what was fetched, where it was fetched from; a local file, the address that it states, else the file.
    pub url: String,
    /// Where it was read, as `file://`, if `url` is another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Who vouches for `url`.
    #[serde(default, skip_serializing_if = "Witness::is_unknown")]
    pub witness: Witness,
    /// The address that a fetched page gives as its own, if it is another: a remark, counted for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_url: Option<String>,
    /// The document's own id in its collection.
    pub doc_id: Option<String>,
    /// What it is called.
    pub title: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// When it was published, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Where the date was found.
    pub date_source: Option<String>,
    /// Two-letter language code.
    pub lang: Option<String>,
    /// The site or publication it appeared in.
    pub site: Option<String>,
    /// What the reader could not do.
    pub warnings: Vec<String>,
    text: Untrusted,
    sentences: Vec<Sentence>,
}

impl Page {
    /// Joins the draft's blocks by newlines, numbers the sentences and hashes the whole.
    pub fn new(draft: PageDraft) -> Page {
        let mut text = String::new();
        let mut numbered = Vec::new();
        for (nth, block) in draft.blocks.iter().enumerate() {
            if !text.is_empty() {
                text.push('\n');
            }
            let base = text.len();
            text.push_str(&block.text);
            let spans = match block.kind {
                BlockKind::Prose | BlockKind::ListItem | BlockKind::Comment => {
                    sentences(&block.text)
                }
                BlockKind::Heading | BlockKind::TableRow | BlockKind::Code => {
                    std::iter::once(0..block.text.len()).collect()
                }
            };
            numbered.extend(
                spans
                    .into_iter()
                    .filter(|it| !it.is_empty())
                    .map(|span| Sentence {
                        start: (base + span.start) as u32,
                        end: (base + span.end) as u32,
                        block: nth as u32,
                        kind: block.kind,
                        page: block.page,
                    }),
            );
        }
        let mut page = Page {
            hash: PageHash::of(&[]),
            url: draft.url,
            file: draft.file,
            witness: draft.witness,
            stated_url: draft.stated_url,
            doc_id: draft.doc_id,
            title: draft.title,
            author: draft.author,
            date: draft.date,
            date_source: draft.date_source,
            lang: draft.lang,
            site: draft.site,
            warnings: draft.warnings,
            text: Untrusted::new(text),
            sentences: numbered,
        };
        page.hash = page.computed();
        page
    }

    fn computed(&self) -> PageHash {
        let mut parts = vec![
            self.url.as_str(),
            self.doc_id.as_deref().unwrap_or_default(),
            &self.title,
            self.author.as_deref().unwrap_or_default(),
            self.date.as_deref().unwrap_or_default(),
            self.text.expose(),
        ];
        // Two files that give one address are two pages.
        parts.extend(self.file.as_deref());
        // Pages of earlier versions keep the name that they were given.
        if !self.witness.is_unknown() {
            parts.push(self.witness.word());
        }
        PageHash::of(&parts)
    }

    /// Whether its words, and what identifies it, are still those it is known by.
    pub fn is_untouched(&self) -> bool {
        self.computed() == self.hash
    }

    /// What it is known by: the hash of its text and what identifies it.
    pub fn hash(&self) -> &PageHash {
        &self.hash
    }

    /// All its words, blocks joined by newlines.
    pub fn text(&self) -> &Untrusted {
        &self.text
    }

    /// Its sentences in order.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// The words of sentence `n`, counted from 0; empty where there is none.
    pub fn sentence(&self, n: usize) -> &str {
        self.sentences
            .get(n)
            .and_then(|it| self.text.expose().get(it.start as usize..it.end as usize))
            .unwrap_or_default()
    }

    /// The nearest heading above sentence `n`.
    pub fn heading_above(&self, n: usize) -> Option<&str> {
        let upto = n.min(self.sentences.len());
        self.sentences[..upto]
            .iter()
            .rposition(|it| it.kind == BlockKind::Heading)
            .map(|at| self.sentence(at))
    }

    /// What tells this document from others: its own id where it has one, else the place it was read.
    pub fn key(&self) -> &str {
        key(&self.doc_id, &self.file, &self.url)
    }

    /// The passage of sentences `first` to `last` (from 0, both included), if the page has them.
    ///
    /// This is the only way to make a [`Passage`].
    pub fn passage(&self, first: usize, last: usize) -> Option<Passage> {
        let start = self.sentences.get(first)?;
        let end = self.sentences.get(last)?;
        if first > last {
            return None;
        }
        let words = self
            .text
            .expose()
            .get(start.start as usize..end.end as usize)?;
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

/// These exact words stand in that page. Only [`Page::passage`] makes one.
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
    /// The page it stands in.
    pub fn page(&self) -> &PageHash {
        &self.page
    }
    /// Its exact words.
    pub fn text(&self) -> &Untrusted {
        &self.text
    }
    /// First sentence, from 0.
    pub fn first(&self) -> usize {
        self.first as usize
    }
    /// Last sentence, from 0, included.
    pub fn last(&self) -> usize {
        self.last as usize
    }
    /// Byte offsets of its words in the page's text.
    pub fn bytes(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
    /// The page of the printed document, from 1 (PDF).
    pub fn printed_page(&self) -> Option<u32> {
        self.printed_page
    }
    /// Whether its words really stand at its place in `page`.
    pub fn stands_in(&self, page: &Page) -> bool {
        *page.hash() == self.page
            && page.text().expose().get(self.bytes()) == Some(self.text.expose())
    }
    /// Offsets counted in Unicode code points, as the wire forms give them.
    pub fn code_points(&self, page: &Page) -> std::ops::Range<usize> {
        let text = page.text().expose();
        let start = text
            .get(..self.start as usize)
            .map_or(0, |it| it.chars().count());
        start..start + self.text.expose().chars().count()
    }
}
