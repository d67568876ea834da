//! Stores runs: the stores on SQLite and PostgreSQL ([`store`]), the journal by which a killed run resumes without
//! paying for a call twice ([`journal`]), recordings of whole runs ([`recording`]), and the steering of a run by commands
//! and deadlines ([`steering`]).
//!
//! The traits are those of `ibid_core::ports`. The crate `ibid` decides which store a program opens.
pub mod journal;
pub mod recording;
pub mod steering;
pub mod store;
