//! What was said before a question: `--dialogue` and `--input`.
use serde_json::{Value, json};

use crate::cli::{ASKED, TestHome};

const OTHER: &str = "How much does a green roof weigh?";
const TURNS: &str = r#"[{"assistant": "Which climate?", "user": "The wet one of Bergen."}]"#;

fn key_terms(plan: &Value) -> Vec<String> {
    let terms = plan["brief"]["key_terms"].as_array().unwrap().iter();
    terms.map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_was_said_before_is_part_of_the_brief() {
    let desk = TestHome::new();
    let plain = desk.ibid(&["plan", ASKED, "--json"]).json();
    assert!(!key_terms(&plain).contains(&"Bergen".to_owned()));
    desk.write("turns.json", TURNS);
    let object = format!(r#"{{"followUpDialogue": {TURNS}}}"#);
    desk.write("object.json", &object);
    let input =
        json!({"query": ASKED, "followUpDialogue": serde_json::from_str::<Value>(TURNS).unwrap()});
    desk.write("input.json", &input.to_string());
    for args in [
        ["plan", ASKED, "--json", "--dialogue", "turns.json"].as_slice(),
        &["plan", ASKED, "--json", "--dialogue", "object.json"],
        &["plan", "--json", "--input", "input.json"],
    ] {
        let plan = desk.ibid(args).json();
        assert!(key_terms(&plan).contains(&"Bergen".to_owned()), "{args:?}: {plan}");
    }
    let piped = desk.fed(&["plan", ASKED, "--json", "--dialogue", "-"], TURNS.as_bytes());
    assert!(key_terms(&piped.json()).contains(&"Bergen".to_owned()));
}

#[test]
fn an_input_object_is_a_question_with_its_settings_and_flags_go_before_it() {
    let desk = TestHome::new();
    let input =
        json!({"query": ASKED, "breadth": 3, "depth": 1, "mode": "answer", "summaryTokens": 200});
    desk.write("input.json", &input.to_string());
    let asked = |args: &[&str]| {
        let it = desk.ibid(&[args, &["--folder", "docs", "--jsonl"]].concat());
        assert_eq!(it.code, 0, "{}", it.err);
        it.lines()[0]["data"]["question"].clone()
    };
    let it = asked(&["run", "--input", "input.json"]);
    assert_eq!((&it["text"], &it["mode"]), (&json!(ASKED), &json!("answer")));
    let method = &it["method"];
    assert_eq!(
        (&method["breadth"], &method["depth"], &method["summary_tokens"]),
        (&json!(3), &json!(1), &json!(200))
    );
    let other = asked(&["run", OTHER, "--input", "input.json", "--breadth", "5"]);
    assert_eq!((&other["text"], &other["method"]["breadth"]), (&json!(OTHER), &json!(5)));
}

#[test]
fn what_is_wrong_with_an_input_is_told_with_field_and_range() {
    let desk = TestHome::new();
    let bad = |field: &str, value: Value| {
        let mut input = json!({"query": ASKED});
        input[field] = value;
        desk.write("input.json", &input.to_string());
        let it = desk.ibid(&["run", "--input", "input.json", "--folder", "docs"]);
        assert_eq!(it.code, 2, "{field}: {}", it.err);
        it.err
    };
    for (field, value, told) in [
        ("breadth", json!(1), "breadth must be a whole number from 2 to 10, not `1`"),
        ("breadth", json!(2.5), "breadth must be a whole number from 2 to 10, not `2.5`"),
        ("depth", json!(6), "depth must be a whole number from 1 to 5, not `6`"),
        (
            "summaryTokens",
            json!(99),
            "summary_tokens must be a whole number from 100 to 1000, not `99`",
        ),
        (
            "mode",
            json!("essay"),
            "mode: unknown variant `essay`, expected one of `report`, `answer`, `evidence`",
        ),
        ("query", json!(" "), "question is empty"),
        ("followUpDialogue", json!([{"user": ""}]), "followUpDialogue[0] has no text"),
        ("followUpDialogue", json!("hello"), "followUpDialogue: invalid type: string \"hello\""),
    ] {
        let err = bad(field, value);
        assert!(err.contains(told), "{field}: {err}");
    }
    desk.write("none.json", "{}");
    let none = desk.ibid(&["run", "--input", "none.json", "--folder", "docs"]);
    assert!(none.err.contains("question is missing"), "{}", none.err);
    let both = desk.ibid(&["run", "-", "--dialogue", "-", "--folder", "docs"]);
    assert_eq!(both.code, 2);
    assert!(both.err.contains("cannot all be read from stdin"), "{}", both.err);
}
