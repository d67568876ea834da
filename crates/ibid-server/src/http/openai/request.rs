//! Requests of OpenAI's clients as research requests.
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::super::api_error::{ApiError, ApiResult};
use super::super::values::invalid_value;
use super::models::find_alias;
use crate::request::{DIALOGUE, ResearchRequest, whole_number};
use ibid_core::domain::OutputMode;

/// A parsed request.
pub(super) struct OpenAiRequest {
    pub(super) request: ResearchRequest,
    /// The fields that the response needs.
    pub(super) extras: Map<String, Value>,
}

/// How long a request that is neither streamed nor in the background waits: longer than any run may take.
pub(super) const RUN_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Maximum length of a turn of a conversation, in characters; the rest is cut.
const MAX_TURN_CHARS: usize = 4_000;

/// Maximum number of turns of a dialogue; the oldest are dropped.
const MAX_TURNS: usize = 50;

/// Tells the model that images came with the question.
const IMAGES_IGNORED_NOTE: &str = "The user sent images with the question, which you cannot see. Say nothing about their content.";

/// A conversation.
struct OpenAiConversation {
    /// Role and text of each turn.
    turns: Vec<(String, String)>,
    /// How many images came along; they are ignored.
    images: usize,
}

/// Splits the conversation: the user's last message is the question, the turns before it are the dialogue.
fn split_conversation(
    field: &str,
    conversation: OpenAiConversation,
) -> ApiResult<(String, Vec<Value>)> {
    let OpenAiConversation { mut turns, images } = conversation;
    let Some(last) = turns.iter().rposition(|turn| turn.0 == "user" && !turn.1.trim().is_empty())
    else {
        return Err(invalid_value(field, "has no message with role user"));
    };
    let (_, question) = turns.remove(last);
    turns.truncate(last);
    let cut = |text: &str| text.chars().take(MAX_TURN_CHARS).collect::<String>();
    let dialogue = turns.iter().filter(|turn| !turn.1.trim().is_empty()).map(|(role, text)| {
        let side = match role.as_str() {
            "user" => "user",
            "assistant" => "assistant",
            _ => "system",
        };
        json!({side: cut(text)})
    });
    let mut dialogue: Vec<Value> = dialogue.collect();
    // Keep the latest turns.
    let skip = dialogue.len().saturating_sub(MAX_TURNS - usize::from(images > 0));
    dialogue.drain(..skip);
    if images > 0 {
        dialogue.push(json!({"system": IMAGES_IGNORED_NOTE}));
    }
    Ok((question, dialogue))
}

/// The text of a message, from a string or from text parts, and the number of image parts.
fn message_text(content: &Value, field: &str) -> ApiResult<(String, usize)> {
    let parts = match content {
        Value::String(it) => return Ok((it.clone(), 0)),
        Value::Null => return Ok((String::new(), 0)),
        Value::Array(parts) => parts,
        _ => {
            return Err(invalid_value(field, "has content that is neither text nor parts"));
        }
    };
    let (mut out, mut images) = (Vec::new(), 0);
    for part in parts {
        match (part["type"].as_str(), part["text"].as_str()) {
            (Some("input_text" | "output_text" | "text"), Some(it)) => out.push(it),
            (Some("input_image" | "image_url"), _) => images += 1,
            (Some("input_file" | "file" | "input_audio" | "input_video"), _) => {
                return Err(invalid_value(
                    field,
                    "has parts other than text and images; put documents into a served folder",
                ));
            }
            _ => {}
        }
    }
    Ok((out.join("\n"), images))
}

fn parse_messages(rows: &Value, field: &str) -> ApiResult<OpenAiConversation> {
    let rows = match rows {
        Value::String(it) => {
            let turns = vec![("user".to_owned(), it.clone())];
            return Ok(OpenAiConversation { turns, images: 0 });
        }
        Value::Array(rows) if !rows.is_empty() => rows,
        _ => return Err(invalid_value(field, "must be a text or a list of messages")),
    };
    let mut conversation = OpenAiConversation { turns: Vec::new(), images: 0 };
    for row in rows {
        // Skip items other than messages (calls, reasoning).
        if row.get("type").is_some_and(|value| value != "message") {
            continue;
        }
        let role = row["role"].as_str().unwrap_or("user").to_owned();
        if !["user", "assistant", "system", "developer", "tool"].contains(&role.as_str()) {
            return Err(invalid_value(field, "has a message of an unknown role"));
        }
        let (text, images) = message_text(&row["content"], field)?;
        conversation.turns.push((role, text));
        conversation.images += images;
    }
    Ok(conversation)
}

