//! The whole stack against what providers reply: each scene of `bench/PROVIDER.toml` is one call, with the replies of the
//! provider in turn and what must come of them.
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{FinishReason, LanguageModel, Prompt, Schema, SeededRng, TextSink};
use ibid_core::retry::RetryPolicy;
use ibid_core::{Error, FailureReason};
use ibid_llm::{
    BudgetCaps, ConcurrencyLimits, CostBudget, FailoverModel, MODEL_RETRY, ModelContext, ModelSpec,
    ModelSpend, ModelTable, ModelTarget, stack,
};
use ibid_net::http::Timeouts;
use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{Act, answer, serve_in_turn, stream};

/// What a scene expects if it names neither a text nor an error.
const TEXT: &str = "Moss is green.";

/// The scenes of a provider.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bench {
    /// The provider's name in the table of providers.
    provider: String,
    /// The day on which the replies were read.
    as_of: String,
    /// Where they were read.
    source: String,
    /// The body of an ordinary answer, which says [`TEXT`].
    answer: String,
    /// The same answer as a stream.
    answer_stream: String,
    scene: Vec<Scene>,
}

/// One call: the replies in turn, and what must come of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scene {
    name: String,
    model: String,
    /// Whether the prompt has a schema.
    #[serde(default)]
    schema: bool,
    /// Whether the answer is requested as a stream.
    #[serde(default)]
    stream: bool,
    /// The last one is repeated.
    replies: Vec<Reply>,
    /// How many requests must be sent.
    requests: usize,
    text: Option<String>,
    finish: Option<FinishReason>,
    /// The name of the tool that the answer calls.
    tool: Option<String>,
    output_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    /// The kind of the error, if the call must fail.
    kind: Option<String>,
    reason: Option<String>,
    /// The context window that the error names, in tokens.
    window: Option<u32>,
    /// The shortest time that the call takes, in milliseconds.
    waits_ms: Option<u64>,
    /// JSON pointers that the last request must not have.
    #[serde(default)]
    absent: Vec<String>,
    /// JSON pointers and their values in the last request.
    #[serde(default)]
    equal: BTreeMap<String, Value>,
    /// JSON pointers of the last request and their lowest values.
    #[serde(default)]
    at_least: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    /// `"answer"`: the ordinary answer.
    Named(String),
    /// A stream, with status 200.
    Stream { stream: String },
    /// Any other response.
    Response {
        status: u16,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        body: String,
    },
}

impl Bench {
    fn read(text: &str) -> Bench {
        toml_edit::de::from_str(text).unwrap_or_else(|error| panic!("{error}\n{}", &text[..60]))
    }

    fn reply(&self, scene: &Scene, reply: &Reply) -> Act {
        Act::Say(match reply {
            Reply::Named(name) => {
                assert_eq!(name, "answer", "{}: an unknown reply", scene.name);
                match scene.stream {
                    true => stream(&self.answer_stream),
                    false => answer("200 OK", "content-type: application/json\r\n", &self.answer),
                }
            }
            Reply::Stream { stream: body } => stream(body),
            Reply::Response { status, headers, body } => {
                let headers: String =
                    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                answer(&format!("{status} Status"), &headers, body)
            }
        })
    }
}

/// The model at `url`, with all wrappers and what the table of models knows of it.
fn open(provider: &str, model: &str, url: &str) -> FailoverModel {
    let target = ModelTarget::resolve(&format!("{provider}/{model}"), &|name| {
        let is_key = name.ends_with("_KEY");
        Some(if is_key { "not-a-real-key-1234".to_owned() } else { url.to_owned() })
    });
    let context = ModelContext {
        egress: Default::default(),
        budget: CostBudget::new(BudgetCaps::default(), ModelSpend::default()),
        shared: Arc::default(),
        limits: ConcurrencyLimits::default(),
        retry: RetryPolicy { first: Duration::from_millis(2), ..MODEL_RETRY },
        timeouts: Timeouts::default(),
        chance: Arc::new(SeededRng::new(3)),
    };
    stack::open(vec![ModelSpec::from_table(target.unwrap(), ModelTable::embedded())], &context)
        .unwrap()
}

fn prompt(with_schema: bool) -> Prompt {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"], "additionalProperties": false});
    Prompt {
        effort: Some(ReasoningEffort::Low),
        max_tokens: Some(600),
        temperature: Some(0.0),
        schema: with_schema.then(|| Schema { name: "count".to_owned(), json: schema }),
        ..Prompt::from_text("write", "What colour is moss?")
    }
}

/// Adds a line to `differences` if `got` is not what the scene expects.
fn compare<T: PartialEq + Debug>(
    differences: &mut Vec<String>,
    what: &str,
    wanted: Option<T>,
    got: T,
) {
    if let Some(wanted) = wanted.filter(|wanted| *wanted != got) {
        differences.push(format!("{what} should be {wanted:?} and is {got:?}"));
    }
}

fn reason_name(reason: Option<&FailureReason>) -> &'static str {
    match reason {
        Some(FailureReason::PromptTooLong { .. }) => "prompt_too_long",
        Some(FailureReason::RefusedParameter(_)) => "refused_parameter",
        Some(FailureReason::Declined) => "declined",
        Some(FailureReason::Overloaded) => "overloaded",
        Some(FailureReason::Quota) => "quota",
        Some(FailureReason::Key) => "key",
        Some(_) => "other",
        None => "none",
    }
}

