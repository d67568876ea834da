//! `evals chaos --fleet`: many runs on a fleet of servers while its machines are killed.
//!
//! The same questions are asked twice: on a fleet that is left alone, and on one of which a random machine is killed at intervals
//! and started again. Then the store is read by SQL and held against what the model and the followers saw, and the reports of
//! both are compared byte for byte.
//!
//! `evals chaos --fleet [--ibid PATH] [--runs N] [--servers N] [--slots N] [--calls N] [--every SECONDS] [--seed N] [--idle N]`
mod follower;
mod left;
mod machines;
mod model_server;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::Connection as _;

use super::check::{self, Breach, Invariant};
use super::left::Left;
use super::script::Chance;
use super::web::Web;
use super::world::Books;
use crate::program::{binary, number};
use crate::{Fault, Measured, Outcome};
use follower::Followed;
use machines::{Addresses, Fleet, FleetSettings, Machine};
use model_server::{Asked, ModelServer};

/// How long the runs of a scene may take together, a run.
const PATIENCE_PER_RUN: Duration = Duration::from_secs(4);
/// The least for all of them.
const PATIENCE: Duration = Duration::from_secs(180);
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
    let plan = Plan {
        runs: number(args, "--runs", 300)?,
        every: Duration::from_secs(number(args, "--every", 5)? as u64),
        seed: number(args, "--seed", 1)? as u64,
        idle: number(args, "--idle", 0)?,
    };
    // Another measurement of this process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let breaches = runtime.block_on(plan.play(settings))?;
    for (invariant, text) in breaches.iter().take(20) {
        println!("- {}: {text}", invariant.text());
    }
    match breaches.len() {
        0 => Ok(Measured::new(plan.runs, "runs")),
        count => Err(format!("{count} invariants do not hold").into()),
    }
}

struct Plan {
    runs: usize,
    every: Duration,
    seed: u64,
    /// Followers of a run that waits, in a scene of their own.
    idle: usize,
}

/// What came of the questions in one scene.
struct Scene {
    name: &'static str,
    seconds: f64,
    /// The runs, as the questions were asked.
    runs: Vec<String>,
    reports: Vec<String>,
    followed: Vec<Followed>,
    lefts: Vec<Left>,
    asked: Vec<Asked>,
    /// What was answered when something was killed: when, run and key.
    answered: Vec<(Instant, BTreeSet<(String, String)>)>,
    kills: BTreeMap<String, usize>,
    /// Seconds from the commit of an event to its arrival.
    latencies: Vec<f64>,
    most_in_flight: usize,
    /// The share of the time in which half of the runs had begun and not ended, and no call more was allowed.
    use_of_calls: f64,
}

