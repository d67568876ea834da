//! Deep research whose every quote is checked against the page.
//!
//! One question in, one cited report out. Read in this order: [`domain`] (the nouns), [`record`]
//! (what happened), [`seams`] (the doors to the world), [`research`] (the method), [`adapters`]
//! (what stands behind the doors), [`config`] (the settings), [`app`] (where they meet) and
//! [`surfaces`] (what people see).

pub mod domain;
mod error;

pub mod record;
pub mod seams;

pub mod research;

pub mod adapters;
pub mod config;

pub mod app;
pub mod surfaces;

pub use error::{Error, Kind, Result};
