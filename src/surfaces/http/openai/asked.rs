//! What OpenAI's clients send, as a question of ours.
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::super::fault::{Answer, Fault};
use super::super::runs::bad;
use super::super::story::whole;
use super::offered;
use crate::domain::Mode;
use crate::surfaces::asked::{Asked, DIALOGUE};

/// A request read: the question, and what is kept of it to answer in its form.
pub(super) struct Read {
    pub(super) asked: Asked,
    pub(super) kept: Map<String, Value>,
}

/// Most characters of one turn that are kept of a conversation.
const TURN: usize = 4_000;

/// What is told to whoever reads the question where pictures came with it.
const UNSEEN: &str = "The user sent images with the question, which nobody here can see. Nothing may be said of what they show.";

/// What was said: role and text of each turn, and how many images came along, which are not looked at.
struct Said {
    turns: Vec<(String, String)>,
    images: usize,
}

/// Reads the conversation: the last thing the user said is the question, all before is the dialogue.
fn conversation(field: &str, said: Said) -> Answer<(String, Vec<Value>)> {
    let Said { mut turns, images } = said;
    let Some(last) = turns
        .iter()
        .rposition(|it| it.0 == "user" && !it.1.trim().is_empty())
    else {
        return Err(bad(field, "has no message of the user"));
    };
    let (_, question) = turns.remove(last);
    turns.truncate(last);
    let cut = |text: &str| text.chars().take(TURN).collect::<String>();
    let said = turns
        .iter()
        .filter(|it| !it.1.trim().is_empty())
        .map(|(role, text)| {
            let side = match role.as_str() {
                "user" => "user",
                "assistant" => "assistant",
                _ => "system",
            };
            json!({side: cut(text)})
        });
    let mut said: Vec<Value> = said.collect();
    // The latest turns say most of what is meant now.
    let skip = said.len().saturating_sub(50 - usize::from(images > 0));
    said.drain(..skip);
    if images > 0 {
        said.push(json!({"system": UNSEEN}));
    }
    Ok((question, said))
}

/// The text of a message, a string or parts that have one, and how many of its parts are images.
fn text(content: &Value, field: &str) -> Answer<(String, usize)> {
    let parts = match content {
        Value::String(it) => return Ok((it.clone(), 0)),
        Value::Null => return Ok((String::new(), 0)),
        Value::Array(parts) => parts,
        _ => return Err(bad(field, "has content that is neither text nor parts")),
    };
    let (mut out, mut images) = (Vec::new(), 0);
    for part in parts {
        match (part["type"].as_str(), part["text"].as_str()) {
            (Some("input_text" | "output_text" | "text"), Some(it)) => out.push(it),
            (Some("input_image" | "image_url"), _) => images += 1,
            (Some("input_file" | "file" | "input_audio" | "input_video"), _) => {
                return Err(bad(
                    field,
                    "has parts other than text and images; put documents into a folder that is served",
                ));
            }
            _ => {}
        }
    }
    Ok((out.join("\n"), images))
}

fn messages(rows: &Value, field: &str) -> Answer<Said> {
    let rows = match rows {
        Value::String(it) => {
            let turns = vec![("user".to_owned(), it.clone())];
            return Ok(Said { turns, images: 0 });
        }
        Value::Array(rows) if !rows.is_empty() => rows,
        _ => return Err(bad(field, "must be a text or a list of messages")),
    };
    let mut said = Said {
        turns: Vec::new(),
        images: 0,
    };
    for row in rows {
        // Items that are no messages (calls, reasoning) say nothing of the question.
        if row.get("type").is_some_and(|it| it != "message") {
            continue;
        }
        let role = row["role"].as_str().unwrap_or("user").to_owned();
        if !["user", "assistant", "system", "developer", "tool"].contains(&role.as_str()) {
            return Err(bad(field, "has a message of an unknown role"));
        }
        let (text, images) = text(&row["content"], field)?;
        said.turns.push((role, text));
        said.images += images;
    }
    Ok(said)
}

/// How many images came along, as it is told in the answer.
fn unseen(said: &Said) -> Value {
    match said.images {
        0 => Value::Null,
        1 => "1 image".into(),
        n => format!("{n} images").into(),
    }
}

/// The effort that OpenAI's word for it means.
fn effort(word: &Value, field: &str) -> Answer<Option<&'static str>> {
    match word.as_str() {
        None if word.is_null() => Ok(None),
        Some("none" | "minimal" | "low") => Ok(Some("quick")),
        Some("medium") => Ok(Some("standard")),
        Some("high") => Ok(Some("deep")),
        Some("xhigh") => Ok(Some("max")),
        _ => Err(bad(field, "must be minimal, low, medium, high or xhigh")),
    }
}

