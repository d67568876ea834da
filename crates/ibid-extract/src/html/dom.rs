//! The document tree built by html5ever: one arena without reference counts, of bounded depth and size.
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, ExpandedName, LocalName, QualName};

use super::formatting::FormattingAttributes;
use super::text::is_space;
use super::tokenizer;

/// Depth of an element; deeper start tags are dropped and their text goes to the element above.
///
/// html5ever walks its stack of open elements for most tags, so its time is quadratic in depth. Browsers stop at 512, and no
/// page of the extraction sets comes near 256.
const MAX_DEPTH: u16 = 256;

/// How often an end tag may let one more start tag past [`MAX_DEPTH`] before all tags are dropped.
const MAX_PROBES: u32 = 64;

/// Nodes of a page; the rest of the page is dropped.
const MAX_NODES: usize = 300_000;

/// The index of a node in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(u32);

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

const ROOT: NodeId = NodeId(0);

/// The content of a node.
#[derive(Debug)]
pub(super) enum NodeData {
    /// An element with its local name and attributes.
    Element(LocalName, Vec<Attribute>),
    /// A run of text.
    Text(StrTendril),
    /// The document, a comment, or the content of a template, which are not visible.
    Other,
}

#[derive(Debug)]
struct DomNode {
    parent: Option<NodeId>,
    first: Option<NodeId>,
    last: Option<NodeId>,
    before: Option<NodeId>,
    after: Option<NodeId>,
    depth: u16,
    data: NodeData,
}

/// A parsed page.
#[derive(Debug)]
pub(super) struct Dom {
    nodes: Vec<DomNode>,
    /// Whether tags were dropped because of a limit.
    pub(super) cut: bool,
}

impl Dom {
    /// Parses a page. Never fails, because HTML defines how to recover from every error.
    pub(super) fn parse(text: &str) -> Dom {
        let bounded = BoundedTokenSink::new();
        tokenizer::tokenize(text, &bounded);
        Dom::from_sink(&bounded)
    }

    /// Parses with html5ever's own tokenizer, for tests to compare.
    #[cfg(test)]
    fn stream(text: &str, bounded: BoundedTokenSink) -> Dom {
        use html5ever::TokenizerResult;
        use html5ever::buffer_queue::BufferQueue;
        use html5ever::tokenizer::{Tokenizer, TokenizerOpts};

        let tokenizer = Tokenizer::new(bounded, TokenizerOpts::default());
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from_slice(text));
        while let TokenizerResult::Script(_) | TokenizerResult::EncodingIndicator(_) =
            tokenizer.feed(&queue)
        {}
        tokenizer.end();
        Dom::from_sink(&tokenizer.sink)
    }

    fn from_sink(bounded: &BoundedTokenSink) -> Dom {
        Dom { nodes: bounded.inner.sink.nodes.take(), cut: bounded.dropped.get() }
    }

    /// The number of nodes; every [`NodeId::index`] is below it.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The document node.
    pub(super) fn root(&self) -> NodeId {
        ROOT
    }

    pub(super) fn data(&self, id: NodeId) -> &NodeData {
        &self.nodes[id.index()].data
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id.index()].parent
    }

    /// The local name of an element; empty for other nodes.
    pub(super) fn name(&self, id: NodeId) -> &str {
        match self.data(id) {
            NodeData::Element(name, _) => name,
            _ => "",
        }
    }

    /// The value of an attribute.
    pub(super) fn attr(&self, id: NodeId, name: &str) -> Option<&str> {
        match self.data(id) {
            NodeData::Element(_, attrs) => {
                attrs.iter().find(|attr| &*attr.name.local == name).map(|attr| &*attr.value)
            }
            _ => None,
        }
    }

    pub(super) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let mut next = self.nodes[id.index()].first;
        std::iter::from_fn(move || {
            let here = next?;
            next = self.nodes[here.index()].after;
            Some(here)
        })
    }

    /// `id` and everything below it, in document order.
    pub(super) fn descendants(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let here = next?;
            next = self.next_in_order(here, id);
            Some(here)
        })
    }

    fn next_in_order(&self, here: NodeId, top: NodeId) -> Option<NodeId> {
        if let Some(child) = self.nodes[here.index()].first {
            return Some(child);
        }
        let mut at = here;
        while at != top {
            let node = &self.nodes[at.index()];
            if node.after.is_some() {
                return node.after;
            }
            at = node.parent?;
        }
        None
    }

    /// All text below `id`, whitespace folded.
    pub(super) fn text(&self, id: NodeId) -> String {
        self.text_within(id, usize::MAX)
    }

    /// The text below `id`, whitespace folded: all of it if it has at most `most` bytes, else a beginning of more than that.
    /// The limit keeps the time bounded for callers that look at many nested elements.
    pub(super) fn text_within(&self, id: NodeId, most: usize) -> String {
        let (mut out, mut gap) = (String::new(), false);
        for node in self.descendants(id) {
            let NodeData::Text(text) = self.data(node) else {
                gap |= self.name(node) == "br";
                continue;
            };
            for (nth, word) in text.split(is_space).enumerate() {
                gap |= nth > 0;
                if word.is_empty() {
                    continue;
                }
                if std::mem::take(&mut gap) && !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(word);
                if out.len() > most {
                    return out;
                }
            }
        }
        out
    }
}

