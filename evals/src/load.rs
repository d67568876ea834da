//! Many runs at once on a server that is running: what their streams hear, how long after each commit, and whether a full server
//! says so at once. Spoken over bare sockets, so that the client costs as little as may be.
use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row, SqliteConnection};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::program::{Home, binary};
use crate::{Measured, Outcome, sets};

/// What can go wrong, between tasks.
type StreamFault = Box<dyn std::error::Error + Send + Sync>;

const HELP: &str = "usage: evals load ADDR RUNS [--pid PID] [--store ibid.db|postgres://…] [--questions FILE] [--overload [--per-second N]]
  ADDR        host:port of `ibid serve`, without a token
  --pid       the server's process, whose largest memory is told
  --store     its store, to learn when each event was committed (PostgreSQL with track_commit_timestamp = on)
  --questions one question a line; a fixed one without
  --overload  only asks, and tells how long refusals took: all at once, or so many a second, each on a connection of its own";

/// How often a SQLite file is looked at for what was committed.
const LOOK: Duration = Duration::from_millis(5);
/// How long a server that was killed may be away.
const AWAY: Duration = Duration::from_secs(60);

/// Milliseconds since 1970.
fn now() -> f64 {
    let it = SystemTime::now().duration_since(UNIX_EPOCH);
    it.unwrap_or_default().as_secs_f64() * 1e3
}

/// What the streams of one run heard: each number, when, and when the stream that told it was asked for.
struct StreamLog {
    run: String,
    events: Vec<(u64, f64, f64)>,
    opened: usize,
    ended: Option<String>,
}

/// When each event was committed, by run and number.
type Commits = BTreeMap<(String, u64), f64>;

pub(crate) fn run(args: &[String]) -> Outcome {
    let named = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).cloned()
    };
    let (Some(addr), Some(runs)) = (args.first(), args.get(1)) else {
        return Err(HELP.into());
    };
    let runs: usize = runs.parse()?;
    let questions = match named("--questions") {
        Some(path) => std::fs::read_to_string(path)?.lines().map(str::to_owned).collect(),
        None => vec!["How much rain does a green roof retain?".to_owned()],
    };
    let per_second: Option<f64> = named("--per-second").map(|it| it.parse()).transpose()?;
    if per_second.is_some_and(|per_second| !per_second.is_normal() || per_second < 0.0) {
        return Err("--per-second is a number above 0".into());
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let done = runtime.block_on(async {
        if args.iter().any(|arg| arg == "--overload") {
            overload(addr, runs, &questions, per_second).await
        } else {
            load(addr, runs, &questions, named("--store"), named("--pid")).await
        }
    });
    Ok(Measured::new(
        done.map_err(|error| error as Box<dyn std::error::Error>)?,
        "runs and refusals",
    ))
}

/// Three runs on a server of its own over the sample library, and two more that are only asked for.
pub(crate) fn small(args: &[String]) -> Outcome {
    let home = Home::new(&binary(args)?)?;
    let library = sets::one("text")?;
    let folder = library.folder.to_string_lossy();
    let mut command = home.command(&["serve", "--addr", "127.0.0.1:0", "-q", "--folder", &folder]);
    let mut server = Server(command.env("IBID_ENGINES", "none").stdout(Stdio::piped()).spawn()?);
    let mut at = String::new();
    let said = server.0.stdout.take().ok_or("the server has no output")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut at)?;
    let addr = at.trim().trim_start_matches("http://").to_owned();
    let store = home.data().join("ibid.db").to_string_lossy().into_owned();
    let pid = server.0.id().to_string();
    let runtime = tokio::runtime::Runtime::new()?;
    let done = runtime.block_on(async {
        let heard = load(&addr, 3, &library.questions, Some(store), Some(pid)).await?;
        Ok::<usize, StreamFault>(heard + overload(&addr, 2, &library.questions, None).await?)
    });
    Ok(Measured::new(done.map_err(|error| error as Box<dyn std::error::Error>)?, "runs"))
}

