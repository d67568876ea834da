//! Markdown to blocks: front matter, headings, lists, tables and code, without inline markup.
use crate::markdown_inline::{inline_links, strip_inline};
use crate::parsed_document::ParsedDocument;
use crate::table_grid::{GridCell, TableGrid};
use crate::{address, dates, plain_text};
use ibid_core::domain::{Block, BlockKind, DraftLink};

/// Most links that are kept of a text.
const MAX_LINKS: usize = 200;

/// Reads a Markdown text.
pub(crate) fn read(text: &str) -> ParsedDocument {
    let mut draft = ParsedDocument::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let body = front_matter(text, &mut draft);
    let mut reader = MarkdownReader::default();
    for line in body.split('\n') {
        reader.line(line.trim_end_matches('\r'));
    }
    reader.end();
    draft.blocks = reader.out;
    draft.links = reader.links;
    draft
}

/// Reads `title`, `date`, `author`, `url`, `lang`, `site` and `source` from a `---` or `+++` block at the top, and returns the
/// text after it.
fn front_matter<'a>(text: &'a str, draft: &mut ParsedDocument) -> &'a str {
    let fence = match text.lines().next().map(str::trim_end) {
        Some("---") => "---",
        Some("+++") => "+++",
        _ => return text,
    };
    let mut at = text.find('\n').map_or(text.len(), |it| it + 1);
    let inside = at;
    loop {
        let Some(rest) = text.get(at..).filter(|value| !value.is_empty()) else {
            return text;
        };
        let end = rest.find('\n').map_or(rest.len(), |it| it + 1);
        let line = rest[..end].trim_end();
        if line == fence || (fence == "---" && line == "...") {
            let fields = &text[inside..at];
            if fields.lines().all(is_front_matter_line) {
                read_fields(fields, draft);
                return &rest[end..];
            }
            return text;
        }
        at += end;
    }
}

fn is_front_matter_line(line: &str) -> bool {
    let bare = line.trim_start();
    bare.is_empty()
        || bare.starts_with(['#', '-', '[', ']', '}', '"'])
        || bare.len() < line.len()
        || bare.contains(':')
        || bare.contains('=')
}

fn read_fields(fields: &str, draft: &mut ParsedDocument) {
    let mut key = String::new();
    for line in fields.lines() {
        let bare = line.trim();
        if let Some(item) = bare.strip_prefix("- ") {
            // A list of authors. Of a list in another field the first item counts.
            set_field(&key, item, draft);
            continue;
        }
        let Some((name, value)) = bare.split_once([':', '=']) else {
            continue;
        };
        if line.starts_with([' ', '\t']) {
            if key == "author" && name.trim() == "name" {
                set_field("author", value, draft);
            }
            continue;
        }
        key = name.trim().trim_matches('"').to_lowercase();
        set_field(&key, value, draft);
    }
}

fn set_field(key: &str, value: &str, draft: &mut ParsedDocument) {
    let value = value.trim().trim_start_matches('[').trim_end_matches(']');
    let value = value.trim_matches(|c| c == '"' || c == '\'').trim();
    if value.is_empty() || matches!(value, "|" | ">" | ">-" | "null" | "~") {
        return;
    }
    let owned = || Some(value.replace(['"', '\''], ""));
    match key {
        "title" if draft.title.is_empty() => value.clone_into(&mut draft.title),
        "author" | "authors" | "by" | "creator" => match &mut draft.author {
            Some(had) => {
                had.push_str(", ");
                had.push_str(value);
            }
            none => *none = owned(),
        },
        "date" | "published" | "published_at" | "pubdate" | "created" | "publish_date"
            if draft.date.is_none() =>
        {
            draft.date = dates::normalise(value);
            draft.date_source = draft.date.as_ref().map(|_| "front-matter".to_owned());
        }
        "lang" | "language" => draft.lang = value.get(..2).map(str::to_lowercase),
        "url" | "canonical" | "canonical_url" | "source_url" | "link" | "permalink"
            if draft.stated_url.is_none() =>
        {
            draft.stated_url = address::parse_stated_url(value);
        }
        "source" | "site" if value.contains("://") && draft.stated_url.is_none() => {
            draft.stated_url = address::parse_stated_url(value);
        }
        "source" | "site" if value.contains("://") => {}
        "site" | "source" | "publisher" | "publication" => draft.site = owned(),
        _ => {}
    }
}

/// Builds blocks line by line.
#[derive(Default)]
struct MarkdownReader {
    out: Vec<Block>,
    links: Vec<DraftLink>,
    /// The open paragraph or list item.
    open: Option<Block>,
    /// The fence of the open code block, and its text.
    code: Option<(String, String)>,
    in_table: bool,
    grid: TableGrid,
    in_comment: bool,
    after_blank: bool,
}

