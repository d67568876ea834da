//! OpenAI's Responses and Chat Completions APIs over the same runs. A run continues when the call that started it ends.
pub(super) mod chat;
mod citations;
pub(super) mod models;
mod request;
mod response_fold;
pub(super) mod responses;
pub(super) mod webhook;
