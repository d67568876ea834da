//! MCP over streamable HTTP, sent by the client that serves all configured services: its TLS, timeouts and size limits hold.
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;

use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Maximum number of messages that wait to be taken.
const QUEUE: usize = 64;

/// Sends each message as a POST, and hands on the messages in its answer: one as JSON, or some as an event stream.
pub(super) struct HttpTransport {
    client: Arc<ServiceClient>,
    session: Arc<Mutex<SessionHeaders>>,
    sender: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    receiver: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

/// What the server's first answer sets for later requests.
#[derive(Default, Clone)]
struct SessionHeaders {
    id: Option<String>,
    protocol: Option<String>,
}

impl HttpTransport {
    /// Sends to the base address of `client`.
    pub(super) fn new(client: ServiceClient) -> HttpTransport {
        let (sender, receiver) = mpsc::channel(QUEUE);
        HttpTransport { client: Arc::new(client), session: Arc::default(), sender, receiver }
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (client, session) = (Arc::clone(&self.client), Arc::clone(&self.session));
        let sender = self.sender.clone();
        async move {
            let body = serde_json::to_value(&item)?;
            let set = session.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let mut request = ServiceRequest::post("", body);
            let text = "application/json, text/event-stream";
            request.headers.push(("accept", text.to_owned()));
            request.headers.extend(set.id.map(|id| ("mcp-session-id", id)));
            request.headers.extend(set.protocol.map(|text| ("mcp-protocol-version", text)));
            let read = |status: u16, headers: &ResponseHeaders, body: &[u8]| {
                let messages = read_messages(status, headers, body)?;
                Ok((headers.get("mcp-session-id").map(str::to_owned), messages))
            };
            let (id, messages) = client
                .request(&request, read)
                .await
                .map_err(|fault| io::Error::other(fault.chain()))?;
            {
                let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
                let protocol =
                    messages.iter().find_map(|it| it["result"]["protocolVersion"].as_str());
                session.protocol = protocol.map(str::to_owned).or(session.protocol.take());
                session.id = id.or(session.id.take());
            }
            for message in messages {
                // What is no message of MCP is ignored; the call then ends at its deadline.
                if let Ok(message) = serde_json::from_value(message)
                    && sender.try_send(message).is_err()
                {
                    return Err(io::Error::other("too many messages in one answer"));
                }
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.receiver.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.receiver.close();
        Ok(())
    }
}

/// The messages in an answer.
fn read_messages(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> Result<Vec<Value>, ServiceError> {
    match status {
        200..=299 => {}
        401 | 403 => {
            return Err(ServiceError::setup(format!("HTTP {status}: it wants another token")));
        }
        429 | 500..=599 => return Err(ServiceError::transient(format!("HTTP {status}"))),
        _ => return Err(ServiceError::malformed(format!("HTTP {status}"))),
    }
    if body.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let not_json = |_| ServiceError::malformed("the answer is not JSON");
    if headers.get("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
        let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
        let event = |event: &str| {
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let data: Vec<&str> = data.map(|it| it.strip_prefix(' ').unwrap_or(it)).collect();
            data.join("\n")
        };
        let events = text.split("\n\n").map(event).filter(|data| !data.trim().is_empty());
        return events.map(|data| serde_json::from_str(&data).map_err(not_json)).collect();
    }
    match serde_json::from_slice(body).map_err(not_json)? {
        Value::Array(messages) => Ok(messages),
        message => Ok(vec![message]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_json_or_an_event_stream() {
        let kind = |kind: &str| ResponseHeaders(vec![("content-type".to_owned(), kind.to_owned())]);
        let json = read_messages(200, &kind("application/json"), br#"{"id":1}"#).unwrap();
        assert_eq!(json[0]["id"], 1);
        let body =
            b"event: message\r\ndata: {\"id\":\r\ndata: 2}\r\n\r\n: ping\n\ndata:{\"id\":3}\n\n";
        let events = read_messages(200, &kind("text/event-stream"), body).unwrap();
        assert_eq!((&events[0]["id"], &events[1]["id"]), (&2.into(), &3.into()));
        assert!(read_messages(202, &kind("application/json"), b"").unwrap().is_empty());
        assert!(read_messages(401, &kind("application/json"), b"").is_err());
        assert!(read_messages(200, &kind("text/html"), b"<html>").is_err());
    }
}
