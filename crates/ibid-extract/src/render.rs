//! Renders a document as Markdown and as a row of `ibid read --jsonl`.
use std::path::Path;

use serde_json::{Value, json};

use ibid_core::domain::{Block, BlockKind, PageDraft};

/// The main text as Markdown: headings, lists, tables and code.
pub fn to_markdown(draft: &PageDraft) -> String {
    let mut out = String::new();
    let mut before: Option<&Block> = None;
    for block in &draft.blocks {
        let continues = block.kind.is_row() && block.level == 0;
        let same = before.is_some_and(|it| match it.kind.is_row() {
            true => continues,
            false => it.kind == block.kind,
        });
        let tight = same && (block.kind == BlockKind::ListItem || block.kind.is_row());
        if before.is_some() {
            out.push_str(if tight { "\n" } else { "\n\n" });
        }
        match block.kind {
            BlockKind::Heading => {
                let level = usize::from(block.level.clamp(1, 6));
                out.push_str(&"#".repeat(level));
                out.push(' ');
                out.push_str(&block.text);
            }
            BlockKind::ListItem => {
                out.push_str(&"  ".repeat(usize::from(block.level.clamp(1, 8) - 1)));
                out.push_str("- ");
                out.push_str(&block.text);
            }
            BlockKind::TableRow | BlockKind::TableHeader => table_row(&mut out, &block.text, !same),
            BlockKind::Code => code_block(&mut out, &block.text),
            BlockKind::Comment => {
                out.push_str("> ");
                out.push_str(&block.text);
            }
            BlockKind::Prose => escape_prose(&mut out, &block.text),
        }
        before = Some(block);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn table_row(out: &mut String, text: &str, first: bool) {
    out.push_str("| ");
    out.push_str(text);
    out.push_str(" |");
    if first {
        let cells = text.split(" | ").count();
        out.push_str("\n|");
        out.push_str(&" --- |".repeat(cells));
    }
}

fn code_block(out: &mut String, text: &str) {
    let longest = text.split(|it| it != '`').map(str::len).max();
    let fence = "`".repeat(longest.map_or(3, |it| (it + 1).max(3)));
    out.push_str(&fence);
    out.push('\n');
    out.push_str(text);
    out.push('\n');
    out.push_str(&fence);
}

/// Appends prose, escaped if it begins like a heading, a list or a fence.
fn escape_prose(out: &mut String, text: &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = digits > 0 && text[digits..].starts_with(". ");
    if numbered {
        out.push_str(&text[..digits]);
        out.push('\\');
        out.push_str(&text[digits..]);
        return;
    }
    if text.starts_with(['#', '>', '|', '`', '~', '+'])
        || text.starts_with("- ")
        || text.starts_with("* ")
    {
        out.push('\\');
    }
    out.push_str(text);
}

/// One row of `ibid read --jsonl`. `text` is the main text, blocks joined by newlines; `words` counts its words; `path` is as
/// given by the user; `stated_url` is present if a fetched page states another address as its own.
pub fn to_json_row(draft: &PageDraft, path: &Path) -> Value {
    let blocks: Vec<&str> = draft.blocks.iter().map(|block| block.text.as_str()).collect();
    let text = blocks.join("\n");
    let mut row = json!({
        "path": path.to_string_lossy(),
        "url": draft.url,
        "title": draft.title,
        "author": draft.author,
        "date": draft.date,
        "lang": draft.lang,
        "words": text.split_whitespace().count(),
        "markdown": to_markdown(draft),
        "text": text,
        "warnings": draft.warnings,
    });
    if let Some(stated) = &draft.stated_url {
        row["stated_url"] = stated.as_str().into();
    }
    row
}
