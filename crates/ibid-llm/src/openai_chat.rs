//! OpenAI's Chat Completions, which most providers support: OpenRouter, Groq, DeepSeek, Mistral, xAI, Perplexity,
//! Together, Fireworks, vLLM, llama.cpp, LM Studio, Azure, Ollama under `/v1`.
//!
//! Their extensions are supported: `reasoning_content` or `reasoning`, `x_groq.usage`, lists of content parts with
//! `thinking` (Mistral), `citations` and `search_results` (Perplexity), `usage.cost` (OpenRouter),
//! `cost_in_usd_ticks` (xAI), `executed_tools` (Groq).
use serde_json::{Value, json};

use super::builder::{CompletionBuilder, arguments_text, count_value, text_field};
use super::capabilities::SchemaMode;
use super::dialect_reader::{DialectReader, reported_error};
use super::request::{LimitField, ModelRequest, ModelSettings, is_strict, messages_with_system};
use ibid_core::ports::{FinishReason, Prompt, TokenUsage};
use ibid_net::json::list_field;
use ibid_net::service_error::ServiceError;

/// Builds the request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> ModelRequest {
    let messages = messages_with_system(prompt, settings);
    let mut body = json!({"model": settings.model, "messages": messages});
    if let Some(most) = settings.max_tokens(prompt) {
        let field = match settings.limit {
            LimitField::MaxTokens => "max_tokens",
            LimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        body[field] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        body["temperature"] = temperature;
    }
    if !settings.stop(prompt).is_empty() {
        body["stop"] = json!(prompt.stop);
    }
    if let Some(effort) = settings.effort(prompt) {
        body["reasoning_effort"] = effort.into();
    }
    if let Some(on) = settings.toggle(prompt) {
        // How vLLM, llama.cpp and those built on them switch reasoning; each chat template has one of the names.
        body["chat_template_kwargs"] = json!({"enable_thinking": on, "thinking": on});
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), SchemaMode::Native) => {
            body["response_format"] = json!({"type": "json_schema", "json_schema": {
                "name": schema.name, "strict": is_strict(&schema.json), "schema": schema.json,
            }});
        }
        (Some(_), SchemaMode::JsonMode) => body["response_format"] = json!({"type": "json_object"}),
        (Some(schema), SchemaMode::Tool) => {
            body["tools"] = json!([{"type": "function", "function": {
                "name": schema.name, "parameters": schema.json,
            }}]);
            body["tool_choice"] = json!({"type": "function", "function": {"name": schema.name}});
        }
        _ => {}
    }
    if stream {
        body["stream"] = true.into();
        if settings.ask_usage {
            body["stream_options"] = json!({"include_usage": true});
        }
    }
    ModelRequest::new("/chat/completions", body)
}

/// Parses responses and streams, also of the older `/completions`.
#[derive(Debug, Default)]
pub(super) struct OpenAiChat {
    choice: bool,
    ended: bool,
}

impl DialectReader for OpenAiChat {
    fn read_json(
        &mut self,
        event: &str,
        value: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        if event == "error" || text_field(value, "object") == "error" {
            return Err(reported_error(value));
        }
        if let Some(groq) = value.get("x_groq")
            && groq.get("error").is_some_and(|error| !error.is_null())
        {
            return Err(reported_error(groq));
        }
        if let Some(model) = value.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let first = |value: &&Value| count_value(value.get("index")).unwrap_or(0) == 0;
        if let Some(choice) = list_field(value, "choices").iter().find(first) {
            self.choice(choice, whole(value), draft)?;
        }
        let usages =
            [value.pointer("/x_groq/usage"), value.pointer("/choices/0/usage"), value.get("usage")];
        for usage in usages.into_iter().flatten().filter(|usage| usage.is_object()) {
            tokens(usage, draft);
        }
        for url in list_field(value, "citations") {
            draft.push_citation(Some(url.get("url").unwrap_or(url)));
        }
        for result in list_field(value, "search_results") {
            draft.push_citation(result.get("url"));
        }
        Ok(())
    }

    fn read_done(&mut self) {
        self.ended = self.choice;
    }

    fn is_ended(&self) -> bool {
        self.ended
    }

    fn finish(&mut self, draft: &mut CompletionBuilder) {
        // A refusal without an answer ends with `stop`, too.
        if draft.finish == Some(FinishReason::Stop) && draft.is_only_refusal() {
            draft.finish = Some(FinishReason::Filter);
        }
    }
}

/// Whether `value` is a complete response and not a piece of a stream. Perplexity sends both at once.
fn whole(value: &Value) -> bool {
    let object = text_field(value, "object");
    !object.ends_with(".chunk") && !object.ends_with(".done")
}

impl OpenAiChat {
    fn choice(
        &mut self,
        choice: &Value,
        whole: bool,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        if choice.get("error").is_some_and(|value| !value.is_null()) {
            return Err(reported_error(choice));
        }
        self.choice = true;
        let [message, delta] =
            ["message", "delta"].map(|it| choice.get(it).filter(|value| value.is_object()));
        let content = if whole { message.or(delta) } else { delta.or(message) };
        match content {
            Some(content) => piece(content, draft),
            None => draft.push_text(text_field(choice, "text")),
        }
        let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) else {
            // Some servers send a complete answer without a finish reason.
            self.ended |= whole && message.is_some();
            return Ok(());
        };
        if reason.is_empty() {
            return Ok(());
        }
        // OpenRouter ends an answer that its provider aborted with `stop`.
        let native = text_field(choice, "native_finish_reason");
        if matches!(native, "error" | "network_error") && draft.is_empty() {
            return Err(ServiceError::transient(format!(
                "the provider aborted the answer: {native}"
            )));
        }
        self.ended = true;
        draft.finish = Some(match reason.to_ascii_lowercase().as_str() {
            "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "completed" => {
                FinishReason::Stop
            }
            "length" | "max_tokens" | "model_length" | "max_output_tokens" => FinishReason::Length,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" => FinishReason::Tool,
            "content_filter" | "safety" | "refusal" | "sensitive" => FinishReason::Filter,
            "error" | "insufficient_system_resource" | "network_error" => {
                return Err(ServiceError::transient(format!(
                    "the provider aborted the answer: {reason}"
                )));
            }
            _ => FinishReason::Other(reason.to_owned()),
        });
        Ok(())
    }
}

