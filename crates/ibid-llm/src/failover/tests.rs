use ibid_net::service_error::ServiceError;

use super::*;
use crate::scripted::{ScriptedModel, ScriptedReply, prompt, refusal};

const SECOND: Duration = Duration::from_secs(1);

fn failover(models: &[(&Arc<ScriptedModel>, Option<u64>)]) -> FailoverModel {
    let choice = |pair: &(&Arc<ScriptedModel>, Option<u64>)| {
        let model: Arc<dyn LanguageModel> = pair.0.clone();
        FailoverChoice { model, window: pair.1 }
    };
    FailoverModel::new(models.iter().map(choice).collect()).unwrap()
}

fn too_long() -> ScriptedReply {
    ScriptedReply::Fault(
        "",
        ServiceError {
            reason: Some(FailureReason::PromptTooLong { window: None }),
            ..ServiceError::malformed("prompt is too long")
        },
    )
}

async fn ask(model: &FailoverModel) -> Result<Completion> {
    model.complete(&prompt("plan"), None).await
}

#[tokio::test(start_paused = true)]
async fn the_next_model_answers_for_one_that_fails_for_good() {
    let refused = || ScriptedReply::Fault("", ServiceError::malformed("unknown parameter"));
    for say in [refusal(500, None), ScriptedReply::Error(ErrorKind::Setup), refused()] {
        let first = ScriptedModel::new("a/one", [say]);
        let second = ScriptedModel::new("b/two", []);
        let failover = failover(&[(&first, None), (&second, None)]);
        assert_eq!(failover.name(), "a/one");
        let answer = ask(&failover).await.unwrap();
        assert_eq!(answer.model.as_deref(), Some("b/two"));
        assert_eq!((first.count(), second.count()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_no_other_model_would_do_better_is_returned() {
    let filtered = ScriptedReply::Fault(
        "",
        ServiceError {
            reason: Some(FailureReason::Declined),
            ..ServiceError::malformed("held back")
        },
    );
    for (say, kind) in [
        (ScriptedReply::Error(ErrorKind::Exhausted), ErrorKind::Exhausted),
        (ScriptedReply::Error(ErrorKind::Cancelled), ErrorKind::Cancelled),
        (ScriptedReply::Error(ErrorKind::Internal), ErrorKind::Internal),
        (filtered, ErrorKind::Malformed),
    ] {
        let first = ScriptedModel::new("a/one", [say]);
        let second = ScriptedModel::new("b/two", []);
        let error = ask(&failover(&[(&first, None), (&second, None)])).await.unwrap_err();
        assert_eq!((error.kind(), second.count()), (kind, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_names_every_model_and_its_fault() {
    let first = ScriptedModel::new("a/one", [ScriptedReply::Error(ErrorKind::Setup)]);
    let second = ScriptedModel::new("b/two", [refusal(529, None)]);
    let error = ask(&failover(&[(&first, None), (&second, None)])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert_eq!(
        error.chain(),
        "no model answered: a/one: something else; b/two: asking b/two: status 529: not now"
    );
}

#[tokio::test(start_paused = true)]
async fn the_fault_of_a_single_model_is_its_own() {
    let model = ScriptedModel::new("a/one", [refusal(429, Some(9))]);
    let error = ask(&failover(&[(&model, None)])).await.unwrap_err();
    assert_eq!(ServiceError::find_in(&error).unwrap().status, Some(429));
    assert_eq!(FailoverModel::new(Vec::new()).err().unwrap().kind(), ErrorKind::Setup);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_too_long_goes_to_a_larger_window_only() {
    let small = ScriptedModel::new("a/small", [too_long()]);
    let same = ScriptedModel::new("b/same", []);
    let unknown = ScriptedModel::new("c/unknown", []);
    let large = ScriptedModel::new("d/large", []);
    let all = failover(&[
        (&small, Some(8_000)),
        (&same, Some(8_000)),
        (&unknown, None),
        (&large, Some(200_000)),
    ]);
    let answer = ask(&all).await.unwrap();
    assert_eq!(answer.model.as_deref(), Some("d/large"));
    assert_eq!((same.count(), unknown.count()), (0, 0));

    for (last, window) in [
        (ScriptedReply::Text("never asked"), None),
        (refusal(500, None), Some(200_000)),
        (too_long(), Some(200_000)),
    ] {
        let small = ScriptedModel::new("a/small", [too_long()]);
        let large = ScriptedModel::new("d/large", [last]);
        let both = failover(&[(&small, Some(8_000)), (&large, window)]);
        let error = ask(&both).await.unwrap_err();
        assert!(error.is_prompt_too_long());
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_in_a_row_rests_and_is_tried_by_one_call() {
    let first = ScriptedModel::with_delay(SECOND, "a/one", (0..4).map(|_| refusal(500, None)));
    let second = ScriptedModel::new("b/two", []);
    let failover = failover(&[(&first, None), (&second, None)]);
    for _ in 0..5 {
        assert!(ask(&failover).await.is_ok());
    }
    assert_eq!((first.count(), second.count()), (3, 5));

    tokio::time::sleep(SECOND * 60).await;
    let (one, other) = tokio::join!(ask(&failover), ask(&failover));
    assert!(one.is_ok() && other.is_ok());
    assert_eq!(first.count(), 4, "one call tries it, and fails");
    assert!(ask(&failover).await.is_ok());
    assert_eq!(first.count(), 4, "it rests again");

    tokio::time::sleep(SECOND * 60).await;
    for _ in 0..3 {
        assert_eq!(ask(&failover).await.unwrap().model.as_deref(), Some("a/one"));
    }
    assert_eq!(first.count(), 7, "it is back");
}

#[tokio::test(start_paused = true)]
async fn when_all_rest_the_error_says_so_at_once() {
    let model = ScriptedModel::new("a/one", (0..9).map(|_| refusal(500, None)));
    let failover = failover(&[(&model, None)]);
    for _ in 0..4 {
        assert!(ask(&failover).await.is_err());
    }
    let error = ask(&failover).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert_eq!(
        error.chain(),
        "no model answered: a/one is paused after 3 failures in a row; the last one: asking a/one: status 500: not now"
    );
    assert_eq!(model.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_try_that_is_dropped_lets_the_next_call_try() {
    let failing = (0..3).map(|_| refusal(500, None));
    let model = ScriptedModel::with_delay(SECOND * 10, "a/one", failing);
    let failover = failover(&[(&model, None)]);
    for _ in 0..3 {
        assert!(ask(&failover).await.is_err());
    }
    tokio::time::sleep(SECOND * 60).await;
    let cut = tokio::time::timeout(SECOND, ask(&failover));
    assert!(cut.await.is_err());
    assert!(ask(&failover).await.is_ok());
    assert_eq!(model.count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_sink_hears_one_model() {
    let cut = ScriptedReply::Fault("Moss ", ServiceError::truncated());
    let first = ScriptedModel::new("a/one", [cut, refusal(500, None)]);
    let second = ScriptedModel::new(
        "b/two",
        [ScriptedReply::Text("It is green."), ScriptedReply::Text("Green.")],
    );
    let failover = failover(&[(&first, None), (&second, None)]);
    for (heard, text) in [("Moss ", "It is green."), ("Green.", "Green.")] {
        let mut told = String::new();
        let answer = failover.complete(&prompt("write"), Some(&mut |it| told.push_str(it))).await;
        assert_eq!(answer.unwrap().text, text);
        assert_eq!(told, heard);
    }
}
