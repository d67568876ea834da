//! The links of a page, for readers of pages whose layout is known.
use super::dom::Dom;

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
