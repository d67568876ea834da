//! A plan as a file: edited by hand, gone by to the letter, and each fault named by its field.
use serde_json::{Value, json};

use crate::cli::{ASKED, TestHome};

fn plan_of(desk: &TestHome) -> Value {
    let it = desk.ibid(&["plan", ASKED, "--folder", "docs", "--json"]);
    assert_eq!(it.code, 0, "{}", it.err);
    it.json()
}

/// A report without the lines that name its run.
fn body(text: &str) -> String {
    let kept = text.lines().filter(|it| !it.starts_with("run: "));
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_plan_that_nobody_edited_gives_the_report_there_would_have_been() {
    let desk = TestHome::new();
    let without = desk.ibid(&[ASKED, "--folder", "docs"]);
    let plan = plan_of(&desk);
    desk.write("plan.json", &plan.to_string());
    let with = desk.ibid(&["run", "--plan", "plan.json", "--folder", "docs"]);
    assert_eq!(with.code, 0, "{}", with.err);
    assert_eq!(body(&with.out), body(&without.out));
    let piped = desk.fed(&["--plan", "-", "--folder", "docs"], plan.to_string().as_bytes());
    assert_eq!(body(&piped.out), body(&without.out));
    // The plan of a run is such a file too.
    let kept = desk.ibid(&["export", "last", "-f", "plan", "-o", "kept.json"]);
    assert_eq!(kept.code, 0, "{}", kept.err);
    let again = desk.ibid(&["run", "--plan", "kept.json", "--folder", "docs"]);
    assert_eq!(body(&again.out), body(&without.out));
}

#[test]
fn a_plan_tells_scope_tracks_evidence_and_form_and_what_it_may_come_to() {
    let desk = TestHome::new();
    let it = desk.ibid(&["plan", ASKED, "--folder", "docs", "--since", "2015"]);
    for words in [
        "In scope",
        "Left out",
        "Q1  ",
        "search: ",
        "Evidence",
        "docs",
        "since 2015-01-01",
        "5 pieces of evidence from 3 domains",
        "Sections",
        "Tone",
        "a cited report",
        "Costs nothing",
    ] {
        assert!(it.out.contains(words), "{words} is not in:\n{}", it.out);
    }
    let estimate = &plan_of(&desk)["estimate"];
    for field in ["max_calls", "max_searches", "max_pages", "max_seconds", "tokens"] {
        assert!(estimate[field].is_u64(), "{field}: {estimate}");
    }
    assert_eq!(estimate["usd"], 0.0);
    assert!(!desk.path("home").exists(), "a plan makes no store");
    let unpaid = desk.ibid(&["plan", ASKED, "--folder", "docs", "--model-plan"]);
    assert_eq!(unpaid.code, 4, "{}", unpaid.err);
    assert!(unpaid.err.contains("--model"), "{}", unpaid.err);
}

#[test]
fn an_edited_plan_is_gone_by_to_the_letter() {
    let desk = TestHome::new();
    let mut plan = plan_of(&desk);
    plan["plan"]["items"] = json!([
        {"asks": "What does a green roof cost?", "mood": "nobody knows this field"},
        {"id": "Q5", "asks": "How heavy is a green roof?", "query": "green roof kg per square metre",
         "heading": "Weight", "terms": ["green roof", "weight"]},
    ]);
    plan["plan"]["writing"]["sections"] = json!([{"title": "How heavy", "items": ["Q5"]}]);
    plan["brief"] =
        json!({"question": "What does a green roof weigh and cost?", "scope_out": ["parks"]});
    desk.write("plan.json", &plan.to_string());
    let it = desk.ibid(&["run", "--plan", "plan.json", "--folder", "docs", "--jsonl"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let events = it.lines();
    let told = |name: &str| {
        let found = events.iter().find(|it| it["type"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))["data"].clone()
    };
    let gone_by = told("plan.proposed")["plan"].clone();
    let ids: Vec<&Value> =
        gone_by["items"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["Q1", "Q5"]);
    assert_eq!(gone_by["items"][0]["heading"], "What does a green roof cost");
    assert_eq!(gone_by["items"][1]["query"], "green roof kg per square metre");
    // What no section names gets its own.
    assert_eq!(gone_by["writing"]["sections"][0]["title"], "How heavy");
    assert_eq!(gone_by["writing"]["sections"][1]["items"], json!(["Q1"]));
    let brief = &told("brief.ready")["brief"];
    assert_eq!(brief["scope_out"], json!(["parks"]));
    assert!(!brief["key_terms"].to_string().contains("retain"), "{brief}");
    let asked: Vec<&str> = events
        .iter()
        .filter(|it| it["type"] == "search.started")
        .map(|it| it["data"]["item"].as_str().unwrap())
        .collect();
    assert!(asked.contains(&"Q1") && asked.contains(&"Q5"));
    assert!(asked.iter().all(|it| ["Q1", "Q5"].contains(it)), "{asked:?}");
    assert!(it.out.contains("120 kg"), "{}", it.out);
}

#[test]
fn the_question_of_a_plan_is_asked_unless_another_is_given() {
    let desk = TestHome::new();
    desk.write("plan.json", &plan_of(&desk).to_string());
    let own = desk.ibid(&["run", "--plan", "plan.json", "--folder", "docs", "--json"]);
    assert_eq!(own.json()["question"], ASKED);
    let given = ["run", "Rain on roofs?", "--plan", "plan.json", "--folder", "docs", "--json"];
    assert_eq!(desk.ibid(&given).json()["question"], "Rain on roofs?");
}

#[test]
fn a_section_without_items_is_read_back() {
    let desk = TestHome::new();
    let mut plan = plan_of(&desk);
    let whole = json!({"title": "Outlook", "guidance": "What is to come.", "items": []});
    plan["plan"]["writing"]["sections"].as_array_mut().unwrap().push(whole);
    desk.write("whole.json", &plan.to_string());
    let told = desk.ibid(&["run", "--plan", "whole.json", "--folder", "docs", "--json", "-q"]);
    assert_eq!(told.json()["status"], "completed", "{}", told.err);
}

#[test]
fn each_fault_of_a_plan_is_told_with_its_field() {
    let desk = TestHome::new();
    let good = plan_of(&desk);
    let item = |asks: &str| json!({"asks": asks});
    let eight: Vec<Value> = (0..8).map(|nth| item(&format!("What is side {nth}?"))).collect();
    let faults: Vec<(&str, Value, &str)> = vec![
        ("/plan/items/2/asks", json!("  "), "items[2].asks is empty"),
        ("/plan/items", json!([]), "plan.items has 0 items; 1 to 7 are allowed"),
        ("/plan/items", json!(eight), "plan.items has 8 items"),
        ("/plan/items", json!("all"), "plan.items must be a list"),
        ("/plan/items/1/id", json!("Q1"), "items[1].id is Q1, as another item's"),
        ("/plan/items/1/id", json!("one"), "items[1].id cannot be read"),
        ("/plan/items/0/query", json!("a".repeat(301)), "items[0].query is 301 characters long"),
        ("/plan/items/0/terms", json!(["roof", ""]), "items[0].terms[1] is empty"),
        (
            "/plan/writing/sections/0/items",
            json!(["Q9"]),
            "sections[0].items[0] is Q9, and there is no such item",
        ),
        ("/plan/writing/sections/0/title", json!(""), "sections[0].title is empty"),
        ("/plan/complexity", json!("huge"), "plan.complexity cannot be read"),
        ("/brief/kind", json!("riddle"), "brief.kind cannot be read"),
        ("/brief/lang", json!("english"), "brief.lang must be a two-letter"),
        ("/brief/scope_in", json!("all"), "brief.scope_in must be a list"),
        ("/plan", json!(7), "plan must be an object"),
    ];
    for (at, value, told) in faults {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        desk.write("bad.json", &bad.to_string());
        let it = desk.ibid(&["run", "--plan", "bad.json", "--folder", "docs"]);
        assert_eq!(it.code, 2, "{at}: {}", it.err);
        assert!(it.err.contains(told), "{at}: {}", it.err);
        assert!(it.err.contains("hint:"), "{at}: {}", it.err);
    }
    for (text, told) in [
        ("{", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        (r#"{"type": "result"}"#, "its `type` is not `plan`"),
        (r#"{"question": "Why?"}"#, "plan is missing"),
        (r#"{"plan": {"items": []}}"#, "question is missing"),
    ] {
        desk.write("bad.json", text);
        let it = desk.ibid(&["run", "--plan", "bad.json", "--folder", "docs"]);
        assert_eq!(it.code, 2, "{text}: {}", it.err);
        assert!(it.err.contains(told), "{text}: {}", it.err);
    }
    let absent = desk.ibid(&["run", "--plan", "none.json", "--folder", "docs"]);
    assert_eq!(absent.code, 2);
    assert!(!desk.path("home").join(".local").exists(), "no run was begun");
}

#[test]
fn a_form_that_a_plan_does_not_come_in_is_refused_before_anything_is_written() {
    let desk = TestHome::new();
    for form in ["docx", "html", "ris", "csl.json", "obsidian"] {
        let it = desk.ibid(&["plan", ASKED, "--folder", "docs", "-f", form]);
        assert_eq!((it.code, it.out.as_str()), (2, ""), "{form}");
        let told = format!("format `{form}` is for reports, not for plans");
        assert!(it.err.contains(&told), "{}", it.err);
        assert!(it.err.contains("hint: write -f md"), "{}", it.err);
    }
    let it = desk.ibid(&["plan", ASKED, "--folder", "docs", "-o", "plan.docx"]);
    assert_eq!(it.code, 2, "{}", it.err);
    assert!(!desk.path("plan.docx").exists());
}
