//! Turns words into terms, which queries and documents are matched by.
use std::collections::HashMap;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use ibid_core::domain::words;

/// Bytes of a word; longer runs of characters are data, not words.
const MAX_WORD_BYTES: usize = 64;
/// Stems that are cached; the stems of further words are computed each time.
const MAX_CACHED: usize = 20_000;

/// One term of a text.
pub(super) struct IndexTerm {
    /// The stem, with accents folded.
    pub(super) text: String,
    /// The position among the words of the text, from 0.
    pub(super) position: usize,
    /// Whether the word is a stop word.
    pub(super) stop: bool,
}

/// The terms of `text` in order: lower case, accents folded, English and Russian stems, numbers without thousands separators.
///
/// A hyphenated word gives its parts and, at the position of the first, the parts joined, so that `beta-blocker`,
/// `beta blocker` and `betablocker` match each other.
pub(super) fn terms(text: &str) -> Vec<IndexTerm> {
    let mut found = Vec::new();
    let mut stems = StemCache::default();
    stems.for_each_term(text, &mut |term, position, stop| {
        found.push(IndexTerm { text: term.to_owned(), position, stop });
    });
    found
}

/// The stems of words seen before, and whether each is a stop word. Few words make up most of a text, and stemming takes a
/// tenth of the time of indexing.
#[derive(Clone, Default)]
struct StemCache {
    known: HashMap<Box<str>, (Box<str>, bool)>,
    word: String,
    joined: String,
}

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '‐' | '‑')
}

impl StemCache {
    /// Passes each term to `each` with its position and whether it is a stop word.
    fn for_each_term(&mut self, text: &str, each: &mut dyn FnMut(&str, usize, bool)) {
        let mut position = 0;
        let mut word = std::mem::take(&mut self.word);
        let mut joined = std::mem::take(&mut self.joined);
        words::for_each_word(text, |span| {
            word.clear();
            let written = &text[span];
            if written.is_ascii() {
                word.push_str(written);
                word.make_ascii_lowercase();
            } else {
                word.push_str(&fold_accents(written.to_lowercase()));
            }
            if let Some(number) = plain_number(&word) {
                word = number;
            }
            if word.len() > MAX_WORD_BYTES {
                position += 1;
            } else if !word.contains(is_hyphen) {
                self.emit_term(&word, position, true, each);
                position += 1;
            } else {
                joined.clear();
                joined.extend(word.chars().filter(|c| !is_hyphen(*c)));
                self.emit_term(&joined, position, false, each);
                for part in word.split(is_hyphen).filter(|part| !part.is_empty()) {
                    self.emit_term(part, position, true, each);
                    position += 1;
                }
            }
        });
        (self.word, self.joined) = (word, joined);
    }

    /// Passes the term of one word to `each`. With `may_stop` false the word is never taken for a stop word, nor cached.
    fn emit_term(
        &mut self,
        word: &str,
        position: usize,
        may_stop: bool,
        each: &mut dyn FnMut(&str, usize, bool),
    ) {
        if may_stop && let Some((stem, stop)) = self.known.get(word) {
            return each(stem, position, *stop);
        }
        let stop = may_stop && words::is_stop_word(word);
        let stem = if stop { word.to_owned() } else { words::stem(word) };
        each(&stem, position, stop);
        if may_stop && self.known.len() < MAX_CACHED {
            self.known.insert(word.into(), (stem.into(), stop));
        }
    }
}

/// A word without accents and without letters that other alphabets lack: `é` becomes `e`, `ß` becomes `ss`.
pub(super) fn fold_accents(word: String) -> String {
    if word.is_ascii() {
        return word;
    }
    let mut folded = String::with_capacity(word.len());
    for c in word.nfc() {
        match c {
            '’' => folded.push('\''),
            // The Russian stemmer knows endings by it.
            'й' => folded.push(c),
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            'ı' => folded.push('i'),
            _ => folded.extend(std::iter::once(c).nfkd().filter(|c| !is_combining_mark(*c))),
        }
    }
    folded
}

/// A number as other languages write it, too: `1,250` and `1.250` become `1250`, `3,5` becomes `3.5`. `None` if that is the word.
fn plain_number(word: &str) -> Option<String> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) || !word.contains([',', '.']) {
        return None;
    }
    let mut groups = word.split([',', '.']);
    let first = groups.next()?;
    if !word.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '.') {
        return None;
    }
    if (1..=3).contains(&first.len()) && first != "0" && groups.all(|group| group.len() == 3) {
        return Some(word.replace([',', '.'], ""));
    }
    let decimal = word.matches(',').count() == 1 && !word.contains('.');
    decimal.then(|| word.replace(',', "."))
}

/// [`terms`] as a tantivy tokenizer. It reuses its buffers.
#[derive(Clone, Default)]
pub(super) struct TermTokenizer {
    stems: StemCache,
    /// The terms of a text, concatenated.
    letters: String,
    /// The end of each term, and its position among the words.
    ends: Vec<(usize, usize)>,
}

/// The terms of one text, for the index.
pub(super) struct TermStream<'a> {
    terms: &'a TermTokenizer,
    next: usize,
    start: usize,
    token: Token,
}

impl Tokenizer for TermTokenizer {
    type TokenStream<'a> = TermStream<'a>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream<'a> {
        self.letters.clear();
        self.ends.clear();
        let (letters, ends) = (&mut self.letters, &mut self.ends);
        self.stems.for_each_term(text, &mut |term, position, _| {
            letters.push_str(term);
            ends.push((letters.len(), position));
        });
        TermStream { terms: self, next: 0, start: 0, token: Token::default() }
    }
}

impl TokenStream for TermStream<'_> {
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
        terms(text).into_iter().map(|term| term.text).collect()
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
    fn names_and_numbers_meet_in_other_languages() {
        for (there, here) in [
            ("1.250 Tonnen", "1,250 Tonnen"),
            ("1250", "1,250"),
            ("1.250.000", "1,250,000"),
            ("3,5", "3.5"),
            ("Weißmüller", "Weissmuller"),
            ("Øresby", "Oresby"),
            ("Волжанского", "Волжанский"),
            ("Каменного", "Каменный"),
        ] {
            assert_eq!(seen(there), seen(here));
        }
        assert_ne!(seen("7.10.2023"), seen("7102023"));
        assert_ne!(seen("0.125"), seen("125"));
        assert_ne!(seen("3.5"), seen("35"));
    }

    #[test]
    fn numbers_and_ideographs_are_terms() {
        assert_eq!(seen("3.5 mg 中文"), ["3.5", "mg", "中", "文"]);
    }
}
