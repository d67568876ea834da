//! Gathering evidence, by a strategy. Each strategy fills the same notes and passes the same gate.
mod checklist;

use std::collections::BTreeMap;

use crate::domain::{
    Brief, CoverageRow, GateVerdict, Notes, Page, PageHash, Plan, Question, StopReason, Usage,
};
use crate::error::Result;
use crate::seams::{Log, World};

use super::unaided::score::Scale;

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

/// Gathers by the checklist, the one strategy so far. Gives the scale that weighed, too: it knows
/// the words met.
pub(crate) async fn gather(
    world: &World,
    log: &Log,
    question: &Question,
    brief: &Brief,
    plan: Plan,
) -> Result<(Gathered, Scale)> {
    checklist::gather(world, log, question, brief, plan).await
}
