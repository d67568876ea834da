//! Whether a follow-up goes on with what its thread spoke of, and what it says when it is read with that (row C11).
use std::collections::BTreeSet;

use crate::domain::words::{content_stems, is_stop, stem, tokens};
use crate::domain::{Question, Topic, Turn};
use crate::error::Result;

use super::prompts::{self, Phrases, ThreadWords};
use super::unaided::intake::{asking_part, is_weak, subjects};
use super::unaided::kinds::kind_of;
use super::unaided::language::language;
use super::unaided::lexicon::{any_phrase, spaced};

/// Telling words from which on a follow-up without a question word is taken to say all it means.
const WHOLE: usize = 4;
/// Telling words below which a pronoun speaks of what was said before.
const SHORT: usize = 4;
/// Of the telling words of two questions that ask nearly the same, so many of so many are in both.
const ALIKE: (usize, usize) = (2, 3);
/// Longest earlier question that a fragment is added to, bytes; of a longer one its subjects stand for it.
const LONGEST: usize = 300;

/// Whether `question` goes on with its thread: a word that turns away ends it; else a word that goes on, or a telling word
/// that both share, keeps it.
///
/// # Errors
/// `Internal` where the words to tell it by cannot be read.
pub fn topic(question: &Question) -> Result<Topic> {
    let Some(follows) = &question.follows else {
        return Ok(Topic::First);
    };
    let words = &prompts::phrases()?.thread;
    let said = spaced(&question.text);
    if any_phrase(&said, &words.turning) {
        return Ok(Topic::Shift);
    }
    Ok(
        match goes_on(&question.text, &said, words) || shares(&question.text, &follows.turns) {
            true => Topic::Same,
            false => Topic::Shift,
        },
    )
}

/// Whether two questions ask nearly the same: the same kind of thing, with the same numbers and names, in words of which
/// most are shared (row B15).
///
/// # Errors
/// `Internal` where the words to tell it by cannot be read.
pub fn alike(a: &str, b: &str) -> Result<bool> {
    let words = prompts::phrases()?;
    let numbers = |it: &str| -> BTreeSet<String> {
        let words = tokens(it).into_iter().map(|it| it.text);
        words.filter(|it| it.contains(char::is_numeric)).collect()
    };
    let told = |it: &str| telling(it).into_iter().collect::<BTreeSet<String>>();
    let (left, right) = (told(a), told(b));
    let shared = left.intersection(&right).count();
    let all = left.union(&right).count();
    let most = shared > 0 && shared * ALIKE.1 >= all * ALIKE.0;
    Ok(most && numbers(a) == numbers(b) && kind_of(a, words) == kind_of(b, words))
}

fn goes_on(text: &str, said: &str, words: &ThreadWords) -> bool {
    let first = tokens(text).into_iter().next();
    let leads = first.is_some_and(|it| words.leading.contains(&it.text));
    let pronoun = any_phrase(said, &words.pronouns) && telling(text).len() < SHORT;
    // "more expensive than" compares; it asks for no more.
    let more = any_phrase(said, &words.more) && !any_phrase(said, &words.than);
    leads || pronoun || more || any_phrase(said, &words.anywhere)
}

/// Whether a telling word of `text` was said in the thread.
fn shares(text: &str, turns: &[Turn]) -> bool {
    let before: Vec<String> = turns
        .iter()
        .flat_map(|it| [&it.user, &it.assistant])
        .flatten()
        .flat_map(|it| content_stems(it))
        .collect();
    telling(text).iter().any(|it| before.contains(it))
}

/// The stems of the words of `text` that tell what it is about.
fn telling(text: &str) -> Vec<String> {
    let tells = |it: &str| !is_stop(it) && !is_weak(it);
    let words = tokens(text).into_iter();
    words
        .filter(|it| tells(&it.text))
        .map(|it| stem(&it.text))
        .collect()
}

/// The question as intake takes it: on the same topic read whole, with what was said before and nothing asked back; alike
/// where a dialogue came with it whose last question it goes on with (row E1).
pub(crate) fn in_thread(question: &Question, topic: Topic) -> Result<Question> {
    let mut own = question.clone();
    let words = prompts::phrases()?;
    if question.follows.is_none() && goes_on(&question.text, &spaced(&question.text), &words.thread)
    {
        let mut said = question
            .dialogue
            .iter()
            .rev()
            .filter_map(|it| it.user.as_deref());
        if let Some(earlier) = said.find(|it| it.trim_end().ends_with('?')) {
            own.text = whole(&question.text, earlier, words);
        }
    }
    if let (Topic::Same, Some(follows)) = (topic, &question.follows) {
        own.clarify = false;
        let mut turns = follows.turns.clone();
        if let Some(earlier) = turns.iter().rev().find_map(|it| it.user.clone()) {
            own.text = whole(&question.text, &earlier, words);
        }
        turns.append(&mut own.dialogue);
        own.dialogue = turns;
    }
    Ok(own)
}

