//! An HTML page to its main text: parse, see what is visible, keep what was written to be read.
mod blocks;
mod chrome;
mod dom;
mod features;
mod formatting;
mod formula;
mod furniture;
mod keep;
mod landmarks;
mod metadata;
mod published;
mod quoted;
mod references;
mod together;
mod tokens;
mod visible;

use super::{ParsedDocument, address};
use crate::domain::{Block, BlockKind};

/// A link or a cell of a page as its source has it, for readers of pages whose form is known.
pub(in crate::adapters) struct Link {
    /// Its classes.
    pub(in crate::adapters) class: String,
    /// Where it leads, as written; empty for a cell.
    pub(in crate::adapters) href: String,
    /// Its words, blanks made single.
    pub(in crate::adapters) text: String,
}

/// The links and cells of a decoded page in their order, at most `most`.
pub(in crate::adapters) fn links(text: &str, most: usize) -> Vec<Link> {
    let dom = dom::Dom::parse(text);
    let all = dom
        .descendants(dom.root())
        .filter(|it| matches!(dom.name(*it), "a" | "td"))
        .filter(|it| dom.attr(*it, "class").is_some());
    all.take(most)
        .map(|it| Link {
            class: dom.attr(it, "class").unwrap_or_default().to_owned(),
            href: dom.attr(it, "href").unwrap_or_default().to_owned(),
            text: dom.text(it).trim().to_owned(),
        })
        .collect()
}

/// Reads a decoded page that was found at `address`, which may be empty.
pub(super) fn read(text: &str, address: &str) -> ParsedDocument {
    let (dom, meta, flat) = parts(text);
    let kept = keep::choose(keep::trees(), &dom, &flat, &meta);
    let date = published::find(&dom, &flat, &meta, address);
    let mut draft = ParsedDocument {
        stated_url: [&meta.canonical, &meta.address]
            .into_iter()
            .flatten()
            .find_map(|it| address::claimed(it)),
        author: meta.author,
        site: meta.site,
        lang: meta.lang,
        title: meta.title.unwrap_or_default(),
        ..ParsedDocument::default()
    };
    if let Some((date, source)) = date {
        draft.date = Some(date);
        draft.date_source = Some(source.to_owned());
    }
    if dom.cut {
        draft
            .warnings
            .push("nested too deeply or too large: read in part".to_owned());
    }
    draft.blocks = flat
        .into_iter()
        .zip(kept)
        .filter(|(_, kept)| *kept)
        .map(|(it, _)| Block {
            kind: it.kind,
            level: it.level,
            text: it.text,
            page: None,
        })
        .collect();
    let words: u32 = draft.blocks.iter().map(|it| blocks::count(&it.text)).sum();
    if let Some(body) = meta.body
        && words < 40
        && blocks::count(&body) > 2 * words
    {
        draft.blocks = vec![Block::new(BlockKind::Prose, body)];
        draft
            .warnings
            .push("text taken from the page's JSON-LD".to_owned());
    }
    draft
}

/// The page's tree, what it says of itself, and its visible blocks.
fn parts(text: &str) -> (dom::Dom, metadata::Metadata, Vec<blocks::Flat>) {
    let dom = dom::Dom::parse(text);
    let meta = metadata::read(&dom);
    let hidden = visible::Hidden::of(&dom);
    let flat = blocks::flatten(&dom, dom.root(), &hidden);
    if let Some(inside) = scriptless(&dom, &flat) {
        let dom = dom::Dom::parse(&inside);
        let hidden = visible::Hidden::of(&dom);
        let flat = blocks::flatten(&dom, dom.root(), &hidden);
        return (dom, meta, flat);
    }
    // Some style sheets hide the page until a script has run.
    let words = |all: &[blocks::Flat]| all.iter().map(|it| it.words).sum::<u32>();
    if words(&flat) < 60 {
        let unstyled = blocks::flatten(&dom, dom.root(), &visible::Hidden::default());
        if words(&unstyled) > 4 * words(&flat) {
            return (dom, meta, unstyled);
        }
    }
    (dom, meta, flat)
}

/// The page for browsers without scripts, where that is where the words are: some forums send
/// their threads only there. A sentence or two in `<noscript>` never counts.
fn scriptless(dom: &dom::Dom, flat: &[blocks::Flat]) -> Option<String> {
    let mut inside = String::new();
    for id in dom.descendants(dom.root()) {
        if dom.name(id) == "noscript" {
            for child in dom.children(id) {
                if let dom::Data::Text(text) = dom.data(child) {
                    inside.push_str(text);
                }
            }
        }
    }
    let seen: u32 = flat
        .iter()
        .filter(|it| it.linked * 2 < it.words)
        .map(|it| it.words)
        .sum();
    if inside.len() < 2_000 || inside.len() < 6 * seen as usize {
        return None;
    }
    let told = dom::Dom::parse(&inside);
    let words = blocks::count(&told.text(told.root()));
    (words > 100 && words > 2 * seen).then_some(inside)
}

/// Each visible block's text and its description in numbers: what [`keep`] is fitted on.
pub(super) fn described(page: &str) -> Vec<(String, features::Row)> {
    let (dom, meta, flat) = parts(page);
    let rows = features::describe(&dom, &flat, &meta);
    flat.into_iter().map(|it| it.text).zip(rows).collect()
}

/// The main text as the trees of a file choose it.
pub(super) fn main_text_by(page: &str, trees: &str) -> Option<String> {
    let trees = keep::Trees::parse(trees)?;
    let (dom, meta, flat) = parts(page);
    let kept = keep::choose(&trees, &dom, &flat, &meta);
    let kept = flat.into_iter().zip(kept).filter(|it| it.1);
    Some(kept.map(|it| it.0.text).collect::<Vec<_>>().join("\n"))
}

/// All visible blocks of a page that is all text, such as a chapter of a book.
pub(super) fn whole(text: &str) -> Vec<Block> {
    let dom = dom::Dom::parse(text);
    let hidden = visible::Hidden::of(&dom);
    blocks::flatten(&dom, dom.root(), &hidden)
        .into_iter()
        .map(|it| Block {
            kind: it.kind,
            level: it.level,
            text: it.text,
            page: None,
        })
        .collect()
}

#[cfg(test)]
mod tests;
