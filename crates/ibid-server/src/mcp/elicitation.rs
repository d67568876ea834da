//! Clarifying questions: the host shows the user a form (elicitation) with at most three text fields.
//!
//! Hosts of revision 2026-07-28 get the form as the result of the call and repeat the call with the answers. Older hosts get a
//! request over the open connection while the call and the run wait. Hosts without elicitation find the questions in the result and
//! may pass `answers` to `research_wait`.
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ElicitRequestParams,
    ElicitationAction, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::protocol::{McpResult, from_json, to_error_data};
use crate::request_service::{CallerRun, CallerService};
use ibid_core::domain::RunId;
use ibid_core::ports::RunCommand;
use ibid_core::record::Run;
use ibid_core::{Error, ErrorKind, Result};

/// Maximum number of questions in a form.
const MAX_QUESTIONS: usize = 3;
/// Maximum length of a question in characters.
const MAX_QUESTION_CHARS: usize = 500;
/// Maximum length of an answer in characters.
const MAX_ANSWER_CHARS: usize = 2_000;

/// How long a user may take to answer a form; then the run continues without answers.
const FORM_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Maximum number of runs remembered as asked.
const MAX_REMEMBERED_RUNS: usize = 10_000;

/// The name of the form among the inputs that a call requires.
const FORM: &str = "clarify";

/// How a host takes clarifying questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElicitationMode {
    /// It does not: the result contains the questions.
    Unsupported,
    /// As a request over the open connection.
    Request,
    /// As the result of its call, which it then repeats.
    Result,
}

/// Runs whose questions were sent to a user, and the tasks that wait for the answers. Dropping it cancels the tasks.
#[derive(Default)]
pub(super) struct PendingElicitations {
    runs: Mutex<BTreeSet<RunId>>,
    waits: Mutex<JoinSet<()>>,
}

impl PendingElicitations {
    /// Records that the questions of `run` were sent; returns whether that is new. A run asks once.
    pub(super) fn mark_asked(&self, run: &RunId) -> bool {
        let mut runs = lock(&self.runs);
        let new = runs.insert(run.clone());
        while runs.len() > MAX_REMEMBERED_RUNS {
            // Ids are ordered by time, so the first is the oldest.
            runs.pop_first();
        }
        new
    }

