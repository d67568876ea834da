//! What every surface says of one run or plan is the same.
use serde_json::{Value, json};

use super::Served;
use crate::cli::{ASKED, TestHome};

#[tokio::test]
async fn a_plan_is_the_same_object_on_the_command_line_and_over_http() {
    let desk = TestHome::new();
    desk.write("ibid.toml", "model = \"openai:gpt-5.1\"\n");
    let key = [("OPENAI_API_KEY", "sk-test")];
    let args = ["plan", ASKED, "--json", "--folder", &desk.docs()];
    let printed = desk.command(&args).envs(key).output().unwrap();
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let served = Served::start(&desk, &key);
    let body = json!({"question": ASKED, "folders": [desk.docs()], "engines": []});
    let told = served.post("/v1/plan", &body).await.json();
    let names = |it: &Value| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&printed), names(&told));
    for name in ["made_by", "planner_failed", "reasoning_effort"] {
        assert_eq!(printed[name], told[name], "{name}");
    }
    assert_eq!(told["made_by"], "words");
    assert!(!told["reasoning_effort"].as_object().unwrap().is_empty(), "{told}");
}
