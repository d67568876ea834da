//! Instructions in running text: which of them advise, and which are sayings, offers or taken back.
use ibid_core::domain::{BlockKind, Page, Sentence};

use super::lexicon::{has_phrase, spaced};
use super::sentence::{MAX_SENTENCE_WORDS, MEMBER_FITNESS, ends_like_a_sentence, is_imperative};
use crate::prompts::SentenceWords;

/// How well a sentence stands alone that opens a paragraph by telling what to do, however short: "Measure your debt." `None` for others.
pub(crate) fn opening_step_fitness(page: &Page, n: usize, words: &SentenceWords) -> Option<f32> {
    let all = page.sentences();
    let own = all.get(n)?;
    let before = n.checked_sub(1).and_then(|before| all.get(before));
    let opens = own.kind == BlockKind::Prose && before.is_none_or(|it| it.block != own.block);
    let text = page.sentence(n);
    let directs = ends_like_a_sentence(text) && is_imperative(&text.to_lowercase(), words);
    let fits = text.split_whitespace().count() <= MAX_SENTENCE_WORDS;
    (opens && directs && fits && !is_no_advice(text)).then_some(MEMBER_FITNESS)
}

/// Whether an instruction is somebody's saying or a call to a customer: "Leave the gate open, people say", "Call us for a quote".
pub(crate) fn is_told_of_others(text: &str) -> bool {
    const OTHERS: [&str; 11] = [
        "say",
        "says",
        "said",
        "wrote",
        "call us",
        "contact us",
        "send us",
        "sign up",
        "subscribe",
        "newsletter",
        "free quote",
    ];
    let lower = spaced(text);
    OTHERS.iter().any(|it| has_phrase(&lower, it))
}

/// Whether what opens a paragraph sells, or says what not to do: "Build there and the house will flood".
fn is_no_advice(text: &str) -> bool {
    let lower = spaced(text);
    let sells = ["buy", "euros", "pounds", "dollars"].iter().any(|it| has_phrase(&lower, it));
    sells
        || lower.starts_with(" never ")
        || has_phrase(&lower, "and") && has_phrase(&lower, "will")
        || is_told_of_others(text)
}

/// Whether the sentence after an instruction takes it back.
pub(crate) fn is_taken_back(page: &Page, n: usize, words: &SentenceWords) -> bool {
    let all = page.sentences();
    let same_block = |next: &&Sentence| all.get(n).is_some_and(|own| own.block == next.block);
    let next = all.get(n + 1).filter(same_block);
    next.is_some_and(|_| takes_back(page.sentence(n + 1)))
        && is_imperative(&page.sentence(n).to_lowercase(), words)
}

/// Whether a sentence takes back the instruction before it: "That was the advice of the 1950s, and it made things worse."
pub(crate) fn takes_back(text: &str) -> bool {
    const AGAINST: [&str; 10] = [
        "said", "advice", "worse", "wrong", "mistake", "myth", "drowned", "failed", "harmful",
        "lost",
    ];
    let lower = spaced(text);
    let points_back = [" that ", " this ", " it "].iter().any(|it| lower.starts_with(it));
    points_back && AGAINST.iter().any(|it| has_phrase(&lower, it))
}
