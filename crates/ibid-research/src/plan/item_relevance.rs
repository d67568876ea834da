//! Which items of a model's plan serve the question.
use std::collections::BTreeSet;

use ibid_core::domain::words::{content_stems, is_stop_word, stem, tokens};
use ibid_core::domain::{Brief, QuestionKind};

use crate::ask::shapes::PlannedItem;
use crate::heuristic::intake;
use crate::prompts::{self, Phrases};
use crate::thesaurus;

/// Words of items that are about the report: small models confuse the form of a plan with its subject.
const REPORT_FORM_WORDS: [&str; 8] =
    ["report", "goal", "tone", "section", "heading", "directive", "obey", "checklist"];

/// Letters that two words share at their beginning if they are forms of one.
const MIN_SHARED_LETTERS: usize = 4;

/// Least words of an item by which it is told that it is about something else.
const MIN_FOREIGN_WORDS: usize = 2;

/// Words of items that ask what an answer rests or depends on.
const DEPENDENCE_WORDS: [&str; 28] = [
    "affect",
    "cause",
    "change",
    "compare",
    "condition",
    "debate",
    "depend",
    "determine",
    "difference",
    "effect",
    "estimate",
    "evidence",
    "exception",
    "factor",
    "history",
    "impact",
    "influence",
    "limit",
    "measure",
    "mechanism",
    "method",
    "range",
    "reason",
    "reliable",
    "research",
    "study",
    "uncertain",
    "vary",
];

/// Words of items that ask for another side of the subject. Small models plan "environmental impacts of green roofs" whatever is asked of
/// them.
const OTHER_SIDE_WORDS: [&str; 17] = [
    "advantage",
    "aesthetics",
    "benefit",
    "challenge",
    "design",
    "disadvantage",
    "drawback",
    "economy",
    "environmental",
    "future",
    "importance",
    "market",
    "outlook",
    "performance",
    "popularity",
    "sustainability",
    "trend",
];

/// Words that make no other item of one.
const GENERIC_WORDS: [&str; 12] = [
    "analysis",
    "data",
    "detail",
    "example",
    "fact",
    "finding",
    "information",
    "overview",
    "report",
    "research",
    "result",
    "study",
];

/// Whether an item is about the report and not the question.
pub(super) fn is_about_report(brief: &Brief, item: &PlannedItem) -> bool {
    let matter = format!("{} {}", brief.question, brief.key_terms.join(" "));
    let matter = content_stems(&matter);
    let own = content_stems(&item.asks);
    let form = |text: &String| REPORT_FORM_WORDS.iter().any(|word| stem(word) == *text);
    own.iter().any(form) && !own.iter().any(|plan| matter.contains(plan))
}

/// Whether an item names somebody or something that the question does not, and says nothing of its subject. Small models
/// plan `the average rainfall in the United States` for a question about green roofs.
pub(super) fn strays_from_question(brief: &Brief, heading: &str, asks: &str) -> bool {
    let Some(subject) = brief.subjects.first() else {
        return false;
    };
    let subject = content_stems(subject);
    let own = content_stems(&format!("{heading} {asks}"));
    let question = content_stems(&format!("{} {}", brief.question, brief.key_terms.join(" ")));
    if subject.is_empty() {
        return false;
    }
    if own.iter().any(|stem| subject.contains(stem)) {
        return asks_one_thing(brief.kind) && !serves(&own, &subject, &question);
    }
    // The first word of a sentence is capitalised in any case.
    let names = asks.split_whitespace().skip(1);
    let mut names = names.filter(|word| word.starts_with(char::is_uppercase));
    names.any(|name| content_stems(name).iter().any(|stem| !question.contains(stem)))
}

/// Whether `text` has a word of who asks and what for, which is neither in the question nor said of any subject: a context guides
/// the plan and is never a subject.
pub(super) fn has_context_words(brief: &Brief, context: Option<&str>, text: &str) -> bool {
    let (Some(context), Ok(phrases)) = (context, prompts::phrases()) else {
        return false;
    };
    let Ok(facets) = prompts::plan_words() else {
        return false;
    };
    let mut known = general_words(phrases);
    let cues = facets.facets.values().flat_map(|facet| facet.cues.iter());
    known.extend(cues.flat_map(content_stems));
    known.extend(content_stems(&format!("{} {}", brief.question, brief.key_terms.join(" "))));
    let own = content_stems(text);
    content_stems(context).iter().any(|stem| own.contains(stem) && !known.contains(stem))
}

