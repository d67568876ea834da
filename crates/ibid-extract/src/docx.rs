//! Word documents: headings, lists and tables from `word/document.xml`, title and author from `docProps/core.xml`.
use std::collections::HashMap;

use crate::archive::Archive;
use crate::parse_error::ParseError;
use crate::parsed_document::ParsedDocument;
use crate::table_grid::{GridCell, TableGrid};
use crate::xml::{XmlEvent, walk};
use crate::{dates, plain_text, superscript};
use ibid_core::ReadFailure;
use ibid_core::domain::{Block, BlockKind};

/// Paragraphs in deeper lists get this level.
const MAX_LIST_LEVEL: u8 = 8;
/// Added to the nesting of hidden text by a hidden run. Larger than any nesting of deletions.
const HIDDEN_RUN: u32 = 1_000;

/// Reads a `.docx`.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedDocument, ParseError> {
    let mut archive = Archive::open(bytes)?;
    let main = archive.read_entry("word/document.xml")?.ok_or_else(|| {
        ParseError::new(ReadFailure::Broken, "damaged container: no word/document.xml")
    })?;
    let styles = match archive.read_entry("word/styles.xml") {
        Ok(Some(styles)) => heading_styles(&styles).unwrap_or_default(),
        _ => HashMap::new(),
    };
    let mut draft = ParsedDocument::default();
    let mut body = BodyReader { styles, ..BodyReader::default() };
    // Text before the damage is kept.
    if let Err(error) = walk(&main, &mut |event| body.handle_event(event)) {
        if body.out.is_empty() {
            return Err(error);
        }
        draft.warnings.push(error.message);
    }
    draft.blocks = body.out;
    if let Ok(Some(core)) = archive.read_entry("docProps/core.xml") {
        core_properties(&core, &mut draft);
    }
    Ok(draft)
}

/// Reads title, creator, date, language and publisher from the Dublin Core elements of an office container or EPUB package.
pub(crate) fn core_properties(core: &[u8], draft: &mut ParsedDocument) {
    let mut name = String::new();
    let _ = walk(core, &mut |event| match event {
        XmlEvent::Start(tag, _) => tag.clone_into(&mut name),
        XmlEvent::End(_) => name.clear(),
        XmlEvent::Text(text) => {
            let text = text.trim();
            if text.is_empty() {
                return;
            }
            match name.as_str() {
                "title" if draft.title.is_empty() => text.clone_into(&mut draft.title),
                "creator" => match &mut draft.author {
                    Some(had) => {
                        had.push_str(", ");
                        had.push_str(text);
                    }
                    none => *none = Some(text.to_owned()),
                },
                "created" | "date" if draft.date.is_none() => {
                    draft.date = dates::normalise(text);
                    draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
                }
                "language" if draft.lang.is_none() => {
                    draft.lang = text.get(..2).map(str::to_lowercase);
                }
                "publisher" if draft.site.is_none() => draft.site = Some(text.to_owned()),
                _ => {}
            }
        }
    });
}

/// The heading levels of the styles that have one, by style id: from the outline level, or from the name, as in `heading 2`.
fn heading_styles(styles: &[u8]) -> Result<HashMap<String, u8>, ParseError> {
    let mut found = HashMap::new();
    // The first level given for a style counts.
    let mut keep = |id: &String, level: u8| {
        found.entry(id.clone()).or_insert(level);
    };
    let mut id = String::new();
    walk(styles, &mut |event| {
        let XmlEvent::Start(tag, attr) = event else {
            return;
        };
        match tag {
            "style" => id = attr("styleId").unwrap_or_default(),
            "name" => {
                let name = attr("val").unwrap_or_default().to_lowercase();
                let level = match name.strip_prefix("heading ") {
                    Some(level) => level.trim().parse().ok(),
                    None => (name == "title").then_some(1),
                };
                if let Some(level) = level {
                    keep(&id, u8::clamp(level, 1, 6));
                }
            }
            "outlineLvl" => {
                let level = attr("val").and_then(|attr| attr.parse::<u8>().ok());
                if let Some(level) = level.filter(|level| *level < 9) {
                    keep(&id, (level + 1).min(6));
                }
            }
            _ => {}
        }
    })?;
    Ok(found)
}

/// Builds blocks from the events of `word/document.xml`.
#[derive(Default)]
struct BodyReader {
    /// The heading level of each style that has one.
    styles: HashMap<String, u8>,
    out: Vec<Block>,
    text: String,
    heading: Option<u8>,
    list: Option<u8>,
    in_text: bool,
    /// Where the open run begins, if it is raised.
    raised: Option<usize>,
    /// Nesting of hidden text: deletions and field codes, and [`HIDDEN_RUN`] in a hidden run.
    hidden: u32,
    /// Cells of the open table row.
    row: Option<Vec<GridCell>>,
    /// Whether the open row is marked as one that names the columns.
    names: bool,
    grid: TableGrid,
    /// Nesting of tables. Text in inner tables goes to the cell of the outer one.
    tables: u32,
}

