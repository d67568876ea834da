//! Runs and counts as an OpenTelemetry collector receives them.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value as Held};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;
use tokio::sync::Notify;

use crate::cli::{ASKED, TestHome};
use crate::model::http::{Act, Server, answer, serve_in_turn};
use crate::served::Served;

/// One request that came.
#[derive(Clone)]
struct Came {
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// A collector on this machine.
pub(crate) struct Collector {
    pub(crate) url: String,
    came: Arc<Mutex<Vec<Came>>>,
    /// Told of every request.
    more: Arc<Notify>,
    // Ends with this.
    _task: tokio::task::JoinSet<()>,
}

impl Collector {
    pub(crate) async fn start(status: StatusCode) -> Collector {
        let came: Arc<Mutex<Vec<Came>>> = Arc::default();
        let more = Arc::new(Notify::new());
        let told = Arc::clone(&more);
        let take = move |State(all): State<Arc<Mutex<Vec<Came>>>>,
                         uri: Uri,
                         headers: HeaderMap,
                         body: Bytes| {
            let path = uri.path().to_owned();
            let body = body.to_vec();
            all.lock().unwrap().push(Came { path, headers, body });
            told.notify_one();
            std::future::ready(status)
        };
        let router =
            axum::Router::new().route("/{*rest}", post(take)).with_state(Arc::clone(&came));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut task = tokio::task::JoinSet::new();
        task.spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Collector { url, came, more, _task: task }
    }

    fn at(&self, path: &str) -> Vec<Came> {
        let all = self.came.lock().unwrap();
        all.iter().filter(|it| it.path == path).cloned().collect()
    }

