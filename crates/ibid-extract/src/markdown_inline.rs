//! The inline markup of a line of Markdown: the words without it, and the links in it.
use crate::{address, plain_text, superscript};

/// The links `[words](address)` of a text that have an absolute address, in order.
pub(crate) fn inline_links(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices("](") {
        let Some(open) = text[from..at].rfind('[').map(|it| from + it) else {
            continue;
        };
        from = at + 2;
        let target = &text[from..];
        // An address without an end is none, and the text is not searched to its end for each.
        let target = &target[..target.floor_char_boundary(MAX_TARGET_CHARS.min(target.len()))];
        let Some(end) = target.find(|c: char| c == ')' || c.is_whitespace()) else {
            continue;
        };
        let is_image = text[..open].ends_with('!');
        let words = strip_inline(&text[open + 1..at]);
        if let Some(url) = address::parse_link(&target[..end])
            && !is_image
            && !words.is_empty()
        {
            found.push((words, url));
        }
    }
    found
}

/// Inline text without its markup: only the words of links, nothing of images and footnote marks, emphasis and code
/// unwrapped, HTML tags removed and entities resolved.
pub(crate) fn strip_inline(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let out = InlineStripper::new(&chars).strip();
    let out = out
        .replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    let mut folded = String::with_capacity(out.len());
    plain_text::fold_whitespace_into(&mut folded, &out);
    folded
}

// Characters within which markup must end to be recognised.

/// The words of a link.
const MAX_LINK_CHARS: usize = 2_000;
/// The target of a link.
const MAX_TARGET_CHARS: usize = 2_000;
/// The mark of a footnote.
const MAX_NOTE_CHARS: usize = 40;
/// Raised text.
const MAX_RAISED_CHARS: usize = 40;
/// A tag.
const MAX_TAG_CHARS: usize = 400;

/// Removes inline markup in one pass.
struct InlineStripper<'a> {
    chars: &'a [char],
    at: usize,
    out: String,
    brackets: BracketPairs,
    round: CharFinder,
    square: CharFinder,
    angle: CharFinder,
    /// For each open link, the end of its words and the end of its target.
    links: Vec<(usize, usize)>,
}

impl InlineStripper<'_> {
    fn new(chars: &[char]) -> InlineStripper<'_> {
        InlineStripper {
            chars,
            at: 0,
            out: String::with_capacity(chars.len()),
            brackets: BracketPairs::new(chars),
            round: CharFinder::new(')'),
            square: CharFinder::new(']'),
            angle: CharFinder::new('>'),
            links: Vec::new(),
        }
    }

    fn strip(mut self) -> String {
        while self.at < self.chars.len() {
            let at = self.at;
            while self.links.pop_if(|link| link.0 < at).is_some() {}
            match self.links.pop_if(|link| link.0 == at) {
                Some((_, end)) => self.at = end,
                None => self.step(),
            }
        }
        self.out
    }

    /// Handles the character at the current position.
    fn step(&mut self) {
        let (at, chars) = (self.at, self.chars);
        let c = chars[at];
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        // The position after the markup that begins here.
        let end = match c {
            '\\' if next.is_ascii_punctuation() => {
                self.out.push(next);
                Some(at + 2)
            }
            '!' if next == '[' => self.link(at + 1).map(|(_, end)| end),
            '[' if next == '^' => {
                self.square.find_closing(chars, at, MAX_NOTE_CHARS).map(|end| end + 1)
            }
            '[' => self.link(at).map(|link| {
                self.links.push(link);
                at + 1
            }),
            '<' if next.is_ascii_alphabetic() || next == '/' => self.tag(),
            '`' | '*' => Some(at + 1),
            '~' if next == '~' => Some(at + 2),
            '_' => {
                let before = at.checked_sub(1).and_then(|at| chars.get(at));
                let inside_word =
                    before.is_some_and(|c| c.is_alphanumeric()) && next.is_alphanumeric();
                (!inside_word).then_some(at + 1)
            }
            _ => None,
        };
        self.at = end.unwrap_or_else(|| {
            self.out.push(c);
            at + 1
        });
    }

    /// The end of the words and the end of the target of the link whose bracket is at `open`.
    fn link(&mut self, open: usize) -> Option<(usize, usize)> {
        let close = self.brackets.close(open)?;
        let target_end = match self.chars.get(close + 1) {
            Some('(') => &mut self.round,
            Some('[') => &mut self.square,
            _ => return None,
        };
        let end = target_end.find_closing(self.chars, close + 1, MAX_TARGET_CHARS)?;
        // A link inside a link must end inside it.
        let inside = self.links.last().is_none_or(|outer| end < outer.0);
        inside.then_some((close, end + 1))
    }

    /// Removes the tag at the current position, and returns the position after it. Keeps addresses.
    fn tag(&mut self) -> Option<usize> {
        let end = self.angle.find_closing(self.chars, self.at, MAX_TAG_CHARS)?;
        let tag: String = self.chars[self.at + 1..end].iter().collect();
        if tag.starts_with("http") || tag.contains('@') {
            self.out.push_str(&tag);
        } else if tag == "sup" {
            let raised = self.chars[end + 1..].iter().take(MAX_RAISED_CHARS);
            let raised: String = raised.take_while(|c| **c != '<').collect();
            if superscript::joins_number(&self.out, raised.trim()) {
                self.out.push('^');
            }
        } else if tag.starts_with("br") {
            self.out.push(' ');
        }
        Some(end + 1)
    }
}

