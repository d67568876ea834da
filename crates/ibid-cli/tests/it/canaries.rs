//! Keys stay where they are: one is planted in every setting and variable that can hold one, servers that are asked say them
//! back, and nothing that Ibid says, keeps or sends to others may hold one.
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::cli::{ASKED, Outcome, TestHome};
use crate::served::Served;
use crate::telemetry::Collector;

/// Variables that hold keys under names of their own.
const KEYS: &[&str] = &[
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "XAI_API_KEY",
    "TOGETHER_API_KEY",
    "FIREWORKS_API_KEY",
    "OLLAMA_API_KEY",
    "COHERE_API_KEY",
    "JINA_API_KEY",
    "TAVILY_API_KEY",
    "SERPER_API_KEY",
    "EXA_API_KEY",
    "BRAVE_API_KEY",
    "KAGI_API_KEY",
    "PERPLEXITY_API_KEY",
    "FIRECRAWL_API_KEY",
    "STEEL_API_KEY",
    "CRAWL4AI_API_TOKEN",
    "STACKEXCHANGE_API_KEY",
    "SEMANTIC_SCHOLAR_API_KEY",
    "OPENALEX_API_KEY",
    "NCBI_API_KEY",
    "GITHUB_TOKEN",
    "QDRANT_API_KEY",
    "IBID_TOKEN",
    "IBID_WEBHOOK_SECRET",
    "LANGFUSE_SECRET_KEY",
    "PHOENIX_API_KEY",
];

/// What every key holds; the name of its variable comes after.
const CANARY: &str = "cuckoo9f3a";

/// The keys of a request in the forms in which servers quote them.
fn disguised(text: &str) -> String {
    let of_a_key = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let keys = text.match_indices(CANARY).map(|(at, _)| {
        let rest = &text[at..];
        &rest[..rest.find(|it| !of_a_key(it)).unwrap_or(rest.len())]
    });
    let each = |key: &str, form: &dyn Fn(u8) -> String| key.bytes().map(form).collect::<String>();
    keys.map(|key| {
        [
            STANDARD.encode(key),
            STANDARD.encode(format!("Bearer {key} was refused")),
            URL_SAFE_NO_PAD.encode(format!("user:{key}")),
            each(key, &|it| format!("{it:02x}")),
            each(key, &|it| format!("{it:02X}")),
            each(key, &|it| format!("%{it:02X}")),
            each(key, &|it| format!("\\u{it:04x}")),
        ]
        .join(" ")
    })
    .collect::<Vec<_>>()
    .join(" ")
}

/// What shows the canary, as it is or encoded.
fn shapes() -> Vec<String> {
    let each = |form: &dyn Fn(u8) -> String| CANARY.bytes().map(form).collect::<String>();
    let mut all = vec![
        CANARY.to_owned(),
        each(&|it| format!("{it:02x}")),
        each(&|it| format!("{it:02X}")),
        each(&|it| format!("%{it:02X}")),
        each(&|it| format!("\\u{it:04x}")),
    ];
    for before in 0..3_usize {
        let coded = STANDARD.encode(format!("{}{CANARY}", "a".repeat(before)));
        // Letters that bytes before or after it have a part in.
        let sure = (8 * before).div_ceil(6)..8 * (before + CANARY.len()) / 6;
        all.push(coded[sure].to_owned());
    }
    all
}

