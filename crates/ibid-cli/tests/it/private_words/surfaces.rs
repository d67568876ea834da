//! Every way in which a server is asked, spoken to while it works, or told to go by a plan, by every strategy: what the outside
//! hears of a private folder meanwhile.
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CANARIES, MODELS, Machine, QUESTION, STRATEGIES, searched, unheard};
use crate::served::Served;

/// What the person wants to know besides. No folder says anything of it, so the outside is asked.
const WISH: &str = "Which law requires a green roof in Basel?";

/// Where words come in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum EntryPoint {
    Runs,
    FollowUp,
    Responses,
    Chat,
    DeepResearch,
    AgenticSearch,
    /// Steered while the outside is being asked.
    Steered,
    /// The same with the tools `research` and `research_wait`.
    SteeredByTool,
    /// By a plan that the person has edited.
    Approved,
}

const SURFACES: [EntryPoint; 9] = [
    EntryPoint::Runs,
    EntryPoint::FollowUp,
    EntryPoint::Responses,
    EntryPoint::Chat,
    EntryPoint::DeepResearch,
    EntryPoint::AgenticSearch,
    EntryPoint::Steered,
    EntryPoint::SteeredByTool,
    EntryPoint::Approved,
];

impl EntryPoint {
    /// Asks, and says all that is to be said before the run ends.
    async fn speak(self, it: &Machine, served: &Served) {
        let before = searched(&it.heard);
        let asked = json!({"question": QUESTION, "folders": ["private"]});
        match self {
            EntryPoint::Runs => drop(accepted(served, &asked).await),
            EntryPoint::FollowUp => {
                let follows = newest(served).await;
                let asked = json!({"question": "And who planned it?", "follows": follows});
                accepted(served, &asked).await;
            }
            EntryPoint::Responses => {
                let asked = json!({"model": "ibid", "input": QUESTION});
                posted(served, "/v1/responses", &asked, 200).await;
            }
            EntryPoint::Chat => {
                let turns = json!([
                    {"role": "user", "content": QUESTION},
                    {"role": "assistant", "content": "Zorvath Quillon of Project Vexlune measured it."},
                    {"role": "user", "content": "And how much does the green roof weigh?"},
                ]);
                let asked = json!({"model": "ibid", "messages": turns});
                posted(served, "/v1/chat/completions", &asked, 200).await;
            }
            EntryPoint::DeepResearch => {
                let asked = json!({"question": QUESTION});
                called(served, "deep_research", &asked).await;
            }
            EntryPoint::AgenticSearch => {
                let asked = json!({"query": QUESTION});
                called(served, "agentic_search", &asked).await;
            }
            EntryPoint::Steered => {
                it.held.send_replace(true);
                let run = accepted(served, &asked).await;
                searches(it, before).await;
                let path = format!("/v1/runs/{run}/steer");
                posted(served, &path, &json!({"text": WISH}), 202).await;
                it.held.send_replace(false);
            }
            EntryPoint::SteeredByTool => {
                it.held.send_replace(true);
                let asked = json!({"question": QUESTION, "folder": "private"});
                let state = called(served, "research", &asked).await;
                searches(it, before).await;
                let wish = json!({"run_id": state["run_id"], "steer": WISH, "wait_s": 1});
                called(served, "research_wait", &wish).await;
                it.held.send_replace(false);
            }
            EntryPoint::Approved => {
                let mut asked = asked;
                asked["plan"] = json!("require_approval");
                let run = accepted(served, &asked).await;
                waits(served, &run).await;
                let plan = json!({"items": [{"asks": QUESTION}, {"asks": WISH}]});
                let path = format!("/v1/runs/{run}/approve");
                posted(served, &path, &json!({"plan": plan}), 202).await;
            }
        }
    }

    /// Whether the folder alone may do. By the strategy that goes by coverage it does where the person gave the items.
    fn may_ask_nobody(self, strategy: &str) -> bool {
        let covered = self == EntryPoint::Approved && strategy == "coverage";
        covered || matches!(self, EntryPoint::FollowUp | EntryPoint::Chat)
    }

    /// The event without which what was said was not heard.
    fn heard_by(self) -> Option<&'static str> {
        match self {
            EntryPoint::Steered | EntryPoint::SteeredByTool => Some("plan.changed"),
            EntryPoint::Approved => Some("plan.approved"),
            _ => None,
        }
    }
}

async fn posted(served: &Served, path: &str, body: &Value, status: u16) -> Value {
    let said = served.post(path, body).await;
    assert_eq!(said.status, status, "{path}: {}", said.body);
    said.json()
}

/// The id of the run that works on it.
async fn accepted(served: &Served, asked: &Value) -> String {
    let run = posted(served, "/v1/runs", asked, 202).await;
    run["id"].as_str().unwrap().to_owned()
}

