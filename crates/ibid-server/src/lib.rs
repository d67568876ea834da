//! The HTTP server ([`http`]), its web viewer ([`view`]) and the MCP server ([`mcp`]).
//!
//! [`http::HttpServer::bind`] and [`mcp::McpServer`] are the entry points. All of them go through [`request_service`],
//! which enforces what a caller may see and do. Nothing here decides how research is done; the command line is in
//! `ibid-cli`.
pub mod dates;
pub mod folder;
pub mod health;
pub mod http;
pub mod mcp;
pub mod request;
pub mod request_service;
mod schedules;
pub mod tool;
pub mod view;
