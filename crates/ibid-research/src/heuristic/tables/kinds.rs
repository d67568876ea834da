//! Sentences that give a figure for a kind of the thing that a question asks about: "A blue-green roof stores 40 to 80 mm" for
//! "How much water does each roof type hold".
use std::collections::BTreeSet;

use super::measure::{stems, units};
use super::request::TableRequest;
use crate::heuristic::sentence::{SentenceText, claim_text, fitness};
use crate::prompts::SentenceWords;
use crate::thresholds::UNCHECKED_CONFIDENCE;
use ibid_core::domain::words::{Token, numbers, stem, tokens};
use ibid_core::domain::{Evidence, EvidenceId, ItemId, Page, SourceId, Stance};

/// Maximum number of words of a kind, with its article.
const MAX_KIND_WORDS: usize = 5;
/// Maximum number of words before a kind in its clause.
const MAX_LEAD_WORDS: usize = 2;
/// The score of such a sentence, and what each kind adds.
const KIND_SCORE: (f32, f32) = (0.5, 0.1);
/// What joins two clauses.
const JOINTS: [&str; 6] = ["; ", ", while ", ", whereas ", ", and ", ", but ", ": "];

/// The kinds that a sentence gives a figure for, each in a clause of its own.
pub(super) fn kinds_with_figures(request: &TableRequest, text: &str) -> BTreeSet<String> {
    let Some(thing) = request.thing.as_deref() else {
        return BTreeSet::new();
    };
    let named = stems(text);
    let measures = request.measures.iter();
    let measures: Vec<_> =
        measures.filter(|it| it.names.iter().any(|name| named.contains(name))).collect();
    let asked = |unit: &String| {
        request.has_unit(unit) && measures.iter().any(|measure| measure.units.contains(unit))
    };
    let has_figure = |clause: &&str| {
        let of_unit =
            |number: &ibid_core::domain::words::Number| number.unit.as_ref().is_some_and(asked);
        // More than a range is of more than one thing.
        (1..=2).contains(&numbers(clause).iter().filter(|number| of_unit(number)).count())
            && units(clause).iter().any(asked)
    };
    clauses(text).into_iter().filter(has_figure).filter_map(|clause| kind(clause, thing)).collect()
}

/// The kind that a clause begins with: "blue-green roof" of "A blue-green roof stores rain". The thing alone is one, too.
fn kind(clause: &str, thing: &str) -> Option<String> {
    let words = tokens(clause);
    let article = |word: &Token| matches!(word.text.as_str(), "a" | "an" | "the");
    let at = words.iter().take(MAX_LEAD_WORDS + 1).position(article)?;
    let rest = words.iter().skip(at + 1).take(MAX_KIND_WORDS);
    let end = rest.clone().position(|word| stem(&word.text) == thing)?;
    let texts: Vec<&str> = rest.take(end + 1).map(|word| word.text.as_str()).collect();
    Some(texts.join(" "))
}

/// The parts of a sentence that a reader takes as statements of their own.
pub(super) fn clauses(text: &str) -> Vec<&str> {
    let mut parts = vec![text];
    for joint in JOINTS {
        parts = parts.into_iter().flat_map(|part| part.split(joint)).collect();
    }
    parts
}

/// The sentences of a page that give a figure for a kind.
pub(super) fn kind_sentences(
    (item, request): &(ItemId, TableRequest),
    page: &Page,
    source: SourceId,
    words: &SentenceWords,
) -> Vec<Evidence> {
    let sentence = |n: usize| {
        let text = page.sentence(n);
        let kinds = kinds_with_figures(request, text).len();
        let fit = kinds > 0 && fitness(page, n, &SentenceText::new(text), words).is_some();
        Some(Evidence {
            id: EvidenceId::new(1),
            items: vec![*item],
            source,
            passage: page.passage(n, n).filter(|_| fit)?,
            table_header: None,
            heading: None,
            claim: claim_text(text, words),
            stance: Stance::Neutral,
            score: (KIND_SCORE.0 + KIND_SCORE.1 * kinds as f32).min(1.0),
            confidence: UNCHECKED_CONFIDENCE,
            contradiction_or_uncertainty: false,
            round: 1,
        })
    };
    (0..page.sentences().len()).filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;

    #[test]
    fn a_sentence_names_the_kinds_that_it_measures() {
        let brief = test_support::brief("How much water does each barrel type hold (litres)?");
        let request = TableRequest::from_brief(&brief).unwrap();
        for (text, found) in [
            (
                "An oak barrel holds 225 litres of water, while a steel barrel holds 1,000 litres.",
                vec!["oak barrel", "steel barrel"],
            ),
            ("A barrel of oak keeps 200 to 225 litres of rain.", vec!["barrel"]),
            ("An oak barrel weighs 45 kg without water.", vec![]),
            ("Water each barrel with 10 litres.", vec![]),
            (
                "An oak barrel lost 2 litres of water in May, 3 litres in June and 5 litres in July.",
                vec![],
            ),
        ] {
            let kinds: Vec<String> = kinds_with_figures(&request, text).into_iter().collect();
            assert_eq!(kinds, found, "{text}");
        }
    }
}
