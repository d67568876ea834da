//! What the person asks for besides, while a run goes on.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::TestHome;
use crate::served::Served;

#[tokio::test]
async fn what_is_added_while_a_run_goes_on_is_in_the_plan_and_in_the_report() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    // A run that waits for its plan is one that goes on: there is time to say more.
    let asked =
        json!({"question": "How much does a green roof weigh?", "plan": "require_approval"});
    let run = served.post("/v1/runs", &asked).await.json();
    let id = run["id"].as_str().unwrap().to_owned();
    for (body, param) in
        [(json!({}), "text"), (json!({"text": " "}), "text"), (json!({"text": 3}), "text")]
    {
        let it = served.post(&format!("/v1/runs/{id}/steer"), &body).await;
        assert_eq!((it.status, it.json()["error"]["param"].as_str()), (400, Some(param)));
    }
    let more = "What does a green roof cost per square metre?";
    let it = served.post(&format!("/v1/runs/{id}/steer"), &json!({"text": more})).await;
    assert_eq!(it.status, 202, "{}", it.body);
    // Another process may add, too.
    let nobody = "Who painted the Night Watch?";
    let it = desk.ibid(&["steer", &id, nobody]);
    assert_eq!(it.code, 0, "{}", it.err);
    served.post(&format!("/v1/runs/{id}/approve"), &json!({})).await;
    let done = served.get(&format!("/v1/runs/{id}?wait=50")).await.json();
    assert_eq!(done["status"], "completed", "{done}");
    let plan = served.get(&format!("/v1/runs/{id}/plan")).await.json();
    let asks: Vec<&str> = plan["plan"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["asks"].as_str().unwrap())
        .collect();
    assert!(asks.contains(&more), "{asks:?}");
    // What was read before is weighed for it, too, and what speaks to neither is said.
    let rows = served.get(&format!("/v1/runs/{id}/coverage")).await.json();
    let rows: BTreeMap<&str, &Value> = rows["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["text"].as_str().unwrap(), &it["state"]))
        .collect();
    assert_ne!(rows[more], "open", "{rows:?}");
    assert_eq!(rows[nobody], "open");
    let report = served.get(&format!("/v1/runs/{id}/report.md")).await.body;
    assert!(report.contains("120 kg"), "{report}");
    assert!(report.contains("110 euros"), "{report}");
    assert!(
        report.contains(
            "**Who painted the Night Watch?** — Nothing on it was found in what was read."
        ),
        "{report}"
    );
    // The same again from the journal alone.
    let file = desk.path("steered.ibid");
    let file = file.to_str().unwrap();
    let it = desk.ibid(&["export", &id, "--format", "recording", "-o", file]);
    assert_eq!(it.code, 0, "{}", it.err);
    let it = desk.ibid(&["replay", file]);
    assert_eq!(it.code, 0, "{}{}", it.out, it.err);
    // Afterwards there is nothing to steer.
    let late = served.post(&format!("/v1/runs/{id}/steer"), &json!({"text": more})).await;
    assert!((400..500).contains(&late.status), "{}", late.body);
    let it = desk.ibid(&["steer", &id, "And in winter?"]);
    assert_eq!(it.code, 2, "{}", it.err);
}