/// A server that ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints what the streams heard; how many runs completed. An event that is lost or doubled is an error.
async fn load(
    addr: &str,
    runs: usize,
    questions: &[String],
    store: Option<String>,
    pid: Option<String>,
) -> Result<usize, StreamFault> {
    let began = now();
    let stop = Arc::new(AtomicBool::new(false));
    let seen: Arc<Mutex<Commits>> = Arc::default();
    let mut watching = JoinSet::new();
    if let Some(path) = store.clone().filter(|store| !store.starts_with("postgres")) {
        watching.spawn(watch(path, Arc::clone(&seen), Arc::clone(&stop)));
    }
    let mut work = JoinSet::new();
    for nth in 0..runs {
        let (addr, asked) = (addr.to_owned(), questions[nth % questions.len()].clone());
        work.spawn(async move { one(&addr, &asked).await });
    }
    let mut all = Vec::new();
    while let Some(it) = work.join_next().await {
        all.push(it??);
    }
    let took = (now() - began) / 1e3;
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.store(true, Ordering::Relaxed);
    while let Some(it) = watching.join_next().await {
        it??;
    }
    let commits = match &store {
        Some(url) if url.starts_with("postgres") => commits_of(url).await?,
        _ => seen.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    };
    let faults = told(addr, &all, &commits, took, began).await?;
    if let Some(pid) = pid {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        println!("largest memory of the server: {}", peak.unwrap_or("unknown").trim());
    }
    let completed = all.iter().filter(|it| it.ended.as_deref() == Some("run.completed")).count();
    match faults {
        0 if completed == runs => Ok(completed),
        0 => Err(format!("{completed} of {runs} runs completed").into()),
        _ => Err(format!("{faults} events were lost or doubled").into()),
    }
}

/// Prints the figures; how many events were lost or doubled.
async fn told(
    addr: &str,
    all: &[StreamLog],
    commits: &Commits,
    took: f64,
    began: f64,
) -> Result<usize, StreamFault> {
    let (mut heard, mut doubled, mut lost) = (0, 0, 0);
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let (mut late, mut firsts, mut unknown) = (Vec::new(), Vec::new(), 0);
    for it in all {
        let ended = it.ended.clone().unwrap_or_else(|| "no end".to_owned());
        *ends.entry(ended).or_default() += 1;
        heard += it.events.len();
        doubled += it.events.windows(2).filter(|window| window[1].0 <= window[0].0).count();
        let (_, body) = get(addr, &format!("/v1/runs/{}/events?after=0", it.run)).await?;
        let kept =
            body["data"].as_array().map_or(0, Vec::len).max(body.as_array().map_or(0, Vec::len));
        lost += kept.abs_diff(it.events.len());
        for (seq, at, asked) in &it.events {
            match commits.get(&(it.run.clone(), *seq)) {
                Some(committed) => {
                    // What was committed before anybody asked is late from then on.
                    let ms = (at - committed.max(*asked)).max(0.0);
                    late.push(ms);
                    if *seq <= 2 {
                        firsts.push(ms);
                    }
                }
                None => unknown += 1,
            }
        }
    }
    println!(
        "{} runs in {took:.1} s, {} streams opened: {ends:?}",
        all.len(),
        all.iter().map(|it| it.opened).sum::<usize>()
    );
    println!("{heard} events heard, {lost} lost, {doubled} doubled or out of order");
    if !late.is_empty() {
        println!("from commit to client: {}; {unknown} of unknown commit", spread(&mut late));
        println!("the same of the first two events of each run: {}", spread(&mut firsts));
    }
    let mut first: Vec<f64> =
        all.iter().filter_map(|it| Some(it.events.first()?.1 - began)).collect();
    println!("from the start of the load to the first event heard: {}", spread(&mut first));
    Ok(lost + doubled)
}

