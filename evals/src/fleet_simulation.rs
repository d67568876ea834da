//! What saturates first in a fleet of servers, and what it costs: a discrete-event simulation of 10, 100 and 1,000 servers.
//!
//! Runs arrive at the rate of the peak hour and pass through queueing stations: the acceptance, Temporal's queue, the slots,
//! searches and reads, cores, PostgreSQL, the provider's key and the object store. [`report`] prints the figures that went in
//! and what came out. Most of what goes in is assumed, so the result says where to measure and not how fast a fleet is.
mod parameters;
mod result;
mod simulation;
mod station;
mod tables;

use parameters::Parameters;
use result::{SATURATED, SimulationResult, StationKind};
use simulation::{Scenario, simulate};

/// The slots that runs may need for each one there is; beyond that a scenario is left out.
const MOST_NEEDED: f64 = 3.0;
/// The share of its slots that a fleet must need.
const LEAST_NEEDED: f64 = 0.001;
/// Seconds that a run takes alone; measured in the lab at standard effort.
const RUN_SECONDS: f64 = 39.0;
/// How near to saturation a limit is looked for, and how often at most.
const LIMIT_TOLERANCE: f64 = 0.015;
const LIMIT_TRIES: usize = 8;
/// Seconds between looks of a run at its commands, where servers are woken instead.
const WOKEN_INTERVAL: f64 = 10.0;

const AS_IT_IS: &str = "500 calls at once";
const MORE_CALLS: &str = "5,000 calls at once";
const FEW_WAKE_UPS: &str = "500 calls, wake-ups for commands";
const WAKE_UPS: &str = "5,000 calls, wake-ups for commands";
const DEAR_READS: &str = "5,000 calls, a read costs a commit";
const DEAR_WAKE_UPS: &str = "5,000 calls, a read costs a commit, wake-ups";

/// A fleet, a load, and what is changed of the parameters.
struct Case {
    servers: usize,
    runs_per_day: f64,
    name: &'static str,
    change: fn(&mut Parameters),
}

const fn case(
    servers: usize,
    runs_per_day: f64,
    name: &'static str,
    change: fn(&mut Parameters),
) -> Case {
    Case { servers, runs_per_day, name, change }
}

fn as_it_is(_: &mut Parameters) {}

fn more_calls(it: &mut Parameters) {
    it.key_calls = 5_000;
}

fn few_wake_ups(it: &mut Parameters) {
    it.poll_interval = WOKEN_INTERVAL;
}

fn wake_ups(it: &mut Parameters) {
    more_calls(it);
    few_wake_ups(it);
}

fn dear_reads(it: &mut Parameters) {
    more_calls(it);
    it.read_cost = 1.0;
}

fn dear_wake_ups(it: &mut Parameters) {
    wake_ups(it);
    it.read_cost = 1.0;
}

fn token_limit(it: &mut Parameters) {
    more_calls(it);
    it.key_tokens_a_minute = Some(2e7);
}

fn more_web_places(it: &mut Parameters) {
    more_calls(it);
    it.web_places = 64;
}

fn four_slots(it: &mut Parameters) {
    it.slots = 4;
}

/// Lines of the report. The first nine are all pairs of a fleet and a load.
const CASES: [Case; 23] = [
    case(10, 1e4, AS_IT_IS, as_it_is),
    case(10, 1e5, AS_IT_IS, as_it_is),
    case(10, 1e6, AS_IT_IS, as_it_is),
    case(100, 1e4, AS_IT_IS, as_it_is),
    case(100, 1e5, AS_IT_IS, as_it_is),
    case(100, 1e6, AS_IT_IS, as_it_is),
    case(1_000, 1e4, AS_IT_IS, as_it_is),
    case(1_000, 1e5, AS_IT_IS, as_it_is),
    case(1_000, 1e6, AS_IT_IS, as_it_is),
    case(10, 1e5, MORE_CALLS, more_calls),
    case(100, 1e6, MORE_CALLS, more_calls),
    case(1_000, 1e6, MORE_CALLS, more_calls),
    case(1_000, 1e6, FEW_WAKE_UPS, few_wake_ups),
    case(100, 1e6, WAKE_UPS, wake_ups),
    case(1_000, 1e6, WAKE_UPS, wake_ups),
    case(100, 1e6, DEAR_READS, dear_reads),
    case(100, 1e6, DEAR_WAKE_UPS, dear_wake_ups),
    case(100, 1e6, "5,000 calls, 20 million tokens a minute", token_limit),
    case(10, 1e5, "5,000 calls, 64 searches and reads at once", more_web_places),
    case(100, 1e6, "5,000 calls, 64 searches and reads at once", more_web_places),
    case(10, 1e4, "4 slots a server", four_slots),
    case(10, 1e5, "4 slots a server", four_slots),
    case(100, 1e5, "4 slots a server", four_slots),
];

