//! From words to terms: what is matched when a query meets a document.
use std::collections::HashMap;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::domain::words;

/// Longest term kept, bytes; longer runs are data, not words.
const LONGEST: usize = 64;

/// One term of a text.
pub(super) struct Term {
    /// Stemmed and folded.
    pub(super) text: String,
    /// Place among the words of the text, from 0.
    pub(super) position: usize,
    /// Whether it stands for a word without meaning of its own.
    pub(super) stop: bool,
}

/// The terms of `text` in order: lower case, accents folded, English stems.
///
/// A hyphenated word gives its parts and, at the place of the first, the parts joined, so that
/// `beta-blocker`, `beta blocker` and `betablocker` meet.
pub(super) fn terms(text: &str) -> Vec<Term> {
    let mut found = Vec::new();
    let mut stems = Stems::default();
    stems.each(text, &mut |it, position, stop| {
        found.push(Term {
            text: it.to_owned(),
            position,
            stop,
        });
    });
    found
}

/// Stems that were worked out before, and whether the word has no meaning of its own. Few words make up most of a text,
/// and stemming is a tenth of indexing.
#[derive(Clone, Default)]
struct Stems {
    known: HashMap<Box<str>, (Box<str>, bool)>,
    word: String,
    joined: String,
}

/// Stems kept; what is met later is worked out each time.
const KEPT: usize = 20_000;

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '‐' | '‑')
}

impl Stems {
    /// Hands over each term with its place and whether it is without meaning of its own.
    fn each(&mut self, text: &str, give: &mut dyn FnMut(&str, usize, bool)) {
        let mut position = 0;
        let mut word = std::mem::take(&mut self.word);
        let mut joined = std::mem::take(&mut self.joined);
        words::each_word(text, |span| {
            word.clear();
            let written = &text[span];
            if written.is_ascii() {
                word.push_str(written);
                word.make_ascii_lowercase();
            } else {
                word.push_str(&fold(written.to_lowercase()));
            }
            if word.len() > LONGEST {
                position += 1;
            } else if !word.contains(is_hyphen) {
                self.one(&word, position, true, give);
                position += 1;
            } else {
                joined.clear();
                joined.extend(word.chars().filter(|it| !is_hyphen(*it)));
                self.one(&joined, position, false, give);
                for part in word.split(is_hyphen).filter(|it| !it.is_empty()) {
                    self.one(part, position, true, give);
                    position += 1;
                }
            }
        });
        (self.word, self.joined) = (word, joined);
    }

    /// Hands over the term of one word, which may be a stop word or not.
    fn one(
        &mut self,
        word: &str,
        position: usize,
        may_stop: bool,
        give: &mut dyn FnMut(&str, usize, bool),
    ) {
        if may_stop && let Some((stem, stop)) = self.known.get(word) {
            return give(stem, position, *stop);
        }
        let stop = may_stop && words::is_stop(word);
        let stem = match stop {
            true => word.to_owned(),
            false => words::stem(word),
        };
        give(&stem, position, stop);
        if may_stop && self.known.len() < KEPT {
            self.known.insert(word.into(), (stem.into(), stop));
        }
    }
}

/// Without accents: `é` → `e`. Plain ASCII passes untouched.
pub(super) fn fold(word: String) -> String {
    if word.is_ascii() {
        return word;
    }
    word.nfkd()
        .filter(|it| !is_combining_mark(*it))
        .map(|it| if it == '’' { '\'' } else { it })
        .collect()
}

/// [`terms`] in the shape tantivy asks for. What it needs room for it keeps for the next text.
#[derive(Clone, Default)]
pub(super) struct Terms {
    stems: Stems,
    /// The terms of a text, one behind the other.
    letters: String,
    /// Where each ends, and its place among the words.
    ends: Vec<(usize, usize)>,
}

/// The terms of one text on their way into the index.
pub(super) struct Stream<'a> {
    terms: &'a Terms,
    next: usize,
    start: usize,
    token: Token,
}

impl Tokenizer for Terms {
    type TokenStream<'a> = Stream<'a>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.letters.clear();
        self.ends.clear();
        let (letters, ends) = (&mut self.letters, &mut self.ends);
        self.stems.each(text, &mut |it, position, _| {
            letters.push_str(it);
            ends.push((letters.len(), position));
        });
        Stream {
            terms: self,
            next: 0,
            start: 0,
            token: Token::default(),
        }
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some((end, position)) = self.terms.ends.get(self.next) else {
            return false;
        };
        self.token.position = *position;
        self.token.text.clear();
        let text = &self.terms.letters[self.start..*end];
        self.token.text.push_str(text);
        self.start = *end;
        self.next += 1;
        true
    }
    fn token(&self) -> &Token {
        &self.token
    }
    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn accents_case_and_endings_do_not_matter() {
        assert_eq!(seen("Café RUNNING"), seen("cafe runs"));
    }

    #[test]
    fn hyphenated_words_meet_their_other_spellings() {
        let hyphened = seen("beta-blocker");
        assert!(seen("beta blocker").iter().all(|it| hyphened.contains(it)));
        assert!(seen("betablocker").iter().all(|it| hyphened.contains(it)));
    }

    #[test]
    fn numbers_and_ideographs_are_terms() {
        assert_eq!(seen("3.5 mg 中文"), ["3.5", "mg", "中", "文"]);
    }
}
