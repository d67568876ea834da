//! A report as one text with plain marks, `[1]`, and beside it where each mark stands and what it rests on.
use super::{markdown, passages};
use crate::domain::{Mode, Passage, Report};

/// A mark in the text. `start` and `end` count Unicode code points.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark<'r> {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The number of its source, from 1.
    pub n: u32,
    /// The exact words behind it.
    pub passages: Vec<&'r Passage>,
}

/// Text and marks. An answer has no marks in its line: all of it rests on each of its sources.
pub fn cited(it: &Report) -> (String, Vec<Mark<'_>>) {
    if let (Mode::Answer, Some(answer)) = (it.mode, &it.answer) {
        let text = super::escape::line(&answer.text);
        let end = text.chars().count();
        let mut marks: Vec<Mark> = Vec::new();
        for citation in &answer.citations {
            match marks.iter_mut().find(|mark| mark.n == citation.n) {
                Some(mark) => mark.passages.push(&citation.passage),
                None => marks.push(Mark {
                    start: 0,
                    end,
                    n: citation.n,
                    passages: vec![&citation.passage],
                }),
            }
        }
        return (text, marks);
    }
    let article = markdown::article(it, true);
    let known = passages(it);
    let (mut out, mut marks, mut at) = (String::new(), Vec::new(), 0);
    let mut rest = article.as_str();
    loop {
        // The footnotes repeat what stands beside the text here.
        let next = rest.find(['[', '<', '\n']).unwrap_or(rest.len());
        at += rest[..next].chars().count();
        out.push_str(&rest[..next]);
        rest = &rest[next..];
        if rest.is_empty() || rest.starts_with("\n[^q1]: ") {
            break;
        }
        if let Some((n, behind)) = mark(rest) {
            let (notes, behind) = footnotes(behind);
            let plain = format!("[{n}]");
            let end = at + plain.len();
            marks.push(Mark {
                start: at,
                end,
                n,
                passages: notes
                    .into_iter()
                    .filter_map(|it| known.get(it.checked_sub(1)?).map(|it| it.1))
                    .collect(),
            });
            out.push_str(&plain);
            (at, rest) = (end, behind);
            continue;
        }
        if let Some(behind) = anchor(rest) {
            rest = behind;
            continue;
        }
        let one = rest.chars().next().map_or(1, char::len_utf8);
        out.push_str(&rest[..one]);
        at += 1;
        rest = &rest[one..];
    }
    (out, marks)
}

/// `[[1]](#src-1)` at the beginning: its number, and what comes behind it. Words of strangers have no bare brackets.
fn mark(text: &str) -> Option<(u32, &str)> {
    let (n, behind) = text.strip_prefix("[[")?.split_once("]](#src-")?;
    let behind = behind.strip_prefix(n)?.strip_prefix(')')?;
    Some((n.parse().ok()?, behind))
}

/// The `[^q1][^q2]` at the beginning.
fn footnotes(mut text: &str) -> (Vec<usize>, &str) {
    let mut found = Vec::new();
    while let Some((n, behind)) = text.strip_prefix("[^q").and_then(|it| it.split_once(']')) {
        let Ok(n) = n.parse() else { break };
        found.push(n);
        text = behind;
    }
    (found, text)
}

/// `<a id="src-1"></a>` at the beginning, which leads nowhere here.
fn anchor(text: &str) -> Option<&str> {
    let (n, behind) = text.strip_prefix("<a id=\"src-")?.split_once("\"></a>")?;
    n.bytes().all(|it| it.is_ascii_digit()).then_some(behind)
}
