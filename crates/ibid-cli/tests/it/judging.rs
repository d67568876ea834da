//! Looking back at runs: judged by what the record says and by a model held within it, rated by a reader, summed up.
use std::path::Path;
use std::sync::Arc;

use ibid::app::{App, AppComponents, Recording};
use ibid_core::domain::{Budget, Judgement, ModelRole, Rating, RunId, Vote};
use ibid_core::ports::{LanguageModel, RoleModel, RoleModels};
use ibid_core::record::{Event, RunStatus};
use ibid_core::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::cli::{ASKED, TestHome};
use crate::memory::question;
use crate::stand_in::settings;
use crate::thought::{Scripted, Silent, doors};

fn asked(desk: &TestHome) -> String {
    let it = desk.ibid(&["run", ASKED, "--folder", &desk.docs(), "--json"]);
    assert_eq!(it.code, 0, "{}", it.err);
    it.json()["run_id"].as_str().unwrap().to_owned()
}

fn sums(quality: &Value) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for part in quality["parts"].as_array().unwrap() {
        let weight = part["weight"].as_f64().unwrap();
        let score = part["score"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&score), "{part}");
        assert!(!part["why"].as_str().unwrap().is_empty(), "{part}");
        sum = (sum.0 + weight, sum.1 + weight * score);
    }
    sum
}

