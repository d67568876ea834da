//! A page as a flat list of blocks, each knowing where it stood.
use super::chrome::{self, Hints};
use super::dom::{Data, Dom, NodeId};
use super::visible::Hidden;
use crate::domain::BlockKind;

/// A block of visible text and where it stood in the page.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) kind: BlockKind,
    /// Level of a heading (1–6) or of a list item (1 = outermost); 0 otherwise.
    pub(super) level: u8,
    pub(super) text: String,
    /// The block element it stands in.
    pub(super) node: NodeId,
    /// Hints of the element and all its ancestors.
    pub(super) hints: Hints,
    /// Hints of the element and its three nearest ancestors.
    pub(super) near: Hints,
    /// Words.
    pub(super) words: u32,
    /// Words inside links.
    pub(super) linked: u32,
}

/// Folds runs of white space to one space and trims.
pub(super) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|it| !it.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// White space, and the marks that have no width and only hide words from a search.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{a0}' | '\u{feff}' | '\0')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200c}' | '\u{2060}'..='\u{2064}' | '\u{ad}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}' | '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

/// Elements whose inside is never text to read.
///
/// Matched as bytes, here and elsewhere: the compiler makes one decision tree of byte patterns, and
/// a comparison each of strings.
fn is_silent(name: &str) -> bool {
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

/// Whether it is a list of references that says so, as papers of arXiv do: what others wrote is no text of this page.
fn is_bibliography(dom: &Dom, id: NodeId) -> bool {
    matches!(dom.name(id).as_bytes(), b"section" | b"div" | b"ul" | b"ol")
        && (dom.attr(id, "role") == Some("doc-bibliography")
            || dom
                .attr(id, "class")
                .is_some_and(|it| it.contains("ltx_bibliography")))
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
pub(super) fn flatten(dom: &Dom, top: NodeId, hidden: &Hidden) -> Vec<Flat> {
    let mut walk = Walk {
        dom,
        out: Vec::new(),
        text: String::new(),
        words_linked: 0,
        linked_bytes: 0,
        open: Vec::new(),
        links: 0,
        row: None,
        pre: 0,
        list_depth: 0,
        seen: chrome::Seen::new(),
    };
    enum Step {
        Enter(NodeId),
        Leave(NodeId),
    }
    let mut steps = vec![Step::Enter(top)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(id) => match dom.data(id) {
                Data::Text(text) => walk.say(text),
                Data::Other if id != dom.root() => {}
                _ => {
                    let unread = is_silent(dom.name(id)) || is_bibliography(dom, id);
                    if unread || hidden.hides(dom, id) {
                        continue;
                    }
                    if dom.name(id) == "math" {
                        walk.say(&super::formula::shown(dom, id));
                        continue;
                    }
                    walk.enter(id);
                    steps.push(Step::Leave(id));
                    let from = steps.len();
                    steps.extend(dom.children(id).map(Step::Enter));
                    steps[from..].reverse();
                }
            },
            Step::Leave(id) => walk.leave(id),
        }
    }
    walk.flush();
    walk.out
}

/// An open block element.
struct Open {
    id: NodeId,
    kind: BlockKind,
    level: u8,
    own: Hints,
    hints: Hints,
}

struct Walk<'a> {
    dom: &'a Dom,
    out: Vec<Flat>,
    text: String,
    words_linked: u32,
    linked_bytes: usize,
    open: Vec<Open>,
    links: u32,
    /// The data table row being read, and how many of its cells have come.
    row: Option<(NodeId, u32)>,
    pre: u32,
    list_depth: u8,
    seen: chrome::Seen<'a>,
}

