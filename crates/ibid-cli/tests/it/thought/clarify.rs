//! What a question leaves open is asked back, where the person wants that.
use ibid_core::domain::{ModelRole, Question};
use ibid_core::ports::RunCommand;
use ibid_core::record::{Event, Run};
use ibid_report::json;
use serde_json::json;

use super::{Scripted, well};
use crate::deadlines::app;
use crate::memory::question;

const OPEN: &str = "Which cork is meant: bottle stoppers or floors?";

/// A model that wants to know which cork is meant until somebody has said it.
fn unsure() -> std::sync::Arc<Scripted> {
    Scripted::new(|step, words| {
        let mut said = well(step, words);
        if step == "refine" && !words.contains("bottle stoppers, please") {
            said["clarify"] = json!([OPEN]);
        }
        Ok(said.to_string())
    })
}

async fn researched(asked: Question, reply: Option<&[&str]>) -> (Run, Vec<Event>) {
    let dir = tempfile::tempdir().unwrap();
    let model = unsure();
    // Each look at the clock is half a second: who waits for the person for long has no time left, if that counts.
    let app = app(dir.path(), &model, &ModelRole::ALL, 500);
    let running = app.start(asked).await.unwrap();
    let id = running.id.clone();
    let mut story = running.follow(0);
    while let Some(it) = story.next().await.unwrap() {
        if let (Event::ClarifyAsked { questions }, Some(reply)) = (&it.event, reply) {
            assert_eq!(questions, &[OPEN]);
            let answers = reply.iter().map(|it| (*it).to_owned()).collect();
            app.send_command(&id, RunCommand::Reply(answers)).await.unwrap();
        }
        if matches!(it.event, Event::RunCompleted { .. } | Event::RunFailed { .. }) {
            break;
        }
    }
    let run = running.wait().await.unwrap();
    let events = app.events(&id, 0).await.unwrap();
    (run, events.into_iter().map(|it| it.event).collect())
}

fn final_object(run: &Run) -> serde_json::Value {
    json::result(run, json::ResultSubtype::Success, &Default::default(), true)
}

fn asked(clarify: bool) -> Question {
    Question { clarify, ..question("What is cork?") }
}

#[tokio::test]
async fn the_person_is_asked_back_and_what_they_say_counts() {
    let (run, events) = researched(asked(true), Some(&["The bottle stoppers, please."])).await;
    let object = final_object(&run);
    assert_eq!(object["follow_up_questions"], json!([OPEN]));
    let combined = object["combined_prompt"].as_str().unwrap();
    assert!(
        combined.contains("What is cork?") && combined.contains("The bottle stoppers, please."),
        "{combined}"
    );
    let brief = run.brief.unwrap();
    assert_eq!(brief.clarified[0].question, OPEN);
    let said = brief.clarified[0].answer.as_deref();
    assert_eq!(said, Some("The bottle stoppers, please."));
    assert!(brief.key_terms.iter().any(|it| it.contains("stoppers")));
    let answered =
        |it: &Event| matches!(it, Event::ClarifyAnswered { answers } if answers.len() == 1);
    assert!(events.iter().any(answered));
    let report = run.report.unwrap();
    assert_eq!(report.method.clarified, brief.clarified);
    let text = ibid_report::markdown::report(&report, true);
    assert!(text.contains("You said: The bottle stoppers, please."), "{text}");
}

#[tokio::test]
async fn who_passes_is_not_asked_again_and_gets_a_report() {
    for reply in [&[][..], &[""]] {
        let (run, events) = researched(asked(true), Some(reply)).await;
        let times = events.iter().filter(|it| matches!(it, Event::ClarifyAsked { .. }));
        assert_eq!(times.count(), 1);
        let report = run.report.unwrap();
        assert!(report.claims().next().is_some());
        assert!(report.method.clarified.is_empty());
    }
}

#[tokio::test]
async fn nobody_is_asked_who_did_not_want_to_be() {
    let (run, events) = researched(asked(false), None).await;
    assert!(!events.iter().any(|it| matches!(it, Event::ClarifyAsked { .. })));
    let object = final_object(&run);
    assert_eq!(object["combined_prompt"], json!(null), "nobody said anything");
    // What was left open is on record all the same.
    assert_eq!(run.brief.unwrap().clarified[0].question, OPEN);
}
