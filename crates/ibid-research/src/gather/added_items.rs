//! Items that the user adds during a run. They are gathered once the plan is.
use crate::heuristic::plan;
use crate::heuristic::queries::QueryBuilder;
use crate::llm_session::LlmSession;
use crate::weigh;
use ibid_core::Result;
use ibid_core::domain::{SourceId, Variation};
use ibid_core::record::{Event, LogSource, Phase};

use super::research_loop::ResearchLoop;

/// The variations searched for an added item.
const WANTED: [Variation; 3] = [Variation::Original, Variation::Narrower, Variation::Broader];

impl ResearchLoop<'_> {
    /// Takes the added items one by one and gathers for each: first from the pages already read, then in a
    /// round of searches if the budget has room.
    pub(crate) async fn gather_added_items(&mut self, llm: &mut LlmSession<'_>) -> Result<()> {
        for nth in 1.. {
            let Some(words) = self.ctx.providers.steering.extra_question(nth).await? else {
                return Ok(());
            };
            self.ctx.log.set_phase(Phase::Research, Some(self.state.rounds));
            self.ctx.log.emit(Event::PlanChanged { words: words.clone() });
            self.targets.policy().permit_words(&words);
            let known = &self.state.notes.plan;
            let item = plan::part_item(self.ctx.brief, &words, known.items().len());
            let Some(wider) = known.with_item(item.clone()) else {
                self.ctx.log.emit(Event::Log {
                    level: "warn".to_owned(),
                    message: format!(
                        "the plan has {} items already, so nothing was added to it",
                        known.items().len()
                    ),
                    source: Some(LogSource::Program),
                });
                continue;
            };
            self.state.notes.plan = wider;
            self.ctx.log.emit(Event::PlanProposed { plan: self.state.notes.plan.clone() });
            self.scorer.add_item(self.ctx.brief, &item);
            self.emit_initial_statuses();
            let state = &mut self.state;
            let read: Vec<SourceId> = state.notes.sources.iter().map(|source| source.id).collect();
            let again = weigh::WeighContext {
                log: self.ctx.log,
                question: self.ctx.question,
                brief: self.ctx.brief,
                fresh: &read,
                round: state.rounds,
                chunks: None,
                ranker: Some(self.ctx.providers.ranker.as_ref()),
            };
            let (scorer, notes) = (&mut self.scorer, &mut state.notes);
            let found = weigh::find_evidence(llm, &again, scorer, notes, &state.pages).await?;
            for it in found.into_iter().filter(|it| it.items.contains(&item.id)) {
                let mut known = state.notes.evidence.iter_mut();
                match known.find(|known| known.passage == it.passage) {
                    Some(known) if known.items.contains(&item.id) => {}
                    // What answers the added item best belongs to it from now on.
                    Some(known) if it.items.first() == Some(&item.id) => {
                        known.items.insert(0, item.id);
                        known.score = known.score.max(it.score);
                    }
                    Some(known) => known.items.push(item.id),
                    None => weigh::add_evidence(self.ctx.log, None, &mut state.notes, it),
                }
            }
            if self.is_spent() {
                self.stop_out_of_calls();
                continue;
            }
            let mut queries = QueryBuilder {
                targets: &self.targets,
                question: self.ctx.question,
                sent_queries: &mut self.sent_queries,
            };
            let next = queries.variations(self.ctx.brief, &item, &WANTED, 0)?;
            self.run_round(llm, next, None).await?;
        }
        Ok(())
    }
}
