//! Text analysis for the steps that run without a model: tokens, stems, stop words, numbers.
use std::ops::Range;

use frostem::{Algorithm, Stemmer};

/// A word: its position and its lower-case form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Byte range in the text.
    pub span: Range<usize>,
    /// Lower case, without surrounding punctuation.
    pub text: String,
}

/// Splits `text` into words. A word is a run of letters and digits; hyphens and apostrophes inside it, and stops
/// between digits, are kept. Each CJK ideograph or syllable is a separate word.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    for_each_word(text, |span| {
        found.push(Token { text: text[span.clone()].to_lowercase(), span });
    });
    found
}

/// Calls `each` with the position of every word of `text`, in order; see [`tokens`].
pub fn for_each_word(text: &str, mut each: impl FnMut(Range<usize>)) {
    let mut start: Option<usize> = None;
    let mut chars = text.char_indices().peekable();
    let mut close = |start: &mut Option<usize>, end: usize| {
        if let Some(from) = start.take() {
            each(from..end);
        }
    };
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        if c.is_ascii_alphanumeric() {
            start.get_or_insert(at);
        } else if is_ideograph(c) {
            close(&mut start, at);
            start = Some(at);
            close(&mut start, at + c.len_utf8());
        } else if c.is_alphanumeric() {
            start.get_or_insert(at);
        } else if start.is_some() {
            let next = chars.peek().map_or(' ', |c| c.1);
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
}

/// Whether `c` belongs to a script written without spaces between words.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{2fa1f}')
}

/// The stem of a lower-case word (Snowball): the Russian one of a word in Cyrillic letters, whose names have many cases, else the
/// English one. Words of other languages mostly stay unchanged.
pub fn stem(word: &str) -> String {
    if word.starts_with(|c| matches!(c, '\u{400}'..='\u{4ff}')) {
        return Stemmer::new(Algorithm::Russian).stem(word).into_owned();
    }
    let bare = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    Stemmer::new(Algorithm::English).stem(bare).into_owned()
}

/// Whether a lower-case word is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// The stems of all words except stop words, in order, with duplicates.
pub fn content_stems(text: &str) -> Vec<String> {
    tokens(text)
        .iter()
        .filter(|token| !is_stop_word(&token.text))
        .map(|token| stem(&token.text))
        .collect()
}

/// Share of the content stems of `words` that occur in `within`, 0 to 1; 0 if `words` has none.
pub fn stem_overlap(words: &str, within: &str) -> f32 {
    let there = content_stems(within);
    let all = content_stems(words);
    let met = all.iter().filter(|it| there.contains(it)).count();
    met as f32 / all.len().max(1) as f32
}

/// Sorted for binary search.
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
    /// Byte range in the text.
    pub span: Range<usize>,
    /// The value, multiplied by a following `thousand`, `million` or `billion`.
    pub value: f64,
    /// The unit or counted noun next to the number: `%`, `kg`, `$`, `patient` (stemmed), …
    pub unit: Option<String>,
}

/// Finds the numbers of `text` in order: digits with thousands separators and decimals, spelled-out numbers (`two
/// hundred`), percentages, currency amounts, magnitude suffixes (`$3bn`), and both ends of a range. Reference marks
/// such as `[12]` are skipped; ordinals have the unit `th`.
pub fn numbers(text: &str) -> Vec<Number> {
    let words = tokens(text);
    let mut found: Vec<Number> = Vec::new();
    let mut nth = 0;
    while nth < words.len() {
        let taken = read_digits(text, &words, nth, &mut found)
            .or_else(|| read_spelled_out(text, &words, nth, &mut found));
        nth += taken.unwrap_or(1);
    }
    share_units_of_ranges(text, &mut found);
    found
}

