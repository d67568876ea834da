//! Whether a sentence has the form of an answer to a kind of question.
use crate::prompts;
use crate::prompts::{Facet, PlanWords};
use crate::thresholds::{
    COMPARING_FIT, DATE_FOR_RECURRING_WEIGHT, DEFINITION_WITHOUT_DISTINCTION_FIT,
    DENIED_MEMBERS_WEIGHT, FIGURE_WITHOUT_UNIT_FIT, IMPERATIVE_FIT, INDIRECT_DEFINITION_FIT,
    LESSENING_WEIGHT, LIST_CONJUNCTION_BONUS, LIST_NOVELTY_WEIGHT, LIST_PHRASE_BONUS,
    LOOSE_DEFINITION_FIT, MANY_COMMAS_FIT, MONTH_ALONE_FIT, MONTH_FIT, NOT_COMPARING_FIT,
    NOVELTY_FACTOR, NUMBERED_STEP_FIT, ONE_COMMA_FIT, ONE_CUE_FIT, ONE_FIGURE_FIT, ONE_NAME_FIT,
    OPEN_BASE_FIT, OPEN_NOVELTY_WEIGHT, OTHER_FREQUENCY_WEIGHT, PLACE_FIT, PLACE_NAME_WEIGHT,
    TIME_OF_DAY_FIT, TOLD_PLACE_FIT, TWO_COMMAS_FIT, TWO_CUES_FIT, UNDECIDED_FIT, VAGUE_TIME_FIT,
    WEAK_CUE_FIT, YEAR_FIT,
};
use ibid_core::Result;
use ibid_core::domain::QuestionKind;
use ibid_core::domain::words::{Token, content_stems, is_stop_word, numbers, stem, tokens};

use super::advice::is_told_of_others;
use super::amount::quantity_fit;
use super::asked_facet::asked_facet_name;
use super::calendar::{
    WEEKDAYS, names_day_or_month, names_month, names_weekday, times_of_day_at, years,
};
use super::enumeration::{enumerates_subject, excludes};
use super::intake::asked_verb;
use super::lexicon::has_phrase;
use super::measures::measures;
use super::sentence::{has_denial, has_number, is_imperative};

/// How well `text` fits as an answer of this kind, 0 to 1. `spaced` is its normalized text.
pub(crate) fn kind_fit(kind: QuestionKind, asked: &str, text: &str, spaced: &str) -> Result<f32> {
    let words = prompts::plan_words()?;
    let is_compared = || compares(&super::lexicon::spaced(asked)).unwrap_or_default();
    let cues =
        |name: &str| words.facets.get(name).map_or(0.0, |facet| cue_fit(facet, text, spaced));
    Ok(match kind {
        QuestionKind::Definition => definition_fit(asked, spaced),
        QuestionKind::HowTo => {
            let fit = cues("steps").max(imperative_fit(text)) * prevention_weight(asked, spaced);
            if tells_effect(text) || is_told_of_others(text) { 0.0 } else { fit }
        }
        QuestionKind::Comparison if has_phrase(&super::lexicon::spaced(asked), "should") => {
            cues("comparison").max(cues("advice"))
        }
        QuestionKind::Comparison => cues("comparison"),
        QuestionKind::Why => (cues("reasons") * lessening_weight(asked, spaced)?)
            .max(counted_causes_fit(asked, text)),
        QuestionKind::List => {
            let listed = if enumerates_subject(asked, text) { 0.0 } else { list_fit(text, spaced) };
            let fit = listed.max(novelty(asked, text) * LIST_NOVELTY_WEIGHT);
            if denies_members(asked, text)? { fit * DENIED_MEMBERS_WEIGHT } else { fit }
        }
        QuestionKind::When if asks_recurring_time(asked)? => {
            recurring_time_fit(cues("occasions"), text, spaced)
        }
        QuestionKind::When => date_fit(text, spaced).max(time_fit(asked, text, spaced)),
        QuestionKind::Who => name_fit(asked, text),
        QuestionKind::Quantity if has_phrase(&super::lexicon::spaced(asked), "how often") => {
            let frequency = frequency_fit(spaced);
            if frequency == 0.0 && tells_duration(spaced) {
                0.0
            } else {
                frequency.max(OTHER_FREQUENCY_WEIGHT * quantity_fit(asked, text, is_compared()))
            }
        }
        QuestionKind::Quantity => quantity_fit(asked, text, is_compared()),
        QuestionKind::Where => {
            cues("place").max(name_fit(asked, text) * PLACE_NAME_WEIGHT).max(place_fit(text))
        }
        // "Do panels work better above plants?" is answered by what compares.
        QuestionKind::YesNo if compares(&super::lexicon::spaced(asked))? => {
            if compares(spaced)? {
                COMPARING_FIT
            } else {
                NOT_COMPARING_FIT
            }
        }
        QuestionKind::YesNo | QuestionKind::Causal => UNDECIDED_FIT,
        QuestionKind::Open => match asked_facet(asked, words) {
            Some(facet) => cue_fit(facet, text, spaced),
            None => novelty(asked, text) * OPEN_NOVELTY_WEIGHT + OPEN_BASE_FIT,
        },
    })
}

