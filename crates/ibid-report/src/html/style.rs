//! The stylesheet.

/// The stylesheet of every page.
pub const STYLE: &str = include_str!("style.css");
