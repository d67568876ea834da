//! Comparisons and superlatives whose answers stand in tables, through a whole run without a model.
use crate::cli::TestHome;

/// The report on a question over these files, up to its method.
fn told(files: &[(&str, &str)], question: &str) -> String {
    let desk = TestHome::new();
    for (name, text) in files {
        desk.write(&format!("shelf/{name}"), text);
    }
    let folder = desk.path("shelf").display().to_string();
    let told = desk.ibid(&[question, "--folder", &folder, "--model", "none", "-q"]).out;
    told.split("\n## Method").next().unwrap_or_default().to_owned()
}

const LAKES: &str = "# Deep lakes\n\n| Lake | Greatest depth | Area |\n| --- | --- | --- |\n\
    | Lake Arl | 212 m | 58 km² |\n| Lake Brue | 640 ft | 31 sq mi |\n| Lake Carn | 154 m | 112 km² |\n";

#[test]
fn rows_of_one_table_are_compared_by_all_its_columns() {
    let text = told(&[("l.md", LAKES)], "Compare Lake Arl and Lake Brue");
    for part in [
        "> - Lake Arl – Greatest depth: 212 m; Area: 58 km².",
        "> - Lake Brue – Greatest depth: 640 ft; Area: 31 sq mi.",
        "|  | Lake Arl | Lake Brue |",
        "(195 m, computed)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = told(&[("l.md", LAKES)], "Compare Lake Arl and Lake Brue by depth");
    assert!(text.contains("Lake Arl – Greatest depth: 212 m (Area: 58 km²)"), "{text}");
}

#[test]
fn a_thing_and_one_whose_name_goes_on_are_two() {
    let page = "# Zarn machines\n\nThank you for choosing the Zarn S2.\n\n| | S2 | S2 Pro |\n| --- | --- | --- |\n\
        | Power | 1,450 W | 1,750 W |\n| Water tank | 1.8 l | 2.5 l |\n| Weight | 9.4 kg | 12.1 kg |\n";
    let text = told(&[("z.md", page)], "Compare the S2 and the S2 Pro");
    assert!(text.contains("> - Power – S2: 1,450 W; S2 Pro: 1,750 W."), "{text}");
    assert!(text.contains("|  | S2 | S2 Pro |"), "{text}");
}

#[test]
fn three_things_are_compared_by_the_measures_that_are_named() {
    let page = "# Bikes\n\n| Model | Price | Weight | Range | Battery |\n| --- | --- | --- | --- | --- |\n\
        | Nor U2 | £2,850 | 21.8 kg | 96 km | 545 Wh |\n| Ped Loop | £1,599 | 19.9 kg | 48 km | 360 Wh |\n\
        | Var Trek | £3,400 | 25.1 kg | 118 km | 725 Wh |\n";
    let asked = "Compare the Nor U2, the Var Trek and the Ped Loop by weight, range and price";
    let text = told(&[("b.md", page)], asked);
    assert!(text.contains("|  | Nor U2 | Var Trek | Ped Loop |"), "{text}");
    assert!(text.contains("| Weight | 21.8 kg") && !text.contains("| Battery |"), "{text}");
}

#[test]
fn the_least_is_of_the_column_that_is_asked_for() {
    let page = "# Heating systems\n\n| System | Purchase | Energy costs a year |\n| --- | --- | --- |\n\
        | Gas boiler | 11,800 € | 2,690 € |\n| Pellet boiler | 32,000 € | 1,970 € |\n| Heat pump | 46,500 € | 1,810 € |\n";
    for asked in [
        "Which heating system has the lowest energy costs?",
        "Which heating system is cheapest to run?",
    ] {
        let text = told(&[("h.md", page)], asked);
        assert!(
            text.contains("Short answer.** Heat pump – Energy costs a year: 1,810 €"),
            "{text}"
        );
    }
    let text = told(&[("h.md", page)], "Which heating system is cheapest?");
    assert!(text.contains("Short answer.** Gas boiler – Purchase: 11,800 €"), "{text}");
}

#[test]
fn the_most_of_several_tables_is_the_most_of_all() {
    let one =
        "# Bikes here\n\n| Bike | Weight |\n| --- | --- |\n| Minn | 17.2 kg |\n| Nor | 21.8 kg |\n";
    let other = "# Bikes there\n\n| Bike | Weight |\n| --- | --- |\n| Keys | 44 lb |\n| Vario | 55.3 lb |\n";
    let text = told(&[("a.md", one), ("b.md", other)], "Which bike is the lightest?");
    assert!(text.contains("Short answer.** Minn – Weight: 17.2 kg"), "{text}");
    let rivers = "River;Length;Mean flow\nSkell;84 km;12 m³/s\nOrr;61 miles;19 m³/s\nTamble;132 km;27 m³/s\n";
    let text = told(&[("rivers.csv", rivers)], "Which river is the longest?");
    assert!(text.contains("Short answer.** Tamble – Length: 132 km"), "{text}");
}

#[test]
fn a_problem_is_answered_by_its_row() {
    let page = "# Zarn manual\n\nThe lamp blinks while the machine heats up.\n\n## Troubleshooting\n\n\
        | Problem | Cause | What to do |\n| --- | --- | --- |\n| Coffee is cold | Machine not warm yet | Wait until the lamp is steady |\n\
        | Water under the machine | Drip tray full | Empty the drip tray |\n| | Seal is worn | Replace the seal |\n\
        | Red lamp blinks | Thermostat has tripped | Let it cool for one hour |\n";
    for (asked, answer) in [
        ("Why does the red lamp blink?", "Thermostat has tripped"),
        ("Why is my coffee cold?", "Machine not warm yet"),
        ("There is water under the machine, what can I do?", "Empty the drip tray"),
    ] {
        let text = told(&[("z.md", page)], asked);
        let short = text.split("Confidence").next().unwrap_or_default();
        assert!(short.contains("Short answer") && short.contains(answer), "{asked}: {text}");
        assert!(!short.contains("heats up"), "{text}");
    }
}

#[test]
fn a_thing_that_no_page_names_gets_no_answer() {
    let text = told(
        &[("a.md", "# Town\n\nIn July the air in the town reached 38.9 °C.\n")],
        "How is the weather on Mars?",
    );
    assert_eq!(text, "", "{text}");
}

#[test]
fn a_difference_is_answered_with_both_figures_and_nothing_that_nobody_asked() {
    let text = told(&[("l.md", LAKES)], "How much deeper is Lake Arl than Lake Carn?");
    assert!(text.contains("Lake Arl – Greatest depth: 212 m"), "{text}");
    assert!(text.contains("Lake Carn – Greatest depth: 154 m"), "{text}");
    assert!(!text.contains("Also searched for"), "{text}");
}
