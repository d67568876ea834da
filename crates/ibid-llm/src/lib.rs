//! Language models: six dialects, a table of providers, and an HTTP client. [`stack::open`] is the entry point.
//!
//! [`dialect`] builds requests and parses responses without I/O; [`providers`] lists each provider's dialect, address
//! and key; [`http`] sends requests. Errors are classified in [`ibid_net::service_error`]. [`stack`] puts the
//! wrappers around a model: [`retry`], [`throttle`] and [`metered`] around each, [`failover`] around all, and the
//! [`cost_budget`] that pays.
//!
//! There are no prompts here, and nothing reads what a model answers: both are in `ibid-research`.
pub mod adaptive;
mod anthropic;
mod builder;
pub mod cached_model;
pub mod capabilities;
mod cohere;
pub mod cost_budget;
pub mod dialect;
mod dialect_reader;
pub mod embeddings;
pub mod failover;
mod frames;
mod gemini;
pub mod http;
pub mod metered;
pub mod model_list;
mod ollama;
mod openai_chat;
mod openai_responses;
pub mod prices;
pub mod providers;
pub mod request;
pub mod retry;
#[cfg(test)]
mod scripted;
mod sink_once;
pub mod sse;
pub mod stack;
mod think;
pub mod throttle;
mod token_estimate;

pub use adaptive::{AdaptiveModel, LearnedModel, LearnedModels};
pub use capabilities::{ModelCapabilities, ModelTable, Parameter, Reasoning, SchemaMode};
pub use cost_budget::{BudgetCaps, CallCost, CostBudget, ModelSpend, Reservation};
pub use dialect::{CompletionStream, Dialect};
pub use failover::{FailoverChoice, FailoverModel};
pub use http::HttpModel;
pub use metered::MeteredModel;
pub use prices::Price;
pub use providers::{ModelProvider, ModelTarget, PROVIDERS};
pub use request::{LimitField, ModelRequest, ModelSettings};
pub use retry::{MODEL_RETRY, RetryModel};
pub use stack::{ModelContext, ModelSpec};
pub use throttle::{ConcurrencyLimiter, ConcurrencyLimiters, ConcurrencyLimits, ThrottledModel};