/// The stems of words that can be said of any subject.
fn general_words(phrases: &Phrases) -> BTreeSet<String> {
    let question = &phrases.question;
    let listed = question.aspects.iter().chain(&question.amount_nouns);
    let listed = listed.chain(&question.generic_heads).chain(&question.amount_verbs);
    let words = DEPENDENCE_WORDS.iter().chain(&OTHER_SIDE_WORDS).chain(&GENERIC_WORDS);
    let words = words.chain(&REPORT_FORM_WORDS).map(|it| stem(it));
    listed.flat_map(|text| content_stems(text)).chain(words).collect()
}

/// Whether an item of at least two words has none that the question has, that could be said of any subject, or that is in what
/// was `found` by the question's own words: "How is bread baked?" for a question about roofs. "What does it cost?" is asked of
/// anything, and "How is the bark harvested?" of cork is known from its pages. Where nothing was found, nothing is told.
pub(super) fn is_foreign(brief: &Brief, item: &PlannedItem, found: &BTreeSet<String>) -> bool {
    let text = format!("{} {}", item.heading, item.asks);
    let question = content_stems(&format!("{} {}", brief.question, brief.key_terms.join(" ")));
    let Ok(phrases) = prompts::phrases() else {
        return false;
    };
    let mut known = general_words(phrases);
    known.extend(question.iter().cloned());
    let near = question.iter();
    let near = near.flat_map(|asked| thesaurus::synonyms(asked).chain(thesaurus::related(asked)));
    known.extend(near.map(str::to_owned));
    let text = thesaurus::single_words(&text);
    let own: Vec<String> = tokens(&text).into_iter().map(|token| token.text).collect();
    let own: Vec<&String> = own.iter().filter(|word| !is_stop_word(word)).collect();
    let distinct: BTreeSet<String> = own.iter().map(|word| stem(word)).collect();
    !found.is_empty()
        && distinct.len() >= MIN_FOREIGN_WORDS
        && distinct.is_disjoint(found)
        && !own.iter().any(|word| intake::is_weak(word))
        && distinct.is_disjoint(&known)
}

/// Whether an item is an `earlier` one under another heading: "Rain retention studies" after "Mechanisms of rain retention".
pub(super) fn repeats(brief: &Brief, earlier: &PlannedItem, item: &PlannedItem) -> bool {
    let subject: Vec<String> = brief.subjects.iter().flat_map(|text| content_stems(text)).collect();
    let known = content_stems(&format!("{} {}", earlier.heading, earlier.asks));
    let own = content_stems(&item.heading);
    let plain = |text: &String| GENERIC_WORDS.iter().any(|word| stem(word) == *text);
    own.iter().all(|text| subject.contains(text) || plain(text) || known.contains(text))
}

/// Whether a kind of question asks for one thing, so that another side of the subject is none of it.
fn asks_one_thing(kind: QuestionKind) -> bool {
    use QuestionKind::{Causal, Quantity, When, Where, Who, Why, YesNo};
    matches!(kind, Causal | Quantity | When | Where | Who | Why | YesNo)
}

/// Whether an item's words have one of the question's beyond the subject, in any form ("rainfall" for "rain"), or one that
/// asks what an answer depends on.
fn serves(own: &[String], subject: &[String], question: &[String]) -> bool {
    let related = |a: &str, b: &str| {
        let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
        shared >= MIN_SHARED_LETTERS.min(a.chars().count()).min(b.chars().count())
    };
    let of_question = question.iter().filter(|stem| !subject.contains(stem));
    let of_question: Vec<&String> = of_question.collect();
    let mut own = own.iter().filter(|stem| !subject.contains(stem));
    let is_of = |words: &[&str], stem: &String| words.iter().any(|word| self::stem(word) == *stem);
    let other_side = own.clone().any(|stem| is_of(&OTHER_SIDE_WORDS, stem));
    of_question.is_empty()
        || own.any(|stem| {
            of_question.iter().any(|asked| related(stem, asked))
                || !other_side && is_of(&DEPENDENCE_WORDS, stem)
        })
}

