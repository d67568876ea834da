//! The simulation: runs pass from station to station, by a heap of events.
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use super::parameters::Parameters;
use super::result::{self, SimulationResult, StationKind, StationLoad};
use super::station::{Level, SimTime, SplitMix64, Station, Window};

/// Seconds between the steps in which the work of timers (polls, renewals, looks, heartbeats) is given to the stations.
const TICK: f64 = 0.01;

/// A fleet, what is asked of it, and how long it is simulated.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) servers: usize,
    /// Runs that are asked for in a day. The peak hour is simulated.
    pub(super) runs_per_day: f64,
    pub(super) parameters: Parameters,
    /// Simulated seconds before anything is measured.
    pub(super) warm_up: f64,
    /// Seconds that are measured.
    pub(super) measured: f64,
    pub(super) seed: u64,
}

impl Scenario {
    /// Runs a second in the peak hour.
    pub(super) fn rate(&self) -> f64 {
        self.runs_per_day / 86_400.0 * self.parameters.peak_factor
    }
}

/// What loads PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Calls,
    Events,
    Runs,
    Polls,
    Notifications,
    Shares,
    Looks,
    KeepAlive,
}

impl Cause {
    pub(super) const ALL: [(Cause, &str); 8] = [
        (Cause::Calls, "journaled calls"),
        (Cause::Events, "flushes of events and traffic, reads of followers"),
        (Cause::Runs, "start and end of runs"),
        (Cause::Polls, "looks at commands"),
        (Cause::Notifications, "notifications"),
        (Cause::Shares, "shares of the key"),
        (Cause::Looks, "looks for runs of dead servers"),
        (Cause::KeepAlive, "signs of life"),
    ];
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Model,
    Search,
    Read,
}

/// What happens to a run next. Each station is visited in a step of its own, so that visits come in the order of time.
#[derive(Debug, Clone, Copy)]
enum RunStep {
    Arrive,
    Tick,
    Enqueue,
    Begin,
    Send(Call),
    AskModel,
    Answer(Call),
    Computed(Call),
    CallDone,
    End,
}

struct SimulationEvent {
    at: SimTime,
    /// Orders events of one moment, so that a seed gives one result.
    nth: u64,
    run: usize,
    step: RunStep,
}

