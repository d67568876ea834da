//! The limits of providers and engines over several servers, from the model or the engine to the store.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ibid_core::ports::{CallPlaces, LanguageModel, Prompt, SeededRng, ServiceTurns};
use ibid_core::retry::RetryPolicy;
use ibid_llm::stack::SharedModels;
use ibid_llm::{
    BudgetCaps, ConcurrencyLimits, CostBudget, MODEL_RETRY, ModelCapabilities, ModelContext,
    ModelSpec, ModelSpend, ModelTarget, stack,
};
use ibid_net::http::Timeouts;
use ibid_net::service::{RateLimiters, ServiceAccess, ServiceClient, ServiceRequest};
use ibid_store::store::{PostgresCallPlaces, PostgresLocks, PostgresServiceTurns, PostgresStore};
use sqlx::{Connection, PgConnection};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use serde_json::json;

use super::database;
use crate::cli::{ASKED, TestHome};
use crate::model::http::{answer, read_request};
use crate::spending::{Counted, get, post, serve, user};

/// When a test is given up.
const LONG: Duration = Duration::from_secs(60);

/// 25 tokens.
const GREEN: &str = r#"{"object":"chat.completion","model":"m-1","choices":[{"message":{"content":"Green."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":5}}"#;

/// A provider or an engine that notes when it was asked.
struct TimedService {
    url: String,
    asked: Arc<Mutex<Vec<Instant>>>,
    _work: JoinSet<()>,
}

impl TimedService {
    /// Gives `first` in order, then `then` again and again, to any number at once.
    async fn start(first: Vec<String>, then: String) -> TimedService {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (noted, first) = (Arc::clone(&asked), Arc::new(Mutex::new(VecDeque::from(first))));
        let mut work = JoinSet::new();
        work.spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let (noted, first, then) = (Arc::clone(&noted), Arc::clone(&first), then.clone());
                open.spawn(async move {
                    if read_request(&mut socket).await.is_some() {
                        noted.lock().unwrap().push(Instant::now());
                        let text = first.lock().unwrap().pop_front().unwrap_or(then);
                        let _sent = socket.write_all(text.as_bytes()).await;
                    }
                });
            }
        });
        TimedService { url, asked, _work: work }
    }

    fn times(&self) -> Vec<Instant> {
        let mut times = self.asked.lock().unwrap().clone();
        times.sort_unstable();
        times
    }
}

/// What a server of a fleet shares with others.
struct FleetServer {
    models: Arc<SharedModels>,
    rates: RateLimiters,
    _locks: PostgresLocks,
    _store: PostgresStore,
}

impl FleetServer {
    async fn start(url: &str) -> FleetServer {
        let store = PostgresStore::open(url).await.unwrap();
        let locks = store.locks();
        let (models, rates) = (Arc::new(SharedModels::default()), RateLimiters::default());
        let places: Arc<dyn CallPlaces> = Arc::new(PostgresCallPlaces::new(&locks));
        models.limiters.share(&places);
        let turns: Arc<dyn ServiceTurns> = Arc::new(PostgresServiceTurns::new(&locks));
        rates.share(&turns);
        FleetServer { models, rates, _locks: locks, _store: store }
    }

    /// A model at `url` that is asked once, where a minute may have so many tokens.
    fn model(&self, url: &str, tokens_per_minute: Option<u64>) -> impl LanguageModel + use<> {
        let url = format!("{url}/v1");
        let target = ModelTarget::resolve("custom/m-1", &|name| {
            (name == "IBID_MODEL_BASE_URL").then(|| url.clone())
        });
        let context = ModelContext {
            egress: Default::default(),
            budget: CostBudget::new(BudgetCaps::default(), ModelSpend::default()),
            shared: Arc::clone(&self.models),
            limits: ConcurrencyLimits { tokens_per_minute, ..ConcurrencyLimits::default() },
            retry: RetryPolicy { tries: 1, ..MODEL_RETRY },
            timeouts: Timeouts::default(),
            chance: Arc::new(SeededRng::new(3)),
        };
        let spec = ModelSpec {
            target: target.unwrap(),
            known: ModelCapabilities::default(),
            price: None,
            window: None,
            max_output: 50,
            effort: None,
        };
        stack::open(vec![spec], &context).unwrap()
    }

