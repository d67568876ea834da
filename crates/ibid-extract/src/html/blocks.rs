//! A page as a flat list of visible blocks, each with its place in the tree.
use super::dom::{Dom, NodeData, NodeId};
use super::element_hints::{self, Hints};
use super::mathml;
use super::text::{count_words, is_invisible, is_space};
use super::visibility::HiddenSelectors;
use crate::superscript;
use crate::table_grid::{GridCell, TableGrid};
use ibid_core::domain::BlockKind;

/// Bytes of a line without final punctuation that a `<br>` does not end: shorter lines are taken for complete.
const MIN_WRAPPED_LINE: usize = 80;
/// Nodes of a table row that are looked at to tell data from layout.
const MAX_ROW_NODES: usize = 400;
/// What stands between two cells of a row.
const CELL_JOINT: &str = " | ";
/// Maximum bytes of a cell across a table that heads the rows below it.
const MAX_SPANNING_BYTES: usize = 200;
/// Bytes per cell of a data row.
const MAX_CELL_BYTES: usize = 600;

/// A block of visible text and its place in the page.
#[derive(Debug)]
pub(super) struct FlatBlock {
    pub(super) kind: BlockKind,
    /// Level of a heading (1–6) or of a list item (1 = outermost); 0 otherwise.
    pub(super) level: u8,
    pub(super) text: String,
    /// The block element that contains it.
    pub(super) node: NodeId,
    /// Hints of the element and all its ancestors.
    pub(super) hints: Hints,
    /// Hints of the element and its three nearest ancestors.
    pub(super) near: Hints,
    /// The number of words.
    pub(super) words: u32,
    /// The number of words inside links.
    pub(super) linked: u32,
    /// The row of a table that it is.
    pub(super) row: Option<FlatRow>,
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct FlatRow {
    /// Its table.
    pub(super) table: NodeId,
    /// Whether it names the columns.
    pub(super) names: bool,
    /// Its cells, each in every column and row that it spans.
    pub(super) text: String,
}

/// A cell of an open row.
struct OpenCell {
    id: NodeId,
    /// Where its text begins.
    start: usize,
}

/// Whether an element's content is never visible text.
///
/// Names are matched as bytes, here and elsewhere: the compiler turns byte patterns into one decision tree, and strings into
/// one comparison each.
fn is_skipped(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"script"
            | b"style"
            | b"noscript"
            | b"template"
            | b"head"
            | b"iframe"
            | b"object"
            | b"embed"
            | b"svg"
            | b"canvas"
            | b"audio"
            | b"video"
            | b"map"
            | b"select"
            | b"textarea"
            | b"input"
            | b"option"
            | b"datalist"
            | b"progress"
            | b"meter"
            | b"noframes"
            | b"title"
            | b"rp"
            | b"rt"
    )
}

/// Whether an element is marked as a list of references, as in the HTML of arXiv. References are not text of the page.
fn is_bibliography(dom: &Dom, id: NodeId) -> bool {
    matches!(dom.name(id).as_bytes(), b"section" | b"div" | b"ul" | b"ol")
        && (dom.attr(id, "role") == Some("doc-bibliography")
            || dom.attr(id, "class").is_some_and(|attr| attr.contains("ltx_bibliography")))
}

fn is_block(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"address"
            | b"article"
            | b"aside"
            | b"blockquote"
            | b"body"
            | b"button"
            | b"caption"
            | b"center"
            | b"dd"
            | b"details"
            | b"dialog"
            | b"dir"
            | b"div"
            | b"dl"
            | b"dt"
            | b"fieldset"
            | b"figcaption"
            | b"figure"
            | b"footer"
            | b"form"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"header"
            | b"hgroup"
            | b"hr"
            | b"html"
            | b"legend"
            | b"li"
            | b"listing"
            | b"main"
            | b"menu"
            | b"nav"
            | b"ol"
            | b"p"
            | b"pre"
            | b"search"
            | b"section"
            | b"summary"
            | b"table"
            | b"tbody"
            | b"td"
            | b"tfoot"
            | b"th"
            | b"thead"
            | b"tr"
            | b"ul"
            | b"xmp"
            | b"label"
    )
}

