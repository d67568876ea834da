//! Plain text to blocks: joins wrapped lines to paragraphs, keeps list items and labelled lines apart, and finds headings.
use ibid_core::domain::{Block, BlockKind};

/// A line of fewer bytes is not taken for wrapped at a margin.
const MIN_WRAPPED_BYTES: usize = 48;
/// A line of more bytes is a whole paragraph.
const MAX_WRAPPED_BYTES: usize = 200;
/// A line of more bytes may be wrapped though it ends with a full stop.
const MIN_FULL_LINE_BYTES: usize = 60;

/// A longer line is no heading.
const MAX_HEADING_BYTES: usize = 80;
const MAX_HEADING_WORDS: usize = 12;
/// The part of the next line, in bytes, that a heading without blank line below is at most: wrapped lines are about equally long.
const MAX_HEADING_SHARE: f32 = 0.8;
/// The level of a question that is followed by its answer: "Q: …", "A: …".
const QUESTION_LEVEL: u8 = 5;
/// A label, "Very common (1 in 10):", is not longer, in bytes.
const MAX_LABEL_BYTES: usize = 48;

/// The paragraphs, list items and headings of a plain text.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open = false;
    let mut last = "";
    let lines: Vec<&str> = text.split(['\n', '\r', '\u{c}', '\u{2028}', '\u{2029}']).collect();
    let of_questions = is_of_questions(&lines);
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            open = false;
            continue;
        }
        let question = line.strip_prefix("Q: ").filter(|_| of_questions);
        let heading = match question {
            Some(question) => Some((QUESTION_LEVEL, question)),
            None if open => None,
            None => heading(line, &lines[at + 1..]),
        };
        let answer = line.strip_prefix("A: ").filter(|_| of_questions);
        open &= answer.is_none();
        let line = answer.unwrap_or(line);
        if let Some((level, words)) = heading {
            open = false;
            let mut block = Block::new(BlockKind::Heading, String::with_capacity(words.len()));
            block.level = level;
            fold_whitespace_into(&mut block.text, words);
            out.push(block);
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

/// Whether a text is one of questions and answers: it has two or more of each, and every answer is directly below a question. In a talk
/// of several people, "A:" may be one of them.
fn is_of_questions(lines: &[&str]) -> bool {
    let mut last = "";
    let (mut answers, mut below) = (0, 0);
    for line in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        if line.starts_with("A: ") {
            answers += 1;
            below += usize::from(last.starts_with("Q: "));
        }
        last = line;
    }
    answers >= 2 && answers == below
}

/// The level and the text of a line that is a heading: it begins a paragraph, is short and no sentence, and is underlined, or
/// numbered as a section is, or stands directly on a longer line that begins a sentence.
fn heading<'t>(line: &'t str, after: &[&str]) -> Option<(u8, &'t str)> {
    let (number, words) = section_number(line);
    let is_title = words.len() <= MAX_HEADING_BYTES
        && words.split_whitespace().count() <= MAX_HEADING_WORDS
        && words.starts_with(|c: char| c.is_uppercase() || matches!(c, '"' | '“' | '‘'))
        && !words.ends_with(['.', ',', ';', ':', '!', '。'])
        && words.chars().filter(|c| c.is_alphabetic()).count() * 2 > words.chars().count();
    if !is_title {
        return None;
    }
    let below = after.first().map_or("", |next| next.trim());
    let underlined = |mark: char| below.len() >= 3 && below.chars().all(|c| c == mark);
    if underlined('=') {
        return Some((2, line));
    }
    if underlined('-') {
        return Some((3, line));
    }
    let next = after.iter().find(|next| !next.trim().is_empty())?;
    if let Some(depth) = number {
        let under = section_number(next.trim()).0.is_none_or(|inner| inner > depth);
        let indented = next.starts_with([' ', '\t']);
        let begins = next.trim_start().starts_with(|c: char| !c.is_lowercase());
        return (under && !indented && begins).then_some((depth.saturating_add(1), line));
    }
    // What is listed or set in below a short line belongs to it.
    let raw = after.first().copied().unwrap_or_default();
    let set_in = !below.is_empty() && (raw.starts_with([' ', '\t']) || list_item(below).is_some());
    let apart = set_in
        || below.starts_with(|c: char| c.is_uppercase() || matches!(c, '"' | '“' | '‘'))
            && list_item(below).is_none()
            && (below.len() >= MIN_WRAPPED_BYTES || below.ends_with(['.', '!', '?']))
            && below.split_whitespace().count() > 2
            && (line.len() as f32) < below.len() as f32 * MAX_HEADING_SHARE;
    let plain = line.len() < MIN_WRAPPED_BYTES && !line.contains([':', '\t', '|', '=']);
    (apart && plain && list_item(line).is_none()).then_some((4, line))
}

