//! A second reader of recorded answers, which shares no code with the program: it has the whole row at hand, so it can
//! afford to be simple.
use ibid_llm::Dialect;
use serde_json::Value;

/// What stands in a row.
#[derive(Debug, Default)]
pub(super) struct WalkedResponse {
    pub(super) text: String,
    /// The text in pieces put together, where the row has it in pieces and as a whole.
    pub(super) streamed: Option<String>,
    pub(super) reasoning: String,
    /// Names and arguments.
    pub(super) calls: Vec<(String, String)>,
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    /// The provider's word for why the answer ended.
    pub(super) finish: String,
    /// Arguments come in pieces too fine for this reader.
    pub(super) loose: bool,
    pub(super) ended: bool,
    pub(super) error: bool,
    /// The answer was begun a second time.
    pub(super) restarted: bool,
}

/// The JSON values of a body: one, one a line, or one an event.
pub(super) fn values(body: &str) -> Vec<Value> {
    match serde_json::from_str(body.trim()) {
        Ok(Value::Array(all)) => return all,
        Ok(one) => return vec![one],
        Err(_) => {}
    }
    let data = |line: &str| {
        let line = line.strip_prefix("data:").unwrap_or(line).trim().to_owned();
        // A server may have lost the last bracket.
        serde_json::from_str(&line).or_else(|_| serde_json::from_str(&format!("{line}}}"))).ok()
    };
    body.lines().filter_map(data).filter(Value::is_object).collect()
}

/// What the values of an answer in `dialect` say.
pub(super) fn completion(dialect: Dialect, values: &[Value]) -> WalkedResponse {
    let mut seen = match dialect {
        Dialect::OpenAiChat => chat(values),
        Dialect::OpenAiResponses => responses(values),
        Dialect::Anthropic => anthropic(values),
        Dialect::Gemini => gemini(values),
        Dialect::Ollama => ollama(values),
        Dialect::Cohere => cohere(values),
    };
    seen.error |= values.iter().any(|value| {
        let told = |path: &str| value.pointer(path).is_some_and(|pointer| !pointer.is_null());
        let paths =
            ["/error", "/response/error", "/choices/0/error", "/x_groq/error", "/delta/error"];
        paths.iter().any(|path| told(path)) || text(value, "/type") == "error"
    });
    let gave_up = ["error", "ERROR", "TIMEOUT", "insufficient_system_resource"];
    seen.error |= gave_up.contains(&seen.finish.as_str());
    // A line that begins with the tag begins reasoning.
    if matches!(dialect, Dialect::OpenAiChat | Dialect::Ollama)
        && let Some(rest) = seen.text.trim_start().strip_prefix("<think>")
    {
        let (thought, said) = rest.split_once("</think>").unwrap_or((rest, ""));
        seen.reasoning.push_str(thought);
        seen.text = said.to_owned();
    }
    seen
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn all<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn number(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path).and_then(Value::as_u64)
}

