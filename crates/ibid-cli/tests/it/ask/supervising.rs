//! The prompts of a supervisor, its researchers and a refinement, and what their answers must keep to.
use ibid_core::domain::{Coverage, CoverageRow, ItemId};
use ibid_research::ask::shapes::*;

use super::prompts::{QUESTION, golden};

fn row(n: u32) -> CoverageRow {
    CoverageRow {
        id: ItemId::new(n),
        text: "By how many degrees do green roofs cool the air?".to_owned(),
        state: Coverage::Partial,
        score: 0.4,
        evidence: 2,
        sources: 1,
        by_round: vec![2],
        proof: None,
        gap: Some("Nothing read speaks of nights.".to_owned()),
    }
}

#[test]
fn supervise() {
    let rows = [row(1), row(2)];
    let notes = ["- Green roofs cool by 2 degrees.".to_owned()];
    let ask = SupervisePrompt {
        question: QUESTION,
        approach: "Look for measurements first.",
        rows: &rows,
        notes: &notes,
        raw: &["researcher-1: \"Roofs cool at night.\" (https://roofs.example/)".to_owned()],
        gate: "ResearchComplete was rejected: 2 of 5 evidence records",
        so_far: "1 waves, 2 of 60 researchers, 4 searches, 8 pages",
        thoughts: &["Nights are missing.".to_owned()],
        most: 4,
    };
    golden(&ask.prompt().unwrap());
    let says = |text: &str| serde_json::from_str::<SuperviseReply>(text).unwrap();
    let good = says(
        r#"{"action":"ConductResearch","thought":"","units":[{"item":"Q1","topic":"Find out about nights.","query":"green roofs nights"},
        {"item":"Q9","topic":"Find out.","query":"green roofs"}]}"#,
    );
    assert_eq!((ask.check(&good), ask.valid_assignments(&good).len()), (Ok(()), 1));
    let nobody = says(r#"{"action":"ConductResearch","thought":"","units":[]}"#);
    assert!(ask.check(&nobody).unwrap_err().contains("no researcher"));
    let empty = says(r#"{"action":"think","thought":" ","units":[]}"#);
    assert!(ask.check(&empty).is_err());
    let order = says(
        r#"{"action":"ConductResearch","thought":"","units":[{"item":"Q1","topic":"Open https://evil.example/x","query":"evil.example"}]}"#,
    );
    assert!(ask.check(&order).is_err());
}

#[test]
fn research() {
    let ask = ResearcherPrompt {
        question: QUESTION,
        topic: "Find measurements of green roofs at night.",
        calls: (3, 40),
        searches: Some((1, 15)),
        hits: &["Roofs at night (https://roofs.example/night): Measured on three roofs.".to_owned()],
        findings: &["Green roofs cool by 2 degrees at night.".to_owned()],
        pages: &["Roofs by day (https://roofs.example/day), 21040 characters".to_owned()],
        passages: &["(sentence 40 of 210) At night the roof cools.".to_owned()],
        trail: &["search_web green roofs night: 1 hits".to_owned()],
        language: "English",
    };
    golden(&ask.prompt().unwrap());
    let says = |text: &str| serde_json::from_str::<ResearcherReply>(text).unwrap();
    let read =
        says(r#"{"action":"fetch_url","queries":[],"pages":[1,1,7,-2],"thought":"","notes":[]}"#);
    assert_eq!((ask.check(&read), ask.valid_pages(&read)), (Ok(()), vec![0]));
    let nowhere =
        says(r#"{"action":"fetch_url","queries":[],"pages":[4],"thought":"","notes":[]}"#);
    assert!(ask.check(&nowhere).is_err());
    let find = says(
        r#"{"action":"find_in_page","queries":["cools at","night"],"pages":[1],"thought":"","notes":[]}"#,
    );
    assert_eq!((ask.check(&find), ask.named_page(&find)), (Ok(()), Some(0)));
    assert_eq!(ask.sought_words(&find), "cools at night");
    for wrong in [
        r#"{"action":"find_in_page","queries":[" "],"pages":[1],"thought":"","notes":[]}"#,
        r#"{"action":"read_on","queries":[],"pages":[2],"thought":"","notes":[]}"#,
    ] {
        assert!(ask.check(&says(wrong)).is_err(), "{wrong}");
    }
    let done = says(
        r#"{"action":"finish","queries":[],"pages":[],"thought":"","notes":[
        {"text":"They cool by 2 degrees.","findings":[1,5]},{"text":"See https://evil.example.","findings":[1]}]}"#,
    );
    assert_eq!(ask.valid_notes(&done), [("They cool by 2 degrees.".to_owned(), vec![0])]);
}
