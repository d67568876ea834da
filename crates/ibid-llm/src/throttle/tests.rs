use futures_util::future::join_all;

use super::*;
use crate::scripted::{ScriptedModel, ScriptedReply, prompt, refusal};

const SECOND: Duration = Duration::from_secs(1);

fn limited(model: &Arc<ScriptedModel>, limiter: &Arc<ConcurrencyLimiter>) -> ThrottledModel {
    let inner: Arc<dyn LanguageModel> = model.clone();
    ThrottledModel::new(inner, Arc::clone(limiter), 1_000)
}

fn limits(at_once: usize) -> ConcurrencyLimits {
    ConcurrencyLimits { max_concurrent: at_once, ..ConcurrencyLimits::default() }
}

/// The times of the calls in seconds since `begun`.
fn seconds(model: &ScriptedModel, begun: Instant) -> Vec<u64> {
    let asked = model.asked.lock().unwrap();
    asked.iter().map(|pair| (pair.0 - begun).as_secs()).collect()
}

async fn ask(model: &ThrottledModel) -> Result<Completion> {
    model.complete(&prompt("plan"), None).await
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_are_out_at_once_and_no_more() {
    let begun = Instant::now();
    let model = ScriptedModel::with_delay(SECOND * 10, "a/b", []);
    let limited = limited(&model, &ConcurrencyLimiter::new(limits(3)));
    let answers = join_all((0..7).map(|_| ask(&limited))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(seconds(&model, begun), [0, 0, 0, 10, 10, 10, 20]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_load_halves_the_number_once_and_success_lets_it_grow() {
    let script = (0..8).map(|_| refusal(429, None));
    let model = ScriptedModel::with_delay(SECOND, "a/b", script);
    let limiter = ConcurrencyLimiter::new(limits(8));
    let limited = limited(&model, &limiter);
    join_all((0..8).map(|_| ask(&limited))).await;
    assert_eq!(limiter.locked().max_concurrent, 4, "eight refusals of one burst");
    join_all((0..4).map(|_| ask(&limited))).await;
    assert_eq!(limiter.locked().max_concurrent, 5);
    join_all((0..100).map(|_| ask(&limited))).await;
    assert_eq!(limiter.locked().max_concurrent, 8, "never more than was set");
}

#[tokio::test(start_paused = true)]
async fn the_number_never_falls_below_one() {
    let model = ScriptedModel::new("a/b", (0..9).map(|_| refusal(529, None)));
    let limiter = ConcurrencyLimiter::new(limits(2));
    let limited = limited(&model, &limiter);
    for _ in 0..9 {
        assert!(ask(&limited).await.is_err());
    }
    assert_eq!(limiter.locked().max_concurrent, 1);
    assert!(ask(&limited).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn other_faults_say_nothing_about_load() {
    let lost = ScriptedReply::Fault("", ServiceError::truncated());
    let script = [lost, refusal(500, None), ScriptedReply::Error(ErrorKind::Setup)];
    let model = ScriptedModel::new("a/b", script);
    let limiter = ConcurrencyLimiter::new(limits(8));
    let limited = limited(&model, &limiter);
    for _ in 0..3 {
        assert!(ask(&limited).await.is_err());
    }
    assert_eq!(limiter.locked().max_concurrent, 8);
}

#[tokio::test(start_paused = true)]
async fn nobody_calls_before_the_time_that_the_provider_names() {
    let begun = Instant::now();
    let limiter = ConcurrencyLimiter::new(limits(4));
    let one = ScriptedModel::new("a/one", [refusal(429, Some(30))]);
    let other = ScriptedModel::new("a/other", []);
    let (one, two) = (limited(&one, &limiter), limited(&other, &limiter));
    assert!(ask(&one).await.is_err());
    join_all((0..3).map(|_| ask(&two))).await;
    let asked = other.asked.lock().unwrap();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|pair| pair.0 >= begun + SECOND * 30));
}

#[tokio::test(start_paused = true)]
async fn a_time_beyond_ones_patience_is_told_at_once() {
    let model = ScriptedModel::new("a/b", [refusal(429, Some(500))]);
    let limited = limited(&model, &ConcurrencyLimiter::new(limits(4)));
    assert!(ask(&limited).await.is_err());
    let begun = Instant::now();
    let error = ask(&limited).await.unwrap_err();
    assert_eq!((error.kind(), begun.elapsed()), (ErrorKind::Transient, Duration::ZERO));
    let fault = ServiceError::find_in(&error).unwrap();
    assert_eq!(fault.retry_after, Some(SECOND * 500));
    assert!(fault.unsent);
    assert_eq!(model.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_has_an_end() {
    let begun = Instant::now();
    let model = ScriptedModel::with_delay(SECOND * 1000, "a/b", []);
    let limited = limited(&model, &ConcurrencyLimiter::new(limits(1)));
    let answers = join_all((0..3).map(|_| ask(&limited))).await;
    assert!(answers[0].is_ok());
    for error in answers.into_iter().skip(1).map(Result::unwrap_err) {
        assert_eq!(error.chain(), "waiting to call a/b: too many calls were waiting");
    }
    assert_eq!(seconds(&model, begun), [0]);
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_begin_within_any_minute() {
    let begun = Instant::now();
    let model = ScriptedModel::with_delay(SECOND * 5, "a/b", []);
    let limits = ConcurrencyLimits { per_minute: Some(2), max_wait: SECOND * 200, ..limits(8) };
    let limited = limited(&model, &ConcurrencyLimiter::new(limits));
    let answers = join_all((0..6).map(|_| ask(&limited))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(seconds(&model, begun), [0, 0, 60, 60, 120, 120]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_gives_its_turn_back() {
    let model = ScriptedModel::with_delay(SECOND * 60, "a/b", []);
    let limited = limited(&model, &ConcurrencyLimiter::new(limits(1)));
    let cut = tokio::time::timeout(SECOND, async { tokio::join!(ask(&limited), ask(&limited)) });
    assert!(cut.await.is_err());
    let begun = Instant::now();
    assert!(ask(&limited).await.is_ok());
    assert_eq!(begun.elapsed(), SECOND * 60);
}

#[test]
fn models_with_one_address_and_key_share_a_limiter() {
    let target = |spec: &str, key: &'static str| {
        ModelTarget::resolve(spec, &|name| (name == "OPENAI_API_KEY").then(|| key.to_owned()))
            .unwrap()
    };
    let limiters = ConcurrencyLimiters::default();
    let of = |spec, key| limiters.get(&target(spec, key), ConcurrencyLimits::default());
    let one = of("openai/gpt-5.1", "one");
    assert!(Arc::ptr_eq(&one, &of("openai/gpt-5-mini", "one")));
    assert!(Arc::ptr_eq(&one, &of("openai-responses/gpt-5.1", "one")));
    assert!(!Arc::ptr_eq(&one, &of("openai/gpt-5.1", "other")));
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_any_minute_use_so_many_tokens_and_no_more() {
    let begun = Instant::now();
    let model = ScriptedModel::with_delay(SECOND * 5, "a/b", []);
    let wait = SECOND * 200;
    let limits = ConcurrencyLimits { tokens_per_minute: Some(400), max_wait: wait, ..limits(8) };
    let limited = limited(&model, &ConcurrencyLimiter::new(limits));
    let asked = Prompt { max_tokens: Some(150), ..prompt("plan") };
    assert_eq!(limited.most_tokens(&asked), 171);
    let answers = join_all((0..6).map(|_| limited.complete(&asked, None))).await;
    assert!(answers.iter().all(Result::is_ok));
    // A call asks for 171 tokens and has used 110 when it is answered: a third one has room then, not before.
    assert_eq!(seconds(&model, begun), [0, 0, 5, 60, 65, 70]);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_more_tokens_than_a_minute_has_is_one_that_needs_all() {
    let begun = Instant::now();
    let model = ScriptedModel::new("a/b", []);
    let limits = ConcurrencyLimits { tokens_per_minute: Some(100), ..limits(8) };
    let limited = limited(&model, &ConcurrencyLimiter::new(limits));
    let answers = join_all((0..2).map(|_| ask(&limited))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(seconds(&model, begun), [0, 60]);
}