/// Parses the number in digits at word `nth`. Also returns how many words it spans.
fn read_digits(text: &str, words: &[Token], nth: usize, found: &mut Vec<Number>) -> Option<usize> {
    let token = &words[nth];
    let (value, rest) = leading_number(&token.text)?;
    let before = text[..token.span.start].chars().next_back();
    let after = text[token.span.end..].chars().next();
    if before == Some('[') && after == Some(']') {
        return Some(1);
    }
    let lead = match before {
        Some(c @ ('$' | '€' | '£' | '¥')) => Some(c.to_string()),
        _ => None,
    };
    if let Some((second, tail)) = rest.strip_prefix(['-', '‐', '‑']).and_then(leading_number) {
        // "10-20", "5-10mg"; of the date "2020-05-03" only the year is a number.
        let dated = tail.starts_with('-');
        let factor = adjacent(text, words, nth + 1)
            .and_then(|token| magnitude(&token.text))
            .filter(|_| !dated && tail.is_empty());
        let taken = 1 + usize::from(factor.is_some());
        let unit = lead.or_else(|| unit_of_suffix(tail).filter(|_| !dated));
        let unit = unit.or_else(|| following_unit(text, words, nth + taken).filter(|_| !dated));
        for value in [value, second].into_iter().take(if dated { 1 } else { 2 }) {
            found.push(Number {
                span: token.span.clone(),
                value: value * factor.unwrap_or(1.0),
                unit: unit.clone(),
            });
        }
        return Some(taken);
    }
    let mut number = Number { span: token.span.clone(), value, unit: lead };
    let glued = match rest {
        "k" => Some(1e3),
        "m" if number.unit.is_some() => Some(1e6),
        "bn" | "b" => Some(1e9),
        "mn" => Some(1e6),
        "tn" => Some(1e12),
        _ => None,
    };
    if let Some(factor) = glued {
        number.value *= factor;
    }
    let mut taken = 1;
    if glued.is_none() && !rest.is_empty() && rest != "s" {
        number.unit = number.unit.or_else(|| unit_of_suffix(rest));
    } else {
        if let Some(next) = adjacent(text, words, nth + 1)
            && let Some(factor) = magnitude(&next.text)
        {
            number.value *= factor;
            number.span.end = next.span.end;
            taken = 2;
        }
        number.unit = number.unit.or_else(|| following_unit(text, words, nth + taken));
    }
    found.push(number);
    Some(taken)
}

/// Parses `forty-two`, `two hundred and five thousand`, `a million`. Also returns how many words it spans.
fn read_spelled_out(
    text: &str,
    words: &[Token],
    nth: usize,
    found: &mut Vec<Number>,
) -> Option<usize> {
    let (mut total, mut current) = (0.0, 0.0);
    let mut taken = 0;
    while let Some(word) = words.get(nth + taken) {
        if taken > 0 && adjacent(text, words, nth + taken).is_none() {
            break;
        }
        let next = words.get(nth + taken + 1).map_or("", |it| it.text.as_str());
        match word.text.as_str() {
            "a" | "one" if taken == 0 && magnitude(next).is_some() => current = 1.0,
            "and" if current >= 100.0 && parse_number_word(next).is_some() => {}
            "hundred" if current > 0.0 => current *= 100.0,
            word => match (parse_number_word(word), magnitude(word)) {
                (Some(value), _) if current == 0.0 || (current >= 100.0 && value < 100.0) => {
                    current += value;
                }
                (None, Some(factor)) if current > 0.0 => {
                    total += current * factor;
                    current = 0.0;
                }
                _ => break,
            },
        }
        taken += 1;
    }
    if taken == 0 {
        return None;
    }
    found.push(Number {
        span: words[nth].span.start..words[nth + taken - 1].span.end,
        value: total + current,
        unit: following_unit(text, words, nth + taken),
    });
    Some(taken)
}

/// Returns word `nth` if it is preceded only by white space or a hyphen.
fn adjacent<'a>(text: &str, words: &'a [Token], nth: usize) -> Option<&'a Token> {
    let word = words.get(nth)?;
    let before = nth.checked_sub(1).map_or(0, |index| words[index].span.end);
    text[before..word.span.start]
        .chars()
        .all(|c| c.is_whitespace() || matches!(c, '-' | '‐' | '‑'))
        .then_some(word)
}

/// Returns word `nth` as the unit or counted noun of the number before it.
fn following_unit(text: &str, words: &[Token], nth: usize) -> Option<String> {
    let end = nth.checked_sub(1).map_or(0, |index| words[index].span.end);
    if text[end..].trim_start().starts_with('%') {
        return Some("%".to_owned());
    }
    let word = adjacent(text, words, nth)?;
    match word.text.as_str() {
        "percent" => Some("%".to_owned()),
        "per" if words.get(nth + 1).is_some_and(|it| it.text == "cent") => Some("%".to_owned()),
        "dollar" | "dollars" | "usd" => Some("$".to_owned()),
        "euro" | "euros" | "eur" => Some("€".to_owned()),
        it if is_stop_word(it)
            || leading_number(it).is_some()
            || parse_number_word(it).is_some() =>
        {
            None
        }
        it => Some(stem(it)),
    }
}

/// The unit directly after a number: `kg` of `12kg`, `fold` of `3-fold`, `th` of `2nd`.
fn unit_of_suffix(rest: &str) -> Option<String> {
    match rest.trim_start_matches(['-', '‐', '‑']) {
        "" => None,
        "st" | "nd" | "rd" | "th" => Some("th".to_owned()),
        unit => Some(stem(unit)),
    }
}

