//! The server: its state, its transports and the tools it offers.
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::Tool;
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::elicitation::PendingElicitations;
use super::protocol::McpResult;
use super::recent_hits::RecentHits;
use super::tools::TOOLS;
use crate::request_service::{Caller, CallerService, RequestService};
use ibid_core::{Error, ErrorKind, Result};

/// The MCP server.
#[derive(Clone)]
pub struct McpServer {
    /// The service of the person who started the program, over stdio; `None` over HTTP, where each request has its caller.
    local: Option<CallerService>,
    /// Whether the tool `agentic_search` is offered.
    agentic_search: bool,
    /// Recent hits of `search`, for `fetch`.
    pub(super) recent_hits: Arc<RecentHits>,
    /// Clarifying questions that were sent to a user.
    pub(super) elicitations: Arc<PendingElicitations>,
}

impl McpServer {
    /// The server for the person who started the program.
    pub fn local(requests: Arc<RequestService>) -> McpServer {
        let service = requests.for_caller(Caller::operator());
        McpServer {
            agentic_search: service.offers_agentic_search(),
            local: Some(service),
            recent_hits: Arc::default(),
            elicitations: Arc::default(),
        }
    }

    /// Serves over stdin and stdout until stdin ends.
    ///
    /// # Errors
    /// `Malformed` if the client does not speak the protocol.
    pub async fn stdio(self) -> Result<()> {
        let broken = || Error::new(ErrorKind::Malformed, "speaking MCP over stdin and stdout");
        let running = self
            .serve(rmcp::transport::stdio())
            .await
            .map_err(|error| broken().with_source(error))?;
        running.waiting().await.map_err(|error| broken().with_source(error))?;
        Ok(())
    }

    /// The server as a service below a route. The authentication layer puts the caller into each request. Bodies above
    /// `max_body_bytes` are refused.
    pub fn http(
        agentic_search: bool,
        max_body_bytes: usize,
    ) -> StreamableHttpService<McpServer, NeverSessionManager> {
        let server = McpServer {
            local: None,
            agentic_search,
            recent_hits: Arc::default(),
            elicitations: Arc::default(),
        };
        // Hosts, origins and tokens were checked by the HTTP layers before.
        let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        config.legacy_session_mode = false;
        config.max_request_body_bytes = max_body_bytes;
        StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config)
    }

    /// The offered tools.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let offered = |tool: &&Tool| self.agentic_search || tool.name != "agentic_search";
        TOOLS.iter().filter(offered).cloned().collect()
    }

    /// Whether this server serves one local user over stdio.
    pub(super) fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// The service of the caller of this request.
    pub(super) fn caller_service(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> McpResult<CallerService> {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let from_http = || parts.and_then(|parts| parts.extensions.get::<CallerService>());
        let traceparent = context.meta.get("traceparent").and_then(|value| value.as_str());
        let service = self.local.as_ref().or_else(from_http).cloned();
        service
            .map(|service| service.with_trace(traceparent))
            .ok_or_else(|| ErrorData::invalid_request("the request has no caller", None))
    }
}
