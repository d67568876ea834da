//! What came of a simulation, and which station saturates.
use super::simulation::{Cause, Scenario};

/// From this share of busy time on, a station counts as saturated: a queue with random arrivals is then long.
pub(super) const SATURATED: f64 = 0.9;

/// The stations of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StationKind {
    Key,
    Tokens,
    Web,
    Postgres,
    Cores,
    ShareLock,
    Temporal,
    Objects,
    Slots,
}

impl StationKind {
    /// The name in tables and sentences.
    pub(super) fn name(self) -> &'static str {
        match self {
            StationKind::Key => "the key's calls at once",
            StationKind::Tokens => "the key's tokens a minute",
            StationKind::Web => "searches and reads at once",
            StationKind::Postgres => "PostgreSQL",
            StationKind::Cores => "cores",
            StationKind::ShareLock => "the lock of the key's shares",
            StationKind::Temporal => "Temporal",
            StationKind::Objects => "the object store",
            StationKind::Slots => "slots",
        }
    }
}

/// How busy a station was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StationLoad {
    pub(super) kind: StationKind,
    /// The share of its time that it was busy, 0 to 1.
    pub(super) busy: f64,
    /// The share of its time that arriving visits asked for. Above 1 its queue grows.
    pub(super) asked: f64,
}

impl StationLoad {
    /// The load of stations of one kind together, from their place-seconds: all, busy, asked for.
    pub(super) fn of(
        kind: StationKind,
        stations: impl IntoIterator<Item = (f64, f64, f64)>,
    ) -> StationLoad {
        let (mut all, mut busy, mut asked) = (0.0, 0.0, 0.0);
        for station in stations {
            all += station.0;
            busy += station.1;
            asked += station.2;
        }
        let all = f64::max(all, f64::MIN_POSITIVE);
        StationLoad { kind, busy: busy / all, asked: asked / all }
    }

    pub(super) fn is_saturated(&self) -> bool {
        self.busy >= SATURATED || self.asked > 1.0
    }
}

/// What was counted in the measured time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LoadCounts {
    /// Runs that arrived.
    pub(super) arrived: f64,
    /// Seconds that runs waited for a slot, of those that got one.
    pub(super) waits: Vec<f64>,
    /// Seconds from slot to end, of the runs that ended.
    pub(super) run_times: Vec<f64>,
    /// Seconds from arrival to end, their sum.
    pub(super) sojourn: f64,
    /// The longest time that a renewal of a share took, seconds.
    pub(super) longest_share_turn: f64,
}

impl LoadCounts {
    /// The same, with the times in order.
    pub(super) fn sorted(mut self) -> LoadCounts {
        self.waits.sort_by(f64::total_cmp);
        self.run_times.sort_by(f64::total_cmp);
        self
    }
}

/// The value below which this share of the sorted values lies; nought where there is none.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// What came of a simulation.
#[derive(Debug, Clone)]
pub(super) struct SimulationResult {
    pub(super) scenario: Scenario,
    pub(super) loads: Vec<StationLoad>,
    /// The part of PostgreSQL's capacity that each cause asks for, in the order of [`Cause::ALL`].
    pub(super) postgres: [f64; Cause::ALL.len()],
    /// Runs that were accepted and had not ended, mean.
    pub(super) mean_in_system: f64,
    pub(super) counts: LoadCounts,
}

impl SimulationResult {
    pub(super) fn load(&self, kind: StationKind) -> StationLoad {
        let none = StationLoad { kind, busy: 0.0, asked: 0.0 };
        self.loads.iter().find(|it| it.kind == kind).copied().unwrap_or(none)
    }

    /// The saturated stations, the likely cause first. A run keeps its slot while it waits elsewhere, and a server whose
    /// calls wait for the key renews its share twenty times a second; so slots, and the lock of the shares under a saturated
    /// key, come last.
    pub(super) fn saturated(&self) -> Vec<StationLoad> {
        let key_waits = self.load(StationKind::Key).is_saturated()
            || self.load(StationKind::Tokens).is_saturated();
        let is_effect = |it: &StationLoad| match it.kind {
            StationKind::Slots => true,
            StationKind::ShareLock => key_waits,
            _ => false,
        };
        let mut saturated: Vec<StationLoad> =
            self.loads.iter().filter(|it| it.is_saturated()).copied().collect();
        saturated.sort_by(|a, b| is_effect(a).cmp(&is_effect(b)).then(b.asked.total_cmp(&a.asked)));
        saturated
    }

    /// Whether more than a tenth of the runs that arrived did not end in their stead: times are then those of a queue that grows.
    pub(super) fn grows(&self) -> bool {
        let ended = self.counts.run_times.len() as f64;
        self.counts.arrived - ended > 0.1 * self.counts.arrived && self.counts.arrived > 100.0
    }

    /// The station with the highest load.
    pub(super) fn busiest(&self) -> Option<StationLoad> {
        self.loads.iter().copied().max_by(|a, b| a.busy.total_cmp(&b.busy))
    }

    pub(super) fn completed_per_hour(&self) -> f64 {
        self.counts.run_times.len() as f64 / self.scenario.measured * 3_600.0
    }

    /// The share of PostgreSQL's capacity that this cause asks for.
    pub(super) fn postgres_share(&self, cause: Cause) -> f64 {
        self.postgres[cause as usize]
    }
}
