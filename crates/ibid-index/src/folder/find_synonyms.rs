//! Finds where a text explains a name by another one: abbreviations in brackets, and "also called".
//!
//! Abbreviations are found by the algorithm of Schwartz and Hearst (2003): the characters of the short form occur in the
//! long form in the same order, the first at the beginning of a word.
use std::collections::{BTreeSet, HashMap};

use ibid_core::domain::words::{Token, is_stop_word, tokens};

/// Characters of a short form.
const MIN_SHORT_CHARS: usize = 2;
const MAX_SHORT_CHARS: usize = 10;
/// A short form of more letters needs a second capital: "Bob" is a word.
const MAX_SINGLE_CAPITAL_LETTERS: usize = 3;
/// Words of a name before or after "also called".
const MAX_NAME_WORDS: usize = 4;
/// Bytes of a name.
const MAX_NAME_BYTES: usize = 100;
/// Bytes before and after a bracket or comma that are looked at.
const WINDOW_BYTES: usize = 240;

/// Words for kinds of things, which are no names: "Wilson disease, also called hepatolenticular degeneration".
const KINDS: [&str; 20] = [
    "area",
    "building",
    "city",
    "company",
    "condition",
    "device",
    "disease",
    "disorder",
    "drug",
    "group",
    "institute",
    "method",
    "plant",
    "process",
    "region",
    "syndrome",
    "system",
    "test",
    "tool",
    "town",
];

/// What introduces another name after a comma or an opening bracket, lower case, the longer ones first.
const CUES: [&str; 11] = [
    "also called ",
    "also known as ",
    "otherwise known as ",
    "commonly known as ",
    "commonly called ",
    "abbreviated as ",
    "abbreviated to ",
    "abbreviated ",
    "known as ",
    "a.k.a. ",
    "aka ",
];

/// A name and its short form or other name, as written.
pub(super) type NamePair = (String, String);

/// The pairs of names that the sentences of a document explain, in order. `title` is the title of the document.
pub(super) fn find_synonyms(title: &str, sentences: &[&str]) -> Vec<NamePair> {
    let mut found: Vec<NamePair> = Vec::new();
    let mut open_names = Vec::new();
    for sentence in sentences {
        for (at, mark) in sentence.match_indices(['(', ',']) {
            let before =
                &sentence[sentence.floor_char_boundary(at.saturating_sub(WINDOW_BYTES))..at];
            let end = sentence.ceil_char_boundary(sentence.len().min(at + 1 + WINDOW_BYTES));
            let after = &sentence[at + 1..end];
            match name_after_cue(after.trim_start()) {
                Some(other) if is_short_form(&other) => {
                    found.extend(long_form(before, &other).map(|long| (long.to_owned(), other)));
                }
                Some(other) => open_names.extend(names_before(before).map(|names| (names, other))),
                None if mark == "(" => found.extend(abbreviation(before.trim_end(), after)),
                None => {}
            }
        }
    }
    found.extend(settle_names(title, sentences, open_names));
    let names_kind = |name: &String| KINDS.contains(&&*name.to_lowercase());
    found.retain(|(name, other)| {
        name.len().max(other.len()) <= MAX_NAME_BYTES
            && !name.eq_ignore_ascii_case(other)
            && !names_kind(name)
            && !names_kind(other)
    });
    found
}

/// The long and the short form around an opening bracket: "long form (LF)" or "LF (long form)".
fn abbreviation(before: &str, after: &str) -> Option<NamePair> {
    let inside = after[..after.find(')')?].trim();
    // What follows a comma or semicolon is a remark: "(BCC; 12 cases)".
    let head = inside.split([';', ',']).next().unwrap_or_default().trim();
    if is_short_form(head) {
        let long = long_form(before, head)?;
        return Some((long.to_owned(), singular_short(head).to_owned()));
    }
    let short = before.rsplit(|c: char| c.is_whitespace() || c == '(').next()?;
    if inside.contains(['(', ';', ',']) || !is_short_form(short) {
        return None;
    }
    // The whole bracket must be the long form.
    let long = long_form(inside, short)?;
    (long.len() == inside.len()).then(|| (long.to_owned(), singular_short(short).to_owned()))
}

/// Whether `text` may be a short form: one word of few characters, some of them capitals.
pub(super) fn is_short_form(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let capitals = text.chars().filter(|c| c.is_uppercase()).count();
    (MIN_SHORT_CHARS..=MAX_SHORT_CHARS).contains(&text.chars().count())
        && text.starts_with(char::is_alphanumeric)
        && text.ends_with(char::is_alphanumeric)
        && text.chars().all(|c| c.is_alphanumeric() || is_hyphen(c) || matches!(c, '/' | '&'))
        && (capitals > 1 || (capitals == 1 && letters <= MAX_SINGLE_CAPITAL_LETTERS && letters > 1))
}

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '‐' | '‑')
}

