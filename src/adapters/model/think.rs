//! Reasoning that open models write into their text, between `<think>` and `</think>`.
//!
//! Only a tag that begins a line is taken for one, so that a text about tags, or JSON that quotes one, stays whole.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Parts text from reasoning, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    held: String,
    inside: bool,
    /// Reasoning has just ended: blanks before the first word of the answer belong to neither.
    skipping: bool,
    /// How much of `held` is known to hold no closing tag.
    searched: usize,
}

impl Thinking {
    pub(super) fn feed(&mut self, more: &str, text: &mut String, reasoning: &mut String) {
        self.held.push_str(more);
        loop {
            let moved = if self.inside {
                self.leave(reasoning)
            } else {
                self.enter(text, reasoning)
            };
            if !moved {
                return;
            }
        }
    }

    /// Lets go what was held back as a possible tag. Reasoning that nobody ended stays reasoning.
    pub(super) fn close(&mut self, text: &mut String, reasoning: &mut String) {
        let held = std::mem::take(&mut self.held);
        match self.inside {
            true => reasoning.push_str(&held),
            false => self.say(&held, text),
        }
    }

    /// Reads up to the closing tag; whether there was one.
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
        // Reasoning is let go as a whole, so that the blanks at its ends can be left out.
        !self.inside
    }

    /// Reads up to an opening tag; whether there was one.
    fn enter(&mut self, text: &mut String, reasoning: &mut String) -> bool {
        let mut from = 0;
        while let Some(at) = self.held[from..].find('<').map(|it| from + it) {
            let rest = &self.held[at..];
            let could_be = OPEN.starts_with(rest) || rest.starts_with(OPEN);
            if could_be && begins_line(text, &self.held[..at]) {
                let before: String = self.held.drain(..at).collect();
                self.say(&before, text);
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
        self.say(&held, text);
        false
    }

    fn say(&mut self, words: &str, text: &mut String) {
        let words = if self.skipping {
            words.trim_start()
        } else {
            words
        };
        self.skipping = self.skipping && words.is_empty();
        text.push_str(words);
    }
}

/// Whether what follows `text` and `held` begins a line, blanks aside.
fn begins_line(text: &str, held: &str) -> bool {
    let blank = |c: char| c == ' ' || c == '\t';
    let held = held.trim_end_matches(blank);
    match held.chars().next_back() {
        Some(last) => last == '\n',
        None => text
            .trim_end_matches(blank)
            .chars()
            .next_back()
            .is_none_or(|it| it == '\n'),
    }
}