/// html5ever's handle of a node: its id, and its name for comparison.
#[derive(Clone)]
struct NodeHandle {
    id: NodeId,
    name: QualName,
}

#[derive(Default)]
struct DomSink {
    nodes: RefCell<Vec<DomNode>>,
    /// Depth of the element inserted last.
    depth: Cell<u16>,
    formatting: FormattingAttributes,
}

impl DomSink {
    fn add(&self, data: NodeData) -> NodeId {
        let mut nodes = self.nodes.borrow_mut();
        if nodes.is_empty() {
            nodes.push(new_node(NodeData::Other));
        }
        nodes.push(new_node(data));
        NodeId((nodes.len() - 1) as u32)
    }

    fn detach(nodes: &mut [DomNode], id: NodeId) {
        let node = &mut nodes[id.index()];
        let (parent, before, after) = (node.parent.take(), node.before.take(), node.after.take());
        let Some(parent) = parent else { return };
        match before {
            Some(it) => nodes[it.index()].after = after,
            None => nodes[parent.index()].first = after,
        }
        match after {
            Some(it) => nodes[it.index()].before = before,
            None => nodes[parent.index()].last = before,
        }
    }

    /// Inserts `id` under `parent`, before `sibling` or at the end. Returns its depth.
    fn attach(nodes: &mut [DomNode], parent: NodeId, id: NodeId, sibling: Option<NodeId>) -> u16 {
        DomSink::detach(nodes, id);
        let before = match sibling {
            Some(it) => nodes[it.index()].before,
            None => nodes[parent.index()].last,
        };
        let depth = nodes[parent.index()].depth.saturating_add(1);
        let node = &mut nodes[id.index()];
        node.parent = Some(parent);
        node.before = before;
        node.after = sibling;
        node.depth = depth;
        match before {
            Some(it) => nodes[it.index()].after = Some(id),
            None => nodes[parent.index()].first = Some(id),
        }
        match sibling {
            Some(it) => nodes[it.index()].before = Some(id),
            None => nodes[parent.index()].last = Some(id),
        }
        depth
    }

    fn insert(&self, parent: NodeId, child: NodeOrText<NodeHandle>, sibling: Option<NodeId>) {
        match child {
            NodeOrText::AppendNode(it) => {
                let depth = DomSink::attach(&mut self.nodes.borrow_mut(), parent, it.id, sibling);
                self.depth.set(depth);
            }
            NodeOrText::AppendText(text) => {
                {
                    let mut nodes = self.nodes.borrow_mut();
                    let before = match sibling {
                        Some(it) => nodes[it.index()].before,
                        None => nodes[parent.index()].last,
                    };
                    if let Some(before) = before
                        && let NodeData::Text(had) = &mut nodes[before.index()].data
                    {
                        had.push_tendril(&text);
                        return;
                    }
                }
                let id = self.add(NodeData::Text(text));
                DomSink::attach(&mut self.nodes.borrow_mut(), parent, id, sibling);
            }
        }
    }
}

fn new_node(data: NodeData) -> DomNode {
    DomNode { parent: None, first: None, last: None, before: None, after: None, depth: 0, data }
}

impl TreeSink for DomSink {
    type Handle = NodeHandle;
    type Output = DomSink;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> DomSink {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeHandle {
        let mut nodes = self.nodes.borrow_mut();
        if nodes.is_empty() {
            nodes.push(new_node(NodeData::Other));
        }
        unnamed_handle(ROOT)
    }

    fn elem_name<'a>(&'a self, target: &'a NodeHandle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, _: ElementFlags) -> NodeHandle {
        let attrs = self.formatting.restore(attrs);
        let id = self.add(NodeData::Element(name.local.clone(), attrs));
        NodeHandle { id, name }
    }

