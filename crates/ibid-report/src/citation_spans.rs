//! A report as one text with plain marks such as `[1]`, and the position and source of each mark.
use super::markdown;
use ibid_core::domain::{OutputMode, Passage, Report};

/// A mark in the text. `start` and `end` count Unicode code points.
#[derive(Debug, Clone, PartialEq)]
pub struct CitationSpan<'r> {
    /// The start of the mark.
    pub start: usize,
    /// The end of the mark.
    pub end: usize,
    /// The number of its source, from 1.
    pub n: u32,
    /// The quoted text.
    pub passages: Vec<&'r Passage>,
}

/// The text and its marks. A one-line answer has no marks: it rests on all of its sources.
pub fn text_with_citations(it: &Report) -> (String, Vec<CitationSpan<'_>>) {
    if let (OutputMode::Answer, Some(answer)) = (it.mode, &it.answer) {
        let text = super::escape::single_line(&answer.text);
        let end = text.chars().count();
        let mut marks: Vec<CitationSpan> = Vec::new();
        for citation in &answer.citations {
            match marks.iter_mut().find(|mark| mark.n == citation.n) {
                Some(mark) => mark.passages.push(&citation.passage),
                None => marks.push(CitationSpan {
                    start: 0,
                    end,
                    n: citation.n,
                    passages: vec![&citation.passage],
                }),
            }
        }
        return (text, marks);
    }
    let article = markdown::report_body(it, true);
    let known = it.cited_passages();
    let (mut out, mut marks, mut at) = (String::new(), Vec::new(), 0);
    let mut rest = article.as_str();
    loop {
        // The footnotes repeat the marks.
        let next = rest.find(['[', '<', '\n']).unwrap_or(rest.len());
        at += rest[..next].chars().count();
        out.push_str(&rest[..next]);
        rest = &rest[next..];
        if rest.is_empty() || rest.starts_with("\n[^q1]: ") {
            break;
        }
        if let Some((n, behind)) = parse_citation(rest) {
            let (notes, behind) = parse_footnotes(behind);
            let plain = format!("[{n}]");
            let end = at + plain.len();
            marks.push(CitationSpan {
                start: at,
                end,
                n,
                passages: notes
                    .into_iter()
                    .filter_map(|note| known.get(note.checked_sub(1)?).map(|value| value.1))
                    .collect(),
            });
            out.push_str(&plain);
            (at, rest) = (end, behind);
            continue;
        }
        if let Some(behind) = parse_anchor(rest) {
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

/// Parses a leading `[[1]](#src-1)`: its number, and the rest. Untrusted text has no unescaped brackets.
fn parse_citation(text: &str) -> Option<(u32, &str)> {
    let (n, behind) = text.strip_prefix("[[")?.split_once("]](#src-")?;
    let behind = behind.strip_prefix(n)?.strip_prefix(')')?;
    Some((n.parse().ok()?, behind))
}

/// Parses a leading `[^q1][^q2]`.
fn parse_footnotes(mut text: &str) -> (Vec<usize>, &str) {
    let mut found = Vec::new();
    while let Some((n, behind)) = text.strip_prefix("[^q").and_then(|rest| rest.split_once(']')) {
        let Ok(n) = n.parse() else { break };
        found.push(n);
        text = behind;
    }
    (found, text)
}

/// Strips a leading `<a id="src-1"></a>`, which has no meaning here.
fn parse_anchor(text: &str) -> Option<&str> {
    let (n, behind) = text.strip_prefix("<a id=\"src-")?.split_once("\"></a>")?;
    n.bytes().all(|byte| byte.is_ascii_digit()).then_some(behind)
}
