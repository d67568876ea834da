//! One connection to an MCP server: opened, its tools listed once, its calls bounded.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ContentBlock, PaginatedRequestParams, ResourceContents,
};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::answer::{ToolAnswer, visible};
use super::child::ChildServer;
use super::config::{McpEndpoint, McpSourceConfig};
use super::http_transport::HttpTransport;
use super::tool_choice::{McpTool, ToolChoice, choose};
use ibid_core::ports::Egress;
use ibid_core::{Error, ErrorKind, FailureReason, Result};
use ibid_net::redact::SecretRedactor;
use ibid_net::service::{ServiceAccess, ServiceClient};

/// Time to start a server and to list its tools. Programs that are installed on first use are slow.
pub(super) const CONNECT: Duration = Duration::from_secs(30);
/// Time for a call.
pub(super) const CALL: Duration = Duration::from_secs(30);
/// Maximum size of what a server sends for one call, in bytes.
pub(super) const ANSWER_BYTES: usize = 4 << 20;
/// Maximum length of a message of a server in an error, in characters.
const ERROR_CHARS: usize = 300;
/// Maximum number of tools that are looked at, and of pages of the list.
const MAX_TOOLS: usize = 500;
const MAX_TOOL_PAGES: usize = 10;

/// An open connection. Closed, and its program killed, when dropped.
pub(super) struct McpSession {
    engine: String,
    service: RunningService<RoleClient, ()>,
    child: Option<ChildServer>,
    room: Arc<AtomicUsize>,
    egress: Egress,
    host: String,
    /// Knows the values of the variables that the program got.
    secrets: SecretRedactor,
    pub(super) tools: ToolChoice,
    /// How many tools the server has, as far as they were looked at.
    pub(super) tool_count: usize,
}

impl McpSession {
    /// Starts or reaches the server, and chooses its tools. A failure has what a program last wrote to stderr as its hint if
    /// `for_operator`: nobody else may see it.
    ///
    /// # Errors
    /// `Setup` if it cannot be started or has no tool to call, `Transient` if it does not answer.
    pub(super) async fn open(
        config: &McpSourceConfig,
        egress: &Egress,
        for_operator: bool,
    ) -> Result<McpSession> {
        let mut child = None;
        let opened = timeout(CONNECT, McpSession::connect(config, egress, &mut child)).await;
        let late = |_| timed_out(&config.engine_name(), "starting", CONNECT);
        let failed = |fault| match child.as_ref().and_then(ChildServer::last_words) {
            Some(line) if for_operator => {
                Error::with_hint(fault, format!("see what it wrote last: {line}"))
            }
            _ => fault,
        };
        let mut session = opened.map_err(late).flatten().map_err(failed)?;
        session.child = child;
        Ok(session)
    }

    async fn connect(
        config: &McpSourceConfig,
        egress: &Egress,
        child: &mut Option<ChildServer>,
    ) -> Result<McpSession> {
        let engine = config.engine_name();
        let room = Arc::new(AtomicUsize::new(ANSWER_BYTES));
        let mut secrets = SecretRedactor::default();
        let opened = match &config.endpoint {
            McpEndpoint::Command { program, args, env } => {
                let (started, output, input) =
                    ChildServer::start(program, args, env, Arc::clone(&room))?;
                *child = Some(started);
                env.iter().for_each(|variable| secrets.add_secret(&variable.1));
                let transport = AsyncRwTransport::<RoleClient, _, _>::new(output, input)
                    .with_max_line_length(ANSWER_BYTES);
                ().serve(transport).await
            }
            McpEndpoint::Url { url, token } => {
                let access = ServiceAccess::bearer(url, token.as_deref());
                let client = ServiceClient::open(&engine, access)?
                    .with_egress(egress.clone())
                    .with_limits(CALL, ANSWER_BYTES)
                    .without_retries();
                ().serve(HttpTransport::new(client)).await
            }
        };
        let service = opened.map_err(|cause| {
            let why = plain_cause(&secrets.redact_text(&cause.to_string()));
            Error::new(ErrorKind::Transient, format!("connecting to {engine}")).with_source(why)
        })?;
        let tools = list_tools(&service, &room).await;
        let tools =
            tools.map_err(|cause| call_error(&engine, "listing its tools", &cause, &secrets))?;
        let host = match &config.endpoint {
            McpEndpoint::Command { .. } => engine.clone(),
            // Counted by the HTTP client.
            McpEndpoint::Url { .. } => String::new(),
        };
        let (tool_count, tools) = (tools.len(), choose(config, &tools)?);
        let egress = egress.clone();
        let child = None;
        Ok(McpSession { engine, service, child, room, egress, host, secrets, tools, tool_count })
    }

