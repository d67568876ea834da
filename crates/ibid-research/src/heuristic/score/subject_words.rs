//! The words of a question that name its subject.
use crate::heuristic::intake::content_weight;
use crate::heuristic::lexicon::StemInterner;
use crate::heuristic::lexicon::is_verb;
use ibid_core::domain::Brief;
use ibid_core::domain::words::{Token, is_stop_word, tokens};

/// Pairs of neighbouring words in the question's subjects, in lower case: the specifying word and the kind.
pub(super) fn subject_pairs(brief: &Brief) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for subject in &brief.subjects {
        let words = tokens(subject);
        let tells = |token: &Token| content_weight(subject, token) >= 1.0 && !is_verb(&token.text);
        if let [.., which, kind] = words.as_slice()
            && tells(which)
            && kind.text.chars().all(char::is_alphabetic)
            && !is_verb(&kind.text)
        {
            pairs.push((which.text.clone(), kind.text.clone()));
        }
    }
    pairs
}

/// Nouns for the kind of what a code before them names.
const KIND_NOUNS: [&str; 8] =
    ["enzyme", "gene", "protein", "receptor", "drug", "virus", "molecule", "hormone"];
/// Weight from which a word is a code, as [`content_weight`] gives it to words with inner capitals or digits.
const CODE_WEIGHT: f32 = 2.0;

/// Verbs that a question for an amount may end with.
const AMOUNT_VERBS: [&str; 6] = ["cost", "earn", "hold", "last", "measure", "weigh"];

/// The words of a question that end a noun phrase: "pool" of "how much does a swimming pool weigh". Not the kind that is
/// sought: its members answer "which animals live there".
pub(super) fn asked_things(lexicon: &mut StemInterner, question: &str) -> Vec<u32> {
    let words = tokens(question);
    let tells = |token: &Token| content_weight(question, token) >= 1.0 && !is_verb(&token.text);
    let ends = |at: usize| words.get(at + 1).is_none_or(|next| !tells(next));
    // "Cost" of "how much does a ticket cost" is a verb there.
    let asks = words.iter().any(|it| matches!(it.text.as_str(), "do" | "does" | "did"));
    let is_verb_here = |at: usize, token: &Token| {
        asks && at + 1 == words.len() && AMOUNT_VERBS.contains(&token.text.as_str())
    };
    let things = words
        .iter()
        .enumerate()
        .filter(|(at, token)| tells(token) && ends(*at) && !is_verb_here(*at, token));
    let sought = sought_noun(question);
    // The CYP1A2 enzyme is CYP1A2.
    let of_code = |at: usize| {
        let before = at.checked_sub(1).map(|before| &words[before]);
        before.filter(|token| content_weight(question, token) >= CODE_WEIGHT)
    };
    let is_kind = |token: &Token| KIND_NOUNS.contains(&token.text.as_str());
    let named = things.map(|(at, token)| {
        let code = of_code(at).filter(|_| is_kind(token));
        &code.unwrap_or(token).text
    });
    let named = named.filter(|it| Some(*it) != sought.as_ref());
    named.flat_map(|word| lexicon.part_ids(word)).collect()
}

/// The noun after "which" or "what" at the beginning of a question: the kind of thing sought.
pub(super) fn sought_noun(question: &str) -> Option<String> {
    let mut words = tokens(question).into_iter();
    let asks = words
        .next()
        .is_some_and(|it| matches!(it.text.as_str(), "which" | "what" | "list" | "name"));
    let noun = words.find(|it| !matches!(it.text.as_str(), "the" | "all" | "some"))?;
    (asks && !is_stop_word(&noun.text) && !is_verb(&noun.text)).then_some(noun.text)
}
