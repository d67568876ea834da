//! The checklist of what a complete answer must say (rows B3, D2, E4).
use crate::domain::{Brief, Plan};
use crate::error::Result;

use super::unaided;

/// The plan for `brief`.
pub(crate) fn break_down(brief: &Brief) -> Result<Plan> {
    unaided::plan::break_down(brief)
}
