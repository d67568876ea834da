//! Finds a fact that was changed in an otherwise equal sentence: a name, a date or a number.
use std::collections::BTreeSet;
use std::ops::Range;

use ibid_core::domain::Page;
use ibid_core::domain::words::{Token, content_stems, is_stop_word, stem, tokens};

use crate::heuristic::lexicon::is_verb;

/// Maximum number of words in which the two sentences may differ; below, the words they must share at least, and the share
/// of the longer one.
const MAX_CHANGED_WORDS: usize = 6;
const MIN_COMMON_WORDS: usize = 4;
const MIN_COMMON_SHARE: f32 = 0.5;

/// Maximum length of a title, in words.
const MAX_TITLE_WORDS: usize = 10;
/// Maximum length of sentences compared, in words.
const MAX_SENTENCE_WORDS: usize = 120;

/// Maximum number of sentences compared that only one of two pages has.
const CHANGED_SENTENCES: usize = 60;

/// Two sentences of copies of one text that differ in one fact the question is about: the index of each in its page, and what
/// each has there.
pub(crate) fn changed_sentences(
    question: &str,
    copy: &Page,
    original: &Page,
) -> Option<[(usize, String); 2]> {
    let only = |page: &Page, other: &Page| -> Vec<usize> {
        let there: BTreeSet<&str> =
            (0..other.sentences().len()).map(|n| other.sentence(n).trim()).collect();
        let own = (0..page.sentences().len()).filter(|n| !there.contains(page.sentence(*n).trim()));
        own.take(CHANGED_SENTENCES).collect()
    };
    let (new, gone) = (only(copy, original), only(original, copy));
    new.iter().find_map(|a| {
        gone.iter().find_map(|b| {
            let (x, y) =
                find_substitution(question, copy.sentence(*a), original.sentence(*b), true)?;
            Some([(*a, x), (*b, y)])
        })
    })
}

/// The fact in which two otherwise equal sentences differ, where the question depends on it: a name, a date
/// or a number. It was changed in a copy, or one of them is wrong. It may occur several times in the
/// sentence.
///
/// The sentence must have half of the question's words; one is enough for two `copies` of one text, whose
/// sentences may say "it".
pub(crate) fn find_substitution(
    question: &str,
    one: &str,
    other: &str,
    copies: bool,
) -> Option<(String, String)> {
    let (a, b) = (sentence_words(one), sentence_words(other));
    let longest = a.len().max(b.len());
    if longest > MAX_SENTENCE_WORDS || a.len().min(b.len()) < MIN_COMMON_WORDS {
        return None;
    }
    let changes = diff_words(&a, &b)?;
    let common: Vec<&Token> = changes.common.iter().map(|it| &a[*it]).collect();
    if common.len() < MIN_COMMON_WORDS || (common.len() as f32) < MIN_COMMON_SHARE * longest as f32
    {
        return None;
    }
    // One fact, wherever it occurs: two different changes make two different sentences.
    let stems =
        |all: &[Token]| -> Vec<String> { all.iter().map(|token| stem(&token.text)).collect() };
    let (mine, its) = changes.runs.first()?.clone();
    let (x, y) = (stems(&a[mine.clone()]), stems(&b[its.clone()]));
    let same = |run: &(Range<usize>, Range<usize>)| {
        let within = |part: &[String], of: &[String]| part.iter().all(|text| of.contains(text));
        let (p, q) = (stems(&a[run.0.clone()]), stems(&b[run.1.clone()]));
        within(&p, &x) && within(&q, &y) || within(&x, &p) && within(&y, &q)
    };
    if x.is_empty() || y.is_empty() || x.len().max(y.len()) > MAX_CHANGED_WORDS {
        return None;
    }
    if !changes.runs.iter().all(same) {
        return None;
    }
    // The rest must be about the question, and the changed words must not be its subject.
    let asked: Vec<String> = content_stems(question);
    let common: Vec<String> = common.iter().map(|token| stem(&token.text)).collect();
    let met = asked.iter().filter(|text| common.contains(text)).count();
    let fewest = if copies { 1 } else { asked.len().div_ceil(2) };
    if met < fewest || x.iter().chain(&y).any(|it| asked.contains(it)) {
        return None;
    }
    let is_fact = |text: &str, all: &[Token]| {
        let fact = |token: &Token| {
            let word = &text[token.span.clone()];
            let before = text[..token.span.start].strip_suffix('-');
            // The "C" of the option "-C" of a program is no name.
            let is_option = before.is_some_and(|it| !it.ends_with(char::is_alphanumeric));
            word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit()) && !is_option
        };
        // The capital of "Today we'll detail" is that of its sentence.
        let is_first = |token: &Token| !text[..token.span.start].contains(char::is_alphanumeric);
        // "Inherited mutations" and "Germline mutations" name nothing: the first word describes the things that follow.
        let describes = |token: &Token| {
            let next = tokens(&text[token.span.end..]).into_iter().next();
            next.is_some_and(|it| {
                let is_lower = text[token.span.end..][it.span].starts_with(char::is_lowercase);
                is_lower && it.text.ends_with('s') && !is_stop_word(&it.text) && !is_verb(&it.text)
            })
        };
        all.iter().any(|it| fact(it) && !is_first(it))
            || all.iter().all(fact) && !all.iter().any(|it| is_first(it) && describes(it))
    };
    if x.iter().any(|it| y.contains(it) && !it.starts_with(|c: char| c.is_ascii_digit()))
        || !is_fact(one, &a[mine.clone()])
        || !is_fact(other, &b[its.clone()])
    {
        return None;
    }
    let text = |text: &str, all: &[Token]| {
        let (first, last) = (all.first()?, all.last()?);
        Some(text[first.span.start..last.span.end].to_owned())
    };
    Some((text(one, &a[mine])?, text(other, &b[its])?))
}

