//! OpenAI's Chat Completions, which most of the field speaks: OpenRouter, Groq, DeepSeek, Mistral, xAI, Perplexity,
//! Together, Fireworks, vLLM, llama.cpp, LM Studio, Azure, Ollama under `/v1`.
//!
//! What they add is read where it stands: `reasoning_content` or `reasoning`, `x_groq.usage`, lists of content parts
//! with `thinking` (Mistral), `citations` and `search_results` (Perplexity), `usage.cost` (OpenRouter),
//! `cost_in_usd_ticks` (xAI), `executed_tools` (Groq).
use serde_json::{Value, json};

use super::draft::{Draft, arguments, count, text};
use super::fault::{ModelFault, list};
use super::frames::Frame;
use super::request::{LimitField, ModelSettings, Outgoing, Schemas, is_strict, turns_after_system};
use super::retry_after::Headers;
use super::wire::Reader;
use crate::seams::{Finish, Prompt, Tokens};

/// The request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> Outgoing {
    let messages = turns_after_system(prompt, settings);
    let mut body = json!({"model": settings.model, "messages": messages});
    if let Some(most) = prompt.max_tokens {
        let field = match settings.limit {
            LimitField::MaxTokens => "max_tokens",
            LimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        body[field] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        body["temperature"] = temperature;
    }
    if !prompt.stop.is_empty() {
        body["stop"] = json!(prompt.stop);
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), Schemas::Native) => {
            body["response_format"] = json!({"type": "json_schema", "json_schema": {
                "name": schema.name, "strict": is_strict(&schema.json), "schema": schema.json,
            }});
        }
        (Some(_), Schemas::JsonMode) => body["response_format"] = json!({"type": "json_object"}),
        (Some(schema), Schemas::Tool) => {
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
    Outgoing::new("/chat/completions", body)
}

/// Reads answers and streams; also those of the older `/completions`.
#[derive(Debug, Default)]
pub(super) struct OpenAiChat {
    choice: bool,
    ended: bool,
}