/// What of the tools is meant for us: domains and folders. Others are the client's own, and are left alone. Whether one of
/// those that are OpenAI's is named.
fn tools(value: &Value, own: &mut Map<String, Value>) -> Answer<bool> {
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
                    let Some(name) = id.as_str().and_then(|it| it.strip_prefix("folder:")) else {
                        return Err(bad("tools", "has a vector store that is no `folder:NAME`"));
                    };
                    folders.push(json!(name));
                }
            }
            Some("mcp") => {
                return Err(bad(
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

/// Refuses a call of the client's own tools that must be made: none is ever made here, and a client would wait for it.
fn uncalled(choice: &Value, tools: &Value) -> Answer<()> {
    let kind = |it: &Value| it["type"].as_str().map(str::to_owned);
    let own = |it: &Value| kind(it).is_some_and(|it| ["function", "custom"].contains(&&*it));
    let mut named = tools.as_array().into_iter().flatten().peekable();
    let only_own = named.peek().is_some() && named.all(own);
    match choice {
        Value::String(it) if it == "required" && only_own => {}
        it if own(it) => {}
        _ => return Ok(()),
    }
    Err(bad(
        "tool_choice",
        "asks for a call of a tool of yours; nothing here calls those: leave it out, or say auto",
    ))
}

fn object<'v>(value: &'v Value, field: &str) -> Answer<&'v Map<String, Value>> {
    value.as_object().ok_or_else(|| {
        Fault::new(
            StatusCode::BAD_REQUEST,
            "invalid_value",
            format!("{field} must be a JSON object"),
        )
    })
}

/// Metadata as it is echoed: at most 16 short texts.
fn metadata(value: &Value) -> Answer<Value> {
    match value {
        Value::Null => Ok(json!({})),
        Value::Object(it)
            if it.len() <= 16
                && it.iter().all(|it| {
                    it.0.len() <= 64 && it.1.as_str().is_some_and(|it| it.len() <= 512)
                }) =>
        {
            Ok(value.clone())
        }
        _ => Err(bad(
            "metadata",
            "must be at most 16 texts of at most 512 characters",
        )),
    }
}

/// `ibid` in the request: our own fields.
fn ours(value: &Value, own: &mut Map<String, Value>) -> Answer<()> {
    match value {
        Value::Null => Ok(()),
        Value::Object(it) => {
            let rest = it.iter().filter(|it| it.0 != "webhook_url");
            own.extend(rest.map(|it| (it.0.clone(), it.1.clone())));
            Ok(())
        }
        _ => Err(bad("ibid", "must be an object")),
    }
}

fn flag(value: &Value, field: &str) -> Answer<bool> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(it) => Ok(*it),
        _ => Err(bad(field, "must be true or false")),
    }
}

/// The mode by the model's name, unless the question names one.
fn named(own: &mut Map<String, Value>, model: &Value) -> Answer<&'static str> {
    let id = match model {
        Value::Null => "ibid",
        Value::String(it) => it,
        _ => return Err(bad("model", "must be a text")),
    };
    let it = offered(id)?;
    let mode = match it.mode {
        Mode::Answer => "answer",
        _ => "report",
    };
    own.entry("mode").or_insert(mode.into());
    if let Some(it) = it.effort {
        own.insert("effort".to_owned(), crate::config::effort::name(it).into());
    }
    Ok(it.id)
}

/// A field that is a text where it is there.
fn word<'v>(it: &'v Map<String, Value>, field: &str) -> Answer<Option<&'v str>> {
    match it.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(it)) => Ok(Some(it)),
        Some(_) => Err(bad(field, "must be a text")),
    }
}

/// A field that is a list where it is there.
fn list<'v>(it: &'v Map<String, Value>, field: &str) -> Answer<&'v [Value]> {
    match it.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(it)) => Ok(it),
        Some(_) => Err(bad(field, "must be a list")),
    }
}

/// `POST /v1/responses`.
pub(super) fn responses(value: &Value) -> Answer<Read> {
    let it = object(value, "the request")?;
    let get = |name: &str| it.get(name).unwrap_or(&Value::Null);
    let mut own = Map::new();
    let mut said = messages(get("input"), "input")?;
    if let Some(instructions) = word(it, "instructions")? {
        let first = ("system".to_owned(), instructions.to_owned());
        said.turns.insert(0, first);
    }
    let unseen = unseen(&said);
    let (question, said) = conversation("input", said)?;
    own.insert("question".to_owned(), question.into());
    if !said.is_empty() {
        own.insert(DIALOGUE.to_owned(), said.into());
    }
    if !matches!(get("reasoning"), Value::Null | Value::Object(_)) {
        return Err(bad("reasoning", "must be an object"));
    }
    if let Some(it) = effort(&get("reasoning")["effort"], "reasoning.effort")? {
        own.insert("effort".to_owned(), it.into());
    }
    let hosted = tools(get("tools"), &mut own)?;
    uncalled(get("tool_choice"), get("tools"))?;
    match get("max_tool_calls") {
        Value::Null => {}
        calls => {
            own.insert("budget".to_owned(), json!({"calls": calls}));
        }
    }
    if let Some(kind) = get("text")
        .pointer("/format/type")
        .filter(|it| *it != "text")
    {
        return Err(bad(
            "text.format",
            &format!("{kind} is not offered; the text is Markdown"),
        ));
    }
    let background = flag(get("background"), "background")?;
    let stream = flag(get("stream"), "stream")?;
    flag(get("store"), "store")?;
    if get("store") == &json!(false) && background {
        return Err(bad("store", "must be true in the background"));
    }
    match get("previous_response_id") {
        Value::Null => {}
        Value::String(before) => {
            own.insert("follows".to_owned(), before.as_str().into());
        }
        _ => return Err(bad("previous_response_id", "must be a text")),
    }
    let include: Vec<&str> = get("include")
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let of_calls = |it: &&str| it.contains("_search_call.");
    let kept = json!({
        "api": "responses",
        "calls": hosted || include.iter().any(of_calls),
        "unseen": unseen,
        "background": background,
        "stream": stream,
        "store": get("store").as_bool().unwrap_or(true),
        "instructions": get("instructions"),
        "include": include,
        "metadata": metadata(get("metadata"))?,
        "max_tool_calls": get("max_tool_calls"),
        "previous_response_id": get("previous_response_id"),
        "effort": get("reasoning")["effort"],
        "webhook_url": get("ibid")["webhook_url"],
    });
    ours(get("ibid"), &mut own)?;
    finish(own, kept, get("model"))
}

