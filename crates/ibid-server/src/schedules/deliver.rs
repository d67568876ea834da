//! Delivers a rerun that has ended: a mail file, a webhook, and its row for the feed.
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::mail;
use super::rerun_result::RerunResult;
use crate::request_service::RequestService;
use ibid_core::domain::RunId;
use ibid_core::ports::{EndedRerun, Schedule};
use ibid_core::{Error, ErrorKind, Result};

/// How often the claim on a delivery is renewed; it lasts two minutes.
const RENEW_INTERVAL: Duration = Duration::from_secs(30);

/// Delivers the active rerun of `schedule`, unless another server does.
///
/// # Errors
/// When the store cannot be used. The delivery is tried again then.
pub(super) async fn deliver(requests: &Arc<RequestService>, schedule: &Schedule) -> Result<()> {
    let Some(run) = &schedule.active_run else {
        return Ok(());
    };
    let app = requests.schedule_app();
    if !app.claim_delivery(schedule).await? {
        return Ok(());
    }
    let renewals = async {
        loop {
            tokio::time::sleep(RENEW_INTERVAL).await;
            // A failed renewal is tried again long before the claim ends.
            let _ = app.renew_delivery_claim(schedule).await;
        }
    };
    let work = async {
        let result = load_result(requests, schedule, run).await?;
        let error = send(requests, schedule, run, &result).await.err();
        Ok::<_, Error>((result, error))
    };
    let (result, error) = tokio::select! {
        outcome = work => outcome?,
        () = renewals => return Ok(()),
    };
    if let Some(fault) = &error {
        tracing::warn!(schedule = schedule.id, why = fault.chain(), "delivery_lost");
    }
    let rerun = EndedRerun {
        schedule: schedule.id.clone(),
        nth: schedule.reruns,
        run: run.clone(),
        compared_with: result.compared_with.clone(),
        status: result.status,
        has_report: result.has_report(),
        at: app.schedule_time(),
    };
    let reason = error.map(|fault| fault.public_message());
    app.record_delivery(&rerun, reason.as_deref()).await
}

/// The result of the rerun; a failure if its run was deleted or its user may not see it any more.
async fn load_result(
    requests: &Arc<RequestService>,
    schedule: &Schedule,
    run: &RunId,
) -> Result<RerunResult> {
    let loaded = async {
        let service = requests.for_owner_of(schedule).await?;
        RerunResult::load(&service, run, schedule.latest_run.as_ref()).await
    };
    match loaded.await {
        Err(fault) if fault.kind() == ErrorKind::NotFound => {
            Ok(RerunResult::lost(schedule.question().to_owned(), fault.public_message()))
        }
        loaded => loaded,
    }
}

/// Writes the mail and sends the webhook. Both are tried, even if the first fails.
async fn send(
    requests: &Arc<RequestService>,
    schedule: &Schedule,
    run: &RunId,
    result: &RerunResult,
) -> Result<()> {
    let app = requests.schedule_app();
    let mut outcome = Ok(());
    if let Some(dir) = &schedule.mail_dir {
        outcome = mail::write(Path::new(dir), schedule, result, app.current_time()).await;
    }
    let Some(url) = &schedule.webhook_url else {
        return outcome;
    };
    let (schedule_id, nth) = (&schedule.id, schedule.reruns);
    let id = format!("evt_{}_{nth}", schedule_id.trim_start_matches("s_"));
    let kind = if result.has_report() { "completed" } else { "failed" };
    let mut data = result.to_json();
    data["schedule"] = json!(schedule_id);
    data["rerun"] = json!(nth);
    data["run"] = json!(run);
    let body = json!({
        "id": id,
        "object": "event",
        "type": format!("schedule.rerun.{kind}"),
        "created_at": app.current_time().as_second(),
        "data": data,
    });
    let sent = app.deliver_webhook(url, &id, &body, schedule.owner.is_none()).await;
    outcome.and(sent)
}