/// The number of ignored images, for the response.
fn ignored_images(conversation: &OpenAiConversation) -> Value {
    match conversation.images {
        0 => Value::Null,
        1 => "1 image".into(),
        n => format!("{n} images").into(),
    }
}

/// The effort for OpenAI's value.
fn map_effort(word: &Value, field: &str) -> ApiResult<Option<&'static str>> {
    match word.as_str() {
        None if word.is_null() => Ok(None),
        Some("none" | "minimal" | "low") => Ok(Some("quick")),
        Some("medium") => Ok(Some("standard")),
        Some("high") => Ok(Some("deep")),
        Some("xhigh") => Ok(Some("max")),
        _ => Err(invalid_value(field, "must be minimal, low, medium, high or xhigh")),
    }
}

/// Reads domains and folders from OpenAI's hosted tools and ignores the client's own tools. Returns whether a hosted tool is named.
fn parse_tools(value: &Value, own: &mut Map<String, Value>) -> ApiResult<bool> {
    let mut folders = Vec::new();
    let (mut web, mut local) = (false, false);
    for tool in value.as_array().into_iter().flatten() {
        match tool["type"].as_str() {
            Some(it) if it.starts_with("web_search") => {
                web = true;
                if let Some(Value::Array(domains)) = tool.pointer("/filters/allowed_domains") {
                    own.insert("domains".to_owned(), domains.clone().into());
                }
            }
            Some("file_search") => {
                local = true;
                for id in tool["vector_store_ids"].as_array().into_iter().flatten() {
                    folders.push(json!(folder_name(id)?));
                }
            }
            Some("mcp") => {
                return Err(invalid_value(
                    "tools",
                    "has an MCP server; only the operator can add those",
                ));
            }
            _ => {}
        }
    }
    if !folders.is_empty() {
        own.insert("folders".to_owned(), folders.into());
    }
    if local && !web {
        own.insert("only_local".to_owned(), true.into());
    }
    Ok(web || local)
}

/// The served folder that a vector store stands for.
fn folder_name(vector_store: &Value) -> ApiResult<&str> {
    vector_store
        .as_str()
        .and_then(|text| text.strip_prefix("folder:"))
        .ok_or_else(|| invalid_value("tools", "has a vector store other than `folder:NAME`"))
}

/// Refuses a forced call of the client's own tools: this server never calls them, and the client would wait for it.
fn reject_forced_tools(choice: &Value, tools: &Value) -> ApiResult<()> {
    let kind = |value: &Value| value["type"].as_str().map(str::to_owned);
    let own =
        |value: &Value| kind(value).is_some_and(|kind| ["function", "custom"].contains(&&*kind));
    let mut named = tools.as_array().into_iter().flatten().peekable();
    let only_own = named.peek().is_some() && named.all(own);
    match choice {
        Value::String(it) if it == "required" && only_own => {}
        it if own(it) => {}
        _ => return Ok(()),
    }
    Err(invalid_value(
        "tool_choice",
        "forces a call of your own tool, which this server never makes: omit it or use auto",
    ))
}

fn require_object<'v>(value: &'v Value, field: &str) -> ApiResult<&'v Map<String, Value>> {
    value.as_object().ok_or_else(|| {
        ApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_value",
            format!("{field} must be a JSON object"),
        )
    })
}

/// The metadata that the response repeats: at most 16 short texts.
fn parse_metadata(value: &Value) -> ApiResult<Value> {
    match value {
        Value::Null => Ok(json!({})),
        Value::Object(it)
            if it.len() <= 16
                && it.iter().all(|value| {
                    value.0.len() <= 64 && value.1.as_str().is_some_and(|text| text.len() <= 512)
                }) =>
        {
            Ok(value.clone())
        }
        _ => Err(invalid_value("metadata", "must be at most 16 texts of at most 512 characters")),
    }
}

/// Copies the fields of `ibid` in the request: Ibid's own fields.
fn own_fields(value: &Value, own: &mut Map<String, Value>) -> ApiResult<()> {
    match value {
        Value::Null => Ok(()),
        Value::Object(it) => {
            own.extend(it.iter().map(|value| (value.0.clone(), value.1.clone())));
            Ok(())
        }
        _ => Err(invalid_value("ibid", "must be an object")),
    }
}

