//! The WordPiece tokenizer of BERT's uncased models (Devlin and others 2019).
use std::collections::HashMap;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Characters of a word; a longer word is unknown.
const MAX_WORD_CHARS: usize = 100;

/// What the model sees of a text, or of a pair of texts.
pub(crate) struct Tokens {
    pub(crate) ids: Vec<usize>,
    /// How many of them are those of the first text; all, if there is one only.
    pub(crate) first: usize,
}

/// The vocabulary.
pub(crate) struct WordPiece {
    pieces: HashMap<String, usize>,
    begin: usize,
    end: usize,
    unknown: usize,
}

impl WordPiece {
    /// Reads `tokenizer.json`.
    pub(crate) fn from_json(tokenizer: &Value) -> Result<WordPiece, String> {
        let kind = tokenizer["model"]["type"].as_str().unwrap_or("unknown");
        if kind != "WordPiece" {
            return Err(format!("tokenizer.json is of the type {kind}, not WordPiece"));
        }
        if tokenizer["normalizer"]["lowercase"] == false {
            return Err("tokenizer.json distinguishes capitals, which is not supported".to_owned());
        }
        let vocabulary = tokenizer["model"]["vocab"]
            .as_object()
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

    /// The ids of the first pieces of `text`, at most `most`.
    pub(crate) fn pieces(&self, text: &str, most: usize) -> Vec<usize> {
        let mut ids = Vec::new();
        for word in words(text) {
            self.encode_word(&word, &mut ids);
            if ids.len() >= most {
                break;
            }
        }
        ids.truncate(most);
        ids
    }

    /// The tokens of `text` between the begin and end tokens, at most `max_tokens` in all.
    pub(crate) fn encode(&self, text: &str, max_tokens: usize) -> Tokens {
        let mut ids = vec![self.begin];
        ids.extend(self.pieces(text, max_tokens.saturating_sub(2)));
        ids.push(self.end);
        Tokens { first: ids.len(), ids }
    }

    /// The tokens of two texts, each with an end token after it.
    pub(crate) fn encode_pair(&self, first: &[usize], second: &[usize]) -> Tokens {
        let mut ids = vec![self.begin];
        ids.extend(first);
        ids.push(self.end);
        let first = ids.len();
        ids.extend(second);
        ids.push(self.end);
        Tokens { ids, first }
    }

    /// Adds the ids of the longest known pieces, from left to right. A word with an unknown rest is unknown as a whole.
    fn encode_word(&self, word: &str, ids: &mut Vec<usize>) {
        let had = ids.len();
        let mut from = 0;
        while from < word.len() && word.chars().count() <= MAX_WORD_CHARS {
            let piece = |to: usize| match from {
                0 => self.pieces.get(&word[..to]),
                _ => self.pieces.get(&format!("##{}", &word[from..to])),
            };
            let ends = word[from..].char_indices().map(|(at, it)| from + at + it.len_utf8());
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

/// The words of `text` in lower case without accents; each punctuation mark and each ideograph is a word.
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
    words.retain(|word| !word.is_empty());
    words
}

/// Punctuation: ASCII symbols, and the Unicode blocks with most other marks.
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
            WordPiece::from_json(&json!({"model": {"type": "WordPiece", "vocab": vocabulary}}))
                .unwrap();
        assert_eq!(words.encode("Rainfall, CAFÉS zzz", 20).ids, [0, 3, 4, 6, 5, 7, 2, 1]);
        assert_eq!(words.encode("rain rain rain", 3).ids, [0, 3, 1]);
        assert_eq!(words.encode("", 3).ids, [0, 1]);
        let pair = words.encode_pair(&words.pieces("rain", 9), &words.pieces("cafe, rains", 3));
        assert_eq!((&pair.ids[..], pair.first), (&[0, 3, 1, 5, 6, 3, 1][..], 3));
        assert!(WordPiece::from_json(&json!({})).is_err());
        let cased = json!({"normalizer": {"lowercase": false}, "model": {"type": "WordPiece", "vocab": vocabulary}});
        let multilingual = json!({"model": {"type": "Unigram", "vocab": []}});
        for (tokenizer, told) in [(cased, "capitals"), (multilingual, "Unigram")] {
            let why = WordPiece::from_json(&tokenizer).err().unwrap();
            assert!(why.contains(told), "{why}");
        }
    }
}
