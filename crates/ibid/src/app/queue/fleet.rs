//! A server as a member of a fleet: the waiting runs are in a queue that all servers share.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout};

use super::fleet_member::FleetMember;
use super::{ActiveRun, ActiveRunGuard, Queue, QueuedRun, RESUME_RETRY, WaitReason, WorkEnd};
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{FleetTurn, RunExecutor, WorkResult};
use ibid_core::{Error, ErrorKind, Result};

/// How long a request waits until its run is queued. It is stored by then, and a run that is not queued is found by [`MAX_LOOKED`].
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// How many runs a server queues again each time it looks for those that nobody works on. Most are queued already.
const MAX_LOOKED: u32 = 50;

impl Queue {
    /// Whether so many runs wait in the fleet that one of `owner` is refused.
    pub(super) async fn is_fleet_full(&self, owner: Option<&Owner>) -> Result<bool> {
        let Some(fleet) = &self.fleet else {
            return Ok(false);
        };
        let user = owner.map(|owner| owner.user.as_str());
        let counts = self.app.accounts().await?.waiting_runs(user).await?;
        fleet.set_waiting(counts.all);
        let limits = self.state().limits;
        Ok(counts.all >= limits.waiting + limits.working
            || counts.own >= limits.waiting_each + limits.working)
    }

    /// Queues an accepted run. A run that cannot be queued now is found by [`Queue::look_for_unheld`].
    pub(super) async fn submit_to(&self, fleet: &FleetMember, run: &RunId, owner: Option<&Owner>) {
        let submitted = async {
            let turn = self.fleet_turn(owner).await?;
            fleet.queue.submit(run, &turn).await
        };
        let _ = timeout(SUBMIT_TIMEOUT, submitted).await;
    }

    async fn fleet_turn(&self, owner: Option<&Owner>) -> Result<FleetTurn> {
        let party = match owner {
            None => return Ok(FleetTurn { party: "operator".to_owned(), weight: 1.0 }),
            Some(Owner { org: None, user }) => {
                return Ok(FleetTurn { party: party_name("user", user), weight: 1.0 });
            }
            Some(Owner { org: Some(org), .. }) => org,
        };
        let orgs = self.app.accounts().await?.orgs().await?;
        let weight = orgs.iter().find(|org| &org.id == party).map_or(1.0, |org| org.weight);
        Ok(FleetTurn { party: party_name("org", party), weight: weight as f32 })
    }

    /// Works on runs of the fleet. Never returns.
    pub(super) async fn run_in_fleet(self: Arc<Self>, fleet: &FleetMember) {
        let slots = self.state().limits.working;
        let executor = Arc::clone(&self) as Arc<dyn RunExecutor>;
        tokio::select! {
            () = fleet.queue.work(slots, executor) => {}
            () = fleet.send_wakes() => {}
            () = self.look_loop(fleet) => {}
        }
    }

    async fn look_loop(&self, fleet: &FleetMember) {
        loop {
            // When the store or the queue cannot be reached now, the next round finds the runs.
            let _ = self.look_for_unheld(fleet).await;
            self.sleep_until_look().await;
        }
    }

    /// Queues some of the runs that nobody works on, in case the queue does not know them: a server was killed after it had stored
    /// one, or the queue was lost. Says whether runs wait that need the slot of one that waits for input.
    async fn look_for_unheld(&self, fleet: &FleetMember) -> Result<()> {
        self.is_fleet_full(None).await?;
        {
            let state = self.state();
            let full = state.working.len() >= state.limits.working;
            self.crowded.send_replace(full && fleet.waiting() > 0);
        }
        let Some(runs) = self.app.locks().await?.unheld_runs(MAX_LOOKED).await? else {
            return Err(Error::new(ErrorKind::Setup, "a fleet needs a store that servers share")
                .with_hint("set `store.url` to a PostgreSQL database"));
        };
        for run in runs {
            let row = match self.app.row(&run).await {
                // Deleted meanwhile.
                Err(fault) if fault.kind() == ErrorKind::NotFound => continue,
                row => row?,
            };
            let turn = self.fleet_turn(row.owner.as_ref()).await?;
            fleet.queue.submit(&run, &turn).await?;
        }
        Ok(())
    }

    /// Makes `it` active, if it is not.
    fn activate(&self, it: &QueuedRun) -> bool {
        let mut state = self.state();
        if state.working.contains_key(&it.run) {
            return false;
        }
        let working = ActiveRun {
            owner: it.owner.clone(),
            durable_seq: it.durable_seq.clone(),
            woken: false,
        };
        state.working.insert(it.run.clone(), working);
        true
    }

    /// How a run that cannot go on before `rest` is left to the fleet.
    async fn leave(&self, run: &RunId, rest: WaitReason) -> WorkResult {
        let now = Instant::now();
        let ms = |at: Instant| at.saturating_duration_since(now).as_millis() as u64;
        match rest {
            WaitReason::None => not_ended(Duration::ZERO),
            WaitReason::Until(at) => WorkResult::NotEnded { after_ms: ms(at), failed: false },
            // A command may have come after it was last looked for, and before the queue listens for it.
            WaitReason::User(seen, _) if self.is_due(run, seen).await => not_ended(Duration::ZERO),
            WaitReason::User(commands_seen, until) => {
                WorkResult::WaitsForInput { commands_seen, at_most_ms: until.map(ms) }
            }
        }
    }
}

#[async_trait]
impl RunExecutor for Queue {
    async fn work_on(&self, run: &RunId, failures: u32) -> WorkResult {
        let owner = match self.app.row(run).await {
            Ok(row) if row.status.ended() => return WorkResult::Ended,
            Ok(row) => row.owner,
            // Deleted.
            Err(fault) if fault.kind() == ErrorKind::NotFound => return WorkResult::Ended,
            Err(_) => return failed(failures),
        };
        let it = QueuedRun::new(run.clone(), owner);
        if !self.activate(&it) {
            return not_ended(RESUME_RETRY.first);
        }
        let guard = ActiveRunGuard { queue: self, run };
        let end = self.work_until_rest(&it).await;
        drop(guard);
        it.durable_seq.send_replace(None);
        match end {
            WorkEnd::Ended => {
                self.call_end_hook(it.run).await;
                WorkResult::Ended
            }
            WorkEnd::Elsewhere | WorkEnd::Failed => failed(failures),
            WorkEnd::Rests(rest) => self.leave(run, rest).await,
        }
    }

    async fn is_due(&self, run: &RunId, commands_seen: usize) -> bool {
        // When the store cannot be reached now, the run is asked about again.
        let answered = self.app.is_answered(run, commands_seen).await;
        answered.unwrap_or_else(|fault| fault.kind() == ErrorKind::NotFound)
    }
}

fn not_ended(after: Duration) -> WorkResult {
    WorkResult::NotEnded { after_ms: after.as_millis() as u64, failed: false }
}

fn failed(failures: u32) -> WorkResult {
    let after = RESUME_RETRY.delay(failures + 1);
    WorkResult::NotEnded { after_ms: after.as_millis() as u64, failed: true }
}

/// The name of a party, at most 64 bytes: a longer id is cut, and those that begin alike then share turns.
fn party_name(kind: &str, id: &str) -> String {
    let name = format!("{kind}:{id}");
    name[..name.floor_char_boundary(64)].to_owned()
}
