use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex as AsyncMutex, broadcast, watch};

use super::{Clock, Store, crash_point};
use crate::domain::RunId;
use crate::error::{Kind, Result};
use crate::record::{Envelope, Event, Phase};

/// How many events a follower may lag behind before it must read from the store again.
const LAG: usize = 1024;

/// Where a run tells what happens, and where everyone hears it.
///
/// `seq` has no gaps. What a resumed run tells again is recognised and not told twice.
pub struct Log {
    run: RunId,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    live: broadcast::Sender<Envelope>,
    // One flush at a time: batches must reach the store in the order told. Holds whether the
    // outcome of an earlier flush is unknown.
    flushing: AsyncMutex<bool>,
    // Number of the last event that is durable.
    durable: watch::Sender<u64>,
}

struct State {
    seq: u64,
    phase: Phase,
    wave: Option<u32>,
    told: HashMap<String, u32>,
    waiting: VecDeque<Envelope>,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// A log that goes on after `past`, the events already stored.
    pub fn resume(
        run: RunId,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        past: &[Envelope],
    ) -> Log {
        let mut told = HashMap::new();
        for it in past {
            *told.entry(it.event.identity().to_string()).or_insert(0) += 1;
        }
        Log {
            run,
            store,
            clock,
            state: Arc::new(Mutex::new(State {
                seq: past.last().map_or(0, |it| it.seq),
                phase: Phase::Run,
                wave: None,
                told,
                waiting: VecDeque::new(),
            })),
            live: broadcast::channel(LAG).0,
            flushing: AsyncMutex::new(false),
            durable: watch::channel(past.last().map_or(0, |it| it.seq)).0,
        }
    }

    /// The number of the last event that is durable, as it grows; closed when nothing more can be told. Who tells strangers
    /// goes by it: what they have heard must still be there after a crash, under the same number.
    pub fn durable(&self) -> watch::Receiver<u64> {
        self.durable.subscribe()
    }

    /// What was told and is not durable yet: for who keeps it together with something else.
    pub fn unflushed(&self) -> Vec<Envelope> {
        locked(&self.state).waiting.iter().cloned().collect()
    }

    /// From here on, events belong to `phase` and `wave`.
    pub fn enter(&self, phase: Phase, wave: Option<u32>) {
        let mut state = locked(&self.state);
        state.phase = phase;
        state.wave = wave;
    }

    /// Tells one event. It is heard at once and durable at the next [`Log::flush`].
    pub fn emit(&self, event: Event) {
        self.emit_as(None, event);
    }

    /// Tells what a researcher did: the same, with its name.
    pub fn emit_as(&self, agent: Option<&str>, event: Event) {
        let mut state = locked(&self.state);
        if !state.told.is_empty() {
            let identity = event.identity().to_string();
            if let Some(left) = state.told.get_mut(&identity) {
                *left -= 1;
                if *left == 0 {
                    state.told.remove(&identity);
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
            wave: state.wave,
            agent: agent.map(str::to_owned),
            span: None,
        };
        state.waiting.push_back(envelope.clone());
        // Nobody listening is fine: the store keeps the event.
        let _ = self.live.send(envelope);
    }

    /// Makes everything told so far durable. Flushes take turns; dropping one loses nothing.
    ///
    /// # Errors
    /// When the store cannot take it; the events stay waiting, so that a later flush can.
    pub async fn flush(&self) -> Result<()> {
        let mut in_doubt = self.flushing.lock().await;
        if !*in_doubt {
            return self.write(&mut in_doubt).await;
        }
        self.forget_stored().await?;
        if self.write(&mut in_doubt).await.is_ok() {
            return Ok(());
        }
        // The flush in doubt may have been written only just now, ahead of this one.
        self.forget_stored().await?;
        self.write(&mut in_doubt).await
    }

    async fn write(&self, in_doubt: &mut bool) -> Result<()> {
        let batch: Vec<Envelope> = locked(&self.state).waiting.iter().cloned().collect();
        if batch.is_empty() {
            *in_doubt = false;
            return Ok(());
        }
        crash_point("events.before_flush");
        // Until the store has answered, a dropped or failed flush may have been written or not.
        *in_doubt = true;
        self.store.append(&self.run, &batch).await?;
        *in_doubt = false;
        crash_point("events.after_flush");
        locked(&self.state).waiting.drain(..batch.len());
        if let Some(last) = batch.last() {
            self.durable.send_replace(last.seq);
        }
        Ok(())
    }

    /// Drops from the waiting events those that an unanswered flush did write.
    async fn forget_stored(&self) -> Result<()> {
        let Some(first) = locked(&self.state).waiting.front().map(|it| it.seq) else {
            return Ok(());
        };
        let stored = match self.store.events(&self.run, first - 1).await {
            Err(fault) if fault.kind() == Kind::NotFound => Vec::new(),
            outcome => outcome?,
        };
        let last = stored.last().map_or(0, |it| it.seq);
        locked(&self.state).waiting.retain(|it| it.seq > last);
        if last > 0 {
            self.durable.send_replace(last);
        }
        Ok(())
    }

    /// Hears what is told from now on. A follower that lags more than 1,024 events behind loses
    /// some; [`Log::follow_from`] does not.
    pub fn follow(&self) -> broadcast::Receiver<Envelope> {
        self.live.subscribe()
    }

    /// Hears everything told after `seq`, whether before or from now on: each event once, in order.
    pub fn follow_from(&self, seq: u64) -> Follower {
        Follower {
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

/// One who hears the whole story, however late or slow.
pub struct Follower {
    run: RunId,
    store: Arc<dyn Store>,
    state: Arc<Mutex<State>>,
    live: broadcast::Receiver<Envelope>,
    // The last event heard.
    seq: u64,
    ready: VecDeque<Envelope>,
    caught_up: bool,
    ended: bool,
}

impl Follower {
    /// The next event; `None` when the log is gone and all is heard.
    ///
    /// # Errors
    /// When the store cannot be read; asking again goes on at the same place.
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

    /// Reads what was told and not yet heard: first what waits, so that nothing slips between.
    async fn catch_up(&mut self) -> Result<()> {
        let waiting: Vec<Envelope> = locked(&self.state).waiting.iter().cloned().collect();
        let stored = match self.store.events(&self.run, self.seq).await {
            Err(fault) if fault.kind() == Kind::NotFound => Vec::new(),
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

/// RFC 3339 in UTC with milliseconds.
fn timestamp(unix_ms: u64) -> String {
    let at = jiff::Timestamp::from_millisecond(unix_ms as i64).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