/// Copies the unit of the second number to the first in "10–20 kg" and "10 to 20 kg".
fn share_units_of_ranges(text: &str, found: &mut [Number]) {
    for nth in 1..found.len() {
        let (before, after) = found.split_at_mut(nth);
        let (Some(first), second) = (before.last_mut(), &after[0]) else {
            continue;
        };
        let between = text.get(first.span.end..second.span.start).map_or("", str::trim);
        if first.unit.is_none() && matches!(between, "–" | "—" | "to" | "-") {
            first.unit.clone_from(&second.unit);
        }
    }
}

/// Value of a lower-case number word below one hundred: `seven`, `twelve`, `forty-two`.
///
/// `one` is excluded: it is more often a pronoun than a number.
pub fn parse_number_word(word: &str) -> Option<f64> {
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
    const TENS: [&str; 8] =
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let small = |word: &str| ONES.iter().position(|it| *it == word);
    let tens = |word: &str| TENS.iter().position(|ten| *ten == word).map(|at| at * 10 + 20);
    let value = match word.split_once('-') {
        Some((ten, one)) => tens(ten)? + small(one).filter(|outcome| (1..10).contains(outcome))?,
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

/// Splits a token into its leading number and the rest: `3.5`, `12kg` → (12, "kg").
fn leading_number(token: &str) -> Option<(f64, &str)> {
    if !token.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let end =
        token.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(token.len());
    let (digits, rest) = token.split_at(end);
    let groups: Vec<&str> = digits.split(',').collect();
    let thousands = groups.len() > 1
        && groups[1..]
            .iter()
            .all(|group| group.split('.').next().is_some_and(|part| part.len() == 3));
    let plain = if thousands { digits.replace(',', "") } else { digits.replace(',', ".") };
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
        let found: Vec<String> =
            tokens("Don't re-use 3.5 mg, 中文").into_iter().map(|token| token.text).collect();
        assert_eq!(found, ["don't", "re-use", "3.5", "mg", "中", "文"]);
    }

    fn seen(text: &str) -> Vec<(f64, Option<String>)> {
        numbers(text).into_iter().map(|it| (it.value, it.unit)).collect()
    }

    fn of(value: f64, unit: &str) -> (f64, Option<String>) {
        (value, (!unit.is_empty()).then(|| unit.to_owned()))
    }

    #[test]
    fn spelled_out_numbers_count() {
        assert_eq!(
            seen(
                "Twenty-five patients, two hundred and five dogs and a million trees; no one came."
            ),
            [of(25.0, "patient"), of(205.0, "dog"), of(1e6, "tree")]
        );
        assert_eq!(seen("three hundred fifty thousand"), [of(350_000.0, "")]);
        assert_eq!(seen("It was the first of its kind."), []);
    }

    #[test]
    fn both_ends_of_a_range_have_its_unit() {
        for text in ["10-20 kg", "10–20 kg", "10 to 20 kg", "10-20kg"] {
            assert_eq!(seen(text), [of(10.0, "kg"), of(20.0, "kg")], "{text}");
        }
        assert_eq!(seen("1914–1918"), [of(1914.0, ""), of(1918.0, "")]);
    }

    #[test]
    fn dates_ordinals_decades_and_money_are_told_apart() {
        assert_eq!(seen("2020-05-03"), [of(2020.0, "")]);
        assert_eq!(seen("May 5, 2020"), [of(5.0, ""), of(2020.0, "")]);
        assert_eq!(seen("the 21st of 42nd"), [of(21.0, "th"), of(42.0, "th")]);
        assert_eq!(seen("in the 1990s"), [of(1990.0, "")]);
        assert_eq!(
            seen("$3bn or 5 million dollars or €2.5m or 40 per cent"),
            [of(3e9, "$"), of(5e6, "$"), of(2.5e6, "€"), of(40.0, "%")]
        );
        assert_eq!(seen("$5-10 million"), [of(5e6, "$"), of(10e6, "$")]);
        assert_eq!(seen("version 1.2.3"), []);
    }

    #[test]
    fn numbers_have_values_and_units() {
        assert_eq!(
            seen("In 1,200 patients, 12.5 % lost $3 million or 40kg [7]."),
            [
                (1200.0, Some("patient".to_owned())),
                (12.5, Some("%".to_owned())),
                (3e6, Some("$".to_owned())),
                (40.0, Some("kg".to_owned())),
            ]
        );
    }
}