/// How long a scenario is simulated.
#[derive(Clone, Copy)]
struct Times {
    /// Seconds of warm-up.
    warm_up: f64,
    /// The least seconds that are measured.
    measured: f64,
    /// The least runs that are expected to arrive in them.
    runs: f64,
}

const TIMES: Times = Times { warm_up: 300.0, measured: 600.0, runs: 2_000.0 };
const SMALL_TIMES: Times = Times { warm_up: 60.0, measured: 120.0, runs: 0.0 };

/// The runs a day at which the stations of a fleet become saturated.
struct Limits {
    servers: usize,
    key_calls: usize,
    reached: Vec<(StationKind, f64)>,
    /// The simulation that they follow from, at about the least of them.
    check: SimulationResult,
}

impl Limits {
    /// The station that saturates first, and the runs a day from which it does.
    fn first(&self) -> (StationKind, f64) {
        first_of(&self.reached)
    }
}

fn first_of(reached: &[(StationKind, f64)]) -> (StationKind, f64) {
    let least = reached.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    least.unwrap_or((StationKind::Slots, f64::INFINITY))
}

/// The report in Markdown. It takes some fifteen seconds in a release build, and is the same each time.
pub(crate) fn report() -> String {
    report_of(&CASES, &[10, 100, 1_000], TIMES)
}

/// The same for ten servers and a shorter time, which shows that the simulation works.
pub(crate) fn small_report() -> String {
    report_of(&CASES[..2], &[10], SMALL_TIMES)
}

fn report_of(cases: &[Case], fleets: &[usize], times: Times) -> String {
    let base = Parameters::default();
    let mut skipped = Vec::new();
    let mut results = Vec::new();
    for it in cases {
        let scenario = scenario_of(it, times);
        match reason_to_skip(&scenario) {
            Some(reason) => skipped.push(reason),
            None => results.push(simulate(&scenario)),
        }
    }
    let idle: Vec<SimulationResult> =
        fleets.iter().map(|servers| simulate(&idle_scenario(*servers, times))).collect();
    let limits: Vec<Limits> = fleets
        .iter()
        .flat_map(|servers| [500, 5_000].map(|key_calls| limits_of(*servers, key_calls, times)))
        .collect();
    let find = |of: &SimulationResult, name: &str| {
        let it = &of.scenario;
        results.iter().find(|other| {
            let other = &other.scenario;
            (other.servers, other.runs_per_day, other.name.as_str())
                == (it.servers, it.runs_per_day, name)
        })
    };
    let polls: Vec<(&SimulationResult, &SimulationResult)> = results
        .iter()
        .filter_map(|it| match it.scenario.name.as_str() {
            AS_IT_IS => Some((it, find(it, FEW_WAKE_UPS)?)),
            MORE_CALLS => Some((it, find(it, WAKE_UPS)?)),
            DEAR_READS => Some((it, find(it, DEAR_WAKE_UPS)?)),
            _ => None,
        })
        .collect();
    [
        introduction(times),
        format!("## Parameters\n\n{}", tables::parameter_table(&base)),
        format!("## Load\n\n{}", tables::load_table(&results)),
        skipped.iter().map(|it| format!("- {it}\n")).collect::<String>() + "\n",
        format!("## What loads PostgreSQL\n\nShares of its capacity; first of fleets without runs.\n\n{}",
            tables::postgres_table(&[idle, results.clone()].concat())),
        format!("Looks for runs of dead servers, by the runs that have not ended (computed, not simulated):\n\n{}",
            tables::look_table(&base)),
        format!(
            "Looks at commands when all slots are taken, as after a jam at the key (computed, not simulated):\n\n{}",
            tables::poll_table(&base)
        ),
        format!("## Costs\n\nIf all runs are served.\n\n{}", tables::cost_table(&results)),
        format!("## What saturates first\n\n{}{}", limits_text(), tables::limit_table(&limits)),
        tables::limit_lines(&limits),
        tables::scenario_lines(&results),
        tables::poll_lines(&polls),
    ]
    .concat()
}

