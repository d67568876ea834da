#![allow(clippy::unwrap_used, reason = "a test may panic")]
use serde_json::json;

use super::{SupportLevel, SupportVerdict, check_row};

/// The verdict of the words alone.
fn judge_support(claim: &str, source: &[String]) -> SupportVerdict {
    super::judge_support(claim, source, None)
}

fn verdict(claim: &str, source: &str) -> SupportLevel {
    judge_support(claim, &[source.to_owned()]).verdict
}

const CORK: &str = "Cork is the bark of the cork oak. Portugal produces about 50% of the world's cork. \
    The bark is first harvested when the tree is 25 years old. It is not harmed by the harvest.";

#[test]
fn a_claim_in_the_words_of_the_source_is_supported_and_quoted() {
    let found = judge_support(
        "Portugal produces about half, 50%, of the world's cork.",
        &[CORK.to_owned()],
    );
    assert_eq!(found.verdict, SupportLevel::Supported);
    assert!(found.score > 0.5);
    let quote = found.quote.unwrap();
    assert!(quote.contains("Portugal produces about 50% of the world's cork."));
    assert!(CORK.contains(&quote));
}

#[test]
fn a_claim_on_another_matter_is_unsupported_and_has_no_quote() {
    let found =
        judge_support("The Beatles recorded Revolver at Abbey Road in 1966.", &[CORK.to_owned()]);
    assert_eq!(found.verdict, SupportLevel::Unsupported);
    assert_eq!(found.quote, None);
}

#[test]
fn the_opposite_direction_scores_lower_than_the_same_one() {
    let source = ["Aspirin reduced the risk of stroke in older patients.".to_owned()];
    let same = judge_support("Aspirin reduces the risk of stroke in older patients.", &source);
    let opposite =
        judge_support("Aspirin increases the risk of stroke in older patients.", &source);
    assert_eq!(same.verdict, SupportLevel::Supported);
    assert_eq!(opposite.verdict, SupportLevel::Contradicted);
    assert!(opposite.score < same.score);
}

#[test]
fn a_negated_source_scores_lower_than_a_plain_one() {
    let claim = "Vitamin C prevents the common cold in adults.";
    let plain =
        judge_support(claim, &["Vitamin C prevents the common cold in most adults.".to_owned()]);
    let negated =
        judge_support(claim, &["Vitamin C does not prevent the common cold in adults.".to_owned()]);
    assert_eq!(plain.verdict, SupportLevel::Supported);
    assert_eq!(negated.verdict, SupportLevel::Contradicted);
    assert!(negated.score < plain.score);
}

#[test]
fn a_sentence_follows_from_itself_negated_or_not() {
    for whole in [
        "Vitamin C does not prevent the common cold in adults.",
        "Without treatment, no patient survived more than 12 weeks.",
        "The committee never denied that costs increased and quality declined.",
    ] {
        assert_eq!(verdict(whole, whole), SupportLevel::Supported, "{whole}");
    }
}

#[test]
fn a_wrong_number_scores_lower_than_the_right_one() {
    let right = judge_support(
        "The bark is first harvested when the tree is 25 years old.",
        &[CORK.to_owned()],
    );
    let wrong = judge_support(
        "The bark is first harvested when the tree is 40 years old.",
        &[CORK.to_owned()],
    );
    assert!(wrong.score < right.score);
}

#[test]
fn a_bound_is_met_by_a_number_on_its_side() {
    let source = ["It has been translated into more than 300 languages.".to_owned()];
    let over = judge_support("It has been translated into over 250 languages.", &source);
    let under = judge_support("It has been translated into under 250 languages.", &source);
    assert!(under.score < over.score);
}

#[test]
fn an_acronym_meets_the_name_it_stands_for() {
    let source = ["The WHO declared a pandemic in March 2020.".to_owned()];
    let known =
        judge_support("The World Health Organization declared a pandemic in March 2020.", &source);
    let other =
        judge_support("The European Central Bank declared a pandemic in March 2020.", &source);
    assert!(other.score < known.score);
    let source = ["The World Health Organization declared a pandemic in March 2020.".to_owned()];
    let known = judge_support("WHO declared a pandemic in March 2020.", &source);
    let other = judge_support("NATO declared a pandemic in March 2020.", &source);
    assert!(other.score < known.score);
}

#[test]
fn a_quote_is_an_exact_part_of_one_text_of_the_source() {
    let source = ["Cork floats well. It is light.".to_owned(), "Portugal grows it.".to_owned()];
    for claim in ["Cork is light and floats.", "It is grown by Portugal."] {
        let quote = judge_support(claim, &source).quote.unwrap();
        assert!(source.iter().any(|text| text.contains(&quote)), "{quote}");
    }
}

