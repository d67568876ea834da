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
    Stems::default().terms(text)
}

/// Stems that were worked out before. Few words make up most of a text, and stemming is a tenth of indexing.
#[derive(Clone, Default)]
struct Stems(HashMap<String, String>);

/// Stems kept; what is met later is worked out each time.
const KEPT: usize = 20_000;

impl Stems {
    fn of(&mut self, word: &str, stop: bool) -> String {
        if stop {
            return word.to_owned();
        }
        if let Some(known) = self.0.get(word) {
            return known.clone();
        }
        let stem = words::stem(word);
        if self.0.len() < KEPT {
            self.0.insert(word.to_owned(), stem.clone());
        }
        stem
    }

    fn terms(&mut self, text: &str) -> Vec<Term> {
        let mut found = Vec::new();
        let mut position = 0;
        for token in words::tokens(text) {
            let word = fold(token.text);
            if word.len() > LONGEST {
                position += 1;
                continue;
            }
            if !word.contains(['-', '‐', '‑']) {
                let stop = words::is_stop(&word);
                found.push(Term {
                    text: self.of(&word, stop),
                    position,
                    stop,
                });
                position += 1;
                continue;
            }
            let joined: String = word
                .chars()
                .filter(|it| !matches!(it, '-' | '‐' | '‑'))
                .collect();
            found.push(Term {
                text: self.of(&joined, false),
                position,
                stop: false,
            });
            for part in word.split(['-', '‐', '‑']).filter(|it| !it.is_empty()) {
                let stop = words::is_stop(part);
                found.push(Term {
                    text: self.of(part, stop),
                    position,
                    stop,
                });
                position += 1;
            }
        }
        found
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

/// [`terms`] in the shape tantivy asks for.
#[derive(Clone, Default)]
pub(super) struct Terms(Stems);

/// The terms of one text on their way into the index.
pub(super) struct Stream {
    left: std::vec::IntoIter<Term>,
    token: Token,
}

impl Tokenizer for Terms {
    type TokenStream<'a> = Stream;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream {
        Stream {
            left: self.0.terms(text).into_iter(),
            token: Token::default(),
        }
    }
}

impl TokenStream for Stream {
    fn advance(&mut self) -> bool {
        let Some(next) = self.left.next() else {
            return false;
        };
        self.token.position = next.position;
        self.token.text = next.text;
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