    fn create_comment(&self, _: StrTendril) -> NodeHandle {
        unnamed_handle(self.add(NodeData::Other))
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeHandle {
        unnamed_handle(self.add(NodeData::Other))
    }

    fn append(&self, parent: &NodeHandle, child: NodeOrText<NodeHandle>) {
        self.insert(parent.id, child, None);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeHandle,
        prev_element: &NodeHandle,
        child: NodeOrText<NodeHandle>,
    ) {
        let parent = self.nodes.borrow()[element.id.index()].parent;
        match parent {
            Some(parent) => self.insert(parent, child, Some(element.id)),
            None => self.insert(prev_element.id, child, None),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &NodeHandle) -> NodeHandle {
        // A template's fragment is not part of the tree, because it is not visible.
        let depth = self.nodes.borrow()[target.id.index()].depth;
        let id = self.add(NodeData::Other);
        self.nodes.borrow_mut()[id.index()].depth = depth;
        unnamed_handle(id)
    }

    fn same_node(&self, x: &NodeHandle, y: &NodeHandle) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeHandle, child: NodeOrText<NodeHandle>) {
        let parent = self.nodes.borrow()[sibling.id.index()].parent;
        if let Some(parent) = parent {
            self.insert(parent, child, Some(sibling.id));
        }
    }

    fn add_attrs_if_missing(&self, target: &NodeHandle, attrs: Vec<Attribute>) {
        if let NodeData::Element(_, had) = &mut self.nodes.borrow_mut()[target.id.index()].data {
            for it in attrs {
                // Every further `<body …>` may add attributes.
                let more = had.len() < tokenizer::MAX_ATTRIBUTES
                    || tokenizer::is_used_attribute(&it.name.local);
                if more && !had.iter().any(|old| old.name == it.name) {
                    had.push(it);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeHandle) {
        DomSink::detach(&mut self.nodes.borrow_mut(), target.id);
    }

    fn reparent_children(&self, node: &NodeHandle, new_parent: &NodeHandle) {
        let mut nodes = self.nodes.borrow_mut();
        while let Some(child) = nodes[node.id.index()].first {
            DomSink::attach(&mut nodes, new_parent.id, child, None);
        }
    }
}

fn unnamed_handle(id: NodeId) -> NodeHandle {
    NodeHandle { id, name: QualName::new(None, html5ever::ns!(), LocalName::from("")) }
}

/// A filter between tokenizer and tree builder that drops tags which would nest too deep, and tokens beyond [`MAX_NODES`].
struct BoundedTokenSink {
    inner: TreeBuilder<NodeHandle, DomSink>,
    probes: Cell<u32>,
    /// Whether an end tag came since the last element, so that the next start tag may be less deep.
    may_probe: Cell<bool>,
    dropped: Cell<bool>,
}

impl BoundedTokenSink {
    fn new() -> BoundedTokenSink {
        let options = TreeBuilderOpts { drop_doctype: true, ..TreeBuilderOpts::default() };
        BoundedTokenSink {
            inner: TreeBuilder::new(DomSink::default(), options),
            probes: Cell::new(0),
            may_probe: Cell::new(false),
            dropped: Cell::new(false),
        }
    }

    /// Whether a tag may pass.
    fn admits(&self, tag: &Tag) -> bool {
        // Raw text cannot nest, and without its start tag it would be taken for text. In SVG and MathML these names are
        // ordinary elements.
        let raw = matches!(
            &*tag.name,
            "script" | "style" | "textarea" | "title" | "iframe" | "noscript" | "xmp"
        ) && !self.adjusted_current_node_present_but_not_in_html_namespace();
        if raw || self.probes.get() > MAX_PROBES {
            return raw;
        }
        if tag.kind == TagKind::EndTag {
            self.may_probe.set(true);
            return true;
        }
        self.inner.sink.depth.get() < MAX_DEPTH || self.may_probe.get()
    }
}

impl TokenSink for BoundedTokenSink {
    type Handle = NodeHandle;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeHandle> {
        if self.inner.sink.nodes.borrow().len() > MAX_NODES && token != Token::EOFToken {
            self.dropped.set(true);
            return TokenSinkResult::Continue;
        }
        match &mut token {
            Token::TagToken(tag) => {
                if !self.admits(tag) {
                    self.dropped.set(true);
                    return TokenSinkResult::Continue;
                }
                let start = tag.kind == TagKind::StartTag;
                if start {
                    self.inner.sink.formatting.intern(tag);
                }
                let result = self.inner.process_token(token, line);
                if start {
                    if self.inner.sink.depth.get() >= MAX_DEPTH {
                        self.probes.set(self.probes.get() + u32::from(self.may_probe.get()));
                    }
                    self.may_probe.set(false);
                }
                result
            }
            Token::ParseError(_) | Token::CommentToken(_) | Token::NullCharacterToken => {
                TokenSinkResult::Continue
            }
            _ => self.inner.process_token(token, line),
        }
    }

    fn end(&self) {
        self.inner.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.inner.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every element, attribute and text with its depth.
    fn outline(dom: &Dom) -> String {
        let mut out = String::new();
        for id in dom.descendants(dom.root()) {
            let depth = std::iter::successors(dom.parent(id), |it| dom.parent(*it)).count();
            out += &match dom.data(id) {
                NodeData::Element(name, attrs) => {
                    let attrs = attrs.iter().map(|attr| (&*attr.name.local, &*attr.value));
                    let attrs: Vec<_> = attrs.collect();
                    format!("{depth} {} {attrs:?}\n", &**name)
                }
                NodeData::Text(text) => format!("{depth} {:?}\n", &**text),
                NodeData::Other => format!("{depth} -\n"),
            };
        }
        out
    }

    fn same_tree(page: &str) {
        let own = Dom::parse(page);
        let streamed = Dom::stream(page, BoundedTokenSink::new());
        assert_eq!(outline(&own), outline(&streamed), "{page:?}");
        assert_eq!(own.cut, streamed.cut);
    }

    #[rustfmt::skip]
    const PIECES: &[&str] = &[
        "<", ">", "/", "</", "!", "<!", "-", "--", "-->", "--!>", "<!--", "<!-->", "<!--->", "?", "<?", "=", "\"", "'",
        " ", "\n", "\r", "\r\n", "\t", "\x0c", "a", "x=y", "é", "\u{feff}", "]]>", "]", "<![CDATA[", "&", "&amp",
        "&amp;", "&amp;lt;", "&lt", "&not", "&notit;", "&notin;", "&copy=1", "&copy1", "&bogus;", "&#", "&#x", "&#65;",
        "&#x41", "&#128;", "&#0;", "&#13;", "&#xD800;", "&#99999999999;", "&ngE;", "&NotEqualTilde;", "&nbsp;", ";", "1",
        "<p>", "<P CLASS=a>", "</p>", "</p a=b>", "<br/>", "</br>", "<div id=\"a\" id='b' class>", "</div>", "<b>", "</b>",
        "<a href=\"?a=1&copy=2&amp;b\">", "<a href=?a&lt>", "</a>", "<table>", "<tr>", "<td>", "</table>", "<select>",
        "<script>", "<script type='application/ld+json'>", "</script>", "</SCRIPT >", "</script", "<script", "</scripty>",
        "<script/>", "<style>", "</style>", "<title>", "</title>", "</title", "<textarea>", "</textarea>", "<pre>", "</pre>",
        "<noscript>", "</noscript>", "<iframe>", "</iframe>", "<xmp>", "</xmp>", "<plaintext>", "<svg>", "</svg>", "<math>",
        "<mi>", "<foreignObject>", "<desc>", "<template>", "</template>", "<head>", "</head>", "<body a=1>", "</body>",
        "<html lang=en>", "</html>", "<frameset>", "<!doctype html>", "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 3.2//EN\">",
        "<!doctype", "<form>", "<input type=hidden>", "<option>", "<li>", "<h1>", "<meta charset=utf-8>", "<=a>", "<a =b=c>", "<a/=b>", "<1>",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn own_tokens_build_the_tree_that_html5evers_do(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)
        ) {
            same_tree(&pieces.concat());
        }

        #[test]
        fn scripts_end_where_html5ever_ends_them(
            pieces in prop::collection::vec(prop::sample::select(&[
                "<", "!", "-", "--", "<!--", "-->", "->", ">", "<script", "<script>", "</script", "</script>", "/", " ", "x",
                "<Script ", "</scripT/",
            ][..]), 0..30)
        ) {
            same_tree(&format!("<script>{}</script>x</script>y", pieces.concat()));
        }

        #[test]
        fn any_characters_build_the_same_tree(page in "[<>/!&#;=\"'a-zA-Z0-9 \\r\\n\\x00é-]{0,80}") {
            same_tree(&page);
        }
    }
}
