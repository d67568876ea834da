//! What a source only reports, refutes or tells as fiction answers no question with yes.
use crate::cli::{Outcome, TestHome};

const ASKED: &str = "Do green roofs cause cancer?";

/// The answer from one page with this title and text.
fn answer(title: &str, text: &str) -> Outcome {
    let desk = TestHome::with_model();
    let page = format!(
        "# {title}\n\n{text}\n\nGreen roofs carry plants above the membrane. They hold back rain and cool the rooms below.\n"
    );
    desk.write("health/page.md", &page);
    let docs = desk.path("health").to_string_lossy().into_owned();
    desk.ibid(&["answer", ASKED, "--folder", &docs, "--model", "none", "-q"])
}

#[test]
fn a_claim_that_a_source_does_not_make_itself_is_no_yes() {
    for (title, text) in [
        ("Court report", "A blogger was fined for saying that green roofs cause cancer."),
        ("Debate", "Critics claim green roofs cause cancer, but they offered no figures."),
        ("Debate", "Green roofs cause cancer, according to a leaflet that was handed out."),
        ("Debate", "The minister told reporters on Friday that green roofs cause cancer."),
        ("Health", "Many owners still believe that green roofs cause cancer."),
        ("Health", "It is untrue that green roofs cause cancer."),
        ("Health", "There is no evidence that green roofs do not cause cancer."),
        ("Health", "No study has ever proved that green roofs cause cancer."),
        ("Health", "Green roofs would cause cancer if their mats held asbestos."),
        ("A story", "In the novel Moss, green roofs cause cancer in a whole city."),
    ] {
        let it = answer(title, text);
        assert!(!it.out.starts_with("Yes"), "{text} {}", it.out);
        assert!(
            it.code != 0 || it.err.contains("No quote by itself is a clear yes or no"),
            "{text} {}",
            it.err
        );
    }
}

#[test]
fn what_its_own_page_takes_back_or_tells_as_fiction_is_no_evidence() {
    for (title, text) in [
        ("Myths about green roofs", "Green roofs cause cancer in the people who live below."),
        ("Questions", "## A common misconception\n\nGreen roofs cause cancer in people below."),
        ("Health", "Green roofs cause cancer in those who live below. That is simply not true."),
        ("The Moss Year (novel)", "Green roofs cause cancer in the city of Halvern."),
        ("The Moss Year", "The Moss Year is a 1987 novel by Ada Brink. Green roofs cause cancer."),
    ] {
        let it = answer(title, text);
        assert!(!it.out.contains("cause cancer"), "{title} {text} {}", it.out);
    }
}

#[test]
fn what_a_study_found_or_a_source_says_itself_is_a_yes_and_its_denial_a_no() {
    for (text, wanted) in [
        ("A study of 900 flats found that green roofs cause cancer.", "Yes — "),
        ("Green roofs cause cancer in the people who live below.", "Yes — "),
        ("Critics claim that green roofs are ugly. Green roofs do not cause cancer.", "No — "),
    ] {
        let it = answer("Health on roofs", text);
        assert!(it.out.starts_with(wanted), "{text} {} {}", it.out, it.err);
        assert!(!it.err.contains("yes or no"), "{}", it.err);
    }
}

#[test]
fn what_would_be_is_told_with_its_condition() {
    let desk = TestHome::with_model();
    let page = "# Shade in the streets of Orrin\n\nIf every yard of the town were planted, the street would be 0.3 °C cooler. \
                White roofs would lower the street temperature by 0.5 °C at a tenth of the cost.\n";
    desk.write("town/page.md", page);
    let asked = "By how much do white roofs lower the street temperature?";
    let it = desk.ask_folder("town", asked);
    let text = it["result"].as_str().unwrap_or_default();
    let short = text.split("**Confidence").next().unwrap_or_default();
    assert!(short.contains("If every yard") && short.contains("0.5 °C"), "{text}");
}
