//! `evals chaos --fleet`: many runs on a fleet of servers while its machines are killed.
//!
//! The same questions are asked twice: on a fleet that is left alone, and on one of which a random machine is killed at intervals
//! and started again. Then the store is read by SQL and held against what the model and the followers saw, and the reports of
//! both are compared byte for byte. With `--cut`, a third fleet loses the network of one server for so many seconds.
//!
//! `evals chaos --fleet [--ibid PATH] [--runs N] [--servers N] [--slots N] [--calls N] [--every SECONDS] [--seed N] [--idle N] [--cut SECONDS]`
mod follower;
mod left;
mod machines;
mod model_server;
mod network;
mod repeats;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::check::{self, Breach, Invariant};
use super::left::Left;
use super::script::Chance;
use super::web::Web;
use super::world::Books;
use crate::program::{binary, number};
use crate::{Fault, Measured, Outcome};
use follower::Followed;
use machines::{Addresses, Fleet, FleetSettings, KillTarget};
use model_server::{Asked, ModelServer};

/// How long the runs of a scene may take together, a run.
const PATIENCE_PER_RUN: Duration = Duration::from_secs(4);
/// The least for all of them.
const PATIENCE: Duration = Duration::from_secs(240);
/// Requests for runs at the same time.
const CLIENTS: usize = 16;

/// Asks the questions on a fleet that is left alone, then on one whose machines are killed.
pub(in crate::chaos) fn run(args: &[String]) -> Outcome {
    let settings = FleetSettings {
        binary: binary(args)?,
        servers: number(args, "--servers", 3)?,
        slots: number(args, "--slots", 6)?,
        model_calls: number(args, "--calls", 16)?,
    };
    let script = FleetScript {
        runs: number(args, "--runs", 300)?,
        every: Duration::from_secs(number(args, "--every", 5)? as u64),
        seed: number(args, "--seed", 1)? as u64,
        idle: number(args, "--idle", 0)?,
        cut: Duration::from_secs(number(args, "--cut", 0)? as u64),
    };
    // Another measurement of this process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let breaches = runtime.block_on(script.play(settings))?;
    match breaches.len() {
        0 => Ok(Measured::new(script.runs, "runs")),
        count => Err(format!("{count} invariants do not hold").into()),
    }
}

/// What happens to a fleet while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    None,
    Kills,
    Cut,
}

impl Disturbance {
    fn name(self) -> &'static str {
        match self {
            Disturbance::None => "calm",
            Disturbance::Kills => "killed",
            Disturbance::Cut => "cut",
        }
    }
}

struct FleetScript {
    runs: usize,
    every: Duration,
    seed: u64,
    /// Followers of a run that waits, in a scene of their own.
    idle: usize,
    /// How long a server loses its network, in a scene of its own.
    cut: Duration,
}

/// What came of the questions in one scene.
struct FleetScene {
    name: &'static str,
    seconds: f64,
    /// The runs, as the questions were asked.
    runs: Vec<String>,
    reports: Vec<String>,
    followed: Vec<Followed>,
    lefts: Vec<Left>,
    asked: Vec<Asked>,
    /// What was answered when something was killed: when, run and key.
    answered: Vec<repeats::Answered>,
    kills: BTreeMap<String, usize>,
    /// Sessions of all servers at the database, counted in the scene without kills.
    most_sessions: i64,
    /// Seconds from the commit of an event to its arrival.
    latencies: Vec<f64>,
    most_in_flight: usize,
    /// Calls in flight on average, without the begin and the end of the scene.
    mean_in_flight: f64,
}

impl FleetScript {
    async fn play(&self, settings: FleetSettings) -> Result<Vec<Breach>, Fault> {
        let (orders, _) = channel();
        let web = Web::serve(Vec::new(), orders)?;
        let model = ModelServer::serve()?;
        let addresses = Addresses { web_port: web.port, model_port: model.port };
        let calls = settings.model_calls;
        let mut fleet = Fleet::start(settings, addresses).await?;
        fleet.set("calm", false).await?;
        let calm = self.scene(&mut fleet, &model, Disturbance::None).await?;
        calm.print(calls);
        if self.idle > 0 {
            self.watch(&fleet).await?;
        }
        let mut breaches = calm.judge(&web.state().books, calls);
        for disturbance in [Disturbance::Kills, Disturbance::Cut] {
            if disturbance == Disturbance::Cut && self.cut.is_zero() {
                continue;
            }
            fleet.set(disturbance.name(), disturbance == Disturbance::Cut).await?;
            let scene = self.scene(&mut fleet, &model, disturbance).await?;
            scene.print(calls);
            breaches.extend(scene.judge(&web.state().books, calls));
            let pairs = calm.reports.iter().zip(&scene.reports);
            let differing = pairs.filter(|(calm, other)| calm != other).count();
            println!("  reports equal byte for byte: {} of {}", self.runs - differing, self.runs);
            if differing > 0 {
                let text = format!("{differing} reports are not those of the fleet left alone");
                breaches.push((Invariant::Agreement, text));
            }
        }
        Ok(breaches)
    }