#[test]
fn a_list_of_sentences_is_judged_like_the_text_they_make() {
    let list: Vec<String> = CORK.split_inclusive(". ").map(|part| part.trim().to_owned()).collect();
    let claim = "Portugal produces half of the world's cork.";
    assert_eq!(judge_support(claim, &list).score, judge_support(claim, &[CORK.to_owned()]).score);
}

#[test]
fn nothing_to_go_by_is_unsupported() {
    for (claim, source) in [("", CORK), ("Cork floats.", ""), ("the of and", CORK), ("…", "…")]
    {
        assert_eq!(verdict(claim, source), SupportLevel::Unsupported, "{claim:?}");
    }
    assert_eq!(judge_support("Cork floats.", &[]).score, 0.0);
}

#[test]
fn a_book_against_a_book_ends() {
    let book = "In 1,2 years cork,1a grows and grows. ".repeat(2_000);
    let one_word = "1,a".repeat(50_000);
    assert_eq!(judge_support(&book, std::slice::from_ref(&book)).verdict, SupportLevel::Supported);
    assert_eq!(verdict(&one_word, &book), SupportLevel::Unsupported);
}

#[test]
fn a_row_comes_back_with_its_id() {
    let row = json!({"id": 7, "claim": "Cork is the bark of an oak.", "source": [CORK]});
    let found = check_row(&row, None).unwrap();
    assert_eq!(found["id"], 7);
    assert_eq!(found["verdict"], "supported");
    assert!(found["score"].as_f64().unwrap() > 0.5);
    assert!(CORK.contains(found["quote"].as_str().unwrap()));
}

#[test]
fn a_bad_row_names_the_field_at_fault() {
    for (row, field) in [
        (json!([]), "a row"),
        (json!({"source": "x"}), "`claim`"),
        (json!({"claim": " ", "source": "x"}), "`claim`"),
        (json!({"claim": 1, "source": "x"}), "`claim`"),
        (json!({"claim": "x"}), "`source`"),
        (json!({"claim": "x", "source": null}), "`source`"),
        (json!({"claim": "x", "source": ["a", 2]}), "`source[1]`"),
    ] {
        let fault = check_row(&row, None).unwrap_err();
        assert_eq!(fault.kind(), ibid_core::ErrorKind::Usage);
        assert!(fault.to_string().contains(field), "{fault}");
    }
}

/// A sentence, claims that it supports or does not decide, and claims that it contradicts in nearly its own words.
const NEARLY_THE_SAME: [(&str, &[&str], &[&str]); 16] = [
    (
        "The bridge over the Alder is 240 metres long and was opened in May 1931.",
        &["The bridge is 240 metres long.", "The Alder bridge is 0.24 kilometres long."],
        &[
            "The bridge is 240 kilometres long.",
            "The bridge is 240 feet long.",
            "The bridge was opened in June 1931.",
        ],
    ),
    (
        "Copper pipes lasted longer than steel pipes in the test.",
        &["In the test, steel pipes did not last as long as copper pipes."],
        &[
            "Steel pipes lasted longer than copper pipes in the test.",
            "Copper pipes lasted as long as steel pipes in the test.",
        ],
    ),
    (
        "Attendance fell from 900 in 2019 to 610 in 2021.",
        &["Attendance fell to 610 in 2021."],
        &["Attendance fell from 610 in 2019 to 900 in 2021.", "In 2019, attendance was 610."],
    ),
    (
        "The council approved the plan after the public hearing.",
        &["The public hearing came before the approval."],
        &["The council approved the plan before the public hearing."],
    ),
    (
        "At least 12 volunteers are needed for each shift.",
        &["Each shift needs at least 12 volunteers."],
        &["At most 12 volunteers are needed for each shift."],
    ),
    (
        "The new pump uses half as much power as the old one.",
        &["The old pump uses twice as much power as the new one."],
        &[
            "The new pump uses twice as much power as the old one.",
            "The old pump uses half as much power as the new one.",
        ],
    ),
    (
        "Maria Keller sold the mill to Jonas Brandt in 1988.",
        &["Jonas Brandt bought the mill from Maria Keller in 1988."],
        &[
            "Jonas Brandt sold the mill to Maria Keller in 1988.",
            "Maria Keller bought the mill from Jonas Brandt in 1988.",
            "Maria Keller sold the mill to Jonas Brandt in 1978.",
        ],
    ),
    (
        "The dose was raised from 5 mg to 20 mg once a day.",
        &["The dose was raised to 20 mg."],
        &[
            "The dose was raised from 5 mg to 20 mg twice a day.",
            "The dose was lowered from 5 mg to 20 mg.",
            "The dose was raised from 5 g to 20 g once a day.",
        ],
    ),
    (
        "Prices in the north were 8 % higher than in the south.",
        &["The south had lower prices than the north."],
        &[
            "Prices in the south were 8 % higher than in the north.",
            "Prices in the north were 8 % lower than in the south.",
        ],
    ),
    (
        "The glacier lost 1.2 million tonnes of ice a year between 2000 and 2010.",
        &["Between 2000 and 2010 the glacier lost ice."],
        &[
            "The glacier lost 1.2 billion tonnes of ice a year between 2000 and 2010.",
            "The glacier lost 1.2 million tonnes of ice a month between 2000 and 2010.",
        ],
    ),
    (
        "Retention is highest in summer, when plants drink, and lowest in winter, when they rest.",
        &["Retention is lowest in winter."],
        &["Retention is highest in winter and lowest in summer."],
    ),
    (
        "The company sold the factory to Orlin in 2007.",
        &["Orlin bought the factory from the company in 2007."],
        &["Orlin sold the factory to the company in 2007."],
    ),
    (
        "The lake is at least 30 metres deep.",
        &["The lake is no less than 30 metres deep."],
        &["The lake is at most 30 metres deep."],
    ),
    (
        "The soaked roof weighs 112 kg per square metre, and the committee meets once every six months.",
        &["The committee meets twice a year."],
        &["The soaked roof weighs 112 kg per cubic metre."],
    ),
    (
        "In 2019 the well gave 5 litres a day, and in 2020 the well gave 7 litres a day.",
        &["In 2020 the well gave 7 litres a day.", "In 2019 the well gave 5 litres a day."],
        &["In 2020 the well gave 9 litres a day."],
    ),
    (
        "Roots do not enter the membrane where the barrier is whole.",
        &["Roots don't enter the membrane where the barrier is whole."],
        &["Roots do enter the membrane where the barrier is whole."],
    ),
];