#[test]
fn a_run_is_judged_by_what_its_record_says_and_stays_what_it_was() {
    let desk = TestHome::new();
    let run = asked(&desk);
    let before = desk.ibid(&["show", &run, "--json"]).json();
    assert_eq!(before["judgement"], Value::Null, "nobody asked for one");
    let judged = desk.ibid(&["judge", &run, "--json"]);
    assert_eq!(judged.code, 0, "{}", judged.err);
    let judged = judged.json();
    assert_eq!((&judged["type"], &judged["run_id"]), (&json!("judgement"), &json!(run)));
    assert!(judged.get("by").is_none(), "no model judged");
    for name in ["answer", "process"] {
        let (weights, score) = sums(&judged[name]);
        assert!((weights - 1.0).abs() < 0.01, "{judged}");
        assert!((score - judged[name]["score"].as_f64().unwrap()).abs() < 0.01);
    }
    let of = |name: &str| judged[name]["score"].as_f64().unwrap();
    let composite = judged["composite"].as_f64().unwrap();
    assert!((composite - 0.6 * of("answer") - 0.4 * of("process")).abs() < 0.002);
    let after = desk.ibid(&["show", &run, "--json"]).json();
    assert_eq!(after["judgement"]["composite"], judged["composite"]);
    for same in ["status", "duration_ms", "result", "stop_reason"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    let row = &desk.ibid(&["ls", "--json"]).lines()[0];
    assert_eq!((&row["judged"], &row["status"]), (&judged["composite"], &json!("completed")));
    let text = desk.ibid(&["judge", &run]).out;
    assert!(text.contains("Composite") && text.contains("items answered"), "{text}");
    assert!(desk.ibid(&["ls"]).out.contains(&format!("judged {composite:.2}")));
}

#[tokio::test]
async fn what_is_kept_of_ended_runs_says_what_their_events_say() {
    let desk = TestHome::new();
    let first: RunId = asked(&desk).parse().unwrap();
    let second: RunId = asked(&desk).parse().unwrap();
    let place = desk.path("home/.local/share/ibid");
    let open = async || App::open(settings(&place)).await.unwrap();
    let fresh = async || open().await.tally().await.unwrap();
    let app = open().await;
    let before = app.tally().await.unwrap();
    assert_eq!((before.runs, before.reports), (2, 2));
    assert_eq!(app.tally().await.unwrap(), before, "asked again");
    // Whoever adds to a run, this process or another one, it is read again.
    let other = open().await;
    let rating = Rating { vote: Vote::Up, note: None };
    other.rate(&first, rating).await.unwrap();
    other.judge(&second, &Budget::default()).await.unwrap();
    let rated = app.tally().await.unwrap();
    assert_eq!((rated.rated_up.passed, rated.judged), (1, 1));
    assert_eq!(rated, fresh().await);
    other.remove(&first).await.unwrap();
    let left = app.tally().await.unwrap();
    assert_eq!((left.runs, left.rated_up.total), (1, 0));
    assert_eq!(left, fresh().await);
}

#[test]
fn a_judged_and_rated_run_still_resumes_replays_and_goes() {
    let desk = TestHome::new();
    let run = asked(&desk);
    desk.ibid(&["judge", &run]);
    assert_eq!(desk.ibid(&["rate", &run, "up"]).code, 0);
    let again = desk.ibid(&["resume", &run, "--json"]);
    assert_eq!((again.code, &again.json()["status"]), (0, &json!("completed")));
    let recording = desk.write("r.jsonl", "");
    assert_eq!(desk.ibid(&["export", &run, "-f", "recording", "-o", &recording]).code, 0);
    let told = desk.ibid(&["replay", &recording]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains("byte for byte"), "{}", told.err);
    assert_eq!(desk.ibid(&["rm", &run]).code, 0);
}

#[test]
fn the_last_rating_counts_whatever_was_said_before() {
    let desk = TestHome::new();
    let run = asked(&desk);
    // Up, down and up again: the third is told though it is as the first was.
    for (thumb, note) in [("up", ""), ("down", "the second source is old"), ("up", "")] {
        let it = desk.ibid(&["rate", &run, thumb, "--note", note]);
        assert_eq!(it.code, 0, "{}", it.err);
        let shown = desk.ibid(&["show", &run, "--json"]).json();
        assert_eq!(shown["rating"]["vote"], thumb);
        assert_eq!(shown["rating"]["note"].as_str().unwrap_or_default(), note);
        assert_eq!(desk.ibid(&["ls", "--json"]).lines()[0]["rating"], thumb);
        assert!(desk.ibid(&["ls"]).out.contains(&format!("rated {thumb}")));
    }
    let long = "x".repeat(2_001);
    let it = desk.ibid(&["rate", &run, "up", "--note", &long]);
    assert_eq!(it.code, 2);
    assert!(it.err.contains("--note") && it.err.contains("2000"), "{}", it.err);
    assert_eq!(desk.ibid(&["rate", &run, "sideways"]).code, 2);
    assert_eq!(desk.ibid(&["rate", "r_nowhere", "up"]).code, 1);
    assert_eq!(desk.ibid(&["judge", "r_nowhere"]).code, 1);
}

#[test]
fn the_sums_over_all_runs_have_their_denominators() {
    let desk = TestHome::new();
    let empty = desk.ibid(&["stats", "--json"]);
    assert_eq!((empty.code, &empty.json()["runs"]), (0, &json!(0)));
    assert!(!desk.path("home/.local").exists(), "looking makes no store");
    let (one, two) = (asked(&desk), asked(&desk));
    asked(&desk);
    desk.ibid(&["rate", &one, "up"]);
    desk.ibid(&["rate", &two, "down"]);
    desk.ibid(&["judge", &one]);
    let it = desk.ibid(&["stats", "--json"]).json();
    assert_eq!(it["runs"], 3);
    assert_eq!(it["statuses"], json!({"completed": 3}));
    assert_eq!(it["rated_up"], json!({"held": 1, "total": 2}));
    assert_eq!(it["rating_of_5"], 2.5);
    assert_eq!(it["judged_means"]["of"], 1);
    let composite = desk.ibid(&["show", &one, "--json"]).json()["judgement"]["composite"].clone();
    let mean = it["judged_means"]["composite"].as_f64().unwrap();
    assert!((mean - composite.as_f64().unwrap()).abs() < 1e-6);
    let quotes = desk.ibid(&["show", &one, "--json"]).json()["checks"]["quotes"]["total"].as_u64();
    assert_eq!(it["quotes"]["total"].as_u64(), quotes.map(|it| it * 3));
    let targets = it["targets"].as_array().unwrap();
    let met = |name: &str| {
        let row = targets.iter().find(|it| it["name"].as_str().unwrap().contains(name));
        row.unwrap()["met"].clone()
    };
    assert_eq!(targets.len(), 11);
    // Three documents of one folder are not three domains, and one question was asked twice.
    assert_eq!(met("navigation"), json!(true));
    assert_eq!(met("code"), Value::Null, "nobody asked for code: nothing is measured");
    assert_eq!(met("first time"), json!(false));
    // Ibid's own check is no spot check by people, of which the target is.
    assert_eq!((met("facts"), met("rating")), (Value::Null, json!(false)));
    assert_eq!(met("tokens"), Value::Null, "no model was used: nothing is measured");
    let text = desk.ibid(&["stats"]).out;
    assert!(text.contains("1 of 2 up (2.5 of 5)"), "{text}");
    assert!(text.contains("✗ rating, of 5") && text.contains("nothing measured yet"), "{text}");
}

#[test]
fn judging_beside_a_run_is_off_unless_asked_for_and_never_in_its_way() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let args = ["run", ASKED, "--folder", &docs];
    let plain = desk.ibid(&args);
    assert!(!plain.err.contains("quality"), "{}", plain.err);
    let body = |text: &str| text.split("\n---\n").nth(1).unwrap().to_owned();
    for (name, value, told) in [
        ("ENABLE_ONLINE_EVALS", "true", "quality 0."),
        ("IBID_MODELS_JUDGE", "openai:gpt-5-mini", "not judged"),
    ] {
        let it: crate::cli::Outcome = desk
            .command(&args)
            .env("IBID_ONLINE_EVALS", "true")
            .env(name, value)
            .output()
            .unwrap()
            .into();
        assert_eq!(it.code, 0, "{}", it.err);
        assert!(it.err.contains(told), "{}", it.err);
        assert_eq!(body(&it.out), body(&plain.out), "the report is as without a judge");
    }
    let rows = desk.ibid(&["ls", "--json"]).lines();
    let judged: Vec<bool> = rows.iter().map(|it| it["judged"].is_number()).collect();
    assert_eq!(judged, [false, true, false], "newest first");
}

