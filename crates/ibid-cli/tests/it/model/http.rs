//! The adapter over HTTP, against a server on this machine that says what it is told to.
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ibid_core::ports::{LanguageModel, Prompt};
use ibid_core::{Error, ErrorKind};
use ibid_llm::{HttpModel, ModelTarget};
use ibid_net::http::Timeouts;
use ibid_net::service_error::ServiceError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What the server does with one request.
pub(crate) enum Act {
    /// Says this and closes.
    Say(String),
    /// Says this and keeps silent.
    Hang(String),
}

pub(crate) struct Server {
    pub(crate) url: String,
    /// The requests that came, whole.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
}

async fn serve(act: Act) -> Server {
    serve_in_turn(vec![act]).await
}

/// A server that does one after the other, and the last again and again.
pub(crate) async fn serve_in_turn(acts: Vec<Act>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = heard.clone();
    tokio::spawn(async move {
        for nth in 0.. {
            let act = acts.get(nth).or(acts.last()).unwrap();
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !is_whole(&request) {
                let read = socket.read(&mut buffer).await.unwrap_or(0);
                if read == 0 {
                    break;
                }
                request.extend_from_slice(&buffer[..read]);
            }
            kept.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
            let (Act::Say(text) | Act::Hang(text)) = act;
            let _sent = socket.write_all(text.as_bytes()).await;
            let _sent = socket.flush().await;
            if let Act::Hang(_) = act {
                std::future::pending::<()>().await;
            }
        }
    });
    Server { url, heard }
}

