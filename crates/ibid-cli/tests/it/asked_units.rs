//! A figure in the unit that a question asks for, through a whole run: computed beside the quote, in every form of the report.
use crate::cli::TestHome;

const ROOF: &str = "# The Marlow roof

The green roof of the Marlow school weighs 95 to 105 kg per square metre when it is saturated.

The roof covers 1,200 m² and was finished in 2011.

The Marlow footbridge is 84 metres long and opened in 1931. It is 42 km from Denby by road.
";

#[test]
fn the_short_answer_has_its_figures_in_the_unit_that_is_asked_for() {
    let desk = TestHome::new();
    desk.write("marlow/roof.md", ROOF);
    let folder = desk.path("marlow").display().to_string();
    for (question, computed) in [
        (
            "How heavy is the green roof of the Marlow school in pounds per square foot?",
            "95 to 105 kg per square metre ≈ 19.5 to 21.5 pounds per square foot.",
        ),
        ("How many miles is the footbridge from Denby?", "42 km ≈ 26.1 miles."),
    ] {
        let told = desk.ibid(&[question, "--folder", &folder, "--model", "none", "-q"]).out;
        assert!(told.contains(&format!("> Computed, not quoted: {computed}\n")), "{told}");
    }
    let shown = desk.ibid(&["export", "last", "-f", "html"]).out;
    assert!(shown.contains("Computed, not quoted: 42 km ≈ 26.1 miles."), "{shown}");
    let shown = desk.ibid(&["export", "last", "-f", "json"]).out;
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(json["short_converted"][0], "42 km ≈ 26.1 miles");
    desk.ibid(&["export", "last", "-f", "tex", "-o", "tex"]);
    let tex = std::fs::read_to_string(desk.path("tex/report.tex")).unwrap();
    assert!(tex.contains("Computed, not quoted: 42 km"), "{tex}");
    let told =
        desk.ibid(&["How long is the footbridge?", "--folder", &folder, "--model", "none", "-q"]);
    assert!(told.out.contains("84 metres") && !told.out.contains("Computed"), "{}", told.out);
}

#[test]
fn the_answer_in_one_line_has_the_figure_in_the_unit_that_is_asked_for() {
    let desk = TestHome::new();
    desk.write("marlow/roof.md", ROOF);
    let folder = desk.path("marlow").display().to_string();
    let asked = "How long is the Marlow footbridge in feet?";
    let told = desk.ibid(&["answer", asked, "--folder", &folder, "--model", "none", "-q"]).out;
    assert!(
        told.contains("84 metres") && told.contains("(84 metres ≈ 276 feet, computed)"),
        "{told}"
    );
    assert!(told.trim_end().chars().count() <= 140, "{told}");
}
