//! Takes instructions on the form of the answer out of a question: "No bibliography, please." is nothing to research.
use ibid_core::Result;
use ibid_core::domain::split_sentences;
use ibid_core::domain::words::{Token, is_stop_word, tokens};

use super::lexicon::{sentence_case, spaced};
use crate::prompts::{self, PhraseSet};

/// What somebody who asks for a text asks to do…
const WRITING: &[&str] = &["compile", "draft", "give", "prepare", "provide", "write"];
/// …and to be given.
const TEXTS: &[&str] =
    &["article", "briefing", "essay", "memo", "overview", "paper", "report", "summary"];
/// What stands before such a request, or before its text: "could you please write me a".
const POLITE: &[&str] =
    &["please", "kindly", "can", "could", "would", "you", "me", "us", "a", "an", "the"];
/// Behind such a text, what it is about.
const ABOUT: &[&str] = &["on", "about", "of", "regarding", "concerning"];
/// Most words that describe the text: "a short and simple report".
const MAX_TEXT_WORDS: usize = 3;
/// Sentences that begin so say who asks.
const ASKERS: &[&str] =
    &["i am a", "i am an", "i am the", "i'm a", "i'm an", "i'm the", "we are a", "we are an"];
/// The content words of an opening that only leads to the question behind its colon.
const OPENING_WORDS: &[&str] = &[
    "answer",
    "ask",
    "brief",
    "explain",
    "help",
    "know",
    "like",
    "need",
    "please",
    "question",
    "report",
    "short",
    "summary",
    "tell",
    "understand",
    "want",
    "wonder",
    "wondering",
    "write",
];
/// Words of a question that point to what was said before it.
const POINTERS: &[&str] = &[
    "i", "i'm", "my", "me", "we", "our", "us", "it", "its", "they", "their", "them", "this",
    "that", "these", "those", "he", "she", "his", "her",
];
/// Units of a length.
const LENGTHS: &[&str] = &["word", "words", "sentence", "sentences", "paragraph", "paragraphs"];
/// Words between "in" and the unit of a length, besides numbers.
const BOUNDS: &[&str] = &[
    "a", "about", "around", "at", "fewer", "few", "less", "max", "maximum", "more", "most", "no",
    "one", "single", "than", "three", "to", "two", "under", "up",
];

/// The question without its instructions on form; unchanged where nothing else would be left.
pub(crate) fn without_instructions(asked: &str) -> Result<String> {
    let unlisted = &prompts::plan_words()?.writing.unlisted;
    let auxiliaries = &prompts::phrases()?.question.auxiliaries;
    let sentences: Vec<&str> = split_sentences(asked).into_iter().map(|it| &asked[it]).collect();
    let mut kept: Vec<String> = Vec::new();
    for sentence in &sentences {
        let others = sentences.iter().filter(|other| *other != sentence);
        if sentences.len() > 1 && is_on_asker(sentence) && !others.clone().any(|it| points_back(it))
        {
            continue;
        }
        let matter = without_opening(sentence);
        let matter = without_unlisted(matter, unlisted);
        let matter = without_length(&matter, auxiliaries);
        // What was not touched is left as it is: "And in winter?" has no content word of its own.
        if matter == *sentence {
            kept.push(matter);
        } else if has_content(&matter) {
            kept.push(sentence_case(matter.trim()));
        }
    }
    let rest = kept.join(" ");
    Ok(if has_content(&rest) { rest } else { asked.to_owned() })
}

/// Whether a text wants no list of sources.
pub(crate) fn leaves_out_sources(text: &str) -> Result<bool> {
    Ok(prompts::plan_words()?.writing.unlisted.any_in(&spaced(text)))
}

fn has_content(text: &str) -> bool {
    tokens(text).iter().any(|it| !is_stop_word(&it.text) && it.text != "please")
}

fn is_on_asker(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    !sentence.ends_with('?') && ASKERS.iter().any(|own| lower.starts_with(&format!("{own} ")))
}

/// Whether a question points to what was said before it: "Can I eat mango?" depends on who asks.
fn points_back(question: &str) -> bool {
    tokens(question).iter().any(|it| POINTERS.contains(&it.text.as_str()))
}

/// Without "please write a short report on", and without what leads to a question behind a colon.
fn without_opening(sentence: &str) -> &str {
    let words = tokens(sentence);
    if let Some((opening, question)) = sentence.split_once(": ")
        && sentence.ends_with('?')
        && !opening.contains('?')
        && !points_back(question)
    {
        let opening_words = tokens(opening);
        let mut content = opening_words.iter().filter(|it| !is_stop_word(&it.text));
        if is_on_asker(opening) || content.all(|it| OPENING_WORDS.contains(&it.text.as_str())) {
            return question;
        }
    }
    requested_matter(sentence, &words).unwrap_or(sentence)
}

