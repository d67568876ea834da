//! Histories of earlier versions, replayed by the workflow as it is now. Each was written by
//! `temporal workflow show --workflow-id RUN -o json`.
use temporalio_client::WorkflowHistory;
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use super::RunWorkflow;

const HISTORIES: &[(&str, &str)] = &[
    ("ended", include_str!("histories/ended.json")),
    ("resumed", include_str!("histories/resumed.json")),
    ("waited_for_input", include_str!("histories/waited_for_input.json")),
];

async fn replay(history: &str) -> Result<(), Box<dyn std::error::Error>> {
    let options = WorkflowReplayerOptions::new().register_workflow::<RunWorkflow>()?.build();
    let history = WorkflowHistory::from_json(history.as_bytes())?;
    Ok(WorkflowReplayer::new(options)?.replay_workflow(history).await?)
}

#[tokio::test]
async fn histories_of_earlier_versions_are_continued() {
    for (name, history) in HISTORIES {
        replay(history).await.unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

#[tokio::test]
async fn a_history_of_other_calls_is_refused() {
    let (_, history) = HISTORIES[0];
    let other = history.replace("\"work\"", "\"other_work\"");
    assert_ne!(history, other);
    replay(&other).await.unwrap_err();
}
