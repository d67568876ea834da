//! Lists that a sentence leads to, questions that tell to list, and the names of a thing, on documents without line breaks.
use crate::cli::TestHome;

const WEEVIL: &str = "About vine weevil. Vine weevil, also known as Otiorhynchus sulcatus (OS), is a beetle that eats the roots of \
plants in pots. This book is only about vine weevil. Several factors raise the chance that vine weevil comes to a garden. Such risk \
factors include: Plants in peat Pots that stand in one place for years Evergreen shrubs near the house. The beetle cannot fly. Grubs of \
vine weevil are white with a brown head. People in mild towns see more vine weevil in winter. You can water the pots with nematodes in \
August. They'll ask you about any other treatments at the nursery. Nematodes kill the grubs of vine weevil within three weeks.";

const APHIDS: &str = "About aphids. Aphids suck the sap of young shoots. Risk factors for aphids include: too much nitrogen, and warm \
springs. Ladybirds eat aphids.";

/// The short answer to `question` over both guides.
fn short(question: &str) -> String {
    let desk = TestHome::new();
    desk.write("shelf/weevil.txt", WEEVIL);
    desk.write("shelf/aphids.txt", APHIDS);
    let folder = desk.path("shelf").display().to_string();
    let told = desk.ibid(&[question, "--folder", &folder, "--model", "none", "-q"]).out;
    told.split("**Confidence").next().unwrap_or_default().to_owned()
}

#[test]
fn a_list_in_a_sentence_answers_what_the_sentence_before_it_is_on() {
    let told = short("What are the risk factors for vine weevil?");
    assert!(told.contains("Short answer.**") && told.contains("Evergreen shrubs"), "{told}");
    assert!(!told.contains("nitrogen"), "{told}");
}

#[test]
fn what_is_told_to_be_listed_is_answered_as_a_question() {
    let told = short("List two risk factors for aphids.");
    assert!(told.contains("# List two risk factors for aphids."), "{told}");
    assert!(told.contains("Short answer.**") && told.contains("too much nitrogen"), "{told}");
}

#[test]
fn a_short_form_stands_for_every_name_of_the_thing() {
    // No document explains one by the other: both are names of the beetle's Latin one.
    let told = short("What colour is the head of OS grubs?");
    assert!(told.contains("white with a brown head"), "{told}");
}

#[test]
fn what_somebody_will_ask_the_reader_is_no_order_to_machines() {
    let told = short("How fast do nematodes kill vine weevil grubs?");
    assert!(told.contains("within three weeks"), "{told}");
}
