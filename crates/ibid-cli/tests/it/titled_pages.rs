//! Pages whose titles ask the question, asked without a model: what they say answers, though other pages have more of its words.
use serde_json::Value;

use crate::cli::TestHome;

const BRAKES: &str = "# Why we fit brakes to every mill we build

Norbeck is a workshop of five millwrights on the north coast.

In a gale a band brake is the surest way to stop the sails.

That's why Norbeck's rule is to fit brakes to every mill we build. A braked mill does not throw its sails into the yard.

## Iron has never been cheaper

The price of band iron fell by a third in ten years.
";

const TIMBER: &str = "# How we cut timber

Norbeck needs a saw pit to make sails, and every mill site that Norbeck builds needs to be dry before we fit the frame. Build the frame \
on trestles: the last thing Norbeck does is fit the mill to its site.
";

const ROT: &str = "# Preventing rot in mills

Rot takes more mills than storms do, and nobody sees it come.

Paint the sills every third year. The miller at Holm forgot it twice.

Keep the gutters clear. A blocked gutter wets a post for a whole winter.

Be sparing with salt. It draws water into the grain.

In the next post we'll look at worms.
";

const ROT_COUNCIL: &str = "# Minutes of the council

A team of the council will look at rot in the mills of the town before the summer, and then make a list of what the town needs.
";

const TREES: &str = "# Trees that grow on a heath

A tree for the heath must stand wind from the west and go without rain for weeks.

## The tested list

- Rowan stands the wind best and seeds itself.
- Silver birch grows fastest, but lives for sixty years only.
- Juniper needs ten years to reach the height of a man.
";

const KINDS: &str = "# Kinds of mills

A smock mill turns its cap to face the wind; a water mill stands still beside its stream.
";

const CLICKBAIT: &str = "# Why does the Harbour clock run slow?

Welcome back to our pages. This week we visited three clocks and had scones.

The moon, says Mary of Hill Street. Send us your own theory by Friday.
";

const CLOCK: &str = "# Papers of the clockmaker

The Harbour clock runs slow because its pendulum lengthens in warm weather. Many think that gulls sit on its hand. That's why the Harbour clock \
runs slow, people say.
";

const FLOOD: &str = "# Preventing floods in towns

Plant willows above the town. They hold the banks.

Leave the sluice open all winter, people say.

Pave the meadow. That was the advice of 1950, and it made the floods worse.

Sign up for our newsletter.
";

const GROUND: &str = "# Trees on wet ground

These trees tolerate wet ground:

- Alder
- Willow
- River birch

These trees do not tolerate wet ground:

- Beech
- Scots pine
- Sweet chestnut
";

fn mills() -> TestHome {
    let home = TestHome::with_model();
    home.write("mills/brakes.md", BRAKES);
    home.write("mills/timber.md", TIMBER);
    home.write("mills/rot.md", ROT);
    home.write("mills/minutes.md", ROT_COUNCIL);
    home.write("mills/trees.md", TREES);
    home.write("mills/kinds.md", KINDS);
    home.write("mills/clickbait.md", CLICKBAIT);
    home.write("mills/clock.md", CLOCK);
    home.write("mills/flood.md", FLOOD);
    home.write("mills/ground.md", GROUND);
    home
}

/// The final object, and the report in Markdown up to its method.
fn ask(home: &TestHome, question: &str) -> (Value, String) {
    let it = home.ask_folder("mills", question);
    let text = it["result"].as_str().unwrap_or_default();
    let told = text.split("\n## Method").next().unwrap_or_default().to_owned();
    (it, told)
}

