//! Queries in the syntax of PubMed (row B4): made of plain words, judged, and taken back to plain words.
use super::words::{Token, is_stop, tokens};

/// What must all be there at most; the words left are alternatives, or a long question would find nothing.
const ALL: usize = 3;
/// Longest query that is sent, characters.
const LONGEST: usize = 400;
/// Words of a phrase, at most: nobody writes longer ones twice the same.
const PHRASE: usize = 4;

/// Kinds of publication that PubMed files under a name of its own, by how people write them.
const KINDS: &[(&[&str], &str)] = &[
    (&["meta-analysis", "meta-analyses"], "meta-analysis"),
    (
        &["systematic review", "systematic reviews"],
        "systematic review",
    ),
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

/// The fields that a query may name, by their short names.
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

/// Fields whose words bound an answer and are no words of a text.
const BOUNDS: &[&str] = &["dp", "edat", "crdt", "pdat", "la", "lang", "sb", "filter"];

/// Plain words in PubMed's syntax: the phrases among them as headings or in title and abstract, all of them; what is left as
/// alternatives. A single word stays without a field, for PubMed then looks for its headings and its other forms too. Words
/// that are written in that syntax already are left as they are.
pub fn made(text: &str, phrases: &[String]) -> String {
    // PubMed's words are those of alphabets; of other scripts a character is no word that it knows.
    if is_written(text) || text.chars().any(|it| it >= '\u{2e80}') {
        return text.trim().to_owned();
    }
    let words = tokens(text);
    let mut taken = vec![false; words.len()];
    let mut all: Vec<(usize, String)> = Vec::new();
    for (spelt, name) in KINDS {
        for spelling in *spelt {
            if let Some(at) = run(&words, &taken, spelling) {
                mark(&mut taken, at, tokens(spelling).len());
                all.push((at, format!("(\"{name}\"[pt] OR \"{name}\"[tiab])")));
            }
        }
    }
    for phrase in phrases {
        let length = tokens(phrase).len();
        let telling = tokens(phrase)
            .iter()
            .filter(|it| !is_stop(&it.text))
            .count();
        if telling < 2 || length > PHRASE || all.len() == ALL {
            continue;
        }
        if let Some(at) = run(&words, &taken, phrase) {
            mark(&mut taken, at, length);
            let words: Vec<&str> = words[at..at + length]
                .iter()
                .map(|it| it.text.as_str())
                .collect();
            let words = words.join(" ");
            all.push((at, format!("(\"{words}\"[mh] OR \"{words}\"[tiab])")));
        }
    }
    let mut left: Vec<(usize, String)> = Vec::new();
    for (at, it) in words.iter().enumerate() {
        let again = left.iter().any(|had| had.1 == it.text);
        if !taken[at] && !is_stop(&it.text) && !again {
            left.push((at, it.text.clone()));
        }
    }
    let alone = ALL.saturating_sub(all.len());
    if left.len() <= alone {
        all.append(&mut left);
    } else if all.is_empty() {
        // Without a phrase the first words are what is asked about.
        all.extend(left.drain(..ALL - 1));
    }
    all.sort();
    let mut parts: Vec<String> = all.into_iter().map(|it| it.1).collect();
    match left.as_slice() {
        [] => {}
        [one] => parts.push(one.1.clone()),
        more => {
            let words: Vec<&str> = more.iter().map(|it| it.1.as_str()).collect();
            parts.push(format!("({})", words.join(" OR ")));
        }
    }
    let made = parts.join(" AND ");
    match is_sound(&made) {
        true => made,
        false => text.trim().to_owned(),
    }
}

/// Where the words of `phrase` stand in a row among words that nothing has taken yet.
fn run(words: &[Token], taken: &[bool], phrase: &str) -> Option<usize> {
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

fn mark(taken: &mut [bool], at: usize, length: usize) {
    taken[at..at + length].fill(true);
}

/// Whether words are in PubMed's syntax: a field, a phrase in quotes, or an operator.
pub fn is_written(text: &str) -> bool {
    let operator = [" AND ", " OR ", " NOT "]
        .iter()
        .any(|it| text.contains(it));
    operator || text.contains(['"', '[', ']'])
}

/// Whether PubMed can be asked this: what opens is closed, fields are fields of PubMed, operators stand between words.
pub fn is_sound(text: &str) -> bool {
    let text = text.trim();
    if text.chars().count() > LONGEST || text.chars().any(char::is_control) || text.contains("://")
    {
        return false;
    }
    let Some(parts) = parts(text) else {
        return false;
    };
    let mut depth = 0_i32;
    for it in &parts {
        match it {
            Part::Open => depth += 1,
            Part::Close => depth -= 1,
            Part::Field(name) if !FIELDS.contains(&name.as_str()) => return false,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    let first = parts.iter().find(|it| !matches!(it, Part::Open));
    let last = parts.iter().rev().find(|it| !matches!(it, Part::Close));
    let bare = |it: Option<&Part>| matches!(it, None | Some(Part::Operator(_)));
    let starts = !bare(first) && !matches!(first, Some(Part::Field(_)));
    depth == 0 && starts && !bare(last) && !plain(text).is_empty()
}

/// The words of a query in PubMed's syntax, each once, without fields, operators, bounds, and what it leaves out.
pub fn plain(text: &str) -> String {
    let parts = parts(text).unwrap_or_else(|| vec![Part::Words(text.to_owned())]);
    let mut kept: Vec<String> = Vec::new();
    let mut nth = 0;
    while nth < parts.len() {
        match &parts[nth] {
            Part::Operator(it) if it == "NOT" => nth = past(&parts, nth + 1),
            Part::Words(words) => {
                let bounds =
                    |it: &Part| matches!(it, Part::Field(name) if BOUNDS.contains(&name.as_str()));
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

/// Behind the words, or what stands in brackets, at `nth`.
fn past(parts: &[Part], nth: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = nth;
    while let Some(it) = parts.get(at) {
        match it {
            Part::Open => depth += 1,
            Part::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 && !matches!(parts.get(at), Some(Part::Field(_))) {
            break;
        }
    }
    at
}

#[derive(Debug, PartialEq)]
enum Part {
    Open,
    Close,
    Operator(String),
    Field(String),
    Words(String),
}

/// What a query is made of; nothing where a quote or a field is not closed.
fn parts(text: &str) -> Option<Vec<Part>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '(' | ')' => {
                found.push(if first == '(' {
                    Part::Open
                } else {
                    Part::Close
                });
                after
            }
            '"' | '[' => {
                let end = after.find(if first == '"' { '"' } else { ']' })?;
                let inner = after[..end].trim().to_owned();
                found.push(match first {
                    '"' => Part::Words(inner),
                    _ => Part::Field(inner.to_lowercase()),
                });
                &after[end + 1..]
            }
            ']' => return None,
            _ => {
                let end = rest.find(|it: char| it.is_whitespace() || "()\"[]".contains(it));
                let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
                found.push(match word {
                    "AND" | "OR" | "NOT" => Part::Operator(word.to_owned()),
                    _ => Part::Words(word.to_owned()),
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
        let phrases: Vec<String> = phrases.iter().map(|it| (*it).to_owned()).collect();
        made(text, &phrases)
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
            assert!(is_sound(sound), "{sound}");
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
            assert!(!is_sound(broken), "{broken}");
        }
    }

    #[test]
    fn plain_words_are_those_that_a_text_must_hold() {
        for (written, words) in [
            (
                "(\"vitamin d\"[mh] OR \"vitamin d\"[tiab]) AND rickets",
                "vitamin d rickets",
            ),
            ("zinc AND 2020:2024[dp] AND english[la]", "zinc"),
            (
                "asthma NOT (adult OR \"old age\"[mh]) AND child",
                "asthma child",
            ),
            ("asthma NOT adult[mh] child", "asthma child"),
            ("\"zinc", "zinc"),
        ] {
            assert_eq!(plain(written), words, "{written}");
        }
    }
}
