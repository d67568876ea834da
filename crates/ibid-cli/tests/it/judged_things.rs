//! Questions for what speaks for something and against it, which documents tell in other words.
use crate::cli::TestHome;

const HEDGES: &str = "# Hedges of hornbeam

A hornbeam hedge is planted in autumn, with four plants to a metre.

A hornbeam hedge shelters a garden from wind, and it reduces noise from the street.

Hornbeam hedges save birds a place to nest, and they last longer than a fence.

However, a hornbeam hedge needs two cuts a year, and it fails on wet soil.

The hedge at Tarn Hall was planted in 1911.
";

fn short(question: &str) -> String {
    let desk = TestHome::new();
    desk.write("shelf/hedges.md", HEDGES);
    let folder = desk.path("shelf").display().to_string();
    let told = desk.ibid(&[question, "--folder", &folder, "--model", "none", "-q"]).out;
    told.split("**Confidence").next().unwrap_or_default().to_owned()
}

#[test]
fn benefits_are_told_in_the_words_of_the_documents() {
    let told = short("What are the benefits of a hornbeam hedge?");
    assert!(told.contains("Short answer.**") && told.contains("last longer"), "{told}");
    assert!(!told.contains("two cuts") && !told.contains("1911"), "{told}");
}

#[test]
fn drawbacks_are_told_in_the_words_of_the_documents() {
    let told = short("What are the disadvantages of a hornbeam hedge?");
    assert!(told.contains("Short answer.**") && told.contains("fails on wet soil"), "{told}");
    assert!(!told.contains("1911"), "{told}");
}

#[test]
fn what_speaks_for_and_against_are_two_parts() {
    let told = short("What are the pros and cons of a hornbeam hedge?");
    assert!(
        told.contains("Short answer.**")
            && told.contains("last longer")
            && told.contains("fails on wet soil"),
        "{told}"
    );
    let desk = TestHome::new();
    let plan =
        desk.ibid(&["plan", "What are the pros and cons of a hornbeam hedge?", "--json"]).json();
    let headings: Vec<&str> = plan["plan"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["heading"].as_str())
        .collect();
    assert_eq!(headings[..2], ["Pros of a hornbeam hedge", "Cons of a hornbeam hedge"]);
}