/// The facet that a question names: "history" of "what is the history of green roofs?"
fn asked_facet<'w>(asked: &str, words: &'w PlanWords) -> Option<&'w Facet> {
    words.facets.get(asked_facet_name(asked)?)
}

/// How well the sentence fits a facet, 0 to 1.
pub(crate) fn cue_fit(facet: &Facet, text: &str, spaced: &str) -> f32 {
    if facet.numbers {
        return if has_number(text) { figure_fit(text) } else { 0.0 };
    }
    if facet.dates {
        return date_fit(text, spaced);
    }
    if facet.cues.is_empty() {
        return UNDECIDED_FIT;
    }
    if facet.strong.as_ref().is_some_and(|strong| !strong.any_in(spaced)) {
        return WEAK_CUE_FIT * f32::from(u8::from(facet.cues.any_in(spaced)));
    }
    match facet.cues.all_in(spaced).len() {
        0 => 0.0,
        1 => ONE_CUE_FIT,
        2 => TWO_CUES_FIT,
        _ => 1.0,
    }
}

/// How well an hour or a day of the week tells when; "when did" asks for a date.
fn time_fit(asked: &str, text: &str, spaced: &str) -> f32 {
    let said = !times_of_day_at(text).is_empty() || names_weekday(spaced);
    let asked = super::lexicon::spaced(asked);
    let past = ["when did", "when was", "when were", "when had"];
    match (said, past.iter().any(|it| has_phrase(&asked, it))) {
        (false, _) => 0.0,
        (true, true) => VAGUE_TIME_FIT,
        (true, false) => TIME_OF_DAY_FIT,
    }
}

/// "Every eleven years", "twice a week", "monthly".
fn frequency_fit(spaced: &str) -> f32 {
    const ADVERBS: [&str; 12] = [
        "hourly",
        "daily",
        "nightly",
        "weekly",
        "fortnightly",
        "monthly",
        "quarterly",
        "yearly",
        "annually",
        "always",
        "never",
        "regularly",
    ];
    const COUNTS: [&str; 4] = ["once", "twice", "times", "time"];
    const EACH: [&str; 5] = ["a", "an", "per", "every", "each"];
    let words: Vec<&str> = spaced.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let pair = |nth: usize, one: &[&str], other: &[&str]| {
        one.contains(&words[nth]) && words.get(nth + 1).is_some_and(|next| other.contains(next))
    };
    let says = |nth: usize| {
        ADVERBS.contains(&words[nth])
            || matches!(words[nth], "every" | "each")
                && words[nth + 1..].iter().take(3).any(|it| is_period(it))
            || pair(nth, &COUNTS, &EACH)
    };
    if (0..words.len()).any(says) { 1.0 } else { 0.0 }
}

/// "For 30 years": how long, and not how often.
fn tells_duration(spaced: &str) -> bool {
    let words: Vec<&str> = spaced.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    words.windows(3).any(|three| {
        let is_number = three[1].starts_with(|c: char| c.is_ascii_digit());
        three[0] == "for" && is_number && is_period(three[2])
    })
}

