use futures_util::future::join_all;

use super::*;
use crate::cost_budget::{BudgetCaps, ModelSpend};
use crate::scripted::{ScriptedModel, ScriptedReply, completion, prompt, refusal};
use ibid_core::ErrorKind;
use ibid_core::ports::{ChatMessage, Role, Schema};

/// One dollar per 1000 input tokens, two per 1000 output tokens.
const PRICE: Price = Price {
    input: 1000.0,
    cached_input: None,
    cache_write: None,
    output: 2000.0,
    call: 0.0,
    long: None,
};

fn budget(usd: Option<f64>) -> CostBudget {
    let caps = BudgetCaps { usd, finishing: 0.2, ..BudgetCaps::default() };
    CostBudget::new(caps, ModelSpend::default())
}

fn metered(model: &Arc<ScriptedModel>, budget: &CostBudget) -> MeteredModel {
    let inner: Arc<dyn LanguageModel> = model.clone();
    MeteredModel::new(inner, budget.clone(), Some(PRICE), 100)
}

/// The reservation for the test's prompt: 21 input tokens and 100 output tokens.
const MOST: f64 = 0.221;

#[tokio::test(start_paused = true)]
async fn an_answer_is_priced_counted_and_booked() {
    let model = ScriptedModel::new("a/b", []);
    let budget = budget(Some(1.0));
    let metered = metered(&model, &budget);
    let answer = metered.complete(&prompt("write"), None).await.unwrap();
    assert_eq!(answer.cost_usd, Some(0.12));
    let spent = ModelSpend { calls: 1, tokens_in: 100, tokens_out: 10, usd: Some(0.12) };
    assert_eq!(budget.spent(), spent);
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].1.max_tokens, Some(100), "a bound where none was");
}