fn introduction(times: Times) -> String {
    format!(
        "# A simulated fleet\n\nRuns of standard effort in the peak hour: {} s of warm-up, then at least {} s and {} runs are \
         measured. A station is saturated when it is busy for {:.0} % of the time, or is asked for more than it can do. Most \
         figures that go in are assumed, so nothing here was measured on a fleet.\n\n",
        times.warm_up,
        times.measured,
        tables::thousands(times.runs),
        SATURATED * 100.0
    )
}

fn limits_text() -> String {
    format!(
        "Runs a day at which each station is busy for {:.0} % of the peak hour. The first was found by simulation; the others \
         follow from it by the work for a run and that of idle servers, and are only a guide.\n\n",
        SATURATED * 100.0
    )
}

fn scenario_of(case: &Case, times: Times) -> Scenario {
    let mut parameters = Parameters::default();
    (case.change)(&mut parameters);
    let scenario = Scenario {
        name: case.name.to_owned(),
        servers: case.servers,
        runs_per_day: case.runs_per_day,
        parameters,
        warm_up: times.warm_up,
        measured: times.measured,
        seed: 1,
    };
    match scenario.rate() {
        rate if rate > 0.0 => {
            Scenario { measured: times.measured.max(times.runs / rate), ..scenario }
        }
        _ => scenario,
    }
}

fn idle_scenario(servers: usize, times: Times) -> Scenario {
    scenario_of(&case(servers, 0.0, AS_IT_IS, as_it_is), times)
}

/// Why a scenario is not worth simulating, if it is not.
fn reason_to_skip(scenario: &Scenario) -> Option<String> {
    let slots = (scenario.servers * scenario.parameters.slots) as f64;
    let needed = scenario.rate() * RUN_SECONDS;
    let why = match needed / slots {
        share if share > MOST_NEEDED => "the queue would only grow",
        share if share < LEAST_NEEDED => {
            "all but the idle load of the servers is the same with fewer"
        }
        _ => return None,
    };
    Some(format!(
        "Left out: {} servers with {} runs a day. Its runs need {} slots of {}; {why}.",
        tables::thousands(scenario.servers as f64),
        tables::thousands(scenario.runs_per_day),
        tables::thousands(needed),
        tables::thousands(slots)
    ))
}

/// Finds the load at which the first station becomes saturated. By the utilisation law a station does the same for a run at
/// every load, and idle servers add what they do. Shares of the key do not keep to it, so the load that it says is simulated,
/// and the law is used again from there.
fn limits_of(servers: usize, key_calls: usize, times: Times) -> Limits {
    let mut scenario = idle_scenario(servers, times);
    let idle = simulate(&scenario);
    scenario.parameters.key_calls = key_calls;
    scenario.runs_per_day = (servers as f64 * 3_000.0).min(150_000.0);
    let mut tries = 0;
    loop {
        let check = simulate(&scenario);
        let limit = |kind: StationKind| {
            let (idle, busy) = (idle.load(kind).busy, check.load(kind).busy);
            let runs = (SATURATED - idle) / (busy - idle) * scenario.runs_per_day;
            (kind, if busy > idle { runs.max(0.0) } else { f64::INFINITY })
        };
        let kinds = check.loads.iter().map(|it| it.kind).filter(|it| *it != StationKind::Tokens);
        let reached: Vec<(StationKind, f64)> = kinds.map(limit).collect();
        let (kind, runs) = first_of(&reached);
        tries += 1;
        let is_there = (check.load(kind).busy - SATURATED).abs() < LIMIT_TOLERANCE;
        if is_there || tries == LIMIT_TRIES || !runs.is_finite() {
            return Limits { servers, key_calls, reached, check };
        }
        scenario.runs_per_day = runs;
    }
}

#[cfg(test)]
mod tests {
    use super::simulation::Cause;
    use super::*;

    /// Ten servers whose key is never short.
    fn ten_servers(runs_per_day: f64, measured: f64) -> Scenario {
        scenario_of(
            &case(10, runs_per_day, MORE_CALLS, more_calls),
            Times { measured, runs: 0.0, ..TIMES },
        )
    }

