use super::*;
use crate::providers::ModelProvider;
use ibid_core::ports::TokenUsage;
use std::sync::Mutex;

/// A model that reasons for `hidden` tokens before it writes `answer` tokens, within the limit of the request, and that
/// refuses some parameters, as written by its provider's dialect.
struct Thinker {
    learned: Arc<LearnedModel>,
    hidden: u32,
    answer: u32,
    reports: bool,
    refuses: &'static [&'static str],
    window: Option<u32>,
    sent: Mutex<Vec<serde_json::Value>>,
}

#[async_trait]
impl LanguageModel for Thinker {
    fn name(&self) -> &str {
        "custom/thinker"
    }

    async fn complete(&self, prompt: &Prompt, _: Option<TextSink<'_>>) -> Result<Completion> {
        let body = Dialect::OpenAiChat.request(prompt, &self.learned.settings(), false).body;
        self.sent.lock().unwrap().push(body.clone());
        // Calls at the same time are all sent before the first is answered.
        tokio::task::yield_now().await;
        let limit =
            ["max_tokens", "max_completion_tokens"].iter().find_map(|it| body[*it].as_u64());
        let limit = limit.map_or(u32::MAX, |limit| limit as u32);
        if let Some(name) = self.refuses.iter().find(|name| !body[**name].is_null()) {
            return Err(Error::new(ErrorKind::Malformed, "asking")
                .with_reason(FailureReason::RefusedParameter((*name).to_owned())));
        }
        if self.window.is_some_and(|window| limit > window) {
            return Err(Error::new(ErrorKind::Malformed, "asking")
                .with_reason(FailureReason::PromptTooLong { window: self.window }));
        }
        let little = body["reasoning_effort"] == "low" || body["reasoning_effort"] == "none";
        let hidden = if little { self.hidden / 8 } else { self.hidden }.min(limit);
        let written = self.answer.min(limit - hidden);
        Ok(Completion {
            finish: match written < self.answer {
                true => FinishReason::Length,
                false => FinishReason::Stop,
            },
            tokens: TokenUsage {
                input: Some(100),
                output: Some(u64::from(hidden + written)),
                reasoning_output: self.reports.then_some(u64::from(hidden)),
                ..TokenUsage::default()
            },
            cost_usd: Some(0.25),
            ..Completion::from_text("word".repeat(written as usize))
        })
    }
}

fn thinker(spec: &str, hidden: u32) -> Thinker {
    let (provider, model) = spec.split_once('/').unwrap();
    let settings = ModelProvider::by_name(provider).unwrap().settings(model);
    Thinker {
        learned: Arc::new(LearnedModel::new(Dialect::OpenAiChat, settings, None)),
        hidden,
        answer: 120,
        reports: true,
        refuses: &[],
        window: None,
        sent: Mutex::default(),
    }
}

async fn ask(model: &Arc<Thinker>) -> Result<Completion> {
    let inner: Arc<dyn LanguageModel> = Arc::clone(model) as _;
    let prompt = Prompt {
        max_tokens: Some(600),
        temperature: Some(0.0),
        effort: Some(ReasoningEffort::Low),
        ..Prompt::from_text("cover", "Which items are covered?")
    };
    AdaptiveModel::new(inner, Arc::clone(&model.learned), None).complete(&prompt, None).await
}

