//! The journal of a run: each call is written down before it is sent, and its answer before it is used.
//!
//! A resumed run executes the same code over the same journal: calls with an answer read it back, the others are sent. An
//! answer is always used as read back from its JSON, also the first time, so that an interrupted run and an uninterrupted
//! one see the same bytes.
mod answer;
mod journaled;
mod prior_sources;
mod provider_id;
mod replay_log;
mod run_journal;

pub use journaled::{JournaledModel, JournaledRanker, JournaledReader, JournaledSearch};
pub use prior_sources::prior_sources_in;
pub use provider_id::is_reader_call;
pub(crate) use provider_id::{has_matching_key, manifest_key};
pub use replay_log::{ReplayCounts, ReplayLog};
pub use run_journal::Journal;
