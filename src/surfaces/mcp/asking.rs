//! Questions back: what a run leaves open is put to the person by their host (elicitation), at most three short texts in one form.
//!
//! Hosts of revision 2026-07-28 get the form as the result of the call and send the call again with what was filled in. Those before
//! it are asked over the open connection, while the call and the run wait. Who declares no elicitation reads the questions in the
//! result, and may give `answers` to `research_wait`.
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

use super::{Answer, Mcp, fault, made};
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};
use crate::record::Run;
use crate::seams::Order;
use crate::surfaces::desk::{CallerRun, CallerService};

/// Most questions of a form, and the longest of each and of an answer, characters.
const MOST: usize = 3;
const LONGEST: usize = 500;
const LONGEST_ANSWER: usize = 2_000;

/// How long a person may take over a form; then the run goes on with what it has.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Runs that are remembered to have been asked about.
const KNOWN: usize = 10_000;

/// The name of the form among what a call needs.
const FORM: &str = "clarify";

/// How a host can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Not at all: the questions are told in the result.
    Told,
    /// By a request over the connection that is open.
    Request,
    /// By the result of its call, which it then sends again.
    Result,
}

/// Runs whose questions have been put to a person, and who waits for what they say. Dropped, nobody waits any longer.
#[derive(Default)]
pub(super) struct Open {
    runs: Mutex<BTreeSet<RunId>>,
    waits: Mutex<JoinSet<()>>,
}

impl Open {
    /// Notes that the questions of `run` need not be put to anybody again; says whether that is new. A run asks once.
    pub(super) fn heard(&self, run: &RunId) -> bool {
        let mut runs = locked(&self.runs);
        let new = runs.insert(run.clone());
        while runs.len() > KNOWN {
            // Ids grow with time.
            runs.pop_first();
        }
        new
    }

    /// Whether somebody has the questions of `run` before them, or has answered.
    pub(super) fn is_heard(&self, run: &RunId) -> bool {
        locked(&self.runs).contains(run)
    }
}

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mcp {
    /// How the host behind this call can be asked.
    pub(super) fn way(&self, context: &RequestContext<RoleServer>) -> Way {
        let fills_forms = |it: &ClientCapabilities| {
            let asked = it.elicitation.as_ref();
            // Hosts of the first revision that had it say no more than that they have it.
            asked.is_some_and(|it| it.form.is_some() || it.url.is_none())
        };
        if !context
            .client_capabilities()
            .is_some_and(|it| fills_forms(&it))
        {
            return Way::Told;
        }
        match context.protocol_version() {
            Some(it) if it >= ProtocolVersion::V_2026_07_28 => Way::Result,
            // Over HTTP no connection stays open to ask over.
            _ if self.local.is_some() => Way::Request,
            _ => Way::Told,
        }
    }

    /// Puts the questions of `run` to the person over the open connection, unless they are before them already; what they say is left
    /// for the run. A form that is declined, cancelled or left lying is an answer, too: that the run may go on.
    pub(super) fn ask_over(&self, run: &CallerRun, questions: &[String], peer: &Peer<RoleServer>) {
        let Ok(form) = made::<ElicitRequestParams>(form(questions)) else {
            return;
        };
        if !self.open.heard(run.id()) {
            return;
        }
        let (run, peer, count) = (run.clone(), peer.clone(), questions.len());
        let mut waits = locked(&self.open.waits);
        while waits.try_join_next().is_some() {}
        waits.spawn(async move {
            let said = peer.create_elicitation_with_timeout(form, Some(PATIENCE));
            let answers = match said.await {
                Ok(it) if it.action == ElicitationAction::Accept => {
                    answers(it.content.as_ref(), count)
                }
                _ => Vec::new(),
            };
            reply(&run, answers).await;
        });
    }

    /// The run that a call goes on with that was sent again with what the person said; `None` where it is a call of its own.
    pub(super) async fn said_again(
        &self,
        service: &CallerService,
        request: &CallToolRequestParams,
    ) -> Answer<Option<CallerRun>> {
        let Some(state) = &request.request_state else {
            return Ok(None);
        };
        // The state is a handle that comes from outside: whose run it is, is looked up.
        let run = service.run(state).await;
        let run = run.map_err(|it| fault(&it))?;
        let said = request.input_responses.as_ref().and_then(|it| it.get(FORM));
        // Sent twice, it is heard once: what the run has been told stays.
        if let Some(said) = said.filter(|_| self.open.heard(run.id())) {
            let accepted = said["action"] == "accept";
            let content = said.get("content").filter(|_| accepted);
            reply(&run, answers(content, MOST)).await;
        }
        Ok(Some(run))
    }
}

/// Leaves the answers for the run. One that has ended meanwhile, or been answered elsewhere, no longer needs them.
async fn reply(run: &CallerRun, answers: Vec<String>) {
    let _ = run.order(Order::Reply(answers)).await;
}

