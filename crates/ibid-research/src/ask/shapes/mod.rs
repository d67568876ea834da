//! The prompt of each step, the shape of its answer, and the checks an answer must pass.
//!
//! A reply is not yet a domain type: the step makes one from it. Schemas are strict (every property required,
//! no others) and bound their lists, which is what stops a small model under constrained decoding.
mod critique;
mod judging;
mod planning;
mod reading;
mod supervising;
mod writing;

pub use critique::{CritiquePrompt, CritiqueReply, CritiqueReplyRow, FlawKind, SentenceRow};
pub use judging::{JudgeAnswerPrompt, JudgeProcessPrompt, JudgeReply, JudgeReplyPart};
pub(crate) use planning::add_change_requests;
pub use planning::{
    PlanPrompt, PlanReply, PlannedItem, PlannedSection, QueriesPrompt, QueriesReply, QueryRow,
    RefinePrompt, RefineReply,
};
pub use reading::{
    CoverPrompt, CoverReply, Entailment, VerifyPrompt, VerifyReply, WeighPrompt, WeighReply,
    WeighReplyRow,
};
pub use supervising::{
    AssignmentRow, NoteRow, ResearcherAction, ResearcherPrompt, ResearcherReply, SupervisePrompt,
    SuperviseReply, SupervisorAction,
};
pub(crate) use writing::ANSWER_CHARS;
pub use writing::{
    AnswerPrompt, AnswerReply, EvidenceRow, RequestedSearch, WritePrompt, WriteReply,
    WrittenSection, WrittenSentence,
};

use serde_json::{Map, Value, json};

use super::template::render;
use crate::grounding::has_unknown_code;
use crate::prompts;
use ibid_core::Result;
use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{ChatMessage, Prompt, Role, Schema};

/// Longest query, in characters: engines reject longer ones.
pub(super) const QUERY_CHARS: usize = 300;

/// Renders the prompt of step `step` from its file `step.md`.
fn render_prompt(step: &str, schema: Value, values: &[(&str, &str)]) -> Result<Prompt> {
    let file = format!("{step}.md");
    let rendered = render(&file, prompts::prompt_template(&file)?, values)?;
    Ok(Prompt {
        purpose: step.to_owned(),
        system: rendered.system,
        messages: vec![ChatMessage { role: Role::User, text: rendered.user }],
        schema: Some(Schema { name: step.to_owned(), json: schema }),
        temperature: Some(0.0),
        max_tokens: Some(max_answer_tokens(step)),
        effort: Some(step_effort(step)),
        ..Prompt::default()
    })
}

/// Maximum tokens of a step's answer, without reasoning. The limit protects small windows and slow machines;
/// steps that know better set their own.
fn max_answer_tokens(step: &str) -> u32 {
    match step {
        "answer" | "verify" | "cover" => 600,
        "refine" | "queries" | "supervise" | "research" | "judge_answer" | "judge_process"
        | "critique" => 1_000,
        "answer_report" => 1_500,
        _ => 2_500,
    }
}

/// How much a model should reason in a step: little where it judges or rewords what it is shown.
pub(crate) fn step_effort(step: &str) -> ReasoningEffort {
    match step {
        "plan" | "supervise" | "research" | "write" | "critique" => ReasoningEffort::Medium,
        _ => ReasoningEffort::Low,
    }
}

/// An object with exactly these properties.
fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|field| field.0).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
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

/// `list` with a minimum length: a hint for servers with constrained decoding. Steps accept fewer elements.
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

/// The language to write in, in words for a prompt: that of this two-letter code, or else the question's.
pub fn language_name(code: Option<&str>) -> String {
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
        Some(code) => NAMES
            .iter()
            .find(|name| name.0 == code)
            .map_or_else(|| format!("the language with the code {code}"), |pair| pair.1.to_owned()),
    }
}

/// The rows of a list in a prompt, or `none`.
fn join_rows<S: AsRef<str>>(all: impl IntoIterator<Item = S>) -> String {
    let lines: Vec<String> = all.into_iter().map(|it| format!("- {}", it.as_ref())).collect();
    or_none(lines.join("\n"))
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

/// An error unless `holds`.
fn ensure_that(holds: bool, fault: impl FnOnce() -> String) -> std::result::Result<(), String> {
    if holds { Ok(()) } else { Err(fault()) }
}

/// An error unless `query` can be sent to an engine.
fn check_searchable(query: &str) -> std::result::Result<(), String> {
    let length = query.trim().chars().count();
    ensure_that((2..=QUERY_CHARS).contains(&length), || {
        format!("a query has {length} characters; 2 to {QUERY_CHARS} are allowed")
    })
}

/// An error if text for a reader holds an address, a citation number or an id of evidence: only code writes
/// those.
fn check_no_citations(words: &str) -> std::result::Result<(), String> {
    let lower = words.to_lowercase();
    ensure_that(
        !["http://", "https://", "www.", "]("].iter().any(|it| lower.contains(it)),
        || "the text holds a link; links are added later".to_owned(),
    )?;
    ensure_that(!has_number_in_brackets(words), || {
        "the text contains a number or an id in brackets; name evidence in `evidence` alone"
            .to_owned()
    })
}

/// An error if `words` hold an address or a code that is not in `known`. The error does not quote it, because
/// a page may have planted it.
fn check_no_unknown_codes<'a>(
    words: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> std::result::Result<(), String> {
    ensure_that(!has_unknown_code(words, known), || {
        "the text contains an address or a code that none of its evidence contains".to_owned()
    })
}

/// Whether `[3]`, `[E3]`, `(E3)` or `[1, 2]` occurs in `words`.
fn has_number_in_brackets(words: &str) -> bool {
    words.split(['[', '【', '(']).skip(1).any(|part| {
        let Some(end) = part.find([']', '】', ')']) else {
            return false;
        };
        let square = !part[end..].starts_with(')');
        let mut parts = part[..end].split([',', ';', '-', '–']).map(str::trim);
        !part[..end].trim().is_empty()
            && parts.all(|part| {
                let number = part.trim_start_matches(['E', 'e']);
                let is_id = number.len() < part.len();
                let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                digits && number.len() < 4 && (square || is_id)
            })
    })
}
