//! Webhooks of ended runs.
use futures_util::{StreamExt as _, stream};

use super::openai::webhook::Webhook;
use super::state::ServerState;
use ibid::app::App;
use ibid_core::Result;
use ibid_core::domain::RunId;
use ibid_core::ports::{IdempotencyStatus, KeyOwner, RunRow};

/// Oldest end of a run whose missed webhook is still sent, milliseconds.
const MISSED_MAX_AGE_MS: u64 = 20 * 3_600_000;
/// Maximum number of missed webhooks sent after a start.
const MAX_MISSED: usize = 1_000;
/// How many of them are sent concurrently.
const MISSED_CONCURRENCY: usize = 32;

/// Sends the webhook of a run and records that it was sent. Failures go to the log.
pub(super) async fn deliver(app: &App, run: &RunId, webhook: Webhook) {
    let (url, id, body) = (&webhook.url, &webhook.id, &webhook.body);
    if let Err(fault) = app.deliver_webhook(url, id, body, webhook.by_operator).await {
        tracing::warn!(run = run.as_str(), why = fault.chain(), "webhook_lost");
    }
    // Recorded even if every attempt failed, so that it is not tried again.
    if let Err(fault) = mark_delivered(app, run).await {
        tracing::error!(run = run.as_str(), why = fault.chain(), "webhook_unnoted");
    }
}

/// Records that the webhook of `run` was sent; returns whether that is new. The stored run id is a placeholder: a repeated request
/// with the same id would count as new.
async fn mark_delivered(app: &App, run: &RunId) -> Result<IdempotencyStatus> {
    let run = run.as_str();
    app.remember_request(KeyOwner::Webhooks, run, &[], &app.new_run_id()).await
}

/// Sends the webhooks of runs that ended before this start without one, because the server was killed in between. Never returns.
pub(super) async fn deliver_missed(server: &ServerState) {
    let app = server.operator.app();
    let since = app.now_ms().saturating_sub(MISSED_MAX_AGE_MS);
    let rows = app.runs().await.unwrap_or_default();
    let at = |run_row: &RunRow| run_row.updated_at.parse::<jiff::Timestamp>().ok();
    let late = |run_row: &RunRow| at(run_row).is_some_and(|at| at.as_millisecond() >= since as i64);
    let ended = |run_row: &&RunRow| run_row.status.ended() && late(run_row);
    // Concurrently: a webhook that is not accepted is tried for an hour.
    let send = async |row: &RunRow| {
        let run = &row.run_id;
        let Ok(events) = app.events(run, 0).await else {
            return;
        };
        let Some(webhook) = Webhook::from_events(run, &events) else {
            return;
        };
        // Recorded before it is sent: a missed webhook is sent at most once more.
        if let Ok(IdempotencyStatus::New) = mark_delivered(app, run).await {
            deliver(app, run, webhook).await;
        }
    };
    stream::iter(rows.iter().filter(ended).take(MAX_MISSED))
        .for_each_concurrent(MISSED_CONCURRENCY, send)
        .await;
    std::future::pending().await
}
