//! [`FleetQueue`] on Temporal.
use std::sync::Arc;

use async_trait::async_trait;
use temporalio_client::errors::{ClientConnectError, WorkflowInteractionError, WorkflowStartError};
use temporalio_client::{
    Client, WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowSignalOptions,
    WorkflowStartOptions,
};
use temporalio_common::Priority;
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinSet;

use super::client::{CALL_TIMEOUT, TemporalSettings, connect};
use super::thread::WorkerThread;
use super::worker::FleetJob;
use super::workflow::{RunInput, RunWorkflow};
use ibid_core::domain::RunId;
use ibid_core::ports::{FleetQueue, FleetTurn, RunExecutor, WorkResult};
use ibid_core::{Error, ErrorKind, Result};

/// A queue of runs on Temporal.
pub struct TemporalQueue {
    settings: TemporalSettings,
    client: OnceCell<Client>,
}

impl TemporalQueue {
    /// A queue that connects when it is first used.
    pub fn new(settings: TemporalSettings) -> TemporalQueue {
        TemporalQueue { settings, client: OnceCell::new() }
    }

    async fn client(&self) -> Result<&Client> {
        let client = self.client.get_or_try_init(|| connect(&self.settings)).await;
        client.map_err(|cause| self.connect_error(cause))
    }

    fn connect_error(&self, cause: ClientConnectError) -> Error {
        let address = &self.settings.address;
        let refused = matches!(
            &cause,
            ClientConnectError::SystemInfoCallError(status) if is_refusal(status.code() as i32)
        );
        let kind = if refused { ErrorKind::Setup } else { ErrorKind::Transient };
        Error::new(kind, format!("connecting to Temporal at {address}")).with_source(cause).with_hint(
            "start Temporal, or set `fleet.address`; `fleet.api_key_env` names the variable of its key",
        )
    }

    fn call_error(
        &self,
        doing: &str,
        code: Option<i32>,
        cause: impl std::error::Error + Send + Sync + 'static,
    ) -> Error {
        let kind =
            if code.is_some_and(is_refusal) { ErrorKind::Setup } else { ErrorKind::Transient };
        let what = format!("{doing} in namespace `{}` of Temporal", self.settings.namespace);
        Error::new(kind, what).with_source(cause).with_hint(
            "check that the namespace of `fleet.namespace` exists and that this server may use it",
        )
    }
}

/// Whether trying again cannot help: `NOT_FOUND`, `INVALID_ARGUMENT`, `PERMISSION_DENIED`, `UNAUTHENTICATED`.
fn is_refusal(code: i32) -> bool {
    [3, 5, 7, 16].contains(&code)
}

/// `call` with a deadline.
async fn within<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(CALL_TIMEOUT, call).await {
        Ok(result) => result,
        Err(_) => Err(Error::new(ErrorKind::Transient, "Temporal does not respond")
            .with_hint("check that Temporal runs at `fleet.address`")),
    }
}

#[async_trait]
impl FleetQueue for TemporalQueue {
    async fn submit(&self, run: &RunId, turn: &FleetTurn) -> Result<()> {
        let priority = Priority::builder()
            .fairness_key(turn.party.clone())
            .fairness_weight(turn.weight)
            .build();
        // A workflow that has ended although its run has not is begun again.
        let options = WorkflowStartOptions::new(&self.settings.task_queue, run.as_str())
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .priority(priority)
            .build();
        let input = RunInput { run: run.as_str().to_owned(), failures: 0 };
        within(async {
            let started =
                self.client().await?.start_workflow(RunWorkflow::run, input, options).await;
            match started {
                Ok(_) | Err(WorkflowStartError::AlreadyStarted { .. }) => Ok(()),
                Err(cause) => {
                    let code = match &cause {
                        WorkflowStartError::Rpc(status) => Some(status.code() as i32),
                        _ => None,
                    };
                    Err(self.call_error("queueing a run", code, cause))
                }
            }
        })
        .await
    }

    async fn wake(&self, run: &RunId) -> Result<()> {
        within(async {
            let handle = self.client().await?.get_workflow_handle::<RunWorkflow>(run.as_str());
            let options = WorkflowSignalOptions::default();
            match handle.signal(RunWorkflow::wake, (), options).await {
                // It is being queued, or has ended.
                Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => Ok(()),
                Err(cause) => {
                    let code = match &cause {
                        WorkflowInteractionError::Rpc(status) => Some(status.code() as i32),
                        _ => None,
                    };
                    Err(self.call_error("waking a run", code, cause))
                }
            }
        })
        .await
    }

    async fn work(&self, slots: usize, executor: Arc<dyn RunExecutor>) {
        let (jobs, mut inbox) = mpsc::channel(slots.max(1));
        let _worker = WorkerThread::start(self.settings.clone(), slots, jobs);
        // Dropped before the thread, so that the thread can report its runs as left.
        let mut work = JoinSet::new();
        loop {
            tokio::select! {
                job = inbox.recv() => match job {
                    Some(job) => drop(work.spawn(handle(job, Arc::clone(&executor)))),
                    // The thread could not be started; it has logged why.
                    None => std::future::pending().await,
                },
                Some(_) = work.join_next(), if !work.is_empty() => {}
            }
        }
    }

    async fn ping(&self) -> Result<()> {
        within(async { self.client().await.map(drop) }).await
    }
}

/// Does what Temporal asks for, as long as it waits for that.
async fn handle(job: FleetJob, executor: Arc<dyn RunExecutor>) {
    match job {
        FleetJob::Work(input, mut reply) => {
            let Ok(run) = input.run.parse() else {
                let _ = reply.send(WorkResult::Ended);
                return;
            };
            let result = tokio::select! {
                result = executor.work_on(&run, input.failures) => result,
                () = reply.closed() => return,
            };
            let _ = reply.send(result);
        }
        FleetJob::Look((run, seen), reply) => {
            let due = match run.parse() {
                Ok(run) => executor.is_due(&run, seen).await,
                Err(_) => true,
            };
            let _ = reply.send(due);
        }
    }
}