/// What a follow-up asks when it is read after `earlier`: "And in winter?" after "How much rain does a roof retain?" is "How
/// much rain does a roof retain in winter?". What says enough by itself stays as it is.
fn whole(text: &str, earlier: &str, words: &Phrases) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let earlier = asking_part(earlier, words);
    if language(&earlier) != "en" {
        return text;
    }
    let bare = earlier.trim_end_matches(['?', '.', '!', ' ']);
    let bare = match bare.len() > LONGEST {
        true => subjects(&earlier).join(" "),
        false => bare.to_owned(),
    };
    let (rest, side) = without_lead(&text, &words.thread);
    let rest = rest.trim_end_matches(['?', '.', '!', ' ']);
    let rest = rest.strip_suffix("please").unwrap_or(rest);
    let rest = rest.trim_end_matches([',', ' ']);
    let Some(first) = tokens(rest).into_iter().next() else {
        return format!("{bare}?");
    };
    let asks = words.question.parts.contains(&first.text)
        || words.question.auxiliaries.contains(&first.text)
        || first.text == "whose";
    if asks {
        return format!("{}?", capital(&named(rest, &earlier, words)));
    }
    if telling(rest).len() >= WHOLE || words.question.asking.contains(&first.text) {
        return named(&text, &earlier, words);
    }
    if words.thread.prepositions.contains(&first.text) {
        return format!("{bare} {rest}?");
    }
    // "Expand on maintenance" asks for a side of the subject, not for the earlier question once more.
    match spoken_of(&earlier, words).filter(|_| side) {
        Some(subject) => match named(rest, &earlier, words) {
            told if told != rest => format!("{}?", capital(&told)),
            told => format!("{} of {subject}?", capital(&told)),
        },
        None => format!("{bare}, and {rest}?"),
    }
}

/// `text` without what only says that it goes on, and whether that asks for a side of the subject.
fn without_lead<'a>(text: &'a str, words: &ThreadWords) -> (&'a str, bool) {
    let mut rest = text;
    let mut side = false;
    loop {
        let low = rest.to_ascii_lowercase();
        let ends = |lead: &String| {
            let after = low.strip_prefix(lead.as_str())?;
            (!after.starts_with(char::is_alphanumeric)).then_some(lead.len())
        };
        // The longest first: "what about" and not "what".
        let Some(taken) = words.leads.iter().filter_map(ends).max() else {
            return (rest, side);
        };
        side |= words.sides.iter().any(|it| *it == low[..taken]);
        rest = rest[taken..].trim_start_matches([' ', ',', ':', ';', '-']);
    }
}

/// What a question speaks of: "How much annual rainfall does a green roof retain?" of the roof, behind its auxiliary, and not
/// of the rainfall; else what weighs most in it.
fn spoken_of(question: &str, words: &Phrases) -> Option<String> {
    let all = subjects(question);
    let place = |it: &String| question.find(it.as_str());
    let first = all.first()?;
    let auxiliary = tokens(question)
        .into_iter()
        .find(|it| words.question.auxiliaries.contains(&it.text));
    let Some(at) = auxiliary
        .map(|it| it.span.start)
        .filter(|at| place(first) < Some(*at))
    else {
        return Some(first.clone());
    };
    let behind = all.iter().filter(|it| place(it) > Some(at));
    behind.min_by_key(|it| place(it)).or(Some(first)).cloned()
}

/// `text` with what the earlier question speaks of in the place of the first word that stands for it.
fn named(text: &str, earlier: &str, words: &Phrases) -> String {
    let Some(subject) = spoken_of(earlier, words) else {
        return text.to_owned();
    };
    if text.to_lowercase().contains(&subject.to_lowercase()) {
        return text.to_owned();
    }
    match tokens(text)
        .iter()
        .find(|it| words.thread.standing_for.contains(&it.text))
    {
        Some(it) => format!(
            "{}{subject}{}",
            &text[..it.span.start],
            &text[it.span.end..]
        ),
        None => text.to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLIER: &str = "How much rain does a green roof retain?";

    fn read(text: &str) -> String {
        whole(text, EARLIER, prompts::phrases().unwrap())
    }

    #[test]
    fn a_fragment_is_read_with_the_question_before_it() {
        let winter = "How much rain does a green roof retain in winter?";
        assert_eq!(read("And in winter?"), winter);
        assert_eq!(read("in winter"), winter);
        assert_eq!(read("What about in winter?"), winter);
        let slopes = "How much rain does a green roof retain, and steep slopes?";
        assert_eq!(read("What about steep slopes?"), slopes);
        assert_eq!(read("Go deeper, please."), EARLIER);
        let side = "Maintenance of green roof?";
        assert_eq!(read("Expand on maintenance, please."), side);
        assert_eq!(read("Tell me more about its cost"), "Green roof cost?");
    }

    #[test]
    fn a_question_of_its_own_gets_the_name_that_a_pronoun_stands_for() {
        assert_eq!(read("And how heavy is it?"), "How heavy is green roof?");
        let own = "How heavy is a green roof when it is wet?";
        assert_eq!(read(own), own);
        let rain = "How much annual rainfall does a green roof retain?";
        let heavy = whole(
            "And how much does it weigh when wet?",
            rain,
            prompts::phrases().unwrap(),
        );
        assert_eq!(heavy, "How much does green roof weigh when wet?");
        let cost = "What is a membrane made of?";
        let cost = whole("How much does it cost?", cost, prompts::phrases().unwrap());
        assert_eq!(cost, "How much does membrane cost?");
        let order = "Compare extensive and intensive planting";
        assert_eq!(read(order), order);
    }
}
