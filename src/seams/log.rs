use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

use super::{Clock, Store};
use crate::domain::RunId;
use crate::error::Result;
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
    state: Mutex<State>,
    live: broadcast::Sender<Envelope>,
}

struct State {
    seq: u64,
    phase: Phase,
    wave: Option<u32>,
    told: HashMap<String, u32>,
    waiting: Vec<Envelope>,
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
            state: Mutex::new(State {
                seq: past.last().map_or(0, |it| it.seq),
                phase: Phase::Run,
                wave: None,
                told,
                waiting: Vec::new(),
            }),
            live: broadcast::channel(LAG).0,
        }
    }

    /// From here on, events belong to `phase` and `wave`.
    pub fn enter(&self, phase: Phase, wave: Option<u32>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.phase = phase;
        state.wave = wave;
    }

    /// Tells one event. It is heard at once and durable at the next [`Log::flush`].
    pub fn emit(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = state.told.get_mut(&event.identity().to_string())
            && *left > 0
        {
            *left -= 1;
            return;
        }
        state.seq += 1;
        let envelope = Envelope {
            seq: state.seq,
            ts: timestamp(self.clock.unix_ms()),
            run: self.run.clone(),
            event,
            phase: state.phase,
            wave: state.wave,
            agent: None,
            span: None,
        };
        state.waiting.push(envelope.clone());
        // Nobody listening is fine: the store keeps the event.
        let _ = self.live.send(envelope);
    }

    /// Makes everything told so far durable.
    ///
    /// # Errors
    /// When the store cannot take it; the events stay waiting, so that a later flush can.
    pub async fn flush(&self) -> Result<()> {
        let batch = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut state.waiting)
        };
        if batch.is_empty() {
            return Ok(());
        }
        if let Err(fault) = self.store.append(&self.run, &batch).await {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let newer = std::mem::replace(&mut state.waiting, batch);
            state.waiting.extend(newer);
            return Err(fault);
        }
        Ok(())
    }

    /// Hears what is told from now on. A follower that lags more than 1,024 events behind reads
    /// what it missed from the store.
    pub fn follow(&self) -> broadcast::Receiver<Envelope> {
        self.live.subscribe()
    }
}

/// RFC 3339 in UTC with milliseconds.
fn timestamp(unix_ms: u64) -> String {
    let at = jiff::Timestamp::from_millisecond(unix_ms as i64).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
