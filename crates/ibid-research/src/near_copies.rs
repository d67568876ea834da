//! Sentences of a model that copy a quote and leave out what limits it.
use ibid_core::domain::split_sentences;
use ibid_core::domain::words::{content_stems, is_stop_word, stem, tokens};

/// Minimum number of words that a copy has in common with its quote.
const MIN_COPIED_WORDS: usize = 6;
/// Minimum share of the copy's words.
const MIN_COPIED_SHARE: f32 = 0.6;
/// Words with which a sentence goes on to say where, when or of which things it holds.
const LIMITING: [&str; 20] = [
    "in", "on", "at", "of", "for", "with", "without", "by", "if", "when", "where", "while", "that",
    "which", "who", "during", "under", "above", "below", "unless",
];

/// Whether `text` is one of the quoted sentences with another beginning that lacks words of it, or cut off before what limits it: "green
/// roofs held nine species" of "a sedum-only roof held nine species", "roofs save energy in every building" of "in every building with air
/// conditioning". The quote says it better.
pub(crate) fn is_weakened_copy(text: &str, quotes: &[&str]) -> bool {
    let own = words(text);
    let of_quote = |quote: &&str| {
        let spans = split_sentences(quote).into_iter();
        spans.map(|span| words(&quote[span])).collect::<Vec<_>>()
    };
    let mut sentences = quotes.iter().flat_map(of_quote);
    sentences.any(|there| lacks_beginning(&own, &there) || lacks_end(&own, &there))
}

/// Whether both end alike, and what precedes that in the quote has words that the copy lacks.
fn lacks_beginning(own: &[String], there: &[String]) -> bool {
    let same =
        own.iter().rev().zip(there.iter().rev()).take_while(|(a, b)| stem(a) == stem(b)).count();
    if !is_copy(same, own) || same == there.len() {
        return false;
    }
    let head = own[..own.len() - same].join(" ");
    let kept = content_stems(&head);
    let lost = content_stems(&there[..there.len() - same].join(" "));
    // "It" in the quote is named in the copy.
    lost.iter().any(|word| !kept.contains(word))
}

/// Whether both begin alike, and the quote goes on with what limits it.
fn lacks_end(own: &[String], there: &[String]) -> bool {
    let same = own.iter().zip(there).take_while(|(a, b)| stem(a) == stem(b)).count();
    is_copy(same, own)
        && same == own.len()
        && there.get(same).is_some_and(|next| LIMITING.contains(&next.as_str()))
        && there[same..].iter().any(|word| !is_stop_word(word))
}

fn is_copy(same: usize, own: &[String]) -> bool {
    same >= MIN_COPIED_WORDS && same as f32 >= own.len() as f32 * MIN_COPIED_SHARE
}

/// The words in lower case.
fn words(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(|token| token.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_without_what_limits_it_says_more() {
        let sedum =
            "A sedum-only roof held 9 species of wild bees on average, a deep roof held 27.";
        let with = "Green roofs saved cooling energy in every building with air conditioning.";
        let thin = "In buildings with less than 5 cm of insulation, green roofs saved 8 % of the heating energy.";
        let it = "It was built in 1925 by the town and its harbour.";
        let weakened = |text: &str| is_weakened_copy(text, &[sedum, with, thin, it]);
        assert!(weakened(
            "Green roofs held 9 species of wild bees on average, a deep roof held 27."
        ));
        assert!(weakened("Green roofs saved cooling energy in every building."));
        assert!(weakened("Green roofs saved 8 % of the heating energy."));
        for text in [
            sedum,
            with,
            "The mill was built in 1925 by the town and its harbour.",
            "A sedum-only roof held 9 species of wild bees on average.",
            "Bees like deep roofs.",
        ] {
            assert!(!weakened(text), "{text}");
        }
    }
}
