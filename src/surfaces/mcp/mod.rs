//! The same runs as tools for other agents: Model Context Protocol, over stdio and streamable HTTP.
//!
//! A run is never tied to a call: hosts cut calls off after half a minute or so, so each tool answers within 25 seconds
//! with what there is, and the run goes on.
mod asking;
mod calls;
mod finding;
pub mod hosts;
mod library;
mod said;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::error::{Error, Kind, Result};
use crate::surfaces::desk::{Caller, CallerService, Desk};

use asking::Open;
use finding::Known;

/// What a model reads of the server before it calls anything.
const INSTRUCTIONS: &str = "Research whose every citation is an exact quote at a known place in a stored page. \
deep_research and agentic_search wait a little; when they answer with a run_id and status in_progress, call research_wait \
until it is completed. A run goes on when you go away.";

/// The tools over a desk.
#[derive(Clone)]
pub struct Mcp {
    /// What whoever started the program can do, where no token says who asks: over stdio.
    local: Option<CallerService>,
    /// Whether the tool `agentic_search` is offered.
    agentic_search: bool,
    /// What `search` has found lately, for `fetch`, oldest first.
    found: Arc<Mutex<VecDeque<Known>>>,
    /// Runs whose questions back have been put to somebody.
    open: Arc<Open>,
}

impl Mcp {
    /// The tools for whoever started the program.
    pub fn local(desk: Arc<Desk>) -> Mcp {
        let service = desk.for_caller(Caller::operator());
        Mcp {
            agentic_search: service.offers_agentic_search(),
            local: Some(service),
            found: Arc::default(),
            open: Arc::default(),
        }
    }

    /// The tools over stdin and stdout, until stdin ends.
    ///
    /// # Errors
    /// `Malformed` where the other end does not speak the protocol.
    pub async fn stdio(self) -> Result<()> {
        let broken = || Error::new(Kind::Malformed, "speaking MCP over stdin and stdout");
        let running = self
            .serve(rmcp::transport::stdio())
            .await
            .map_err(|it| broken().because(it))?;
        running.waiting().await.map_err(|it| broken().because(it))?;
        Ok(())
    }

    /// The tools as a service below a route. Whose they are is told by the caller that the gate has put into each request.
    pub fn http(
        agentic_search: bool,
        most: usize,
    ) -> StreamableHttpService<Mcp, NeverSessionManager> {
        let tools = Mcp {
            local: None,
            agentic_search,
            found: Arc::default(),
            open: Arc::default(),
        };
        // Hosts, origins and tokens have been judged before a request comes here.
        let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        config.legacy_session_mode = false;
        config.max_request_body_bytes = most;
        StreamableHttpService::new(move || Ok(tools.clone()), Arc::default(), config)
    }

    /// The tools that are offered.
    fn tools(&self) -> Vec<Tool> {
        let all = include_str!("tools.json");
        let mut all: Vec<Tool> = serde_json::from_str(all).unwrap_or_default();
        all.retain(|it| self.agentic_search || it.name != "agentic_search");
        all
    }

    /// What whoever asks can do.
    fn service(&self, context: &RequestContext<RoleServer>) -> Answer<CallerService> {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let sent = || parts.and_then(|it| it.extensions.get::<CallerService>());
        let within = context.meta.get("traceparent").and_then(|it| it.as_str());
        let service = self.local.as_ref().or_else(sent).cloned();
        service
            .map(|it| it.traced(within))
            .ok_or_else(|| ErrorData::invalid_request("nobody is known to ask", None))
    }
}

/// What a handler answers.
type Answer<T> = std::result::Result<T, ErrorData>;

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ibid", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListToolsResult> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|it| it.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let service = self.service(&context)?;
        self.call(&service, request, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<GetTaskResult> {
        self.task(&self.service(&context)?, &request.task_id).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<()> {
        self.stop_task(&self.service(&context)?, &request.task_id)
            .await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer<ListResourcesResult> {
        self.resources(&self.service(&context)?).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourceTemplatesResult> {
        library::templates()
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<ReadResourceResponse> {
        let service = self.service(&context)?;
        let found = self.resource(&service, &request.uri).await?;
        Ok(found.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListPromptsResult> {
        library::prompts()
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<GetPromptResponse> {
        library::prompt(&request).map(GetPromptResponse::from)
    }
}

/// A fault of ours as the protocol tells it.
fn fault(it: &Error) -> ErrorData {
    match it.kind() {
        Kind::Usage => ErrorData::invalid_params(it.told(), None),
        Kind::NotFound => ErrorData::resource_not_found("there is no such thing here", None),
        _ => ErrorData::internal_error("the server cannot do this just now", None),
    }
}

/// A whole result of the protocol: hosts of revision 2026-07-28 want to hear that it is one, and the SDK leaves that out for others.
fn complete<T: serde::de::DeserializeOwned>(mut value: serde_json::Value) -> Answer<T> {
    value["resultType"] = "complete".into();
    made(value)
}

/// A value of the protocol, written as JSON: its types have no other way to be made.
fn made<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Answer<T> {
    serde_json::from_value(value).map_err(|it| ErrorData::internal_error(it.to_string(), None))
}
