//! Which kind of answer a question wants.
use std::collections::BTreeSet;

use crate::prompts::Phrases;
use ibid_core::domain::QuestionKind;
use ibid_core::domain::words::{content_stems, is_stop_word, tokens};

use super::asked_facet::judged_facet;
use super::lexicon::{begins_with_phrase, has_phrase, spaced};

/// Verbs that come before the subject of a question; its verb follows the subject.
pub(crate) const HELPING_VERBS: &[&str] =
    &["do", "does", "did", "can", "could", "should", "will", "would", "may", "might", "must"];

/// Maximum number of words of a question that only names two things to choose from.
const MAX_CHOICE_WORDS: usize = 12;

/// The kind of answer that the question `asked` needs.
pub(crate) fn question_kind(asked: &str, words: &Phrases) -> QuestionKind {
    let q = &words.question;
    let whole = spaced(asked);
    let start = whole.trim_start();
    let opens = |phrases: &[String]| begins_with_phrase(start, phrases);
    if opens(&q.how_to) || asks_how_it_is_done(start, words) || asks_what_to_do(start) {
        return QuestionKind::HowTo;
    }
    if opens(&q.quantity) || asks_amount(start, words) {
        return QuestionKind::Quantity;
    }
    if asks_date(start) {
        return QuestionKind::When;
    }
    if q.comparison.any_in(&whole) && !opens(&q.auxiliaries) {
        return QuestionKind::Comparison;
    }
    if asks_to_choose(start) || differing_things(asked).is_some() {
        return QuestionKind::Comparison;
    }
    if opens(&q.auxiliaries) {
        return yes_no_kind(&whole, words);
    }
    // What speaks for something has other words than "benefits", and is no list of names.
    if judged_facet(asked).is_some() {
        return QuestionKind::Open;
    }
    let by_opening = [
        (&q.when, QuestionKind::When),
        (&q.who, QuestionKind::Who),
        (&q.r#where, QuestionKind::Where),
        (&q.why, QuestionKind::Why),
        (&q.list, QuestionKind::List),
        (&q.definition, QuestionKind::Definition),
    ];
    for (phrases, kind) in by_opening {
        if opens(phrases) {
            return refine_what_question(kind, &whole);
        }
    }
    if start.starts_with("what ") {
        return QuestionKind::Open;
    }
    inner_kind(asked, words)
}

/// Words by which a question asks which of two.
pub(super) const COMPARATIVES: [&str; 20] = [
    "better",
    "worse",
    "cheaper",
    "faster",
    "slower",
    "safer",
    "stronger",
    "lighter",
    "heavier",
    "healthier",
    "easier",
    "larger",
    "smaller",
    "higher",
    "lower",
    "longer",
    "shorter",
    "more",
    "less",
    "best",
];

/// A question without the comparative at its end: "Is gas or oil" of "is gas or oil cheaper".
pub(crate) fn without_comparative(asked: &str) -> &str {
    let asked = asked.trim_end_matches(['?', '.', ' ']);
    match asked.rsplit_once(' ') {
        Some((things, last)) if COMPARATIVES.contains(&last.to_lowercase().as_str()) => things,
        _ => asked,
    }
}

/// "Should a team code first or design first", "is gas or oil cheaper", "should I rent or buy": which of two, and no yes or no.
fn asks_to_choose(start: &str) -> bool {
    const ASKERS: [&str; 5] = ["i", "we", "you", "one", "people"];
    let words: Vec<&str> = start.split_whitespace().collect();
    let Some(at) = words.iter().position(|word| *word == "or") else {
        return false;
    };
    let opens = words.first().is_some_and(|word| is_auxiliary(word));
    let is_condition = words[..at].iter().any(|word| matches!(*word, "if" | "when" | "whether"));
    let alike = at > 0 && words.last() == words.get(at - 1);
    let compares = words.iter().any(|word| COMPARATIVES.contains(word));
    let advice = words[0] == "should" && words.get(1).is_some_and(|word| ASKERS.contains(word));
    // "More or less", "is it better or not".
    let plain = words.get(at + 1).is_none_or(|word| matches!(*word, "less" | "not" | "no"));
    opens && !is_condition && !plain && (alike || compares || advice)
}

/// "A and B" of "How do A and B differ?", "How are A and B different?"; `None` of other questions.
pub(crate) fn differing_things(asked: &str) -> Option<&str> {
    let asked = asked.trim_end_matches(['?', '.', ' ']);
    let verbs = [" differ", " compare", " different"];
    let whole = || verbs.iter().find_map(|verb| asked.strip_suffix(verb));
    let things = compared_in(asked).map(|it| it.0).or_else(whole)?;
    let openings = ["How do ", "How does ", "How are ", "How is "];
    let opening = openings
        .iter()
        .find(|it| things.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it)))?;
    Some(&things[opening.len()..]).filter(|things| has_phrase(&spaced(things), "and"))
}

