//! A page to a document: metadata, main text and date.
use super::blocks::{self, FlatBlock};
use super::dom::{Dom, NodeData};
use super::features;
use super::links;
use super::main_text::{self, BoostedTrees};
use super::metadata::{self, Metadata};
use super::publish_date;
use super::text::count_words;
use super::visibility::HiddenSelectors;
use crate::address;
use crate::parsed_document::ParsedDocument;
use ibid_core::domain::{Block, BlockKind};

/// A main text of fewer words is replaced by the text in the page's JSON-LD, if that is more than twice as long.
const MIN_WORDS: u32 = 40;
/// If fewer words than this are visible, the page's own style sheet is suspected of hiding the rest.
const MIN_VISIBLE_WORDS: u32 = 60;
/// How many times as many words must appear without the style sheet.
const UNSTYLED_FACTOR: u32 = 4;
/// A page inside `<noscript>` has at least this many bytes, and this many for each visible word.
const MIN_NOSCRIPT_BYTES: usize = 2_000;
const NOSCRIPT_BYTES_PER_WORD: usize = 6;
/// It has more words than this.
const MIN_NOSCRIPT_WORDS: u32 = 100;

/// Reads a decoded page that was found at `address`, which may be empty.
pub(crate) fn read(text: &str, address: &str) -> ParsedDocument {
    let (dom, meta, flat) = analyze(text);
    let kept = main_text::select_blocks(main_text::fitted_trees(), &dom, &flat, &meta);
    let date = publish_date::find(&dom, &flat, &meta, address);
    let mut draft = ParsedDocument {
        stated_url: [&meta.canonical, &meta.address]
            .into_iter()
            .flatten()
            .find_map(|url| address::parse_stated_url(url)),
        author: meta.author,
        site: meta.site,
        is_offer: meta.is_offer,
        lang: meta.lang,
        title: meta.title.unwrap_or_default(),
        ..ParsedDocument::default()
    };
    if let Some((date, source)) = date {
        draft.date = Some(date);
        draft.date_source = Some(source.to_owned());
    }
    if dom.cut {
        draft.warnings.push("nested too deeply or too large: not read to the end".to_owned());
    }
    let kept: Vec<FlatBlock> =
        flat.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(block, _)| block).collect();
    draft.links = links::links_of_blocks(&dom, &kept);
    draft.blocks = to_blocks(kept.into_iter());
    let words: u32 = draft.blocks.iter().map(|block| count_words(&block.text)).sum();
    if let Some(body) = meta.body
        && words < MIN_WORDS
        && count_words(&body) > 2 * words
    {
        draft.blocks = vec![Block::new(BlockKind::Prose, body)];
        draft.links.clear();
        draft.warnings.push("text taken from the page's JSON-LD".to_owned());
    }
    draft
}

fn to_blocks(flat: impl Iterator<Item = FlatBlock>) -> Vec<Block> {
    let mut table = None;
    let to_block = |flat: FlatBlock| {
        let before = std::mem::replace(&mut table, flat.row.as_ref().map(|row| row.table));
        match flat.row {
            None => Block { kind: flat.kind, level: flat.level, text: flat.text, page: None },
            Some(row) => Block {
                kind: if row.names { BlockKind::TableHeader } else { BlockKind::TableRow },
                level: u8::from(before != Some(row.table)),
                text: row.text,
                page: None,
            },
        }
    };
    flat.map(to_block).collect()
}

/// The page's tree, its metadata and its visible blocks.
fn analyze(text: &str) -> (Dom, Metadata, Vec<FlatBlock>) {
    let dom = Dom::parse(text);
    let meta = metadata::read(&dom);
    let flat = visible_blocks(&dom);
    if let Some(inside) = noscript_page(&dom, &flat) {
        let dom = Dom::parse(&inside);
        let flat = visible_blocks(&dom);
        return (dom, meta, flat);
    }
    // Some style sheets hide the page until a script has run.
    let words = |all: &[FlatBlock]| all.iter().map(|block| block.words).sum::<u32>();
    if words(&flat) < MIN_VISIBLE_WORDS {
        let unstyled = blocks::flatten(&dom, dom.root(), &HiddenSelectors::default());
        if words(&unstyled) > UNSTYLED_FACTOR * words(&flat) {
            return (dom, meta, unstyled);
        }
    }
    (dom, meta, flat)
}

fn visible_blocks(dom: &Dom) -> Vec<FlatBlock> {
    blocks::flatten(dom, dom.root(), &HiddenSelectors::from_dom(dom))
}

/// The page for browsers without scripts, if it holds most of the words: some forums send their threads only there. A
/// sentence or two in `<noscript>` does not count.
fn noscript_page(dom: &Dom, flat: &[FlatBlock]) -> Option<String> {
    let mut inside = String::new();
    for id in dom.descendants(dom.root()) {
        if dom.name(id) == "noscript" {
            for child in dom.children(id) {
                if let NodeData::Text(text) = dom.data(child) {
                    inside.push_str(text);
                }
            }
        }
    }
    let seen: u32 =
        flat.iter().filter(|block| block.linked * 2 < block.words).map(|block| block.words).sum();
    let min_bytes = MIN_NOSCRIPT_BYTES.max(NOSCRIPT_BYTES_PER_WORD * seen as usize);
    if inside.len() < min_bytes {
        return None;
    }
    let parsed = Dom::parse(&inside);
    let words = count_words(&parsed.text(parsed.root()));
    (words > MIN_NOSCRIPT_WORDS && words > 2 * seen).then_some(inside)
}

/// The text and features of each visible block of an HTML page. `evals fit` fits the trees that choose the main text to them.
pub fn describe_blocks(page: &str) -> Vec<(String, Vec<f32>)> {
    let (dom, meta, flat) = analyze(page);
    let rows = features::describe(&dom, &flat, &meta);
    flat.into_iter().zip(rows).map(|(block, row)| (block.text, row.to_vec())).collect()
}

/// The main text as chosen by the trees in `trees` instead of the built-in ones; `None` if `trees` cannot be parsed.
pub fn main_text_with(page: &str, trees: &str) -> Option<String> {
    let trees = BoostedTrees::parse(trees)?;
    let (dom, meta, flat) = analyze(page);
    let kept = main_text::select_blocks(&trees, &dom, &flat, &meta);
    let kept = flat.into_iter().zip(kept).filter(|(_, kept)| *kept);
    Some(kept.map(|(block, _)| block.text).collect::<Vec<_>>().join("\n"))
}

/// All visible blocks of a page that is only text, such as a chapter of a book.
pub(crate) fn all_blocks(text: &str) -> Vec<Block> {
    let flat = visible_blocks(&Dom::parse(text));
    to_blocks(flat.into_iter())
}
