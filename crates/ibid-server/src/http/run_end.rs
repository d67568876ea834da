//! What happens when a run ends: it is counted, and its webhook is sent.
use std::sync::Arc;

use super::access_log::AccessLog;
use super::metrics::ServerMetrics;
use super::openai::webhook::Webhook;
use super::webhooks;
use ibid::app::App;
use ibid::app::queue::RunEndHook;
use ibid_core::Kind;
use ibid_core::record::Run;

/// The hook that runs after each run ends.
pub(super) fn hook(app: Arc<App>, metrics: Arc<ServerMetrics>, log: AccessLog) -> RunEndHook {
    Arc::new(move |run| {
        let (app, metrics, log) = (Arc::clone(&app), Arc::clone(&metrics), log.clone());
        Box::pin(async move {
            let Ok(events) = app.events(&run, 0).await else {
                return;
            };
            let ended = Run::from_events(run.clone(), &events);
            metrics.record_run(&ended, &events);
            // The caller is not told about faults that the operator must fix, so the log has them.
            if let (Some(Kind::Setup | Kind::Internal), Some(why)) = (ended.failure, &ended.error) {
                let fields = [("run", run.as_str().into()), ("why", why.as_str().into())];
                log.record("run_failed", &fields);
            }
            if let Some(fault) = app.telemetry_fault() {
                log.record("telemetry_lost", &[("why", fault.chain().into())]);
            }
            if let Some(webhook) = Webhook::from_events(&run, &events) {
                webhooks::deliver(&log, &app, &run, webhook).await;
            }
        })
    })
}
