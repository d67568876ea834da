//! Questions and headings in running text, on documents whose paragraphs or line breaks are all the structure there is.
use crate::cli::TestHome;

const PARK: &str = "The Halvern animal park\n\nHow much is a day ticket?\n\nAdults pay 14 euros. Children under six come in free.\n\n\
Can dogs come along?\n\nOnly on a lead, and not into the aviary.\n";

const KILN: &str = "About kiln shelves. What is a kiln shelf? It is the plate that pots stand on in the fire. What warps a kiln shelf? \
Nobody knows exactly what warps most of them. It begins in one spot that is hotter than the rest. Shelves last for years. Coatings The \
best one is a thin layer of kiln wash. Glaze cannot stick to it. In every studio some are cracked.";

/// The short answer to `question` over both documents; the exit status where there is none.
fn short(question: &str) -> String {
    let desk = TestHome::new();
    desk.write("shelf/park.txt", PARK);
    desk.write("shelf/kiln.txt", KILN);
    let folder = desk.path("shelf").display().to_string();
    let told = desk.ibid(&[question, "--folder", &folder, "--model", "none", "-q"]).out;
    told.split("**Confidence").next().unwrap_or_default().to_owned()
}

#[test]
fn a_paragraph_that_is_a_question_is_answered_by_the_next() {
    for question in [
        "How much does a day ticket to the animal park cost?",
        "What does a day ticket to Halvern animal park cost?",
    ] {
        let told = short(question);
        assert!(told.contains("Short answer.** Adults pay 14 euros."), "{question}: {told}");
    }
    let told = short("Can dogs come along to the animal park?");
    assert!(told.contains("Only on a lead"), "{told}");
}

#[test]
fn what_another_thing_costs_is_not_answered() {
    for question in [
        "How much does a day ticket to the zoo of Varn cost?",
        "How much is a day ticket to the aquarium?",
    ] {
        let told = short(question);
        assert!(!told.contains("14 euros"), "{question}: {told}");
    }
}

#[test]
fn a_heading_whose_line_break_is_lost_is_no_part_of_the_quote() {
    let told = short("What is the best coating for kiln shelves?");
    assert!(told.contains("The best one is a thin layer of kiln wash."), "{told}");
    assert!(!told.contains("Coatings The"), "{told}");
}

#[test]
fn what_is_said_below_a_question_in_a_paragraph_is_said_of_its_subject() {
    let told = short("Where does the warping of a kiln shelf begin?");
    assert!(told.contains("one spot that is hotter"), "{told}");
}
