//! What other programs and browsers reach: the HTTP server ([`http`]), its web viewer ([`view`]) and the MCP server ([`mcp`]).
//!
//! All of them ask through [`request_service`], which knows who is asking. The command line is in `ibid-cli`.
pub mod dates;
pub mod folder;
pub mod health;
pub mod http;
pub mod mcp;
pub mod request;
pub mod request_service;
pub mod tool;
pub mod view;
