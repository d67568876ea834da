//! Checks that a model's sentence says no more than its quotes.
use ibid_core::domain::words::{content_stems, stem, tokens};
use ibid_core::domain::{Brief, QuestionKind};

use super::grounding::{
    adds_cause, borrows_question, changes_bound, drops_restriction, has_misplaced_name,
    has_unknown_code, has_unknown_number, has_unknown_statement, states_the_asked,
};
use super::heuristic::language::{confident_language, language};
use super::near_copies::is_weakened_copy;

/// Whether `text` has a number, code, name, cause, bound or statement that `quotes` lack, copies one of them without what limits it, is in another language than the question of
/// `brief`, or only repeats it. Codes and names of the question count as known; its numbers and other words do not.
pub(crate) fn overstates(text: &str, brief: &Brief, quotes: &[&str]) -> bool {
    let question = brief.question.as_str();
    // A comparison has two subjects.
    let count = if brief.kind == QuestionKind::Comparison { 2 } else { 1 };
    let subject = brief.subjects.iter().take(count).cloned().collect::<Vec<_>>().join(" ");
    let known = quotes.iter().copied().chain([question]);
    let is_english_yes_no = brief.kind == QuestionKind::YesNo && brief.lang == "en";
    has_unknown_number(text, quotes)
        || has_unknown_code(text, known.clone())
        || has_unknown_statement(text, known)
        || adds_cause(text, quotes)
        || changes_bound(text, quotes)
        || drops_restriction(text, quotes)
        || is_weakened_copy(text, quotes)
        || borrows_question(text, question, &subject, quotes)
        || is_english_yes_no && states_the_asked(text, question, quotes)
        || has_misplaced_name(text, question, quotes)
        || adds_asked_member(text, question, quotes)
        || has_empty_subject(text)
        || is_other_language(text, brief)
        || brief.kind != QuestionKind::YesNo && repeats_question(text, question)
}

/// Whether a text joins a word of the question that no quote has to one that a quote has: "energy for heating and cooling" of a quote on
/// heating, where the question is on cool roofs.
fn adds_asked_member(text: &str, question: &str, quotes: &[&str]) -> bool {
    let asked = content_stems(question);
    let quoted: Vec<_> = quotes.iter().flat_map(|quote| content_stems(quote)).collect();
    let words = tokens(text);
    words.windows(3).filter(|three| matches!(three[1].text.as_str(), "and" | "or")).any(|three| {
        let (one, other) = (stem(&three[0].text), stem(&three[2].text));
        let is_added = |word: &String| asked.contains(word) && !quoted.contains(word);
        quoted.contains(&one) && is_added(&other) || quoted.contains(&other) && is_added(&one)
    })
}

/// Whether a text says something of "the figure" or "the answer", which says neither of what nor by whom: "the figure is 78 %".
fn has_empty_subject(text: &str) -> bool {
    let lower = text.to_lowercase();
    let begins = |noun: &str| {
        lower
            .strip_prefix("the ")
            .and_then(|it| it.strip_prefix(noun))
            .is_some_and(|it| it.starts_with(" is "))
    };
    ["figure", "answer", "value", "number", "amount", "percentage"].iter().any(|noun| begins(noun))
}

/// Whether a text has no word of its own: "green roofs and cool roofs compare", for a question to compare them.
fn repeats_question(text: &str, question: &str) -> bool {
    let asked = content_stems(question);
    let own = content_stems(text);
    !own.is_empty() && own.iter().all(|stem| asked.contains(stem))
}

/// Whether a text is certainly in another language than the question.
fn is_other_language(text: &str, brief: &Brief) -> bool {
    let other = confident_language(text).is_some_and(|text| text != brief.lang);
    other && language(&brief.question) == brief.lang
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::brief;

    #[test]
    fn a_word_of_the_question_is_not_joined_to_those_of_a_quote() {
        let asked = "Compare green roofs with cool roofs";
        let quote =
            ["In buildings with little insulation, green roofs saved 8 % of the heating energy."];
        let adds = |text: &str| adds_asked_member(text, asked, &quote);
        assert!(adds("Green roofs reduce the energy needed for heating and cooling."));
        assert!(!adds("Green roofs reduce the energy needed for heating."));
        assert!(!adds("Roofs and heating are one."));
    }

    #[test]
    fn a_sentence_that_only_repeats_the_question_says_nothing() {
        let asked = brief("Compare green roofs with cool roofs");
        let quote = ["A cool roof costs 18 euros, and a green roof costs 110 euros."];
        assert!(overstates("Green roofs and cool roofs compare", &asked, &quote));
        assert!(!overstates("A cool roof costs 18 euros.", &asked, &quote));
        let quote = ["Our roofs retain 78 % of annual rainfall."];
        assert!(overstates("The figure is 78 % of annual rainfall.", &asked, &quote));
        let asked = brief("Do cool roofs cost less?");
        assert!(!overstates("Cool roofs cost less.", &asked, &["Cool roofs cost less."]));
    }
}