/// All visible blocks below `top`, in order.
pub(super) fn flatten(dom: &Dom, top: NodeId, hidden: &HiddenSelectors) -> Vec<FlatBlock> {
    let mut walk = BlockWalker {
        dom,
        out: Vec::new(),
        text: String::new(),
        words_linked: 0,
        linked_bytes: 0,
        open: Vec::new(),
        links: 0,
        raised: Vec::new(),
        row: None,
        cells: Vec::new(),
        table: None,
        grid: TableGrid::default(),
        pre: 0,
        list_depth: 0,
        seen: element_hints::HintCache::new(),
    };
    enum VisitStep {
        Enter(NodeId),
        Leave(NodeId),
    }
    let mut steps = vec![VisitStep::Enter(top)];
    while let Some(step) = steps.pop() {
        match step {
            VisitStep::Enter(id) => match dom.data(id) {
                NodeData::Text(text) => walk.push_text(text),
                NodeData::Other if id != dom.root() => {}
                _ => {
                    let skipped = is_skipped(dom.name(id)) || is_bibliography(dom, id);
                    if skipped || hidden.hides(dom, id) {
                        continue;
                    }
                    if dom.name(id) == "math" {
                        walk.push_text(&mathml::to_text(dom, id));
                        continue;
                    }
                    walk.enter(id);
                    steps.push(VisitStep::Leave(id));
                    let from = steps.len();
                    steps.extend(dom.children(id).map(VisitStep::Enter));
                    steps[from..].reverse();
                }
            },
            VisitStep::Leave(id) => walk.leave(id),
        }
    }
    walk.flush();
    walk.out
}

/// An open block element.
struct OpenBlock {
    id: NodeId,
    kind: BlockKind,
    level: u8,
    own: Hints,
    hints: Hints,
}

/// Builds blocks from the nodes of a page in document order.
struct BlockWalker<'a> {
    dom: &'a Dom,
    out: Vec<FlatBlock>,
    text: String,
    words_linked: u32,
    linked_bytes: usize,
    open: Vec<OpenBlock>,
    /// Nesting of links.
    links: u32,
    /// Where the open raised texts begin.
    raised: Vec<usize>,
    /// The open row of a data table.
    row: Option<NodeId>,
    /// Its cells so far.
    cells: Vec<OpenCell>,
    /// The table of the last row.
    table: Option<NodeId>,
    grid: TableGrid,
    /// Nesting of preformatted elements.
    pre: u32,
    list_depth: u8,
    seen: element_hints::HintCache<'a>,
}

