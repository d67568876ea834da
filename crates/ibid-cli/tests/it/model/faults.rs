//! What providers say when they will not answer, sorted by what to do about it.
use std::time::Duration;

use ibid_core::{ErrorKind, FailureReason};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;

fn fault(status: u16, body: &str) -> ServiceError {
    ServiceError::from_response(status, &ResponseHeaders::default(), body.as_bytes())
}

#[test]
fn keys_credit_and_names_are_for_the_operator() {
    for (status, body) in [
        (401, r#"{"detail":"Unauthorized"}"#),
        (401, "<html><h1>Authorization Required</h1></html>"),
        (403, r#"{"error":{"code":403,"status":"PERMISSION_DENIED","message":"no"}}"#),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
        ),
        (400, r#"{"code":"invalid-argument","error":"Incorrect API key provided."}"#),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
        ),
        (404, r#"{"error":"model 'x' not found"}"#),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#),
        (400, r#"{"error":{"message":"x is not a valid model ID","code":400}}"#),
        (
            400,
            r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","code":"1500"}"#,
        ),
        (404, r#"{"error":{"message":"No endpoints found for x","code":404}}"#),
        (501, r#"{"error":{"code":501,"message":"not built in","type":"not_supported_error"}}"#),
        (200, r#"{"error":{"message":"no quota","type":"insufficient_quota"}}"#),
    ] {
        assert_eq!(fault(status, body).kind, ErrorKind::Setup, "{status} {body}");
    }
}

#[test]
fn limits_and_outages_pass() {
    for (status, body) in [
        (429, r#"{"message":"Requests rate limit exceeded"}"#),
        (
            429,
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, see billing"}}"#,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached. Upgrade at https://x.example/billing","code":"rate_limit_exceeded"}}"#,
        ),
        (500, "Internal Server Error"),
        (502, "<html>bad gateway: context length</html>"),
        (503, r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}"#),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        (408, ""),
        (498, r#"{"error":{"message":"capacity exceeded"}}"#),
    ] {
        assert_eq!(fault(status, body).kind, ErrorKind::Transient, "{status} {body}");
    }
}

#[test]
fn a_prompt_too_long_can_be_told_from_other_refusals() {
    for (status, body) in [
        (400, r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#,
        ),
        (
            400,
            r#"{"error":{"type":"exceed_context_size_error","message":"request (9 tokens) exceeds the available context size"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 8 tokens.","type":"BadRequestError","code":400}"#,
        ),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"too large"}}"#),
    ] {
        let fault = fault(status, body);
        assert_eq!(fault.kind, ErrorKind::Malformed, "{body}");
        assert!(matches!(fault.reason, Some(FailureReason::PromptTooLong { .. })), "{body}");
    }
    let other = fault(422, r#"{"detail":[{"loc":["body","top_p"],"msg":"too large","type":"x"}]}"#);
    assert_eq!(other.kind, ErrorKind::Malformed);
    assert_eq!(other.reason, None);
    assert_eq!(other.message, "body.top_p: too large");
    let quoting = r#"{"object":"error","message":"{\"detail\":[{\"loc\":[\"body\",\"seed\"],\"msg\":\"no\",\"input\":\"zanzibar\"}]}"}"#;
    assert_eq!(fault(422, quoting).message, "body.seed: no");
    let filtered = fault(
        400,
        r#"{"error":{"code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
    );
    assert_eq!(filtered.reason, Some(FailureReason::Declined));
    assert_eq!(filtered.kind, ErrorKind::Malformed);
}

#[test]
fn how_long_to_wait_is_read_from_headers_bodies_and_words() {
    let asked = |headers: &[(&str, &str)], body: &str| {
        let headers = headers.iter().map(|it| (it.0.to_owned(), it.1.to_owned()));
        ServiceError::from_response(429, &ResponseHeaders(headers.collect()), body.as_bytes())
            .retry_after
    };
    let seconds = |it| Some(Duration::from_secs_f64(it));
    assert_eq!(asked(&[("Retry-After", "7")], ""), seconds(7.0));
    assert_eq!(asked(&[("retry-after", "9"), ("retry-after-ms", "1500")], ""), seconds(1.5));
    let dates = [
        ("date", "Wed, 21 Oct 2026 07:28:00 GMT"),
        ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"),
    ];
    assert_eq!(asked(&dates, ""), seconds(30.0));
    let google = r#"{"error":{"code":429,"details":[{"retryDelay":"34.5s"}]}}"#;
    assert_eq!(asked(&[], google), seconds(34.5));
    assert_eq!(
        asked(&[], r#"{"error":{"message":"Please try again in 1m2.5s. Thanks"}}"#),
        seconds(62.5)
    );
    assert_eq!(asked(&[], r#"{"error":{"message":"Please try again in 20ms."}}"#), seconds(0.02));
    assert_eq!(asked(&[], r#"{"message":"try again in 2 minutes"}"#), seconds(120.0));
    assert_eq!(asked(&[("retry-after", "soon")], "try again in a while"), None);
    assert_eq!(asked(&[("retry-after", "-3")], ""), None);
}

#[test]
fn a_long_message_is_cut() {
    let fault = fault(400, &format!("{{\"error\":\"{}\"}}", "é".repeat(5000)));
    assert_eq!(fault.message.chars().count(), 301);
    assert!(fault.to_string().starts_with("status 400: é"), "{fault}");
}

/// Each of these is what a provider answers where it does not accept a parameter.
#[test]
fn a_refused_parameter_is_named() {
    for (status, body, parameter) in [
        (
            400,
            r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#,
            "temperature",
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            "max_tokens",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated for this model."}}"#,
            "temperature",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"output_config: Extra inputs are not permitted"}}"#,
            "output_config",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"Unable to submit request because thinking_budget is not supported by this model.","status":"INVALID_ARGUMENT"}}"#,
            "thinking_budget",
        ),
        (400, r#"{"error":"\"qwen2.5:1.5b\" does not support thinking"}"#, "thinking"),
    ] {
        let fault = fault(status, body);
        assert_eq!(fault.kind, ErrorKind::Malformed, "{body}");
        assert_eq!(fault.reason, Some(FailureReason::RefusedParameter(parameter.into())), "{body}");
    }
    // What is wrong with a value is not a refusal of the parameter.
    let other = fault(400, r#"{"error":{"message":"temperature must be between 0 and 2"}}"#);
    assert_eq!(other.reason, None);
}

#[test]
fn the_window_is_read_from_the_words_that_name_it() {
    for (body, window) in [
        (
            r#"{"error":{"message":"This model's maximum context length is 8,192 tokens. However, your messages resulted in 9000 tokens."}}"#,
            Some(8192),
        ),
        (
            r#"{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}"#,
            Some(1_048_576),
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            Some(200_000),
        ),
        (r#"{"error":{"message":"prompt is too long"}}"#, None),
    ] {
        let fault = fault(400, body);
        assert_eq!(fault.reason, Some(FailureReason::PromptTooLong { window }), "{body}");
    }
}

#[test]
fn what_the_operator_must_do_is_told_apart() {
    for (status, body, reason) in [
        (401, r#"{"error":{"message":"Incorrect API key provided"}}"#, FailureReason::Key),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            FailureReason::Quota,
        ),
        (429, r#"{"error":{"message":"Rate limit reached"}}"#, FailureReason::Overloaded),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            FailureReason::Overloaded,
        ),
    ] {
        assert_eq!(fault(status, body).reason, Some(reason), "{body}");
    }
}
