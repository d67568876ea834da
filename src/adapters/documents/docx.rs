//! Word documents: headings, lists and tables of `word/document.xml`, title and author of
//! `docProps/core.xml`.
use std::collections::HashMap;

use super::archive::Archive;
use super::xml::{Piece, walk};
use super::{ParsedDocument, Trouble, dates, prose};
use crate::domain::{Block, BlockKind};
use crate::record::FailReason;

/// Reads a `.docx`.
pub(super) fn read(bytes: &[u8]) -> Result<ParsedDocument, Trouble> {
    let mut archive = Archive::open(bytes)?;
    let main = archive.read("word/document.xml")?.ok_or_else(|| {
        Trouble::new(
            FailReason::Broken,
            "damaged container: no word/document.xml in it",
        )
    })?;
    let styles = match archive.read("word/styles.xml") {
        Ok(Some(styles)) => heading_styles(&styles).unwrap_or_default(),
        _ => HashMap::new(),
    };
    let mut draft = ParsedDocument::default();
    let mut body = Body {
        styles,
        ..Body::default()
    };
    // What was read before the damage is kept.
    if let Err(it) = walk(&main, &mut |piece| body.take(piece)) {
        if body.out.is_empty() {
            return Err(it);
        }
        draft.warnings.push(it.message);
    }
    draft.blocks = body.out;
    if let Ok(Some(core)) = archive.read("docProps/core.xml") {
        core_properties(&core, &mut draft);
    }
    Ok(draft)
}

/// Title, creator and creation date, as office containers and EPUB packages give them.
pub(super) fn core_properties(core: &[u8], draft: &mut ParsedDocument) {
    let mut name = String::new();
    let _ = walk(core, &mut |piece| match piece {
        Piece::Start(tag, _) => tag.clone_into(&mut name),
        Piece::End(_) => name.clear(),
        Piece::Text(text) => {
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

/// Style ids and the heading level each stands for: by outline level, or by the name `heading 2`.
fn heading_styles(styles: &[u8]) -> Result<HashMap<String, u8>, Trouble> {
    let mut found = HashMap::new();
    // What is said first of a style holds.
    let mut keep = |id: &String, level: u8| {
        found.entry(id.clone()).or_insert(level);
    };
    let mut id = String::new();
    walk(styles, &mut |piece| {
        let Piece::Start(tag, attr) = piece else {
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
                let level = attr("val").and_then(|it| it.parse::<u8>().ok());
                if let Some(level) = level.filter(|it| *it < 9) {
                    keep(&id, (level + 1).min(6));
                }
            }
            _ => {}
        }
    })?;
    Ok(found)
}

#[derive(Default)]
struct Body {
    /// The heading level of each style that has one.
    styles: HashMap<String, u8>,
    out: Vec<Block>,
    text: String,
    heading: Option<u8>,
    list: Option<u8>,
    in_text: bool,
    /// Nesting of deleted or field-code text, which is not shown.
    unseen: u32,
    /// Cells of the open table row.
    row: Option<Vec<String>>,
    tables: u32,
}

impl Body {
    fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Start(tag, attr) => self.start(tag, attr),
            Piece::End(tag) => self.end(tag),
            Piece::Text(text) if self.in_text && self.unseen == 0 => self.text.push_str(text),
            Piece::Text(_) => {}
        }
    }

    fn start(&mut self, tag: &str, attr: &dyn Fn(&str) -> Option<String>) {
        match tag {
            "t" => self.in_text = true,
            "tab" | "br" | "cr" if !self.text.is_empty() => self.text.push(' '),
            "noBreakHyphen" => self.text.push('-'),
            "p" => {
                self.heading = None;
                self.list = None;
            }
            "pStyle" => {
                let id = attr("val").unwrap_or_default();
                let level = self.styles.get(&id).copied();
                let named = id.to_lowercase();
                let by_name = named.strip_prefix("heading").and_then(|it| it.parse().ok());
                self.heading = level.or(by_name).or((named == "title").then_some(1));
                if named.contains("list") && self.list.is_none() {
                    self.list = Some(1);
                }
            }
            "ilvl" => {
                let level = attr("val")
                    .and_then(|it| it.parse::<u8>().ok())
                    .unwrap_or(0);
                self.list = Some(level.saturating_add(1).min(8));
            }
            "numPr" => self.list = self.list.or(Some(1)),
            "outlineLvl" => {
                let level = attr("val").and_then(|it| it.parse::<u8>().ok());
                self.heading = level
                    .filter(|it| *it < 9)
                    .map(|it| (it + 1).min(6))
                    .or(self.heading);
            }
            "del" | "moveFrom" | "instrText" | "Fallback" => self.unseen += 1,
            "vanish" if attr("val").is_none_or(|it| it != "0" && it != "false") => {
                // The run's words follow its properties; they are dropped at the run's end.
                self.unseen = self.unseen.saturating_add(1_000);
            }
            "tbl" => self.tables += 1,
            "tr" if self.tables == 1 => self.row = Some(Vec::new()),
            "tc" if self.tables == 1 => {
                if let Some(row) = &mut self.row {
                    row.push(String::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: &str) {
        match tag {
            "t" => self.in_text = false,
            "r" => self.unseen %= 1_000,
            "del" | "moveFrom" | "instrText" | "Fallback" => {
                self.unseen = self.unseen.saturating_sub(1)
            }
            "p" => self.paragraph(),
            "tr" if self.tables == 1 => {
                if let Some(cells) = self.row.take()
                    && cells.iter().any(|it| !it.is_empty())
                {
                    self.out
                        .push(Block::new(BlockKind::TableRow, cells.join(" | ")));
                }
            }
            "tbl" => self.tables = self.tables.saturating_sub(1),
            _ => {}
        }
    }

    fn paragraph(&mut self) {
        let raw = std::mem::take(&mut self.text);
        let mut text = String::with_capacity(raw.len());
        prose::fold_into(&mut text, &raw);
        if text.is_empty() {
            return;
        }
        if let Some(cell) = self.row.as_mut().and_then(|it| it.last_mut()) {
            if !cell.is_empty() {
                cell.push(' ');
            }
            cell.push_str(&text);
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