/// Arguments as text, whether they were sent as text or as an object.
fn spelt(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn chat(values: &[Value]) -> WalkedResponse {
    let mut seen = WalkedResponse::default();
    let mut calls: Vec<(Value, Value, String, String)> = Vec::new();
    for value in values {
        let object = text(value, "/object");
        let form = if object.ends_with(".chunk") || object.ends_with(".done") {
            "/delta"
        } else {
            "/message"
        };
        for choice in
            all(value, "/choices").iter().filter(|it| number(it, "/index").unwrap_or(0) == 0)
        {
            let said = choice.pointer(form).unwrap_or(choice);
            seen.text.push_str(text(said, "/content"));
            seen.text.push_str(text(choice, "/text"));
            for part in all(said, "/content") {
                seen.text.push_str(text(part, "/text"));
                for thought in all(part, "/thinking") {
                    seen.reasoning.push_str(text(thought, "/text"));
                }
            }
            if said.pointer("/content").is_none_or(Value::is_null) {
                seen.text.push_str(text(said, "/audio/transcript"));
            }
            let reasoning = ["/reasoning_content", "/reasoning"].map(|it| text(said, it));
            let details = all(said, "/reasoning_details").iter();
            match reasoning.iter().find(|it| !it.is_empty()) {
                Some(reasoning) => seen.reasoning.push_str(reasoning),
                None => details.for_each(|detail| {
                    seen.reasoning.push_str(text(detail, "/text"));
                    seen.reasoning.push_str(text(detail, "/summary"));
                }),
            }
            // The older form of a call: one at most.
            if let Some(call) = said.get("function_call").filter(|value| value.is_object()) {
                let more = spelt(call.get("arguments"));
                match calls.first_mut() {
                    Some(known) => known.3.push_str(&more),
                    None => {
                        let name = text(call, "/name").to_owned();
                        calls.push((Value::Null, Value::Null, name, more));
                    }
                }
            }
            for call in all(said, "/tool_calls") {
                let [at, id] = ["index", "id"].map(|it| call.get(it).cloned().unwrap_or_default());
                let body = call.get("function").or(call.get("custom")).unwrap_or(call);
                let more = spelt(body.get("arguments").or(body.get("input")));
                let known = calls.iter_mut().rev().find(|call| {
                    let same_id =
                        id.is_null() || call.1 == id || id == "" || text(body, "/name").is_empty();
                    call.0 == at && same_id && (form == "/delta" || !at.is_null())
                });
                match known {
                    Some(known) => known.3.push_str(&more),
                    None => calls.push((at, id, text(body, "/name").to_owned(), more)),
                }
            }
            let ends = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
            seen.ended |= choice.get("finish_reason").is_some_and(ends);
            seen.finish.push_str(text(choice, "/finish_reason"));
        }
        for usage in [value.pointer("/x_groq/usage"), value.get("usage")].into_iter().flatten() {
            seen.input = number(usage, "/prompt_tokens").or(seen.input);
            let total = number(usage, "/total_tokens");
            let written = number(usage, "/completion_tokens");
            let thought = number(usage, "/completion_tokens_details/reasoning_tokens");
            let apart = total.is_some_and(|total| {
                Some(total) == seen.input.zip(written).zip(thought).map(|((a, b), c)| a + b + c)
            });
            let output =
                if apart { written.zip(thought).map(|pair| pair.0 + pair.1) } else { written };
            seen.output = output.or(seen.output);
        }
    }
    seen.calls = calls.into_iter().map(|call| (call.2, call.3)).collect();
    seen
}

fn responses(values: &[Value]) -> WalkedResponse {
    let mut seen = WalkedResponse::default();
    let begins = |value: &Value| text(value, "/type") == "response.created";
    seen.restarted = values.iter().filter(|value| begins(value)).count() > 1;
    let values = &values[values.iter().rposition(begins).unwrap_or(0)..];
    let is_stream = values.iter().any(|value| text(value, "/type").starts_with("response."));
    let is_end = |value: &&Value| {
        let kind = text(value, "/type");
        ["response.completed", "response.incomplete", "response.failed", "response.done"]
            .contains(&kind)
    };
    let end = values.iter().rev().find(is_end);
    let null = Value::Null;
    let whole = match end {
        Some(end) => end.get("response").unwrap_or(&null),
        None if is_stream => &null,
        None => values.first().unwrap_or(&null),
    };
    seen.ended = !whole.is_null();
    seen.error |=
        ["failed", "cancelled", "queued", "in_progress"].contains(&text(whole, "/status"));
    let done = values.iter().filter(|value| text(value, "/type") == "response.output_item.done");
    let kept: Vec<Value> = done.filter_map(|it| it.get("item").cloned()).collect();
    let told = all(whole, "/output");
    for item in if told.is_empty() { &kept } else { told } {
        match text(item, "/type") {
            "message" => {
                all(item, "/content").iter().for_each(|it| seen.text.push_str(text(it, "/text")))
            }
            "reasoning" => {
                let parts = all(item, "/summary").iter().chain(all(item, "/content"));
                parts.for_each(|part| seen.reasoning.push_str(text(part, "/text")));
            }
            "function_call" | "custom_tool_call" => {
                let sent = item.get("arguments").or(item.get("input"));
                seen.calls.push((text(item, "/name").to_owned(), spelt(sent)));
            }
            _ => {}
        }
    }
    let deltas = values.iter().filter(|value| text(value, "/type") == "response.output_text.delta");
    let streamed: String = deltas.map(|delta| text(delta, "/delta")).collect();
    if seen.text.is_empty() {
        seen.text.clone_from(&streamed);
    }
    seen.streamed = (is_stream && !streamed.is_empty()).then_some(streamed);
    seen.input = number(whole, "/usage/input_tokens");
    seen.output = number(whole, "/usage/output_tokens");
    seen
}

fn anthropic(values: &[Value]) -> WalkedResponse {
    let mut seen = WalkedResponse::default();
    let starts = |value: &Value| text(value, "/type") == "message_start";
    let last = values.iter().rposition(starts).unwrap_or(0);
    seen.restarted = values.iter().filter(|value| starts(value)).count() > 1;
    let mut kinds: Vec<(u64, bool)> = Vec::new();
    let mut usage = serde_json::Map::new();
    for value in &values[last..] {
        let at = number(value, "/index").unwrap_or(0);
        for block in all(value, "/content").iter().chain(value.get("content_block")) {
            seen.text.push_str(text(block, "/text"));
            seen.reasoning.push_str(text(block, "/thinking"));
            let is_call = text(block, "/type") == "tool_use";
            kinds.push((at, is_call));
            if is_call {
                let sent = block
                    .get("input")
                    .filter(|value| value.as_object().is_some_and(|object| !object.is_empty()));
                seen.calls.push((text(block, "/name").to_owned(), spelt(sent)));
            }
        }
        seen.text.push_str(text(value, "/delta/text"));
        seen.reasoning.push_str(text(value, "/delta/thinking"));
        let is_call = kinds.iter().rev().find(|kind| kind.0 == at).is_some_and(|kind| kind.1);
        if is_call && let Some(call) = seen.calls.last_mut() {
            call.1.push_str(text(value, "/delta/partial_json"));
        }
        for path in ["/message/usage", "/usage"] {
            if let Some(Value::Object(now)) = value.pointer(path) {
                usage.extend(
                    now.iter()
                        .filter(|pair| !pair.1.is_null())
                        .map(|(k, v)| (k.clone(), v.clone())),
                );
            }
        }
        seen.ended |= ["message_stop", "message"].contains(&text(value, "/type"));
        seen.finish.push_str(text(value, "/stop_reason"));
        seen.finish.push_str(text(value, "/delta/stop_reason"));
    }
    let of = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cached =
        ["cache_read_input_tokens", "cache_creation_input_tokens"].map(|it| of(it).unwrap_or(0));
    seen.input = of("input_tokens").map(|it| it + cached[0] + cached[1]);
    seen.output = of("output_tokens");
    seen
}

fn gemini(values: &[Value]) -> WalkedResponse {
    let mut seen = WalkedResponse::default();
    // On Vertex a call may come in pieces: its name, then values of one path each.
    let mut pieces: Vec<(String, String)> = Vec::new();
    for value in values {
        let first = |value: &&Value| number(value, "/index").unwrap_or(0) == 0;
        for candidate in all(value, "/candidates").iter().filter(first).take(1) {
            for part in all(candidate, "/content/parts") {
                match part.pointer("/thought").and_then(Value::as_bool) {
                    Some(true) => seen.reasoning.push_str(text(part, "/text")),
                    _ => seen.text.push_str(text(part, "/text")),
                }
                let Some(call) = part.get("functionCall") else {
                    continue;
                };
                if let Some(name) = call.get("name").and_then(Value::as_str) {
                    seen.calls.push((name.to_owned(), spelt(call.get("args"))));
                    pieces.clear();
                }
                for piece in all(call, "/partialArgs") {
                    let path = text(piece, "/jsonPath").trim_start_matches("$.").to_owned();
                    seen.loose |= path.contains(['.', '[']) || piece.get("stringValue").is_none();
                    match pieces.iter_mut().find(|piece| piece.0 == path) {
                        Some(known) => known.1.push_str(text(piece, "/stringValue")),
                        None => pieces.push((path, text(piece, "/stringValue").to_owned())),
                    }
                    let fields =
                        pieces.iter().map(|piece| (piece.0.clone(), Value::from(piece.1.clone())));
                    if let Some(last) = seen.calls.last_mut() {
                        last.1 = Value::Object(fields.collect()).to_string();
                    }
                }
            }
            seen.ended |= !text(candidate, "/finishReason").is_empty();
            seen.finish.push_str(text(candidate, "/finishReason"));
        }
        seen.ended |= !text(value, "/promptFeedback/blockReason").is_empty();
        let of = |name: &str| number(value, &format!("/usageMetadata/{name}"));
        let sum = |a: Option<u64>, b: Option<u64>| a.or(b).map(|_| a.unwrap_or(0) + b.unwrap_or(0));
        let input =
            of("promptTokenCount").map(|it| it + of("toolUsePromptTokenCount").unwrap_or(0));
        seen.input = input.or(seen.input);
        let output = sum(of("candidatesTokenCount"), of("thoughtsTokenCount"));
        seen.output = output.or(seen.output);
    }
    seen
}

fn ollama(values: &[Value]) -> WalkedResponse {
    let mut seen = WalkedResponse::default();
    for value in values {
        seen.text.push_str(text(value, "/message/content"));
        seen.text.push_str(text(value, "/response"));
        seen.reasoning.push_str(text(value, "/message/thinking"));
        seen.reasoning.push_str(text(value, "/thinking"));
        for call in all(value, "/message/tool_calls") {
            let sent = call.pointer("/function/arguments");
            seen.calls.push((text(call, "/function/name").to_owned(), spelt(sent)));
        }
        seen.ended |= value.get("done") == Some(&Value::Bool(true));
        seen.finish.push_str(text(value, "/done_reason"));
        seen.input = number(value, "/prompt_eval_count").or(seen.input);
        seen.output = number(value, "/eval_count").or(seen.output);
    }
    seen
}

fn cohere(values: &[Value]) -> WalkedResponse {
    let mut seen = WalkedResponse::default();
    for value in values {
        let message =
            value.pointer("/delta/message").or(value.get("message")).unwrap_or(&Value::Null);
        seen.reasoning.push_str(text(message, "/tool_plan"));
        // Version 1 has its text beside, and repeats it at the end of a stream.
        if ["", "text-generation"].contains(&text(value, "/event_type")) {
            seen.text.push_str(text(value, "/text"));
        }
        for part in all(message, "/content").iter().chain(message.get("content")) {
            seen.text.push_str(text(part, "/text"));
            seen.reasoning.push_str(text(part, "/thinking"));
        }
        for call in all(message, "/tool_calls").iter().chain(message.get("tool_calls")) {
            let name = text(call, "/function/name");
            let more = spelt(call.pointer("/function/arguments"));
            match seen.calls.last_mut() {
                _ if !name.is_empty() => seen.calls.push((name.to_owned(), more)),
                Some(last) => last.1.push_str(&more),
                None => {}
            }
        }
        let end = value
            .get("delta")
            .filter(|value| value.get("usage").is_some())
            .or(value.get("response"))
            .unwrap_or(value);
        let of = |name: &str| {
            let at = |group: &str| number(end, &format!("/{group}/{name}"));
            ["usage/tokens", "usage/billed_units", "meta/tokens", "meta/billed_units"]
                .iter()
                .find_map(|it| at(it))
        };
        seen.input = of("input_tokens").or(seen.input);
        seen.output = of("output_tokens").or(seen.output);
        seen.ended |= !text(end, "/finish_reason").is_empty();
        seen.finish.push_str(text(end, "/finish_reason"));
    }
    seen
}
