//! Papers in JATS, the XML of journals, PubMed Central and Europe PMC: title, abstract, sections, lists, tables and captions.
//!
//! References, notes, acknowledgements and reviews are left out, and so are reference numbers in the text. Entities that the
//! document type declares are not expanded.
use crate::parse_error::ParseError;
use crate::parsed_document::ParsedDocument;
use crate::table_grid::{GridCell, TableGrid};
use crate::xml::{XmlEvent, walk};
use crate::{dates, plain_text, superscript};
use ibid_core::domain::{Block, BlockKind};

/// Depth of an element; deeper ones are left out. No paper has half of it.
const MAX_DEPTH: usize = 128;
/// Maximum number of blocks of a paper: more than ten times what papers have.
const MAX_BLOCKS: usize = 20_000;
/// Authors of a paper.
const MAX_AUTHORS: usize = 50;
/// Level of a list item; deeper lists get this one.
const MAX_LIST_LEVEL: u8 = 8;

/// Elements that are left out.
const LEFT_OUT: &[&str] = &[
    "ack",
    "alt-text",
    "alt-title",
    "app-group",
    "back",
    "fn",
    "fn-group",
    "funding-group",
    "graphic",
    "history",
    "kwd-group",
    "long-desc",
    "media",
    "object-id",
    "permissions",
    "ref-list",
    "related-article",
    "response",
    "sub-article",
    "supplementary-material",
    "trans-abstract",
    "trans-title-group",
];

/// Elements that begin a block.
const BLOCKS: &[&str] = &[
    "caption",
    "def-item",
    "def-list",
    "disp-quote",
    "fig",
    "list",
    "list-item",
    "p",
    "sec",
    "table",
    "table-wrap",
    "tr",
];

/// Types of abstracts that are left out.
const SKIPPED_ABSTRACTS: &[&str] = &["toc", "graphical", "teaser", "precis", "short"];

/// Whether a document that begins with `head` is in JATS, and not HTML or DocBook with an `article` element.
pub(crate) fn is_jats(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&head[..head.len().min(4096)]);
    let mut rest = head.trim_start_matches('\u{feff}').trim_start();
    let declared = rest.starts_with("<?xml");
    loop {
        let end = match rest.get(..2) {
            Some("<?") => rest.find("?>").map(|it| it + 2),
            Some("<!") if rest.starts_with("<!--") => rest.find("-->").map(|it| it + 3),
            // The declarations inside a document type are in brackets.
            Some("<!") => match (rest.find('['), rest.find('>')) {
                (Some(open), Some(end)) if open < end => rest.find("]>").map(|it| it + 2),
                (_, end) => end.map(|it| it + 1),
            },
            _ => break,
        };
        let Some(end) = end else { return false };
        rest = rest[end..].trim_start();
    }
    let Some(tag) = rest.strip_prefix('<') else {
        return false;
    };
    let root = tag.split([' ', '>', '\n', '\r', '\t', '/']).next();
    let tag = tag.split('>').next().unwrap_or_default();
    match root.map(|root| root.rsplit(':').next().unwrap_or(root)) {
        Some("pmc-articleset") => true,
        Some("article") => {
            let marked = ["article-type", "dtd-version", "JATS", "NLM//DTD"];
            let marked = marked.iter().any(|it| tag.contains(it) || head.contains(it));
            let has_front = declared && head.contains("<front");
            !head.to_lowercase().contains("docbook") && (marked || has_front)
        }
        _ => false,
    }
}

