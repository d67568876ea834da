//! Sources of evidence: search engines and databases ([`search`]) and readers of pages ([`reader`]).
//!
//! Each engine is one file that builds a request and reads an answer; `ibid-net` sends them, `ibid-extract` turns what a page holds into
//! text. Local documents are not here but in `ibid-index`.
pub mod reader;
pub mod search;
