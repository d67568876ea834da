//! What models were told and answered, for telemetry where the operator wants it in: it is in the journal already.
use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::seams::{Completion, Prompt, Step, StepState};

/// One exchange, in the shape of `gen_ai.input.messages` and `gen_ai.output.messages`.
pub(super) struct Thought {
    tokens: (Option<u64>, Option<u64>),
    pub(super) input: String,
    pub(super) output: String,
}

/// All exchanges of a run that were answered, in the order they were begun.
pub(super) struct Thoughts(VecDeque<Thought>);

impl Thoughts {
    /// Those among `steps`.
    pub(super) fn of(steps: &[Step]) -> Thoughts {
        let read = |it: &Step| {
            let StepState::Answered(answered) = &it.state else {
                return None;
            };
            if !it.door.starts_with("model:") {
                return None;
            }
            let prompt: Prompt = serde_json::from_value(it.asked.clone()).ok()?;
            let answer: Completion = serde_json::from_value(answered.answer.clone()).ok()?;
            let message = |role: Value, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
            let mut input = Vec::new();
            if let Some(system) = &prompt.system {
                input.push(message("system".into(), system));
            }
            for it in &prompt.messages {
                input.push(message(json!(it.role), &it.text));
            }
            Some(Thought {
                tokens: (answer.tokens.input, answer.tokens.output),
                input: Value::Array(input).to_string(),
                output: json!([message("assistant".into(), &answer.text)]).to_string(),
            })
        };
        Thoughts(steps.iter().filter_map(read).collect())
    }

    /// The exchange that an event tells of: with these counts, the first not yet taken. Two alike may change places.
    pub(super) fn take(&mut self, taken: Option<u64>, given: Option<u64>) -> Option<Thought> {
        let alike = |it: &Thought| it.tokens == (taken, given);
        let at = self.0.iter().position(alike)?;
        self.0.remove(at)
    }
}
