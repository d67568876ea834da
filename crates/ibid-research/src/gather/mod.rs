//! Gathers evidence by one of four strategies. They differ in what they search for and when, but share one
//! state, fill the same notes and pass the same gate, so that evidence does not depend on who found it.
mod added_items;
mod answer_form;
mod disputes;
mod limits;
mod names;
mod page_views;
mod prior_pages;
mod refinement;
mod research_loop;
mod round;
mod search_budget;
mod skeleton;

mod assignment;
mod checklist;
mod cited;
mod coverage;
mod dispatch;
mod planned;
mod prefetch;
mod researcher;
mod supervisor;
mod supervisor_notes;
mod supervisor_state;
mod turn;

pub(crate) use prefetch::prefetch;
pub(crate) use research_loop::ResearchLoop;

use crate::llm_session::LlmSession;
use ibid_core::Result;
use ibid_core::domain::{OutputMode, StopReason, Strategy};
use ibid_core::record::Event;

impl ResearchLoop<'_> {
    /// Gathers by the run's strategy until there is enough, nothing new, or no budget left.
    pub(crate) async fn gather_until_enough(&mut self, llm: &mut LlmSession<'_>) -> Result<()> {
        let strategy = self.state.strategy;
        let method = &self.ctx.question.method;
        let reason = match method.strategy {
            Some(_) => "as asked".to_owned(),
            None if self.ctx.question.mode == OutputMode::Evidence => {
                "evidence is asked for".to_owned()
            }
            None => {
                let effort = serde_json::to_value(method.effort).unwrap_or_default();
                let complexity =
                    serde_json::to_value(self.state.notes.plan.complexity).unwrap_or_default();
                let word =
                    |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
                format!("effort {}, a {} question", word(&effort), word(&complexity))
            }
        };
        self.ctx.log.emit(Event::StrategyChosen { strategy, reason });
        if self.is_known_enough() {
            self.state.stop = StopReason::CoverageReached;
            return Ok(());
        }
        self.emit_initial_statuses();
        self.state.stop = match strategy {
            Strategy::Checklist => checklist::gather(self, llm).await?,
            Strategy::Planned => planned::gather(self, llm).await?,
            Strategy::Supervisor => supervisor::gather(self, llm).await?,
            Strategy::Coverage => coverage::gather(self, llm).await?,
        };
        Ok(())
    }
}
