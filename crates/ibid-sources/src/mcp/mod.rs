//! MCP servers as sources: their search tool finds documents, their fetch tool returns the text.
//!
//! An operator configures a server ([`McpSourceConfig`]); nobody else can name a command or an address. Its answers are
//! text of strangers: a document is cited as `mcp://NAME/ID`, whatever address the server states. Every answer is bounded
//! in size, and every call has a deadline.
mod answer;
mod child;
mod config;
mod http_transport;
mod session;
mod source;
mod tool_choice;

pub use config::{McpEndpoint, McpSourceConfig, source_name};
pub use source::McpSource;
