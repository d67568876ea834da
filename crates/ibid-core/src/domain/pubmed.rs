//! Queries in the syntax of PubMed: building them from plain words, validating them, and converting them back.
use super::words::{Token, is_stop_word, tokens};

/// Maximum number of required terms. The remaining words are alternatives; requiring all words of a long question
/// would find nothing.
const MAX_REQUIRED: usize = 3;
/// Maximum length of a query, in characters.
const MAX_QUERY_CHARS: usize = 400;
/// Maximum number of words in a phrase; longer ones rarely occur verbatim.
const MAX_PHRASE_WORDS: usize = 4;

/// Publication types of PubMed, by the way people write them.
const PUBLICATION_TYPES: &[(&[&str], &str)] = &[
    (&["meta-analysis", "meta-analyses"], "meta-analysis"),
    (&["systematic review", "systematic reviews"], "systematic review"),
    (
        &[
            "randomised controlled trial",
            "randomised controlled trials",
            "randomized controlled trial",
            "randomized controlled trials",
        ],
        "randomized controlled trial",
    ),
];

/// The field tags that a query may use.
const FIELDS: &[&str] = &[
    "all",
    "all fields",
    "au",
    "author",
    "dp",
    "edat",
    "crdt",
    "filter",
    "journal",
    "la",
    "lang",
    "majr",
    "mesh",
    "mesh terms",
    "mesh:noexp",
    "mh",
    "mh:noexp",
    "nm",
    "ot",
    "pdat",
    "pt",
    "publication type",
    "sb",
    "sh",
    "subheading",
    "ta",
    "text word",
    "ti",
    "tiab",
    "title",
    "title/abstract",
    "tw",
];

/// Fields that restrict the result and do not search text.
const FILTER_FIELDS: &[&str] = &["dp", "edat", "crdt", "pdat", "la", "lang", "sb", "filter"];

/// Converts plain words to PubMed's syntax. All phrases are required, as headings or in title and abstract; the
/// remaining words are alternatives. Single words have no field, because PubMed then also searches its headings and
/// inflected forms. Text that is already in PubMed's syntax is returned unchanged.
pub(crate) fn build_query(text: &str, phrases: &[String]) -> String {
    // PubMed indexes alphabetic scripts only.
    if is_pubmed_syntax(text) || text.chars().any(|c| c >= '\u{2e80}') {
        return text.trim().to_owned();
    }
    let words = tokens(text);
    let mut taken = vec![false; words.len()];
    let mut all: Vec<(usize, String)> = Vec::new();
    for (spelt, name) in PUBLICATION_TYPES {
        for spelling in *spelt {
            if let Some(at) = find_phrase(&words, &taken, spelling) {
                mark_taken(&mut taken, at, tokens(spelling).len());
                all.push((at, format!("(\"{name}\"[pt] OR \"{name}\"[tiab])")));
            }
        }
    }
    for phrase in phrases {
        let length = tokens(phrase).len();
        let telling = tokens(phrase).iter().filter(|token| !is_stop_word(&token.text)).count();
        if telling < 2 || length > MAX_PHRASE_WORDS || all.len() == MAX_REQUIRED {
            continue;
        }
        if let Some(at) = find_phrase(&words, &taken, phrase) {
            mark_taken(&mut taken, at, length);
            let words: Vec<&str> =
                words[at..at + length].iter().map(|it| it.text.as_str()).collect();
            let words = words.join(" ");
            all.push((at, format!("(\"{words}\"[mh] OR \"{words}\"[tiab])")));
        }
    }
    let mut left: Vec<(usize, String)> = Vec::new();
    for (at, it) in words.iter().enumerate() {
        let again = left.iter().any(|had| had.1 == it.text);
        if !taken[at] && !is_stop_word(&it.text) && !again {
            left.push((at, it.text.clone()));
        }
    }
    let alone = MAX_REQUIRED.saturating_sub(all.len());
    if left.len() <= alone {
        all.append(&mut left);
    } else if all.is_empty() {
        // Without a phrase, the first words are required.
        all.extend(left.drain(..MAX_REQUIRED - 1));
    }
    all.sort();
    let mut parts: Vec<String> = all.into_iter().map(|pair| pair.1).collect();
    match left.as_slice() {
        [] => {}
        [one] => parts.push(one.1.clone()),
        more => {
            let words: Vec<&str> = more.iter().map(|pair| pair.1.as_str()).collect();
            parts.push(format!("({})", words.join(" OR ")));
        }
    }
    let made = parts.join(" AND ");
    if is_valid(&made) { made } else { text.trim().to_owned() }
}