/// What stands before and after the verb of "how do A and B compare in price" and "how do A and B differ on noise".
pub(crate) fn compared_in(asked: &str) -> Option<(&str, &str)> {
    let asked = asked.trim_end_matches(['?', '.', ' ']);
    let verbs = [" differ", " compare", " different"].into_iter();
    let mut joints = verbs.flat_map(|verb| ["in", "on"].map(|joint| format!("{verb} {joint} ")));
    joints.find_map(|joint| asked.split_once(&joint))
}

/// What changes in "how has the subsidy for green roofs changed": the last word of its name, in lower case.
pub(crate) fn changing_thing(asked: &str) -> Option<String> {
    const OPENINGS: [&str; 4] = ["how has ", "how have ", "how did ", "how does "];
    const JOINTS: [&str; 12] = [
        "for",
        "of",
        "in",
        "on",
        "over",
        "since",
        "change",
        "changed",
        "changes",
        "developed",
        "evolve",
        "evolved",
    ];
    let asked = asked.to_lowercase();
    let opening = OPENINGS.iter().find(|it| asked.starts_with(**it))?;
    let words = tokens(&asked[opening.len()..]);
    let changes = words.iter().any(|it| {
        it.text.starts_with("chang") || it.text.starts_with("evolv") || it.text == "developed"
    });
    let end = words.iter().position(|it| JOINTS.contains(&it.text.as_str()))?;
    words[..end].last().filter(|_| changes).map(|it| it.text.clone())
}

/// Whether two texts are on the same of the two things that a question asks a figure of each of, "how heavy is a green roof compared with a
/// gravel roof": what one weighs does not contradict what the other weighs. True for other questions.
pub(crate) fn are_on_same_thing(asked: &str, one: &str, other: &str) -> bool {
    let asked = spaced(asked);
    let joints = [" compared with ", " compared to ", " versus ", " vs "];
    let Some((left, right)) = joints.iter().find_map(|it| asked.split_once(it)) else {
        return true;
    };
    let stems = |text: &str| -> BTreeSet<String> { content_stems(text).into_iter().collect() };
    let (left, right) = (stems(left), stems(right));
    let names = |text: &str| {
        let said = stems(text);
        let has = |of: &BTreeSet<String>, but: &BTreeSet<String>| {
            of.difference(but).any(|word| said.contains(word))
        };
        (has(&left, &right), has(&right, &left))
    };
    names(one) == names(other)
}

/// "How can a team prevent debt" and "how should cities plan for heat" ask for what somebody can do; "how can rain damage a roof" does not.
fn asks_what_to_do(start: &str) -> bool {
    const AGENTS: [&str; 42] = [
        "team",
        "teams",
        "people",
        "person",
        "company",
        "companies",
        "city",
        "cities",
        "town",
        "towns",
        "school",
        "schools",
        "hospital",
        "hospitals",
        "government",
        "governments",
        "developer",
        "developers",
        "organisation",
        "organisations",
        "organization",
        "organizations",
        "project",
        "projects",
        "business",
        "businesses",
        "farmer",
        "farmers",
        "parent",
        "parents",
        "teacher",
        "teachers",
        "employer",
        "employers",
        "manager",
        "managers",
        "owner",
        "owners",
        "household",
        "households",
        "agency",
        "agencies",
    ];
    let mut words = start.split_whitespace();
    let asks = words.next() == Some("how")
        && matches!(words.next(), Some("can" | "could" | "should" | "might"));
    let agent = words.find(|word| !matches!(*word, "a" | "an" | "the" | "my" | "our"));
    asks && agent.is_some_and(|word| AGENTS.contains(&word))
}