    fn first_saturated(scenario: &Scenario) -> Option<StationKind> {
        simulate(scenario).saturated().first().map(|it| it.kind)
    }

    #[test]
    fn a_run_alone_takes_the_time_that_was_measured_in_the_lab() {
        let result = simulate(&ten_servers(1_000.0, 20_000.0));
        let times = &result.counts.run_times;
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean - RUN_SECONDS).abs() < 1.5, "{mean}");
    }

    #[test]
    fn the_number_of_runs_is_their_rate_times_their_time() {
        for runs_per_day in [30_000.0, 95_000.0] {
            let result = simulate(&ten_servers(runs_per_day, 3_600.0));
            let ended = result.counts.run_times.len() as f64;
            let (rate, time) = (result.counts.arrived / 3_600.0, result.counts.sojourn / ended);
            let ratio = result.mean_in_system / (rate * time);
            assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
        }
    }

    #[test]
    fn a_seed_gives_one_result_and_another_seed_another() {
        let mut scenario = ten_servers(50_000.0, 300.0);
        let (one, again) = (simulate(&scenario), simulate(&scenario));
        assert_eq!((&one.counts, &one.loads), (&again.counts, &again.loads));
        scenario.seed += 1;
        assert_ne!(simulate(&scenario).counts, one.counts);
    }

    #[test]
    fn a_station_that_is_asked_for_a_fifth_too_much_is_the_one_that_saturates() {
        let normal = ten_servers(50_000.0, 600.0);
        let result = simulate(&normal);
        assert_eq!(result.saturated(), []);
        let load = |kind: StationKind| result.load(kind).busy / 1.2;

        let mut it = normal.clone();
        it.parameters.key_calls = (5_000.0 * load(StationKind::Key)) as usize;
        assert_eq!(first_saturated(&it), Some(StationKind::Key));
        let mut it = normal.clone();
        it.parameters.slots = (16.0 * load(StationKind::Slots)) as usize;
        assert_eq!(first_saturated(&it), Some(StationKind::Slots));
        let mut it = normal.clone();
        it.parameters.postgres_commits *= load(StationKind::Postgres);
        assert_eq!(first_saturated(&it), Some(StationKind::Postgres));
        let mut it = normal;
        it.parameters.object_puts *= load(StationKind::Objects);
        assert_eq!(first_saturated(&it), Some(StationKind::Objects));
    }

    #[test]
    fn wake_ups_instead_of_looks_leave_postgres_more_to_spare() {
        let mut scenario = ten_servers(50_000.0, 300.0);
        let polls = simulate(&scenario);
        wake_ups(&mut scenario.parameters);
        let wakes = simulate(&scenario);
        let (polls_busy, wakes_busy) =
            (polls.load(StationKind::Postgres).busy, wakes.load(StationKind::Postgres).busy);
        let saved = polls.postgres_share(Cause::Polls) - wakes.postgres_share(Cause::Polls);
        assert!(saved > 0.0);
        assert!((polls_busy - wakes_busy - saved).abs() < 0.2 * saved, "{polls_busy} {wakes_busy}");
    }

    #[test]
    fn a_fleet_without_runs_still_looks_for_runs_and_shows_that_it_lives() {
        let result = simulate(&idle_scenario(1_000, SMALL_TIMES));
        let work = |cause| result.postgres_share(cause);
        assert!(work(Cause::Looks) > 0.0 && work(Cause::KeepAlive) > 0.0);
        assert_eq!(work(Cause::Polls) + work(Cause::Calls) + work(Cause::Shares), 0.0);
    }

    #[test]
    fn a_load_far_above_or_below_its_fleet_is_left_out_with_a_reason() {
        let reason = |servers, runs| {
            reason_to_skip(&scenario_of(&case(servers, runs, AS_IT_IS, as_it_is), SMALL_TIMES))
        };
        assert!(reason(10, 1e6).is_some_and(|it| it.contains("only grow")));
        assert!(reason(1_000, 1e4).is_some_and(|it| it.contains("idle load")));
        assert_eq!(reason(100, 1e5), None);
    }

    #[test]
    fn a_small_report_has_all_sections_and_a_limit() {
        let text = small_report();
        for heading in
            ["Parameters", "Load", "What loads PostgreSQL", "Costs", "What saturates first"]
        {
            assert!(text.contains(&format!("## {heading}\n")), "{heading}");
        }
        assert!(text.contains("calls at once: first "));
    }
}
