//! A model server over HTTP, in OpenAI's form, that takes its time and keeps books.
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::model::answer;
use crate::Fault;

/// The shortest and longest time until an answer, milliseconds; which of them depends on the prompt alone.
const LATENCY_MS: (u64, u64) = (150, 650);

/// A request for an answer.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// What was asked, comparable with the journal: see [`super::super::ports::model_key`].
    pub(super) key: String,
    pub(super) at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct ModelBooks {
    pub(super) asked: Vec<Asked>,
    /// Requests being answered.
    in_flight: usize,
    pub(super) most_in_flight: usize,
    /// How many are in flight from each moment on.
    levels: Vec<(Instant, usize)>,
}

impl ModelBooks {
    fn change(&mut self, by: isize) {
        self.in_flight = self.in_flight.saturating_add_signed(by);
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        self.levels.push((Instant::now(), self.in_flight));
    }

    /// How many were in flight on average while the middle three fifths of the requests came.
    pub(super) fn mean_in_flight(&self) -> f64 {
        let at = |fifths: usize| self.asked.get(self.asked.len() * fifths / 5).map(|it| it.at);
        let (Some(from), Some(to)) = (at(1), at(4)) else {
            return 0.0;
        };
        let spans = self.levels.windows(2).filter(|pair| pair[0].0 >= from && pair[1].0 <= to);
        let (mut used, mut total) = (0.0, 0.0);
        for pair in spans {
            let seconds = (pair[1].0 - pair[0].0).as_secs_f64();
            used += seconds * pair[0].1 as f64;
            total += seconds;
        }
        used / total
    }
}

pub(super) struct ModelServer {
    books: Mutex<ModelBooks>,
    pub(super) port: u16,
}

impl ModelServer {
    /// Serves from threads of this program, for as long as it lives.
    pub(super) fn serve() -> Result<Arc<ModelServer>, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let server = Arc::new(ModelServer { books: Mutex::default(), port });
        let served = Arc::clone(&server);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let server = Arc::clone(&served);
                std::thread::spawn(move || server.serve_connection(socket));
            }
        });
        Ok(server)
    }

    pub(super) fn books(&self) -> MutexGuard<'_, ModelBooks> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the requests of a connection; `None` when it ends.
    fn serve_connection(&self, mut socket: TcpStream) -> Option<()> {
        let mut received = Vec::new();
        loop {
            let body = read_body(&mut socket, &mut received)?;
            let request: Value = serde_json::from_slice(&body).ok()?;
            let (kind, text) = self.reply(&request);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                text.len()
            );
            socket.write_all(head.as_bytes()).ok()?;
            socket.write_all(text.as_bytes()).ok()?;
        }
    }

    fn reply(&self, request: &Value) -> (&'static str, String) {
        let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let user = messages.iter().filter(|it| it["role"] != "system");
        let texts: Vec<&str> = user.filter_map(|it| it["content"].as_str()).collect();
        let schema = &request["response_format"]["json_schema"]["name"];
        let purpose = schema.as_str().unwrap_or_default();
        let key = texts.join("\n");
        let span = LATENCY_MS.1 - LATENCY_MS.0;
        let latency = Duration::from_millis(LATENCY_MS.0 + hash(&key) % span);
        {
            let mut books = self.books();
            books.change(1);
            books.asked.push(Asked { key: key.clone(), at: Instant::now() });
        }
        std::thread::sleep(latency);
        self.books().change(-1);
        let content = answer(purpose, &key).to_string();
        let usage = json!({"prompt_tokens": key.len() / 4, "completion_tokens": content.len() / 4,
            "total_tokens": key.len() / 4 + content.len() / 4});
        if request["stream"] == true {
            let delta = json!({"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": "stop"}]});
            let last = json!({"choices": [], "usage": usage});
            return (
                "text/event-stream",
                format!("data: {delta}\n\ndata: {last}\n\ndata: [DONE]\n\n"),
            );
        }
        let message = json!({"role": "assistant", "content": content});
        let body = json!({"id": "c", "object": "chat.completion", "model": "m-1", "usage": usage,
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}]});
        ("application/json", body.to_string())
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The body of the next request; what follows it stays in `received`.
fn read_body(socket: &mut TcpStream, received: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut buffer = [0; 16_384];
    let mut body_range = None;
    loop {
        if body_range.is_none()
            && let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(&received[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
            let length: usize = length.trim().parse().ok()?;
            body_range = Some(end + 4..end + 4 + length);
        }
        if let Some(range) = &body_range
            && received.len() >= range.end
        {
            let body = received[range.clone()].to_vec();
            received.drain(..range.end);
            return Some(body);
        }
        match socket.read(&mut buffer).ok()? {
            0 => return None,
            read => received.extend_from_slice(&buffer[..read]),
        }
    }
}
