use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::domain::RunId;

/// The queue of runs of several servers: each run is given to one of them at a time, until it has ended.
///
/// Contract: a run that was submitted is given to a server as long as [`RunExecutor::work_on`] does not say that it has ended, whatever
/// servers stop meanwhile. Parties take turns by their weights. The queue may forget runs, and may give one to a second server while the
/// first cannot be reached; the store decides which of them may write.
#[async_trait]
pub trait FleetQueue: Send + Sync {
    /// Queues `run`. A run that is queued already keeps its place.
    ///
    /// # Errors
    /// `Transient` if the queue cannot be reached, `Setup` if it refuses this server.
    async fn submit(&self, run: &RunId, turn: &FleetTurn) -> Result<()>;

    /// Gives `run` to a server soon, if it waits for input.
    ///
    /// # Errors
    /// Those of [`FleetQueue::submit`].
    async fn wake(&self, run: &RunId) -> Result<()>;

    /// Takes up to `slots` runs at a time and works on them by `executor`. Never returns; the queue may be out of reach for a while.
    /// Dropping the future stops the runs, and gives them to other servers.
    async fn work(&self, slots: usize, executor: Arc<dyn RunExecutor>);

    /// Tries the connection.
    ///
    /// # Errors
    /// Those of [`FleetQueue::submit`].
    async fn ping(&self) -> Result<()>;
}

/// Whose turn a run takes.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetTurn {
    /// Who takes turns with others: an organisation, a user without one, or the operator. At most 64 bytes.
    pub party: String,
    /// How many turns the party has for one of a party of weight 1.
    pub weight: f32,
}

/// Works on runs that a [`FleetQueue`] gives it.
#[async_trait]
pub trait RunExecutor: Send + Sync {
    /// Works on `run` until it ends or cannot go on. It has failed `failures` times in a row.
    async fn work_on(&self, run: &RunId, failures: u32) -> WorkResult;

    /// Whether a run that waits for input has more than `commands_seen` commands, or none can come any more.
    async fn is_due(&self, run: &RunId, commands_seen: usize) -> bool;
}

/// How a server left a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum WorkResult {
    /// It has ended.
    Ended,
    /// It waits for input.
    WaitsForInput {
        /// How many commands it has seen.
        commands_seen: usize,
        /// How long it waits before it continues without any, milliseconds.
        at_most_ms: Option<u64>,
    },
    /// Some server must work on it again.
    NotEnded {
        /// After how long, milliseconds.
        after_ms: u64,
        /// Whether it failed, and did not just stop or wait.
        failed: bool,
    },
}