/// Reads a paper. If the file holds several, only the first is read.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedDocument, ParseError> {
    let mut paper = PaperReader::default();
    let walked = walk(bytes, &mut |event| match event {
        XmlEvent::Start(name, attr) => paper.start(name, attr),
        XmlEvent::End(_) => paper.end(),
        XmlEvent::Text(text) => paper.text(text),
    });
    paper.close();
    let mut draft = std::mem::take(&mut paper.draft);
    if let Err(error) = walked {
        // Text before the damage is kept.
        if paper.out.is_empty() {
            return Err(error);
        }
        draft.warnings.push(error.message);
    }
    if paper.out.is_empty() {
        return Err(ParseError::empty());
    }
    if paper.articles > 1 {
        let warning = "several papers: only the first was read";
        draft.warnings.push(warning.to_owned());
    }
    if paper.cut {
        draft.warnings.push(format!("more than {MAX_BLOCKS} paragraphs: only the first were read"));
    }
    if !paper.has_body {
        draft.warnings.push("it has no full text".to_owned());
    }
    let ArticleIds { doi, pmid, pmcid } = &paper.ids;
    let id = [("doi", doi), ("pmid", pmid), ("pmcid", pmcid)];
    let id = id.iter().find_map(|(kind, id)| Some(format!("{kind}:{}", id.as_ref()?)));
    draft.stated_id = id;
    draft.stated_url = match (doi, pmcid, pmid) {
        (Some(it), _, _) => Some(format!("https://doi.org/{it}")),
        (_, Some(it), _) => Some(format!("https://pmc.ncbi.nlm.nih.gov/articles/{it}/")),
        (_, _, Some(it)) => Some(format!("https://pubmed.ncbi.nlm.nih.gov/{it}/")),
        _ => None,
    };
    if !paper.authors.is_empty() {
        draft.author = Some(paper.authors.join(", "));
    }
    draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
    draft.title.clone_from(&paper.title);
    if !paper.title.is_empty() {
        let title = Block { level: 1, ..Block::new(BlockKind::Heading, paper.title) };
        paper.out.insert(0, title);
    }
    draft.blocks = paper.out;
    Ok(draft)
}

#[derive(Default)]
struct ArticleIds {
    doi: Option<String>,
    pmid: Option<String>,
    pmcid: Option<String>,
}

/// Builds a document from the events of a paper.
#[derive(Default)]
struct PaperReader {
    draft: ParsedDocument,
    out: Vec<Block>,
    title: String,
    authors: Vec<String>,
    ids: ArticleIds,
    articles: u32,
    has_body: bool,
    /// Whether there were more than [`MAX_BLOCKS`] blocks.
    cut: bool,
    /// Names of the open elements, down to [`MAX_DEPTH`].
    open: Vec<String>,
    /// Open elements below them.
    deeper: usize,
    /// The depth of the open element that is left out.
    left_out: Option<usize>,
    /// The words of the open block.
    words: String,
    /// The depth of each open reference or superscript, and the start of its words, which may be removed at its end.
    marks: Vec<(usize, usize)>,
    /// The kind of the open `article-id`, contributor or date.
    kind: String,
    surname: String,
    given: String,
    /// Year, month and day.
    date: [String; 3],
    /// Cells of the open row.
    row: Option<Vec<GridCell>>,
    grid: TableGrid,
    /// A label such as `Table 1`, which goes before the caption.
    label: String,
}

impl PaperReader {
    fn is_inside(&self, name: &str) -> bool {
        self.open.iter().any(|it| it == name)
    }

    fn depth_of(&self, name: &str) -> usize {
        self.open.iter().filter(|it| *it == name).count()
    }

