//! Streams: however they are cut they say the same, and one without its end is no answer.
use ibid_core::ErrorKind;
use ibid_core::ports::{Completion, FinishReason};
use ibid_llm::Dialect;
use ibid_net::service_error::ServiceError;
use proptest::prelude::*;

use super::samples::{TEXT, all};

/// The answer that `pieces` give, and the text told on the way.
fn fed<'a>(
    dialect: Dialect,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<Completion, ServiceError>, String) {
    let mut stream = dialect.stream(None);
    let mut told = String::new();
    for piece in pieces {
        match stream.feed(piece) {
            Ok(fresh) => told.push_str(&fresh),
            Err(fault) => return (Err(fault), told),
        }
    }
    (stream.finish(), told)
}

fn whole(dialect: Dialect, text: &str) -> Result<Completion, ServiceError> {
    fed(dialect, [text.as_bytes()]).0
}

#[test]
fn every_dialect_streams_text_reasoning_and_counts() {
    for sample in all() {
        let (answer, told) = fed(sample.dialect, [sample.stream.as_bytes()]);
        let answer = answer.unwrap_or_else(|it| panic!("{:?}: {it}", sample.dialect));
        assert_eq!(answer.text, TEXT, "{:?}", sample.dialect);
        assert_eq!(told, TEXT, "{:?}", sample.dialect);
        assert_eq!(answer.reasoning.as_deref(), Some("hm"), "{:?}", sample.dialect);
        assert_eq!(answer.finish, FinishReason::Stop);
        assert_eq!((answer.tokens.input, answer.tokens.output), (Some(7), Some(9)));
    }
}

#[test]
fn a_stream_cut_before_its_end_is_a_transient_error() {
    for sample in all() {
        let fault = whole(sample.dialect, &sample.cut).unwrap_err();
        assert_eq!(fault.kind, ErrorKind::Transient, "{:?}", sample.dialect);
        assert!(fault.message.contains("cut off"), "{fault}");
    }
}

#[test]
fn an_error_inside_a_stream_is_an_error_with_its_own_kind() {
    let cases = [
        (
            Dialect::OpenAiChat,
            r#"data: {"error":{"code":502,"message":"Upstream is gone"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
            ErrorKind::Transient,
        ),
        (
            Dialect::OpenAiChat,
            r#"data: {"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ErrorKind::Transient,
        ),
        (
            Dialect::OpenAiChat,
            r#"error: {"code":500,"message":"slot gone","type":"server_error"}"#,
            ErrorKind::Transient,
        ),
        (
            Dialect::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
            ErrorKind::Transient,
        ),
        (
            Dialect::Anthropic,
            r#"data: {"type":"error","error":{"type":"invalid_request_error","message":"messages: too odd"}}"#,
            ErrorKind::Malformed,
        ),
        (
            Dialect::OpenAiResponses,
            r#"data: {"type":"error","code":"server_error","message":"oops","param":null}"#,
            ErrorKind::Transient,
        ),
        (
            Dialect::OpenAiResponses,
            r#"data: {"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}"#,
            ErrorKind::Transient,
        ),
        (
            Dialect::Gemini,
            r#"[{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}]"#,
            ErrorKind::Transient,
        ),
        (
            Dialect::Ollama,
            r#"{"error":"an error was encountered while running the model"}"#,
            ErrorKind::Transient,
        ),
        (
            Dialect::Cohere,
            r#"data: {"type":"message-end","delta":{"finish_reason":"ERROR","usage":{}}}"#,
            ErrorKind::Transient,
        ),
    ];
    for (dialect, event, kind) in cases {
        let fault = whole(dialect, &format!("{event}\n\n")).unwrap_err();
        assert_eq!(fault.kind, kind, "{dialect:?} {event}: {fault}");
        assert!(!fault.message.contains("cut off"), "{fault}");
    }
}