/// A server that refuses and says everything back that it was sent: the worst there is.
async fn parrot() -> (String, Arc<Mutex<u32>>, tokio::task::JoinSet<()>) {
    let heard = Arc::new(Mutex::new(0));
    let count = Arc::clone(&heard);
    let back = move |uri: Uri, headers: HeaderMap, body: Bytes| {
        let text = format!("{uri} {headers:?} {}", String::from_utf8_lossy(&body));
        if text.contains(CANARY) {
            *count.lock().unwrap() += 1;
        }
        let message = format!("{} {text}", disguised(&text));
        let told = json!({"error": {"message": message, "type": message}}).to_string();
        async move { (StatusCode::UNAUTHORIZED, told) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = listener.local_addr().unwrap().to_string();
    let mut task = tokio::task::JoinSet::new();
    task.spawn(async move {
        let router = axum::Router::new().fallback(back);
        axum::serve(listener, router).await.unwrap();
    });
    (url, heard, task)
}

/// Every file below `dir` that holds a key.
fn holding(dir: &Path, found: &mut Vec<String>) {
    for it in std::fs::read_dir(dir).unwrap() {
        let path = it.unwrap().path();
        if path.is_dir() {
            holding(&path, found);
        } else if let Ok(bytes) = std::fs::read(&path)
            && shapes().iter().any(|it| memchr::memmem::find(&bytes, it.as_bytes()).is_some())
        {
            found.push(path.display().to_string());
        }
    }
}

fn silent(what: &str, words: &str) {
    if let Some(at) = shapes().iter().find_map(|it| words.find(it)) {
        let from = words[..at].char_indices().rev().nth(200).map_or(0, |it| it.0);
        panic!("{what} tells a key: …{}", words[from..].chars().take(300).collect::<String>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_ever_told() {
    let desk = TestHome::new();
    let (at, heard, _task) = parrot().await;
    let (parrot, within) = (format!("http://{at}"), format!("http://user:{CANARY}-password@{at}"));
    let to = Collector::start(StatusCode::OK).await;
    let mut env: Vec<(String, String)> =
        KEYS.iter().map(|it| ((*it).to_owned(), format!("{CANARY}-{it}"))).collect();
    for (name, value) in [
        ("OPENAI_BASE_URL", parrot.as_str()),
        ("IBID_MODEL", "openai:small"),
        ("IBID_ENGINES", "searxng"),
        ("IBID_READERS", "embedded,firecrawl,crawl4ai"),
        ("SEARXNG_URL", &within),
        ("FIRECRAWL_API_URL", &parrot),
        ("CRAWL4AI_URL", &parrot),
        ("IBID_ALLOW_NET", "127.0.0.0/8"),
        ("IBID_EMBEDDING_MODEL", "openai:vectors"),
        ("IBID_EMBEDDING_BASE_URL", &parrot),
        ("IBID_EMBEDDING_API_KEY_ENV", "OPENAI_API_KEY"),
        ("IBID_RERANK_MODEL", "jina:order"),
        ("IBID_RERANK_BASE_URL", &parrot),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &to.url),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=cuckoo9f3a-header"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "100"),
    ] {
        env.push((name.to_owned(), value.to_owned()));
    }
    let docs = desk.docs();
    let run = |args: &[&str], more: &[(&str, &str)]| -> Outcome {
        let mut it = desk.command(args);
        it.envs(env.iter().map(|(a, b)| (a, b))).envs(more.iter().copied());
        it.output().unwrap().into()
    };
    let mut told = Vec::new();
    tokio::task::block_in_place(|| {
        let dead = "postgres://ibid:cuckoo9f3a-database@127.0.0.1:1/x";
        for (args, more) in [
            (vec!["config"], vec![]),
            (vec!["config", "--json"], vec![]),
            (vec!["doctor"], vec![]),
            (vec!["doctor", "--json"], vec![]),
            (vec!["run", ASKED, "--folder", &docs, "--jsonl", "-v"], vec![]),
            (vec!["run", ASKED, "--folder", &docs, "--json"], vec![]),
            (vec!["evidence", ASKED, "--folder", &docs], vec![]),
            (vec!["plan", ASKED, "--folder", &docs, "--model-plan"], vec![]),
            (vec!["ls", "--json"], vec![]),
            (vec!["ls"], vec![("DATABASE_URL", dead)]),
            (vec!["config"], vec![("DATABASE_URL", dead)]),
            (vec!["doctor"], vec![("DATABASE_URL", dead)]),
        ] {
            let it = run(&args, &more);
            told.push((args.join(" "), it.out, it.err));
        }
    });
    for (what, out, err) in &told {
        silent(what, out);
        silent(what, err);
    }
    assert!(*heard.lock().unwrap() > 3, "too few keys were ever sent: {}", heard.lock().unwrap());

    let own: Vec<(&str, &str)> = env.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let served = Served::start(&desk, &own);
    let with = |it: reqwest::RequestBuilder| {
        it.header("authorization", format!("Bearer {CANARY}-IBID_TOKEN"))
    };
    let made = served
        .send(
            with(served.client.post(format!("{}/v1/runs?wait=50", served.at)))
                .header("content-type", "application/json")
                .body(json!({"question": ASKED}).to_string()),
        )
        .await;
    assert_eq!(made.status, 200, "{}", made.body);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    silent("a run", &made.body);
    for path in [
        "/metrics".to_owned(),
        "/openapi.json".to_owned(),
        "/v1/models".to_owned(),
        "/v1/runs".to_owned(),
        format!("/v1/runs/{id}/events"),
        format!("/v1/runs/{id}/trace"),
        format!("/v1/runs/{id}/egress"),
        format!("/v1/runs/{id}/report.json"),
        "/nowhere".to_owned(),
    ] {
        let it = served.send(with(served.client.get(format!("{}{path}", served.at)))).await;
        silent(&path, &it.body);
    }
    drop(served);
    silent("telemetry", &to.words());
    assert!(to.words().contains("deep_research"));
    let mut found = Vec::new();
    holding(desk.dir.path(), &mut found);
    assert!(found.is_empty(), "keys are kept in {found:?}");
}
