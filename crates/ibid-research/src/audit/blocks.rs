//! Splits Markdown into blocks of text with their links, and maps every byte back to the file.
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::citation_labels::{
    CitationTarget, citation_label, citation_numbers, is_raised_reference,
};

/// The kind of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkdownKind {
    /// A heading of this level.
    Heading(u8),
    /// Running text, including quoted blocks.
    Prose,
    /// A list item, with its number in a numbered list.
    Item(Option<u64>),
    /// A row of a table; the first is its head.
    Row {
        /// Whether it names the columns.
        head: bool,
    },
    /// The text of a footnote.
    Note(String),
}

/// A link, or text that acts as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockLink {
    /// Its byte range in the block's text.
    pub(super) range: Range<usize>,
    /// What it points to.
    pub(super) to: Vec<CitationTarget>,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkdownBlock {
    pub(super) kind: MarkdownKind,
    /// The text without emphasis marks; line breaks are kept.
    pub(super) text: String,
    pub(super) links: Vec<BlockLink>,
    /// Byte ranges between backticks.
    pub(super) code: Vec<Range<usize>>,
    /// Byte ranges in italics.
    pub(super) emphasis: Vec<Range<usize>>,
    /// The cells of a table row.
    pub(super) cells: Vec<Range<usize>>,
    /// Pairs of text offset and file offset, one for each stretch of text.
    places: Vec<(usize, usize)>,
}

impl MarkdownBlock {
    fn new(kind: MarkdownKind) -> MarkdownBlock {
        MarkdownBlock {
            kind,
            text: String::new(),
            links: Vec::new(),
            code: Vec::new(),
            emphasis: Vec::new(),
            cells: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The byte offset in the file of byte `at` of the text.
    pub(super) fn file_offset(&self, at: usize) -> usize {
        let nth = self.places.partition_point(|place| place.0 <= at);
        self.places
            .get(nth.saturating_sub(1))
            .map_or(0, |place| place.1 + at.saturating_sub(place.0))
    }
}

/// `[label]: address "title"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkDefinition {
    pub(super) label: String,
    pub(super) address: String,
    pub(super) title: Option<String>,
    /// Its byte offset in the file.
    pub(super) at: usize,
}

/// The blocks of a Markdown text in order, and its link definitions. Code, raw HTML, front matter and images
/// are left out.
pub(super) fn parse_blocks(source: &str) -> (Vec<MarkdownBlock>, Vec<LinkDefinition>) {
    let parser = Parser::new_ext(
        source,
        Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
            | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS,
    );
    let mut definitions: Vec<LinkDefinition> = parser
        .reference_definitions()
        .iter()
        .map(|(label, it)| LinkDefinition {
            label: label.to_owned(),
            address: it.dest.to_string(),
            title: it.title.as_ref().map(ToString::to_string),
            at: it.span.start,
        })
        .collect();
    definitions.sort_by_key(|definition| definition.at);
    let mut walk = MarkdownWalker { source, ..MarkdownWalker::default() };
    for (event, range) in parser.into_offset_iter() {
        walk.event(event, range);
    }
    walk.end();
    (walk.out, definitions)
}

/// A link that has been opened.
struct OpenLink {
    /// Whether it was written as `<a href="…">`.
    is_html: bool,
    start: usize,
    kind: LinkType,
    address: String,
    id: String,
}

#[derive(Default)]
struct MarkdownWalker<'a> {
    source: &'a str,
    out: Vec<MarkdownBlock>,
    block: Option<MarkdownBlock>,
    links: Vec<OpenLink>,
    emphasis: Vec<usize>,
    raised: Option<usize>,
    note: Option<String>,
    /// Depth inside elements that are left out.
    out_of: usize,
}

