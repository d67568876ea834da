//! What happens when a run ends: it is counted, and its webhook is sent.
use std::sync::Arc;

use super::metrics::ServerMetrics;
use super::openai::webhook::Webhook;
use super::webhooks;
use ibid::app::App;
use ibid::app::queue::RunEndHook;
use ibid_core::ErrorKind;
use ibid_core::record::Run;

/// The hook that runs after each run ends.
pub(super) fn hook(app: Arc<App>, metrics: Arc<ServerMetrics>) -> RunEndHook {
    Arc::new(move |run| {
        let (app, metrics) = (Arc::clone(&app), Arc::clone(&metrics));
        Box::pin(async move {
            let Ok(events) = app.events(&run, 0).await else {
                return;
            };
            let ended = Run::from_events(run.clone(), &events);
            metrics.record_run(&ended, &events);
            // The caller is not told about faults that the operator must fix, so the log has them.
            if let (Some(ErrorKind::Setup | ErrorKind::Internal), Some(why)) =
                (ended.failure, &ended.error)
            {
                tracing::error!(run = run.as_str(), why, "run_failed");
            }
            if let Some(fault) = app.telemetry_error() {
                tracing::warn!(why = fault.chain(), "telemetry_lost");
            }
            if let Some(webhook) = Webhook::from_events(&run, &events) {
                webhooks::deliver(&app, &run, webhook).await;
            }
        })
    })
}