    /// Everything that came, as text, for who looks for words in it.
    pub(crate) fn words(&self) -> String {
        let all = self.came.lock().unwrap();
        all.iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let mut out = Vec::new();
        for it in self.at("/v1/traces") {
            assert_eq!(it.headers["content-type"], "application/x-protobuf");
            let told = ExportTraceServiceRequest::decode(&*it.body).unwrap();
            for of in told.resource_spans {
                out.extend(of.scope_spans.into_iter().flat_map(|it| it.spans));
            }
        }
        out
    }
}

fn words(all: &[KeyValue]) -> BTreeMap<String, String> {
    let read = |it: &KeyValue| {
        let value = match it.value.clone().unwrap().value.unwrap() {
            Held::StringValue(it) => it,
            Held::IntValue(it) => it.to_string(),
            Held::DoubleValue(it) => it.to_string(),
            Held::BoolValue(it) => it.to_string(),
            other => format!("{other:?}"),
        };
        (it.key.clone(), value)
    };
    all.iter().map(read).collect()
}

async fn ask(desk: &TestHome, args: &[&str], env: &[(&str, &str)]) -> crate::cli::Outcome {
    let docs = desk.docs();
    let mut command = desk.command(&["run", ASKED, "--folder", &docs, "--json"]);
    command.args(args).envs(env.iter().copied());
    let done = tokio::task::spawn_blocking(move || command.output().unwrap());
    done.await.unwrap().into()
}

/// A model that answers what is of no use, and counts.
async fn model() -> Server {
    serve_in_turn(vec![Act::Say(answer(
        "200 OK",
        "",
        r#"{"id":"x","object":"chat.completion","model":"small","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"I cannot."}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}"#,
    ))])
    .await
}

/// Whether each span lies in its parent, in one trace with one beginning.
fn hangs_together(spans: &[Span]) {
    let by_id: BTreeMap<&[u8], &Span> = spans.iter().map(|it| (&*it.span_id, it)).collect();
    assert_eq!(by_id.len(), spans.len(), "two spans have one id");
    for it in spans {
        assert_eq!(it.trace_id, spans[0].trace_id);
        assert!(it.start_time_unix_nano <= it.end_time_unix_nano);
        if it.span_id != spans[0].span_id {
            let parent = by_id[&*it.parent_span_id];
            assert!(
                parent.start_time_unix_nano <= it.start_time_unix_nano
                    && it.end_time_unix_nano <= parent.end_time_unix_nano,
                "{} is not within {}",
                it.name,
                parent.name
            );
        }
    }
}

#[tokio::test]
async fn a_run_is_one_trace_without_what_was_asked() {
    let desk = TestHome::new();
    let to = Collector::start(StatusCode::OK).await;
    let model = model().await;
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", to.url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=green%20roofs"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"),
        ("OPENAI_BASE_URL", &model.url),
        ("OPENAI_API_KEY", "k-1"),
    ];
    let it = ask(&desk, &["--model", "openai:small"], &env).await;
    assert_eq!(it.code, 0, "{}", it.err);
    let spans = to.spans();
    hangs_together(&spans);
    let root = words(&spans[0].attributes);
    assert_eq!(spans[0].name, "invoke_workflow deep_research");
    assert!(spans[0].parent_span_id.is_empty());
    assert_eq!(
        root["gen_ai.conversation.id"],
        it.json()["session_id"].as_str().unwrap_or(&root["gen_ai.conversation.id"])
    );
    assert_eq!(root["ibid.quotes.verified"], root["ibid.quotes.total"]);
    assert_ne!(root["ibid.quotes.total"], "0");
    assert!(root.contains_key("ibid.coverage.ratio") && root.contains_key("ibid.stop_reason"));
    let named = |name: &str| {
        spans.iter().find(|it| it.name == name).unwrap_or_else(|| {
            panic!("no {name} among {:?}", spans.iter().map(|it| &it.name).collect::<Vec<_>>())
        })
    };
    let search = words(&named("retrieval local").attributes);
    assert_eq!(search["gen_ai.operation.name"], "retrieval");
    assert!(search.contains_key("gen_ai.request.top_k"));
    assert_eq!(search["openinference.span.kind"], "RETRIEVER");
    let read = words(&named("execute_tool read_page").attributes);
    assert!(read["url.full"].starts_with("folder:"), "{read:?}");
    // Neither where a document lies nor the address that it states of itself.
    let told = to.words();
    for it in ["file://", "rain.md", "weight.md", "a.example", &desk.docs()] {
        assert!(!told.contains(it), "{it}");
    }
    let model = words(&named("chat small").attributes);
    assert_eq!(model["gen_ai.provider.name"], "openai");
    assert_eq!(model["gen_ai.usage.input_tokens"], "7");
    assert_eq!(model["gen_ai.usage.output_tokens"], "3");
    assert!(!model.contains_key("gen_ai.input.messages"));
    let verifier = named("invoke_agent verifier");
    let checks = verifier.events.iter().filter(|it| it.name == "gen_ai.evaluation.result");
    assert!(checks.count() >= 2);
    // Whose it is, and nothing of what it was about.
    let came = to.at("/v1/traces");
    assert_eq!(came[0].headers["x-tenant"], "green roofs");
    let told = ExportTraceServiceRequest::decode(&*came[0].body).unwrap();
    let who = words(&told.resource_spans[0].resource.as_ref().unwrap().attributes);
    assert_eq!(who["service.name"], "ibid");
    assert_eq!(who["deployment.environment"], "test");
    // What left the machine is in the run's book.
    let book = desk.ibid(&["show", "last", "--egress"]);
    assert_eq!(book.code, 0, "{}", book.err);
    assert!(book.out.contains("127.0.0.1"), "{}", book.out);
    assert!(!to.words().contains("retain"), "the question left the machine");
    // The same run told again is the same trace.
    assert_eq!(spans[0].trace_id.len(), 16);
}

#[tokio::test]
async fn with_content_prompts_and_answers_stand_in_their_spans() {
    let desk = TestHome::new();
    let to = Collector::start(StatusCode::OK).await;
    let model = model().await;
    let env = [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &*format!("{}/own/place", to.url)),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
        ("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"),
        ("OPENAI_BASE_URL", &model.url),
        ("OPENAI_API_KEY", "k-1"),
    ];
    let it = ask(&desk, &["--model", "openai:small"], &env).await;
    assert_eq!(it.code, 0, "{}", it.err);
    let came = to.at("/own/place");
    let told = ExportTraceServiceRequest::decode(&*came[0].body).unwrap();
    let spans = &told.resource_spans[0].scope_spans[0].spans;
    assert_eq!(words(&spans[0].attributes)["input.value"], ASKED);
    let chat = spans.iter().find(|it| it.name == "chat small").unwrap();
    let chat = words(&chat.attributes);
    assert!(chat["gen_ai.input.messages"].contains("\"role\":\"user\""));
    assert!(chat["gen_ai.output.messages"].contains("I cannot."));
    let search = spans.iter().find(|it| it.name == "retrieval local").unwrap();
    assert!(words(&search.attributes).contains_key("gen_ai.retrieval.top_k"));
}

