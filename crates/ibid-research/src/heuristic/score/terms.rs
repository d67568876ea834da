//! The content words of a question: their weights, related words, and names.
use crate::prompts;
use crate::thresholds::{ASPECT_VERB_WEIGHT, QUERY_RELATED_WEIGHT, QUERY_SYNONYM_WEIGHT};
use std::collections::HashMap;

use crate::heuristic::asked_facet::{facet_alias, judged_facet};
use crate::heuristic::asked_head::asked_head;
use crate::heuristic::asked_years::only_asks;
use crate::heuristic::intake::{asked_verb, content_weight, is_weak};
use crate::heuristic::lexicon::{StemInterner, derived_words};
use crate::thesaurus;
use ibid_core::domain::words::{is_stop_word, stem, tokens};
use ibid_core::domain::{Brief, ChecklistItem};

/// A question term and its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedTerm {
    pub(super) id: u32,
    pub(super) weight: f32,
}

/// The content words of `text` that are in `terms`, or all where `terms` is empty.
pub(super) fn terms_of(
    lexicon: &mut StemInterner,
    text: &str,
    terms: &[String],
) -> Vec<WeightedTerm> {
    let mut found: Vec<WeightedTerm> = Vec::new();
    let (asks_years, judged) = (only_asks(text), judged_facet(text));
    let only_asks =
        |word: &str| asks_years(word) || judged.is_some() && facet_alias(word).is_some();
    let text = &*thesaurus::single_words(text);
    for token in tokens(text) {
        let weight = content_weight(text, &token);
        if weight <= 0.0 || is_stop_word(&token.text) || only_asks(&token.text) {
            continue;
        }
        // The parts of a hyphenated word count, unless they are too short to mean anything.
        let word = &text[token.span.clone()];
        let parts: Vec<&str> =
            word.split(['-', '‐', '‑']).filter(|part| part.chars().count() >= 3).collect();
        if parts.len() > 1 {
            for part in parts {
                for id in lexicon.ids(part) {
                    push_term(&mut found, id, weight * 0.7);
                }
            }
        } else {
            for id in lexicon.ids(word) {
                push_term(&mut found, id, weight);
            }
        }
    }
    // Terms from earlier turns are not in the text of the question.
    for term in terms.iter().filter(|term| !only_asks(term)) {
        for id in lexicon.ids(term) {
            push_term(&mut found, id, 0.9);
        }
    }
    found
}

pub(super) fn push_term(found: &mut Vec<WeightedTerm>, id: u32, weight: f32) {
    if !found.iter().any(|term| term.id == id) {
        found.push(WeightedTerm { id, weight });
    }
}

pub(super) fn part_terms(
    lexicon: &mut StemInterner,
    item: &ChecklistItem,
    side: bool,
    brief: &Brief,
) -> Vec<WeightedTerm> {
    if side {
        return terms_of(lexicon, &item.terms.join(" "), &[]);
    }
    let mut text = item.asks.clone();
    if !brief.subjects.iter().any(|subject| item.asks.contains(subject.as_str()))
        && let Some(subject) = brief.subjects.first()
    {
        text = format!("{text} {subject}");
    }
    terms_of(lexicon, &text, &[])
}

/// The words of what is asked besides the subject of the question: "installed" of "how is a green roof installed".
pub(super) fn aspect_terms(
    lexicon: &mut StemInterner,
    asked: &str,
    brief: &Brief,
) -> Vec<WeightedTerm> {
    let subject = brief.subjects.first().map(String::as_str).unwrap_or_default();
    let subject: Vec<u32> = lexicon.ids(subject);
    let mut terms = terms_of(lexicon, asked, &[]);
    terms.retain(|term| term.weight >= 1.0 && !subject.contains(&term.id));
    if terms.is_empty()
        && let Some(id) = asked_word(lexicon, asked).filter(|id| !subject.contains(id))
    {
        terms.push(WeightedTerm { id, weight: ASPECT_VERB_WEIGHT });
    }
    terms
}

/// The one word that says what is asked, of a question whose other words say little: "maintain" of "how do I maintain a roof",
/// "last" of "how long does a roof last".
pub(super) fn asked_word(lexicon: &mut StemInterner, asked: &str) -> Option<u32> {
    let words = prompts::phrases().ok()?;
    let plain = thesaurus::single_words(asked);
    let verb = || asked_verb(&plain).map(|verb| verb.text);
    // "What is it made from" asks for no making.
    let first = tokens(&plain).into_iter().next()?.text;
    let head = asked_head(asked, words).filter(|_| matches!(first.as_str(), "how" | "which"));
    let word = head.or_else(verb)?;
    (!words.sentence.light_verbs.contains(&word)).then(|| lexicon.id(&word))
}

/// What stands after "anti" in words for what is against it.
const ANTI: [&str; 8] =
    ["cancer", "tumor", "tumour", "inflammatory", "microbial", "bacterial", "viral", "fungal"];

