//! Research as tools for other agents: the Model Context Protocol over stdio and streamable HTTP.
//!
//! A run is independent of the call that started it. Hosts cut calls off after about 30 seconds, so each tool answers within 25 seconds
//! with the current state while the run continues.
mod arguments;
mod calls;
mod elicitation;
mod handler;
pub mod hosts;
mod output;
mod page_part;
mod protocol;
mod recent_hits;
mod resources;
mod search;
mod server;
mod tools;

pub use server::McpServer;
