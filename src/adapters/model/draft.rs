//! An answer while it is being put together.
use serde_json::Value;

use super::think::Thinking;
use crate::seams::{Completion, Finish, Tokens, ToolCall};

/// What is known of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    /// How much of `text` was already handed on.
    told: usize,
    reasoning: String,
    thinking: Option<Thinking>,
    calls: Vec<Call>,
    citations: Vec<String>,
    pub(super) finish: Option<Finish>,
    pub(super) tokens: Tokens,
    pub(super) cost_usd: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) refusal: Option<String>,
}

/// A tool call in pieces.
#[derive(Debug, Default, Clone)]
pub(super) struct Call {
    /// What the pieces of one call have in common, where the dialect numbers them.
    pub(super) slot: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Draft {
    /// An empty draft; with `inline`, reasoning between `<think>` and `</think>` is taken out of the text.
    pub(super) fn new(inline: bool) -> Draft {
        Draft {
            thinking: inline.then(Thinking::default),
            ..Draft::default()
        }
    }

    /// Text of the answer goes on.
    pub(super) fn say(&mut self, text: &str) {
        match &mut self.thinking {
            Some(thinking) => thinking.feed(text, &mut self.text, &mut self.reasoning),
            None => self.text.push_str(text),
        }
    }

    /// Reasoning goes on.
    pub(super) fn reason(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    /// Reasoning goes on with a new paragraph.
    pub(super) fn reason_anew(&mut self) {
        if !self.reasoning.is_empty() {
            self.reasoning.push_str("\n\n");
        }
    }

    /// Whether any text was said.
    pub(super) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether any tool was called.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The refusal goes on.
    pub(super) fn refuse(&mut self, text: &str) {
        if !text.is_empty() {
            self.refusal.get_or_insert_default().push_str(text);
        }
    }

    /// A source that the answer names.
    pub(super) fn cite(&mut self, url: Option<&Value>) {
        if let Some(url) = url.and_then(Value::as_str)
            && url.contains("://")
            && !self.citations.iter().any(|it| it == url)
        {
            self.citations.push(url.to_owned());
        }
    }

    /// A whole tool call.
    pub(super) fn call(&mut self, id: &str, name: &str, arguments: String) {
        self.calls.push(Call {
            slot: None,
            id: id.to_owned(),
            name: name.to_owned(),
            arguments,
        });
    }

    /// A piece of a tool call: of the one numbered `slot`, else of the one called `id`, else of the last.
    ///
    /// A new id with a name begins a new call also in a taken slot: some servers number every call 0.
    pub(super) fn piece(&mut self, slot: Option<u64>, id: &str, name: &str) -> &mut Call {
        let numbered =
            slot.and_then(|slot| self.calls.iter().rposition(|it| it.slot == Some(slot)));
        let named = || {
            let known = self.calls.iter().rposition(|it| it.id == id);
            if id.is_empty() {
                self.calls.len().checked_sub(1)
            } else {
                known
            }
        };
        let found = match slot {
            Some(_) => numbered,
            None => named(),
        };
        let found = found.filter(|&it| {
            let call = &self.calls[it];
            id.is_empty() || name.is_empty() || call.id.is_empty() || call.id == id
        });
        let at = found.unwrap_or_else(|| {
            self.calls.push(Call {
                slot,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        if call.name.is_empty() {
            call.name = name.to_owned();
        }
        call
    }

    /// The call that was begun last.
    pub(super) fn last_call(&mut self) -> Option<&mut Call> {
        self.calls.last_mut()
    }

    /// Text that was said since this was last asked.
    pub(super) fn fresh(&mut self) -> String {
        let fresh = self.text.get(self.told..).unwrap_or_default().to_owned();
        self.told = self.text.len();
        fresh
    }

    /// No more pieces will come: what was held back is let go.
    pub(super) fn close(&mut self) {
        if let Some(thinking) = &mut self.thinking {
            thinking.close(&mut self.text, &mut self.reasoning);
        }
    }

    /// The completion. `answer_tool` is the tool that the model was made to answer through, if it was.
    pub(super) fn completion(mut self, answer_tool: Option<&str>) -> Completion {
        let mut finish = self.finish.unwrap_or(Finish::Stop);
        if let Some(tool) = answer_tool
            && let Some(at) = self.calls.iter().position(|it| it.name == tool)
        {
            self.text = self.calls.remove(at).arguments;
            if finish == Finish::Tool && self.calls.is_empty() {
                finish = Finish::Stop;
            }
        }
        let calls = self.calls.into_iter().map(|it| ToolCall {
            id: it.id,
            name: it.name,
            arguments: it.arguments,
        });
        Completion {
            text: self.text,
            reasoning: Some(self.reasoning).filter(|it| !it.is_empty()),
            tool_calls: calls.collect(),
            finish,
            tokens: self.tokens,
            cost_usd: self.cost_usd.filter(|it| it.is_finite() && *it >= 0.0),
            model: self.model.filter(|it| !it.is_empty()),
            refusal: self.refusal,
            citations: self.citations,
            ms: None,
        }
    }
}

/// A count, also where it is written as `12.0`; nothing where it is null or not there.
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    let whole = |it: f64| (0.0..1e15).contains(&it).then_some(it as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

/// The string `name` of `value`; empty where it is not there.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Arguments of a tool call as JSON text: as sent, or written out where they were sent as an object.
pub(super) fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