/// For each word of the texts, its replacements: near-synonyms and words of the same field.
pub(super) fn related_terms<'a>(
    lexicon: &mut StemInterner,
    texts: impl Iterator<Item = &'a String>,
) -> HashMap<u32, Vec<(u32, f32)>> {
    let mut kin: HashMap<u32, Vec<(u32, f32)>> = HashMap::new();
    for text in texts {
        let text = &*thesaurus::single_words(text);
        for token in tokens(text).into_iter().filter(|token| !is_stop_word(&token.text)) {
            let own = lexicon.id(&token.text);
            let stem = stem(&token.text);
            let near = thesaurus::synonyms(&stem).map(|synonym| (synonym, QUERY_SYNONYM_WEIGHT));
            let same_field = thesaurus::related(&stem).map(|text| (text, QUERY_RELATED_WEIGHT));
            let derived = derived_words(&token.text);
            let row = kin.entry(own).or_default();
            let derived = derived.iter().map(|word| (word.0.as_str(), word.1));
            // What is anticancer is against cancer.
            let against = token.text.strip_prefix("anti").filter(|it| ANTI.contains(it));
            let against = against.map(|rest| (rest, QUERY_SYNONYM_WEIGHT));
            for (other, worth) in derived.chain(near).chain(same_field).chain(against) {
                let id = lexicon.id(other);
                if id != own && !row.iter().any(|pair| pair.0 == id) {
                    row.push((id, worth));
                }
            }
        }
    }
    kin
}

/// The names of a question: runs of capitalised words, in lower case, each with its last word.
pub(super) fn question_names(lexicon: &mut StemInterner, question: &str) -> Vec<(String, u32)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for token in tokens(question) {
        if content_weight(question, &token) < 1.8 {
            continue;
        }
        match runs.last_mut() {
            Some(run) if question[run.1..token.span.start].trim().is_empty() => {
                run.1 = token.span.end
            }
            _ => runs.push((token.span.start, token.span.end)),
        }
    }
    runs.into_iter()
        .filter_map(|(from, to)| {
            let name = question[from..to].to_lowercase();
            // In "Eagle-Barrett Syndrome" the last word names a kind, not the thing.
            let words = || question[from..to].rsplit(' ');
            let last =
                words().find(|word| !is_weak(&word.to_lowercase())).or_else(|| words().next())?;
            let part = last.split(['-', '‐', '‑']).max_by_key(|part| part.chars().count())?;
            let last = *lexicon.ids(part).last()?;
            let bare =
                name.strip_suffix("'s").or(name.strip_suffix("’s")).unwrap_or(&name).to_owned();
            Some((bare, last))
        })
        .collect()
}

/// The long and the short form around an opening bracket: "basal cell carcinoma (BCC)". The letters of the
/// short form must begin the words of the long form in order (Schwartz and Hearst 2003, simplified).
pub(super) fn abbreviation(text: &str, open: usize) -> Option<(&str, &str)> {
    let inside = &text[open + 1..];
    let short = &inside[..inside.find([')', ';', ','])?];
    let letters: Vec<char> = short.chars().filter(|c| c.is_alphabetic()).collect();
    let capitals = letters.iter().filter(|c| c.is_uppercase()).count();
    // "G-quadruplexes (G4)" has one letter and a digit.
    let is_numbered =
        letters.len() == 1 && capitals == 1 && short.chars().any(|c| c.is_ascii_digit());
    let is_lettered = (2..=8).contains(&letters.len()) && capitals >= 2;
    if !(is_lettered || is_numbered) || short.contains(' ') {
        return None;
    }
    let before = text[..open].trim_end();
    let words = tokens(before);
    let wanted: Vec<char> =
        letters.iter().filter(|c| c.is_uppercase()).flat_map(|c| c.to_lowercase()).collect();
    let from = words.len().saturating_sub(wanted.len() + 2);
    for start in (from..words.len()).rev() {
        let mut initials = words[start..]
            .iter()
            .flat_map(|it| it.text.split('-').filter_map(|part| part.chars().next()));
        let matched = wanted.iter().all(|c| initials.any(|initial| initial == *c));
        let first = words[start].text.chars().next() == wanted.first().copied();
        if matched && first {
            return Some((&before[words[start].span.start..], short));
        }
    }
    // Letters from inside a word: "ameloblastoma (AB)", "periampullary carcinoma (PAC)".
    let from = words.len().saturating_sub(wanted.len().min(4));
    (from..words.len())
        .rev()
        .map(|start| &before[words[start].span.start..])
        .find(|long| long.len() >= 2 * short.len() && is_spelled_in(long, &wanted))
        .map(|long| (long, short))
}

/// Whether `long` contains the letters in order, beginning with the first.
fn is_spelled_in(long: &str, letters: &[char]) -> bool {
    let mut text = long.chars().flat_map(char::to_lowercase);
    letters.first().copied() == text.next()
        && letters.iter().skip(1).all(|c| text.any(|text| text == *c))
}
