//! Sentences that set apart what is asked for, and nicknames of two things.
use crate::cli::TestHome;

/// What is printed for `question` over documents with these texts.
fn told(question: &str, documents: &[&str]) -> String {
    let desk = TestHome::new();
    for (nth, text) in documents.iter().enumerate() {
        desk.write(&format!("shelf/{nth}.txt"), text);
    }
    let folder = desk.path("shelf").display().to_string();
    let run = desk.ibid(&[question, "--folder", &folder, "--model", "none"]);
    format!("{}{}", run.out, run.err)
}

#[test]
fn a_list_of_those_that_do_not_is_no_answer_to_which_do() {
    let trees = [
        "Garden trees. Trees that do not tolerate wet ground include: beech, cherry and walnut. Alder grows by rivers.",
    ];
    let found = told("Which trees tolerate wet ground?", &trees);
    assert!(!found.contains("Short answer.** Trees that do not"), "{found}");
    let found = told("Which trees do not tolerate wet ground?", &trees);
    assert!(found.contains("Short answer.** Trees that do not"), "{found}");
}

#[test]
fn what_is_said_of_the_other_kind_is_no_answer() {
    let glues = [
        "Glues. Unlike type 1 glue, type 2 glue has weaknesses such as heat, frost and oil. Type 1 glue is sold in tins.",
    ];
    let found = told("What are the weaknesses of type 1 glue?", &glues);
    assert!(!found.contains("heat, frost"), "{found}");
    let found = told("What are the weaknesses of type 2 glue?", &glues);
    assert!(found.contains("heat, frost and oil"), "{found}");
}

#[test]
fn two_cities_of_one_nickname_are_two() {
    let cities = [
        "Varn, also known as the Windy City, is the capital of the north. Varn has 216,000 inhabitants.",
        "Holt, also known as the Windy City, lies on a lake. It has two airports.",
    ];
    let found = told("How many inhabitants does Holt have?", &cities);
    assert!(!found.contains("Short answer.** Varn has"), "{found}");
    let found = told("How many inhabitants does Varn have?", &cities);
    assert!(found.contains("Varn has 216,000 inhabitants."), "{found}");
}