impl PartialEq for SimulationEvent {
    fn eq(&self, other: &SimulationEvent) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SimulationEvent {}

impl PartialOrd for SimulationEvent {
    fn partial_cmp(&self, other: &SimulationEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SimulationEvent {
    /// The earliest is the greatest, because the heap gives the greatest first.
    fn cmp(&self, other: &SimulationEvent) -> Ordering {
        (other.at, other.nth).cmp(&(self.at, self.nth))
    }
}

struct RunState {
    arrived: f64,
    queued: f64,
    started: f64,
    server: usize,
    stage: usize,
    /// Calls of the stage that have not ended.
    pending: usize,
    /// When its events are flushed next, if there are any.
    flush_at: f64,
}

struct SimulatedServer {
    cores: Station,
    web: Station,
    /// Calls to models that have a place or wait for one.
    calls: usize,
    /// Calls for which its share of the key sufficed at the last renewal.
    share: usize,
    /// When that renewal ended, or will end.
    renewed: f64,
    /// Until when one waits for a place.
    waits_until: f64,
    notify_at: f64,
}

struct Simulation<'s> {
    parameters: &'s Parameters,
    rate: f64,
    window: Window,
    /// Of arrivals alone, so that scenarios that differ in their parameters have the same arrivals.
    arrivals: SplitMix64,
    rng: SplitMix64,
    events: BinaryHeap<SimulationEvent>,
    nth: u64,
    runs: Vec<RunState>,
    servers: Vec<SimulatedServer>,
    waiting: VecDeque<usize>,
    /// The server of each free slot; the one that has been free longest is taken next.
    free_slots: VecDeque<usize>,
    postgres: Station,
    key: Station,
    tokens: Station,
    share_lock: Station,
    temporal: Station,
    objects: Station,
    active: Level,
    in_system: Level,
    /// Servers with a row in the table of shares.
    sharing: f64,
    /// Commits by cause in the measured time.
    commits: [f64; Cause::ALL.len()],
    counts: result::LoadCounts,
}

/// Simulates a fleet. The same scenario always gives the same result.
pub(super) fn simulate(scenario: &Scenario) -> SimulationResult {
    let window = Window { begin: scenario.warm_up, end: scenario.warm_up + scenario.measured };
    let mut simulation = Simulation::new(scenario, window);
    if simulation.rate > 0.0 {
        let first = simulation.arrivals.exponential(1.0 / simulation.rate);
        simulation.schedule(first, 0, RunStep::Arrive);
    }
    simulation.schedule(0.0, 0, RunStep::Tick);
    while let Some(event) = simulation.events.pop() {
        if event.at.0 >= window.end {
            break;
        }
        simulation.handle(&event);
    }
    simulation.into_result(scenario)
}

impl<'s> Simulation<'s> {
    fn new(scenario: &'s Scenario, window: Window) -> Simulation<'s> {
        let it = &scenario.parameters;
        let servers = 0..scenario.servers;
        let server = |_| SimulatedServer {
            cores: Station::new(it.cores, window),
            web: Station::new(it.web_places, window),
            calls: 0,
            share: 0,
            renewed: 0.0,
            waits_until: 0.0,
            notify_at: 0.0,
        };
        Simulation {
            parameters: it,
            rate: scenario.rate(),
            window,
            arrivals: SplitMix64(scenario.seed),
            rng: SplitMix64(!scenario.seed),
            events: BinaryHeap::new(),
            nth: 0,
            runs: Vec::new(),
            servers: servers.clone().map(server).collect(),
            waiting: VecDeque::new(),
            free_slots: (0..it.slots).flat_map(|_| servers.clone()).collect(),
            postgres: Station::new(1, window),
            key: Station::new(it.key_calls, window),
            tokens: Station::new(1, window),
            share_lock: Station::new(1, window),
            temporal: Station::new(1, window),
            objects: Station::new(1, window),
            active: Level::new(window),
            in_system: Level::new(window),
            sharing: 0.0,
            commits: [0.0; Cause::ALL.len()],
            counts: result::LoadCounts::default(),
        }
    }

    fn schedule(&mut self, at: f64, run: usize, step: RunStep) {
        self.nth += 1;
        self.events.push(SimulationEvent { at: SimTime(at), nth: self.nth, run, step });
    }

    fn handle(&mut self, event: &SimulationEvent) {
        let (now, run) = (event.at.0, event.run);
        match event.step {
            RunStep::Arrive => self.arrive(now),
            RunStep::Tick => self.tick(now),
            RunStep::Enqueue => self.enqueue(now, run),
            RunStep::Begin => self.begin_stage(now, run),
            RunStep::Send(call) => self.send(now, run, call),
            RunStep::AskModel => self.ask_model(now, run),
            RunStep::Answer(call) => self.answer(now, run, call),
            RunStep::Computed(call) => self.computed(now, run, call),
            RunStep::CallDone => self.call_done(now, run),
            RunStep::End => self.end(now, run),
        }
    }

    /// Gives PostgreSQL work that is worth so many commits. Returns when it is done.
    fn commit(&mut self, now: f64, cause: Cause, commits: f64) -> f64 {
        if self.window.contains(now) {
            self.commits[cause as usize] += commits;
        }
        let visit = self.postgres.visit(now, commits / self.parameters.postgres_commits);
        visit.end + self.parameters.postgres_seconds
    }

    /// A run is accepted and given to Temporal.
    fn arrive(&mut self, now: f64) {
        let next = now + self.arrivals.exponential(1.0 / self.rate);
        self.schedule(next, 0, RunStep::Arrive);
        let run = self.runs.len();
        self.runs.push(RunState {
            arrived: now,
            queued: now,
            started: now,
            server: 0,
            stage: 0,
            pending: 0,
            flush_at: 0.0,
        });
        self.in_system.change(now, 1.0);
        if self.window.contains(now) {
            self.counts.arrived += 1.0;
        }
        self.commit(now, Cause::Runs, self.parameters.commits_per_run / 4.0);
        // One transition is left for the end.
        let transitions =
            (self.parameters.transitions_per_run - 1.0) / self.parameters.temporal_transitions;
        let accepted = self.temporal.visit(now, transitions);
        let latency = self.parameters.postgres_seconds + self.parameters.temporal_seconds;
        self.schedule(accepted.end + latency, run, RunStep::Enqueue);
    }

    fn enqueue(&mut self, now: f64, run: usize) {
        self.runs[run].queued = now;
        self.waiting.push_back(run);
        self.start_waiting(now);
    }

    /// Starts the first waiting run if a slot is free.
    fn start_waiting(&mut self, now: f64) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(server) = self.free_slots.pop_front() else {
            return;
        };
        let Some(run) = self.waiting.pop_front() else {
            return;
        };
        self.active.change(now, 1.0);
        let state = &mut self.runs[run];
        (state.server, state.started) = (server, now);
        if self.window.contains(now) {
            self.counts.waits.push(now - state.queued);
        }
        let taken = self.commit(now, Cause::Runs, self.parameters.commits_per_run / 2.0);
        self.schedule(taken, run, RunStep::Begin);
    }