#[cfg(test)]
mod tests {
    use super::super::tests::brief;
    use super::*;

    #[test]
    fn an_item_about_another_subject_is_struck() {
        let strays = |asks: &str| strays_from_question(&brief(), "Background", asks);
        assert!(strays("What is the average annual rainfall in the United States?"));
        assert!(strays("Who founded the German Weather Service?"));
        assert!(!strays("How much do roofs in Germany retain?"));
        assert!(!strays("What does installation cost?"));
    }

    #[test]
    fn an_item_without_a_word_of_the_question_or_its_pages_is_struck_unless_any_subject_could_have_it()
     {
        let found: BTreeSet<String> =
            content_stems("A green roof holds storm water back in its substrate")
                .into_iter()
                .collect();
        let foreign = |heading: &str, asks: &str, found: &BTreeSet<String>| {
            let item = PlannedItem {
                heading: heading.to_owned(),
                asks: asks.to_owned(),
                query: String::new(),
            };
            is_foreign(&brief(), &item, found)
        };
        assert!(foreign("Bread", "How is bread baked?", &found));
        assert!(foreign("Sourdough hydration", "How wet is sourdough?", &found));
        assert!(!foreign("Bread", "How is bread baked?", &BTreeSet::new()));
        for (heading, asks) in [
            ("Cost", "What does it cost?"),
            ("Risks", "What are the risks?"),
            ("Maintenance", "How is it looked after?"),
            ("Storm water", "How is storm water kept back?"),
            ("Substrate", "Which substrate suits sedum?"),
            ("Evidence", "Which studies are there?"),
            ("Regulations", "Which laws apply?"),
            ("Main manufacturers", "Who are the main manufacturers?"),
            ("Seasons", "How much is retained in winter?"),
        ] {
            assert!(!foreign(heading, asks, &found), "{asks}");
        }
    }

    #[test]
    fn an_item_that_repeats_an_earlier_one_is_known() {
        let item = |heading: &str, asks: &str| PlannedItem {
            heading: heading.to_owned(),
            asks: asks.to_owned(),
            query: String::new(),
        };
        let earlier = item("Rain retention mechanisms", "How does a green roof retain rain?");
        let again = |heading: &str| repeats(&brief(), &earlier, &item(heading, "What is known?"));
        assert!(again("Green roof rain retention studies"));
        assert!(again("Rain retention data"));
        assert!(!again("Rain retention in winter"));
        assert!(!again("Costs"));
    }

    #[test]
    fn a_question_that_asks_for_one_thing_has_no_items_on_other_sides() {
        let brief = Brief {
            kind: QuestionKind::Quantity,
            question: "How much rain does a green roof retain?".to_owned(),
            key_terms: vec!["rain".to_owned(), "green roof".to_owned()],
            ..brief()
        };
        let strays = |asks: &str| strays_from_question(&brief, "", asks);
        assert!(strays("What is the future outlook for green roofs?"));
        assert!(strays("Which benefits do green roofs have?"));
        assert!(!strays("How much rainfall does a green roof retain in winter?"));
        assert!(!strays("What does the depth of a green roof depend on?"));
        assert!(!strays("What impact do green roofs have on water retention?"));
        let why = Brief {
            kind: QuestionKind::Why,
            question: "Why do green roofs leak and how can leaks be prevented?".to_owned(),
            key_terms: vec!["leaks".to_owned(), "green roofs".to_owned()],
            ..brief.clone()
        };
        assert!(strays_from_question(&why, "", "Why is green roof longevity important?"));
        assert!(strays_from_question(
            &why,
            "",
            "What are the environmental impacts of green roofs?"
        ));
        assert!(strays_from_question(
            &why,
            "",
            "What are the key factors that influence the performance of green roofs?"
        ));
        assert!(!strays_from_question(&why, "", "Which factors affect it on green roofs?"));
        assert!(!strays_from_question(&why, "", "Which membranes of green roofs leak least?"));
        // An open question has many sides.
        let open = Brief { kind: QuestionKind::Open, ..brief.clone() };
        assert!(!strays_from_question(&open, "", "Which benefits do green roofs have?"));
    }
}
