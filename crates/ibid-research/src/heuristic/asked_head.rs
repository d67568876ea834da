//! The word of a question that an answer must have.
use ibid_core::domain::words::{is_stop_word, tokens};

use super::lexicon::is_verb;
use crate::prompts::Phrases;
use crate::thesaurus;

/// The word that an answer must have, or one like it, in lower case: "population" of "what is the population of Lagos",
/// "maintain" of "what does it cost to maintain a roof", "find" of "how do you find a leak". `None` where the question names
/// none, or one of those that answers seldom repeat, such as "role" and "effect".
pub(crate) fn asked_head(asked: &str, words: &Phrases) -> Option<String> {
    let asked = &*thesaurus::single_words(asked);
    let tokens = tokens(asked);
    let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    let generic = |word: &str| words.question.generic_heads.contains(word);
    let to = texts
        .windows(2)
        .position(|two| two[1] == "to" && matches!(two[0], "cost" | "costs" | "takes" | "take"));
    let head = match texts.as_slice() {
        ["what", "is" | "are" | "was" | "were", rest @ ..] => {
            const JOINTS: &[&str] = &["of", "for", "in", "on", "at", "under", "between", "from"];
            let end = rest.iter().position(|word| JOINTS.contains(word))?;
            rest[..end].last().copied()
        }
        ["what" | "how", ..] if to.is_some() => to.and_then(|at| texts.get(at + 2).copied()),
        ["how", "many", rest @ ..] => counted_noun(rest),
        ["how", "should" | "can" | "must", .., last] if last.ends_with("ed") => Some(*last),
        ["how", "do" | "does" | "did" | "can" | "could" | "should", ..] => {
            const PRONOUNS: &[&str] = &["i", "you", "we", "they", "one", "people"];
            let verb = |word: &&&str| is_verb(word) && !is_stop_word(word);
            match texts.get(2..4) {
                Some([who, does]) if PRONOUNS.contains(who) => Some(*does),
                _ => texts[2..].iter().skip(1).find(verb).copied(),
            }
        }
        ["how", "is" | "are", .., last] if last.ends_with("ed") => Some(*last),
        ["which" | "what", noun, does, ..] if !is_stop_word(noun) && is_verb(does) => Some(*does),
        _ => None,
    }?;
    (!is_stop_word(head) && !generic(head)).then(|| head.to_owned())
}

/// The noun whose things are asked for, in lower case: "perks" of "what perks does the company offer", "effects" of "what are the side
/// effects of the drug".
pub(crate) fn asked_noun(asked: &str) -> Option<String> {
    const AUXILIARIES: &[&str] = &[
        "do", "does", "did", "is", "are", "was", "were", "can", "could", "may", "might", "must",
        "should", "will", "would", "has", "have", "had",
    ];
    let asked = &*thesaurus::single_words(asked);
    let tokens = tokens(asked);
    let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    // "Under which licence".
    let from = usize::from(texts.get(1).is_some_and(|word| matches!(*word, "what" | "which")));
    let noun = match &texts[from..] {
        ["what" | "which", "is" | "are" | "was" | "were", rest @ ..] => {
            let end = rest.iter().skip(1).position(|word| is_stop_word(word))? + 1;
            rest[..end].last()
        }
        ["what" | "which", rest @ ..] => {
            let end = rest.iter().position(|word| AUXILIARIES.contains(word))?;
            rest[..end].last()
        }
        _ => None,
    };
    noun.filter(|noun| !is_stop_word(noun)).map(|noun| (*noun).to_owned())
}

/// The noun that is counted: "species" of "how many wild bee species live on a roof". What follows it is a verb.
fn counted_noun<'a>(rest: &[&'a str]) -> Option<&'a str> {
    let end = rest.iter().position(|word| is_verb(word) || is_stop_word(word))?;
    rest[..end].last().copied().filter(|noun| *noun != "more")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts;

    #[test]
    fn the_noun_whose_things_are_asked_for_is_told() {
        for (asked, noun) in [
            ("What perks does the firm offer its staff?", Some("perks")),
            ("What are the side effects of this drug?", Some("effects")),
            ("Which rooms are there?", Some("rooms")),
            ("Why does it rain?", None),
        ] {
            assert_eq!(asked_noun(asked).as_deref(), noun, "{asked}");
        }
    }

    #[test]
    fn the_word_that_an_answer_must_have_is_told() {
        let words = prompts::phrases().unwrap();
        for (asked, head) in [
            ("What is the population of Lagos?", Some("population")),
            ("What does it cost to maintain a green roof?", Some("maintain")),
            ("How do you install a green roof?", Some("install")),
            ("How do I look after a green roof?", Some("upkeep")),
            ("How many wild bee species live on a roof?", Some("species")),
            ("How many more live there?", None),
            // "54 % of the storm" says how much rain.
            ("How much rain does a roof hold?", None),
            ("What is the role of p53 in apoptosis?", None),
            ("Is cork strong?", None),
        ] {
            assert_eq!(asked_head(asked, words).as_deref(), head, "{asked}");
        }
    }
}
