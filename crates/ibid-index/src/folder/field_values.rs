//! The values of index fields. Rows are written and queries are answered with the same functions.
use super::hash::short_hash;
use super::terms::fold_accents;
use ibid_core::domain::words::tokens;

/// What stands between the passages of a hit.
pub(super) const BETWEEN_PASSAGES: &str = "\n\n";

/// Words of a publisher's name; the rest is cut.
pub(super) const MAX_NAME_WORDS: usize = 8;

/// A publisher's name in the form in which names are compared: its words in lower case without accents, separated by one
/// space.
pub(super) fn normalize_name(text: &str) -> String {
    let words = tokens(text).into_iter().take(MAX_NAME_WORDS);
    words.map(|token| normalize_name_word(token.text)).collect::<Vec<_>>().join(" ")
}

/// One word of a name: without accents and a possessive `'s`.
pub(super) fn normalize_name_word(word: String) -> String {
    let word = fold_accents(word);
    word.strip_suffix("'s").map(str::to_owned).unwrap_or(word)
}

/// `YYYY-MM-DD` as the number `YYYYMMDD`; a missing month or day counts as 0.
pub(super) fn date_number(date: &str) -> u64 {
    let mut parts = date.split('-').map(|part| part.parse::<u64>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 10_000 + next() * 100 + next()
}

/// The host of `url` and the domains above it: `a.b.org`, `b.org`, `org`. Empty for a file.
pub(super) fn hosts(url: &str) -> Vec<String> {
    let Some(host) =
        url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_lowercase))
    else {
        return Vec::new();
    };
    let mut rest = host.trim_end_matches('.');
    let mut found = vec![rest.to_owned()];
    while let Some((_, above)) = rest.split_once('.') {
        found.push(above.to_owned());
        rest = above;
    }
    found
}

/// The text that is embedded for a passage: the title of its document, then its words.
pub(super) fn vector_text(title: &str, words: &str) -> String {
    format!("{title}\n{words}")
}

/// The keys of the vectors of the passages in `text`: the title of a hit, a line break, and what it shows.
pub fn passage_keys(text: &str) -> Vec<u64> {
    let Some((title, content)) = text.split_once('\n') else {
        return Vec::new();
    };
    content.split(BETWEEN_PASSAGES).map(|words| vector_key(&vector_text(title, words))).collect()
}

/// The key under which the vector of `text` is stored.
pub fn vector_key(text: &str) -> u64 {
    short_hash(&[text.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publisher_is_known_however_it_is_written() {
        assert_eq!(
            normalize_name("The Café | World News"),
            normalize_name("the cafe: World news's")
        );
    }
}
