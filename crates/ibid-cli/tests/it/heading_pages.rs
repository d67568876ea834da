//! Pages whose headings are the answer, asked without a model.
use crate::cli::TestHome;

const REPAIR: &str = "# How to repair a clay oven

A clay oven lasts for decades if its cracks are closed every spring.

Each day of a repair will consist of:

1. A look at the walls with a lamp 2. A wash of the floor 3. A break before the next repair begins

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
        "1. Sweep out the ash: Old ash holds water",
        "2. Wet the cracks: Dry clay drinks",
        "3. Press new clay into the cracks: The clay is mixed",
        "4. Light a small fire: A large fire",
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

/// The report on a question from a page of this title whose sections have these headings and sentences.
fn ask_page(title: &str, sections: &[(&str, &str)], question: &str) -> String {
    let home = TestHome::with_model();
    let sections = sections.iter().map(|(heading, text)| format!("## {heading}\n\n{text}\n\n"));
    home.write("one/page.md", &format!("# {title}\n\n{}", sections.collect::<String>()));
    let out = home.ask_folder("one", question);
    out["result"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn headings_of_what_not_to_do_are_no_steps() {
    let drain = [
        ("What not to do", "Three things that our readers did."),
        ("Pour boiling acid down the pipe", "The acid cost Mr Pell his sight."),
        ("Mix bleach with ammonia", "The gas filled the house."),
        ("Push the blockage further with a drill", "The pipe burst behind the wall."),
    ];
    let text = ask_page("How to unblock a drain", &drain, "How do you unblock a drain?");
    assert!(!text.contains("1. Pour boiling acid"), "{text}");
    let bench = [
        ("Brush off the leaves", "A soft brush is enough."),
        ("Wash it with rain water", "Lime stays in the stone."),
        ("Use acid", "Never. Acid eats limestone."),
        ("Let it dry", "It takes a day."),
    ];
    let text = ask_page("How to clean a stone bench", &bench, "How do you clean a stone bench?");
    assert!(!text.contains("Use acid"), "{text}");
    let ivy = [
        ("Plant it in the shade", "Ivy likes a damp foot."),
        ("Water it all summer", "It takes two years to climb."),
        ("Keep the wall rough", "Its roots need a hold."),
    ];
    let text = ask_page("How to get ivy on a wall", &ivy, "How do you get ivy off a wall?");
    assert!(!text.contains("1. Plant it"), "{text}");
    let baby = [
        ("Give it a glass of gin", "*Satire from the Gazette.* It will sleep."),
        ("Leave it in the shed", "Nobody hears it there."),
        ("Play the drums", "It learns to love them."),
    ];
    let text = ask_page("How to calm a baby", &baby, "How do you calm a baby?");
    assert!(!text.contains("1. Give it"), "{text}");
}

#[test]
fn a_prohibition_is_a_step_and_words_of_shops_are_no_offers() {
    let kettle = [
        ("Never scrub it with steel", "Steel leaves lines that stay."),
        ("Order the cloths by roughness", "The softest comes last."),
        ("Rub it with lemon and salt", "The acid takes the brown off."),
        ("Buy a soft brush", "A brush of goat hair reaches the seams."),
    ];
    let text =
        ask_page("How to clean a copper kettle", &kettle, "How do you clean a copper kettle?");
    for step in ["Never scrub it", "Order the cloths", "Rub it with lemon", "Buy a soft brush"] {
        assert!(text.contains(step), "{step}: {text}");
    }
}

#[test]
fn members_that_deny_sell_or_name_somebody_are_none() {
    let toys = [
        ("Lego bricks", "Not dangerous at all, said every doctor asked."),
        ("Magnet balls", "They perforate the bowel when two are swallowed."),
        ("Lawn darts", "They have killed three children."),
        ("Button cells", "They burn the throat within two hours."),
        ("Sponsored: BuildSafe blocks", "They come in nine colours."),
        ("Dr Ann Lowe", "She runs the ward in Hull."),
        ("The safest toys", "Wooden rings have never hurt anyone."),
    ];
    let text = ask_page("The most dangerous toys", &toys, "What are the most dangerous toys?");
    let short = text.split("**Confidence").next().unwrap_or_default();
    for member in ["Magnet balls:", "Lawn darts:", "Button cells:"] {
        assert!(short.contains(member), "{member}: {text}");
    }
    for wrong in ["Lego", "Sponsored", "Ann Lowe", "safest toys"] {
        assert!(!short.contains(wrong), "{wrong}: {text}");
    }
    let dogs = [
        ("Grapes", "They damage the kidneys."),
        ("Chocolate", "Theobromine stops the heart."),
        ("Onions", "They destroy the blood."),
    ];
    let text = ask_page("Foods dogs should stop eating", &dogs, "Which foods should dogs eat?");
    assert!(!text.contains("- Grapes"), "{text}");
}

#[test]
fn headings_of_a_page_on_something_else_are_no_answer() {
    let (_, text) = ask("How do you clean a bread oven's chimney?");
    assert!(!text.contains("1. Sweep out the ash"), "{text}");
}