fn bool_field(value: &Value, field: &str) -> ApiResult<bool> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(it) => Ok(*it),
        _ => Err(invalid_value(field, "must be true or false")),
    }
}

/// Sets mode and effort by the model's name; a mode in the request takes precedence. Returns the name.
fn set_mode_from_model(own: &mut Map<String, Value>, model: &Value) -> ApiResult<&'static str> {
    let id = match model {
        Value::Null => "ibid",
        Value::String(it) => it,
        _ => return Err(invalid_value("model", "must be a text")),
    };
    let it = find_alias(id)?;
    let mode = match it.mode {
        OutputMode::Answer => "answer",
        _ => "report",
    };
    own.entry("mode").or_insert(mode.into());
    if let Some(it) = it.effort {
        own.insert("effort".to_owned(), ibid::config::effort::name(it).into());
    }
    Ok(it.id)
}

/// An optional text field.
fn string_field<'v>(it: &'v Map<String, Value>, field: &str) -> ApiResult<Option<&'v str>> {
    match it.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(it)) => Ok(Some(it)),
        Some(_) => Err(invalid_value(field, "must be a text")),
    }
}

/// An optional list field.
fn list_field<'v>(it: &'v Map<String, Value>, field: &str) -> ApiResult<&'v [Value]> {
    match it.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(it)) => Ok(it),
        Some(_) => Err(invalid_value(field, "must be a list")),
    }
}

/// Parses the request of `POST /v1/responses`.
pub(super) fn parse_responses(value: &Value) -> ApiResult<OpenAiRequest> {
    let fields = require_object(value, "the request")?;
    let get = |name: &str| fields.get(name).unwrap_or(&Value::Null);
    let mut own = Map::new();
    let mut conversation = parse_messages(get("input"), "input")?;
    if let Some(instructions) = string_field(fields, "instructions")? {
        let first = ("system".to_owned(), instructions.to_owned());
        conversation.turns.insert(0, first);
    }
    let unseen = ignored_images(&conversation);
    let (question, dialogue) = split_conversation("input", conversation)?;
    insert_question(&mut own, question, dialogue);
    if !matches!(get("reasoning"), Value::Null | Value::Object(_)) {
        return Err(invalid_value("reasoning", "must be an object"));
    }
    if let Some(effort) = map_effort(&get("reasoning")["effort"], "reasoning.effort")? {
        own.insert("effort".to_owned(), effort.into());
    }
    let hosted = parse_tools(get("tools"), &mut own)?;
    reject_forced_tools(get("tool_choice"), get("tools"))?;
    if !get("max_tool_calls").is_null() {
        let budget = json!({"calls": get("max_tool_calls")});
        own.insert("budget".to_owned(), budget);
    }
    require_text_format("text.format", get("text").pointer("/format/type"))?;
    let background = bool_field(get("background"), "background")?;
    let stream = bool_field(get("stream"), "stream")?;
    bool_field(get("store"), "store")?;
    if get("store") == &json!(false) && background {
        return Err(invalid_value("store", "must be true in the background"));
    }
    if let Some(before) = string_field(fields, "previous_response_id")? {
        own.insert("follows".to_owned(), before.into());
    }
    let include: Vec<&str> =
        get("include").as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_call_item = |name: &&str| name.contains("_search_call.");
    let extras = json!({
        "api": "responses",
        "calls": hosted || include.iter().any(is_call_item),
        "unseen": unseen,
        "background": background,
        "stream": stream,
        "store": get("store").as_bool().unwrap_or(true),
        "instructions": get("instructions"),
        "include": include,
        "metadata": parse_metadata(get("metadata"))?,
        "max_tool_calls": get("max_tool_calls"),
        "previous_response_id": get("previous_response_id"),
        "effort": get("reasoning")["effort"],
        "webhook_url": get("ibid")["webhook_url"],
    });
    own_fields(get("ibid"), &mut own)?;
    build_request(own, extras, get("model"))
}

