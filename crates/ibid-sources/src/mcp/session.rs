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

use super::child::ChildServer;
use super::config::{McpEndpoint, McpSourceConfig};
use super::http_transport::HttpTransport;
use super::tool_choice::{McpTool, ToolChoice, choose};
use ibid_core::ports::Egress;
use ibid_core::{Error, ErrorKind, FailureReason, Result};
use ibid_net::service::{ServiceAccess, ServiceClient};

/// Time to start a server and to list its tools. Programs that are installed on first use are slow.
pub(super) const CONNECT: Duration = Duration::from_secs(30);
/// Time for a call.
pub(super) const CALL: Duration = Duration::from_secs(30);
/// Maximum size of what a server sends for one call, in bytes.
pub(super) const ANSWER_BYTES: usize = 4 << 20;
/// Maximum number of tools that are looked at, and of pages of the list.
const MAX_TOOLS: usize = 500;
const MAX_TOOL_PAGES: usize = 10;

/// The content of an answer.
#[derive(Debug, Default)]
pub(super) struct ToolAnswer {
    /// The structured content, if the server sent any.
    pub(super) structured: Option<Value>,
    /// The texts, joined by newlines.
    pub(super) text: String,
}

/// An open connection. Closed, and its program killed, when dropped.
pub(super) struct McpSession {
    engine: String,
    service: RunningService<RoleClient, ()>,
    child: Option<ChildServer>,
    room: Arc<AtomicUsize>,
    egress: Egress,
    host: String,
    pub(super) tools: ToolChoice,
    /// How many tools the server has, as far as they were looked at.
    pub(super) tool_count: usize,
}

impl McpSession {
    /// Starts or reaches the server, and chooses its tools.
    ///
    /// # Errors
    /// `Setup` if it cannot be started or has no tool to call, `Transient` if it does not answer.
    pub(super) async fn open(config: &McpSourceConfig, egress: &Egress) -> Result<McpSession> {
        let engine = config.engine_name();
        let room = Arc::new(AtomicUsize::new(ANSWER_BYTES));
        let mut child = None;
        let late = |_| timed_out(&engine, "starting", CONNECT);
        let opened = match &config.endpoint {
            McpEndpoint::Command { program, args, env } => {
                let (started, output, input) =
                    ChildServer::start(program, args, env, Arc::clone(&room))?;
                child = Some(started);
                let transport = AsyncRwTransport::<RoleClient, _, _>::new(output, input)
                    .with_max_line_length(ANSWER_BYTES);
                timeout(CONNECT, ().serve(transport)).await
            }
            McpEndpoint::Url { url, token } => {
                let access = ServiceAccess::bearer(url, token.as_deref());
                let client = ServiceClient::open(&engine, access)?
                    .with_egress(egress.clone())
                    .with_limits(CALL, ANSWER_BYTES)
                    .without_retries();
                timeout(CONNECT, ().serve(HttpTransport::new(client))).await
            }
        };
        let opened = opened.map_err(late).and_then(|opened| {
            opened.map_err(|cause| {
                Error::new(ErrorKind::Transient, format!("connecting to {engine}"))
                    .with_source(bounded(plain_cause(&cause.to_string())))
            })
        });
        let service = opened.map_err(|fault| with_last_words(fault, child.as_ref()))?;
        let tools = timeout(CONNECT, list_tools(&service, &room)).await.map_err(late)?;
        let tools = tools.map_err(|cause| call_error(&engine, "listing its tools", &cause))?;
        let host = match &config.endpoint {
            McpEndpoint::Command { .. } => engine.clone(),
            // Counted by the HTTP client.
            McpEndpoint::Url { .. } => String::new(),
        };
        let (tool_count, tools) = (tools.len(), choose(config, &tools)?);
        let egress = egress.clone();
        Ok(McpSession { engine, service, child, room, egress, host, tools, tool_count })
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
                let fault = call_error(&self.engine, &format!("calling `{}`", tool.name), &cause);
                with_last_words(fault, self.child.as_ref().filter(|_| !self.is_open()))
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
        let text = texts.collect::<Vec<_>>().join("\n");
        if result.is_error == Some(true) {
            return Err(refused(&self.engine, &tool.name, &bounded(&text)));
        }
        Ok(ToolAnswer { structured: result.structured_content, text })
    }
}

/// The words of a cause without those that the protocol library puts around an error of our transport.
fn plain_cause(cause: &str) -> &str {
    let inner = cause.split_once("] error: ").map_or(cause, |parts| parts.1);
    inner.split_once(", when ").map_or(inner, |parts| parts.0)
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

fn call_error(engine: &str, doing: &str, cause: &ServiceError) -> Error {
    let kind = match cause {
        ServiceError::McpError(_) | ServiceError::UnexpectedResponse => ErrorKind::Malformed,
        _ => ErrorKind::Transient,
    };
    let why = match cause {
        ServiceError::TransportClosed => {
            format!("the server ended, or sent more than {ANSWER_BYTES} bytes")
        }
        other => bounded(&other.to_string()),
    };
    Error::new(kind, format!("{engine}: {doing}")).with_source(why)
}

/// Adds the last line of stderr as a hint, which only the operator sees.
fn with_last_words(fault: Error, child: Option<&ChildServer>) -> Error {
    match child.and_then(ChildServer::last_words) {
        Some(line) => fault.with_hint(format!("see what it wrote last: {line}")),
        None => fault,
    }
}

/// A message of a stranger, on one line.
fn bounded(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}
