//! Papers in JATS, the XML of journals, PubMed Central and Europe PMC: title, abstract, sections, lists, tables and captions.
//!
//! References, notes, acknowledgements and reviews are no words of the paper and are left out, and so are the numbers by which
//! a text refers to its references. Nothing that the document type declares is expanded.
use super::xml::{Piece, walk};
use super::{ParsedDocument, Trouble, dates, prose};
use crate::domain::{Block, BlockKind};
use crate::record::FailReason;

/// What lies deeper is left out. No paper has half of it.
const DEEPEST: usize = 128;
/// Blocks that are taken. No paper has a tenth of it.
const MOST_BLOCKS: usize = 20_000;
/// Authors that are named.
const MOST_AUTHORS: usize = 50;

/// Elements whose words are none of the paper's.
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

/// Elements where a block begins.
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

/// Kinds of abstracts that are no abstract.
const NO_ABSTRACT: &[&str] = &["toc", "graphical", "teaser", "precis", "short"];

/// Whether a document that begins with `head` is a paper, and not a page or a book of another kind with an `article` in it.
pub(super) fn is_one(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&head[..head.len().min(4096)]);
    let mut rest = head.trim_start_matches('\u{feff}').trim_start();
    let declared = rest.starts_with("<?xml");
    loop {
        let end = match rest.get(..2) {
            Some("<?") => rest.find("?>").map(|it| it + 2),
            Some("<!") if rest.starts_with("<!--") => rest.find("-->").map(|it| it + 3),
            // What is declared inside of a document type stands in brackets.
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
    match root.map(|it| it.rsplit(':').next().unwrap_or(it)) {
        Some("pmc-articleset") => true,
        Some("article") => {
            let marked = ["article-type", "dtd-version", "JATS", "NLM//DTD"];
            let marked = marked
                .iter()
                .any(|it| tag.contains(it) || head.contains(it));
            let has_front = declared && head.contains("<front");
            !head.to_lowercase().contains("docbook") && (marked || has_front)
        }
        _ => false,
    }
}

/// Reads a paper; of several in one file the first.
pub(super) fn read(bytes: &[u8]) -> Result<ParsedDocument, Trouble> {
    let mut paper = Paper::default();
    let walked = walk(bytes, &mut |piece| match piece {
        Piece::Start(name, attr) => paper.start(name, attr),
        Piece::End(_) => paper.end(),
        Piece::Text(text) => paper.text(text),
    });
    paper.close();
    let mut draft = std::mem::take(&mut paper.draft);
    if let Err(it) = walked {
        // What was read before the damage is kept.
        if paper.out.is_empty() {
            return Err(it);
        }
        draft.warnings.push(it.message);
    }
    if paper.out.is_empty() {
        return Err(Trouble::new(FailReason::Empty, "there are no words in it"));
    }
    if paper.articles > 1 {
        let told = "several papers: only the first was read";
        draft.warnings.push(told.to_owned());
    }
    if paper.cut {
        draft.warnings.push(format!(
            "it has more than {MOST_BLOCKS} paragraphs: read in part"
        ));
    }
    if !paper.has_body {
        draft.warnings.push("it has no full text".to_owned());
    }
    let Ids { doi, pmid, pmcid } = &paper.ids;
    let id = [("doi", doi), ("pmid", pmid), ("pmcid", pmcid)];
    let id = id
        .iter()
        .find_map(|(kind, it)| Some(format!("{kind}:{}", it.as_ref()?)));
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
        let title = Block {
            level: 1,
            ..Block::new(BlockKind::Heading, paper.title)
        };
        paper.out.insert(0, title);
    }
    draft.blocks = paper.out;
    Ok(draft)
}

#[derive(Default)]
struct Ids {
    doi: Option<String>,
    pmid: Option<String>,
    pmcid: Option<String>,
}

