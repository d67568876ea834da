//! Queries in the words that an interface takes.
use crate::domain::words::{is_stop, tokens};

/// A query of at most `most` characters: without the words that say nothing where that is enough, else cut at a word.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= most {
        return text;
    }
    let telling = keywords(&text).join(" ");
    let shorter = if telling.is_empty() { text } else { telling };
    if shorter.chars().count() <= most {
        return shorter;
    }
    let mut kept = String::new();
    for word in shorter.split(' ') {
        let longer = kept.chars().count() + usize::from(!kept.is_empty()) + word.chars().count();
        if longer > most {
            break;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(word);
    }
    match kept.is_empty() {
        // One word that is longer than all that may be asked.
        true => shorter.chars().take(most).collect(),
        false => kept,
    }
}

/// The telling words of a question, as written, each once.
pub(super) fn keywords(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for it in tokens(text) {
        let word = &text[it.span];
        if !is_stop(&it.text) && !found.iter().any(|had| had.eq_ignore_ascii_case(word)) {
            found.push(word.to_owned());
        }
    }
    found
}

/// Whether a query is written in a query language already: operators, fields, quotes.
pub(super) fn is_written(text: &str) -> bool {
    [" AND ", " OR ", " NOT "]
        .iter()
        .any(|it| text.contains(it))
        || text.contains(['"', '[', ']', '*'])
        || text
            .split_whitespace()
            .any(|it| it.contains(':') && !it.ends_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_query_loses_its_empty_words_first() {
        assert_eq!(
            shortened("what is the bark of the oak", 40),
            "what is the bark of the oak"
        );
        assert_eq!(shortened("what is the bark of the oak", 12), "bark oak");
        assert_eq!(shortened("what is the bark of the oak", 6), "bark");
        assert_eq!(shortened("xxxxxxxxxx", 4), "xxxx");
        assert_eq!(shortened(&"ä".repeat(500), 400).chars().count(), 400);
    }

    #[test]
    fn a_query_in_a_query_language_is_known() {
        assert!(is_written("asthma[mesh] AND child"));
        assert!(is_written("\"vitamin d\" rickets"));
        assert!(!is_written("does vitamin D prevent rickets?"));
    }
}
