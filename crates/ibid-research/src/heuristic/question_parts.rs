//! The parts of a question that asks several things.
use crate::prompts::{self, Phrases};
use ibid_core::Result;
use ibid_core::domain::split_sentences;
use ibid_core::domain::words::{is_stop_word, tokens};

use super::asked_facet::facet_alias;
use super::lexicon::{is_done_participle, is_verb, sentence_case};

/// Words of a later part for what an earlier part names.
const PRONOUNS: [&str; 6] = ["it", "they", "them", "he", "she", "him"];

/// The parts of a question that asks several things: each ends with `?`, or the next begins with ", and which
/// …".
pub(crate) fn parts(asked: &str, words: &Phrases) -> Vec<String> {
    if let Some((what, more)) = definition_and_more(asked, words) {
        return vec![what, more];
    }
    if let Some(aspects) = listed_aspects(asked, words) {
        return aspects;
    }
    let mut found = Vec::new();
    let spans = split_sentences(asked);
    // A full stop inside one question ("Rep. Smith") does not split it.
    let several = spans.iter().filter(|span| asked[(*span).clone()].ends_with('?')).count() > 1;
    let spans = if several { spans } else { std::iter::once(0..asked.len()).collect() };
    for span in spans {
        let sentence = &asked[span];
        let mut rest = sentence;
        while let Some(at) = next_part(rest, words) {
            found.push(rest[..at].trim().trim_end_matches(',').to_owned());
            rest = rest[at..].trim_start_matches([',', ' ']);
            rest = rest.strip_prefix("and ").unwrap_or(rest);
        }
        found.push(rest.trim().to_owned());
    }
    if let Some(asking) = found.first().and_then(|first| asking_words(first)).map(str::to_owned) {
        for part in found.iter_mut().skip(1).filter(|part| lacks_subject(part)) {
            *part = format!("{asking} {part}");
        }
    }
    found.retain(|part| {
        let words = tokens(part);
        let told = words.iter().filter(|it| !is_stop_word(&it.text)).count();
        // "When did it reopen?" names its subject before.
        let refers = || words.iter().any(|it| PRONOUNS.contains(&it.text.as_str()));
        told >= 2 || told == 1 && refers()
    });
    found
}

/// The words that a question asks with, up to its verb: "Who", "Which betting platform". `None` if the verb is not known.
fn asking_words(question: &str) -> Option<&str> {
    let words = tokens(question);
    let noun = match words.first()?.text.as_str() {
        "who" => 0,
        "which" | "what" => {
            // "Which betting platform offers": the verb of one thing ends with "s".
            let of_one =
                |nth: usize| words[nth].text.ends_with('s') && !words[nth - 1].text.ends_with('s');
            let is_end = |nth: &usize| {
                let word = words[*nth].text.as_str();
                is_stop_word(word) || is_verb(word) || *nth > 1 && of_one(*nth)
            };
            (1..words.len()).find(is_end)?.checked_sub(1).filter(|nouns| *nouns > 0)?
        }
        _ => return None,
    };
    Some(&question[..words[noun].span.end])
}

/// Whether the parts of a question all ask for one thing: "which shop sells bread and is closed on Monday".
pub(crate) fn is_of_one_thing(asked: &str) -> Result<bool> {
    let words = prompts::phrases()?;
    // Such a part was given the words that the question asks with.
    let lower = asked.to_lowercase();
    let is_given = |part: &String| !lower.contains(&part.to_lowercase());
    Ok(parts(asked, words).iter().skip(1).any(is_given)
        && definition_and_more(asked, words).is_none()
        && listed_aspects(asked, words).is_none())
}

/// Whether a part says more of what an earlier part asks for: "is accused of fraud", "is also the author of a book".
fn lacks_subject(part: &str) -> bool {
    let words = tokens(part);
    let [verb, next, ..] = words.as_slice() else {
        return false;
    };
    let is_participle = next.text.ends_with("ed") || is_done_participle(&next.text);
    matches!(verb.text.as_str(), "is" | "are") && (next.text == "also" || is_participle)
}

