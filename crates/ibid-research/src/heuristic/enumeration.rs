//! What a sentence enumerates.
use ibid_core::domain::words::{Token, is_stop_word, stem, tokens};

use super::lexicon::{has_phrase, is_verb, spaced};

/// Maximum number of words of an item of an enumeration.
const MAX_ITEM_WORDS: usize = 6;
/// Words that announce the items, which stand after them.
const ANNOUNCEMENTS: [&str; 5] = ["including", "include", "includes", "as", "namely"];
/// Stop words that an item may have.
const ITEM_STOP_WORDS: [&str; 6] = ["a", "an", "the", "other", "some", "all"];

/// Last words of what leads to a list in the same sentence, and its most words.
const LEADS_TO_LIST: [&str; 7] =
    ["are", "following", "follows", "include", "includes", "including", "is"];
const MAX_LEAD_WORDS: usize = 16;

/// What leads to a list in the same sentence: "Such risk factors include" of "Such risk factors include: age, smoking, and diabetes".
pub(crate) fn lead_to_own_list(text: &str) -> Option<&str> {
    let (lead, listed) = text.split_once(':')?;
    let words = tokens(lead);
    let announces = words.last().is_some_and(|it| LEADS_TO_LIST.contains(&&*it.text));
    let lists = listed.split_whitespace().count() > 1;
    (announces && words.len() <= MAX_LEAD_WORDS && lists).then_some(lead)
}

/// Phrases that exclude what they are said of.
const EXCLUSIONS: [&str; 6] = ["avoid", "avoids", "shun", "shuns", "ruled out", "once thought"];

/// Whether a sentence excludes what it lists, "foxes and badgers avoid green roofs", and the question does not ask for that.
pub(crate) fn excludes(asked: &str, text: &str) -> bool {
    let has = |text: &str| EXCLUSIONS.iter().any(|it| has_phrase(&spaced(text), it));
    has(text) && !has(asked)
}

/// Whether a sentence has what the question is about as one item of an enumeration: in "diseases such as gout, lupus and psoriasis" no
/// item answers "which foods cause gout?"
pub(super) fn enumerates_subject(asked: &str, text: &str) -> bool {
    // The first is what is asked for: "which foods".
    let subject: Vec<String> =
        content_words(&tokens(asked), |word| !is_verb(word)).into_iter().skip(1).collect();
    if subject.is_empty() {
        return false;
    }
    let is_subject = |item: &Vec<String>| {
        subject.iter().all(|word| item.contains(word))
            && item.iter().all(|word| subject.contains(word))
    };
    let runs = runs(text);
    let has_subject = |run: &Vec<Item>| run.iter().any(|it| is_subject(&it.stems));
    // "Green roofs, the lightest of all, …" has one item beside it.
    let is_long =
        |run: &Vec<Item>| run.len() >= if run.iter().any(|it| it.announced) { 2 } else { 3 };
    runs.iter().any(|run| has_subject(run) && is_long(run))
        && !runs.iter().any(|run| !has_subject(run) && run.len() > 1)
}

/// The items that follow one another, in their order.
fn runs(text: &str) -> Vec<Vec<Item>> {
    let (mut runs, mut run) = (Vec::new(), Vec::new());
    for part in parts(text) {
        let found = item(&part);
        let ends = found.as_ref().is_none_or(|it| it.is_last);
        if found.as_ref().is_some_and(|it| it.announced) {
            runs.push(std::mem::take(&mut run));
        }
        run.extend(found);
        if ends {
            runs.push(std::mem::take(&mut run));
        }
    }
    runs.push(run);
    runs
}

/// A part of a sentence that may be an item of an enumeration.
struct Item {
    stems: Vec<String>,
    /// Whether a word such as "including" stands before it.
    announced: bool,
    /// Whether the sentence goes on after it: "psoriasis come in attacks".
    is_last: bool,
}

/// The parts between commas, semicolons and conjunctions, without what stands in brackets.
fn parts(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ';' | ':' | '–' | '—' if depth == 0 => out.push(','),
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    let joined = out.replace("--", ",").replace(" and ", ", ").replace(" or ", ", ");
    joined.split(',').map(str::to_owned).filter(|it| !it.trim().is_empty()).collect()
}

/// The item that a part is; `None` of a part with a word that no item has, or too long for one.
fn item(part: &str) -> Option<Item> {
    let words = tokens(part);
    let announced = words.iter().rposition(|it| ANNOUNCEMENTS.contains(&it.text.as_str()));
    let own: &[Token] = &words[announced.map_or(0, |at| at + 1)..];
    let fits = |it: &&Token| {
        !is_verb(&it.text)
            && (!is_stop_word(&it.text) || ITEM_STOP_WORDS.contains(&it.text.as_str()))
    };
    let length = own.iter().take_while(fits).count();
    let stems = content_words(&own[..length], |_| true);
    (length <= MAX_ITEM_WORDS && !stems.is_empty()).then(|| Item {
        stems,
        announced: announced.is_some(),
        is_last: length < own.len(),
    })
}

/// The stems of the content words for which `keep` holds.
fn content_words(words: &[Token], keep: impl Fn(&str) -> bool) -> Vec<String> {
    let taken = words.iter().filter(|it| !is_stop_word(&it.text) && keep(&it.text));
    taken.map(|it| stem(&it.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_among_others_is_told_from_one_with_members() {
        let (gout, roofs) = ("Which foods cause gout?", "Which animals live on green roofs?");
        for (asked, text, among) in [
            (gout, "Diseases such as gout, lupus and psoriasis come in attacks.", true),
            (gout, "Lupus (LE), gout (AU), and psoriasis are all inflammatory.", true),
            (gout, "Foods that cause gout include liver, herring and beer.", false),
            (roofs, "Bees, beetles and spiders live on green roofs.", false),
            (roofs, "Parks, gardens and green roofs feed insects.", true),
            (roofs, "Parks, yards and green roofs feed bees, beetles and ants.", false),
            (roofs, "Places such as parks, green roofs, and gardens house bees.", true),
            (roofs, "Green roofs, if planted with thyme, sage and chive, feed bees.", false),
            (roofs, "On green roofs, bees, beetles and ants live.", false),
        ] {
            assert_eq!(enumerates_subject(asked, text), among, "{text}");
        }
    }
}