/// "How is a roof installed" asks for steps.
fn asks_how_it_is_done(start: &str, words: &Phrases) -> bool {
    let passive = ["how is ", "how are ", "how can ", "how should ", "how could "];
    let done = words.question.done_participles.iter();
    let asks = |all: &[&str]| all.iter().any(|it| start.starts_with(it));
    // What should be done in a certain way has steps, whatever is done.
    let advice = asks(&["how should ", "how must "]) && start.trim_end().ends_with("ed");
    advice
        || asks(&passive)
            && done.into_iter().any(|it| start.trim_end().ends_with(&format!(" {it}")))
}

/// "What does a roof cost" and "what is the minimum depth" ask for a figure.
fn asks_amount(start: &str, words: &Phrases) -> bool {
    let q = &words.question;
    let mut first = start.split([' ', ',']);
    if first.next() != Some("what") {
        return false;
    }
    let aux = first.next().unwrap_or_default();
    let mut rest = first.filter(|it| !matches!(*it, "the" | "a" | "an" | "typical" | "usual"));
    match aux {
        "do" | "does" | "did" => rest.any(|it| q.amount_verbs.iter().any(|verb| verb == it)),
        "is" | "are" | "was" | "were" => {
            rest.next().is_some_and(|it| q.amount_nouns.iter().any(|noun| noun == it))
        }
        _ => false,
    }
}

/// "What was the release date of X" asks when; "what is the date palm" does not.
fn asks_date(start: &str) -> bool {
    let words: Vec<&str> = start.split_whitespace().collect();
    let asks = matches!(words.as_slice(), ["what", "is" | "was" | "are" | "were", ..]);
    let date = |text: &&str| matches!(*text, "date" | "dates" | "year");
    let at = words.iter().take(6).position(date);
    let of = |at: usize| words.get(at + 1).is_none_or(|word| matches!(*word, "of" | "for" | "on"));
    asks && at.is_some_and(of)
}

/// "What is the function of X" asks for more than what X is.
fn refine_what_question(kind: QuestionKind, whole: &str) -> QuestionKind {
    if kind != QuestionKind::Definition {
        return kind;
    }
    let plain = tokens(whole).iter().filter(|token| !is_stop_word(&token.text)).count();
    let of = has_phrase(whole, "of") || has_phrase(whole, "for") || has_phrase(whole, "used");
    if plain > 4 || of || has_phrase(whole, "the") && plain > 2 {
        QuestionKind::Open
    } else {
        QuestionKind::Definition
    }
}

fn yes_no_kind(whole: &str, words: &Phrases) -> QuestionKind {
    // "Are there tools that help with it" asks whether they exist, and "are there studies that it helps" whether it does.
    const EXISTENCE: [&str; 2] = ["are there ", "are any "];
    const EVIDENCE: [&str; 4] = ["evidence", "studies", "trials", "links"];
    let starts = |it: &str| whole.trim_start().starts_with(it);
    let asks_existence =
        EXISTENCE.iter().any(|it| starts(it)) && !EVIDENCE.iter().any(|it| has_phrase(whole, it));
    if words.question.causal.any_in(whole) && !asks_existence {
        QuestionKind::Causal
    } else {
        QuestionKind::YesNo
    }
}