    /// Begins the calls of a stage, or ends the run after the last one.
    fn begin_stage(&mut self, now: f64, run: usize) {
        let Some(stage) = self.parameters.stages.get(self.runs[run].stage).copied() else {
            let ended = self.commit(now, Cause::Runs, self.parameters.commits_per_run / 4.0);
            self.schedule(ended, run, RunStep::End);
            return;
        };
        self.flush(now, run);
        let kinds = [
            (Call::Model, stage.models),
            (Call::Search, stage.searches),
            (Call::Read, stage.reads),
        ];
        self.runs[run].pending = kinds.iter().map(|it| it.1).sum();
        for (call, count) in kinds {
            for _ in 0..count {
                // The commits before and after a call are one visit.
                let begun = self.commit(now, Cause::Calls, self.parameters.commits_per_call);
                self.schedule(begun, run, RunStep::Send(call));
            }
        }
    }

    fn send(&mut self, now: f64, run: usize, call: Call) {
        let mean = match call {
            Call::Model => return self.take_share(now, run),
            Call::Search => self.parameters.search_seconds,
            Call::Read => self.parameters.read_seconds,
        };
        let took = self.rng.lognormal(mean, self.parameters.web_sigma);
        let answered = self.servers[self.runs[run].server].web.visit(now, took);
        self.schedule(answered.end, run, RunStep::Answer(call));
    }

    /// A call that is within its server's share of the key asks nobody. Another one waits until the share has been raised,
    /// under the lock of the key.
    fn take_share(&mut self, now: f64, run: usize) {
        let at = self.runs[run].server;
        let server = &mut self.servers[at];
        if now - server.renewed > self.parameters.renew_interval {
            // A renewal by timer, which [`Simulation::tick`] counts, has lowered the share since.
            (server.share, server.renewed) = (server.calls, now);
        }
        server.calls += 1;
        if now < server.renewed {
            server.share = server.share.max(server.calls);
            let renewed = server.renewed;
            self.schedule(renewed, run, RunStep::AskModel);
        } else if server.calls <= server.share {
            self.ask_model(now, run);
        } else {
            server.share = server.calls;
            let renewed = self.renew_share(now);
            self.servers[at].renewed = renewed;
            self.schedule(renewed, run, RunStep::AskModel);
        }
    }

    /// Renews the share of one server. Returns when it is done.
    fn renew_share(&mut self, now: f64) -> f64 {
        self.commit(now, Cause::Shares, 1.0 + self.sharing * self.parameters.row_cost);
        self.share_lock.visit(now, self.share_seconds()).end
    }

    /// How long a renewal holds the key's lock, seconds.
    fn share_seconds(&self) -> f64 {
        self.parameters.share_lock_seconds + self.sharing * self.parameters.share_row_seconds
    }

    /// A call to a model waits for its tokens, if the provider limits them, and for a place.
    fn ask_model(&mut self, now: f64, run: usize) {
        let models = self.parameters.calls().0.max(1) as f64;
        let tokens = self.parameters.tokens_per_run / models;
        let admitted = match self.parameters.key_tokens_a_minute {
            Some(limit) => self.tokens.visit(now, 60.0 * tokens / limit).end,
            None => now,
        };
        let took = self.rng.lognormal(self.parameters.model_seconds, self.parameters.model_sigma);
        let visit = self.key.visit(admitted, took);
        let server = &mut self.servers[self.runs[run].server];
        if visit.begin > now {
            server.waits_until = server.waits_until.max(visit.begin);
        }
        self.schedule(visit.end, run, RunStep::Answer(Call::Model));
    }

    /// What an answer says is computed with by the server.
    fn answer(&mut self, now: f64, run: usize, call: Call) {
        self.flush(now, run);
        if matches!(call, Call::Model) {
            let server = &mut self.servers[self.runs[run].server];
            server.calls -= 1;
            if server.calls == 0 {
                // It gives its share back.
                server.share = 0;
                self.renew_share(now);
            }
        }
        let mean = self.parameters.cpu_seconds / self.parameters.calls_per_run().max(1) as f64;
        let burst = self.rng.exponential(mean);
        let computed = self.servers[self.runs[run].server].cores.visit(now, burst);
        self.schedule(computed.end, run, RunStep::Computed(call));
    }

    fn computed(&mut self, now: f64, run: usize, call: Call) {
        let reads = self.parameters.calls().2.max(1) as f64;
        let is_stored = matches!(call, Call::Read)
            && self.rng.uniform() * reads <= self.parameters.stored_pages;
        if is_stored {
            let put = self.objects.visit(now, 1.0 / self.parameters.object_puts);
            self.schedule(put.end + self.parameters.object_seconds, run, RunStep::CallDone);
        } else {
            self.call_done(now, run);
        }
    }