#[tokio::test]
async fn a_model_that_reasons_answers_at_the_first_call() {
    for spec in ["openai/gpt-5.1", "custom/unheard-of"] {
        for reports in [true, false] {
            for hidden in [0, 700, 1_500] {
                let model = Arc::new(Thinker { reports, ..thinker(spec, hidden) });
                let answer = ask(&model).await.unwrap();
                assert_eq!(answer.finish, FinishReason::Stop, "{spec}, {hidden}");
                assert_eq!(model.sent.lock().unwrap().len(), 1, "{spec}, {hidden}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_tells_the_effort_that_was_asked_of_models_that_can_be_told() {
    for (spec, effort) in [
        ("openai/gpt-5.1", Some(ReasoningEffort::Low)),
        ("openai/gpt-4o", None),
        ("custom/unheard-of", None),
    ] {
        let model = Arc::new(thinker(spec, 0));
        assert_eq!(ask(&model).await.unwrap().effort, effort, "{spec}");
    }
}

#[tokio::test]
async fn an_answer_that_reasoning_left_no_room_is_asked_for_again_with_more() {
    for reports in [true, false] {
        let model = Arc::new(Thinker { reports, ..thinker("custom/unheard-of", 5_000) });
        let answer = ask(&model).await.unwrap();
        assert_eq!(answer.finish, FinishReason::Stop);
        // Both calls were paid for.
        assert_eq!(answer.cost_usd, Some(0.5));
        let sent = model.sent.lock().unwrap().clone();
        assert_eq!(sent.len(), 2);
        assert!(sent[1]["max_tokens"].as_u64() > sent[0]["max_tokens"].as_u64());
        assert_eq!(sent[0]["reasoning_effort"], serde_json::Value::Null);
        assert_eq!(sent[1]["reasoning_effort"], "low");
        drop(sent);
        // What was learned holds for the next call.
        ask(&model).await.unwrap();
        assert_eq!(model.sent.lock().unwrap().len(), 3);
    }
}

#[tokio::test]
async fn a_model_that_never_stops_is_asked_once() {
    let model = Arc::new(Thinker { answer: 100_000, ..thinker("custom/unheard-of", 0) });
    assert_eq!(ask(&model).await.unwrap().finish, FinishReason::Length);
    assert_eq!(model.sent.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn refused_parameters_are_left_out_or_sent_in_another_form() {
    let refuses: &[&str] =
        &["temperature", "max_tokens", "max_completion_tokens", "reasoning_effort"];
    let model = Arc::new(Thinker { refuses, ..thinker("custom/unheard-of", 700) });
    ask(&model).await.unwrap();
    // One for temperature, two for the limit; the effort is tried once it has shown that the model reasons.
    assert_eq!(model.sent.lock().unwrap().len(), 4);
    ask(&model).await.unwrap();
    ask(&model).await.unwrap();
    let sent = model.sent.lock().unwrap();
    assert_eq!(sent.len(), 7);
    for name in refuses {
        assert!(sent[6][*name].is_null(), "{name}: {}", sent[6]);
    }
}

#[tokio::test]
async fn calls_at_the_same_time_learn_a_refusal_once() {
    let refuses: &[&str] = &["temperature", "response_format"];
    let model = Arc::new(Thinker { refuses, ..thinker("openai/gpt-4o", 0) });
    let inner: Arc<dyn LanguageModel> = Arc::clone(&model) as _;
    let adaptive = AdaptiveModel::new(inner, Arc::clone(&model.learned), None);
    let schema = Some(ibid_core::ports::Schema {
        name: "cover".to_owned(),
        json: serde_json::json!({"type": "object"}),
    });
    let prompt = Prompt {
        max_tokens: Some(600),
        temperature: Some(0.0),
        schema,
        ..Prompt::from_text("cover", "Which items are covered?")
    };
    let (first, second) =
        tokio::join!(adaptive.complete(&prompt, None), adaptive.complete(&prompt, None));
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
}

#[test]
fn a_service_that_refuses_output_config_is_sent_neither_schema_nor_effort_in_it() {
    let settings = ModelProvider::by_name("anthropic").unwrap().settings("claude-sonnet-4-5");
    let learned = LearnedModel::new(Dialect::Anthropic, settings, None);
    let mut refusals = 0;
    while learned.refuse("output_config") {
        refusals += 1;
        assert!(refusals < 5, "it is asked on and on");
    }
    let prompt = Prompt {
        effort: Some(ReasoningEffort::Low),
        ..Prompt::from_text("cover", "Which items are covered?")
    };
    let body = Dialect::Anthropic.request(&prompt, &learned.settings(), false).body;
    assert!(refusals > 0 && body["output_config"].is_null(), "{body}");
}

#[tokio::test]
async fn a_parameter_of_no_known_name_is_an_error() {
    let model = Arc::new(Thinker { refuses: &["messages"], ..thinker("custom/unheard-of", 0) });
    let error = ask(&model).await.unwrap_err();
    assert_eq!(error.reason(), Some(&FailureReason::RefusedParameter("messages".to_owned())));
    assert_eq!(model.sent.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_window_without_room_for_reasoning_is_used_without() {
    let model = Arc::new(Thinker { window: Some(700), ..thinker("custom/unheard-of", 0) });
    ask(&model).await.unwrap();
    ask(&model).await.unwrap();
    assert_eq!(model.sent.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_budget_too_small_for_room_pays_for_the_answer() {
    struct Poor(Mutex<Vec<Option<u32>>>);
    #[async_trait]
    impl LanguageModel for Poor {
        fn name(&self) -> &str {
            "custom/poor"
        }

        async fn complete(&self, prompt: &Prompt, _: Option<TextSink<'_>>) -> Result<Completion> {
            self.0.lock().unwrap().push(prompt.max_tokens);
            match prompt.max_tokens {
                Some(0..=600) => Ok(Completion::from_text("moss")),
                _ => Err(Error::new(ErrorKind::Exhausted, "the budget of $0.01 has no room")),
            }
        }
    }
    let model = Arc::new(Poor(Mutex::default()));
    let learned = Arc::clone(&thinker("custom/unheard-of", 0).learned);
    let inner: Arc<dyn LanguageModel> = Arc::clone(&model) as _;
    let prompt = Prompt { max_tokens: Some(600), ..Prompt::from_text("cover", "Is it?") };
    let answer = AdaptiveModel::new(inner, learned, None).complete(&prompt, None).await;
    assert_eq!(answer.unwrap().text, "moss");
    assert_eq!(*model.0.lock().unwrap(), [Some(2_648), Some(600)]);
}

#[test]
fn no_answer_is_wanted_for_which_the_window_has_no_room() {
    let limit = |window: Option<u64>, answer: u32, words: &str| {
        let settings = thinker("custom/unheard-of", 0).learned.settings();
        let learned = LearnedModel::new(Dialect::OpenAiChat, settings, None).with_window(window);
        let prompt = Prompt { max_tokens: Some(answer), ..Prompt::from_text("plan", words) };
        learned.sent_limit(&prompt, 0, 4_096)
    };
    let words = "moss ".repeat(300);
    assert_eq!(limit(None, 2_500, &words), 4_548);
    let small = limit(Some(2_048), 2_500, &words);
    assert!((1_400..=2_048 - 500).contains(&small), "{small}");
    // A long prompt leaves a third.
    assert_eq!(limit(Some(2_048), 2_500, &"moss ".repeat(2_000)), 2_048 / 3);
    assert_eq!(limit(Some(2_048), 300, &"moss ".repeat(2_000)), 300);
}
