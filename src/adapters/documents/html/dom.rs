//! A small tree for html5ever to build: one arena, no reference counts, bounded depth and size.
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, ExpandedName, LocalName, QualName};

use super::formatting::Formatting;
use super::tokens;

/// Start tags deeper than this are dropped and their words go to the element above.
///
/// html5ever walks its stack of open elements for most tags, so its time is quadratic in depth;
/// browsers stop at 512, and no page of the extraction sets comes near 256.
const MAX_DEPTH: u16 = 256;

/// How often an end tag may let one more start tag past [`MAX_DEPTH`] before all tags are dropped.
const MAX_PROBES: u32 = 64;

/// Nodes beyond this many are not built; the page is read as far as it came.
const MAX_NODES: usize = 300_000;

/// One node by its place in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(u32);

impl NodeId {
    /// Its place in the arena.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

const ROOT: NodeId = NodeId(0);

/// What a node is.
#[derive(Debug)]
pub(super) enum Data {
    /// An element with its local name and attributes.
    Element(LocalName, Vec<Attribute>),
    /// A run of text.
    Text(StrTendril),
    /// The document, a comment, or the contents of a template: nothing a reader sees.
    Other,
}

#[derive(Debug)]
struct Node {
    parent: Option<NodeId>,
    first: Option<NodeId>,
    last: Option<NodeId>,
    before: Option<NodeId>,
    after: Option<NodeId>,
    depth: u16,
    data: Data,
}

/// A parsed page.
#[derive(Debug)]
pub(super) struct Dom {
    nodes: Vec<Node>,
    /// Whether tags were dropped because of a limit.
    pub(super) cut: bool,
}

impl Dom {
    /// Parses a page. Never fails: HTML has no errors, only recoveries.
    pub(super) fn parse(text: &str) -> Dom {
        let bounded = Bounded::new();
        tokens::feed(text, &bounded);
        Dom::built(&bounded)
    }

    /// Parses with html5ever's own tokenizer, for tests to compare.
    #[cfg(test)]
    fn stream(text: &str, bounded: Bounded) -> Dom {
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
        Dom::built(&tokenizer.sink)
    }

    fn built(bounded: &Bounded) -> Dom {
        Dom {
            nodes: bounded.inner.sink.nodes.take(),
            cut: bounded.dropped.get(),
        }
    }

    /// How many nodes there are; every [`NodeId::index`] is below it.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The document itself.
    pub(super) fn root(&self) -> NodeId {
        ROOT
    }

    pub(super) fn data(&self, id: NodeId) -> &Data {
        &self.nodes[id.index()].data
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id.index()].parent
    }

    /// The element's local name; empty for what is no element.
    pub(super) fn name(&self, id: NodeId) -> &str {
        match self.data(id) {
            Data::Element(name, _) => name,
            _ => "",
        }
    }

