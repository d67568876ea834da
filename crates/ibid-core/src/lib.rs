//! What every other crate of Ibid shares: the domain types, the events of a run, and the traits for external
//! services.
//!
//! Read [`domain`] first (question, plan, page, evidence, report), then [`record`] (the events of a run), then
//! [`ports`] (the traits that search engines, readers, models and stores implement). Nothing here searches, calls a
//! model or opens a connection; the other crates do.
pub mod domain;
mod error;
mod failure;
pub mod fair_semaphore;
pub mod files;
pub mod ports;
pub mod record;
pub mod retry;
pub mod system;

pub use error::{Error, ErrorKind, Result};
pub use failure::{FailureReason, ReadFailure};
