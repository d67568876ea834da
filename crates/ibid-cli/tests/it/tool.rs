//! Research as a tool of another program, in its process.
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ibid::app::App;
use ibid::config::{ProcessEnv, layers};
use ibid_core::ErrorKind;
use ibid_server::request::ServedResources;
use ibid_server::tool::{Tool, ToolProgressFn};
use serde_json::json;

use crate::cli::{ASKED, TestHome};

#[tokio::test]
async fn a_program_has_research_as_a_tool_with_progress_and_a_result() {
    let desk = TestHome::new();
    let env = [("HOME", desk.path("home"))];
    let surroundings = ProcessEnv {
        cwd: desk.path(""),
        env: env.map(|(a, b)| (a.to_owned(), b.to_string_lossy().into_owned())).into(),
    };
    let settings = layers::load(&surroundings, &[]).unwrap().settings;
    let app = Arc::new(App::open(settings).await.unwrap());
    let served = ServedResources { folders: vec![PathBuf::from(desk.docs())], models: Vec::new() };
    let tool = Tool::deep_research(app, surroundings, served);
    assert_eq!((tool.name, tool.streaming), ("deep_research", true));
    let stages: Arc<Mutex<Vec<(String, f32)>>> = Arc::default();
    let kept = Arc::clone(&stages);
    let heard: ToolProgressFn =
        Arc::new(move |it| kept.lock().unwrap().push((it.stage.clone(), it.progress)));
    let done = (tool.executor)(json!({"question": ASKED}), Arc::clone(&heard)).await.unwrap();
    assert!(done.text.contains("56 %"), "{}", done.text);
    assert_eq!(done.payload["type"], "deep_research_result");
    assert_eq!(done.payload["data"]["status"], "completed");
    let stages = stages.lock().unwrap().clone();
    assert_eq!(stages[0].0, "refining");
    assert!(stages.iter().any(|it| it.0 == "iteration_1"));
    assert!(stages.windows(2).all(|it| it[0].1 <= it[1].1), "{stages:?}");
    assert!((stages.last().unwrap().1 - 1.0).abs() < f32::EPSILON);
    let fault = (tool.executor)(json!({"question": ASKED, "max_iterations": 1000}), heard).await;
    assert_eq!(fault.unwrap_err().kind(), ErrorKind::Usage);
}
