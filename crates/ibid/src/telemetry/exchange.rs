//! Prompts and answers of model calls, read from the journal, for traces with content.
use std::collections::VecDeque;

use serde_json::{Value, json};

use ibid_core::ports::{Completion, JournalCall, JournalCallState, Prompt};

/// One prompt with its answer, in the JSON of `gen_ai.input.messages` and `gen_ai.output.messages`.
pub(super) struct ModelExchange {
    tokens: (Option<u64>, Option<u64>),
    pub(super) input: String,
    pub(super) output: String,
}

/// All answered calls of a run, in the order in which they started.
pub(super) struct ModelExchanges(VecDeque<ModelExchange>);

impl ModelExchanges {
    /// The model calls in `steps`.
    pub(super) fn from_steps(steps: &[JournalCall]) -> ModelExchanges {
        let exchange = |step: &JournalCall| {
            let JournalCallState::Answered(answered) = &step.state else {
                return None;
            };
            if !step.provider.starts_with("model:") {
                return None;
            }
            let prompt: Prompt = serde_json::from_value(step.request.clone()).ok()?;
            let answer: Completion = serde_json::from_value(answered.answer.clone()).ok()?;
            let message = |role: Value, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
            let mut input = Vec::new();
            if let Some(system) = &prompt.system {
                input.push(message("system".into(), system));
            }
            for it in &prompt.messages {
                input.push(message(json!(it.role), &it.text));
            }
            Some(ModelExchange {
                tokens: (answer.tokens.input, answer.tokens.output),
                input: Value::Array(input).to_string(),
                output: json!([message("assistant".into(), &answer.text)]).to_string(),
            })
        };
        ModelExchanges(steps.iter().filter_map(exchange).collect())
    }

    /// Removes the first exchange with these token counts, which identify the call of an event. Two calls with equal counts may be mixed up.
    pub(super) fn take(
        &mut self,
        input: Option<u64>,
        output: Option<u64>,
    ) -> Option<ModelExchange> {
        let same = |exchange: &ModelExchange| exchange.tokens == (input, output);
        let at = self.0.iter().position(same)?;
        self.0.remove(at)
    }
}
