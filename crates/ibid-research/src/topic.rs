//! Whether a follow-up continues the topic of its thread, and how it reads in that context.
use std::collections::BTreeSet;

use ibid_core::Result;
use ibid_core::domain::words::{content_stems, is_stop_word, stem, tokens};
use ibid_core::domain::{DialogueTurn, Question, TopicRelation};

use super::heuristic::intake::{is_weak, question_sentence, subjects};
use super::heuristic::language::language;
use super::heuristic::lexicon::is_verb;
use super::heuristic::lexicon::spaced;
use super::heuristic::question_kind::question_kind;
use super::prompts::{self, Phrases, ThreadWords};

/// Content words from which a follow-up without a question word is complete.
const MIN_COMPLETE_WORDS: usize = 4;
/// Content words below which a pronoun refers to earlier turns.
const MIN_INDEPENDENT_WORDS: usize = 4;
/// Share of the content words that two nearly equal questions have in common, as a fraction.
const MIN_COMMON_SHARE: (usize, usize) = (2, 3);
/// Maximum length of an earlier question that a fragment is merged into, in bytes; for a longer one its subjects are used.
const MAX_MERGED_BYTES: usize = 300;

/// Whether `question` continues its thread. A phrase that changes the topic ends it; otherwise a phrase that
/// continues, or a shared content word, keeps it.
///
/// # Errors
/// `Internal` when the built-in phrases cannot be read.
pub fn detect_topic(question: &Question) -> Result<TopicRelation> {
    let Some(follows) = &question.follows else {
        return Ok(TopicRelation::First);
    };
    let words = &prompts::phrases()?.thread;
    let normalized = spaced(&question.text);
    if words.turning.any_in(&normalized) {
        return Ok(match asks_aspect_instead(&question.text)? {
            true => TopicRelation::Same,
            false => TopicRelation::Shift,
        });
    }
    Ok(
        if is_continuation(&question.text, &normalized, words)
            || shares_content_word(&question.text, &follows.turns)
        {
            TopicRelation::Same
        } else {
            TopicRelation::Shift
        },
    )
}

/// Whether two questions ask nearly the same: of the same kind, with the same numbers and names, and with
/// most words in common.
///
/// # Errors
/// `Internal` when the built-in phrases cannot be read.
pub fn is_same_question(a: &str, b: &str) -> Result<bool> {
    let words = prompts::phrases()?;
    let numbers = |text: &str| -> BTreeSet<String> {
        let words = tokens(text).into_iter().map(|token| token.text);
        words.filter(|word| word.contains(char::is_numeric)).collect()
    };
    let stems = |text: &str| significant_stems(text).into_iter().collect::<BTreeSet<String>>();
    let (left, right) = (stems(a), stems(b));
    let shared = left.intersection(&right).count();
    let all = left.union(&right).count();
    let most = shared > 0 && shared * MIN_COMMON_SHARE.1 >= all * MIN_COMMON_SHARE.0;
    Ok(most && numbers(a) == numbers(b) && question_kind(a, words) == question_kind(b, words))
}

/// Whether a follow-up only asks for another aspect of what the thread is about: "What about cost instead?"
fn asks_aspect_instead(text: &str) -> Result<bool> {
    let words = prompts::phrases()?;
    let (bare, is_instead) = without_instead(text);
    let (rest, _) = strip_lead_in(bare, &words.thread);
    let aspect = rest.trim_matches(['?', '.', '!', ' ']).to_lowercase();
    let aspect = aspect.strip_prefix("the ").unwrap_or(&aspect);
    let known = &words.question;
    Ok(is_instead
        && (known.aspects.contains(aspect) || known.amount_nouns.iter().any(|it| it == aspect)))
}

/// `text` without an "instead" at its beginning or end, and whether there was one.
fn without_instead(text: &str) -> (&str, bool) {
    const INSTEAD: &str = "instead";
    let ends = [',', ' ', '?', '.', '!'];
    let text = text.trim();
    let bare = text.trim_end_matches(ends);
    let head = bare.len().checked_sub(INSTEAD.len()).and_then(|at| bare.split_at_checked(at));
    if let Some((rest, last)) = head
        && last.eq_ignore_ascii_case(INSTEAD)
        && rest.ends_with(ends)
    {
        return (rest.trim_end_matches(ends), true);
    }
    match text.split_at_checked(INSTEAD.len()) {
        Some((first, rest)) if first.eq_ignore_ascii_case(INSTEAD) && rest.starts_with(',') => {
            (rest.trim_start_matches(ends), true)
        }
        _ => (text, false),
    }
}

