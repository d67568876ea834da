//! Down a checklist, level by level (rows B4 to B7, E5, E11): every item that is not done gets its queries, all searched at
//! once; what a level leaves open comes back at the next in broader words.
//!
//! Row E5 takes one item a level. Its items do not depend on each other, so a level takes each of them once, side by side: the same
//! queries, one after the other, would take as many times as long as there are items.
use crate::domain::{ItemStatus, StopReason};
use crate::error::Result;
use crate::research::aid::Aid;
use crate::research::unaided::queries;

use super::Gathering;

/// Level after level; why it ended.
pub(super) async fn gather(it: &mut Gathering<'_>, aid: &mut Aid<'_>) -> Result<StopReason> {
    let (plan, breadth) = (&it.gathered.notes.plan, it.pace.breadth);
    let mut next = queries::first_round(
        &it.places,
        it.question,
        it.brief,
        plan,
        breadth,
        &mut it.asked,
    )?;
    next.retain(|query| it.status(query.item) != ItemStatus::Done);
    loop {
        if let Some(reason) = it.hurried(aid).await? {
            return Ok(reason);
        }
        let round = it.round(aid, next, None).await?;
        if let Some(reason) = it.enough(round.new) {
            return Ok(reason);
        }
        if round.cut || it.spent() {
            return Ok(it.out_of_calls());
        }
        next = it.for_what_is_open(aid).await?;
        if next.is_empty() {
            return Ok(StopReason::NoNewEvidence);
        }
    }
}
