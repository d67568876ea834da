//! Answers that come as a whole, with what providers add to them.
use ibid_core::ErrorKind;
use ibid_core::ports::{Completion, FinishReason};
use ibid_llm::Dialect;
use ibid_llm::embeddings::{Embeddings, parse_scores};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;
use serde_json::{Value, json};

fn parse(dialect: Dialect, body: &Value) -> Result<Completion, ServiceError> {
    dialect.parse(200, &ResponseHeaders::default(), body.to_string().as_bytes(), None)
}

fn chat(message: Value, finish: &str, usage: Value) -> Completion {
    let body = json!({"object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage});
    parse(Dialect::OpenAiChat, &body).unwrap()
}

#[test]
fn content_may_be_null_text_or_a_list_of_parts() {
    let call =
        json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]);
    let nothing = chat(json!({"content": null, "tool_calls": call}), "tool_calls", json!(null));
    assert_eq!((nothing.text.as_str(), nothing.finish), ("", FinishReason::Tool));
    assert_eq!(nothing.tool_calls[0].arguments, "{\"a\":1}");
    let parts = chat(
        json!({"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "Yes"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "."}]}),
        "stop",
        json!({}),
    );
    assert_eq!((parts.text.as_str(), parts.reasoning.as_deref()), ("Yes.", Some("hm")));
    let spoken =
        chat(json!({"content": null, "audio": {"transcript": "Hello"}}), "stop", json!({}));
    assert_eq!(spoken.text, "Hello");
}

#[test]
fn a_refusal_and_a_filter_are_told_apart_from_an_answer() {
    let refused = chat(json!({"content": null, "refusal": "I cannot."}), "stop", json!({}));
    assert_eq!(refused.refusal.as_deref(), Some("I cannot."));
    assert_eq!(
        chat(json!({"content": ""}), "content_filter", json!({})).finish,
        FinishReason::Filter
    );
    let blocked =
        parse(Dialect::Gemini, &json!({"promptFeedback": {"blockReason": "SAFETY"}})).unwrap();
    assert_eq!(
        (blocked.finish, blocked.refusal.as_deref()),
        (FinishReason::Filter, Some("SAFETY"))
    );
    let declined = json!({"type": "message", "content": [], "stop_reason": "refusal", "stop_details": {"explanation": "no"}});
    let declined = parse(Dialect::Anthropic, &declined).unwrap();
    assert_eq!((declined.finish, declined.refusal.as_deref()), (FinishReason::Filter, Some("no")));
    let responses = json!({"object": "response", "status": "completed",
        "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]});
    let responses = parse(Dialect::OpenAiResponses, &responses).unwrap();
    assert_eq!(
        (responses.finish, responses.refusal.as_deref()),
        (FinishReason::Filter, Some("no"))
    );
}

#[test]
fn money_is_read_in_each_providers_unit() {
    let cost = |usage| chat(json!({"content": "x"}), "stop", usage).cost_usd;
    assert_eq!(cost(json!({"cost": 0.25})), Some(0.25));
    let own_key =
        json!({"cost": 0.5, "is_byok": true, "cost_details": {"upstream_inference_cost": 1.0}});
    assert_eq!(cost(own_key), Some(1.5));
    assert_eq!(cost(json!({"cost": {"total_cost": 0.125}})), Some(0.125));
    assert_eq!(cost(json!({"cost_in_usd_ticks": 5_000_000_000_u64})), Some(0.5));
    assert_eq!(cost(json!({"prompt_tokens": 1})), None);
}

#[test]
fn tokens_mean_the_same_for_every_provider() {
    let apart = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 17,
        "completion_tokens_details": {"reasoning_tokens": 5}});
    let within = json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
        "completion_tokens_details": {"reasoning_tokens": 5}});
    for usage in [apart, within] {
        let tokens = chat(json!({"content": "x"}), "stop", usage).tokens;
        assert_eq!(
            (tokens.input, tokens.output, tokens.reasoning_output),
            (Some(10), Some(7), Some(5))
        );
    }
    let claude = json!({"type": "message", "content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1,
        "cache_read_input_tokens": 2, "cache_creation_input_tokens": 4, "output_tokens": 8}});
    let tokens = parse(Dialect::Anthropic, &claude).unwrap().tokens;
    assert_eq!(
        (tokens.input, tokens.cached_input, tokens.cache_write),
        (Some(7), Some(2), Some(4))
    );
    let gemini = json!({"candidates": [{"finishReason": "MAX_TOKENS"}], "usageMetadata": {"promptTokenCount": 3,
        "toolUsePromptTokenCount": 4, "thoughtsTokenCount": 5}});
    let gemini = parse(Dialect::Gemini, &gemini).unwrap();
    assert_eq!((gemini.tokens.input, gemini.tokens.output), (Some(7), Some(5)));
    assert_eq!(gemini.finish, FinishReason::Length);
}

