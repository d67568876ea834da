//! A follow-up goes on with what its thread has read, or begins anew.
use std::path::Path;
use std::sync::Arc;

use ibid::app::App;
use ibid_core::domain::{ModelRole, Question, RunId, TopicRelation};
use ibid_core::record::{Event, Run};
use serde_json::{Value, json};

use crate::cli::{ASKED, TestHome};
use crate::deadlines::app;
use crate::memory::question;
use crate::recordings::replays_byte_for_byte;
use crate::thought::{Scripted, well};

/// A desk on which the first question was asked.
fn asked_once() -> TestHome {
    let desk = TestHome::new();
    let it = desk.ibid(&["run", ASKED, "--folder", "docs", "-q"]);
    assert_eq!(it.code, 0, "{}", it.err);
    desk
}

fn data<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    let named = events.iter().filter(|it| it["type"] == name);
    named.map(|it| &it["data"]).collect()
}

#[test]
fn a_follow_up_knows_what_its_thread_has_read() {
    let desk = asked_once();
    let last = desk.ibid(&["ls", "--json"]).json()["run_id"].clone();
    desk.write(
        "docs/winter.md",
        "# Winter\n\nIn winter a green roof retained 22 % of the rain, because cold soil stays wet.\n",
    );
    // In the folder of the run before, though none is named.
    let it = desk.ibid(&["ask", "last", "And in winter?", "--jsonl"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let events = it.lines();
    let decided = data(&events, "intake.decided");
    assert_eq!(
        decided,
        [
            &json!({"decision": "proceed", "topic": "same", "awaiting_clarification": false, "follows": last})
        ]
    );
    let brief = &data(&events, "brief.ready")[0]["brief"];
    assert_eq!(brief["question"], "How much rain does a green roof retain in winter?");
    let subjects = brief["subjects"].to_string();
    assert!(subjects.contains("green roof") && subjects.contains("winter"), "{subjects}");
    let known = data(&events, "known.weighed")[0];
    assert!(known["evidence"].as_u64().unwrap() > 0, "{known}");
    let urls: Vec<&Value> =
        known["sources"].as_array().unwrap().iter().map(|it| &it["url"]).collect();
    assert!(urls.len() >= 3, "{urls:?}");
    let at = |name: &str| events.iter().position(|it| it["type"] == name);
    assert!(at("known.weighed") < at("search.started"));
    assert!(at("search.started").is_some(), "winter was not known");
    let read = data(&events, "read.started");
    assert!(read.iter().all(|it| !urls.contains(&&it["url"])), "{read:?} of {urls:?}");
    let end = events.last().unwrap();
    assert!(end["result"].as_str().unwrap().contains("22 %"), "{end}");
    assert_eq!((&end["follows"], &end["intake_decision"]), (&last, &json!("proceed")));
    assert_eq!(end["awaiting_clarification"], false);
    let shown = desk.ibid(&["show", "last"]);
    assert!(shown.out.contains("read as: How much rain does a green roof retain in winter?"));
    assert!(shown.err.contains(&format!("follows {}", last.as_str().unwrap())));
    let listed = desk.ibid(&["ls"]);
    let lines: Vec<&str> = listed.out.lines().collect();
    assert!(lines[0].contains("↳ And in winter?"), "{}", listed.out);
    assert!(!lines[1].contains('↳'), "{}", listed.out);
}

#[test]
fn a_follow_up_without_folders_and_engines_searches_nothing() {
    let desk = asked_once();
    let run = desk.ibid(&["ls", "--json"]).json()["run_id"].clone();
    for strategy in ["checklist", "planned", "supervisor", "coverage"] {
        let asked = json!({"question": "How much rain does it retain in a year?", "follows": run, "folders": [], "engines": []});
        desk.write("asked.json", &asked.to_string());
        let it = desk.ibid(&["run", "--input", "asked.json", "--strategy", strategy, "--jsonl"]);
        // What was read in a folder is not used where that folder is not searched.
        assert_eq!(it.code, 3, "{strategy}: {}", it.err);
        let events = it.lines();
        assert_eq!(data(&events, "intake.decided")[0]["topic"], "same", "{strategy}");
        assert!(data(&events, "search.started").is_empty(), "{strategy}");
        assert!(data(&events, "read.started").is_empty(), "{strategy}");
    }
}

#[test]
fn a_thread_goes_on_over_its_runs_also_when_they_are_forgotten() {
    let desk = asked_once();
    let first = desk.ibid(&["ls", "--json"]).json()["run_id"].clone();
    let second = desk.ibid(&["ask", "last", "And how heavy is it?", "--jsonl"]);
    assert_eq!(second.code, 0, "{}", second.err);
    let events = second.lines();
    assert_eq!(data(&events, "brief.ready")[0]["brief"]["question"], "How heavy is green roof?");
    let last = desk.ibid(&["ls", "--json"]).lines()[0]["run_id"].clone();
    let gone = desk.ibid(&["rm", first.as_str().unwrap()]);
    assert_eq!(gone.code, 0, "{}", gone.err);
    let third =
        desk.ibid(&["ask", last.as_str().unwrap(), "Tell me more about its cost", "--jsonl"]);
    assert_eq!(third.code, 0, "{}", third.err);
    let events = third.lines();
    let turns = &data(&events, "run.created")[0]["question"]["follows"]["turns"];
    let said: Vec<&Value> = turns.as_array().unwrap().iter().map(|it| &it["user"]).collect();
    assert_eq!(said, [&json!(ASKED), &json!("How heavy is green roof?")]);
    assert!(turns[0]["assistant"].as_str().unwrap().contains('%'), "{turns}");
    assert!(!data(&events, "known.weighed")[0]["sources"].as_array().unwrap().is_empty());
    // Whole without the runs before it, here and elsewhere.
    assert_eq!(desk.ibid(&["rm", last.as_str().unwrap()]).code, 0);
    let kept = desk.ibid(&["export", "last", "-f", "recording", "-o", "third.jsonl"]);
    assert_eq!(kept.code, 0, "{}", kept.err);
    let told = desk.ibid(&["replay", "third.jsonl"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains("byte for byte"), "{}", told.err);
}

#[test]
fn another_topic_begins_anew() {
    let desk = asked_once();
    for words in [
        "Who built the Eiffel Tower?",
        "What does a green roof cost instead?",
        "Let us switch to the weight of a green roof",
    ] {
        let it = desk.ibid(&["ask", "last", words, "--jsonl"]);
        let events = it.lines();
        assert_eq!(data(&events, "intake.decided")[0]["topic"], "shift", "{words}");
        assert!(data(&events, "known.weighed").is_empty(), "{words}");
        let brief = data(&events, "brief.ready")[0]["brief"].to_string();
        assert!(!brief.contains("retain"), "{words}: {brief}");
        desk.ibid(&["rm", "last"]);
    }
}

#[test]
fn another_aspect_instead_is_asked_of_the_same_subject() {
    let desk = asked_once();
    let it = desk.ibid(&["ask", "last", "What about cost instead?", "--jsonl"]);
    let events = it.lines();
    assert_eq!(data(&events, "intake.decided")[0]["topic"], "same");
    assert_eq!(data(&events, "brief.ready")[0]["brief"]["question"], "Cost of green roof?");
    desk.ibid(&["rm", "last"]);
    let it = desk.ibid(&["ask", "last", "What is bread made of instead?", "--jsonl"]);
    let events = it.lines();
    assert_eq!(data(&events, "intake.decided")[0]["topic"], "shift");
    assert_eq!(data(&events, "brief.ready")[0]["brief"]["question"], "What is bread made of?");
}

#[test]
fn it_is_whoever_was_accused_and_not_the_accusation() {
    let desk = TestHome::new();
    desk.write(
        "docs/korvel.md",
        "# Korvel Bank\n\nTwo directors at Korvel Bank are accused of fraud. Ada Lind founded Korvel Bank in 1987.\n",
    );
    let asked = ["run", "Who at Korvel Bank is accused of fraud?", "--folder", "docs", "-q"];
    assert_eq!(desk.ibid(&asked).code, 0);
    let it = desk.ibid(&["ask", "last", "And who founded it?", "--jsonl"]);
    let events = it.lines();
    assert_eq!(data(&events, "brief.ready")[0]["brief"]["question"], "Who founded Korvel Bank?");
    assert!(events.last().unwrap()["result"].as_str().unwrap().contains("Ada Lind"));
}

#[test]
fn a_follow_up_keeps_the_ways_of_its_run_unless_flags_say_otherwise() {
    let desk = TestHome::new();
    desk.write("other/a.md", "# Weight\n\nA green roof weighs 150 kg per square metre.\n");
    let first =
        ["answer", ASKED, "--folder", "docs", "--depth", "1", "--since", "2001", "--lang", "en"];
    assert_eq!(desk.ibid(&first).code, 0);
    let of = |it: &[&str]| {
        let it = desk.ibid(&[&["ask", "last", "And how heavy is it?", "--jsonl"], it].concat());
        let asked = it.lines()[0]["data"]["question"].clone();
        desk.ibid(&["rm", "last"]);
        asked
    };
    let same = of(&[]);
    assert_eq!(same["folders"], json!([desk.docs()]));
    assert_eq!(
        (&same["mode"], &same["since"], &same["lang"]),
        (&json!("answer"), &json!("2001-01-01"), &json!("en"))
    );
    assert_eq!(same["method"]["depth"], 1);
    let other = of(&["--folder", "other", "--depth", "3"]);
    assert_eq!(other["folders"], json!([desk.path("other")]));
    assert_eq!(other["method"]["depth"], 3);
    assert_eq!(other["since"], "2001-01-01");
}

#[test]
fn who_forgets_to_name_the_run_is_told_how() {
    let desk = asked_once();
    let it = desk.ibid(&["ask", "And in winter?"]);
    assert_eq!(it.code, 2);
    assert!(it.err.contains("ibid ask last"), "{}", it.err);
    let unknown = desk.ibid(&["ask", "r_zzz", "And in winter?"]);
    assert!(unknown.err.contains("there is no run"), "{}", unknown.err);
}

fn topic(text: &str) -> TopicRelation {
    let turns = json!([{"user": "How much rain does a green roof retain?", "assistant": "56 %, with sedum."}]);
    let follows = json!({"run": "r_01JD0000000000000000000000", "turns": turns});
    let asked =
        Question { follows: Some(serde_json::from_value(follows).unwrap()), ..question(text) };
    ibid_research::detect_topic(&asked).unwrap()
}

#[test]
fn words_decide_whether_the_topic_is_the_same() {
    assert_eq!(
        ibid_research::detect_topic(&question("What is cork?")).unwrap(),
        TopicRelation::First
    );
    for text in [
        "And in winter?",
        "What about slate?",
        "Expand on that",
        "go deeper",
        "more, please",
        "How heavy is it?",
        "Does sedum survive drought?",
        "Also the price",
        "What do roofs of that kind weigh when they are wet?",
    ] {
        assert_eq!(topic(text), TopicRelation::Same, "{text}");
    }
    for text in [
        "Who won the World Cup of 1998?",
        "How much does gold cost?",
        "Is gold more expensive than silver?",
        "What does a green roof cost instead?",
        "Something different: how tall is Everest?",
        "Switch to bridges",
        "Compare cats and dogs",
    ] {
        assert_eq!(topic(text), TopicRelation::Shift, "{text}");
    }
}

async fn ended(app: &App, asked: Question) -> Run {
    app.start(asked).await.unwrap().wait().await.unwrap()
}

fn unaided(dir: &Path) -> App {
    let model = Scripted::new(|step, _| panic!("nobody asks for {step}"));
    app(dir, &model, &[], 0)
}

async fn following(app: &App, run: &RunId, text: &str) -> Question {
    app.follow_up(run, text, "2026-01-16").await.unwrap()
}

#[tokio::test]
async fn a_follow_up_that_is_interrupted_resumes_to_the_same_report_without_the_run_before_it() {
    let words = "And how long does it take until cork can be stripped again?";
    let report = async |interrupted: bool| {
        let dir = tempfile::tempdir().unwrap();
        let app = unaided(dir.path());
        let first = ended(&app, question("What is cork?")).await;
        let asked = following(&app, &first.id, words).await;
        let running = app.start(asked).await.unwrap();
        let id = running.id.clone();
        if !interrupted {
            running.wait().await.unwrap();
        } else {
            let mut story = running.follow(0);
            while let Some(it) = story.next().await.unwrap() {
                if matches!(it.event, Event::KnownWeighed { .. }) {
                    break;
                }
            }
            drop(running);
            while app.is_running(&id).await.unwrap() {
                tokio::task::yield_now().await;
            }
            app.remove(&first.id).await.unwrap();
            app.resume(&id).await.unwrap().wait().await.unwrap();
        }
        let run = app.run(&id).await.unwrap();
        let weighed = app.events(&id, 0).await.unwrap();
        let weighed = weighed.iter().filter(|it| matches!(it.event, Event::KnownWeighed { .. }));
        assert_eq!(weighed.count(), 1);
        let report = run.report.unwrap();
        let claims: Vec<String> = report.claims().map(|it| it.text().to_owned()).collect();
        assert!(report.method.followed.unwrap().known > 0);
        assert!(claims.iter().any(|it| it.contains("nine years")), "{claims:?}");
        claims
    };
    assert_eq!(report(true).await, report(false).await);
}

#[tokio::test]
async fn what_is_known_well_enough_is_told_without_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let app = unaided(dir.path());
    let mut asked = question("What is cork?");
    asked.method.min_evidence_records = 1;
    asked.method.min_cited_records = 1;
    asked.method.min_source_domains = 1;
    asked.method.completeness_threshold = 0.1;
    let first = ended(&app, asked).await;
    let mut again = following(&app, &first.id, "More about what cork is").await;
    // One track, which what is known covers.
    let (brief, mut plan) = ibid_research::plan_by_heuristics(&again).unwrap();
    let heart = plan.items()[0].clone();
    plan.writing.sections.retain(|it| it.items == [heart.id]);
    let plan = ibid_core::domain::Plan::new(vec![heart], plan.complexity, plan.writing).unwrap();
    again.given = Some(Box::new(ibid_core::domain::ProvidedPlan { brief, plan }));
    let run = ended(&app, again).await;
    assert_eq!((run.searches, run.pages), (0, 0));
    assert!(run.report.unwrap().claims().next().is_some());
}

/// A model that always wants to know something, and remembers what it was shown.
fn curious() -> Arc<Scripted> {
    Scripted::new(|step, words| {
        let mut said = well(step, words);
        if step == "refine" {
            said["clarify"] = json!(["Which cork?"]);
            if words.contains("And its floating") {
                said["question"] = json!("Why does cork float?");
            }
        }
        Ok(said.to_string())
    })
}

#[tokio::test]
async fn a_model_hears_the_thread_and_asks_back_only_where_the_topic_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let model = curious();
    let app = app(dir.path(), &model, &ModelRole::ALL, 0);
    let first = ended(&app, question("What is cork?")).await;
    let asked_back = async |text: &str| {
        let mut asked = following(&app, &first.id, text).await;
        asked.clarify = true;
        let running = app.start(asked).await.unwrap();
        let id = running.id.clone();
        let mut story = running.follow(0);
        while let Some(it) = story.next().await.unwrap() {
            if matches!(it.event, Event::RunCompleted { .. } | Event::RunFailed { .. }) {
                break;
            }
            if matches!(it.event, Event::ClarifyAsked { .. }) {
                app.send_command(&id, ibid_core::ports::RunCommand::Reply(Vec::new()))
                    .await
                    .unwrap();
            }
        }
        running.wait().await.unwrap();
        let events = app.events(&id, 0).await.unwrap();
        let asked = events.iter().any(|it| matches!(it.event, Event::ClarifyAsked { .. }));
        (id, asked)
    };
    let (same, asked) = asked_back("And its floating?").await;
    assert!(!asked);
    let refine: Vec<String> = {
        let heard = model.asked.lock().unwrap();
        let refine = heard.iter().filter(|it| it.purpose == "refine");
        refine.map(|it| it.messages[0].text.clone()).collect()
    };
    let heard = &refine[1];
    assert!(heard.contains("Person: What is cork?"), "{heard}");
    assert!(heard.contains("Question: And its floating?"), "{heard}");
    replays_byte_for_byte(&app.recording(&same).await.unwrap()).await;
    let (_, asked) = asked_back("Who won the World Cup?").await;
    assert!(asked);
}

#[test]
fn a_dialogue_that_came_along_is_read_as_a_thread_is() {
    let turn = |user: &str| ibid_core::domain::DialogueTurn {
        system: None,
        user: Some(user.to_owned()),
        assistant: Some("Some.".to_owned()),
    };
    let asked = |text: &str| {
        let mut it = question(text);
        it.dialogue = vec![turn(ASKED), turn("Thank you.")];
        ibid_research::plan_by_heuristics(&it).unwrap().0.question
    };
    let winter = "How much rain does a green roof retain in winter?";
    assert_eq!(asked("And in winter?"), winter);
    assert_eq!(asked("How much does it cost?"), "How much does green roof cost?");
    assert_eq!(asked("What is cork?"), "What is cork?");
}