impl Walk<'_> {
    fn say(&mut self, text: &str) {
        let from = self.text.len();
        if self.pre > 0 {
            self.text.extend(
                text.chars()
                    .filter(|c| !is_invisible(*c) && *c != '\0' && *c != '\r'),
            );
            return;
        }
        let mut spaced = self.text.is_empty() || self.text.ends_with(is_space);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let plain = rest.bytes().position(|it| !it.is_ascii_graphic());
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
            self.words_linked += count(&self.text[from..]);
            self.linked_bytes += self.text.len() - from;
        }
    }

    fn enter(&mut self, id: NodeId) {
        let name = self.dom.name(id);
        match name {
            "a" => self.links += 1,
            "br" => {
                self.line_break();
                return;
            }
            "td" | "th" if self.row.is_some() => {
                if let Some((_, cells)) = &mut self.row {
                    *cells += 1;
                    if *cells > 1 {
                        let kept = self.text.trim_end().len();
                        self.text.truncate(kept);
                        self.text.push_str(" | ");
                    }
                }
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
        if name == "tr" && self.row.is_none() && is_data_row(self.dom, id) {
            self.row = Some((id, 0));
        }
        let own = chrome::hints(self.dom, id, &mut self.seen);
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
        self.open.push(Open {
            id,
            kind,
            level,
            own,
            hints: inherited | own,
        });
    }

    fn leave(&mut self, id: NodeId) {
        let name = self.dom.name(id);
        if name == "br" {
            return;
        }
        let row_ends = self.row.is_some_and(|(row, _)| row == id);
        if row_ends || (is_block(name) && self.row.is_none()) {
            self.flush();
        } else if is_block(name) && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        if row_ends {
            self.row = None;
        }
        match name {
            "a" => self.links = self.links.saturating_sub(1),
            "ul" | "ol" => self.list_depth = self.list_depth.saturating_sub(1),
            "pre" | "listing" | "xmp" => self.pre = self.pre.saturating_sub(1),
            _ => {}
        }
        self.open.pop();
    }

    /// A second break in a row, or one after a finished sentence or a short line, ends the block.
    fn line_break(&mut self) {
        if self.pre > 0 {
            self.text.push('\n');
            return;
        }
        if self.row.is_some() {
            self.text.push(' ');
            return;
        }
        let said = self.text.trim_end();
        if said.len() < 80 || said.ends_with(['.', '!', '?', ':', '”', '"', ')']) {
            self.flush();
        } else if !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    fn flush(&mut self) {
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
        let bare = kept
            .chars()
            .all(|c| !c.is_alphanumeric() && !('\u{1f000}'..'\u{1ffff}').contains(&c));
        if bare {
            return;
        }
        let words = count(&kept).max(1);
        let linked = if linked_bytes + 2 >= kept.len() {
            words
        } else {
            linked.min(words)
        };
        let near = self
            .open
            .iter()
            .rev()
            .take(4)
            .fold(0, |all, it| all | it.own);
        self.out.push(Flat {
            kind: if code { BlockKind::Code } else { open.kind },
            level: open.level,
            node: open.id,
            hints: open.hints,
            near,
            words,
            linked,
            text: kept,
        });
    }
}

/// Words as a reader counts them; a run of ideographs counts one for each two.
pub(super) fn count(text: &str) -> u32 {
    let mut words = 0;
    let mut ideographs = 0_u32;
    let mut inside = false;
    for c in text.chars() {
        if ('\u{3040}'..='\u{9fff}').contains(&c) || ('\u{ac00}'..='\u{d7af}').contains(&c) {
            ideographs += 1;
            inside = false;
        } else if c.is_alphanumeric() {
            words += u32::from(!inside);
            inside = true;
        } else if c.is_whitespace() {
            inside = false;
        }
    }
    words + ideographs.div_ceil(2)
}

/// Whether a table row holds data (short cells side by side) rather than laying out a page.
fn is_data_row(dom: &Dom, row: NodeId) -> bool {
    let mut cells = 0;
    let mut bytes = 0;
    for id in dom.descendants(row).skip(1).take(400) {
        match dom.name(id) {
            "td" | "th" => cells += 1,
            "table" | "h1" | "h2" | "h3" | "ul" | "ol" | "form" | "article" | "pre" => {
                return false;
            }
            _ => {}
        }
        if let Data::Text(text) = dom.data(id) {
            bytes += text.trim().len();
        }
    }
    cells >= 2 && bytes <= 600 * cells
}