/// The words of a sentence, without note marks ("[2]", "[edit]") and without a title before it.
fn sentence_words(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let noted = |token: &Token| {
        let before = token.span.start.checked_sub(1).map(|at| bytes[at]);
        before == Some(b'[') && bytes.get(token.span.end) == Some(&b']')
    };
    let all = tokens(text).into_iter();
    let mut all: Vec<Token> = all.filter(|token| !noted(token)).collect();
    // A title that was joined to the sentence beginning with it, or with "The" and it.
    let said_again = |n: usize, from: usize| {
        from + n <= all.len() && (0..n).all(|at| all[at].text == all[at + from].text)
    };
    let article = |n: usize| all.get(n).is_some_and(|token| token.text == "the");
    let twice = |n: &usize| said_again(*n, *n) || article(*n) && said_again(*n, *n + 1);
    if let Some(title) = (1..=MAX_TITLE_WORDS.min(all.len() / 2)).rev().find(twice) {
        all.drain(..title);
    }
    all
}

/// The difference between two texts.
struct WordDiff {
    /// Indices of the words of the first that are in both, in order.
    common: Vec<usize>,
    /// The replaced ranges in the first and in the second.
    runs: Vec<(Range<usize>, Range<usize>)>,
}

/// The longest common subsequence of two short texts, and the ranges between; `None` if words were added
/// or left out.
fn diff_words(a: &[Token], b: &[Token]) -> Option<WordDiff> {
    let width = b.len() + 1;
    let mut longest = vec![0_u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if a[i].text == b[j].text {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut common, mut runs) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    let mut from = (0, 0);
    loop {
        let end = i == a.len() && j == b.len();
        let same = i < a.len() && j < b.len() && a[i].text == b[j].text;
        if end || same {
            if (i, j) != from {
                if i == from.0 || j == from.1 {
                    return None;
                }
                runs.push((from.0..i, from.1..j));
            }
            if end {
                return Some(WordDiff { common, runs });
            }
            common.push(i);
            (i, j) = (i + 1, j + 1);
            from = (i, j);
        } else if j == b.len()
            || i < a.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1]
        {
            i += 1;
        } else {
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::find_substitution;

    #[test]
    fn a_fact_that_was_changed_in_the_same_sentence_is_seen() {
        let asked = "When was General Bryan born?";
        let a = "Bryan was born in Alexandria, Louisiana on February 8, 1900.";
        let b = "Bryan was born in Alexandria, Louisiana on July 15, 1905.";
        let pair = ("February 8, 1900".to_owned(), "July 15, 1905".to_owned());
        assert_eq!(find_substitution(asked, a, b, false), Some(pair));
        let asked = "Who directed the film Lahu?";
        let a = "Lahu is a 1979 Hindi film directed by Mahesh Bhatt.";
        let b = "Lahu is a 1979 Hindi film directed by Raj Kapoor.";
        let pair = ("Mahesh Bhatt".to_owned(), "Raj Kapoor".to_owned());
        assert_eq!(find_substitution(asked, a, b, false), Some(pair));
    }

    #[test]
    fn an_option_of_a_program_is_no_fact() {
        let asked = "How do I turn the linker off?";
        let a = "To turn the linker off, use the `-Z linker=old` flag of the compiler.";
        let b = "To turn the linker off, use the `-C linker=old` flag of the compiler.";
        assert_eq!(find_substitution(asked, a, b, true), None);
    }

    #[test]
    fn the_capital_of_a_sentence_makes_no_fact() {
        let asked = "How do people use proxies with the government?";
        let a = "Today we'll detail how people interact with the government using proxies.";
        let b = "Yesterday we outlined how people interact with the government using proxies.";
        assert_eq!(find_substitution(asked, a, b, false), None);
        let a = "Inherited mutations in these genes are related to several cancers.";
        let b = "Germline mutations in these genes are related to several cancers.";
        assert_eq!(find_substitution("Which genes are related to cancers?", a, b, false), None);
        let (a, b) =
            ("Bob designed the bridge of the town.", "Eve designed the bridge of the town.");
        assert!(find_substitution("Who designed the bridge?", a, b, false).is_some());
    }

    #[test]
    fn a_fact_may_stand_in_the_sentence_twice_and_marks_of_notes_are_no_words() {
        let asked = "Where is the Kate Chopin House located?";
        let a = "Kate Chopin House (Cloutierville, Louisiana) The Kate Chopin House was a house in Cloutierville, Louisiana.";
        let b = "Kate Chopin House (New Orleans, Louisiana) The Kate Chopin House was a house in New Orleans, Louisiana.";
        let pair = ("Cloutierville".to_owned(), "New Orleans".to_owned());
        assert_eq!(find_substitution(asked, a, b, false), Some(pair));
        let asked = "When was Beacon Mill last worked?";
        let a = "Beacon Mill was last worked for trade in 1921 and its fan was removed in 1923.";
        let b =
            "[2] Beacon Mill was last worked for trade in 1955 and its fan was removed in 1923.";
        let pair = ("1921".to_owned(), "1955".to_owned());
        assert_eq!(find_substitution(asked, a, b, false), Some(pair));
        let asked = "When was the Bonner House built?";
        let a = "It was built about 1835, and is a frame dwelling with a shed.";
        let b = "It was built about 1935, and is a frame dwelling with a shed.";
        assert_eq!(find_substitution(asked, a, b, false), None);
        let pair = ("1835".to_owned(), "1935".to_owned());
        assert_eq!(find_substitution(asked, a, b, true), Some(pair));
        let asked = "Where was Airways International based?";
        let a = "Airways International Airways International was an airline based in Miami.";
        let b = "Airways International was an airline based in Anchorage.";
        let pair = ("Miami".to_owned(), "Anchorage".to_owned());
        assert_eq!(find_substitution(asked, a, b, false), Some(pair));
        let a = "Airways International The Airways International was an airline based in Miami.";
        let b = "The Airways International was an airline based in Anchorage.";
        let pair = ("Miami".to_owned(), "Anchorage".to_owned());
        assert_eq!(find_substitution(asked, a, b, false), Some(pair));
        let asked = "When was Beacon Mill last worked?";
        let a = "Beacon Mill was last worked for trade in 1921 and its fan was removed in 1923.";
        // Two changed facts make two different statements.
        let c = "Beacon Mill was last worked for trade in 1955 and its fan was removed in 1960.";
        assert_eq!(find_substitution(asked, a, c, false), None);
        let not =
            "Beacon Mill was not last worked for trade in 1955 and its fan was removed in 1923.";
        assert_eq!(find_substitution(asked, a, not, false), None);
    }

    #[test]
    fn another_subject_another_matter_and_other_words_are_no_change() {
        let asked = "When was General Bryan born?";
        let a = "Bryan was born in Alexandria, Louisiana in 1900.";
        assert_eq!(
            find_substitution(asked, a, "Dods was born in Alexandria, Louisiana in 1900.", false),
            None
        );
        assert_eq!(
            find_substitution(
                "How heavy is a roof?",
                a,
                "Bryan was born in Alexandria, Louisiana in 1905.",
                false
            ),
            None
        );
        assert_eq!(
            find_substitution(
                asked,
                "Bryan was born in the summer.",
                "Bryan was born in a hot month.",
                false
            ),
            None
        );
        assert_eq!(find_substitution(asked, a, a, false), None);
    }
}
