//! Parsing on blocking threads, so that tasks that wait for the network are not delayed.
use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Documents parsed at once: one per core, because more are not faster and each holds its page's tree in memory. At least
/// three, so that one large document does not delay all others.
static SLOTS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    Semaphore::new(cores.clamp(3, 8))
});

/// Runs `work`, which parses a document, on a blocking thread as soon as a slot is free.
///
/// # Errors
/// If `work` panics.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    // The semaphore is never closed. A caller that stops waiting keeps the slot until the work is done.
    let slot = SLOTS.acquire().await.ok();
    spawn_blocking(move || {
        let _slot = slot;
        work()
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn few_documents_are_read_at_once_also_when_nobody_waits_for_them() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let read = || {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            run_blocking(move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(10));
                now.fetch_sub(1, Ordering::SeqCst);
            })
        };
        let all: Vec<_> = (0..40).map(|_| tokio::spawn(read())).collect();
        for (nth, it) in all.into_iter().enumerate() {
            match nth % 2 {
                0 => it.abort(),
                _ => it.await.unwrap().unwrap(),
            }
        }
        let most = most.load(Ordering::SeqCst);
        assert!((1..=8).contains(&most), "{most} at once");
    }
}
