//! A scripted model for tests that records when and what it was asked.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink, TokenUsage};
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::service_error::ServiceError;

/// A reply of the script.
pub(super) enum ScriptedReply {
    /// An answer; streamed word by word.
    Text(&'static str),
    /// A complete completion.
    Whole(Box<Completion>),
    /// An error after these words were streamed.
    Fault(&'static str, ServiceError),
    /// An error without a service fault.
    Error(ErrorKind),
}

pub(super) struct ScriptedModel {
    name: &'static str,
    script: Mutex<VecDeque<ScriptedReply>>,
    takes: Duration,
    pub(super) asked: Mutex<Vec<(Instant, Prompt)>>,
}

impl ScriptedModel {
    /// Creates a model that replies with `script` in order, then with `ok`.
    pub(super) fn new(
        name: &'static str,
        script: impl IntoIterator<Item = ScriptedReply>,
    ) -> Arc<ScriptedModel> {
        ScriptedModel::with_delay(Duration::ZERO, name, script)
    }

    /// Creates a model that takes the given time for each reply.
    pub(super) fn with_delay(
        takes: Duration,
        name: &'static str,
        script: impl IntoIterator<Item = ScriptedReply>,
    ) -> Arc<ScriptedModel> {
        Arc::new(ScriptedModel {
            name,
            script: Mutex::new(script.into_iter().collect()),
            takes,
            asked: Mutex::default(),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    async fn say(&self, prompt: &Prompt) -> ScriptedReply {
        let asked = (Instant::now(), prompt.clone());
        self.asked.lock().unwrap().push(asked);
        if !self.takes.is_zero() {
            sleep(self.takes).await;
        }
        let next = self.script.lock().unwrap().pop_front();
        next.unwrap_or(ScriptedReply::Text("ok"))
    }
}

#[async_trait]
impl LanguageModel for ScriptedModel {
    fn name(&self) -> &str {
        self.name
    }

    async fn complete(
        &self,
        prompt: &Prompt,
        mut sink: Option<TextSink<'_>>,
    ) -> Result<Completion> {
        let mut stream_words = |text: &str| {
            if let Some(sink) = &mut sink {
                text.split_inclusive(' ').for_each(sink);
            }
        };
        match self.say(prompt).await {
            ScriptedReply::Text(text) => {
                stream_words(text);
                Ok(completion(text))
            }
            ScriptedReply::Whole(it) => Ok(*it),
            ScriptedReply::Fault(told, fault) => {
                stream_words(told);
                Err(fault.into_error(format!("asking {}", self.name)))
            }
            ScriptedReply::Error(kind) => Err(Error::new(kind, "something else")),
        }
    }
}

/// Creates a prompt for `purpose`.
pub(super) fn prompt(purpose: &str) -> Prompt {
    Prompt::from_text(purpose, "What is moss?")
}

/// Creates a completion of 100 input tokens and 10 output tokens.
pub(super) fn completion(text: &str) -> Completion {
    Completion {
        tokens: TokenUsage { input: Some(100), output: Some(10), ..TokenUsage::default() },
        ..Completion::from_text(text)
    }
}

/// Creates an error with `status` that asks to wait for some seconds.
pub(super) fn refusal(status: u16, wait: Option<u64>) -> ScriptedReply {
    ScriptedReply::Fault(
        "",
        ServiceError {
            status: Some(status),
            retry_after: wait.map(Duration::from_secs),
            ..ServiceError::transient("not now")
        },
    )
}
