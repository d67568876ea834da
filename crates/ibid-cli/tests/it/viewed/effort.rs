//! The effort of reasoning and its tokens, where the calls of a run are shown.
use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{Completion, JournalCall, JournalCallState, StoredAnswer, TokenUsage};
use ibid_core::record::Run;
use ibid_report::event_line::event_line;
use ibid_server::view::trace::{CallPage, TracePage};
use ibid_server::view::{PageLayout, render};
use serde_json::json;

use crate::events::samples::{run_id, story};

fn call(completion: &Completion) -> JournalCall {
    JournalCall {
        key: "k".to_owned(),
        provider: "model:openai/gpt-5.1".to_owned(),
        request: json!({"purpose": "plan", "messages": [{"role": "user", "text": "Plan."}]}),
        state: JournalCallState::Answered(StoredAnswer {
            answer: serde_json::to_value(completion).unwrap(),
            cost_usd: 0.0,
        }),
    }
}

#[test]
fn the_trace_tells_the_effort_asked_of_a_model_and_its_reasoning_tokens() {
    let plain = Completion {
        tokens: TokenUsage { input: Some(1_200), output: Some(240), ..TokenUsage::default() },
        ..Completion::from_text("Planned.")
    };
    let reasoned = Completion {
        effort: Some(ReasoningEffort::Medium),
        tokens: TokenUsage { reasoning_output: Some(1_128), ..plain.tokens },
        ..plain.clone()
    };
    let calls = [call(&reasoned), call(&plain)];
    let run = Run::from_events(run_id(), &story());
    let shell = || PageLayout::new("trace");
    let list = render(&TracePage::new(shell(), &run, &calls, 0)).unwrap();
    assert_eq!(list.matches("medium effort, 1,128 for reasoning").count(), 1, "{list}");
    assert_eq!(list.matches("effort").count(), 1, "{list}");
    let page = |n| render(&CallPage::new(shell(), &run, &calls, n).unwrap()).unwrap();
    assert!(page(1).contains("<dt>Effort of reasoning</dt><dd>medium</dd>"));
    assert!(page(1).contains("<dt>Reasoning tokens</dt><dd>1,128</dd>"));
    assert!(!page(2).contains("Effort of reasoning"));
    // So does the line of the event.
    let lines: Vec<String> =
        story().iter().filter_map(event_line).map(|it| it.text.clone()).collect();
    let told = "openai/gpt-5.1 for plan (planner, medium effort): 1200 tokens in, 240 out (128 for reasoning), 4.2 s";
    assert!(lines.contains(&told.to_owned()), "{lines:#?}");
}