/// A short form without the `s` of a plural: "BCCs".
pub(super) fn singular_short(text: &str) -> &str {
    match text.strip_suffix('s') {
        Some(bare) if bare.len() > 1 && bare.chars().all(|c| !c.is_lowercase()) => bare,
        _ => text,
    }
}

/// The end of `before` that is the long form of `short` (Schwartz and Hearst 2003).
fn long_form<'a>(before: &'a str, short: &str) -> Option<&'a str> {
    let short = singular_short(short);
    let letters: Vec<char> =
        short.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let words = tokens(before);
    let most = (letters.len() + 5).min(2 * letters.len());
    let start = words.get(words.len().saturating_sub(most))?.span.start;
    let chars: Vec<(usize, char)> = before[start..].char_indices().collect();
    let mut at = chars.len();
    for (nth, letter) in letters.iter().enumerate().rev() {
        loop {
            at = at.checked_sub(1)?;
            // A part after a hyphen begins no name: "non-insulin-dependent diabetes (II)".
            let begins_word =
                at == 0 || !(chars[at - 1].1.is_alphanumeric() || is_hyphen(chars[at - 1].1));
            let same = chars[at].1.to_lowercase().next() == Some(*letter);
            if same && (nth > 0 || begins_word) {
                break;
            }
        }
    }
    let from = start + chars[at].0;
    let long = before[from..].trim();
    let whole = tokens(long);
    let has_short = whole.iter().any(|word| word.text.eq_ignore_ascii_case(short));
    let fits = long.chars().count() > short.chars().count()
        && whole.len() <= most
        && long.ends_with(char::is_alphanumeric)
        && !long.contains(['(', ')', ';', '"']);
    // "Known as rheumatic fever (ARF)": the "as" is no part of the name.
    let begins_with_stop_word = whole.first().is_some_and(|word| is_stop_word(&word.text));
    (fits && !has_short && !begins_with_stop_word).then_some(long)
}

/// The name after a phrase such as "also called", if `rest` begins with one.
fn name_after_cue(rest: &str) -> Option<String> {
    let begins =
        |cue: &&&str| rest.get(..cue.len()).is_some_and(|start| start.eq_ignore_ascii_case(cue));
    let rest = &rest[CUES.iter().find(begins)?.len()..];
    let rest = ["the ", "a ", "an "].iter().find_map(|it| rest.strip_prefix(it)).unwrap_or(rest);
    let rest = rest.trim_start_matches(['"', '“', '‘', '\'']);
    let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, ' ' | '-' | '\'' | '’'));
    let run = &rest[..end.unwrap_or(rest.len())];
    let words = tokens(run);
    let many = words.iter().position(|word| is_stop_word(&word.text)).unwrap_or(words.len());
    if !(1..=MAX_NAME_WORDS).contains(&many) {
        return None;
    }
    let name = &run[words[0].span.start..words[many - 1].span.end];
    (name.chars().count() > 1).then(|| singular_short(name).to_owned())
}

/// Candidate long forms that end at the end of `before`, longest first; `unless_confirmed` is used if the document confirms none.
struct LongFormCandidates {
    names: Vec<String>,
    unless_confirmed: Option<String>,
}

/// The names that may end `before`: words without a stop word between them.
fn names_before(before: &str) -> Option<LongFormCandidates> {
    let before = before.trim_end_matches(['"', '”', '’', '\'', ' ']);
    let outside = |c: char| !c.is_alphanumeric() && !matches!(c, ' ' | '-' | '\'' | '’');
    let run = before.rsplit(outside).next()?;
    let words = tokens(run);
    let stop = words.iter().rposition(|word| is_stop_word(&word.text));
    let own: &[Token] = &words[stop.map_or(0, |nth| nth + 1)..];
    let end = own.last()?.span.end;
    let nearest = &own[own.len().saturating_sub(MAX_NAME_WORDS)..];
    let names: Vec<String> =
        nearest.iter().map(|first| run[first.span.start..end].to_owned()).collect();
    // Without a word before it that bounds it, a longer name may begin with a verb: "doctors treat hypertension".
    let most = if stop.is_some() { MAX_NAME_WORDS } else { 1 };
    let unless_confirmed = names.first().filter(|_| own.len() <= most).cloned();
    Some(LongFormCandidates { names, unless_confirmed })
}

