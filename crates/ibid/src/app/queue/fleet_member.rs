//! What a server knows of its fleet.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use ibid_core::ErrorKind;
use ibid_core::domain::RunId;
use ibid_core::ports::FleetQueue;
use ibid_core::retry::RetryPolicy;

/// The most runs whose wake-up is under way.
const MAX_WAKES: usize = 1024;

/// The delays before a wake-up is sent again.
const WAKE_RETRY: RetryPolicy = RetryPolicy {
    tries: 8,
    first: Duration::from_millis(100),
    factor: 2,
    longest: Duration::from_secs(10),
    deadline: Duration::from_secs(60),
};

/// What a server knows of its fleet.
pub(super) struct FleetMember {
    pub(super) queue: Arc<dyn FleetQueue>,
    /// The runs of all servers that wait for their first turn, when last counted.
    waiting: AtomicUsize,
    wakes: mpsc::Sender<RunId>,
    wakes_to_send: Mutex<mpsc::Receiver<RunId>>,
}

impl FleetMember {
    pub(super) fn new(queue: Arc<dyn FleetQueue>) -> FleetMember {
        let (wakes, wakes_to_send) = mpsc::channel(MAX_WAKES);
        FleetMember {
            queue,
            waiting: AtomicUsize::new(0),
            wakes,
            wakes_to_send: Mutex::new(wakes_to_send),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn set_waiting(&self, count: usize) {
        self.waiting.store(count, Ordering::Relaxed);
    }

    /// Wakes a run that waits for input. One that is not woken looks by itself after some minutes.
    pub(super) fn wake_later(&self, run: &RunId) {
        let _ = self.wakes.try_send(run.clone());
    }

    /// Sends the wake-ups. Never returns.
    pub(super) async fn send_wakes(&self) {
        let mut wakes = self.wakes_to_send.lock().await;
        let mut sending = JoinSet::new();
        while let Some(run) = wakes.recv().await {
            while sending.try_join_next().is_some() {}
            let queue = Arc::clone(&self.queue);
            sending.spawn(async move {
                let mut backoff = WAKE_RETRY.begin();
                while queue
                    .wake(&run)
                    .await
                    .is_err_and(|fault| fault.kind() == ErrorKind::Transient)
                    && backoff.wait().await
                {}
            });
        }
    }
}
