//! A judge for small forms that answers by a function and can stop answering, as if the program had been killed.
use std::collections::BTreeMap;
use std::future::pending;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink};
use tokio::sync::Notify;

use super::Judge;
use crate::Fault;

type AnswerFn = fn(&str) -> String;

/// A model with an answer to every prompt.
pub(crate) struct ScriptedJudge {
    answer: AnswerFn,
    /// How many prompts are answered; the next one never is.
    most: usize,
    asked: Mutex<BTreeMap<String, usize>>,
    /// Notified when a prompt is not answered.
    silent: Notify,
}

impl ScriptedJudge {
    /// A model that answers `most` prompts with what `answer` makes of their text.
    pub(crate) fn new(answer: AnswerFn, most: usize) -> Arc<ScriptedJudge> {
        let asked = Mutex::default();
        Arc::new(ScriptedJudge { answer, most, asked, silent: Notify::new() })
    }

    /// A judge with this model, its answers in `dir`.
    pub(crate) fn judge(self: &Arc<Self>, dir: &Path, window: u64) -> Result<Judge, Fault> {
        let model: Arc<dyn LanguageModel> = Arc::clone(self) as _;
        Judge::of(model, "scripted".to_owned(), &dir.join("judge.jsonl"), (window, 1))
    }

    /// How many prompts were answered.
    pub(crate) fn answered(&self) -> usize {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.values().sum::<usize>().min(self.most)
    }

    /// Waits until a prompt is not answered.
    pub(crate) async fn silence(&self) {
        self.silent.notified().await;
    }
}

#[async_trait]
impl LanguageModel for ScriptedJudge {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn complete(
        &self,
        prompt: &Prompt,
        _: Option<TextSink<'_>>,
    ) -> ibid_core::Result<Completion> {
        let text = prompt.messages.last().map_or("", |message| message.text.as_str());
        let before = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            *asked.entry(text.to_owned()).or_default() += 1;
            asked.values().sum::<usize>() - 1
        };
        if before >= self.most {
            self.silent.notify_one();
            pending::<()>().await;
        }
        Ok(Completion::from_text((self.answer)(text)))
    }
}
