//! The HTTP server: Ibid's own API, OpenAI's two APIs, the web viewer and MCP. An accepted run continues when its client disconnects.
//!
//! `router` lists the routes. `auth` authenticates each request, `runs`, `artifacts` and `events` are the API, `viewer/` the pages,
//! `openai/` the APIs of OpenAI, `api_error` the form of every error.
mod access_policy;
mod api_error;
mod artifacts;
mod auth;
mod auth_throttle;
mod bodies;
mod connection_limits;
mod deadline;
mod events;
mod extract;
mod listen;
mod metrics;
mod metrics_routes;
mod open_requests;
mod openai;
mod openapi;
mod paths;
mod request_log;
mod router;
mod run_end;
mod runs;
mod schedules;
mod server;
mod sessions;
mod share;
mod state;
mod system_routes;
mod traces;
mod values;
mod viewer;
mod webhooks;

pub use api_error::ApiError;
pub use server::HttpServer;
