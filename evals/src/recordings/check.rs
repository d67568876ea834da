//! What the program read beside what stands in the row.
use ibid_core::ports::{Completion, FinishReason};
use ibid_core::{ErrorKind, FailureReason};
use ibid_net::service_error::ServiceError;
use serde_json::Value;

use super::walk::WalkedResponse;

/// Whether a fault is of the kind that its status and words ask for.
pub(super) fn fault(status: u16, values: &[Value], fault: &ServiceError) -> Result<(), String> {
    let all = values.iter().map(Value::to_string).collect::<String>().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
    // Where the status says nothing, the number in the message does.
    let number = values.iter().find_map(|value| value.pointer("/error/code")?.as_u64());
    let status = match status {
        200..300 => number.and_then(|number| u16::try_from(number).ok()).unwrap_or(0),
        _ => status,
    };
    let too_long = has(&[
        "context length",
        "context_length",
        "context size",
        "input token count",
        "prompt is too long",
    ]);
    let key = has(&["api key", "api_key", "x-api-key", "unauthorized"]);
    let quota = has(&["insufficient_quota", "credit balance", "insufficient balance"]);
    let model = has(&[
        "model_not_found",
        "is not a valid model",
        "invalid model",
        "decommissioned",
        "unknown model",
        "model_not_supported",
        "model not exist",
        "no endpoints found",
    ]);
    // These words may also be about something else that the request names.
    let perhaps_model = has(&["model"]) && has(&["does not exist", "not found"]);
    let too_large = has(&["request too large"]);
    let moderated = has(&["moderation", "flagged"]);
    let google_wait = has(&["retryinfo", "resource_exhausted"]);
    let expected: &[ErrorKind] = match status {
        429 if too_large => &[ErrorKind::Malformed],
        403 if moderated => &[ErrorKind::Malformed],
        429 if quota && !google_wait => &[ErrorKind::Setup],
        501 => &[ErrorKind::Setup, ErrorKind::Transient],
        408 | 409 | 423 | 425 | 429 | 498 | 500.. => &[ErrorKind::Transient],
        401..=405 | 407 | 410 => &[ErrorKind::Setup],
        _ if too_long => &[ErrorKind::Malformed],
        _ if quota || key || model => &[ErrorKind::Setup],
        400..500 if perhaps_model => &[ErrorKind::Setup, ErrorKind::Malformed],
        400..500 => &[ErrorKind::Malformed],
        _ => &[ErrorKind::Malformed, ErrorKind::Transient, ErrorKind::Setup],
    };
    if !expected.contains(&fault.kind) {
        return Err(format!("{:?} instead of {expected:?}: {fault}", fault.kind));
    }
    let is_too_long = matches!(fault.reason, Some(FailureReason::PromptTooLong { .. }));
    if too_long && !is_too_long && status < 429 {
        return Err(format!("does not tell that the prompt is too long: {fault}"));
    }
    if fault.message.chars().count() > 301 {
        return Err("the message was not cut".to_owned());
    }
    Ok(())
}

/// Whether a completion says what the row says.
pub(super) fn completion(found: &Completion, seen: &WalkedResponse) -> Result<(), String> {
    if found.text.trim() != seen.text.trim() {
        return Err(format!("text: {:?} instead of {:?}", short(&found.text), short(&seen.text)));
    }
    if let Some(streamed) = &seen.streamed
        && streamed != &found.text
    {
        return Err("the pieces of the text are not its whole".to_owned());
    }
    // How paragraphs of reasoning are parted is a matter of taste.
    let words = |text: &str| text.split_whitespace().collect::<String>();
    let reasoning = found.reasoning.as_deref().unwrap_or_default();
    if words(reasoning) != words(&seen.reasoning) {
        return Err(format!(
            "reasoning: {:?} instead of {:?}",
            short(reasoning),
            short(&seen.reasoning)
        ));
    }
    let calls: Vec<(String, Value)> = found
        .tool_calls
        .iter()
        .map(|tool_call| (tool_call.name.clone(), plain(&tool_call.arguments)))
        .collect();
    if seen.loose {
        let names =
            |it: &[(String, Value)]| it.iter().map(|pair| pair.0.clone()).collect::<Vec<_>>();
        let expected: Vec<String> = seen.calls.iter().map(|call| call.0.clone()).collect();
        return if names(&calls) == expected {
            Ok(())
        } else {
            Err("tools of other names".to_owned())
        };
    }
    let expected: Vec<(String, Value)> =
        seen.calls.iter().map(|call| (call.0.clone(), plain(&call.1))).collect();
    if calls != expected {
        return Err(format!("tool calls: {calls:?} instead of {expected:?}"));
    }
    let lower = seen.finish.to_lowercase();
    let expected = match lower.as_str() {
        "length" | "max_tokens" | "model_length" => Some(FinishReason::Length),
        "content_filter" | "refusal" | "safety" | "recitation" => Some(FinishReason::Filter),
        "tool_calls" | "tool_use" | "tool_call" | "function_call" => Some(FinishReason::Tool),
        "end_turn" | "stop_sequence" => Some(FinishReason::Stop),
        "stop" if seen.calls.is_empty() => Some(FinishReason::Stop),
        _ => None,
    };
    if expected.as_ref().is_some_and(|expected| *expected != found.finish) {
        return Err(format!("ended with {:?} instead of {lower}", found.finish));
    }
    let tokens = (found.tokens.input, found.tokens.output);
    if tokens != (seen.input, seen.output) {
        return Err(format!("tokens: {tokens:?} instead of {:?}", (seen.input, seen.output)));
    }
    Ok(())
}

/// Arguments as JSON; none are an empty object.
fn plain(arguments: &str) -> Value {
    match arguments.trim() {
        "" => Value::Object(serde_json::Map::new()),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
