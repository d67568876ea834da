//! All wrappers around the adapter over HTTP, against servers on this machine.
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibid_core::ErrorKind;
use ibid_core::ports::{LanguageModel, Prompt, SeededRng};
use ibid_core::retry::RetryPolicy;
use ibid_llm::{
    BudgetCaps, ConcurrencyLimits, CostBudget, FailoverModel, MODEL_RETRY, ModelCapabilities,
    ModelContext, ModelSpec, ModelSpend, ModelTable, ModelTarget, Price, stack,
};
use ibid_net::http::Timeouts;

use super::http::{Act, answer, serve_in_turn, stream};

const GREEN: &str = r#"{"object":"chat.completion","model":"m-1","choices":[{"message":{"content":"Green."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":5}}"#;

fn shared() -> ModelContext {
    let caps = BudgetCaps { usd: Some(1.0), ..BudgetCaps::default() };
    ModelContext {
        egress: Default::default(),
        budget: CostBudget::new(caps, ModelSpend::default()),
        shared: Arc::default(),
        limits: ConcurrencyLimits::default(),
        retry: RetryPolicy { first: Duration::from_millis(20), ..MODEL_RETRY },
        timeouts: Timeouts::default(),
        chance: Arc::new(SeededRng::new(3)),
    }
}

/// A model at `url`, a dollar for a thousand tokens either way.
fn chosen(url: &str, model: &str) -> ModelSpec {
    let url = format!("{url}/v1");
    let target = ModelTarget::resolve(&format!("custom/{model}"), &|name| {
        (name == "IBID_MODEL_BASE_URL").then(|| url.clone())
    });
    ModelSpec {
        price: Some(Price { input: 1000.0, output: 1000.0, ..Price::default() }),
        window: None,
        max_output: 50,
        effort: None,
        known: ModelCapabilities::default(),
        target: target.unwrap(),
    }
}

fn open(models: Vec<ModelSpec>, shared: &ModelContext) -> FailoverModel {
    stack::open(models, shared).unwrap()
}

fn prompt() -> Prompt {
    Prompt::from_text("write", "What is moss?")
}

#[tokio::test]
async fn a_limit_is_waited_for_and_a_lost_stream_asked_again() {
    let limit = answer("429 Too Many Requests", "retry-after-ms: 300\r\n", "{}");
    let cut = stream("data: {\"choices\":[{\"delta\":{\"content\":\"Gre\"}}]}\n\n");
    let whole = answer("200 OK", "", GREEN);
    let acts = vec![Act::Say(limit), Act::Say(cut), Act::Say(whole)];
    let server = serve_in_turn(acts).await;
    let shared = shared();
    let model = open(vec![chosen(&server.url, "m-1")], &shared);
    let begun = Instant::now();
    let mut told = String::new();
    let answer = model.complete(&prompt(), Some(&mut |it| told.push_str(it))).await;
    assert_eq!(answer.unwrap().text, "Green.");
    assert_eq!(told, "Gre", "the preview is of one try");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let heard = server.heard.lock().unwrap();
    assert_eq!(heard.len(), 3);
    assert!(heard[0].contains("\"max_tokens\":50"), "{}", heard[0]);
    // 21 tokens and 50 at most for the stream that was cut, 25 for the answer.
    let spent = shared.budget.spent();
    assert_eq!((spent.calls, spent.usd), (2, Some(0.096)));
}

#[tokio::test]
async fn another_model_answers_for_one_whose_key_is_refused() {
    let refused =
        answer("401 Unauthorized", "", r#"{"error":{"code":"invalid_api_key","message":"no"}}"#);
    let first = serve_in_turn(vec![Act::Say(refused)]).await;
    let second = serve_in_turn(vec![Act::Say(answer("200 OK", "", GREEN))]).await;
    let shared = shared();
    let models = vec![chosen(&first.url, "m-0"), chosen(&second.url, "m-1")];
    let model = open(models, &shared);
    for _ in 0..5 {
        let answer = model.complete(&prompt(), None).await.unwrap();
        assert_eq!(answer.model.as_deref(), Some("m-1"));
    }
    assert_eq!(first.heard.lock().unwrap().len(), 1, "then it is paused");
    assert_eq!(second.heard.lock().unwrap().len(), 5);
    assert_eq!(shared.budget.spent().calls, 5, "refusals are not billed");
}

#[tokio::test]
async fn a_model_without_a_price_is_not_asked_under_a_bound_of_money() {
    let server = serve_in_turn(vec![Act::Say(answer("200 OK", "", GREEN))]).await;
    let unpriced = ModelSpec::from_table(chosen(&server.url, "m-1").target, ModelTable::embedded());
    let model = open(vec![unpriced], &shared());
    let error = model.complete(&prompt(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert_eq!(
        error.hint(),
        Some("set `price` for custom/m-1, or bound the run by calls or tokens instead of dollars")
    );
    assert!(server.heard.lock().unwrap().is_empty());
}
