//! The queue in front of a writer.
use tokio::sync::{mpsc, oneshot};

use super::error::StoreError;
use super::write::{ScopedWrite, WriteOutcome};
use ibid_core::{Error, ErrorKind, Result};

/// How many writes may wait for a writer before callers are held back.
pub(super) const QUEUE_LENGTH: usize = 1024;

/// How many writes one commit takes at most. It bounds the number of callers that a failed commit affects.
const MAX_GROUP: usize = 256;

/// The outcome of each write of a commit, in order.
pub(super) type WriteOutcomes = Vec<std::result::Result<WriteOutcome, StoreError>>;

/// A write and the caller that waits for it.
pub(super) struct WriteRequest {
    pub(super) write: ScopedWrite,
    pub(super) reply: oneshot::Sender<std::result::Result<WriteOutcome, StoreError>>,
}

/// The sending end of a queue.
pub(super) type WriteQueue = mpsc::Sender<WriteRequest>;

/// Queues `write` and waits until it is committed; `location` is the database, for errors.
pub(super) async fn submit(
    queue: &WriteQueue,
    write: ScopedWrite,
    location: &str,
) -> Result<WriteOutcome> {
    let ended = || Error::new(ErrorKind::Internal, format!("the writer of {location} has ended"));
    let (reply, outcome) = oneshot::channel();
    let request = WriteRequest { write, reply };
    queue.send(request).await.map_err(|_| ended())?;
    let outcome = outcome.await.map_err(|_| ended())?;
    outcome.map_err(|fault| fault.error())
}

/// Queues `write` without waiting. Drops it when the queue is full.
pub(super) fn submit_later(queue: &WriteQueue, write: ScopedWrite) {
    let reply = oneshot::channel().0;
    let _ = queue.try_send(WriteRequest { write, reply });
}

/// Moves the waiting requests of the next commit into `group`. Returns `false` when all senders are gone.
///
/// While one commit is being synced the next group gathers by itself; no request waits for others.
pub(super) async fn next_group(
    requests: &mut mpsc::Receiver<WriteRequest>,
    group: &mut Vec<WriteRequest>,
) -> bool {
    if requests.recv_many(group, MAX_GROUP).await == 0 {
        return false;
    }
    if group.len() == 1 {
        // Tasks that are about to write as well (a wave of searches) get one turn to do so.
        tokio::task::yield_now().await;
        while group.len() < MAX_GROUP
            && let Ok(more) = requests.try_recv()
        {
            group.push(more);
        }
    }
    true
}

/// Sends each caller of `group` its outcome.
pub(super) fn reply_all(group: &mut Vec<WriteRequest>, outcomes: WriteOutcomes) {
    for (request, outcome) in group.drain(..).zip(outcomes) {
        // A caller that went away does not undo its write.
        let _ = request.reply.send(outcome);
    }
}

/// The outcome of a commit of one write.
pub(super) fn only_outcome(
    outcomes: WriteOutcomes,
) -> std::result::Result<WriteOutcome, StoreError> {
    let outcome = outcomes.into_iter().next();
    outcome.unwrap_or(Ok(WriteOutcome::Written))
}
