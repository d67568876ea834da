//! What people and programs see. Surfaces know only [`crate::app::App`], events and reports.
pub mod asked;
pub mod cli;
pub mod desk;
pub mod export;
mod folder;
pub mod health;
pub mod http;
pub mod mcp;
pub mod tool;
pub mod view;
mod when;