impl MarkdownReader {
    fn line(&mut self, line: &str) {
        if let Some((fence, text)) = &mut self.code {
            if line.trim().starts_with(fence.as_str())
                && line
                    .trim()
                    .trim_start_matches(fence.as_str())
                    .trim_matches(['`', '~'])
                    .is_empty()
            {
                let text = std::mem::take(text);
                self.code = None;
                self.push(BlockKind::Code, 0, text.trim_end().to_owned());
            } else {
                text.push_str(line);
                text.push('\n');
            }
            return;
        }
        let Some(line) = self.without_comment(line) else {
            return;
        };
        let line = line.as_str();
        let bare = line.trim();
        if bare.is_empty() {
            self.close();
            self.in_table = false;
            self.after_blank = true;
            return;
        }
        let indent = line.len() - line.trim_start().len();
        let blank_before = std::mem::take(&mut self.after_blank);
        if let Some(fence) = ["```", "~~~"].iter().find(|it| bare.starts_with(**it)) {
            self.close();
            self.code = Some(((*fence).to_owned(), String::new()));
        } else if indent >= 4 && blank_before && self.open.is_none() && !self.in_list() {
            self.indented_code(&line[4.min(line.len())..]);
        } else if let Some((level, words)) = heading(bare) {
            self.close();
            self.push(BlockKind::Heading, level, strip_inline(words));
        } else if is_rule(bare) {
            self.setext_underline(bare);
        } else if bare.contains('|') && (self.in_table || bare.starts_with('|')) {
            self.table_row(bare);
        } else if is_delimiter(bare) {
            self.setext_underline(bare);
        } else if let Some(words) = plain_text::list_item(bare) {
            self.close();
            let mut block = Block::new(
                BlockKind::ListItem,
                words.trim_start_matches("[ ] ").trim_start_matches("[x] "),
            );
            block.level = u8::try_from(indent / 2 + 1).unwrap_or(8).min(8);
            self.open = Some(block);
        } else if bare.starts_with("[^") || !is_link_definition(bare) {
            self.push_words(bare.trim_start_matches('>').trim());
        }
    }

    /// `line` without HTML comments; `None` if nothing else is in it.
    fn without_comment(&mut self, line: &str) -> Option<String> {
        if !self.in_comment && !line.contains("<!--") {
            return Some(line.to_owned());
        }
        let mut out = String::new();
        let mut rest = line;
        loop {
            if self.in_comment {
                let Some(end) = rest.find("-->") else { break };
                rest = &rest[end + 3..];
                self.in_comment = false;
            }
            let Some(start) = rest.find("<!--") else {
                out.push_str(rest);
                break;
            };
            out.push_str(&rest[..start]);
            rest = &rest[start + 4..];
            self.in_comment = true;
        }
        (!out.trim().is_empty()).then_some(out)
    }

    fn in_list(&self) -> bool {
        self.out.last().is_some_and(|it| it.kind == BlockKind::ListItem)
    }

    fn indented_code(&mut self, line: &str) {
        self.push(BlockKind::Code, 0, line.to_owned());
        self.after_blank = true;
    }

    fn push_words(&mut self, bare: &str) {
        match &mut self.open {
            Some(block) => {
                block.text.push(' ');
                block.text.push_str(bare);
            }
            None => self.open = Some(Block::new(BlockKind::Prose, bare)),
        }
    }

    /// Handles `===` or `---`, which makes the line above a heading and is otherwise a rule.
    fn setext_underline(&mut self, bare: &str) {
        let level = if bare.starts_with('=') { 1 } else { 2 };
        if !bare.starts_with(['=', '-']) {
            self.close();
            return;
        }
        if let Some(block) = &mut self.open
            && block.kind == BlockKind::Prose
        {
            block.kind = BlockKind::Heading;
            block.level = level;
        }
        self.close();
    }

    fn table_row(&mut self, bare: &str) {
        self.close();
        if !std::mem::replace(&mut self.in_table, true) {
            self.grid.begin_table();
        }
        if is_delimiter(bare) {
            // The row above it names the columns, and begins a table if there are rows before it.
            if let Some(above) =
                self.out.last_mut().filter(|above| above.kind == BlockKind::TableRow)
            {
                (above.kind, above.level) = (BlockKind::TableHeader, 1);
            }
            return;
        }
        let inner = bare.strip_prefix('|').unwrap_or(bare).replace("\\|", "\u{1}");
        let cells = inner.strip_suffix('|').unwrap_or(&inner).split('|').map(|part| GridCell {
            text: strip_inline(&part.replace('\u{1}', "|")),
            ..GridCell::default()
        });
        let block = self.grid.block(cells.collect(), false);
        self.out.extend(block);
    }

