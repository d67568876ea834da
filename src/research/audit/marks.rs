//! Where in a block's words its citations stand, in every way they are written.
use std::ops::Range;

use super::blocks::Block;

/// What a citation points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum To {
    /// An entry of the list of sources by its number or name; a footnote's begins with `^`.
    Label(String),
    /// The same where it may be something else, a power or a version: only what is listed counts.
    Guess(String),
    /// An address or a path.
    Address(String),
}

/// A citation in a block's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) range: Range<usize>,
    pub(super) to: Vec<To>,
    /// Whether its words are words of the sentence: "the [survey](…) found".
    pub(super) spoken: bool,
}

/// Longest inside of a bracket that is looked at.
const INSIDE: usize = 120;
/// Most bytes between two citations of one bracket.
const AROUND: usize = 200;
/// Longest address that nobody made a link.
const ADDRESS: usize = 2_000;
/// Most numbers that one range stands for.
const RANGE: u32 = 30;
/// Words of links that only say that there is a source.
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
/// Words that may stand beside citations in brackets of their own.
const BESIDE: &[&str] = &[
    "source", "sources", "see", "via", "and", "cf", "from", "also", "e", "g", "quelle", "siehe",
    "vgl", "und",
];

/// The number that `text` is, if it is one that a citation may have: `7`, `[7]`, `^7`, `⁷`.
pub(super) fn label(text: &str) -> Option<String> {
    let bare = text.trim().trim_matches(['[', ']', '(', ')', '^']);
    let plain: String = bare
        .trim()
        .chars()
        .map(|it| lowered(it).unwrap_or(it))
        .collect();
    let digits = (1..=3).contains(&plain.len()) && plain.bytes().all(|it| it.is_ascii_digit());
    (digits && plain.bytes().any(|it| it != b'0')).then(|| plain.trim_start_matches('0').to_owned())
}

/// The numbers that `text` lists: `1`, `1, 2`, `1-3`, `4, p. 12`, `cite: 1, 2`, `6†source`.
pub(super) fn numbers(text: &str) -> Option<Vec<String>> {
    let text = text.trim().trim_matches(['[', ']', '【', '】']).trim();
    let text = text.strip_prefix("cite:").unwrap_or(text);
    if let Some((name, _)) = text.split_once('†') {
        let sound = |it: char| it.is_ascii_digit() || it == ':';
        let short = (1..=9).contains(&name.len());
        return (short && name.chars().all(sound)).then(|| vec![name.to_owned()]);
    }
    let mut found = Vec::new();
    for part in text.split([',', ';']) {
        let part = part.trim();
        if let Some(one) = label(part) {
            found.push(one);
        } else if let Some((from, to)) = part.split_once(['-', '–', '—']) {
            let (from, to): (u32, u32) = (label(from)?.parse().ok()?, label(to)?.parse().ok()?);
            if from >= to || to - from > RANGE {
                return None;
            }
            found.extend((from..=to).map(|it| it.to_string()));
        } else if found.is_empty() || !is_place(part) {
            return None;
        }
    }
    Some(found)
}

/// `p. 12`, `pp. 3`, `S. 4`, `ch. 2`: a place in the source that was named before.
fn is_place(part: &str) -> bool {
    [
        "p", "S", "ch", "sec", "fig", "tab", "§", "Tab", "Fig", "cap",
    ]
    .iter()
    .any(|it| part.starts_with(it))
}

fn lowered(c: char) -> Option<char> {
    "⁰¹²³⁴⁵⁶⁷⁸⁹"
        .chars()
        .position(|it| it == c)
        .and_then(|it| char::from_digit(it as u32, 10))
}

/// Whether a raised number after `before` is a reference and not a power: after a stop, or after a
/// word too long for a unit.
pub(super) fn glued(before: &str) -> bool {
    let word = before
        .chars()
        .rev()
        .take_while(|it| it.is_alphabetic())
        .take(4)
        .count();
    match before.chars().next_back() {
        None => false,
        Some(last) if last.is_alphabetic() => word >= 4,
        Some(last) => !last.is_ascii_digit() && lowered(last).is_none(),
    }
}

/// The citations of a block in order, none over another.
pub(super) fn marks(block: &Block) -> Vec<Mark> {
    let mut found: Vec<Mark> = block
        .links
        .iter()
        .map(|it| Mark {
            range: it.range.clone(),
            spoken: !is_pointer(&block.text[it.range.clone()], &it.to),
            to: it.to.clone(),
        })
        .collect();
    let mut taken: Vec<Range<usize>> = block.links.iter().map(|it| it.range.clone()).collect();
    taken.extend(block.code.iter().cloned());
    taken.sort_by_key(|it| it.start);
    scan(&block.text, &taken, &mut found);
    found.sort_by_key(|it| (it.range.start, it.range.end));
    let mut apart: Vec<Mark> = Vec::with_capacity(found.len());
    for it in found {
        match apart.last_mut() {
            Some(last) if it.range.start < last.range.end => last.to.extend(it.to),
            _ => apart.push(it),
        }
    }
    in_brackets(&block.text, apart)
}

/// Whether a link's words only point: a number, "source", the name of the site, the address.
fn is_pointer(words: &str, to: &[To]) -> bool {
    let words = words.trim().trim_matches(['[', ']', '(', ')']).trim();
    let bare = words
        .rsplit_once('+')
        .filter(|it| it.1.bytes().all(|it| it.is_ascii_digit()))
        .map_or(words, |it| it.0)
        .trim_end_matches('…');
    let lower = bare.to_lowercase();
    let of_site = |it: &To| match it {
        To::Address(address) => {
            let host = lower.trim_start_matches("www.");
            host.contains('.') && !host.contains(' ') && address.to_lowercase().contains(host)
        }
        To::Label(_) | To::Guess(_) => lower.contains('.') && !lower.contains(' '),
    };
    bare.is_empty()
        || numbers(bare).is_some()
        || lower.contains("://")
        || POINTERS.contains(&lower.as_str())
        || to.iter().any(of_site)
}

