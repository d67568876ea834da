use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex as AsyncMutex, broadcast, watch};

use super::{Clock, Store, crash_point};
use crate::domain::RunId;
use crate::record::{Envelope, Event, Phase};
use crate::{ErrorKind, Result};

/// How many events a follower may fall behind before it reads from the store.
const MAX_LAG: usize = 1024;

/// The event log of a run: events are emitted to it and followed from it.
///
/// `seq` has no gaps. Events that a resumed run emits again are recognised and not repeated.
pub struct EventLog {
    run: RunId,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<EventLogState>>,
    live: broadcast::Sender<Envelope>,
    // Held while flushing: batches must reach the store in order. True if the outcome of an earlier flush is unknown.
    flushing: AsyncMutex<bool>,
    // `seq` of the last durable event.
    durable: watch::Sender<u64>,
    flush_failed: AtomicBool,
}

struct EventLogState {
    seq: u64,
    phase: Phase,
    round: Option<u32>,
    replayed: HashMap<String, u32>,
    unflushed: VecDeque<Envelope>,
}

fn lock_state(state: &Mutex<EventLogState>) -> MutexGuard<'_, EventLogState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EventLog {
    /// Creates a log that continues after `past`, the events already stored.
    pub fn resume(
        run: RunId,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        past: &[Envelope],
    ) -> EventLog {
        let mut replayed = HashMap::new();
        for it in past {
            *replayed.entry(it.event.identity().to_string()).or_insert(0) += 1;
        }
        EventLog {
            run,
            store,
            clock,
            state: Arc::new(Mutex::new(EventLogState {
                seq: past.last().map_or(0, |it| it.seq),
                phase: Phase::Run,
                round: None,
                replayed,
                unflushed: VecDeque::new(),
            })),
            live: broadcast::channel(MAX_LAG).0,
            flushing: AsyncMutex::new(false),
            durable: watch::channel(past.last().map_or(0, |it| it.seq)).0,
            flush_failed: AtomicBool::new(false),
        }
    }

    /// A watch on the `seq` of the last durable event; it closes when the log is dropped. Streams to clients wait for
    /// it: an event that a client has received must survive a crash under the same number.
    pub fn durable_seq(&self) -> watch::Receiver<u64> {
        self.durable.subscribe()
    }

    /// The events that are not durable yet, for callers that store them together with something else.
    pub fn unflushed_events(&self) -> Vec<Envelope> {
        lock_state(&self.state).unflushed.iter().cloned().collect()
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Sets the phase and round of the events that follow.
    pub fn set_phase(&self, phase: Phase, round: Option<u32>) {
        let mut state = lock_state(&self.state);
        state.phase = phase;
        state.round = round;
    }

    /// Emits one event. Subscribers receive it at once; it is durable after the next [`EventLog::flush`].
    pub fn emit(&self, event: Event) {
        self.emit_as(None, event);
    }

    /// Emits an event on behalf of a researcher.
    pub fn emit_as(&self, agent: Option<&str>, event: Event) {
        let mut state = lock_state(&self.state);
        if !state.replayed.is_empty() {
            let identity = event.identity().to_string();
            if let Some(left) = state.replayed.get_mut(&identity) {
                *left -= 1;
                if *left == 0 {
                    state.replayed.remove(&identity);
                }
                return;
            }
        }
        state.seq += 1;
        let envelope = Envelope {
            seq: state.seq,
            ts: timestamp(self.clock.unix_ms()),
            run: self.run.clone(),
            event,
            phase: state.phase,
            round: state.round,
            agent: agent.map(str::to_owned),
            span: None,
        };
        state.unflushed.push_back(envelope.clone());
        // Without subscribers, sending fails; the store keeps the event.
        let _ = self.live.send(envelope);
    }

    /// Makes all emitted events durable. Concurrent flushes wait for each other; dropping the future loses nothing.
    ///
    /// # Errors
    /// If the store cannot write. The events are kept for a later flush.
    pub async fn flush(&self) -> Result<()> {
        let flushed = self.flush_all().await;
        if flushed.is_err() {
            self.flush_failed.store(true, Ordering::Relaxed);
        }
        flushed
    }

    /// Whether a flush has failed. What the run then returns as an error may be that of the store, which is no reason to end it.
    pub fn has_failed(&self) -> bool {
        self.flush_failed.load(Ordering::Relaxed)
    }

    async fn flush_all(&self) -> Result<()> {
        let mut in_doubt = self.flushing.lock().await;
        if !*in_doubt {
            return self.write(&mut in_doubt).await;
        }
        self.drop_stored().await?;
        if self.write(&mut in_doubt).await.is_ok() {
            return Ok(());
        }
        // The unconfirmed flush may have been written in the meantime.
        self.drop_stored().await?;
        self.write(&mut in_doubt).await
    }

    async fn write(&self, in_doubt: &mut bool) -> Result<()> {
        let batch: Vec<Envelope> = lock_state(&self.state).unflushed.iter().cloned().collect();
        if batch.is_empty() {
            *in_doubt = false;
            return Ok(());
        }
        crash_point("events.before_flush");
        // Until the store has answered, it is unknown whether a dropped or failed flush was written.
        *in_doubt = true;
        self.store.append(&self.run, &batch).await?;
        *in_doubt = false;
        crash_point("events.after_flush");
        lock_state(&self.state).unflushed.drain(..batch.len());
        if let Some(last) = batch.last() {
            self.durable.send_replace(last.seq);
        }
        Ok(())
    }

    /// Removes pending events that an unconfirmed flush did write.
    async fn drop_stored(&self) -> Result<()> {
        let Some(first) = lock_state(&self.state).unflushed.front().map(|it| it.seq) else {
            return Ok(());
        };
        let stored = match self.store.events(&self.run, first - 1).await {
            Err(fault) if fault.kind() == ErrorKind::NotFound => Vec::new(),
            outcome => outcome?,
        };
        let last = stored.last().map_or(0, |it| it.seq);
        lock_state(&self.state).unflushed.retain(|it| it.seq > last);
        if last > 0 {
            self.durable.send_replace(last);
        }
        Ok(())
    }

    /// Subscribes to new events. A subscriber that falls more than 1,024 events behind loses some;
    /// [`EventLog::follow_from`] does not.
    pub fn subscribe(&self) -> broadcast::Receiver<Envelope> {
        self.live.subscribe()
    }

    /// Follows all events after `seq`, past and future: each once, in order.
    pub fn follow_from(&self, seq: u64) -> EventFollower {
        EventFollower {
            run: self.run.clone(),
            store: Arc::clone(&self.store),
            state: Arc::clone(&self.state),
            live: self.live.subscribe(),
            seq,
            ready: VecDeque::new(),
            caught_up: false,
            ended: false,
        }
    }
}

