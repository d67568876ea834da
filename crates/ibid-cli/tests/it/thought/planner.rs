//! What a planner says is in the plan, and what its plan asks for is in the report or told as missing.
use ibid_core::domain::ModelRole;
use ibid_core::record::Event;
use serde_json::json;

use super::{Scripted, run, well};
use crate::memory::question;

#[tokio::test]
async fn the_approach_of_a_planner_is_the_plan_in_words() {
    let approach = "Begin with what cork is made from. Then compare how it is harvested.";
    let model = Scripted::new(move |step, words| {
        let mut says = well(step, words);
        if step == "plan" {
            says["approach"] = approach.into();
        }
        Ok(says.to_string())
    });
    let (report, events) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
    report.unwrap();
    let brief = events.iter().find_map(|it| match it {
        Event::BriefReady { brief } => Some(brief),
        _ => None,
    });
    let plan = events.iter().find_map(|it| match it {
        Event::PlanProposed { plan } => Some(plan),
        _ => None,
    });
    let prose = ibid_report::plan::to_prose(brief.unwrap(), plan.unwrap());
    assert!(prose.starts_with(approach) && prose.contains("Say what cork is."), "{prose}");
}

#[tokio::test]
async fn a_planned_section_without_a_sentence_is_told() {
    let model = Scripted::new(|step, words| {
        let mut says = well(step, words);
        if step == "plan" {
            let outlook = json!({"title": "Outlook", "guidance": "", "items": []});
            says["sections"].as_array_mut().unwrap().push(outlook);
        }
        Ok(says.to_string())
    });
    let (report, _) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
    let report = report.unwrap();
    let open: Vec<&str> = report.open.iter().map(|it| it.what.as_str()).collect();
    assert!(open.contains(&"Outlook") && !open.contains(&"Harvest"), "{open:?}");
}

#[tokio::test]
async fn the_length_of_a_summary_bounds_the_findings_of_a_page() {
    for (tokens, most) in [(100, "at most 2."), (500, "at most 8."), (1_000, "at most 16.")] {
        let model = Scripted::new(|step, words| Ok(well(step, words).to_string()));
        let mut asked = question("What is cork?");
        asked.method.summary_tokens = tokens;
        run(&model, &ModelRole::ALL, &asked).await.0.unwrap();
        let prompts = model.asked.lock().unwrap();
        let weigh = prompts.iter().find(|it| it.purpose == "weigh").unwrap();
        assert!(weigh.messages[0].text.contains(most), "{tokens}");
    }
}