/// Parses the request of `POST /v1/chat/completions`, with the extra fields of Jina's and Perplexity's APIs.
pub(super) fn parse_chat(value: &Value) -> ApiResult<OpenAiRequest> {
    let fields = require_object(value, "the request")?;
    let get = |name: &str| fields.get(name).unwrap_or(&Value::Null);
    let mut own = Map::new();
    let Value::Array(_) = get("messages") else {
        return Err(invalid_value("messages", "must be a list of messages"));
    };
    let conversation = parse_messages(get("messages"), "messages")?;
    let unseen = ignored_images(&conversation);
    let (question, dialogue) = split_conversation("messages", conversation)?;
    reject_forced_tools(get("tool_choice"), get("tools"))?;
    insert_question(&mut own, question, dialogue);
    if let Some(effort) = map_effort(get("reasoning_effort"), "reasoning_effort")? {
        own.insert("effort".to_owned(), effort.into());
    }
    parse_search_filters(fields, &mut own)?;
    if !get("budget_tokens").is_null() {
        own.insert("budget".to_owned(), json!({"tokens": get("budget_tokens")}));
    }
    require_text_format("response_format", get("response_format").get("type"))?;
    let limit = |field: &str| match get(field) {
        Value::Null => Ok(Value::Null),
        value => match whole_number(value) {
            Some(n) => Ok(n.into()),
            None => Err(invalid_value(field, "must be a whole number")),
        },
    };
    let extras = json!({
        "api": "chat",
        "unseen": unseen,
        "stream": bool_field(get("stream"), "stream")?,
        "include_usage": get("stream_options")["include_usage"].as_bool().unwrap_or(false),
        "max_annotations": limit("max_annotations")?,
        "max_returned_urls": limit("max_returned_urls")?,
        "webhook_url": get("ibid")["webhook_url"],
    });
    own_fields(get("ibid"), &mut own)?;
    build_request(own, extras, get("model"))
}

fn insert_question(own: &mut Map<String, Value>, question: String, dialogue: Vec<Value>) {
    own.insert("question".to_owned(), question.into());
    if !dialogue.is_empty() {
        own.insert(DIALOGUE.to_owned(), dialogue.into());
    }
}

/// Maps the search filters of Jina's and Perplexity's APIs to Ibid's fields.
fn parse_search_filters(
    fields: &Map<String, Value>,
    own: &mut Map<String, Value>,
) -> ApiResult<()> {
    let mut excluded = list_field(fields, "bad_hostnames")?.to_vec();
    let mut included = list_field(fields, "only_hostnames")?.to_vec();
    for domain in list_field(fields, "search_domain_filter")? {
        match domain.as_str().map(|text| (text, text.strip_prefix('-'))) {
            Some((_, Some(domain))) => excluded.push(domain.into()),
            Some((domain, None)) => included.push(domain.into()),
            None => {
                let what = "must be a list of texts";
                return Err(invalid_value("search_domain_filter", what));
            }
        }
    }
    for (field, domains) in [("domains", included), ("not_domains", excluded)] {
        if !domains.is_empty() {
            own.insert(field.to_owned(), domains.into());
        }
    }
    if let Some(recency) = string_field(fields, "search_recency_filter")? {
        let since = match recency {
            "hour" | "day" => "1d",
            "week" => "7d",
            "month" => "1m",
            "year" => "1y",
            _ => {
                let what = "must be day, week, month or year";
                return Err(invalid_value("search_recency_filter", what));
            }
        };
        own.insert("since".to_owned(), since.into());
    }
    if let Some(language) = string_field(fields, "language_code")? {
        own.insert("language".to_owned(), language.into());
    }
    if let Some(engine) = string_field(fields, "search_provider")? {
        own.insert("engines".to_owned(), json!([engine]));
    }
    Ok(())
}

/// Refuses every output format but text.
fn require_text_format(field: &str, format: Option<&Value>) -> ApiResult<()> {
    match format.filter(|format| *format != "text") {
        None => Ok(()),
        Some(format) => {
            let what = format!("{format} is not supported; the text is Markdown");
            Err(invalid_value(field, &what))
        }
    }
}

fn build_request(
    mut own: Map<String, Value>,
    extras: Value,
    model: &Value,
) -> ApiResult<OpenAiRequest> {
    let id = set_mode_from_model(&mut own, model)?;
    let mut extras = extras.as_object().cloned().unwrap_or_default();
    extras.retain(|_, it| !it.is_null());
    extras.insert("model".to_owned(), id.into());
    Ok(OpenAiRequest { request: ResearchRequest::parse(Value::Object(own))?, extras })
}