#[tokio::test]
async fn a_collector_that_is_away_costs_a_warning_and_nothing_else() {
    let desk = TestHome::new();
    let refusing = Collector::start(StatusCode::INTERNAL_SERVER_ERROR).await;
    for (endpoint, why) in
        [("http://127.0.0.1:1", "could not be sent"), (refusing.url.as_str(), "status 500")]
    {
        let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)];
        let it = ask(&desk, &[], &env).await;
        assert_eq!(it.code, 0, "{}", it.err);
        assert!(it.err.contains("warning: traces") && it.err.contains(why), "{}", it.err);
    }
    for (name, value) in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_SAMPLER", "always_off")] {
        let before = refusing.at("/v1/traces").len();
        let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*refusing.url), (name, value)];
        let it = ask(&desk, &[], &env).await;
        assert_eq!((it.code, it.err.contains("warning: traces")), (0, false), "{}", it.err);
        assert_eq!(refusing.at("/v1/traces").len(), before);
    }
    let grpc = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    ];
    let it = ask(&desk, &[], &grpc).await;
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.err.contains("`grpc` is not supported"), "{}", it.err);
}

#[tokio::test]
async fn langfuse_and_phoenix_are_known_by_their_keys() {
    let desk = TestHome::new();
    let to = Collector::start(StatusCode::OK).await;
    let env = [
        ("LANGFUSE_PUBLIC_KEY", "pk-1"),
        ("LANGFUSE_SECRET_KEY", "sk-2"),
        ("LANGFUSE_HOST", &*to.url),
    ];
    assert_eq!(ask(&desk, &[], &env).await.code, 0);
    let came = to.at("/api/public/otel/v1/traces");
    assert_eq!(came[0].headers["authorization"], "Basic cGstMTpzay0y");
    assert_eq!(came[0].headers["x-langfuse-ingestion-version"], "4");
    let env = [("PHOENIX_COLLECTOR_ENDPOINT", &*to.url), ("PHOENIX_API_KEY", "ph-3")];
    assert_eq!(ask(&desk, &[], &env).await.code, 0);
    assert_eq!(to.at("/v1/traces")[0].headers["authorization"], "Bearer ph-3");
}

#[tokio::test]
async fn a_server_goes_on_with_the_trace_of_its_caller_and_tells_its_counts() {
    let desk = TestHome::new();
    let to = Collector::start(StatusCode::OK).await;
    let served = Served::start(
        &desk,
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", &to.url), ("OTEL_METRIC_EXPORT_INTERVAL", "200")],
    );
    let request = served
        .client
        .post(format!("{}/v1/runs?wait=50", served.at))
        .header("content-type", "application/json")
        .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .body(json!({"question": ASKED}).to_string());
    assert_eq!(served.send(request).await.status, 200);
    let counted = async {
        loop {
            let last = to.at("/v1/metrics").pop();
            if let Some(told) =
                last.map(|it| ExportMetricsServiceRequest::decode(&*it.body).unwrap())
            {
                let all = &told.resource_metrics[0].scope_metrics[0].metrics;
                let runs = all.iter().find(|it| it.name == "ibid_runs");
                // It is not told before there is a run to count.
                if let Some(Data::Sum(sum)) = runs.and_then(|it| it.data.as_ref())
                    && !sum.data_points.is_empty()
                {
                    return told;
                }
            }
            to.more.notified().await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(30), counted).await.unwrap();
    let spans = to.spans();
    hangs_together(&spans);
    assert_eq!(hex::encode(&spans[0].trace_id), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex::encode(&spans[0].parent_span_id), "b7ad6b7169203331");
    // What is counted there is what `/metrics` says.
    let all = &told.resource_metrics[0].scope_metrics[0].metrics;
    let time = all.iter().find(|it| it.name == "ibid_run_duration_seconds").unwrap();
    let Some(Data::Histogram(time)) = &time.data else {
        panic!("no histogram");
    };
    let point = &time.data_points[0];
    assert_eq!((time.data_points.len(), point.count), (1, 1));
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), 1);
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    let page = served.get("/metrics").await.body;
    assert!(
        page.contains("ibid_search_duration_seconds_bucket") && page.contains("ibid_claims_total")
    );
}
