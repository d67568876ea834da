//! Adapting queries to what an engine accepts.
use ibid_core::domain::Query;
use ibid_core::domain::words::{is_stop_word, tokens};

/// Shortens a query to `most` characters: removes insignificant words, and if that is not enough, cuts it at a word.
pub(super) fn shorten(text: &str, most: usize) -> String {
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
    if kept.is_empty() {
        // The first word is too long.
        shorter.chars().take(most).collect()
    } else {
        kept
    }
}

/// The significant words of a question, as written, each once.
pub(super) fn keywords(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for it in tokens(text) {
        let word = &text[it.span];
        if !is_stop_word(&it.text) && !found.iter().any(|had| had.eq_ignore_ascii_case(word)) {
            found.push(word.to_owned());
        }
    }
    found
}

/// The significant words of a query; the query itself if it has none.
pub(super) fn content_words(text: &str) -> String {
    let words = keywords(text);
    if words.is_empty() { text.trim().to_owned() } else { words.join(" ") }
}

/// Whether a query is written in a query language: with operators, fields or quotes.
pub(super) fn is_query_syntax(text: &str) -> bool {
    [" AND ", " OR ", " NOT "].iter().any(|it| text.contains(it))
        || text.contains(['"', '[', ']', '*'])
        || text.split_whitespace().any(|word| word.contains(':') && !word.ends_with(':'))
}

/// The terms to try on an index that supports `OR`, the strictest first: a query in its syntax unchanged; else all
/// significant words, then any of them, which the index orders by relevance.
pub(super) fn or_queries(text: &str) -> Vec<String> {
    let words = keywords(text);
    if is_query_syntax(text) || words.is_empty() {
        return vec![text.to_owned()];
    }
    let mut all = vec![words.join(" ")];
    if words.len() > 2 {
        all.push(words.join(" OR "));
    }
    all
}

/// The terms to try on an index that requires all words: all significant words, then the first three.
pub(super) fn and_queries(text: &str) -> Vec<String> {
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

/// A query with `site:` for its domains, at most `most` characters long. Operators that would leave too little room for the
/// words are omitted, because hits of other domains are removed from the answer anyway.
pub(super) fn with_sites(query: &Query, most: usize) -> String {
    let wanted: Vec<String> = query.domains.iter().map(|domain| format!("site:{domain}")).collect();
    let mut bounds = wanted.join(" OR ");
    for it in &query.not_domains {
        if !bounds.is_empty() {
            bounds.push(' ');
        }
        bounds.push_str("-site:");
        bounds.push_str(it);
    }
    let room = most.saturating_sub(bounds.chars().count() + 1);
    if bounds.is_empty() || room < most / 2 {
        shorten(query.text(), most)
    } else {
        format!("{} {bounds}", shorten(query.text(), room))
    }
}

/// The dates of a query in the form of Google's `tbs`, if it has any.
pub(super) fn google_tbs(query: &Query) -> Option<String> {
    let day = |text: &String| {
        let (year, rest) = text.split_once('-')?;
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
        assert_eq!(shorten("what is the bark of the oak", 40), "what is the bark of the oak");
        assert_eq!(shorten("what is the bark of the oak", 12), "bark oak");
        assert_eq!(shorten("what is the bark of the oak", 6), "bark");
        assert_eq!(shorten("xxxxxxxxxx", 4), "xxxx");
        assert_eq!(shorten(&"ä".repeat(500), 400).chars().count(), 400);
    }

    #[test]
    fn a_query_without_telling_words_is_asked_as_it_is() {
        assert_eq!(content_words("what is the bark of the oak"), "bark oak");
        assert_eq!(content_words(" who are they "), "who are they");
    }

    #[test]
    fn a_query_in_a_query_language_is_known() {
        assert!(is_query_syntax("asthma[mesh] AND child"));
        assert!(is_query_syntax("\"vitamin d\" rickets"));
        assert!(!is_query_syntax("does vitamin D prevent rickets?"));
    }
}