    fn call_done(&mut self, now: f64, run: usize) {
        let state = &mut self.runs[run];
        state.pending -= 1;
        if state.pending == 0 {
            state.stage += 1;
            self.begin_stage(now, run);
        }
    }

    fn end(&mut self, now: f64, run: usize) {
        self.active.change(now, -1.0);
        self.in_system.change(now, -1.0);
        let state = &self.runs[run];
        if self.window.contains(now) {
            self.counts.run_times.push(now - state.started);
            self.counts.sojourn += now - state.arrived;
        }
        self.free_slots.push_back(state.server);
        self.temporal.visit(now, 1.0 / self.parameters.temporal_transitions);
        self.start_waiting(now);
    }

    /// Something happened in a run: its events are committed, unless that was done within the last interval. The server then
    /// tells all servers, unless it has told them just now.
    fn flush(&mut self, now: f64, run: usize) {
        let state = &mut self.runs[run];
        if now < state.flush_at {
            return;
        }
        state.flush_at = now + self.parameters.flush_interval;
        let server = state.server;
        let reads = self.parameters.followers * self.parameters.read_cost;
        self.commit(now, Cause::Events, self.parameters.commits_per_flush + reads);
        if now >= self.servers[server].notify_at {
            self.servers[server].notify_at = now + self.parameters.notify_interval;
            let deliveries = self.servers.len() as f64 * self.parameters.row_cost;
            // It writes nothing that must be synced, so it costs no more than a read.
            self.commit(now, Cause::Notifications, self.parameters.read_cost + deliveries);
        }
    }

    /// What timers of all servers ask for within [`TICK`]. Each waits for its answer before it asks again, so a slow station
    /// is asked less.
    fn tick(&mut self, now: f64) {
        self.schedule(now + TICK, 0, RunStep::Tick);
        let it = self.parameters;
        let servers = self.servers.len() as f64;
        let wait = self.postgres.wait(now) + it.postgres_seconds;
        let polls = self.active.value * TICK / (it.poll_interval + wait);
        self.commit(now, Cause::Polls, polls * it.read_cost);
        let alive = servers * TICK / (it.alive_interval + wait);
        self.commit(now, Cause::KeepAlive, alive * it.read_cost);
        // A look walks over the runs that have not ended and over the locks of all servers and active runs.
        let rows = self.in_system.value + self.active.value + servers;
        let looks = servers * TICK / (it.look_interval + wait);
        self.commit(now, Cause::Looks, looks * (it.read_cost + rows * it.row_cost));

        let calling = self.servers.iter().filter(|it| it.calls > 0).count() as f64;
        let waiting = self.servers.iter().filter(|it| it.waits_until > now).count() as f64;
        self.sharing = calling;
        let held = self.share_seconds();
        let turn = self.share_lock.wait(now) + held;
        let renewals = TICK
            * ((calling - waiting) / (it.renew_interval + turn)
                + waiting / (it.waiting_renew_interval + turn));
        self.share_lock.visit(now, renewals * held);
        self.commit(now, Cause::Shares, renewals * (1.0 + calling * it.row_cost));
        if self.window.contains(now) {
            self.counts.longest_share_turn = self.counts.longest_share_turn.max(turn);
        }
        let heartbeats = self.active.value * TICK / it.activity_heartbeat;
        self.temporal.visit(now, heartbeats / it.temporal_transitions);
    }

    fn into_result(self, scenario: &Scenario) -> SimulationResult {
        let one = |kind, station: &Station| StationLoad::of(kind, [station.place_seconds()]);
        let each = |kind, of: fn(&SimulatedServer) -> &Station| {
            StationLoad::of(kind, self.servers.iter().map(|it| of(it).place_seconds()))
        };
        let slots = (scenario.servers * self.parameters.slots).max(1) as f64;
        let busy = self.active.mean() / slots;
        let ended = self.counts.run_times.len() as f64;
        let held = self.counts.run_times.iter().sum::<f64>() / ended.max(1.0);
        let asked = self.counts.arrived / self.window.length() * held / slots;
        let loads = vec![
            one(StationKind::Key, &self.key),
            one(StationKind::Tokens, &self.tokens),
            each(StationKind::Web, |it| &it.web),
            one(StationKind::Postgres, &self.postgres),
            each(StationKind::Cores, |it| &it.cores),
            one(StationKind::ShareLock, &self.share_lock),
            one(StationKind::Temporal, &self.temporal),
            one(StationKind::Objects, &self.objects),
            StationLoad { kind: StationKind::Slots, busy, asked },
        ];
        let capacity = self.parameters.postgres_commits * self.window.length();
        SimulationResult {
            scenario: scenario.clone(),
            loads,
            postgres: self.commits.map(|commits| commits / capacity),
            mean_in_system: self.in_system.mean(),
            counts: self.counts.sorted(),
        }
    }
}
