//! The queue of runs that several servers share, on Temporal: one workflow for each run, which gives it to a server until it has ended.
//!
//! Only ids of runs pass through Temporal. What a run has done is in the store, and the store decides which server may write.
#![cfg(feature = "temporal")]
// The macros of Temporal's SDK make items that nobody can name.
#![allow(unreachable_pub, missing_docs)]

mod client;
mod queue;
mod thread;
mod worker;
mod workflow;

pub use client::TemporalSettings;
pub use queue::TemporalQueue;