/// The short answer of a report.
fn short(text: &str) -> String {
    let lines = text.lines().filter(|line| line.starts_with('>'));
    lines.take_while(|line| !line.contains("**Confidence")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_that_is_called_why_says_why() {
    let (_, text) = ask(&mills(), "Why does Norbeck fit brakes to every mill it builds?");
    let told = short(&text);
    assert!(told.contains("surest way to stop the sails. That's why Norbeck"), "{text}");
    assert!(!told.contains("trestles") && !told.contains("saw pit"), "{text}");
}

#[test]
fn what_opens_the_paragraphs_of_a_page_on_prevention_is_told_in_order() {
    let (_, text) = ask(&mills(), "How can a town prevent rot in its mills?");
    let at = |step: &str| text.find(step).unwrap_or_else(|| panic!("{step}: {text}"));
    assert!(at("1. Paint the sills") < at("2. Keep the gutters clear"), "{text}");
    assert!(at("2. Keep the gutters clear") < at("3. Be sparing with salt"), "{text}");
    assert!(!text.contains("next post"), "{text}");
    for step in ["Paint the sills", "Keep the gutters clear", "Be sparing with salt"] {
        assert!(short(&text).contains(step), "the short answer has every step: {text}");
        let told = text.split("## Method").next().unwrap();
        assert_eq!(told.matches(step).count(), 1, "no section tells it again: {text}");
    }
}

#[test]
fn a_list_that_the_short_answer_tells_whole_is_told_once() {
    let (_, text) = ask(&mills(), "Which trees grow on poor soil of a heath?");
    let told = short(&text);
    for tree in ["> - Rowan", "> - Silver birch", "> - Juniper"] {
        assert!(told.contains(tree), "{tree}: {text}");
    }
    assert_eq!(text.matches("seeds itself").count(), 1, "{text}");
}

#[test]
fn how_two_things_differ_is_told_by_what_names_both() {
    let (_, text) = ask(&mills(), "How do smock mills and water mills differ?");
    assert!(short(&text).contains("a water mill stands still beside its stream"), "{text}");
    assert!(text.contains("answers the question directly"), "{text}");
    assert!(!text.contains("has the words: differ"), "{text}");
}

#[test]
fn a_title_that_asks_makes_no_answer_of_what_gives_no_reason() {
    let (_, text) = ask(&mills(), "Why does the Harbour clock run slow?");
    assert!(short(&text).contains("because its pendulum lengthens"), "{text}");
    assert!(!text.contains("scones") && !text.contains("Mary of Hill"), "{text}");
    assert!(!short(&text).contains("gulls"), "{text}");
}

#[test]
fn a_saying_an_offer_and_what_is_taken_back_are_no_steps() {
    let (_, text) = ask(&mills(), "How can a town prevent floods?");
    assert!(text.contains("Plant willows above the town"), "{text}");
    for wrong in ["Leave the sluice", "Pave the meadow", "newsletter"] {
        assert!(!text.contains(wrong), "{wrong}: {text}");
    }
}

#[test]
fn a_list_of_what_does_not_is_no_list_of_what_does() {
    let (_, text) = ask(&mills(), "Which trees tolerate wet ground?");
    assert!(text.contains("- Alder") && text.contains("- River birch"), "{text}");
    assert!(!text.contains("Beech") && !text.contains("Scots pine"), "{text}");
    let (_, text) = ask(&mills(), "Which trees do not tolerate wet ground?");
    assert!(text.contains("Beech") && text.contains("Scots pine"), "{text}");
    assert!(!text.contains("Alder") && !text.contains("River birch"), "{text}");
}

#[test]
fn a_factor_tells_how_much_faster_something_is_on_a_page_on_its_release() {
    let home = TestHome::with_model();
    let title = "# Faster firing with release 2.4.0 of the Brekk kiln software\n\n";
    home.write(
        "mills/page.md",
        &format!("{title}Forty bowls are fired at once. Firing is reduced 3x.\n"),
    );
    let (_, text) = ask(&home, "How much faster is firing with the Brekk kiln software 2.4?");
    assert!(short(&text).contains("Firing is reduced 3x."), "{text}");
    assert!(!text.contains("Nearest passage"), "{text}");
    home.write(
        "mills/page.md",
        &format!("{title}The release should make firing much faster in 2026.\n"),
    );
    let (_, text) = ask(&home, "How much faster is firing with the Brekk kiln software 2.4?");
    assert!(!text.contains("**Short answer"), "{text}");
    home.write("mills/page.md", "# Bikes of Orrin\n\nOn hills a bike is 2x faster than a mule.\n");
    let (_, text) = ask(&home, "How much faster is a bike than a car on hills?");
    assert!(short(&text).contains("**Nearest passage.** On hills"), "{text}");
}

#[test]
fn what_avoids_a_place_does_not_live_there() {
    let home = TestHome::with_model();
    home.write("mills/page.md", "# Foxes\n\nFoxes, badgers and hedgehogs avoid water mills.\n");
    let (_, text) = ask(&home, "Which animals live in water mills?");
    assert!(!text.contains("**Short answer"), "{text}");
}