    fn close(&mut self) {
        if let Some(block) = self.open.take() {
            let text = strip_inline(&block.text);
            let before = self.out.len();
            self.push(block.kind, block.level, text);
            if self.out.len() > before {
                let links = inline_links(&block.text).into_iter();
                let links = links.map(|(text, url)| DraftLink { block: before as u32, text, url });
                self.links.extend(links.take(MAX_LINKS.saturating_sub(self.links.len())));
            }
        }
    }

    fn push(&mut self, kind: BlockKind, level: u8, text: String) {
        if text.chars().any(char::is_alphanumeric) {
            let mut block = Block::new(kind, text);
            block.level = level;
            self.out.push(block);
        }
    }

    fn end(&mut self) {
        if let Some((_, text)) = self.code.take() {
            self.push(BlockKind::Code, 0, text.trim_end().to_owned());
        }
        self.close();
    }
}

fn heading(bare: &str) -> Option<(u8, &str)> {
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    let words = bare.get(level..)?;
    ((1..=6).contains(&level) && words.starts_with([' ', '\t']))
        .then(|| (level as u8, words.trim().trim_end_matches('#').trim_end()))
}

/// Whether a line consists of `-`, `=`, `*` or `_`.
fn is_rule(bare: &str) -> bool {
    bare.len() >= 3
        && ["-", "=", "*", "_"]
            .iter()
            .any(|it| bare.replace(' ', "").chars().all(|c| it.contains(c)))
}

/// Whether a line is the row of dashes below the head of a table.
fn is_delimiter(bare: &str) -> bool {
    bare.contains('-') && bare.chars().all(|c| matches!(c, '-' | '|' | ':' | ' '))
}

/// Whether a line defines a link: `[name]: http://…`.
fn is_link_definition(bare: &str) -> bool {
    bare.starts_with('[') && bare.find("]: ").is_some_and(|it| it < 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_gives_title_date_and_authors() {
        let draft = read(
            "---\ntitle: \"A: b\"\ndate: 2024-03-05T10:00\nauthor:\n  - Ann\n  - Bob\ntags: [x]\n---\n# Head\nText.",
        );
        assert_eq!(draft.title, "A: b");
        assert_eq!(draft.date.as_deref(), Some("2024-03-05"));
        assert_eq!(draft.author.as_deref(), Some("Ann, Bob"));
        assert_eq!(draft.blocks.len(), 2);
    }

    #[test]
    fn a_rule_at_the_top_is_no_front_matter() {
        let draft = read("---\n\nJust words here.\n\n---\nMore.");
        assert_eq!(draft.title, "");
        assert!(draft.blocks.iter().any(|block| block.text == "Just words here."));
    }

    #[test]
    fn every_kind_of_block_is_known() {
        let text = "Title\n=====\n\nSome *words* and a [link](http://a.example/x_y) with `code_x`.\n\n- one\n  - two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```\n<!-- hidden -->\n";
        let seen: Vec<(BlockKind, u8, String)> = read(text)
            .blocks
            .into_iter()
            .map(|block| (block.kind, block.level, block.text))
            .collect();
        let expected = [
            (BlockKind::Heading, 1, "Title"),
            (BlockKind::Prose, 0, "Some words and a link with code_x."),
            (BlockKind::ListItem, 1, "one"),
            (BlockKind::ListItem, 2, "two"),
            (BlockKind::TableHeader, 1, "a | b"),
            (BlockKind::TableRow, 0, "1 | 2"),
            (BlockKind::Code, 0, "fn main() {}"),
        ];
        let expected: Vec<(BlockKind, u8, String)> = expected
            .into_iter()
            .map(|(kind, level, text)| (kind, level, text.to_owned()))
            .collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn deeply_nested_brackets_do_not_take_long() {
        let text = "[".repeat(100_000);
        assert!(read(&text).blocks.is_empty());
    }

    #[test]
    fn the_words_of_links_in_links_are_kept_once() {
        let of = |text: &str| strip_inline(text);
        assert_eq!(of("a [b [c](d) e](f) g"), "a b c e g");
        assert_eq!(of("[![logo](l.png) Home](/) now"), "Home now");
        assert_eq!(of("[a][1], [b] and [c](d"), "a, [b] and [c](d");
        assert_eq!(of("x[^1] y [^n"), "x y [^n");
        assert_eq!(of(r"\[not a link\](x)"), "[not a link](x)");
    }
}
