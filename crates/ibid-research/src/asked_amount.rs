//! Whether a figure is the amount that a question asks for.
use std::collections::BTreeSet;

use ibid_core::domain::split_sentences;
use ibid_core::domain::words::{Token, content_stems, is_stop_word, numbers, stem, tokens};

use super::heuristic::language::confident_language;
use super::prompts;
use super::thesaurus;

/// Whether a figure is told as the amount that is asked for, which no quote names, or names of another thing: "the cost is 14 kg" of
/// 14 kg of carbon dioxide, "the roof costs 2.90 euros" of what its maintenance costs.
pub(crate) fn borrows_amount(text: &str, asked: &str, quotes: &[&str]) -> bool {
    let is_foreign = |quote: &&str| confident_language(quote).is_some_and(|code| code != "en");
    if numbers(text).is_empty() || quotes.iter().any(is_foreign) {
        return false;
    }
    let asked = content_stems(asked);
    let there: BTreeSet<String> = quotes.iter().flat_map(|quote| content_stems(quote)).collect();
    let named =
        |stem: &str| there.contains(stem) || thesaurus::synonyms(stem).any(|it| there.contains(it));
    let amounts = amount_stems();
    let said = content_stems(text);
    let mut told = said.iter().filter(|stem| asked.contains(*stem) && amounts.contains(*stem));
    let of_another = || {
        let quoted =
            numbers(text).into_iter().filter_map(|number| subject_of(quotes, number.value));
        quoted.into_iter().any(|subject| !subject.iter().all(|stem| said.contains(stem)))
    };
    told.any(|stem| !named(stem) || of_another())
}

/// The stems of the subject of the sentence of `quotes` that has a figure, where it begins with an uncapitalised noun or such
/// words: "maintenance" of "The maintenance has cost 2.90 euros". `None` where a sentence begins otherwise, or several have the figure.
fn subject_of(quotes: &[&str], figure: f64) -> Option<Vec<String>> {
    let sentences = quotes.iter().flat_map(|quote| {
        split_sentences(quote).into_iter().map(|span| quote[span].trim()).collect::<Vec<_>>()
    });
    let mut having = sentences.filter(|it| numbers(it).iter().any(|it| it.value == figure));
    let (sentence, None) = (having.next()?, having.next()) else {
        return None;
    };
    let words = tokens(sentence);
    let articles = ["the", "a", "an"];
    let from = usize::from(words.first().is_some_and(|it| articles.contains(&it.text.as_str())));
    let is_noun = |word: &&Token| {
        let small =
            word.span.start == 0 || sentence[word.span.clone()].starts_with(char::is_lowercase);
        small && !is_stop_word(&word.text) && word.text.chars().all(char::is_alphabetic)
    };
    let amounts = amount_stems();
    let subject: Vec<String> = words[from..]
        .iter()
        .take_while(is_noun)
        .map(|word| stem(&word.text))
        .take_while(|stem| !amounts.contains(stem))
        .collect();
    (!subject.is_empty()).then_some(subject)
}

/// The stems of words for an amount: "cost", "weight".
fn amount_stems() -> BTreeSet<String> {
    let words = prompts::phrases().map(|phrases| &phrases.question);
    let words = words.into_iter().flat_map(|it| it.amount_nouns.iter().chain(&it.amount_verbs));
    words.filter(|word| !word.contains(' ')).map(|word| stem(word)).collect()
}