/// `POST /v1/chat/completions`, with the extras of jina's and Perplexity's APIs.
pub(super) fn chat(value: &Value) -> Answer<Read> {
    let it = object(value, "the request")?;
    let get = |name: &str| it.get(name).unwrap_or(&Value::Null);
    let mut own = Map::new();
    let Value::Array(_) = get("messages") else {
        return Err(bad("messages", "must be a list of messages"));
    };
    let said = messages(get("messages"), "messages")?;
    let unseen = unseen(&said);
    let (question, said) = conversation("messages", said)?;
    uncalled(get("tool_choice"), get("tools"))?;
    own.insert("question".to_owned(), question.into());
    if !said.is_empty() {
        own.insert(DIALOGUE.to_owned(), said.into());
    }
    if let Some(it) = effort(get("reasoning_effort"), "reasoning_effort")? {
        own.insert("effort".to_owned(), it.into());
    }
    // jina's and Perplexity's names for what may be read.
    let mut not = Vec::new();
    let mut only = Vec::new();
    for (field, list) in [("bad_hostnames", &mut not), ("only_hostnames", &mut only)] {
        list.extend(self::list(it, field)?.iter().cloned());
    }
    for it in list(it, "search_domain_filter")? {
        match it.as_str().map(|it| (it, it.strip_prefix('-'))) {
            Some((_, Some(it))) => not.push(it.into()),
            Some((it, None)) => only.push(it.into()),
            None => return Err(bad("search_domain_filter", "must be a list of texts")),
        }
    }
    for (field, list) in [("domains", only), ("not_domains", not)] {
        if !list.is_empty() {
            own.insert(field.to_owned(), list.into());
        }
    }
    match word(it, "search_recency_filter")? {
        None => {}
        Some(it) => {
            let since = match it {
                "hour" | "day" => "1d",
                "week" => "7d",
                "month" => "1m",
                "year" => "1y",
                _ => {
                    return Err(bad(
                        "search_recency_filter",
                        "must be day, week, month or year",
                    ));
                }
            };
            own.insert("since".to_owned(), since.into());
        }
    }
    if let Some(it) = word(it, "language_code")? {
        own.insert("language".to_owned(), it.into());
    }
    if let Some(it) = word(it, "search_provider")? {
        own.insert("engines".to_owned(), json!([it]));
    }
    if !get("budget_tokens").is_null() {
        own.insert("budget".to_owned(), json!({"tokens": get("budget_tokens")}));
    }
    if let Some(kind) = get("response_format")
        .get("type")
        .filter(|it| *it != "text")
    {
        return Err(bad(
            "response_format",
            &format!("{kind} is not offered; the text is Markdown"),
        ));
    }
    let most = |field: &str| match get(field) {
        Value::Null => Ok(Value::Null),
        it => match whole(it) {
            Some(n) => Ok(n.into()),
            None => Err(bad(field, "must be a whole number")),
        },
    };
    let kept = json!({
        "api": "chat",
        "unseen": unseen,
        "stream": flag(get("stream"), "stream")?,
        "include_usage": get("stream_options")["include_usage"].as_bool().unwrap_or(false),
        "max_annotations": most("max_annotations")?,
        "max_returned_urls": most("max_returned_urls")?,
        "webhook_url": get("ibid")["webhook_url"],
    });
    ours(get("ibid"), &mut own)?;
    finish(own, kept, get("model"))
}

fn finish(mut own: Map<String, Value>, kept: Value, model: &Value) -> Answer<Read> {
    let id = named(&mut own, model)?;
    let mut kept = kept.as_object().cloned().unwrap_or_default();
    kept.retain(|_, it| !it.is_null());
    kept.insert("model".to_owned(), id.into());
    Ok(Read {
        asked: Asked::parse(&Value::Object(own), &[])?,
        kept,
    })
}