fn spread(all: &mut [f64]) -> String {
    all.sort_by(f64::total_cmp);
    let at =
        |share: f64| all.get(((all.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(0.0);
    format!(
        "p50 {:.0} ms, p99 {:.0} ms, most {:.0} ms of {}",
        at(0.5),
        at(0.99),
        at(1.0),
        all.len()
    )
}

/// Asks one question, and hears its run to the end, however often the connection breaks.
async fn one(addr: &str, asked: &str) -> Result<StreamLog, StreamFault> {
    let until = Instant::now() + AWAY;
    let (status, body) = loop {
        match post(addr, asked).await {
            Ok(it) => break it,
            Err(_) if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(100)).await
            }
            Err(fault) => return Err(fault),
        }
    };
    let run = body["id"].as_str().ok_or_else(|| format!("{status}: {body}"))?.to_owned();
    let mut heard = StreamLog { run, events: Vec::new(), opened: 0, ended: None };
    let mut away = Instant::now();
    while heard.ended.is_none() {
        heard.opened += 1;
        let before = heard.events.len();
        // A stream that breaks is taken up where it was left.
        let _ = listen(addr, &mut heard).await;
        if heard.events.len() > before {
            away = Instant::now();
        }
        if heard.ended.is_none() && away.elapsed() > AWAY {
            break;
        }
        if heard.ended.is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(heard)
}

async fn listen(addr: &str, heard: &mut StreamLog) -> Result<(), StreamFault> {
    let last = heard.events.last().map_or(0, |event| event.0);
    let head = format!(
        "GET /v1/runs/{}/events HTTP/1.1\r\nhost: {addr}\r\naccept: text/event-stream\r\nlast-event-id: {last}\r\n\r\n",
        heard.run
    );
    let asked = now();
    let mut socket = TcpStream::connect(addr).await?;
    socket.write_all(head.as_bytes()).await?;
    let mut lines = BufReader::new(socket);
    let (mut line, mut id) = (Vec::new(), 0);
    loop {
        line.clear();
        // Silence is filled with comments: a minute without one is a server that is gone.
        let read = tokio::time::timeout(AWAY, lines.read_until(b'\n', &mut line)).await??;
        if read == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(it) = text.strip_prefix("id:") {
            id = it.trim().parse()?;
        } else if let Some(it) = text.strip_prefix("data:") {
            if id == 0 {
                continue;
            }
            heard.events.push((id, now(), asked));
            let told: Value = serde_json::from_str(it.trim()).unwrap_or_default();
            let kind = told["type"].as_str().unwrap_or_default();
            if ["run.completed", "run.failed", "run.cancelled"].contains(&kind) {
                heard.ended = Some(kind.to_owned());
                return Ok(());
            }
            id = 0;
        }
    }
}

async fn post(addr: &str, asked: &str) -> Result<(u16, Value), StreamFault> {
    let body = json!({"question": asked}).to_string();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    answer(addr, &head).await
}

async fn get(addr: &str, path: &str) -> Result<(u16, Value), StreamFault> {
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\naccept: application/json\r\n\r\n"
    );
    answer(addr, &head).await
}

async fn answer(addr: &str, head: &str) -> Result<(u16, Value), StreamFault> {
    let mut socket = TcpStream::connect(addr).await?;
    socket.write_all(head.as_bytes()).await?;
    let mut all = Vec::new();
    tokio::time::timeout(AWAY, socket.read_to_end(&mut all)).await??;
    let text = String::from_utf8_lossy(&all);
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
    let status = head.split(' ').nth(1).unwrap_or_default().parse()?;
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}

/// Prints how long each answer took, by its status; how many answers there were.
async fn overload(
    addr: &str,
    asks: usize,
    questions: &[String],
    per_second: Option<f64>,
) -> Result<usize, StreamFault> {
    let mut work = JoinSet::new();
    let start = Instant::now();
    for nth in 0..asks {
        if let Some(rate) = per_second {
            // By the clock and not by the last answer: who asks does not wait for those before.
            let due = start + Duration::from_secs_f64(nth as f64 / rate);
            tokio::time::sleep_until(due.into()).await;
        }
        let (addr, asked) = (addr.to_owned(), questions[nth % questions.len()].clone());
        work.spawn(async move {
            let began = Instant::now();
            let said =
                post(&addr, &asked).await.map(|post| post.0).map_err(|error| error.to_string());
            (said, began.elapsed().as_secs_f64() * 1e3)
        });
    }
    let mut by_status: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    while let Some(it) = work.join_next().await {
        let (status, ms) = it?;
        let status = status.map_or_else(|it| it, |it| it.to_string());
        by_status.entry(status).or_default().push(ms);
    }
    let mut answered = 0;
    for (status, mut all) in by_status {
        println!("{status}: {}", spread(&mut all));
        answered += if status.parse::<u16>().is_ok() { all.len() } else { 0 };
    }
    Ok(answered)
}

/// Looks at a SQLite file again and again, and notes when each event was first there.
async fn watch(
    path: String,
    seen: Arc<Mutex<Commits>>,
    stop: Arc<AtomicBool>,
) -> Result<(), StreamFault> {
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let url = format!("sqlite:{path}?mode=ro");
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut db) = SqliteConnection::connect(&url).await else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        while !stop.load(Ordering::Relaxed) {
            let rows = sqlx::query("select id, seq from runs");
            let rows = rows.fetch_all(&mut db).await?;
            let at = now();
            for it in rows {
                let (run, seq): (String, i64) = (it.try_get(0)?, it.try_get(1)?);
                let known = last.entry(run.clone()).or_default();
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                for nth in *known + 1..=seq as u64 {
                    seen.insert((run.clone(), nth), at);
                }
                *known = seq as u64;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    Ok(())
}

/// When each event was committed, as the server kept it.
async fn commits_of(url: &str) -> Result<Commits, StreamFault> {
    let mut db = PgConnection::connect(url).await?;
    sqlx::raw_sql("set search_path to ibid; set ibid.scope = 'all'").execute(&mut db).await?;
    let rows = sqlx::query(
        "select run, seq, (extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000)::float8 from events",
    );
    let mut found = Commits::new();
    for it in rows.fetch_all(&mut db).await? {
        let at: Option<f64> = it.try_get(2)?;
        if let Some(at) = at {
            found.insert((it.try_get(0)?, it.try_get::<i64, _>(1)? as u64), at);
        }
    }
    Ok(found)
}