impl Plan {
    async fn play(&self, settings: FleetSettings) -> Result<Vec<Breach>, Fault> {
        let (orders, _) = channel();
        let web = Web::serve(Vec::new(), orders)?;
        let model = ModelServer::serve()?;
        let addresses = Addresses { web_port: web.port, model_port: model.port };
        let calls = settings.model_calls;
        let mut fleet = Fleet::start(settings, addresses).await?;
        fleet.set("calm").await?;
        let calm = self.scene(&mut fleet, &model, "calm").await?;
        calm.print(calls);
        if self.idle > 0 {
            self.watch(&fleet).await?;
        }
        let mut breaches = calm.judge(&web.state().books, calls);
        fleet.set("killed").await?;
        let killed = self.scene(&mut fleet, &model, "killed").await?;
        killed.print(calls);
        breaches.extend(killed.judge(&web.state().books, calls));
        let differing =
            calm.reports.iter().zip(&killed.reports).filter(|(calm, killed)| calm != killed);
        let differing = differing.count();
        println!("reports equal byte for byte: {} of {}", self.runs - differing, self.runs);
        if differing > 0 {
            let text = format!("{differing} reports are not those without kills");
            breaches.push((Invariant::Agreement, text));
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
        name: &'static str,
    ) -> Result<Scene, Fault> {
        std::mem::take(&mut *model.books());
        let began = Instant::now();
        let followers = reqwest::Client::builder().no_proxy().build()?;
        let urls = fleet.urls();
        let (client, runs) = (fleet.client.clone(), self.runs);
        let (asking_urls, following_urls) = (urls.clone(), urls);
        let working = tokio::spawn(async move {
            let one = |nth: usize| {
                let (client, urls) = (client.clone(), asking_urls.clone());
                let (followers, following) = (followers.clone(), following_urls.clone());
                async move {
                    let run = ask(&client, &urls, nth).await;
                    let follow =
                        follower::follow(followers, following, nth + 1, run.clone());
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
            fault = killer.kill_for_ever(fleet, name == "killed") => return Err(fault),
            () = tokio::time::sleep(timeout) => {
                return Err(format!("not every run ended within {} s", timeout.as_secs()).into());
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        killer.mend(fleet).await?;
        let followed = followed.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut scene = Scene {
            name,
            seconds,
            runs,
            reports: Vec::new(),
            followed,
            lefts: Vec::new(),
            asked: Vec::new(),
            answered: killer.answered,
            kills: killer.kills,
            latencies: Vec::new(),
            most_in_flight: 0,
            use_of_calls: 0.0,
        };
        scene.take_books(model);
        scene.read(fleet).await?;
        Ok(scene)
    }

    /// Measures what followers of a run cost in which nothing happens.
    async fn watch(&self, fleet: &Fleet) -> Result<(), Fault> {
        let body = json!({"question": Plan::question(self.runs), "approve": true});
        let response = fleet.client.post(fleet.url(0, "/v1/runs")).json_body(&body).send().await?;
        let run = run_id(&response.bytes().await?).ok_or("no run was accepted")?;
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
    let body = json!({"question": Plan::question(nth), "effort": "quick"});
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
    body["run_id"].as_str().map(str::to_owned)
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
    away: Option<Machine>,
    kills: BTreeMap<String, usize>,
    answered: Vec<(Instant, BTreeSet<(String, String)>)>,
}

impl Killer {
    fn new(seed: u64, every: Duration) -> Killer {
        let (kills, answered) = (BTreeMap::new(), Vec::new());
        Killer { chance: Chance(seed), every, away: None, kills, answered }
    }

    /// Returns what went wrong.
    async fn kill_for_ever(&mut self, fleet: &mut Fleet, kills: bool) -> Fault {
        if !kills {
            return std::future::pending().await;
        }
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
        let mut machines = vec![Machine::Postgres, Machine::Temporal, Machine::Seaweed];
        machines.extend((0..fleet.urls().len()).map(Machine::Server));
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

impl Scene {
    fn take_books(&mut self, model: &ModelServer) {
        let books = std::mem::take(&mut *model.books());
        self.asked = books.asked;
        self.most_in_flight = books.most_in_flight;
        let total: f64 = books.time_at.values().map(Duration::as_secs_f64).sum();
        let used: f64 =
            books.time_at.iter().map(|(calls, time)| *calls as f64 * time.as_secs_f64()).sum();
        self.use_of_calls = used / total;
    }

    async fn read(&mut self, fleet: &Fleet) -> Result<(), Fault> {
        let mut connection = sqlx::PgConnection::connect(&fleet.database()).await?;
        let mut objects = BTreeMap::new();
        for key in left::object_keys(&mut connection).await? {
            let response = fleet.client.get(format!("{}/{key}", fleet.objects_url())).send().await?;
            let page: Value = serde_json::from_slice(&response.error_for_status()?.bytes().await?)?;
            objects.insert(key, page);
        }
        for run in &self.runs {
            self.lefts.push(left::read(&mut connection, run, &objects).await?);
        }
        let commits = left::commit_times(&mut connection).await?;
        for (run, followed) in self.runs.iter().zip(&self.followed) {
            let latency = |arrival: &follower::Arrival| {
                commits.get(&(run.clone(), arrival.seq)).map(|commit| arrival.at - commit)
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
        let ended = self.lefts.iter().filter(|left| left.row["status"] == "completed").count();
        println!(
            "{}: {} runs, {ended} completed in {:.0} s; {} calls to the model",
            self.name,
            self.runs.len(),
            self.seconds,
            self.asked.len()
        );
        let kills: Vec<String> =
            self.kills.iter().map(|(name, count)| format!("{name} {count}")).collect();
        println!("  killed: {}", if kills.is_empty() { "none".to_owned() } else { kills.join(", ") });
        let again: i64 = self.steps().map(|step| step.sent - 1).sum();
        println!("  calls sent again because no answer was stored: {again}");
        println!(
            "  most calls in flight {} of {calls}, on average {:.1}",
            self.most_in_flight, self.use_of_calls
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

    fn judge(&self, books: &Books, calls: usize) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let distinct: BTreeSet<&String> = self.runs.iter().collect();
        if distinct.len() != self.runs.len() {
            breaches.push((Invariant::Resumable, "two questions have one run".to_owned()));
        }
        for (left, followed) in self.lefts.iter().zip(&self.followed) {
            breaches.extend(check::in_store(left));
            breaches.extend(check::served(left, books));
            breaches.extend(followed.breach().map(|text| (Invariant::Agreement, text)));
            if left.row["status"] != "completed" {
                let text = format!("a run ended as {}", left.row["status"]);
                breaches.push((Invariant::Resumable, text));
            }
        }
        breaches.extend(self.repeats());
        if self.most_in_flight > calls {
            let text = format!("{} calls in flight of {calls}", self.most_in_flight);
            breaches.push((Invariant::Spend, text));
        }
        breaches
    }

    /// Calls that were sent more often than the journal says, or after they were answered.
    fn repeats(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut journal: BTreeMap<String, (i64, BTreeSet<(String, String)>)> = BTreeMap::new();
        for (run, left) in self.runs.iter().zip(&self.lefts) {
            for step in left.steps.iter().filter(|step| step.door.starts_with("model:")) {
                let entry = journal.entry(prompt_text(&step.asked)).or_default();
                entry.0 += step.sent;
                entry.1.insert((run.clone(), step.key.clone()));
            }
        }
        let mut sent: BTreeMap<&str, Vec<Instant>> = BTreeMap::new();
        for asked in &self.asked {
            sent.entry(&asked.key).or_default().push(asked.at);
        }
        for (prompt, times) in sent {
            let Some((counted, steps)) = journal.get(prompt) else {
                let text = format!("`{prompt:.80}` was sent and is not in the journal");
                breaches.push((Invariant::Agreement, text));
                continue;
            };
            if times.len() as i64 > *counted {
                let text = format!("a call was sent {} times, by the journal {counted}", times.len());
                breaches.push((Invariant::Repeats, text));
            }
            let answered = self.answered.iter().find(|it| steps.iter().all(|step| it.1.contains(step)));
            let is_later = |at: &Instant| answered.is_some_and(|answered| *at > answered.0);
            if times.iter().any(is_later) {
                breaches.push((Invariant::Repeats, "an answered call was sent again".to_owned()));
            }
        }
        breaches
    }
}

/// The messages of a prompt in the journal, as the model got them.
fn prompt_text(asked: &Value) -> String {
    let messages = asked["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = messages.iter().filter_map(|it| it["text"].as_str()).collect();
    texts.join("\n")
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
