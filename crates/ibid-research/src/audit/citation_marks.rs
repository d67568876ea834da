//! Finds the citations in a block's text, in all notations.
use std::ops::Range;

use super::blocks::MarkdownBlock;
use super::citation_labels::{
    CitationTarget, citation_label, citation_numbers, is_raised_reference, lowered_digit,
};

/// A citation in a block's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CitationMark {
    pub(super) range: Range<usize>,
    pub(super) to: Vec<CitationTarget>,
    /// Whether its text is part of the sentence: "the [survey](…) found".
    pub(super) has_link_text: bool,
}

/// Longest text of a bracket that is parsed.
const MAX_BRACKET_BYTES: usize = 120;
/// Maximum number of bytes between two citations of one bracket.
const MAX_GAP_BYTES: usize = 200;
/// Longest address that is not a link.
const MAX_ADDRESS_BYTES: usize = 2_000;
/// Link texts that only say that there is a source.
const POINTERS: &[&str] = &[
    "source",
    "sources",
    "link",
    "here",
    "ref",
    "reference",
    "cite",
    "url",
    "pdf",
    "doi",
    "web",
    "website",
    "page",
    "quelle",
    "fuente",
    "†",
];
/// Words that may accompany citations in brackets.
const BESIDE: &[&str] = &[
    "source", "sources", "see", "via", "and", "cf", "from", "also", "e", "g", "quelle", "siehe",
    "vgl", "und",
];

/// The citations of a block in order, without overlaps.
pub(super) fn find_citations(block: &MarkdownBlock) -> Vec<CitationMark> {
    let mut found: Vec<CitationMark> = block
        .links
        .iter()
        .map(|link| CitationMark {
            range: link.range.clone(),
            has_link_text: !is_pointer(&block.text[link.range.clone()], &link.to),
            to: link.to.clone(),
        })
        .collect();
    let mut taken: Vec<Range<usize>> = block.links.iter().map(|link| link.range.clone()).collect();
    taken.extend(block.code.iter().cloned());
    taken.sort_by_key(|range| range.start);
    scan_text(&block.text, &taken, &mut found);
    found.sort_by_key(|mark| (mark.range.start, mark.range.end));
    let mut apart: Vec<CitationMark> = Vec::with_capacity(found.len());
    for it in found {
        match apart.last_mut() {
            Some(last) if it.range.start < last.range.end => last.to.extend(it.to),
            _ => apart.push(it),
        }
    }
    in_brackets(&block.text, apart)
}

/// Whether a link's text only points: a number, "source", the name of the site, the address.
fn is_pointer(words: &str, to: &[CitationTarget]) -> bool {
    let words = words.trim().trim_matches(['[', ']', '(', ')']).trim();
    let bare = words
        .rsplit_once('+')
        .filter(|parts| parts.1.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(words, |parts| parts.0)
        .trim_end_matches('…');
    let lower = bare.to_lowercase();
    let of_site = |target: &CitationTarget| match target {
        CitationTarget::Address(address) => {
            let host = lower.trim_start_matches("www.");
            host.contains('.') && !host.contains(' ') && address.to_lowercase().contains(host)
        }
        CitationTarget::Label(_) | CitationTarget::Guess(_) => {
            lower.contains('.') && !lower.contains(' ')
        }
    };
    bare.is_empty()
        || citation_numbers(bare).is_some()
        || lower.contains("://")
        || POINTERS.contains(&lower.as_str())
        || to.iter().any(of_site)
}

/// Finds citations that are not links, outside of the `taken` ranges.
fn scan_text(text: &str, taken: &[Range<usize>], found: &mut Vec<CitationMark>) {
    let mut taken = taken.iter().filter(|range| !range.is_empty()).peekable();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        while taken.peek().is_some_and(|it| it.end <= at) {
            taken.next();
        }
        if let Some(inside) = taken.peek().filter(|it| it.start <= at) {
            at = inside.end;
            continue;
        }
        let until = taken.peek().map_or(text.len(), |it| it.start);
        let mark = match c {
            '[' => bracketed_citation(text, at, '[', ']'),
            '【' => bracketed_citation(text, at, '【', '】'),
            'h' => bare_address(text, at, until),
            '¹' | '²' | '³' | '⁴'..='⁹' => superscript_citation(text, at),
            '.' | '!' | '?' => digits_after_stop(text, at),
            _ => None,
        };
        match mark {
            Some(mark) if mark.range.end <= until => {
                at = mark.range.end;
                found.push(mark);
            }
            _ => at += c.len_utf8(),
        }
    }
}

fn citation_mark(range: Range<usize>, to: impl Iterator<Item = CitationTarget>) -> CitationMark {
    CitationMark { range, to: to.collect(), has_link_text: false }
}

