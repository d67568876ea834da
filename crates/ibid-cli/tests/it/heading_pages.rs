//! Pages whose headings are the answer, asked without a model.
use crate::cli::TestHome;

const REPAIR: &str = "# How to repair a clay oven

A clay oven lasts for decades if its cracks are closed every spring.

## Sweep out the ash

Old ash holds water and the water freezes in the winter. Most ovens have a hand's depth of it.

## Wet the cracks

Dry clay drinks the water of the new clay, which then falls out in a week.

## Press new clay into the cracks

The clay is mixed with two parts of sand, as it was when the oven was built.

## Light a small fire

A large fire drives the water out too fast.

## Related guides

Find out how we build ovens from scratch.
";

const PROBLEMS: &str = "# The biggest problems with clay ovens

Two hundred owners of clay ovens were asked last year what troubles them.

## Cracks

Nine in ten owners had seen them within two winters. Frost opens what the heat began.

## Slow heating

It takes two hours until the floor is hot, and a family that comes home at six does not wait until eight.

## Mice

They nest under the floor, where it is warm until the morning.

## How we asked

We sent a card to every owner whom we knew.
";

const BENEFITS: &str = "# The benefits of clay ovens

## Bread

A loaf from a clay oven keeps for a week.

## Cheap fuel

Vine cuttings are enough for it.

## Warm walls

They give back the heat until the evening.
";

fn ovens() -> TestHome {
    let home = TestHome::with_model();
    home.write("ovens/repair.md", REPAIR);
    home.write("ovens/problems.md", PROBLEMS);
    home.write("ovens/benefits.md", BENEFITS);
    home
}

/// The short answer to a question, and the report as Markdown.
fn ask(question: &str) -> (String, String) {
    let out = ovens().ask_folder("ovens", question);
    let text = out["result"].as_str().unwrap_or_default().to_owned();
    let short = text.split("**Confidence").next().unwrap_or_default().to_owned();
    (short, text)
}

#[test]
fn headings_that_tell_what_to_do_are_the_steps_of_a_page_that_tells_how() {
    let (short, text) = ask("How do you repair a clay oven?");
    let steps = [
        "1. Sweep out the ash.",
        "2. Wet the cracks.",
        "3. Press new clay",
        "4. Light a small fire.",
    ];
    for step in steps {
        assert!(short.contains(step), "{step}: {text}");
    }
    assert!(!text.contains("Related guides"), "{text}");
}

#[test]
fn headings_are_the_members_that_the_title_lists_each_with_what_is_said_of_it() {
    let (short, text) = ask("What are the biggest problems with clay ovens?");
    let members = [
        "Cracks: Nine in ten owners had seen them",
        "Slow heating: It takes two hours",
        "Mice: They nest under the floor",
    ];
    for member in members {
        assert!(short.contains(member), "{member}: {text}");
    }
    for wrong in ["How we asked", "Cheap fuel", "Bread"] {
        assert!(!short.contains(wrong), "{wrong}: {text}");
    }
}

#[test]
fn headings_of_a_page_on_something_else_are_no_answer() {
    let (_, text) = ask("How do you clean a bread oven's chimney?");
    assert!(!text.contains("1. Sweep out the ash"), "{text}");
}
