//! A model that says what a test tells it to, and remembers when and what it was asked.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use super::fault::ModelFault;
use crate::error::{Error, Kind, Result};
use crate::seams::{Completion, LanguageModel, Prompt, Sink, Tokens};

/// What the model says to one prompt.
pub(super) enum Say {
    /// An answer; streams tell it word by word.
    Text(&'static str),
    /// A whole completion.
    Whole(Box<Completion>),
    /// A fault, after a stream has told these words.
    Fault(&'static str, ModelFault),
    /// An error of another making.
    Error(Kind),
}

pub(super) struct Scripted {
    name: &'static str,
    script: Mutex<VecDeque<Say>>,
    takes: Duration,
    pub(super) asked: Mutex<Vec<(Instant, Prompt)>>,
}

impl Scripted {
    /// A model that says `script` in order, and `ok` when it is over.
    pub(super) fn new(name: &'static str, script: impl IntoIterator<Item = Say>) -> Arc<Scripted> {
        Scripted::taking(Duration::ZERO, name, script)
    }

    /// The same, each answer after a while.
    pub(super) fn taking(
        takes: Duration,
        name: &'static str,
        script: impl IntoIterator<Item = Say>,
    ) -> Arc<Scripted> {
        Arc::new(Scripted {
            name,
            script: Mutex::new(script.into_iter().collect()),
            takes,
            asked: Mutex::default(),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    async fn say(&self, prompt: &Prompt) -> Say {
        let asked = (Instant::now(), prompt.clone());
        self.asked.lock().unwrap().push(asked);
        if !self.takes.is_zero() {
            sleep(self.takes).await;
        }
        let next = self.script.lock().unwrap().pop_front();
        next.unwrap_or(Say::Text("ok"))
    }
}

#[async_trait]
impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        self.stream(prompt, &mut |_| ()).await
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        match self.say(prompt).await {
            Say::Text(text) => {
                text.split_inclusive(' ').for_each(sink);
                Ok(completion(text))
            }
            Say::Whole(it) => Ok(*it),
            Say::Fault(told, fault) => {
                told.split_inclusive(' ').for_each(sink);
                Err(Error::new(fault.kind, format!("asking {}", self.name)).because(fault))
            }
            Say::Error(kind) => Err(Error::new(kind, "something else")),
        }
    }
}

/// A prompt for `purpose`.
pub(super) fn prompt(purpose: &str) -> Prompt {
    Prompt::asking(purpose, "What is moss?")
}

/// A completion of 100 tokens in and 10 out.
pub(super) fn completion(text: &str) -> Completion {
    Completion {
        tokens: Tokens {
            input: Some(100),
            output: Some(10),
            ..Tokens::default()
        },
        ..Completion::said(text)
    }
}

/// A refusal under `status`, that asks to wait for some seconds.
pub(super) fn refusal(status: u16, wait: Option<u64>) -> Say {
    Say::Fault(
        "",
        ModelFault {
            status: Some(status),
            retry_after: wait.map(Duration::from_secs),
            ..ModelFault::transient("not now")
        },
    )
}