impl BlockWalker<'_> {
    fn push_text(&mut self, text: &str) {
        let from = self.text.len();
        if self.pre > 0 {
            self.text
                .extend(text.chars().filter(|c| !is_invisible(*c) && *c != '\0' && *c != '\r'));
            return;
        }
        let mut spaced = self.text.is_empty() || self.text.ends_with(is_space);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let plain = rest.bytes().position(|byte| !byte.is_ascii_graphic());
            let plain = plain.unwrap_or(rest.len());
            if plain > 0 {
                self.text.push_str(&rest[..plain]);
                spaced = false;
                rest = &rest[plain..];
                continue;
            }
            if is_space(c) {
                if !spaced {
                    self.text.push(' ');
                }
                spaced = true;
            } else if !is_invisible(c) {
                self.text.push(c);
                spaced = false;
            }
            rest = &rest[c.len_utf8()..];
        }
        if self.links > 0 {
            self.words_linked += count_words(&self.text[from..]);
            self.linked_bytes += self.text.len() - from;
        }
    }

    fn enter(&mut self, id: NodeId) {
        let name = self.dom.name(id);
        match name {
            "a" => self.links += 1,
            "sup" => self.raised.push(self.text.len()),
            "br" => {
                self.line_break();
                return;
            }
            "td" | "th" if self.row.is_some() => {
                if !self.cells.is_empty() {
                    let kept = self.text.trim_end().len();
                    self.text.truncate(kept);
                    self.text.push_str(CELL_JOINT);
                }
                self.cells.push(OpenCell { id, start: self.text.len() });
            }
            "ul" | "ol" => self.list_depth = self.list_depth.saturating_add(1),
            "pre" | "listing" | "xmp" => {
                self.flush();
                self.pre += 1;
            }
            _ => {}
        }
        if is_block(name) || self.dom.parent(id).is_none() {
            if self.row.is_some() {
                if !self.text.ends_with(' ') {
                    self.text.push(' ');
                }
            } else {
                self.flush();
            }
        }
        if name == "tr" && self.row.is_none() {
            self.open_row(id);
        }
        let own = element_hints::hints_of_element(self.dom, id, &mut self.seen);
        let above = self.open.last();
        let inherited = above.map_or(0, |it| it.hints);
        let (kind, level) = match name {
            "h1" => (BlockKind::Heading, 1),
            "h2" => (BlockKind::Heading, 2),
            "h3" => (BlockKind::Heading, 3),
            "h4" => (BlockKind::Heading, 4),
            "h5" => (BlockKind::Heading, 5),
            "h6" => (BlockKind::Heading, 6),
            "li" | "dd" | "dt" => (BlockKind::ListItem, self.list_depth.max(1)),
            "pre" | "listing" | "xmp" => (BlockKind::Code, 0),
            "tr" if self.row.is_some() => (BlockKind::TableRow, 0),
            "p" | "blockquote" | "table" | "td" | "section" | "article" if self.row.is_none() => {
                (BlockKind::Prose, 0)
            }
            _ => above.map_or((BlockKind::Prose, 0), |it| (it.kind, it.level)),
        };
        self.open.push(OpenBlock { id, kind, level, own, hints: inherited | own });
    }

    fn leave(&mut self, id: NodeId) {
        let name = self.dom.name(id);
        if name == "br" {
            return;
        }
        let row_ends = self.row == Some(id);
        if row_ends || (is_block(name) && self.row.is_none()) {
            let row = match name {
                _ if row_ends => self.end_row(id),
                "td" | "th" => self.spanning_row(id),
                _ => None,
            };
            self.flush_row(row);
        } else if is_block(name) && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        if row_ends {
            self.row = None;
        }
        match name {
            "a" => self.links = self.links.saturating_sub(1),
            "sup" => {
                if let Some(from) = self.raised.pop() {
                    let is_mark = self.is_note_mark(id);
                    superscript::separate_from_number(&mut self.text, from, is_mark);
                }
            }
            "ul" | "ol" => self.list_depth = self.list_depth.saturating_sub(1),
            "pre" | "listing" | "xmp" => self.pre = self.pre.saturating_sub(1),
            _ => {}
        }
        self.open.pop();
    }

    /// Whether raised text is the mark of a note: it says so, or links to a place on the page.
    fn is_note_mark(&self, id: NodeId) -> bool {
        const MAX_MARK_NODES: usize = 8;
        const CLASSES: &[&str] = &["reference", "footnote", "noteref", "fn", "cite"];
        let class = self.dom.attr(id, "class").unwrap_or_default().to_lowercase();
        let named = CLASSES.iter().any(|it| class.contains(it));
        let links = |id: NodeId| {
            self.dom.name(id) == "a"
                && self.dom.attr(id, "href").is_some_and(|href| href.starts_with('#'))
        };
        let mut inside = self.dom.descendants(id).take(MAX_MARK_NODES);
        named || self.dom.parent(id).is_some_and(links) || inside.any(links)
    }

    /// Handles `<br>`: a second one in a row, or one after a complete sentence or a short line, ends the block.
    fn line_break(&mut self) {
        if self.pre > 0 {
            self.text.push('\n');
            return;
        }
        if self.row.is_some() {
            self.text.push(' ');
            return;
        }
        let line = self.text.trim_end();
        if line.len() < MIN_WRAPPED_LINE || line.ends_with(['.', '!', '?', ':', '”', '"', ')']) {
            self.flush();
        } else if !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    /// Opens a row if it is one of data. Next to a cell of the rows above, one cell is enough.
    fn open_row(&mut self, id: NodeId) {
        let joins = self.grid.reaches_on() && self.table == Some(table_of(self.dom, id));
        if is_data_row(self.dom, id, if joins { 1 } else { 2 }) {
            self.row = Some(id);
            self.cells.clear();
        } else if joins {
            // What the cells above reach into is not known any more.
            self.grid.drop_spans();
        }
    }

    /// The cells of the open row, and of what is left of its table where cells span rows.
    fn end_row(&mut self, id: NodeId) -> Option<FlatRow> {
        let table = self.begin_row(id);
        let span = |cell: NodeId, name: &str| self.dom.attr(cell, name)?.trim().parse().ok();
        let ends = self.cells.iter().skip(1).map(|cell| cell.start - CELL_JOINT.len());
        let ends = ends.chain([self.text.len()]);
        let cells = self.cells.iter().zip(ends).map(|(cell, end)| GridCell {
            text: self.text.get(cell.start..end).unwrap_or_default().trim().to_owned(),
            ..GridCell::spanning(span(cell.id, "colspan"), span(cell.id, "rowspan"))
        });
        let cells: Vec<GridCell> = cells.collect();
        let is_head = |nth: usize| self.dom.name(self.cells[nth].id) == "th";
        // The corner is often an empty `td`.
        let from = usize::from(cells.first().is_some_and(|first| first.text.is_empty()));
        let parent = self.dom.parent(id).map_or("", |parent| self.dom.name(parent));
        let names = parent == "thead" || from < cells.len() && (from..cells.len()).all(is_head);
        Some(FlatRow { table, names, text: self.grid.row(cells) })
    }

    /// The table of a row, which begins if the last row was of another one.
    fn begin_row(&mut self, row: NodeId) -> NodeId {
        let table = table_of(self.dom, row);
        if self.table.replace(table) != Some(table) {
            self.grid.begin_table();
        }
        table
    }

    /// The row of a data table that is one cell across its columns, and heads the rows below it.
    fn spanning_row(&mut self, cell: NodeId) -> Option<FlatRow> {
        let row = self.dom.parent(cell).filter(|row| self.dom.name(*row) == "tr")?;
        let columns: usize = self.dom.attr(cell, "colspan")?.trim().parse().ok()?;
        let text = self.text.trim().to_owned();
        let of_table = self.out.last().and_then(|last| last.row.as_ref()).map(|last| last.table);
        let mut all = self.dom.children(row).filter(|id| matches!(self.dom.name(*id), "td" | "th"));
        if columns < 2
            || text.len() > MAX_SPANNING_BYTES
            || of_table.is_none()
            || all.nth(1).is_some()
        {
            return None;
        }
        let table = self.begin_row(row);
        let cell = GridCell { text, ..GridCell::spanning(Some(columns), None) };
        (of_table == Some(table)).then(|| FlatRow {
            table,
            names: false,
            text: self.grid.row(vec![cell]),
        })
    }

    /// Ends the current block.
    fn flush(&mut self) {
        self.flush_row(None);
    }

    /// Ends the current block, which is `row` if it is one.
    fn flush_row(&mut self, row: Option<FlatRow>) {
        let text = std::mem::take(&mut self.text);
        let linked = std::mem::take(&mut self.words_linked);
        let linked_bytes = std::mem::take(&mut self.linked_bytes);
        let Some(open) = self.open.last() else { return };
        let code = open.kind == BlockKind::Code || self.pre > 0;
        let kept = if code {
            let kept: Vec<&str> = text.trim_matches('\n').lines().map(str::trim_end).collect();
            kept.join("\n").trim_end().to_owned()
        } else {
            text.trim().to_owned()
        };
        let bare =
            kept.chars().all(|c| !c.is_alphanumeric() && !('\u{1f000}'..'\u{1ffff}').contains(&c));
        if bare {
            return;
        }
        let words = count_words(&kept).max(1);
        let linked = if linked_bytes + 2 >= kept.len() { words } else { linked.min(words) };
        let near = self.open.iter().rev().take(4).fold(0, |all, it| all | it.own);
        self.out.push(FlatBlock {
            kind: if code { BlockKind::Code } else { open.kind },
            level: open.level,
            node: open.id,
            hints: open.hints,
            near,
            words,
            linked,
            text: kept,
            row,
        });
    }
}

/// The table of a row.
fn table_of(dom: &Dom, row: NodeId) -> NodeId {
    let mut above = std::iter::successors(dom.parent(row), |id| dom.parent(*id));
    above.find(|id| dom.name(*id) == "table").unwrap_or(row)
}

/// Whether a table row holds data, which is at least `least` short cells, and not the layout of a page.
fn is_data_row(dom: &Dom, row: NodeId, least: usize) -> bool {
    let mut cells = 0;
    let mut bytes = 0;
    for id in dom.descendants(row).skip(1).take(MAX_ROW_NODES) {
        match dom.name(id) {
            "td" | "th" => cells += 1,
            "table" | "h1" | "h2" | "h3" | "ul" | "ol" | "form" | "article" | "pre" => {
                return false;
            }
            _ => {}
        }
        if let NodeData::Text(text) = dom.data(id) {
            bytes += text.trim().len();
        }
    }
    cells >= least && bytes <= MAX_CELL_BYTES * cells
}
