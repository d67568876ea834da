//! JSON schemas of requests: of types, and of texts that a Rust type does not describe closely enough.
use std::borrow::Cow;

use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};

use ibid::config::Setting;
use ibid::config::value::SettingKind;

/// Declares a type that is only the JSON schema of a text. Those with a name become components of `/openapi.json`.
macro_rules! text_schema {
    ($(#[$doc:meta])* $type:ident, $name:literal, $inline:literal, $schema:tt) => {
        $(#[$doc])*
        pub(crate) enum $type {}

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                $inline
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

text_schema!(
    /// A question: it has a letter, a digit or another symbol beyond ASCII.
    QuestionSchema, "QuestionText", true,
    {
        "type": "string", "minLength": 1, "maxLength": 32768,
        "pattern": "[^\\x00-/:-@\\[-`{-\\u00bf\\s]"
    }
);
text_schema!(
    /// An engine; the server adds the names of its engines.
    EngineSchema, "Engine", false,
    {
        "type": "string",
        "description": "A search engine by name; web, news or scholar for all engines of a kind; auto; none. Case-insensitive."
    }
);
text_schema!(
    /// A folder; the server adds the names of its folders.
    FolderSchema, "Folder", false,
    { "type": "string", "description": "The name of a served folder." }
);
text_schema!(
    /// A model; the server adds the names of its models.
    ModelSchema, "Model", false,
    { "type": "string", "description": "A model that the operator offers, or none." }
);
text_schema!(
    /// The address of a webhook.
    WebhookSchema, "Webhook", false,
    {
        "type": "string",
        "description": "URL that is called once the run has ended. The SSRF guard must allow it."
    }
);
text_schema!(
    /// A day.
    DaySchema, "Day", false,
    {
        "type": "string", "maxLength": 4000,
        "pattern": "^([0-9]{4}(-(0[1-9]|1[0-2])|-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|-(0[469]|11)-(0[1-9]|[12][0-9]|30)|-02-(0[1-9]|1[0-9]|2[0-8]))?|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29|[0-9]{1,3}[dwmy])?$",
        "description": "A year, month or day, or a time before now: 2020, 2020-05, 2020-05-01, 30d, 6w, 3m, 2y. since must not be after until (422)."
    }
);
text_schema!(
    /// A domain.
    DomainSchema, "Domain", true,
    { "type": "string", "minLength": 1, "maxLength": 500, "pattern": "\\S" }
);
text_schema!(
    /// A text that is not blank.
    NonblankSchema, "Nonblank", true,
    { "type": "string", "minLength": 1, "pattern": "\\S" }
);
text_schema!(
    /// A mode.
    ModeSchema, "Mode", true,
    { "type": "string", "enum": ["report", "answer", "evidence"] }
);
text_schema!(
    /// A turn of a conversation. At least one of its texts is not blank.
    TurnSchema, "Turn", true,
    {
        "type": "object",
        "properties": {
            "system": {"type": ["string", "null"], "maxLength": 4000},
            "assistant": {"type": ["string", "null"], "maxLength": 4000},
            "user": {"type": ["string", "null"], "maxLength": 4000}
        },
        "anyOf": [
            {"required": ["system"], "properties": {"system": {"type": "string", "pattern": "\\S"}}},
            {"required": ["assistant"], "properties": {"assistant": {"type": "string", "pattern": "\\S"}}},
            {"required": ["user"], "properties": {"user": {"type": "string", "pattern": "\\S"}}}
        ]
    }
);
text_schema!(
    /// Whether the plan must be approved, or the plan itself.
    PlanSchema, "PlanChoice", true,
    {
        "anyOf": [
            {"type": "string", "enum": ["auto", "require_approval"]},
            {"$ref": "#/components/schemas/PlanFile"}
        ]
    }
);

text_schema!(
    /// A plan, which `schemas.json` describes.
    PlanFileSchema, "PlanFileRef", true,
    { "$ref": "#/components/schemas/PlanFile" }
);
text_schema!(
    /// The direction of a rating.
    VoteSchema, "Vote", true,
    { "type": "string", "enum": ["up", "down"] }
);

/// Gives each property that is a setting the type and the range of the table of settings.
pub(crate) fn add_setting_ranges(schema: &mut Schema) {
    add_ranges(schema, "");
}

/// The same for the fields of a budget.
pub(crate) fn add_budget_ranges(schema: &mut Schema) {
    add_ranges(schema, "budget.");
}

fn add_ranges(schema: &mut Schema, prefix: &str) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let name = if name == "summaryTokens" { "summary_tokens" } else { name };
        let kind = Setting::by_name(&format!("{prefix}{name}")).map(|by_name| by_name.kind);
        let range = match kind {
            Some(SettingKind::Int(min, max) | SettingKind::OptionalInt(min, max)) => {
                json!({"type": ["integer", "null"], "minimum": min, "maximum": max})
            }
            Some(SettingKind::Float(min, max) | SettingKind::OptionalFloat(min, max)) => {
                json!({"type": ["number", "null"], "minimum": min, "maximum": max})
            }
            Some(SettingKind::OneOf(words)) => {
                let words = words.iter().filter(|word| word.0 == word.1).map(|word| json!(word.0));
                let words: Vec<Value> = words.chain([Value::Null]).collect();
                json!({"type": ["string", "null"], "enum": words})
            }
            _ => continue,
        };
        if let (Some(property), Value::Object(range)) = (property.as_object_mut(), range) {
            property.extend(range);
        }
    }
}

/// Requires exactly one of `question` and `query`.
pub(crate) fn require_question(schema: &mut Schema) {
    let only = |one: &str, other: &str| {
        json!({
            "required": [one],
            "properties": {one: {"type": "string"}, other: {"type": "null"}}
        })
    };
    schema
        .insert("oneOf".to_owned(), json!([only("question", "query"), only("query", "question")]));
}

/// Collects schemas of types as components of `/openapi.json`. `contract` says whether they are read or written.
pub(crate) fn component_generator(contract: Contract) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(tidy));
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    settings.contract = contract;
    settings.into_generator()
}

/// The schema of the arguments of a tool. Hosts pass it to models of many makers, so it has no references, no patterns, no
/// `null`, and no alternatives at the top.
pub(crate) fn tool_schema<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(tidy))
        .with_transform(RecursiveTransform(simplify));
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    for name in ["title", "description", "oneOf"] {
        schema.remove(name);
    }
    match schema.to_value() {
        Value::Object(it) => it,
        _ => Map::new(),
    }
}

/// Removes what says nothing: `"default": null`, and formats and bounds of Rust's integers.
fn tidy(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if schema
        .get("format")
        .is_some_and(|value| value.as_str().is_some_and(|text| text.starts_with("uint")))
    {
        schema.remove("format");
    }
}

/// Removes patterns, and `null` from types, words and alternatives. A plan is any object: its schema is too long for a list of tools.
fn simplify(schema: &mut Schema) {
    schema.remove("pattern");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|it| it != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if schema.get("$ref").is_some() {
        schema.remove("$ref");
        schema.insert("type".to_owned(), "object".into());
    }
    let alternatives = schema.get_mut("anyOf").and_then(Value::as_array_mut);
    let Some(alternatives) = alternatives else { return };
    alternatives.retain(|alternative| alternative["type"] != "null");
    if let [Value::Object(one)] = alternatives.as_slice() {
        let one = one.clone();
        schema.remove("anyOf");
        for (name, value) in one {
            // The description of the field goes before that of its type.
            if schema.get(&name).is_none() {
                schema.insert(name, value);
            }
        }
    }
}