/// For each opening bracket, the closing one; found in one pass.
struct BracketPairs(Vec<u32>);

impl BracketPairs {
    fn new(chars: &[char]) -> BracketPairs {
        let mut open = Vec::new();
        let mut closes = Vec::new();
        for (at, c) in chars.iter().enumerate() {
            match c {
                '[' => {
                    // Only a text with brackets needs the table.
                    closes.resize(chars.len(), 0);
                    open.push(at);
                }
                ']' => {
                    if let Some(from) = open.pop() {
                        closes[from] = at as u32;
                    }
                }
                _ => {}
            }
        }
        BracketPairs(closes)
    }

    /// The closing bracket for the one at `open`, if it is near.
    fn close(&self, open: usize) -> Option<usize> {
        let close = *self.0.get(open)? as usize;
        (close > open && close - open < MAX_LINK_CHARS).then_some(close)
    }
}

/// Finds the next occurrence of one character. It remembers what it searched, so that no part of the text is searched for each
/// link.
struct CharFinder {
    what: char,
    /// The character does not occur from the first position up to the second. The flag says whether it occurs at the second.
    known: Option<(usize, usize, bool)>,
}

impl CharFinder {
    fn new(what: char) -> CharFinder {
        CharFinder { what, known: None }
    }

    /// The position of the first occurrence within `most` characters, from `from` on.
    fn find_closing(&mut self, chars: &[char], from: usize, most: usize) -> Option<usize> {
        let end = chars.len().min(from + most);
        let search = |from: usize, to: usize| {
            let part = chars.get(from..to).unwrap_or_default();
            let found = part.iter().position(|it| *it == self.what);
            (found.map_or(to.max(from), |it| from + it), found.is_some())
        };
        let search_on = |first: usize, from: usize| {
            let (to, found) = search(from, end);
            (first, to, found)
        };
        let known = match self.known {
            Some((first, to, true)) if (first..=to).contains(&from) => (first, to, true),
            Some((first, to, false)) if (first..=to).contains(&from) => search_on(first, to),
            Some((first, to, found)) if from < first && first <= end => match search(from, first) {
                (nearer, true) => (from, nearer, true),
                _ if found || to >= end => (from, to, found),
                _ => search_on(from, to),
            },
            _ => search_on(from, from),
        };
        self.known = Some(known);
        let (_, to, found) = known;
        (found && to < end).then_some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_with_an_address_are_kept_with_their_words() {
        let text = "A [*new* study](https://a.example/s_1#top \"title\") of ![a roof](https://a.example/r.png) and [this](/b) [x]";
        let found = [("new study".to_owned(), "https://a.example/s_1".to_owned())];
        assert_eq!(inline_links(text), found);
        assert_eq!(inline_links("](https://a.example/) ]( [a](b [c](https://a.example/c"), []);
    }
}
