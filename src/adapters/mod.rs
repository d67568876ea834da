//! What stands behind the doors.
pub mod documents;
pub mod folder;
pub mod journal;
pub mod meaning;
pub mod model;
pub mod pace;
pub mod plans;
pub mod ranker;
pub mod reader;
pub mod recording;
pub mod search;
pub mod service;
pub mod steering;
pub mod store;
pub mod system;
pub mod telemetry;
mod veil;
pub mod web;
