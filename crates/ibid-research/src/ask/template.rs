//! Fills prompts from Markdown files; fences untrusted text so that it cannot escape.
use ibid_core::{Error, ErrorKind, Result};

/// A filled template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPrompt {
    /// The text under `## system`.
    pub system: Option<String>,
    /// The text under `## user`, or everything where there are no such headings.
    pub user: String,
}

/// Fills the template `text` of the file `file`.
///
/// `{name}` is replaced by its value; `{{` and `}}` are braces. Every placeholder must be given and every
/// value used. Values are never read as templates. The lines `## system` and `## user` separate the two
/// messages.
///
/// # Errors
/// `Internal`, naming the file and the placeholder.
pub fn render(file: &str, text: &str, values: &[(&str, &str)]) -> Result<RenderedPrompt> {
    let mut system = None;
    let mut user = String::new();
    let mut used = vec![false; values.len()];
    for (heading, part) in split_messages(text) {
        let filled = fill(file, part, values, &mut used)?.trim().to_owned();
        match heading {
            Some("system") => system = Some(filled),
            _ if filled.is_empty() => {}
            _ => {
                if !user.is_empty() {
                    user.push('\n');
                }
                user.push_str(&filled);
            }
        }
    }
    match values.iter().zip(&used).find(|pair| !pair.1) {
        Some(((name, _), _)) => Err(fault(file, &format!("`{{{name}}}` is unused"))),
        None if user.is_empty() => Err(fault(file, "the user prompt is empty")),
        None => Ok(RenderedPrompt { system, user }),
    }
}

fn split_messages(text: &str) -> Vec<(Option<&str>, &str)> {
    let mut found = Vec::new();
    let (mut heading, mut start, mut at) = (None, 0, 0);
    for line in text.split_inclusive('\n') {
        let name = match line.trim_end() {
            "## system" => Some("system"),
            "## user" => Some("user"),
            _ => None,
        };
        if name.is_some() {
            found.push((heading, &text[start..at]));
            heading = name;
            start = at + line.len();
        }
        at += line.len();
    }
    found.push((heading, &text[start..]));
    found
}

fn fill(file: &str, part: &str, values: &[(&str, &str)], used: &mut [bool]) -> Result<String> {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            out.push_str(&tail[..1]);
            rest = &tail[2..];
            continue;
        }
        let end = tail.find('}').filter(|_| tail.starts_with('{'));
        let Some(name) = end.map(|it| &tail[1..it]) else {
            return Err(fault(file, "unpaired brace; write `{{` or `}}`"));
        };
        let Some(nth) = values.iter().position(|value| value.0 == name) else {
            return Err(fault(file, &format!("`{{{name}}}` is not given")));
        };
        out.push_str(values[nth].1);
        used[nth] = true;
        rest = &tail[name.len() + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

fn fault(file: &str, what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("filling the prompt {file}: {what}"))
}

/// Untrusted text in a fence: `<<<label`, the text, `>>>`.
///
/// The text cannot close the fence, number itself (`[12]` at the start of a line), pose as another speaker
/// (`Human:`, `<|im_start|>`, `[INST]`) or hide (control, direction and zero-width characters). This changes
/// the text a little, which is harmless: nothing is quoted from a prompt.
pub fn untrusted(label: &str, text: &str) -> String {
    let mut out = format!("<<<{}\n", one_line(label));
    for line in strip_invisible(text).lines() {
        out.push_str(&neutralize_line(line.trim_end()));
        out.push('\n');
    }
    out.push_str(">>>");
    out
}

/// Numbered sentences of a page in a fence, one per line: `[12] words`.
///
/// Each sentence stays on its line and is neutralized like the text of [`untrusted`], so that a number at the
/// start of a line is always ours.
pub fn numbered<'a>(label: &str, sentences: impl IntoIterator<Item = (usize, &'a str)>) -> String {
    let mut out = format!("<<<{}\n", one_line(label));
    for (nth, words) in sentences {
        out.push_str(&sentence_line(nth, words));
        out.push('\n');
    }
    out.push_str(">>>");
    out
}

/// One numbered sentence as [`numbered`] writes it.
pub(crate) fn sentence_line(nth: usize, words: &str) -> String {
    format!("[{nth}] {}", one_line(words))
}

/// Untrusted text on one line, neutralized as in [`untrusted`].
pub fn one_line(text: &str) -> String {
    let lines: Vec<String> = strip_invisible(text).lines().map(neutralize_line).collect();
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    neutralize_line(&words.join(" "))
}

