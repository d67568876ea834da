//! What every step needs to ask a model: a prompt that fits, an answer with a type.
//!
//! A step fills a [`template`] (strangers' words fenced), chooses with [`fit`] what goes in, and calls [`typed`] with
//! the prompt of one of the [`shapes`], or [`text`] for words. When a model does not manage, the error says so and the
//! step's unaided twin takes over.
mod aloud;
mod conform;
pub mod fit;
mod lenient;
pub mod parse;
mod repeat;
pub mod shapes;
pub mod template;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::prompts;
use crate::error::{Error, Kind, Result};
use crate::seams::{Completion, Finish, LanguageModel, Prompt, Sink};
use aloud::Aloud;
pub use aloud::{Hear, Sentences};
use parse::{How, cut_at, parse, without_thinking};

/// Temperature of the second ask: at 0 a model that went wrong goes wrong again.
const SECOND: f32 = 0.4;

/// A value from a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed<T> {
    /// The value; it passed its check.
    pub value: T,
    /// Whether the answer it comes from had to be mended.
    pub repaired: bool,
    /// How often the model was asked: 1 or 2.
    pub asked: u32,
}

/// Asks for a value of the prompt's schema and checks it; once more, naming the fault, if it cannot be used.
///
/// The second time the model is told what was wrong, not shown what it said: small models say again what they see. An
/// answer that repeats the example of the prompt is none. A model that does not take the schema is asked without it. A refusal is not argued with, and an answer that a filter held back is no
/// answer. One cut off at its bound counts if its complete part passes the check.
///
/// # Errors
/// `Malformed`, naming step and model, when no answer can be used; what the door fails with, otherwise.
pub async fn typed<T: DeserializeOwned>(
    model: &dyn LanguageModel,
    prompt: Prompt,
    check: impl Fn(&T) -> std::result::Result<(), String>,
) -> Result<Typed<T>> {
    typed_aloud(model, prompt, None, check).await
}

/// As [`typed`]; `heard` listens to each answer while it is being written.
///
/// # Errors
/// Those of [`typed`].
pub async fn typed_aloud<T: DeserializeOwned>(
    model: &dyn LanguageModel,
    mut prompt: Prompt,
    mut heard: Option<&mut dyn Hear>,
    check: impl Fn(&T) -> std::result::Result<(), String>,
) -> Result<Typed<T>> {
    let schema = prompt
        .schema
        .as_ref()
        .map_or(Value::Null, |it| it.json.clone());
    let mut asked = 0;
    loop {
        asked += 1;
        let answer = match &mut heard {
            None => model.complete(&prompt).await,
            Some(it) => {
                it.begin();
                model.stream(&prompt, &mut |piece| it.hear(piece)).await
            }
        };
        let completion = match answer {
            Err(it) if asked == 1 && it.kind() == Kind::Malformed && prompt.schema.is_some() => {
                prompt.schema = None;
                continue;
            }
            it => it?,
        };
        if let Some(why) = held_back(&completion) {
            return Err(useless(model, &prompt, &why));
        }
        let answer = words(&completion);
        let fault = match parse::<T>(answer, &schema) {
            Ok(it) => match hold_own_words(&prompt.purpose, answer).and_then(|()| check(&it.value))
            {
                Ok(()) => {
                    return Ok(Typed {
                        value: it.value,
                        repaired: it.how == How::Repaired,
                        asked,
                    });
                }
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        let fault = match completion.finish {
            Finish::Length => format!("{fault}; the answer was too long and was cut off"),
            _ => fault,
        };
        if asked == 2 {
            return Err(useless(model, &prompt, &fault));
        }
        let short = completion.finish == Finish::Length;
        ask_again(&mut prompt, &fault, short)?;
    }
}

/// Asks for words.
///
/// What the model thought aloud is left out, also of what `sink` hears. Where the words go round in a circle, they end
/// where they begin to repeat themselves. An answer cut off at its bound ends where it was cut.
///
/// # Errors
/// `Malformed`, naming step and model, for a refusal, an answer held back and one without words; what the door fails
/// with, otherwise.
pub async fn text(
    model: &dyn LanguageModel,
    prompt: Prompt,
    sink: Option<Sink<'_>>,
) -> Result<String> {
    let completion = match sink {
        None => model.complete(&prompt).await?,
        Some(sink) => {
            let mut aloud = Aloud::default();
            let mut filtered = |piece: &str| aloud.hear(piece, sink);
            let completion = model.stream(&prompt, &mut filtered).await?;
            aloud.end(sink);
            completion
        }
    };
    if let Some(why) = held_back(&completion) {
        return Err(useless(model, &prompt, &why));
    }
    let (answer, _) = without_thinking(&completion.text);
    let answer = repeat::until_it_repeats(answer.trim());
    if answer.is_empty() {
        return Err(useless(model, &prompt, "the answer is empty"));
    }
    Ok(answer.to_owned())
}

/// Why there is no answer, if the model or its provider would give none.
fn held_back(completion: &Completion) -> Option<String> {
    if let Some(why) = &completion.refusal {
        return Some(format!("it refused: {}", cut_at(why.trim(), 300)));
    }
    (completion.finish == Finish::Filter).then(|| "a filter held the answer back".to_owned())
}

/// The answer; where it came as the call of a tool, its arguments.
fn words(completion: &Completion) -> &str {
    match completion.tool_calls.as_slice() {
        [call, ..] if completion.text.trim().is_empty() => &call.arguments,
        _ => &completion.text,
    }
}

/// The same again, with a line that names the fault.
fn ask_again(prompt: &mut Prompt, fault: &str, short: bool) -> Result<()> {
    let words = prompts::lines()?;
    let shorter = if short { words.shorter.as_str() } else { "" };
    let values = [("fault", fault), ("shorter", shorter)];
    if let Some(last) = prompt.messages.last_mut() {
        last.text.push_str(&prompts::fill(&words.again, &values));
    }
    prompt.temperature = prompt.temperature.map(|it| it.max(SECOND));
    Ok(())
}

/// A fault if `answer` says what the example of the step's prompt says.
fn hold_own_words(step: &str, answer: &str) -> std::result::Result<(), String> {
    match prompts::example(step)
        .iter()
        .find(|it| answer.contains(*it))
    {
        Some(copied) => Err(format!(
            "\"{copied}\" is the example of the form, not about this question"
        )),
        None => Ok(()),
    }
}

fn useless(model: &dyn LanguageModel, prompt: &Prompt, why: &str) -> Error {
    Error::new(
        Kind::Malformed,
        format!("asking {} for step `{}`", model.name(), prompt.purpose),
    )
    .because(why.to_owned())
}
