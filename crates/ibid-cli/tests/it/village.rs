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

const INN: &str = r#"<html><head><title>The Otter inn</title><script type="application/ld+json">
{"@type":"Hotel","name":"The Otter inn","makesOffer":{"price":"60"}}</script></head><body><main><h1>The Otter inn</h1>
<p>The Otter inn has eleven rooms above the harbour and a garden with six tables. Breakfast is included at the Otter inn. The Otter inn was opened by
Hanne Voigt in 1894, and her portrait hangs in the hall.</p></main></body></html>"#;

const VISITORS: &str = "The county looks at its inns

The county sent visitors to eleven inns in May. A room at the Otter inn costs 74 euros, and breakfast is charged at 9 euros. The parish \
register says the Otter inn was opened in 1889, not in 1894. In 2021 the autumn market lasted five days.
";

const SCHOOL: &str = "# Dunmere School

The school opened in 1921 after plans by Tilda Moss. The school has 93 pupils and six teachers. The school teaches Danish and Greek. Lessons \
end at 13:40.
";

const MINUTES: &str = "Minutes of the Dunmere School council

Nine parents were present. The headteacher reported that the school now has 117 pupils. A new bell was bought.
";

const INTERVIEW: &str = "Thirty years of lamps

Q: Do lamps smoke more than candles?

A: No. Lamps smoke less than candles, because glass shields the flame from the wind. In our shop 3 of 90 lamps smoked in their first year.
";

const GUILD: &str = "Report of the guild of chandlers

Combine lamps with candles; no single light is enough. Lamps smoke in the end when their wicks are old. No lamp in our sample burned whale oil.
";

fn village() -> TestHome {
    let home = TestHome::with_model();
    home.write("village/shops.md", SHOPS);
    home.write("village/lamp.html", LAMP_SHOP);
    home.write("village/test.html", LAMP_TEST);
    home.write("village/wick.md", WICK);
    home
}

/// The documents of other tests are not beside these.
fn inn_and_school() -> TestHome {
    let home = TestHome::with_model();
    home.write("village/inn.html", INN);
    home.write("village/visitors.txt", VISITORS);
    home.write("village/school.md", SCHOOL);
    home.write("village/minutes.txt", MINUTES);
    home
}

/// The final object, and the report in Markdown.
fn ask(home: &TestHome, question: &str) -> (Value, String) {
    let it = home.ask_folder("village", question);
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

#[test]
fn what_is_charged_is_not_included_and_later_words_are_set_against_earlier_ones() {
    let home = inn_and_school();
    for (question, sides) in [
        ("Is breakfast included at the Otter inn?", ["- **no** — ", "- **yes** — "]),
        (
            "How many pupils does Dunmere School have?",
            ["- **93 pupils** — ", "- **117 pupils** — "],
        ),
        ("When was the Otter inn opened?", ["- **1894** — ", "- **1889** — "]),
    ] {
        let (_, text) = ask(&home, question);
        assert!(sides.iter().all(|side| text.contains(side)), "{question}: {text}");
        assert!(text.contains("sources disagree"), "{question}: {text}");
    }
}

#[test]
fn what_names_members_of_the_kind_asked_for_answers_and_the_past_tells_no_future() {
    let home = inn_and_school();
    let (it, text) = ask(&home, "Which languages does Dunmere School teach?");
    let short = it["answer"].as_str().unwrap_or_default();
    assert!(short.contains("Danish and Greek"), "{text}");
    assert!(!short.contains("1921"), "{text}");
    let (_, text) = ask(&home, "How long will the autumn market last?");
    assert!(!text.contains("answers the question directly"), "{text}");
}

#[test]
fn the_no_to_another_question_is_no_answer_and_is_borne_by_nobody_else() {
    let home = TestHome::with_model();
    home.write("village/interview.txt", INTERVIEW);
    home.write("village/guild.txt", GUILD);
    let (_, text) = ask(&home, "Do lamps smoke?");
    assert!(text.contains("Lamps smoke"), "{text}");
    assert!(!text.contains(" No. [["), "{text}");
}