/// What has been read so far.
#[derive(Default)]
struct Paper {
    draft: ParsedDocument,
    out: Vec<Block>,
    title: String,
    authors: Vec<String>,
    ids: Ids,
    articles: u32,
    has_body: bool,
    /// Whether there was more than is taken.
    cut: bool,
    /// Names of the open elements, down to [`DEEPEST`].
    open: Vec<String>,
    /// Elements open below them.
    deeper: usize,
    /// How many are open where an element began that is left out.
    left_out: Option<usize>,
    /// The words of the open block.
    words: String,
    /// Where the words of open elements begin that may prove to be none: references, what is raised.
    marks: Vec<(usize, usize)>,
    /// The kind of the open `article-id`, contributor or date.
    kind: String,
    surname: String,
    given: String,
    date: [String; 3],
    /// Cells of the open row.
    row: Option<Vec<String>>,
    /// `Table 1`, put before the caption that follows it.
    label: String,
}

impl Paper {
    fn within(&self, name: &str) -> bool {
        self.open.iter().any(|it| it == name)
    }

    fn depth_of(&self, name: &str) -> usize {
        self.open.iter().filter(|it| *it == name).count()
    }

    fn start(&mut self, name: &str, attr: &dyn Fn(&str) -> Option<String>) {
        if self.cut {
            return;
        }
        if self.open.len() >= DEEPEST {
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
                    self.draft.lang = attr("lang").and_then(|it| Some(it.get(..2)?.to_lowercase()));
                }
            }
            "body" => self.has_body = true,
            "abstract" => {
                self.flush(BlockKind::Prose, 0);
                match attr("abstract-type").filter(|it| NO_ABSTRACT.contains(&it.as_str())) {
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
            "tr" => self.row = Some(Vec::new()),
            "th" | "td" => self.words.clear(),
            "xref" if attr("ref-type").as_deref() == Some("bibr") => {
                self.marks.push((at, self.words.len()));
            }
            "sup" => self.marks.push((at, self.words.len())),
            // The same formula in another language stands beside it.
            "tex-math" if self.within("alternatives") => self.left_out = Some(at),
            "break" => self.words.push(' '),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.cut || self.left_out.is_some() || self.deeper > 0 {
            return;
        }
        match self.open.last().map(String::as_str) {
            Some("tex-math") => self.words.push_str(formula(text)),
            Some(_) if self.is_wanted() => self.words.push_str(text),
            _ => {}
        }
    }

    /// Whether text that stands here is of the paper, or something that is known of it.
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
        match self.within("front") {
            true => META.iter().any(|it| self.within(it)),
            false => self.within("body") || self.within("floats-group"),
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
        while let Some((_, from)) = self.marks.pop_if(|it| it.0 >= at) {
            let inside = self.words.get(from..).unwrap_or_default();
            let is_reference = name == "xref" && !inside.chars().any(char::is_alphabetic);
            let is_empty = !inside.chars().any(char::is_alphanumeric);
            let is_power = inside
                .chars()
                .all(|it| it.is_ascii_digit() || "-−".contains(it))
                && self.words[..from].ends_with(|it: char| it.is_ascii_digit());
            if is_reference || is_empty {
                self.words.truncate(from);
            } else if is_power {
                // Ten to the sixth is no hundred and six.
                self.words.insert(from, '^');
            }
        }
        match self.within("front") && !self.within("abstract") && name != "abstract" {
            true => self.end_meta(&name),
            false => self.end_body(&name),
        }
    }

    fn end_meta(&mut self, name: &str) {
        let said = match name {
            "article-title" | "article-id" | "surname" | "given-names" | "collab" | "year"
            | "month" | "day" | "journal-title" => self.taken(),
            _ => String::new(),
        };
        match name {
            "article-title" if self.within("title-group") => self.title = said,
            "article-id" => {
                let said = said.trim().to_owned();
                match self.kind.as_str() {
                    "doi" if said.starts_with("10.") => {
                        self.ids.doi.get_or_insert(said.to_lowercase());
                    }
                    "pmid" => {
                        self.ids.pmid.get_or_insert(said);
                    }
                    "pmc" | "pmcid" => {
                        let digits = said.trim_start_matches("PMC");
                        self.ids.pmcid.get_or_insert(format!("PMC{digits}"));
                    }
                    _ => {}
                }
            }
            "surname" => self.surname = said,
            "given-names" => self.given = said,
            "collab" => self.surname = said,
            "contrib" if matches!(self.kind.as_str(), "author" | "") => {
                let name = format!("{} {}", self.given, self.surname);
                if !name.trim().is_empty() && self.authors.len() < MOST_AUTHORS {
                    self.authors.push(name.trim().to_owned());
                }
            }
            "year" => self.date[0] = said,
            "month" => self.date[1] = said,
            "day" => self.date[2] = said,
            "pub-date" => {
                let [year, month, day] = &self.date;
                let number = |it: &String| it.parse::<u32>().unwrap_or(1);
                let said = format!("{year}-{:02}-{:02}", number(month), number(day));
                let best = matches!(self.kind.as_str(), "epub" | "pub");
                if let Some(date) = dates::normalise(&said)
                    && (best || self.draft.date.is_none())
                {
                    self.draft.date = Some(date);
                }
            }
            "journal-title" => self.draft.site = Some(said),
            _ => {}
        }
    }

    fn end_body(&mut self, name: &str) {
        let sections = u8::try_from(self.depth_of("sec")).unwrap_or(6);
        let lists = u8::try_from(self.depth_of("list")).unwrap_or(8).min(8);
        match name {
            "label" if self.within("table-wrap") || self.within("fig") => self.label = self.taken(),
            // A section's number, or an item's mark.
            "label" => self.words.clear(),
            "title" if self.within("caption") => {
                self.words.push(' ');
            }
            "title" => {
                let level = (sections + 1 + u8::from(self.within("abstract"))).clamp(2, 6);
                self.flush(BlockKind::Heading, level);
            }
            "th" | "td" => {
                let cell = self.taken();
                if let Some(row) = &mut self.row {
                    row.push(cell);
                }
            }
            "tr" => {
                let row = self.row.take().unwrap_or_default();
                if row.iter().any(|it| !it.is_empty()) {
                    self.push(BlockKind::TableRow, 0, &row.join(" | "));
                }
            }
            // Cells and captions have paragraphs in them that are no blocks of their own.
            "p" if self.row.is_some() || self.within("caption") => self.words.push(' '),
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
            "p" if self.within("def-item") => self.words.push(' '),
            "p" | "list-item" if lists > 0 => self.flush(BlockKind::ListItem, lists),
            "p" | "disp-quote" | "sec" | "abstract" | "body" => self.flush(BlockKind::Prose, 0),
            _ => {}
        }
    }

    /// The words of the open block, folded onto one line; none are open after it.
    fn taken(&mut self) -> String {
        let mut said = String::new();
        prose::fold_into(&mut said, &std::mem::take(&mut self.words));
        self.marks.clear();
        without_empty_brackets(said.trim())
    }

    fn flush(&mut self, kind: BlockKind, level: u8) {
        let said = self.taken();
        self.push(kind, level, &said);
    }

    fn push(&mut self, kind: BlockKind, level: u8, said: &str) {
        if self.out.len() >= MOST_BLOCKS {
            self.cut = true;
        } else if said.chars().any(char::is_alphanumeric) {
            let block = Block::new(kind, said);
            self.out.push(Block { level, ..block });
        }
    }

    /// Ends the block that is open where another begins within it.
    fn close(&mut self) {
        if self.row.is_some() || self.within("caption") || self.within("def-item") {
            return;
        }
        if self.within("front") && !self.within("abstract") {
            self.words.clear();
            return;
        }
        let lists = u8::try_from(self.depth_of("list")).unwrap_or(8).min(8);
        match lists {
            0 => self.flush(BlockKind::Prose, 0),
            level => self.flush(BlockKind::ListItem, level),
        }
    }
}

/// The formula in a whole document of LaTeX, as some publishers write each.
fn formula(text: &str) -> &str {
    let inside = text.split("\\begin{document}").nth(1).unwrap_or(text);
    let inside = inside.split("\\end{document}").next().unwrap_or(inside);
    inside.trim().trim_matches('$')
}

/// `a text [, –].` without the brackets that references stood in.
fn without_empty_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '(']) {
        let behind = &rest[at + 1..];
        let shut = if rest[at..].starts_with('[') {
            ']'
        } else {
            ')'
        };
        let filler = |it: char| it.is_whitespace() || matches!(it, ',' | ';' | '-' | '–' | '—');
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