/// Removes invisible characters and normalizes line breaks.
pub(crate) fn strip_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '\n' if before == '\r' => {}
            '\n' | '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.push('\n')
            }
            '\t' | '\u{A0}' => out.push(' '),
            // Direction marks and isolates, zero-width spaces, word joiners, soft hyphens, tags, fillers, and
            // variation selectors in bulk: all hide text from a reader.
            '\u{200B}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{061C}'
            | '\u{00AD}'
            | '\u{FEFF}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{115F}'
            | '\u{1160}'
            | '\u{3164}'
            | '\u{FFA0}'
            | '\u{180E}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Names that chat templates use for turns, as tags.
const TAGS: &[&str] = &[
    "s",
    "bos",
    "eos",
    "start_of_turn",
    "end_of_turn",
    "system",
    "user",
    "assistant",
    "model",
    "tool",
    "tool_call",
    "tool_response",
    "think",
    "thinking",
    "instructions",
    "im_start",
    "im_end",
    "inst",
];

/// Names that chat templates use for turns, before a colon.
const SPEAKERS: &[&str] = &[
    "human",
    "assistant",
    "user",
    "system",
    "ai",
    "instruction",
    "instructions",
    "response",
    "developer",
    "model",
    "observation",
    "tool",
];

/// A line without anything that looks like a fence, a number or a turn.
fn neutralize_line(line: &str) -> String {
    let line = numbers_at_start(line);
    let line = speaker_at_start(&line);
    let mut out = String::with_capacity(line.len());
    let chars: Vec<char> = line.chars().collect();
    for (nth, &c) in chars.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|index| chars.get(index)).copied();
        let next = chars.get(nth + 1).copied();
        let bar = |c: Option<char>| matches!(c, Some('|' | '｜' | '¦'));
        match c {
            // No run of angle brackets: a fence has three, the markers of some models two.
            '<' | '＜' | '﹤'
                if bar(next) || is_open(before) || is_open(next) || is_tag(&chars[nth..]) =>
            {
                out.push('‹');
            }
            '>' | '＞' | '﹥' if bar(before) || is_close(before) || is_close(next) => {
                out.push('›')
            }
            '[' if is_inst(&chars[nth..]) => out.push('('),
            c => out.push(c),
        }
    }
    out
}

fn is_open(c: Option<char>) -> bool {
    matches!(c, Some('<' | '＜' | '﹤'))
}

fn is_close(c: Option<char>) -> bool {
    matches!(c, Some('>' | '＞' | '﹥'))
}

fn is_tag(chars: &[char]) -> bool {
    let name: String = chars
        .iter()
        .skip(1)
        .skip_while(|c| **c == '/')
        .take(16)
        .take_while(|c| c.is_alphanumeric() || **c == '_')
        .flat_map(|c| c.to_lowercase())
        .collect();
    TAGS.contains(&name.as_str())
}

fn is_inst(chars: &[char]) -> bool {
    let name: String = chars
        .iter()
        .skip(1)
        .skip_while(|c| matches!(c, '/' | ' '))
        .take(4)
        .flat_map(|c| c.to_lowercase())
        .collect();
    matches!(name.as_str(), "inst" | "syst" | "end_" | "avai" | "tool")
}

/// What may precede the first word of a line: white space, bullets, quote and heading marks.
fn is_mark(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '*' | '•' | '>' | '#' | '|' | '_' | '`' | '"' | '\'')
}

/// `[12]` at the start of a line, in any brackets that look square, becomes `(12)`.
fn numbers_at_start(line: &str) -> String {
    let is_open = |c: char| matches!(c, '[' | '［' | '【' | '〔' | '⟦' | '〚');
    let is_close = |c: char| matches!(c, ']' | '］' | '】' | '〕' | '⟧' | '〛');
    let leads = |c: char| {
        is_mark(c) || is_open(c) || is_close(c) || c.is_numeric() || matches!(c, ',' | '.' | ':')
    };
    let body = line.trim_start_matches(leads);
    let lead = line[..line.len() - body.len()].chars().map(|c| match c {
        c if is_open(c) => '(',
        c if is_close(c) => ')',
        c => c,
    });
    lead.chain(body.chars()).collect()
}

/// `Human:` at the start of a line loses its colon.
fn speaker_at_start(line: &str) -> String {
    let body = line.trim_start_matches(is_mark);
    let end = body.find(|c: char| !c.is_alphanumeric()).unwrap_or(body.len());
    let name = body[..end].to_lowercase();
    if !SPEAKERS.contains(&name.as_str()) {
        return line.to_owned();
    }
    let rest = body[end..].trim_start_matches(is_mark);
    match rest.chars().next() {
        Some(c @ (':' | '：' | '﹕' | '꞉')) => {
            let lead = &line[..line.len() - body.len()];
            format!("{lead}{} -{}", &body[..end], &rest[c.len_utf8()..])
        }
        _ => line.to_owned(),
    }
}