#[tokio::test(start_paused = true)]
async fn the_providers_own_price_wins_and_nonsense_does_not() {
    let charged = |cost: f64| {
        ScriptedReply::Whole(Box::new(Completion { cost_usd: Some(cost), ..completion("ok") }))
    };
    for (told, booked) in [(0.05, 0.05), (0.0, 0.0), (-1.0, 0.12), (f64::NAN, 0.12)] {
        let budget = budget(Some(1.0));
        let model = ScriptedModel::new("a/b", [charged(told)]);
        let answer = metered(&model, &budget).complete(&prompt("write"), None).await;
        assert_eq!(answer.unwrap().cost_usd, Some(booked));
        assert_eq!(budget.spent().usd, Some(booked));
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_that_are_not_told_or_absurd_count_as_the_estimate() {
    for count in [None, Some(1_000_000_000_000)] {
        let uncounted = Completion {
            tokens: TokenUsage { input: count, output: count, ..TokenUsage::default() },
            ..completion("ok")
        };
        let budget = budget(Some(1.0));
        let model = ScriptedModel::new("a/b", [ScriptedReply::Whole(Box::new(uncounted))]);
        let answer = metered(&model, &budget).complete(&prompt("write"), None).await;
        assert_eq!(answer.unwrap().cost_usd, Some(MOST));
        assert_eq!(budget.spent().usd, Some(MOST));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_costs_nothing_and_a_lost_one_its_estimate() {
    let unsent = ScriptedReply::Fault(
        "",
        ServiceError { unsent: true, ..ServiceError::transient("connection refused") },
    );
    let lost = || ScriptedReply::Fault("Mo", ServiceError::truncated());
    for (say, booked) in [
        (refusal(429, None), 0.0),
        (refusal(400, None), 0.0),
        (refusal(529, None), 0.0),
        (unsent, 0.0),
        (refusal(500, None), MOST),
        (refusal(504, None), MOST),
        (refusal(408, None), MOST),
        (lost(), MOST),
        (ScriptedReply::Error(ErrorKind::Malformed), MOST),
    ] {
        let budget = budget(Some(1.0));
        let model = ScriptedModel::new("a/b", [say]);
        let metered = metered(&model, &budget);
        assert!(metered.complete(&prompt("write"), None).await.is_err());
        assert_eq!(budget.spent().usd, Some(booked));
        assert_eq!(budget.spent().calls, u64::from(booked > 0.0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_has_begun_is_booked_whatever_ends_it() {
    let overloaded = ServiceError { status: Some(529), ..ServiceError::transient("overloaded") };
    for (told, booked) in [("", 0.0), ("Mo", MOST)] {
        let budget = budget(Some(1.0));
        let model = ScriptedModel::new("a/b", [ScriptedReply::Fault(told, overloaded.clone())]);
        let metered = metered(&model, &budget);
        let answer = metered.complete(&prompt("write"), Some(&mut |_| ())).await;
        assert!(answer.is_err());
        assert_eq!(budget.spent().usd, Some(booked));
    }
}

#[tokio::test(start_paused = true)]
async fn azure_bills_the_input_that_its_filter_read() {
    let budget = budget(Some(1.0));
    let filtered = ServiceError {
        status: Some(400),
        reason: Some(FailureReason::Declined),
        ..ServiceError::malformed("held back")
    };
    let model = ScriptedModel::new("azure/b", [ScriptedReply::Fault("", filtered)]);
    assert!(metered(&model, &budget).complete(&prompt("x"), None).await.is_err());
    assert_eq!(budget.spent().usd, Some(0.021));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_booked() {
    let budget = budget(Some(1.0));
    let model = ScriptedModel::with_delay(Duration::from_secs(60), "a/b", []);
    let metered = metered(&model, &budget);
    let prompt = prompt("plan");
    let cut = tokio::time::timeout(Duration::from_secs(1), metered.complete(&prompt, None));
    assert!(cut.await.is_err());
    assert_eq!(budget.spent().usd, Some(MOST));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_price_is_refused_before_anything_is_sent() {
    let model = ScriptedModel::new("custom/b", []);
    let inner: Arc<dyn LanguageModel> = model.clone();
    let bounded = MeteredModel::new(Arc::clone(&inner), budget(Some(1.0)), None, 100);
    let error = bounded.complete(&prompt("write"), None).await.unwrap_err();
    assert_eq!((error.kind(), model.count()), (ErrorKind::Setup, 0));
    assert!(error.to_string().contains("custom/b"));
    let unbounded = budget(None);
    let open = MeteredModel::new(inner, unbounded.clone(), None, 100);
    let answer = open.complete(&prompt("write"), None).await.unwrap();
    assert_eq!(answer.cost_usd, None);
    assert_eq!((unbounded.spent().usd, unbounded.spent().calls), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_limit_is_reserved_at_its_longest_or_refused() {
    let refusing = || {
        let provider = crate::ModelProvider::by_name("custom").unwrap();
        let settings = provider.settings("b");
        let learned = Arc::new(LearnedModel::new(provider.dialect, settings, None));
        assert!(learned.sends_limit());
        learned.refuse_parameter(crate::capabilities::Parameter::MaxTokens);
        learned.refuse_parameter(crate::capabilities::Parameter::MaxTokens);
        assert!(!learned.sends_limit());
        learned
    };
    // 21 tokens are sent, and 400 answered at most: 0.821 dollars.
    for (usd, longest, asked) in [
        (Some(0.9), Some(400), Ok(())),
        (Some(0.8), Some(400), Err(ErrorKind::Exhausted)),
        (Some(0.9), None, Err(ErrorKind::Setup)),
        (None, None, Ok(())),
    ] {
        let model = ScriptedModel::new("custom/b", []);
        let metered = metered(&model, &budget(usd)).with_longest_answer(refusing(), longest);
        let answer = metered.complete(&prompt("write"), None).await;
        assert_eq!(answer.map(|_| ()).map_err(|error| error.kind()), asked, "{usd:?} {longest:?}");
        assert_eq!(model.count(), usize::from(asked.is_ok()));
    }
}

#[tokio::test(start_paused = true)]
async fn research_leaves_what_finishing_needs() {
    let model = ScriptedModel::new("a/b", []);
    let budget = budget(Some(1.2));
    let metered = metered(&model, &budget);
    let mut researched = 0;
    let error = loop {
        match metered.complete(&prompt("weigh"), None).await {
            Ok(_) => researched += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert_eq!(researched, 7, "0.84 of 0.96 dollars; one more may take 0.221");
    assert!(metered.complete(&prompt("write.summary"), None).await.is_ok());
    assert_eq!(model.count(), 8);
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_wait_for_each_others_change() {
    let model = ScriptedModel::with_delay(Duration::from_secs(5), "a/b", []);
    let budget = budget(Some(1.25));
    let metered = metered(&model, &budget);
    let prompts: Vec<Prompt> = (0..16).map(|_| prompt("weigh")).collect();
    let answers = join_all(prompts.iter().map(|prompt| metered.complete(prompt, None))).await;
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    // Four calls fit at a time, seven in total.
    assert_eq!(answered, 7);
    assert_eq!(budget.spent().usd, Some(0.84));
}

#[test]
fn purposes_that_finish_are_known_by_their_first_word() {
    for purpose in ["write", "check", "answer", "write.summary", "check-2"] {
        assert!(is_finishing(purpose), "{purpose}");
    }
    for purpose in ["", "plan", "weigh", "writer", "re.write", "checklist"] {
        assert!(!is_finishing(purpose), "{purpose}");
    }
}

#[test]
fn the_input_is_estimated_from_above() {
    let tokens = |text: &str| max_input_tokens(&Prompt::from_text("x", text)) - 16;
    assert_eq!(tokens("abcdefg"), 3);
    assert_eq!(tokens("2026"), 4);
    assert_eq!(tokens("苔は緑"), 3);
    let whole = Prompt {
        system: Some("abc".to_owned()),
        messages: vec![ChatMessage { role: Role::User, text: String::new() }],
        schema: Some(Schema { name: "s".to_owned(), json: serde_json::json!({}) }),
        ..Prompt::default()
    };
    assert_eq!(max_input_tokens(&whole), 17 + 16 + 501);
}
