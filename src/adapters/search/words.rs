//! Queries in the words that an interface takes.
use crate::domain::Query;
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

/// The telling words of a query in a line; the query itself where none of its words tells anything.
pub(super) fn telling(text: &str) -> String {
    let words = keywords(text);
    match words.is_empty() {
        true => text.trim().to_owned(),
        false => words.join(" "),
    }
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

/// The terms to try where an index knows `OR`, the strictest first: a query in its own syntax as it is; else all telling words, then
/// any of them, which such an index orders by relevance.
pub(super) fn terms(text: &str) -> Vec<String> {
    let words = keywords(text);
    if is_written(text) || words.is_empty() {
        return vec![text.to_owned()];
    }
    let mut all = vec![words.join(" ")];
    if words.len() > 2 {
        all.push(words.join(" OR "));
    }
    all
}

/// The terms to try where all words must be there: all telling words, then the first three.
pub(super) fn fewer(text: &str) -> Vec<String> {
    let words = keywords(text);
    if words.is_empty() {
        return vec![text.to_owned()];
    }
    let mut all = vec![words.join(" ")];
    if words.len() > 3 {
        all.push(words[..3].join(" "));
    }
    all
}

/// A query with `site:` for its domains, in at most `most` characters. Bounds that would leave the words too little room
/// are left out: what they shut out is dropped from the answer anyway.
pub(super) fn with_sites(query: &Query, most: usize) -> String {
    let wanted: Vec<String> = query
        .domains
        .iter()
        .map(|it| format!("site:{it}"))
        .collect();
    let mut bounds = wanted.join(" OR ");
    for it in &query.not_domains {
        if !bounds.is_empty() {
            bounds.push(' ');
        }
        bounds.push_str("-site:");
        bounds.push_str(it);
    }
    let room = most.saturating_sub(bounds.chars().count() + 1);
    match bounds.is_empty() || room < most / 2 {
        true => shortened(query.text(), most),
        false => format!("{} {bounds}", shortened(query.text(), room)),
    }
}

/// The days of a query as Google's `tbs` writes them; `None` without any.
pub(super) fn tbs(query: &Query) -> Option<String> {
    let day = |it: &String| {
        let (year, rest) = it.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        Some(format!("{month}/{day}/{year}"))
    };
    let since = query.since.as_ref().and_then(day);
    let until = query.until.as_ref().and_then(day);
    if since.is_none() && until.is_none() {
        return None;
    }
    let mut bounds = "cdr:1".to_owned();
    for (name, day) in [("cd_min", since), ("cd_max", until)] {
        if let Some(day) = day {
            bounds.push_str(&format!(",{name}:{day}"));
        }
    }
    Some(bounds)
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
    fn a_query_without_telling_words_is_asked_as_it_is() {
        assert_eq!(telling("what is the bark of the oak"), "bark oak");
        assert_eq!(telling(" who are they "), "who are they");
    }

    #[test]
    fn a_query_in_a_query_language_is_known() {
        assert!(is_written("asthma[mesh] AND child"));
        assert!(is_written("\"vitamin d\" rickets"));
        assert!(!is_written("does vitamin D prevent rickets?"));
    }
}