fn is_continuation(text: &str, normalized: &str, words: &ThreadWords) -> bool {
    let first = tokens(text).into_iter().next();
    let leads = first.is_some_and(|it| words.leading.contains(&it.text));
    let pronoun =
        words.pronouns.any_in(normalized) && significant_stems(text).len() < MIN_INDEPENDENT_WORDS;
    // "more expensive than" is a comparison and does not ask for more.
    let more = words.more.any_in(normalized) && !words.than.any_in(normalized);
    leads || pronoun || more || words.anywhere.any_in(normalized)
}

/// Whether the thread has a content word of `text`.
fn shares_content_word(text: &str, turns: &[DialogueTurn]) -> bool {
    let before: Vec<String> = turns
        .iter()
        .flat_map(|turn| [&turn.user, &turn.assistant])
        .flatten()
        .flat_map(|it| content_stems(it))
        .collect();
    significant_stems(text).iter().any(|text| before.contains(text))
}

/// The stems of the content words of `text`.
fn significant_stems(text: &str) -> Vec<String> {
    let tells = |text: &str| !is_stop_word(text) && !is_weak(text);
    let words = tokens(text).into_iter();
    words.filter(|it| tells(&it.text)).map(|it| stem(&it.text)).collect()
}

/// The question for intake. On the same topic it is completed from the earlier turns, and the user is asked
/// nothing. The same goes for a question that comes with a dialogue and continues its last question.
pub(crate) fn resolve_in_thread(question: &Question, topic: TopicRelation) -> Result<Question> {
    let mut own = question.clone();
    let words = prompts::phrases()?;
    if question.follows.is_none()
        && is_continuation(&question.text, &spaced(&question.text), &words.thread)
    {
        let mut earlier_turns = question.dialogue.iter().rev().filter_map(|it| it.user.as_deref());
        if let Some(earlier) =
            earlier_turns.find(|earlier_turn| earlier_turn.trim_end().ends_with('?'))
        {
            own.text = complete_question(&question.text, earlier, words);
        }
    }
    if let (TopicRelation::Same, Some(follows)) = (topic, &question.follows) {
        own.clarify = false;
        let mut turns = follows.turns.clone();
        if let Some(earlier) = turns.iter().rev().find_map(|turn| turn.user.clone()) {
            own.text = complete_question(&question.text, &earlier, words);
        }
        turns.append(&mut own.dialogue);
        own.dialogue = turns;
    }
    if topic == TopicRelation::Shift
        && let (rest, true) = without_instead(&question.text)
        && !tokens(rest).is_empty()
    {
        let end = if question.text.trim_end().ends_with('?') { "?" } else { "" };
        own.text = format!("{}{end}", capitalize_first(rest.trim_end_matches('?')));
    }
    Ok(own)
}

/// A follow-up completed from the `earlier` question: "And in winter?" after "How much rain does a roof
/// retain?" becomes "How much rain does a roof retain in winter?". A complete question is unchanged.
fn complete_question(text: &str, earlier: &str, words: &Phrases) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (text, is_instead) = without_instead(&text);
    let text = text.to_owned();
    let earlier = question_sentence(earlier, words);
    if language(&earlier) != "en" {
        return text;
    }
    let bare = earlier.trim_end_matches(['?', '.', '!', ' ']);
    let bare =
        if bare.len() > MAX_MERGED_BYTES { subjects(&earlier).join(" ") } else { bare.to_owned() };
    let (rest, side) = strip_lead_in(&text, &words.thread);
    let side = side || is_instead;
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
        return format!("{}?", capitalize_first(&replace_pronoun(rest, &earlier, words)));
    }
    if significant_stems(rest).len() >= MIN_COMPLETE_WORDS
        || words.question.asking.contains(&first.text)
    {
        return replace_pronoun(&text, &earlier, words);
    }
    if words.thread.prepositions.contains(&first.text) {
        return format!("{bare} {rest}?");
    }
    // "Expand on maintenance" asks about an aspect of the subject and does not repeat the earlier question.
    match question_subject(&earlier, words).filter(|_| side) {
        Some(subject) => match replace_pronoun(rest, &earlier, words) {
            aspect if aspect != rest => format!("{}?", capitalize_first(&aspect)),
            aspect => format!("{} of {subject}?", capitalize_first(&aspect)),
        },
        None => format!("{bare}, and {rest}?"),
    }
}