    fn start(&mut self, name: &str, attr: &dyn Fn(&str) -> Option<String>) {
        if self.cut {
            return;
        }
        if self.open.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        if self.left_out.is_none() && BLOCKS.contains(&name) {
            self.close();
        }
        let at = self.open.len();
        self.open.push(name.to_owned());
        if self.left_out.is_some() {
            return;
        }
        if LEFT_OUT.contains(&name) {
            self.left_out = Some(at);
            return;
        }
        match name {
            "article" => {
                self.articles += 1;
                if self.articles > 1 {
                    self.left_out = Some(at);
                } else {
                    self.draft.lang =
                        attr("lang").and_then(|attr| Some(attr.get(..2)?.to_lowercase()));
                }
            }
            "body" => self.has_body = true,
            "abstract" => {
                self.flush(BlockKind::Prose, 0);
                match attr("abstract-type")
                    .filter(|attr| SKIPPED_ABSTRACTS.contains(&attr.as_str()))
                {
                    Some(_) => self.left_out = Some(at),
                    None => self.push(BlockKind::Heading, 2, "Abstract"),
                }
            }
            "article-id" => self.kind = attr("pub-id-type").unwrap_or_default(),
            "contrib" => {
                self.kind = attr("contrib-type").unwrap_or_default();
                self.surname.clear();
                self.given.clear();
            }
            "pub-date" => {
                let kind = attr("date-type").or_else(|| attr("pub-type"));
                self.kind = kind.unwrap_or_default();
                self.date = Default::default();
            }
            "table" => self.grid.begin_table(),
            "tr" => self.row = Some(Vec::new()),
            "th" | "td" => {
                self.words.clear();
                let count = |name: &str| attr(name).and_then(|it| it.trim().parse::<usize>().ok());
                if let Some(row) = &mut self.row {
                    let (columns, rows) = (count("colspan"), count("rowspan"));
                    row.push(GridCell::spanning(columns, rows));
                }
            }
            "xref" if attr("ref-type").as_deref() == Some("bibr") => {
                self.marks.push((at, self.words.len()));
            }
            "sup" => self.marks.push((at, self.words.len())),
            // The alternatives hold the same formula in another language.
            "tex-math" if self.is_inside("alternatives") => self.left_out = Some(at),
            "break" => self.words.push(' '),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.cut || self.left_out.is_some() || self.deeper > 0 {
            return;
        }
        match self.open.last().map(String::as_str) {
            Some("tex-math") => self.words.push_str(latex_formula(text)),
            Some(_) if self.is_wanted() => self.words.push_str(text),
            _ => {}
        }
    }

    /// Whether text at this place is part of the paper or of its metadata.
    fn is_wanted(&self) -> bool {
        const META: &[&str] = &[
            "article-title",
            "article-id",
            "surname",
            "given-names",
            "collab",
            "year",
            "month",
            "day",
            "journal-title",
            "abstract",
        ];
        if self.is_inside("front") {
            META.iter().any(|name| self.is_inside(name))
        } else {
            self.is_inside("body") || self.is_inside("floats-group")
        }
    }

    fn end(&mut self) {
        if self.cut {
            return;
        }
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let Some(name) = self.open.pop() else { return };
        let at = self.open.len();
        if let Some(from) = self.left_out {
            if from == at {
                self.left_out = None;
            }
            return;
        }
        while let Some((_, from)) = self.marks.pop_if(|mark| mark.0 >= at) {
            let inside = self.words.get(from..).unwrap_or_default();
            let is_reference = name == "xref" && !inside.chars().any(char::is_alphabetic);
            let is_empty = !inside.chars().any(char::is_alphanumeric);
            if is_reference || is_empty {
                self.words.truncate(from);
            } else {
                superscript::separate_from_number(&mut self.words, from, false);
            }
        }
        if self.is_inside("front") && !self.is_inside("abstract") && name != "abstract" {
            self.end_meta(&name);
        } else {
            self.end_body(&name);
        }
    }

    /// Ends an element of the metadata.
    fn end_meta(&mut self, name: &str) {
        let text = match name {
            "article-title" | "article-id" | "surname" | "given-names" | "collab" | "year"
            | "month" | "day" | "journal-title" => self.take_words(),
            _ => String::new(),
        };
        match name {
            "article-title" if self.is_inside("title-group") => self.title = text,
            "article-id" => {
                let id = text.trim().to_owned();
                match self.kind.as_str() {
                    "doi" if id.starts_with("10.") => {
                        self.ids.doi.get_or_insert(id.to_lowercase());
                    }
                    "pmid" => {
                        self.ids.pmid.get_or_insert(id);
                    }
                    "pmc" | "pmcid" => {
                        let digits = id.trim_start_matches("PMC");
                        self.ids.pmcid.get_or_insert(format!("PMC{digits}"));
                    }
                    _ => {}
                }
            }
            "surname" => self.surname = text,
            "given-names" => self.given = text,
            "collab" => self.surname = text,
            "contrib" if matches!(self.kind.as_str(), "author" | "") => {
                let name = format!("{} {}", self.given, self.surname);
                if !name.trim().is_empty() && self.authors.len() < MAX_AUTHORS {
                    self.authors.push(name.trim().to_owned());
                }
            }
            "year" => self.date[0] = text,
            "month" => self.date[1] = text,
            "day" => self.date[2] = text,
            "pub-date" => {
                let [year, month, day] = &self.date;
                let number = |text: &String| text.parse::<u32>().unwrap_or(1);
                let date = format!("{year}-{:02}-{:02}", number(month), number(day));
                let best = matches!(self.kind.as_str(), "epub" | "pub");
                if let Some(date) = dates::normalise(&date)
                    && (best || self.draft.date.is_none())
                {
                    self.draft.date = Some(date);
                }
            }
            "journal-title" => self.draft.site = Some(text),
            _ => {}
        }
    }

    /// The level of the innermost open list; 0 outside lists.
    fn list_level(&self) -> u8 {
        u8::try_from(self.depth_of("list")).map_or(MAX_LIST_LEVEL, |it| it.min(MAX_LIST_LEVEL))
    }

    /// Ends an element of the abstract or the body.
    fn end_body(&mut self, name: &str) {
        let sections = u8::try_from(self.depth_of("sec")).unwrap_or(6);
        let lists = self.list_level();
        match name {
            "label" if self.is_inside("table-wrap") || self.is_inside("fig") => {
                self.label = self.take_words()
            }
            // The number of a section, or the mark of a list item.
            "label" => self.words.clear(),
            "title" if self.is_inside("caption") => {
                self.words.push(' ');
            }
            "title" => {
                let level = (sections + 1 + u8::from(self.is_inside("abstract"))).clamp(2, 6);
                self.flush(BlockKind::Heading, level);
            }
            "th" | "td" => {
                let cell = self.take_words();
                if let Some(open) = self.row.as_mut().and_then(|row| row.last_mut()) {
                    open.text = cell;
                }
            }
            "tr" => {
                let row = self.row.take().unwrap_or_default();
                let names = self.is_inside("thead");
                if let Some(block) = self.grid.block(row, names) {
                    self.push(block.kind, block.level, &block.text);
                }
            }
            // Paragraphs in cells and captions are not blocks of their own.
            "p" if self.row.is_some() || self.is_inside("caption") => self.words.push(' '),
            "caption" | "table-wrap" | "fig" => {
                let label = std::mem::take(&mut self.label);
                if !label.is_empty() && self.words.chars().any(char::is_alphanumeric) {
                    let dot = if label.ends_with(['.', ':']) { "" } else { "." };
                    self.words.insert_str(0, &format!("{label}{dot} "));
                }
                self.flush(BlockKind::Prose, 0);
            }
            "term" => self.words.push_str(": "),
            "def-item" => self.flush(BlockKind::ListItem, lists.max(1)),
            "p" if self.is_inside("def-item") => self.words.push(' '),
            "p" | "list-item" if lists > 0 => self.flush(BlockKind::ListItem, lists),
            "p" | "disp-quote" | "sec" | "abstract" | "body" => self.flush(BlockKind::Prose, 0),
            _ => {}
        }
    }

    /// Takes the words of the open block, folded onto one line.
    fn take_words(&mut self) -> String {
        let mut text = String::new();
        plain_text::fold_whitespace_into(&mut text, &std::mem::take(&mut self.words));
        self.marks.clear();
        without_empty_brackets(text.trim())
    }

    /// Ends the open block.
    fn flush(&mut self, kind: BlockKind, level: u8) {
        let text = self.take_words();
        self.push(kind, level, &text);
    }

    fn push(&mut self, kind: BlockKind, level: u8, text: &str) {
        if self.out.len() >= MAX_BLOCKS {
            self.cut = true;
        } else if text.chars().any(char::is_alphanumeric) {
            let block = Block::new(kind, text);
            self.out.push(Block { level, ..block });
        }
    }

    /// Ends the open block, because another begins inside it.
    fn close(&mut self) {
        if self.row.is_some() || self.is_inside("caption") || self.is_inside("def-item") {
            return;
        }
        if self.is_inside("front") && !self.is_inside("abstract") {
            self.words.clear();
            return;
        }
        match self.list_level() {
            0 => self.flush(BlockKind::Prose, 0),
            level => self.flush(BlockKind::ListItem, level),
        }
    }
}

/// The formula in a LaTeX document: some publishers wrap each formula in one.
fn latex_formula(text: &str) -> &str {
    let inside = text.split("\\begin{document}").nth(1).unwrap_or(text);
    let inside = inside.split("\\end{document}").next().unwrap_or(inside);
    inside.trim().trim_matches('$')
}

/// A text without brackets that are empty since their references were removed: `a text [, –].` becomes `a text.`.
fn without_empty_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '(']) {
        let behind = &rest[at + 1..];
        let shut = if rest[at..].starts_with('[') { ']' } else { ')' };
        let filler = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '-' | '–' | '—');
        let end = behind.find(|it| !filler(it));
        match end.filter(|it| behind[*it..].starts_with(shut)) {
            Some(end) => {
                out.push_str(rest[..at].trim_end());
                rest = &behind[end + 1..];
            }
            None => {
                out.push_str(&rest[..=at]);
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[path = "jats_tests.rs"]
mod tests;
