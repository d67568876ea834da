//! Clarifying questions to the user of a host, with the SDK's own client: by a request over the connection, by the result of the call,
//! and in words where the host shows no forms. And hosts that wait for less time than a run takes.
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ibid::app::queue::QueueLimits;
use ibid::config::ProcessEnv;
use ibid_core::domain::ModelRole;
use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink};
use ibid_server::mcp::McpServer;
use ibid_server::request::ServedResources;
use ibid_server::request_service::RequestService;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, ProtocolVersion, Request,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, PeerRequestOptions, RequestContext, RoleClient,
    RunningService, ServiceError, ServiceExt as _,
};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::deadlines::app;
use crate::thought::{Scripted, well};

const OPEN: &str = "Which cork is meant: bottle stoppers or floors?";
const SAID: &str = "The bottle stoppers, please.";

/// A model that wants to know which cork is meant until somebody has said it, and takes its time.
struct Unsure {
    says: Arc<Scripted>,
    takes: Duration,
}

impl Unsure {
    fn taking(takes: Duration) -> Arc<Unsure> {
        let says = Scripted::new(|step, words| {
            let mut said = well(step, words);
            if step == "refine" && !words.contains(SAID) {
                said["clarify"] = json!([OPEN]);
            }
            Ok(said.to_string())
        });
        Arc::new(Unsure { says, takes })
    }
}

#[async_trait]
impl LanguageModel for Unsure {
    fn name(&self) -> &str {
        self.says.name()
    }

    async fn complete(
        &self,
        prompt: &Prompt,
        sink: Option<TextSink<'_>>,
    ) -> ibid_core::Result<Completion> {
        tokio::time::sleep(self.takes).await;
        self.says.complete(prompt, sink).await
    }
}