/// What a requested text is about: "green roofs" of "write a short report on green roofs".
fn requested_matter<'a>(sentence: &'a str, words: &[Token]) -> Option<&'a str> {
    let skip = |from: usize| {
        let polite = words[from..].iter().take_while(|it| POLITE.contains(&it.text.as_str()));
        from + polite.count()
    };
    let verb = skip(0);
    WRITING.contains(&words.get(verb)?.text.as_str()).then_some(())?;
    let from = skip(verb + 1);
    matches!(words[from - 1].text.as_str(), "a" | "an").then_some(())?;
    let described = words.get(from..)?.iter().take(MAX_TEXT_WORDS + 1);
    let text = from + described.clone().position(|it| TEXTS.contains(&it.text.as_str()))?;
    let rest = &sentence[words[text].span.end..];
    let behind_colon = rest.trim_start().strip_prefix(':');
    let about = words.get(text + 1).filter(|it| ABOUT.contains(&it.text.as_str()));
    let matter = behind_colon.or_else(|| about.map(|it| &sentence[it.span.end..]))?;
    (!matter.trim().is_empty()).then_some(matter.trim())
}

/// Without "no bibliography, please", where that is not what is asked about.
fn without_unlisted(sentence: &str, unlisted: &PhraseSet) -> String {
    let lower = sentence.to_ascii_lowercase();
    let found = unlisted.all_in(&spaced(sentence)).into_iter().max_by_key(|it| it.len());
    let Some((at, phrase)) = found.and_then(|it| Some((lower.find(it)?, it))) else {
        return sentence.to_owned();
    };
    let before = sentence[..at].trim_end();
    let apart = before.is_empty() || before.ends_with([',', ';', ':', '(', '-', '–', '.', '?']);
    if !apart && lower[at..].starts_with("no ") {
        return sentence.to_owned();
    }
    cut(sentence, at, at + phrase.len())
}

/// Without "in 200 words" at the beginning or the end.
fn without_length(sentence: &str, auxiliaries: &[String]) -> String {
    let words = tokens(sentence);
    let Some(unit) = words.iter().position(|it| LENGTHS.contains(&it.text.as_str())) else {
        return sentence.to_owned();
    };
    let is_bound = |it: &&Token| {
        BOUNDS.contains(&it.text.as_str()) || it.text.chars().all(|c| c.is_ascii_digit())
    };
    let start = unit - words[..unit].iter().rev().take_while(is_bound).count();
    let Some(within) = start.checked_sub(1).filter(|at| start < unit && words[*at].text == "in")
    else {
        return sentence.to_owned();
    };
    // "How many letters are in 200 words?" asks about them.
    let asked = within.checked_sub(1).is_some_and(|at| {
        let own = &words[at];
        let joined = sentence[own.span.end..words[within].span.start].trim().is_empty();
        joined && auxiliaries.contains(&own.text)
    });
    let ends = words[unit + 1..].iter().all(|it| it.text == "please");
    if asked || !(within == 0 || ends) {
        return sentence.to_owned();
    }
    cut(sentence, words[within].span.start, words[unit].span.end)
}

/// `text` without its bytes from `start` to `end`, the commas around them and a "please".
fn cut(text: &str, start: usize, end: usize) -> String {
    const JOINTS: [char; 7] = [' ', ',', ';', ':', '(', '-', '–'];
    let before = text[..start].trim_end_matches(JOINTS);
    let after = text[end..].trim_start_matches([' ', ',', ':', ')']);
    let polite = after.strip_prefix("please").filter(|rest| !rest.starts_with(char::is_alphabetic));
    let after = polite.unwrap_or(after).trim_start_matches([' ', ',']);
    let sticks = before.is_empty() || after.is_empty() || after.starts_with(['?', '.', '!']);
    format!("{before}{}{after}", if sticks { "" } else { " " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_question_depends_on_stays() {
        for text in [
            "We found lead in our tap water: is it safe to drink?",
            "I have a flat roof of 1950: can it carry soil?",
            "I am a diabetic. Can I eat mango?",
            "Would Rome have fallen: what do historians say?",
        ] {
            assert_eq!(without_instructions(text).unwrap(), text);
        }
    }

    #[test]
    fn instructions_are_taken_out_of_a_question() {
        let asked = "Do green roofs leak?";
        for text in [
            "Do green roofs leak? No bibliography, please.",
            "Do green roofs leak, without a bibliography?",
            "Do green roofs leak, in 200 words, please?",
            "In at most 200 words: do green roofs leak?",
            "Do green roofs leak? In three sentences, please.",
            "Please write a short report: do green roofs leak?",
            "Could you write me a summary of this question: do green roofs leak?",
            "I am a roofer. Do green roofs leak?",
            "I'm a roofer and need to know: do green roofs leak?",
            "Please tell me: do green roofs leak?",
        ] {
            assert_eq!(without_instructions(text).unwrap(), asked, "{text}");
        }
        let told = without_instructions("Please write a short report on green roofs in Halvern.");
        assert_eq!(told.unwrap(), "Green roofs in Halvern.");
    }

    #[test]
    fn what_is_asked_about_is_no_instruction() {
        for text in [
            "Why does the Bible have no bibliography?",
            "How many letters are in 200 words?",
            "Green roof or cool roof: which cools a city better?",
            "And in winter?",
            "What is a report on climate?",
            "Who wrote the first report on acid rain?",
            "No bibliography, please.",
            "I am a cat is a novel by whom?",
            "Write a poem about rain.",
        ] {
            assert_eq!(without_instructions(text).unwrap(), text);
        }
    }
}