impl BodyReader {
    fn handle_event(&mut self, event: XmlEvent<'_>) {
        match event {
            XmlEvent::Start(tag, attr) => self.start(tag, attr),
            XmlEvent::End(tag) => self.end(tag),
            XmlEvent::Text(text) if self.in_text && self.hidden == 0 => self.text.push_str(text),
            XmlEvent::Text(_) => {}
        }
    }

    fn start(&mut self, tag: &str, attr: &dyn Fn(&str) -> Option<String>) {
        match tag {
            "t" => self.in_text = true,
            "tab" | "br" | "cr" if !self.text.is_empty() => self.text.push(' '),
            "noBreakHyphen" => self.text.push('-'),
            "vertAlign" if attr("val").as_deref() == Some("superscript") => {
                self.raised = Some(self.text.len());
            }
            "p" => {
                self.heading = None;
                self.list = None;
            }
            "pStyle" => {
                let id = attr("val").unwrap_or_default();
                let level = self.styles.get(&id).copied();
                let name = id.to_lowercase();
                let by_name = name.strip_prefix("heading").and_then(|level| level.parse().ok());
                self.heading = level.or(by_name).or((name == "title").then_some(1));
                if name.contains("list") && self.list.is_none() {
                    self.list = Some(1);
                }
            }
            "ilvl" => {
                let level = attr("val").and_then(|attr| attr.parse::<u8>().ok()).unwrap_or(0);
                self.list = Some(level.saturating_add(1).min(MAX_LIST_LEVEL));
            }
            "numPr" => self.list = self.list.or(Some(1)),
            "outlineLvl" => {
                let level = attr("val").and_then(|attr| attr.parse::<u8>().ok());
                self.heading = level
                    .filter(|level| *level < 9)
                    .map(|level| (level + 1).min(6))
                    .or(self.heading);
            }
            "del" | "moveFrom" | "instrText" | "Fallback" => self.hidden += 1,
            "vanish" if attr("val").is_none_or(|attr| attr != "0" && attr != "false") => {
                // Hides the text of the run, which follows its properties, until the run's end.
                self.hidden = self.hidden.saturating_add(HIDDEN_RUN);
            }
            "tbl" => {
                self.tables += 1;
                if self.tables == 1 {
                    self.grid.begin_table();
                }
            }
            "tr" if self.tables == 1 => {
                self.row = Some(Vec::new());
                self.names = false;
            }
            _ if self.tables == 1 => self.start_in_row(tag, attr),
            _ => {}
        }
    }

    /// Cells, and what they span.
    fn start_in_row(&mut self, tag: &str, attr: &dyn Fn(&str) -> Option<String>) {
        let Some(row) = &mut self.row else {
            return;
        };
        let count = || attr("val").and_then(|attr| attr.parse::<usize>().ok());
        match (tag, row.last_mut()) {
            ("tc", _) => row.push(GridCell::default()),
            ("gridBefore", _) => {
                row.push(GridCell { columns: count().unwrap_or(1), ..GridCell::default() })
            }
            ("tblHeader", _) => {
                self.names = attr("val").is_none_or(|on| on != "0" && on != "false")
            }
            ("gridSpan", Some(cell)) => cell.columns = count().unwrap_or(1),
            ("vMerge", Some(cell)) => cell.continues = attr("val").is_none_or(|it| it != "restart"),
            _ => {}
        }
    }

    fn end(&mut self, tag: &str) {
        match tag {
            "t" => self.in_text = false,
            "r" => {
                self.hidden %= HIDDEN_RUN;
                if let Some(from) = self.raised.take() {
                    superscript::separate_from_number(&mut self.text, from, false);
                }
            }
            "del" | "moveFrom" | "instrText" | "Fallback" => {
                self.hidden = self.hidden.saturating_sub(1)
            }
            "p" => self.end_paragraph(),
            "tr" if self.tables == 1 => {
                if let Some(cells) = self.row.take() {
                    let block = self.grid.block(cells, self.names);
                    self.out.extend(block);
                }
            }
            "tbl" => self.tables = self.tables.saturating_sub(1),
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let raw = std::mem::take(&mut self.text);
        let mut text = String::with_capacity(raw.len());
        plain_text::fold_whitespace_into(&mut text, &raw);
        if text.is_empty() {
            return;
        }
        if let Some(cell) = self.row.as_mut().and_then(|row| row.last_mut()) {
            if !cell.text.is_empty() {
                cell.text.push(' ');
            }
            cell.text.push_str(&text);
            return;
        }
        let (kind, level) = match (self.heading, self.list) {
            (Some(level), _) => (BlockKind::Heading, level),
            (None, Some(level)) => (BlockKind::ListItem, level),
            (None, None) => (BlockKind::Prose, 0),
        };
        let mut block = Block::new(kind, text);
        block.level = level;
        self.out.push(block);
    }
}
