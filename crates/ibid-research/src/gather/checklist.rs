//! The checklist strategy works level by level. Every item that is not done gets its queries, all sent
//! together; an item still open is searched for in broader words at the next level.
//!
//! Items do not depend on each other, so a level takes all of them side by side. One item per level would
//! send the same queries but take as many times longer as there are items.
use crate::heuristic::queries::QueryBuilder;
use crate::llm_session::LlmSession;
use ibid_core::Result;
use ibid_core::domain::{ItemStatus, StopReason};

use super::research_loop::ResearchLoop;

/// Gathers level by level. Returns why it ended.
pub(super) async fn gather(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
) -> Result<StopReason> {
    let (plan, breadth) = (&research.state.notes.plan, research.limits.breadth);
    let mut queries = QueryBuilder {
        targets: &research.targets,
        question: research.ctx.question,
        sent_queries: &mut research.sent_queries,
    };
    let mut next = queries.first_round(research.ctx.brief, plan, breadth)?;
    next.retain(|query| research.status(query.item) != ItemStatus::Done);
    loop {
        if let Some(reason) = research.check_stop(llm).await? {
            return Ok(reason);
        }
        let round = research.run_round(llm, next, None).await?;
        if let Some(reason) = research.stop_reason(round.new) {
            return Ok(reason);
        }
        if round.cut || research.is_spent() {
            return Ok(research.stop_out_of_calls());
        }
        next = research.gap_queries(llm).await?;
        if next.is_empty() {
            return Ok(StopReason::NoNewEvidence);
        }
    }
}