/// "The pros and cons, costs and risks of X" as "Pros and cons of X", "Costs of X" and "Risks of X". `None` where the list has
/// no comma or a word that names no aspect.
fn listed_aspects(asked: &str, words: &Phrases) -> Option<Vec<String>> {
    let text = asked.trim().trim_end_matches(['?', '.', '!']);
    let lower = text.to_ascii_lowercase();
    let (at, joint) =
        [" of ", " for ", " about "].iter().find_map(|it| Some((lower.find(it)?, *it)))?;
    let subject = text.get(at + joint.len()..)?.trim();
    let list = lower[..at].trim();
    let opening =
        words.question.aspect_openings.iter().find_map(|it| list.strip_prefix(it.as_str()));
    let list = opening.unwrap_or(list).trim_start().trim_start_matches("the ");
    // What speaks for something and what speaks against it are told apart.
    if let Some((one, other)) = list.split_once(" and ")
        && facet_alias(one) == Some("benefits")
        && (other == "risks" || facet_alias(other) == Some("drawbacks"))
        && !subject.is_empty()
    {
        return Some(vec![
            format!("What are the {one} of {subject}"),
            format!("What are the {other} of {subject}"),
        ]);
    }
    if !list.contains(',') || subject.is_empty() {
        return None;
    }
    let mut aspects: Vec<String> = Vec::new();
    for piece in list.split(',') {
        let piece = piece.trim().trim_start_matches("and ").trim_start_matches("the ");
        // "History and risks" are two aspects, "pros and cons" is one.
        let pair = words.question.aspects.contains(piece);
        let single: Vec<&str> = if pair { vec![piece] } else { piece.split(" and ").collect() };
        for aspect in single {
            if !words.question.aspects.contains(aspect.trim()) {
                return None;
            }
            aspects.push(format!("{} of {subject}", sentence_case(aspect.trim())));
        }
    }
    (aspects.len() >= 2).then_some(aspects)
}

/// "What is X and how to use it?" as "What is X?" and "How to use X?": both are too short to be recognised by their words.
pub(crate) fn definition_and_more(asked: &str, words: &Phrases) -> Option<(String, String)> {
    let lower = asked.to_ascii_lowercase();
    let opening = ["what is ", "what are "].into_iter().find(|it| lower.starts_with(it))?;
    let at = lower.find(" and ")?;
    let rest = asked.get(at + " and ".len()..)?.trim().trim_end_matches(['?', '.']);
    let mut next = rest.split(' ');
    let word = next.next()?.to_ascii_lowercase();
    // "What are the what and how of X" has no subject before the "and".
    let subject = asked.get(opening.len()..at)?.trim().trim_end_matches(',');
    if !words.question.parts.contains(&word) || next.next().is_none() || subject.is_empty() {
        return None;
    }
    let named: Vec<&str> = rest
        .split(' ')
        .map(|word| if matches!(word, "it" | "them" | "they") { subject } else { word })
        .collect();
    let more = sentence_case(&named.join(" "));
    Some((format!("{}{subject}?", &asked[..opening.len()]), format!("{more}?")))
}

/// Where the next part begins: at a comma or "and" before a question word.
fn next_part(text: &str, words: &Phrases) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    [", and ", " and ", "; "]
        .iter()
        .flat_map(|joint| lower.match_indices(joint))
        .filter(|(at, joint)| {
            let after = lower[at + joint.len()..].split(' ').next().unwrap_or_default();
            let enough =
                tokens(&text[..*at]).iter().filter(|token| !is_stop_word(&token.text)).count() >= 2;
            enough && words.question.parts.iter().any(|part| part == after)
        })
        .map(|(at, _)| at)
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aspects_that_a_question_lists_are_its_parts() {
        let words = prompts::phrases().unwrap();
        let told =
            parts("What are the pros and cons, costs, history and risks of green roofs?", words);
        assert_eq!(
            told,
            [
                "Pros and cons of green roofs",
                "Costs of green roofs",
                "History of green roofs",
                "Risks of green roofs",
            ]
        );
        for whole in [
            "What are the signs and symptoms of gout?",
            "What is the capital, and largest city, of Peru?",
        ] {
            assert_eq!(parts(whole, words), [whole]);
        }
    }

    #[test]
    fn what_is_it_and_how_to_use_it_are_two_questions() {
        let words = prompts::phrases().unwrap();
        let told = parts("What is Terraform and how to use it?", words);
        assert_eq!(told, ["What is Terraform?", "How to use Terraform?"]);
        let told = parts("What are green roofs, and why do they leak?", words);
        assert_eq!(told, ["What are green roofs?", "Why do green roofs leak?"]);
        let whole = "What is the link between cork and wine?";
        assert_eq!(parts(whole, words), [whole]);
    }

    #[test]
    fn a_question_of_two_parts_is_split() {
        let words = prompts::phrases().unwrap();
        let found = parts(
            "What methods detect pancreatic cancer risk, and which genetic syndromes are relevant?",
            words,
        );
        assert_eq!(
            found,
            ["What methods detect pancreatic cancer risk", "which genetic syndromes are relevant?"]
        );
        assert_eq!(parts("Is cork strong and light?", words).len(), 1);
        for (asked, last) in [
            ("Who is on trial for fraud, and is accused of theft?", "Who is accused of theft?"),
            (
                "Which betting platform offers a bonus, and is also expected in Vermont?",
                "Which betting platform is also expected in Vermont?",
            ),
            ("What causes rust, and is steel affected?", "is steel affected?"),
            ("Why was the pool closed, and when did it reopen?", "when did it reopen?"),
            ("Which drugs treat gout, and are they safe for babies?", "are they safe for babies?"),
        ] {
            assert_eq!(parts(asked, words).last().unwrap(), last);
        }
    }
}