impl MarkdownWalker<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range.start),
            Event::End(tag) => self.close(tag),
            _ if self.out_of > 0 => {}
            Event::Text(text) => self.push(&text, range.start),
            Event::Code(text) => {
                let start = self.len();
                self.push(&text, range.start);
                let end = self.len();
                self.current().code.push(start..end);
            }
            Event::SoftBreak | Event::HardBreak => self.push("\n", range.start),
            Event::FootnoteReference(name) => {
                let at = self.len();
                self.link(at..at, vec![CitationTarget::Label(format!("^{name}"))]);
            }
            Event::InlineHtml(html) => self.html(&html),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => {
                self.end();
                self.out_of += 1;
            }
            Tag::Image { .. } => self.out_of += 1,
            _ if self.out_of > 0 => {}
            Tag::Paragraph => {
                let fresh = self.block.as_ref().is_some_and(|block| block.text.is_empty());
                if !fresh {
                    self.begin(MarkdownKind::Prose);
                }
            }
            Tag::Heading { level, .. } => self.begin(MarkdownKind::Heading(level as u8)),
            Tag::List(_) => self.end(),
            // Markdown counts on from the first item; citations use the number as written.
            Tag::Item => {
                let line = self.source.get(at..).unwrap_or_default().trim_start();
                let digits = line.bytes().take_while(u8::is_ascii_digit).count().min(9);
                self.begin(MarkdownKind::Item(line[..digits].parse().ok()));
            }
            Tag::FootnoteDefinition(name) => {
                self.end();
                self.note = Some(name.to_string());
            }
            Tag::TableHead => self.begin(MarkdownKind::Row { head: true }),
            Tag::TableRow => self.begin(MarkdownKind::Row { head: false }),
            Tag::TableCell => {
                let at = self.len();
                self.current().cells.push(at..at);
            }
            Tag::Emphasis => self.emphasis.push(self.len()),
            Tag::Link { link_type, dest_url, id, .. } => self.links.push(OpenLink {
                is_html: false,
                start: self.len(),
                kind: link_type,
                address: dest_url.to_string(),
                id: id.to_string(),
            }),
            Tag::BlockQuote(_) | Tag::Table(_) => self.end(),
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) | TagEnd::Image => {
                self.out_of = self.out_of.saturating_sub(1);
            }
            _ if self.out_of > 0 => {}
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::Item
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::BlockQuote(_)
            | TagEnd::List(_) => self.end(),
            TagEnd::FootnoteDefinition => {
                self.end();
                self.note = None;
            }
            TagEnd::TableCell => {
                let at = self.len();
                let block = self.current();
                if let Some(cell) = block.cells.last_mut() {
                    cell.end = at;
                }
                block.text.push('\n');
            }
            TagEnd::Emphasis => {
                if let Some(start) = self.emphasis.pop() {
                    let end = self.len();
                    self.current().emphasis.push(start.min(end)..end);
                }
            }
            TagEnd::Link => self.close_link(),
            _ => {}
        }
    }

    fn close_link(&mut self) {
        let Some(open) = self.links.pop() else { return };
        let end = self.len();
        let range = open.start.min(end)..end;
        let words = self.current().text[range.clone()].to_owned();
        let to = match open.kind {
            LinkType::Email => return,
            // Where both labels of `[1][2]` are defined, CommonMark makes one link; the writer meant two.
            LinkType::Reference
                if citation_label(&words).is_some() && citation_label(&open.id).is_some() =>
            {
                vec![CitationTarget::Label(words), CitationTarget::Label(open.id)]
            }
            LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
                vec![CitationTarget::Label(open.id)]
            }
            _ if open.address.starts_with('#') => match citation_numbers(&words) {
                Some(labels) => labels.into_iter().map(CitationTarget::Label).collect(),
                None => return,
            },
            _ => vec![CitationTarget::Address(open.address)],
        };
        self.link(range, to);
    }

    /// `<sup>1</sup>` and `<a href="…">`: what tools write where Markdown has no syntax.
    fn html(&mut self, html: &str) {
        let tag = html.trim_matches(['<', '>']).trim();
        let lower = tag.to_ascii_lowercase();
        if lower == "sup" {
            self.raised = Some(self.len());
        } else if lower == "/sup" {
            let Some(start) = self.raised.take() else {
                return;
            };
            let range = start.min(self.len())..self.len();
            let block = self.current();
            // Links are ordered by their ends.
            let mut near =
                block.links.iter().rev().take_while(|link| link.range.end >= range.start);
            let linked = near.any(|it| it.range.start >= range.start);
            if !linked
                && is_raised_reference(&block.text[..range.start])
                && let Some(labels) = citation_numbers(&block.text[range.clone()])
            {
                self.link(range, labels.into_iter().map(CitationTarget::Guess).collect());
            }
        } else if lower.starts_with("a ") {
            // Links cannot be nested: browsers end the first where the second begins.
            if self.links.last().is_some_and(|link| link.is_html) {
                self.close_link();
            }
            let address = attribute(tag, "href").unwrap_or_default().to_owned();
            self.links.push(OpenLink {
                is_html: true,
                start: self.len(),
                kind: LinkType::Inline,
                address,
                id: String::new(),
            });
        } else if lower == "/a" {
            self.close_link();
        } else if lower.starts_with("br") {
            self.push("\n", 0);
        }
    }

    fn link(&mut self, range: Range<usize>, to: Vec<CitationTarget>) {
        self.current().links.push(BlockLink { range, to });
    }

    fn push(&mut self, text: &str, at: usize) {
        let block = self.current();
        if at > 0 || block.places.is_empty() {
            block.places.push((block.text.len(), at));
        }
        block.text.push_str(text);
    }

    fn len(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.text.len())
    }

    fn current(&mut self) -> &mut MarkdownBlock {
        let kind = self.kind(MarkdownKind::Prose);
        self.block.get_or_insert_with(|| MarkdownBlock::new(kind))
    }

    fn kind(&self, wanted: MarkdownKind) -> MarkdownKind {
        self.note.clone().map_or(wanted, MarkdownKind::Note)
    }

    fn begin(&mut self, kind: MarkdownKind) {
        self.end();
        self.block = Some(MarkdownBlock::new(self.kind(kind)));
    }

    /// Ends the block. A link that continues into the next block is dropped.
    fn end(&mut self) {
        self.links.clear();
        self.emphasis.clear();
        self.raised = None;
        if let Some(block) = self.block.take()
            && !block.text.trim().is_empty()
        {
            self.out.push(block);
        }
    }
}

/// The value of `name="…"` in a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = tag.split_once(&format!("{name}="))?;
    let quote = after.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    after[1..].split(quote).next()
}
