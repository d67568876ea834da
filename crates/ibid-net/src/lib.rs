//! HTTP to configured servers ([`service`]) and to the open web ([`web`], behind an SSRF guard).
//!
//! This crate handles keys, rate limits, timeouts, retries and the record of outgoing traffic. The content of
//! requests and responses is up to the crates above: search engines in `ibid-sources`, language models in `ibid-llm`.
mod html_tags;
pub mod http;
pub mod json;
pub mod rate_limit;
pub mod redact;
pub mod retry_after;
pub mod secret;
pub mod service;
pub mod service_error;
mod tls;
pub mod web;