/// The questions that `run` waits for a person with, if it does.
pub(super) fn asks(run: &Run) -> Option<&[String]> {
    let asks = &run.asks[..run.asks.len().min(MOST)];
    (run.awaiting_clarification && !asks.is_empty()).then_some(asks)
}

/// What was asked back and what was said to it, of a run that has asked; where nothing was said, that it went on without.
pub(super) fn said(run: &Run) -> Option<Value> {
    let asked = run.question.as_ref().is_some_and(|it| it.clarify);
    let brief = run.brief.as_ref().filter(|_| asked)?;
    let all = &brief.clarified;
    if all.is_empty() {
        return None;
    }
    let mut out = json!({"questions": all});
    if all.iter().all(|it| it.answer.is_none()) {
        out["note"] =
            "nobody answered (declined, cancelled or not in time): it was researched as it stands"
                .into();
    }
    Some(out)
}

/// The form as the result of a call, with the run as the handle to go on with.
pub(super) fn as_result(run: &RunId, questions: &[String]) -> Result<CallToolResponse> {
    let it: InputRequiredResult = serde_json::from_value(json!({
        "resultType": "input_required",
        "inputRequests": {FORM: {"method": "elicitation/create", "params": form(questions)}},
        "requestState": run,
    }))
    .map_err(|it| Error::new(Kind::Internal, "asking the host").because(it))?;
    Ok(CallToolResponse::InputRequired(it))
}

/// A flat form, one text for each question, none of them needed.
fn form(questions: &[String]) -> Value {
    let mut fields = Map::new();
    for (nth, it) in questions.iter().take(MOST).enumerate() {
        let title: String = it.chars().take(LONGEST).collect();
        let field = json!({"type": "string", "title": title, "maxLength": LONGEST_ANSWER});
        fields.insert(name(nth), field);
    }
    json!({
        "mode": "form",
        "message": "The question can be read in more than one way. Leave empty what does not matter to you.",
        "requestedSchema": {"type": "object", "properties": fields},
    })
}

fn name(nth: usize) -> String {
    format!("answer_{}", nth + 1)
}

/// What was filled in, one text for each of `count` questions; nothing where nothing was.
fn answers(content: Option<&Value>, count: usize) -> Vec<String> {
    let of = |nth| {
        let said = content.and_then(|it| it.get(name(nth)));
        let said = said.and_then(Value::as_str).unwrap_or_default().trim();
        said.chars().take(LONGEST_ANSWER).collect()
    };
    let all: Vec<String> = (0..count).map(of).collect();
    match all.iter().all(String::is_empty) {
        true => Vec::new(),
        false => all,
    }
}

/// `answers` of a call: one text for each question.
pub(super) fn given(it: Option<&Value>) -> Result<Option<Vec<String>>> {
    let wrong = || Error::new(Kind::Usage, "answers must be a list of at most three texts");
    let Some(it) = it.filter(|it| !it.is_null()) else {
        return Ok(None);
    };
    let rows = it
        .as_array()
        .filter(|it| it.len() <= MOST)
        .ok_or_else(wrong)?;
    let text = |it: &Value| -> Option<String> {
        Some(it.as_str()?.chars().take(LONGEST_ANSWER).collect())
    };
    let all: Option<Vec<String>> = rows.iter().map(text).collect();
    all.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_flat_has_three_fields_at_most_and_can_be_left_empty() {
        let asked: Vec<String> = (0..5).map(|it| format!("Which {it}?")).collect();
        let form = form(&asked);
        let fields = form["requestedSchema"]["properties"].as_object().unwrap();
        assert_eq!(fields.len(), 3);
        assert!(fields.values().all(|it| it["type"] == "string"));
        assert!(form["requestedSchema"]["required"].is_null());
        assert!(made::<ElicitRequestParams>(form).is_ok());
    }

    #[test]
    fn what_is_not_filled_in_is_an_empty_answer_and_an_empty_form_is_none() {
        let content = json!({"answer_2": " a wet one ", "answer_1": 7, "else": "x"});
        assert_eq!(answers(Some(&content), 3), ["", "a wet one", ""]);
        assert!(answers(Some(&json!({"answer_1": "  "})), 2).is_empty());
        assert!(answers(None, 2).is_empty());
        let long = "x".repeat(9_000);
        let cut = answers(Some(&json!({"answer_1": long})), 1);
        assert_eq!(cut[0].len(), LONGEST_ANSWER);
    }

    #[test]
    fn answers_of_a_call_are_a_short_list_of_texts() {
        assert_eq!(given(None).unwrap(), None);
        assert_eq!(given(Some(&json!([]))).unwrap(), Some(Vec::new()));
        assert_eq!(given(Some(&json!(["a"]))).unwrap().unwrap(), ["a"]);
        for wrong in [json!("a"), json!([1]), json!(["a", "b", "c", "d"])] {
            assert!(given(Some(&wrong)).is_err(), "{wrong}");
        }
    }
}
