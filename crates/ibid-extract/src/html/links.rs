//! The links of a page: those of its main text, and all of a page whose layout is known.
use super::blocks::FlatBlock;
use super::dom::{Dom, NodeId};
use crate::address;
use ibid_core::domain::DraftLink;
use std::collections::BTreeMap;

/// Most links that are looked at: each is searched for in the text around it.
const MAX_EXAMINED_LINKS: usize = 2_000;
/// Most links that are kept of a page.
const MAX_LINKS: usize = 200;
/// Most words of a link, in bytes: longer ones are teasers.
const MAX_LINK_BYTES: usize = 300;

/// A link or a table cell of a page.
pub struct HtmlLink {
    /// Its classes.
    pub class: String,
    /// The target as written; empty for a cell.
    pub href: String,
    /// Its text, whitespace folded.
    pub text: String,
}

/// The first `most` links and cells of a decoded page that have a class, in document order.
pub fn links(text: &str, most: usize) -> Vec<HtmlLink> {
    let dom = Dom::parse(text);
    let all = dom
        .descendants(dom.root())
        .filter(|id| matches!(dom.name(*id), "a" | "td"))
        .filter(|id| dom.attr(*id, "class").is_some());
    all.take(most)
        .map(|id| HtmlLink {
            class: dom.attr(id, "class").unwrap_or_default().to_owned(),
            href: dom.attr(id, "href").unwrap_or_default().to_owned(),
            text: dom.text(id).trim().to_owned(),
        })
        .collect()
}

/// The links with an absolute address in the blocks of the main text, in order.
pub(super) fn links_of_blocks(dom: &Dom, blocks: &[FlatBlock]) -> Vec<DraftLink> {
    let mut of_node: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (nth, block) in blocks.iter().enumerate() {
        of_node.entry(block.node).or_default().push(nth);
    }
    let link = |id: NodeId| {
        let url = address::parse_link(dom.attr(id, "href")?)?;
        let text = dom.text_within(id, MAX_LINK_BYTES + 1).trim().to_owned();
        let mut above = std::iter::successors(dom.parent(id), |node| dom.parent(*node));
        let near = above.find_map(|node| of_node.get(&node))?;
        let fits = !text.is_empty() && text.len() <= MAX_LINK_BYTES;
        let nth = near.iter().find(|nth| fits && blocks[**nth].text.contains(&text))?;
        Some(DraftLink { block: *nth as u32, text, url })
    };
    let all = dom.descendants(dom.root()).filter(|id| dom.name(*id) == "a");
    all.take(MAX_EXAMINED_LINKS).filter_map(link).take(MAX_LINKS).collect()
}