/// Who sits before a host that shows forms, or one that shows none.
#[derive(Clone)]
struct Person {
    forms: bool,
    does: ElicitationAction,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Person {
    fn who(does: ElicitationAction) -> Person {
        Person { forms: true, does, asked: Arc::default() }
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let forms = match self.forms {
            true => json!({"elicitation": {"form": {}}}),
            false => json!({}),
        };
        let can: ClientCapabilities = serde_json::from_value(forms).unwrap();
        ClientConfig::new(can, Implementation::new("host", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.lock().unwrap().push(json!(request));
        let said = ElicitResult::new(self.does.clone());
        Ok(match self.does {
            ElicitationAction::Accept => said.with_content(json!({"answer_1": SAID})),
            _ => said,
        })
    }
}

/// A host that is connected, and the tools behind it.
struct Connected {
    host: RunningService<RoleClient, Person>,
    _dir: tempfile::TempDir,
    // Owned: the work ends with the test.
    _tools: JoinSet<()>,
}

async fn connected(person: Person, new: bool, takes: Duration) -> Connected {
    let dir = tempfile::tempdir().unwrap();
    let app = Arc::new(app(dir.path(), &Unsure::taking(takes), &ModelRole::ALL, 1));
    let home = dir.path().to_string_lossy().into_owned();
    let surroundings =
        ProcessEnv { cwd: dir.path().to_owned(), env: [("HOME".to_owned(), home)].into() };
    let served = ServedResources { folders: vec![dir.path().to_owned()], models: Vec::new() };
    let (desk, operator, _) = RequestService::open(app, surroundings, served, None).await.unwrap();
    operator.queue().set_limits(QueueLimits {
        working: 4,
        waiting: 10,
        waiting_each: 10,
        parked_each: 10,
        patience: Duration::from_secs(60),
    });
    let desk = Arc::new(desk);
    let mut tools = JoinSet::new();
    tools.spawn(Arc::clone(operator.queue()).run());
    let (here, there) = tokio::io::duplex(1 << 20);
    tools.spawn(async move {
        let running = McpServer::local(desk).serve(there).await.unwrap();
        running.waiting().await.unwrap();
    });
    let lifecycle = match new {
        true => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        false => ClientLifecycleMode::Initialize,
    };
    let host = person.serve_with_lifecycle(here, lifecycle).await.unwrap();
    Connected { host, _dir: dir, _tools: tools }
}

fn params(name: &'static str, arguments: Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().unwrap().clone();
    CallToolRequestParams::new(name).with_arguments(arguments)
}

async fn call(it: &Connected, name: &'static str, arguments: Value) -> Value {
    let said = it.host.call_tool(params(name, arguments)).await.unwrap();
    let said = json!(said);
    assert_ne!(said["isError"], true, "{said}");
    said["structuredContent"].clone()
}

/// Waits until the run has ended: what it comes to.
async fn ended(it: &Connected, state: Value) -> Value {
    let mut state = state;
    for _ in 0..30 {
        if state["status"] != "in_progress" && state["status"] != "pending" {
            return state;
        }
        let id = state["run_id"].clone();
        state = call(it, "research_wait", json!({"run_id": id, "wait_s": 5})).await;
    }
    panic!("it never ended: {state}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_shows_forms_asks_the_person_and_the_run_goes_on_with_what_they_say() {
    for new in [false, true] {
        for tool in ["deep_research", "research"] {
            let person = Person::who(ElicitationAction::Accept);
            let asked = Arc::clone(&person.asked);
            let it = connected(person, new, Duration::ZERO).await;
            let state = call(&it, tool, json!({"question": "What is cork?"})).await;
            let state = ended(&it, state).await;
            assert_eq!(state["status"], "completed", "{new} {tool}: {state}");
            let asked = asked.lock().unwrap();
            assert_eq!(asked.len(), 1, "{new} {tool}: asked once");
            let fields = &asked[0]["requestedSchema"]["properties"];
            assert_eq!(fields["answer_1"]["title"], OPEN, "{asked:?}");
            assert_eq!(asked[0]["mode"], "form");
            let back = &state["asked_back"];
            assert_eq!(back["questions"][0]["answer"], SAID, "{state}");
            assert!(back["note"].is_null());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_declines_or_closes_the_form_gets_a_report_that_says_so() {
    for new in [false, true] {
        for does in [ElicitationAction::Decline, ElicitationAction::Cancel] {
            let person = Person::who(does);
            let asked = Arc::clone(&person.asked);
            let it = connected(person, new, Duration::ZERO).await;
            let state = call(&it, "deep_research", json!({"question": "What is cork?"})).await;
            let state = ended(&it, state).await;
            assert_eq!(state["status"], "completed", "{state}");
            assert_eq!(asked.lock().unwrap().len(), 1);
            let back = &state["asked_back"];
            assert!(back["questions"][0]["answer"].is_null(), "{state}");
            assert!(back["note"].as_str().unwrap().contains("no answer"));
            assert!(!state["summary"].as_str().unwrap().is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_forms_reads_the_questions_if_it_wants_them_and_answers_in_words() {
    let person = Person { forms: false, ..Person::who(ElicitationAction::Accept) };
    let asked = Arc::clone(&person.asked);
    let it = connected(person, false, Duration::ZERO).await;
    let state = call(&it, "deep_research", json!({"question": "What is cork?"})).await;
    let state = ended(&it, state).await;
    assert!(state["asked_back"].is_null(), "nobody wanted to be asked: {state}");
    let wanted = json!({"question": "What is cork?", "ask": true});
    let state = call(&it, "deep_research", wanted).await;
    assert_eq!(state["questions"], json!([OPEN]), "{state}");
    assert!(state["next"].as_str().unwrap().contains("answers"), "{state}");
    let id = state["run_id"].clone();
    let wrong = params("research_wait", json!({"run_id": id, "answers": "stoppers"}));
    assert_eq!(json!(it.host.call_tool(wrong).await.unwrap())["isError"], true);
    let state = call(&it, "research_wait", json!({"run_id": id, "answers": [SAID]})).await;
    let state = ended(&it, state).await;
    assert_eq!(state["asked_back"]["questions"][0]["answer"], SAID, "{state}");
    assert!(asked.lock().unwrap().is_empty());
    // And who shows forms may say that nobody is to be bothered.
    let person = Person::who(ElicitationAction::Accept);
    let asked = Arc::clone(&person.asked);
    let it = connected(person, true, Duration::ZERO).await;
    let quiet = json!({"question": "What is cork?", "ask": false});
    let state = call(&it, "deep_research", quiet).await;
    ended(&it, state).await;
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_many_times_the_hosts_limit_is_followed_to_its_end_and_survives_calls_cut_off() {
    // The host's limit is a fraction of the run, as 30 seconds are of ten minutes.
    let limit = Duration::from_millis(1_900);
    let person = Person::who(ElicitationAction::Accept);
    let it = connected(person, false, Duration::from_millis(900)).await;
    let began = Instant::now();
    let quiet = json!({"question": "What is cork?", "ask": false});
    let timed = async |name: &'static str, arguments: Value| {
        let request = ClientRequest::CallToolRequest(Request::new(params(name, arguments)));
        let options = PeerRequestOptions::with_timeout(limit);
        let handle = it.host.send_cancellable_request(request, options).await?;
        handle.await_response().await.map(|it| json!(it)["structuredContent"].clone())
    };
    let mut state = timed("research", quiet).await.unwrap();
    let id = state["run_id"].clone();
    // A call that waits for longer than the host does is cut off; the run is nobody's call.
    let cut = timed("research_wait", json!({"run_id": id, "wait_s": 20})).await;
    assert!(matches!(cut, Err(ServiceError::Timeout { .. })), "{cut:?}");
    while state["status"] != "completed" {
        state = timed("research_wait", json!({"run_id": id, "wait_s": 1})).await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(120), "{state}");
    }
    let took = began.elapsed();
    assert!(took > limit * 2, "the run took no longer than the limit: {took:?}");
    let text = timed("research_result", json!({"run_id": id})).await.unwrap();
    assert!(text["text"].as_str().unwrap().contains("Cork"), "{text}");
}