#[test]
fn a_judge_may_spend_no_more_than_the_budget_says() {
    let desk = TestHome::new();
    let run = asked(&desk);
    for budget in ["1tokens", "$0.000001"] {
        // Nobody listens at this address: whoever were asked would say so.
        let it: crate::cli::Outcome = desk
            .command(&["judge", &run, "--json", "--budget", budget, "--model", "openai:gpt-5-mini"])
            .env("OPENAI_API_KEY", "x")
            .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
            .output()
            .unwrap()
            .into();
        assert_eq!(it.code, 0, "{}", it.err);
        let why = it.json()["unaided_because"].as_str().unwrap().to_owned();
        assert!(why.contains("budget") && !why.contains("Connect"), "{why}");
        assert_eq!(it.json()["usage"]["model_calls"], 0);
    }
}

/// Parts over the shelf; whoever asks for a judge gets `model`.
fn judged_by(model: Arc<dyn LanguageModel>) -> AppComponents {
    AppComponents {
        open: Arc::new(move |_, asked, _| {
            let mut models = RoleModels::default();
            if asked.models.contains_key(&ModelRole::Judge) {
                let model = Arc::clone(&model);
                models.insert(ModelRole::Judge, RoleModel { model, window: 8_000 });
            }
            Box::pin(async move { Ok(doors(models)) })
        }),
        ..AppComponents::local()
    }
}

/// An app whose judge is `model`, and a run of it without any other model.
async fn ended<M: LanguageModel + 'static>(dir: &Path, model: &Arc<M>) -> (App, RunId) {
    let mut settings = settings(dir);
    settings.judging.model = Some("scripted:one".to_owned());
    let app = App::with_components(settings, judged_by(Arc::clone(model) as _));
    let running = app.start(question("What is cork?")).await.unwrap();
    let run = running.id.clone();
    assert_eq!(running.wait().await.unwrap().status, RunStatus::Completed);
    (app, run)
}

fn saying(score: f64) -> impl Fn(&str, &str) -> ibid_core::Result<String> {
    move |step, _| {
        let parts: &[&str] = match step {
            "judge_answer" => &["relevance", "coverage", "support", "candour"],
            "judge_process" => &["strategy", "variety", "diversity"],
            other => panic!("nobody asks for {other}"),
        };
        let parts: Vec<Value> = parts
            .iter()
            .map(|it| json!({"part": it, "why": "Seen in the sentences.", "score": score}))
            .collect();
        Ok(json!({"parts": parts}).to_string())
    }
}

fn parts(it: &Judgement) -> impl Iterator<Item = &ibid_core::domain::QualityPart> {
    it.answer.parts.iter().chain(&it.process.parts)
}

