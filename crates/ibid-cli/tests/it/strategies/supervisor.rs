//! A supervisor, its researchers and the gate.
use std::sync::{Arc, Mutex};

use ibid_core::domain::{
    GateStatus, ModelRole, ResearcherStatus, RuntimeProgress, StopReason, Strategy,
};
use ibid_core::ports::{LanguageModel, RoleModel, RoleModels};
use ibid_core::record::{Envelope, Event};
use ibid_research::ask::shapes::ResearcherPrompt;
use serde_json::{Value, json};

use super::{asked, holds, small_world};
use crate::memory::{Events, log, researched, run_id};
use crate::thought::Scripted;

fn dispatch(items: &[u32]) -> Value {
    let unit = |n: &u32| json!({"item": format!("Q{n}"), "topic": format!("Find out what cork is, side {n}."), "query": "cork bark"});
    json!({"action": "ConductResearch", "thought": "", "units": items.iter().map(unit).collect::<Vec<_>>()})
}

fn turn(action: &str, queries: &[&str], pages: &[u32], notes: Value) -> Value {
    json!({"action": action, "queries": queries, "pages": pages, "thought": "", "notes": notes})
}

/// A world whose planner and researcher say this; everybody else does without a model.
fn world_of(model: &Arc<Scripted>) -> ibid_core::ports::Providers {
    let mut world = small_world();
    let mut models = RoleModels::default();
    for role in [ModelRole::Planner, ModelRole::Researcher] {
        let model = Arc::clone(model) as Arc<dyn LanguageModel>;
        models.insert(role, RoleModel { model, window: 8_000 });
    }
    world.models = models;
    world
}

