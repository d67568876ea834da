//! The part of a fetched page that a caller wants: all of it, a piece of its text, or the passages with given words.
use serde_json::{Value, json};

use super::arguments::FetchInput;
use super::output::text_piece;
use ibid_core::domain::{Block, BlockKind, Page, PageDraft};

/// Most passages that are returned, and most bytes of them together.
const MAX_PASSAGES: usize = 20;
const MAX_PASSAGE_BYTES: usize = 20_000;

/// Reduces a fetched `page` to the part that `input` names. Without one, it stays as it is: the form that ChatGPT requires.
pub(super) fn part_of_page(mut page: Value, input: &FetchInput) -> Value {
    let text = page["text"].as_str().unwrap_or_default().to_owned();
    let part = match &input.find {
        Some(words) => passages_with(&text, words),
        None if input.offset.is_some() || input.max_chars.is_some() => {
            text_piece(&text, input.offset, input.max_chars)
        }
        None => return page,
    };
    if let (Some(page), Value::Object(part)) = (page.as_object_mut(), part) {
        page.extend(part);
    }
    page
}

/// The passages of a text with most of `words`: `{text, passages: [{text, offset}], found, total_chars}`. An offset is one that
/// `fetch` accepts, for a text without empty lines at its top.
fn passages_with(text: &str, words: &str) -> Value {
    let lines = text.lines().map(|line| Block::new(BlockKind::Prose, line));
    let page = Page::new(PageDraft { blocks: lines.collect(), ..PageDraft::default() });
    let matches = page.find_passages(words, MAX_PASSAGES, MAX_PASSAGE_BYTES);
    let all = page.text().expose();
    let mut passages = Vec::new();
    let mut texts = Vec::new();
    for range in &matches.passages {
        let bytes = page.bytes_of(range);
        let offset = all.get(..bytes.start).map_or(0, |before| before.chars().count());
        let passage = all.get(bytes).unwrap_or_default();
        passages.push(json!({"text": passage, "offset": offset}));
        texts.push(passage);
    }
    json!({
        "text": texts.join("\n\n"),
        "passages": passages,
        "found": matches.found,
        "total_chars": text.chars().count(),
    })
}