    /// An engine at `url` with a turn every `distance`.
    fn engine(&self, url: &str, distance: Duration) -> ServiceClient {
        let client = ServiceClient::open("engine", ServiceAccess::bearer(url, None)).unwrap();
        client.with_rate_limit(self.rates.get("engine", distance)).without_retries()
    }
}

fn prompt() -> Prompt {
    Prompt { max_tokens: Some(100), ..Prompt::from_text("write", "What is moss?") }
}

async fn search(engine: &ServiceClient) -> ibid_core::Result<()> {
    let read = |status: u16, headers: &_, body: &[u8]| match status {
        200 => Ok(()),
        _ => Err(ibid_net::service_error::ServiceError::from_response(status, headers, body)),
    };
    engine.request(&ServiceRequest::get("/search", &[]), read).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn no_server_calls_a_model_before_the_time_that_its_provider_told_another() {
    let refused = answer("429 Too Many Requests", "retry-after: 3\r\n", "{}");
    let provider = TimedService::start(vec![refused], answer("200 OK", "", GREEN)).await;
    let url = database().await;
    let (one, other) = (FleetServer::start(&url).await, FleetServer::start(&url).await);
    one.model(&provider.url, None).complete(&prompt(), None).await.unwrap_err();
    let told = Instant::now();
    let (first, second) = (one.model(&provider.url, None), other.model(&provider.url, None));
    let (prompt, other_prompt) = (prompt(), prompt());
    let answers = tokio::join!(first.complete(&prompt, None), second.complete(&other_prompt, None));
    assert_eq!(answers.0.unwrap().text, "Green.");
    assert_eq!(answers.1.unwrap().text, "Green.");
    let times = provider.times();
    assert_eq!(times.len(), 3);
    // The provider counts from its answer, which came a moment earlier.
    let early = told + Duration::from_millis(2_900);
    assert!(times[1..].iter().all(|it| *it >= early), "{:?}", times[1] - told);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn servers_together_keep_to_the_tokens_of_a_minute() {
    let provider = TimedService::start(vec![], answer("200 OK", "", GREEN)).await;
    let url = database().await;
    let servers = [FleetServer::start(&url).await, FleetServer::start(&url).await];
    let mut work = JoinSet::new();
    for server in &servers {
        let model = Arc::new(server.model(&provider.url, Some(1_000)));
        for _ in 0..30 {
            let model = Arc::clone(&model);
            work.spawn(async move { model.complete(&prompt(), None).await.map(drop) });
        }
    }
    // A call asks for 121 tokens and uses 25, which is known when it has been answered.
    let asked = async {
        while provider.times().len() < 30 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, asked).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let count = provider.times().len();
    assert!(count <= 40, "{count} calls of 25 tokens");
    let mut db = PgConnection::connect(&url).await.unwrap();
    sqlx::query("update ibid.call_tokens set taken_at = taken_at - interval '62 s'")
        .execute(&mut db)
        .await
        .unwrap();
    let answered = async {
        while let Some(answer) = work.join_next().await {
            answer.unwrap().unwrap();
        }
    };
    tokio::time::timeout(LONG, answered).await.unwrap();
    assert_eq!(provider.times().len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn searches_of_all_servers_keep_the_pace_of_an_engine() {
    const DISTANCE: Duration = Duration::from_millis(150);
    let service = TimedService::start(vec![], answer("200 OK", "", "{}")).await;
    let url = database().await;
    let mut engines = Vec::new();
    let servers = [
        FleetServer::start(&url).await,
        FleetServer::start(&url).await,
        FleetServer::start(&url).await,
    ];
    for server in &servers {
        engines.push(server.engine(&service.url, DISTANCE));
    }
    let searches = engines.iter().flat_map(|engine| (0..6).map(move |_| search(engine)));
    assert!(join_all(searches).await.iter().all(Result::is_ok));
    let times = service.times();
    assert_eq!(times.len(), 18);
    // A request may be late, and the next one on time.
    let whole = times[17] - times[0];
    assert!(whole >= DISTANCE * 17 - Duration::from_millis(50), "{whole:?}");
    assert!(whole < DISTANCE * 17 + Duration::from_secs(2), "no turn was lost: {whole:?}");
    let close = times.windows(2).filter(|it| it[1] - it[0] < DISTANCE / 2).count();
    assert!(close <= 1, "{close} of 17 were close together");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn no_server_searches_before_the_time_that_an_engine_told_another() {
    const DISTANCE: Duration = Duration::from_millis(700);
    let refused = answer("429 Too Many Requests", "retry-after: 4\r\n", "{}");
    let service = TimedService::start(vec![refused], answer("200 OK", "", "{}")).await;
    let url = database().await;
    let (one, other) = (FleetServer::start(&url).await, FleetServer::start(&url).await);
    let (one, other) = (one.engine(&service.url, DISTANCE), other.engine(&service.url, DISTANCE));
    // The others have turns already when the first is refused.
    let searches = async {
        let first = search(&one);
        let others = join_all((0..4).map(|_| search(&other)));
        tokio::join!(first, others)
    };
    let (first, others) = tokio::time::timeout(LONG, searches).await.unwrap();
    let answers: Vec<_> = others.into_iter().chain([first]).collect();
    assert_eq!(answers.iter().filter(|it| it.is_err()).count(), 1, "{answers:?}");
    let times = service.times();
    // One more turn may have begun within a second of the refusal.
    let paused: Vec<f64> = times[1..].iter().map(|it| (*it - times[0]).as_secs_f64()).collect();
    let early = paused.iter().filter(|it| **it < 3.9).count();
    assert!(early <= 1, "{paused:?}");
    // Who asks in the pause is told at once, if it is too long to wait for.
    other.pause_for(Duration::from_secs(300));
    let begun = Instant::now();
    assert!(search(&other).await.is_err());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn servers_count_tokens_and_turns_in_the_store_that_they_share() {
    let url = database().await;
    let desk = TestHome::new();
    let model = Counted::start(Duration::from_millis(20)).await;
    let json = "content-type: application/json\r\n";
    let engine = TimedService::start(vec![], answer("200 OK", json, r#"{"results":[]}"#)).await;
    let mut env = model.env();
    for (name, value) in [
        ("DATABASE_URL", url.as_str()),
        ("SEARXNG_URL", engine.url.as_str()),
        ("IBID_SEARCH_CACHE_HOURS", "0"),
        ("IBID_MODEL_TOKENS_PER_MINUTE", "1000000"),
    ] {
        env.push((name.to_owned(), value.to_owned()));
    }
    let token = user(&desk, &env, "joe", &[]);
    let servers = [serve(&desk, &env), serve(&desk, &env)];
    let mut runs = Vec::new();
    for server in &servers {
        let asked = json!({"question": ASKED, "engines": ["searxng"]});
        let it = post(server, &token, "/v1/runs", None, &asked).await;
        assert_eq!(it.status, 202, "{}", it.body);
        runs.push(it.json()["id"].as_str().unwrap().to_owned());
    }
    let begun = Instant::now();
    for (server, run) in servers.iter().zip(&runs) {
        let run = format!("/v1/runs/{run}?wait=5");
        let is_open =
            |it: &serde_json::Value| it["status"] == "pending" || it["status"] == "in_progress";
        while is_open(&get(server, &token, &run).await) {
            assert!(begun.elapsed() < LONG);
        }
    }
    let mut db = PgConnection::connect(&url).await.unwrap();
    let ask = "select count(distinct worker) from ibid.call_tokens";
    let workers: i64 = sqlx::query_scalar(ask).fetch_one(&mut db).await.unwrap();
    assert_eq!(workers, 2);
    let ask = "select count(*) from ibid.service_turns";
    let engines: i64 = sqlx::query_scalar(ask).fetch_one(&mut db).await.unwrap();
    assert_eq!(engines, 1);
    // The pace of this engine.
    let (times, distance) = (engine.times(), Duration::from_millis(100));
    let whole = times[times.len() - 1] - times[0];
    let least = distance * (times.len() as u32 - 1);
    assert!(times.len() >= 4 && whole + distance / 2 >= least, "{} in {whole:?}", times.len());
}
