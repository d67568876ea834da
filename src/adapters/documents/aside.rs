//! Reading documents beside what waits for the network.
use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Documents read at once: as many as there are cores, for more are not faster, and each holds the elements of its page. A PDF
/// that is waited for must not hold up every page, so that there are some places in any case.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    Semaphore::new(cores.clamp(3, 8))
});

/// Does `work`, which reads a document, on a thread of its own as soon as there is a place.
///
/// # Errors
/// Where `work` panics.
pub(in crate::adapters) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    // It is never closed. Who no longer waits leaves the place taken until the work is done.
    let place = PLACES.acquire().await.ok();
    spawn_blocking(move || {
        let _place = place;
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
            aside(move || {
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
