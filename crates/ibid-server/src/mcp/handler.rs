//! The protocol's requests, each passed on to the server's methods.
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};

use super::protocol::McpResult;
use super::resources;
use super::server::McpServer;

/// What a model reads about the server before its first call.
const INSTRUCTIONS: &str = "Research in which every citation is an exact quote at a known place in a stored page. \
deep_research and agentic_search wait a little; when they return a run_id and status in_progress, call research_wait \
until it is completed. A run continues after you disconnect.";

impl ServerHandler for McpServer {
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
    ) -> McpResult<ListToolsResult> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<CallToolResponse> {
        let service = self.caller_service(&context)?;
        self.call(&service, request, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<GetTaskResult> {
        self.task(&self.caller_service(&context)?, &request.task_id).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        self.stop_task(&self.caller_service(&context)?, &request.task_id).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> McpResult<ListResourcesResult> {
        self.resources(&self.caller_service(&context)?).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> McpResult<ListResourceTemplatesResult> {
        resources::resource_templates()
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<ReadResourceResponse> {
        let service = self.caller_service(&context)?;
        let found = self.resource(&service, &request.uri).await?;
        Ok(found.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> McpResult<ListPromptsResult> {
        resources::prompts()
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> McpResult<GetPromptResponse> {
        resources::prompt(&request).map(GetPromptResponse::from)
    }
}