#[test]
fn sources_that_an_answer_names_are_kept_once() {
    let body = json!({"object": "chat.completion", "choices": [{"message": {"content": "x",
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://a.example/"}}]}, "finish_reason": "stop"}],
        "citations": ["https://a.example/", "https://b.example/"], "search_results": [{"url": "https://b.example/"}]});
    let urls = parse(Dialect::OpenAiChat, &body).unwrap().citations;
    assert_eq!(urls, ["https://a.example/", "https://b.example/"]);
    let gemini = json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP",
        "groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://c.example/"}}]}}]});
    assert_eq!(parse(Dialect::Gemini, &gemini).unwrap().citations, ["https://c.example/"]);
}

#[test]
fn a_response_that_is_not_done_is_no_completion() {
    let with = |status: &str, more: Value| {
        let mut body = json!({"object": "response", "status": status, "output": []});
        for (name, value) in more.as_object().unwrap() {
            body[name.as_str()] = value.clone();
        }
        parse(Dialect::OpenAiResponses, &body)
    };
    let short = with("incomplete", json!({"incomplete_details": {"reason": "max_output_tokens"}}));
    assert_eq!(short.unwrap().finish, FinishReason::Length);
    let filtered = with("incomplete", json!({"incomplete_details": {"reason": "content_filter"}}));
    assert_eq!(filtered.unwrap().finish, FinishReason::Filter);
    assert_eq!(with("queued", json!({})).unwrap_err().kind, ErrorKind::Transient);
    let failed = with("failed", json!({"error": {"code": "server_error", "message": "oops"}}));
    assert_eq!(failed.unwrap_err().kind, ErrorKind::Transient);
}

#[test]
fn an_answer_through_a_tool_becomes_the_text() {
    let body = json!({"type": "message", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "t", "name": "plan", "input": {"queries": []}}]});
    let body = body.to_string();
    let headers = ResponseHeaders::default();
    let answer = Dialect::Anthropic.parse(200, &headers, body.as_bytes(), Some("plan")).unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("{\"queries\":[]}", FinishReason::Stop));
    assert!(answer.tool_calls.is_empty());
}

#[test]
fn an_answer_of_another_form_is_malformed() {
    for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini, Dialect::Ollama] {
        for body in
            ["", "{}", "[]", "null", "<html>busy</html>", "{\"choices\":[]}", "{\"choices\":{}}"]
        {
            let fault =
                dialect.parse(200, &ResponseHeaders::default(), body.as_bytes(), None).unwrap_err();
            assert_eq!(fault.kind, ErrorKind::Malformed, "{dialect:?} {body}");
        }
    }
}

#[test]
fn embeddings_and_scores_are_read_in_their_forms() {
    let none = ResponseHeaders::default();
    let vectors = |body: Value| {
        Embeddings::parse(200, &none, body.to_string().as_bytes()).map(|it| it.vectors)
    };
    let wanted = vec![vec![0.5, -1.0], vec![2.0, 0.0]];
    let disordered = json!({"data": [{"index": 1, "embedding": [2.0, 0.0]}, {"index": 0, "embedding": [0.5, -1.0]}]});
    assert_eq!(vectors(disordered).unwrap(), wanted);
    let coded = json!({"data": [{"embedding": "AAAAPwAAgL8="}, {"embedding": "AAAAQAAAAAA="}]});
    assert_eq!(vectors(coded).unwrap(), wanted);
    assert_eq!(vectors(json!({"embeddings": [[0.5, -1.0], [2.0, 0.0]]})).unwrap(), wanted);
    assert_eq!(
        vectors(json!({"embeddings": {"float": [[0.5, -1.0], [2.0, 0.0]]}})).unwrap(),
        wanted
    );
    assert_eq!(vectors(json!({"embedding": {"values": [0.5, -1.0]}})).unwrap(), wanted[..1]);
    for bad in [
        json!({}),
        json!({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}),
        json!({"data": [{"embedding": "?"}]}),
    ] {
        assert_eq!(vectors(bad).unwrap_err().kind, ErrorKind::Malformed);
    }
    let ranked =
        br#"{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}]}"#;
    assert_eq!(parse_scores(200, &none, ranked).unwrap()[0].0, 1);
}