fn told(events: &[Event]) -> Vec<RuntimeProgress> {
    let told = events.iter().filter_map(|it| match it {
        Event::RuntimeProgress { progress } => Some(progress.clone()),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn researchers_are_sent_out_for_what_was_asked_whatever_a_model_copies_from_its_prompt() {
    let model = Scripted::new(move |step, _| {
        let says = match step {
            "supervise" => json!({"action": "ConductResearch", "thought": "", "units": [
                {"item": "Q1", "topic": "Only One Survey Background", "query": "Only One Survey"},
                {"item": "Q1", "topic": "What the bark of the oak is used for.", "query": "cork stoppers"},
            ]}),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let asked = asked(Strategy::Supervisor);
    let (report, events) = researched(&world_of(&model), &asked).await;
    holds(&report.unwrap());
    let first = told(&events).into_iter().find(|it| !it.research_units.is_empty()).unwrap();
    let topics: Vec<&str> = first.research_units.iter().map(|it| it.topic.as_str()).collect();
    assert_eq!(topics, ["Definition of cork", "What the bark of the oak is used for."]);
    let queries = events.iter().filter_map(|it| match it {
        Event::SearchStarted { query, .. } => Some(query.as_str()),
        _ => None,
    });
    assert!(queries.into_iter().all(|it| !it.contains("Survey")));
}

#[tokio::test]
async fn the_gate_decides_and_its_reason_goes_back_to_the_supervisor() {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&prompts);
    let model = Scripted::new(move |step, words| {
        let mut prompts = kept.lock().unwrap();
        let nth = prompts.len();
        let says = match step {
            "supervise" => {
                prompts.push(words.to_owned());
                match nth {
                    0 | 2 => json!({"action": "ResearchComplete", "thought": "", "units": []}),
                    _ => dispatch(&[1, 2, 3]),
                }
            }
            "research" if words.contains("fetch_url http") => turn("finish", &[], &[], json!([])),
            "research" if words.contains("search_web cork") => {
                turn("fetch_url", &[], &[1, 2, 3, 4, 5], json!([]))
            }
            "research" => turn("search_web", &["cork bark"], &[], json!([])),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let mut question = asked(Strategy::Supervisor);
    question.method.team.max_evidence_claims_per_research_unit = 2;
    let (report, events) = researched(&world_of(&model), &question).await;
    let report = report.unwrap();
    holds(&report);
    let prompts = prompts.lock().unwrap();
    assert!(
        prompts[1].contains("ResearchComplete was rejected: 0 of 5 evidence records"),
        "{}",
        prompts[1]
    );
    let told = told(&events);
    assert_eq!(told[0].quality_gate_status, GateStatus::Retry);
    assert!(told[0].quality_gate_reason.as_deref().unwrap().contains("evidence records"));
    let last = told.last().unwrap();
    assert_eq!(last.quality_gate_status, GateStatus::Pass);
    assert!(last.evidence_record_count >= 5 && last.source_domain_count >= 3, "{last:?}");
    assert_eq!(last.source_domains.len(), last.source_domain_count as usize);
    assert_eq!(
        (last.min_evidence_records, last.min_cited_records, last.min_source_domains),
        (5, 5, 3)
    );
    // After a round the refusal before it is not repeated. The evidence is enough, but an item is not answered.
    assert!(prompts[2].contains("would pass"), "{}", prompts[2]);
    assert!(prompts[3].contains("rejected: not answered yet: Q"), "{}", prompts[3]);
    // The next researchers get what the first ones found on their items and could not keep.
    assert_eq!(report.method.stop, StopReason::CoverageReached);
    // The gate passed; it is the supervisor that refuses.
    let is_open = |it: &&RuntimeProgress| {
        it.quality_gate_reason.as_deref().is_some_and(|why| why.starts_with("not answered yet"))
    };
    let refused: Vec<&RuntimeProgress> = told.iter().filter(is_open).collect();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|it| it.quality_gate_status == GateStatus::Pass));
}

#[tokio::test]
async fn a_page_that_several_researchers_want_is_told_to_all_of_them() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let model = Scripted::new(move |step, words| {
        let says = match step {
            "supervise" if words.contains("0 waves") => dispatch(&[1, 2, 3]),
            "supervise" => json!({"action": "ResearchComplete", "thought": "", "units": []}),
            "research" => {
                kept.lock().unwrap().push(words.to_owned());
                match (words.contains("fetch_url http"), words.contains("search_web cork")) {
                    (true, _) => turn("finish", &[], &[], json!([])),
                    (_, true) => turn("fetch_url", &[], &[1, 2], json!([])),
                    // The same search of another is not sent again.
                    _ if words.contains("side 1") => {
                        turn("search_web", &["cork bark"], &[], json!([]))
                    }
                    _ if words.contains("side 2") => {
                        turn("search_web", &["cork uses applications"], &[], json!([]))
                    }
                    _ => turn("search_web", &["cork types features"], &[], json!([])),
                }
            }
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let (report, events) = researched(&world_of(&model), &asked(Strategy::Supervisor)).await;
    holds(&report.unwrap());
    let heard = heard.lock().unwrap();
    for side in ["side 1", "side 2", "side 3"] {
        let own: Vec<&String> = heard.iter().filter(|it| it.contains(side)).collect();
        assert_eq!(own.len(), 3, "{side} searches, reads and finishes");
        assert!(own[2].matches("fetch_url http").count() >= 2, "{}", own[2]);
    }
    let mut read: Vec<&str> = Vec::new();
    let mut recorded = Vec::new();
    for event in &events {
        if let Event::EvidenceAdded { evidence } = event {
            let own = (evidence.source, evidence.claim.clone());
            assert!(!recorded.contains(&own), "{own:?} is recorded once");
            recorded.push(own);
        }
        if let Event::ReadStarted { url, .. } = event {
            assert!(!read.contains(&url.as_str()), "{url} is read once");
            read.push(url);
        }
    }
}

#[tokio::test]
async fn the_limit_of_researchers_is_named_as_what_ended_the_research() {
    let model = Scripted::new(|step, words| {
        let says = match step {
            "supervise" => dispatch(&[1]),
            "research" if words.contains("search_web cork") => turn("finish", &[], &[], json!([])),
            "research" => turn("search_web", &["cork bark"], &[], json!([])),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let mut asked = asked(Strategy::Supervisor);
    asked.method.team.max_researcher_iterations = 1;
    let (_, events) = researched(&world_of(&model), &asked).await;
    let said: Vec<String> = events.iter().map(Event::name).collect();
    let stop = events.iter().find_map(|it| match it {
        Event::ReportReady { report } => Some(report.method.stop),
        _ => None,
    });
    assert_eq!(stop, Some(StopReason::MaxResearchers), "{said:?}");
    assert_eq!(StopReason::MaxResearchers.phrase(), "the limit of researchers was reached");
}

#[tokio::test]
async fn researchers_of_a_wave_are_named_in_what_they_do_and_those_too_many_are_counted() {
    let model = Scripted::new(|step, words| {
        let says = match step {
            "supervise" if words.contains("0 waves") => dispatch(&[1, 2, 3, 4, 1, 2]),
            "supervise" => json!({"action": "ResearchComplete", "thought": "", "units": []}),
            "research" if words.contains("fetch_url http") => turn("finish", &[], &[], json!([])),
            "research" if words.contains("search_web cork") => {
                turn("fetch_url", &[], &[1, 2], json!([]))
            }
            "research" if words.contains("side 1") => {
                turn("search_web", &["cork bark"], &[], json!([]))
            }
            "research" => turn("search_web", &["cork floors"], &[], json!([])),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let world = world_of(&model);
    let mut asked = asked(Strategy::Supervisor);
    asked.method.team.max_concurrent_research_units = 2;
    let events = Arc::new(Events::default());
    let report = ibid_research::research(&world, &log(events.clone()), &run_id(), &asked).await;
    holds(&report.unwrap());
    let all: Vec<Envelope> = events.0.lock().unwrap().clone();
    let of = |agent: &str| -> Vec<String> {
        let own = all.iter().filter(|it| it.agent.as_deref() == Some(agent));
        own.map(|it| it.event.name()).collect()
    };
    for agent in ["researcher-1", "researcher-2"] {
        let own = of(agent);
        assert!(own.contains(&"search.started".to_owned()), "{agent}: {own:?}");
        assert!(own.contains(&"search_preprocess".to_owned()), "{agent}: {own:?}");
    }
    assert!(of("researcher-9").is_empty());
    let events: Vec<Event> = all.into_iter().map(|it| it.event).collect();
    let told = told(&events);
    // The prompt bounds the list to two, and what is beyond is cut there or counted here.
    let last = told.last().unwrap();
    assert!(last.dispatched_research_units >= 2);
    let done = told.iter().flat_map(|it| &it.research_units);
    let done: Vec<_> = done.filter(|it| it.status == ResearcherStatus::Completed).collect();
    assert!(!done.is_empty());
    let prepared = events.iter().any(|it| matches!(it, Event::SearchPrepared { llm_calls_in_preprocess: 0, shown, .. } if *shown <= 8));
    assert!(prepared);
}

#[tokio::test]
async fn evidence_is_what_the_notes_cite_and_no_more_than_so_many_claims() {
    let model = Scripted::new(|step, words| {
        let says = match step {
            "supervise" if words.contains("0 waves") => dispatch(&[1]),
            "supervise" => json!({"action": "ResearchComplete", "thought": "", "units": []}),
            "research" if words.contains("fetch_url http") => turn(
                "finish",
                &[],
                &[],
                json!([
                    {"text": "Cork is light.", "findings": [1]},
                    {"text": "Nobody knows more.", "findings": []},
                    {"text": "Cork is used.", "findings": [2]},
                    {"text": "Cork is used again.", "findings": [3]},
                ]),
            ),
            "research" if words.contains("search_web cork") => {
                turn("fetch_url", &[], &[1, 2, 3, 4, 5], json!([]))
            }
            "research" => turn("search_web", &["cork bark"], &[], json!([])),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let mut asked = asked(Strategy::Supervisor);
    asked.method.team.max_evidence_claims_per_research_unit = 2;
    asked.method.max_iterations = 1;
    let (report, events) = researched(&world_of(&model), &asked).await;
    holds(&report.unwrap());
    let added = events.iter().filter(|it| it.name() == "evidence.added").count();
    assert_eq!(added, 2);
}

#[tokio::test]
async fn a_researcher_that_only_searches_is_stopped_and_what_was_read_before_is_weighed() {
    let model = Scripted::new(|step, _| {
        let says = match step {
            "supervise" => dispatch(&[1]),
            "research" => turn("search_web", &["cork bark"], &[], json!([])),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let mut asked = asked(Strategy::Supervisor);
    asked.method.team.researcher_search_budget = 1;
    asked.method.max_iterations = 1;
    let (report, events) = researched(&world_of(&model), &asked).await;
    holds(&report.unwrap());
    let prompts = model.asked.lock().unwrap();
    let turns: Vec<_> = prompts.iter().filter(|it| it.purpose == "research").collect();
    // The first turn searches, and three in vain end it; heuristics continue for it.
    assert!((2..=5).contains(&turns.len()), "{} turns", turns.len());
    let schema = turns.last().unwrap().schema.as_ref().unwrap().json.to_string();
    assert!(!schema.contains("search_web"), "spent searches are offered");
    let own = events.iter().filter(|it| it.name() == "evidence.added").count();
    assert!(own > 0);
}

#[test]
fn without_a_search_provider_the_researcher_is_not_told_of_searching() {
    let ask = ResearcherPrompt {
        question: "What is cork?",
        topic: "cork",
        calls: (0, 40),
        searches: None,
        hits: &[],
        findings: &[],
        pages: &[],
        passages: &[],
        trail: &[],
        language: "English",
    };
    let prompt = ask.prompt().unwrap();
    assert!(!prompt.messages[0].text.contains("search_web"));
    // Nor of looking into pages before it has read one.
    assert!(!prompt.messages[0].text.contains("find_in_page"));
    let schema = prompt.schema.unwrap().json.to_string();
    assert!(!schema.contains("search_web"));
}
