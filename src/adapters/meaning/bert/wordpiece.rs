//! From a text to the numbers of its pieces, as BERT's uncased models were taught (Devlin and others 2019).
use std::collections::HashMap;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Longer words are unknown as a whole, characters.
const LONGEST: usize = 100;

/// The vocabulary.
pub(super) struct WordPiece {
    pieces: HashMap<String, usize>,
    begin: usize,
    end: usize,
    unknown: usize,
}

impl WordPiece {
    /// Reads `tokenizer.json`.
    pub(super) fn of(tokenizer: &Value) -> Result<WordPiece, String> {
        let vocabulary = tokenizer["model"]["vocab"]
            .as_object()
            .filter(|_| tokenizer["model"]["type"] == "WordPiece")
            .ok_or("tokenizer.json has no WordPiece vocabulary")?;
        let pieces: HashMap<String, usize> = vocabulary
            .iter()
            .filter_map(|(piece, id)| Some((piece.clone(), usize::try_from(id.as_u64()?).ok()?)))
            .collect();
        let known = |piece: &str| {
            let id = pieces.get(piece).copied();
            id.ok_or_else(|| format!("the vocabulary lacks {piece}"))
        };
        Ok(WordPiece {
            begin: known("[CLS]")?,
            end: known("[SEP]")?,
            unknown: known("[UNK]")?,
            pieces,
        })
    }

    /// The pieces of `text`, between the marks of begin and end, at most `most` in all.
    pub(super) fn ids(&self, text: &str, most: usize) -> Vec<usize> {
        let mut ids = vec![self.begin];
        for word in words(text) {
            self.cut(&word, &mut ids);
            if ids.len() >= most {
                break;
            }
        }
        ids.truncate(most.saturating_sub(1));
        ids.push(self.end);
        ids
    }

    /// The longest known piece from each place on; a word with an unknown rest is unknown as a whole.
    fn cut(&self, word: &str, ids: &mut Vec<usize>) {
        let had = ids.len();
        let mut from = 0;
        while from < word.len() && word.chars().count() <= LONGEST {
            let piece = |to: usize| match from {
                0 => self.pieces.get(&word[..to]),
                _ => self.pieces.get(&format!("##{}", &word[from..to])),
            };
            let ends = word[from..]
                .char_indices()
                .map(|(at, it)| from + at + it.len_utf8());
            let ends: Vec<usize> = ends.collect();
            match ends.iter().rev().find_map(|to| Some((*to, *piece(*to)?))) {
                Some((to, id)) => {
                    ids.push(id);
                    from = to;
                }
                None => break,
            }
        }
        if from < word.len() {
            ids.truncate(had);
            ids.push(self.unknown);
        }
    }
}

/// The words of `text`: lower case without accents, marks of punctuation and ideographs alone.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let plain = lower.nfd().filter(|it| !is_combining_mark(*it));
    let mut words = vec![String::new()];
    for c in plain {
        if c.is_whitespace() {
            words.push(String::new());
        } else if c.is_control() || c == '\u{fffd}' {
        } else if is_mark(c) || is_ideograph(c) {
            words.extend([c.to_string(), String::new()]);
        } else if let Some(last) = words.last_mut() {
            last.push(c);
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

/// Punctuation: all of ASCII that is neither letter nor digit, and the blocks of Unicode that hold most of the rest.
fn is_mark(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff0f}'
            | '\u{ff1a}'..='\u{ff1b}' | '\u{ff1f}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_cut_into_the_longest_known_pieces() {
        let vocabulary = json!({"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "rain": 3, "##fall": 4, "cafe": 5, ",": 6, "##s": 7});
        let words =
            WordPiece::of(&json!({"model": {"type": "WordPiece", "vocab": vocabulary}})).unwrap();
        assert_eq!(
            words.ids("Rainfall, CAFÉS zzz", 20),
            [0, 3, 4, 6, 5, 7, 2, 1]
        );
        assert_eq!(words.ids("rain rain rain", 3), [0, 3, 1]);
        assert_eq!(words.ids("", 3), [0, 1]);
        assert!(WordPiece::of(&json!({})).is_err());
    }
}
