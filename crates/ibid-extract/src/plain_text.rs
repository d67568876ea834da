//! Plain text to blocks: joins wrapped lines to paragraphs and keeps list items apart.
use ibid_core::domain::{Block, BlockKind};

/// A line of fewer bytes is not taken for wrapped at a margin.
const MIN_WRAPPED_BYTES: usize = 48;
/// A line of more bytes is a whole paragraph.
const MAX_WRAPPED_BYTES: usize = 200;
/// A line of more bytes may be wrapped though it ends with a full stop.
const MIN_FULL_LINE_BYTES: usize = 60;

/// The paragraphs and list items of a plain text.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open = false;
    let mut last = "";
    for line in text.split(['\n', '\r', '\u{c}', '\u{2028}', '\u{2029}']) {
        let line = line.trim();
        if line.is_empty() {
            open = false;
            continue;
        }
        let item = list_item(line);
        let joins = open && item.is_none() && is_wrapped(last, line);
        last = line;
        if joins && let Some(block) = out.last_mut() {
            block.text.push(' ');
            fold_whitespace_into(&mut block.text, line);
            continue;
        }
        let (kind, words) = match item {
            Some(words) => (BlockKind::ListItem, words),
            None => (BlockKind::Prose, line),
        };
        let mut block = Block::new(kind, String::with_capacity(words.len()));
        block.level = u8::from(kind == BlockKind::ListItem);
        fold_whitespace_into(&mut block.text, words);
        out.push(block);
        open = true;
    }
    out.retain(|block| block.text.chars().any(char::is_alphanumeric));
    out
}

/// Whether `next` continues the sentence of `line`, which was wrapped at a margin.
fn is_wrapped(line: &str, next: &str) -> bool {
    let ended = line.ends_with(['.', '!', '?', ':', ';', '”', '"', '。']);
    let long = (MIN_WRAPPED_BYTES..MAX_WRAPPED_BYTES).contains(&line.len());
    let runs_on = next.starts_with(|c: char| c.is_lowercase() || c == '(');
    long && (!ended || line.len() > MIN_FULL_LINE_BYTES) || (runs_on && !ended)
}

/// The words after a list mark: `- x`, `* x`, `• x`, `3. x`, `3) x`.
pub(crate) fn list_item(line: &str) -> Option<&str> {
    for mark in ["- ", "* ", "+ ", "• ", "‣ ", "– ", "· ", "◦ ", "▪ "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return Some(rest.trim_start());
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if (1..=3).contains(&digits)
        && let Some(rest) = line[digits..].strip_prefix(['.', ')'])
        && rest.starts_with(' ')
    {
        return Some(rest.trim_start());
    }
    None
}

/// Cuts a text to at most `max_bytes` bytes.
pub(crate) fn truncate(text: &mut String, max_bytes: usize) {
    text.truncate(text.floor_char_boundary(max_bytes));
}

/// Appends `words` with runs of white space folded and invisible characters removed.
pub(crate) fn fold_whitespace_into(out: &mut String, words: &str) {
    if is_folded(words.as_bytes()) {
        out.push_str(words);
        return;
    }
    let mut spaced = true;
    for c in words.chars() {
        if c.is_whitespace() || c == '\0' {
            if !spaced {
                out.push(' ');
            }
            spaced = true;
        } else if !c.is_control() && !matches!(c, '\u{200b}' | '\u{feff}' | '\u{ad}' | '\u{2060}') {
            out.push(c);
            spaced = false;
        }
    }
    while out.ends_with(' ') {
        out.pop();
    }
}

/// Whether there is nothing to fold: printable ASCII with single spaces between words, as in most texts.
fn is_folded(words: &[u8]) -> bool {
    let mut spaced = true;
    for byte in words {
        let space = *byte == b' ';
        if !(b' '..=b'~').contains(byte) || (space && spaced) {
            return false;
        }
        spaced = space;
    }
    !spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        blocks(text).into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn wrapped_lines_become_one_paragraph() {
        let text = "The quick brown fox jumps over the lazy dog and then it\nruns away into the wood.\n\nNext one.";
        assert_eq!(
            texts(text),
            [
                "The quick brown fox jumps over the lazy dog and then it runs away into the wood.",
                "Next one."
            ]
        );
    }

    #[test]
    fn short_lines_and_list_items_stay_apart() {
        assert_eq!(texts("Name: Ann\nAge: 7\n- one\n- two"), ["Name: Ann", "Age: 7", "one", "two"]);
    }

    #[test]
    fn nul_and_invisible_marks_are_left_out() {
        assert_eq!(texts("a\0b\u{200b}c"), ["a bc"]);
    }
}