/// Returns the position at which `phrase` occurs among words that are not yet taken.
fn find_phrase(words: &[Token], taken: &[bool], phrase: &str) -> Option<usize> {
    let wanted = tokens(phrase);
    if wanted.is_empty() {
        return None;
    }
    let mut starts = 0..(words.len() + 1).saturating_sub(wanted.len());
    starts.find(|at| {
        let here = words[*at..].iter().zip(&wanted);
        here.clone().all(|(word, want)| word.text == want.text)
            && !taken[*at..*at + wanted.len()].contains(&true)
    })
}

fn mark_taken(taken: &mut [bool], at: usize, length: usize) {
    taken[at..at + length].fill(true);
}

/// Whether `text` is in PubMed's syntax: it contains a field, a quoted phrase or an operator.
pub(crate) fn is_pubmed_syntax(text: &str) -> bool {
    let operator = [" AND ", " OR ", " NOT "].iter().any(|it| text.contains(it));
    operator || text.contains(['"', '[', ']'])
}

/// Whether PubMed accepts the query: brackets and quotes are closed, field tags exist, and operators are between
/// terms.
pub fn is_valid(text: &str) -> bool {
    let text = text.trim();
    if text.chars().count() > MAX_QUERY_CHARS
        || text.chars().any(char::is_control)
        || text.contains("://")
    {
        return false;
    }
    let Some(parts) = tokenize(text) else {
        return false;
    };
    let mut depth = 0_i32;
    for it in &parts {
        match it {
            QueryToken::Open => depth += 1,
            QueryToken::Close => depth -= 1,
            QueryToken::Field(name) if !FIELDS.contains(&name.as_str()) => return false,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    let first = parts.iter().find(|part| !matches!(part, QueryToken::Open));
    let last = parts.iter().rev().find(|part| !matches!(part, QueryToken::Close));
    let bare = |token: Option<&QueryToken>| matches!(token, None | Some(QueryToken::Operator(_)));
    let starts = !bare(first) && !matches!(first, Some(QueryToken::Field(_)));
    depth == 0 && starts && !bare(last) && !plain_words(text).is_empty()
}

/// Returns the distinct words of a PubMed query, without fields, operators, filters and excluded terms.
pub fn plain_words(text: &str) -> String {
    let parts = tokenize(text).unwrap_or_else(|| vec![QueryToken::Words(text.to_owned())]);
    let mut kept: Vec<String> = Vec::new();
    let mut nth = 0;
    while nth < parts.len() {
        match &parts[nth] {
            QueryToken::Operator(it) if it == "NOT" => nth = skip_group(&parts, nth + 1),
            QueryToken::Words(words) => {
                let bounds = |token: &QueryToken| matches!(token, QueryToken::Field(name) if FILTER_FIELDS.contains(&name.as_str()));
                if !parts.get(nth + 1).is_some_and(bounds) {
                    for it in tokens(words) {
                        let word = &words[it.span];
                        if !kept.iter().any(|had| had.eq_ignore_ascii_case(word)) {
                            kept.push(word.to_owned());
                        }
                    }
                }
                nth += 1;
            }
            _ => nth += 1,
        }
    }
    kept.join(" ")
}

/// Returns the position after the term or bracketed group at `nth`.
fn skip_group(parts: &[QueryToken], nth: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = nth;
    while let Some(it) = parts.get(at) {
        match it {
            QueryToken::Open => depth += 1,
            QueryToken::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 && !matches!(parts.get(at), Some(QueryToken::Field(_))) {
            break;
        }
    }
    at
}

#[derive(Debug, PartialEq)]
enum QueryToken {
    Open,
    Close,
    Operator(String),
    Field(String),
    Words(String),
}

/// Splits a query into tokens; `None` if a quote or field tag is not closed.
fn tokenize(text: &str) -> Option<Vec<QueryToken>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '(' | ')' => {
                found.push(if first == '(' { QueryToken::Open } else { QueryToken::Close });
                after
            }
            '"' | '[' => {
                let end = after.find(if first == '"' { '"' } else { ']' })?;
                let inner = after[..end].trim().to_owned();
                found.push(match first {
                    '"' => QueryToken::Words(inner),
                    _ => QueryToken::Field(inner.to_lowercase()),
                });
                &after[end + 1..]
            }
            ']' => return None,
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || "()\"[]".contains(c));
                let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
                found.push(match word {
                    "AND" | "OR" | "NOT" => QueryToken::Operator(word.to_owned()),
                    _ => QueryToken::Words(word.to_owned()),
                });
                behind
            }
        }
        .trim_start();
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, phrases: &[&str]) -> String {
        let phrases: Vec<String> = phrases.iter().map(|phrase| (*phrase).to_owned()).collect();
        build_query(text, &phrases)
    }

    #[test]
    fn phrases_must_be_there_and_the_other_words_are_alternatives() {
        assert_eq!(
            of("Does vitamin D prevent rickets?", &["vitamin D", "rickets"]),
            "(\"vitamin d\"[mh] OR \"vitamin d\"[tiab]) AND prevent AND rickets"
        );
        assert_eq!(
            of("vitamin D rickets infants dose winter", &["vitamin D"]),
            "(\"vitamin d\"[mh] OR \"vitamin d\"[tiab]) AND (rickets OR infants OR dose OR winter)"
        );
        assert_eq!(
            of("statins muscle pain elderly women", &[]),
            "statins AND muscle AND (pain OR elderly OR women)"
        );
        assert_eq!(
            of("systematic reviews of zinc", &[]),
            "(\"systematic review\"[pt] OR \"systematic review\"[tiab]) AND zinc"
        );
    }

    #[test]
    fn what_is_written_in_the_syntax_stays_as_it_is() {
        let written = "asthma[mesh] AND child NOT adult";
        assert_eq!(of(written, &["asthma"]), written);
        assert_eq!(of("of the", &[]), "of the");
    }

    #[test]
    fn a_query_that_pubmed_would_misread_is_not_sound() {
        for sound in [
            "(\"vitamin d\"[mh] OR \"vitamin d\"[tiab]) AND rickets",
            "zinc AND 2020:2024[dp]",
            "statin* AND myopathy[tiab]",
        ] {
            assert!(is_valid(sound), "{sound}");
        }
        for broken in [
            "",
            "AND zinc",
            "zinc OR",
            "(zinc AND copper",
            "zinc) AND (copper",
            "\"zinc AND copper",
            "zinc[tiab",
            "zinc[colour]",
            "[tiab]",
            "2020:2024[dp]",
            "zinc https://a.example/",
        ] {
            assert!(!is_valid(broken), "{broken}");
        }
    }

    #[test]
    fn plain_words_are_those_that_a_text_must_hold() {
        for (written, words) in [
            ("(\"vitamin d\"[mh] OR \"vitamin d\"[tiab]) AND rickets", "vitamin d rickets"),
            ("zinc AND 2020:2024[dp] AND english[la]", "zinc"),
            ("asthma NOT (adult OR \"old age\"[mh]) AND child", "asthma child"),
            ("asthma NOT adult[mh] child", "asthma child"),
            ("\"zinc", "zinc"),
        ] {
            assert_eq!(plain_words(written), words, "{written}");
        }
    }
}