fn bracketed_citation(text: &str, at: usize, open: char, shut: char) -> Option<CitationMark> {
    let inside = &text[at + open.len_utf8()..];
    let end = inside.char_indices().take(MAX_BRACKET_BYTES).find(|pair| pair.1 == shut)?.0;
    let range = at..at + open.len_utf8() + end + shut.len_utf8();
    let inside = &inside[..end];
    if inside == "cite_start" {
        return Some(citation_mark(range, std::iter::empty()));
    }
    if let Some(name) = inside.strip_prefix('^') {
        let sound = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let named = !name.is_empty() && name.chars().all(sound);
        return named.then(|| {
            citation_mark(range, std::iter::once(CitationTarget::Label(inside.to_owned())))
        });
    }
    citation_numbers(inside)
        .map(|labels| citation_mark(range, labels.into_iter().map(CitationTarget::Label)))
}

/// `https://…` that is not a link, without trailing punctuation or brackets.
fn bare_address(text: &str, at: usize, until: usize) -> Option<CitationMark> {
    let rest = &text[at..until];
    let rest = &rest[..rest.floor_char_boundary(MAX_ADDRESS_BYTES)];
    if !(rest.starts_with("http://") || rest.starts_with("https://")) {
        return None;
    }
    let before = text[..at].chars().next_back();
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let stops = |c: char| c.is_whitespace() || "<>\"”»】|`".contains(c) || c.is_control();
    let mut address = &rest[..rest.find(stops).unwrap_or(rest.len())];
    let count = |c: char| address.matches(c).count();
    let mut round = count(')').saturating_sub(count('('));
    let mut square = count(']').saturating_sub(count('['));
    while let Some(last) = address.chars().next_back() {
        let loose = match last {
            ')' if round > 0 => {
                round -= 1;
                true
            }
            ']' if square > 0 => {
                square -= 1;
                true
            }
            _ => ".,;:!?'’*_".contains(last),
        };
        if !loose {
            break;
        }
        address = &address[..address.len() - last.len_utf8()];
    }
    let host = address.split_once("://")?.1;
    (!host.is_empty()).then(|| CitationMark {
        range: at..at + address.len(),
        to: vec![CitationTarget::Address(address.to_owned())],
        has_link_text: false,
    })
}

/// Superscripts: `rain¹`, `rain.¹²`, `rain¹,²`.
fn superscript_citation(text: &str, at: usize) -> Option<CitationMark> {
    if !is_raised_reference(&text[..at]) {
        return None;
    }
    let sound = |c: char| lowered_digit(c).is_some() || c == ',' || c == '˒';
    let run = &text[at..];
    let run = &run[..run.floor_char_boundary(MAX_BRACKET_BYTES)];
    let run = &run[..run.find(|it| !sound(it)).unwrap_or(run.len())];
    let run = run.trim_end_matches([',', '˒']);
    let labels = citation_numbers(&run.replace('˒', ","))?;
    Some(citation_mark(at..at + run.len(), labels.into_iter().map(CitationTarget::Guess)))
}

/// `was found.12 The`: superscripts of a document that lost its formatting.
fn digits_after_stop(text: &str, at: usize) -> Option<CitationMark> {
    let before = text[..at].chars().next_back()?;
    let after = &text[at + 1..];
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let next = after[digits..].chars().next();
    let ends = next.is_none_or(char::is_whitespace);
    if !before.is_alphabetic() || !ends {
        return None;
    }
    let next = after[digits..].trim_start().chars().next();
    if next.is_some_and(|c| !c.is_uppercase()) {
        return None;
    }
    let one = citation_label(&after[..digits])?;
    let range = at + 1..at + 1 + digits;
    Some(citation_mark(range, std::iter::once(CitationTarget::Guess(one))))
}

/// Extends citations to brackets that hold nothing else: `([a](…), [b](…))`, `(see [1])`.
fn in_brackets(text: &str, marks: Vec<CitationMark>) -> Vec<CitationMark> {
    let mut out: Vec<CitationMark> = Vec::with_capacity(marks.len());
    let mut rest = marks.into_iter().peekable();
    while let Some(first) = rest.next() {
        let Some(open) = opening_bracket(text, first.range.start, out.last()) else {
            out.push(first);
            continue;
        };
        let mut group = vec![first];
        loop {
            let end = group.last().map_or(0, |it| it.range.end);
            let until = rest.peek().map_or(text.len(), |it| it.range.start);
            let between = &text[end..until];
            let between = &between[..between.floor_char_boundary(MAX_GAP_BYTES)];
            if let Some(shut) = between.find([')', ']']) {
                if is_filler(&between[..shut]) {
                    out.push(CitationMark {
                        range: open..end + shut + 1,
                        to: group.drain(..).flat_map(|it| it.to).collect(),
                        has_link_text: false,
                    });
                }
                break;
            }
            match rest.peek() {
                Some(_) if is_filler(between) => group.extend(rest.next()),
                _ => break,
            }
        }
        out.append(&mut group);
    }
    out
}

/// The bracket before `at`, where only words like "see" are between.
fn opening_bracket(text: &str, at: usize, last: Option<&CitationMark>) -> Option<usize> {
    let from = last.map_or(0, |mark| mark.range.end);
    let from = text.ceil_char_boundary(from.max(at.saturating_sub(40)));
    let before = text.get(from..at)?;
    let open = before.rfind(['(', '['])?;
    is_filler(&before[open + 1..]).then_some(from + open)
}

fn is_filler(between: &str) -> bool {
    between
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .all(|part| BESIDE.contains(&part.to_lowercase().as_str()))
}
