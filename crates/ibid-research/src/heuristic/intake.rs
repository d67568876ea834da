//! Refines a question without a model.
use std::collections::BTreeSet;

use crate::prompts;
use crate::prompts::{Phrases, fill_template};
use crate::thesaurus;
use ibid_core::Result;
use ibid_core::domain::words::{Token, is_stop_word, stem, tokens};
use ibid_core::domain::{Brief, Question, QuestionKind, split_sentences};

use super::instructions::without_instructions;
use super::language::language;
use super::lexicon::{is_done_participle, is_verb, spaced};

use super::imperative::as_question;
use super::other_languages::{is_stop_word_in, kind_and_subjects};
use super::question_kind::{HELPING_VERBS, question_kind};
use super::question_parts::definition_and_more;

/// Maximum length of the text that is the question as a whole, in bytes; of longer texts the asking part is taken.
const MAX_QUESTION_BYTES: usize = 600;
/// Most key terms.
const KEY_TERMS: usize = 16;

/// Refines `question`, whose text must not be blank.
pub(crate) fn refine_question(question: &Question) -> Result<Brief> {
    let words = prompts::phrases()?;
    // The language of the question; that of the answer may be another.
    let asked_in = language(&question.text);
    let whole = question_sentence(&question.text, words);
    let asked = without_instructions(&whole)?;
    let asked = as_question(&asked).unwrap_or(asked);
    let (kind, mut subjects) = kind_and_subjects(&asked_in, &asked).unwrap_or_else(|| {
        // "What is X and how is it installed?" is about X.
        let defined = definition_and_more(&asked, words).map(|parts| subjects(&parts.0));
        (question_kind(&asked, words), defined.unwrap_or_else(|| subjects(&asked)))
    });
    let mut terms = key_terms(&asked);
    terms.retain(|term| !is_stop_word_in(&asked_in, &term.to_lowercase()));
    resolve_from_dialogue(question, &asked, words, &mut subjects, &mut terms);
    if subjects.is_empty() {
        subjects.push(asked.trim_end_matches(['?', '.', '!']).to_owned());
    }
    let (scope_in, scope_out) = scope(question, &subjects, kind)?;
    Ok(Brief {
        sharpened: (asked != whole).then_some(whole),
        question: asked,
        kind,
        subjects,
        key_terms: terms,
        scope_in,
        scope_out,
        lang: question.lang.clone().unwrap_or(asked_in),
        clarified: Vec::new(),
    })
}

/// The part of a long text that asks: its questions, or else its instructions, or else its beginning. White
/// space is collapsed.
pub(crate) fn question_sentence(text: &str, words: &Phrases) -> String {
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if squeezed.len() <= MAX_QUESTION_BYTES {
        return squeezed;
    }
    let all: Vec<&str> = split_sentences(&squeezed)
        .into_iter()
        .map(|sentence| &squeezed[sentence])
        .filter(|it| it.len() <= MAX_QUESTION_BYTES)
        .collect();
    let questions: Vec<&str> = all.iter().copied().filter(|text| text.ends_with('?')).collect();
    let orders = || {
        all.iter().copied().filter(|text| {
            let first = tokens(&text[..text.floor_char_boundary(40.min(text.len()))]);
            first
                .iter()
                .find(|it| it.text != "please")
                .is_some_and(|it| words.question.asking.contains(&it.text))
        })
    };
    let chosen: Vec<&str> = if questions.is_empty() { orders().collect() } else { questions };
    let mut taken: Vec<&str> = Vec::new();
    let mut room = MAX_QUESTION_BYTES;
    // The last question matters most; the order is kept.
    for it in chosen.into_iter().rev() {
        if it.len() > room {
            break;
        }
        room -= it.len() + 1;
        taken.push(it);
        if room < 20 {
            break;
        }
    }
    taken.reverse();
    if taken.is_empty() {
        let end = squeezed.floor_char_boundary((MAX_QUESTION_BYTES / 2).min(squeezed.len()));
        let end = squeezed[..end].rfind(' ').unwrap_or(end);
        return squeezed[..end].to_owned();
    }
    taken.join(" ")
}