    fn question(nth: usize) -> String {
        format!("What is cork of lot {}?", nth + 1)
    }

    async fn scene(
        &self,
        fleet: &mut Fleet,
        model: &Arc<ModelServer>,
        disturbance: Disturbance,
    ) -> Result<FleetScene, Fault> {
        std::mem::take(&mut *model.books());
        let began = Instant::now();
        let followers = reqwest::Client::builder().no_proxy().build()?;
        let urls = fleet.urls();
        let (client, runs) = (fleet.client.clone(), self.runs);
        let urls_count = urls.len();
        let (asking_urls, following_urls) = (urls.clone(), urls);
        let working = tokio::spawn(async move {
            let one = |nth: usize| {
                let (client, urls) = (client.clone(), asking_urls.clone());
                let (followers, following) = (followers.clone(), following_urls.clone());
                async move {
                    let run = ask(&client, &urls, nth).await;
                    let follow = follower::follow(followers, following, nth + 1, run.clone());
                    (run, tokio::spawn(follow))
                }
            };
            use futures_util::StreamExt as _;
            let asked: Vec<_> =
                futures_util::stream::iter(0..runs).map(one).buffered(CLIENTS).collect().await;
            let (runs, following): (Vec<String>, Vec<_>) = asked.into_iter().unzip();
            (runs, join_all(following).await)
        });
        let timeout = PATIENCE.max(PATIENCE_PER_RUN * u32::try_from(self.runs)?);
        let mut killer = Killer::new(self.seed, self.every);
        let (runs, followed) = tokio::select! {
            ended = working => ended?,
            fault = self.disturb(disturbance, &mut killer, fleet) => return Err(fault),
            () = tokio::time::sleep(timeout) => {
                let said: Vec<String> = (0..urls_count).map(|nth| fleet.said(nth)).collect();
                let what = format!("not every run ended within {} s", timeout.as_secs());
                return Err(format!("{what}; the servers said: {}", said.join("\n")).into());
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        killer.mend(fleet).await?;
        let followed = followed.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut scene = FleetScene {
            name: disturbance.name(),
            seconds,
            runs,
            reports: Vec::new(),
            followed,
            lefts: Vec::new(),
            asked: Vec::new(),
            answered: killer.answered,
            kills: killer.kills,
            most_sessions: killer.most_sessions,
            latencies: Vec::new(),
            most_in_flight: 0,
            mean_in_flight: 0.0,
        };
        scene.take_books(model);
        scene.read(fleet).await?;
        Ok(scene)
    }

    /// Disturbs the fleet for as long as it works. Returns what went wrong.
    async fn disturb(&self, how: Disturbance, killer: &mut Killer, fleet: &mut Fleet) -> Fault {
        match how {
            Disturbance::None => return killer.count_sessions(fleet).await,
            Disturbance::Kills => return killer.kill_for_ever(fleet).await,
            Disturbance::Cut => {
                tokio::time::sleep(Duration::from_secs(5)).await;
                fleet.cut(0);
                tokio::time::sleep(self.cut).await;
                fleet.mend(0);
            }
        }
        std::future::pending().await
    }

    /// Measures what followers of a run cost in which nothing happens.
    async fn watch(&self, fleet: &Fleet) -> Result<(), Fault> {
        let body =
            json!({"question": FleetScript::question(self.runs), "plan": "require_approval"});
        let response = fleet.client.post(fleet.url(0, "/v1/runs")).json_body(&body).send().await?;
        let answer = response.bytes().await?;
        let run = run_id(&answer).ok_or_else(|| String::from_utf8_lossy(&answer).into_owned())?;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let span = Duration::from_secs(30);
        let share = |before: f64, after: f64| (after - before) / span.as_secs_f64();
        let before = fleet.processor_seconds();
        tokio::time::sleep(span).await;
        let alone = share(before, fleet.processor_seconds());
        let client = reqwest::Client::builder().no_proxy().build()?;
        let following: Vec<_> = (0..self.idle)
            .map(|nth| {
                let (client, urls, run) = (client.clone(), fleet.urls(), run.clone());
                tokio::spawn(follower::follow(client, urls, nth, run))
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = fleet.processor_seconds();
        tokio::time::sleep(span).await;
        let followed = share(before, fleet.processor_seconds());
        following.iter().for_each(tokio::task::JoinHandle::abort);
        println!(
            "{} followers of a run that waits: {:.1} % of a core, {:.1} % without them",
            self.idle,
            followed * 100.0,
            alone * 100.0
        );
        Ok(())
    }
}

/// Asks the question until a server accepts it.
async fn ask(client: &reqwest::Client, urls: &[String], nth: usize) -> String {
    let body = json!({"question": FleetScript::question(nth), "effort": "quick"});
    for url in urls.iter().cycle().skip(nth) {
        let request = client.post(format!("{url}/v1/runs")).json_body(&body);
        let request = request.header("idempotency-key", format!("question-{nth}"));
        if let Ok(response) = request.send().await
            && response.status().is_success()
            && let Ok(bytes) = response.bytes().await
            && let Some(run) = run_id(&bytes)
        {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    String::new()
}

fn run_id(bytes: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(bytes).ok()?;
    body["id"].as_str().map(str::to_owned)
}

/// A request with JSON.
trait JsonBody {
    fn json_body(self, body: &Value) -> Self;
}

impl JsonBody for reqwest::RequestBuilder {
    fn json_body(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }
}

/// Kills machines at intervals and starts them again.
struct Killer {
    chance: Chance,
    every: Duration,
    away: Option<KillTarget>,
    kills: BTreeMap<String, usize>,
    answered: Vec<repeats::Answered>,
    /// Sessions of the servers at the database.
    most_sessions: i64,
}

impl Killer {
    fn new(seed: u64, every: Duration) -> Killer {
        let (kills, answered) = (BTreeMap::new(), Vec::new());
        Killer { chance: Chance(seed), every, away: None, kills, answered, most_sessions: 0 }
    }

    /// Kills nothing, and counts the sessions at the database every second. Returns what went wrong.
    async fn count_sessions(&mut self, fleet: &Fleet) -> Fault {
        loop {
            match left::sessions(&fleet.database()).await {
                Ok(sessions) => self.most_sessions = self.most_sessions.max(sessions),
                Err(fault) => return fault,
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Returns what went wrong.
    async fn kill_for_ever(&mut self, fleet: &mut Fleet) -> Fault {
        loop {
            if let Err(fault) = self.kill_one(fleet).await {
                return fault;
            }
        }
    }

    async fn kill_one(&mut self, fleet: &mut Fleet) -> Result<(), Fault> {
        let away = Duration::from_millis(200 + u64::from(self.chance.below(2_000)));
        tokio::time::sleep(self.every.saturating_sub(away)).await;
        let ended = fleet.supervise()?;
        *self.kills.entry("server, by itself".to_owned()).or_default() += ended;
        let now = Instant::now();
        let answered = left::answered_calls(&fleet.database()).await?;
        self.answered.push((now, answered));
        let mut machines = vec![KillTarget::Postgres, KillTarget::Temporal, KillTarget::Seaweed];
        machines.extend((0..fleet.urls().len()).map(KillTarget::Server));
        let machine = *self.chance.one_of(&machines);
        fleet.kill(machine)?;
        self.away = Some(machine);
        *self.kills.entry(machine.name()).or_default() += 1;
        tokio::time::sleep(away).await;
        self.mend(fleet).await
    }

    /// Starts what was killed.
    async fn mend(&mut self, fleet: &mut Fleet) -> Result<(), Fault> {
        match self.away.take() {
            Some(machine) => fleet.start_again(machine),
            None => Ok(()),
        }
    }
}

impl FleetScene {
    fn take_books(&mut self, model: &ModelServer) {
        let books = std::mem::take(&mut *model.books());
        self.most_in_flight = books.most_in_flight;
        self.mean_in_flight = books.mean_in_flight();
        self.asked = books.asked;
    }

    async fn read(&mut self, fleet: &Fleet) -> Result<(), Fault> {
        let mut connection = left::connect(&fleet.database()).await?;
        let mut objects = BTreeMap::new();
        // It may have been killed last.
        fleet.wait_for_objects().await?;
        for key in left::object_keys(&mut connection).await? {
            let response =
                fleet.client.get(format!("{}/{key}", fleet.objects_url())).send().await?;
            let page: Value = serde_json::from_slice(&response.error_for_status()?.bytes().await?)?;
            objects.insert(key, page);
        }
        for run in &self.runs {
            self.lefts.push(left::read(&mut connection, run, &objects).await?);
        }
        let commits = left::commit_times(&mut connection).await?;
        for (run, followed) in self.runs.iter().zip(&self.followed) {
            let latency = |arrival: &follower::Arrival| {
                let commit = *commits.get(&(run.clone(), arrival.seq))?;
                (commit > arrival.connected_at).then_some(arrival.at - commit)
            };
            self.latencies.extend(followed.arrivals.iter().filter_map(latency));
        }
        self.latencies.sort_by(f64::total_cmp);
        for (nth, run) in self.runs.iter().enumerate() {
            self.reports.push(report(fleet, nth, run).await?.replace(run.as_str(), "RUN"));
        }
        Ok(())
    }

    fn print(&self, calls: usize) {
        let ended = self.lefts.iter().filter(|left| is_completed(left)).count();
        println!(
            "{}: {} runs, {ended} completed in {:.0} s; {} calls to the model",
            self.name,
            self.runs.len(),
            self.seconds,
            self.asked.len()
        );
        let kills: Vec<String> =
            self.kills.iter().map(|(name, count)| format!("{name} {count}")).collect();
        println!(
            "  killed: {}",
            if kills.is_empty() { "none".to_owned() } else { kills.join(", ") }
        );
        if self.most_sessions > 0 {
            println!(
                "  most sessions at the database, all servers together: {}",
                self.most_sessions
            );
        }
        let again: i64 = self.steps().map(|step| step.sent - 1).sum();
        let distinct: BTreeSet<&str> = self.asked.iter().map(|asked| &*asked.key).collect();
        println!(
            "  calls begun again because no answer was stored: {again}; received twice by the model: {}",
            self.asked.len() - distinct.len()
        );
        println!(
            "  most calls in flight {} of {calls}, on average {:.1}",
            self.most_in_flight, self.mean_in_flight
        );
        let at = |share: f64| {
            let nth = (self.latencies.len() as f64 * share) as usize;
            self.latencies.get(nth).copied().unwrap_or(f64::NAN) * 1000.0
        };
        let reconnects: usize = self.followed.iter().map(|it| it.reconnects).sum();
        println!(
            "  event committed to received: median {:.0} ms, p99 {:.0} ms, of {}; {reconnects} reconnections",
            at(0.5),
            at(0.99),
            self.latencies.len()
        );
    }

    fn steps(&self) -> impl Iterator<Item = &super::left::Step> {
        let steps = self.lefts.iter().flat_map(|left| &left.steps);
        steps.filter(|step| step.door.starts_with("model:"))
    }

    /// Prints what does not hold, and returns it.
    fn judge(&self, books: &Books, calls: usize) -> Vec<Breach> {
        let breaches = self.breaches(books, calls);
        for (invariant, text) in breaches.iter().take(20) {
            println!("- {}: {text}", invariant.text());
        }
        breaches
    }

    fn breaches(&self, books: &Books, calls: usize) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let distinct: BTreeSet<&String> = self.runs.iter().collect();
        if distinct.len() != self.runs.len() {
            breaches.push((Invariant::Resumable, "two questions have one run".to_owned()));
        }
        for (left, followed) in self.lefts.iter().zip(&self.followed) {
            breaches.extend(check::in_store(left));
            breaches.extend(check::served(left, books));
            breaches.extend(followed.breach().map(|text| (Invariant::Agreement, text)));
            if !is_completed(left) {
                let text = format!("a run ended as {}", left.row["status"]);
                breaches.push((Invariant::Resumable, text));
            }
        }
        breaches.extend(repeats::repeats(
            self.runs.iter().zip(&self.lefts),
            &self.asked,
            &self.answered,
        ));
        // What was sent into a cut network arrives when it is mended, long after its sender gave it up.
        if self.most_in_flight > calls && self.name != Disturbance::Cut.name() {
            let text = format!("{} calls in flight of {calls}", self.most_in_flight);
            breaches.push((Invariant::Spend, text));
        }
        breaches
    }
}

/// Whether a run has a report: it looked as often as it may, or found enough.
fn is_completed(left: &Left) -> bool {
    ["completed", "max_iterations_reached"].iter().any(|status| left.row["status"] == *status)
}

/// The report of a run, from any server that is ready.
async fn report(fleet: &Fleet, nth: usize, run: &str) -> Result<String, Fault> {
    for attempt in 0..120 {
        let url = fleet.url(nth + attempt, &format!("/v1/runs/{run}/report.md"));
        match fleet.client.get(url).send().await {
            Ok(response) if response.status().is_server_error() => {}
            Ok(response) => {
                return Ok(response.error_for_status()?.text().await?);
            }
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err("no server returns the report".into())
}