/// Receives every event, however late or slow the caller is.
pub struct EventFollower {
    run: RunId,
    store: Arc<dyn Store>,
    state: Arc<Mutex<EventLogState>>,
    live: broadcast::Receiver<Envelope>,
    // `seq` of the last event returned.
    seq: u64,
    ready: VecDeque<Envelope>,
    caught_up: bool,
    ended: bool,
}

impl EventFollower {
    /// Returns the next event, or `None` when the log is dropped and all events were returned.
    ///
    /// # Errors
    /// If the store cannot be read. The next call continues at the same position.
    pub async fn next(&mut self) -> Result<Option<Envelope>> {
        loop {
            if let Some(it) = self.ready.pop_front() {
                self.seq = it.seq;
                return Ok(Some(it));
            }
            if !self.caught_up {
                self.catch_up().await?;
                self.caught_up = true;
                continue;
            }
            if self.ended {
                return Ok(None);
            }
            match self.live.recv().await {
                Ok(it) if it.seq <= self.seq => {}
                Ok(it) if it.seq == self.seq + 1 => self.ready.push_back(it),
                Ok(_) | Err(RecvError::Lagged(_)) => self.caught_up = false,
                Err(RecvError::Closed) => {
                    self.ended = true;
                    self.caught_up = false;
                }
            }
        }
    }

    /// Reads the missed events. The pending events are read first, so that none is lost in between.
    async fn catch_up(&mut self) -> Result<()> {
        let waiting: Vec<Envelope> = lock_state(&self.state).unflushed.iter().cloned().collect();
        let stored = match self.store.events(&self.run, self.seq).await {
            Err(fault) if fault.kind() == ErrorKind::NotFound => Vec::new(),
            outcome => outcome?,
        };
        let mut last = self.seq;
        for it in stored.into_iter().chain(waiting) {
            if it.seq > last {
                last = it.seq;
                self.ready.push_back(it);
            }
        }
        Ok(())
    }
}

/// Formats a time as RFC 3339 in UTC with milliseconds.
fn timestamp(unix_ms: u64) -> String {
    let at = jiff::Timestamp::from_millisecond(unix_ms as i64).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
