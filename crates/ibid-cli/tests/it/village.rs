//! Opening times, offers, steps and names of a small place, asked without a model: what says no, who sells what is praised, and what
//! belongs together.
use serde_json::Value;

use crate::cli::TestHome;

const SHOPS: &str = "# Shops of Dunmere

Harrow's, on the quay, opens at 7 in the morning and is closed on Tuesday. It sells lamp oil, rope and nets. The Brass Kettle, by the \
church, opens every day at 9 and sells lamp oil and candles. Smoking is forbidden in the Brass Kettle. The secretary of the guild, Ada \
Crane, refused to sign the lease. Ada Crane's brother, Piet Crane, plays the horn. Carts run to Holm every two hours. The crossing to Holm takes 1 \
hour and 20 minutes.
";

const LAMP_SHOP: &str = r#"<html><head><title>Stormlight lamp</title><script type="application/ld+json">
{"@type":"Product","name":"Stormlight lamp","offers":{"@type":"Offer","price":"19"}}</script></head><body><main>
<h1>Stormlight lamp</h1><p>The Stormlight lamp burns for 30 hours on one filling of oil. The Stormlight lamp is safe in a hayloft. It was
made for fishermen and has a brass frame with four panes of glass.</p></main></body></html>"#;

const LAMP_TEST: &str = r#"<html><head><title>Six lamps tried</title><script type="application/ld+json">
{"@type":"Product","name":"Stormlight lamp","offers":{"price":"19"}}</script><script type="application/ld+json">
{"@type":"NewsArticle","headline":"Six lamps tried"}</script></head><body><main><h1>Six lamps tried</h1>
<p>The Stormlight lamp burns for 18 hours on one filling of oil. We filled each lamp three times and noted when its flame went out.
The wind in our barn was weak on all three days.</p></main></body></html>"#;

const WICK: &str = "# How to trim a wick

To trim a wick you need scissors and a cloth. First, put out the flame and wait ten minutes. Second, lift the glass off its frame. \
Third, cut the wick straight across. Then wipe the glass with the cloth. A wick that is cut at a slant smokes.
";

fn village() -> TestHome {
    let home = TestHome::with_model();
    home.write("village/shops.md", SHOPS);
    home.write("village/lamp.html", LAMP_SHOP);
    home.write("village/test.html", LAMP_TEST);
    home.write("village/wick.md", WICK);
    home
}

/// The final object, and the report in Markdown.
fn ask(home: &TestHome, question: &str) -> (Value, String) {
    let folder = home.path("village").display().to_string();
    let said = home.ibid(&[question, "--folder", &folder, "--model", "none", "-q", "--json"]);
    let it = said.json();
    let text = it["result"].as_str().unwrap_or_default().to_owned();
    (it, text)
}

#[test]
fn what_is_closed_forbidden_refused_or_done_by_another_is_no_yes() {
    let home = village();
    for (question, verdict) in [
        ("Is Harrow's open on Tuesday?", "**Short answer: no.**"),
        ("May I smoke in the Brass Kettle?", "**Short answer: no.**"),
        ("Did Ada Crane sign the lease?", "**Short answer: no.**"),
        ("Do carts run to Holm every hour?", "**Short answer: no.**"),
        ("Does Ada Crane play the horn?", "**Short answer.**"),
    ] {
        let (_, text) = ask(&home, question);
        assert!(text.contains(verdict), "{question}: {text}");
        let says_no = verdict.contains("no.");
        assert!(!says_no || !text.contains("no sentence on: evidence against"), "{text}");
    }
}

#[test]
fn a_seller_is_named_and_decides_nothing_alone() {
    let home = village();
    let (it, text) = ask(&home, "How long does the Stormlight lamp burn on one filling of oil?");
    assert!(text.contains("from a seller"), "{text}");
    assert_eq!(text.matches("offers for sale what it describes").count(), 1, "{text}");
    let sources = it["sources"].as_array().unwrap();
    assert!(sources.len() >= 2, "{text}");
    let (_, text) = ask(&home, "Is the Stormlight lamp safe in a hayloft?");
    assert!(text.contains("**Short answer.**") && text.contains("told by sellers alone"), "{text}");
}

#[test]
fn steps_named_first_and_second_are_told_in_order() {
    let home = village();
    let (_, text) = ask(&home, "How do I trim a wick?");
    let at = |step: &str| text.find(step).unwrap_or_else(|| panic!("{step}: {text}"));
    assert!(at("1. Put out the flame") < at("2. Lift the glass"), "{text}");
    assert!(at("2. Lift the glass") < at("3. Cut the wick"), "{text}");
}

#[test]
fn two_halves_of_a_question_on_one_thing_have_one_answer() {
    let home = village();
    let (_, text) = ask(&home, "Which shop sells lamp oil and is closed on Tuesday?");
    let short = text.split("**Confidence").next().unwrap_or_default();
    assert!(short.contains("Harrow's") && !short.contains("Brass Kettle"), "{text}");
}
