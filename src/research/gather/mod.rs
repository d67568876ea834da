//! Gathering evidence, by a strategy (row C1). The four differ in what they search for and when; they share one state, fill
//! the same notes and pass the same gate, so that evidence is the same whoever found it.
mod allowance;
mod content;
mod gathering;
mod names;
mod recall;
mod steered;

mod bullets;
mod checklist;
mod coverage;
mod planned;
mod researcher;
mod sent;
mod supervisor;

pub(crate) use gathering::Gathering;

use crate::domain::{Mode, StopReason, Strategy};
use crate::error::Result;
use crate::record::Event;
use crate::research::aid::Aid;

impl Gathering<'_> {
    /// Gathers by the run's strategy until there is enough, nothing new, or nothing left to spend.
    pub(crate) async fn until_enough(&mut self, aid: &mut Aid<'_>) -> Result<()> {
        let strategy = self.gathered.strategy;
        let method = &self.question.method;
        let reason = match method.strategy {
            Some(_) => "as asked".to_owned(),
            None if self.question.mode == Mode::Evidence => "evidence is asked for".to_owned(),
            None => {
                let effort = serde_json::to_value(method.effort).unwrap_or_default();
                let complexity =
                    serde_json::to_value(self.gathered.notes.plan.complexity).unwrap_or_default();
                let word = |it: &serde_json::Value| it.as_str().unwrap_or_default().to_owned();
                format!("effort {}, a {} question", word(&effort), word(&complexity))
            }
        };
        self.log.emit(Event::StrategyChosen { strategy, reason });
        if self.knows_enough() {
            self.gathered.stop = StopReason::CoverageReached;
            return Ok(());
        }
        self.begin_items();
        self.gathered.stop = match strategy {
            Strategy::Checklist => checklist::gather(self, aid).await?,
            Strategy::Planned => planned::gather(self, aid).await?,
            Strategy::Supervisor => supervisor::gather(self, aid).await?,
            Strategy::Coverage => coverage::gather(self, aid).await?,
        };
        Ok(())
    }
}
