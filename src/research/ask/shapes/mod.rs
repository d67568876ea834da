//! What each step asks a model: its prompt, the shape of the answer, and what an answer must keep to.
//!
//! A shape is not yet a noun: the step earns its nouns from it. Schemas are strict (every property required, no others)
//! and bound their lists, which is what stops a small model whose words are constrained by them.
mod judging;
mod planning;
mod reading;
mod supervising;
mod writing;

pub use judging::{JudgeAnswerAsk, JudgeProcessAsk, Judged, JudgedPart};
pub use planning::{
    PlanAsk, Planned, PlannedItem, PlannedSection, Queried, QueriesAsk, QueryRow, RefineAsk,
    Refined, changed,
};
pub use reading::{CoverAsk, Covered, Verdict, Verified, VerifyAsk, WeighAsk, Weighed, WeighedRow};
pub use supervising::{
    LeadAction, NoteRow, RefineSearchAsk, ResearchAsk, Researched, SuperviseAsk, Supervised,
    TasksRow, UnitAction, UnitRow,
};
pub use writing::{
    AnswerAsk, Answered, EvidenceRow, WriteAsk, Written, WrittenSection, WrittenSentence,
};

use serde_json::{Map, Value, json};

use super::template::render;
use crate::error::Result;
use crate::research::foreign::is_foreign;
use crate::research::prompts;
use crate::seams::{Message, Prompt, Role, Schema};

/// Longest query, characters: engines refuse longer ones.
pub(super) const QUERY_CHARS: usize = 300;

/// The prompt of step `step` from its file `step.md`.
fn prompt(step: &str, schema: Value, values: &[(&str, &str)]) -> Result<Prompt> {
    let file = format!("{step}.md");
    let rendered = render(&file, prompts::asked(&file)?, values)?;
    Ok(Prompt {
        purpose: step.to_owned(),
        system: rendered.system,
        messages: vec![Message {
            role: Role::User,
            text: rendered.user,
        }],
        schema: Some(Schema {
            name: step.to_owned(),
            json: schema,
        }),
        temperature: Some(0.0),
        max_tokens: Some(bound(step)),
        ..Prompt::default()
    })
}

/// The most tokens an answer of a step takes, with room for a model that thinks before it answers. Small
/// windows and slow machines are why there is a bound; steps that know better set their own.
fn bound(step: &str) -> u32 {
    match step {
        "answer" | "verify" | "cover" => 600,
        "refine" | "queries" | "supervise" | "research" | "refine_search" | "judge_answer"
        | "judge_process" => 1_000,
        _ => 2_500,
    }
}

/// An object with exactly these properties.
fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|it| it.0).collect();
    let properties: Map<String, Value> = fields
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

fn list(items: &Value, most: usize) -> Value {
    json!({"type": "array", "items": items, "maxItems": most})
}

/// `list` with so many elements at the least. A hint to servers that constrain words by it; steps make do with fewer.
fn at_least(fewest: usize, mut list: Value) -> Value {
    list["minItems"] = fewest.into();
    list
}

fn text() -> Value {
    json!({"type": "string"})
}

fn one_of<S: serde::Serialize>(words: &[S]) -> Value {
    if words.is_empty() {
        return text();
    }
    json!({"type": "string", "enum": words})
}

fn whole_number() -> Value {
    json!({"type": "integer"})
}

/// What the answer is written in, in words for a prompt: the language of this two-letter code, else the question's.
pub fn language(code: Option<&str>) -> String {
    const NAMES: &[(&str, &str)] = &[
        ("ar", "Arabic"),
        ("cs", "Czech"),
        ("da", "Danish"),
        ("de", "German"),
        ("en", "English"),
        ("es", "Spanish"),
        ("fi", "Finnish"),
        ("fr", "French"),
        ("hi", "Hindi"),
        ("it", "Italian"),
        ("ja", "Japanese"),
        ("ko", "Korean"),
        ("nl", "Dutch"),
        ("no", "Norwegian"),
        ("pl", "Polish"),
        ("pt", "Portuguese"),
        ("ru", "Russian"),
        ("sv", "Swedish"),
        ("tr", "Turkish"),
        ("uk", "Ukrainian"),
        ("vi", "Vietnamese"),
        ("zh", "Chinese"),
    ];
    match code {
        None => "the language of the question".to_owned(),
        Some(code) => NAMES.iter().find(|it| it.0 == code).map_or_else(
            || format!("the language with the code {code}"),
            |it| it.1.to_owned(),
        ),
    }
}

/// Rows of a list in a prompt; `none` without any.
fn rows<S: AsRef<str>>(all: impl IntoIterator<Item = S>) -> String {
    let lines: Vec<String> = all
        .into_iter()
        .map(|it| format!("- {}", it.as_ref()))
        .collect();
    or_none(lines.join("\n"))
}

fn or_none(text: String) -> String {
    if text.is_empty() {
        "none".to_owned()
    } else {
        text
    }
}

/// A fault unless `holds`.
fn must(holds: bool, fault: impl FnOnce() -> String) -> std::result::Result<(), String> {
    if holds { Ok(()) } else { Err(fault()) }
}

/// A fault unless `query` can be sent to an engine.
fn searchable(query: &str) -> std::result::Result<(), String> {
    let length = query.trim().chars().count();
    must((2..=QUERY_CHARS).contains(&length), || {
        format!("a query has {length} characters; 2 to {QUERY_CHARS} are allowed")
    })
}

/// A fault if words for a reader hold an address, a citation number or an id of evidence: code writes those.
fn without_citations(words: &str) -> std::result::Result<(), String> {
    let lower = words.to_lowercase();
    must(
        !["http://", "https://", "www.", "]("]
            .iter()
            .any(|it| lower.contains(it)),
        || "the text holds a link; links are added later".to_owned(),
    )?;
    must(!has_number_in_brackets(words), || {
        "the text holds a number or an id in brackets; name evidence in `evidence` alone".to_owned()
    })
}

/// A fault if `words` hold an address or a code that nothing of `known` holds. It is not named: what a page wants said is
/// not said in a fault either.
fn without_marks<'a>(
    words: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> std::result::Result<(), String> {
    must(!is_foreign(words, known), || {
        "the text holds an address or a code that nothing shown for it holds".to_owned()
    })
}

/// Whether `[3]`, `[E3]`, `(E3)` or `[1, 2]` stands in `words`.
fn has_number_in_brackets(words: &str) -> bool {
    words.split(['[', '【', '(']).skip(1).any(|it| {
        let Some(end) = it.find([']', '】', ')']) else {
            return false;
        };
        let square = !it[end..].starts_with(')');
        let mut parts = it[..end].split([',', ';', '-', '–']).map(str::trim);
        !it[..end].trim().is_empty()
            && parts.all(|it| {
                let number = it.trim_start_matches(['E', 'e']);
                let is_id = number.len() < it.len();
                let digits = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
                digits && number.len() < 4 && (square || is_id)
            })
    })
}
