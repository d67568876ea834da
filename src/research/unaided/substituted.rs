//! One sentence with two facts: somebody took it over and changed a name, a date or a number.
use crate::domain::words::{Token, content_stems, stem, tokens};

/// Most words in which two sentences differ that are one otherwise, and how many words they share at least, and how much of the longer.
const CHANGED: usize = 6;
const COMMON: usize = 4;
const COMMON_SHARE: f32 = 0.5;

/// What stands in two sentences that are one but for it, where it bears on the question: a name, a date, a number. Somebody took
/// the sentence over and changed a fact, or one of them is wrong.
pub(super) fn substituted(question: &str, one: &str, other: &str) -> Option<(String, String)> {
    let (a, b) = (tokens(one), tokens(other));
    let same = |it: &(&Token, &Token)| it.0.text == it.1.text;
    let front = a.iter().zip(&b).take_while(same).count();
    let rest = a.len().min(b.len()) - front;
    let back = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take(rest)
        .take_while(same)
        .count();
    let (mine, its) = (front..a.len() - back, front..b.len() - back);
    let longest = a.len().max(b.len());
    if mine.is_empty() || its.is_empty() || mine.len().max(its.len()) > CHANGED {
        return None;
    }
    if front + back < COMMON || ((front + back) as f32) < COMMON_SHARE * longest as f32 {
        return None;
    }
    // The rest must be about what was asked, and what was changed must not be what was asked about.
    let asked: Vec<String> = content_stems(question);
    let common: Vec<String> = a[..front]
        .iter()
        .chain(&a[a.len() - back..])
        .map(|it| stem(&it.text))
        .collect();
    let met = asked.iter().filter(|it| common.contains(it)).count();
    let changed = |all: &[Token]| -> Vec<String> { all.iter().map(|it| stem(&it.text)).collect() };
    let (x, y) = (changed(&a[mine.clone()]), changed(&b[its.clone()]));
    if met * 2 < asked.len() || x.iter().chain(&y).any(|it| asked.contains(it)) {
        return None;
    }
    let is_fact = |text: &str, all: &[Token]| {
        let fact = |it: &Token| {
            let word = &text[it.span.clone()];
            word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
        };
        all.iter().any(fact)
    };
    if x.iter()
        .any(|it| y.contains(it) && !it.starts_with(|c: char| c.is_ascii_digit()))
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

#[cfg(test)]
mod tests {
    use super::substituted;

    #[test]
    fn a_fact_that_was_changed_in_the_same_sentence_is_seen() {
        let asked = "When was General Bryan born?";
        let a = "Bryan was born in Alexandria, Louisiana on February 8, 1900.";
        let b = "Bryan was born in Alexandria, Louisiana on July 15, 1905.";
        let pair = ("February 8, 1900".to_owned(), "July 15, 1905".to_owned());
        assert_eq!(substituted(asked, a, b), Some(pair));
        let asked = "Who directed the film Lahu?";
        let a = "Lahu is a 1979 Hindi film directed by Mahesh Bhatt.";
        let b = "Lahu is a 1979 Hindi film directed by Raj Kapoor.";
        let pair = ("Mahesh Bhatt".to_owned(), "Raj Kapoor".to_owned());
        assert_eq!(substituted(asked, a, b), Some(pair));
    }

    #[test]
    fn another_subject_another_matter_and_other_words_are_no_change() {
        let asked = "When was General Bryan born?";
        let a = "Bryan was born in Alexandria, Louisiana in 1900.";
        assert_eq!(
            substituted(asked, a, "Dods was born in Alexandria, Louisiana in 1900."),
            None
        );
        assert_eq!(
            substituted(
                "How heavy is a roof?",
                a,
                "Bryan was born in Alexandria, Louisiana in 1905."
            ),
            None
        );
        assert_eq!(
            substituted(
                asked,
                "Bryan was born in the summer.",
                "Bryan was born in a hot month."
            ),
            None
        );
        assert_eq!(substituted(asked, a, a), None);
    }
}
