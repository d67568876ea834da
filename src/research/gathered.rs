//! What gathering hands to writing and checking.
use crate::domain::{CoverageRow, GateVerdict, Notes, StopReason, Strategy, Usage};

use super::shelf::Shelf;

/// What gathering leaves behind for writing.
pub(crate) struct Gathered {
    pub(crate) notes: Notes,
    /// Every page that was read, and what could not be.
    pub(crate) shelf: Shelf,
    pub(crate) coverage: Vec<CoverageRow>,
    pub(crate) gate: GateVerdict,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
    pub(crate) waves: u32,
    /// How it was gathered.
    pub(crate) strategy: Strategy,
    pub(crate) engines: Vec<String>,
    pub(crate) queries: Vec<String>,
}