impl Reader for OpenAiChat {
    fn frame(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), ModelFault> {
        let Frame::Json(name, value) = frame else {
            self.ended = self.choice;
            return Ok(());
        };
        let told = |at: &str| value.pointer(at).is_some_and(|it| !it.is_null());
        let is_error = name.as_deref() == Some("error") || text(value, "object") == "error";
        if told("/error") || is_error {
            return Err(ModelFault::of_value(None, &Headers::default(), value));
        }
        if told("/x_groq/error") {
            let error = value.pointer("/x_groq").unwrap_or(value);
            return Err(ModelFault::of_value(None, &Headers::default(), error));
        }
        if let Some(model) = value.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let first = |it: &&Value| count(it.get("index")).unwrap_or(0) == 0;
        if let Some(choice) = list(value, "choices").iter().find(first) {
            self.choice(choice, whole(value), draft)?;
        }
        let usages = [
            value.pointer("/x_groq/usage"),
            value.pointer("/choices/0/usage"),
            value.get("usage"),
        ];
        for usage in usages.into_iter().flatten().filter(|it| it.is_object()) {
            tokens(usage, draft);
        }
        for url in list(value, "citations") {
            draft.cite(Some(url.get("url").unwrap_or(url)));
        }
        for result in list(value, "search_results") {
            draft.cite(result.get("url"));
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

/// Whether `value` is an answer and no piece of one. Perplexity sends both forms at once.
fn whole(value: &Value) -> bool {
    let object = text(value, "object");
    !object.ends_with(".chunk") && !object.ends_with(".done")
}

impl OpenAiChat {
    fn choice(&mut self, choice: &Value, whole: bool, draft: &mut Draft) -> Result<(), ModelFault> {
        if choice.get("error").is_some_and(|it| !it.is_null()) {
            return Err(ModelFault::of_value(None, &Headers::default(), choice));
        }
        self.choice = true;
        let [message, delta] =
            ["message", "delta"].map(|it| choice.get(it).filter(|it| it.is_object()));
        let said = if whole {
            message.or(delta)
        } else {
            delta.or(message)
        };
        match said {
            Some(said) => piece(said, draft),
            None => draft.say(text(choice, "text")),
        }
        let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) else {
            // Some servers give a whole answer without a reason.
            self.ended |= whole && message.is_some();
            return Ok(());
        };
        if reason.is_empty() {
            return Ok(());
        }
        self.ended = true;
        draft.finish = Some(match reason.to_ascii_lowercase().as_str() {
            "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "completed" => {
                Finish::Stop
            }
            "length" | "max_tokens" | "model_length" | "max_output_tokens" => Finish::Length,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" => Finish::Tool,
            "content_filter" | "safety" | "refusal" | "sensitive" => Finish::Filter,
            "error" | "insufficient_system_resource" | "network_error" => {
                return Err(ModelFault::transient(format!(
                    "the provider gave up in the middle of the answer: {reason}"
                )));
            }
            _ => Finish::Other(reason.to_owned()),
        });
        Ok(())
    }
}

/// Takes in a message or a piece of one.
fn piece(said: &Value, draft: &mut Draft) {
    let reasoning = ["reasoning_content", "reasoning", "thinking"]
        .iter()
        .find_map(|it| said.get(*it)?.as_str().filter(|it| !it.is_empty()));
    match reasoning {
        Some(reasoning) => draft.reason(reasoning),
        None => {
            for detail in list(said, "reasoning_details") {
                draft.reason(text(detail, "text"));
                draft.reason(text(detail, "summary"));
            }
        }
    }
    match said.get("content") {
        Some(Value::String(words)) => draft.say(words),
        Some(Value::Array(parts)) => parts.iter().for_each(|it| part(it, draft)),
        Some(one @ Value::Object(_)) => part(one, draft),
        // A spoken answer has its words beside the sound.
        _ => draft.say(
            said.pointer("/audio/transcript")
                .and_then(Value::as_str)
                .unwrap_or(""),
        ),
    }
    draft.refuse(text(said, "refusal"));
    for call in list(said, "tool_calls") {
        let body = call
            .get("function")
            .or_else(|| call.get("custom"))
            .unwrap_or(call);
        let piece = draft.piece(
            count(call.get("index")),
            text(call, "id"),
            text(body, "name"),
        );
        piece.arguments += &arguments(body.get("arguments").or_else(|| body.get("input")));
    }
    if let Some(call) = said.get("function_call").filter(|it| it.is_object()) {
        draft.piece(Some(0), "", text(call, "name")).arguments += &arguments(call.get("arguments"));
    }
    for note in list(said, "annotations") {
        draft.cite(
            note.pointer("/url_citation/url")
                .or_else(|| note.get("url")),
        );
    }
    for tool in list(said, "executed_tools") {
        let results = tool.get("search_results").unwrap_or(&Value::Null);
        for result in list(results, "results") {
            draft.cite(result.get("url"));
        }
    }
}

/// Takes in one part of a content list.
fn part(part: &Value, draft: &mut Draft) {
    match text(part, "type") {
        "text" | "output_text" | "" => match part {
            Value::String(words) => draft.say(words),
            _ => draft.say(text(part, "text")),
        },
        "thinking" | "reasoning" => match part.get("thinking").or_else(|| part.get("text")) {
            Some(Value::String(words)) => draft.reason(words),
            Some(Value::Array(pieces)) => {
                pieces.iter().for_each(|it| draft.reason(text(it, "text")))
            }
            _ => {}
        },
        "refusal" => draft.refuse(text(part, "refusal")),
        "reference" => draft.cite(part.get("url")),
        _ => {}
    }
}

/// Takes in what was counted. The last count of each kind is the one that holds.
fn tokens(usage: &Value, draft: &mut Draft) {
    let at = |path: &str| count(usage.pointer(path));
    let input = at("/prompt_tokens").or(at("/input_tokens"));
    let reasoning = at("/completion_tokens_details/reasoning_tokens").or(at("/reasoning_tokens"));
    let mut output = at("/completion_tokens").or(at("/output_tokens"));
    // xAI leaves reasoning out of the completion, and counts it in the total.
    if let (Some(input), Some(written), Some(thought), Some(total)) =
        (input, output, reasoning, at("/total_tokens"))
        && thought > 0
        && input.saturating_add(written).saturating_add(thought) == total
    {
        output = Some(written + thought);
    }
    let now = Tokens {
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
    draft.tokens = Tokens {
        input: now.input.or(known.input),
        cached_input: now.cached_input.or(known.cached_input),
        cache_write: now.cache_write.or(known.cache_write),
        output: now.output.or(known.output),
        reasoning_output: now.reasoning_output.or(known.reasoning_output),
    };
    draft.cost_usd = cost(usage).or(draft.cost_usd);
}

/// US dollars as `usage` tells them: OpenRouter's `cost`, Perplexity's `cost.total_cost`, xAI's ticks of 10⁻¹⁰ dollars.
pub(super) fn cost(usage: &Value) -> Option<f64> {
    let real = |path: &str| usage.pointer(path).and_then(Value::as_f64);
    if let Some(cost) = real("/cost") {
        // With a key of one's own at the provider, `cost` is the gateway's fee alone.
        let own_key = usage.get("is_byok").and_then(Value::as_bool) == Some(true);
        let upstream = real("/cost_details/upstream_inference_cost").filter(|_| own_key);
        return Some(cost + upstream.unwrap_or(0.0));
    }
    real("/cost/total_cost").or_else(|| real("/cost_in_usd_ticks").map(|it| it / 1e10))
}