#[test]
fn in_nearly_the_same_words_what_differs_decides() {
    for (source, others, contradicted) in NEARLY_THE_SAME {
        for claim in others {
            assert_ne!(verdict(claim, source), SupportLevel::Contradicted, "{claim:?}");
        }
        for claim in contradicted {
            assert_eq!(verdict(claim, source), SupportLevel::Contradicted, "{claim:?}");
        }
    }
}

/// A claim, a source that says it of another, and a source that says it of the claim's subject.
const OF_ANOTHER: [(&str, &[&str], &[&str]); 9] = [
    (
        "The council found the bridge unsafe.",
        &[
            "Critics say that the Marlow bridge is unsafe. The council's engineers found no fault in it.",
        ],
        &["Critics say that the Marlow bridge is unsafe. The council agreed."],
    ),
    (
        "The committee warned that the dam leaks.",
        &["Residents warned that the dam leaks."],
        &["Residents and the committee warned that the dam leaks."],
    ),
    (
        "Valerian helps against jet lag.",
        &["Unlike valerian, melatonin helps against jet lag."],
        &["Like valerian, melatonin helps against jet lag."],
    ),
    (
        "Copper helps against algae.",
        &["Zinc rather than copper helps against algae."],
        &["Copper rather than zinc helps against algae."],
    ),
    (
        "Valerian shortened the time to fall asleep by 7 minutes.",
        &["Melatonin was tested in 40 trials. It shortened the time to fall asleep by 7 minutes."],
        &["Valerian was tested in 40 trials. It shortened the time to fall asleep by 7 minutes."],
    ),
    (
        "Valerian shortened the time to fall asleep by 7 minutes.",
        &["Melatonin shortened the time to fall asleep by 7 minutes. Valerian did nothing."],
        &["The herb valerian shortened the time to fall asleep by 7 minutes."],
    ),
    (
        "The dose of valerian is 3 mg.",
        &["Melatonin", "The dose is 3 mg."],
        &["Valerian", "The dose is 3 mg."],
    ),
    (
        "The dose of valerian is 3 mg.",
        &["Melatonin", "The dose is 3 mg.", "Valerian", "The dose is 5 mg."],
        &["Valerian is a herb of Europe.", "Dosage", "The dose is 3 mg."],
    ),
    (
        "Marie Curie won the prize in 1903.",
        &["Pierre Janet lived in Paris. He won the prize in 1903."],
        &[
            "Marie Curie was born in Warsaw.",
            "Life",
            "She lived in Paris. She won the prize in 1903.",
        ],
    ),
];

#[test]
fn what_a_source_says_of_another_supports_no_claim() {
    let judged = |claim: &str, source: &[&str]| {
        let source: Vec<String> = source.iter().map(|&text| text.to_owned()).collect();
        judge_support(claim, &source).verdict
    };
    for (claim, of_another, of_subject) in OF_ANOTHER {
        let other = judged(claim, of_another);
        assert!(!matches!(other, SupportLevel::Supported | SupportLevel::Partly), "{claim:?}");
        assert_eq!(judged(claim, of_subject), SupportLevel::Supported, "{claim:?} {of_subject:?}");
    }
}
