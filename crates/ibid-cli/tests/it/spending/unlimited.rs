//! Money stays a wall where a model refuses limits on its answers, and where an answer is lost.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::cli::{ASKED, Outcome, TestHome};
use crate::model::http::{answer, read_request};

/// The names under which a limit may be sent.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// A model server that keeps the bodies of its requests.
struct Kept {
    url: String,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Kept {
    /// `answers` says what is answered to a body; nothing is answered while it says `None`.
    async fn start(
        answers: impl Fn(&Value) -> Option<(&'static str, Value)> + Send + Sync + 'static,
    ) -> Kept {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let (kept, answers) = (Arc::clone(&bodies), Arc::new(answers));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (kept, answers) = (Arc::clone(&kept), Arc::clone(&answers));
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut socket).await else { return };
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let body = text.split_once("\r\n\r\n").unwrap().1;
                    let body: Value = serde_json::from_str(body).unwrap();
                    kept.lock().unwrap().push(body.clone());
                    let (status, said) = loop {
                        match answers(&body) {
                            Some(said) => break said,
                            None => tokio::time::sleep(Duration::from_millis(50)).await,
                        }
                    };
                    let json = "content-type: application/json\r\n";
                    let text = answer(status, json, &said.to_string());
                    let _gone = socket.write_all(text.as_bytes()).await;
                });
            }
        });
        Kept { url, bodies }
    }

    fn env(&self) -> [(&str, &str); 5] {
        [
            ("IBID_MODEL", "openai:m-1"),
            ("OPENAI_API_KEY", "sk-test"),
            ("OPENAI_BASE_URL", &self.url),
            ("IBID_PRICE", "10/10"),
            ("IBID_ENGINES", "none"),
        ]
    }

    /// The limits of the requests, in order.
    fn limits(&self) -> Vec<Option<u64>> {
        let limit = |body: &Value| LIMITS.iter().find_map(|name| body[*name].as_u64());
        self.bodies.lock().unwrap().iter().map(limit).collect()
    }
}

/// Refuses every limit, and answers a request without one at length.
fn without_limits(body: &Value) -> Option<(&'static str, Value)> {
    let refused = LIMITS.iter().find(|name| !body[**name].is_null());
    Some(match refused {
        Some(name) => (
            "400 Bad Request",
            json!({"error": {
                "message": format!("Unsupported parameter: '{name}' is not supported with this model."),
                "type": "invalid_request_error", "param": name, "code": "unsupported_parameter",
            }}),
        ),
        None => (
            "200 OK",
            json!({
                "id": "c", "object": "chat.completion", "model": "m-1",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}],
                "usage": {"prompt_tokens": 500, "completion_tokens": 30_000, "total_tokens": 30_500},
            }),
        ),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_limits_is_not_asked_where_an_answer_could_pass_the_budget() {
    for (window, unlimited) in [(None, 0), (Some("200000"), 0), (Some("40000"), 1)] {
        let model = Kept::start(without_limits).await;
        let desk = TestHome::new();
        let docs = desk.docs();
        let args = ["run", ASKED, "--folder", &docs, "--budget", "$0.60", "--json", "-q"];
        let mut command = desk.command(&args);
        command.envs(model.env());
        for role in ["PLANNER", "RESEARCHER", "SUMMARIZER", "WRITER", "VERIFIER"] {
            window.map(|window| command.env(format!("IBID_MODELS_{role}_MAX_CONTEXT"), window));
        }
        let ended = Outcome::from(command.output().unwrap());
        let sent = model.limits().iter().filter(|limit| limit.is_none()).count();
        assert_eq!(sent.min(1), unlimited, "{window:?}: {:?} {}", model.limits(), ended.err);
        let spent = ended.json()["total_cost_usd"].as_f64().unwrap_or_default();
        assert!(spent <= 0.60, "{window:?}: {spent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_call_is_charged_with_the_limit_that_was_sent() {
    let speaks = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&speaks);
    let model = Kept::start(move |_| {
        let refusal = json!({"error": {"message": "no", "type": "bad"}});
        heard.load(Ordering::SeqCst).then_some(("400 Bad Request", refusal))
    })
    .await;
    let desk = TestHome::new();
    let docs = desk.docs();
    let mut begun =
        desk.command(&["run", ASKED, "--folder", &docs, "-q"]).envs(model.env()).spawn().unwrap();
    while model.limits().is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    begun.kill().unwrap();
    begun.wait().unwrap();
    let lost = model.limits();
    let bytes: usize = model.bodies.lock().unwrap().iter().map(|it| it.to_string().len()).sum();
    speaks.store(true, Ordering::SeqCst);
    let resumed = desk.command(&["resume", "last", "--json"]).envs(model.env()).output().unwrap();
    let result = Outcome::from(resumed).json();
    let charged = result["charged_usd_at_most"].as_f64().unwrap();
    let limits: u64 = lost.iter().map(|it| it.unwrap()).sum();
    let (least, most) = (limits as f64 * 1e-5, (limits as f64 + bytes as f64) * 1e-5);
    assert!(charged >= least && charged <= most, "{least} {charged} {most}: {lost:?}");
}
