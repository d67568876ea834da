//! Models are waited for no longer than the run may take, and not at all when it is to finish.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ibid::app::{App, AppComponents};
use ibid::config::Settings;
use ibid_core::domain::{ModelRole, Question, StopReason};
use ibid_core::ports::{Clock, LanguageModel, RoleModel, RoleModels, RunCommand};
use ibid_core::record::{Event, Run, RunStatus};
use ibid_report::json;

use crate::memory::question;
use crate::stand_in::{FakePages, parts, settings};
use crate::thought::{Silent, doors};

/// How long a test may take: the models never answer, so whoever waits for one waits for good.
const PATIENCE: Duration = Duration::from_secs(20);

/// A clock on which so many seconds pass at each look.
struct Hasty {
    at: AtomicU64,
    step: u64,
}

impl Clock for Hasty {
    fn unix_ms(&self) -> u64 {
        self.at.fetch_add(self.step, Ordering::Relaxed)
    }
}

/// An app whose models are `model`, in `roles`, on a clock that goes on by `step` milliseconds at each look.
pub(crate) fn app<M: LanguageModel + 'static>(
    dir: &std::path::Path,
    model: &Arc<M>,
    roles: &'static [ModelRole],
    step: u64,
) -> App {
    let at = AtomicU64::new(1_790_000_000_000);
    app_at(dir, model, roles, Arc::new(Hasty { at, step }))
}

/// The same by `clock`.
pub(crate) fn app_at<M: LanguageModel + 'static>(
    dir: &std::path::Path,
    model: &Arc<M>,
    roles: &'static [ModelRole],
    clock: Arc<dyn Clock>,
) -> App {
    app_with(settings(dir), model, roles, clock)
}

/// The same with these settings.
pub(crate) fn app_with<M: LanguageModel + 'static>(
    settings: Settings,
    model: &Arc<M>,
    roles: &'static [ModelRole],
    clock: Arc<dyn Clock>,
) -> App {
    let model = Arc::clone(model);
    let parts = AppComponents {
        clock,
        open: Arc::new(move |_, _, _| {
            let mut models = RoleModels::default();
            for role in roles {
                let model = Arc::clone(&model) as Arc<dyn LanguageModel>;
                models.insert(*role, RoleModel { model, window: 8_000 });
            }
            Box::pin(async move { Ok(doors(models)) })
        }),
        research: Arc::new(|world, log, run, question| {
            Box::pin(ibid_research::research(world, log, run, question))
        }),
        ..parts(&Arc::new(FakePages::default()))
    };
    App::with_components(settings, parts)
}

async fn ended(running: ibid::app::RunHandle) -> Run {
    let run = tokio::time::timeout(PATIENCE, running.wait()).await;
    run.expect("nobody waits for a silent model for good").unwrap()
}

fn asked(seconds: Option<u64>) -> Question {
    let mut asked = question("What is cork?");
    asked.budget.seconds = seconds;
    asked
}

#[tokio::test]
async fn models_are_waited_for_no_longer_than_the_time_of_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let model = Arc::new(Silent::default());
    let app = app(dir.path(), &model, &ModelRole::ALL, 500);
    let began = Instant::now();
    let running = app.start(asked(Some(10))).await.unwrap();
    let id = running.id.clone();
    let run = ended(running).await;
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(run.stop_reason, Some(StopReason::BudgetTime));
    let report = run.report.unwrap();
    assert!(report.claims().next().is_some());
    assert!(report.method.unaided.contains(&"write".to_owned()));
    let events = app.events(&id, 0).await.unwrap();
    let reason = events.iter().find_map(|it| match &it.event {
        Event::StepUnaided { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.unwrap().contains("time limit of the budget is reached"));
    // A call that was no longer waited for is told again as such.
    let recording = app.recording(&id).await.unwrap();
    crate::recordings::replays_byte_for_byte(&recording).await;
}

#[tokio::test]
async fn an_order_to_finish_ends_the_wait_for_models_within_a_wave() {
    // Without a writer, who would be waited for: finishing may take the time it needs.
    const RESEARCHERS: &[ModelRole] = &[ModelRole::Planner, ModelRole::Summarizer];
    for by_hand in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let model = Arc::new(Silent::default());
        let app = app(dir.path(), &model, RESEARCHERS, 0);
        let running = app.start(asked(None)).await.unwrap();
        tokio::time::timeout(PATIENCE, model.0.notified()).await.unwrap();
        match by_hand {
            true => running.finish_handle()(),
            false => app.send_command(&running.id, RunCommand::Finish).await.unwrap(),
        }
        let run = ended(running).await;
        assert_eq!(run.stop_reason, Some(StopReason::UserFinish));
        assert!(run.report.unwrap().claims().next().is_some());
    }
}

#[tokio::test]
async fn rounds_that_end_before_the_gate_passes_are_the_status_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let model = Arc::new(Silent::default());
    let app = app(dir.path(), &model, &[], 0);
    for (wanted, status, word) in [
        (100, RunStatus::MaxIterationsReached, "max_iterations_reached"),
        (1, RunStatus::Completed, "completed"),
    ] {
        let mut asked = asked(None);
        asked.method.depth = 1;
        asked.method.min_evidence_records = wanted;
        asked.method.min_cited_records = wanted;
        asked.method.completeness_threshold = 0.0;
        let run = ended(app.start(asked).await.unwrap()).await;
        assert_eq!(run.status, status);
        assert_eq!(run.stop_reason, Some(StopReason::MaxIterations));
        let object = json::result(&run, json::ResultSubtype::Success, &Default::default(), true);
        assert_eq!(object["status"], word);
        let text = object["result"].as_str().unwrap();
        assert!(text.contains("Stopped because the round limit was reached."));
        let passed = status == RunStatus::Completed;
        assert_eq!(text.contains(" (required: "), passed, "{text}");
        assert_eq!(app.runs().await.unwrap()[0].status, status);
    }
}