/// The kind of a question that begins otherwise: "Between A and B, is there …", "In cats, which …", or no
/// question word at all.
fn inner_kind(asked: &str, words: &Phrases) -> QuestionKind {
    let q = &words.question;
    if names_two_things(asked) {
        return QuestionKind::Comparison;
    }
    for clause in asked.rsplit([',', ';']) {
        let clause = spaced(clause);
        let start = clause.trim();
        let first = start.split(' ').next().unwrap_or_default();
        let opens =
            |phrases: &[String]| phrases.iter().any(|phrase| start.starts_with(phrase.as_str()));
        if opens(&q.quantity) {
            return QuestionKind::Quantity;
        }
        if opens(&q.who) {
            return QuestionKind::Who;
        }
        if opens(&q.when) {
            return QuestionKind::When;
        }
        if opens(&q.r#where) {
            return QuestionKind::Where;
        }
        if opens(&q.list) {
            return QuestionKind::List;
        }
        if asked.ends_with('?') && q.auxiliaries.iter().any(|auxiliary| auxiliary == first) {
            return yes_no_kind(&spaced(asked), words);
        }
    }
    let whole = spaced(asked);
    if has_phrase(&whole, "who") && asked.ends_with('?') {
        return QuestionKind::Who;
    }
    if has_phrase(&whole, "where") && asked.ends_with('?') {
        return QuestionKind::Where;
    }
    QuestionKind::Open
}

/// Whether a lower-case word makes a question of the words after it.
fn is_auxiliary(word: &str) -> bool {
    const BEING: &[&str] = &["is", "are", "was", "were", "be", "has", "have", "had"];
    BEING.contains(&word) || HELPING_VERBS.contains(&word)
}

/// Whether a question is only "A or B?", with or without ": which is better?" after it.
fn names_two_things(asked: &str) -> bool {
    let choice = asked.split([':', ';', ',', '–']).next().unwrap_or_default();
    let text = spaced(choice);
    let words = tokens(choice);
    asked.trim_end().ends_with('?')
        && has_phrase(&text, "or")
        && words.len() <= MAX_CHOICE_WORDS
        && words.iter().all(|word| !is_auxiliary(&word.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts;

    fn kind(text: &str) -> QuestionKind {
        question_kind(text, prompts::phrases().unwrap())
    }

    #[test]
    fn kinds_are_told_by_the_opening_words() {
        use QuestionKind::*;
        for (text, wanted) in [
            ("What is circular RNA?", Definition),
            ("How to prune an apple tree?", HowTo),
            ("How is a green roof installed?", HowTo),
            ("how can leaks be prevented?", HowTo),
            ("How can a team prevent debt?", HowTo),
            ("How can rain damage a roof?", Open),
            ("How is a green roof watered by rain?", Open),
            ("What is the difference between mitosis and meiosis?", Comparison),
            ("Why is the sky blue?", Why),
            ("Does smoking cause lung cancer?", Causal),
            ("Are there any tools that help with drawing spirals?", YesNo),
            ("Are there studies that show that tea helps with sleep?", Causal),
            ("Which genes are mutated in AML?", List),
            ("When was the telephone invented?", When),
            ("What is the release date of Every Mother Counts?", When),
            ("What was the year of the great flood?", When),
            ("What is the date palm?", Definition),
            ("Who invented the telephone?", Who),
            ("How many people live in Lagos?", Quantity),
            ("Where is the Alhambra?", Where),
            ("Tea or coffee?", Comparison),
            ("Steel or aluminium frame: which is better?", Comparison),
            ("How is a pressure test done?", HowTo),
            ("Is light a wave?", YesNo),
            ("Should a team code first or design first?", Comparison),
            ("Is gas or oil cheaper?", Comparison),
            ("Should I rent or buy?", Comparison),
            ("Does a car or a bus need more room?", Comparison),
            ("Can rain or snow reach the seal?", YesNo),
            ("Should children or old people take it?", YesNo),
            ("How do moss and lichen differ?", Comparison),
            ("Between A and B, is there consistency?", YesNo),
        ] {
            assert_eq!(kind(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_something_costs_is_a_figure() {
        for text in [
            "What does an extensive green roof cost per square metre?",
            "What is the minimum substrate depth of a green roof?",
        ] {
            assert_eq!(kind(text), QuestionKind::Quantity, "{text}");
        }
    }
}
