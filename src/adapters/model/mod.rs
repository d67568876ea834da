//! Language models: six dialects, a table of providers, and the adapter that speaks over HTTP.
//!
//! [`wire`] turns prompts into requests and bytes into completions and does no I/O; [`providers`] says who speaks which
//! dialect, where, and with which key; [`http`] sends. Faults are sorted in [`fault`]. What goes around a model stands in
//! [`stack`]: [`retried`], [`limited`] and [`metered`] for each, [`failover`] over all, and the [`purse`] that pays.
mod anthropic;
mod cohere;
mod draft;
pub mod embeddings;
pub mod failover;
pub mod fault;
mod frames;
mod gemini;
pub mod http;
pub mod limited;
pub mod metered;
mod ollama;
mod openai_chat;
mod openai_responses;
pub mod prices;
pub mod providers;
pub mod purse;
pub mod request;
pub mod retried;
pub mod retry_after;
#[cfg(test)]
mod scripted;
pub mod sse;
pub mod stack;
mod think;
pub mod wire;

pub use failover::{Choice, Failover};
pub use fault::ModelFault;
pub use http::{Deadlines, HttpModel};
pub use limited::{Limited, Limiter, Limiters, Limits};
pub use metered::Metered;
pub use prices::Price;
pub use providers::{PROVIDERS, Provider, Target};
pub use purse::{Caps, Charge, Purse, Reservation, Spent};
pub use request::{LimitField, ModelSettings, Outgoing, Schemas};
pub use retried::{Patience, Retried};
pub use retry_after::Headers;
pub use stack::{Chosen, Shared};
pub use wire::{Dialect, Stream};
