//! Sentences that a page joins because it lost the stop between them.
use std::cell::LazyCell;
use std::collections::HashMap;
use std::ops::Range;

use crate::domain::words::is_stop_word;

/// `found`, with each sentence that [`lost_stop`] finds another in as the two.
pub(super) fn split_at_lost_stops(block: &str, found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    // Counted once for a block: a page may consist of one.
    let counts = LazyCell::new(|| {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for word in block.split(|c: char| !c.is_alphanumeric()) {
            *counts.entry(word).or_default() += 1;
        }
        counts
    });
    let times = |word: &str| counts.get(word).copied().unwrap_or_default();
    let mut out = Vec::with_capacity(found.len());
    for sentence in found {
        match lost_stop(block, &sentence, times) {
            None => out.push(sentence),
            Some(at) => {
                let before = block[sentence.start..at].trim_end().len();
                out.extend([sentence.start..sentence.start + before, at..sentence.end]);
            }
        }
    }
    out
}

/// Where a sentence begins inside another because the stop between them was lost: "are taken into account Atemoya juice inhibited". It is
/// the only capital between words in lower case, on a word that the block has in lower case elsewhere. `times` tells how often the block
/// has a word.
fn lost_stop(block: &str, sentence: &Range<usize>, times: impl Fn(&str) -> usize) -> Option<usize> {
    const MIN_BYTES: usize = 160;
    const MIN_WORDS: usize = 8;
    // "Until March", "because Parliament": what stands before a name.
    const BEFORE_NAMES: [&str; 20] = [
        "until", "till", "because", "since", "unless", "although", "though", "whereas", "while",
        "whether", "called", "named", "via", "per", "without", "within", "near", "against", "like",
        "last",
    ];
    let text = &block[sentence.clone()];
    // In German, a capital is on every noun.
    if text.len() < MIN_BYTES || !text.contains(" the ") {
        return None;
    }
    let mut end = sentence.start;
    let words: Vec<(usize, &str)> = text
        .split_inclusive(char::is_whitespace)
        .map(|word| {
            let start = end;
            end += word.len();
            (start, word.trim_end())
        })
        .filter(|(_, word)| !word.is_empty())
        .collect();
    let is_low = |word: &str| word.chars().all(char::is_lowercase);
    let opens = |word: &str| {
        let mut letters = word.chars();
        word.len() >= 4
            && letters.next().is_some_and(char::is_uppercase)
            && letters.all(char::is_lowercase)
            && times(word) == 1
            && times(&word.to_lowercase()) > 0
    };
    let mut found = (MIN_WORDS..words.len().saturating_sub(MIN_WORDS)).filter(|at| {
        let (before, word, after) = (words[at - 1].1, words[*at].1, words[at + 1].1);
        is_low(before)
            && is_low(after)
            && !is_stop_word(before)
            && !BEFORE_NAMES.contains(&before)
            && opens(word)
    });
    let first = found.next()?;
    found.next().is_none().then(|| words[first].0)
}

#[cfg(test)]
mod tests {
    use crate::domain::segment::split_sentences;

    fn split(text: &str) -> Vec<&str> {
        split_sentences(text).into_iter().map(|sentence| &text[sentence]).collect()
    }

    #[test]
    fn a_lost_stop_ends_a_long_sentence_before_the_only_capital_of_a_word_in_lower_case() {
        let told = "This suggests that more moss than usual is needed to change how the water runs off a roof when slope and depth are taken into account";
        let next = "Cork slows the runoff of steep roofs by a third but not that of flat ones.";
        let last = "In spite of this, cork is seldom laid.";
        let joined = format!("{told} {next} {last}");
        assert_eq!(split(&joined), [told, next, last]);
        // A name is never in lower case, and of two capitals neither is sure.
        for (from, to) in [("Cork slows", "Corkson slows"), ("water runs", "water Flat runs")] {
            assert_eq!(split(&joined.replace(from, to)).len(), 2, "{to}");
        }
        for before in ["of", "until", "because", "when"] {
            let named = joined.replace("account Cork", &format!("account {before} Cork"));
            assert_eq!(split(&named).len(), 2, "{before}");
        }
    }
}
