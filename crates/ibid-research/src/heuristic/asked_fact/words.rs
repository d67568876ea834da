//! A text as words, with what stands between them.
use ibid_core::domain::words::{Token, is_stop_word, stem, tokens};

/// Maximum number of words of a name.
const MAX_NAME_WORDS: usize = 8;

/// The words of a text, their stems, and the marks between them.
pub(super) struct TextWords<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) stems: Vec<String>,
}

impl<'a> TextWords<'a> {
    pub(super) fn new(text: &'a str) -> TextWords<'a> {
        let tokens = tokens(text);
        let stems = tokens.iter().map(|token| stem(&token.text)).collect();
        TextWords { text, tokens, stems }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The word in lower case.
    pub(super) fn word(&self, at: usize) -> &str {
        &self.tokens[at].text
    }

    /// Words `first` to `last` as written.
    pub(super) fn slice(&self, first: usize, last: usize) -> &'a str {
        &self.text[self.tokens[first].span.start..self.tokens[last].span.end]
    }

    pub(super) fn is_capital(&self, at: usize) -> bool {
        self.text[self.tokens[at].span.start..].starts_with(char::is_uppercase)
    }

    pub(super) fn is_stop(&self, at: usize) -> bool {
        is_stop_word(self.word(at))
    }

    /// What stands before word `at`, after the word before it.
    pub(super) fn gap_before(&self, at: usize) -> &'a str {
        let from = at.checked_sub(1).map_or(0, |before| self.tokens[before].span.end);
        let to = self.tokens.get(at).map_or(self.text.len(), |token| token.span.start);
        &self.text[from..to]
    }

    /// Whether a phrase ends before word `at`. The full stop of an initial or of "Dr." ends none.
    pub(super) fn breaks_before(&self, at: usize) -> bool {
        let gap = self.gap_before(at);
        let dotted = gap.contains('.');
        let other =
            gap.contains([',', ';', ':', '(', ')', '|', '–', '—', '[', ']', '^', '=', '?', '!']);
        let initial = at > 0 && self.is_capital(at - 1) && self.word(at - 1).chars().count() <= 2;
        other || dotted && !initial
    }

    /// The last run of capitalised words of the noun phrase that begins at word `from`: "Muriel Spark" of "Scottish author Muriel
    /// Spark, who …". Words of small letters before it say what it is.
    pub(super) fn name_in_phrase(&self, from: usize) -> Option<(usize, usize)> {
        let mut run: Option<(usize, usize)> = None;
        let mut open = false;
        let mut joined = false;
        for at in from..(from + MAX_NAME_WORDS).min(self.len()) {
            let ends =
                at > from && self.breaks_before(at) || self.gap_before(at).contains(['(', ')']);
            let led = matches!(self.word(at), "the" | "a" | "an");
            // "By comedian and singer Ada Lee".
            let joins = self.word(at) == "and" && run.is_none() && at > from;
            joined |= joins;
            // "The Who": a word of a name is no stop word.
            let goes_on = open && self.is_capital(at);
            if ends || self.is_stop(at) && !led && !joins && !goes_on {
                break;
            }
            let digit = self.word(at).starts_with(|c: char| c.is_ascii_digit());
            if self.is_capital(at) && !(led && open) {
                run = match run {
                    Some((first, _)) if open => Some((first, at)),
                    // After a name, a second one is another part of the sentence.
                    _ => Some((at, at)),
                };
                open = true;
            } else if !led && !digit {
                if open && run.is_some_and(|(first, last)| last > first) {
                    break;
                }
                open = false;
            }
        }
        run.filter(|(first, last)| *last > *first || !joined && !self.is_stop(*first))
    }

    /// The run of capitalised words that begins at word `from`.
    pub(super) fn capital_run(&self, from: usize) -> Option<(usize, usize)> {
        if from >= self.len() || !self.is_capital(from) {
            return None;
        }
        let mut last = from;
        while last + 1 < self.len()
            && last + 1 - from < MAX_NAME_WORDS
            && self.is_capital(last + 1)
            && !self.breaks_before(last + 1)
        {
            last += 1;
        }
        Some((from, last))
    }
}