    /// Whether the questions of `run` were sent or answered.
    pub(super) fn is_asked(&self, run: &RunId) -> bool {
        lock(&self.runs).contains(run)
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ElicitationMode {
    /// The mode that the client of this call supports. `is_local` is true over stdio, where the connection stays open.
    pub(super) fn for_client(
        context: &RequestContext<RoleServer>,
        is_local: bool,
    ) -> ElicitationMode {
        let supports_forms = |capabilities: &ClientCapabilities| {
            let elicitation = capabilities.elicitation.as_ref();
            // Hosts of the first revision with elicitation declare no kinds.
            elicitation
                .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
        };
        if !context.client_capabilities().is_some_and(|capabilities| supports_forms(&capabilities))
        {
            return ElicitationMode::Unsupported;
        }
        match context.protocol_version() {
            Some(version) if version >= ProtocolVersion::V_2026_07_28 => ElicitationMode::Result,
            _ if is_local => ElicitationMode::Request,
            _ => ElicitationMode::Unsupported,
        }
    }
}

impl PendingElicitations {
    /// Sends the questions of `run` to the user over the open connection, unless they were sent before, and the answers to the run.
    /// A form that is declined, cancelled or not answered in time counts as no answers, so that the run continues.
    pub(super) fn elicit(&self, run: &CallerRun, questions: &[String], peer: &Peer<RoleServer>) {
        let Ok(form) = from_json::<ElicitRequestParams>(elicitation_form(questions)) else {
            return;
        };
        if !self.mark_asked(run.id()) {
            return;
        }
        let (run, peer, count) = (run.clone(), peer.clone(), questions.len());
        let mut waits = lock(&self.waits);
        while waits.try_join_next().is_some() {}
        waits.spawn(async move {
            let reply = peer.create_elicitation_with_timeout(form, Some(FORM_TIMEOUT));
            let answers = match reply.await {
                Ok(reply) if reply.action == ElicitationAction::Accept => {
                    parse_form_answers(reply.content.as_ref(), count)
                }
                _ => Vec::new(),
            };
            send_reply(&run, answers).await;
        });
    }

    /// The run of a call that was repeated with the user's answers; `None` for a new call.
    pub(super) async fn resume_call(
        &self,
        service: &CallerService,
        request: &CallToolRequestParams,
    ) -> McpResult<Option<CallerRun>> {
        let Some(state) = &request.request_state else {
            return Ok(None);
        };
        // The state comes from the client, so the lookup checks the owner.
        let run = service.run(state).await;
        let run = run.map_err(|error| to_error_data(&error))?;
        let reply =
            request.input_responses.as_ref().and_then(|input_responses| input_responses.get(FORM));
        // Only the first reply counts.
        if let Some(reply) = reply.filter(|_| self.mark_asked(run.id())) {
            let accepted = reply["action"] == "accept";
            let content = reply.get("content").filter(|_| accepted);
            send_reply(&run, parse_form_answers(content, MAX_QUESTIONS)).await;
        }
        Ok(Some(run))
    }
}

/// Sends the answers to the run. Errors are ignored: a run that has ended or was answered elsewhere does not need them.
async fn send_reply(run: &CallerRun, answers: Vec<String>) {
    let _ = run.send_command(RunCommand::Reply(answers)).await;
}

/// The questions that `run` waits for the user to answer, if any.
pub(super) fn pending_questions(run: &Run) -> Option<&[String]> {
    let asks = &run.asks[..run.asks.len().min(MAX_QUESTIONS)];
    (run.awaiting_clarification && !asks.is_empty()).then_some(asks)
}

/// The clarifying questions of a run with their answers, and a note if there were none.
pub(super) fn clarification_json(run: &Run) -> Option<Value> {
    let asked = run.question.as_ref().is_some_and(|question| question.clarify);
    let brief = run.brief.as_ref().filter(|_| asked)?;
    let all = &brief.clarified;
    if all.is_empty() {
        return None;
    }
    let mut out = json!({"questions": all});
    if all.iter().all(|it| it.answer.is_none()) {
        out["note"] =
            "no answer (declined, cancelled or timed out); the question was researched unchanged"
                .into();
    }
    Some(out)
}

/// The form as the result of a call, with the run's id as the state to repeat.
pub(super) fn input_required(run: &RunId, questions: &[String]) -> Result<CallToolResponse> {
    let it: InputRequiredResult = serde_json::from_value(json!({
        "resultType": "input_required",
        "inputRequests": {FORM: {"method": "elicitation/create", "params": elicitation_form(questions)}},
        "requestState": run,
    }))
    .map_err(|error| Error::new(ErrorKind::Internal, "building the form for the host").with_source(error))?;
    Ok(CallToolResponse::InputRequired(it))
}

/// A flat form with one optional text field per question.
fn elicitation_form(questions: &[String]) -> Value {
    let mut fields = Map::new();
    for (nth, it) in questions.iter().take(MAX_QUESTIONS).enumerate() {
        let title: String = it.chars().take(MAX_QUESTION_CHARS).collect();
        let field = json!({"type": "string", "title": title, "maxLength": MAX_ANSWER_CHARS});
        fields.insert(field_name(nth), field);
    }
    json!({
        "mode": "form",
        "message": "The question has more than one meaning. Leave a field empty if it does not matter to you.",
        "requestedSchema": {"type": "object", "properties": fields},
    })
}

fn field_name(nth: usize) -> String {
    format!("answer_{}", nth + 1)
}

/// The answers, one text for each of `count` questions; empty if every field is empty.
fn parse_form_answers(content: Option<&Value>, count: usize) -> Vec<String> {
    let answer = |nth| {
        let field = content.and_then(|content| content.get(field_name(nth)));
        let text = field.and_then(Value::as_str).unwrap_or_default().trim();
        text.chars().take(MAX_ANSWER_CHARS).collect()
    };
    let all: Vec<String> = (0..count).map(answer).collect();
    if all.iter().all(String::is_empty) { Vec::new() } else { all }
}

/// The argument `answers`, one text for each question, each cut to its greatest length.
///
/// # Errors
/// `Usage` if there are more than three.
pub(super) fn cut_answers(answers: &[String]) -> Result<Vec<String>> {
    if answers.len() > MAX_QUESTIONS {
        return Err(Error::new(ErrorKind::Usage, "answers must be a list of at most three texts"));
    }
    Ok(answers.iter().map(|answer| answer.chars().take(MAX_ANSWER_CHARS).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_flat_has_three_fields_at_most_and_can_be_left_empty() {
        let asked: Vec<String> = (0..5).map(|index| format!("Which {index}?")).collect();
        let form = elicitation_form(&asked);
        let fields = form["requestedSchema"]["properties"].as_object().unwrap();
        assert_eq!(fields.len(), 3);
        assert!(fields.values().all(|value| value["type"] == "string"));
        assert!(form["requestedSchema"]["required"].is_null());
        assert!(from_json::<ElicitRequestParams>(form).is_ok());
    }

    #[test]
    fn what_is_not_filled_in_is_an_empty_answer_and_an_empty_form_is_none() {
        let content = json!({"answer_2": " a wet one ", "answer_1": 7, "else": "x"});
        assert_eq!(parse_form_answers(Some(&content), 3), ["", "a wet one", ""]);
        assert!(parse_form_answers(Some(&json!({"answer_1": "  "})), 2).is_empty());
        assert!(parse_form_answers(None, 2).is_empty());
        let long = "x".repeat(9_000);
        let cut = parse_form_answers(Some(&json!({"answer_1": long})), 1);
        assert_eq!(cut[0].len(), MAX_ANSWER_CHARS);
    }

    #[test]
    fn answers_of_a_call_are_a_short_list_of_texts() {
        let texts = |n: usize| vec!["a".repeat(9_000); n];
        assert!(cut_answers(&texts(0)).unwrap().is_empty());
        assert_eq!(cut_answers(&texts(1)).unwrap()[0].len(), MAX_ANSWER_CHARS);
        assert!(cut_answers(&texts(4)).is_err());
    }
}
