//! Sentences that a page joins because it lost the stop, or the line break, between them.
use std::cell::LazyCell;
use std::collections::HashMap;
use std::ops::Range;

use crate::domain::words::is_stop_word;

/// Words that open a sentence and stand with a capital in no other place before a word in lower case.
const OPENERS: [&str; 18] = [
    "Although", "Because", "During", "Each", "If", "In", "Many", "Most", "Once", "Some", "The",
    "There", "These", "This", "When", "While", "Why", "Your",
];
/// Words that open one before a verb of [`OPENED_VERBS`]: "You may", but "Thank You cards".
const PRONOUNS: [&str; 4] = ["It", "They", "We", "You"];
const OPENED_VERBS: [&str; 16] = [
    "are", "can", "could", "does", "do", "had", "has", "have", "is", "may", "might", "must",
    "should", "was", "were", "will",
];
/// Words that begin a clause and no heading.
const SUBJECTS: [&str; 8] = ["He", "I", "It", "She", "They", "We", "You", "His"];
/// Words of what follows a lost line break.
const MIN_WORDS_AFTER_BREAK: usize = 4;

/// Words from the first of a sentence among which a title has another capital: "In the Mood for Love".
const WORDS_OF_TITLE: usize = 4;

/// Whether `rest` begins as a sentence does and as no name: "The goal of", "If you have", "It is", but not "The Hague".
pub fn opens_sentence(rest: &str) -> bool {
    let mut words = rest.split_whitespace().take(WORDS_OF_TITLE);
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let is_low = |word: &str| word.starts_with(char::is_lowercase);
    let named = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
    };
    let opens = OPENERS.contains(&first) && is_low(second)
        || PRONOUNS.contains(&first) && OPENED_VERBS.contains(&second);
    opens && !words.any(named)
}

/// Where line breaks were lost in a sentence: "Side effects The most common ones are". What stands before is a heading or the end of
/// a sentence, so it ends neither with a stop word nor with a mark.
fn lost_breaks(block: &str, sentence: &Range<usize>) -> Vec<usize> {
    let text = &block[sentence.clone()];
    let mut found = Vec::new();
    // "She read The end of it": a clause goes on to what it names. What a block opens with may be its title, which says what it is about.
    if sentence.start == 0
        || text.split_whitespace().next().is_some_and(|first| SUBJECTS.contains(&first))
    {
        return found;
    }
    let mut before: Option<&str> = None;
    let mut at = 0;
    for piece in text.split_inclusive(' ') {
        let (start, word) = (at, piece.trim_end());
        at += piece.len();
        let capital = word.starts_with(char::is_uppercase);
        if capital
            && before.is_some_and(ends_heading)
            && opens_sentence(&text[start..])
            && text[start..].split_whitespace().nth(MIN_WORDS_AFTER_BREAK - 1).is_some()
        {
            found.push(sentence.start + start);
        }
        before = Some(word);
    }
    found
}

/// Whether a word may end what stood on a line of its own.
fn ends_heading(word: &str) -> bool {
    word.len() > 2
        && word.chars().all(|c| c.is_alphabetic() || c == '-')
        && !is_stop_word(&word.to_lowercase())
}

/// `found`, with each sentence that [`lost_stop`] or [`lost_breaks`] finds others in as all of them.
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
        let mut starts = lost_breaks(block, &sentence);
        if starts.is_empty() {
            starts.extend(lost_stop(block, &sentence, times));
        }
        let mut from = sentence.start;
        for at in starts {
            out.push(from..from + block[from..at].trim_end().len());
            from = at;
        }
        out.push(from..sentence.end);
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
    fn a_lost_line_break_ends_a_heading() {
        assert_eq!(
            split(
                "It can be cured. Side effects The most common ones are rashes. Surgery If it is small, it is cut out."
            ),
            [
                "It can be cured.",
                "Side effects",
                "The most common ones are rashes.",
                "Surgery",
                "If it is small, it is cut out."
            ]
        );
        assert_eq!(
            split("Model X3 user guide Charging The battery takes 90 minutes."),
            ["Model X3 user guide Charging The battery takes 90 minutes."]
        );
        assert_eq!(
            split("Who treats it You may meet a nurse and a doctor."),
            ["Who treats it You may meet a nurse and a doctor."]
        );
        for whole in [
            "She lived in The Hague until 1990.",
            "The film In the Mood for Love was shown.",
            "He sang When the saints go marching in, of The saints.",
            "Its song \"This is the end\" is long.",
            "They sell Thank You cards and more.",
            "Oil of The best kind of all was used.",
        ] {
            let told = format!("It rained. {whole}");
            assert_eq!(split(&told), ["It rained.", whole]);
        }
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
