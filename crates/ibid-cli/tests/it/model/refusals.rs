//! What a model refused is remembered between processes.
use serde_json::json;

use super::http::{Act, answer, serve_in_turn};
use crate::cli::{ASKED, TestHome};

#[tokio::test(flavor = "multi_thread")]
async fn the_next_run_does_not_ask_for_what_the_model_refused() {
    let refused = json!({"error": {
        "message": "Unsupported parameter: 'temperature' is not supported with this model.",
        "type": "invalid_request_error", "param": "temperature", "code": "unsupported_parameter",
    }});
    let json = "content-type: application/json\r\n";
    let refusal = answer("400 Bad Request", json, &refused.to_string());
    let server = serve_in_turn(vec![Act::Say(refusal)]).await;
    let desk = TestHome::new();
    let base = format!("{}/v1", server.url);
    let asked = |docs: &str| {
        server.heard.lock().unwrap().clear();
        let mut command = desk.command(&["plan", ASKED, "--model-plan", "--folder", docs]);
        command.env("IBID_MODEL", "openai:m-1").env("OPENAI_API_KEY", "sk-test");
        command.env("OPENAI_BASE_URL", &base).env("IBID_PRICE", "1/1");
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let heard = server.heard.lock().unwrap();
        heard.iter().filter(|it| it.contains("\"temperature\"")).count()
    };
    assert!(asked(&desk.docs()) > 0, "the first time nothing is known");
    assert_eq!(asked(&desk.docs()), 0);
    let file = desk.path("home/.cache/ibid/model-refusals.json");
    assert!(std::fs::read_to_string(file).unwrap().contains("temperature"));
}
