//! What each dialect asks.
use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{ChatMessage, Prompt, Role, Schema};
use ibid_llm::{Dialect, LimitField, ModelProvider, ModelSettings, SchemaMode};
use serde_json::{Value, json};

fn prompt() -> Prompt {
    let mut prompt = Prompt::from_text("plan", "What is moss?");
    prompt.system = Some("Be brief.".to_owned());
    prompt.max_tokens = Some(50);
    prompt.temperature = Some(0.2);
    prompt.stop = vec!["END".to_owned()];
    prompt.schema = Some(Schema { name: "answer".to_owned(), json: schema() });
    prompt
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"],
        "additionalProperties": false})
}

fn body(dialect: Dialect, stream: bool) -> (String, Value) {
    let out = dialect.request(&prompt(), &ModelSettings::new("m"), stream);
    (out.path, out.body)
}

#[test]
fn each_dialect_says_the_same_in_its_own_words() {
    let (path, chat) = body(Dialect::OpenAiChat, true);
    assert_eq!(path, "/chat/completions");
    assert_eq!(
        chat,
        json!({"model": "m", "messages": [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is moss?"}],
            "max_tokens": 50, "temperature": 0.2, "stop": ["END"],
            "response_format": {"type": "json_schema",
                "json_schema": {"name": "answer", "strict": true, "schema": schema()}},
            "stream": true, "stream_options": {"include_usage": true}})
    );
    let (path, responses) = body(Dialect::OpenAiResponses, false);
    assert_eq!(path, "/responses");
    assert_eq!(responses["instructions"], "Be brief.");
    assert_eq!(responses["max_output_tokens"], 50);
    assert_eq!(responses["text"]["format"]["schema"], schema());
    assert_eq!(responses["store"], false);
    let (path, claude) = body(Dialect::Anthropic, false);
    assert_eq!(path, "/v1/messages");
    assert_eq!(claude["system"], "Be brief.");
    assert_eq!(claude["stop_sequences"], json!(["END"]));
    let format = &claude["output_config"]["format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["schema"]["properties"]["n"], json!({"type": "integer"}));
    let (path, gemini) = body(Dialect::Gemini, true);
    assert_eq!(path, "/models/m:streamGenerateContent?alt=sse");
    assert_eq!(gemini["systemInstruction"]["parts"][0]["text"], "Be brief.");
    let config = &gemini["generationConfig"];
    assert_eq!(config["responseJsonSchema"], schema());
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config["maxOutputTokens"], 50);
    let (path, ollama) = body(Dialect::Ollama, false);
    assert_eq!(path, "/api/chat");
    assert_eq!(ollama["format"], schema());
    assert_eq!(ollama["options"], json!({"num_predict": 50, "temperature": 0.2, "stop": ["END"]}));
    let (path, cohere) = body(Dialect::Cohere, false);
    assert_eq!(path, "/v2/chat");
    assert_eq!(cohere["response_format"]["json_schema"], schema());
}

#[test]
fn the_purpose_is_never_sent() {
    let mut prompt = prompt();
    prompt.purpose = "xyzzy".to_owned();
    prompt.messages.push(ChatMessage { role: Role::Assistant, text: "Green.".to_owned() });
    for dialect in [
        Dialect::OpenAiChat,
        Dialect::OpenAiResponses,
        Dialect::Anthropic,
        Dialect::Gemini,
        Dialect::Ollama,
        Dialect::Cohere,
    ] {
        let text = dialect.request(&prompt, &ModelSettings::new("m"), true).body.to_string();
        assert!(!text.contains("xyzzy") && text.contains("Green."), "{text}");
    }
}

#[test]
fn a_schema_that_cannot_be_sent_stands_in_the_prompt() {
    let settings = ModelSettings { schemas: SchemaMode::JsonMode, ..ModelSettings::new("m") };
    let body = Dialect::OpenAiChat.request(&prompt(), &settings, false).body;
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\n") && system.contains("\"minimum\":1"), "{system}");
    let settings = ModelSettings { schemas: SchemaMode::Tool, ..ModelSettings::new("m") };
    let body = Dialect::Anthropic.request(&prompt(), &settings, false).body;
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "answer"}));
    assert_eq!(body["tools"][0]["input_schema"], schema());
    assert!(body.get("output_config").is_none());
}

#[test]
fn a_schema_that_leaves_things_open_is_not_called_strict() {
    let mut prompt = prompt();
    let open = json!({"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "string"}}, "required": ["n"]});
    prompt.schema.as_mut().unwrap().json = open;
    let body = Dialect::OpenAiChat.request(&prompt, &ModelSettings::new("m"), false).body;
    assert_eq!(body["response_format"]["json_schema"]["strict"], false);
}

#[test]
fn models_are_asked_as_they_can_be_asked() {
    let openai = ModelProvider::by_name("openai").unwrap();
    let body = |model: &str| openai.dialect.request(&prompt(), &openai.settings(model), false).body;
    assert_eq!(body("gpt-4o")["max_completion_tokens"], 50);
    assert!(body("gpt-4o").get("temperature").is_some());
    // These reason unless they are told not to, or only when they are told to.
    assert!(body("o3").get("temperature").is_none());
    assert!(body("gpt-5.1").get("temperature").is_some());
    let little = Prompt { effort: Some(ReasoningEffort::Low), ..prompt() };
    let body = |model: &str| openai.dialect.request(&little, &openai.settings(model), false).body;
    assert_eq!(body("gpt-5.1")["reasoning_effort"], "low");
    assert!(body("gpt-5.1").get("temperature").is_none());
    assert!(body("gpt-4o").get("reasoning_effort").is_none());
    assert_eq!(openai.settings("gpt-4o").limit, LimitField::MaxCompletionTokens);
    let mistral = ModelProvider::by_name("mistral").unwrap();
    let asked = mistral.dialect.request(&prompt(), &mistral.settings("m"), true).body;
    assert!(asked.get("stream_options").is_none(), "{asked}");
    let anthropic = ModelProvider::by_name("anthropic").unwrap();
    assert_eq!(anthropic.settings("claude-3-5-haiku-latest").schemas, SchemaMode::Tool);
    assert_eq!(anthropic.settings("claude-sonnet-4-5").schemas, SchemaMode::Native);
}
