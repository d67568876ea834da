//! Servers on one PostgreSQL: what a dead one has accepted goes on elsewhere.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Counted, get, serve, user};
use crate::cli::{ASKED, TestHome};
use crate::served::Served;

/// How long it may take until another server has begun with the runs of a dead one.
const TAKEN: Duration = Duration::from_secs(35);

/// The operator's token.
const OPERATOR: &str = "operator-0123456789abcdef0123456789";

/// What a server tells the operator.
async fn metrics(served: &Served) -> String {
    let bearer = format!("Bearer {OPERATOR}");
    let ask = served.client.get(format!("{}/metrics", served.at)).header("authorization", bearer);
    served.send(ask).await.body
}

/// Two servers on one database; the first has six runs, of which two are worked on.
async fn taken_over(signal: &str) {
    let url = crate::postgres::database().await;
    let desk = TestHome::new();
    let model = Counted::start(Duration::from_millis(400)).await;
    let mut env = model.env();
    env.push(("DATABASE_URL".to_owned(), url.clone()));
    env.push(("IBID_SERVE_CONCURRENCY".to_owned(), "2".to_owned()));
    env.push(("IBID_TOKEN".to_owned(), OPERATOR.to_owned()));
    let token = user(&desk, &env, "joe", &[]);
    let (first, second) = (serve(&desk, &env), serve(&desk, &env));
    let mut runs = Vec::new();
    for _ in 0..6 {
        let it = super::post(&first, &token, "/v1/runs", None, &json!({"question": ASKED})).await;
        assert_eq!(it.status, 202, "{}", it.body);
        runs.push(it.json()["id"].as_str().unwrap().to_owned());
    }
    model.until(3).await;
    // Two have begun; what they have done is in the store a moment later.
    let waiting = async {
        let four = "\nibid_queue_waiting_runs{org=\"(none)\"} 4\n";
        while !metrics(&second).await.contains(four) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(TAKEN, waiting).await.unwrap();
    let told = metrics(&first).await;
    assert!(told.contains("\nibid_llm_calls_in_flight{key=\"OPENAI_API_KEY\"} "), "{told}");
    // What a live server holds or has waiting is left to it.
    let taken = |events: &[String]| events.iter().filter(|it| *it == "run.resumed").count();
    first.signal(signal);
    let began = Instant::now();
    let mut begun = None;
    for run in &runs {
        loop {
            let it = get(&second, &token, &format!("/v1/runs/{run}?wait=5")).await;
            if begun.is_none() && it["status"] != "pending" && it["last_event"].as_u64() > Some(0) {
                let told = events(&second, &token, run).await;
                begun = (taken(&told) > 0).then(|| began.elapsed());
            }
            if it["status"] == "completed" {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(150), "{run}: {it}");
        }
    }
    // Two had begun; the others had only waited there.
    let told = metrics(&second).await;
    assert!(told.contains("\nibid_run_takeovers_total 2\n"), "{told}");
    let begun = begun.unwrap_or(began.elapsed());
    assert!(begun < TAKEN, "the first was taken over after {begun:?}");
    if signal == "STOP" {
        // It comes back, finds that its runs are another's, and changes nothing.
        first.signal("CONT");
        tokio::time::timeout(Duration::from_secs(40), async {
            while first.get("/readyz").await.status != 200 {}
        })
        .await
        .unwrap();
    }
    for run in &runs {
        let told = events(&second, &token, run).await;
        assert!(taken(&told) <= 1, "{told:?}");
        assert_eq!(told.iter().filter(|it| *it == "run.completed").count(), 1);
        assert_eq!(told.last().unwrap(), "run.completed");
    }
    let usd: f64 = {
        let rows = get(&second, &token, "/v1/runs?limit=100").await;
        let rows = rows["data"].as_array().unwrap().clone();
        rows.iter().map(|it| it["usage"]["usd"].as_f64().unwrap()).sum()
    };
    // Only calls that were out when the server died are asked once more, at most four of each of its two runs.
    let calls = model.calls();
    let answered = (usd / super::CALL_USD).round() as u64;
    assert!(calls - answered <= 16, "{calls} calls, {answered} answers told");
    #[allow(clippy::print_stderr, reason = "the figures of the takeover")]
    {
        eprintln!(
            "{signal}: begun after {begun:?}, all ended after {:?}; {calls} calls, {answered} answers",
            began.elapsed()
        );
    }
}

/// The kinds of a run's events, which are numbered without gaps.
async fn events(served: &Served, token: &str, run: &str) -> Vec<String> {
    let it = get(served, token, &format!("/v1/runs/{run}/events?limit=1000")).await;
    let rows = it["data"].as_array().unwrap();
    for (at, it) in rows.iter().enumerate() {
        assert_eq!(it["seq"].as_u64(), Some(at as u64 + 1), "{it}");
    }
    rows.iter().map(|it| it["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn the_runs_of_a_killed_server_go_on_at_another_within_35_seconds() {
    taken_over("KILL").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn the_runs_of_a_stopped_server_go_on_at_another_within_35_seconds() {
    taken_over("STOP").await;
}

/// Stands between a server and its database, and passes nothing on any more once told to.
async fn mute(database: String) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&silent);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (silent, database) = (Arc::clone(&silent), database.clone());
            tokio::spawn(async move {
                let mut server = TcpStream::connect(database).await.unwrap();
                let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
                loop {
                    let (n, up) = tokio::select! {
                        n = client.read(&mut asked) => (n.unwrap_or(0), true),
                        n = server.read(&mut answered) => (n.unwrap_or(0), false),
                    };
                    if n == 0 {
                        return;
                    }
                    if silent.load(Ordering::SeqCst) {
                        continue;
                    }
                    let sent = match up {
                        true => server.write_all(&asked[..n]).await,
                        false => client.write_all(&answered[..n]).await,
                    };
                    if sent.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, told)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_server_whose_database_hangs_is_not_ready_within_2_seconds_and_still_lives() {
    let url = crate::postgres::database().await;
    let mut url = url::Url::parse(&url).unwrap();
    let (port, silent) = mute(format!("127.0.0.1:{}", url.port().unwrap())).await;
    url.set_port(Some(port)).unwrap();
    let desk = TestHome::new();
    let served = serve(&desk, &[("DATABASE_URL".to_owned(), url.to_string())]);
    assert_eq!(served.get("/readyz").await.status, 200);
    silent.store(true, Ordering::SeqCst);
    // The fastest of several counts: the others measure what else the machine does.
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        let it = served.get("/readyz").await;
        fastest = fastest.min(began.elapsed());
        assert_eq!(it.status, 503, "{}", it.body);
        assert_eq!(served.get("/healthz").await.status, 200);
    }
    assert!(fastest < Duration::from_secs(2), "{fastest:?}");
    served.kill();
}
