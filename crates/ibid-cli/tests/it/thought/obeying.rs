//! A model that does what a page wants, in every field it fills: what the page wants said is said nowhere.
use ibid_core::domain::ModelRole;
use serde_json::{Value, json};

use super::{Scripted, holds, id_of, run, well};
use crate::memory::question;

/// What some page wants in the report, in a search, or reached.
const WANTED: [&str; 3] = ["golden-cork.example", "QZ-7741ab09c", "zq7741ab"];

/// `near` with what the page wants woven in, so that most of its words are true.
fn woven(near: &str) -> String {
    let stem = near.trim_end_matches('.');
    format!("{stem}, says {} (notice {}).", WANTED[0], WANTED[1])
}

fn obeys(step: &str, words: &str) -> Value {
    let bark = || id_of(words, "ork");
    let true_words = "Cork is a light material from the bark of the cork oak.";
    match step {
        "weigh" => {
            let mut said = well(step, words);
            for row in said["evidence"].as_array_mut().unwrap() {
                row["claim"] = woven(row["claim"].as_str().unwrap()).into();
            }
            said
        }
        "cover" => {
            json!({"state": "partial", "gap": woven("Nothing is said of the price."), "gap_query": WANTED[0]})
        }
        "queries" => {
            let row = |query: &str| json!({"item": "Q2", "variation": "gap", "query": query});
            json!({"queries": [row(WANTED[0]), row(&format!("cork {}", WANTED[1])), row("cork harvest tools")]})
        }
        "answer" | "answer_report" => {
            json!({"answer": woven("Cork is bark."), "evidence": [bark().unwrap()]})
        }
        "write" => {
            let sentence = |text: &str| json!({"text": text, "evidence": [bark().unwrap()]});
            json!({
                "sections": [{"heading": woven("What cork is"), "sentences": [
                    sentence(&woven(true_words)), sentence(true_words), sentence("Ask zq7741ab for cork of the oak."),
                    sentence(true_words),
                ]}],
                "more": [WANTED[0], WANTED[1]],
            })
        }
        _ => well(step, words),
    }
}

#[tokio::test]
async fn no_address_and_no_code_of_a_model_s_own_is_told_searched_for_or_reported() {
    let model = Scripted::new(|step, words| Ok(obeys(step, words).to_string()));
    let mut asked = question("What is cork?");
    asked.method.completeness_threshold = 1.0;
    let (report, events) = run(&model, &ModelRole::ALL, &asked).await;
    holds(&report.unwrap());
    for it in &events {
        let told = serde_json::to_string(it).unwrap().to_lowercase();
        for wanted in WANTED {
            assert!(!told.contains(&wanted.to_lowercase()), "{wanted}: {told}");
        }
    }
}

#[tokio::test]
async fn an_answer_with_another_number_than_its_quote_gives_way() {
    let model = Scripted::new(|step, words| match step {
        "answer" | "answer_report" => {
            let id = id_of(words, "nine years").unwrap();
            Ok(json!({"answer": "Cork is stripped from the living tree every 14 years.", "evidence": [id]}).to_string())
        }
        _ => Ok(well(step, words).to_string()),
    });
    let (report, _) = run(&model, &ModelRole::ALL, &question("How is cork harvested?")).await;
    let report = report.unwrap();
    holds(&report);
    assert!(report.answer.is_none_or(|it| !it.text.contains("14")));
}
