//! Reasoning that open models write into their text, between `<think>` and `</think>`.
//!
//! A tag is recognised only at the start of a line, so that a text about tags, or JSON that quotes one, stays whole.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Separates text from reasoning, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct ThinkTagParser {
    held: String,
    inside: bool,
    /// Whether reasoning has just ended: white space before the answer belongs to neither.
    skipping: bool,
    /// How many bytes of `held` are known to contain no closing tag.
    searched: usize,
}

impl ThinkTagParser {
    pub(super) fn feed(&mut self, more: &str, text: &mut String, reasoning: &mut String) {
        self.held.push_str(more);
        loop {
            let moved =
                if self.inside { self.leave(reasoning) } else { self.enter(text, reasoning) };
            if !moved {
                return;
            }
        }
    }

    /// Releases text held back as a possible tag. Unclosed reasoning stays reasoning.
    pub(super) fn finish(&mut self, text: &mut String, reasoning: &mut String) {
        let held = std::mem::take(&mut self.held);
        if self.inside {
            reasoning.push_str(&held);
        } else {
            self.push_text(&held, text);
        }
    }

    /// Reads up to the closing tag and returns whether there was one.
    fn leave(&mut self, reasoning: &mut String) -> bool {
        let from = self.searched.saturating_sub(CLOSE.len());
        let from = self.held.floor_char_boundary(from);
        self.searched = self.held.len();
        if let Some(at) = self.held[from..].find(CLOSE).map(|it| from + it) {
            self.searched = 0;
            reasoning.push_str(self.held[..at].trim());
            self.held.drain(..at + CLOSE.len());
            self.inside = false;
            self.skipping = true;
        }
        // Reasoning is passed on as a whole, so that white space at its ends can be removed.
        !self.inside
    }

    /// Reads up to an opening tag and returns whether there was one.
    fn enter(&mut self, text: &mut String, reasoning: &mut String) -> bool {
        let mut from = 0;
        while let Some(at) = self.held[from..].find('<').map(|it| from + it) {
            let rest = &self.held[at..];
            let could_be = OPEN.starts_with(rest) || rest.starts_with(OPEN);
            if could_be && begins_line(text, &self.held[..at]) {
                let before: String = self.held.drain(..at).collect();
                self.push_text(&before, text);
                if !self.held.starts_with(OPEN) {
                    return false;
                }
                self.held.drain(..OPEN.len());
                self.inside = true;
                if !reasoning.is_empty() {
                    reasoning.push_str("\n\n");
                }
                return true;
            }
            from = at + 1;
        }
        let held = std::mem::take(&mut self.held);
        self.push_text(&held, text);
        false
    }

    fn push_text(&mut self, words: &str, text: &mut String) {
        let words = if self.skipping { words.trim_start() } else { words };
        self.skipping = self.skipping && words.is_empty();
        text.push_str(words);
    }
}

/// Whether the position after `text` and `held` is at the start of a line, ignoring white space.
fn begins_line(text: &str, held: &str) -> bool {
    let blank = |c: char| c == ' ' || c == '\t';
    let held = held.trim_end_matches(blank);
    match held.chars().next_back() {
        Some(last) => last == '\n',
        None => text.trim_end_matches(blank).chars().next_back().is_none_or(|c| c == '\n'),
    }
}
