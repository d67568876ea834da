//! What a sentence sets apart from what it is on: "Unlike type 1 diabetes, type 2 diabetes has …" says nothing of type 1, and "trees that do
//! not tolerate wet ground include beech" names none that does.
use crate::heuristic::enumeration::lead_to_own_list;
use ibid_core::domain::words::{Token, content_stems, is_stop_word, stem, tokens};

use super::subject_words::sought_noun;

/// What such a sentence begins with.
const OPENINGS: [&str; 5] =
    ["unlike ", "in contrast to ", "in contrast with ", "as opposed to ", "contrary to "];

/// Words that deny what follows them.
const NEGATIONS: [&str; 9] =
    ["not", "no", "never", "cannot", "don't", "doesn't", "isn't", "aren't", "without"];
/// Words from a negation to what it denies: "not known to be spread".
const MAX_DENIED: usize = 4;

/// Bytes of a relative clause with a verb and what it says.
const MIN_CLAUSE_BYTES: usize = 12;

/// Whether a sentence says nothing of what the question asks because it sets it apart.
pub(super) fn sets_apart_asked(question: &str, sentence: &str) -> bool {
    opens_with_asked(question, sentence) || lists_others(question, sentence)
}

/// Whether a sentence lists what does not do what the question asks of the members of its list.
fn lists_others(question: &str, sentence: &str) -> bool {
    let negates = |word: &Token| NEGATIONS.contains(&&*word.text);
    let asked = tokens(question);
    // "Gluten-free" and "unsuitable" deny, too.
    let denies = |word: &Token| {
        negates(word)
            || ["un", "non"].iter().any(|it| word.text.starts_with(it) && word.text.len() > 6)
            || word.text.ends_with("free")
            || ["avoid", "except", "lack", "fail"].contains(&&*word.text)
    };
    let Some(lead) = lead_of_list(sentence).filter(|_| !asked.iter().any(denies)) else {
        return false;
    };
    let asked = content_stems(question);
    let words = tokens(lead);
    words.iter().enumerate().filter(|it| negates(it.1)).any(|(at, _)| {
        let denied = words[at + 1..].iter().take(MAX_DENIED);
        denied.map(|word| stem(&word.text)).any(|it| asked.contains(&it))
    })
}

/// What leads to a list in a sentence, or says which things it is on: "Plants that should not stand in the sun" of "Plants that should not
/// stand in the sun are ferns and hostas".
fn lead_of_list(sentence: &str) -> Option<&str> {
    const RELATIVES: [&str; 3] = [" that ", " which ", " who "];
    const MAX_NAMED_BYTES: usize = 60;
    let by_words = || Some(sentence.split_once(" include")?.0);
    let by_clause = || {
        let at = RELATIVES.iter().filter_map(|it| sentence.find(it)).min()?;
        let ends = [": ", " are ", " is "].iter().filter_map(|it| sentence[at..].find(it));
        // "That are not suitable for small gardens: beech": its own verb is not the one that follows.
        let ends = ends.filter(|end| *end > MIN_CLAUSE_BYTES);
        (at <= MAX_NAMED_BYTES).then_some(&sentence[..at + ends.min()?])
    };
    lead_to_own_list(sentence).or_else(by_words).or_else(by_clause)
}

/// Whether the clause that a sentence opens with sets apart what the question is on: a word of the question stands only there. A question
/// that has what tells the other thing, too, asks about both.
fn opens_with_asked(question: &str, sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let clause = OPENINGS.iter().find_map(|opening| lower.strip_prefix(opening));
    let Some((apart, rest)) = clause.and_then(|clause| clause.split_once(", ")) else {
        return false;
    };
    let (apart, own, asked) = (tokens(apart), tokens(rest), tokens(question));
    let has = |words: &[Token], it: &Token| words.iter().any(|word| word.text == it.text);
    // "Which cake is made without eggs?" asks for any cake.
    let sought = sought_noun(question);
    let is_sought = |it: &Token| sought.as_ref() == Some(&it.text);
    let mut telling = asked.iter().filter(|it| !is_stop_word(&it.text) && !is_sought(it));
    let asks_other = own.iter().take(apart.len()).any(|it| !has(&apart, it) && has(&asked, it));
    telling.any(|it| has(&apart, it) && !has(&own, it)) && !asks_other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_not_on_what_it_sets_apart() {
        let told = "Unlike type 1 diabetes, type 2 diabetes has risk factors such as age.";
        for (question, apart) in [
            ("What are the risk factors for type 1 diabetes?", true),
            ("What are the risk factors for type 2 diabetes?", false),
            ("How do type 1 and type 2 diabetes differ?", false),
            ("What are risk factors for diabetes?", false),
        ] {
            assert_eq!(sets_apart_asked(question, told), apart, "{question}");
        }
        let told = "Unlike the carrot cake, the lemon tart is made without eggs.";
        assert!(!sets_apart_asked("Which cake is made without eggs?", told));
        let told = "Unlike the Orbit, the Comet weighs 90 grams.";
        assert!(sets_apart_asked("How much does the Orbit weigh?", told));
        let told = "In contrast to slate, copper needs no care for decades.";
        assert!(sets_apart_asked("How much care does slate need?", told));
        assert!(!sets_apart_asked("How much care does copper need?", told));
        assert!(!sets_apart_asked("How much care does slate need?", "Slate needs no care."));
    }

    #[test]
    fn a_list_of_what_does_not_do_it_names_nothing_that_does() {
        let trees = "Trees that do not tolerate wet ground include: beech, cherry and walnut.";
        for (question, apart) in [
            ("What trees tolerate wet ground?", true),
            ("Which trees do not tolerate wet ground?", false),
            ("Which trees are unsuitable for wet ground?", false),
            ("Which trees grow by rivers?", false),
        ] {
            assert_eq!(sets_apart_asked(question, trees), apart, "{question}");
        }
        let trees = "Beech, cherry and other trees that cannot tolerate wet ground include many fruit trees.";
        assert!(sets_apart_asked("What trees tolerate wet ground?", trees));
        let plants = "Plants that should not stand in the sun are ferns and hostas.";
        assert!(sets_apart_asked("Which plants should stand in the sun?", plants));
        let trees = "Trees that are not suitable for small gardens: beech, oak and lime.";
        assert!(sets_apart_asked("Which trees are suitable for small gardens?", trees));
        let signs = "Signs of a stroke that must not be ignored include: a drooping face, and slurred speech.";
        assert!(!sets_apart_asked("What are the signs of a stroke?", signs));
    }
}
