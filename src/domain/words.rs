//! Words as the steps without a model see them: tokens, stems, stop words, numbers.
use std::ops::Range;

use frostem::{Algorithm, Stemmer};

/// One word: its place in the text and its lower-case form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Byte range in the text.
    pub span: Range<usize>,
    /// Lower case, without surrounding punctuation.
    pub text: String,
}

/// The words of `text` in order. A word is a run of letters and digits; inner hyphens, apostrophes,
/// and stops between digits stay inside. Each CJK ideograph or syllable is a word of its own.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut start: Option<usize> = None;
    let mut chars = text.char_indices().peekable();
    let mut close = |start: &mut Option<usize>, end: usize| {
        if let Some(from) = start.take() {
            found.push(Token {
                span: from..end,
                text: text[from..end].to_lowercase(),
            });
        }
    };
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        if is_ideograph(c) {
            close(&mut start, at);
            start = Some(at);
            close(&mut start, at + c.len_utf8());
        } else if c.is_alphanumeric() {
            start.get_or_insert(at);
        } else {
            let next = chars.peek().map_or(' ', |it| it.1);
            let inside = match c {
                '-' | '\'' | '’' | '‐' | '‑' => {
                    before.is_alphanumeric() && next.is_alphanumeric()
                }
                '.' | ',' => before.is_ascii_digit() && next.is_ascii_digit(),
                _ => false,
            };
            if !inside {
                close(&mut start, at);
            }
        }
        before = c;
    }
    close(&mut start, text.len());
    found
}

/// Whether `c` is written without spaces between words.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{2fa1f}')
}

/// The English stem of a lower-case word (Snowball). Words of other languages mostly pass unchanged.
pub fn stem(word: &str) -> String {
    let bare = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    Stemmer::new(Algorithm::English).stem(bare).into_owned()
}

/// Whether a lower-case word carries no meaning of its own.
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// The stems of the words that carry meaning, in order, with repeats.
pub fn content_stems(text: &str) -> Vec<String> {
    tokens(text)
        .iter()
        .filter(|it| !is_stop(&it.text))
        .map(|it| stem(&it.text))
        .collect()
}

/// Sorted, so that it can be searched.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any",
    "are", "aren't", "as", "at", "be", "because", "been", "before", "being", "below", "between",
    "both", "but", "by", "can", "can't", "cannot", "could", "couldn't", "did", "didn't", "do",
    "does", "doesn't", "doing", "don't", "down", "during", "each", "either", "few", "for", "from",
    "further", "had", "hadn't", "has", "hasn't", "have", "haven't", "having", "he", "her", "here",
    "hers", "herself", "him", "himself", "his", "how", "however", "i", "if", "in", "into", "is",
    "isn't", "it", "it's", "its", "itself", "just", "let", "may", "me", "might", "more", "most",
    "must", "my", "myself", "neither", "nor", "of", "off", "on", "once", "only", "onto", "or",
    "other", "ought", "our", "ours", "ourselves", "out", "over", "own", "per", "same", "shall",
    "she", "should", "shouldn't", "so", "some", "such", "than", "that", "that's", "the", "their",
    "theirs", "them", "themselves", "then", "there", "these", "they", "this", "those", "through",
    "to", "too", "under", "until", "up", "upon", "us", "very", "was", "wasn't", "we", "were",
    "weren't", "what", "what's", "when", "where", "whether", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "within", "won't", "would", "wouldn't", "you", "your", "yours",
    "yourself", "yourselves",
];

/// A number in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Byte range of the digits (and what belongs to them) in the text.
    pub span: Range<usize>,
    /// Its value, with `thousand`, `million`, `billion` multiplied in.
    pub value: f64,
    /// The unit or counted noun that follows or leads: `%`, `kg`, `$`, `patient` (stemmed), …
    pub unit: Option<String>,
}

