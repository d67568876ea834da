//! Asking, asking again, and giving up.
use std::sync::Mutex;

use async_trait::async_trait;
use ibid_core::ports::{
    Completion, FinishReason, LanguageModel, Prompt, Schema, TextSink, ToolCall,
};
use ibid_core::{Error, ErrorKind, FailureReason, Result};
use ibid_research::ask;
use ibid_research::ask::ask_typed;
use serde::Deserialize;
use serde_json::json;

/// Answers what is written down for it, in order.
struct Scripted {
    answers: Mutex<Vec<Result<Completion>>>,
    heard: Mutex<Vec<Prompt>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Result<Completion>>) -> Scripted {
        let mut answers: Vec<Result<Completion>> = answers.into_iter().collect();
        answers.reverse();
        Scripted { answers: Mutex::new(answers), heard: Mutex::default() }
    }
}

#[async_trait]
impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        "test/parrot"
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        self.heard.lock().unwrap().push(prompt.clone());
        let completion = self.answers.lock().unwrap().pop().unwrap()?;
        if let Some(sink) = sink {
            // Pieces of three characters, so that tags come in pieces.
            let chars: Vec<char> = completion.text.chars().collect();
            for piece in chars.chunks(3) {
                sink(&piece.iter().collect::<String>());
            }
        }
        Ok(completion)
    }
}

fn said(text: &str) -> Completion {
    Completion::from_text(text)
}

#[derive(Debug, PartialEq, Deserialize)]
struct Pick {
    n: i64,
}

fn prompt() -> Prompt {
    let mut prompt = Prompt::from_text("pick", "Pick a number.");
    prompt.schema = Some(Schema {
        name: "pick".to_owned(),
        json: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
            "additionalProperties": false}),
    });
    prompt
}

fn small(it: &Pick) -> std::result::Result<(), String> {
    if it.n < 10 { Ok(()) } else { Err(format!("{} is too large", it.n)) }
}

async fn pick(model: &Scripted) -> Result<ask::TypedAnswer<Pick>> {
    ask_typed(model, prompt(), small).await
}

#[tokio::test]
async fn a_clean_answer_is_taken_at_once() {
    let model = Scripted::new([Ok(said(r#"{"n":3}"#))]);
    let it = pick(&model).await.unwrap();
    assert_eq!((it.value.n, it.repaired, it.attempts), (3, false, 1));
}

#[tokio::test]
async fn a_mended_answer_says_so() {
    let model = Scripted::new([Ok(said("```json\n{\"n\": \"3\",}\n```"))]);
    let it = pick(&model).await.unwrap();
    assert_eq!((it.value.n, it.repaired, it.attempts), (3, true, 1));
}

#[tokio::test]
async fn the_second_time_the_fault_is_named_and_the_bad_answer_not_shown() {
    let model = Scripted::new([Ok(said(r#"{"n":30}"#)), Ok(said(r#"{"n":3}"#))]);
    let mut cold = prompt();
    cold.temperature = Some(0.0);
    let it = ask_typed(&model, cold, small).await.unwrap();
    assert_eq!(it.attempts, 2);
    let heard = model.heard.lock().unwrap();
    assert_eq!(heard[1].messages.len(), 1);
    assert_eq!(
        heard[1].messages[0].text,
        "Pick a number.\n\nAn earlier answer could not be used: 30 is too large. Reply with the JSON alone, in the \
         shape asked for."
    );
    assert!(heard[1].schema.is_some());
    assert_eq!((heard[0].temperature, heard[1].temperature), (Some(0.0), Some(0.4)));
}

#[tokio::test]
async fn an_answer_copied_from_the_example_is_none() {
    let mut asked = prompt();
    asked.purpose = "verify".to_owned();
    let copied = r#"{"n":3, "reason": "The quote gives Harlow Bridge 3.3 km, the claim 33 km."}"#;
    let model = Scripted::new([Ok(said(copied)), Ok(said(r#"{"n":4}"#))]);
    let it = ask_typed(&model, asked, small).await.unwrap();
    assert_eq!((it.value.n, it.attempts), (4, 2));
    let heard = model.heard.lock().unwrap();
    assert!(heard[1].messages[0].text.contains("is the example of the form"));
}

#[tokio::test]
async fn two_bad_answers_are_malformed_and_name_step_and_model() {
    let model = Scripted::new([Ok(said("no")), Ok(said("no"))]);
    let error = pick(&model).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.chain(), "asking test/parrot for step `pick`: the answer contains no JSON");
}

#[tokio::test]
async fn a_refusal_and_a_filter_are_not_asked_again() {
    let refusal = Completion { refusal: Some("I will not.".to_owned()), ..said("") };
    let filtered = Completion { finish: FinishReason::Filter, ..said(r#"{"n":3}"#) };
    for (answer, why) in
        [(refusal, "it refused: I will not."), (filtered, "a filter held the answer back")]
    {
        let model = Scripted::new([Ok(answer)]);
        let error = pick(&model).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.chain().ends_with(why), "{}", error.chain());
        assert_eq!(error.reason(), Some(&FailureReason::Declined));
        assert_eq!(model.heard.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_cut_answer_counts_if_it_holds_and_is_asked_for_shorter_otherwise() {
    let cut = |text: &str| Completion { finish: FinishReason::Length, ..said(text) };
    let model = Scripted::new([Ok(cut(r#"{"n":3"#))]);
    let it = pick(&model).await.unwrap();
    assert_eq!((it.value.n, it.repaired, it.attempts), (3, true, 1));

    let model = Scripted::new([Ok(cut(r#"{"m"#)), Ok(said(r#"{"n":3}"#))]);
    pick(&model).await.unwrap();
    let heard = model.heard.lock().unwrap();
    let again = &heard[1].messages[0].text;
    assert!(again.contains("cut off") && again.contains("Be much shorter."), "{again}");
}

#[tokio::test]
async fn a_model_that_does_not_take_the_schema_is_asked_without_it() {
    let model = Scripted::new([
        Err(Error::new(ErrorKind::Malformed, "asking test/parrot")),
        Ok(said("Here: {\"n\": 3}")),
    ]);
    assert_eq!(pick(&model).await.unwrap().attempts, 2);
    assert!(model.heard.lock().unwrap()[1].schema.is_none());
}

#[tokio::test]
async fn faults_of_the_door_are_passed_on() {
    for kind in [ErrorKind::Transient, ErrorKind::Setup] {
        let model = Scripted::new([Err(Error::new(kind, "asking test/parrot"))]);
        assert_eq!(pick(&model).await.unwrap_err().kind(), kind);
    }
}

#[tokio::test]
async fn an_answer_that_came_as_the_call_of_a_tool_counts() {
    let call =
        ToolCall { id: String::new(), name: "pick".to_owned(), arguments: r#"{"n":3}"#.to_owned() };
    let model = Scripted::new([Ok(Completion { tool_calls: vec![call], ..said("") })]);
    assert_eq!(pick(&model).await.unwrap().value.n, 3);
}