#[test]
fn tool_calls_are_assembled_from_their_pieces() {
    let chat = concat!(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"find\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"q\\\":\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"find\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    );
    let claude = concat!(
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"x\\\":0}\"}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"find\",\"input\":{}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"q\\\":\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"find\",\"input\":{}}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let cohere = concat!(
        "data: {\"type\":\"tool-call-start\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"a\",\"function\":{\"name\":\"find\",\"arguments\":\"\"}}}}}\n\n",
        "data: {\"type\":\"tool-call-delta\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{\"function\":{\"arguments\":\"{\\\"q\\\":1}\"}}}}}\n\n",
        "data: {\"type\":\"tool-call-start\",\"index\":1,\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"b\",\"function\":{\"name\":\"find\",\"arguments\":\"{}\"}}}}}\n\n",
        "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"TOOL_CALL\"}}\n\n",
    );
    let vertex = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"find\",\"willContinue\":true}}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"partialArgs\":[{\"jsonPath\":\"$.q\",\"numberValue\":1}],\"willContinue\":true}}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{}}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"find\",\"args\":{}}}]},\"finishReason\":\"STOP\"}]}\n\n",
    );
    for (dialect, stream) in [
        (Dialect::OpenAiChat, chat),
        (Dialect::Anthropic, claude),
        (Dialect::Cohere, cohere),
        (Dialect::Gemini, vertex),
    ] {
        let answer = whole(dialect, stream).unwrap();
        let calls: Vec<_> =
            answer.tool_calls.iter().map(|it| format!("{}{}", it.name, it.arguments)).collect();
        assert_eq!(calls, ["find{\"q\":1}", "find{}"], "{dialect:?}");
        assert_eq!(answer.finish, FinishReason::Tool, "{dialect:?}");
    }
}

#[test]
fn a_message_begun_anew_replaces_what_came_before() {
    let stream = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Half a\"}}\n\n",
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":4}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"All of it\"}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    let answer = whole(Dialect::Anthropic, stream).unwrap();
    assert_eq!(answer.text, "All of it");
    assert_eq!(answer.tokens.input, Some(4));
}

#[test]
fn lost_brackets_and_lost_blank_lines_are_put_up_with() {
    let lost =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]\n\n";
    assert_eq!(whole(Dialect::OpenAiChat, lost).unwrap().text, "a");
    let glued = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n",
        "data: [DONE]",
    );
    assert_eq!(whole(Dialect::OpenAiChat, glued).unwrap().text, "ab");
    let rubbish = "data: <p>no</p>\n\n";
    assert_eq!(whole(Dialect::OpenAiChat, rubbish).unwrap_err().kind, ErrorKind::Malformed);
}

#[test]
fn only_a_tag_that_begins_a_line_opens_reasoning() {
    let said = |text: &str| {
        let body = serde_json::json!({"message": {"content": text}, "done": true}).to_string();
        let answer = whole(Dialect::Ollama, &body).unwrap();
        (answer.text, answer.reasoning.unwrap_or_default())
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(said("<think>why</think>\n\nSo."), pair("So.", "why"));
    assert_eq!(said("So <think>is</think> a tag"), pair("So <think>is</think> a tag", ""));
    assert_eq!(said("{\"a\":\"<think>\"}"), pair("{\"a\":\"<think>\"}", ""));
    assert_eq!(said("<think>never done"), pair("", "never done"));
    assert_eq!(said("A\n<think>b</think>C"), pair("A\nC", "b"));
    assert_eq!(said("a < b"), pair("a < b", ""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_cut_of_a_stream_gives_the_same_answer(
        nth in 0_usize..6,
        mut cuts in proptest::collection::vec(0_usize..2000, 0..40),
    ) {
        let sample = &all()[nth];
        let bytes = sample.stream.as_bytes();
        cuts.extend([0, bytes.len()]);
        cuts.iter_mut().for_each(|it| *it = (*it).min(bytes.len()));
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|it| &bytes[it[0]..it[1]]);
        let (answer, told) = fed(sample.dialect, pieces);
        prop_assert_eq!(told.as_str(), TEXT);
        prop_assert_eq!(answer, whole(sample.dialect, &sample.stream));
    }

    #[test]
    fn any_bytes_give_an_answer_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300), nth in 0_usize..6) {
        let dialect = all()[nth].dialect;
        let _any = fed(dialect, [bytes.as_slice()]);
        let _any = dialect.parse(200, &Default::default(), &bytes, None);
        let _any = dialect.parse(429, &Default::default(), &bytes, None);
    }

    #[test]
    fn a_damaged_stream_gives_an_answer_or_an_error(nth in 0_usize..6, at in 0_usize..2000, byte in any::<u8>()) {
        let sample = &all()[nth];
        let mut bytes = sample.stream.clone().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let one = fed(sample.dialect, [bytes.as_slice()]).0;
        prop_assert_eq!(one, fed(sample.dialect, bytes.chunks(3)).0);
    }
}