    /// The value of an attribute.
    pub(super) fn attr(&self, id: NodeId, name: &str) -> Option<&str> {
        match self.data(id) {
            Data::Element(_, attrs) => attrs
                .iter()
                .find(|it| &*it.name.local == name)
                .map(|it| &*it.value),
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
            next = self.following(here, id);
            Some(here)
        })
    }

    fn following(&self, here: NodeId, top: NodeId) -> Option<NodeId> {
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

    /// The text below `id`, whitespace folded: all of it if it is of at most `most` bytes, else its beginning, which is longer
    /// than that. For who looks at many elements, each of which may hold the others.
    pub(super) fn text_within(&self, id: NodeId, most: usize) -> String {
        let (mut out, mut gap) = (String::new(), false);
        for it in self.descendants(id) {
            let Data::Text(text) = self.data(it) else {
                continue;
            };
            for (nth, word) in text.split(super::blocks::is_space).enumerate() {
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

/// What html5ever holds of a node: its place, and its name to compare.
#[derive(Clone)]
struct Handle {
    id: NodeId,
    name: QualName,
}

#[derive(Default)]
struct Sink {
    nodes: RefCell<Vec<Node>>,
    /// Depth of the element built last.
    depth: Cell<u16>,
    formatting: Formatting,
}

impl Sink {
    fn add(&self, data: Data) -> NodeId {
        let mut nodes = self.nodes.borrow_mut();
        if nodes.is_empty() {
            nodes.push(blank(Data::Other));
        }
        nodes.push(blank(data));
        NodeId((nodes.len() - 1) as u32)
    }

    fn detach(nodes: &mut [Node], id: NodeId) {
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

    /// Puts `id` under `parent`, before `sibling` or at the end.
    fn attach(nodes: &mut [Node], parent: NodeId, id: NodeId, sibling: Option<NodeId>) -> u16 {
        Sink::detach(nodes, id);
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

    fn place(&self, parent: NodeId, child: NodeOrText<Handle>, sibling: Option<NodeId>) {
        match child {
            NodeOrText::AppendNode(it) => {
                let depth = Sink::attach(&mut self.nodes.borrow_mut(), parent, it.id, sibling);
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
                        && let Data::Text(had) = &mut nodes[before.index()].data
                    {
                        had.push_tendril(&text);
                        return;
                    }
                }
                let id = self.add(Data::Text(text));
                Sink::attach(&mut self.nodes.borrow_mut(), parent, id, sibling);
            }
        }
    }
}

fn blank(data: Data) -> Node {
    Node {
        parent: None,
        first: None,
        last: None,
        before: None,
        after: None,
        depth: 0,
        data,
    }
}

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Sink;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Sink {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        let mut nodes = self.nodes.borrow_mut();
        if nodes.is_empty() {
            nodes.push(blank(Data::Other));
        }
        nameless(ROOT)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, _: ElementFlags) -> Handle {
        let attrs = self.formatting.restored(attrs);
        let id = self.add(Data::Element(name.local.clone(), attrs));
        Handle { id, name }
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        nameless(self.add(Data::Other))
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        nameless(self.add(Data::Other))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.place(parent.id, child, None);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        prev_element: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let parent = self.nodes.borrow()[element.id.index()].parent;
        match parent {
            Some(parent) => self.place(parent, child, Some(element.id)),
            None => self.place(prev_element.id, child, None),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        // One fragment a template, kept apart from the tree: nobody sees it.
        let depth = self.nodes.borrow()[target.id.index()].depth;
        let id = self.add(Data::Other);
        self.nodes.borrow_mut()[id.index()].depth = depth;
        nameless(id)
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = self.nodes.borrow()[sibling.id.index()].parent;
        if let Some(parent) = parent {
            self.place(parent, child, Some(sibling.id));
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        if let Data::Element(_, had) = &mut self.nodes.borrow_mut()[target.id.index()].data {
            for it in attrs {
                // Every further `<body …>` may add some.
                let more = had.len() < tokens::MAX_ATTRIBUTES || tokens::is_read(&it.name.local);
                if more && !had.iter().any(|old| old.name == it.name) {
                    had.push(it);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        Sink::detach(&mut self.nodes.borrow_mut(), target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let mut nodes = self.nodes.borrow_mut();
        while let Some(child) = nodes[node.id.index()].first {
            Sink::attach(&mut nodes, new_parent.id, child, None);
        }
    }
}

fn nameless(id: NodeId) -> Handle {
    Handle {
        id,
        name: QualName::new(None, html5ever::ns!(), LocalName::from("")),
    }
}

/// Stands between tokenizer and tree builder and drops what would nest too deep or grow too large.
struct Bounded {
    inner: TreeBuilder<Handle, Sink>,
    probes: Cell<u32>,
    /// An end tag came since the last element: the next start tag may stand higher up again.
    may_probe: Cell<bool>,
    dropped: Cell<bool>,
}

impl Bounded {
    fn new() -> Bounded {
        let options = TreeBuilderOpts {
            drop_doctype: true,
            ..TreeBuilderOpts::default()
        };
        Bounded {
            inner: TreeBuilder::new(Sink::default(), options),
            probes: Cell::new(0),
            may_probe: Cell::new(false),
            dropped: Cell::new(false),
        }
    }

    fn admits(&self, tag: &Tag) -> bool {
        // Raw text cannot nest, and without its start tag it would be read as words. In SVG and MathML these names are
        // elements like others.
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

impl TokenSink for Bounded {
    type Handle = Handle;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<Handle> {
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
                    self.inner.sink.formatting.shorten(tag);
                }
                let result = self.inner.process_token(token, line);
                if start {
                    if self.inner.sink.depth.get() >= MAX_DEPTH {
                        self.probes
                            .set(self.probes.get() + u32::from(self.may_probe.get()));
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
        self.inner
            .adjusted_current_node_present_but_not_in_html_namespace()
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
                Data::Element(name, attrs) => {
                    let attrs = attrs.iter().map(|it| (&*it.name.local, &*it.value));
                    let attrs: Vec<_> = attrs.collect();
                    format!("{depth} {} {attrs:?}\n", &**name)
                }
                Data::Text(text) => format!("{depth} {:?}\n", &**text),
                Data::Other => format!("{depth} -\n"),
            };
        }
        out
    }

    fn same_tree(page: &str) {
        let own = Dom::parse(page);
        let streamed = Dom::stream(page, Bounded::new());
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