/// What a tool says.
async fn called(served: &Served, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let said = served.mcp(None, "tools/call", &params).await;
    assert_ne!(said["result"]["isError"], true, "{tool}: {said}");
    assert!(said["error"].is_null(), "{tool}: {said}");
    said["result"]["structuredContent"].clone()
}

async fn newest(served: &Served) -> String {
    let listed = served.get("/v1/runs?limit=1").await.json();
    listed["data"][0]["id"].as_str().unwrap().to_owned()
}

/// Waits until the outside has been asked once more.
async fn searches(it: &Machine, before: usize) {
    let begun = Instant::now();
    while searched(&it.heard) == before {
        let so_far = begun.elapsed();
        assert!(so_far < Duration::from_secs(60), "nobody was asked outside");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the run waits for a word on its plan.
async fn waits(served: &Served, run: &str) {
    let begun = Instant::now();
    loop {
        let it = served.get(&format!("/v1/runs/{run}?wait=1")).await.json();
        if it["waits_for"] == "approval" {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{it}");
    }
}

/// The events of a run that has ended: name and data. A stream goes on until then.
async fn told(served: &Served, run: &str) -> Vec<(String, String)> {
    let story = served.stream(&format!("/v1/runs/{run}/events")).await;
    let events: Vec<(String, String)> = story.into_iter().map(|it| (it.0, it.2)).collect();
    let last = events.last().map(|it| it.0.as_str());
    let ended = ["run.completed", "run.failed"];
    assert!(last.is_some_and(|it| ended.contains(&it)), "{last:?}");
    events
}

/// By each of `strategies`, with `model`.
async fn nothing_leaves(model: &str, strategies: &[&str]) {
    for strategy in strategies.iter().copied() {
        let it = Machine::new().await;
        let served = it.served(model, strategy, &[]);
        for surface in SURFACES {
            let what = format!("{surface:?}, {strategy}, {model}");
            let before = searched(&it.heard);
            surface.speak(&it, &served).await;
            let events = told(&served, &newest(&served).await).await;
            unheard(&what, &it.heard);
            let asked = searched(&it.heard) > before;
            let goes_out = asked || surface.may_ask_nobody(strategy);
            assert!(goes_out, "{what}: nobody was asked outside");
            if let Some(name) = surface.heard_by() {
                let heard = events.iter().any(|it| it.0 == name);
                assert!(heard, "{what}: {name} is not told");
            }
            let is_read =
                |(_, data): &(String, String)| CANARIES.iter().any(|it| data.contains(it));
            let read = events.iter().any(is_read) || surface == EntryPoint::FollowUp;
            assert!(read, "{what}: no private page was read");
        }
        let found = json!({"query": QUESTION});
        called(&served, "search", &found).await;
        unheard(&format!("search, {strategy}, {model}"), &it.heard);
        if model != "none" {
            let seen = it.model.lock().unwrap();
            let private = seen.iter().any(|it| it.contains("Vexlune"));
            assert!(private, "{strategy}: the model saw nothing private");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_word_of_a_private_folder_leaves_by_any_surface() {
    // Without a model, strategies differ in their rounds and not in what they search for.
    nothing_leaves(MODELS[0], &["checklist", "supervisor"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_word_of_a_private_folder_leaves_by_any_surface_with_a_model_that_tells_all() {
    nothing_leaves(MODELS[1], &STRATEGIES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_searches_the_folders_that_are_named_and_no_others() {
    let it = Machine::new().await;
    let (private, docs) = (it.docs.clone(), it.desk.docs());
    let served = it.served("none", "auto", &[&docs]);
    for (named, meant) in [
        (json!(["docs"]), vec![&docs]),
        (json!(["private"]), vec![&private]),
        (json!([]), vec![]),
        (Value::Null, vec![&private, &docs]),
    ] {
        let asked = json!({"question": QUESTION, "folders": named});
        let run = accepted(&served, &asked).await;
        let events = told(&served, &run).await;
        let created: Value = serde_json::from_str(&events[0].1).unwrap();
        let folders = &created["data"]["question"]["folders"];
        assert_eq!(folders, &json!(meant), "{named}");
        let read = events.iter().any(|it| it.1.contains("Drennmoor"));
        assert_eq!(read, meant.contains(&&private), "{named}");
    }
    // The same of a tool that names one.
    let asked = json!({"question": QUESTION, "folder": "docs"});
    let state = called(&served, "research", &asked).await;
    let events = told(&served, state["run_id"].as_str().unwrap()).await;
    assert!(!events.iter().any(|it| it.1.contains("Drennmoor")));
}