    /// The same value without the secrets in its texts.
    fn without_secrets(&self, value: Value) -> Value {
        match serde_json::from_str(&self.secrets.redact_text(&value.to_string())) {
            Ok(redacted) => redacted,
            Err(_) => Value::Null,
        }
    }

    /// Whether the server can still be called.
    pub(super) fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Calls a tool with one text.
    ///
    /// # Errors
    /// `Transient` if the server is late or has died, `Malformed` if it refuses or answers with something else.
    pub(super) async fn call(&self, tool: &McpTool, value: &str) -> Result<ToolAnswer> {
        let arguments: Map<String, Value> =
            [(tool.arg.to_owned(), value.into())].into_iter().collect();
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        self.room.store(ANSWER_BYTES, Ordering::Relaxed);
        if !self.host.is_empty() {
            self.egress.record_sent(&self.host, value.len());
        }
        let answer = timeout(CALL, self.service.call_tool_once(params))
            .await
            .map_err(|_| timed_out(&self.engine, &format!("calling `{}`", tool.name), CALL))?
            .map_err(|cause| {
                call_error(&self.engine, &format!("calling `{}`", tool.name), &cause, &self.secrets)
            })?;
        let received = ANSWER_BYTES.saturating_sub(self.room.load(Ordering::Relaxed));
        if !self.host.is_empty() {
            self.egress.record_received(&self.host, received);
        }
        let CallToolResponse::Complete(result) = answer else {
            return Err(refused(&self.engine, &tool.name, "it asks for input"));
        };
        let texts = result.content.iter().filter_map(|block| match block {
            ContentBlock::Text(it) => Some(it.text.as_str()),
            ContentBlock::Resource(it) => match &it.resource {
                ResourceContents::TextResourceContents { text, .. } => Some(text.as_str()),
                _ => None,
            },
            _ => None,
        });
        let text = self.secrets.redact_text(&texts.collect::<Vec<_>>().join("\n"));
        if result.is_error == Some(true) {
            return Err(refused(&self.engine, &tool.name, &bounded(&text)));
        }
        let structured = result.structured_content.map(|it| self.without_secrets(it));
        Ok(ToolAnswer { structured, text })
    }
}

/// The words of a cause, on one line, without those that the protocol library puts around an error of our transport.
fn plain_cause(cause: &str) -> String {
    let inner = cause.split_once("] error: ").map_or(cause, |parts| parts.1);
    bounded(inner.split_once(", when ").map_or(inner, |parts| parts.0))
}

/// The tools of a server, at most [`MAX_TOOLS`].
async fn list_tools(
    service: &RunningService<RoleClient, ()>,
    room: &AtomicUsize,
) -> std::result::Result<Vec<rmcp::model::Tool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_TOOL_PAGES {
        room.store(ANSWER_BYTES, Ordering::Relaxed);
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = service.list_tools(Some(params)).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= MAX_TOOLS {
            break;
        }
    }
    tools.truncate(MAX_TOOLS);
    Ok(tools)
}

fn timed_out(engine: &str, doing: &str, limit: Duration) -> Error {
    Error::new(ErrorKind::Transient, format!("{engine}: {doing}"))
        .with_source(format!("no answer in {} s", limit.as_secs()))
        .with_reason(FailureReason::Timeout)
}

fn refused(engine: &str, tool: &str, why: &str) -> Error {
    Error::new(ErrorKind::Malformed, format!("{engine}: calling `{tool}`"))
        .with_source(why.to_owned())
}

fn call_error(engine: &str, doing: &str, cause: &ServiceError, secrets: &SecretRedactor) -> Error {
    let kind = match cause {
        ServiceError::McpError(_) | ServiceError::UnexpectedResponse => ErrorKind::Malformed,
        _ => ErrorKind::Transient,
    };
    let why = match cause {
        ServiceError::TransportClosed => {
            format!("the server ended, or sent more than {ANSWER_BYTES} bytes")
        }
        other => plain_cause(&secrets.redact_text(&other.to_string())),
    };
    Error::new(kind, format!("{engine}: {doing}")).with_source(why)
}

/// A message of a stranger, on one line.
fn bounded(text: &str) -> String {
    visible(text).take(ERROR_CHARS).collect()
}