fn compare_error(differences: &mut Vec<String>, scene: &Scene, error: &Error) {
    let kind = format!("{:?}", error.kind()).to_lowercase();
    let told = |name: &str| format!("{name} of “{}”", error.chain());
    compare(differences, &told("the kind"), scene.kind.as_deref(), kind.as_str());
    let reason = reason_name(error.reason());
    compare(differences, &told("the reason"), scene.reason.as_deref(), reason);
    let window = match error.reason() {
        Some(FailureReason::PromptTooLong { window }) => *window,
        _ => None,
    };
    compare(differences, &told("the window"), scene.window.map(Some), window);
}

/// Plays one scene and returns what came out differently.
async fn play(bench: &Bench, scene: &Scene) -> Vec<String> {
    let replies = scene.replies.iter().map(|reply| bench.reply(scene, reply)).collect();
    let server = serve_in_turn(replies).await;
    let model = open(&bench.provider, &scene.model, &server.url);
    let mut previewed = String::new();
    let mut sink = |text: &str| previewed.push_str(text);
    let sink = scene.stream.then_some(&mut sink as TextSink<'_>);
    let begun = Instant::now();
    let outcome = model.complete(&prompt(scene.schema), sink).await;
    let took = begun.elapsed();

    let mut differences = Vec::new();
    match outcome {
        Ok(got) => {
            if scene.kind.is_some() {
                differences.push(format!("should fail and answers {got:?}"));
            }
            let text = scene.text.as_deref().unwrap_or(TEXT);
            compare(&mut differences, "the text", Some(text), got.text.as_str());
            compare(&mut differences, "the end", scene.finish.as_ref(), &got.finish);
            let tool = got.tool_calls.first().map(|call| call.name.clone());
            compare(&mut differences, "the tool", Some(scene.tool.clone()), tool);
            let tokens = got.tokens;
            compare(&mut differences, "output", scene.output_tokens.map(Some), tokens.output);
            let reasoning = scene.reasoning_tokens.map(Some);
            compare(&mut differences, "reasoning", reasoning, tokens.reasoning_output);
        }
        Err(error) if scene.kind.is_some() => compare_error(&mut differences, scene, &error),
        Err(error) => differences.push(format!("should answer and fails: {}", error.chain())),
    }
    let heard = server.heard.lock().unwrap();
    compare(&mut differences, "the number of requests", Some(scene.requests), heard.len());
    let last = heard.last().and_then(|request| request.split_once("\r\n\r\n"));
    let last: Value = serde_json::from_str(last.map_or("null", |parts| parts.1)).unwrap();
    for pointer in &scene.absent {
        compare(&mut differences, pointer, Some(None), last.pointer(pointer));
    }
    for (pointer, wanted) in &scene.equal {
        compare(&mut differences, pointer, Some(Some(wanted)), last.pointer(pointer));
    }
    for (pointer, lowest) in &scene.at_least {
        let got = last.pointer(pointer).and_then(Value::as_u64);
        if got.is_none_or(|got| got < *lowest) {
            differences.push(format!("{pointer} should be {lowest} or more and is {got:?}"));
        }
    }
    if scene.waits_ms.is_some_and(|shortest| took < Duration::from_millis(shortest)) {
        differences.push(format!("the call took only {took:?}"));
    }
    differences
}

async fn play_all(text: &str) {
    let bench = Bench::read(text);
    let mut told = String::new();
    for scene in &bench.scene {
        for difference in play(&bench, scene).await {
            told += &format!("\n{}, {}: {difference}", bench.provider, scene.name);
        }
    }
    assert!(told.is_empty(), "{told}");
}

/// The scenes of each provider, and a test that plays them.
macro_rules! benches {
    ($($test:ident: $file:literal,)*) => {
        const FILES: &[&str] = &[$(include_str!(concat!("bench/", $file, ".toml")),)*];

        $(
            #[tokio::test]
            async fn $test() {
                play_all(include_str!(concat!("bench/", $file, ".toml"))).await;
            }
        )*
    };
}

benches! {
    replies_of_anthropic_come_to_what_the_scenes_expect: "anthropic",
    replies_of_cohere_come_to_what_the_scenes_expect: "cohere",
    replies_of_deepseek_come_to_what_the_scenes_expect: "deepseek",
    replies_of_gemini_come_to_what_the_scenes_expect: "gemini",
    replies_of_groq_come_to_what_the_scenes_expect: "groq",
    replies_of_llamacpp_come_to_what_the_scenes_expect: "llamacpp",
    replies_of_mistral_come_to_what_the_scenes_expect: "mistral",
    replies_of_ollama_come_to_what_the_scenes_expect: "ollama",
    replies_of_openai_come_to_what_the_scenes_expect: "openai",
    replies_of_openai_responses_come_to_what_the_scenes_expect: "openai_responses",
    replies_of_openrouter_come_to_what_the_scenes_expect: "openrouter",
    replies_of_vllm_come_to_what_the_scenes_expect: "vllm",
    replies_of_xai_come_to_what_the_scenes_expect: "xai",
}

#[test]
fn every_scene_has_a_source_and_a_name_of_its_own() {
    for text in FILES {
        let bench = Bench::read(text);
        assert!(bench.as_of.len() == 10 && !bench.source.is_empty(), "{}", bench.provider);
        let mut names: Vec<&str> = bench.scene.iter().map(|scene| scene.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        for scene in &bench.scene {
            assert!(scene.reason.is_none() || scene.kind.is_some(), "{}", scene.name);
        }
    }
}