/// Finds what points without being a link, outside of what is `taken`.
fn scan(text: &str, taken: &[Range<usize>], found: &mut Vec<Mark>) {
    let mut taken = taken.iter().filter(|it| !it.is_empty()).peekable();
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
            '[' => bracketed(text, at, '[', ']'),
            '【' => bracketed(text, at, '【', '】'),
            'h' => bare_address(text, at, until),
            '¹' | '²' | '³' | '⁴'..='⁹' => raised(text, at),
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

fn pointer(range: Range<usize>, to: impl Iterator<Item = To>) -> Mark {
    Mark {
        range,
        to: to.collect(),
        spoken: false,
    }
}

/// The first `most` bytes of `text`, or a few less.
fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn bracketed(text: &str, at: usize, open: char, shut: char) -> Option<Mark> {
    let inside = &text[at + open.len_utf8()..];
    let end = inside
        .char_indices()
        .take(INSIDE)
        .find(|it| it.1 == shut)?
        .0;
    let range = at..at + open.len_utf8() + end + shut.len_utf8();
    let inside = &inside[..end];
    if inside == "cite_start" {
        return Some(pointer(range, std::iter::empty()));
    }
    if let Some(name) = inside.strip_prefix('^') {
        let sound = |it: char| it.is_alphanumeric() || it == '-' || it == '_';
        let named = !name.is_empty() && name.chars().all(sound);
        return named.then(|| pointer(range, std::iter::once(To::Label(inside.to_owned()))));
    }
    numbers(inside).map(|labels| pointer(range, labels.into_iter().map(To::Label)))
}

/// `https://…` that nobody made a link, without the stop or bracket behind it.
fn bare_address(text: &str, at: usize, until: usize) -> Option<Mark> {
    let rest = head(&text[at..until], ADDRESS);
    if !(rest.starts_with("http://") || rest.starts_with("https://")) {
        return None;
    }
    let before = text[..at].chars().next_back();
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let stops = |it: char| it.is_whitespace() || "<>\"”»】|`".contains(it) || it.is_control();
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
    (!host.is_empty()).then(|| Mark {
        range: at..at + address.len(),
        to: vec![To::Address(address.to_owned())],
        spoken: false,
    })
}

/// `rain¹`, `rain.¹²`, `rain¹,²`.
fn raised(text: &str, at: usize) -> Option<Mark> {
    if !glued(&text[..at]) {
        return None;
    }
    let sound = |it: char| lowered(it).is_some() || it == ',' || it == '˒';
    let run = head(&text[at..], INSIDE);
    let run = &run[..run.find(|it| !sound(it)).unwrap_or(run.len())];
    let run = run.trim_end_matches([',', '˒']);
    let labels = numbers(&run.replace('˒', ","))?;
    Some(pointer(
        at..at + run.len(),
        labels.into_iter().map(To::Guess),
    ))
}

/// `was found.12 The`: the raised numbers of a document that lost its raising.
fn digits_after_stop(text: &str, at: usize) -> Option<Mark> {
    let before = text[..at].chars().next_back()?;
    let after = &text[at + 1..];
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let next = after[digits..].chars().next();
    let ends = next.is_none_or(char::is_whitespace);
    if !before.is_alphabetic() || !ends {
        return None;
    }
    let next = after[digits..].trim_start().chars().next();
    if next.is_some_and(|it| !it.is_uppercase()) {
        return None;
    }
    let one = label(&after[..digits])?;
    let range = at + 1..at + 1 + digits;
    Some(pointer(range, std::iter::once(To::Guess(one))))
}

/// Brackets that hold citations and nothing else go with them: `([a](…), [b](…))`, `(see [1])`.
fn in_brackets(text: &str, marks: Vec<Mark>) -> Vec<Mark> {
    let mut out: Vec<Mark> = Vec::with_capacity(marks.len());
    let mut rest = marks.into_iter().peekable();
    while let Some(first) = rest.next() {
        let Some(open) = opening(text, first.range.start, out.last()) else {
            out.push(first);
            continue;
        };
        let mut group = vec![first];
        loop {
            let end = group.last().map_or(0, |it| it.range.end);
            let until = rest.peek().map_or(text.len(), |it| it.range.start);
            let between = head(&text[end..until], AROUND);
            if let Some(shut) = between.find([')', ']']) {
                if is_beside(&between[..shut]) {
                    out.push(Mark {
                        range: open..end + shut + 1,
                        to: group.drain(..).flat_map(|it| it.to).collect(),
                        spoken: false,
                    });
                }
                break;
            }
            match rest.peek() {
                Some(_) if is_beside(between) => group.extend(rest.next()),
                _ => break,
            }
        }
        out.append(&mut group);
    }
    out
}

/// The bracket before `at`, where nothing but words like "see" stands between.
fn opening(text: &str, at: usize, last: Option<&Mark>) -> Option<usize> {
    let from = last.map_or(0, |it| it.range.end);
    let mut from = from.max(at.saturating_sub(40));
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let before = text.get(from..at)?;
    let open = before.rfind(['(', '['])?;
    is_beside(&before[open + 1..]).then_some(from + open)
}

fn is_beside(between: &str) -> bool {
    between
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .all(|it| BESIDE.contains(&it.to_lowercase().as_str()))
}
