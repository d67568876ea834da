//! The result of gathering, for writing and checking.
use ibid_core::domain::{CoverageRow, EvidenceStore, GateVerdict, StopReason, Strategy, Usage};

use super::outline::Outline;
use super::page_set::PageSet;

/// What gathering has found so far.
pub(crate) struct ResearchState {
    pub(crate) notes: EvidenceStore,
    /// Every page read, and the failures.
    pub(crate) pages: PageSet,
    pub(crate) coverage: Vec<CoverageRow>,
    pub(crate) outline: Outline,
    pub(crate) gate: GateVerdict,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
    pub(crate) rounds: u32,
    /// The strategy used.
    pub(crate) strategy: Strategy,
    pub(crate) engines: Vec<String>,
    pub(crate) queries: Vec<String>,
}
