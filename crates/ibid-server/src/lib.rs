//! The HTTP server ([`http`]), the web viewer ([`view`]) and the MCP server ([`mcp`]).
//!
//! All requests go through [`request_service`], which enforces access. The command line is in `ibid-cli`.
pub mod dates;
pub mod folder;
pub mod health;
pub mod http;
pub mod mcp;
pub mod request;
pub mod request_service;
pub mod tool;
pub mod view;
