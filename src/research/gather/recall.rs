//! What earlier runs of the thread have read, weighed against the new plan before anybody is asked (row C11).
use crate::domain::{Gate, Source, SourceId};
use crate::error::Result;
use crate::record::{Event, Phase};
use crate::research::aid::Aid;
use crate::research::weigh;

use super::{Gathering, names};

impl Gathering<'_> {
    /// Puts the known pages on the shelf, counts their sources, and weighs them; no search is made and no page asked for.
    pub(crate) async fn recall(&mut self, aid: &mut Aid<'_>) -> Result<()> {
        let known = &self.world.known;
        if known.is_empty() {
            return Ok(());
        }
        let (log, question, brief) = (self.log, self.question, self.brief);
        let got = &mut self.gathered;
        log.enter(Phase::Research, None);
        let mut fresh = Vec::new();
        for (source, page) in known {
            let id = SourceId::new(got.notes.sources.len() as u32 + 1);
            let source = Source {
                id,
                trust: None,
                copy_of: None,
                ..source.clone()
            };
            got.shelf.know(&source, page);
            got.notes.sources.push(source);
            fresh.push(id);
        }
        let round = weigh::Round {
            question,
            brief,
            fresh: &fresh,
            wave: 0,
            chunks: None,
        };
        let scale = &mut self.scale;
        let found = weigh::weigh(log, aid, &round, scale, &mut got.notes, &got.shelf).await?;
        log.emit(Event::KnownWeighed {
            sources: got.notes.sources.clone(),
            evidence: found,
        });
        // How many voices there are is not known before anybody is asked, so as many are wanted as the gate wants.
        let voices = question.method.min_source_domains.max(2);
        let standing = &mut self.standing;
        standing.update(brief, &got.notes, scale, 0, voices)?;
        let policy = self.places.policy();
        names::learn(policy, brief, &got.notes, got.notes.evidence.iter());
        standing.judge(aid, brief, &got.notes, 0, policy).await?;
        standing.tell(log);
        got.coverage.clone_from(&standing.rows);
        got.gate = Gate::of(&question.method).judge(&got.notes, voices);
        log.emit(Event::GateJudged {
            verdict: got.gate.clone(),
        });
        log.flush().await
    }

    /// Whether what was known is enough, so that nobody need be asked.
    pub(super) fn knows_enough(&self) -> bool {
        !self.standing.rows.is_empty() && self.good()
    }
}
