//! Papers in JATS, the XML of journals, PubMed Central and Europe PMC: title, abstract, sections, lists, tables and captions.
//!
//! References, notes, acknowledgements and reviews are no words of the paper and are left out, and so are the numbers by which
//! a text refers to its references. Nothing that the document type declares is expanded.
use super::xml::{Piece, walk};
use super::{Trouble, dates, prose};
use crate::domain::{Block, BlockKind, PageDraft};
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
pub(super) fn read(bytes: &[u8]) -> Result<PageDraft, Trouble> {
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
    draft.doc_id = id;
    draft.url = match (doi, pmcid, pmid) {
        (Some(it), _, _) => format!("https://doi.org/{it}"),
        (_, Some(it), _) => format!("https://pmc.ncbi.nlm.nih.gov/articles/{it}/"),
        (_, _, Some(it)) => format!("https://pubmed.ncbi.nlm.nih.gov/{it}/"),
        _ => String::new(),
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
    draft: PageDraft,
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
        if self.left_out.is_some() || self.deeper > 0 {
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
mod tests {
    use super::*;

    const PAPER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.3//EN" "x.dtd" [<!ENTITY big "no">]>
<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" article-type="research-article" xml:lang="en">
<front><journal-meta><journal-title-group><journal-title>Journal of Bark</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="pmc">456</article-id><article-id pub-id-type="doi">10.1000/Cork.1</article-id>
<title-group><article-title>Cork &amp; <italic>Quercus suber</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Oak</surname><given-names>Ann</given-names></name><xref ref-type="aff" rid="a1">1</xref></contrib>
<contrib contrib-type="author"><name><surname>Elm</surname><given-names>Bo</given-names></name></contrib></contrib-group>
<aff id="a1">University of Nowhere</aff>
<pub-date pub-type="ppub"><year>2024</year></pub-date><pub-date pub-type="epub"><day>5</day><month>3</month><year>2023</year></pub-date>
<permissions><p>All rights.</p></permissions>
<abstract><sec><title>Methods</title><p>We peeled 40 oaks.</p></sec></abstract><abstract abstract-type="graphical"><p>A drawing.</p></abstract>
<kwd-group><kwd>bark</kwd></kwd-group></article-meta></front>
<body><sec><label>1</label><title>Introduction</title><p>Cork floats [<xref ref-type="bibr" rid="r1">1</xref>, <xref ref-type="bibr" rid="r2">2</xref>] on water<sup><xref ref-type="bibr" rid="r3">3</xref></sup>, as <xref ref-type="bibr" rid="r4">Smith (2001)</xref> saw; 10<sup>6</sup> cells weigh <inline-formula><alternatives><tex-math>\documentclass{x}\begin{document}$m$\end{document}</tex-math><mml:math><mml:mi>m</mml:mi></mml:math></alternatives></inline-formula> grams.
<list><list-item><p>Trees live.</p></list-item><list-item><p>Bark grows.</p><list><list-item><p>Slowly.</p></list-item></list></list-item></list> And so on.<fn><p>A note.</p></fn></p>
<sec><title>Harvest</title><p>It takes nine years.</p>
<table-wrap><label>Table 1</label><caption><title>Yields.</title><p>In kilograms.</p></caption><table><thead><tr><th>Year</th><th>Yield</th></tr></thead><tbody><tr><td>1990</td><td><p>40</p><p>tons</p></td></tr></tbody></table><table-wrap-foot><p>Dry weight.</p></table-wrap-foot></table-wrap>
<fig><label>Figure 1.</label><caption><p>An oak.</p></caption><graphic/></fig></sec></sec></body>
<back><ack><p>Thanks.</p></ack><ref-list><ref><mixed-citation>Smith 2001.</mixed-citation></ref></ref-list></back>
<sub-article><body><p>A review.</p></body></sub-article></article>"#;

    #[test]
    fn a_paper_has_its_words_in_order_and_nothing_else() {
        assert!(is_one(PAPER.as_bytes()));
        let draft = read(PAPER.as_bytes()).unwrap_or_else(|it| panic!("{it:?}"));
        assert_eq!(draft.title, "Cork & Quercus suber");
        assert_eq!(draft.author.as_deref(), Some("Ann Oak, Bo Elm"));
        assert_eq!(draft.date.as_deref(), Some("2023-03-05"));
        assert_eq!(draft.site.as_deref(), Some("Journal of Bark"));
        assert_eq!(draft.doc_id.as_deref(), Some("doi:10.1000/cork.1"));
        assert_eq!(draft.url, "https://doi.org/10.1000/cork.1");
        assert_eq!(draft.lang.as_deref(), Some("en"));
        let told = |it: &Block| format!("{:?}{} {}", it.kind, it.level, it.text);
        let seen: Vec<String> = draft.blocks.iter().map(told).collect();
        assert_eq!(
            seen,
            [
                "Heading1 Cork & Quercus suber",
                "Heading2 Abstract",
                "Heading3 Methods",
                "Prose0 We peeled 40 oaks.",
                "Heading2 Introduction",
                "Prose0 Cork floats on water, as Smith (2001) saw; 10^6 cells weigh m grams.",
                "ListItem1 Trees live.",
                "ListItem1 Bark grows.",
                "ListItem2 Slowly.",
                "Prose0 And so on.",
                "Heading3 Harvest",
                "Prose0 It takes nine years.",
                "Prose0 Table 1. Yields. In kilograms.",
                "TableRow0 Year | Yield",
                "TableRow0 1990 | 40 tons",
                "Prose0 Dry weight.",
                "Prose0 Figure 1. An oak.",
            ]
        );
    }

    #[test]
    fn of_several_papers_the_first_is_read_and_what_has_no_body_says_so() {
        let set = "<?xml version='1.0'?><pmc-articleset><article article-type='x'><front><article-meta><title-group><article-title>One</article-title></title-group><abstract><p>First words.</p></abstract></article-meta></front></article><article><body><p>Second.</p></body></article></pmc-articleset>";
        assert!(is_one(set.as_bytes()));
        let draft = read(set.as_bytes()).unwrap_or_else(|it| panic!("{it:?}"));
        assert_eq!(draft.blocks.len(), 3);
        assert_eq!(draft.warnings.len(), 2);
    }

    #[test]
    fn other_documents_are_no_papers() {
        for other in [
            "<article class=\"post\"><p>Hello</p></article>",
            "<!DOCTYPE html><html><article article-type='x'></article></html>",
            "<?xml version='1.0'?><rss><channel/></rss>",
            "<?xml version='1.0'?><article xmlns='http://docbook.org/ns/docbook' version='5.0'><front/></article>",
            "<?xml version='1.0'?><!-- never ends",
            "An article about cork.",
            "",
        ] {
            assert!(!is_one(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn what_is_deep_or_torn_is_read_as_far_as_it_goes() {
        let deep = format!(
            "<?xml version='1.0'?><article article-type='a'><body><p>Up here.</p>{}lost{}<p>Back.</p></body></article>",
            "<sec>".repeat(200_000),
            "</sec>".repeat(200_000)
        );
        let draft = read(deep.as_bytes()).unwrap_or_else(|it| panic!("{it:?}"));
        let words: Vec<&str> = draft.blocks.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(words, ["Up here.", "Back."]);
        let torn = &PAPER[..PAPER.find("Bark grows").unwrap()];
        assert!(read(torn.as_bytes()).is_ok());
        assert!(read(b"<?xml version='1.0'?><article dtd-version='1'/>").is_err());
    }
}