/// `text` without the phrase that continues the thread, and whether that asks about an aspect of the subject.
fn strip_lead_in<'a>(text: &'a str, words: &ThreadWords) -> (&'a str, bool) {
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
        side |= words.sides.iter().any(|side| *side == low[..taken]);
        rest = rest[taken..].trim_start_matches([' ', ',', ':', ';', '-']);
    }
}

/// The subject of a question, behind its auxiliary verb: in "How much annual rainfall does a green roof
/// retain?" the roof, not the rainfall. Otherwise its heaviest phrase; "Who at FTX is accused of fraud?" has none behind it.
fn question_subject(question: &str, words: &Phrases) -> Option<String> {
    let all = subjects(question);
    let place = |text: &String| question.find(text.as_str());
    let first = all.first()?;
    let auxiliary =
        tokens(question).into_iter().find(|token| words.question.auxiliaries.contains(&token.text));
    let Some(auxiliary) = auxiliary.filter(|auxiliary| place(first) < Some(auxiliary.span.start))
    else {
        return Some(first.clone());
    };
    let at = auxiliary.span.start;
    let next = tokens(&question[auxiliary.span.end..]).into_iter().next();
    if next.is_some_and(|it| is_verb(&it.text) || it.text.ends_with("ed")) {
        return Some(first.clone());
    }
    let behind = all.iter().filter(|it| place(it) > Some(at));
    behind.min_by_key(|it| place(it)).or(Some(first)).cloned()
}

/// `text` with its first pronoun replaced by the subject of the earlier question.
fn replace_pronoun(text: &str, earlier: &str, words: &Phrases) -> String {
    let Some(subject) = question_subject(earlier, words) else {
        return text.to_owned();
    };
    if text.to_lowercase().contains(&subject.to_lowercase()) {
        return text.to_owned();
    }
    match tokens(text).iter().find(|token| words.thread.standing_for.contains(&token.text)) {
        Some(it) => format!("{}{subject}{}", &text[..it.span.start], &text[it.span.end..]),
        None => text.to_owned(),
    }
}

fn capitalize_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLIER: &str = "How much rain does a green roof retain?";

    fn read(text: &str) -> String {
        complete_question(text, EARLIER, prompts::phrases().unwrap())
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
    fn another_aspect_instead_is_one_of_the_same_subject() {
        assert_eq!(read("What about cost instead?"), "Cost of green roof?");
        assert!(asks_aspect_instead("What about the risks instead?").unwrap());
        assert!(!asks_aspect_instead("What about bread instead?").unwrap());
        assert!(!asks_aspect_instead("Why choose sedum instead of moss?").unwrap());
        assert_eq!(without_instead("How is bread made instead?"), ("How is bread made", true));
        assert_eq!(without_instead("Instead, what is rye?"), ("what is rye?", true));
        assert_eq!(without_instead("Moss instead of sedum?"), ("Moss instead of sedum?", false));
    }

    #[test]
    fn whoever_is_accused_is_the_subject_and_not_the_accusation() {
        let phrases = prompts::phrases().unwrap();
        let earlier = "Who at FTX is accused of fraud?";
        let founded = complete_question("And who founded it?", earlier, phrases);
        assert_eq!(founded, "Who founded FTX?");
    }

    #[test]
    fn a_question_of_its_own_gets_the_name_that_a_pronoun_stands_for() {
        assert_eq!(read("And how heavy is it?"), "How heavy is green roof?");
        let own = "How heavy is a green roof when it is wet?";
        assert_eq!(read(own), own);
        let rain = "How much annual rainfall does a green roof retain?";
        let heavy = complete_question(
            "And how much does it weigh when wet?",
            rain,
            prompts::phrases().unwrap(),
        );
        assert_eq!(heavy, "How much does green roof weigh when wet?");
        let cost = "What is a membrane made of?";
        let cost = complete_question("How much does it cost?", cost, prompts::phrases().unwrap());
        assert_eq!(cost, "How much does membrane cost?");
        let order = "Compare extensive and intensive planting";
        assert_eq!(read(order), order);
    }
}