#[tokio::test]
async fn a_model_that_praises_everything_lifts_little_and_one_that_blames_all_does_not_sink_it() {
    let mut composites = Vec::new();
    for score in [1.0, 0.0] {
        let dir = tempfile::tempdir().unwrap();
        let model = Scripted::new(saying(score));
        let (app, run) = ended(dir.path(), &model).await;
        let judged = app.judge(&run, &Budget::default()).await.unwrap();
        assert_eq!(judged.by.as_deref(), Some("scripted/one"));
        let mut heard = 0;
        for part in parts(&judged) {
            let (Some(counted), Some(said)) = (part.counted, part.said) else {
                continue;
            };
            heard += 1;
            assert_eq!(said, score);
            assert!(part.score <= counted + 0.101, "{part:?}");
            assert!(part.score >= counted - 0.401, "{part:?}");
        }
        assert_eq!(heard, 5, "coverage, support, candour, variety, diversity");
        let alone = parts(&judged).filter(|it| it.counted.is_none());
        let alone: Vec<&str> = alone.map(|it| it.name.as_str()).collect();
        assert_eq!(alone, ["relevance", "strategy"]);
        composites.push(judged.composite);
    }
    assert!(composites[0] > composites[1], "{composites:?}");
}

#[tokio::test]
async fn what_a_judge_costs_is_counted_and_what_it_said_is_not_paid_for_twice() {
    let dir = tempfile::tempdir().unwrap();
    let model = Scripted::new(saying(0.5));
    let (app, run) = ended(dir.path(), &model).await;
    let before = app.run(&run).await.unwrap();
    let first = app.judge(&run, &Budget::default()).await.unwrap();
    assert_eq!((first.usage.model_calls, first.usage.tokens_in), (2, 200));
    assert!((first.usage.usd.unwrap() - 0.002).abs() < 1e-9);
    let second = app.judge(&run, &Budget::default()).await.unwrap();
    assert_eq!(second, first);
    assert_eq!(model.asked.lock().unwrap().len(), 2, "asked once for each quality");
    let after = app.run(&run).await.unwrap();
    assert_eq!(after.usage, before.usage, "the run's own cost is as it was");
    assert_eq!(after.judgement.as_deref(), Some(&first));
    // A recording holds the judge's calls too, and is told again without them.
    let text = app.recording(&run).await.unwrap().to_jsonl().unwrap();
    let recording = Recording::parse("judged", text.as_bytes()).unwrap();
    let told = app.replay(&recording).await.unwrap();
    assert!(told.differences.is_empty(), "{:?}", told.differences);
    // Strangers' words stand in fences that they cannot leave.
    for prompt in &*model.asked.lock().unwrap() {
        let words = &prompt.messages[0].text;
        let opened = words.lines().filter(|it| it.starts_with("<<<")).count();
        let closed = words.lines().filter(|it| it.starts_with(">>>")).count();
        assert!(opened >= 2 && opened == closed, "{words}");
    }
}

#[tokio::test]
async fn a_judge_that_fails_is_told_and_what_was_counted_stands() {
    let dir = tempfile::tempdir().unwrap();
    let model = Scripted::new(|_, _| Err(Error::new(ErrorKind::Exhausted, "the budget is spent")));
    let (app, run) = ended(dir.path(), &model).await;
    let judged = app.judge(&run, &Budget::default()).await.unwrap();
    assert_eq!(judged.by, None);
    assert!(judged.unaided_because.as_ref().unwrap().contains("the budget is spent"));
    assert!(parts(&judged).all(|it| it.said.is_none() && it.counted == Some(it.score)));
    let kept = app.events(&run, 0).await.unwrap();
    assert!(matches!(kept.last().unwrap().event, Event::ReportJudged { .. }));
    // An answer that is none: one part twice.
    let dir = tempfile::tempdir().unwrap();
    let model = Scripted::new(|_, _| {
        Ok(json!({"parts": [{"part": "support", "why": "x", "score": 1}, {"part": "support", "why": "y", "score": 1}]}).to_string())
    });
    let (app, run) = ended(dir.path(), &model).await;
    let judged = app.judge(&run, &Budget::default()).await.unwrap();
    assert_eq!(judged.by, None, "{judged:?}");
    assert!(judged.unaided_because.unwrap().contains("judge_answer"));
}

#[tokio::test]
async fn a_judge_that_never_answers_is_waited_for_no_longer_than_the_budget_says() {
    let dir = tempfile::tempdir().unwrap();
    let model = Arc::new(Silent(Default::default()));
    let (app, run) = ended(dir.path(), &model).await;
    let budget = Budget { seconds: Some(1), ..Budget::default() };
    let judged = app.judge(&run, &budget).await.unwrap();
    assert!(judged.unaided_because.unwrap().contains("time"));
}
