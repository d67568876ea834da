//! Gathering evidence, by a strategy. Each strategy fills the same notes and passes the same gate.
mod checklist;

use crate::domain::{Brief, Plan, Question};
use crate::error::Result;
use crate::seams::{Log, World};

use super::aid::Aid;
use super::gathered::Gathered;
use super::unaided::score::Scale;

/// Gathers by the checklist, the one strategy so far. Gives the scale that weighed, too: it knows
/// the words met.
pub(crate) async fn gather(
    world: &World,
    log: &Log,
    aid: &mut Aid<'_>,
    question: &Question,
    brief: &Brief,
    plan: Plan,
) -> Result<(Gathered, Scale)> {
    checklist::gather(world, log, aid, question, brief, plan).await
}