/// The verb that a question with "do" or "who" asks about: "cool" of "Do green roofs cool the air?". It is the first
/// known verb, or else the word after a name, or else the last word of the run after "do".
pub(crate) fn asked_verb(asked: &str) -> Option<Token> {
    let words = tokens(asked);
    // "Who designed the bridge" has no other verb.
    if let [who, verb, ..] = words.as_slice()
        && who.text == "who"
        && !is_stop_word(&verb.text)
    {
        return Some(verb.clone());
    }
    let aux = words.iter().position(|it| matches!(it.text.as_str(), "do" | "does" | "did"))?;
    let skipped = words[aux + 1..].iter().take_while(|it| is_stop_word(&it.text)).count();
    let run: Vec<&Token> =
        words[aux + 1 + skipped..].iter().take_while(|it| !is_stop_word(&it.text)).collect();
    let known = run.iter().skip(1).find(|token| is_verb(&token.text));
    let names = run.iter().take_while(|token| is_name(asked, token)).count();
    let behind_name = (names > 0).then(|| run.get(names)).flatten();
    let last = (run.len() >= 2).then(|| run.last()).flatten();
    known.or(behind_name).or(last).map(|it| (*it).clone())
}

/// Names and noun phrases of the question as written: runs of words between stop words, without weak words at
/// their ends; most informative first.
pub(crate) fn subjects(asked: &str) -> Vec<String> {
    let mut runs: Vec<(f32, usize, String)> = Vec::new();
    for mut run in noun_runs(asked) {
        trim_weak(asked, &mut run);
        if let (Some(first), Some(last)) = (run.first(), run.last()) {
            let weight = run.iter().map(|token| content_weight(asked, token)).sum::<f32>();
            let text = asked[first.span.start..last.span.end].to_owned();
            // "8 cm of substrate" is about substrate.
            let weight = if is_quantity(&run) { 0.0 } else { weight };
            runs.push((weight, first.span.start, text));
        }
    }
    if runs.iter().any(|run| run.0 > 0.0) {
        runs.retain(|run| run.0 > 0.0);
    }
    // The heaviest first; ties by position.
    runs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut seen = BTreeSet::new();
    runs.into_iter()
        .filter(|run| seen.insert(run.2.to_lowercase()))
        .map(|run| run.2)
        .take(4)
        .collect()
}

