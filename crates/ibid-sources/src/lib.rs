//! Sources of evidence: search engines and databases ([`search`]), readers of pages ([`reader`]) and MCP servers ([`mcp`]).
//!
//! Each engine is one file that builds a request and reads an answer; `ibid-net` sends them, `ibid-extract` turns what a page holds into
//! text. Local documents are not here but in `ibid-index`.
pub mod mcp;
pub mod reader;
pub mod search;
