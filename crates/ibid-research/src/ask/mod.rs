//! Asks a model: builds a prompt that fits, and parses the answer into a type.
//!
//! A step fills a [`template`], in which untrusted text is fenced, chooses with [`fit`] what goes in, and
//! calls [`ask_typed`] with the prompt of one of the [`shapes`]. When the model fails, the error says so and
//! the step's heuristic takes over.
mod conform;
pub mod fit;
mod lenient_json;
pub mod parse;
pub mod shapes;
mod streaming;
pub mod template;

use crate::thresholds::RETRY_TEMPERATURE;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::prompts;
use ibid_core::ports::{Completion, FinishReason, LanguageModel, Prompt};
use ibid_core::{Error, ErrorKind, FailureReason, Result};
use parse::{ParseQuality, parse_answer};
pub use streaming::{AnswerListener, SentenceStream};

/// A value from a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedAnswer<T> {
    /// The value, which has passed its check.
    pub value: T,
    /// Whether the answer had to be repaired.
    pub repaired: bool,
    /// How often the model was asked: 1 or 2.
    pub attempts: u32,
}

/// Asks for a value of the prompt's schema and checks it. If the answer cannot be used, asks once more and
/// names the fault.
///
/// The second prompt says what was wrong but does not show the first answer, because small models repeat what
/// they see. An answer that repeats the example of the prompt does not count. A model that does not accept
/// the schema is asked without it. A refusal, or an answer held back by a filter, is not retried. An answer
/// cut off at its limit counts if its complete part passes the check.
///
/// # Errors
/// `Malformed`, naming step and model, when no answer can be used; otherwise the error of the model.
pub async fn ask_typed<T: DeserializeOwned>(
    model: &dyn LanguageModel,
    prompt: Prompt,
    check: impl Fn(&T) -> std::result::Result<(), String>,
) -> Result<TypedAnswer<T>> {
    ask_typed_streaming(model, prompt, None, check).await
}

/// Like [`ask_typed`]; `listener` receives each answer as it is written.
///
/// # Errors
/// Those of [`ask_typed`].
pub(crate) async fn ask_typed_streaming<T: DeserializeOwned>(
    model: &dyn LanguageModel,
    mut prompt: Prompt,
    mut listener: Option<&mut dyn AnswerListener>,
    check: impl Fn(&T) -> std::result::Result<(), String>,
) -> Result<TypedAnswer<T>> {
    let schema = prompt.schema.as_ref().map_or(Value::Null, |schema| schema.json.clone());
    let mut asked = 0;
    loop {
        asked += 1;
        let answer = match &mut listener {
            None => model.complete(&prompt, None).await,
            Some(it) => {
                it.restart();
                model.complete(&prompt, Some(&mut |piece| it.on_text(piece))).await
            }
        };
        let completion = match answer {
            Err(it)
                if asked == 1
                    && it.kind() == ErrorKind::Malformed
                    && !it.is_prompt_too_long()
                    && it.reason() != Some(&FailureReason::Declined)
                    && prompt.schema.is_some() =>
            {
                prompt.schema = None;
                continue;
            }
            it => it?,
        };
        if let Some(why) = refusal_reason(&completion) {
            let fault = unusable_answer(model, &prompt, &why);
            return Err(fault.with_reason(FailureReason::Declined));
        }
        let answer = answer_text(&completion);
        let checked = parse_answer::<T>(answer, &schema).and_then(|it| {
            check_not_example(&prompt.purpose, answer)?;
            check(&it.value)?;
            Ok(it)
        });
        let fault = match checked {
            Ok(it) => {
                let repaired = it.how == ParseQuality::Repaired;
                return Ok(TypedAnswer { value: it.value, repaired, attempts: asked });
            }
            Err(fault) => fault,
        };
        let fault = match completion.finish {
            FinishReason::Length => format!("{fault}; the answer was too long and was cut off"),
            _ => fault,
        };
        if asked == 2 {
            return Err(unusable_answer(model, &prompt, &fault));
        }
        let short = completion.finish == FinishReason::Length;
        if short {
            // With the hint to be shorter, the answer should fit; with more room, its end does not get lost again.
            prompt.max_tokens = prompt.max_tokens.map(|tokens| tokens.saturating_mul(2));
        }
        add_retry_hint(&mut prompt, &fault, short)?;
    }
}

/// Why there is no answer, if the model or its provider declined to give one.
fn refusal_reason(completion: &Completion) -> Option<String> {
    if let Some(why) = &completion.refusal {
        let why = why.trim();
        return Some(format!("it refused: {}", &why[..why.floor_char_boundary(300)]));
    }
    (completion.finish == FinishReason::Filter).then(|| "a filter held the answer back".to_owned())
}

/// The text of the answer; for a tool call, its arguments.
fn answer_text(completion: &Completion) -> &str {
    match completion.tool_calls.as_slice() {
        [call, ..] if completion.text.trim().is_empty() => &call.arguments,
        _ => &completion.text,
    }
}

/// Adds a line to the prompt that names the fault of the first answer.
fn add_retry_hint(prompt: &mut Prompt, fault: &str, short: bool) -> Result<()> {
    prompt.retry = true;
    let words = prompts::prompt_lines()?;
    let shorter = if short { words.shorter.as_str() } else { "" };
    let values = [("fault", fault), ("shorter", shorter)];
    if let Some(last) = prompt.messages.last_mut() {
        last.text.push_str(&prompts::fill_template(&words.again, &values));
    }
    prompt.temperature = prompt.temperature.map(|temperature| temperature.max(RETRY_TEMPERATURE));
    Ok(())
}

/// The step whose free texts are only hints: one that repeats the example is dropped by `CoverPrompt::with_usable_hints`, and
/// the rest of the answer is kept.
pub(crate) const STEP_WITH_HINTS: &str = "cover";

/// An error if `answer` repeats the example of the step's prompt.
fn check_not_example(step: &str, answer: &str) -> std::result::Result<(), String> {
    if step == STEP_WITH_HINTS {
        return Ok(());
    }
    match prompts::example_phrases(step)
        .iter()
        .find(|example_phrase| answer.contains(*example_phrase))
    {
        Some(copied) => {
            Err(format!("\"{copied}\" is the example of the form, not about this question"))
        }
        None => Ok(()),
    }
}

fn unusable_answer(model: &dyn LanguageModel, prompt: &Prompt, why: &str) -> Error {
    Error::new(
        ErrorKind::Malformed,
        format!("asking {} for step `{}`", model.name(), prompt.purpose),
    )
    .with_source(why.to_owned())
}