/// Chooses among the names before each cue: the longest that occurs in another sentence or in the title.
fn settle_names(
    title: &str,
    sentences: &[&str],
    open_names: Vec<(LongFormCandidates, String)>,
) -> Vec<NamePair> {
    let key =
        |name: &str| tokens(name).into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    let names = open_names.iter().flat_map(|(open, _)| &open.names);
    let mut counts: HashMap<String, u32> = names.map(|name| (key(name), 0)).collect();
    let texts = sentences.iter().copied().chain([title]).filter(|_| !counts.is_empty());
    for text in texts.collect::<Vec<_>>() {
        let words: Vec<String> = tokens(text).into_iter().map(|word| word.text).collect();
        let runs: BTreeSet<String> = (1..=MAX_NAME_WORDS)
            .flat_map(|many| words.windows(many).map(|window| window.join(" ")))
            .filter(|run| counts.contains_key(run))
            .collect();
        for run in runs {
            *counts.entry(run).or_default() += 1;
        }
    }
    let settle = |(open, other): (LongFormCandidates, String)| {
        let confirmed = |name: &String| counts.get(&key(name)).is_some_and(|many| *many > 1);
        let name = open.names.into_iter().find(confirmed).or(open.unless_confirmed)?;
        Some((name, other))
    };
    open_names.into_iter().filter_map(settle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sentence: &str) -> Vec<(String, String)> {
        find_synonyms("", &[sentence])
    }

    fn pair(name: &str, other: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), other.to_owned())]
    }

    #[test]
    fn abbreviations_are_found_on_either_side_of_the_bracket() {
        let cases = [
            ("Most are basal cell carcinoma (BCC) of the face.", "basal cell carcinoma", "BCC"),
            ("The BCC (basal cell carcinoma) grows slowly.", "basal cell carcinoma", "BCC"),
            (
                "Heat shock transcription factor 1 (HSF1) binds.",
                "Heat shock transcription factor 1",
                "HSF1",
            ),
            (
                "Magnetic resonance imaging (MRI; 12 scans) showed it.",
                "Magnetic resonance imaging",
                "MRI",
            ),
            ("Two basal cell carcinomas (BCCs) were removed.", "basal cell carcinomas", "BCC"),
            ("The level of haemoglobin (Hb) fell.", "haemoglobin", "Hb"),
            ("Levels of tumour necrosis factor-alpha (TNF-α) and", "", ""),
            ("Periampullary carcinoma (PAC) is rare.", "Periampullary carcinoma", "PAC"),
        ];
        for (sentence, name, other) in cases {
            let wanted = if name.is_empty() { Vec::new() } else { pair(name, other) };
            assert_eq!(found(sentence), wanted, "{sentence}");
        }
    }

    #[test]
    fn other_brackets_are_no_abbreviations() {
        for sentence in [
            "The town (Bob lives there) is small.",
            "It grew by 3 % (see Table 2).",
            "The patients (n = 12) came from Kenya (Africa).",
            "They met in the House (UN building).",
            "A cohort of women (WHO grade II) was followed.",
            "Some had non-insulin-dependent diabetes (II).",
        ] {
            assert_eq!(found(sentence), [], "{sentence}");
        }
    }

    #[test]
    fn other_names_follow_the_cue_phrases() {
        let cases = [
            (
                "The heart attack, also called myocardial infarction, is sudden.",
                "heart attack",
                "myocardial infarction",
            ),
            ("Channelling, also known as tunnelling, was tried.", "Channelling", "tunnelling"),
            (
                "Nobody likes the common rook (also known as the \"field crow\").",
                "common rook",
                "field crow",
            ),
            (
                "The Port Ellery Harbour Trust, abbreviated PEHT, met.",
                "Port Ellery Harbour Trust",
                "PEHT",
            ),
            ("A trust, abbreviated as PEHT, met.", "", ""),
        ];
        for (sentence, name, other) in cases {
            let wanted = if name.is_empty() { Vec::new() } else { pair(name, other) };
            assert_eq!(found(sentence), wanted, "{sentence}");
        }
    }

    #[test]
    fn the_rest_of_the_document_says_where_a_name_begins() {
        let sentence = "Doctors treat hypertension, also called high blood pressure.";
        assert_eq!(find_synonyms("", &[sentence]), []);
        let known = find_synonyms("Causes of hypertension", &[sentence]);
        assert_eq!(known, pair("hypertension", "high blood pressure"));
    }
}
