//! What gathering hands to writing and checking.
use std::collections::BTreeMap;

use crate::domain::{CoverageRow, GateVerdict, Notes, Page, PageHash, StopReason, Usage};

/// What gathering leaves behind for writing.
pub(crate) struct Gathered {
    pub(crate) notes: Notes,
    /// Every page that was read, by its hash.
    pub(crate) pages: BTreeMap<PageHash, Page>,
    pub(crate) coverage: Vec<CoverageRow>,
    pub(crate) gate: GateVerdict,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
    pub(crate) waves: u32,
    pub(crate) engines: Vec<String>,
    pub(crate) queries: Vec<String>,
    /// Pages that could not be read, with the reason.
    pub(crate) failed: Vec<(String, String)>,
}
