//! An HTML page to its main text: parse, see what is visible, keep what was written to be read.
mod blocks;
mod chrome;
mod dom;
mod keep;
mod metadata;
mod visible;

use crate::domain::{Block, BlockKind, PageDraft};

/// Reads a decoded page. `url` is where it was found.
pub(super) fn read(text: &str, url: &str) -> PageDraft {
    let dom = dom::Dom::parse(text);
    let meta = metadata::read(&dom);
    let hidden = visible::Hidden::of(&dom);
    let flat = blocks::flatten(&dom, dom.root(), &hidden);
    let kept = keep::choose(&dom, &flat, &meta);
    let mut draft = PageDraft {
        url: url.to_owned(),
        author: meta.author,
        site: meta.site,
        lang: meta.lang,
        title: meta.title.unwrap_or_default(),
        ..PageDraft::default()
    };
    if let Some((date, source)) = meta.date {
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