/// Runs of content words, split at stop words, punctuation and, in "does X do Y" and "which X do Y", at the verb.
fn noun_runs(asked: &str) -> Vec<Vec<Token>> {
    let mut runs: Vec<Vec<Token>> = vec![Vec::new()];
    let mut helped = false;
    // "Which plants suit 8 cm": the words after "which" are those of its noun up to the verb.
    let mut of_which = false;
    let mut end = 0;
    for (nth, token) in tokens(asked).into_iter().enumerate() {
        let between = &asked[end..token.span.start];
        end = token.span.end;
        let open = runs.len() - 1;
        if !between.chars().all(|c| c.is_whitespace() || matches!(c, '\'' | '’'))
            && !runs[open].is_empty()
        {
            runs.push(Vec::new());
        }
        let open = runs.len() - 1;
        let name = is_name(asked, &token) && nth > 0;
        let behind_noun = runs[open].last().is_some_and(|it| it.text.ends_with('s'));
        let by_pronoun = helped && is_between_pronoun(asked, &token);
        let formed = ["ise", "ize", "ify"].iter().any(|end| token.text.ends_with(end));
        let behind_subject = helped && !runs[open].is_empty();
        let known = behind_subject && (is_verb(&token.text) || formed)
            || of_which && behind_noun && is_verb(&token.text);
        let verb = !name && !is_stop_word(&token.text) && (by_pronoun || known);
        if verb {
            helped = false;
            of_which = false;
        }
        // "Version 16 without downtime" is two things.
        let apart = matches!(token.text.as_str(), "without" | "despite" | "during" | "beyond");
        if verb || (is_stop_word(&token.text) && !name) || is_question_word(&token.text) || apart {
            helped |= HELPING_VERBS.contains(&token.text.as_str());
            of_which = nth == 0 && matches!(token.text.as_str(), "which" | "what");
            runs.push(Vec::new());
        } else {
            runs[open].push(token);
        }
    }
    for run in &mut runs {
        // "which plants survive on": the verb ends the run.
        let done = |it: &Token| is_verb(&it.text) || is_done_participle(&it.text);
        if run.len() > 1 && run.last().is_some_and(|it| done(it) && !is_name(asked, it)) {
            run.pop();
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Whether a run of words is a number of at most three digits, with or without its unit.
fn is_quantity(run: &[Token]) -> bool {
    let [number, rest @ ..] = run else {
        return false;
    };
    let unit = |token: &Token| token.text.chars().count() <= 3 || is_weak(&token.text);
    is_small_number(&number.text) && rest.len() <= 1 && rest.iter().all(unit)
}

fn is_small_number(word: &str) -> bool {
    word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the word follows "you", "we", "I", "they", "it" or "one".
fn is_between_pronoun(asked: &str, token: &Token) -> bool {
    let before = asked[..token.span.start].trim_end().to_lowercase();
    ["you", "we", "i", "they", "it", "one"].iter().any(|it| before.ends_with(&format!(" {it}")))
}

fn trim_weak(text: &str, run: &mut Vec<Token>) {
    let weak = |token: &Token| is_weak(&token.text) && !is_name(text, token);
    while run.first().is_some_and(weak) {
        run.remove(0);
    }
    while run.last().is_some_and(weak) {
        run.pop();
    }
}

pub(crate) fn is_question_word(word: &str) -> bool {
    matches!(
        word,
        "list" | "describe" | "explain" | "compare" | "please" | "define" | "vs" | "versus"
    )
}

/// Whether a lower-case word says little about the subject of a question.
pub(crate) fn is_weak(word: &str) -> bool {
    let weak = prompts::weak_words();
    weak.contains(word)
        || word.strip_suffix('s').is_some_and(|rest| weak.contains(rest))
        || word.strip_suffix("ed").is_some_and(|rest| weak.contains(rest))
        || word.strip_suffix('d').is_some_and(|rest| weak.contains(rest))
        || word.strip_suffix("es").is_some_and(|rest| weak.contains(rest))
        || word.strip_suffix("ing").is_some_and(|rest| weak.contains(rest))
        || word.strip_suffix("est").is_some_and(|rest| weak.contains(rest))
}

/// Whether a word looks like a name: a capital inside a sentence, a digit, or capitals within.
fn is_name(text: &str, token: &Token) -> bool {
    let word = &text[token.span.clone()];
    if word == "I" {
        return false;
    }
    let mut chars = word.chars();
    let first = chars.next().is_some_and(char::is_uppercase);
    let inner = chars.any(|c| c.is_uppercase() || c.is_ascii_digit());
    (first && token.span.start > 0) || inner
}

/// How much a word says about the subject, from its looks: 0 for stop words, up to 2.5.
pub(crate) fn content_weight(text: &str, token: &Token) -> f32 {
    let word = &text[token.span.clone()];
    if is_stop_word(&token.text) {
        return 0.0;
    }
    let inner = word.chars().skip(1).any(char::is_uppercase)
        || (word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(char::is_alphabetic));
    if inner && word.chars().count() > 1 {
        return 2.2;
    }
    if is_weak(&token.text) {
        return if is_name(text, token) { 0.8 } else { 0.35 };
    }
    if is_small_number(word) {
        return 0.8;
    }
    if is_name(text, token) {
        return 1.8;
    }
    1.0 + 0.08 * (token.text.chars().count().min(12) as f32 - 4.0).max(0.0)
}

/// The content words, most informative first, then in order; each stem once.
fn key_terms(asked: &str) -> Vec<String> {
    let asked = &*thesaurus::single_words(asked);
    let words = tokens(asked);
    let mut seen = BTreeSet::new();
    let mut ranked: Vec<(f32, usize, String)> = words
        .iter()
        .filter(|it| !is_stop_word(&it.text) && !is_question_word(&it.text))
        .filter(|it| seen.insert(stem(&it.text)))
        .map(|it| (content_weight(asked, it), it.span.start, asked[it.span.clone()].to_owned()))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|row| row.2).take(KEY_TERMS).collect()
}

/// Adds the subject of the earlier turns to a follow-up that says "it".
fn resolve_from_dialogue(
    question: &Question,
    asked: &str,
    words: &Phrases,
    subjects_now: &mut Vec<String>,
    terms: &mut Vec<String>,
) {
    let leans = words.question.follow_up.any_in(&spaced(asked))
        || tokens(asked).iter().filter(|token| !is_stop_word(&token.text)).count() < 3;
    let turns = question.dialogue.iter().rev().filter_map(|it| it.user.as_deref());
    for (nth, turn) in turns.take(3).enumerate() {
        let part = question_sentence(turn, words);
        // The last turn clarifies even a question that stands alone.
        if !leans && nth > 0 {
            break;
        }
        for it in subjects(&part) {
            if !subjects_now.iter().any(|known| known.eq_ignore_ascii_case(&it)) {
                subjects_now.push(it);
            }
        }
        for it in key_terms(&part) {
            if terms.len() < KEY_TERMS && !terms.iter().any(|known| known.eq_ignore_ascii_case(&it))
            {
                terms.push(it);
            }
        }
    }
}

/// What a question of this kind is on, and what it leaves out: the aspects that nobody asks for with it.
fn scope(
    question: &Question,
    subjects: &[String],
    kind: QuestionKind,
) -> Result<(Vec<String>, Vec<String>)> {
    /// Aspects that a reader may miss.
    const MISSED: [&str; 5] = ["uses", "history", "cost", "risks", "alternatives"];
    let plan = prompts::plan_words()?;
    let words = &plan.scope;
    let planned: Vec<&str> = plan.facets_of(kind).into_iter().map(|facet| facet.0).collect();
    let asked = question.text.to_lowercase();
    let missed = MISSED.into_iter().filter(|name| !planned.contains(name));
    let missed =
        missed.filter_map(|name| plan.facets.get(name)).map(|it| it.heading.to_lowercase());
    let missed: Vec<String> = missed
        .filter(|heading| !heading.split(' ').any(|word| word.len() > 3 && asked.contains(word)))
        .collect();
    let all = subjects.join(", ");
    let mut within = vec![fill_template(&words.within, &[("subject", &all)])];
    if let Some(date) = &question.since {
        within.push(fill_template(&words.since, &[("date", date)]));
    }
    if let Some(date) = &question.until {
        within.push(fill_template(&words.until, &[("date", date)]));
    }
    if !question.domains.is_empty() {
        within.push(fill_template(&words.domains, &[("domains", &question.domains.join(", "))]));
    }
    let mut out = vec![missed.join(", ")];
    out.retain(|text| !text.is_empty() && kind != QuestionKind::Open);
    if !question.not_domains.is_empty() {
        out.push(fill_template(
            &words.out_domains,
            &[("domains", &question.not_domains.join(", "))],
        ));
    }
    Ok((within, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_asked_for_is_told() {
        let verb = |text: &str| asked_verb(text).map(|asked_verb| asked_verb.text);
        let wanted = Some("cool".to_owned());
        assert_eq!(verb("Do green roofs cool the air at street level?"), wanted);
        let wanted = Some("inhibit".to_owned());
        assert_eq!(verb("Does atemoya juice inhibit the CYP1A2 enzyme?"), wanted);
        assert_eq!(verb("Is cork strong?"), None);
    }

    #[test]
    fn subjects_are_the_names_and_noun_phrases() {
        let found = subjects("Is METTL1 overexpression associated with better patient survival?");
        assert_eq!(found[0], "METTL1 overexpression");
        assert!(
            found.contains(&"patient survival".to_owned())
                || found.contains(&"survival".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn the_noun_of_which_ends_at_the_verb() {
        for (asked, noun, rest) in [
            ("Which plants suit 8 cm of substrate?", "plants", "substrate"),
            ("Which ferns tolerate frost?", "ferns", "frost"),
            ("Which mosses absorb ammonia?", "mosses", "ammonia"),
        ] {
            let found = subjects(asked);
            assert!([noun, rest].iter().all(|it| found.iter().any(|text| text == it)), "{found:?}");
        }
        assert_eq!(subjects("Which water plants grow fast?")[0], "water plants");
    }

    #[test]
    fn the_verb_behind_a_pronoun_is_no_subject() {
        assert_eq!(subjects("Can I take ibuprofen with aspirin?"), ["ibuprofen", "aspirin"]);
        assert_eq!(subjects("How do I sort a list in Python?"), ["Python"]);
        let found = subjects("Does Halvern subsidise green roofs?");
        assert!(["green roofs", "Halvern"].iter().all(|it| found.iter().any(|own| own == it)));
    }

    #[test]
    fn a_quantity_is_no_subject() {
        let asked = "What does a green roof cost compared with a bare roof over 40 years?";
        assert_eq!(subjects(asked), ["green roof", "bare roof"]);
        assert_eq!(subjects("Which mosses need 8 cm of soil?"), ["mosses", "soil"]);
        assert_eq!(subjects("What is 42?"), ["42"]);
        assert_eq!(subjects("What happened in Chile in 1960?"), ["Chile", "1960"]);
    }

    #[test]
    fn of_pages_of_text_the_asking_part_is_taken() {
        let words = prompts::phrases().unwrap();
        let text = format!(
            "{} How strong is cork? {}",
            "Cork is a bark. ".repeat(100),
            "It floats. ".repeat(50)
        );
        assert_eq!(question_sentence(&text, words), "How strong is cork?");
    }

    #[test]
    fn languages_are_told() {
        assert_eq!(language("Wie viele Einwohner hat die Stadt München heute?"), "de");
        assert_eq!(language("What is the role of p53 in apoptosis?"), "en");
        assert_eq!(language("什么是人工智能？"), "zh");
    }
}