/// The bytes of one request; `None` where the caller goes away before its end.
pub(crate) async fn read_request(socket: &mut tokio::net::TcpStream) -> Option<Vec<u8>> {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while !is_whole(&request) {
        match tokio::io::AsyncReadExt::read(socket, &mut buffer).await {
            Ok(n @ 1..) => request.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
    Some(request)
}

pub(crate) fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|it| {
        let (name, value) = it.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

/// A stream without a length: it lasts until the connection is closed.
pub(super) fn stream(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

const KEY: &str = "sk-very-secret-0123456789";

fn model(url: &str) -> HttpModel {
    let url = format!("{url}/v1");
    let target = ModelTarget::resolve("openai/m-1", &|name| match name {
        "OPENAI_BASE_URL" => Some(url.clone()),
        "OPENAI_API_KEY" => Some(format!(" {KEY}\n")),
        _ => None,
    });
    let deadlines = Timeouts {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_millis(700),
        idle: Duration::from_millis(300),
        total: Duration::from_secs(60),
    };
    HttpModel::open(target.unwrap(), deadlines).unwrap()
}

fn prompt() -> Prompt {
    Prompt::from_text("test", "What is moss? (a private word: zanzibar)")
}

async fn streamed(model: &HttpModel) -> (ibid_core::Result<ibid_core::ports::Completion>, String) {
    let mut told = String::new();
    let answer = model.complete(&prompt(), Some(&mut |it| told.push_str(it))).await;
    (answer, told)
}

fn fault(error: &Error) -> &ServiceError {
    ServiceError::find_in(error).unwrap()
}

#[tokio::test]
async fn a_whole_answer_comes_back_and_the_key_goes_out() {
    let body = r#"{"object":"chat.completion","choices":[{"message":{"content":"Green."},"finish_reason":"stop"}]}"#;
    let server = serve(Act::Say(answer("200 OK", "", body))).await;
    let model = model(&server.url);
    assert_eq!(model.name(), "openai/m-1");
    assert_eq!(model.complete(&prompt(), None).await.unwrap().text, "Green.");
    let heard = server.heard.lock().unwrap().join("");
    assert!(heard.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains(&format!("authorization: Bearer {KEY}\r\n")), "{heard}");
    assert!(heard.contains("zanzibar"));
    assert!(!format!("{model:?}").contains(KEY));
}

#[tokio::test]
async fn a_stream_is_told_while_it_comes() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Gre\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"en.<\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = serve(Act::Say(stream(body))).await;
    let (answer, told) = streamed(&model(&server.url)).await;
    assert_eq!(answer.unwrap().text, "Green.<");
    assert_eq!(told, "Green.<");
}

#[tokio::test]
async fn a_stream_that_is_cut_is_no_answer() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Gre\"}}]}\n\n";
    let cut = format!("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{body}");
    for act in [stream(body), cut] {
        let server = serve(Act::Say(act)).await;
        let (answer, told) = streamed(&model(&server.url)).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient);
        assert!(error.chain().contains("cut off"), "{error:?}");
        assert!(!fault(&error).unsent, "it may be billed");
        assert_eq!(told, "Gre");
    }
}

#[tokio::test]
async fn a_limit_says_how_long_to_wait() {
    let body = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
    let server =
        serve(Act::Say(answer("429 Too Many Requests", "Retry-After: 17\r\n", body))).await;
    let error = model(&server.url).complete(&prompt(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert_eq!(fault(&error).status, Some(429));
    assert_eq!(fault(&error).retry_after, Some(Duration::from_secs(17)));
    assert_eq!(
        error.chain(),
        "asking m-1 at openai: status 429: rate_limit_exceeded: Rate limit reached"
    );
}

#[tokio::test]
async fn a_wrong_key_names_the_variable_and_never_the_key() {
    let body = format!(
        "{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\",\"code\":\"invalid_api_key\"}}}}"
    );
    let server = serve(Act::Say(answer("401 Unauthorized", "", &body))).await;
    let error = model(&server.url).complete(&prompt(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert_eq!(error.hint(), Some("check the key in OPENAI_API_KEY"));
    let told = format!("{error:?} {:?}", fault(&error));
    assert!(!told.contains(KEY) && !told.contains("zanzibar"), "{told}");
}

#[tokio::test]
async fn silence_and_a_late_first_byte_have_a_deadline() {
    let begun = Instant::now();
    let head = stream("data: {\"choices\":[{\"delta\":{\"content\":\"Gre\"}}]}\n\n");
    let silent = serve(Act::Hang(head)).await;
    let error = streamed(&model(&silent.url)).await.0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(error.chain().contains("timed out before its end"), "{error:?}");
    for head in [String::new(), stream("")] {
        let late = serve(Act::Hang(head)).await;
        let error = streamed(&model(&late.url)).await.0.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient);
        assert!(error.chain().contains("did not start in time"), "{error:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_redirect_is_refused() {
    let moved = answer("302 Found", "location: http://127.0.0.1:9/else\r\n", "");
    let server = serve(Act::Say(moved)).await;
    let error = model(&server.url).complete(&prompt(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert_eq!(error.hint(), Some("set OPENAI_BASE_URL to the server's own URL"));
    assert_eq!(server.heard.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_transient_error_with_a_hint() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = model(&url).complete(&prompt(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(fault(&error).unsent, "what never arrived is not billed");
    assert!(error.hint().unwrap().starts_with("start the server at "), "{error:?}");
}

#[test]
#[ignore = "needs certificates"]
fn an_encrypted_address_opens_where_the_machine_has_certificates() {
    let target = ModelTarget::resolve("openai/m-1", &|name| {
        (name == "OPENAI_API_KEY").then(|| KEY.to_owned())
    });
    let target = target.unwrap();
    assert!(target.base_url.starts_with("https://"));
    HttpModel::open(target, Timeouts::default()).expect("this machine has no certificates");
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_taken_in() {
    let line = format!("data: {{\"x\":\"{}\"}}\n\n", "y".repeat(1 << 20));
    let server = serve(Act::Say(stream(&line.repeat(34)))).await;
    let error = streamed(&model(&server.url)).await.0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.chain().contains("larger than"), "{error:?}");
}

#[tokio::test]
async fn a_key_that_a_stream_says_in_pieces_is_told_nowhere() {
    let base64 = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(format!("Bearer {KEY}"))
    };
    let hex: String = KEY.bytes().map(|it| format!("{it:02X}")).collect();
    let percent: String = KEY.bytes().map(|it| format!("%{it:02x}")).collect();
    for way in [KEY.to_owned(), base64, hex, percent] {
        let letters: Vec<char> = format!("Moss is green. {way} is wrong.").chars().collect();
        let body: String = letters
            .chunks(3)
            .map(|it| {
                let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": String::from_iter(it)}}]});
                format!("data: {delta}\n\n")
            })
            .collect();
        let body = format!(
            "{body}data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
        );
        let server = serve(Act::Say(stream(&body))).await;
        let (answer, told) = streamed(&model(&server.url)).await;
        let text = answer.unwrap().text;
        assert_eq!(told, text);
        assert!(text.starts_with("Moss is green. ") && text.ends_with(" is wrong."), "{text}");
        assert!(text.contains("[key]") && !text.contains(&way), "{text}");
        // And where the stream breaks off with a fault that quotes it.
        let fault = serde_json::json!({"error": {"message": format!("{way} was refused"), "type": "server_error"}});
        let server = serve(Act::Say(stream(&format!("data: {fault}\n\n")))).await;
        let (answer, _) = streamed(&model(&server.url)).await;
        let said = answer.unwrap_err().chain();
        assert!(said.contains("[key]"), "{said}");
        assert!(!said.contains(&way), "{said}");
    }
}
