//! The method: brief, plan, then search, read and weigh until covered, then write, then check.
//!
//! Data flows down this file and never back up.
pub mod attribution;
