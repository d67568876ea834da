//! Reads what is told to be listed as a question: "List three risk factors for gout." asks what they are.
use ibid_core::domain::words::{Token, is_stop_word, tokens};

use super::lexicon::number_of_word;

/// Verbs that tell somebody to list.
const LISTING: [&str; 4] = ["enumerate", "identify", "list", "name"];
/// What may stand between such a verb and the thing: "name me at least two of the".
const BETWEEN: [&str; 14] = [
    "a", "all", "an", "any", "at", "few", "least", "me", "of", "several", "some", "the", "up", "us",
];
/// Words behind which more is said of the thing: "risk factors for gout".
const JOINTS: [&str; 14] = [
    "at", "between", "by", "except", "for", "from", "in", "of", "on", "that", "to", "under",
    "which", "with",
];

/// `text` as a question if it tells to list something; the number of things is left out.
pub(crate) fn as_question(text: &str) -> Option<String> {
    let words = tokens(text);
    let from = usize::from(words.first().is_some_and(|it| it.text == "please"));
    let verb = words.get(from).filter(|it| LISTING.contains(&&*it.text))?;
    let rest = &words[from + 1..];
    let is_number = |word: &Token| {
        number_of_word(&word.text).is_some() || word.text.bytes().all(|it| it.is_ascii_digit())
    };
    let between = |word: &&Token| BETWEEN.contains(&&*word.text) || is_number(word);
    let thing = rest.iter().find(|word| !between(word))?;
    // "Name of the bridge", "List: …" tell nobody anything.
    let leads = text[verb.span.end..thing.span.start].trim();
    if rest.first().is_some_and(|word| word.text == "of")
        || leads.contains(|c: char| c.is_ascii_punctuation())
        || text.contains('?')
        || is_stop_word(&thing.text)
    {
        return None;
    }
    let named = rest.iter().skip_while(|word| word.span.start < thing.span.start);
    let joins = |word: &&Token| JOINTS.contains(&&*word.text) || is_stop_word(&word.text);
    let head = named.take_while(|word| !joins(word)).last()?;
    let many = head.text.ends_with('s') && !head.text.ends_with("ss");
    // "Name changes of a city", "List price": no command without what counts or determines the thing, or several things.
    if leads.is_empty() && (verb.text == "name" || !many) {
        return None;
    }
    let is = if many { "are" } else { "is" };
    let rest = text[thing.span.start..].trim_end_matches(['.', '!', ' ']);
    Some(format!("What {is} the {rest}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_to_be_listed_is_asked_for() {
        for (told, asked) in [
            ("List three risk factors for gout.", "What are the risk factors for gout?"),
            ("Please name at least two causes of rust", "What are the causes of rust?"),
            ("Name the capital of Peru.", "What is the capital of Peru?"),
            ("Identify 3 of the lakes in Kenya.", "What are the lakes in Kenya?"),
            (
                "List all bridges that were closed in 2019.",
                "What are the bridges that were closed in 2019?",
            ),
        ] {
            assert_eq!(as_question(told).as_deref(), Some(asked));
        }
    }

    #[test]
    fn other_openings_stay_as_they_are() {
        for text in [
            "Name of the longest bridge",
            "Name changes of the city of Varn",
            "List price of copper",
            "List: copper, tin, zinc",
            "Listing buildings in Bath",
            "Which names are listed?",
            "Name the ship. Who built it?",
        ] {
            assert_eq!(as_question(text), None, "{text}");
        }
    }
}
