//! Works on schedules: starts the reruns that are due and delivers those that have ended. Every server does; the store decides which
//! one starts or delivers a rerun.
mod deliver;
pub(crate) mod feed;
mod mail;
pub(crate) mod rerun_result;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::request_service::{RequestService, SubmitOutcome};
use ibid_core::ports::Schedule;
use ibid_core::{ErrorKind, Result};

/// How often a server looks for reruns that are due or have ended.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Works on the schedules of every owner until it is dropped.
pub(crate) async fn work_on_schedules(requests: &Arc<RequestService>) {
    let in_delivery: Arc<Mutex<HashSet<String>>> = Arc::default();
    let mut deliveries = JoinSet::new();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        while deliveries.try_join_next().is_some() {}
        let pending = match requests.schedule_app().pending_schedules().await {
            Ok(pending) => pending,
            Err(fault) => {
                tracing::warn!(why = fault.chain(), "schedules_not_read");
                continue;
            }
        };
        for schedule in pending {
            if schedule.active_run.is_none() {
                start(requests, &schedule).await;
                continue;
            }
            let is_new = lock(&in_delivery).insert(schedule.id.clone());
            if is_new {
                let (requests, busy) = (Arc::clone(requests), Arc::clone(&in_delivery));
                deliveries.spawn(async move {
                    if let Err(fault) = deliver::deliver(&requests, &schedule).await {
                        let id = schedule.id.as_str();
                        tracing::warn!(schedule = id, why = fault.chain(), "rerun_not_delivered");
                    }
                    lock(&busy).remove(&schedule.id);
                });
            }
        }
    }
}

fn lock(ids: &Mutex<HashSet<String>>) -> std::sync::MutexGuard<'_, HashSet<String>> {
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the next rerun of a schedule. The run is accepted under an idempotency key before the schedule names it, so that a server
/// killed in between neither loses nor doubles it.
async fn start(requests: &Arc<RequestService>, schedule: &Schedule) {
    let id = schedule.id.as_str();
    let app = requests.schedule_app();
    let recorded = match start_run(requests, schedule).await {
        Ok(SubmitOutcome::Started(run)) => {
            let recorded = app.record_rerun_start(schedule, run.id()).await;
            if matches!(recorded, Ok(true)) {
                let run = run.id().as_str();
                tracing::info!(schedule = id, run, nth = schedule.reruns + 1, "rerun_started");
            }
            recorded
        }
        // The next poll tries again.
        Ok(SubmitOutcome::Full) => return,
        Ok(SubmitOutcome::Other) => app.postpone_rerun(schedule, "its request has changed").await,
        Err(fault) if fault.kind() == ErrorKind::Transient => {
            tracing::warn!(schedule = id, why = fault.chain(), "rerun_not_started");
            return;
        }
        Err(fault) => {
            tracing::warn!(schedule = id, why = fault.chain(), "rerun_not_started");
            app.postpone_rerun(schedule, &fault.public_message()).await
        }
    };
    if let Err(fault) = recorded {
        tracing::warn!(schedule = id, why = fault.chain(), "schedule_not_written");
    }
}

async fn start_run(requests: &Arc<RequestService>, schedule: &Schedule) -> Result<SubmitOutcome> {
    let service = requests.for_owner_of(schedule).await?;
    service.start_rerun(schedule).await
}
