//! The workflow of a run. Temporal replays it on whichever server, so it must make the same calls for the same history: a change that
//! makes others goes behind `ctx.patched`, and `tests/histories` holds it to histories of earlier versions.
use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporalio_common::RetryPolicy;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::workflows::select;
use temporalio_sdk::{
    ActivityOptions, ContinueAsNewOptions, LocalActivityOptions, SyncWorkflowContext,
    WorkflowContext, WorkflowContextView, WorkflowResult,
};

use super::worker::{RunActivities, WorkInput};
use ibid_core::ports::WorkResult;

/// The longest time of one piece of work. A run has limits of its own.
const WORK_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);
/// After how long without a heartbeat a run is given to another server.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a look at the commands of a run may take.
const LOOK_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a run that waits for input is looked at, in case a wake-up was lost.
const LOOK_INTERVAL: Duration = Duration::from_secs(300);
/// The longest delay before a server is asked again that could not answer.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(10);
/// After how many rounds the workflow begins a new history, so that none grows too long.
const MAX_ROUNDS: u32 = 200;

/// What the workflow is started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunInput {
    /// The id of the run.
    pub run: String,
    /// How often it has failed in a row.
    pub failures: u32,
}

/// Gives a run to servers until it has ended.
#[workflow]
pub struct RunWorkflow {
    input: RunInput,
    /// How often it was woken.
    wakes: u64,
}

#[workflow_methods]
impl RunWorkflow {
    #[init]
    fn new(_ctx: &WorkflowContextView, input: RunInput) -> Self {
        Self { input, wakes: 0 }
    }

    #[run(name = "ibid_run")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        for _ in 0..MAX_ROUNDS {
            let (input, wakes) = ctx.state(|it| (it.input.clone(), it.wakes));
            let work = WorkInput { run: input.run, failures: input.failures };
            match ctx.execute_activity(RunActivities::work, work, work_options()).await? {
                WorkResult::Ended => return Ok(()),
                WorkResult::NotEnded { after_ms, failed } => {
                    ctx.state_mut(|it| {
                        it.input.failures = if failed { it.input.failures + 1 } else { 0 }
                    });
                    if after_ms > 0 {
                        wait(ctx, Duration::from_millis(after_ms), wakes).await?;
                    }
                }
                WorkResult::WaitsForInput { commands_seen, at_most_ms } => {
                    ctx.state_mut(|it| it.input.failures = 0);
                    wait_for_input(ctx, (wakes, commands_seen), at_most_ms).await?;
                }
            }
        }
        ctx.continue_as_new(ctx.state(|it| it.input.clone()), ContinueAsNewOptions::default())?;
        Ok(())
    }

    /// The run may have a new command.
    #[signal]
    pub fn wake(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _none: ()) {
        self.wakes += 1;
    }
}

/// Waits for `delay`, or until the run was woken more often than `wakes` times. Returns whether it was.
async fn wait(
    ctx: &mut WorkflowContext<RunWorkflow>,
    delay: Duration,
    wakes: u64,
) -> WorkflowResult<bool> {
    select! {
        _ = ctx.timer(delay) => Ok(false),
        _ = ctx.wait_condition(|it: &RunWorkflow| it.wakes != wakes) => Ok(true),
    }
}

/// Waits until the run was woken, has a command that it has not seen, or has waited for `at_most_ms`.
async fn wait_for_input(
    ctx: &mut WorkflowContext<RunWorkflow>,
    (wakes, commands_seen): (u64, usize),
    at_most_ms: Option<u64>,
) -> WorkflowResult<()> {
    let mut left = at_most_ms.map(Duration::from_millis);
    for _ in 0..MAX_ROUNDS {
        let delay = left.map_or(LOOK_INTERVAL, |left| left.min(LOOK_INTERVAL));
        if wait(ctx, delay, wakes).await? || left == Some(delay) {
            break;
        }
        left = left.map(|left| left.saturating_sub(delay));
        let run = ctx.state(|it| it.input.run.clone());
        // Local, so that it takes no place of a run.
        let look = LocalActivityOptions::builder()
            .start_to_close_timeout(LOOK_TIMEOUT)
            .retry_policy(retry_policy())
            .build();
        if ctx.execute_local_activity(RunActivities::is_due, (run, commands_seen), look).await? {
            break;
        }
    }
    Ok(())
}

fn work_options() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(WORK_TIMEOUT)
        .heartbeat_timeout(HEARTBEAT_TIMEOUT)
        .retry_policy(retry_policy())
        // It goes through the queue, where parties take turns, and not to the server that handled the workflow.
        .do_not_eagerly_execute(true)
        .build()
}

fn retry_policy() -> RetryPolicy {
    RetryPolicy::builder().maximum_interval(MAX_RETRY_DELAY).build()
}

#[cfg(test)]
mod tests;