/// How many parts the number at the beginning of a line has, "4." one and "4.2" two, and the words after it.
fn section_number(line: &str) -> (Option<u8>, &str) {
    let end = line.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(line.len());
    let parts = line[..end].split('.').filter(|part| !part.is_empty()).count();
    let rest = line[end..].trim_start_matches(')');
    let numbered = (1..=4).contains(&parts)
        && line[..end].split('.').all(|part| part.len() <= 2)
        && rest.starts_with(' ');
    match u8::try_from(parts) {
        Ok(parts) if numbered => (Some(parts), rest.trim_start()),
        _ => (None, line),
    }
}

/// Whether a line begins with a label: "Common (1 in 100): dizziness".
fn is_labelled(line: &str) -> bool {
    line.starts_with(char::is_uppercase)
        && line.find(": ").is_some_and(|at| at <= MAX_LABEL_BYTES && !line[..at].contains(". "))
}

/// Whether `next` continues the sentence of `line`, which was wrapped at a margin.
fn is_wrapped(line: &str, next: &str) -> bool {
    if is_labelled(line) && is_labelled(next) {
        return false;
    }
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
    fn headings_are_numbered_or_underlined_or_stand_on_a_longer_line() {
        let kinds = |text: &str| -> Vec<(BlockKind, u8)> {
            blocks(text).into_iter().map(|block| (block.kind, block.level)).collect()
        };
        let (heading, prose, item) = (BlockKind::Heading, BlockKind::Prose, BlockKind::ListItem);
        let leaflet = "4. POSSIBLE EFFECTS\nVery common (1 in 10 people or more): a dry mouth\nCommon (1 in 100): thirst";
        assert_eq!(kinds(leaflet), [(heading, 2), (prose, 0), (prose, 0)]);
        let asked = "If you lose the key\nAsk at the desk for another one; bring your card.";
        assert_eq!(kinds(asked), [(heading, 4), (prose, 0)]);
        assert_eq!(kinds("Tools\n-----\nA saw."), [(heading, 3), (prose, 0)]);
        assert_eq!(kinds("1. Open it\n2. Close it"), [(item, 1), (item, 1)]);
        assert_eq!(kinds("2.1 Parts\n\nThe pump has two."), [(heading, 3), (prose, 0)]);
        let asked = "Q: where is the log\nA: ~/log (rotated)\n\nQ: is it slow\nA: No.";
        assert_eq!(kinds(asked), [(heading, 5), (prose, 0), (heading, 5), (prose, 0)]);
        let talk = "Q: is it on\nBob: yes\nA: no\n\nQ: is it hot\nA: a bit";
        assert!(kinds(talk).iter().all(|it| it.0 == prose), "{:?}", kinds(talk));
        assert_eq!(
            texts("5 Mg Daily\nThe dose is given at noon each day of the week.")[0],
            "5 Mg Daily"
        );
        let listed = "Possible effects\n Very common: thirst\n Rare: itching";
        assert_eq!(kinds(listed), [(heading, 4), (prose, 0), (prose, 0)]);
        // Wrapped at a narrow margin.
        let narrow = "The keeper of the light\nAnna Berg went up at dawn.";
        assert_eq!(kinds(narrow), [(prose, 0), (prose, 0)]);
    }

    #[test]
    fn nul_and_invisible_marks_are_left_out() {
        assert_eq!(texts("a\0b\u{200b}c"), ["a bc"]);
    }
}
