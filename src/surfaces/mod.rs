//! What people and programs see. Surfaces know only [`crate::app::App`], events and reports.
pub mod cli;
pub mod export;
