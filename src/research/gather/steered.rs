//! What the person adds while a run goes on: one more item of the plan, gathered for once what was planned is gathered.
use crate::domain::{SourceId, Variation};
use crate::error::Result;
use crate::record::{Event, Phase};
use crate::research::aid::Aid;
use crate::research::unaided::{plan, queries};
use crate::research::weigh;

use super::Gathering;

/// How the added item is asked for: in its words, and by their subjects.
const WANTED: [Variation; 3] = [Variation::Original, Variation::Narrower, Variation::Broader];

impl Gathering<'_> {
    /// Hears what was added until there is nothing more, and gathers for each: first from what was read, then by a round of
    /// searches, as far as the budget has room.
    pub(crate) async fn steered(&mut self, aid: &mut Aid<'_>) -> Result<()> {
        for nth in 1.. {
            let Some(words) = self.world.steering.more(nth).await? else {
                return Ok(());
            };
            self.log.enter(Phase::Research, Some(self.gathered.waves));
            self.log.emit(Event::PlanChanged {
                words: words.clone(),
            });
            self.places.policy().said(&words);
            let known = &self.gathered.notes.plan;
            let item = plan::part_item(self.brief, &words, known.items().len());
            let Some(wider) = known.with(item.clone()) else {
                self.log.emit(Event::Log {
                    level: "warn".to_owned(),
                    message: format!(
                        "the plan has {} items already, so nothing was added to it",
                        known.items().len()
                    ),
                });
                continue;
            };
            self.gathered.notes.plan = wider;
            self.log.emit(Event::PlanProposed {
                plan: self.gathered.notes.plan.clone(),
            });
            self.scale.add(self.brief, &item);
            self.begin_items();
            let got = &mut self.gathered;
            let read: Vec<SourceId> = got.notes.sources.iter().map(|it| it.id).collect();
            let again = weigh::Round {
                question: self.question,
                brief: self.brief,
                fresh: &read,
                wave: got.waves,
                chunks: None,
            };
            let (scale, notes) = (&mut self.scale, &mut got.notes);
            let found = weigh::found(self.log, aid, &again, scale, notes, &got.shelf).await?;
            for it in found.into_iter().filter(|it| it.items.contains(&item.id)) {
                let mut known = got.notes.evidence.iter_mut();
                match known.find(|known| known.passage == it.passage) {
                    Some(known) if known.items.contains(&item.id) => {}
                    // What speaks to it before all else is its own from now on.
                    Some(known) if it.items.first() == Some(&item.id) => {
                        known.items.insert(0, item.id);
                        known.score = known.score.max(it.score);
                    }
                    Some(known) => known.items.push(item.id),
                    None => weigh::admit(self.log, None, &mut got.notes, it),
                }
            }
            if self.spent() {
                self.out_of_calls();
                continue;
            }
            let asked = &mut self.asked;
            let (places, question, brief) = (&self.places, self.question, self.brief);
            let next = queries::varied(places, question, brief, &item, &WANTED, asked)?;
            self.round(aid, next, None).await?;
        }
        Ok(())
    }
}