/// Whether a word is a stretch of time that something recurs by.
fn is_period(word: &str) -> bool {
    const PERIODS: [&str; 15] = [
        "minute",
        "hour",
        "day",
        "night",
        "morning",
        "evening",
        "week",
        "weekend",
        "fortnight",
        "month",
        "spring",
        "summer",
        "autumn",
        "winter",
        "year",
    ];
    let word = word.strip_suffix('s').unwrap_or(word);
    PERIODS.contains(&word) || WEEKDAYS.contains(&word)
}

/// "On the east bank", "behind the locker", "kept at reception": a preposition of place before a thing, and not before a time or a
/// figure.
fn place_fit(text: &str) -> f32 {
    const SURE: [&str; 12] = [
        "behind",
        "beside",
        "opposite",
        "outside",
        "inside",
        "near",
        "beneath",
        "underneath",
        "above",
        "below",
        "under",
        "alongside",
    ];
    const LOOSE: [&str; 7] = ["in", "at", "on", "by", "between", "along", "next"];
    const BEFORE: [&str; 30] = [
        "is", "are", "was", "were", "be", "stands", "stand", "stood", "lies", "lie", "lay", "sits",
        "sit", "hangs", "hang", "hung", "kept", "stored", "held", "located", "situated", "found",
        "lives", "lived", "parked", "based", "placed", "starts", "meets", "meet",
    ];
    let words = tokens(text);
    let place = |nth: usize| {
        let next = words.get(nth + 1);
        next.is_some_and(|next| {
            let named = words[nth + 1..].iter().take(3);
            let time =
                named.into_iter().any(|it| is_period(&it.text) || names_day_or_month(&it.text));
            !time && !next.text.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let fit = |nth: usize| -> f32 {
        let word = words[nth].text.as_str();
        let told =
            words[nth.saturating_sub(2)..nth].iter().any(|it| BEFORE.contains(&it.text.as_str()));
        match (SURE.contains(&word), LOOSE.contains(&word)) {
            _ if !place(nth) => 0.0,
            (true, _) if told => TOLD_PLACE_FIT,
            (_, true) if told => TOLD_PLACE_FIT,
            (true, _) => PLACE_FIT,
            _ => 0.0,
        }
    };
    (0..words.len()).map(fit).fold(0.0, f32::max)
}

/// A month without a year recurs, and so do hours and days of the week; a day of one year does not.
fn recurring_time_fit(cues: f32, text: &str, spaced: &str) -> f32 {
    if !times_of_day_at(text).is_empty() || names_weekday(spaced) {
        return cues.max(TIME_OF_DAY_FIT);
    }
    match (years(text).is_empty(), names_month(spaced)) {
        (true, true) => cues.max(MONTH_ALONE_FIT),
        (true, false) => cues,
        (false, _) => cues * DATE_FOR_RECURRING_WEIGHT,
    }
}

/// Whether a question with "when" asks at which times something is done or happens, and not for a date: "when should a roof be
/// watered".
pub(crate) fn asks_recurring_time(asked: &str) -> Result<bool> {
    Ok(prompts::phrases()?.question.recurring.any_in(&super::lexicon::spaced(asked)))
}

/// Whether a text compares one thing with another.
fn compares(spaced: &str) -> Result<bool> {
    Ok(prompts::phrases()?.sentence.comparing.any_in(spaced))
}

/// The weight of a sentence that says why something happens less often, if the question is why it happens.
fn lessening_weight(asked: &str, spaced: &str) -> Result<f32> {
    let words = &prompts::phrases()?.sentence;
    let turned =
        words.lessening.any_in(spaced) && !words.lessening.any_in(&super::lexicon::spaced(asked));
    Ok(if turned { LESSENING_WEIGHT } else { 1.0 })
}

/// "Of 37 leaks, 33 were at flashings" says why roofs leak: what is asked about is counted by where or how it came about.
fn counted_causes_fit(asked: &str, text: &str) -> f32 {
    const ORIGINS: [&str; 8] = [
        "were at",
        "were caused by",
        "were due to",
        "was caused by",
        "was due to",
        "began at",
        "begin at",
        "begin there",
    ];
    // "Leak" of "why do green roofs leak in winter".
    let event = asked_verb(asked).map(|verb| stem(&verb.text));
    let event = event.or_else(|| content_stems(asked).pop());
    let spaced = super::lexicon::spaced(text);
    let is_noun = |token: &&Token| {
        !is_stop_word(&token.text) && !token.text.starts_with(|c: char| c.is_ascii_digit())
    };
    let counts_asked = numbers(text).iter().any(|it| {
        let after = tokens(&text[it.span.end..]);
        let noun = after.iter().take_while(is_noun).take(2).last();
        noun.is_some_and(|noun| event.as_ref() == Some(&stem(&noun.text)))
    });
    let told = counts_asked && ORIGINS.iter().any(|origin| has_phrase(&spaced, origin));
    if told { TWO_CUES_FIT } else { 0.0 }
}

/// The weight of a step that finds a fault, if the question is how the fault is prevented: "anything more is a leak".
fn prevention_weight(asked: &str, spaced: &str) -> f32 {
    let asks_prevention =
        |token: &Token| ["prevent", "avoid"].iter().any(|verb| token.text.starts_with(verb));
    let asked_words = tokens(asked);
    if !asked_words.iter().any(asks_prevention) {
        return 1.0;
    }
    let faults = asked_words.iter().filter(|token| !is_stop_word(&token.text));
    let mut faults = faults.map(|token| stem(&token.text));
    let finds = faults.any(|fault| {
        [" is a ", " is an ", " is the "]
            .iter()
            .filter_map(|verb| spaced.split_once(verb))
            .filter_map(|(_, rest)| rest.split([' ', ',']).next())
            .any(|word| stem(word) == fault)
    });
    if finds { LESSENING_WEIGHT } else { 1.0 }
}

/// "X is a …", "X refers to …": the sentence begins with the subject, followed at once by the defining words. It fits
/// best if a relative clause ("that", "which") follows.
fn definition_fit(asked: &str, spaced: &str) -> f32 {
    const ASKING: &[&str] = &["define", "definition", "meaning", "explain", "what's"];
    const DEFINING: &[&str] = &[
        "is",
        "are",
        "was",
        "were",
        "refers",
        "refer",
        "means",
        "consists",
        "consist",
        "describes",
        "belongs",
    ];
    // "What is tunnelling in coffee making" asks for tunnelling.
    let defined = asked.split_once(" in ").map_or(asked, |parts| parts.0);
    let subject: Vec<String> = tokens(defined)
        .into_iter()
        .filter(|token| !is_stop_word(&token.text) && !ASKING.contains(&token.text.as_str()))
        .map(|token| stem(&token.text))
        .collect();
    if is_other_name(&subject, spaced) {
        return DEFINITION_WITHOUT_DISTINCTION_FIT;
    }
    let words: Vec<&str> = spaced.split([' ', ',']).filter(|part| !part.is_empty()).collect();
    let lead = usize::from(words.first().is_some_and(|word| matches!(*word, "a" | "an" | "the")));
    let Some(verb) = words.iter().position(|word| DEFINING.contains(word)).filter(|at| *at <= 12)
    else {
        return 0.0;
    };
    let head: Vec<String> = words[lead..verb.max(lead)].iter().map(|word| stem(word)).collect();
    // "Preterm premature rupture of membranes (PPROM) is": the subject may be in brackets.
    if subject.is_empty() || !subject.iter().all(|text| head.contains(text)) {
        return 0.0;
    }
    let straight = head.len() <= subject.len() + 1 || head.last() == subject.last();
    let article = words.get(verb + 1).is_some_and(|word| {
        matches!(*word, "a" | "an" | "the" | "any" | "one" | "to" | "of" | "that")
    });
    let tells = [
        "that",
        "which",
        "whose",
        "in",
        "characterized",
        "characterised",
        "caused",
        "used",
        "with",
        "by",
    ]
    .iter()
    .any(|it| words[verb..].contains(it));
    match (straight, article, tells) {
        (true, true, true) => 1.0,
        (true, true, false) => DEFINITION_WITHOUT_DISTINCTION_FIT,
        (false, true, true) => INDIRECT_DEFINITION_FIT,
        _ => LOOSE_DEFINITION_FIT,
    }
}

/// "Channelling, also called tunnelling, is": whether a sentence gives the subject as another name of what it tells of.
fn is_other_name(subject: &[String], spaced: &str) -> bool {
    const NAMING: [&str; 4] =
        [" also called ", " also known as ", " otherwise known as ", " commonly called "];
    let named = NAMING.iter().filter_map(|it| spaced.split_once(it)).map(|parts| parts.1);
    !subject.is_empty()
        && named.into_iter().any(|rest| {
            let words = rest.split([' ', ',']).filter(|word| !word.is_empty());
            let name: Vec<String> = words.take(subject.len() + 1).map(stem).collect();
            subject.iter().all(|it| name.contains(it))
        })
}

/// "1. Sweep the deck", "Lay the mat": a numbered step or an imperative.
fn imperative_fit(text: &str) -> f32 {
    let numbered = text.starts_with(|c: char| c.is_ascii_digit());
    let opening = text.trim_start_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    let opening = opening.strip_prefix("please ").unwrap_or(&opening);
    let order = prompts::phrases().is_ok_and(|phrases| is_imperative(opening, &phrases.sentence));
    match (numbered, order) {
        (true, _) => NUMBERED_STEP_FIT,
        (false, true) => IMPERATIVE_FIT,
        _ => 0.0,
    }
}

/// Whether a sentence, with its heading before it or without, says what something will do and so is no step: "It will convince people".
fn tells_effect(text: &str) -> bool {
    const OPENINGS: [&str; 6] =
        ["it will ", "it is ", "it can ", "it may ", "this will ", "they will "];
    let said = text.split_once(": ").map_or(text, |parts| parts.1);
    [text, said].iter().any(|it| {
        let lower = it.to_lowercase();
        OPENINGS.iter().any(|opening| lower.starts_with(opening))
    })
}

/// Whether a sentence begins with what is not so, "no roof held hedgehogs", or excludes what it lists; not "larks, but no frogs".
pub(crate) fn denies_members(asked: &str, text: &str) -> Result<bool> {
    let words = &prompts::phrases()?.sentence;
    let denied = |text: &str| has_denial(&super::lexicon::spaced(text), words);
    let opening = text.split(", ").next().unwrap_or_default();
    Ok((denied(opening) || excludes(asked, text)) && !denied(asked))
}

/// Lists: commas with a final "and", or "include", "such as".
fn list_fit(text: &str, spaced: &str) -> f32 {
    let commas = text.matches(", ").count() + text.matches("; ").count();
    let joined = spaced.contains(" and ") || spaced.contains(" or ");
    let named = [
        "include",
        "includes",
        "including",
        "such as",
        "are the",
        "following",
        "namely",
        "consist of",
    ]
    .iter()
    .any(|it| has_phrase(spaced, it));
    let by_commas: f32 = match commas {
        0 => 0.0,
        1 => ONE_COMMA_FIT,
        2 => TWO_COMMAS_FIT,
        _ => MANY_COMMAS_FIT,
    };
    let by_joint = if joined && commas >= 1 { LIST_CONJUNCTION_BONUS } else { 0.0 };
    (by_commas + by_joint + if named { LIST_PHRASE_BONUS } else { 0.0 }).min(1.0)
}

fn date_fit(text: &str, spaced: &str) -> f32 {
    let year = !years(text).is_empty();
    match (year, names_month(spaced)) {
        (true, true) => 1.0,
        (true, false) => YEAR_FIT,
        (false, true) => MONTH_FIT,
        (false, false) => {
            let loose = ["century", "years ago", "weeks", "days after", "during the"];
            if loose.iter().any(|it| has_phrase(spaced, it)) { VAGUE_TIME_FIT } else { 0.0 }
        }
    }
}

/// Names in the sentence that are not in the question; best two capitalised words in a row.
fn name_fit(asked: &str, text: &str) -> f32 {
    let asked = asked.to_lowercase();
    let words = tokens(text);
    let mut run = 0;
    let mut best = 0;
    for (nth, token) in words.iter().enumerate() {
        let word = &text[token.span.clone()];
        let capital = word.starts_with(char::is_uppercase) && word.len() > 1;
        let fresh = !asked.contains(&token.text) && !names_day_or_month(&token.text);
        run = if capital && fresh && (nth > 0 || run > 0) { run + 1 } else { 0 };
        best = best.max(run);
    }
    match best {
        0 => 0.0,
        1 => ONE_NAME_FIT,
        _ => 1.0,
    }
}

/// Whether a question is for one fact, which one line can tell.
pub(crate) fn asks_for_fact(kind: QuestionKind) -> bool {
    use QuestionKind::{Quantity, When, Where, Who};
    matches!(kind, When | Who | Where | Quantity)
}

/// Whether an answer to a question of this kind has any form: it is no figure, date, place or name, and no yes or no.
pub(crate) fn is_free_form(kind: QuestionKind) -> bool {
    use QuestionKind::{Causal, HowTo, List, Open, Why};
    matches!(kind, Causal | HowTo | List | Open | Why)
}

fn figure_fit(text: &str) -> f32 {
    let found = measures(text);
    let with_unit = found.iter().filter(|it| it.unit.is_some()).count();
    match with_unit {
        0 => FIGURE_WITHOUT_UNIT_FIT,
        1 => ONE_FIGURE_FIT,
        _ => 1.0,
    }
}

/// Share of the sentence's content words that are not in the question.
fn novelty(asked: &str, text: &str) -> f32 {
    let asked: Vec<String> = tokens(asked).into_iter().map(|token| stem(&token.text)).collect();
    let stems: Vec<String> = tokens(text)
        .into_iter()
        .filter(|token| !is_stop_word(&token.text))
        .map(|token| stem(&token.text))
        .collect();
    if stems.is_empty() {
        return 0.0;
    }
    let fresh = stems.iter().filter(|stem| !asked.contains(stem)).count();
    (fresh as f32 / stems.len() as f32 * NOVELTY_FACTOR).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_for_the_history_is_answered_by_what_tells_of_times() {
        let fit = |text: &str| {
            let spaced = super::super::lexicon::spaced(text);
            let asked = "What is the history of slate roofs?";
            kind_fit(QuestionKind::Open, asked, text, &spaced).unwrap()
        };
        let told = fit("Slate roofs were introduced in the twelfth century.");
        assert!(told > fit("A slate roof keeps the house dry."));
    }

    #[test]
    fn what_counts_the_causes_says_why() {
        let fit = |text: &str| {
            let spaced = super::super::lexicon::spaced(text);
            kind_fit(QuestionKind::Why, "Why do cellar walls crack?", text, &spaced).unwrap()
        };
        let counted = fit("Of 40 cracks, 31 were at doors and windows.");
        assert!(counted > fit("Half of the 40 cracks were older than ten years."));
        assert!(counted > fit("Of 40 walls, 31 were at the street."));
    }

    #[test]
    fn what_denies_its_members_lists_none() {
        let asked = "Which animals live on green roofs?";
        let fit = |text: &str| {
            kind_fit(QuestionKind::List, asked, text, &super::super::lexicon::spaced(text)).unwrap()
        };
        let told = fit("Green roofs hold bees, beetles and birds.");
        assert!(told > fit("No green roof held frogs, hedgehogs or earthworms."));
    }

    #[test]
    fn a_noun_before_its_verb_is_no_order() {
        let fit = |text: &str| imperative_fit(text);
        assert_eq!(fit("Water on the top floor was first blamed on the green roof."), 0.0);
        assert_eq!(fit("Paint can be removed with a knife."), 0.0);
        for step in [
            "Water the plants that were set in spring.",
            "Check that the roof is dry.",
            "Ensure the valve is closed.",
            "Wait until the glue has set.",
            "Place the tray under it, which is heavy.",
        ] {
            assert!(fit(step) > 0.0, "{step}");
        }
    }

    #[test]
    fn what_prevents_is_a_step_against_it() {
        let fit = |text: &str| {
            let spaced = super::super::lexicon::spaced(text);
            kind_fit(QuestionKind::HowTo, "How can cracks be prevented?", text, &spaced).unwrap()
        };
        let seal = fit("Seal the joints before winter, so that no water freezes in them.");
        assert!(seal > fit("Compare the marks; anything wider is a crack."));
    }
}