/// Reads a message or a piece of one.
fn piece(delta: &Value, draft: &mut CompletionBuilder) {
    let reasoning = ["reasoning_content", "reasoning", "thinking"]
        .iter()
        .find_map(|it| delta.get(*it)?.as_str().filter(|text| !text.is_empty()));
    match reasoning {
        Some(reasoning) => draft.push_reasoning(reasoning),
        None => {
            for detail in list_field(delta, "reasoning_details") {
                draft.push_reasoning(text_field(detail, "text"));
                draft.push_reasoning(text_field(detail, "summary"));
            }
        }
    }
    match delta.get("content") {
        Some(Value::String(words)) => draft.push_text(words),
        Some(Value::Array(parts)) => parts.iter().for_each(|item| part(item, draft)),
        Some(one @ Value::Object(_)) => part(one, draft),
        // An audio answer has its transcript next to the audio.
        _ => draft
            .push_text(delta.pointer("/audio/transcript").and_then(Value::as_str).unwrap_or("")),
    }
    draft.push_refusal(text_field(delta, "refusal"));
    for call in list_field(delta, "tool_calls") {
        let body = call.get("function").or_else(|| call.get("custom")).unwrap_or(call);
        let piece = draft.partial_call(
            count_value(call.get("index")),
            text_field(call, "id"),
            text_field(body, "name"),
        );
        piece.arguments += &arguments_text(body.get("arguments").or_else(|| body.get("input")));
    }
    if let Some(call) = delta.get("function_call").filter(|value| value.is_object()) {
        draft.partial_call(Some(0), "", text_field(call, "name")).arguments +=
            &arguments_text(call.get("arguments"));
    }
    for note in list_field(delta, "annotations") {
        draft.push_citation(note.pointer("/url_citation/url").or_else(|| note.get("url")));
    }
    for tool in list_field(delta, "executed_tools") {
        let results = tool.get("search_results").unwrap_or(&Value::Null);
        for result in list_field(results, "results") {
            draft.push_citation(result.get("url"));
        }
    }
}

/// Reads one part of a content list.
fn part(part: &Value, draft: &mut CompletionBuilder) {
    match text_field(part, "type") {
        "text" | "output_text" | "" => match part {
            Value::String(words) => draft.push_text(words),
            _ => draft.push_text(text_field(part, "text")),
        },
        "thinking" | "reasoning" => match part.get("thinking").or_else(|| part.get("text")) {
            Some(Value::String(words)) => draft.push_reasoning(words),
            Some(Value::Array(pieces)) => {
                pieces.iter().for_each(|piece| draft.push_reasoning(text_field(piece, "text")))
            }
            _ => {}
        },
        "refusal" => draft.push_refusal(text_field(part, "refusal")),
        "reference" => draft.push_citation(part.get("url")),
        _ => {}
    }
}

/// Reads token counts. The last count of each kind is valid.
fn tokens(usage: &Value, draft: &mut CompletionBuilder) {
    let at = |path: &str| count_value(usage.pointer(path));
    let input = at("/prompt_tokens").or(at("/input_tokens"));
    let reasoning = at("/completion_tokens_details/reasoning_tokens").or(at("/reasoning_tokens"));
    let mut output = at("/completion_tokens").or(at("/output_tokens"));
    // xAI excludes reasoning from the completion tokens and includes it in the total.
    if let (Some(input), Some(written), Some(thought), Some(total)) =
        (input, output, reasoning, at("/total_tokens"))
        && thought > 0
        && input.saturating_add(written).saturating_add(thought) == total
    {
        output = Some(written + thought);
    }
    let now = TokenUsage {
        input,
        cached_input: at("/prompt_tokens_details/cached_tokens")
            .or(at("/prompt_cache_hit_tokens"))
            .or(at("/cached_tokens")),
        cache_write: at("/prompt_tokens_details/cache_write_tokens")
            .or(at("/cache_creation_input_tokens")),
        output,
        reasoning_output: reasoning,
    };
    let known = draft.tokens;
    draft.tokens = TokenUsage {
        input: now.input.or(known.input),
        cached_input: now.cached_input.or(known.cached_input),
        cache_write: now.cache_write.or(known.cache_write),
        output: now.output.or(known.output),
        reasoning_output: now.reasoning_output.or(known.reasoning_output),
    };
    draft.cost_usd = cost(usage).or(draft.cost_usd);
}

/// US dollars according to `usage`: OpenRouter's `cost`, Perplexity's `cost.total_cost`, xAI's ticks of 10⁻¹⁰
/// dollars.
pub(super) fn cost(usage: &Value) -> Option<f64> {
    let real = |path: &str| usage.pointer(path).and_then(Value::as_f64);
    if let Some(cost) = real("/cost") {
        // If the user's own provider key is used, `cost` is only the gateway's fee.
        let own_key = usage.get("is_byok").and_then(Value::as_bool) == Some(true);
        let upstream = real("/cost_details/upstream_inference_cost").filter(|_| own_key);
        return Some(cost + upstream.unwrap_or(0.0));
    }
    real("/cost/total_cost").or_else(|| real("/cost_in_usd_ticks").map(|it| it / 1e10))
}