/// The numbers of `text` in order: digits with thousands separators and decimals, `%`, currency
/// signs, magnitude words. Bare reference marks such as `[12]` are no numbers.
pub fn numbers(text: &str) -> Vec<Number> {
    let words = tokens(text);
    let mut found = Vec::new();
    for (nth, token) in words.iter().enumerate() {
        let Some((value, rest)) = leading_number(&token.text) else {
            continue;
        };
        let before = text[..token.span.start].chars().next_back();
        let after = text[token.span.end..].chars().next();
        if before == Some('[') && after == Some(']') {
            continue;
        }
        let mut value = value;
        let mut end = token.span.end;
        let mut unit = match before {
            Some(c @ ('$' | '€' | '£' | '¥')) => Some(c.to_string()),
            _ => None,
        };
        let tail = text[end..].trim_start();
        if tail.starts_with('%') {
            unit = Some("%".to_owned());
        } else if !rest.is_empty() {
            unit = unit.or(Some(stem(rest.trim_start_matches('-'))));
        } else if let Some(next) = words.get(nth + 1)
            && text[end..next.span.start]
                .chars()
                .all(|c| c.is_whitespace() || matches!(c, '-' | '‐' | '‑'))
        {
            let mut next = Some(next);
            if let Some(factor) = next.and_then(|it| magnitude(&it.text)) {
                value *= factor;
                end = next.map_or(end, |it| it.span.end);
                next = words.get(nth + 2);
            }
            if let Some(it) = next
                && unit.is_none()
            {
                unit = match it.text.as_str() {
                    "percent" | "per" if it.text == "percent" => Some("%".to_owned()),
                    word if is_stop(word) || leading_number(word).is_some() => None,
                    word => Some(stem(word)),
                };
            }
        }
        found.push(Number {
            span: token.span.start..end,
            value,
            unit,
        });
    }
    found
}

/// The value of a lower-case number word below one hundred: `seven`, `twelve`, `forty-two`.
///
/// `one` is left out: it is a pronoun more often than a number.
pub fn number_word(word: &str) -> Option<f64> {
    const ONES: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let small = |word: &str| ONES.iter().position(|it| *it == word);
    let tens = |word: &str| {
        TENS.iter()
            .position(|it| *it == word)
            .map(|it| it * 10 + 20)
    };
    let value = match word.split_once('-') {
        Some((ten, one)) => tens(ten)? + small(one).filter(|it| (1..10).contains(it))?,
        None if word == "one" => return None,
        None => small(word).or_else(|| tens(word))?,
    };
    Some(value as f64)
}

fn magnitude(word: &str) -> Option<f64> {
    Some(match word {
        "hundred" => 1e2,
        "thousand" => 1e3,
        "million" | "millions" | "mn" => 1e6,
        "billion" | "billions" | "bn" => 1e9,
        "trillion" => 1e12,
        _ => return None,
    })
}

/// The number a token begins with, and what is glued behind it: `3.5`, `12kg` → (12, "kg").
fn leading_number(token: &str) -> Option<(f64, &str)> {
    if !token.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let end = token
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))
        .unwrap_or(token.len());
    let (digits, rest) = token.split_at(end);
    let groups: Vec<&str> = digits.split(',').collect();
    let thousands = groups.len() > 1
        && groups[1..]
            .iter()
            .all(|it| it.split('.').next().is_some_and(|it| it.len() == 3));
    let plain = if thousands {
        digits.replace(',', "")
    } else {
        digits.replace(',', ".")
    };
    plain.parse().ok().map(|value| (value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP.is_sorted());
    }

    #[test]
    fn words_keep_their_inner_marks() {
        let found: Vec<String> = tokens("Don't re-use 3.5 mg, 中文")
            .into_iter()
            .map(|it| it.text)
            .collect();
        assert_eq!(found, ["don't", "re-use", "3.5", "mg", "中", "文"]);
    }

    #[test]
    fn numbers_have_values_and_units() {
        let seen: Vec<(f64, Option<String>)> =
            numbers("In 1,200 patients, 12.5 % lost $3 million or 40kg [7].")
                .into_iter()
                .map(|it| (it.value, it.unit))
                .collect();
        assert_eq!(
            seen,
            [
                (1200.0, Some("patient".to_owned())),
                (12.5, Some("%".to_owned())),
                (3e6, Some("$".to_owned())),
                (40.0, Some("kg".to_owned())),
            ]
        );
    }
}
